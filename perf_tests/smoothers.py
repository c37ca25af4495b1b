#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which smoother of multigrid wins, over ten problems from easy to hard.

    smoothers.py measure --perf-amg PROGRAM --matrices FOLDER --out FILE.json    FOLDER: that of the real matrices
    smoothers.py render --in FILE.json --out FILE.md
"""

import argparse
import json
import os
import subprocess
import tempfile

from results_file import add_render, lines, load, store

# One of Chebyshev's is the default. Strengths of the adaptive FSAI: steps times new entries a step.
SYMMETRIC = ["chebyshev", "jacobi", "l1_jacobi", "multicolor_ssor", "fsai", "adaptive_fsai:max_steps=2:step_size=2", "adaptive_fsai:max_steps=3:step_size=4",
             "adaptive_fsai:max_steps=10:step_size=3", "spai", "isai"]
NONSYMMETRIC = ["jacobi", "l1_jacobi", "multicolor_gs", "spai", "isai"]
PROBLEMS = ["poisson2d:400", "poisson3d:64", "stretched3d:40,ratio=100", "anisotropic2d:512,epsilon=1e-3", "convection_diffusion3d:40", "circuit:100",
            "G2_circuit.mtx.gz", "elasticity3d:24", "elasticity3d:24,contrast=1e6", "bcsstk16.mtx.gz"]


def measure(options):
    results = {}
    for problem in PROBLEMS:
        is_symmetric = not problem.startswith("convection")
        matrix = os.path.join(options.matrices, problem) if ".mtx" in problem else problem
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            command = [options.perf_amg, f"--matrix={matrix}", "--preconds=jacobi" if is_symmetric else "--preconds=", f"--repetitions={options.repetitions}",
                       "--smoothers=" + ",".join(SYMMETRIC if is_symmetric else NONSYMMETRIC), f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
            if not is_symmetric:
                command.append("--prolongator=unsmoothed")
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
            found = json.load(open(out.name, encoding="utf-8"))["benchmarks"]
        of_problem = results.setdefault(problem, {})
        for line in found:
            name = line["name"].split("/iterations:")[0].split("amg:aggregation:")[-1].removesuffix("/full")
            name = "jacobi alone" if name.endswith("/jacobi") else name
            if line.get("error_occurred"):
                of_problem.setdefault(name, {"failed": line["error_message"]})
            elif line.get("aggregate_name") == "median":
                of_problem[name] = {"iterations": round(line["iterations"]), "setup": line["setup"], "solve": line["solve"]}
        print(problem, of_problem, flush=True)
    store(options.out, results)


def cell(result, least):
    if result is None:
        return ""
    if "failed" in result:
        return "no"
    total = result["setup"] + result["solve"]
    text = f"{result['iterations']} / {1e3 * total:.0f}"
    return f"**{text}**" if total == least else text


def render(options):
    results = load(options.source)
    names = []
    for of_problem in results.values():
        names += [name for name in of_problem if name not in names]
    rows = []
    for name in names:
        row = [name.replace("adaptive_fsai:max_steps=", "adaptive_fsai ").replace(":step_size=", " x ")]
        for of_problem in results.values():
            least = min(result["setup"] + result["solve"] for result in of_problem.values() if "failed" not in result)
            row.append(cell(of_problem.get(name), least))
        rows.append(row)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("# Multigrid's smoothers on a host\n\nIterations of CG (FGMRES for convection_diffusion3d, with unsmoothed aggregation) to 1e-6 with a random right-hand "
                   "side / ms of setup and solve,\nmedians, two threads; the fastest of a column bold, `no`: no solution. Again: `smoothers.py measure`, in one run.\n\n")
        file.write("\n".join(lines(["smoother"] + [name.removesuffix(".mtx.gz") for name in results], rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("measure")
    run.add_argument("--perf-amg", required=True)
    run.add_argument("--matrices", required=True)
    run.add_argument("--repetitions", type=int, default=3)
    run.add_argument("--out", required=True)
    add_render(commands)
    options = parser.parse_args()
    measure(options) if options.command == "measure" else render(options)


if __name__ == "__main__":
    main()
