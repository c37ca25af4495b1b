#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and figures of Ma, Hu, Yuan, Liu, Developing a Multi-GPU-Enabled Preconditioned GMRES with Inexact Triangular Solves for Block
Sparse Matrices (2021), on one GPU or a host.

    block_gmres.py measure --build BUILD --machine cpu|h200 [--only basis|convection ...]

BUILD is a build folder with performance tests. What is measured goes to the folder blocks of the machine in perf_tests/results.
"""
import argparse
import json
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
}
# Tables 3 and 4: milliseconds of GMRES(30) and iterations on two GPUs (K20), by Algorithms 4, 5 and 7.
PAPER = {
    "atmosmodd": {"PETSc, exact": (3311, 136), "cuSPARSE, exact": (1886, 136), "3": (1814, 160), "4": (1900, 138), "5": (2043, 125)},
    "atmosmodl": {"PETSc, exact": (1628, 63), "cuSPARSE, exact": (1236, 63), "2": (887, 77), "3": (1001, 68), "4": (1172, 65)},
}
OURS = {"atmosmodd": "convection_diffusion3d:108@4", "atmosmodl": "convection_diffusion3d:114@3"}
FIGURE_12 = (("irregular rows", "shallow_water1.mtx.gz@2", "real"), ("a circuit", "G2_circuit.mtx.gz@2", "real"),
             ("elasticity", "elasticity3d:60@3", "generated"), ("convection", "convection_diffusion3d:114@3", "convection"))


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
        rows.append([j, *(milliseconds(at(f"project_by_{batch}")) for batch in (1, 2, 4)), milliseconds(at("project")),
                     ratio(at("project_by_2"), at("project")), milliseconds(at("axpy_by_column")), milliseconds(at("orthonormalize")),
                     ratio(at("axpy_by_column"), at("orthonormalize"))])
    yield from results_file.lines(["columns", "dots by 1, ms", "by 2", "by 4", "all at once", "by 2 / all", "update by columns, ms",
                                   "at once", "ratio"], rows)


def figures_8_and_9():
    yield ("Inner products of w with the columns of the basis, a batch of columns at a time with a copy of the results to the host "
           "after each, and all columns at once; then w - V h by one kernel for each column, as with axpy, and by one kernel. The paper, on "
           "8 K20: asynchronous batches of 4 are about 2.0 times as fast as synchronous ones of 2, and its update by up to 8 columns at once "
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
    yield "A cell: times as fast as exact solves, and how many more iterations. Repeat: `perf_tests/run_gpu.sh BUILD OUT blocks`"


def sections():
    """(heading, Markdown) of each table and figure."""
    return [("Figures 8 and 9: kernels of GMRES", "\n".join(figures_8_and_9())),
            ("Tables 3 and 4: exact and inexact solves, on one GPU", "\n".join(tables_3_and_4())),
            ("Figure 12: the number of sweeps", "\n".join(figure_12()))]


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
