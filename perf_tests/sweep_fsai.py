#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time to solution (setup + CG to 1e-6) of many settings of the FSAI preconditioners on many matrices, by the command
`prekond compare`: which settings are good defaults. Writes sweep.json and sweep.md. A setting's ratio on a matrix is its
time over that of the best FSAI setting there; settings are ranked by the median of their ratios over the matrices."""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# No circuit with rows of 10^4: the static FSAI's second power is close to dense there.
GENERATED = ["elasticity3d:20", "elasticity3d:30", "elasticity3d:20,contrast=1", "poisson3d:40", "poisson2d:300",
             "anisotropic2d:200"]
REAL = ["G2_circuit", "Trefethen_20000", "bcsstk17", "gyro_m", "shallow_water1", "bcsstk16", "s3rmq4m1", "bcsstk25",
        "minsurfo", "jnlbrng1", "obstclae", "sts4098", "bcsstk14", "ex10hs", "msc01440", "bcsstk23"]


def settings(quick):
    """Names as `compare` takes them."""
    names = ["jacobi"]
    growths = [(10, 1), (20, 1), (30, 1), (5, 2), (10, 2), (15, 2), (5, 3), (4, 4), (2, 5), (3, 5), (1, 6), (3, 8)]
    stops = ["0", "0.001", "0.02", "0.05", "0.1"]
    if quick:
        growths, stops = [(10, 1), (20, 1), (30, 1), (15, 2), (25, 2), (3, 5)], ["0", "0.02", "0.05"]
    for steps, size in growths:
        for stop in stops:
            names.append(f"adaptive_fsai:max_steps={steps}:step_size={size}:step_tolerance={stop}")
    if quick:
        return names + ["fsai", "fsai:power=2", "fsai:prefilter=0.05", "fsai:power=3:prefilter=0.05:postfilter=0.05"]
    for steps, size, tau, delta in [(3, 5, 0.01, 0), (3, 5, 0, 0.02), (3, 5, 0, 0.05), (5, 5, 0, 0.05)]:
        names.append(f"adaptive_fsai:max_steps={steps}:step_size={size}:prefilter={tau}:postfilter={delta}")
    for power, tau, delta in itertools.product([1, 2, 3], [0, 0.05], [0, 0.05]):
        if power < 3 or (tau > 0 and delta > 0):
            names.append(f"fsai:power={power}:prefilter={tau}:postfilter={delta}")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices", "spd"), help="folder")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "cpu"), help="folder of the two files")
    parser.add_argument("--generated", default=";".join(GENERATED), help="model problems, with semicolons between")
    parser.add_argument("--only", default="", help="names of matrices, with semicolons; default: all of the list")
    parser.add_argument("--quick", action="store_true", help="fewer settings")
    parser.add_argument("--name", default="sweep", help="of the two files")
    parser.add_argument("--default", default="adaptive_fsai", help="the setting whose rank is wanted, as compare takes it")
    parser.add_argument("--repeat", default="3", help="number of repetitions, of which times are medians")
    parser.add_argument("--threads", default="2")
    return parser.parse_args()


def matrices(arguments):
    wanted = [name for name in arguments.only.split(";") if name]
    for name in arguments.generated.split(";"):
        if not wanted or name in wanted:
            yield name, ["--generate", name]
    for name in REAL:
        for ending in (".mtx", ".mtx.gz"):
            path = os.path.join(arguments.matrices, name + ending)
            if os.path.exists(path) and (not wanted or name in wanted):
                yield name, [os.path.abspath(path)]


def measure(arguments, source, names):
    """{setting: {total, setup, iterations, density, converged}}"""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "compare", *source, "--rhs", "a_ones", "--precond", ",".join(names), "--repeat", arguments.repeat,
                   "--quiet", "--patience", "0", "--report", file, "--max-iters", "20000"]
        environment = dict(os.environ, OMP_NUM_THREADS=arguments.threads)
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
        with open(file, encoding="utf-8") as report:
            rows = json.load(report)
    results = {}
    for name, row in zip(names, rows):
        precond, solver = row["preconditioner"], row["solver"]
        if "error" in row:
            results[name] = {"total": None, "converged": False, "error": row["error"]}
            continue
        machine = row["prekond"]
        arguments.machine = machine["device"] or f"{machine['backend']}, {machine['threads']} threads"
        results[name] = {"total": row["total_seconds"], "setup": precond["setup_seconds"], "density": precond["density"],
                         "iterations": solver["iterations"], "converged": solver["converged"]}
    return results


def short(name):
    for long, brief in [("max_steps=", ""), (":step_size=", " x "), (":step_tolerance=", ", stop "), ("prefilter=", "tau "),
                        ("postfilter=", "delta "), ("power=", "k ")]:
        name = name.replace(long, brief)
    return name.replace(":", " ")


def shown(result):
    if "error" in result:
        return "error"
    return f"{result['total']:.4f}" + ("" if result["converged"] else " (not converged)")


def ratio(result, best):
    return "" if "error" in result else f"{result['total'] / best['total']:.2f}"


def ratios_of(table):
    """{setting: [its time over the best FSAI setting's, a matrix each; None where it did not converge]}"""
    ratios = {}
    for results in table.values():
        best = min(r["total"] for name, r in results.items() if r["converged"] and name != "jacobi")
        for name, r in results.items():
            ratios.setdefault(name, []).append(r["total"] / best if r["converged"] else None)
    return ratios


def median(values):
    """Runs that did not converge count as slower than all."""
    return statistics.median([float("inf") if v is None else v for v in values])


def repeat_command(arguments):
    words = ["perf_tests/sweep_fsai.py", "--default", arguments.default]
    if arguments.quick:
        words.append("--quick")
    if arguments.generated != ";".join(GENERATED):
        words.append(f"--generated '{arguments.generated}'")
    if arguments.only:
        words.append(f"--only '{arguments.only}'")
    return " ".join(words)


def write(arguments, table):
    ratios = ratios_of(table)
    ranked = sorted(ratios, key=lambda name: median(ratios[name]))
    lines = ["# Time to solution of FSAI settings: setup + CG to 1e-6", "",
             f"Repeat with `{repeat_command(arguments)}`. {arguments.machine}, medians of "
             f"{arguments.repeat}. adaptive_fsai A x B: A steps of B entries; stop: step_tolerance.", "",
             "| setting | median ratio to the best | worst | not converged |", "|---|---|---|---|"]
    for name in ranked:
        failed = sum(v is None for v in ratios[name])
        sound = [v for v in ratios[name] if v is not None]
        lines.append(f"| {short(name)} | {median(ratios[name]):.2f} | {max(sound, default=float('nan')):.2f} | {failed} |")
    lines += ["", "| matrix | best FSAI setting | its s | setup | iterations | density | default's s | ratio | Jacobi's s |",
              "|---|---|---|---|---|---|---|---|---|"]
    for matrix, results in table.items():
        best = min((n for n in results if results[n]["converged"] and n != "jacobi"), key=lambda n: results[n]["total"])
        b, d, j = results[best], results[arguments.default], results["jacobi"]
        lines.append(f"| {matrix} | {short(best)} | {b['total']:.4f} | {b['setup']:.4f} | {b['iterations']} | {b['density']:.2f} "
                     f"| {shown(d)} | {ratio(d, b)} | {shown(j)} |")
    with open(os.path.join(arguments.out, arguments.name + ".md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(arguments.out, arguments.name + ".json"), "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1)


def main():
    arguments = parse_arguments()
    names = settings(arguments.quick)
    if arguments.default not in names:
        names.append(arguments.default)
    table = {}
    for matrix, source in matrices(arguments):
        print(matrix, flush=True)
        table[matrix] = measure(arguments, source, names)
        write(arguments, table)


if __name__ == "__main__":
    main()
