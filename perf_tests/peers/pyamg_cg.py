#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CG with pyamg's multigrid, by smoothed aggregation and classical, each by its defaults for symmetric positive definite matrices.

    pyamg_cg.py MATRIX.mtx[.gz] [--unknowns 1] [--repetitions 3]

Prints a line of JSON for each of the two: setup_seconds and solve_seconds (medians), iterations, residual. b random, to a relative residual of
1e-6. `--unknowns`: of a node; smoothed aggregation has a vector of the near null space for each. pyamg computes mostly on one core.
"""
import argparse
import json
import statistics
import time

import numpy
import pyamg
from scipy.io import mmread
from scipy.sparse import csr_matrix


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix")
    parser.add_argument("--unknowns", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    a = csr_matrix(mmread(arguments.matrix))
    a.sort_indices()
    b = numpy.random.default_rng(1).standard_normal(a.shape[0])
    near_null_space = numpy.kron(numpy.ones((a.shape[0] // arguments.unknowns, 1)), numpy.eye(arguments.unknowns))
    setups = {"smoothed aggregation": lambda: pyamg.smoothed_aggregation_solver(a, B=near_null_space, symmetry="symmetric"),
              "classical": lambda: pyamg.ruge_stuben_solver(a)}
    for setting, setup in setups.items():
        setup_seconds, solve_seconds = [], []
        for _ in range(arguments.repetitions):
            begin = time.perf_counter()
            levels = setup()
            middle = time.perf_counter()
            residuals = []
            x = levels.solve(b, tol=1e-6, maxiter=3000, accel="cg", residuals=residuals)
            setup_seconds.append(middle - begin)
            solve_seconds.append(time.perf_counter() - middle)
        print(json.dumps({"setting": setting, "setup_seconds": statistics.median(setup_seconds), "solve_seconds": statistics.median(solve_seconds),
                          "iterations": len(residuals) - 1, "residual": float(numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b))}), flush=True)


if __name__ == "__main__":
    main()
