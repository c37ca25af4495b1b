#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of every kind of system with every preconditioner and every solver, beside the committed table.

    torture.py PROGRAM                          compares with outcomes.tsv; 1 where something differs
    torture.py PROGRAM --update                 writes outcomes.tsv anew
    torture.py PROGRAM --only KIND:PRECOND:SOLVER   one case (any part may be empty), told in full, its files kept

The classes: `success` (exit 0, and the residual, computed here in exact arithmetic from the written files, is within the
tolerance), `ended` (exit 4 or 5 with a reason), `refused` (exit 2 or 3). Everything else is a failure whatever the table
says: a success that is none, a signal, no end, an error without its one line. The table may allow two classes,
`success|ended`, where both are honest and the last bits decide: --update runs each case three times, twice with a right-hand
side that differs by some roundings, and writes what it saw.

--update takes a failure for FAILED into the table, and a comparison fails there until it is mended and the table written anew.
"""

import json
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import command
import exact
from kinds import TEXTS, kinds

SOLVERS = ("cg", "bicgstab", "gmres", "fgmres", "idr", "richardson")
RTOL = 1e-8
MAX_ITERS = 300
TABLE = Path(__file__).with_name("outcomes.tsv")
CLASSES = ("success", "ended", "refused")
FAILED = "FAILED"  # what --update writes for a failure, and no comparison accepts
CONVERGED = ("rtol", "atol", "zero_rhs")


def preconditioners(program, folder):
    listed = command.run(program, ["list", "preconditioners"], folder, 60)
    if listed.code != 0:
        raise SystemExit(f"'list preconditioners' fails: {listed.err}")
    names = []
    for line in listed.out.splitlines():
        main, _, aliases = line.partition("; aliases: ")
        names += main.split()[:1] + re.findall(r"(\w+) \(", aliases)
    return names


def perturbed(b, variant):
    """b with every second entry changed by some roundings; variant 0: b itself."""
    sign = (0, 1, -1)[variant]
    return [value * (1 + sign * (i % 3) * 2.0 ** -50) for i, value in enumerate(b)]


def write_kind(folder, name, kind, variants):
    field, entries, b = kind
    (folder / name).mkdir()
    path = folder / name / "a.mtx"
    exact.write_matrix(path, len(b), entries, field)
    if name in TEXTS:  # the first entry's value is what no double says
        lines = path.read_text().split("\n")
        lines[2] = "1 1 " + TEXTS[name]
        path.write_text("\n".join(lines))
    for variant in range(variants):
        exact.write_vector(folder / name / f"b{variant}.mtx", perturbed(b, variant), field)


def arguments_of(preconditioner, solver, variant):
    stem = f"{preconditioner}.{solver}.{variant}"
    return ["solve", "a.mtx", "--rhs", f"b{variant}.mtx", "--precond", preconditioner, "--solver", solver,
            "--rtol", repr(RTOL), "--max-iters", str(MAX_ITERS), "--quiet", "--kokkos-num-threads=1",
            "--solution", f"{stem}.x.mtx", "--report", f"{stem}.json"]


def classify(outcome, folder, stem, rhs):
    """(class, None), or (None, what is wrong)."""
    problem = outcome.problem()
    if problem:
        return None, problem
    if outcome.code in (2, 3):
        return "refused", None
    if outcome.code == 1:
        return None, outcome.err.strip()
    try:
        solver = json.loads((folder / f"{stem}.json").read_text())["solver"]
    except (OSError, ValueError, KeyError) as error:
        return None, f"exit code {outcome.code} and no report: {error!r}"
    if outcome.code in (4, 5):
        if solver["converged"] or not solver["reason"] or solver["reason"] in CONVERGED:
            return None, f"exit code {outcome.code}, but the report says {solver['reason']!r}"
        return "ended", None
    if not solver["converged"] or solver["reason"] not in CONVERGED:
        return None, f"exit code 0, but the report says {solver['reason']!r}"
    try:
        matrix = exact.read_market(folder / "a.mtx")
        b = exact.read_vector(folder / rhs, matrix.rows)
        x = exact.read_vector(folder / f"{stem}.x.mtx", matrix.rows)
    except (OSError, exact.NotAMatrix) as error:
        return None, f"exit code 0, but {error}"
    if not exact.solves(matrix, x, b, RTOL):
        return None, f"FALSE SUCCESS ({solver['reason']}): ||b - A x|| / ||b|| is {exact.ratio(matrix, x, b)}"
    return "success", None


class Torture:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.seen = {}      # case -> classes
        self.failures = []  # texts
        self.stopped = False
        self.lock = threading.Lock()
        self.end = time.monotonic() + options.seconds
        self.all_kinds = kinds()
        self.names = preconditioners(options.program, folder)
        self.cases = self.chosen_cases()

    def chosen_cases(self):
        parts = (self.options.only or "::").split(":")
        if len(parts) != 3:
            raise SystemExit("--only takes KIND:PRECOND:SOLVER")
        cases = [(kind, name, solver) for kind in self.all_kinds for name in self.names for solver in SOLVERS]
        chosen = [case for case in cases if all(part in ("", own) for part, own in zip(parts, case))]
        if not chosen:
            raise SystemExit(f"no case is called {self.options.only}")
        return chosen

    def out_of_time(self):
        self.stopped = self.stopped or time.monotonic() > self.end
        return self.stopped

    def run(self, case):
        kind, name, solver = case
        folder = self.folder / kind
        for variant in range(3 if self.options.update else 1):
            arguments = arguments_of(name, solver, variant)
            outcome = command.run(self.options.program, arguments, folder, self.options.case_seconds)
            found, problem = classify(outcome, folder, f"{name}.{solver}.{variant}", f"b{variant}.mtx")
            if self.options.only:
                command.say(f"{':'.join(case)}: {found or problem}\n  (cd {folder} && "
                            f"{command.shell_line(self.options.program, arguments)})\n  {outcome.err.strip()}")
            with self.lock:
                self.seen.setdefault(case, set()).add(found)
            if problem:
                self.fail(case, problem)
                return

    def fail(self, case, problem):
        text = f"{':'.join(case)}: {problem}"
        self.failures.append(text)
        if not self.options.only:
            command.say(f"FAILED {text}\n  again: python3 {sys.argv[0]} {self.options.program} --only {':'.join(case)}")

    def tell_of_scales(self):
        """Says which systems end otherwise when they are multiplied by a power of ten: no failure, but a reason to look."""
        for case, found in self.seen.items():
            base = self.seen.get((re.split("_times_|_with_rhs_", case[0])[0], *case[1:]), found)
            if base != found:
                command.say(f"note: {':'.join(case)} {sorted(map(str, found))}, without the factor {sorted(map(str, base))}")

    def run_all(self):
        for kind in dict.fromkeys(case[0] for case in self.cases):
            write_kind(self.folder, kind, self.all_kinds[kind], 3 if self.options.update else 1)
        command.each(self.run, self.cases, self.options.jobs, self.out_of_time)

    def compare(self, expected):
        for case, found in self.seen.items():
            allowed = expected.get(case)
            wrong = found - {None} - set((allowed or "").split("|"))
            if wrong:
                self.fail(case, f"{' and '.join(sorted(wrong))}, but the table says {allowed or 'nothing'}")
        if not self.options.only:
            for case in expected.keys() - set(self.cases):
                self.fail(case, "stands in the table and is no case")


def read_table(path=TABLE):
    expected = {}
    lines = path.read_text().splitlines() if path.exists() else []
    solvers = []
    for line in lines:
        if line.startswith("#"):
            continue
        words = line.split("\t")
        if words[0] == "kind":
            solvers = words[2:]
            continue
        for solver, allowed in zip(solvers, words[2:]):
            if set(allowed.split("|")) - {*CLASSES, FAILED}:
                raise SystemExit(f"{path}: '{allowed}' is no outcome")
            expected[words[0], words[1], solver] = allowed
    return expected


def write_table(seen, names, all_kinds):
    with open(TABLE, "w", encoding="ascii") as file:
        file.write("# What becomes of each kind of system (kinds.py) with each preconditioner and solver: torture.py\n")
        file.write("kind\tpreconditioner\t" + "\t".join(SOLVERS) + "\n")
        for kind in all_kinds:
            for name in names:
                outcomes = [seen[kind, name, solver] for solver in SOLVERS]
                texts = [FAILED if None in found else "|".join(c for c in CLASSES if c in found) for found in outcomes]
                file.write("\t".join([kind, name, *texts]) + "\n")


def parse():
    parser = command.argument_parser(__doc__, 3600 if "--update" in sys.argv else 600, "solve")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", metavar="KIND:PRECOND:SOLVER")
    return parser.parse_args()


def main():
    options = parse()
    exact.prove()
    command.prove()
    command.limit_memory(options.memory)
    folder = Path(tempfile.mkdtemp(prefix="prekond_torture_"))
    started = time.monotonic()
    try:
        torture = Torture(options, folder)
        torture.run_all()
        if options.update and not options.only and not torture.stopped:
            write_table(torture.seen, torture.names, torture.all_kinds)
            torture.tell_of_scales()
        else:
            torture.compare(read_table())
    finally:
        if not options.only:
            shutil.rmtree(folder, ignore_errors=True)
    counts = Counter("|".join(sorted(str(found) for found in classes)) for classes in torture.seen.values())
    command.say(f"{len(torture.seen)} of {len(torture.cases)} cases in {time.monotonic() - started:.0f} s: "
                f"{dict(counts)}; {len(torture.failures)} failures")
    if torture.failures:
        return 1
    if torture.stopped:
        command.say("STOPPED at the time limit: the other cases were not run")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
