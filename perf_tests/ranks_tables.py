#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables and a picture of what perf_distributed measured on several GPUs.

    ranks_tables.py [--results FOLDER] [--plot FILE.svg]

FOLDER (default: results/h200/ranks next to this script) has files MATRIX_strong_npN.json, MATRIX_mpi_npN.json (the same with messages by
MPI from pinned host memory), MATRIX_adaptive_fsai_npN.json, MATRIX_weak_npN.json, of multigrid MATRIX_amg_npN.json and MATRIX_amg_weak_npN.json, the same with
amg_before and amg_older of earlier versions, and of peer_petsc_ksp ksp_MATRIX_npN.json, as run_gpu.sh
names them.
"""

import argparse
import re
from pathlib import Path

from results_file import lines, load

VERSIONS = [None, "_before", "_older"]
STEPS = ["exchange", "own_part", "remote_part", "product", "all_reduce", "apply", "setup", "cg", "transpose"]


def step_of(name):
    """The step that a benchmark's name says: elasticity3d:100/cg_fsai/iterations:1/... is cg."""
    step = name.split("/")[1]
    return next((known for known in ("apply", "setup", "again", "cg") if step.startswith(known + "_")), step)


def measured(folder):
    """By (matrix, kind) and number of GPUs the steps' milliseconds, and the iterations of CG."""
    found = {}
    for file in sorted(folder.glob("*_np*.json")):
        name = re.fullmatch(r"(.+)_(strong|weak|mpi|adaptive_fsai|cg)_np(\d+)", file.stem)
        if not name or "_amg" in name[1]:
            continue
        steps = {}
        for line in load(file)["benchmarks"]:
            steps[step_of(line["name"])] = line["real_time"]
            steps["in_turn"] = line.get("over_overlapped", steps.get("in_turn"))
            if step_of(line["name"]) == "cg":
                steps["iterations"] = round(line["iterations"])
            elif "ms_an_iteration" in line:
                steps[f"iterations of {step_of(line['name'])}"] = round(line["iterations"])
        found.setdefault((name[1], name[2]), {})[int(name[3])] = steps
    return found


def cell(value):
    return "" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def print_steps(found, kind, title):
    print(f"## {title}\n")
    rows = []
    for (matrix, of), counts in found.items():
        for gpus, steps in sorted(counts.items()):
            if of == kind:
                rows.append([matrix, gpus] + [cell(steps.get(step)) for step in STEPS] + [cell(steps.get("in_turn")), steps.get("iterations", "")])
    print("\n".join(lines(["matrix", "GPUs"] + STEPS + ["in turn / overlapped", "iterations"], rows)))


def print_transports(found):
    """NCCL compared with MPI, whose messages pass through pinned host memory."""
    print("## Transports, ms: NCCL / MPI\n")
    shown = ["exchange", "product", "apply", "setup", "cg", "transpose"]
    rows = []
    for (matrix, kind), counts in found.items():
        for gpus, by_mpi in sorted(counts.items()) if kind == "mpi" else []:
            by_nccl = found[matrix, "strong"][gpus]
            rows.append([matrix, gpus] + [f"{cell(by_nccl.get(step))} / {cell(by_mpi.get(step))}" for step in shown])
    print("\n".join(lines(["matrix", "GPUs"] + shown, rows)))


def print_variants(found):
    """CG with two all-reduces a step, and with one."""
    print("## CG, ms (iterations)\n")
    variants = {"cg": "classic", "single_reduction_cg_fsai": "one all-reduce a step"}
    rows = []
    for (matrix, kind), counts in found.items():
        for gpus, steps in sorted(counts.items()):
            if kind not in ("cg", "strong") or not all(step in steps for step in variants):
                continue
            iterations = [steps["iterations"]] + [steps[f"iterations of {step}"] for step in variants if step != "cg"]
            rows.append([matrix, gpus] + [f"{cell(steps[step])} ({count})" for step, count in zip(variants, iterations)])
    print("\n".join(lines(["matrix", "GPUs"] + list(variants.values()), rows)))


def multigrid(folder):
    """By (matrix, is weak, version) and number of GPUs the runs of multigrid by their steps."""
    found = {}
    for file in sorted(folder.glob("*3d_*_amg_*np*.json")):
        if file.stem.startswith("ksp_"):
            continue
        name = re.fullmatch(r"(.+)_amg(_before|_older)?(_weak)?_np(\d+)", file.stem)
        runs = {step_of(line["name"]): line for line in load(file)["benchmarks"] if "single_reduction" not in line["name"]}
        found.setdefault((name[1], bool(name[3]), VERSIONS.index(name[2])), {})[int(name[4])] = runs
    return found


def print_multigrid(folder):
    found = multigrid(folder)
    print("## Multigrid over ranks, ms\n")
    rows = []
    for (matrix, is_weak, version), counts in sorted(found.items()):
        one = counts.get(1) or found.get((matrix, False, version), {}).get(1)
        for gpus, runs in sorted(counts.items()):
            total = runs["setup"]["real_time"] + runs["cg"]["real_time"]
            speedup = "" if gpus == 1 or is_weak or not one else f"{(one['setup']['real_time'] + one['cg']['real_time']) / total:.2f}"
            rows.append([matrix + (", a GPU" if is_weak else ""), (VERSIONS[version] or "_now")[1:], gpus, cell(runs["setup"]["real_time"]),
                         cell(runs["setup"]["rows_ms"]), cell(runs["setup"]["import_ms"]), cell(runs["again"]["real_time"]),
                         f"{runs['again']['real_time'] / runs['setup']['real_time']:.2f}", cell(runs["apply"]["real_time"]),
                         cell(runs["apply"]["import_ms"]), cell(runs["apply"]["gather_ms"]), round(runs["cg"]["iterations"]),
                         cell(runs["cg"]["real_time"]), cell(total), speedup])
    print("\n".join(lines(["matrix", "version", "GPUs", "setup", "exchanges of rows", "of entries", "numeric again", "over setup", "a cycle",
                           "exchanges of entries", "gather", "iterations", "CG", "setup + CG", "times as fast as on one"], rows)))
    print("\n## Rows up to which a level is gathered, four GPUs, ms\n")
    rows = []
    for file in sorted(folder.glob("*_amg_gather.json")):
        for line in load(file)["benchmarks"]:
            step, _, option = line["name"].split("/")[1].partition("_amg")
            if step in ("setup", "again", "apply", "cg"):
                rows.append([file.stem.removesuffix("_amg_gather"), option.lstrip(":"), step, cell(line["real_time"])])
    table = {}
    for matrix, option, step, value in rows:
        table.setdefault((matrix, option), {})[step] = value
    print("\n".join(lines(["matrix", "option", "setup", "numeric again", "a cycle", "CG"],
                          [[matrix, option] + [steps[step] for step in ("setup", "again", "apply", "cg")] for (matrix, option), steps in table.items()])))


def print_speedups(found):
    print("## Times as fast as on one GPU\n")
    shown = ["product", "apply", "setup", "cg"]
    rows = []
    for (matrix, kind), counts in found.items():
        if kind in ("weak", "mpi", "cg") or 1 not in counts:
            continue
        for gpus, steps in sorted(counts.items()):
            if gpus > 1:
                rows.append([f"{matrix}, {'fsai' if kind == 'strong' else kind}", gpus] +
                            [f"{counts[1][step] / steps[step]:.2f}" if step in steps else "" for step in shown])
    print("\n".join(lines(["matrix, method", "GPUs"] + shown, rows)))


def print_ksp(folder):
    """PETSc's CG with our PC and with others: a row a matrix and method, a column a number of GPUs."""
    print("## KSP, CG to 1e-6: iterations, setup + solve in ms\n")
    runs = {}
    for file in sorted(folder.glob("ksp_*_np*.json")):
        content = load(file)
        for run in content["runs"]:
            runs.setdefault(content["matrix"], {}).setdefault(run["method"], {})[content["ranks"]] = run
    gpu_counts = sorted({gpus for methods in runs.values() for counts in methods.values() for gpus in counts})
    rows = []
    for matrix in sorted(runs, key=lambda matrix: (matrix.split(":")[0], int(matrix.split(":")[1]))):
        for method, counts in sorted(runs[matrix].items(), key=lambda item: (item[0].startswith("prekond"), item[0])):
            cells = [counts.get(gpus) for gpus in gpu_counts]
            rows.append([matrix, method] +
                        [f"{run['iterations']}, {1e3 * run['setup_seconds']:.0f} + {1e3 * run['solve_seconds']:.0f}" if run else "" for run in cells])
    print("\n".join(lines(["matrix", "method"] + [f"{gpus} GPU{'s' if gpus > 1 else ''}" for gpus in gpu_counts], rows)))


def plot(found, file):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "prekond", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    for (matrix, kind), counts in found.items():
        gpus = sorted(counts)
        if kind == "strong":
            axes[0].plot(gpus, [counts[1]["cg"] / counts[n]["cg"] for n in gpus], marker="o", label=matrix)
        if kind in ("strong", "mpi"):
            several = [n for n in gpus if n > 1]
            axes[1].plot(several, [1e3 * counts[n]["exchange"] for n in several], marker="o" if kind == "strong" else "s",
                         label=f"{matrix}, {'NCCL' if kind == 'strong' else 'MPI'}")
    axes[0].plot([1, 4], [1, 4], linestyle="--", color="gray", label="ideal")
    axes[0].set_ylabel("CG with FSAI, times as fast as on one GPU")
    axes[1].set_ylabel("an exchange, microseconds"), axes[1].set_ylim(bottom=0)
    for axis in axes:
        axis.set_xlabel("GPUs"), axis.set_xticks([1, 2, 4]), axis.legend(), axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path(__file__).resolve().parent / "results" / "h200" / "ranks")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    found = measured(options.results)
    print_steps(found, "strong", "Steps with FSAI by NCCL (on one GPU there are no messages), ms")
    print_steps(found, "weak", "A matrix that grows with the GPUs")
    print_transports(found)
    print_speedups(found)
    print_variants(found)
    print_multigrid(options.results)
    print_ksp(options.results)
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
