#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the matrices of the tests: small ones of many kinds, each from a formula and without the work of others.

    make.py [--check]     --check: writes nothing, and fails where a file has another text

Every run makes the same text. The folders spd, symmetric, general and complex say what the tests may do with a matrix;
batch has systems of one pattern.
"""

import math
import sys
from pathlib import Path


def sequence(seed):
    """Numbers in (0, 1) that look random, the same everywhere: a linear congruential generator of 64 bits."""
    state = seed
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield ((state >> 11) + 0.5) / 2**53


def add(a, i, j, value):
    a[i, j] = a.get((i, j), 0) + value


def add_edge(a, i, j, weight):
    """A conductance between two nodes."""
    for row, col in ((i, j), (j, i)):
        add(a, row, row, weight)
        add(a, row, col, -weight)


def grid(n):
    """(i, j, number of a point) of n x n points."""
    return [(i, j, i + n * j) for j in range(n) for i in range(n)]


def poisson2d_jumps(n=11):
    """-div(k grad u) on a square, with u = 0 outside; k jumps by 10^4 in a checkerboard of four squares."""
    a = {}
    k = lambda i, j: 1e4 if (2 * i < n) == (2 * j < n) else 1.0
    for i, j, p in grid(n):
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            other = (i + di, j + dj)
            if 0 <= other[0] < n and 0 <= other[1] < n:
                weight = 2 / (1 / k(i, j) + 1 / k(*other))
                add(a, p, p, weight)
                add(a, p, other[0] + n * other[1], -weight)
            else:
                add(a, p, p, 2 * k(i, j))
    return n * n, a


def elasticity_strip(cells=10, height=2):
    """Plane strain with linear triangles on a strip that is clamped at one end; Poisson's ratio 0.3; two unknowns a node."""
    lam, mu = 0.3 / (1.3 * 0.4), 1 / 2.6
    node = lambda i, j: (i - 1) * (height + 1) + j  # of column i >= 1: those of column 0 do not move
    a = {}
    for i in range(cells):
        for j in range(height):
            for corners in (((i, j), (i + 1, j), (i, j + 1)), ((i + 1, j + 1), (i, j + 1), (i + 1, j))):
                (x0, y0), (x1, y1), (x2, y2) = corners
                gradients = [(y1 - y2, x2 - x1), (y2 - y0, x0 - x2), (y0 - y1, x1 - x0)]  # area 1/2
                for p, (bp, cp) in zip(corners, gradients):
                    for q, (bq, cq) in zip(corners, gradients):
                        if p[0] == 0 or q[0] == 0:
                            continue
                        block = ((lam * bp * bq + mu * (2 * bp * bq + cp * cq), lam * bp * cq + mu * cp * bq),
                                 (lam * cp * bq + mu * bp * cq, lam * cp * cq + mu * (2 * cp * cq + bp * bq)))
                        for r in range(2):
                            for s in range(2):
                                add(a, 2 * node(*p) + r, 2 * node(*q) + s, block[r][s] / 2)
    return 2 * cells * (height + 1), a


def badly_scaled(n=8):
    """D (the five-point Laplacian) D, d from 1e-5 to 1e5 in no order."""
    a, numbers = {}, sequence(1)
    d = [10 ** (10 * next(numbers) - 5) for _ in range(n * n)]
    for i, j, p in grid(n):
        add(a, p, p, 4.0)
        for q in ([p + 1] if i + 1 < n else []) + ([p + n] if j + 1 < n else []):
            a[p, q] = a[q, p] = -1.0
    return n * n, {(i, j): value * d[i] * d[j] for (i, j), value in a.items()}


def beam(n=70):
    """u'''' on a clamped beam: a condition number of 10^6."""
    a = {}
    for i in range(n):
        for step, value in ((0, 6.0), (1, -4.0), (2, 1.0)):
            if i + step < n:
                a[i, i + step] = a[i + step, i] = value
    a[0, 0] = a[n - 1, n - 1] = 7.0
    return n, a


def graph_laplacian(n=80):
    """Whole numbers: a ring with chords, and one node that is connected with every fourth; the diagonal is one larger than its row."""
    a = {}
    for i in range(1, n):
        add(a, i, i, 1)
        add_edge(a, i, i % (n - 1) + 1, 2)
        if i % 5 == 0 and i + 17 < n:
            add_edge(a, i, i + 17, 1)
        if i % 4 == 0:
            add_edge(a, 0, i, 3)
    add(a, 0, 0, 1)
    return n, a


def saddle_point(n=5):
    """Stokes on a staggered grid of n x n cells: velocities with a Laplacian, pressures without a diagonal."""
    u = lambda i, j: i - 1 + (n - 1) * j  # on the side between cells i - 1 and i
    v = lambda i, j: n * (n - 1) + i + n * (j - 1)
    p = lambda i, j: 2 * n * (n - 1) + i + n * j
    a = {}
    for number, across, along in ((u, 0, 1), (v, 1, 0)):
        inside = lambda i, j: (1 <= i < n and 0 <= j < n) if number is u else (0 <= i < n and 1 <= j < n)
        for i in range(n):
            for j in range(n):
                if inside(i, j):
                    add(a, number(i, j), number(i, j), 4.0)
                    for other in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                        if inside(*other):
                            add(a, number(i, j), number(*other), -1.0)
                    for cell, sign in (((i, j), 1.0), ((i - (number is u), j - (number is v)), -1.0)):
                        if cell != (0, 0):  # whose pressure is 0
                            a[number(i, j), p(*cell) - 1] = a[p(*cell) - 1, number(i, j)] = sign
    return 2 * n * (n - 1) + n * n - 1, a


def skew(n=30):
    """Entries a_ij = -a_ji: no diagonal, and a bandwidth of 3."""
    a, numbers = {}, sequence(2)
    for i in range(n):
        for step in (1, 3):
            if i + step < n:
                a[i + step, i] = 2 * next(numbers) - 1 + (2 if step == 1 else 0)
                a[i, i + step] = -a[i + step, i]
    return n, a


def convection_diffusion2d(n=11, wind=40.0):
    """-laplace u + w . grad u with a wind that turns around the centre, upwind differences."""
    a, h = {}, 1 / (n + 1)
    for i, j, p in grid(n):
        x, y = (i + 1) * h - 0.5, (j + 1) * h - 0.5
        for di, dj, speed in ((1, 0, wind * y), (-1, 0, -wind * y), (0, 1, -wind * x), (0, -1, wind * x)):
            weight = 1 + h * max(0.0, -speed)  # the point that the wind comes from counts more
            add(a, p, p, weight)
            if 0 <= i + di < n and 0 <= j + dj < n:
                a[p, p + di + n * dj] = -weight
    return n * n, a


def convection(n=90):
    """A wind along a line, seven times as strong as diffusion: far from normal."""
    a = {}
    for i in range(n):
        a[i, i] = 2.0 + 7.0
        if i > 0:
            a[i, i - 1] = -1.0 - 7.0
        if i + 1 < n:
            a[i, i + 1] = -1.0
    return n, a


def circuit(stars=24):
    """Nodes with 3 to 14 strong connections, weak couplings between all parts, and a bus of 18 nodes with very weak ones."""
    a, numbers, ends, centres = {}, sequence(3), [], []
    n = 0
    for _ in range(stars):
        centres.append(n)
        leaves = 3 + int(12 * next(numbers))
        weight = 10 ** (3 * next(numbers))
        add(a, n, n, 0.01 * weight)
        for leaf in range(n + 1, n + 1 + leaves):
            add_edge(a, n, leaf, weight)
            add(a, leaf, leaf, weight * next(numbers))
            add(a, leaf, n, -0.3 * weight)  # a controlled source
            ends.append((leaf, weight))
        n += 1 + leaves
    for (one, weight), (other, weight_of_other) in zip(ends, ends[7:] + ends[:7]):
        add_edge(a, one, other, 2e-3 * min(weight, weight_of_other))
    bus = ends[::len(ends) // 18][:18]
    for one, weight in bus:
        for other, weight_of_other in bus:
            if one < other:
                add_edge(a, one, other, 1e-3 * min(weight, weight_of_other))
    return n, a


def zero_diagonal(n=40):
    """A dominant matrix of entries of 1e-8 to 1e8 whose columns are moved: the diagonal is mostly zero."""
    a, numbers = {}, sequence(4)
    for i in range(n):
        scale = 10 ** (16 * next(numbers) - 8)
        for step in (-9, -1, 0, 2, 7):
            if 0 <= i + step < n:
                value = 4 + next(numbers) if step == 0 else next(numbers) - 0.5
                a[i, (17 * (i + step) + 5) % n] = scale * value
    return n, a


def skewed_rows(n=90):
    """Rows of 1 to 90 entries: one of all, a few long ones, and some with their diagonal entry only."""
    a, numbers = {}, sequence(5)
    for i in range(n):
        length = n - 1 if i == 60 else 25 if i % 20 == 7 else 0 if i % 9 == 4 else 3
        for k in range(length):
            j = (i + 1 + k * (1 if length == n - 1 else 1 + int((n - 2) / length))) % n
            if j != i:
                a[i, j] = next(numbers) - 0.5
        a[i, i] = 1 + sum(abs(value) for (row, _), value in a.items() if row == i)
    return n, a


def links(n=40):
    """A pattern: who points to whom, with themselves."""
    a, numbers = {}, sequence(6)
    for i in range(n):
        a[i, i] = 1
        for _ in range(3):
            a[i, int(n * next(numbers) ** 2)] = 1
    return n, a


def dense(n=12):
    """1 / (i + j + 1), and 1 on the diagonal."""
    return n, {(i, j): 1 / (i + j + 1) + (i == j) for i in range(n) for j in range(n)}


def rectangular(rows=14, cols=9):
    """More rows than columns: tests leave it out, or refuse it."""
    return (rows, cols), {(i, (5 * i + 2 * k) % cols): 1.0 + i + k for i in range(rows) for k in range(3)}


def magnetic(n=6):
    """The Laplacian of a charge in a magnetic field: Hermitian, positive definite."""
    a = {}
    for i, j, p in grid(n):
        a[p, p] = 4.0 + 0j
        if i + 1 < n:
            a[p, p + 1], a[p + 1, p] = -1.0 + 0j, -1.0 + 0j
        if j + 1 < n:
            phase = complex(math.cos(0.7 * i), math.sin(0.7 * i))
            a[p, p + n], a[p + n, p] = -phase, -phase.conjugate()
    return n * n, a


def helmholtz(n=7):
    """-laplace u - (2 - i) u / 2 on a square: complex symmetric."""
    a = {}
    for i, j, p in grid(n):
        a[p, p] = 3.0 + 0.5j
        for q in ([p + 1] if i + 1 < n else []) + ([p + n] if j + 1 < n else []):
            a[p, q] = a[q, p] = -1.0 + 0j
    return n * n, a


def reaction(step, n=14):
    """A Jacobian of a chain of reactions after `step` steps: the same pattern, rates that grow."""
    a = {}
    for i in range(n):
        for j in sorted({0, max(i - 1, 0), i, min(i + 1, n - 1), n - 1}):
            a[i, j] = -0.1 * (1 + step) * math.sin(1 + i + 2 * j)
        a[i, i] = 1 + (1 + step) * (1 + 0.2 * i)
    return n, a


def number(value, field):
    if field == "complex":
        return f"{value.real:.10g} {value.imag:.10g}"
    return f"{value:.10g}" if field == "real" else str(value)


def text_of(matrix, field, symmetry, layout, title):
    size, a = matrix
    rows, cols = size if isinstance(size, tuple) else (size, size)
    kept = {"general": lambda i, j: True, "skew-symmetric": lambda i, j: i > j}.get(symmetry, lambda i, j: i >= j)
    places = sorted(((j, i) for i, j in a if kept(i, j)))
    lines = [f"%%MatrixMarket matrix {layout} {field} {symmetry}", f"% {title}"]
    if layout == "array":
        lines += [f"{rows} {cols}"] + [number(a[i, j], field) for j, i in places]
    else:
        lines += [f"{rows} {cols} {len(places)}"]
        lines += [f"{i + 1} {j + 1}" + ("" if field == "pattern" else " " + number(a[i, j], field)) for j, i in places]
    return "\n".join(lines) + "\n"


FILES = [("spd/poisson2d_jumps", poisson2d_jumps, "real", "symmetric"), ("spd/elasticity_strip", elasticity_strip, "real", "symmetric"),
         ("spd/badly_scaled", badly_scaled, "real", "symmetric"), ("spd/beam", beam, "real", "symmetric"),
         ("spd/graph_laplacian", graph_laplacian, "integer", "symmetric"), ("symmetric/saddle_point", saddle_point, "real", "symmetric"),
         ("general/skew", skew, "real", "skew-symmetric"), ("general/convection_diffusion2d", convection_diffusion2d, "real", "general"),
         ("general/convection", convection, "real", "general"), ("general/circuit", circuit, "real", "general"),
         ("general/zero_diagonal", zero_diagonal, "real", "general"), ("general/skewed_rows", skewed_rows, "real", "general"),
         ("general/links", links, "pattern", "general"), ("general/dense", dense, "real", "general"),
         ("general/rectangular", rectangular, "real", "general"), ("complex/magnetic", magnetic, "complex", "hermitian"),
         ("complex/helmholtz", helmholtz, "complex", "symmetric")]


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    differ = []
    steps = [(f"batch/reaction_{step}", lambda step=step: reaction(step), "real", "general") for step in range(3)]
    for name, make, field, symmetry in FILES + steps:
        title = " ".join((make.__doc__ or reaction.__doc__).split())
        layout = "array" if name == "general/dense" else "coordinate"
        file = Path(__file__).resolve().parent / f"{name}.mtx"
        text = text_of(make(), field, symmetry, layout, title)
        if not sys.argv[1:]:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        elif not file.is_file() or file.read_text() != text:
            differ.append(file.name)
    if differ:
        sys.exit(f"not what make.py writes: {', '.join(differ)}")


if __name__ == "__main__":
    main()
