#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws docs/time_to_solution.svg, the plot of README.md: setup and solve by multigrid, ours and other libraries', from committed results only.

    time_to_solution.py [--check] [FILE]     needs matplotlib; --check does not, and only says whether the plot has the committed figures

A library has its best setting of each matrix. On a GPU these are of h200/amg/to_a_solution.json and *_beside.json (b random), on a host of
the table in cpu/multigrid_peers.md. A library that is added to these files is drawn too, once STYLES has it.
"""
import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "perf_tests" / "results"
PLOT = ROOT / "docs" / "time_to_solution.svg"
# The name in the files: label, colour, marker.
STYLES = {
    "prekond": ("Prekond", "#0072B2", "o"),
    "hypre": ("hypre's BoomerAMG", "#D55E00", "s"),
    "amgx": ("AmgX", "#56B4E9", "X"),
    "amgcl": ("amgcl", "#009E73", "^"),
    "GAMG": ("PETSc's GAMG", "#CC79A7", "D"),
    "pyamg": ("pyamg", "#E69F00", "v"),
    "jacobi alone": ("CG with Jacobi (ours), no multigrid", "#777777", "|"),
}
PANELS = ("NVIDIA H200", "2 cores of an Intel Xeon at 2.3 GHz")


def on_gpu():
    """{matrix: {library: ms}}."""
    found = {}
    for row in json.loads((RESULTS / "h200/amg/to_a_solution.json").read_text()):
        if row["rhs"] == "random":
            found.setdefault(row["matrix"], {}).setdefault("prekond", []).append(row["setup"] + row["solve"])
    beside = [row for peer in ("hypre", "amgx") for row in json.loads((RESULTS / f"h200/amg/{peer}_beside.json").read_text())]
    for row in beside:
        if row["rhs"] == "random" and row.get("status", "converged") == "converged" and row["residual"] <= 1e-6:
            found[row["matrix"]].setdefault(row["peer"], []).append(row["setup_seconds"] + row["solve_seconds"])
    return {matrix: {library: round(1e3 * min(times), 1) for library, times in of.items()} for matrix, of in found.items()}


def on_host():
    """Likewise; a library that did not converge is left out."""
    lines = [[cell.strip() for cell in line.strip("|\n ").split("|")]
             for line in (RESULTS / "cpu/multigrid_peers.md").read_text().splitlines() if line.startswith("|")]
    found = {}
    for line in lines[2:]:
        times = {library: re.search(r"= ([\d.]+)$", cell) for library, cell in zip(lines[0], line)}
        found[line[0]] = {library: float(time.group(1)) for library, time in times.items() if time}
    return found


def digest(panels):
    """Stands in the plot's metadata for the figures that it was drawn from."""
    return "figures " + hashlib.sha256(json.dumps(panels).encode()).hexdigest()


def ratio(of):
    """The time of the best other library over ours."""
    others = [time for library, time in of.items() if library not in ("prekond", "jacobi alone")]
    if "prekond" not in of:
        return "none"
    return f"{min(others) / of['prekond']:.1f}" if others else "only ours"


def draw_panel(axes, title, figures):
    matrices = sorted(figures, key=lambda matrix: figures[matrix].get("prekond", 0))
    axes.set_xscale("log")
    spans = [[time for library, time in figures[matrix].items() if library != "jacobi alone"] for matrix in matrices]
    axes.hlines([y for y, span in enumerate(spans) if span], *zip(*((min(span), max(span)) for span in spans if span)), color="#cccccc",
                linewidth=1, zorder=1)
    for library, (label, color, marker) in STYLES.items():
        points = [(figures[matrix][library], y) for y, matrix in enumerate(matrices) if library in figures[matrix]]
        is_ours = library == "prekond"
        if points:
            axes.plot(*zip(*points), marker, color=color, markerfacecolor=color if is_ours else "white", markersize=7 if is_ours else 6,
                      zorder=4 if is_ours else 3, label=label)
    for y, text in [(y, ratio(figures[matrix])) for y, matrix in enumerate(matrices)] + [(len(matrices) - 0.2, "ratio")]:
        axes.text(1.03, y, text, transform=axes.get_yaxis_transform(), verticalalignment="center")
    axes.set_yticks(range(len(matrices)), matrices)
    axes.set_ylim(-0.6, len(matrices) - 0.4)
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.set_xlabel("setup and solve, ms")
    axes.grid(axis="x", alpha=0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def draw(panels, file):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "prekond", "svg.fonttype": "none", "font.size": 9, "font.sans-serif": ["DejaVu Sans"]})
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullLocator

    rows = 0.24  # inches
    figure = pyplot.figure(figsize=(9.4, rows * max(map(len, panels.values())) + 0.95))
    for (title, figures), (left, width) in zip(panels.items(), ((0.232, 0.205), (0.625, 0.3))):
        height = rows * len(figures) / figure.get_figheight()
        axes = figure.add_axes((left, 1 - 0.36 / figure.get_figheight() - height, width, height))
        draw_panel(axes, title, figures)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    figure.axes[0].set_xticks([10, 30, 100, 300, 1000])
    of_label = {label: handle for each in figure.axes for handle, label in zip(*each.get_legend_handles_labels())}
    labels = [label for label, *_ in STYLES.values() if label in of_label]
    figure.legend([of_label[label] for label in labels], labels, loc="lower left", bbox_to_anchor=(0.01, 0.0), frameon=False)
    figure.savefig(file, metadata={"Date": None, "Creator": "perf_tests/time_to_solution.py", "Title": "Time to solution by multigrid",
                                   "Description": digest(panels)})


def main():
    arguments = sys.argv[1:]
    is_check = arguments[:1] == ["--check"]
    plot = Path(arguments[is_check]) if len(arguments) > is_check else PLOT
    panels = dict(zip(PANELS, (on_gpu(), on_host())))
    if not is_check:
        draw(panels, plot)
    elif not plot.exists() or digest(panels) not in plot.read_text(encoding="utf-8"):
        sys.exit(f"{plot} is out of date: run perf_tests/time_to_solution.py")


if __name__ == "__main__":
    main()
