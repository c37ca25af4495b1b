#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_commands_test.py ROOT PROGRAM: the commands of the pages that give advice run, on small matrices of the kinds that
their file names say.

A command is a line of an indented or fenced block that begins with `prekond `. Its exit code is 0, or the N of a comment
`# exit N`, which may have more words.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = ("docs/choosing.md", "docs/troubleshooting.md")
GENERATED = {"matrix.mtx": "poisson2d:30", "general.mtx": "convection_diffusion3d:8", "elasticity.mtx": "elasticity3d:6",
             "shell.mtx": "elasticity3d:4", "network.mtx": "circuit:20", "hermitian.mtx": "magnetic3d:6"}


def grid(side, shift=0.0, neumann=False):
    """Entries of the 5-point Laplacian on side^2 nodes, less `shift` on the diagonal."""
    for k in range(side * side):
        near = [k - side] * (k >= side) + [k + side] * (k + side < side * side)
        near += [k - 1] * (k % side > 0) + [k + 1] * ((k + 1) % side > 0)
        yield k, k, (len(near) if neumann else 4) - shift
        for other in near:
            yield k, other, -1


def saddle_point(side):
    """[A, B^T; B, 0] with the Laplacian for A, and B the sums of pairs of nodes."""
    n = side * side
    yield from grid(side)
    for k in range(n // 2):
        for node in (2 * k, 2 * k + 1):
            yield n + k, node, 1
            yield node, n + k, 1


def write(path, rows, entries):
    lines = [f"{row + 1} {column + 1} {value}" for row, column, value in entries]
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {len(lines)}\n" + "\n".join(lines) + "\n")


def make_matrices(program, folder):
    for name, spec in GENERATED.items():
        subprocess.run([program, "generate", spec, "-o", name, "-q"], cwd=folder, check=True)
    nodes = "\n".join(str((k % 6, k // 6 % 6, k // 36)[d]) for d in range(3) for k in range(180))
    (folder / "coordinates.mtx").write_text(f"%%MatrixMarket matrix array real general\n180 3\n{nodes}\n")
    write(folder / "indefinite.mtx", 400, grid(20, 0.6))
    write(folder / "singular.mtx", 400, grid(20, neumann=True))
    write(folder / "saddle.mtx", 600, saddle_point(20))
    # No diagonal entry is there: row k is that of node k + 50.
    write(folder / "weak.mtx", 400, (((row + 350) % 400, column, value + column / 400) for row, column, value in grid(20)))


def commands(text):
    """(line, command, exit code) of each command of a page."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if line.lstrip().startswith("prekond ") and (fenced or line.startswith("    ")):
            code = re.search(r"# exit (\d+)", line)
            yield number, line.strip(), int(code.group(1)) if code else 0


def main():
    root, program = Path(sys.argv[1]), sys.argv[2]
    assert list(commands("a\nprekond b\n    prekond c # exit 4, d\n```\nprekond e\n```\n")) == [
        (3, "prekond c # exit 4, d", 4), (5, "prekond e", 0)]
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        make_matrices(program, Path(name))
        for page in PAGES:
            found = list(commands((root / page).read_text()))
            failed += not found
            for number, command, code in found:
                count += 1
                done = subprocess.run([program, *shlex.split(command, comments=True)[1:]], cwd=name, capture_output=True,
                                      text=True, check=False)
                if done.returncode != code:
                    failed += 1
                    print(f"{page}:{number}: exit code {done.returncode} in place of {code}: {command}\n{done.stdout[-800:]}{done.stderr}")
    sys.exit(f"{failed} of {count} commands failed" if failed else 0)


if __name__ == "__main__":
    main()
