#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The committed table of outcomes, outcomes.tsv: what changed between two versions of it, and its figures in docs/reliability.md.

    table.py changes OLD [NEW]   names the cases whose outcome differs (NEW: outcomes.tsv), for instance
                                 `git show HEAD~1:unit_tests/torture/outcomes.tsv > old.tsv; table.py changes old.tsv`;
                                 1 where a success was lost or a case failed
    table.py page [--check]      writes the figures into docs/reliability.md; --check only says whether they are those of the table
"""

import re
import sys
from collections import Counter
from pathlib import Path

from torture import CLASSES, FAILED, SOLVERS, TABLE, read_table

PAGE = TABLE.parents[2] / "docs" / "reliability.md"
BLOCK = re.compile(r"(<!-- outcomes -->\n).*?(<!-- end of outcomes -->)", re.S)


def changes(old, new):
    """The lines that say what differs, and whether a success was lost."""
    lines, worse = [], False
    for case in [*old, *(case for case in new if case not in old)]:
        before, after = old.get(case, "no case"), new.get(case, "no case")
        if before == after:
            continue
        lost = ("success" in before.split("|") and "success" not in after.split("|")) or after == FAILED
        worse = worse or lost
        lines.append(f"{':'.join(case)}: {before} -> {after}{'  LOST' if lost else ''}")
    return lines, worse


def figures(table):
    """A line a preconditioner: how many systems each solver solved, and what became of all cases."""
    names = dict.fromkeys(name for _, name, _ in table)
    kinds = len({kind for kind, _, _ in table})
    lines = [f"{kinds} kinds of systems, {len(names)} names, {len(SOLVERS)} solvers: {len(table)} cases.", "",
             f"| preconditioner | {' | '.join(SOLVERS)} | solved | ended with a reason | refused | either |",
             "|---|" + "---:|" * (len(SOLVERS) + 4)]
    total = Counter()
    for name in names:
        own = {case: found for case, found in table.items() if case[1] == name}
        solved = [sum(found == "success" for case, found in own.items() if case[2] == solver) for solver in SOLVERS]
        counts = Counter(found if found in CLASSES else "either" for found in own.values())
        total += counts
        lines.append(f"| {name} | {' | '.join(map(str, solved))} | " +
                     " | ".join(str(counts[key]) for key in (*CLASSES, "either")) + " |")
    lines.append(f"| all | {' | '.join([''] * len(SOLVERS))} | " +
                 " | ".join(str(total[key]) for key in (*CLASSES, "either")) + " |")
    return "\n".join(lines) + "\n"


def prove():
    """A few tables whose changes are known."""
    a, b, c = ("k", "p", "cg"), ("k", "p", "gmres"), ("k", "q", "cg")
    assert changes({a: "success"}, {a: "success"}) == ([], False)
    assert changes({a: "ended", b: "ended"}, {a: "success", b: "refused"})[1] is False
    lines, worse = changes({a: "success|ended"}, {a: "ended", c: "refused"})
    assert worse and lines == ["k:p:cg: success|ended -> ended  LOST", "k:q:cg: no case -> refused"], lines


def main():
    prove()
    arguments = sys.argv[1:]
    if arguments[:1] == ["changes"] and len(arguments) in (2, 3):
        lines, worse = changes(read_table(Path(arguments[1])), read_table(Path(arguments[2]) if len(arguments) == 3 else TABLE))
        print("\n".join(lines) or "no case differs")
        return int(worse)
    if arguments in (["page"], ["page", "--check"]):
        text = PAGE.read_text(encoding="utf-8")
        wanted, found = BLOCK.subn(lambda block: block[1] + figures(read_table()) + block[2], text)
        if found != 1:
            sys.exit(f"{PAGE}: the place of the figures is missing")
        if "--check" not in arguments:
            PAGE.write_text(wanted, encoding="utf-8")
        elif wanted != text:
            sys.exit(f"{PAGE} is out of date: run {sys.argv[0]} page")
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
