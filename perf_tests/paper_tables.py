#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables 2, 3, 4 and 6 of Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), by the command
`prekond compare`: static against adaptive FSAI with tuned parameters, ways to find the gradient by time and memory, setup
in single against double precision, CPU against GPU.

    paper_tables.py measure --out gpu.json [--tables 2,3,4] [--only 08,12]     on each machine
    paper_tables.py render --gpu gpu.json --cpu cpu.json --out FOLDER          tables (Markdown) and plots (PNG)

The paper's matrices are replaced by generated ones of their sizes, see MATRICES, in addition to real ones, which are looked for
in --matrices. As in the paper b = A 1, x0 = M^-1 b, and CG stops at a relative residual of 1e-6. measure writes after
every matrix. Table 6 is table 4 of two machines."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from results_file import lines, text_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# The paper's ID and matrix, and the one taken for it.
MATRICES = [
    ("01", "Res_small", "elasticity3d:36"), ("02", "Cube", "elasticity3d:40,contrast=1"), ("06", "Mexico", "elasticity3d:47"),
    ("08", "Fault_639", "elasticity3d:60"), ("11", "Emilia_923", "elasticity3d:68"), ("12", "thermal2", "poisson3d:107"),
    ("14", "G3_circuit", "circuit:1259"), ("15", "pi8grid8", "anisotropic2d:1640"), ("16", "Bump_2911", "elasticity3d:99"),
]
REAL = ["bcsstk16", "bcsstk17", "bcsstk25", "s3rmt3m1", "gyro_m", "Trefethen_20000", "minsurfo", "shallow_water1",
        "G2_circuit"]
TUNED = ["01", "08", "11", "12", "bcsstk17", "G2_circuit"]
GRADIENTS = ["01", "02"]
STRATEGIES = ["list", "marker", "merge"]
# The paper's settings: rows end where psi < 1e-3 psi_0, or after 30 entries.
PUBLISHED = "adaptive_fsai:max_steps=30:step_size=1:tolerance=0.001:step_tolerance=0"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    measure.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices", "spd"), help="folder")
    measure.add_argument("--tables", default="2,3,4")
    measure.add_argument("--only", default="", help="IDs and names of matrices; default: all")
    measure.add_argument("--repeat", default="3", help="number of repetitions, of which times are medians")
    measure.add_argument("--marker-bytes", default="17179869184", help="workspace_budget of gradient = marker")
    measure.add_argument("--timeout", type=float, default=1800, help="seconds a matrix and table")
    measure.add_argument("--out", required=True, help="the JSON file; what it has of other matrices stays")
    render = commands.add_parser("render")
    render.add_argument("--gpu", required=True)
    render.add_argument("--cpu", required=True)
    render.add_argument("--out", required=True, help="folder of paper_tables.md and its pictures")
    return parser.parse_args()


# ------------------------------------------------------------------------------------------------------- measuring


def static_settings():
    """Powers without a prefilter grow fast: they are tried up to 3, as far as `memory_budget` allows."""
    for tau, powers in ((0, (1, 2, 3)), (0.05, (1, 2, 3, 4, 5)), (0.1, (3, 5))):
        for power in powers:
            for delta in (0, 0.05):
                yield f"fsai:power={power}:prefilter={tau}:postfilter={delta}:setup_scalar=double"


def adaptive_settings():
    for steps in (10, 20, 30):
        for epsilon in (0.001, 0.01, 0.05):
            yield (f"adaptive_fsai:max_steps={steps}:step_size=1:tolerance={epsilon}:step_tolerance=0"
                   ":setup_scalar=double")


def gradient_settings(marker_bytes):
    for steps in (10, 20, 30):
        for gradient in STRATEGIES:
            slab = f":workspace_budget={marker_bytes}" if gradient == "marker" else ""
            yield (f"adaptive_fsai:max_steps={steps}:step_size=1:tolerance=0.001:step_tolerance=0:gradient={gradient}"
                   + slab)


def precision_settings():
    return [PUBLISHED + ":setup_scalar=single", PUBLISHED + ":setup_scalar=double"]


def settings_of(table, arguments):
    if table == "2":
        return [*static_settings(), *adaptive_settings()]
    if table == "3":
        return list(gradient_settings(arguments.marker_bytes))
    return precision_settings()


def sources(arguments):
    """(key, what `compare` is told)"""
    for key, _, spec in MATRICES:
        yield key, ["--generate", spec]
    for name in REAL:
        for ending in (".mtx", ".mtx.gz"):
            path = os.path.join(arguments.matrices, name + ending)
            if os.path.exists(path):
                yield name, [os.path.abspath(path)]


def before_postfilter(notes, nnz):
    for note in notes:
        words = note.split()
        if note.startswith("G had "):
            return int(words[2])
    return nnz


def measured(setting, row):
    if "error" in row:
        return {"setting": setting, "error": row["error"], "converged": False}
    precond, solver = row["preconditioner"], row["solver"]
    nnz = row["matrix"]["nnz"]
    return {"setting": setting, "iterations": solver["iterations"], "converged": solver["converged"],
            "setup": precond["setup_seconds"], "first_setup": precond["first_setup_seconds"], "solve": solver["seconds"],
            "total": row["total_seconds"], "density": precond["density"],
            "first_density": before_postfilter(precond["notes"], precond["nnz"]) / nnz,
            "setup_bytes": precond["setup_bytes"], "breakdowns": precond["breakdowns"]["count"]}


def compare(arguments, source, settings):
    """The matrix, the machine and a result a setting."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "compare", *source, "--rhs", "a_ones", "--x0", "precond", "--precond", ",".join(settings),
                   "--repeat", arguments.repeat, "--max-iters", "20000", "--quiet", "--report", file]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=arguments.timeout)
        if not os.path.exists(file):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        with open(file, encoding="utf-8") as report:
            rows = json.load(report)
    whole = next(row for row in rows if "matrix" in row)
    return whole["matrix"], whole["prekond"], [measured(name, row) for name, row in zip(settings, rows)]


def run_measure(arguments):
    wanted = {word for word in arguments.only.split(",") if word}
    content = {"machine": {}, "matrices": {}, "tables": {}}
    if os.path.exists(arguments.out):
        with open(arguments.out, encoding="utf-8") as file:
            content = json.load(file)
    failed = 0
    for table in arguments.tables.split(","):
        some = {"2": TUNED, "3": GRADIENTS}.get(table)
        for key, source in sources(arguments):
            if (wanted and key not in wanted) or (some and key not in some):
                continue
            print(f"table {table}: {key} {source[-1]}", flush=True)
            try:
                matrix, machine, results = compare(arguments, source, settings_of(table, arguments))
            except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
                print(f"  failed: {error}", file=sys.stderr, flush=True)
                failed += 1
                continue
            content["machine"] = {name: machine[name] for name in ("backend", "device", "threads", "kokkos")}
            content["matrices"][key] = {"source": os.path.basename(matrix["source"]), "rows": matrix["rows"],
                                        "nnz": matrix["nnz"]}
            content["tables"].setdefault(table, {})[key] = results
            with open(arguments.out, "w", encoding="utf-8") as file:
                file.write(text_of(content) + "\n")
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- rendering


def option(setting, name):
    for part in setting.split(":")[1:]:
        key, value = part.split("=")
        if key == name:
            return value
    return ""


def title(key, content):
    names = {paper_key: f"{paper_key} ({name})" for paper_key, name, _ in MATRICES}
    matrix = content["matrices"][key]
    return f"{names.get(key, key)}: {matrix['source']}" if key in names else key


def order(table):
    known = [key for key, *_ in MATRICES] + REAL
    return sorted(table, key=known.index)


def seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def best_of(results, name):
    sound = [r for r in results if r["converged"] and r["setting"].startswith(name + ":")]
    return min(sound, key=lambda r: r["total"]) if sound else None


def machine_name(content):
    machine = content["machine"]
    return machine["device"] or f"{machine['backend']}, {machine['threads']} threads"


def table_2(content):
    yield f"## Table 2: static and adaptive FSAI, parameters tuned for the total time ({machine_name(content)})\n"
    yield "Setup in double precision. mu_0: density before the postfilter; T_p setup, T_s CG, T_t both, in seconds.\n"
    table = content["tables"]["2"]
    static, adaptive = [], []
    for key in order(table):
        best = best_of(table[key], "fsai")
        if best:
            of = best["setting"]
            static.append([title(key, content), option(of, "prefilter"), option(of, "power"), option(of, "postfilter"),
                           f"{best['first_density']:.3f}", f"{best['density']:.3f}", best["iterations"],
                           seconds(best["setup"]), seconds(best["solve"]), seconds(best["total"])])
        best = best_of(table[key], "adaptive_fsai")
        if best:
            of = best["setting"]
            adaptive.append([title(key, content), option(of, "max_steps"), option(of, "step_size"),
                             option(of, "tolerance"), f"{best['density']:.3f}", best["iterations"],
                             seconds(best["setup"]), seconds(best["solve"]), seconds(best["total"])])
    yield from lines(["static", "tau", "k", "delta", "mu_0", "mu", "iter", "T_p", "T_s", "T_t"], static)
    yield from lines(["adaptive", "k_max", "s", "epsilon", "mu", "iter", "T_p", "T_s", "T_t"], adaptive)


def table_3(content):
    yield f"## Table 3: how the gradient is found ({machine_name(content)})\n"
    yield ("Setup in single precision; T_p in seconds, and the largest working memory of the setup beyond A, G and G^T in "
           "MB, which has the copy of A's values and the chunks of G that all three need.\n")
    rows = []
    for key in order(content["tables"]["3"]):
        by = {(option(r["setting"], "max_steps"), option(r["setting"], "gradient")): r
              for r in content["tables"]["3"][key] if "error" not in r}
        for steps in ("10", "20", "30"):
            if not all((steps, gradient) in by for gradient in STRATEGIES):
                continue
            cells = [by[steps, gradient] for gradient in STRATEGIES]
            rows.append([title(key, content), steps, f"{cells[0]['density']:.3f}"] +
                        [text for r in cells for text in (seconds(r["setup"]), f"{r['setup_bytes'] / 1e6:.1f}")])
    yield from lines(["matrix", "k_max", "mu", "list T_p", "MB", "marker T_p", "MB", "merge T_p", "MB"], rows)


def pair_of(results):
    by = {option(r["setting"], "setup_scalar"): r for r in results if "error" not in r}
    return by.get("single"), by.get("double")


def table_4(content):
    yield f"## Table 4: setup in single and double precision ({machine_name(content)})\n"
    rows = []
    for key in order(content["tables"]["4"]):
        single, double = pair_of(content["tables"]["4"][key])
        if not single or not double:
            continue
        cells = [title(key, content), f"{single['density']:.3f}"]
        for r in (single, double):
            cells += [r["iterations"] if r["converged"] else f"{r['iterations']}, not converged", seconds(r["setup"]),
                      seconds(r["solve"]), seconds(r["total"])]
        allowed = max(3, 0.05 * double["iterations"])
        cells.append("yes" if abs(single["iterations"] - double["iterations"]) <= allowed else "no")
        cells += [single["breakdowns"], double["breakdowns"]]
        rows.append(cells)
    yield from lines(["matrix", "mu", "single: iter", "T_p", "T_s", "T_t", "double: iter", "T_p", "T_s", "T_t",
                      "within max(3, 5 %)", "breakdowns single", "double"], rows)


def both(gpu, cpu):
    """(key, its single-precision results on both machines)"""
    shared = set(gpu["tables"]["4"]) & set(cpu["tables"]["4"])
    for key in order(shared):
        on_gpu, on_cpu = pair_of(gpu["tables"]["4"][key])[0], pair_of(cpu["tables"]["4"][key])[0]
        if on_gpu and on_cpu:
            yield key, on_gpu, on_cpu


def table_6(gpu, cpu):
    yield f"## Table 6: {machine_name(gpu)} and {machine_name(cpu)}\n"
    yield "k_max = 30, s = 1, epsilon = 1e-3, setup in single precision.\n"
    rows = []
    for key, *pair in both(gpu, cpu):
        cells = [title(key, gpu), f"{pair[0]['density']:.3f}"]
        for r in pair:
            cells += [r["iterations"], seconds(r["setup"]), seconds(r["solve"]), seconds(r["total"])]
        rows.append(cells + [f"{pair[1][part] / pair[0][part]:.0f}" for part in ("setup", "solve", "total")])
    yield from lines(["matrix", "mu", "GPU: iter", "T_p", "T_s", "T_t", "CPU: iter", "T_p", "T_s", "T_t", "speed-up T_p",
                      "T_s", "T_t"], rows)


def bars(path, names, series, label, logarithmic=True):
    """Groups of bars: series = [(legend, heights, bottoms or None)]; stacked where there are bottoms."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(max(6, 0.7 * len(names) + 2), 4), constrained_layout=True)
    groups = sorted({group for _, group, _, _ in series})
    width = 0.8 / len(groups)
    for legend, group, heights, bottoms in series:
        places = [k + (groups.index(group) - (len(groups) - 1) / 2) * width for k in range(len(names))]
        axes.bar(places, heights, width, bottom=bottoms, label=legend)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_ylabel(label)
    if logarithmic:
        axes.set_yscale("log")
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def plots(gpu, cpu, tuned, folder):
    """Names of the pictures and what they show."""
    table = tuned["tables"]["2"]
    keys = [key for key in order(table) if best_of(table[key], "fsai") and best_of(table[key], "adaptive_fsai")]
    static, adaptive = ([best_of(table[key], name) for key in keys] for name in ("fsai", "adaptive_fsai"))
    # Times of different matrices side by side: as parts of the static FSAI's total.
    whole = [r["total"] for r in static]
    part = lambda results, name: [r[name] / t for r, t in zip(results, whole)]
    bars(os.path.join(folder, "table2_times.png"), keys,
         [("static: setup", 0, part(static, "setup"), None),
          ("static: CG", 0, part(static, "solve"), part(static, "setup")),
          ("adaptive: setup", 1, part(adaptive, "setup"), None),
          ("adaptive: CG", 1, part(adaptive, "solve"), part(adaptive, "setup"))],
         "time / total of the static FSAI", logarithmic=False)
    yield "table2_times.png", f"Table 2 (the paper's Figure 4): times of the tuned FSAI ({machine_name(tuned)})"
    bars(os.path.join(folder, "table2_density.png"), keys,
         [("static, before the postfilter", 0, [r["first_density"] for r in static], None),
          ("static", 1, [r["density"] for r in static], None), ("adaptive", 2, [r["density"] for r in adaptive], None)],
         "nnz(G) / nnz(A)", logarithmic=False)
    yield "table2_density.png", "Table 2 (the paper's Figure 5): densities"
    pairs = [(key, *pair_of(gpu["tables"]["4"][key])) for key in order(gpu["tables"]["4"])]
    pairs = [(key, single, double) for key, single, double in pairs if single and double]
    bars(os.path.join(folder, "table4_setup.png"), [key for key, *_ in pairs],
         [("single", 0, [single["setup"] for _, single, _ in pairs], None),
          ("double", 1, [double["setup"] for _, _, double in pairs], None)], "setup, seconds")
    yield "table4_setup.png", "Table 4 (the paper's Figure 6): setup by precision"
    shared = list(both(gpu, cpu))
    bars(os.path.join(folder, "table6_speedup.png"), [key for key, *_ in shared],
         [(legend, k, [on_cpu[part] / on_gpu[part] for _, on_gpu, on_cpu in shared], None)
          for k, (legend, part) in enumerate([("setup", "setup"), ("CG", "solve"), ("total", "total")])],
         "CPU time / GPU time")
    yield "table6_speedup.png", "Table 6 (the paper's Figure 9): speed-ups"


def run_render(arguments):
    content = []
    for path in (arguments.gpu, arguments.cpu):
        with open(path, encoding="utf-8") as file:
            content.append(json.load(file))
    gpu, cpu = content
    text = ["# The tables of Bernaschi et al. (2019)", "",
            "Written by `perf_tests/paper_tables.py render` from what `perf_tests/paper_tables.py measure` wrote on each "
            "machine. b = A 1, x0 = M^-1 b, CG to 1e-6. Numbers of matrices are the paper's, followed by its matrix and "
            "the generated one of that size in its place; the others are real.", "",
            *lines(["matrix", "rows", "nnz", "nnz a row"],
                   [[title(key, gpu), f"{m['rows']:,}", f"{m['nnz']:,}", f"{m['nnz'] / m['rows']:.1f}"]
                    for key, m in ((key, gpu["matrices"][key]) for key in order(gpu["matrices"]))])]
    for table, write in (("2", table_2), ("3", table_3), ("4", table_4)):
        for machine in (gpu, cpu):
            if table in machine["tables"]:
                text += list(write(machine))
    text += table_6(gpu, cpu)
    tuned = max(gpu, cpu, key=lambda machine: len(machine["tables"].get("2", {})))
    for name, caption in plots(gpu, cpu, tuned, arguments.out):
        text += [f"![{caption}]({name})", "", f"{caption}.", ""]
    with open(os.path.join(arguments.out, "paper_tables.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(text).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    chosen = parse_arguments()
    sys.exit(run_measure(chosen) if chosen.command == "measure" else run_render(chosen))
