#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and figures of Li and Saad, GPU-accelerated preconditioned iterative linear solvers, J. Supercomput. 63 (2013).

    li_saad.py measure --prekond PROGRAM --machine cpu|h200 [--matrices FOLDER] [--only table_7 figure_11 ...] [--cases thermal2 ...]

PROGRAM is the command; perf_triangular and perf_formats, which table_4 and figure_5 need, are taken from its folder, or from the folder
perf_tests in one above it. What is measured is merged into li_saad_MACHINE.json in perf_tests/results/papers. Figures 6 to 9 come with
figure_5 and tables 7 to 9.

Relative residual 1e-6; b is random in tables 7 and 8 and A 1 in the others (the paper does not say its own). With b = A 1 the first step
of Gustafsson's MIC, for which M 1 = A 1, would be exact. The paper's matrix is taken where a file of its name is in the folder or one
below it; else a real matrix of the folder or a generated one in its place, under its own name."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
import results_file  # noqa: E402

MACHINES = {"cpu": "host", "h200": "H200"}
NOT_MEASURED = "not measured"
# The paper's matrix: the one taken for it, a file's name or NAME:SIZE.
STAND_INS = {"parabolic_fem": "poisson2d:725", "thermal2": "anisotropic2d:600,epsilon=0.1", "ecology2": "G2_circuit", "Dubcova2": "poisson2d:255",
             "bcsstk36": "bcsstk17", "cfd2": "poisson3d:50", "cfd1": "poisson3d:41", "boneS01": "elasticity3d:35,contrast=1",
             "msc23052": "s3rmt3m1", "af_shell8": "s3rmq4m1", "poisson3Db": "elasticity3d:30,contrast=1",
             "majorbasis": "irregular3d:54,mean=10.9,longest=11", "atmosmodd": "convection_diffusion3d:80",
             "atmosmodl": "convection_diffusion3d:60", "copcase1": "irregular3d:59,mean=6.6,longest=7",
             "spe10": "irregular3d:103,mean=6.9,longest=340"}
# Matrices of a known formula.
THE_SAME = {"lap7pt": "poisson3d:100", "lap2d": "poisson2d:582", "lap3d": "poisson3d:100"}
DEGREES = (10, 20, 30, 40, 60, 80)
SWEEPS = (1, 2, 3, 5, 10, 15)
BLOCKS = (1, 8, 32, 128, 512, 2048, 8192)

# A run of the command: the label of its row, its arguments, what the paper has (text, and iterations where they are of this method).
# `machines`: those on which it differs from the others.
Run = namedtuple("Run", "label arguments paper iterations machines", defaults=("", None, tuple(MACHINES)))


def by(label, precond, paper="", iterations=None, machines=tuple(MACHINES), **options):
    words = [word for key, value in options.items() for word in ("-p", f"{key.replace('__', '.')}={value}")]
    return Run(label, ["--precond", precond, *words], paper, iterations, machines)


def hybrid(label, precond, **options):
    """Triangular solves on the host, the rest on the device."""
    return by(label, precond, machines=("h200",), **options, **{"solve.method": "host"})


def with_arguments(runs, *arguments):
    return [run._replace(arguments=[*arguments, *run.arguments]) for run in runs]


def gmres(*runs):
    return with_arguments(runs, "--solver", "gmres", "-s", "restart=40")


def once(*runs):
    """For an application alone."""
    return with_arguments(runs, "--solver", "gmres", "--max-iters", "1")


# Paper: levels, MFLOPS of the CPU, by rows, by columns, by levels.
TABLE_4 = {"parabolic_fem": (7, 402, 3.0, 3.9, 1061), "thermal2": (1239, 268, 2.8, 3.7, 376), "poisson3Db": (136, 354, 9.5, 11.6, 812),
           "atmosmodd": (352, 471, 2.8, 3.5, 554), "atmosmodl": (432, 451, 2.7, 3.4, 541)}
# Paper: MFLOPS of the CPU, levels and MFLOPS by levels, and after MMD.
TABLE_5 = {"thermal2": (268, 1239, 376, 32, 812), "atmosmodd": (471, 352, 554, 6, 953), "atmosmodl": (451, 432, 541, 6, 949),
           "bcsstk36": (627, 4457, 64, 274, 282)}
# Paper: GFLOPS of the GPU and of the CPU; it names atmosmodd twice, and the second one is taken to be atmosmodl.
TABLE_6 = {"majorbasis": (2.28, 0.58), "atmosmodd": (2.62, 0.54), "poisson3Db": (2.19, 0.41), "atmosmodl": (2.52, 0.50)}
# Paper: where it solves the triangles, seconds of the setup, iterations, speedup of the iterations.
TABLE_7 = {"parabolic_fem": ("GPU", 1.39, 333, 2.1), "thermal2": ("GPU", 2.96, 504, 3.1), "ecology2": ("GPU", 1.94, 512, 1.9),
           "Dubcova2": ("CPU", 0.39, 71, 1.3), "bcsstk36": ("CPU", 0.61, 145, 1.3), "cfd2": ("CPU", 0.94, 212, 1.5),
           "boneS01": ("CPU", 4.60, 258, 1.5), "msc23052": ("CPU", 0.56, 250, 1.4), "af_shell8": ("CPU", 8.44, 126, 1.8),
           "cfd1": ("CPU", 0.78, 210, 1.5)}
# Paper: iterations, seconds of the setup, degree.
TABLE_8 = {"Dubcova2": (17, 0.36, 10), "bcsstk36": (66, 0.14, 60), "cfd2": (20, 0.60, 80), "boneS01": (235, 0.37, 10),
           "parabolic_fem": (41, 0.61, 30), "msc23052": (98, 0.13, 40), "thermal2": (147, 2.85, 20), "af_shell8": (68, 1.41, 20),
           "ecology2": (323, 1.25, 20), "cfd1": (58, 0.39, 30)}
# Paper: where it solves the triangles, iterations, speedup of the iterations.
TABLE_9 = {"atmosmodd": ("GPU", 57, 3.2), "atmosmodl": ("GPU", 36, 4.3), "poisson3Db": ("GPU", 34, 2.5), "majorbasis": ("CPU", 5, 2.0),
           "sherman3": ("CPU", 55, 3.7), "memplus": ("CPU", 23, 1.5), "copcase1": ("CPU", 10, 2.5), "spe10": ("CPU", 110, 3.4)}
# Paper: colours without and with sparsification, and iterations and seconds of MC-SSOR and MC-ILU(0) with either.
TABLE_11 = {"memplus": (22, 3, ((47, 0.23), (32, 0.07)), ((104, 0.35), (115, 0.20))),
            "spe10": (340, 53, ((202, 28.14), (200, 10.88)), ((559, 29.05), (607, 22.31)))}
# Paper: iterations and seconds of MC-ILU(0) and of ILU(0).
TABLE_10 = {"poisson3Db": (96, 0.53, 96, 0.85), "atmosmodd": (219, 5.32, 176, 7.94), "majorbasis": (12, 0.04, 9, 0.07),
            "atmosmodl": (96, 2.66, 58, 3.00)}
FIGURE_5 = ("sherman3", "memplus", "bcsstk36", "cfd1", "poisson3Db", "cfd2", "boneS01", "majorbasis", "ecology2", "parabolic_fem", "lap7pt",
            "thermal2", "atmosmodd", "atmosmodl")
FORMATS = ("csr_scalar", "csr_vector", "csr", "jad", "sell", "dia")


def table_4():
    return {name: once(by("levels", "ilu0", **{"solve.method": "levels"}), by("in one launch", "ilu0", **{"solve.method": "sync_free"}),
                       by("3 Jacobi sweeps", "ilu0", **{"solve.method": "jacobi"}), hybrid("on the host", "ilu0"))
            for name in TABLE_4}


def table_5():
    return {name: [run for order in ("none", "rcm", "amd", "nd", "color")
                   for run in with_arguments(once(by(order, "ilu0", **{"solve.method": "levels"})), "--order", order)]
            for name in TABLE_5}


def table_6():
    return {name: once(by("MC-ILU(0)", "multicolor_ilu0")) for name in TABLE_6}


def table_7():
    def runs(name, where, setup, iterations, speedup):
        paper = f"{iterations}, setup {setup} s, solves on the {where}, speedup {speedup}"
        levels = (1,) if name == "boneS01" else (1, 2)
        return [by("IC(0)", "ic0", paper), hybrid("IC(0), solves on the host", "ic0"), *(by(f"IC({k})", "ick", level=k) for k in levels),
                by("MIC(0), Robert", "mic_robert"), *(by(f"MIC({k}), Robert", "mic_robert", level=k) for k in levels),
                by("MIC(0), Gustafsson", "mic_gustafsson"), by("ICT(10, 1e-3)", "ict"), by("jacobi", "jacobi")]
    return {name: with_arguments(runs(name, *paper), "--rhs", "random") for name, paper in TABLE_7.items()}


def table_8():
    return {name: with_arguments([by(f"degree {k}", "ls_polynomial", f"{iterations}, setup {setup} s" if k == degree else "", degree=k)
                                  for k in DEGREES], "--rhs", "random")
            for name, (iterations, setup, degree) in TABLE_8.items()}


def table_9():
    return {name: gmres(by("ILUT(10, 1e-3)", "ilut", f"{iterations}, solves on the {where}, speedup {speedup}", iterations),
                        hybrid("ILUT(10, 1e-3), solves on the host", "ilut"), by("ILUT(20, 1e-4)", "ilut", p=20, tau=1e-4), by("ILU(0)", "ilu0"),
                        by("jacobi", "jacobi"))
            for name, (where, iterations, speedup) in TABLE_9.items()}


def table_10():
    return {name: gmres(by("MC-ILU(0)", "multicolor_ilu0", f"{colored}, {colored_s} s", colored), by("ILU(0)", "ilu0", f"{natural}, {natural_s} s", natural))
            for name, (colored, colored_s, natural, natural_s) in TABLE_10.items()}


def table_11():
    settings = {"all colours": {"sparsify": 1e-300}, "sparsified": {"sparsify": 0.05}}  # stored zeros are no edges, and no other entry is weak

    def runs(colors, fewer, ssor, ilu):
        at = lambda figures, count: f"{figures[0]}, {figures[1]} s, {count} colours"  # noqa: E731
        return gmres(*(by(f"MC-SSOR({k}), {label}", "multicolor_ssor", at(figures, count) + ", best k", figures[0] if k == SWEEPS[-1] else None, sweeps=k, **options)
                       for (label, options), figures, count in zip(settings.items(), ssor, (colors, fewer)) for k in SWEEPS),
                     *(by(f"MC-ILU(0), {label}", "multicolor_ilu0", at(figures, count), figures[0], **options)
                       for (label, options), figures, count in zip(settings.items(), ilu, (colors, fewer))), by("ILU(0)", "ilu0"))
    return {name: runs(*paper) for name, paper in TABLE_11.items()}


def table_12():
    """The paper states neither grid, fill, blocks, degree nor k; these were chosen by its iterations."""
    def runs(rows, cpu, level, ic, ls, ic0, colored, ssor, blocks, degrees, sweeps):
        at = lambda figures: f"{figures[0]}, {figures[1]} s"  # noqa: E731
        return [by(f"IC({level})", "ick", f"{at(ic)}; on the CPU {cpu} s", ic[0], level=level), hybrid(f"IC({level}), solves on the host", "ick", level=level),
                *(by(f"L-S polynomial, degree {k}", "ls_polynomial", at(ls), ls[0], degree=k) for k in degrees),
                by("IC(0)", "ic0", at(ic0), ic0[0]), by("MC-IC(0)", "multicolor_ilu0", at(colored), colored[0], kind="ic"),
                *(by(f"MC-SSOR({k})", "multicolor_ssor", at(ssor), ssor[0], sweeps=k) for k in sweeps),
                by(f"block Jacobi, 240 blocks, IC({level})", "block_jacobi", at(blocks), blocks[0], block_size=rows // 240, local="ick",
                   local__level=level), by("jacobi", "jacobi")]
    return {"lap2d": runs(582**2, 2.24, 3, (94, 1.14), (55, 0.85), (254, 1.91), (442, 1.12), (309, 1.83), (251, 2.27), (20, 30), (1, 2)),
            "lap3d": runs(100**3, 4.40, 1, (48, 2.14), (16, 0.90), (80, 2.04), (129, 1.15), (104, 2.25), (95, 2.73), (10, 15, 20), (1,))}


def figure_10():
    """memplus and spe10 are in table 11."""
    return {name: gmres(*(by(f"MC-SSOR({k})", "multicolor_ssor", sweeps=k) for k in SWEEPS)) for name in TABLE_9 if name not in TABLE_11}


def figure_11():
    rows = 60**3
    return {"atmosmodl": gmres(*(by(f"{count}", "block_jacobi", block_size=rows // count, local="ilut") if count > 1 else by("1", "ilut")
                                 for count in BLOCKS))}


PARTS = {"table_4": table_4, "table_5": table_5, "table_6": table_6, "table_7": table_7, "table_8": table_8, "table_9": table_9,
         "table_10": table_10, "table_11": table_11, "table_12": table_12, "figure_10": figure_10, "figure_11": figure_11}
ALL_PARTS = [*PARTS, "figure_5"]


def results_of(machine):
    return HERE.parent / "results" / "papers" / f"li_saad_{machine}.json"


# ------------------------------------------------------------------------------------------------------- measuring


def files_by_name(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            for ending in (".mtx.gz", ".mtx"):
                if name.endswith(ending):
                    found.setdefault(name[: -len(ending)], os.path.abspath(os.path.join(place, name)))
    return found


def source_of(name, files):
    """(file or NAME:SIZE, what it is called, is it the paper's?), or None where there is none."""
    if name in files:
        return files[name], name, True
    if name in THE_SAME:
        return THE_SAME[name], THE_SAME[name], True
    stand_in = STAND_INS.get(name, "")
    if ":" in stand_in:
        return stand_in, stand_in, False
    return (files[stand_in], stand_in, False) if stand_in in files else None


def solve(arguments, matrix, run, repeat):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        given = [matrix] if os.path.exists(matrix) else ["--generate", matrix]
        command = [arguments.prekond, "solve", *given, *run.arguments, "--rtol", "1e-6", "--repeat", str(repeat), "--quiet", "--report", file]
        for option, value in (("--solver", "cg"), ("--rhs", "a_ones"), ("--max-iters", "20000")):
            if option not in run.arguments:
                command += [option, value]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                                  timeout=arguments.timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"more than {arguments.timeout:g} s"}
        if not os.path.exists(file):
            return {"error": done.stderr.strip() or f"exit code {done.returncode}"}
        return results_file.load(file)


def number_in(pattern, notes):
    return next((int(found.group(1)) for found in (re.search(pattern, note) for note in notes) if found), None)


def short(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def kept(report):
    if "solver" not in report or "iterations" not in report["solver"]:
        return {"error": report.get("error", "no result")}
    precond, solver = report["preconditioner"], report["solver"]
    facts = {"iterations": solver["iterations"], "end": solver["reason"], "setup": precond["setup_seconds"], "solve": solver["seconds"],
             "repeat": report["repeat"], "threads": report["prekond"]["threads"], "apply": precond["apply_seconds"], "nnz": precond["nnz"], "products": solver["matrix_products"],
             "product": report["product"]["apply_seconds"], "format": report["product"]["format"],
             "levels": number_in(r"(\d+) levels of rows", precond["notes"]), "colors": number_in(r"(\d+) colours", precond["notes"]),
             "blocks": number_in(r"schwarz: (\d+) blocks", precond["notes"]), "breakdowns": precond["breakdowns"]["count"]}
    return {key: short(value) for key, value in facts.items() if value is not None}


def measured(arguments, matrix, run):
    """The medians of three on a GPU, and of short runs on a host; else a run."""
    report = solve(arguments, matrix, run, 3 if arguments.machine == "h200" else 1)
    if report.get("repeat") == 1 and report.get("total_seconds", 1) < 1:
        report = solve(arguments, matrix, run, 3)
    return kept(report), report


def machine_of(report):
    facts = report["prekond"]
    processor = ""
    if Path("/proc/cpuinfo").exists():
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        processor = f", {len(names)} cores of {names[0]}" if names else ""
    return (facts["device"] or facts["backend"]) + processor


def program(arguments, name):
    """A performance test, in the command's folder or in perf_tests of one above."""
    folders = list(Path(arguments.prekond).resolve().parents)
    for path in [folders[0] / name, *(folder / "perf_tests" / name for folder in folders[:4])]:
        if path.is_file():
            return path
    sys.exit(f"li_saad.py: there is no {name} near {arguments.prekond}; build it")


def benchmarks(arguments, name, *flags):
    """Seconds and counters of a performance test's cases by their names."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([program(arguments, name), *flags, f"--benchmark_out={file.name}", "--benchmark_out_format=json"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=arguments.timeout)
        if done.returncode != 0:
            return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
        runs = results_file.shrunk(results_file.load(file.name))["benchmarks"]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    return {run["name"].split("/iterations:")[0]: {**run, "seconds": run["real_time"] * unit[run["time_unit"]]} for run in runs}


def naive_rates(arguments, matrix):
    """MFLOPS of both triangles together, by rows and by columns."""
    repetitions = 1 if arguments.machine == "h200" else 3  # a solve on a GPU takes a second
    found = benchmarks(arguments, "perf_triangular", f"--matrices={matrix}", "--methods=naive_rows,naive_columns", "--storages=full", "--vectors=",
                       f"--repetitions={repetitions}")
    if "error" in found:
        return {"naive": found}
    flops = sum(2e-6 * found[f"level_schedule/{matrix}/{triangle}"]["nnz"] for triangle in ("lower", "upper"))
    seconds = lambda method: sum(found[f"apply/{method}/full/{matrix}/{triangle}"]["seconds"] for triangle in ("lower", "upper"))  # noqa: E731
    return {method: {"mflops": short(flops / seconds(method))} for method in ("naive_rows", "naive_columns")}


def format_rates(arguments, matrix):
    """GFLOPS of a product by each format; none where the format refuses the matrix."""
    found = benchmarks(arguments, "perf_formats", f"--matrices={matrix}", f"--benchmark_filter=^({'|'.join(FORMATS)}|auto)/", "--repetitions=3")
    if "error" in found:
        return {"formats": found}
    nnz = found[f"auto/{matrix}"]["nnz"]
    rate = lambda run: {"refused": True} if run.get("refused") else {"gflops": short(2e-9 * nnz / run["seconds"])}  # noqa: E731
    return {name: rate(found[f"{name}/{matrix}"]) for name in FORMATS}


def measure_case(arguments, part, matrix, keep):
    """Hands each result to `keep` as it comes; returns a report."""
    report = {}
    for run in PARTS[part]().get(arguments.case, []) if part in PARTS else []:
        if arguments.machine in run.machines:
            facts, one = measured(arguments, matrix, run)
            report = one if "matrix" in one else report
            keep({run.label: facts}, one)
    if part == "table_4":
        keep(naive_rates(arguments, matrix), {})
    if part == "figure_5":
        keep(format_rates(arguments, matrix), {})
    return report


def measure(arguments):
    path = results_of(arguments.machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = results_file.load(path, {"what": "Li and Saad (2013): seconds; medians where repeat is 3 and of performance tests",
                                       "where": "", "by": f"perf_tests/papers/li_saad.py measure --prekond PROGRAM --machine {arguments.machine}",
                                       "note": "", "parts": {}})
    if arguments.note is not None:
        content["note"] = arguments.note
    files = files_by_name(arguments.matrices)
    failed = 0
    for part in arguments.only or ALL_PARTS:
        for name in PARTS[part]() if part in PARTS else FIGURE_5:
            source = source_of(name, files)
            if arguments.cases and name not in arguments.cases:
                continue
            if source is None:
                print(f"{part}, {name}: skipped, neither it nor {STAND_INS.get(name, 'another')} is in {arguments.matrices}", flush=True)
                continue
            matrix, called, same = source
            case = content["parts"].setdefault(part, {})[name] = {"matrix": called, "same": same, "runs": {}}
            arguments.case = name

            def keep(results, report, case=case, called=called, part=part, name=name):
                nonlocal failed
                case["runs"].update(results)
                if "rows" in report.get("matrix", {}):
                    case.update(rows=report["matrix"]["rows"], nnz=report["matrix"]["nnz"])
                    content["where"] = machine_of(report)
                failed += sum("error" in result for result in results.values())
                print(f"{part}, {name} by {called}: {json.dumps(results)}", flush=True)
                results_file.store(path, content)
            measure_case(arguments, part, matrix, keep)
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- the tables


def committed():
    return {machine: results_file.load(results_of(machine), {"parts": {}}) for machine in MACHINES}


class Results:
    """What was measured on all machines."""

    def __init__(self):
        self.files = committed()

    def case(self, part, name, machine):
        return self.files[machine]["parts"].get(part, {}).get(name, {})

    def run(self, part, name, label, machine):
        return self.case(part, name, machine).get("runs", {}).get(label, {})

    def matrix(self, part, name):
        """What was taken for the paper's matrix."""
        case = next((case for case in (self.case(part, name, machine) for machine in MACHINES) if case), None)
        if case is None:
            taken = THE_SAME.get(name) or STAND_INS.get(name)
            return (f"`{taken}`" if taken else "the same"), False
        return ("the same" if case["matrix"] == name else f"`{case['matrix']}`"), case["same"]


def seconds(value):
    return f"{value:.3g}" if isinstance(value, (int, float)) else NOT_MEASURED


def mflops(run):
    return f"{2e-6 * run['nnz'] / run['apply']:.0f}" if run.get("apply") else run.get("error", NOT_MEASURED)


def iterations_of(runs):
    """The iterations on all machines, once where they are the same."""
    texts = []
    for run in runs:
        if run:
            text = run.get("error") or f"{run['iterations']}" + ("" if run["end"] in ("rtol", "atol") else f" ({run['end']})")
            texts += [text] if text not in texts else []
    return " and ".join(texts) or NOT_MEASURED


def times_of(run):
    return f"{seconds(run.get('setup'))}, {seconds(run.get('solve'))}" if "solve" in run else NOT_MEASURED


def ratio_of(above, below, digits=2):
    return f"{above / below:.{digits}f}" if above and below else "-"


def command(*parts):
    return f"Repeat: `perf_tests/papers/li_saad.py measure --prekond PROGRAM --machine cpu|h200 --only {' '.join(parts)}`"


def rows_of(results, part):
    """A row for each run: iterations with the paper's, times on both machines."""
    for name, runs in PARTS[part]().items():
        here, same = results.matrix(part, name)
        first = [name, here]
        if not any(results.case(part, name, machine) for machine in MACHINES):
            yield [*first, "all", NOT_MEASURED, next(run.paper for run in runs if run.paper), "-", *[NOT_MEASURED] * len(MACHINES), "-"]
            continue
        for run in runs:
            found = {machine: results.run(part, name, run.label, machine) for machine in MACHINES}
            of = next((result for result in found.values() if "iterations" in result), {})
            ratio = ratio_of(of.get("iterations"), run.iterations) if same else "-"
            cells = [times_of(found[machine]) if machine in run.machines else "as above" for machine in MACHINES]
            speedup = ratio_of(found["cpu"].get("solve"), found["h200"].get("solve"), 1)
            colors = f", {of['colors']} colours" if "colors" in of and "colours" not in run.label else ""
            yield [*first, run.label + colors, iterations_of(found.values()), run.paper or "-", ratio, *cells, speedup]
            first = ["", ""]


def solves(results, part, text):
    yield text
    yield ""
    yield from results_file.lines(["the paper's matrix", "here", "method", "iterations", "the paper's", "ours / the paper's iterations",
                                   *(f"{machine}: setup, solve s" for machine in MACHINES.values()), "host / H200, solve"], rows_of(results, part))
    yield command(part)


def text_table_4(results):
    yield ("Forward and backward solves with the factors of ILU(0), MFLOPS (2 for each stored entry). By rows and by columns: nothing in "
           "parallel but the entries of a row or column, by 32 lanes on the GPU and a plain loop of one thread on the host, with the triangles of "
           "A scaled, which have the pattern of the factors; the solves are checked against those by levels. The paper: Xeon E5504 and C1060. By levels an H200 takes some 10 us a level, a "
           "launch each, however few rows the level has: with the 1199 and 1449 levels of the small stand-ins of thermal2 and parabolic_fem, whose own "
           "matrices have more rows and parabolic_fem seven levels, that is slower than the C1060. The default on a GPU is one launch.")
    yield ""
    rows = []
    for name, (levels, cpu, by_rows, by_columns, by_levels) in TABLE_4.items():
        here, _ = results.matrix("table_4", name)
        rows.append([name, "the paper", levels, by_rows, by_columns, by_levels, "-", "-", f"{cpu} (CPU)"])
        for machine, called in MACHINES.items():
            runs = results.case("table_4", name, machine).get("runs", {})
            rate = lambda label, runs=runs: runs.get(label, {}).get("mflops", NOT_MEASURED)  # noqa: E731
            rows.append(["", f"{here}, {called}", runs.get("levels", {}).get("levels", NOT_MEASURED), rate("naive_rows"), rate("naive_columns"),
                         *(mflops(runs.get(label, {})) for label in ("levels", "in one launch", "3 Jacobi sweeps")),
                         mflops(runs.get("on the host", {})) if machine == "h200" else "as the others"])
    yield from results_file.lines(["the paper's matrix", "here", "levels", "by rows", "by columns", "by levels", "in one launch", "3 Jacobi sweeps",
                                   "on the host"], rows)
    yield command("table_4")


def levels_and_rate(run):
    return f"{run.get('levels', 1)}, {mflops(run)}" if "apply" in run else NOT_MEASURED


def text_table_5(results):
    yield ("Levels of ILU(0) and MFLOPS of its solves by levels, by the order of the rows. The paper takes MMD, ours are RCM, AMD, "
           "nested dissection and the order of the colours. Nested dissection has 14 to 16 levels on the grids, AMD 6; "
           "on an H200 it is 5.6 to 182 times as fast as the order as given.")
    yield ""
    rows = []
    for name, (_, levels, rate, ordered, ordered_rate) in TABLE_5.items():
        here, _ = results.matrix("table_5", name)
        rows.append([name, "the paper", f"{levels}, {rate}", "-", f"{ordered}, {ordered_rate} (MMD)", "-", "-"])
        for machine, called in MACHINES.items():
            runs = results.case("table_5", name, machine).get("runs", {})
            cells = [levels_and_rate(runs.get(order, {})) for order in ("none", "rcm", "amd", "nd", "color")]
            rows.append(["", f"{here}, {called}", *cells])
    yield from results_file.lines(["the paper's matrix", "here", "as given", "RCM", "AMD", "nested dissection", "colours"], rows)
    yield command("table_5")


def text_table_6(results):
    yield ("GFLOPS of the solves with the factors of MC-ILU(0). The paper's second row atmosmodd is taken to be atmosmodl.")
    yield ""
    rows = []
    for name, (gpu, cpu) in TABLE_6.items():
        here, _ = results.matrix("table_6", name)
        ours = [results.run("table_6", name, "MC-ILU(0)", machine) for machine in MACHINES]
        colors = next((run["colors"] for run in ours if "colors" in run), NOT_MEASURED)
        rows.append([name, here, colors, gpu, cpu, *(f"{2e-9 * run['nnz'] / run['apply']:.3g}" if "nnz" in run else NOT_MEASURED for run in ours)])
    yield from results_file.lines(["the paper's matrix", "here", "colours", "the paper's GPU", "the paper's CPU", *MACHINES.values()], rows)
    yield command("table_6")


def text_figures_5_and_6(results):
    yield ("Products y = A x, GFLOPS (2 for each entry). csr_scalar has a lane a row, csr_vector 16; csr is `--spmv csr`. The paper's bars "
           "have no figures: on a C1060 vector is faster than scalar, JAD than both, up to 10 times a sequential product of the CPU, and DIA "
           "is much faster than JAD on lap7pt and the atmosmod matrices. On a host csr_scalar and csr_vector are one loop. On an H200 the vector "
           "is faster than the scalar with long rows only (memplus, bcsstk17, elasticity), and JAD faster than both on six of 14; a product with sherman3 "
           "takes the time of a launch.")
    yield ""
    rows = []
    for name in FIGURE_5:
        here, _ = results.matrix("figure_5", name)
        for machine, called in MACHINES.items():
            runs = results.case("figure_5", name, machine).get("runs", {})
            cell = lambda run: "refused" if run.get("refused") else run.get("gflops", NOT_MEASURED)  # noqa: E731
            rows.append([name if machine == "cpu" else "", f"{here}, {called}", *(cell(runs.get(form, {})) for form in FORMATS)])
    yield from results_file.lines(["the paper's matrix", "here", *FORMATS], rows)
    yield command("figure_5")


def shares(run, restart=0):
    """Percent of the product, of the preconditioner and of the rest in a solve."""
    total = run["solve"]
    applications = run["iterations"] + 1 + (run["iterations"] // restart if restart else 0)
    product, precond = run["products"] * run["product"], applications * run["apply"]
    return [seconds(total), *(f"{100 * part / total:.0f}" for part in (product, precond, max(0, total - product - precond)))]


def breakdown(results, part, cases, labels, restart, text):
    yield text
    yield ""
    yield ("The time of a product and of an application of M^-1 by themselves (medians of five), times their number; the rest are operations on "
           "vectors. On a host that other programs use the parts may exceed the whole.")
    yield ""
    rows = []
    for name in cases:
        here, _ = results.matrix(part, name)
        for label in labels:
            for machine, called in MACHINES.items():
                run = results.run(part, name, label, machine)
                if machine == "cpu" and "on the host" in label:
                    continue
                cells = shares(run, restart) if "products" in run else [NOT_MEASURED] * 4
                rows.append([name, here, f"{called}, {label}", *cells])
    yield from results_file.lines(["the paper's matrix", "here", "on", "solve s", "products %", "M^-1 %", "vectors %"], rows)
    yield command(part)


def best_of(results, part, name, machine, labels):
    """The fastest run that converged: (label, run), or None."""
    found = [(label, results.run(part, name, label, machine)) for label in labels]
    return min(((label, run) for label, run in found if run.get("end") == "rtol"), key=lambda pair: pair[1]["solve"], default=None)


def text_figure_8(results):
    yield ("Iteration time of CG with IC(0) over that with the least-squares polynomial of the fastest of the degrees "
           f"{', '.join(map(str, DEGREES))}. The paper: up to 7 times. On an H200 exact solves with many levels wait, and products do not: the "
           "ratio is larger, most where levels are many.")
    yield ""
    rows = []
    for name, (_, _, degree) in TABLE_8.items():
        here, _ = results.matrix("table_8", name)
        cells = []
        for machine in MACHINES:
            best = best_of(results, "table_8", name, machine, [f"degree {k}" for k in DEGREES])
            ic = best_of(results, "table_7", name, machine, ["IC(0)"])
            cells += [f"{best[0].split()[1]}, {best[1]['iterations']}" if best else NOT_MEASURED,
                      ratio_of(ic[1]["solve"], best[1]["solve"]) if best and ic else NOT_MEASURED]
        rows.append([name, here, degree, *cells])
    head = [text for called in MACHINES.values() for text in (f"{called}: degree, iterations", f"{called}: IC(0) / polynomial")]
    yield from results_file.lines(["the paper's matrix", "here", "the paper's degree", *head], rows)
    yield command("table_7", "table_8")


def text_figure_10(results):
    yield (f"GMRES(40) with ILUT(10, 1e-3) and with MC-SSOR(k), the fastest k of {', '.join(map(str, SWEEPS))}: iterations, and seconds of setup "
           "and solve. The paper's bars have no figures. On an H200 MC-SSOR(k) is faster in all but sherman3 and memplus.")
    yield ""
    rows = []
    for name in TABLE_9:
        part, ending = ("table_11", ", all colours") if name in TABLE_11 else ("figure_10", "")
        here, _ = results.matrix(part, name)
        for machine, called in MACHINES.items():
            best = best_of(results, part, name, machine, [f"MC-SSOR({k}){ending}" for k in SWEEPS])
            ilut = results.run("table_9", name, "ILUT(10, 1e-3)", machine)
            cell = lambda run: f"{iterations_of([run])}, {seconds(run['setup'] + run['solve'])}" if "solve" in run else NOT_MEASURED  # noqa: E731
            rows.append([name if machine == "cpu" else "", f"{here}, {called}", best[1].get("colors", "-") if best else NOT_MEASURED,
                         re.search(r"\d+", best[0]).group() if best else NOT_MEASURED, cell(best[1]) if best else NOT_MEASURED, cell(ilut)])
    yield from results_file.lines(["the paper's matrix", "here", "colours", "best k", "MC-SSOR(k): iterations, s", "ILUT: iterations, s"], rows)
    yield command("table_9", "table_11", "figure_10")


def text_figure_11(results):
    yield ("Block Jacobi with ILUT(10, 1e-3) in the blocks and GMRES(40) by the number of blocks: MFLOPS of an application, iterations, seconds "
           "of the solve. The text of the paper names neither matrix nor figures: with more blocks the solves are faster, and the iterations more. "
           "Where iterations differ, the first are the host's, whose blocks are METIS's, and the second the H200's, whose blocks are those of `multilevel`.")
    yield ""
    rows = []
    here, _ = results.matrix("figure_11", "atmosmodl")
    for count in BLOCKS:
        found = [results.run("figure_11", "atmosmodl", str(count), machine) for machine in MACHINES]
        made = next((run["blocks"] for run in found if "blocks" in run), count)
        rows.append([here, made, iterations_of(found), *(text for run in found for text in (mflops(run), seconds(run.get("solve"))))])
    head = [text for called in MACHINES.values() for text in (f"{called}: MFLOPS", f"{called}: solve s")]
    yield from results_file.lines(["matrix", "blocks", "iterations", *head], rows)
    yield command("figure_11")


def where(results):
    for machine, called in MACHINES.items():
        file = results.files[machine]
        note = f" {file['note']}" if file.get("note") else ""
        yield f"- {called}: {file['where']}.{note}" if file.get("where") else f"- {called}: {NOT_MEASURED}."


TEXT_7 = ("On an H200 the exact solves bound the time: CG with Jacobi's preconditioner takes less than with IC(0) on all but s3rmq4m1. On bcsstk17 and both "
          "matrices of shells solves on the host take less than a third of the time. On the host Gustafsson's MIC(0) breaks down in 804 and 868 rows of s3rmt3m1 and "
          "s3rmq4m1; it does not converge. ")


def sections():
    """(heading, Markdown) of each table and figure, from committed results."""
    results = Results()
    stand_in = "A stand-in is another problem: no ratio to the paper's figures is given."
    texts = [
        ("Machines of the tables of Li and Saad", where(results)),
        ("Figures 5 and 6: products", text_figures_5_and_6(results)),
        ("Table 4: triangular solves", text_table_4(results)),
        ("Table 5: levels after reordering", text_table_5(results)),
        ("Table 6: solves with MC-ILU(0)", text_table_6(results)),
        ("Table 7: CG with IC and MIC", solves(results, "table_7", "b random. The paper does not state its fill, and its MIC is that of Robert (1982); "
                                               "its figures are with the first row of each matrix. " + TEXT_7 + stand_in)),
        ("Figure 7: where the time of CG with IC(0) goes", breakdown(
            results, "table_7", ("thermal2", "cfd2"), ("IC(0)", "IC(0), solves on the host"), 0,
            "The paper: products and vector operations are 8 and 10 times as fast on the C1060; thermal2, solved by levels on the GPU, is 3.1 times as "
            "fast in all, cfd2, solved on the CPU, 1.5 times.")),
        ("Table 8: CG with least-squares polynomials", solves(results, "table_8", f"b random. The paper's figures are with the degree that it found best. {stand_in}")),
        ("Figure 8: polynomials against IC", text_figure_8(results)),
        ("Table 9: GMRES(40) with ILUT", solves(results, "table_9", "The paper states neither p nor tau. On an H200 "
                                                  "ILU(0) of memplus takes longer to set up than on the host. " + stand_in)),
        ("Figure 9: where the time of GMRES with ILUT goes", breakdown(
            results, "table_9", ("atmosmodd", "spe10"), ("ILUT(10, 1e-3)", "ILUT(10, 1e-3), solves on the host"), 40,
            "The paper: products and vector operations are 12 and 10 times as fast on the C1060, triangular solves by levels 2.4 times, all "
            "of atmosmodd 4.3 times; the triangles of spe10 are solved on the CPU, 3.4 times in all. The host's figures of spe10's place are of single runs.")),
        ("Figure 10: MC-SSOR(k) against ILUT", text_figure_10(results)),
        ("Table 10: ILU(0) by colours", solves(results, "table_10", "GMRES(40). In the paper fewer colours are faster on all four; on an H200 they are on two, and on the convection "
                                                  "problems ILU(0) takes 0.21 and 0.28 of the iterations and less time. " + stand_in)),
        ("Table 11: sparsified colourings", solves(results, "table_11", "GMRES(40) on memplus, the paper's matrix, and on one in the place of spe10, of the same mean length of rows, "
                                                  "whose longest has as many entries as spe10 has colours; the paper takes the best k of MC-SSOR(k), which it does not state: the ratio is given at k = 15. " + stand_in)),
        ("Figure 11: the number of blocks of block Jacobi", text_figure_11(results)),
        ("Table 12: all preconditioners on Laplacians", solves(
            results, "table_12", "The paper states neither the grids nor the fill, the blocks, the degree and k. Ours were chosen by its iterations, so that these "
            "agree is no evidence of its settings: the grid of lap2d, IC(3) and IC(1) of levels 1 to 5 and 1 to 2, 240 blocks of 60, 240 and 960 on lap2d, degrees 20 "
            "and 15, k = 2 and 1. On lap3d 240 blocks were the only number tried. IC(0) and MC-IC(0) of lap3d take fewer iterations than the paper's. "
            "The two iterations of block Jacobi are those with METIS's blocks on the host and with those of `multilevel` on the H200.")),
    ]
    return [(heading, "\n".join(text)) for heading, text in texts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    of_measure = parser.add_subparsers(required=True).add_parser("measure")
    of_measure.add_argument("--prekond", required=True, help="the command")
    of_measure.add_argument("--machine", choices=MACHINES, required=True)
    of_measure.add_argument("--matrices", default=str(ROOT.parent / "shared" / "matrices"), help="folder")
    of_measure.add_argument("--only", nargs="*", choices=ALL_PARTS, help="parts; default: all")
    of_measure.add_argument("--cases", nargs="*", help="the paper's matrices; default: all")
    of_measure.add_argument("--timeout", type=float, default=300, help="seconds a run")
    of_measure.add_argument("--note", help="a remark on the machine")
    return measure(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
