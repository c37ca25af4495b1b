#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged files, options and configurations for the command; whatever they are, it has to end well.

    fuzz.py PROGRAM                          the cases of the test: fixed seeds, a fixed number
    fuzz.py PROGRAM --seeds 100:200 --cases 5000 --seconds 3600     more
    fuzz.py PROGRAM --only files:3:17        one case, told in full, its files kept

A case is a group (files, options, configs), a seed and a number, and depends on nothing else. It passes where the command
ends in time, not by a signal, with an exit code of its contract (1 only where it says that memory is missing), with one line
`prekond: error: ...` on standard error, or none with exit code 0; and where, with exit code 0, the solution that it wrote
fulfils ||b - A x|| <= max(rtol ||b||, atol) in exact arithmetic, for the matrix that this program itself reads from the file.
"""

import json
import random
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
import mutations

GROUPS = ("files", "options", "configs")
SOLVERS = ("cg", "bicgstab", "gmres", "fgmres", "idr", "richardson")
OPTION = re.compile(r"  (\w+(?:\.\w+)*)=(\S*)(?:  \((.*)\))?\Z")


class Catalogue:
    """The algorithms of this build with their options: (name, default, range or choices)."""

    def __init__(self, program, folder):
        self.spd_only = set()
        self.nonsymmetric = set()
        self.preconditioners = self.read(program, folder, "preconditioners")
        self.solvers = self.read(program, folder, "solvers")

    def read(self, program, folder, kind):
        listed = command.run(program, ["list", kind], folder, 60)
        if listed.code != 0:
            raise SystemExit(f"'list {kind}' fails: {listed.err}")
        found = {}
        for name in [line.split()[0] for line in listed.out.splitlines() if line.strip()]:
            text = command.run(program, ["list", kind, name], folder, 60).out
            matches = [OPTION.match(line) for line in text.splitlines()]
            found[name] = [(match[1], match[2], match[3] or "") for match in matches if match]
            if "(SPD)" in text:
                self.spd_only.add(name)
            if "not symmetric" in text or name == "isai":  # isai's kinds: some are symmetric
                self.nonsymmetric.add(name)
        return found

    def choose(self, draw, spd):
        """A preconditioner and a solver; mostly such as go together."""
        while True:
            precond, solver = draw.choice(list(self.preconditioners)), draw.choice(SOLVERS)
            bad = solver == "cg" and (not spd or precond in self.nonsymmetric) or precond in self.spd_only and not spd
            if not bad or draw.random() < 0.1:
                return precond, solver


class Case:
    """What is run: arguments, environment, and the files of the folder that it is run in."""

    def __init__(self, group, seed, number, catalogue):
        self.name = f"{group}:{seed}:{number}"
        draw = random.Random(self.name)
        self.extra = {}
        self.files = {}
        self.arguments = ["solve"]
        {"files": self.damage_file, "options": self.vary_options, "configs": self.damage_config}[group](draw, catalogue)

    def add_matrix(self, draw, good):
        name, data, rows, field, self.spd = mutations.matrix_file(draw, good)
        self.matrix = name
        self.files[name] = data
        values = [complex(draw.uniform(-1, 1), draw.uniform(-1, 1)) if field == "complex" else draw.uniform(-1, 1)
                  for _ in range(rows)]
        scale = 1.0 if draw.random() < 0.9 else draw.choice((0.0, 1e-310, 1e-200, 1e-155, 1e155, 1e200))
        lines = [f"%%MatrixMarket matrix array {field} general", f"{rows} 1"]
        lines += [exact.text_of(value * scale, field) for value in values]
        self.files["b.mtx"] = ("\n".join(lines) + "\n").encode()

    def damage_file(self, draw, catalogue):
        self.add_matrix(draw, good=False)
        if draw.random() < 0.1:
            self.files["b.mtx"] = mutations.mutate_bytes(draw, self.files["b.mtx"])
        precond, solver = catalogue.choose(draw, self.spd)
        self.arguments += [self.matrix, "--precond", precond, "--solver", solver, "--rtol", "1e-8"]
        self.finish(draw)

    def vary_options(self, draw, catalogue):
        self.add_matrix(draw, good=True)
        precond, solver = catalogue.choose(draw, self.spd)
        self.arguments += [self.matrix, "--precond", precond, "--solver", solver]
        for pair in mutations.pairs(draw, catalogue.preconditioners[precond]):
            self.arguments += ["-p", pair]
        for pair in mutations.pairs(draw, catalogue.solvers[solver]):
            self.arguments += ["-s", pair]
        self.arguments += mutations.extra_flags(draw)
        kind = draw.random()
        if kind < 0.2:
            self.arguments.append(mutations.kokkos_flag(draw))
        elif kind < 0.35:
            self.extra[draw.choice(mutations.VARIABLES)] = draw.choice(mutations.NUMBERS)
        self.finish(draw)

    def damage_config(self, draw, catalogue):
        self.add_matrix(draw, good=True)
        precond, solver = catalogue.choose(draw, self.spd)
        settings = mutations.configuration(draw, catalogue.preconditioners[precond], catalogue.solvers[solver])
        settings.update(precond=precond, solver=solver)
        self.files["config.json"] = mutations.configuration_text(draw, settings)
        self.arguments += [self.matrix, "--config", "config.json"]
        self.finish(draw)

    def finish(self, draw):
        defaults = [("--rhs", "b.mtx"), ("--solution", "x.mtx"), ("--report", "report.json")]
        if "--config" not in self.arguments:
            defaults.append(("--max-iters", "200"))
        for flag, name in defaults:
            if flag not in self.arguments:
                self.arguments += [flag, name]
        if not any(argument.startswith("--kokkos-num-threads") for argument in self.arguments) and not self.extra:
            self.arguments.append(f"--kokkos-num-threads={draw.choice((1, 1, 1, 2))}")
        # A NUL ends an argument, and no shell could write it.
        self.arguments = [argument.replace("\0", "?") for argument in self.arguments]

    def write(self, folder):
        folder.mkdir()
        for name, data in self.files.items():
            (folder / name).write_bytes(data)



def solution_problem(folder, case):
    """What is wrong with the solution of a run that ended with exit code 0, or None."""
    report_path, solution_path = folder / "report.json", folder / "x.mtx"
    if not report_path.exists() or not solution_path.exists():
        # --help, or files of other names
        return None
    if "--generate" in case.arguments or "b.mtx" not in case.arguments:
        return None
    try:
        options = json.loads(report_path.read_text())["solver"]["options"]
        rtol, atol = float(options["rtol"]), float(options["atol"])
    except (ValueError, KeyError) as error:
        return f"exit code 0, but its report cannot be read: {error!r}"
    try:
        matrix = exact.read_market(folder / case.matrix)
        b = exact.read_vector(folder / "b.mtx", matrix.rows)
    except exact.NotAMatrix as error:
        return f"exit code 0 for a file that is none: {error}"
    try:
        x = exact.read_vector(solution_path, matrix.rows)
    except exact.NotAMatrix as error:
        return f"a solution that cannot be read: {error}"
    if not exact.solves(matrix, x, b, rtol, atol):
        return f"FALSE SUCCESS: ||b - A x|| / ||b|| is {exact.ratio(matrix, x, b)}, rtol {rtol}, atol {atol}"
    return None


class Fuzz:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.catalogue = Catalogue(options.program, folder)
        self.lock = threading.Lock()
        self.codes = Counter()
        self.failures = 0
        self.end = time.monotonic() + options.seconds
        self.stopped = False

    def out_of_time(self):
        self.stopped = self.stopped or time.monotonic() > self.end
        return self.stopped

    def cases(self):
        if self.options.only:
            group, seed, number = self.options.only.split(":")
            yield group, int(seed), int(number)
            return
        first, last = (int(word) for word in self.options.seeds.split(":"))
        for seed in range(first, last):
            for number in range(self.options.cases):
                for group in GROUPS:
                    yield group, seed, number

    def run(self, key):
        case = Case(*key, self.catalogue)
        folder = self.folder / case.name.replace(":", "_")
        case.write(folder)
        outcome = command.run(self.options.program, case.arguments, folder, self.options.case_seconds, case.extra)
        problem = outcome.problem(runtime_lines=bool(case.extra))
        if problem is None and outcome.code == 0:
            problem = solution_problem(folder, case)
        with self.lock:
            self.codes[key[0], outcome.code] += 1
            self.failures += problem is not None
        if problem:
            command.say(f"FAILED {case.name}: {problem}\n"
                        f"  again: python3 {sys.argv[0]} {self.options.program} --only {case.name}")
        if self.options.only:
            command.say(f"(cd {folder} && {command.shell_line(self.options.program, case.arguments, case.extra)})\n"
                        f"exit code {outcome.code}\n{outcome.err}{problem or 'passed'}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def parse():
    parser = command.argument_parser(__doc__, 300, "case")
    parser.add_argument("--seeds", default="1:2", metavar="FIRST:BEHIND")
    parser.add_argument("--cases", type=int, default=700, help="of each group, for each seed")
    parser.add_argument("--only", metavar="GROUP:SEED:NUMBER")
    return parser.parse_args()


def main():
    options = parse()
    exact.prove()
    command.prove()
    command.limit_memory(options.memory)
    folder = Path(tempfile.mkdtemp(prefix="prekond_fuzz_"))
    started = time.monotonic()
    try:
        fuzz = Fuzz(options, folder)
        command.each(fuzz.run, fuzz.cases(), options.jobs, fuzz.out_of_time)
    finally:
        if not options.only:
            shutil.rmtree(folder, ignore_errors=True)
    ran = sum(fuzz.codes.values())
    ends = ", ".join(f"{group} {code}: {count}" for (group, code), count in sorted(fuzz.codes.items(), key=str))
    command.say(f"{ran} cases in {time.monotonic() - started:.0f} s (exit codes {ends}); {fuzz.failures} failures")
    if fuzz.failures:
        return 1
    if fuzz.stopped:
        command.say("STOPPED at the time limit: the other cases were not run")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
