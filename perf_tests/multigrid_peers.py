#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multigrid on the host, ours compared with hypre's BoomerAMG, amgcl, PETSc's GAMG and pyamg, each on two cores in the same minutes.

    perf_tests/multigrid_peers.py --build BUILD [--matrices DIR] [--smallest 10000] [--out results/cpu/multigrid_peers] [--add] [--only NAMES]

Runs perf_amg, peer_hypre_boomeramg, peer_amgcl and peer_petsc_ksp (two ranks), as far as BUILD has them, and peers/pyamg_cg.py
where PYTHON has pyamg (`pip install pyamg`), on generated problems and on the symmetric positive definite matrices of DIR with as
many rows, b random, to a relative residual of 1e-6. Writes OUT.json and the table OUT.md: of each library the setting with the
least setup and solve together. `--add` adds to what OUT.json has: where PETSc belongs to another build, run that one so at once,
with `--libraries gamg`. Wants two idle cores.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GENERATED = {"elasticity3d:30": 3, "poisson3d:64": 1}
SECONDS = 120


def run(command):
    environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_PROC_BIND="false", GOMP_SPINCOUNT="1000")
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS).stdout
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return ""


def ours(build, matrix, repetitions):
    found = []
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        for coarsening in ("aggregation", "classical"):
            run([build / "perf_tests/perf_amg", f"--matrix={matrix}", "--smoothers=chebyshev,jacobi", "--preconds=jacobi" if coarsening == "aggregation"
                 else "--preconds=", f"--coarsenings={coarsening}", f"--repetitions={repetitions}", f"--benchmark_out={out.name}",
                 "--benchmark_out_format=json"])
            try:
                lines = json.load(open(out.name, encoding="utf-8"))["benchmarks"]
            except ValueError:
                continue
            for line in lines:
                if line.get("aggregate_name", "median") != "median" or not line.get("converged"):
                    continue
                setting = re.sub(r"/((full|auto)/)?iterations.*", "", line["name"]).split(matrix + "/")[-1].replace("amg:", "")
                found.append({"library": "jacobi alone" if setting == "jacobi" else "prekond", "setting": setting,
                              "setup": line["setup"], "solve": line["solve"], "iterations": int(line["iterations"])})
    return found


def peer(command, library, key, converged):
    found = []
    for line in run(command).splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        if converged(row):
            found.append({"library": library, "setting": row[key], "setup": row["setup_seconds"], "solve": row["solve_seconds"],
                          "iterations": row["iterations"]})
    return found


def gamg(program, matrix, repetitions):
    if not program.exists():
        return []
    tried = [{"library": "gamg", "converged": False}]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2", program, matrix, "-methods", "gamg", "-rhs", "random",
             "-max_iters", "3000", "-repeat", str(repetitions), "-json", out.name])
        try:
            runs = json.load(open(out.name, encoding="utf-8"))["runs"]
        except ValueError:
            return tried
    return tried + [{"library": "gamg", "setting": "gamg", "setup": row["setup_seconds"], "solve": row["solve_seconds"], "iterations": row["iterations"]}
                    for row in runs if row["converged"]]


def pyamg(python, prekond, matrix, unknowns, repetitions):
    if subprocess.run([python, "-c", "import pyamg"], capture_output=True, check=False).returncode != 0:
        return []
    with tempfile.TemporaryDirectory() as folder:
        file = matrix
        if not Path(matrix).exists():
            file = f"{folder}/generated.mtx"
            run([prekond, "generate", matrix, "-q", "-o", file])
        return [{"library": "pyamg", "converged": False}] + peer(
            [python, HERE / "peers/pyamg_cg.py", file, f"--unknowns={unknowns}", f"--repetitions={repetitions}"], "pyamg", "setting",
            lambda row: row["residual"] <= 1.01e-6)


def measure(arguments, matrix, unknowns):
    build, repetitions = arguments.build.resolve(), arguments.repetitions
    peers = build / "perf_tests/peers"
    runs = {
        "gamg": lambda: gamg(peers / "peer_petsc_ksp", matrix, repetitions),
        "pyamg": lambda: pyamg(arguments.python, build / "src/driver/prekond", matrix, unknowns, repetitions),
        "prekond": lambda: ours(build, matrix, repetitions),
        "hypre": lambda: peer([peers / "peer_hypre_boomeramg", f"--matrix={matrix}", f"--functions={unknowns}", f"--repetitions={repetitions}"],
                              "hypre", "setting", lambda row: row["residual"] <= 1e-6),
        "amgcl": lambda: peer([peers / "peer_amgcl", f"--matrix={matrix}", f"--unknowns={unknowns}", f"--repetitions={repetitions}"],
                              "amgcl", "smoother", lambda row: row["residual"] <= 1.01e-6)}
    return [row for library in arguments.libraries.split(",") for row in runs[library]()]


def rows_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8", errors="replace") if path.suffix == ".gz" else open(path, encoding="utf-8", errors="replace")
    with opened as text:
        for line in text:
            if not line.startswith("%"):
                return int(line.split()[0])
    return 0


def best(results, library):
    own = [row for row in results if row["library"] == library and "setup" in row]
    return min(own, key=lambda row: row["setup"] + row["solve"]) if own else None


def cell(row, is_tried):
    if not row:
        return "did not converge" if is_tried else "not run"
    return f'{row["setting"]}, {row["iterations"]}: {1e3 * row["setup"]:.1f} + {1e3 * row["solve"]:.1f} = {1e3 * (row["setup"] + row["solve"]):.1f}'


def render(table):
    lines = ["# Multigrid on two threads of a host", "",
             "`perf_tests/multigrid_peers.py --build BUILD`. CG to 1e-6, b random; of each library the best setting: its name, iterations, ms of setup + solve. "
             "hypre is one process, and computes on one core where it was built without OpenMP, as Debian's is. `jacobi alone` is CG with point Jacobi. "
             "GAMG is that of PETSc's defaults, on two ranks; pyamg computes mostly on one core. ratio: ours over the best of hypre, amgcl, GAMG and pyamg.", "",
             "| matrix | rows | prekond | hypre | amgcl | GAMG | pyamg | jacobi alone | ratio |", "|---|---|---|---|---|---|---|---|---|"]
    ratios = []
    for entry in table:
        chosen = {name: best(entry["results"], name) for name in ("prekond", "hypre", "amgcl", "gamg", "pyamg", "jacobi alone")}
        others = [chosen[name] for name in ("hypre", "amgcl", "gamg", "pyamg") if chosen[name]]
        is_tried = lambda name: name not in ("gamg", "pyamg") or any(row["library"] == name for row in entry["results"])
        ratio = ""
        if chosen["prekond"] and others:
            total = lambda row: row["setup"] + row["solve"]
            ratios.append(total(chosen["prekond"]) / min(map(total, others)))
            ratio = f"{ratios[-1]:.2f}"
        lines.append(f'| {entry["matrix"]} | {entry["rows"]} | ' + " | ".join(cell(chosen[name], is_tried(name)) for name in chosen) + f" | {ratio} |")
    if ratios:
        lines += ["", f"Median of the ratios {statistics.median(ratios):.2f}, the largest {max(ratios):.2f}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--matrices", type=Path, default=HERE / "../../shared/matrices/spd")
    parser.add_argument("--smallest", type=int, default=10000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--libraries", default="gamg,pyamg,prekond,hypre,amgcl")
    parser.add_argument("--python", default=sys.executable, help="one that has pyamg")
    parser.add_argument("--out", type=Path, default=HERE / "results/cpu/multigrid_peers")
    parser.add_argument("--add", action="store_true", help="to what OUT.json has")
    parser.add_argument("--only", default="", help="names of matrices, with commas: others stay what OUT.json has of them, with --add")
    arguments = parser.parse_args()
    before = {}
    if arguments.add:
        before = {entry["matrix"]: entry["results"] for entry in json.loads(arguments.out.with_suffix(".json").read_text(encoding="utf-8"))}
    table = []
    cases = [(name, name, unknowns, None) for name, unknowns in GENERATED.items()]
    if arguments.matrices.is_dir():
        for path in sorted(arguments.matrices.glob("*.mtx*")):
            rows = rows_of(path)
            if rows >= arguments.smallest:
                cases.append((path.name.split(".mtx")[0], str(path), 1, rows))
    for name, matrix, unknowns, rows in cases:
        print(name, file=sys.stderr)
        skipped = arguments.only and name not in arguments.only.split(",")
        results = [] if skipped else measure(arguments, matrix, unknowns)
        kept = [row for row in before.get(name, []) if row["library"] not in {row["library"] for row in results}]
        table.append({"matrix": name, "rows": rows or "", "results": kept + results})
        arguments.out.with_suffix(".json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        arguments.out.with_suffix(".md").write_text(render(table), encoding="utf-8")


if __name__ == "__main__":
    main()
