#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves the symmetric positive definite matrices of a folder by CG with IC(k) and both MIC(k), by the command `prekond compare`,
and writes a table of iterations, of the time of setup and solve, and of what was done about pivots that broke down.

    incomplete_cholesky.py --out incomplete_cholesky.md [--only NAMES] [--matrices FOLDER] [--folders spd]

b is random: with b = A 1 the first step of Gustafsson's MIC is exact."""
import argparse
import os
import re
import sys

from general_matrices import compare, find_matrices, kept

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRECONDS = {"IC(0)": "ic0", "IC(1)": "ick:level=1", "IC(2)": "ick:level=2", "Gustafsson's MIC(0)": "mic_gustafsson",
            "Gustafsson's MIC(1)": "mic_gustafsson:level=1", "Robert's MIC(0)": "mic_robert", "Robert's MIC(1)": "mic_robert:level=1",
            "Robert's MIC(2)": "mic_robert:level=2", "ICT(10, 1e-3)": "ict"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"), help="the folder of the folders")
    parser.add_argument("--folders", default="spd")
    parser.add_argument("--only", default="", help="names of matrices, with commas; default: all with entries off the diagonal")
    parser.add_argument("--out", required=True, help="the table")
    parser.add_argument("--min-rows", type=int, default=1000, help="smaller matrices are left out")
    parser.add_argument("--rtol", default="1e-6")
    parser.add_argument("--max-iters", default="3000")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a run")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads a run")
    return parser.parse_args()


def remedy(report):
    """The shift with which no pivot broke down, or the rows that broke down with all shifts."""
    tries = [note for note in report["preconditioner"]["notes"] if re.match(r"shift \S+: ", note)]
    if not tries:
        return ""
    broken = report["preconditioner"]["breakdowns"]["count"]
    return f", {broken} rows broken" if broken else f", shift {tries[-1].split()[1].rstrip(':')}"


def cell(report):
    result = kept(report)
    if "error" in result:
        return result["error"]
    end = "" if result["converged"] else f" {result['end']}"
    return f"{result['iterations']}{end} ({result['setup'] + result['solve']:.3f} s{remedy(report)})"


def row(arguments, name, path):
    """The line of a matrix, or None where it is small or diagonal."""
    options = ["--solver", "cg", "--rhs", "random", "--rtol", arguments.rtol]
    cells, matrix = [], None
    for precond in PRECONDS.values():
        reports = compare(arguments, path, options, [precond], arguments.timeout)
        if reports and "error" not in reports[0]:
            matrix = reports[0]["matrix"]
            if matrix["rows"] < arguments.min_rows or matrix["nnz"] == matrix["rows"]:
                return None
        cells.append(cell(reports[0]) if reports else f"timeout ({arguments.timeout:g} s)")
    return f"| {name} | {matrix['rows']:,} | {matrix['nnz']:,} | " + " | ".join(cells) + " |" if matrix else None


def count(rows, pattern):
    """How many cells of each column the pattern is found in."""
    columns = zip(*(line.strip("| ").split(" | ")[3:] for line in rows))
    return [str(sum(bool(re.search(pattern, text)) for text in column)) for column in columns]


def page(arguments, rows):
    head = ["matrix", "rows", "nnz", *PRECONDS]
    totals = [["converged", "", "", *count(rows, r"^\d+ \(")], ["without a shift", "", "", *count(rows, r"^\d.* s\)$")]]
    return "\n".join(
        ["# IC(k) and both MIC(k) on real matrices", "",
         f"By `perf_tests/incomplete_cholesky.py`: CG, b random, relative residual {arguments.rtol}, at most {arguments.max_iters} "
         f"iterations, {arguments.threads} OpenMP thread(s), {len(rows)} matrices. A cell has the iterations, the seconds of setup and "
         "solve, and, where pivots broke down, the shift alpha of A + alpha diag(A) with which none did.", "",
         "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1), *rows,
         *("| " + " | ".join(cells) + " |" for cells in totals)]) + "\n"


def main():
    arguments = parse_arguments()
    rows = []
    for name, path in find_matrices(arguments, arguments.folders.split(",")):
        found = row(arguments, name, path)
        if found is None:
            continue
        rows.append(found)
        print(found, flush=True)
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(page(arguments, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
