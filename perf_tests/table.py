#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markdown tables of Google Benchmark results: table.py FILE.json... > TABLE.md

A table a file: median times in milliseconds, and the counters that the file has. A benchmark without repetitions has
no median; its only time stands there instead.
"""
import json
import math
import os
import re
import sys

# The keys that Google Benchmark writes in addition to the counters.
KNOWN = {
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index",
    "threads", "iterations", "real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit", "label",
    "error_occurred", "error_message", "skipped", "skip_message",
}
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
WORDS = {"nnz_g": "nnz(G)", "true_relative_residual": "true residual", "rows_per_second": "rows/s",
         "entries_per_second": "entries/s"}


def short_name(run):
    """The benchmark's name without Google Benchmark's own suffixes."""
    name = run.get("run_name") or run["name"]
    return re.sub(r"/(iterations:\d+|repeats:\d+|manual_time|real_time)(?=/|$)", "", name)


def load(path):
    """The results of a file, in its order, and its context: (name, milliseconds, counters, error)."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    medians, singles = {}, {}
    for run in content.get("benchmarks", []):
        if run.get("aggregate_name", "median") != "median":
            continue
        counters = {key: value for key, value in run.items()
                    if key not in KNOWN and isinstance(value, (int, float))}
        error = run.get("error_message") or run.get("skip_message") or ""
        time = run["real_time"] * MILLISECONDS[run.get("time_unit", "ns")] if "real_time" in run else None
        target = medians if "aggregate_name" in run else singles
        # `iterations` is Google Benchmark's count of loops; a counter of that name comes last and has replaced it.
        if "iterations" in run and isinstance(run["iterations"], float) and run["iterations"] > 1:
            counters["iterations"] = run["iterations"]
        target.setdefault(short_name(run), (time, counters, error))
    return content.get("context", {}), [(name, *entry) for name, entry in {**singles, **medians}.items()]


def number(value):
    """A counter, readable: whole numbers whole, others with four digits."""
    if value is None:
        return ""
    if value != value:
        return "nan"
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3e}" if abs(value) < 1e-3 or abs(value) >= 1e7 else f"{value:.4g}"


def milliseconds(value):
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 1 else f"{value:.4f}"


def column(key, values):
    """Title and cells of a counter."""
    if key == "setup_bytes":
        return "setup MB", ["" if v is None else f"{v / 1e6:.1f}" for v in values]
    if key == "bytes":
        return "GB", ["" if v is None else f"{v / 1e9:.3f}" for v in values]
    if key.endswith("bytes_per_second"):
        title = (key[: -len("bytes_per_second")].replace("_", " ") + "GB/s").strip()
        return title, ["" if v is None else f"{v / 1e9:.1f}" for v in values]
    if key.endswith("_per_second"):
        return WORDS.get(key, key), ["" if v is None else f"{v:,.0f}" for v in values]
    return WORDS.get(key, key.replace("_", " ")), [number(v) for v in values]


def print_table(path):
    context, results = load(path)
    keys = []
    for _, _, counters, _ in results:
        keys += [key for key in counters if key not in keys]
    columns = [("name", [name for name, *_ in results]),
               ("median ms", [error or milliseconds(time) for _, time, _, error in results])]
    columns += [column(key, [counters.get(key) for _, _, counters, _ in results]) for key in keys]
    where = ", ".join(f"{key} {context[key]}" for key in ("backend", "concurrency") if context.get(key))
    print(f"### {os.path.splitext(os.path.basename(path))[0]}\n")
    if where:
        print(f"{where}\n")
    print("| " + " | ".join(title for title, _ in columns) + " |")
    print("|---|" + "---:|" * (len(columns) - 1))
    for cells in zip(*(cells for _, cells in columns)):
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    print()


def main(paths):
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    failed = 0
    for path in paths:
        try:
            print_table(path)
        except (OSError, ValueError, KeyError) as error:
            print(f"table.py: {path}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
