# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of results and tables in Markdown, for the scripts that measure.

    results_file.py FILE.json...     leaves of Google Benchmark's results what perf_tests/results keeps: the medians, a line each
"""
import json
import os
import sys

# The fields that Google Benchmark writes of a run besides its name, its time and the counters.
DROPPED = {"run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "cpu_time",
           "aggregate_unit"}
KEPT_CONTEXT = ("date", "num_cpus", "mhz_per_cpu", "backend", "concurrency")
LONGEST_LINE = 500


def add_render(commands):
    """The command that writes a file's results as tables."""
    render = commands.add_parser("render")
    render.add_argument("--in", dest="source", required=True)
    render.add_argument("--out", required=True)


def load(path, empty=None):
    """What the JSON file has; `empty` where there is none and that is given."""
    if empty is not None and not os.path.exists(path):
        return empty
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def text_of(value, indent=0):
    """JSON with a line for each part that fits on one."""
    text = json.dumps(value)
    if len(text) <= LONGEST_LINE or not isinstance(value, (dict, list)):
        return text
    inner = "\n" + " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {text_of(part, indent + 1)}" for key, part in value.items()]
        return "{" + inner + ("," + inner).join(parts) + "\n" + " " * indent + "}"
    return "[" + inner + ("," + inner).join(text_of(part, indent + 1) for part in value) + "\n" + " " * indent + "]"


def store(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(content) + "\n")


def shrunk(content):
    """The medians of Google Benchmark's results, and the runs without repetitions, with seven digits."""
    runs = []
    for run in content["benchmarks"]:
        if run.get("aggregate_name", "median") != "median":
            continue
        kept = {key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in run.items() if key not in DROPPED}
        kept["name"] = run.get("run_name", run["name"])
        if isinstance(kept.get("iterations"), int):  # loops of Google Benchmark; a counter of that name is a float
            del kept["iterations"]
        runs.append(kept)
    context = {key: value for key, value in content["context"].items() if key in KEPT_CONTEXT}
    return {"context": context, "benchmarks": runs}


def lines(head, rows):
    """The lines of a table: its first column to the left, the others to the right."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def main(paths):
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for path in paths:
        store(path, shrunk(load(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
