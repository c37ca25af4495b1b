#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of batched solves from the results of perf_batched and perf_batched_direct: time a system by the number of
systems, and time by rows.

    plot_batched.py FOLDER     reads scaling.json, stencil.json, one.json and direct.json there, writes batched.png beside them"""
import argparse
import io
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from PIL import Image  # noqa: E402


def medians(path):
    """(case, matrix, systems) -> (ms, us a system) of each benchmark."""
    found = {}
    for row in json.loads(path.read_text())["benchmarks"]:
        if row.get("aggregate_name") != "median":
            continue
        parts = row["name"].split("/iterations:")[0].split("/")
        found["/".join(parts[:-2]), parts[-2], int(parts[-1])] = row["real_time"], row["us_a_system"]
    return found


def by_systems(axes, scaling):
    for case in sorted({key[0] for key in scaling}):
        points = sorted((key[2], value[1]) for key, value in scaling.items() if key[0] == case)
        axes.loglog(*zip(*points), marker="o", label=case.replace("batched/", ""))
    axes.set_xlabel("systems of 64 rows")
    axes.set_ylabel("microseconds a system")


def by_rows(axes, cases):
    shown = ["batched/cg/jacobi", "batched/bicgstab/jacobi", "batched/bicgstab/ilu0", "batched/bicgstab/isai",
             "batched/gmres/jacobi", "batched/idr/jacobi", "block_diagonal/cg/jacobi", "direct", "cusparse_gtsv2"]
    for case in shown:
        points = sorted((int(key[1].split(":")[1]), value[0]) for key, value in cases.items()
                        if key[0] == case and key[1].startswith("stencil3:"))
        if points:
            axes.plot(*zip(*points), marker="o", label=case.replace("batched/", ""))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("rows of a system")
    axes.set_ylabel("ms for 20,000 systems")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.5))
    by_systems(left, medians(folder / "scaling.json"))
    by_rows(right, medians(folder / "stencil.json") | medians(folder / "one.json") | medians(folder / "direct.json"))
    for axes in (left, right):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    with io.BytesIO() as drawn:
        figure.savefig(drawn, dpi=100)
        Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(folder / "batched.png", optimize=True)


if __name__ == "__main__":
    main()
