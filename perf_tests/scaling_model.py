#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of CG with FSAI, and with multigrid, on up to 10,000 GPUs, from what one GPU measured and an assumed network.

    scaling_model.py [--results FOLDER] [--json FILE] [--plot FILE.svg] [--check]

docs/scaling_model.md has the formula and its limits. Measurements are read from FOLDER (default: results/h200 next to this
script): the products with A, G and G^T, the iteration, the setup. The network's numbers are assumed, options below. --check
compares the formula with what two and four GPUs of one host measured, by the exchange and the all-reduce that were measured there.
"""

import argparse
import json
import math
from pathlib import Path

from results_file import store

UNKNOWNS = 3  # a node of elasticity3d
NEIGHBOURS = 26  # of a cube of nodes among cubes
# Vectors that an iteration with one reduction reads and writes more than one with two: 13 and 11.
EXTRA_VECTORS = 2
# Launches of an iteration over several ranks that one on a single GPU has not: packing, unpacking, remote parts.
EXTRA_LAUNCHES = 9
# A cycle with Jacobi on a level over ranks: exchanges of two residuals, P^T and P, and the launches of all its kernels.
LEVEL_EXCHANGES, LEVEL_LAUNCHES = 4, 16
COARSE_UNKNOWNS = 6  # rigid body modes
GATHER_ROWS = 100_000
COUNTS = [1, 2, 4, 8, 16, 64, 256, 1024, 4096, 10_000]


def median_of(folder, file, name):
    for line in json.loads((folder / file).read_text())["benchmarks"]:
        if line["name"].startswith(name) and line.get("aggregate_name") == "median":
            return line
    raise SystemExit(f"{file} has no median of {name}")


def measured(folder):
    """Seconds on one GPU, elasticity3d:100."""
    cg, spmv = "cg_elasticity3d_100.json", "spmv_elasticity3d_100.json"
    iteration_line = median_of(folder, cg, "iteration/adaptive_fsai/two_reductions/elasticity3d:100")

    def seconds(file, name):
        return 1e-3 * median_of(folder, file, name)["real_time"]

    return {
        "rows": 2_970_000,
        "iterations": 563,  # of the solve in cg_elasticity3d_100.json
        "iteration": 1e-3 * iteration_line["real_time"],
        "bytes_a_second": iteration_line["bytes"] / (1e-3 * iteration_line["real_time"]),
        "product_a": seconds(spmv, "spmv/A/elasticity3d:100"),
        "product_g": seconds(spmv, "spmv/G/elasticity3d:100"),
        "product_gt": seconds(spmv, "spmv/G^T/elasticity3d:100"),
        "setup": seconds("adaptive_fsai_elasticity3d_100.json", "setup/elasticity3d:100/single/k_max:30"),
    }


def measured_multigrid(folder):
    """Seconds on one GPU of CG with `amg`, Jacobi for its smoother; and what a level has of the one before."""
    lines = {line["matrix"]: line for line in json.loads((folder / "amg" / "to_a_solution.json").read_text())
             if line["rhs"] == "random" and line["smoother"] == "jacobi"}
    large, small = lines["elasticity3d:100"], lines["elasticity3d:50"]
    return {"rows": 2_970_000, "iterations": large["iterations"], "cycle": large["application"],
            "rest": large["solve"] / large["iterations"] - large["application"], "setup": large["setup"],
            "rows_ratio": 1 - 1 / large["grid_complexity"], "work_ratio": 1 - 1 / large["operator_complexity"],
            "growth": math.log(large["iterations"] / small["iterations"], 8), "gathered_rows": 367_500, "gathered_cycle": small["application"]}


def halo_bytes(rows, layers=1, unknowns=UNKNOWNS):
    """Bytes of a vector's entries that a cube of `rows` rows gets from its neighbours."""
    edge = (rows / unknowns) ** (1 / 3)
    return 8 * unknowns * ((edge + 2 * layers) ** 3 - edge**3)


def exchange(rows, network, unknowns=UNKNOWNS, gpus=NEIGHBOURS + 1):
    """Seconds of one exchange, not overlapped: staging in host memory, and the messages of all neighbours."""
    volume = halo_bytes(rows, unknowns=unknowns)
    return network["launch"] + min(NEIGHBOURS, gpus - 1) * network["latency"] + volume / network["bandwidth"] + 2 * volume / network["staging"]


def all_reduce(gpus, network):
    return 0.0 if gpus == 1 else network["launch"] + 2 * network["latency"] * math.log2(gpus)


def iteration(rows, gpus, one, network, reductions):
    """Seconds of an iteration, with its parts."""
    share = rows / one["rows"]
    products = [share * one[name] for name in ("product_a", "product_g", "product_gt")]
    compute = share * one["iteration"]
    if reductions == 1:
        compute += EXTRA_VECTORS * 8 * rows / one["bytes_a_second"]
    if gpus == 1:
        return {"compute": compute, "messages": 0.0, "reductions": 0.0}
    messages = sum(max(0.0, exchange(rows, network) - product) for product in products)
    return {"compute": compute + EXTRA_LAUNCHES * network["launch"], "messages": messages,
            "reductions": reductions * all_reduce(gpus, network)}


def solve(total_rows, gpus, one, network, **form):
    """Iterations of a method with one level grow with n^(1/3): the diameter of the mesh in nodes."""
    parts = iteration(total_rows / gpus, gpus, one, network, **form)
    count = one["iterations"] * (total_rows / one["rows"]) ** (1 / 3)
    return {"gpus": gpus, "rows": total_rows, "iterations": round(count), "iteration_ms": 1e3 * sum(parts.values()),
            **{f"{name}_ms": 1e3 * value for name, value in parts.items()},
            "setup_s": one["setup"] * total_rows / gpus / one["rows"], "solve_s": count * sum(parts.values())}


def multigrid(total_rows, gpus, one, network, by_tree):
    """Milliseconds of an iteration of CG with one hierarchy over all GPUs, in parts. Levels shrink as on one GPU. The gather of the first
    level of at most GATHER_ROWS rows is a message to each rank, or by a tree as an all-gather has it."""
    levels = messages = 0.0
    distributed, level_rows, work = 0, float(total_rows), one["cycle"] * (1 - one["work_ratio"])
    while level_rows > GATHER_ROWS and gpus > 1:
        share = level_rows / gpus
        levels += max(LEVEL_LAUNCHES * network["launch"], work * total_rows / gpus / one["rows"])
        messages += LEVEL_EXCHANGES * exchange(share, network, COARSE_UNKNOWNS if distributed else UNKNOWNS, gpus)
        distributed, level_rows, work = distributed + 1, level_rows * one["rows_ratio"], work * one["work_ratio"]
    gather = 0.0
    if gpus == 1:
        levels = one["cycle"] * total_rows / one["rows"]
    else:
        steps = math.log2(gpus) if by_tree else gpus - 1
        gather = network["launch"] + steps * network["latency"] + 8 * level_rows * (1 / network["bandwidth"] + 2 / network["staging"])
        levels += one["gathered_cycle"] * level_rows / one["gathered_rows"]
        messages += exchange(total_rows / gpus, network, gpus=gpus)
    parts = {"levels": levels, "rest": one["rest"] * total_rows / gpus / one["rows"], "messages": messages, "gather": gather,
             "reductions": 2 * all_reduce(gpus, network)}
    iterations = one["iterations"] * (total_rows / one["rows"]) ** one["growth"]
    return {"gpus": gpus, "rows": total_rows, "distributed_levels": distributed, "iterations": round(iterations),
            "iteration_ms": 1e3 * sum(parts.values()), **{f"{name}_ms": 1e3 * value for name, value in parts.items()},
            "solve_s": iterations * sum(parts.values())}


def print_multigrid(name, rows):
    print(f"\n{name}\n\n| GPUs | levels over ranks | iterations | ms an iteration | levels | rest of CG | messages | gather | reductions | solve, s |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        parts = " | ".join(f"{row[part + '_ms']:.3f}" for part in ("iteration", "levels", "rest", "messages", "gather", "reductions"))
        print(f"| {row['gpus']:,} | {row['distributed_levels']} | {row['iterations']} | {parts} | {row['solve_s']:.3f} |")


def steps_of_ranks(folder, matrix, kind, gpus):
    """Milliseconds of perf_distributed's steps, and an iteration of CG with fsai."""
    steps = {}
    for line in json.loads((folder / f"{matrix}_{kind}_np{gpus}.json").read_text())["benchmarks"]:
        step = line["name"].split("/")[1]
        steps[step] = line["real_time"]
        if step == "cg_fsai":
            steps["iteration"] = line["ms_an_iteration"]
    return steps


def print_check(folder, network):
    """The formula, with fsai's iteration on one GPU and the exchange and all-reduce of several, compared with measurements."""
    print("\n| matrix | GPUs | predicted, ms an iteration | measured | difference | setup: predicted, ms | measured |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for matrix, kind in (("elasticity3d_100", "strong"), ("elasticity3d_160", "strong"), ("elasticity3d_100", "weak")):
        one = steps_of_ranks(folder, matrix, "strong", 1)
        for gpus in (2, 4):
            several = steps_of_ranks(folder, matrix, kind, gpus)
            share = 1 / gpus if kind == "strong" else 1
            products = [share * one["product"]] + 2 * [share * one["apply_fsai"] / 2]
            messages = sum(max(0.0, several["exchange"] - product) for product in products)
            predicted = share * one["iteration"] + 1e3 * EXTRA_LAUNCHES * network["launch"] + messages + 2 * several["all_reduce"]
            print(f"| {matrix.replace('_', ':')}{', a GPU' if kind == 'weak' else ''} | {gpus} | {predicted:.3f} | {several['iteration']:.3f} | "
                  f"{several['iteration'] - predicted:.3f} | {share * one['setup_fsai']:.0f} | {several['setup_fsai']:.0f} |")


def print_multigrid_check(folder, one, network):
    """What an iteration of CG with multigrid takes on several GPUs more than on one with as many rows a GPU, predicted and measured."""
    def measured_iteration(file):
        lines = json.loads((folder / file).read_text())["benchmarks"]
        return next(line["ms_an_iteration"] for line in lines if line["name"].split("/")[1].startswith("cg_amg"))

    print("\n| matrix, a GPU | GPUs | more than on one GPU, ms: predicted | measured |\n|---|---:|---:|---:|")
    on_one = multigrid(one["rows"], 1, one, network, True)["iteration_ms"]
    for file in sorted(folder.glob("elasticity3d_100_amg_weak_np*.json")):
        gpus = int(file.stem.split("_np")[1])
        predicted = multigrid(one["rows"] * gpus, gpus, one, network, False)["iteration_ms"] - on_one
        print(f"| elasticity3d:100 | {gpus} | {predicted:.2f} | {measured_iteration(file.name) - measured_iteration('elasticity3d_100_amg_np1.json'):.2f} |")


def curves(one, network):
    forms = {"classic": {"reductions": 2}, "one reduction": {"reductions": 1}}
    strong = 64 * one["rows"]
    return {f"{kind}, {name}": [solve(rows * (n if kind == "weak" else 1), n, one, network, **form) for n in COUNTS
                                if kind == "weak" or n >= 16]
            for kind, rows in (("weak", one["rows"]), ("strong", strong)) for name, form in forms.items()}


def print_table(name, rows):
    print(f"\n{name}\n")
    print("| GPUs | rows | iterations | ms an iteration | compute | messages | reductions | efficiency of an iteration |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    first = rows[0]
    for row in rows:
        ideal = first["iteration_ms"] * first["gpus"] * row["rows"] / (row["gpus"] * first["rows"])
        print(f"| {row['gpus']:,} | {row['rows']:.3g} | {row['iterations']:,} | {row['iteration_ms']:.3f} | {row['compute_ms']:.3f} | "
              f"{row['messages_ms']:.3f} | {row['reductions_ms']:.3f} | {ideal / row['iteration_ms']:.2f} |")


def plot(all_curves, file):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "prekond", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    for name, rows in all_curves.items():
        axis = axes[0] if name.startswith("weak") else axes[1]
        axis.plot([row["gpus"] for row in rows], [row["iteration_ms"] for row in rows], marker="o", label=name.split(", ")[1])
    for axis, title in zip(axes, ("weak: 2.97 million rows a GPU", "strong: 190 million rows")):
        axis.set_xscale("log"), axis.set_yscale("log")
        axis.set_xlabel("GPUs"), axis.set_ylabel("ms an iteration of CG"), axis.set_title(title), axis.legend(), axis.grid(True, which="both", alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(__file__).resolve().parent / "results" / "h200")
    parser.add_argument("--latency", type=float, default=5e-6, help="seconds of a message between hosts (5e-6)")
    parser.add_argument("--bandwidth", type=float, default=50e9, help="bytes a second of a GPU's network card (50e9: 400 Gbit/s)")
    parser.add_argument("--staging", type=float, default=50e9, help="bytes a second between a GPU and pinned host memory (50e9)")
    parser.add_argument("--launch", type=float, default=5e-6, help="seconds of a kernel's launch, or of a host that waits for one (5e-6)")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--check", action="store_true", help="compare with the figures of FOLDER/ranks")
    options = parser.parse_args()
    one = measured(options.results)
    network = {name: getattr(options, name) for name in ("latency", "bandwidth", "staging", "launch")}
    all_curves = curves(one, network)
    for name, rows in all_curves.items():
        print_table(name, rows)
    one_multigrid = measured_multigrid(options.results)
    all_multigrid = {f"multigrid, weak, {name}": [multigrid(one_multigrid["rows"] * n, n, one_multigrid, network, by_tree) for n in COUNTS]
                     for name, by_tree in (("a message to each rank", False), ("gather by a tree", True))}
    for name, rows in all_multigrid.items():
        print_multigrid(name, rows)
    if options.json:
        store(options.json, {"measured": one, "measured_multigrid": one_multigrid, "assumed": network, "curves": all_curves | all_multigrid})
    if options.plot:
        plot(all_curves, options.plot)
    if options.check:
        print_check(options.results / "ranks", network)
        print_multigrid_check(options.results / "ranks", one_multigrid, network)


if __name__ == "__main__":
    main()
