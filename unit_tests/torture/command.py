# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the command and judges its end, whatever was computed: exit code, standard error, time."""

import argparse
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ERROR_LINE = re.compile(r"prekond: error: .*\S.*\Z")
OUT_OF_MEMORY = "not enough memory"
# Lines that OpenMP's runtime writes before the command is asked anything.
RUNTIME_LINE = re.compile(r"(libgomp: .*)?\Z")


class Outcome:
    """`code`: the exit code, negative for a signal, None where the time ran out. `problem`: None for a good end."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def lines(self):
        return self.err.split("\n")[:-1] if self.err.endswith("\n") else self.err.split("\n")

    def problem(self, runtime_lines=False):
        """What is wrong with the end, or None: success without a word, or one line of the documented form."""
        if self.code is None:
            return "no end within the time limit"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        if self.code not in (0, 1, 2, 3, 4, 5):
            return f"exit code {self.code}"
        lines = self.lines() if self.err else []
        if runtime_lines:
            lines = [line for line in lines if not RUNTIME_LINE.match(line)]
        if self.code == 0:
            return f"exit code 0, but on standard error: {lines[0]!r}" if lines else None
        if len(lines) != 1 or not ERROR_LINE.match(lines[0]):
            return f"exit code {self.code} with {len(lines)} lines on standard error: {self.err[:300]!r}"
        if self.code == 1 and OUT_OF_MEMORY not in lines[0]:
            return f"exit code 1: {lines[0]!r}"
        return None


def environment():
    """This one without what decides about Kokkos's start; threads that wait do not spin for long."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("KOKKOS_", "OMP_", "GOMP_", "KMP_", "SLURM_", "PMI_", "MV2_"))}
    # Starting takes OpenMPI, in builds that have it, a second where it looks for networks.
    kept.update(OMP_PROC_BIND="false", GOMP_SPINCOUNT="1000", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self")
    return kept


def limit_memory(gigabytes):
    """For this process and those that it starts; 0: no limit (sanitizers need more addresses than there is memory)."""
    if gigabytes > 0:
        resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2 ** 30), resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def run(program, arguments, folder, seconds, extra=None, text_in=None):
    """Runs `program arguments` in `folder`; `extra` goes into its environment."""
    variables = environment()
    variables.update(extra or {})
    try:
        done = subprocess.run([program, *arguments], cwd=folder, env=variables, capture_output=True, timeout=seconds,
                              input=text_in, check=False)
    except subprocess.TimeoutExpired as expired:
        return Outcome(None, "", (expired.stderr or b"").decode("utf-8", "replace"))
    return Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def shell_line(program, arguments, extra=None):
    words = [f"{name}={shlex.quote(value)}" for name, value in sorted((extra or {}).items())]
    return " ".join(words + [shlex.quote(str(word)) for word in [program, *arguments]])


def each(work, cases, jobs, stop):
    """work(case) for all cases, `jobs` at a time, in their order as far as that goes; no new one after stop()."""
    lock = threading.Lock()
    waiting = iter(cases)

    def worker():
        while not stop():
            with lock:
                case = next(waiting, None)
            if case is None:
                return
            work(case)

    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(worker) for _ in range(jobs)]:
            future.result()


def default_jobs():
    return max(1, min(4, len(os.sched_getaffinity(0))))


def argument_parser(doc, seconds, case):
    """What both programs are told: PROGRAM and the limits of a run."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: str(Path(path).absolute()))
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--seconds", type=float, default=seconds, help="stop after so long, visibly")
    parser.add_argument("--case-seconds", type=float, default=60, help=f"of one {case}, on a busy machine")
    parser.add_argument("--memory", type=float, default=4, help="GB of addresses for a process; 0: no limit")
    return parser


def say(text):
    print(text, flush=True)
    sys.stdout.flush()


def prove():
    """Raises AssertionError unless bad ends are told from good ones."""
    line = "prekond: error: it is so\n"
    for code, err in ((0, ""), (2, line), (3, line), (4, line), (5, line), (1, "prekond: error: not enough memory (x)\n")):
        assert Outcome(code, "", err).problem() is None, (code, err)
    for code, err in ((None, ""), (-11, ""), (134, line), (1, line), (2, ""), (3, line + line), (2, "terminate called\n"),
                      (2, "prekond: error: \n"), (0, line), (2, "Warning: x\n" + line), (0, "\nlibgomp: x\n")):
        assert Outcome(code, "", err).problem() is not None, (code, err)
    assert Outcome(2, "", "\nlibgomp: x\n" + line).problem(runtime_lines=True) is None
