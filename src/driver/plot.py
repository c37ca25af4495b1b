# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of `prekond plot`, which has this text in it and gives it to python3.

Arguments: OUTPUT FILE...

A history in CSV, or the report of a solve that wrote one, is a curve of relative residuals. Reports, also those of
compare, and its table in CSV are bars of setup and solve. Levels of multigrid in a report are curves of their rows.
A matrix of coordinates, FILE.mtx or FILE.mtx.gz, is its pattern, darker where more entries are near each other.
The exit code is 2 where matplotlib is missing or does not know the output's format, 3 for input that is none of these.
"""

import csv
import gzip
import json
import os
import sys
import zlib


def leave(text, code):
    print(text, file=sys.stderr)
    sys.exit(code)


try:
    import matplotlib
    import numpy
    matplotlib.use("Agg")  # without a display
    from matplotlib import pyplot
except ImportError:
    leave("plot needs matplotlib, which this python3 does not have: python3 -m pip install matplotlib", 2)

curves, bars, levels, patterns = [], [], [], []  # of (label, numbers, ...)
FINEST = 600  # squares along the side of a pattern


def read_csv(path, label):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and "relative_residual" in rows[0]:
        curves.append((label, [int(row["iteration"]) for row in rows], [float(row["relative_residual"]) for row in rows]))
    elif rows and "setup_seconds" in rows[0]:
        for row in rows:
            if row["setup_seconds"]:  # else it was not solved
                bars.append((row["preconditioner"] + " / " + row["solver"], float(row["setup_seconds"]),
                             float(row["solve_seconds"])))
    else:
        raise ValueError("no history, and no table of compare")


def read_report(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for entry in report if isinstance(report, list) else [report]:
        precond, solver = entry["preconditioner"], entry["solver"]
        if "setup_seconds" not in precond:  # it ended with an error
            continue
        label = precond["name"] + " / " + solver["name"]
        bars.append((label, precond["setup_seconds"], solver["seconds"]))
        if precond.get("levels"):
            levels.append((label, [level["num_rows"] for level in precond["levels"]]))
        history = entry.get("files", {}).get("history")
        if history and not os.path.exists(history):  # the report was made in another folder
            history = os.path.join(os.path.dirname(path), os.path.basename(history))
        if history:
            read_csv(history, label)


def read_pattern(path, label):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        head = file.readline().lower().split()
        if head[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
            raise ValueError("no matrix of coordinates")
        size = next((line for line in file if line.strip() and not line.startswith("%")), "").split()
        rows, columns, entries = (int(number) for number in size)
        places = numpy.empty((0, 2))
        if entries > 0:
            places = numpy.loadtxt(file, comments="%", usecols=(0, 1), ndmin=2) - 0.5
    if len(places) != entries or (places < 0).any() or (places > [rows, columns]).any():
        raise ValueError(f"not {entries} entries of a {rows} x {columns} matrix")
    if head[4] != "general":
        places = numpy.vstack([places, places[places[:, 0] != places[:, 1]][:, ::-1]])
    counts, _, _ = numpy.histogram2d(places[:, 0], places[:, 1], bins=[min(rows, FINEST), min(columns, FINEST)],
                                     range=[[0, rows], [0, columns]])
    patterns.append((f"{label}: {rows} x {columns}, {len(places)} entries", rows, columns, counts))


def draw_patterns(axes):
    label, rows, columns, counts = patterns[0]
    shades = numpy.where(counts > 0, 0.4 + 0.6 * counts / max(counts.max(), 1), 0)
    axes.imshow(shades, cmap="Greys", vmin=0, vmax=1, extent=(0, columns, rows, 0), interpolation="nearest")
    axes.set(xlabel="column", ylabel="row", title=label)
    patterns.pop(0)


def draw_curves(axes):
    for label, iterations, residuals in curves:
        axes.semilogy(iterations, residuals, label=label)
    axes.set(xlabel="iteration", ylabel="relative residual", title="convergence")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()


def draw_bars(axes):
    places = range(len(bars))
    setups, solves = [bar[1] for bar in bars], [bar[2] for bar in bars]
    axes.barh(places, setups, label="setup")
    axes.barh(places, solves, left=setups, label="solve")
    axes.set(xlabel="seconds", title="setup and solve", yticks=places)
    axes.set_yticklabels([bar[0] for bar in bars])
    axes.invert_yaxis()
    axes.legend()


def draw_levels(axes):
    for label, rows in levels:
        axes.semilogy(range(len(rows)), rows, marker="o", label=label)
    axes.set(xlabel="level", ylabel="rows", title="hierarchy")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()


def main():
    output, paths = sys.argv[1], sys.argv[2:]
    for path in paths:
        try:
            if path.endswith(".csv"):
                read_csv(path, os.path.basename(path)[:-4])
            elif path.endswith((".mtx", ".mtx.gz")):
                read_pattern(path, os.path.basename(path).split(".mtx")[0])
            else:
                read_report(path)
        except OSError as error:
            leave(f"{path}: {error}", 3)
        except (EOFError, IndexError, KeyError, TypeError, ValueError, zlib.error) as error:
            leave(f"{path}: is no history, table or report of prekond, and no matrix ({error})", 3)
    panels = [draw for draw, data in ((draw_curves, curves), (draw_bars, bars), (draw_levels, levels)) if data]
    panels += [draw_patterns] * len(patterns)
    if not panels:
        leave("nothing to plot: no solve of these files has ended", 3)
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "prekond"})  # text as text, the same each time
    figure, axes = pyplot.subplots(1, len(panels), figsize=(6 * len(panels), 4), squeeze=False)
    for draw, place in zip(panels, axes[0]):
        draw(place)
    figure.tight_layout()
    try:
        figure.savefig(output, metadata={"Date": None} if output.endswith(".svg") else None)
    except ValueError as error:
        leave(f"{output}: {error}", 2)


main()
