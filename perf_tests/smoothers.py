#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which smoother makes multigrid fastest: ten problems, easy to hard, each with all smoothers.

    perf_tests/smoothers.py measure --program BUILD/perf_tests/perf_amg --out FILE.json [--small] [--only PATTERN] [--seconds 60]
    perf_tests/smoothers.py render --in FILE.json --out FILE.md

`measure` runs perf_amg for each problem (b random, to a relative residual of 1e-6, at most 300 iterations, medians of three) and
adds to what FILE has; --small takes sizes for a host of two cores, --seconds is the time that a problem may take, after which
what has been measured counts. `render` writes two tables, of setup and solve together, and of iterations.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

from results_file import add_render, lines, load, store

# Strengths of the adaptive FSAI: entries that a row may gain.
OF_SPD = {
    "l1-Jacobi": "l1_jacobi",
    "Jacobi": "jacobi",
    "Chebyshev": "chebyshev",
    "multicolour GS": "multicolor_ssor",
    "FSAI": "fsai:storage=single",
    "adaptive FSAI, 3": "adaptive_fsai:max_steps=3:step_size=1:storage=single",
    "adaptive FSAI, 12": "adaptive_fsai:max_steps=3:step_size=4:storage=single",
    "adaptive FSAI, 30": "adaptive_fsai:storage=single",
    "SPAI": "spai:storage=single",
    "ISAI": "isai:storage=single",
}
# Smoothers for matrices that are not symmetric: without factors G^T G, and damped, because nothing finds a damping there.
OF_GENERAL = {
    "l1-Jacobi": "l1_jacobi",
    "Jacobi": "jacobi",
    "multicolour GS": "multicolor_gs",
    "FSAI": "nonsymmetric_fsai:storage=single",
    "SPAI": "spai:storage=single",
    "ISAI": "isai:kind=general:storage=single",
}
CLASSICAL = ["--coarsenings=classical"]
# Easy to hard: for a device, for a host, and what perf_amg is told.
PROBLEMS = [
    ("poisson2d:1000", "poisson2d:400", []),
    ("poisson3d:160", "poisson3d:64", []),
    ("stretched3d:100,ratio=1.12", "stretched3d:40,ratio=1.33", []),
    ("anisotropic2d:1000,epsilon=1e-3", "anisotropic2d:512,epsilon=1e-3", []),
    ("irregular3d:100,mean=16.33,longest=31", "irregular3d:40,mean=16.33,longest=31", []),
    ("circuit:500", "circuit:100", CLASSICAL),
    ("convection_diffusion3d:100", "convection_diffusion3d:40", CLASSICAL),
    ("elasticity3d:50", "elasticity3d:24", []),
    ("elasticity3d:50,contrast=1e6", "elasticity3d:24,contrast=1e6", []),
    ("elasticity3d:100", "elasticity3d:30", []),
]


def benchmarks(path):
    """The output of Google Benchmark, also where it was ended."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    place = text.find('"benchmarks": [')
    decoder, found = json.JSONDecoder(), []
    while place >= 0:
        place = text.find("{", place)
        if place < 0:
            break
        try:
            run, place = decoder.raw_decode(text, place)
        except ValueError:
            break
        found.append(run)
    return found


def run(program, problem, smoothers, flags, deadline):
    """Returns the runs, how the program ended where it failed, whether its time was over"""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, f"--matrix={problem}", f"--smoothers={','.join(smoothers)}", "--preconds=", "--max_iters=300",
                   "--repetitions=3", *flags, f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        print(" ".join(command[:4]), flush=True)
        ending, is_over = "", False
        try:
            done = subprocess.run(command, timeout=max(1, deadline - time.monotonic()), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=dict({"GOMP_SPINCOUNT": "1000", "OMP_PROC_BIND": "false"}, **os.environ), check=False)
            if done.returncode != 0:
                ending = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            ending, is_over = "its time was over", True
        print(" ", ending, flush=True)
        return benchmarks(out.name), ending, is_over


def measure(options):
    results = load(options.out, {"problems": {}})
    for device, host, flags in PROBLEMS:
        problem = host if options.small else device
        if options.only and not re.search(options.only, problem):
            continue
        smoothers = OF_GENERAL if problem.startswith("convection") else OF_SPD
        runs, endings, left = [], {}, dict(smoothers)
        deadline = time.monotonic() + options.seconds
        while left:
            found, ending, is_over = run(options.program, problem, left.values(), flags, deadline)
            runs += found
            without = [title for title, name in left.items() if not any(f":{name}/" in one["name"] for one in found)]
            if not ending or not without:
                break
            endings.update({title: ending for title in (without if is_over else without[:1])})
            # One that cannot be set up ends the program: the others go on without it.
            left = {} if is_over else {title: left[title] for title in without[1:]}
        mine = results["problems"][problem] = {}
        for title, name in smoothers.items():
            of_it = [run for run in runs if f":{name}/" in run["name"]]
            done = [run for run in of_it if run.get("aggregate_name") == "median" and run.get("converged")]
            if done:
                mine[title] = {"iterations": int(done[0]["iterations"]), "setup": done[0]["setup"], "solve": done[0]["solve"]}
            elif of_it:
                mine[title] = {"error": next((run["error_message"] for run in of_it if "error_message" in run), "")}
            elif title in endings:
                mine[title] = {"missing": endings[title]}
        store(options.out, results)


def best(row):
    return min((m["setup"] + m["solve"] for m in row.values() if "setup" in m), default=0.0)


def render(options):
    problems = load(options.source)["problems"]
    titles = list(OF_SPD)
    ratios = {title: [] for title in titles}
    times, iterations = [], []
    for problem, row in problems.items():
        least = best(row)
        cells = []
        for title in titles:
            found = row.get(title, {})
            if "setup" not in found:
                cells.append("no convergence" if "error" in found else "")
                continue
            total = found["setup"] + found["solve"]
            ratios[title].append(total / least)
            text = f"{1e3 * found['setup']:.1f} + {1e3 * found['solve']:.1f}"
            cells.append(f"**{text}**" if total == least else text)
        times.append([problem, *cells])
        iterations.append([problem, *(row.get(title, {}).get("iterations", "") for title in titles)])
    times.append(["problems solved", *(len(ratios[title]) for title in titles)])
    times.append(["times the best, median", *(f"{statistics.median(ratios[title]):.2f}" if ratios[title] else "" for title in titles)])
    times.append(["times the best, at most", *(f"{max(ratios[title]):.2f}" if ratios[title] else "" for title in titles)])
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("Setup + solve, ms; bold: the least of a problem.\n\n")
        file.write("\n".join(lines(["problem", *titles], times)) + "\nIterations.\n\n")
        file.write("\n".join(lines(["problem", *titles], iterations)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--program", required=True)
    measuring.add_argument("--out", required=True)
    measuring.add_argument("--small", action="store_true")
    measuring.add_argument("--only", default="")
    measuring.add_argument("--seconds", type=float, default=60)
    add_render(commands)
    options = parser.parse_args()
    measure(options) if options.command == "measure" else render(options)


if __name__ == "__main__":
    main()
