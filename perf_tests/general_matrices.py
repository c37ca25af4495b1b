#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves every matrix of some folders by BiCGSTAB and GMRES(30) with preconditioners for general matrices, by the command
`prekond compare`, and writes general.json and general.md: setup, solve, iterations and the named end of every run."""
import argparse
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile

from real_matrices import call, matrix_name

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SOLVERS = {"BiCGSTAB": ["--solver", "bicgstab"], "GMRES(30)": ["--solver", "gmres", "-s", "restart=30"]}
PRECONDS = {"none": "none", "Jacobi": "jacobi", "SPAI(1)": "spai", "SPAI(2)": "spai:power=2",
            "dynamic SPAI": "dynamic_spai", "ISAI": "isai"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.path.join(ROOT, "..", "shared", "matrices")
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--matrices", default=folder, help="the folder of the folders")
    parser.add_argument("--folders", default="general,symmetric")
    parser.add_argument("--only", default="", help="names of matrices, with commas; what the table has of others stays; default: all")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "cpu"), help="folder of the two files")
    parser.add_argument("--rtol", default="1e-6")
    parser.add_argument("--max-iters", default="5000")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a run; all of a matrix and solver have 6 times that")
    parser.add_argument("--processes", type=int, default=2, help="runs side by side")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads a run")
    return parser.parse_args()


def find_matrices(arguments, folders):
    """(name, path)"""
    wanted = {name for name in arguments.only.split(",") if name}
    for folder in folders:
        place = os.path.join(arguments.matrices, folder)
        for file in sorted(os.listdir(place)):
            name = matrix_name(file)
            if name and (not wanted or name in wanted):
                yield name, os.path.abspath(os.path.join(place, file))


def compare(arguments, path, options, preconds, seconds):
    """A report (with its error, where there is one) for each preconditioner; None after a timeout."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "compare", path, *options, "--precond", ",".join(preconds), "--quiet", "--patience", "0", "--max-iters",
                   arguments.max_iters, "--report", file]
        code, errors = call(command, seconds, arguments.threads)
        if code is None:
            return None
        if os.path.exists(file):
            with open(file, encoding="utf-8") as report:
                return json.load(report)
        last = (errors.strip().splitlines() or [f"exit code {code}"])[-1]
        return [{"error": last.replace("prekond: error: ", "").replace(os.path.dirname(path) + os.sep, "")}] * len(preconds)


def kept(report):
    """The part of a report that the tables need."""
    if "error" in report:
        return {"error": report["error"]}
    precond, solver = report["preconditioner"], report["solver"]
    return {"rows": report["matrix"]["rows"], "nnz": report["matrix"]["nnz"], "setup": precond["setup_seconds"],
            "density": precond["density"], "breakdowns": precond["breakdowns"]["count"], "iterations": solver["iterations"],
            "solve": solver["seconds"], "converged": solver["converged"], "end": solver["reason"],
            "true_residual": solver["true_relative_residual"],
            "machine": report["prekond"]["device"] or f"{report['prekond']['backend']}, Kokkos {report['prekond']['kokkos']}"}


def run(arguments, path, options, preconds):
    """A result for each preconditioner; where all together take too long, one by one."""
    reports = compare(arguments, path, options, preconds, 6 * arguments.timeout)
    if reports is None:
        late = {"error": f"timeout ({arguments.timeout:g} s)"}
        reports = [(compare(arguments, path, options, [one], arguments.timeout) or [late])[0] for one in preconds]
    return [kept(report) for report in reports]


def table_of_all(arguments):
    jobs = [(name, path, solver) for name, path in find_matrices(arguments, arguments.folders.split(",")) for solver in SOLVERS]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        outcomes = pool.map(lambda job: run(arguments, job[1], SOLVERS[job[2]] + ["--rhs", "a_ones", "--rtol", arguments.rtol],
                                            list(PRECONDS.values())), jobs)
        for (name, _, solver), found in zip(jobs, outcomes):
            results.setdefault(name, {})[solver] = dict(zip(PRECONDS, found))
            print(f"{name:24} {solver:10} " + " ".join(r.get("end", "error") for r in found), flush=True)
    return results


def cell(result):
    if "error" in result:
        return "error"
    sign = "" if result["converged"] else f" {result['end']}"
    return f"{result['iterations']}{sign} ({result['setup'] + result['solve']:.3f})"


def summary(results):
    lines = ["| | converged | in the median, iterations over Jacobi's where both converged | with breakdowns | ends |",
             "|---|---:|---:|---:|---|"]
    for solver in SOLVERS:
        for name in PRECONDS:
            runs = [r[solver][name] for r in results.values()]
            pairs = [(r[solver][name], r[solver]["Jacobi"]) for r in results.values()]
            ratios = [a["iterations"] / b["iterations"] for a, b in pairs
                      if a.get("converged") and b.get("converged") and b["iterations"]]
            ends = {}
            for r in runs:
                word = r.get("end", "error")
                ends[word] = ends.get(word, 0) + 1
            named = ", ".join(f"{word} {count}" for word, count in sorted(ends.items(), key=lambda item: (-item[1], item[0])))
            lines.append(f"| {solver}, {name} | {sum(bool(r.get('converged')) for r in runs)} | "
                         f"{statistics.median(ratios) if ratios else float('nan'):.2f} | "
                         f"{sum(bool(r.get('breakdowns')) for r in runs)} | {named} |")
    return lines


def markdown(arguments, results):
    machine = next(r["machine"] for m in results.values() for s in m.values() for r in s.values() if "machine" in r)
    lines = ["# Matrices that are not known to be positive definite", "",
             f"By `perf_tests/general_matrices.py`: BiCGSTAB and GMRES(30), preconditioned on the right, rtol {arguments.rtol}, at most "
             f"{arguments.max_iters} iterations, b = A 1, x0 = 0; {machine}, {arguments.threads} thread(s) a run. A cell: iterations, "
             "the reason where it did not converge, and setup + solve in seconds; breakdowns of setups stand in the JSON file, with "
             "densities and times apart.", "", f"{len(results)} matrices.", "", *summary(results), ""]
    for solver in SOLVERS:
        lines += [f"## {solver}", "", "| matrix | rows | nnz | " + " | ".join(PRECONDS) + " |", "|---|---:|---:|" + "---:|" * len(PRECONDS)]
        for name, by in results.items():
            whole = next((r for r in by[solver].values() if "rows" in r), {"rows": 0, "nnz": 0})
            lines.append(f"| {name} | {whole['rows']:,} | {whole['nnz']:,} | " + " | ".join(cell(by[solver][p]) for p in PRECONDS) + " |")
        errors = sorted({(name, p, r["error"]) for name, by in results.items() for p, r in by[solver].items() if "error" in r})
        lines += [""] + [f"- {name}, {p}: {error}" for name, p, error in errors] + ([""] if errors else [])
    return "\n".join(lines).rstrip() + "\n"


def write(arguments, name, content, text):
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    with open(os.path.join(arguments.out, name + ".md"), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    arguments = parse_arguments()
    results = {}
    if arguments.only:
        with open(os.path.join(arguments.out, "general.json"), encoding="utf-8") as file:
            results = json.load(file)
    results.update(table_of_all(arguments))
    write(arguments, "general", results, markdown(arguments, results))
    print("\n".join(summary(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
