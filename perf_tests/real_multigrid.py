#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves every symmetric positive definite matrix of a folder by `prekond solve` with CG and Jacobi, and with multigrid by
aggregation and by classical coarsening, all defaults, for b = A 1 and for a random b, and writes real_spd.json and real_spd.md:
iterations, levels, operator complexity, seconds, and why each run ended."""
import concurrent.futures
import json
import os
import re
import statistics

from real_matrices import HERE, find_matrices, parse_arguments, reason, run

METHODS = {
    "jacobi": ["--precond", "jacobi"],
    "aggregation": ["--precond", "amg"],
    "classical": ["--precond", "amg", "-p", "coarsening=classical"],
}
SIDES = {"A 1": "a_ones", "random": "random"}
MULTIGRID = [method for method in METHODS if method != "jacobi"]


def kept_of(result):
    """The part of a run that the files hold."""
    report = result.get("report", {})
    solver, precond = report.get("solver", {}), report.get("preconditioner", {})
    kept = {"reason": reason(result), "converged": bool(solver.get("converged")), "iterations": solver.get("iterations"),
            "relative_residual": solver.get("true_relative_residual"), "seconds": report.get("total_seconds")}
    if precond.get("levels"):
        kept.update(levels=len(precond["levels"]), operator_complexity=round(precond["operator_complexity"], 3))
    found = re.search(r"nodes have (\d+) unknowns", " ".join(precond.get("notes", [])))
    if found:
        kept["unknowns_per_node"] = int(found.group(1))
    return kept


def summary(results, side):
    """A line for each coarsening: what it solves of what Jacobi does."""
    lines = []
    solved = [runs["jacobi"]["converged"] for runs in (of[side] for of in results.values())]
    lines.append(f"b = {side}: Jacobi converges on {sum(solved)} of {len(solved)}.")
    for method in MULTIGRID:
        pairs = [(of[side]["jacobi"], of[side][method]) for of in results.values()]
        lost = [name for name, of in results.items() if of[side]["jacobi"]["converged"] and not of[side][method]["converged"]]
        both = [(jacobi, amg) for jacobi, amg in pairs if jacobi["converged"] and amg["converged"]]
        ratio = statistics.median([amg["iterations"] / jacobi["iterations"] for jacobi, amg in both] or [float("nan")])
        more = sum(amg["iterations"] > jacobi["iterations"] for jacobi, amg in both)
        faster = sum(amg["seconds"] < jacobi["seconds"] for jacobi, amg in both)
        lines.append(f"- {method}: {sum(amg['converged'] for _, amg in pairs)}; not where Jacobi does: {', '.join(lost) or 'none'}; where both do, "
                     f"{ratio:.2f} of Jacobi's iterations on the median, more of them on {more}, faster with its setup on {faster} of {len(both)}.")
    return lines


def cells(run_of_side):
    """The lines of a matrix and a right-hand side."""
    found = []
    for method in METHODS:
        kept = run_of_side[method]
        text = f"{kept['iterations']}" if kept["converged"] else f"{kept['reason']} ({kept['iterations']})"
        if kept.get("levels", 0) > 0:
            text += f", {kept['levels']}, {kept['operator_complexity']:.2f}"
        found.append(text)
    return found


def main():
    arguments = parse_arguments(__doc__, os.path.join(HERE, "results", "cpu", "multigrid"))
    matrices = find_matrices(arguments)
    jobs = [(name, path, side, method) for name, path in matrices for side in SIDES for method in METHODS]
    results, sizes = {}, {}
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        outcomes = pool.map(lambda job: run(arguments, job[1], METHODS[job[3]] + ["--rhs", SIDES[job[2]]]), jobs)
        for (name, _, side, method), result in zip(jobs, outcomes):
            results.setdefault(name, {}).setdefault(side, {})[method] = kept_of(result)
            if "report" in result:
                sizes[name] = {key: result["report"]["matrix"][key] for key in ("rows", "nnz")}
            print(f"{name:24} {side:8} {method:12} {reason(result)}", flush=True)
    settings = {key: getattr(arguments, key) for key in ("rtol", "max_iters", "timeout", "processes", "threads")}
    lines = ["# Real SPD matrices by multigrid", "",
             "`perf_tests/real_multigrid.py`: CG to a relative residual of " + arguments.rtol + ", all options of `amg` their defaults. Cells: iterations, or why "
             f"the run ended; levels; operator complexity. {arguments.processes} runs of {arguments.threads} thread(s) side by side.", ""]
    for side in SIDES:
        lines += summary(results, side) + [""]
    head = [f"{method}, b = {side}" for side in SIDES for method in METHODS]
    lines += ["| matrix | rows | entries | unknowns a node, found | " + " | ".join(head) + " |", "|---|---|---|---|" + "---|" * len(head)]
    for name, of in results.items():
        size = sizes.get(name, {})
        row = [cell for side in SIDES for cell in cells(of[side])]
        unknowns = next((kept["unknowns_per_node"] for side in of.values() for kept in side.values() if "unknowns_per_node" in kept), "")
        lines.append(f"| {name} | {size.get('rows', '')} | {size.get('nnz', '')} | {unknowns} | " + " | ".join(row) + " |")
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, "real_spd.json"), "w", encoding="utf-8") as file:
        text = ",\n".join(f"{json.dumps(name)}: {json.dumps(of)}" for name, of in results.items())
        file.write('{"settings": ' + json.dumps(settings) + ',\n"matrices": {\n' + text + "\n}}\n")
    with open(os.path.join(arguments.out, "real_spd.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
