#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One table of relaxation, block and polynomial preconditioners and FSAI, on real and generated matrices.

    toolbox_table.py measure --out toolbox.json [--prekond PROGRAM] [--matrices FOLDER] [--repeat 3] [--only NAME,...]
                             [--extra "--order rcm"] [--state TEXT]
    toolbox_table.py render --in toolbox.json --out toolbox.md

Of each method, in a process of its own: iterations, setup and solve in seconds (medians of `repeat` runs). Results of other
matrices in the file stay. Relative residual 1e-6,
b = A 1, at most 5000 iterations; CG for symmetric positive definite matrices, GMRES(40) for others. Times include what
a first launch costs only where repeat is 1. A matrix that is not found is left out, and named."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from results_file import add_render

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

SPD = ["G2_circuit", "shallow_water1", "jnlbrng1", "minsurfo", "gyro_m", "bcsstk17", "s3rmt3m1",
       "elasticity3d:60", "poisson3d:100", "poisson2d:1000", "anisotropic2d:500"]
GENERAL = ["memplus", "sherman3", "cage11", "convection_diffusion3d:80"]

SPD_METHODS = ["jacobi", "jacobi:type=l1:sweeps=2", "multicolor_ssor", "multicolor_ssor:sweeps=2",
               "multicolor_ilu0:kind=ic", "block_jacobi:partition=supervariables", "block_jacobi:local=ic0:block_size=512",
               "chebyshev:degree=4", "ls_polynomial:degree=10", "ls_polynomial:degree=30", "neumann:degree=3",
               "schwarz:combine=additive:overlap=1:local=ic0:block_size=512", "fsai", "adaptive_fsai"]
GENERAL_METHODS = ["jacobi", "multicolor_gs", "multicolor_ssor", "multicolor_ilu0", "multicolor_ilu0:sparsify=0.05",
                   "block_jacobi:partition=supervariables", "block_jacobi:local=ilu0:block_size=512",
                   "schwarz:overlap=1:local=ilu0:block_size=512", "spai", "isai"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("--out", required=True)
    measure.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"))
    measure.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"))
    measure.add_argument("--repeat", type=int, default=3)
    measure.add_argument("--only", default="")
    measure.add_argument("--extra", default="")
    measure.add_argument("--state", default="", help="of the library, to be told apart in the table")
    measure.add_argument("--timeout", type=float, default=300)
    add_render(commands)
    return parser.parse_args()


def find_matrix(folder, name):
    """The arguments that name a matrix; None where there is no such file."""
    if ":" in name:
        return ["--generate", name]
    for place, _, files in os.walk(folder):
        for ending in (".mtx", ".mtx.gz"):
            if name + ending in files:
                return [os.path.join(place, name + ending)]
    return None


def run_method(arguments, matrix, method, solver):
    """One method in a process of its own: the command's report, or {"error": why there is none}."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [arguments.prekond, "compare", *matrix, "--solver", solver, "--precond", method, "--rtol", "1e-6",
                   "--max-iters", "5000", "--repeat", str(arguments.repeat), "--quiet", "--report", report, *arguments.extra.split()]
        if "--rhs" not in command:
            command += ["--rhs", "a_ones"]
        if solver == "gmres":
            command += ["-s", "restart=40"]
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"more than {arguments.timeout:.0f} s"}
        if not os.path.exists(report):
            return {"error": process.stderr.strip()[-300:] or f"exit code {process.returncode}"}
        with open(report, encoding="utf-8") as file:
            return json.load(file)[0]


def run(arguments, name, methods, solver):
    matrix = find_matrix(arguments.matrices, name)
    if matrix is None:
        return {"matrix": name, "missing": True}
    result = {"matrix": name, "solver": solver, "state": arguments.state, "extra": arguments.extra, "rows": []}
    for method in methods:
        report = run_method(arguments, matrix, method, solver)
        if "prekond" in report:
            result["prekond"] = report["prekond"]
            result["size"] = [report["matrix"].get("rows"), report["matrix"].get("nnz")]
            result["product"] = report.get("product", {}).get("format")
        solved, precond = report.get("solver", {}), report.get("preconditioner", {})
        result["rows"].append({"method": method, "iterations": solved.get("iterations"),
                               "converged": solved.get("converged", False), "reason": solved.get("reason"),
                               "setup": precond.get("setup_seconds"), "solve": solved.get("seconds"),
                               "apply": precond.get("apply_seconds"), "breakdowns": precond.get("breakdowns", {}).get("count"),
                               "error": report.get("error")})
    if "prekond" not in result:
        return {"matrix": name, "error": result["rows"][0]["error"]}
    return result


def measure(arguments):
    only = [name for name in arguments.only.split(",") if name]
    data = {"results": []}
    if os.path.exists(arguments.out):  # other matrices' results stay
        with open(arguments.out, encoding="utf-8") as file:
            data = json.load(file)
    data["repeat"] = arguments.repeat
    for names, methods, solver in ((SPD, SPD_METHODS, "cg"), (GENERAL, GENERAL_METHODS, "gmres")):
        for name in names:
            if only and name not in only:
                continue
            result = run(arguments, name, methods, solver)
            data["results"] = [other for other in data["results"] if other["matrix"] != name] + [result]
            print(name, "done" if "rows" in result else result, file=sys.stderr, flush=True)
            with open(arguments.out, "w", encoding="utf-8") as file:  # what is there stays when time runs out
                json.dump(data, file, indent=1)


def cell(row):
    if row is None:
        return "-"
    if row["error"] or not row["converged"]:
        return row["reason"] or "error: " + row["error"][:60]
    best = "**" if row.get("best") else ""
    return f"{best}{row['iterations']}: {1e3 * row['setup']:.3g} + {1e3 * row['solve']:.3g}{best}"


def render(arguments):
    with open(arguments.source, encoding="utf-8") as file:
        data = json.load(file)
    results = [result for result in data["results"] if "rows" in result]
    if not results:
        sys.exit(f"{arguments.source}: no matrix was measured")
    where = results[0]["prekond"]
    lines = ["# Relaxation, blocks, polynomials and FSAI", "",
             f"{where['backend']}, {where['device'] or str(where['threads']) + ' threads'}. Iterations: milliseconds of setup + solve, "
             f"medians of {data['repeat']}; the shortest sum of a matrix in bold. Relative residual 1e-6, b = A 1.", ""]
    for text in sorted({result.get("state", "") for result in results} - {""}):
        lines += [", ".join(result["matrix"] for result in results if result.get("state") == text) + ": " + text + ".", ""]
    for text in sorted({result.get("extra", "") for result in results} - {""}):
        lines += [", ".join(result["matrix"] for result in results if result.get("extra") == text) + f": with `{text}`.", ""]
    for solver in ("cg", "gmres"):
        chosen = [result for result in results if result["solver"] == solver]
        if not chosen:
            continue
        for result in chosen:
            good = [row for row in result["rows"] if row["converged"] and not row["error"]]
            if good:
                min(good, key=lambda row: row["setup"] + row["solve"])["best"] = True
        lines += [f"## {'CG' if solver == 'cg' else 'GMRES(40)'}", "",
                  "| method | " + " | ".join(result["matrix"] for result in chosen) + " |", "|---" * (len(chosen) + 1) + "|",
                  "| rows, entries | " + " | ".join(f"{result['size'][0]}, {result['size'][1]}" for result in chosen) + " |",
                  "| product by | " + " | ".join(result["product"] or "" for result in chosen) + " |"]
        rows = {(result["matrix"], row["method"]): row for result in chosen for row in result["rows"]}
        for method in dict.fromkeys(row["method"] for result in chosen for row in result["rows"]):
            lines.append(f"| `{method}` | " + " | ".join(cell(rows.get((result["matrix"], method))) for result in chosen) + " |")
        lines.append("")
    missing = [result["matrix"] + (": " + result["error"] if "error" in result else "") for result in data["results"]
               if "rows" not in result]
    if missing:
        lines += ["Not measured: " + "; ".join(missing) + ".", ""]
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()
    measure(ARGUMENTS) if ARGUMENTS.command == "measure" else render(ARGUMENTS)
