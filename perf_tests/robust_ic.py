#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Incomplete Cholesky of second order (Tismenetsky, Linear Algebra Appl. 154-156 (1991); Kaporin, Numer. Linear Algebra Appl. 5
(1998)), A ~ U^T U + U^T R + R^T U, compared with `ict` without a bound of a row's entries. A has the unit diagonal. Entries u_ij
above tau stay in U, those above tau^2 in R; smaller ones are added to both diagonals (RIC2), or left out, with ict's shifts
(shifted). A cell has the iterations of CG to 1e-8 over those of ict with as many entries, by interpolation of logarithms. It needs
numba."""
import argparse
import pathlib

import numpy as np
import scipy.io
import scipy.sparse as sparse
from numba import njit
from scipy.sparse.linalg import LinearOperator, cg, splu

SECOND = (0.3, 0.1, 0.03, 0.01, 0.003)  # the first and the last only for the least work
METHODS = {"ict": (*SECOND, 0.001, 0.0003, 0.0001), "RIC2": SECOND, "shifted": SECOND}


@njit
def factor(ptrs, cols, vals, shift, tau, second, compensate, row_norms, room):
    """Rows of U and R, the diagonal first, and which are U's; the most entries at a time, operations, rows broken down."""
    n, live, most, operations, broken = ptrs.size - 1, 0, 0, 0, 0
    d, w, used, at = np.full(n, 1.0 + shift), np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    head, link, start = np.full(n, -1), np.full(n, -1), np.zeros(n + 1, np.int64)
    index, value, kept = np.empty(room, np.int32), np.empty(room), np.empty(room, np.bool_)
    for i in range(n):
        found, norm, k = [0 for _ in range(0)], (1 + shift) ** 2 - 1, head[i]
        for t in range(ptrs[i], ptrs[i + 1]):
            norm += vals[t] ** 2
            if cols[t] > i:
                w[cols[t]], used[cols[t]] = vals[t], True
                found.append(cols[t])
        while k >= 0:
            following, q = link[k], at[k]
            for t in range(q + 1, start[k + 1]):
                if kept[q] or kept[t]:
                    if not used[index[t]]:
                        used[index[t]] = True
                        found.append(index[t])
                    w[index[t]] -= value[q] * value[t]
                    operations += 1
            live -= not kept[q]  # R's column i is not needed again
            if q + 1 < start[k + 1]:
                at[k], link[k], head[index[q + 1]] = q + 1, head[index[q + 1]], k
            k = following
        lost, pivot, end = d[i] <= (0.0 if compensate else 1.5e-8 * (1 + shift)), d[i], start[i] + 1
        broken, scale = broken + lost, tau * np.sqrt(norm if row_norms else max(pivot, 0.0))
        if end + len(found) > room:
            return start, index, value, kept, -1, operations, broken
        for j in sorted(found):
            size = abs(w[j])
            if size > second * scale and not lost:
                index[end], value[end], kept[end] = j, w[j], size > scale
                end += 1
            elif compensate and not lost:  # Ajiz and Jennings
                d[i], d[j] = d[i] + size * np.sqrt(pivot / d[j]), d[j] + size * np.sqrt(d[j] / pivot)
            w[j], used[j] = 0, False
        index[start[i]], value[start[i]], kept[start[i]] = i, np.sqrt(1 + shift if lost else d[i]), True
        for t in range(start[i] + 1, end):
            value[t] /= value[start[i]]
            d[index[t]] -= value[t] ** 2 * kept[t]
        live, start[i + 1] = live + end - start[i], end
        most = max(most, live)
        if start[i] + 1 < end:
            at[i], link[i], head[index[start[i] + 1]] = start[i] + 1, head[index[start[i] + 1]], i
    return start, index, value, kept, most, operations, broken


def measure(a, b, method, tau, room=30_000_000, limit=3000):
    """Entries of U, iterations, operations of all tries, the most entries at a time, all entries, shift, all operations."""
    work, lower, x, steps = 1, (a.nnz + a.shape[0]) / 2, 0 * b, []
    for shift in (0,) if method == "RIC2" else (0, 0.001, 0.01, 0.1, 1):
        start, index, value, kept, most, operations, broken = factor(
            a.indptr, a.indices, a.data, shift, tau, 1 if method == "ict" else tau, method == "RIC2", method == "ict", room)
        work += operations
        if most < 0:
            return np.nan, np.inf, work, np.nan, np.nan, shift, np.inf
        if not broken:
            break
    total, kept = start[-1], kept[:start[-1]]
    u = sparse.csr_matrix((value[:total][kept], index[:total][kept], np.append(0, np.cumsum(kept))[start]), a.shape)
    lu = splu(u.T.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0)  # of a triangle: itself
    inverse = LinearOperator(a.shape, lambda r: lu.solve(lu.solve(r), "T"))
    while not np.linalg.norm(b - a @ x) <= 1.01e-8 * np.linalg.norm(b) and len(steps) < limit:  # the true residual
        x, _ = cg(a, b, x, rtol=1e-8, maxiter=limit - len(steps), M=inverse, callback=lambda _: steps.append(1))
    count = len(steps) if len(steps) < limit else np.inf
    return u.nnz / lower, count, work, most / lower, total / lower, shift, work + count * (a.nnz + 2 * u.nnz)


def like(ict, size, column=1):
    """A figure of ict at a size."""
    p = np.array(sorted(np.log(ict[np.isfinite(ict[:, 1])][:, (0, column)]).tolist()))
    return np.exp(np.interp(np.log(size), *p.T, left=np.nan, right=np.nan)) if len(p) else np.nan


def compare(name, a):
    """Prints a row. For each method and tau the figures of the last rows; which methods converged; the least work over ict's."""
    scale = sparse.diags(1 / np.sqrt(a.diagonal()))
    a = (scale @ a @ scale).tocsr().sorted_indices()
    random = np.random.default_rng(1).standard_normal(a.shape[0])
    for b, mark in ((random, ""), (a @ random, " *")):
        runs = {method: np.array([measure(a, b, method, tau) for tau in taus]) for method, taus in METHODS.items()}
        solved = [np.isfinite(found[:, 1]).any() for found in runs.values()]
        if any(solved):
            break
    ict, found = runs["ict"], np.vstack((runs["RIC2"][1:-1], runs["shifted"][1:-1]))
    cells = [f"{r[1]:.0f}/{like(ict, r[0]):.0f}".replace("inf", "-").replace("nan", "-") for r in found]
    shifts = [" ".join(f"{shift:g}" for shift in part[:, 5]).replace("0 0 0", "0") for part in (ict[1:4], found[3:])]
    print("|", " | ".join([name + mark, *cells, f"{found[2, 0]:.2f} {found[2, 3]:.2f}", *shifts]), "|", flush=True)
    figures = [(r[1] / like(ict, r[0]), r[1] / like(ict, r[3]), r[2] / like(ict, r[0], 2), r[0], r[3], r[4]) for r in found]
    least = [np.nanmin(part[:, 6]) / np.nanmin(ict[:, 6]) for part in runs.values()]
    return np.where(np.isfinite(figures), figures, np.nan), solved, np.where(np.isfinite(least), least, np.nan)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--matrices", required=True, help="folder")
parser.add_argument("--max-rows", type=int, default=30000, help="larger matrices are left out, and those below 400 rows")
arguments, results = parser.parse_args(), []
print("| matrix |", " | ".join(f"{m} {tau}" for m in ("RIC2", "shifted") for tau in SECOND[1:-1]), "| U, most | ict | shifted |\n|---|" + "---:|" * 9)
for file in sorted(pathlib.Path(arguments.matrices).iterdir()):
    matrix = sparse.csr_matrix(scipy.io.mmread(file), dtype=float)
    if 400 <= matrix.shape[0] <= arguments.max_rows and matrix.nnz > matrix.shape[0]:
        results.append(compare(file.name.split(".")[0], matrix))
figures, solved, least = (np.array(part) for part in zip(*results))
for k, what in enumerate(("iterations", "at the most entries", "operations", "U", "most entries", "U and R")):
    print(f"| {what} |", " | ".join(f"{x:.2f}" for x in np.nanmedian(figures[:, :, k], axis=0)), "| | | |")
print("converged:", *solved.sum(axis=0), "of", len(solved), "but not with ict:", (solved[:, 1:].any(axis=1) & ~solved[:, 0]).sum())
print("least work over ict's, quartiles:", *np.nanquantile(least, (0.25, 0.5, 0.75), axis=0)[:, 1:].T.round(2))
