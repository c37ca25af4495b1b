#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FSAI on patterns extended by cache lines (Laut, Borrell, Casas, HPDC 2021), compared with powers and postfilters:
cache_lines_fsai.py MATRIX.mtx ... Columns: matrix, pattern, CG's iterations to 1e-6, entries a row of G, gigabytes that CG
reads (entries of A, G and G^T, 12 vectors), the same with 32 bytes for each sector of the source that a row of G or G^T
needs, as if no cache kept it for the next row, and 1e9 operations of the setup. Needs numpy and scipy."""
import sys

import numpy as np
import scipy.io
import scipy.sparse as sparse


def ones(pattern):
    return sparse.csr_matrix((np.ones(pattern.nnz), pattern.indices, pattern.indptr), pattern.shape)


def lower(pattern):
    return sparse.tril(pattern, format="csr").sorted_indices()


def fsai(a, pattern):
    """G on a lower triangle, and the operations of its local systems."""
    ptrs, values, place = pattern.indptr, np.zeros(pattern.nnz), np.full(a.shape[0], -1)
    for i in range(a.shape[0]):
        p = pattern.indices[ptrs[i]:ptrs[i + 1]]
        place[p], rows = np.arange(p.size), a[p]
        at, row = place[rows.indices], np.repeat(np.arange(p.size), np.diff(rows.indptr))
        local = np.zeros((p.size, p.size))
        local[row[at >= 0], at[at >= 0]] = rows.data[at >= 0]
        place[p] = -1
        g = np.linalg.solve(local, np.eye(p.size)[-1])
        values[ptrs[i]:ptrs[i + 1]] = g / np.sqrt(g[-1])
    return sparse.csr_matrix((values, pattern.indices, ptrs), a.shape), (np.diff(ptrs) ** 3.0 / 3 + np.diff(ptrs) ** 2).sum()


def lines_of(n, size):
    return sparse.csr_matrix((np.ones(n), (np.arange(n), np.arange(n) // size)))


def by_lines(pattern, size, of_columns):
    """The pattern with all entries in the lines that y = G x reads; then also in those that y = G^T x reads."""
    lines = lines_of(pattern.shape[0], size)
    result = ones(pattern) @ lines @ lines.T
    return lower(lines @ (lines.T @ ones(result)) if of_columns else result)


def without_small(g, tolerance):
    """G without entries below the tolerance times the norm of their row."""
    norms = np.sqrt(np.asarray(g.multiply(g).sum(axis=1)).ravel())
    h = g.copy()
    h.data *= abs(h.data) >= tolerance * np.repeat(norms, np.diff(h.indptr))
    h.eliminate_zeros()
    return h


def rescaled(g, a):
    return (sparse.diags(1 / np.sqrt(np.asarray((g @ a).multiply(g).sum(axis=1)).ravel())) @ g).tocsr()


def iterations(a, g, b, limit=5000):
    x, r, gt, target = np.zeros_like(b), b.copy(), g.T.tocsr(), 1e-6 * np.linalg.norm(b)
    z = p = gt @ (g @ r)
    for k in range(1, limit + 1):
        q, rho = a @ p, r @ z
        x, r = x + rho / (p @ q) * p, r - rho / (p @ q) * q
        if np.linalg.norm(r) <= target:
            break
        z = gt @ (g @ r)
        p = z + r @ z / rho * p
    return k


def compare(file):
    a = sparse.csr_matrix(scipy.io.mmread(file), dtype=float).sorted_indices()
    n, d = a.shape[0], 1 / np.sqrt(a.diagonal())  # G of D A D is G D^-1
    a.data *= np.repeat(d, np.diff(a.indptr)) * d[a.indices]
    b, one = np.random.default_rng(1).standard_normal(n), lower(a)

    def report(name, g, flops):
        count, sectors = iterations(a, g, b), sum((ones(m) @ lines_of(n, 4)).nnz for m in (g, g.T.tocsr()))
        near = count * (12 * (a.nnz + 2 * g.nnz) + 96 * n) / 1e9
        print(f"| {file} | {name} | {count} | {g.nnz / n:.1f} | {near:.3f} | {near + count * 32e-9 * sectors:.3f} | "
              f"{flops / 1e9:.2f} |", flush=True)

    second = fsai(a, lower(ones(a) @ ones(a)))
    report("power 1", *fsai(a, one))
    report("power 2", *second)
    for delta in (0.02, 0.05, 0.1):
        report(f"power 2, postfilter {delta}", rescaled(without_small(second[0], delta), a), second[1])
    for size, both in ((size, both) for size in (4, 8, 16) for both in (False, True)):
        g, flops = fsai(a, by_lines(one, size, both))
        for tolerance in (0.01, 0.05):
            h, again = fsai(a, lower(ones(without_small(g, tolerance)) + ones(one)))
            report(f"lines of {size}{', of G^T too' if both else ''}, above {tolerance}", h, flops + again)


for argument in sys.argv[1:]:
    compare(argument)
