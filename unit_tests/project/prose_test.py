#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plain English: counts the patterns of CONTRIBUTING.md's section on prose, and fails above zero.

    prose_test.py ROOT [--counts]

It reads comments, texts of errors and help (string literals of include/ and src/), and pages. A sentence needs a subject
noun, so none begins with "Of", "What", "Those" or "Whatever", and some words have a plainer one. --counts prints a
number for each folder, and no findings. First the test proves that it finds every pattern.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("include", "src", "unit_tests", "perf_tests", "examples", "cmake", "scripts", "docs", ".ci")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json")
SKIPPED = re.compile(r"^perf_tests/results/|^unit_tests/project/prose_test\.py$")

BEGINS = r"(?:Of|What|Those|Whatever|Whoever)\b(?! course)"
PATTERNS = [
    (re.compile(rf"^{BEGINS}"), "begins with"),
    (re.compile(rf"(?<=[.!?:] ){BEGINS}"), "begins with"),
    (re.compile(r"\bbehind\b", re.I), "write `after` or `following`"),
    (re.compile(r"\bbeside\b", re.I), "write `next to`, `compared with` or `in addition to`"),
    (re.compile(r"\bstands? for\b", re.I), "write `is`"),
    (re.compile(r"\balone\b", re.I), "write `only` or `by itself`"),
    (re.compile(r"\bso many\b", re.I), "write the number"),
    (re.compile(r"\bon (?:its|their) way\b", re.I), "write `in progress`"),
    (re.compile(r"\bin vain\b", re.I), "write `without success`"),
    (re.compile(r"\bof no use\b", re.I), "write `useless`"),
]


def paragraphs(lines):
    """Joins (number, text) of following lines; an empty text ends a paragraph. Yields [(number, text), ...]."""
    found = []
    for number, text in lines:
        if text.strip():
            found.append((number, text.strip()))
        elif found:
            yield found
            found = []
    if found:
        yield found


def without_code(text):
    """Code in backticks, quotations and formulas are no prose."""
    text = re.sub(r"``.*?``|`[^`]*`", "`code`", text)
    return re.sub(r'"[^"]*"|\(“[^”]*”\)', '"quoted"', text)


def cpp_lines(text, with_literals):
    """Comments, each line of them; a comment that follows code is a paragraph of its own."""
    previous_was_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"'(?:\\.|[^'\\])'", "''", line)
        without_strings = re.sub(r'"(?:\\.|[^"\\])*"', '""', bare)
        at = without_strings.find("//")
        literals = re.findall(r'"((?:\\.|[^"\\])*)"', bare if at < 0 else bare[:bare.rfind("//")]) if with_literals else []
        is_include = re.match(r"\s*#", line)
        if literals and not is_include:
            for literal in literals:
                if re.search(r"[a-z] [a-z]", literal):
                    yield number, ""
                    yield number, literal
                    yield number, ""
        if at < 0:
            yield number, ""
            previous_was_comment = False
            continue
        comment = re.sub(r"^//[/!]?<?", "", line[line.find("//"):] if '"' not in line else without_strings[at:])
        whole_line = not without_strings[:at].strip()
        if not whole_line and not previous_was_comment or re.match(r"\s*(\\\w+|- )", comment):
            yield number, ""
        if not whole_line:
            yield number, ""
        yield number, comment
        previous_was_comment = whole_line


def hash_lines(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)", line) or re.search(r"\s#\s(.*)", line)
        if match:
            if not line.lstrip().startswith("#"):
                yield number, ""
            yield number, match.group(1)
        else:
            yield number, ""


def page_lines(text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or line.lstrip().startswith("```") or line.startswith("    "):
            yield number, ""
            continue
        if line.lstrip().startswith("|"):
            for cell in line.split("|"):
                yield number, ""
                yield number, cell
            yield number, ""
        elif re.match(r"\s*([-*]|\d+\.|#+) ", line):
            yield number, ""
            yield number, re.sub(r"^\s*([-*]|\d+\.|#+) ", "", line)
            if line.startswith("#"):
                yield number, ""
        else:
            yield number, line


def lines_of(name, text):
    suffix = Path(name).suffix
    if suffix in (".hpp", ".cpp", ".h", ".c", ".in"):
        return cpp_lines(text, name.startswith(("include/", "src/")))
    if suffix == ".md":
        return page_lines(text)
    return hash_lines(text)


def findings(name, text):
    """(line, what is wrong, the text) of each pattern in a file."""
    for paragraph in paragraphs(lines_of(name, text)):
        joined, starts = "", []
        for number, piece in paragraph:
            starts.append((len(joined), number))
            joined += piece + " "
        prose = without_code(joined)
        offset = 0 if len(prose) == len(joined) else None
        for pattern, why in PATTERNS:
            for match in pattern.finditer(prose):
                place = match.start() if offset == 0 else joined.find(match.group())
                number = max((n for at, n in starts if at <= max(place, 0)), default=paragraph[0][0])
                yield number, why, prose[max(0, match.start() - 20):match.end() + 50].strip()


def files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            is_script = path.parent.name in ("scripts", ".ci") and not path.suffix
            if path.is_file() and not SKIPPED.search(name) and "__pycache__" not in name and (
                    is_script or path.suffix in (".hpp", ".cpp", ".h", ".c", ".in", ".md", ".py", ".sh", ".cmake") or
                    path.name == "CMakeLists.txt"):
                yield name, path
    for name in PAGES:
        if (root / name).is_file() and name.endswith((".md", ".txt")):
            yield name, root / name


CASES = [
    ("src/a.cpp", "/// Of levels: registers leave room.\nint a;\n", 1),
    ("src/a.cpp", "int a;  ///< of a level\n", 0),
    ("src/a.cpp", "int a;  ///< Of a level\n", 1),
    ("src/a.cpp", "// It ends. What follows is another.\n", 1),
    ("src/a.cpp", "// It ends.\n// What follows is another, and goes\n// on in vain.\n", 2),
    ("src/a.cpp", "// It says what it does, of course.\n", 0),
    ("src/a.cpp", 'throw E("the row stands alone");\n', 1),
    ("unit_tests/a.cpp", 'expect("the row stands alone");\n', 0),
    ("src/a.cpp", "// `behind` is a name\nint behind;\n", 0),
    ("docs/a.md", "# What it does\n\n```\nOf code\n```\n", 1),
    ("docs/a.md", "| a | b |\n|---|---|\n| x | Those of y |\n", 1),
    ("scripts/a.sh", "# Those stand beside it.\necho # so many\n", 3),
]


def main():
    root = Path(sys.argv[1]).resolve()
    wrong = [(name, text) for name, text, count in CASES if len(list(findings(name, text))) != count]
    for name, text in wrong:
        print(f"self-test: {name}: {text!r}: {list(findings(name, text))}")
    counts, total = {}, 0
    for name, path in files(root):
        for number, why, text in findings(name, path.read_text()):
            folder = "/".join(name.split("/")[:3 if name.startswith("src/precond") else 2][:-1] or [name])
            counts[folder] = counts.get(folder, 0) + 1
            total += 1
            if "--counts" not in sys.argv:
                print(f"{name}:{number}: {why}: {text}")
    if "--counts" in sys.argv:
        for folder, count in sorted(counts.items(), key=lambda item: -item[1]):
            print(f"{count:6} {folder}")
    print(f"{total} findings")
    return 1 if wrong or total else 0


sys.exit(main())
