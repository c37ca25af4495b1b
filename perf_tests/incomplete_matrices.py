#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves every matrix of some folders by BiCGSTAB and GMRES(30) with incomplete factorisations, by the command `prekond
compare --match=auto --order ORDER` with the order of the file, rcm and auto, and says which matrices the best one solves; a direct solver's answer (the program
peer_umfpack) says which can be solved at all.

    incomplete_matrices.py measure --out FOLDER [--only NAMES] [--umfpack PROGRAM]
    incomplete_matrices.py render --out FOLDER

`measure` writes incomplete.json, and goes on where it was stopped, or where an order is missing; `render` makes incomplete.md of it."""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import subprocess
import sys

from general_matrices import compare, find_matrices, kept

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SOLVERS = {"BiCGSTAB": ["--solver", "bicgstab"], "GMRES(30)": ["--solver", "gmres", "-s", "restart=30"]}
# All matrices are given to the first ones, and those that none of them solves to the others.
FIRST = {"Jacobi": "jacobi", "ILU(0)": "ilu0", "ILU(1)": "iluk:level=1", "ILUT(10, 1e-3)": "ilut:p=10:tau=1e-3", "ParILU(0)": "par_ilu"}
FURTHER = {"ILU(2)": "iluk:level=2", "ILUT(30, 1e-4)": "ilut:p=30:tau=1e-4", "ILU(4)": "iluk:level=4",
           "ILUT(100, 1e-6)": "ilut:p=100:tau=1e-6"}
PRECONDS = {**FIRST, **FURTHER}
INCOMPLETE = [name for name in PRECONDS if name != "Jacobi"]
ORDERS = ["none", "rcm", "auto"]
MATCHES = ["auto"]
SETTINGS = [(match, order) for match in MATCHES for order in ORDERS]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.path.join(ROOT, "..", "shared", "matrices")
    parser.add_argument("command", choices=("measure", "render"))
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--umfpack", default="", help="peer_umfpack; without it no direct solver is asked")
    parser.add_argument("--matrices", default=folder, help="the folder of the folders")
    parser.add_argument("--folders", default="general,symmetric")
    parser.add_argument("--only", default="", help="names of matrices, with commas; default: all")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "cpu"), help="folder of the two files")
    parser.add_argument("--rtol", default="1e-6")
    parser.add_argument("--max-iters", default="2000")
    parser.add_argument("--timeout", type=float, default=20, help="seconds a run; all of a matrix, a solver and an order have 2 times that")
    parser.add_argument("--processes", type=int, default=2, help="runs side by side")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads a run")
    return parser.parse_args()


def label(match, order):
    return f"match {match}, order {order}"


def run_all(arguments, path, options, preconds):
    """A result for each preconditioner; where all together take too long, one by one."""
    specs = list(preconds.values())
    reports = compare(arguments, path, options, specs, 2 * arguments.timeout)
    if reports is None:
        late = {"error": f"timeout ({arguments.timeout:g} s)"}
        reports = [(compare(arguments, path, options, [one], arguments.timeout) or [late])[0] for one in specs]
    results = []
    for report in reports:
        result = kept(report)
        result["match"] = report.get("match", {}).get("done", False)
        results.append(result)
    return dict(zip(preconds, results))


def direct(arguments, path):
    """The direct solver's word: {"status", "residual"}."""
    if not arguments.umfpack:
        return {"status": "not asked"}
    try:
        done = subprocess.run([arguments.umfpack, path], capture_output=True, text=True, check=False, timeout=120)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"status": "timeout (120 s)"}
    except ValueError:
        return {"status": f"exit code {done.returncode}"}


def measure_one(arguments, path, result):
    """`result`: what is there already of the matrix."""
    result = copy.deepcopy(result) or {"direct": direct(arguments, path), "runs": {}}
    for preconds in (FIRST, FURTHER):
        for match, order in SETTINGS:
            for solver, options in SOLVERS.items():
                every = [*options, "--rtol", arguments.rtol, f"--match={match}", "--order", order]
                by_precond = result["runs"].setdefault(label(match, order), {}).setdefault(solver, {})
                if not set(preconds) <= set(by_precond):
                    by_precond.update(run_all(arguments, path, every, preconds))
        if best_of(result, preconds=[name for name in FIRST if name in INCOMPLETE]):
            break
    return result


def has_all(result):
    return all(label(match, order) in result["runs"] for match, order in SETTINGS)


def measure(arguments):
    file = os.path.join(arguments.out, "incomplete.json")
    results = {}
    if os.path.exists(file):
        with open(file, encoding="utf-8") as old:
            results = json.load(old)
    jobs = [(name, path, {} if arguments.only else results.get(name, {}))
            for name, path in find_matrices(arguments, arguments.folders.split(","))]
    jobs = [job for job in jobs if not job[2] or not has_all(job[2])]
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        futures = {pool.submit(measure_one, arguments, path, result): name for name, path, result in jobs}
        for future in concurrent.futures.as_completed(futures):
            name = futures[future]
            results[name] = future.result()
            best = best_of(results[name])
            print(f"{len(results):4} {name:24} {results[name]['direct'].get('status', ''):10} {best and best[0] or 'none'}", flush=True)
            with open(file, "w", encoding="utf-8") as out:
                json.dump(dict(sorted(results.items())), out, separators=(",", ":"))
                out.write("\n")
    return 0


# ------------------------------------------------------------------------------------------------------- rendering


def converged(result, settings, solvers, preconds):
    """(preconditioner, setting, solver, its result) of those that converged."""
    for setting in settings:
        for solver in solvers:
            for precond in preconds:
                run = result["runs"][setting][solver].get(precond, {})
                if run.get("converged"):
                    yield precond, setting, solver, run


def best_of(result, settings=None, solvers=tuple(SOLVERS), preconds=tuple(INCOMPLETE)):
    """The one of the least setup and solve."""
    found = list(converged(result, settings or list(result["runs"]), solvers, preconds))
    return min(found, key=lambda entry: entry[3]["setup"] + entry[3]["solve"]) if found else None


def count(results, settings, solvers, preconds):
    return sum(best_of(r, settings, solvers, preconds) is not None for r in results.values())


def count_runs(results, setting):
    """Converged runs of the first incomplete factorisations, which all matrices had."""
    return sum(len(list(converged(r, [setting], SOLVERS, [p for p in FIRST if p in INCOMPLETE]))) for r in results.values())


def ends_of(result):
    """The named ends of a matrix that nothing solves."""
    ends = collections.Counter()
    for by in result["runs"].values():
        for runs in by.values():
            for precond in INCOMPLETE:
                run = runs.get(precond)
                if run is None:
                    continue
                ends[run.get("end") or run.get("error", "no result")] += 1
    return ", ".join(f"{word} {n}" for word, n in ends.most_common())


def is_solvable(result):
    return result["direct"].get("status") == "ok" and result["direct"].get("residual", 1) <= 1e-6


def render(arguments):
    with open(os.path.join(arguments.out, "incomplete.json"), encoding="utf-8") as file:
        results = json.load(file)
    settings = list(next(iter(results.values()))["runs"])
    solvers = list(SOLVERS)
    machine = next(r["machine"] for m in results.values() for by in m["runs"].values() for s in by.values() for r in s.values()
                   if "machine" in r)
    total = count(results, settings, solvers, INCOMPLETE)
    lines = ["# Incomplete factorisations on general and symmetric matrices", "",
             f"By `perf_tests/incomplete_matrices.py`: rtol {arguments.rtol}, at most {arguments.max_iters} iterations, b = A 1, x0 = 0, "
             f"{machine}, {arguments.threads} thread(s) a run, {arguments.timeout:g} s a run. Shifts are the methods' own (`shift=auto`).", "",
             f"{len(results)} matrices. The best incomplete factorisation converges on **{total}**, Jacobi on "
             f"{count(results, settings, solvers, ['Jacobi'])}. The first {len(FIRST)} of the table had all matrices, the others those that none of the first solved. UMFPACK solves {sum(is_solvable(r) for r in results.values())} to a relative "
             "residual of 1e-6.", "", "| converged | " + " | ".join(f"{s}, {setting}" for setting in settings for s in solvers) + " | any |",
             "|---|" + "---:|" * (len(settings) * len(solvers) + 1)]
    for precond in PRECONDS:
        cells = [count(results, [setting], [s], [precond]) for setting in settings for s in solvers]
        lines.append(f"| {precond} | " + " | ".join(map(str, cells)) + f" | {count(results, settings, solvers, [precond])} |")
    lines.append("| the best one | " + " | ".join(str(count(results, [setting], [s], INCOMPLETE)) for setting in settings for s in solvers)
                 + f" | {total} |")
    lines += ["", "One setting for all matrices: solved by the best of BiCGSTAB and GMRES(30) and of the incomplete factorisations, and converged "
              f"runs of the first {len([p for p in FIRST if p in INCOMPLETE])} of them. `auto` takes rcm where that makes the bandwidth "
              "three quarters of what it was or less ([ordering](../../../docs/ordering.md#auto)).", "",
              "| setting | matrices solved | runs converged |", "|---|---:|---:|"]
    lines += [f"| {setting} | {count(results, [setting], solvers, INCOMPLETE)} | {count_runs(results, setting)} of "
              f"{len(results) * len(solvers) * len([p for p in FIRST if p in INCOMPLETE])} |" for setting in settings]
    lines += ["", "## Not solved", "", "| matrix | rows | UMFPACK: status, relative residual | ends of the runs |", "|---|---:|---|---|"]
    for name, result in results.items():
        if best_of(result) is None:
            rows = next((r["rows"] for by in result["runs"].values() for s in by.values() for r in s.values() if "rows" in r), 0)
            word = result["direct"]
            lines.append(f"| {name} | {rows:,} | {word.get('status')}, {word.get('residual', float('nan')):.1e} | {ends_of(result)} |")
    lines += ["", "## The fastest for each matrix", "", "| matrix | rows | matched | fastest | solver, setting | iterations | setup + solve s | Jacobi |",
              "|---|---:|---|---|---|---:|---:|---|"]
    named = [setting for setting in settings if not setting.endswith(" auto")]  # auto is one of them
    for name, result in results.items():
        best = best_of(result, named)
        if best is None:
            continue
        jacobi = best_of(result, named, preconds=["Jacobi"])
        run = best[3]
        lines.append(f"| {name} | {run['rows']:,} | {'yes' if run.get('match') else ''} | {best[0]} | {best[2]}, {best[1]} | {run['iterations']} | "
                     f"{run['setup'] + run['solve']:.4f} | "
                     + (f"{jacobi[3]['iterations']}, {jacobi[3]['setup'] + jacobi[3]['solve']:.4f} s" if jacobi else "-") + " |")
    with open(os.path.join(arguments.out, "incomplete.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines[:24]))
    return 0


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(measure(given) if given.command == "measure" else render(given))
