#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of one call includes no header of Kokkos, which would take seconds to compile. Its misuse is answered by at most one screen.

    one_call_test.py SOURCE BUILD COMPILER

SOURCE and BUILD: the folders of the sources and of the build, whose `include` folders have the headers."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCREEN = 24  # lines
PROGRAM = """#include <prekond/prekond.hpp>
int main() {
  std::vector<int> row_ptrs = {0, 1}, col_idxs = {0};
  std::vector<double> values = {2}, b = {1}, x = {0};
  %s
}
"""
USES = {
    "one call": "prekond::solve({row_ptrs, col_idxs, values}, b, x);",
    "one call with options": "prekond::LinearSolverOptions o; o.stopping.rtol = 1e-8; prekond::solve({row_ptrs, col_idxs, values}, b, x, o);",
    "a solver": "prekond::HostSolver s; s.set_matrix({row_ptrs, col_idxs, values}); s.solve(b, x);",
}
MISUSES = {
    "b in single precision": "std::vector<float> f = {1}; prekond::solve({row_ptrs, col_idxs, values}, f, x);",
    "a constant x": "const std::vector<double> y = {0}; prekond::solve({row_ptrs, col_idxs, values}, b, y);",
    "arrays in another order": "prekond::solve({col_idxs, values, row_ptrs}, b, x);",
    "signed 64-bit row pointers": "std::vector<long long> ptrs = {0, 1}; prekond::solve({ptrs, col_idxs, values}, b, x);",
    "arrays without braces": "prekond::solve(row_ptrs, col_idxs, values, b, x);",
    "an unknown option": "prekond::LinearSolverOptions o; o.tolerance = 1e-8; prekond::solve({row_ptrs, col_idxs, values}, b, x, o);",
    "a name for options": "prekond::solve({row_ptrs, col_idxs, values}, b, x, \"amg\");",
    "a matrix for a right-hand side": "prekond::HostSolver s; s.solve({row_ptrs, col_idxs, values}, b, x);",
    "a pointer for x": "double* p = x.data(); prekond::solve({row_ptrs, col_idxs, values}, b, p);",
}


def main(source, build, compiler):
    def compiled(path, *flags):
        return subprocess.run([compiler, "-std=c++20", *(flags or ["-fsyntax-only"]), f"-I{source}/include", f"-I{build}/include", str(path)],
                              capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})

    faults = []
    with tempfile.TemporaryDirectory() as folder:
        def of_text(text):
            path = Path(folder) / "program.cpp"
            path.write_text(PROGRAM % text, encoding="utf-8")
            return compiled(path)

        included = compiled(Path(source) / "examples" / "one_call.cpp", "-M")
        if included.returncode != 0 or "prekond.hpp" not in included.stdout or "Kokkos_Core.hpp" in included.stdout:
            faults.append(f"the headers of examples/one_call.cpp:\n{included.stdout}{included.stderr}")
        for what, text in USES.items():
            done = of_text(text)
            if done.returncode != 0:
                faults.append(f"{what} does not compile:\n{done.stderr}")
        for what, text in MISUSES.items():
            done = of_text(text)
            lines = done.stderr.splitlines()
            if done.returncode == 0:
                faults.append(f"{what}: it compiles")
            elif len(lines) > SCREEN:
                faults.append(f"{what}: {len(lines)} lines:\n{done.stderr}")
            elif not any("program.cpp:5" in line and "error" in line for line in lines):
                faults.append(f"{what}: no error names the line of the call:\n{done.stderr}")
    print("\n".join(faults) or f"{len(MISUSES)} misuses, each answered within {SCREEN} lines")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
