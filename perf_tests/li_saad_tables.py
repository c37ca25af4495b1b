#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of Li and Saad, J. Supercomput. 63 (2013), repeated by the command `prekond solve`.

    li_saad_tables.py measure --tables 8,12 --out li_saad.json [--only lap3d,thermal2] [--matrices FOLDER]
    li_saad_tables.py render --in li_saad.json --out li_saad.md

Relative residual 1e-6, b = A 1 (the paper does not say its own), but in table 7 b random, because with b = A 1 the first step of
Gustafsson's MIC, for which M 1 = A 1, is exact. The paper's matrix is taken where a file of its name
is in the folder or one below it; else a real matrix of the folder or a generated one in its place: the paper's
iterations say nothing of those of a stand-in, and are shown with the name of their own matrix. A row has the machine that
it was measured on. A table is a function that gives its cases (`TABLES`)."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple

from results_file import add_render, load, store

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# A row: the paper's matrix; the one taken for it, "name" of a file or "NAME:SIZE"; is that the paper's matrix itself?
# `runs` in the order of the columns.
Case = namedtuple("Case", "name stand_in exact runs")
# label: of the column; arguments: of the command; paper: its iterations, None where it has none
Run = namedtuple("Run", "label arguments paper")


def ls_polynomial(degree, paper=None):
    return Run(f"ls_polynomial, degree {degree}", ["--precond", "ls_polynomial", "-p", f"degree={degree}"], paper)


def by(label, precond, paper=None, **options):
    words = [word for key, value in options.items() for word in ("-p", f"{key}={value}")]
    return Run(label, ["--precond", precond, *words], paper)


def by_gmres(run):
    return run._replace(arguments=["--solver", "gmres", "-s", "restart=40", *run.arguments])


def with_random_rhs(run):
    return run._replace(arguments=[*run.arguments, "--rhs", "random"])


JACOBI = by("jacobi", "jacobi")


def levels_of(label, order="none", method="levels"):
    run = by(label, "ilu0", **{"solve.method": method})
    return run._replace(arguments=["--solver", "gmres", "-s", "restart=40", "--max-iters", "40", "--order", order, *run.arguments])


# The paper's matrices of the tables of triangular solves: name, stand-in, the paper's levels (and after MMD).
TRIANGLES = [("parabolic_fem", "poisson2d:725", 7, None), ("thermal2", "jnlbrng1", 1239, 32), ("poisson3Db", "cage11", 136, None),
             ("atmosmodd", "convection_diffusion3d:80", 352, 6), ("atmosmodl", "convection_diffusion3d:60", 432, 6),
             ("bcsstk36", "bcsstk17", 4457, 274)]


def table_4():
    """Triangular solves of ILU(0) by levels, in 40 iterations. The paper's figures are levels, and MFLOPS of a C1060 and a Xeon E5504: not
    repeated here."""
    return [Case(name, stand_in, False, [levels_of("levels"), levels_of("sync_free", method="sync_free"),
                                         levels_of("jacobi, 3 sweeps", method="jacobi")])
            for name, stand_in, levels, _ in TRIANGLES]


def table_5():
    """The same in other orders, in 40 iterations; the paper takes MMD."""
    return [Case(name, stand_in, False, [levels_of(f"levels, {order}", order) for order in ("none", "rcm", "amd", "nd", "color")])
            for name, stand_in, levels, ordered in TRIANGLES if ordered]


def table_7():
    """IC and MIC with CG, b random; the paper's iterations (its fill is not stated). The paper's MIC is that of Robert (1982). With
    b = A 1 the first step of Gustafsson's, for which M 1 = A 1, would be exact."""
    paper = [("parabolic_fem", "poisson2d:725", 333), ("thermal2", "jnlbrng1", 504), ("ecology2", "G2_circuit", 512),
             ("Dubcova2", "poisson2d:255", 71), ("bcsstk36", "bcsstk17", 145), ("cfd2", "poisson3d:50", 212),
             ("boneS01", "elasticity3d:35,contrast=1", 258), ("msc23052", "s3rmt3m1", 250), ("af_shell8", "s3rmq4m1", 126),
             ("cfd1", "poisson3d:41", 210)]
    return [Case(name, stand_in, False, [with_random_rhs(run) for run in (
        by("IC(0)", "ic0", iterations), by("IC(0), solves on the host", "ic0", iterations, **{"solve.method": "host"}),
        by("MIC(0), Gustafsson", "mic_gustafsson", iterations), by("MIC(0), Robert", "mic_robert", iterations),
        by("IC(1)", "ick", iterations), by("MIC(1), Robert", "mic_robert", iterations, level=1),
        by("ICT(10, 1e-3)", "ict", iterations), JACOBI)])
            for name, stand_in, iterations in paper]


def table_9():
    """ILUT and GMRES(40); the paper's iterations (its p and tau are not stated)."""
    paper = [("atmosmodd", "convection_diffusion3d:80", 57), ("atmosmodl", "convection_diffusion3d:60", 36), ("poisson3Db", "cage11", 34),
             ("majorbasis", "sherman3", 5), ("sherman3", "sherman3", 55), ("memplus", "memplus", 23)]
    return [Case(name, stand_in, False, [by_gmres(run) for run in (
        by("ILUT(10, 1e-3)", "ilut", iterations), by("ILUT(10, 1e-3), solves on the host", "ilut", iterations, **{"solve.method": "host"}),
        by("ILUT(20, 1e-4)", "ilut", iterations, p=20, tau=1e-4), by("ILU(0)", "ilu0"), JACOBI)])
            for name, stand_in, iterations in paper]


def table_8():
    """L-S polynomial preconditioner: the paper's degree and iterations."""
    paper = [("Dubcova2", "poisson2d:255", 10, 17), ("bcsstk36", "bcsstk17", 60, 66), ("cfd2", "poisson3d:50", 80, 20),
             ("boneS01", "elasticity3d:35,contrast=1", 10, 235), ("parabolic_fem", "poisson2d:725", 30, 41),
             ("msc23052", "s3rmt3m1", 40, 98), ("thermal2", "jnlbrng1", 20, 147), ("af_shell8", "s3rmq4m1", 20, 68),
             ("ecology2", "G2_circuit", 20, 323), ("cfd1", "poisson3d:41", 30, 58)]
    return [Case(name, stand_in, False, [ls_polynomial(degree, iterations), JACOBI])
            for name, stand_in, degree, iterations in paper]


def table_10():
    """ILU(0) in the matrix's order and in that of its colours, GMRES(40)."""
    paper = [("poisson3Db", "cage11", 96, 96), ("atmosmodd", "convection_diffusion3d:80", 219, 176),
             ("majorbasis", "sherman3", 12, 9), ("atmosmodl", "convection_diffusion3d:60", 96, 58)]
    return [Case(name, stand_in, False, [by_gmres(run) for run in (
        by("MC-ILU(0)", "multicolor_ilu0", colored), by("ILU(0)", "ilu0", natural), JACOBI)])
            for name, stand_in, colored, natural in paper]


def table_11():
    """Colours with and without sparsification, GMRES(40); the paper has 22 and 3 colours. It takes MC-SSOR(k) with the best k, which
    it does not state."""
    few = {"sparsify": 0.05}
    many = {"sparsify": 1e-300}  # stored zeros are no edges, and no other entry is weak
    ssor = [by(f"MC-SSOR({k}), {label}", "multicolor_ssor", paper, sweeps=k, **colors)
            for label, paper, colors in (("22 colours", 47, many), ("sparsified", 32, few)) for k in (1, 2, 5, 10, 15)]
    return [Case("memplus", "memplus", False, [by_gmres(run) for run in (
        *ssor,
        by("MC-ILU(0), 22 colours", "multicolor_ilu0", 104, **many), by("MC-ILU(0), sparsified", "multicolor_ilu0", 115, **few),
        by("ILU(0)", "ilu0"))])]


def table_12():
    """Laplacians. The paper states neither the grids nor the polynomial's degree nor k of MC-SSOR(k); on the grid of 582 x 582 all
    four iterations of lap2d are within 3 % of the paper's, with degree 20 and k = 2."""
    def factors(ic0, colored, ssor, sweeps):
        return [by("IC(0)", "ic0", ic0), by("MC-IC(0)", "multicolor_ilu0", colored, kind="ic"),
                *(by(f"MC-SSOR({k})", "multicolor_ssor", ssor, sweeps=k) for k in sweeps), JACOBI]
    return [Case("lap2d", "poisson2d:582", True, [ls_polynomial(20, 55), ls_polynomial(30, 55), *factors(254, 442, 309, (1, 2))]),
            Case("lap3d", "poisson3d:100", True,
                 [ls_polynomial(10, 16), ls_polynomial(15, 16), ls_polynomial(20, 16), *factors(80, 129, 104, (1,))])]


TABLES = {"4": table_4, "5": table_5, "7": table_7, "8": table_8, "9": table_9, "10": table_10, "11": table_11, "12": table_12}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("--tables", default=",".join(TABLES), help="numbers; default: all")
    measure.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    measure.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"), help="folder")
    measure.add_argument("--only", default="", help="the paper's names; default: all")
    measure.add_argument("--threads", default="2", help="OpenMP threads; empty: not set")
    measure.add_argument("--timeout", type=float, default=600, help="seconds a run")
    measure.add_argument("--out", required=True, help="the JSON file; what it has of other rows stays")
    add_render(commands)
    return parser.parse_args()


# ------------------------------------------------------------------------------------------------------- measuring


def files_by_name(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            for ending in (".mtx.gz", ".mtx"):
                if name.endswith(ending):
                    found.setdefault(name[: -len(ending)], os.path.join(place, name))
    return found


def source_of(case, files):
    """(arguments of the matrix, what it is called, is it the paper's?), or None where there is none."""
    if case.name in files:
        return [os.path.abspath(files[case.name])], case.name, True
    if ":" in case.stand_in:
        return ["--generate", case.stand_in], case.stand_in, case.exact
    if case.stand_in in files:
        return [os.path.abspath(files[case.stand_in])], case.stand_in, False
    return None


def solve(arguments, matrix, run):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "solve", *matrix, *run.arguments, "--rtol", "1e-6", "--quiet", "--report", file]
        if "--rhs" not in run.arguments:
            command += ["--rhs", "a_ones"]
        if "--max-iters" not in run.arguments:
            command += ["--max-iters", "20000"]
        if arguments.threads:
            command.append(f"--kokkos-num-threads={arguments.threads}")
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=arguments.timeout)
        except subprocess.TimeoutExpired:
            return None, {"error": f"more than {arguments.timeout:g} s"}
        if not os.path.exists(file):
            return None, {"error": done.stderr.strip() or f"exit code {done.returncode}"}
        return load(file), None


def kept(report):
    if "solver" not in report or "iterations" not in report["solver"]:
        return {"error": report.get("error", "no result")}
    precond, solver = report["preconditioner"], report["solver"]
    levels = [int(found.group(1)) for found in (re.search(r"(\d+) levels of rows", note) for note in precond["notes"]) if found]
    seconds_of_solves = precond["apply_seconds"] or 0
    return {"levels": levels[0] if levels else None,
            # Each entry of a factor costs a product and a sum.
            "mflops": 2e-6 * precond["nnz"] / seconds_of_solves if levels and seconds_of_solves else None,
            "iterations": solver["iterations"], "converged": solver["converged"], "end": solver["reason"],
            "setup": precond["setup_seconds"], "solve": solver["seconds"], "notes": precond["notes"],
            "breakdowns": precond["breakdowns"]["count"]}


def run_measure(arguments):
    wanted = {name for name in arguments.only.split(",") if name}
    content = load(arguments.out, {"machine": {}, "tables": {}})
    files = files_by_name(arguments.matrices)
    failed = 0
    for number in arguments.tables.split(","):
        if number not in TABLES:
            sys.exit(f"li_saad_tables.py: there is no table {number}; there are {', '.join(TABLES)}")
        rows = content["tables"].setdefault(number, {})
        for case in TABLES[number]():
            if wanted and case.name not in wanted:
                continue
            source = source_of(case, files)
            if source is None:
                print(f"table {number}: {case.name}: skipped, neither it nor {case.stand_in} is in {arguments.matrices}", flush=True)
                continue
            matrix, name, exact = source
            row = rows[case.name] = {"matrix": name, "is_the_papers": exact, "runs": {}}
            for run in case.runs:
                report, error = solve(arguments, matrix, run)
                result = error or kept(report)
                if run.paper is not None:
                    result["paper"] = run.paper
                row["runs"][run.label] = result
                if report and "matrix" in report and "rows" in report["matrix"]:
                    row.update(rows=report["matrix"]["rows"], nnz=report["matrix"]["nnz"])
                    result["machine"] = {key: report["prekond"][key] for key in ("backend", "device", "threads", "kokkos")}
                failed += "error" in result
                print(f"table {number}: {case.name} by {name}, {run.label}: {result.get('iterations', result.get('error'))}", flush=True)
                store(arguments.out, content)
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------------------- rendering


def seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def device_of(machine):
    return machine.get("device") or f"{machine.get('backend')}, {machine.get('threads')} threads"


def cells(name, label, result, exact, machine):
    device = device_of(result.get("machine", machine))
    if "error" in result:
        return [device, label, result["error"], "", "", "", "", ""]
    iterations = str(result["iterations"]) + ("" if result["converged"] else f" ({result['end']})")
    paper = result.get("paper")
    of_the_paper = ""
    if paper is not None:
        of_the_paper = f"{paper} ({result['iterations'] / paper:.2f})" if exact else f"{paper}, of {name}"
    levels, mflops = result.get("levels"), result.get("mflops")
    return [device, label, iterations, of_the_paper, seconds(result["setup"]), seconds(result["solve"]), str(levels or ""),
            f"{mflops:.0f}" if mflops else ""]


def run_render(arguments):
    content = load(arguments.source)
    machine = content["machine"]  # of files whose rows do not say theirs
    text = ["# The tables of Li and Saad (2013)", "",
            "Written by `perf_tests/li_saad_tables.py`. Relative residual 1e-6, b = A 1, but in table 7 b random. Where a matrix is the paper's, the paper's "
            "iterations are given, with the ratio to them. The others are stand-ins of about the same kind: the paper's iterations "
            "are those of another matrix, and not to be compared with.", ""]
    for number in sorted(content["tables"], key=int):
        title = " ".join((TABLES[number].__doc__ or "").split()) if number in TABLES else ""
        text += [f"## Table {number}", "", title, "",
                 "| the paper's matrix | here | rows | on | method | iterations | the paper's | setup s | solve s | levels | MFLOPS of L's and U's solve |",
                 "|---|---|---:|---|---|---:|---:|---:|---:|---:|---:|"]
        for name, row in content["tables"][number].items():
            first = [name, "the same" if row["is_the_papers"] and ":" not in row["matrix"] else f"`{row['matrix']}`", f"{row.get('rows', 0):,}"]
            for label, result in row["runs"].items():
                text.append("| " + " | ".join(first + cells(name, label, result, row["is_the_papers"], machine)) + " |")
                first = ["", "", ""]
        text.append("")
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write("\n".join(text).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    selected = parse_arguments()
    sys.exit(run_measure(selected) if selected.command == "measure" else run_render(selected))
