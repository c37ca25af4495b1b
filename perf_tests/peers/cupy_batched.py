#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuPy's batched solve, cupy.linalg.solve, on batches of tridiagonal systems as dense matrices, which is what it takes:
cupy_batched.py --rows 16,32,64,128 --systems 20000

The systems are those of perf_batched in kind: 2 on the diagonal, -1 next to it times 1 - 0.2 u, u uniform in (0, 1); b = 1.
Medians by CUDA's events, after a first call that is not counted; `residual`: the largest relative residual. Writes
cupy.json."""
import argparse
import os
import statistics
import sys

import cupy

HERE = os.path.dirname(os.path.abspath(__file__))
PERF_TESTS = os.path.dirname(HERE)
sys.path.insert(0, PERF_TESTS)

import results_file  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="16,32,64,128")
    parser.add_argument("--systems", type=int, default=20000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", default=os.path.join(PERF_TESTS, "results", "h200", "batched", "cupy.json"))
    return parser.parse_args()


def make_batch(systems, rows):
    random = cupy.random.default_rng(1)
    beside = -(1 - 0.2 * random.random((systems, rows - 1)))
    a = cupy.zeros((systems, rows, rows))
    at = cupy.arange(rows)
    a[:, at, at] = 2
    a[:, at[1:], at[:-1]] = beside
    a[:, at[:-1], at[1:]] = beside
    return a, cupy.ones((systems, rows, 1))


def measure(a, b, repetitions):
    """Milliseconds, and the largest relative residual."""
    milliseconds = []
    for _ in range(repetitions + 1):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        x = cupy.linalg.solve(a, b)
        end.record()
        end.synchronize()
        milliseconds.append(cupy.cuda.get_elapsed_time(start, end))
    norms = cupy.linalg.norm(b - a @ x, axis=1) / cupy.linalg.norm(b, axis=1)
    return statistics.median(milliseconds[1:]), float(norms.max())


def main():
    arguments = parse_arguments()
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    results = {"cupy": cupy.__version__, "device": device, "systems": arguments.systems, "cases": []}
    for rows in (int(word) for word in arguments.rows.split(",")):
        time, residual = measure(*make_batch(arguments.systems, rows), arguments.repetitions)
        results["cases"].append({"rows": rows, "milliseconds": time, "residual": residual})
        print(f"{rows:5} rows  {time:9.3f} ms  residual {residual:.1e}")
    results_file.store(arguments.out, results)


if __name__ == "__main__":
    main()
