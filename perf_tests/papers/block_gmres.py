#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and figures of Ma, Hu, Yuan, Liu, Developing a Multi-GPU-Enabled Preconditioned GMRES with Inexact Triangular Solves for Block
Sparse Matrices (2021), on one GPU or a host, and over ranks.

    block_gmres.py measure --build BUILD --machine cpu|h200 [--only basis|convection ...]

BUILD is a build folder with performance tests. What is measured goes to the folder blocks of the machine in perf_tests/results. The runs
over ranks are those of the part ranks_blocks of run_gpu.sh, whose files blocks_*.json go to the same folder.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results"
sys.path.insert(0, str(RESULTS.parent))
import results_file  # noqa: E402

MACHINES = {"h200": "H200", "cpu": "two cores"}
COLUMNS = (1, 4, 8, 15, 30)
ROWS = 1_500_000  # those of atmosmodl
PARTS = {
    "basis": ["perf_basis", f"--rows={ROWS}"],
    "convection": ["perf_block_ilu", "--matrices=convection_diffusion3d:114@3;convection_diffusion3d:108@4", "--repetitions=3",
                   "--orthogonalizations=dcgs2,steps4"],
    "irregular": ["perf_block_ilu", "--matrices=irregular3d:25,unknowns=4,mean=27.5@4", "--repetitions=3", "--orthogonalizations=dcgs2,steps4"],
}
# Tables 3 and 4: milliseconds of GMRES(30) and iterations on two GPUs (K20), by Algorithms 4, 5 and 7.
PAPER = {
    "atmosmodd": {"PETSc, exact": (3311, 136), "cuSPARSE, exact": (1886, 136), "3": (1814, 160), "4": (1900, 138), "5": (2043, 125)},
    "atmosmodl": {"PETSc, exact": (1628, 63), "cuSPARSE, exact": (1236, 63), "2": (887, 77), "3": (1001, 68), "4": (1172, 65)},
}
OURS = {"atmosmodd": "convection_diffusion3d:108@4", "atmosmodl": "convection_diffusion3d:114@3"}
FIGURE_12 = (("irregular rows", "shallow_water1.mtx.gz@2", "real"), ("a circuit", "G2_circuit.mtx.gz@2", "real"),
             ("venkat25's size", "irregular3d:25,unknowns=4,mean=27.5@4", "irregular"), ("elasticity", "elasticity3d:60@3", "generated"), ("convection", "convection_diffusion3d:114@3", "convection"))

# Tables 2 to 4: by algorithm and number of GPUs the longest and the mean time of 30 applications, ms of GMRES, and iterations. The columns of
# 6 GPUs are left out, and 4 sweeps of atmosmodd on 8, where table 3 repeats the figures of table 2.
PAPER_RANKS = {
    "thermal2": {"PETSc": {2: (1125, 1105, 2760, 58), 4: (569, 550, 2031, 83), 8: (295, 260, 1168, 86)},
                 "levels": {2: (3429, 3134, 7378, 58), 4: (1966, 1569, 6036, 83), 8: (1254, 789, 4012, 86)},
                 "3": {2: (365, 361, 1385, 66), 4: (185, 177, 1080, 96), 8: (93, 87, 644, 100)},
                 "4": {2: (485, 480, 1505, 60), 4: (246, 236, 1192, 88), 8: (124, 116, 705, 94)},
                 "5": {2: (586, 579, 1727, 59), 4: (308, 294, 1329, 86), 8: (155, 145, 760, 89)}},
    "atmosmodd": {"PETSc": {2: (580, 553, 3311, 136), 4: (293, 282, 1453, 116), 8: (142, 135, 765, 120)},
                  "levels": {2: (285.5, 285.4, 1886, 136), 4: (173.4, 173.2, 969, 116), 8: (137.3, 136.7, 741, 120)},
                  "3": {2: (216.7, 216, 1814, 160), 4: (108.8, 108.6, 824, 137), 8: (55.4, 55.2, 469, 143)},
                  "4": {2: (286.4, 286.2, 1900, 138), 4: (144.6, 144.2, 934.3, 128)},
                  "5": {2: (357.4, 357.2, 2043, 125), 4: (180.2, 179.9, 1056, 124), 8: (91.4, 91.2, 646, 148)}},
    "atmosmodl": {"PETSc": {2: (583, 561, 1628, 63), 4: (293, 283, 944, 70), 8: (146, 141, 559, 79)},
                  "levels": {2: (409, 408.9, 1236, 63), 4: (231.4, 231.1, 768, 70), 8: (176.2, 175.7, 621, 79)},
                  "2": {2: (182.9, 182.5, 887, 77), 4: (92.6, 92.3, 497, 82), 8: (47.6, 47.4, 327, 94)},
                  "3": {2: (272.5, 272.3, 1001, 68), 4: (138.3, 137.7, 580, 75), 8: (70.4, 70.3, 355, 82)},
                  "4": {2: (362.6, 362.1, 1172, 65), 4: (183.4, 183.1, 667, 72), 8: (93.6, 93.4, 402, 80)}},
}
RANK_MATRICES = {"thermal2": "irregular3d:63,unknowns=5,mean=77,longest=150@5", "atmosmodd": "convection_diffusion3d:108@4",
                 "atmosmodl": "convection_diffusion3d:114@3", "G3_circuit": "circuit:1260@2"}
RANK_METHODS = (("exact, by levels", "levels"), ("exact, in one launch", "sync_free"), *((f"{k} sweeps", str(k)) for k in (2, 3, 4, 5)))
RANK_COUNTS = (1, 2, 4, 8)
REPEAT_RANKS = "Repeat: `perf_tests/run_gpu.sh BUILD OUT ranks_blocks`, on a host with `RANK_COUNTS=\"1 2\"`"


def runs_of(machine, name):
    """The benchmarks of a committed file by their names; none where it was not measured."""
    path = RESULTS / machine / "blocks" / f"{name}.json"
    if not path.exists():
        return {}
    return {run["name"].split("/iterations:")[0]: run for run in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]}


def milliseconds(run, digits=3):
    return f"{run['real_time']:.{digits}g}" if run else "not measured"


def ratio(above, below):
    return f"{above['real_time'] / below['real_time']:.2f}" if above and below else "not measured"


def batches(machine):
    """Figures 8 and 9 on a machine."""
    runs = runs_of(machine, "basis")
    yield f"{MACHINES[machine]}, {ROWS:,} rows:"
    yield ""
    rows = []
    for j in COLUMNS:
        at = lambda name: runs.get(f"{name}/{j}")  # noqa: B023, E731
        rows.append([j, *(milliseconds(at(f"project_by_{batch}")) for batch in (1, 2, 4)),
                     *(milliseconds(at(f"project_asynchronously_by_{batch}")) for batch in (2, 4)), milliseconds(at("project")),
                     ratio(at("project_by_2"), at("project_asynchronously_by_4")), ratio(at("project_by_2"), at("project")),
                     milliseconds(at("axpy_by_cublas")), milliseconds(at("axpy_by_column")), milliseconds(at("orthonormalize")),
                     ratio(at("axpy_by_cublas") or at("axpy_by_column"), at("orthonormalize"))])
    yield from results_file.lines(["columns", "dots by 1, ms", "by 2", "by 4", "asynchronously by 2", "by 4", "all at once",
                                   "by 2 / asynchronously by 4", "by 2 / all", "update by cublasDaxpy, ms", "by a kernel a column", "at once",
                                   "first / at once"], rows)


def figures_8_and_9():
    yield ("Inner products of w with the columns of the basis, a batch of columns at a time with a copy of the results to the host "
           "after each; on two streams by turns, the copies of one while the other computes; and all columns at once. Then w - V h by "
           "cublasDaxpy, by our kernel for each column, and by one kernel. The paper, on 8 K20: asynchronous batches of 4 are about 2.0 times as fast as synchronous ones of 2, and its update by up to 8 columns at once "
           "over 2.5 times as fast as cublasDaxpy.")
    yield ""
    for machine in MACHINES:
        if runs_of(machine, "basis"):
            yield from batches(machine)
    yield "Repeat: `perf_tests/papers/block_gmres.py measure --build BUILD --machine MACHINE --only basis`"


def tables_3_and_4():
    yield ("GMRES(30), relative tolerance 1e-5, ms and iterations. The paper's right-hand sides come with its matrices, ours is b = 1 on a "
           "matrix of the same size and number of blocks; the paper has two K20, we have one H200: times and iterations are of other "
           "problems, and only their courses compare. Our sweeps count after y_0 = D^-1 x.")
    yield ""
    for name, ours in OURS.items():
        runs = runs_of("h200", "convection")
        at = lambda method: runs.get(f"gmres/dcgs2/{method}/{ours}")  # noqa: B023, E731
        cell = lambda run: f"{milliseconds(run)}, {run['iterations']:.0f}" if run else "not measured"  # noqa: E731
        methods = [("exact, by levels", "levels", "cuSPARSE, exact"), ("exact, in one launch", "sync_free", None), ("by approximate inverses", "isai", None)]
        methods += [(f"{k} sweeps", f"jacobi_{k}", str(k)) for k in (2, 3, 4, 5, 6)]
        paper = PAPER[name]
        yield from results_file.lines(["solves", f"paper, {name}", f"ours, {ours}"], [
            [label, "{}, {}".format(*paper[key]) if key in paper else "not in the paper", cell(at(method))] for label, method, key in methods])
    yield "Repeat: `perf_tests/papers/block_gmres.py measure --build BUILD --machine h200 --only convection`"


def figure_12():
    yield ("GMRES(30) with inexact solves of 2 to 6 sweeps, over the time with exact solves level by level or, where those were not run, "
           "by cuSPARSE's bsrsv2. The paper: on venkat25 6 sweeps are best, 4.37 times as fast as cuSPARSE on 4 GPUs with 69 more iterations.")
    yield ""
    rows = []
    for kind, matrix, file in FIGURE_12:
        runs = runs_of("h200", file)
        exact = runs.get(f"gmres/dcgs2/levels/{matrix}") or runs.get(f"cusparse_gmres/dcgs2/{matrix}")
        sweeps = [runs.get(f"gmres/dcgs2/jacobi_{k}/{matrix}") for k in range(2, 7)]
        solved = [run for run in sweeps if run and run.get("converged")]
        best = min(solved, key=lambda run: run["real_time"], default=None)
        cells = [(f"{ratio(exact, run)}, {run['iterations'] - exact['iterations']:+.0f}" if run["converged"] else "not in 3000") if run and exact
                 else "not measured" for run in sweeps]
        rows.append([kind, matrix.replace(".mtx.gz", ""), *cells, sweeps.index(best) + 2 if best else "none"])
    yield from results_file.lines(["kind", "matrix", *(f"{k} sweeps" for k in range(2, 7)), "best"], rows)
    yield ("A cell: times as fast as exact solves, and how many more iterations. Repeat: `perf_tests/run_gpu.sh BUILD OUT blocks`, and `perf_tests/papers/block_gmres.py "
           "measure --build BUILD --machine h200 --only irregular`")


class OverRanks:
    """What was measured with a paper's matrix over a number of ranks."""

    def __init__(self, machine, paper, count):
        self.matrix = RANK_MATRICES[paper]
        name = "blocks_" + re.sub("[:,=@]", "_", self.matrix)
        self.runs = runs_of(machine, f"{name}_np{count}")
        peers = RESULTS / machine / "blocks" / f"{name}_{count}_cores.json"
        self.petsc = json.loads(peers.read_text(encoding="utf-8"))["runs"][0] if peers.exists() else None

    def at(self, what, method=None):
        """A step by its name, of a method where it has one."""
        if method is None:
            return self.runs.get(f"{self.matrix}/{what}")
        solve = f"jacobi:solve.sweeps={method}" if method.isdigit() else method
        return self.runs.get(f"{self.matrix}/{what}_block_ilu0:solve.method={solve}")

    def gmres(self, method):
        run = self.at("gmres", method)
        return run if run and run["converged"] else None

    def fastest(self):
        """The fastest GMRES: (its solves, run), or None."""
        found = [(label, run) for label, key in RANK_METHODS if (run := self.gmres(key))]
        return min(found, key=lambda pair: pair[1]["real_time"], default=None)


def over_ranks(machine, paper):
    """The numbers of ranks with results and these."""
    return {count: found for count in RANK_COUNTS if (found := OverRanks(machine, paper, count)).runs}


def tables_over_ranks():
    yield ("Block Jacobi over ranks by block ILU(0), GMRES(30) from the right to 1e-5, of the matrix in thermal2's place to 1e-3. A cell has the "
           "longest time of 30 applications of the preconditioner in ms, the load balance factor (equation 13: the longest time over the mean of "
           "the ranks), ms of GMRES, iterations. b = 1, on matrices of the same size and size of blocks, so that only the courses compare. The "
           "paper's GPUs are K20; its table 3 has figures of table 2 for 4 sweeps on 8 GPUs, which are left out. PETSc's row is of the paper's GMRES on GPUs with PETSc's ILU(0) on the host; ours of PETSc's baij and GMRES, on as many "
           "cores as ranks.")
    yield ""
    for paper, rows in PAPER_RANKS.items():
        for machine in MACHINES:
            measured = over_ranks(machine, paper)
            if not measured:
                continue
            counts = sorted({*measured, *(n for n in rows["PETSc"] if n <= max(measured))})
            table = []
            for label, key in (("PETSc's, exact", "PETSc"), *RANK_METHODS):
                theirs = rows.get(key, {})
                cells = [f"{theirs[n][0]:.4g}, {theirs[n][0] / theirs[n][1]:.2f}, {theirs[n][2]:.4g}, {theirs[n][3]}" if n in theirs else "" for n in counts
                         if n in rows["PETSc"]]
                for n in counts:
                    cells.append(rank_cell(measured.get(n), key))
                table.append([label, *cells])
            yield f"{MACHINES[machine]}, {RANK_MATRICES[paper]}:"
            yield ""
            yield from results_file.lines(["solves", *(f"{paper}, {n} GPUs" for n in counts if n in rows["PETSc"]), *(f"ours, {n}" for n in counts)], table)
    yield REPEAT_RANKS


def rank_cell(found, key):
    """Of a table of ours."""
    if not found:
        return "not measured"
    if key == "PETSc":
        return f"-, -, {1e3 * found.petsc['solve_seconds']:,.0f}, {found.petsc['iterations']}" if found.petsc else "not measured"
    apply, solve = found.at("apply", key), found.at("gmres", key)
    if not apply or not solve:
        return "not measured"
    balance = apply["real_time"] / apply["mean_ms"]
    return (f"{30 * apply['real_time']:,.0f}, {balance:.2f}, {solve['real_time']:,.0f}, {solve['iterations']:.0f}" +
            ("" if solve["converged"] else " (not converged)"))


def figures_10_and_11():
    yield ("The table has the product that overlaps the exchange with the rank's own part, and how many times as long one takes that exchanges first "
           "(medians of pairs); then an iteration of GMRES(30) with 3 sweeps less an application of its preconditioner, where the paper has lines 3 to 21 "
           "of its Algorithm 1, and its efficiency compared with the fewest ranks. The paper: the overlap gains most where the "
           "bandwidth is large; on 16 GPUs the efficiency is 33.3 % for G3_circuit, 35.8 % for thermal2 and over 50 % for the two others, "
           "compared with two.")
    yield ""
    rows = []
    for paper in RANK_MATRICES:
        for machine in MACHINES:
            first = None
            for count, found in over_ranks(machine, paper).items():
                product, in_turn = found.at("product"), found.at("product_in_turn")
                solve, apply = found.at("gmres", "3"), found.at("apply", "3")
                rest = solve["ms_an_iteration"] - apply["real_time"] if solve and apply else None
                first = first or (rest and (count, rest))
                rows.append([found.matrix, paper, MACHINES[machine], count, milliseconds(product),
                             f"{in_turn['over_overlapped']:.2f}" if in_turn else "not measured", f"{rest:.3g}" if rest else "not measured",
                             f"{first[0] * first[1] / (count * rest):.2f}" if rest and (count, rest) != first else "-" if rest else "not measured"])
    yield from results_file.lines(["matrix", "in the place of", "machine", "ranks", "product, ms", "exchange first / overlap", "an iteration, ms",
                                   "efficiency"], rows)
    yield REPEAT_RANKS


def figures_13_to_15():
    yield ("GMRES(30) with the fastest solves of the tables on N GPUs, and PETSc's with block Jacobi by ILU(0) of a baij matrix on N cores. The "
           "paper, with sweeps on 8 GPUs: over 4.4 times as fast for thermal2, above 3.0 for atmosmodd, 2.97 for atmosmodl. The lines of two cores "
           "compare ranks of one host, where exact solves are the fastest.")
    yield ""
    rows = []
    for paper in PAPER_RANKS:
        for machine in MACHINES:
            for count, found in over_ranks(machine, paper).items():
                best = found.fastest()
                if best and found.petsc:
                    petsc = 1e3 * found.petsc["solve_seconds"]
                    rows.append([found.matrix, paper, MACHINES[machine], count, f"{petsc:,.0f}", f"{best[1]['real_time']:,.0f}", best[0],
                                 f"{petsc / best[1]['real_time']:.2f}"])
    yield from results_file.lines(["matrix", "in the place of", "machine", "ranks", "PETSc on cores, ms", "ours", "solves", "times as fast"], rows)
    yield REPEAT_RANKS


def sections():
    """(heading, Markdown) of each table and figure."""
    over = [("Tables 2 to 4, equation 13: exact and inexact solves over ranks", tables_over_ranks),
            ("Figures 10 and 11: the product's overlap, strong scaling", figures_10_and_11), ("Figures 13 to 15: PETSc on cores", figures_13_to_15)]
    measured = any(over_ranks(machine, paper) for machine in MACHINES for paper in RANK_MATRICES)
    return [("Figures 8 and 9: kernels of GMRES", "\n".join(figures_8_and_9())),
            ("Tables 3 and 4: exact and inexact solves, on one GPU", "\n".join(tables_3_and_4())),
            ("Figure 12: the number of sweeps", "\n".join(figure_12()))] + [(heading, "\n".join(lines())) for heading, lines in over if measured]


def measure(build, machine, parts):
    out = RESULTS / machine / "blocks"
    out.mkdir(parents=True, exist_ok=True)
    for part in parts or PARTS:
        program, *arguments = PARTS[part]
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run([Path(build) / "perf_tests" / program, *arguments, f"--benchmark_out={file.name}"], check=True)
            results_file.store(out / f"{part}.json", results_file.shrunk(results_file.load(file.name)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command = parser.add_subparsers(required=True).add_parser("measure")
    command.add_argument("--build", required=True)
    command.add_argument("--machine", choices=MACHINES, required=True)
    command.add_argument("--only", nargs="*", choices=PARTS)
    arguments = parser.parse_args()
    measure(arguments.build, arguments.machine, arguments.only)


if __name__ == "__main__":
    main()
