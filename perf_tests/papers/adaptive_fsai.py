#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and figures of Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019).

    adaptive_fsai.py measure --machine cpu|h200 [--prekond PROGRAM] [--programs FOLDER] [--matrices FOLDER] [--only PART ...]

PART is a table (2, 3, 4, 5, figures, shares) or a table and a matrix (2/elasticity_p1_150). Table 6 is table 4 of both machines. Below the folder of
--programs are peer_cholmod, peer_cudss, local_systems and perf_adaptive_fsai_shares. That of --matrices has the real matrices, and SIZE/NAME.mtx.gz of the finite
element packages, SIZE in thousands of rows. What is not there is named and left out. What is measured goes to
a file for that machine in perf_tests/results/papers; cases of other parts stay.

As in the paper b = A 1, x0 = M^-1 b, and CG stops at a relative residual of 1e-6.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).resolve().parent
PERF_TESTS = HERE.parent
sys.path.insert(0, str(PERF_TESTS))
from results_file import lines, load, store  # noqa: E402

RESULTS = PERF_TESTS / "results"
MACHINES = {"h200": "NVIDIA H200", "cpu": "a host"}
# Matrices of unstructured meshes by finite element packages: name and thousands of rows.
APPLICATIONS = [("elasticity_p1", 50), ("elasticity_p1", 150), ("elasticity_jump", 150), ("simp", 50), ("poisson_jump", 50),
                ("poisson_jump", 150), ("heat_steps_0", 50)]
# Random graphs in space, with the sizes and lengths of rows of 03, 04, 05, 07, 09 and 13.
IRREGULAR = ["irregular3d:42,unknowns=3,mean=53.4", "irregular3d:42,unknowns=3,mean=48.8", "irregular3d:43,unknowns=3,mean=53.5",
             "irregular3d:52,unknowns=3,mean=46.1", "irregular3d:63,unknowns=3,mean=50", "irregular3d:113,mean=14.3"]
GENERATED = ["elasticity3d:36", "elasticity3d:40,contrast=1", "elasticity3d:47", "elasticity3d:60", "elasticity3d:68", "elasticity3d:99",
             "poisson3d:107", "circuit:1259", "anisotropic2d:1640", *IRREGULAR]
REAL = ["bcsstk16", "bcsstk17", "bcsstk25", "s3rmt3m1", "gyro_m", "Trefethen_20000", "minsurfo", "shallow_water1", "G2_circuit"]
MATRICES = [f"{name}_{size}" for name, size in APPLICATIONS] + GENERATED + REAL
PARTS = {
    "2": ["elasticity_p1_50", "elasticity_p1_150", "elasticity_jump_150", "simp_50", "poisson_jump_50", "poisson_jump_150", "heat_steps_0_50", "elasticity3d:36",
          "elasticity3d:60", "elasticity3d:68", "poisson3d:107", "irregular3d:43,unknowns=3,mean=53.5", "bcsstk17", "G2_circuit"],
    "3": ["elasticity_p1_150", "elasticity3d:36", "elasticity3d:40,contrast=1"],
    "4": MATRICES,
    "5": MATRICES,
    "figures": ["elasticity_p1_150", "poisson_jump_50", "elasticity3d:36", "s3rmt3m1"],
    "shares": ["elasticity3d:36", "elasticity3d:60", "poisson3d:107"],
}
STRATEGIES = ["list", "marker", "merge"]
# The paper's settings: rows end where psi < 1e-3 psi_0, or after 30 entries.
PUBLISHED = "adaptive_fsai:max_steps=30:step_size=1:tolerance=0.001:step_tolerance=0"
SHARES = ["entries_a_row", "gradient", "choice", "member", "rest"]
LOCAL_SYSTEMS = ["fsai:power=1", "fsai:power=2", "fsai:power=3:prefilter=0.05", PUBLISHED]
LONG_SECONDS = 60
LOST = 5
DIRECT = {"cpu": ("peer_cholmod", "CHOLMOD"), "h200": ("peer_cudss", "cuDSS")}

# The paper's matrices (Table 1): kind, rows, entries a row.
PAPER_1 = {"01": ("geomechanics", 137140, 45.46), "02": ("structure", 190581, 39.52), "03": ("structure", 217918, 53.39),
           "04": ("structure", 220542, 48.83), "05": ("2D and 3D problem", 245874, 53.48), "06": ("structure", 297945, 41.27),
           "07": ("structure", 415863, 46.10), "08": ("contact mechanics", 638802, 42.65), "09": ("reservoir", 742793, 50.00),
           "10": ("geomechanics", 910122, 43.97), "11": ("geomechanics", 923136, 44.42), "12": ("thermal problem", 1228045, 6.99),
           "13": ("flow", 1465137, 14.34), "14": ("circuit", 1585478, 4.83), "15": ("2D anisotropic Laplacian", 2689537, 7.00),
           "16": ("geomechanics", 2911419, 43.87)}
# Table 2: the best settings, density before the postfilter and after, iterations, setup, CG.
PAPER_2 = {"static": {"05": ("0, 1, 0.05", 0.509, 0.211, 2262, 0.34, 1.82), "08": ("0.05, 4, 0.05", 0.412, 0.149, 384, 1.11, 0.61),
                      "10": ("0.05, 3, 0.05", 0.269, 0.125, 351, 1.71, 0.70), "11": ("0.05, 5, 0.05", 0.310, 0.158, 644, 1.56, 1.36)},
           "adaptive": {"05": ("20, 1, 0.001", 0.392, 0.392, 1405, 0.60, 1.39), "08": ("10, 1, 0.01", 0.204, 0.204, 338, 0.29, 0.75),
                        "10": ("10, 1, 0.05", 0.136, 0.136, 360, 0.23, 1.44), "11": ("10, 1, 0.01", 0.204, 0.204, 454, 0.49, 1.30)}}
# Table 3: density, time of the gradient in seconds and memory in MB with marker arrays, and by merging.
PAPER_3 = {("01", 10): (0.198, 0.05, 2714.5, 0.05, 35.3), ("01", 20): (0.297, 0.15, 2750.4, 0.13, 71.9),
           ("01", 30): (0.334, 0.22, 2786.3, 0.22, 107.8), ("02", 10): (0.278, 0.08, 3753.5, 0.09, 31.2),
           ("02", 20): (0.531, 0.35, 3784.8, 0.34, 62.5), ("02", 30): (0.776, 0.96, 3816.0, 0.89, 93.7)}
# Tables 4 and 6: density; iterations and setup in single precision and in double; CG on the GPU; iterations, setup, CG on the CPU.
PAPER_6 = {"01": (0.334, 209, 0.22, 212, 0.27, 0.44, 216, 2.44, 1.09), "02": (0.776, 506, 0.89, 506, 0.95, 0.50, 506, 6.64, 4.21),
           "03": (0.500, 1125, 0.98, 1111, 1.23, 1.35, 1113, 6.27, 10.98), "04": (0.444, 126, 0.75, 126, 0.95, 0.32, 127, 6.23, 1.34),
           "05": (0.577, 1182, 1.29, 1191, 1.59, 1.40, 1191, 8.42, 14.04), "06": (0.392, 647, 0.79, 646, 0.95, 1.67, 647, 7.81, 13.01),
           "07": (0.588, 1037, 1.83, 1036, 2.30, 2.00, 1036, 11.99, 19.01), "08": (0.534, 228, 2.35, 228, 2.89, 1.05, 228, 15.26, 6.20),
           "09": (0.392, 524, 2.52, 524, 3.28, 2.40, 524, 13.82, 16.89), "10": (0.570, 189, 3.78, 189, 4.64, 1.14, 189, 26.58, 8.09),
           "11": (0.468, 223, 3.13, 223, 3.95, 1.69, 223, 18.23, 10.71), "12": (4.205, 453, 2.38, 453, 3.51, 1.54, 452, 23.07, 18.73),
           "13": (0.608, 540, 1.09, 540, 1.33, 7.20, 540, 5.66, 18.95), "14": (3.539, 235, 1.50, 235, 2.02, 3.02, 235, 12.28, 9.06),
           "15": (1.997, 723, 2.57, 723, 3.65, 12.65, 723, 22.35, 52.54), "16": (0.513, 241, 11.57, 241, 14.40, 4.95, 241, 82.42, 38.88)}
# Table 5: iterations and total seconds of Jacobi-PCG; nnz(L) / nnz(A) and total seconds of PARDISO. None: beyond 10000, out of memory.
PAPER_5 = {"01": (None, 32.42, 7.645, 2.11), "02": (1973, 7.97, 14.932, 4.13), "03": (5800, 33.35, 4.438, 1.09),
           "04": (1579, 9.24, 2.685, 0.82), "05": (7892, 51.13, 4.333, 1.07), "06": (3690, 35.20, 15.712, 6.04),
           "07": (4697, 47.44, 2.904, 1.56), "08": (4418, 69.20, 40.497, 88.56), "09": (9115, 193.29, 14.254, 22.53),
           "10": (5220, 121.37, 44.520, 156.35), "11": (7620, 181.41, 45.124, 162.72), "12": (2222, 31.41, 6.482, 5.38),
           "13": (4658, 105.63, 54.898, 58.01), "14": (1188, 22.37, 13.944, 7.44), "15": (5443, 199.98, 9.196, 12.68),
           "16": (2611, 202.60, None, None)}


# ------------------------------------------------------------------------------------------------------- measuring


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure = parser.add_subparsers(dest="command", required=True).add_parser("measure")
    measure.add_argument("--machine", choices=MACHINES, required=True)
    measure.add_argument("--prekond", default=str(PERF_TESTS.parent / "scripts" / "prekond"), help="the command")
    measure.add_argument("--programs", default=str(PERF_TESTS.parent / "build"), help="folder that the other programs are below")
    measure.add_argument("--matrices", default=str(PERF_TESTS.parent.parent / "shared" / "matrices" / "spd"))
    measure.add_argument("--only", nargs="+", default=list(PARTS), metavar="PART")
    measure.add_argument("--repeat", default="3", help="number of repetitions, of which times are medians")
    measure.add_argument("--marker-bytes", default="17179869184", help="workspace_budget of gradient = marker")
    measure.add_argument("--timeout", type=float, default=500, help="seconds a matrix and table")
    return parser.parse_args()


def static_settings():
    """Powers without a prefilter grow fast."""
    for tau, powers in ((0, (1, 2)), (0.05, (1, 2, 3, 4, 5)), (0.1, (3, 5))):
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


def settings_of(table, arguments):
    return {"3": lambda: list(gradient_settings(arguments.marker_bytes)),
            "4": lambda: [PUBLISHED + ":setup_scalar=single", PUBLISHED + ":setup_scalar=double"],
            "5": lambda: ["jacobi", PUBLISHED + ":setup_scalar=single"]}[table]()


def path_of(matrix, folder):
    """The file of a matrix; None where it is not in the folder."""
    name, _, size = matrix.rpartition("_")
    stems = [f"{size}/{name}", matrix] if size.isdigit() else [matrix]
    candidates = [Path(folder) / (stem + ending) for stem in stems for ending in (".mtx", ".mtx.gz")]
    return next((str(path.resolve()) for path in candidates if path.exists()), None)


def source_of(matrix, folder):
    """What the programs are told of it, or None."""
    return matrix if matrix in GENERATED else path_of(matrix, folder)


def before_postfilter(notes, nnz):
    for note in notes:
        words = note.split()
        if note.startswith("G had "):
            return int(words[2])
    return nnz


def rounded(value):
    return float(f"{value:.5g}")


def measured(setting, row):
    if "error" in row:
        return {"setting": setting, "error": row["error"], "converged": False}
    precond, solver = row["preconditioner"], row["solver"]
    nnz = row["matrix"]["nnz"]
    return {"setting": setting, "iterations": solver["iterations"], "converged": solver["converged"],
            "setup": rounded(precond["setup_seconds"]), "solve": rounded(solver["seconds"]), "total": rounded(row["total_seconds"]),
            "density": rounded(precond["density"]), "first_density": rounded(before_postfilter(precond["notes"], precond["nnz"]) / nnz),
            "setup_bytes": precond["setup_bytes"], "breakdowns": precond["breakdowns"]["count"]}


def compare(arguments, source, settings, repeat=None):
    """The machine, the matrix, and a result a setting; `repeat` in place of the option's."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        matrix = ["--generate", source] if source in GENERATED else [source]
        command = [arguments.prekond, "compare", *matrix, "--rhs", "a_ones", "--x0", "precond", "--precond", ",".join(settings),
                   "--repeat", repeat or arguments.repeat, "--max-iters", "10000" if settings[0] == "jacobi" else "20000", "--quiet",
                   "--patience", "0", "--report", file]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=arguments.timeout)
        if not os.path.exists(file):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        rows = load(file)
    whole = next(row for row in rows if "matrix" in row)
    machine = {name: whole["prekond"][name] for name in ("backend", "device", "kokkos")}
    size = {"rows": whole["matrix"]["rows"], "nnz": whole["matrix"]["nnz"]}
    threads = {} if machine["device"] else {"threads": whole["prekond"]["threads"]}
    return machine, size, [{**measured(name, row), **threads} for name, row in zip(settings, rows)]


def tuned_cases(arguments, source):
    """What compare() returns for table 2: every setting once, then the three best of each FSAI as medians. A static FSAI is left out where
    the setup of a smaller power of the same prefilter alone took LOST times the best total."""
    static = list(static_settings())
    machine, size, cases = compare(arguments, source, [*adaptive_settings(), *(one for one in static if int(option(one, "power")) < 3)], "1")
    for power in ("3", "4", "5"):
        best = min(case["total"] for case in cases if case["converged"])
        lost = {option(case["setting"], "prefilter") for case in cases if case.get("setup", 0) > LOST * best}
        settings = [one for one in static if option(one, "power") == power and option(one, "prefilter") not in lost]
        cases += compare(arguments, source, settings, "1")[2] if settings else []
    for name in ("fsai:", "adaptive_fsai:"):
        sound = sorted((case for case in cases if case["converged"] and case["setting"].startswith(name)), key=lambda case: case["total"])
        for case in compare(arguments, source, [case["setting"] for case in sound[:3]])[2] if sound else []:
            next(old for old in cases if old["setting"] == case["setting"]).update(case)
    return machine, size, cases


def output_of(arguments, program, *words):
    """What one of the other programs prints; None where it was not built."""
    path = next((path for path in sorted(Path(arguments.programs).rglob(program)) if path.is_file()), None)
    if path is None:
        print(f"  no {program} below {arguments.programs}: left out", file=sys.stderr, flush=True)
        return None
    done = subprocess.run([str(path), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False,
                          timeout=arguments.timeout)
    if "{" not in done.stdout:
        raise RuntimeError(f"{program}: exit code {done.returncode}")
    return done.stdout


def json_rows(arguments, program, *words):
    """Its lines of JSON."""
    output = output_of(arguments, program, *words)
    return output and [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def seconds_of_direct(run):
    return sum(run[part] for part in ("analysis_seconds", "factor_seconds", "solve_seconds"))


def direct_case(arguments, source):
    """A direct solver, the median of its repetitions by the total; a long run is not repeated."""
    runs = []
    for _ in range(int(arguments.repeat)):
        try:
            rows = json_rows(arguments, DIRECT[arguments.machine][0], source)
        except subprocess.TimeoutExpired:
            return [{"setting": "direct", "error": f"more than {arguments.timeout:g} s"}]
        if rows is None:
            return []
        if "error" in rows[0]:
            return [{"setting": "direct", "error": rows[0]["error"]}]
        runs.append(rows[0])
        if seconds_of_direct(rows[0]) > LONG_SECONDS:
            break
    run = sorted(runs, key=seconds_of_direct)[len(runs) // 2]
    return [{"setting": "direct", "total": rounded(seconds_of_direct(run)), "factor": rounded(run["factor_seconds"]),
             "density": rounded(run["factor_nnz"] / run["nnz"]), "residual": run["residual"]}]


def local_cases(arguments, source):
    rows = json_rows(arguments, "local_systems", source, "300", *LOCAL_SYSTEMS) or []
    return [{"setting": row["method"], **{key: row[key] for key in ("rows", "sampled", "sizes", "conditions")}} for row in rows]


def share_cases(arguments, source):
    """The parts of the kernel, with the paper's settings."""
    output = output_of(arguments, "perf_adaptive_fsai_shares", f"--matrix={source}", "--tolerance=0.001", f"--repetitions={arguments.repeat}",
                       "--benchmark_format=json")
    rows = json.loads(output[output.index("{"):])["benchmarks"] if output else []
    return [{"setting": PUBLISHED, "setup": rounded(row["real_time"] * 1e-3), **{part: rounded(row[part]) for part in SHARES}}
            for row in rows if row.get("aggregate_name", "median") == "median"]


def cases_of(arguments, content, table, matrix, source):
    if table == "figures":
        return local_cases(arguments, source)
    if table == "shares":
        return share_cases(arguments, source)
    found = tuned_cases(arguments, source) if table == "2" else compare(arguments, source, settings_of(table, arguments))
    content["machine"], content["matrices"][matrix], cases = found
    return cases + (direct_case(arguments, source) if table == "5" else [])


def wanted(arguments):
    """(table, matrix) in the order of PARTS."""
    for table, matrices in PARTS.items():
        for matrix in matrices:
            if table in arguments.only or f"{table}/{matrix}" in arguments.only:
                yield table, matrix


def empty(machine):
    return {"what": "tables and figures of Bernaschi et al. (2019)", "where": MACHINES[machine],
            "command": f"perf_tests/papers/adaptive_fsai.py measure --machine {machine}", "machine": {}, "matrices": {}, "cases": []}


def results_path(machine):
    return RESULTS / "papers" / f"adaptive_fsai_{machine}.json"


def place(case):
    return list(PARTS).index(case["table"]), MATRICES.index(case["matrix"])


def put(content, table, matrix, cases, load_average):
    """Replaces the cases of this matrix in the table."""
    busy = {} if load_average is None else {"load": round(load_average, 1)}
    content["cases"] = [case for case in content["cases"] if (case["table"], case["matrix"]) != (table, matrix)]
    content["cases"] += [{"table": table, "matrix": matrix, **case, **busy} for case in cases]
    content["cases"].sort(key=place)


def run_measure(arguments):
    path = results_path(arguments.machine)
    content = load(path, empty(arguments.machine))
    parts = list(wanted(arguments))
    if not parts:
        sys.exit(f"no such part: {' '.join(arguments.only)}; name one of {', '.join(PARTS)}, or TABLE/MATRIX")
    failed = 0
    for table, matrix in parts:
        source = source_of(matrix, arguments.matrices)
        if source is None:
            print(f"table {table}: {matrix} is not in {arguments.matrices}: left out", file=sys.stderr, flush=True)
            continue
        print(f"table {table}: {matrix}", flush=True)
        try:
            cases = cases_of(arguments, content, table, matrix, source)
        except (RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
            print(f"  failed: {error}", file=sys.stderr, flush=True)
            failed += 1
            continue
        put(content, table, matrix, cases, os.getloadavg()[0] if arguments.machine == "cpu" else None)
        store(path, content)
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- rendering


NOT_MEASURED = "not measured"
BUSY = "busy"
QUIET = 3  # processes that run, on two cores
WHERE_BUSY = f"Cells with `{BUSY}`: the machine had other work, and its times say nothing; iterations and densities do not depend on it."


def results(machine):
    return load(results_path(machine), empty(machine))


def grouped(content, table):
    """{matrix: its cases} of a table, in the order of MATRICES."""
    found = {}
    for case in content["cases"]:
        if case["table"] == table:
            found.setdefault(case["matrix"], []).append(case)
    return found


def option(setting, name):
    for part in setting.split(":")[1:]:
        key, value = part.split("=")
        if key == name:
            return value
    return ""


def seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def is_busy(*cases):
    """Whether other programs ran on the host, or shared the GPU, so that the times say nothing."""
    return any(case.get("load", 0) > QUIET or case.get("shared") for case in cases)


def time_of(case, part="total"):
    return BUSY if is_busy(case) else seconds(case[part])


def times_of(case):
    return [time_of(case, part) for part in ("setup", "solve", "total")]


def time_ratio(above, below, digits=1):
    return BUSY if is_busy(above, below) else f"{above['total'] / below['total']:.{digits}f}"


def best_of(cases, name):
    sound = [case for case in cases if case.get("converged") and case["setting"].startswith(name + ":")]
    return min(sound, key=lambda case: case["total"]) if sound else None


def text(*parts):
    return "\n".join(line for part in parts for line in ([part, ""] if isinstance(part, str) else part))


def repeat(part, machine="MACHINE"):
    return f"Repeat: `perf_tests/papers/adaptive_fsai.py measure --machine {machine} --only {part}`"


def of_the_paper(head, rows):
    yield "The paper, on a Titan V:"
    yield ""
    yield from lines(head, rows)


def matrices():
    rows = {}
    for machine in MACHINES:
        rows.update(results(machine)["matrices"])
    ours = [[f"`{name}`", "unstructured mesh" if name.rpartition("_")[2].isdigit() and name not in REAL else
             "generated" if name in GENERATED else "real", f"{rows[name]['rows']:,}", f"{rows[name]['nnz'] / rows[name]['rows']:.1f}"]
            for name in MATRICES if name in rows]
    theirs = [[key, kind, f"{n:,}", f"{width:.1f}"] for key, (kind, n, width) in PAPER_1.items()]
    return text("None of the paper's 16 matrices could be had. In their place are matrices of the same kinds: of finite element "
                "packages on unstructured meshes (the name ends with the thousands of rows that were asked for), of Prekond's generators in the "
                "sizes of the paper, and real ones. Iterations of ours say nothing of the paper's, so that no ratio of them is given.",
                list(lines(["ours", "from", "rows", "entries a row"], ours)),
                list(lines(["the paper's", "kind", "rows", "entries a row"], theirs)))


def tuned_row(matrix, case, names):
    return [f"`{matrix}`", ", ".join(option(case["setting"], name) for name in names), f"{case['first_density']:.3f}",
            f"{case['density']:.3f}", case["iterations"], *times_of(case)]


def tuned(machine):
    """Table 2 on a machine, and in how many matrices which FSAI is faster."""
    static, adaptive, ratios = [], [], []
    for matrix, cases in grouped(results(machine), "2").items():
        first, second = best_of(cases, "fsai"), best_of(cases, "adaptive_fsai")
        if not first or not second or is_busy(first, second):
            continue
        static.append(tuned_row(matrix, first, ("prefilter", "power", "postfilter")))
        adaptive.append([*tuned_row(matrix, second, ("max_steps", "step_size", "tolerance")), f"{first['total'] / second['total']:.2f}"])
        ratios.append(first["total"] / second["total"])
    if not ratios:
        return [f"{MACHINES[machine]}: {NOT_MEASURED}.", ""]
    won = sum(ratio > 1 for ratio in ratios)
    return [f"On {MACHINES[machine]} the adaptive FSAI is faster for {won} of {len(ratios)} matrices:", "",
            *lines(["static", "tau, k, delta", "mu_0", "mu", "iterations", "T_p", "T_s", "T_t"], static),
            *lines(["adaptive", "k_max, s, epsilon", "mu_0", "mu", "iterations", "T_p", "T_s", "T_t", "static T_t / adaptive"], adaptive)]


SINGLE_RUNS = "elasticity_p1_50, simp_50, poisson_jump_150, elasticity3d:60 and poisson3d:107, which are"


def table_2():
    theirs = [[key, name, setting, f"{first:.3f}", f"{mu:.3f}", iterations, setup, solve, f"{setup + solve:.2f}"]
              for name, table in PAPER_2.items() for key, (setting, first, mu, iterations, setup, solve) in table.items()]
    return text("Static and adaptive FSAI, each with the parameters that take the least time in all (Figure 4 shows T_p and T_s, Figure 5 "
                "the densities). Setup in double precision; mu_0 is nnz(G) / nnz(A) before the postfilter; T_p setup, T_s CG, T_t both, in "
                "seconds.",
                *(list(tuned(machine)) for machine in MACHINES),
                list(of_the_paper(["matrix", "FSAI", "settings", "mu_0", "mu", "iterations", "T_p", "T_s", "T_t"], theirs)),
                "In the paper the adaptive FSAI always wins, with setups of a second and more. On an H200 setups are some milliseconds, and a pattern "
                "that is only some per cent better does not pay for a longer one: the adaptive FSAI wins by 2 to 15 % on the unstructured elasticity problems without jumps, "
                "bcsstk17 and G2_circuit, is even on elasticity3d:36 and 2 % slower on elasticity_jump_150; a static FSAI wins on the others, of a low power but on the random graph, where a fifth power with a prefilter keeps few entries. Medians of three, but "
                f"for {SINGLE_RUNS} single runs; of elasticity_p1_150, elasticity_jump_150, elasticity3d:68 and the random graph the three best of each kind are medians, and a static "
                f"FSAI is left out where the setup of a smaller power with its prefilter took by itself {LOST} times the best total; twelve of the host's 16 cores "
                "compiled other programs next to elasticity_p1_150, elasticity_jump_150 and elasticity3d:68.",
                repeat("2"))


def gradients(machine):
    rows = []
    for matrix, cases in grouped(results(machine), "3").items():
        by = {(option(case["setting"], "max_steps"), option(case["setting"], "gradient")): case for case in cases if "error" not in case}
        for steps in ("10", "20", "30"):
            if all((steps, gradient) in by for gradient in STRATEGIES):
                cells = [by[steps, gradient] for gradient in STRATEGIES]
                rows.append([f"`{matrix}`", steps, f"{cells[0]['density']:.3f}"] +
                            [cell for case in cells for cell in (time_of(case, "setup"), f"{case['setup_bytes'] / 1e6:.1f}")])
    return [f"{MACHINES[machine]}:", "", *lines(["matrix", "k_max", "mu", "list T_p", "MB", "marker T_p", "MB", "merge T_p", "MB"], rows)]


def table_3():
    theirs = [[key, steps, f"{mu:.3f}", marker, first, merge, second]
              for (key, steps), (mu, marker, first, merge, second) in PAPER_3.items()]
    return text("How the Kaporin gradient is found: by hash tables (`list`, the default), marker arrays, or merged rows. T_p is the whole "
                "setup, in single precision, in seconds; MB its largest working memory beyond A, G and G^T.",
                *(gradients(machine) for machine in MACHINES),
                list(of_the_paper(["matrix", "k_max", "mu", "marker T_kg", "MB", "merge T_kg", "MB"], theirs)),
                "In the paper merging takes the time of markers. Here it takes 1.2 to 4.3 times as long on an H200, since all steps of a row are one kernel in scratch and "
                "a merge reads its rows once more in each; hash tables have the speed of markers and a fifteenth to a ninth of their memory. T_kg, the time of the "
                "gradient by itself, does not exist in one fused kernel.", repeat("3"))


def pair_of(cases):
    by = {option(case["setting"], "setup_scalar"): case for case in cases if "error" not in case}
    return by.get("single"), by.get("double")


def pairs(machine):
    """(matrix, single, double)"""
    for matrix, cases in grouped(results(machine), "4").items():
        single, double = pair_of(cases)
        if single and double:
            yield matrix, single, double


def iterations_of(case):
    return case["iterations"] if case["converged"] else f"{case['iterations']}, not converged"


def precisions(machine):
    rows, saved = [], []
    for matrix, single, double in pairs(machine):
        allowed = max(3, 0.05 * double["iterations"])
        rows.append([f"`{matrix}`", f"{single['density']:.3f}", iterations_of(single), iterations_of(double), time_of(single, "setup"),
                     time_of(double, "setup"), BUSY if is_busy(single, double) else f"{1 - single['setup'] / double['setup']:.0%}",
                     "yes" if abs(single["iterations"] - double["iterations"]) <= allowed else "no",
                     f"{single['breakdowns']}, {double['breakdowns']}"])
        saved += [] if is_busy(single, double) else [1 - single["setup"] / double["setup"]]
    if not rows:
        return [f"{MACHINES[machine]}: {NOT_MEASURED}.", ""]
    return [f"{MACHINES[machine]}, saving {mean(saved):.0%} of the setup on average:", "",
            *lines(["matrix", "mu", "iterations, single", "double", "T_p, single", "double", "saved", "iterations within max(3, 5 %)",
                    "breakdowns"], rows)]


def table_4():
    theirs = [[key, first, second, single, double, f"{1 - single / double:.0%}"]
              for key, (_, first, single, second, double, *_) in PAPER_6.items()]
    return text("Setup in single precision and in double, k_max = 30, s = 1, epsilon = 1e-3 (Figure 6 shows T_p). T_s is in Table 6.",
                *(precisions(machine) for machine in MACHINES),
                list(of_the_paper(["matrix", "iterations, single", "double", "T_p, single", "double", "saved"], theirs)),
                "The matrices of some thousand rows leave a GPU idle, and single precision saves little there. Next to the unstructured "
                "ones on the H200 twelve of the host's 16 cores compiled other programs. " + WHERE_BUSY, repeat("4"))


HEAD_5 = ["matrix", "Jacobi: iterations", "T_t", "direct: nnz(L) / nnz(A)", "T_t", "adaptive FSAI: iterations", "T_t", "Jacobi / adaptive",
          "direct / adaptive"]


def reference(machine):
    """Table 5 on a machine, with the adaptive FSAI of the same run."""
    rows = []
    for matrix, cases in grouped(results(machine), "5").items():
        by = {case["setting"].split(":")[0]: case for case in cases}
        jacobi, ours, direct = (by.get(name, {"error": NOT_MEASURED}) for name in ("jacobi", "adaptive_fsai", "direct"))
        if "error" in jacobi or "error" in ours:
            rows.append([f"`{matrix}`", jacobi.get("error", ""), "", "", "", ours.get("error", ""), "", "", ""])
            continue
        rows.append([f"`{matrix}`", iterations_of(jacobi), time_of(jacobi),
                     *([direct["error"], ""] if "error" in direct else [f"{direct['density']:.2f}", time_of(direct)]),
                     iterations_of(ours), time_of(ours), time_ratio(jacobi, ours),
                     "" if "error" in direct else time_ratio(direct, ours, 2)])
    if not rows:
        return [f"{MACHINES[machine]}: {NOT_MEASURED}.", ""]
    return [f"{MACHINES[machine]}, the direct solver is {DIRECT[machine][1]}:", "",
            *lines(HEAD_5, rows)]


def table_5():
    theirs = []
    for key, (iterations, total, fill, direct) in PAPER_5.items():
        _, first, _, _, _, _, _, setup, solve = PAPER_6[key]
        ours = setup + solve
        theirs.append([key, iterations or "over 10000", total, fill or "out of memory", direct or "", first, f"{ours:.2f}",
                       f"{total / ours:.1f}", f"{direct / ours:.2f}" if direct else ""])
    return text("CG with Jacobi's preconditioner and a direct solver, compared with CG with the adaptive FSAI in its published settings. T_t "
                "is setup and CG, or ordering, factorisation and solve, in seconds. CHOLMOD and cuDSS run with their defaults.",
                *(reference(machine) for machine in MACHINES),
                "The paper, on 4 cores of a Xeon E5-1620, with PARDISO of MKL:", list(lines(HEAD_5, theirs)),
                "On the H200 each but the random graphs is a single run, whose setup includes the loading of kernels (Table 3 has medians). cuDSS's T_t includes its ordering on the host, which "
                "compiled other programs; of circuit:1259 it was not over after 60 s, and the graphs were not given to it. Jacobi needs 1.4 to 22 times the iterations, in the "
                "paper 3.9 to more than 47 times, and on an H200 it takes less time than the adaptive FSAI in its published settings on ten of the 25 and on the six random graphs. "
                "On the host times are medians of three on two threads, but for CHOLMOD of elasticity3d:36, a single run: Jacobi takes less time on 12 of the 14, and CHOLMOD on 8 of the 13 that it factored; larger matrices were not given to it, as elasticity3d:36 takes it 78 s. "
                "CHOLMOD calls the BLAS of the host, which here is the reference one of Netlib; a tuned one would be faster.",
                repeat("5"))


def both():
    """(matrix, its results on the GPU and on the host in single precision, either of which may be None)"""
    by = {machine: {matrix: single for matrix, single, _ in pairs(machine)} for machine in MACHINES}
    return [(matrix, by["h200"].get(matrix), by["cpu"].get(matrix)) for matrix in MATRICES
            if matrix in by["h200"] or matrix in by["cpu"]]


def of_machine(case):
    return [iterations_of(case), *times_of(case)] if case else [NOT_MEASURED, "", "", ""]


def table_6():
    rows, setups = [], []
    for matrix, on_gpu, on_cpu in both():
        comparable = on_gpu and on_cpu and not is_busy(on_cpu)
        ratios = [f"{on_cpu[part] / on_gpu[part]:.0f}" if comparable else "" for part in ("setup", "solve", "total")]
        setups += [on_cpu["setup"] / on_gpu["setup"]] if comparable else []
        rows.append([f"`{matrix}`", f"{(on_gpu or on_cpu)['density']:.3f}", *of_machine(on_gpu), *of_machine(on_cpu), *ratios])
    theirs = [[key, f"{mu:.3f}", first, setup, solve, f"{setup + solve:.2f}", third, slow, cg, f"{slow + cg:.2f}", f"{slow / setup:.1f}",
               f"{cg / solve:.1f}", f"{(slow + cg) / (setup + solve):.1f}"]
              for key, (mu, first, setup, _, _, solve, third, slow, cg) in PAPER_6.items()]
    head = ["matrix", "mu", "GPU: iterations", "T_p", "T_s", "T_t", "CPU: iterations", "T_p", "T_s", "T_t"]
    ratios = ["speed-up T_p", "T_s", "T_t"]
    average = mean(slow / setup for _, _, setup, _, _, _, _, slow, _ in PAPER_6.values())
    return text("GPU and CPU, k_max = 30, s = 1, epsilon = 1e-3, setup in single precision (Figure 9 shows the speed-ups).",
                f"{MACHINES['h200']} and {MACHINES['cpu']}; the setup is {median(setups):.0f} times as fast on the GPU, on the median:",
                list(lines([*head, *ratios], rows)), "The paper, a Titan V and 4 cores of a Xeon E5-1620, "
                f"where the setup is {average:.1f} times as fast on the GPU on average:", list(lines([*head, *ratios], theirs)),
                "An H200 has 7 times the bandwidth of a Titan V, and our host one or two threads instead of four cores, so that the speed-ups are "
                f"not comparable; matrices of some thousand rows leave a GPU idle. {WHERE_BUSY}", repeat("4"))


def table_7():
    folder = "perf_tests/results/h200/ranks"
    times = {}  # by matrix and number of GPUs
    for path in sorted((PERF_TESTS.parent / folder).glob("devices_paper_*3d_*.json")):
        for run in load(path)["benchmarks"]:
            if "/adaptive_fsai:" in run["name"]:
                matrix = run["name"].split("/")[1]
                times.setdefault(matrix, {})[int(run["name"].split("devices:")[1].split("/")[0])] = (run["real_time"] / 1000, run["speedup"])
    counts = sorted({gpus for of_matrix in times.values() for gpus in of_matrix})
    rows = [[f"`{matrix}`", *(f"{of[gpus][0]:.3f}, {of[gpus][1]:.2f}" if gpus in of else "not measured" for gpus in counts)] for matrix, of in times.items()]
    theirs = [["10", "3.00, 1", "1.67, 1.80", "0.91, 3.30", "0.46, 6.52"], ["11", "2.69, 1", "1.49, 1.81", "0.77, 3.49", "0.39, 6.90"],
              ["16", "9.31, 1", "4.75, 1.96", "2.66, 3.50", "1.52, 6.13"]]
    return text("Setup over several GPUs of one process with the paper's settings: T_p in seconds, and how many times as fast as on one GPU (Figure 10). "
                f"H200, matrices of the sizes of 10, 11 and 16, files devices_paper_*.json of [{folder}](../{folder}):",
                list(lines(["matrix", *(f"{gpus} GPU{'s' * (gpus > 1)}" for gpus in counts)], rows)), "The paper:",
                list(lines(["matrix", "1 GPU", "2 GPUs", "4 GPUs", "8 GPUs"], theirs)),
                "One GPU takes 0.06 to 0.19 s here where the paper's takes seconds, so that copies of A and the transposition of G, which are not "
                "shared, weigh more. Eight GPUs could not be had, and four for one matrix only.",
                "Repeat: `perf_tests/run_gpu.sh BUILD OUT devices`, with `ONLY=devices_paper SETUP_MATRICES=\"elasticity3d:68 "
                "irregular3d:67,unknowns=3,mean=44,longest=88 elasticity3d:100\"`")


def shares():
    rows = [[f"`{case['matrix']}`", f"{case['entries_a_row']:.1f}", *(f"{100 * case[part]:.0f}" for part in SHARES[1:])]
            for case in results("h200")["cases"] if case["table"] == "shares"]
    return text("The paper has a kernel for each part of a step; by nvprof, for a medium-sized matrix, the gradient with the choice of its largest entry takes "
                "47.6 % of the time, gathering A[P, P] 29.9 % and Cholesky's factorisation 13.5 %. Here one kernel has all steps of a row, and its warps "
                "read the clock around each part: the update of the gradient, the choice, a new member (look-up of its row of A, W bordered by it, the "
                "step of g, in the place of the two other kernels), and the rest, a row's beginning and psi in double. Per cent of the warps' time on an "
                "H200, k_max = 30, s = 1, in single precision.",
                list(lines(["matrix", "entries a row of G", "gradient", "choice", "member", "rest"], rows)), repeat("shares", "h200"))


def figures_7_and_8():
    rows, largest = {}, {}
    for case in (case for machine in MACHINES for case in results(machine)["cases"] if case["table"] == "figures"):
        sizes, conditions = case["sizes"], case["conditions"]
        name = case["setting"].replace(PUBLISHED, "adaptive_fsai, k_max = 30, s = 1")
        rows[case["matrix"], name] = [f"`{case['matrix']}`", name, *(f"{sizes[k]:.0f}" for k in (0, 3, 5, 6)),
                                      *(f"{conditions[k]:.1e}" for k in (0, 3, 5, 6))]
        largest.setdefault(case["matrix"], {})[case["setting"]] = conditions[-1]
    gap = max(max(of.values()) / of[PUBLISHED] for of in largest.values())
    return text("Local systems A[P, P] of the rows of the static FSAI and of the adaptive FSAI (without the row's own unknown, as they are solved "
                "there). Sizes are of all rows. Condition numbers are of 300 rows at equal distances: largest eigenvalue over smallest, by "
                "Householder's tridiagonal form. They do not depend on the machine.",
                list(lines(["matrix", "method", "size: least", "median", "95 %", "most", "condition: least", "median", "95 %", "most"], rows.values())),
                "The paper shows densities of probability for its matrix 01 and says that the largest condition number of the static FSAI is "
                "more than three orders of magnitude above that of the adaptive one, whose sizes are all at most k_max. It does not say with "
                f"which power. Here sizes are as it says, and the largest condition numbers differ by a factor of {gap:.0f} at most: those of our "
                "matrices are large by their coefficients, which small systems see too.", repeat("figures"))


def sections():
    return [("Matrices (Table 1)", matrices()), ("3.3: shares of the parts of a step", shares()), ("Table 2, Figures 4 and 5", table_2()), ("Table 3", table_3()),
            ("Table 4, Figure 6", table_4()), ("Table 5", table_5()), ("Table 6, Figure 9", table_6()), ("Table 7, Figure 10", table_7()),
            ("Figures 7 and 8", figures_7_and_8())]


if __name__ == "__main__":
    sys.exit(run_measure(parse_arguments()))
