#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of Chu, Wang, Chen, Gao, BenchCouncil Trans. Benchmarks, Standards and Evaluations 3 (2023) 100087: setup of static SPAI with the
patterns E + |A| and (E + |A|)^2, and BiCGSTAB with it.

    spai.py measure --machine cpu|h200 [--prekond PROGRAM] [--viennacl PROGRAM] [--shapes PROGRAM] [--only PART ...]

With --shapes (perf_spai_shapes, on a GPU) the kernels that stream columns are measured by their shapes in place of the tables: the table of the
card, and Table 4. PART is a power (1: Tables 5 and 6, 2: Table 7), or a power and a matrix (2/poisson3d:89). All matrices are generated. What is measured goes to
a file for that machine in perf_tests/results/papers; cases of other parts stay.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PERF_TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PERF_TESTS))
from results_file import lines, load, store  # noqa: E402

MACHINES = {"h200": "NVIDIA H200", "cpu": "two threads of a host"}
# Matrices of the paper: the generated one of its size and row statistics (Table 3); seconds of setup by SPAI-Adaptive, GSPAI-Adaptive and
# GSPAI-Opt with E + |A| on a GTX 1070 and on an A40 (Tables 5 and 6), and with (E + |A|)^2 on a GTX 1070 and on its second card (Table
# 7); the strategy that it predicts for both patterns, and the measured one (Table 4).
PAPER = {
    "cbuckle": ("irregular3d:16,unknowns=3,mean=49.45,longest=600",
        ((7.976, 2.046, 1.815), (3.717, 1.167, 0.878)), ((29.119, 9.213, 7.159), (12.773, 4.361, 3.071)), ("S2", "S2"), ("S2", "S2")),
    "2cubes_sphere": ("irregular3d:47,mean=16.23,longest=31",
        ((0.833, 0.697, 0.539), (0.336, 0.327, 0.221)), ((50.005, 25.548, 25.114), (16.383, 10.04, 8.461)), ("S1", "S1"), ("S1", "S1, S2")),
    "offshore": ("irregular3d:64,mean=16.33,longest=31",
        ((2.177, 2.052, 1.38), (0.858, 1.075, 0.627)), ((133.587, 73.907, 69.016), (44.813, 30.238, 22.37)), ("S1", "S1"), ("S1", "S1, S2")),
    "ASIC_320ks": ("irregular3d:69,mean=4.09,longest=210,lonely=0.02",
        ((5.0, 1.398, 0.846), (2.764, 0.772, 0.307)), ((10.223, 2.46, 1.699), (5.667, 1.185, 1.04)), ("S2", "S2"), ("S2", "S2")),
    "apache2": ("poisson3d:89",
        ((0.238, 0.328, 0.222), (0.122, 0.201, 0.088)), ((3.934, 3.627, 3.249), (1.5, 1.391, 1.314)), ("S1", "S1"), ("S1", "S1")),
    "G3_circuit": ("poisson2d:1259",
        ((0.148, 0.17, 0.148), (0.069, 0.106, 0.061)), ((1.864, 2.094, 1.467), (0.709, 0.946, 0.652)), ("S1", "S1"), ("S1", "S1")),
    "power9": ("irregular3d:54,mean=12.15,longest=627,lonely=0.02",
        ((4.504, 10.62, 2.848), (2.073, 7.346, 1.519)), ((20.575, 26.96, 13.497), (10.866, 17.445, 6.981)), ("S2", "S2"), ("S2", "S2")),
    "msdoor": ("irregular3d:52,unknowns=3,mean=46.1,longest=77,lonely=0.001",
        ((59.794, 21.374, 20.206), (20.142, 9.964, 8.225)), ((335.084, 115.082, 108.323), (108.962, 44.192, 33.335)), ("S1", "S1"), ("S1, S2", "S1, S2")),
    "thermal2": ("poisson3d:107",
        ((0.401, 0.527, 0.34), (0.176, 0.273, 0.144)), ((4.082, 3.753, 2.991), (1.526, 1.431, 1.26)), ("S1", "S1"), ("S1", "S1")),
    "Fault_639": ("irregular3d:60,unknowns=3,mean=42.65,longest=267,lonely=0.001",
        ((185.893, 42.994, 37.524), (65.339, 20.396, 15.558)), ((627.18, 201.616, 180.84), (235.209, 83.214, 63.198)), ("S2", "S2"), ("S2", "S2")),
}
# Setups by ViennaCL's SPAI, where the paper has them, on a GTX 1070 and on an A40 (Tables 5 and 6).
PAPER_VIENNACL = {"2cubes_sphere": (7.278, 4.952), "offshore": (20.468, 13.726), "apache2": (5.722, 4.471)}
SPECS = [spec for spec, *_ in PAPER.values()]
POWERS = (1, 2)
BINS = (8, 16, 24, 32, 48, 64, 96, 128, 256, 384, 512)
NOT_MEASURED = "not measured"


# ------------------------------------------------------------------------------------------------------- measuring


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure = parser.add_subparsers(dest="command", required=True).add_parser("measure")
    measure.add_argument("--machine", choices=MACHINES, required=True)
    measure.add_argument("--prekond", default=str(PERF_TESTS.parent / "scripts" / "prekond"), help="the command")
    measure.add_argument("--viennacl", default="", help="peer_viennacl_spai, where its figures are wanted")
    measure.add_argument("--shapes", default="", help="perf_spai_shapes, whose figures are measured in place of the others")
    measure.add_argument("--only", nargs="+", default=[str(power) for power in POWERS], metavar="PART")
    measure.add_argument("--repeat", default="3", help="number of repetitions, of which times are medians")
    measure.add_argument("--timeout", type=float, default=150, help="seconds a matrix and power")
    return parser.parse_args()


def rounded(value):
    return float(f"{value:.4g}")


def prekond_case(arguments, spec, power):
    """The machine, the size of the matrix, and the case."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        done = subprocess.run([arguments.prekond, "solve", "--generate", spec, "--solver", "bicgstab", "--rhs", "a_ones", "--precond", "spai",
                               "-p", f"power={power}", "--repeat", arguments.repeat, "--quiet", "--report", file],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=arguments.timeout)
        if not os.path.exists(file):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        row = load(file)
    precond, solver = row["preconditioner"], row["solver"]
    machine = {name: row["prekond"][name] for name in ("backend", "device", "threads", "kokkos")}
    size = {"rows": row["matrix"]["rows"], "nnz": row["matrix"]["nnz"]}
    return machine, size, {"setup": rounded(precond["setup_seconds"]), "solve": rounded(solver["seconds"]), "iterations": solver["iterations"],
                           "converged": solver["converged"], "density": rounded(precond["density"]),
                           "breakdowns": precond["breakdowns"]["count"]}


def viennacl_case(arguments, spec):
    done = subprocess.run([arguments.viennacl, spec, "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=True, timeout=arguments.timeout)
    row = json.loads(done.stdout.strip().splitlines()[-1])
    return {"setup": rounded(row["setup_seconds"]), "solve": rounded(row["solve_seconds"]), "iterations": row["iterations"]}


def shape_cases(arguments, spec, power):
    """A case for each precision and bin of columns, with the times of its shapes."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "shapes.json")
        subprocess.run([arguments.shapes, f"--matrix={spec}", f"--powers={power}", f"--repetitions={arguments.repeat}", f"--benchmark_out={file}",
                        "--benchmark_out_format=json"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                       check=True, timeout=arguments.timeout)
        rows = load(file)["benchmarks"]
    found = {}
    for row in rows:
        if row.get("aggregate_name", "median") == "median":
            _, _, scalar, _, upto, shape = row["run_name"].split("/")[:6]
            case = found.setdefault((scalar, upto), {"matrix": spec, "power": power, "scalar": scalar, "upto": int(upto.removeprefix("upto:")),
                                                     "columns": int(row["columns"]), "mean": rounded(row["mean"]), "longest": int(row["longest"]),
                                                     "used": "", "ms": {}})
            case["ms"][shape] = rounded(row["real_time"])
            if row["used"]:
                case["used"] = shape
    return list(found.values())


def measure_shapes(arguments, content, parts):
    """Measures the shapes of these matrices; the result is how many failed."""
    failed = 0
    for power, spec in parts:
        print(f"{spec}, power {power}", flush=True)
        try:
            found = shape_cases(arguments, spec, power)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(getattr(error, "stderr", None) or error, file=sys.stderr)
            failed += 1
            continue
        content["shapes"] = [case for case in content.get("shapes", []) if (case["matrix"], case["power"]) != (spec, power)] + found
        content["shapes"].sort(key=lambda case: (case["power"], SPECS.index(case["matrix"])))
        store(results_path(arguments.machine), content)
    return failed


def results_path(machine):
    return PERF_TESTS / "results" / "papers" / f"spai_{machine}.json"


def empty(machine):
    return {"what": "tables of Chu et al. (2023)", "where": MACHINES[machine],
            "command": f"perf_tests/papers/spai.py measure --machine {machine}", "machine": {}, "matrices": {}, "cases": []}


def put(content, matrix, power, by, case):
    """Replaces the case; `by` says how, where that is not Prekond's way."""
    key = (matrix, power, by)
    content["cases"] = [old for old in content["cases"] if (old["matrix"], old["power"], old.get("by", "")) != key]
    content["cases"].append({"matrix": matrix, "power": power, **({"by": by} if by else {}), **case})
    content["cases"].sort(key=lambda case: (case["power"], SPECS.index(case["matrix"]), case.get("by", "")))


def tried(arguments, measure):
    """What `measure` returns, or the error as a case."""
    try:
        return measure()
    except subprocess.TimeoutExpired:
        return {"error": f"more than {arguments.timeout:g} s"}
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return {"error": str(error)}


def run_measure(arguments):
    path = results_path(arguments.machine)
    content = load(path, empty(arguments.machine))
    parts = [(power, spec) for power in POWERS for spec in SPECS if str(power) in arguments.only or f"{power}/{spec}" in arguments.only]
    if not parts:
        sys.exit(f"no such part: {' '.join(arguments.only)}; name a power, 1 or 2, or POWER/MATRIX")
    if arguments.shapes:
        return 1 if measure_shapes(arguments, content, parts) else 0
    failed = 0
    for power, spec in parts:
        print(f"{spec}, power {power}", flush=True)
        found = tried(arguments, lambda: prekond_case(arguments, spec, power))  # noqa: B023
        if isinstance(found, tuple):
            content["machine"], content["matrices"][spec], found = found
            if arguments.machine == "cpu":
                found["load"] = round(os.getloadavg()[0], 1)
        failed += "error" in found
        put(content, spec, power, "", found)
        if arguments.viennacl and power == 1:
            put(content, spec, power, "ViennaCL", tried(arguments, lambda: viennacl_case(arguments, spec)))  # noqa: B023
        store(path, content)
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- rendering


def cases(machine, power):
    """{(matrix, by): case}"""
    content = load(results_path(machine), empty(machine))
    return {(case["matrix"], case.get("by", "")): case for case in content["cases"] if case["power"] == power}


def seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def cell(case):
    if not case:
        return NOT_MEASURED
    if "error" in case:
        return case["error"]
    end = "" if case.get("converged", True) else ", not converged"
    return f"{seconds(case['setup'])} + {seconds(case['solve'])} ({case['iterations']}{end})"


def ratio(paper, case):
    if not case:
        return NOT_MEASURED
    if "error" not in case:
        return f"{paper / case['setup']:.3g}"
    limit = case["error"].removeprefix("more than ").removesuffix(" s")
    return f"below {paper / float(limit):.2g}" if limit.replace(".", "").isdigit() else ""


def text(*parts):
    return "\n".join(line for part in parts for line in ([part, ""] if isinstance(part, str) else part))


def repeat(power):
    return f"Repeat: `perf_tests/papers/spai.py measure --machine MACHINE --only {power}`"


def matrices():
    sizes = load(results_path("h200"), empty("h200"))["matrices"]
    rows = [[name, f"`{spec}`", f"{sizes[spec]['rows']:,}", f"{sizes[spec]['nnz']:,}", f"{sizes[spec]['nnz'] / sizes[spec]['rows']:.2f}"]
            for name, (spec, *_) in PAPER.items() if spec in sizes]
    return text("None of the paper's ten matrices could be had. In the place of each is a generated one with as many rows, entries a row and "
                "entries of the longest row. A setup depends on these, so that ratios of setups are given; iterations do not compare. "
                "Second powers fill in otherwise than the paper's.",
                list(lines(["the paper's", "ours", "rows", "entries", "a row"], rows)))


def shapes(**wanted):
    """The measured cases that have these values."""
    return [case for case in load(results_path("h200"), empty("h200")).get("shapes", []) if all(case[name] == value for name, value in wanted.items())]


def faster(constant, own):
    """By the paper's rule: both where they are within 5 %."""
    if abs(constant - own) / max(constant, own) <= 0.05:
        return "S1, S2"
    return "S1" if constant < own else "S2"


def predicted(mean, longest):
    """The paper's rule (2.1): S1 where alpha - beta <= 1."""
    return "S1" if math.ceil(math.log2(longest)) - math.ceil(math.log2(mean)) <= 1 else "S2"


def strategies():
    """(name, power, the paper's prediction and measurement, the rule's prediction for our matrix, ms of S1 and of S2)"""
    for power in POWERS:
        for name, (spec, _, _, of_paper, measured) in PAPER.items():
            bins = shapes(matrix=spec, power=power, scalar="double")
            if bins:
                for_all = set.intersection(*(set(case["ms"]) for case in bins))
                yield (name, power, of_paper[power - 1], measured[power - 1], predicted(bins[0]["mean"], bins[0]["longest"]),
                       min(sum(case["ms"][shape] for case in bins) for shape in for_all), sum(case["ms"][case["used"]] for case in bins))


def whole_setups():
    """Of a version that had both strategies: (name, power, the paper's prediction and measurement, seconds of S1 and of S2)"""
    old = {(case["matrix"], case["power"], case["by"]): case["setup"] for case in load(results_path("h200"), empty("h200")).get("strategies", [])}
    for power in POWERS:
        for name, (spec, _, _, of_paper, measured) in PAPER.items():
            if (spec, power, "constant") in old:
                yield name, power, of_paper[power - 1], measured[power - 1], old[spec, power, "constant"], old[spec, power, "sorted"]


def table_4():
    setups = [[name, power, theirs, measured, seconds(constant), seconds(own), faster(constant, own)]
              for name, power, theirs, measured, constant, own in whole_setups()]
    kernels = [[name, power, theirs, rule, f"{constant:.3g}", f"{own:.3g}", faster(constant, own)]
               for name, power, theirs, _, rule, constant, own in strategies()]
    return text("Setup with as many lanes for every column as the longest needs (S1, constant) and with each column's own (S2, sorted), in seconds on an H200, of "
                "a version that had the option.",
                list(lines(["size of", "k", "the paper's prediction", "its measurement", "S1", "S2", "the faster one here"], setups)),
                f"S1 is the faster one in {sum(row[-1] == 'S1' for row in setups)} of {len(setups)} setups, where the paper's rule predicts it in "
                f"{sum(row[2] == 'S1' for row in setups)}: columns are streamed through registers here, and lanes without a column of the local matrix cost "
                "work as well as room. A host has no lanes. So the sorted strategy is the only one.",
                "The kernels by themselves: columns of up to 511 entries, streamed with the shape that the longest of them needs for all (S1) and with each "
                "column's own (S2), ms on an H200 in double precision; the rule's prediction is for our matrix. Where both take as long, the matrix has one shape only.",
                list(lines(["size of", "k", "the paper's prediction", "the rule's here", "S1", "S2", "the faster one here"], kernels)), repeat_shapes())


def repeat_shapes():
    return "Repeat: `perf_tests/papers/spai.py measure --machine MACHINE --shapes BUILD/perf_tests/perf_spai_shapes`"


def figures_4_to_9():
    rows = []
    for scalar in ("double", "single"):
        bins = {}
        for case in shapes(scalar=scalar):
            bins.setdefault(next(size for size in BINS if case["upto"] <= size), []).append(case)
        for size, of_bin in sorted(bins.items()):
            most = max(of_bin, key=lambda case: case["columns"])
            times = sorted(most["ms"].items(), key=lambda item: item[1])
            rows.append([size, scalar, most["matrix"] + (", k = 2" if most["power"] == 2 else ""), f"{most['columns']:,}",
                         ", ".join(f"{shape} {ms:.3g}" for shape, ms in times[:4]), most["used"], f"{over_fastest(most):.2f}",
                         f"{max(map(over_fastest, of_bin)):.2f}", *least_of_all(of_bin)])
    return text("The paper has a decision tree for each stage and card. Here the stages of a column are one kernel, whose shape is chosen by the number of "
                "columns of the local matrix with e_k, n2 + 1: lanes x columns of a lane x rows at once, and after the colon how many teams of 128 lanes a "
                "processor has to hold; above 128 columns a team has a column, with its lanes and teams. This is the table of an H200: ms of the four fastest "
                "shapes, for the matrix with the most columns of that size, the shape that the setup has now, its time over the least, and the largest such "
                "ratio of all matrices, which is that of a bin of few columns. When this was measured the setup had `team:128:3`, `team:192:2` and `32x2x16:4` in double precision too, and no `team:64:4`, which columns of 105 to 127 entries have now. The last columns "
                "are the choice for the card: the shape of the least sum over all matrices, and the sum of the used shapes over it.",
                list(lines(["n2 + 1, up to", "precision", "matrix", "columns", "fastest shapes, ms", "used", "used / fastest", "largest", "least of all",
                            "used / least"], rows)), repeat_shapes())


def least_of_all(cases):
    """The shape with the least sum of times, and the sum of the used ones over it."""
    total = lambda shape: sum(case["ms"][shape] for case in cases)  # noqa: E731
    best = min(set.intersection(*(set(case["ms"]) for case in cases)), key=total)
    return best, f"{sum(case['ms'][case['used']] for case in cases) / total(best):.2f}"


def over_fastest(case):
    return case["ms"][case["used"]] / min(case["ms"].values())


def tables_5_and_6():
    on_gpu, on_host = cases("h200", 1), cases("cpu", 1)
    rows = []
    for name, (spec, (gtx, a40), *_) in PAPER.items():
        ours = on_gpu.get((spec, ""))
        viennacl = PAPER_VIENNACL.get(name, ("-", "-"))
        rows.append([name, viennacl[0], *gtx, viennacl[1], *a40, cell(ours), *(ratio(theirs, ours) for theirs in a40), cell(on_host.get((spec, ""))),
                     cell(on_host.get((spec, "ViennaCL")))])
    return text("E + |A|: seconds of setup and BiCGSTAB to 1e-6, iterations in brackets; double precision, b = A 1. The columns of the paper are setups of "
                "its matrices by ViennaCL's SPAI (SSPAI-V; - where the paper has no time), SPAI-Adaptive, GSPAI-Adaptive and GSPAI-Opt on a GTX 1070 (Table 5) and on an A40 (Table 6); ratios are of ours of the "
                "same size. The last columns are ours on a host with two threads, and ViennaCL's SPAI on one core.",
                list(lines(["size of", "GTX 1070: SSPAI-V", "SPAI-A", "GSPAI-A", "GSPAI-Opt", "A40: SSPAI-V", "SPAI-A", "GSPAI-A", "GSPAI-Opt", "H200", "A40's SPAI-A / H200",
                            "GSPAI-A / H200", "GSPAI-Opt / H200", "host", "ViennaCL, host"], rows)),
                "An H200 has 7 times the bandwidth of an A40 and some 50 times its rate in double precision.", repeat(1))


def density_and_cell(case):
    return [f"{case['density']:.1f}" if case and "density" in case else NOT_MEASURED, cell(case)]


def table_7():
    on_gpu = cases("h200", 2)
    rows = [[name, *gtx, *second, *density_and_cell(on_gpu.get((spec, ""))), ratio(second[-1], on_gpu.get((spec, "")))]
            for name, (spec, _, (gtx, second), *_) in PAPER.items()]
    return text("(E + |A|)^2: seconds of setup and BiCGSTAB to 1e-6, iterations in brackets; of the paper the setups. The head of its table names the "
                "second card TITAN Xp, its text A40.",
                list(lines(["size of", "GTX 1070: SPAI-A", "GSPAI-A", "GSPAI-Opt", "second card: SPAI-A", "GSPAI-A", "GSPAI-Opt", "nnz(M) / nnz(A)", "H200",
                            "second card's GSPAI-Opt / H200"], rows)),
                "The five with short columns are 31 to 88 times as fast as on the paper's second card. Columns of more than 511 entries are solved by normal equations "
                "in double precision, corrected once ([how](spai_kernel.md#static-normal-equations)): before, cbuckle's size took 6.99 s and power9's more than 150. "
                "The latter is still slower than the paper's card: its second power has 28 times A's entries and 56,906 such columns, more operations than that "
                "card does in the paper's time, so that the paper's matrix has fewer.", repeat(2))


def figures_11_and_12():
    setups = {(name, power): constant / own for name, power, _, _, constant, own in whole_setups()}
    kernels = {(name, power): constant / own for name, power, _, _, _, constant, own in strategies()}
    rows = []
    for power in POWERS:
        for name, (_, *powers) in PAPER.items():
            of_ours = (ratios.get((name, power)) for ratios in (setups, kernels))
            rows.append([name, power, *(f"{other / card[2]:.2f}" for card in powers[power - 1] for other in card[:2]),
                         *(f"{found:.2f}" if found else NOT_MEASURED for found in of_ours)])
    return text("The paper's times of SPAI-Adaptive and GSPAI-Adaptive over those of GSPAI-Opt, by its Tables 5 to 7. Both are programs of the authors that could "
                "not be had. SPAI-Adaptive gives every column as many lanes as the longest needs, which is S1 of Table 4: the last columns "
                "are our S1 over S2, in whole setups of the version that had both, and in the kernels of columns of up to 511 entries.",
                list(lines(["size of", "k", "GTX 1070: SPAI-A", "GSPAI-A", "A40, second card: SPAI-A", "GSPAI-A", "H200: S1 / S2, setup", "kernels"], rows)),
                repeat_shapes())


def sections():
    return [("Matrices (Table 3)", matrices()), ("Figures 4 to 9: the table of a card", figures_4_to_9()), ("Table 4", table_4()), ("Tables 5 and 6", tables_5_and_6()), ("Table 7", table_7()),
            ("Figures 11 and 12", figures_11_and_12())]


if __name__ == "__main__":
    sys.exit(run_measure(parse_arguments()))
