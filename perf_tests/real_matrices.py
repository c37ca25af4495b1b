#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Solves every symmetric positive definite matrix of a folder with Jacobi and with adaptive FSAI (setup in single and
in double precision) by the command `prekond solve`, and writes real_spd.json and real_spd.md. A run that fails, or
takes too long, stands in the table with what it said."""
import argparse
import concurrent.futures
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# The paper's settings, in which preconditioners are compared; the defaults stop rows earlier.
PAPER = ["max_steps=30", "step_size=1", "step_tolerance=0"]
METHODS = {
    "jacobi": ["--precond", "jacobi"],
    "adaptive_fsai single": ["--precond", "adaptive_fsai", "-p", "setup_scalar=single", *PAPER],
    "adaptive_fsai double": ["--precond", "adaptive_fsai", "-p", "setup_scalar=double", *PAPER],
}
FSAI = [method for method in METHODS if method != "jacobi"]


def parse_arguments(description=__doc__, out=os.path.join(HERE, "results", "cpu")):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices", "spd"), help="folder")
    parser.add_argument("--out", default=out, help="folder of the two files")
    parser.add_argument("--only", default="", help="names of matrices, with commas; default: all")
    parser.add_argument("--rtol", default="1e-6")
    parser.add_argument("--max-iters", default="20000")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2, help="runs side by side")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads a run")
    return parser.parse_args()


def matrix_name(file):
    for ending in (".mtx.gz", ".mtx"):
        if file.endswith(ending):
            return file[: -len(ending)]
    return None


def find_matrices(arguments):
    """(name, path) by name."""
    wanted = {name for name in arguments.only.split(",") if name}
    found = sorted((matrix_name(file), os.path.abspath(os.path.join(arguments.matrices, file)))
                   for file in os.listdir(arguments.matrices) if matrix_name(file))
    missing = wanted - {name for name, _ in found}
    if missing:
        sys.exit(f"real_matrices.py: not in {arguments.matrices}: {', '.join(sorted(missing))}")
    return [(name, path) for name, path in found if not wanted or name in wanted]


def call(command, seconds, threads):
    """Exit code and standard error; the code is None after a timeout. The whole process group ends with it."""
    # No binding: two processes bound alike would share one core.
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="false")
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        _, errors = process.communicate(timeout=seconds)
        return process.returncode, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[1]


def run(arguments, path, options):
    """The record of one run of `prekond solve`: exit code, error text, and the report where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        command = [arguments.prekond, "solve", path, "--solver", "cg", "--rtol", arguments.rtol, "--max-iters",
                   arguments.max_iters, "--quiet", "--report", file] + options
        code, errors = call(command, arguments.timeout, arguments.threads)
        lines = [line for line in errors.splitlines() if line.startswith("prekond: error: ")]
        error = lines[-1][len("prekond: error: "):] if lines else errors.strip().splitlines()[-1:]
        error = error if isinstance(error, str) else " ".join(error)
        result = {"exit_code": code, "error": error.replace(os.path.dirname(path) + os.sep, "")}
        if code is None:
            result["error"] = f"timeout ({arguments.timeout:g} s)"
        elif os.path.exists(file):
            with open(file, encoding="utf-8") as report:
                result["report"] = json.load(report)
            result["report"]["matrix"]["source"] = os.path.basename(path)
        return result


def reason(result):
    """The named reason of the solver's end, or else the text of the error."""
    solver = result.get("report", {}).get("solver", {})
    return solver.get("reason") or result["error"].replace("|", "\\|") or f"exit code {result['exit_code']}"


def converged(result):
    return bool(result.get("report", {}).get("solver", {}).get("converged"))


def total(result):
    return result["report"]["total_seconds"]


def text(value, form):
    return "" if value is None else format(value, form)


def solver_cells(result):
    solver = result.get("report", {}).get("solver", {})
    return [text(solver.get("iterations"), ",d"), text(solver.get("seconds"), ".4f"), reason(result)]


def fsai_cells(result):
    precond = result.get("report", {}).get("preconditioner", {})
    setup = [text(precond.get("density"), ".2f"), text(precond.get("setup_seconds"), ".4f")]
    return setup + solver_cells(result) + [text(precond.get("breakdowns", {}).get("count"), ",d")]


def matrix_row(name, results):
    matrix = next((r["report"]["matrix"] for r in results.values() if "report" in r), {})
    cells = [name, text(matrix.get("rows"), ",d"), text(matrix.get("nnz"), ",d")] + solver_cells(results["jacobi"])
    for method in FSAI:
        cells += fsai_cells(results[method])
    return "| " + " | ".join(cells) + " |"


def count_reasons(all_results, method):
    counts = {}
    for results in all_results.values():
        result = results[method]
        word = reason(result) if "report" in result else ("timeout" if result["exit_code"] is None else "error")
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{word} {count}" for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def summary(all_results):
    lines = [f"{len(all_results)} matrices.", "", "| | converged | how the runs ended | with breakdowns |", "|---|---:|---|---:|"]
    for method in METHODS:
        of_method = [results[method] for results in all_results.values()]
        broken = sum(1 for r in of_method if r.get("report", {}).get("preconditioner", {}).get("breakdowns", {}).get("count"))
        lines.append(f"| {method} | {sum(map(converged, of_method))} | {count_reasons(all_results, method)} | {broken} |")
    lines.append("")
    for method in FSAI:
        both = [(r["jacobi"], r[method]) for r in all_results.values() if converged(r["jacobi"]) and converged(r[method])]
        alone = sum(1 for r in all_results.values() if converged(r[method]) and not converged(r["jacobi"]))
        lost = sum(1 for r in all_results.values() if converged(r["jacobi"]) and not converged(r[method]))
        faster = sum(1 for jacobi, fsai in both if total(fsai) < total(jacobi))
        ratios = [f["report"]["solver"]["iterations"] / j["report"]["solver"]["iterations"] for j, f in both
                  if j["report"]["solver"]["iterations"]]
        middle = f"; its iterations over Jacobi's, median: {statistics.median(ratios):.2f}" if ratios else ""
        lines.append(f"- {method}: converged where Jacobi did not on {alone}, did not where Jacobi did on {lost}; where both "
                     f"did ({len(both)}), setup + solve was shorter on {faster}{middle}.")
    return lines + [precision_line(all_results)]


def precision_line(all_results):
    """Table 4 of Bernaschi et al. (2019) in a line: does a setup in single precision cost iterations?"""
    judged, apart = 0, []
    for name, results in all_results.items():
        single, double = (results[method] for method in FSAI)
        if not converged(double):
            continue
        judged += 1
        wanted = double["report"]["solver"]["iterations"]
        had = single["report"]["solver"]["iterations"] if converged(single) else None
        if had is None or had - wanted > max(3, 0.05 * wanted):
            apart.append(f"{name} ({reason(single) if had is None else had} against {wanted})")
    return (f"- Setup in single precision: iterations at most max(3, 5 %) above those of double on {judged - len(apart)} of "
            f"the {judged} matrices on which double converged" + (f"; not on {', '.join(apart)}." if apart else "."))


def markdown(arguments, environment, all_results):
    head = ["matrix", "rows", "nnz", "Jacobi: iterations", "solve s", "reason"]
    for method in FSAI:
        head += [f"{method.replace('adaptive_fsai', 'aFSAI')}: density", "setup s", "iterations", "solve s", "reason",
                 "breakdowns"]
    return "\n".join(
        ["# Real SPD matrices", "",
         f"`prekond solve MATRIX --solver cg --rtol {arguments.rtol} --max-iters {arguments.max_iters}`, b = A 1, x0 = 0; "
         f"{environment}; {arguments.threads} OpenMP thread(s) a run, {arguments.processes} run(s) side by side, at most "
         f"{arguments.timeout:g} s each, one run each. By `perf_tests/real_matrices.py`.", ""]
        + summary(all_results)
        + ["", "| " + " | ".join(head) + " |", "|---|" + "".join("---|" if h == "reason" else "---:|" for h in head[1:])]
        + [matrix_row(name, results) for name, results in all_results.items()]) + "\n"


def describe(all_results):
    for results in all_results.values():
        for result in results.values():
            if "report" in result:
                p = result["report"]["prekond"]
                return f"Prekond {p['version']}, {p['backend']}, Kokkos {p['kokkos']}"
    return "no run had a report"


def main():
    arguments = parse_arguments()
    matrices = find_matrices(arguments)
    # Built here, if need be, and not within the first run's time.
    if subprocess.run([arguments.prekond, "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"real_matrices.py: {arguments.prekond} --version failed")
    jobs = [(name, path, method) for name, path in matrices for method in METHODS]
    all_results = {name: {} for name, _ in matrices}
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        outcomes = pool.map(lambda job: run(arguments, job[1], METHODS[job[2]] + ["--rhs", "a_ones"]), jobs)
        for (name, _, method), result in zip(jobs, outcomes):
            all_results[name][method] = result
            print(f"{name:24} {method:22} {reason(result)}", flush=True)
    os.makedirs(arguments.out, exist_ok=True)
    settings = {key: getattr(arguments, key) for key in ("rtol", "max_iters", "timeout", "processes", "threads")}
    with open(os.path.join(arguments.out, "real_spd.json"), "w", encoding="utf-8") as file:
        json.dump({"settings": settings, "matrices": all_results}, file, indent=1)
        file.write("\n")
    with open(os.path.join(arguments.out, "real_spd.md"), "w", encoding="utf-8") as file:
        file.write(markdown(arguments, describe(all_results), all_results))
    print("\n".join(summary(all_results)))


if __name__ == "__main__":
    main()
