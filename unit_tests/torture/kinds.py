# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The systems of the torture set: small matrices of kinds that break preconditioners, solvers and their arithmetic.

A kind is (entries, b): entries (row, column, value) from 0 in the order of the file, b one value a row. The values are
chosen so that what becomes of a kind does not hang on the last bits.
"""

import random
from fractions import Fraction

TEXTS = {"nan_entry": "nan", "infinite_entry": "inf", "entry_too_large": "1e999"}


def tridiagonal(n, lower, diagonal, upper):
    entries = []
    for i in range(n):
        if i > 0:
            entries.append((i, i - 1, lower))
        entries.append((i, i, diagonal))
        if i + 1 < n:
            entries.append((i, i + 1, upper))
    return entries


def product(n, entries, x=None):
    """A x, each sum rounded once; x of ones by default."""
    sums = [Fraction(0)] * n
    for i, j, value in entries:
        sums[i] += Fraction(value) * Fraction(x[j] if x else 1)
    return [float(value) for value in sums]


def complex_product(n, entries):
    sums = [0j] * n
    for i, _, value in entries:
        sums[i] += value
    return sums


def scaled(entries, factor):
    return [(i, j, value * factor) for i, j, value in entries]


def consistent(n, entries, x=None):
    return entries, product(n, entries, x)


SPD = tridiagonal(12, -1.0, 2.5, -1.0)
GENERAL = tridiagonal(12, -2.0, 4.0, -0.5)
SCALES = ("1e-300", "1e-170", "1e-155", "1e154", "1e170", "1e300")


def dense_spd(n):
    draw = random.Random(7)
    factor = [[draw.uniform(-1, 1) for _ in range(n)] for _ in range(n)]
    entries = []
    for i in range(n):
        for j in range(n):
            low, high = min(i, j), max(i, j)
            value = sum(factor[low][k] * factor[high][k] for k in range(n)) + (n if i == j else 0)
            entries.append((i, j, value))
    return entries


def rank_one_plus_diagonal(n):
    u = [1.0 + (i % 3) for i in range(n)]
    return [(i, j, u[i] * u[j] + (i + 1.0 if i == j else 0.0)) for i in range(n) for j in range(n)]


def arrow(n):
    entries = [(0, j, 1.0) for j in range(1, n)] + [(j, 0, 1.0) for j in range(1, n)]
    return sorted(entries + [(i, i, n + 1.0) for i in range(n)])


def with_dense_row(n):
    return sorted([e for e in tridiagonal(n, -1.0, 4.0, -0.5) if e[0] != 5] + [(5, j, 6.0 if j == 5 else 0.25) for j in range(n)])


def with_dense_column(n):
    return sorted((j, i, value) for i, j, value in with_dense_row(n))


def neumann(n):
    """The 1-D Laplacian without boundary conditions: singular, its kernel the constants."""
    return [(i, j, value if i != j or 0 < i < n - 1 else 1.0) for i, j, value in tridiagonal(n, -1.0, 2.0, -1.0)]


def saddle(n):
    """[I B^T; B 0] with a square, well-conditioned B."""
    half = n // 2
    entries = [(i, i, 2.0) for i in range(half)]
    for i in range(half):
        for j, value in ((i, 1.0), (i - 1, 0.5)):
            if j >= 0:
                entries += [(half + i, j, value), (j, half + i, value)]
    return sorted(entries)


def graded(n, rows, columns):
    """GENERAL or SPD with rows and columns multiplied by powers of ten up to 10^+-`rows` and 10^+-`columns`."""
    base = SPD if rows == columns else GENERAL

    def power(i, most):
        return 10.0 ** round(most * (2 * i / (n - 1) - 1))

    return [(i, j, value * power(i, rows) * power(j, columns)) for i, j, value in base]


def hermitian(n):
    entries = []
    for i in range(n):
        if i > 0:
            entries.append((i, i - 1, -0.6 - 0.8j))
        entries.append((i, i, 2.5 + 0j))
        if i + 1 < n:
            entries.append((i, i + 1, -0.6 + 0.8j))
    return entries


def real_kinds():
    n = 12
    shuffled = list(GENERAL)
    random.Random(3).shuffle(shuffled)
    alternating = [(-1.0) ** i * (1 + i % 3) for i in range(n)]
    without_row = [e for e in SPD if 4 not in e[:2]]
    yield "spd", consistent(n, SPD)
    yield "identity", consistent(n, [(i, i, 1.0) for i in range(n)])
    yield "diagonal", consistent(n, [(i, i, i + 1.0) for i in range(n)])
    yield "one_by_one", ([(0, 0, 4.0)], [2.0])
    yield "one_by_one_negative", ([(0, 0, -4.0)], [2.0])
    yield "one_by_one_zero", ([(0, 0, 0.0)], [2.0])
    yield "dense_spd", consistent(8, dense_spd(8))
    yield "rank_one_plus_diagonal", consistent(n, rank_one_plus_diagonal(n))
    yield "arrow", consistent(n, arrow(n))
    yield "dense_row", consistent(n, with_dense_row(n))
    yield "dense_column", consistent(n, with_dense_column(n))
    yield "convection", consistent(n, GENERAL)
    yield "convection_unsorted", consistent(n, shuffled)
    yield "stored_zeros", consistent(n, sorted(SPD + [(i, j, 0.0) for i, j in ((0, 7), (7, 0), (3, 9), (9, 3))]))
    yield "indefinite", consistent(n, [(i, j, alternating[i] if i == j else 0.125) for i, j, _ in SPD])
    yield "negative_definite", consistent(n, scaled(SPD, -1.0))
    yield "saddle_point", consistent(n, saddle(n))
    yield "skew", consistent(n, [(i, j, 1.0 if j > i else -1.0) for i, j, _ in SPD if i != j], alternating)
    yield "cyclic_shift", ([(i, (i + 1) % n, 1.0) for i in range(n)], [1.0] + [0.0] * (n - 1))
    yield "jordan_block", consistent(n, sorted([(i, i, 1.0) for i in range(n)] + [(i, i + 1, 1.0) for i in range(n - 1)]))
    yield "nilpotent", ([(i, i + 1, 1.0) for i in range(n - 1)], [1.0] * n)
    yield "singular_consistent", consistent(n, neumann(n), alternating)
    yield "singular_inconsistent", (neumann(n), [1.0] * n)
    yield "zero_row_consistent", (without_row, [0.0 if i == 4 else 1.0 for i in range(n)])
    yield "zero_row_inconsistent", (without_row, [1.0] * n)
    yield "zero_row_of_general", ([e for e in GENERAL if e[0] != 4], [1.0] * n)
    yield "zero_column_of_general", ([e for e in GENERAL if e[1] != 4], [1.0] * n)
    yield "no_entries", ([], [1.0] * n)
    yield "no_entries_and_zero_rhs", ([], [0.0] * n)
    yield "no_rows", ([], [])
    yield "zero_rhs", (SPD, [0.0] * n)
    yield "nan_entry", consistent(n, SPD)
    yield "infinite_entry", consistent(n, SPD)
    yield "entry_too_large", consistent(n, SPD)
    yield "nan_rhs", (SPD, [float("nan")] + [1.0] * (n - 1))
    yield "denormal_matrix", consistent(n, scaled(SPD, 1e-310))
    yield "denormal_rhs", (SPD, [1e-310] * n)
    yield "denormal_couplings", consistent(n, [(i, j, value if i == j else -1e-310) for i, j, value in SPD])
    yield "graded_spd", consistent(n, graded(n, 150, 150))
    yield "graded_rows", consistent(n, graded(n, 300, 0))
    yield "graded_columns", consistent(n, graded(n, 0, 300))
    yield "solution_too_large", (scaled(SPD, 1e-300), [1e300] * n)
    yield "solution_too_small", (scaled(SPD, 1e300), [1e-300] * n)


def scaled_kinds():
    """A and b, or b alone, multiplied by powers of ten whose squares under- or overflow."""
    n = 12
    for name, base in (("spd", SPD), ("convection", GENERAL)):
        for scale in SCALES:
            entries = scaled(base, float(scale))
            yield f"{name}_times_{scale}", consistent(n, entries)
        for scale in SCALES:
            yield f"{name}_with_rhs_{scale}", (base, [value * float(scale) for value in product(n, base)])


def complex_kinds():
    n = 12
    general = [(i, j, value * (1 + 0.5j) if i == j else value * (0.5 - 1j)) for i, j, value in GENERAL]
    symmetric = [(i, j, 3 + 1j if i == j else -1 + 0j) for i, j, _ in SPD]
    for name, entries in (("hermitian", hermitian(n)), ("complex_general", general), ("complex_symmetric", symmetric)):
        yield name, (entries, complex_product(n, entries))
    tiny = [(i, j, value * 1e-300) for i, j, value in hermitian(n)]
    yield "hermitian_times_1e-300", (tiny, complex_product(n, tiny))


def kinds():
    """name -> (field, entries, b), in the order of the table."""
    table = {}
    for name, (entries, b) in [*real_kinds(), *scaled_kinds()]:
        table[name] = ("real", entries, b)
    for name, (entries, b) in complex_kinds():
        table[name] = ("complex", entries, b)
    return table
