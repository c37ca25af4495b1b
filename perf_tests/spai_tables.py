#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables 4, 5 and 7 of Chu, Wang, Chen, Gao, BenchCouncil Trans. Benchmarks, Standards and Evaluations 3 (2023) 100087, by
the command `prekond compare`: which strategy is predicted and which is the faster one; setup of static SPAI and BiCGSTAB
with (I + |A|)^k, k = 1 and 2, for both strategies and the selected one, compared with ViennaCL's SPAI (k = 1, on the host).

    spai_tables.py measure --out gpu.json [--viennacl peer_viennacl_spai] [--only offshore,msdoor]
    spai_tables.py render --in gpu.json --out gpu.md

None of the paper's matrices is at hand: generated ones of their sizes and row statistics (its Table 3) replace them."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from results_file import add_render, lines, load, store

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# The paper's matrix, the one taken for it, the paper's setup seconds on an A40 for k = 1, and its Table 4's prediction.
MATRICES = [
    ("cbuckle", "irregular3d:16,unknowns=3,mean=49.45,longest=600", 0.878, ("sorted", "sorted")),
    ("2cubes_sphere", "irregular3d:47,mean=16.23,longest=31", 0.221, ("constant", "constant")),
    ("offshore", "irregular3d:64,mean=16.33,longest=31", 0.627, ("constant", "constant")),
    ("ASIC_320ks", "irregular3d:69,mean=4.09,longest=210,lonely=0.02", 0.307, ("sorted", "sorted")),
    ("apache2", "poisson3d:89", 0.088, ("constant", "constant")),
    ("G3_circuit", "poisson2d:1259", 0.061, ("constant", "constant")),
    ("power9", "irregular3d:54,mean=12.15,longest=627,lonely=0.02", 1.519, ("sorted", "sorted")),
    ("msdoor", "irregular3d:52,unknowns=3,mean=46.1,longest=77,lonely=0.001", 8.225, ("constant", "constant")),
    ("thermal2", "poisson3d:107", 0.144, ("constant", "constant")),
    ("Fault_639", "irregular3d:60,unknowns=3,mean=42.65,longest=267,lonely=0.001", 15.558, ("sorted", "sorted")),
]
STRATEGIES = ["constant", "sorted", "auto"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    measure.add_argument("--viennacl", default="", help="peer_viennacl_spai, where its figures are wanted")
    measure.add_argument("--only", default="", help="the paper's names; default: all")
    measure.add_argument("--powers", default="1,2")
    measure.add_argument("--strategies", default=",".join(STRATEGIES))
    measure.add_argument("--setup-scalar", default="double")
    measure.add_argument("--repeat", default="3", help="number of repetitions, of which times are medians")
    measure.add_argument("--timeout", type=float, default=900, help="seconds a matrix and power")
    measure.add_argument("--out", required=True, help="the JSON file; what it has of other matrices stays")
    add_render(commands)
    return parser.parse_args()


# ------------------------------------------------------------------------------------------------------- measuring


def compare(arguments, spec, power):
    strategies = arguments.strategies.split(",")
    preconds = [f"spai:power={power}:strategy={s}:setup_scalar={arguments.setup_scalar}" for s in strategies]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "compare", "--generate", spec, "--solver", "bicgstab", "--rhs", "a_ones", "--precond",
                   ",".join(preconds),
                   "--repeat", arguments.repeat, "--quiet", "--report", file]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=arguments.timeout)
        if not os.path.exists(file):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        return dict(zip(strategies, load(file)))


def kept(row):
    if "error" in row:
        return {"error": row["error"]}
    precond, solver = row["preconditioner"], row["solver"]
    return {"setup": precond["setup_seconds"], "density": precond["density"],
            "setup_bytes": precond["setup_bytes"], "notes": precond["notes"], "breakdowns": precond["breakdowns"]["count"],
            "iterations": solver["iterations"], "solve": solver["seconds"], "converged": solver["converged"],
            "end": solver["reason"]}


def run_viennacl(arguments, spec):
    try:
        done = subprocess.run([arguments.viennacl, spec, "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {arguments.timeout:g} s"}
    except subprocess.CalledProcessError as error:
        return {"error": f"exit code {error.returncode}"}
    row = json.loads(done.stdout.strip().splitlines()[-1])
    return {"setup": row["setup_seconds"], "solve": row["solve_seconds"], "iterations": row["iterations"]}


def run_measure(arguments):
    wanted = {name for name in arguments.only.split(",") if name}
    content = load(arguments.out, {"machine": {}, "matrices": {}})
    failed = 0
    for name, spec, *_ in MATRICES:
        if wanted and name not in wanted:
            continue
        of_matrix = content["matrices"].setdefault(name, {"spec": spec})
        for power in arguments.powers.split(","):
            print(f"{name}: {spec}, k = {power}", flush=True)
            try:
                rows = compare(arguments, spec, power)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"  failed: {error}", file=sys.stderr, flush=True)
                timed_out = isinstance(error, subprocess.TimeoutExpired)
                of_matrix[power] = {"error": f"more than {arguments.timeout:g} s" if timed_out else str(error)}
                failed += 1
                continue
            whole = next((row for row in rows.values() if "matrix" in row and "prekond" in row), None)
            if whole:
                content["machine"] = {key: whole["prekond"][key] for key in ("backend", "device", "threads", "kokkos")}
                of_matrix.update(rows=whole["matrix"]["rows"], nnz=whole["matrix"]["nnz"])
            of_matrix[power] = {strategy: kept(row) for strategy, row in rows.items()}
            store(arguments.out, content)
        if arguments.viennacl:
            of_matrix["viennacl"] = run_viennacl(arguments, spec)
            store(arguments.out, content)
    store(arguments.out, content)
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- rendering


def seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def ruled(result):
    """The paper's rule, as the preconditioner applied it."""
    for note in result.get("notes", []):
        for strategy in ("constant", "sorted"):
            if note.endswith(f"the paper's rule says {strategy}"):
                return strategy
        for strategy in ("constant", "sorted"):
            if note.startswith(f"strategy = {strategy}"):
                return strategy
    return "?"


def faster(results):
    """By the paper's rule: both where they are within 5 %."""
    if any(s not in results or "error" in results[s] for s in ("constant", "sorted")):
        return "?"
    t1, t2 = results["constant"]["setup"], results["sorted"]["setup"]
    if abs(t1 - t2) / max(t1, t2) <= 0.05:
        return "either"
    return "constant" if t1 < t2 else "sorted"


def setup(result):
    if not result:
        return ""
    return seconds(result["setup"]) if "error" not in result else "error"


def table_4(content):
    yield "## Table 4: predicted and measured strategy\n"
    rows = []
    for name, _, _, predicted in MATRICES:
        for power in ("1", "2"):
            results = content["matrices"].get(name, {}).get(power, {})
            if "auto" not in results:
                continue
            rows.append([name, power, predicted[int(power) - 1], ruled(results["auto"]), faster(results),
                         *(setup(results.get(s)) for s in STRATEGIES)])
    yield from lines(["matrix", "k", "the paper's prediction", "its rule here", "the faster one", "constant s", "sorted s", "auto s"], rows)


def cell(result):
    if not result:
        return ""
    if "error" in result:
        return result["error"]
    end = "" if result.get("converged", True) else f" {result['end']}"
    return f"{seconds(result['setup'])} + {seconds(result['solve'])} ({result['iterations']}{end})"


def table_5(content, power, number):
    if not any(power in of_matrix for of_matrix in content["matrices"].values()):
        return
    yield f"## Table {number}: setup + BiCGSTAB, (I + |A|)^{power}\n"
    yield "Seconds, and iterations; with the ratio of the paper's setup on an A40 where it has one for this k.\n"
    rows = []
    for name, _, paper, _ in MATRICES:
        of_matrix = content["matrices"].get(name, {})
        results = of_matrix.get(power, {})
        if "error" in results:
            rows.append([name, results["error"]] + [""] * 4)
        if "auto" not in results:
            continue
        speed = f"{paper / results['auto']['setup']:.1f}" if power == "1" and "error" not in results["auto"] else ""
        viennacl = cell(of_matrix["viennacl"]) if power == "1" and "viennacl" in of_matrix else ""
        rows.append([name, *(cell(results.get(s)) for s in STRATEGIES), viennacl, speed])
    yield from lines(["matrix", "constant", "sorted", "auto", "ViennaCL, one core of the host", "A40's setup / ours"], rows)


def run_render(arguments):
    content = load(arguments.source)
    machine = content["machine"]
    device = machine["device"] or f"{machine['backend']}, {machine['threads']} threads"
    text = ["# The tables of Chu et al. (2023): static SPAI", "",
            f"Written by `perf_tests/spai_tables.py`. {device}; setup in double precision unless the file's name says otherwise; b = A 1, "
            "BiCGSTAB to 1e-6. The matrices are generated, of the sizes and row statistics of the paper's Table 3.", "",
            *lines(["for", "matrix", "rows", "nnz", "nnz a row"],
                   [[name, f"`{spec}`", f"{m['rows']:,}", f"{m['nnz']:,}", f"{m['nnz'] / m['rows']:.2f}"]
                    for name, spec, *_ in MATRICES for m in [content["matrices"].get(name, {})] if "rows" in m])]
    text += [*table_4(content), *table_5(content, "1", "5"), *table_5(content, "2", "7")]
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write("\n".join(text).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    selected = parse_arguments()
    sys.exit(run_measure(selected) if selected.command == "measure" else run_render(selected))
