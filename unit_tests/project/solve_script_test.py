#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""solve_script_test.py ROOT: what scripts/solve makes of its arguments. It runs a copy beside a library of scripts that
prints the command instead of running it."""

import os
import shutil
import subprocess
import sys
import tempfile

EXAMPLE = ["--generate", "elasticity3d:30"]
REPORT = ["--report", "prekond-report.json"]

# (arguments, what `prekond solve` is given)
CASES = [
    ([], EXAMPLE + REPORT),
    (["--report", "r.json"], EXAMPLE + ["--report", "r.json"]),
    (["--report=r.json", "-q"], EXAMPLE + ["--report=r.json", "-q"]),
    (["--rtol", "1e-8"], EXAMPLE + ["--rtol", "1e-8"] + REPORT),
    (["-p", "max_steps=3", "step_size=2"], EXAMPLE + ["-p", "max_steps=3", "step_size=2"] + REPORT),
    (["--precond", "fsai"], EXAMPLE + ["--precond", "fsai"] + REPORT),
    (["--solver=idr", "-s", "s=4"], EXAMPLE + ["--solver=idr", "-s", "s=4"] + REPORT),
    (["--kokkos-num-threads=2"], EXAMPLE + ["--kokkos-num-threads=2"] + REPORT),
    (["--config", "method.json"], EXAMPLE + ["--config", "method.json"] + REPORT),
    (["--rtol"], EXAMPLE + ["--rtol"] + REPORT),
    (["matrix.mtx"], ["matrix.mtx"]),
    (["--report", "r.json", "matrix.mtx"], ["--report", "r.json", "matrix.mtx"]),
    (["-q", "matrix.mtx"], ["-q", "matrix.mtx"]),
    (["-p", "max_steps=3", "matrix.mtx"], ["-p", "max_steps=3", "matrix.mtx"]),
    (["-p", "max_steps=3", "a=1.mtx", "dir/a=1.mtx"], ["-p", "max_steps=3", "a=1.mtx", "dir/a=1.mtx"]),
    (["--rtol=1e-3", "a=1.mtx"], ["--rtol=1e-3", "a=1.mtx"]),
    (["--generate", "poisson2d:9"], ["--generate", "poisson2d:9"]),
    (["--generate=poisson2d:9", "--rtol", "1"], ["--generate=poisson2d:9", "--rtol", "1"]),
    (["--config", "matrix.json"], ["--config", "matrix.json"]),
    (["--config=matrix.json"], ["--config=matrix.json"]),
    (["--help"], ["--help"]),
    (["a b.mtx", "--rtol", "1e-3"], ["a b.mtx", "--rtol", "1e-3"]),
]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(sys.argv[1], "scripts", "solve"), folder)
        with open(os.path.join(folder, "lib.sh"), "w", encoding="utf-8") as library:
            library.write("set -euo pipefail\nrun_prekond() { printf '%s\\n' \"$@\"; }\n")
        for name, text in [("method", '{"rtol": 1e-3, "precond": "fsai"}'), ("matrix", '{"matrix" : "a.mtx"}')]:
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as config:
                config.write(text)
        for arguments, expected in CASES:
            done = subprocess.run(["bash", "./solve", *arguments], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0 or done.stdout.splitlines() != ["solve"] + expected:
                print(f"scripts/solve {' '.join(arguments)}: exit code {done.returncode}, {done.stdout.splitlines()}")
                failed += 1
    sys.exit(f"{failed} of {len(CASES)} cases failed" if failed else 0)


if __name__ == "__main__":
    main()
