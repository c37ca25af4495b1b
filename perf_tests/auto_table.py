#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `--precond auto --solver auto` with each method of its list.

    auto_table.py measure --prekond PROGRAM --out FILE.json [--matrices FILE|FOLDER ...] [--generate NAME:SIZE ...] [--seconds 60]
    auto_table.py render --in FILE.json --out FILE.md
    auto_table.py kinds [--check]

`kinds` writes the tables of kinds of matrices in docs/choosing.md from the committed ones of a host and a GPU; with --check it only compares them.

A method has a process of its own; a time is that of a setup and a solve, the median of --repeat. FILE.json is added to: a matrix that it has is not
run again. A file A.mtx.gz has its right-hand side in A_b.mtx where that is there; others a random one.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from results_file import add_render, lines, load, store

GENERATED = ["poisson2d:300", "poisson3d:40", "anisotropic2d:300", "elasticity3d:20", "convection_diffusion3d:40", "circuit:150",
             "irregular3d:40", "stretched3d:30", "tridiagonal:50000"]

PROJECT = Path(__file__).resolve().parent.parent
# The kinds of docs/choosing.md with their matrices.
KINDS = {
    "Poisson's equation": ["poisson2d:700", "poisson3d:80"], "anisotropy": ["anisotropic2d:700"], "jumps": ["poisson_jump"],
    "elasticity": ["elasticity3d:40", "elasticity_p1"], "elasticity, quadratic elements; jumps": ["elasticity_p2", "elasticity_jump"],
    "nearly incompressible": ["elasticity_p2_nu049"], "network with long rows": ["circuit:150"], "singular, Neumann": ["neumann"],
    "curl-curl": ["maxwell"], "shell": ["s3rmt3m1"], "time step": ["heat_steps_0"], "convection": ["convection_diffusion3d:60", "convection_dg"],
    "saddle point": ["stokes", "oseen"], "saddle point, mixed elements": ["darcy"], "indefinite": ["bcsstm27", "bratu3d"],
    "Helmholtz, complex symmetric": ["helmholtz"], "semiconductor; power flow": ["device", "power_flow"],
    "circuit; economics": ["memplus", "orani678"]}
GPU_KINDS = {
    "Poisson's equation": ["poisson2d:1000", "poisson3d:160"], "smaller ones": ["poisson2d:300", "poisson3d:100"], "anisotropy": ["anisotropic2d:1000"],
    "jumps; network with long rows": ["poisson_jump", "circuit:300"], "elasticity": ["elasticity3d:40", "elasticity3d:60"],
    "elasticity, unstructured": ["elasticity_p1", "simp"], "singular, Neumann": ["neumann"],
    "curl-curl": ["maxwell"], "shell": ["s3rmt3m1"], "time step": ["heat_steps_0"], "convection": ["convection_diffusion3d:100", "convection_dg"], "semiconductor": ["device"], "saddle point": ["stokes"],
    "saddle point, mixed elements": ["darcy"], "circuit": ["memplus"]}
# The tables of docs/choosing.md: first line, kinds, figures.
KINDS_TABLES = [("| kind | matrix | rows | fastest | s |", KINDS, "cpu"), ("| kind | matrix | rows | fastest on an H200 | s |", GPU_KINDS, "h200")]


def solve(arguments, matrix, options):
    """The report of a process, or why there is none. Its times are medians of --repeat setups and solves."""
    place = Path(matrix)
    words = [matrix] if place.exists() else ["--generate", matrix]
    side = place.with_name(place.name.split(".mtx")[0] + "_b.mtx")
    words += ["--rhs", str(side)] if place.exists() and side.exists() else []
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [arguments.prekond, "solve", *words, *options, "--rtol", arguments.rtol, "--max-iters", "5000", "--quiet", "--report",
                   report.name, "--repeat", str(arguments.repeat), *([f"--kokkos-num-threads={arguments.threads}"] if arguments.threads else [])]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=arguments.repeat * arguments.seconds, check=False)
        except subprocess.TimeoutExpired:
            return {"reason": f"more than {arguments.seconds:g} s"}
        if ended.returncode not in (0, 4, 5):
            return {"reason": ended.stderr.strip().split("\n")[-1][:160]}
        found = load(report.name)
    return {"reason": found["solver"]["reason"], "converged": found["solver"]["converged"], "iterations": found["solver"]["iterations"],
            "seconds": float(f"{found['total_seconds']:.4g}"), "setup": float(f"{found['total_seconds'] - found['solver']['seconds']:.4g}"), "method": method_text(found["preconditioner"], found["solver"]["name"]),
            "candidates": found["candidates"], "rows": found["matrix"]["rows"], "nnz": found["matrix"]["nnz"], "machine": found["prekond"]}


def method_text(preconditioner, solver):
    return f"{preconditioner['name']}, {solver}"


def words_of(candidate):
    """A candidate as options of the command, and its name in the table."""
    options, name = [], candidate["preconditioner"]
    for key, value in candidate["options"].items():
        options += ["-p", f"{key}={value}"]
        name += f":{key}={value}"
    solver = ["--solver", candidate["solver"]] + (["-s", "restart=50"] if candidate["solver"] == "gmres" else [])
    return ["--precond", candidate["preconditioner"], *options, *solver], f"{name}, {candidate['solver']}"


def measure(arguments):
    results = load(arguments.out, {})
    matrices = [str(file) for given in arguments.matrices for file in ([Path(given)] if Path(given).is_file() else sorted(Path(given).rglob("*.mtx*")))
                if not file.name.split(".")[0].endswith(("_b", "_x", "_fields", "_gradient", "_vertices"))]
    for matrix in [*arguments.generate, *matrices]:
        name = Path(matrix).name.split(".mtx")[0]
        if name in results:
            continue
        auto = solve(arguments, matrix, ["--precond", "auto", "--solver", "auto"])
        row = {"auto": {key: value for key, value in auto.items() if key != "candidates"}, "methods": {}}
        row["tried"] = [f"{words_of(one)[1]}: {one['outcome']}" for one in auto.get("candidates", []) if one["tried"]]
        for candidate in auto.get("candidates", []):
            # A method that does not fit the matrix is not one of its list, nor is the last resort where others solve.
            is_last_resort = {200, 1000} & {candidate["options"].get("p"), candidate["options"].get("inner.p")}
            if (candidate["expected_products"] is None or is_last_resort) and not candidate["tried"]:
                continue
            words, label = words_of(candidate)
            row["methods"][label] = {key: value for key, value in solve(arguments, matrix, words).items()
                                     if key in ("reason", "converged", "iterations", "seconds", "setup")}
        results[name] = row
        store(arguments.out, results)
        print(name, ratio_of(row), flush=True)


def best_of(row):
    solved = {label: run for label, run in row["methods"].items() if run.get("converged")}
    return min(solved.items(), key=lambda item: item[1]["seconds"], default=None)


def ratio_of(row):
    """The time of auto over the best of the list; None where auto or all of the list fail."""
    best = best_of(row)
    return row["auto"]["seconds"] / best[1]["seconds"] if best and row["auto"].get("converged") else None


def table(results, note):
    ratios = sorted(ratio for ratio in map(ratio_of, results.values()) if ratio is not None)
    lost = [name for name, row in results.items() if best_of(row) and not row["auto"].get("converged")]
    neither = [name for name, row in results.items() if not best_of(row) and not row["auto"].get("converged")]
    machine = next((row["auto"]["machine"] for row in results.values() if "machine" in row["auto"]), {})
    yield "# auto compared with the methods of its list"
    yield ""
    yield (f"By `perf_tests/auto_table.py`: {machine.get('backend')}, {machine.get('threads')} thread(s), setup and solve in seconds. {len(results)} matrices; "
           f"auto's time over that of the best method of its list: {statistics.median(ratios):.2f} in the median, at most 1.5 on "
           f"{sum(ratio <= 1.5 for ratio in ratios)}, at most 2 on {sum(ratio <= 2 for ratio in ratios)} of {len(ratios)}. Not solved by auto, but by one of the "
           f"list: {', '.join(lost) or 'none'}; by neither: {', '.join(neither) or 'none'}."
           + (f" {note}" if note else ""))
    yield ""
    rows = []
    for name, row in results.items():
        best, ratio, auto = best_of(row), ratio_of(row), row["auto"]
        rows.append([name, f"{auto.get('rows', 0):,}", auto.get("method", auto["reason"]), auto.get("iterations", "-"),
                     f"{auto['seconds']:.3g}" if auto.get("converged") else auto["reason"], best[0] if best else "none",
                     f"{best[1]['seconds']:.3g}" if best else "-", f"{ratio:.2f}" if ratio else "-", len(row["tried"])])
    yield from lines(["matrix", "rows", "auto ended with", "iterations", "s", "best of the list", "s", "ratio", "tried"], rows)


def in_words(label):
    """A method of the table for a reader: "`matched`, `ilut`, p 60, GMRES"."""
    method, solver = label.split(", ")
    name, *options = method.split(":")
    names = {"bicgstab": ", BiCGSTAB", "gmres": ", GMRES", "idr": ", IDR", "cg": ""}
    values = [option.split("=") for option in options]
    texts = [f"`{value}`" if key == "inner" else f"{key.split('.')[-1]} {value}" for key, value in values if not key.endswith("tau")]
    return ", ".join([f"`{name}`", *texts]) + names[solver]


def once(texts):
    """Several texts as one, equal ones once."""
    return "; ".join(dict.fromkeys(texts))


def kinds(arguments):
    """\returns whether the page had the tables of the committed results already"""
    page = PROJECT / "docs/choosing.md"
    text = page.read_text(encoding="utf-8").splitlines()
    before = list(text)
    for head, of_kinds, machine in KINDS_TABLES:
        committed = (PROJECT / f"perf_tests/results/{machine}/auto.md").read_text(encoding="utf-8")
        rows = {cells[0]: cells for cells in (line.strip("| ").split(" | ") for line in committed.splitlines() if line.startswith("| "))}
        found = [[kind, once(matrices), once(rows[name][1] for name in matrices), once(in_words(rows[name][5]) for name in matrices),
                  "; ".join(rows[name][6] for name in matrices)] for kind, matrices in of_kinds.items()]
        begin = text.index(head)
        text[begin:text.index("", begin)] = [head, "|---|---|---:|---|---:|", *("| " + " | ".join(row) + " |" for row in found)]
    if not arguments.check:
        page.write_text("\n".join(text) + "\n", encoding="utf-8")
    return text == before or not arguments.check


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("measure")
    run.add_argument("--prekond", required=True)
    run.add_argument("--out", required=True)
    run.add_argument("--matrices", nargs="*", default=[])
    run.add_argument("--generate", nargs="*", default=GENERATED)
    run.add_argument("--seconds", type=float, default=60)
    run.add_argument("--repeat", type=int, default=3)
    run.add_argument("--threads", type=int, default=0, help="of OpenMP; 0: the command's default")
    run.add_argument("--rtol", default="1e-6")
    add_render(commands)
    commands.choices["render"].add_argument("--note", default="", help="a sentence on the matrices")
    commands.add_parser("kinds").add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments)
    elif arguments.command == "kinds":
        if not kinds(arguments):
            parser.exit(1, "docs/choosing.md has another table than `perf_tests/auto_table.py kinds` writes\n")
    else:
        Path(arguments.out).write_text("\n".join(table(load(arguments.source), arguments.note)), encoding="utf-8")


if __name__ == "__main__":
    main()
