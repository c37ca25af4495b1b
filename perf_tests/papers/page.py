#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/papers.md: the claims of each paper (NAME.json beside this script) and its tables and figures (NAME.py), from committed
results only.

    page.py [--check]     --check only says whether the page is up to date, and names files that the claims name and that are not there
"""
import importlib
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "papers.md"
STATES = ("complete", "partial", "absent")
PAPERS = {
    "adaptive_fsai": ("Adaptive FSAI", "M. Bernaschi, M. Carrozzo, A. Franceschini, C. Janna: A Dynamic Pattern Factored Sparse Approximate "
                      "Inverse Preconditioner on Graphics Processing Units, SIAM J. Sci. Comput. 41, 2019"),
    "spai": ("SPAI", "X. Chu, Y. Wang, Q. Chen, J. Gao: GSPAI-Opt, BenchCouncil Trans. Benchmarks, Standards and Evaluations 3, 2023"),
    "li_saad": ("Incomplete factorisations, colours, polynomials", "R. Li, Y. Saad: GPU-accelerated preconditioned iterative linear solvers, "
                "J. Supercomput. 63, 2013"),
    "batched": ("Batches of small systems", "I. Aggarwal, P. Nayak, A. Kashi, H. Anzt: Preconditioners for Batched Iterative Linear Solvers on GPUs, "
                "slides"),
    "block_gmres": ("Block ILU(0) and GMRES", "W. Ma, Y. Hu, W. Yuan, X. Liu: Developing a Multi-GPU-Enabled Preconditioned GMRES with Inexact "
                    "Triangular Solves for Block Sparse Matrices, Math. Probl. Eng., 2021"),
}
INTRODUCTION = """# The papers, repeated

The methods of Prekond come from five papers. Each part of a paper has a row: where it is, and what differs from the paper and why.
*complete*: the same, or another method that does the same task, with its test; of a table or figure, measured by us with the command
that is given. *partial*: some of it. *absent*: none of it, with the reason. The tables have the paper's figures next to ours; a ratio is given where
both are of the same problem, and of SPAI's setups, which depend on no more than sizes and lengths of rows, where these are the same. Matrices that could not be had have a generated one of their kind in their place, under its own name.

This page is written by `perf_tests/papers/page.py` from the files of [perf_tests/papers](../perf_tests/papers) and the committed results.
"""


def paths_of(where):
    """The files that a claim names."""
    return [word for word in re.split(r"[,;\s]+", where) if "/" in word]


def linked(where):
    """A claim's files as links from docs."""
    return ", ".join(f"[{Path(path).name}](../{path})" for path in paths_of(where)) or "-"


def claims_of(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def counts():
    yield "| paper | rows | complete | partial | absent |"
    yield "|---|---:|---:|---:|---:|"
    total = [0] * 4
    for name, (title, _) in PAPERS.items():
        states = [claim["state"] for claim in claims_of(name)]
        row = [len(states), *(states.count(state) for state in STATES)]
        total = [a + b for a, b in zip(total, row)]
        yield f"| [{title}](#{re.sub('[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}) | " + " | ".join(map(str, row)) + " |"
    yield "| all | " + " | ".join(map(str, total)) + " |"


def page():
    lines = [INTRODUCTION, *counts(), ""]
    for name, (title, source) in PAPERS.items():
        lines += [f"## {title}", "", f"{source}.", "", "| part | what | where | state | what differs |", "|---|---|---|---|---|"]
        lines += [f"| {claim['part']} | {claim['what']} | {linked(claim['where'])} | {claim['state']} | {claim['differs']} |"
                  for claim in claims_of(name)]
        for heading, text in importlib.import_module(name).sections():
            lines += ["", f"### {heading}", "", text.strip()]
        lines.append("")
    return "\n".join(lines)


def mistakes():
    """Claims that name a file that is not there, or a state that is none, or that leave a difference without its reason."""
    for name in PAPERS:
        for claim in claims_of(name):
            at = f"{name}.json, {claim['part']}"
            yield from (f"{at}: no file {path}" for path in paths_of(claim["where"]) if not (ROOT / path).exists())
            if claim["state"] not in STATES:
                yield f"{at}: the state '{claim['state']}' is none of {', '.join(STATES)}"
            elif claim["state"] != "complete" and not claim["differs"]:
                yield f"{at}: {claim['state']} without a reason"


def main():
    found = list(mistakes())
    if found:
        sys.exit("\n".join(found))
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE} is out of date: run perf_tests/papers/page.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
