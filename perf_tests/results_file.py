# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scripts that measure tables have in common: their file of results, and tables in Markdown."""
import json
import os


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


def store(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def lines(head, rows):
    """The lines of a table: its first column to the left, the others to the right."""
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""
