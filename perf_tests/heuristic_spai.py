#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of the dynamic SPAI chosen by heuristics, as in HeuriSPAI (2023), compared with those of Grote and
Huckle, which dynamic_spai has, with its limits. A cell has BiCGSTAB's iterations to 1e-8 (median of three b; - where it has not
converged), entries and steps a column of M, and: setup, the sum of n1 n2^2 over columns and steps; solve, four times the entries
of A and M an iteration; and all operations, where the QR goes on from step to step, as the library's, with the choice. These are
1e6 operations for the first rule and ratios to them for the others. The first rule's last number is the ratio of all operations
with r^T A e_j summed along the rows that give the candidates instead of along their columns. Needs numpy and scipy."""
import argparse
import os

import numpy as np
import scipy.io
import scipy.sparse as sparse

MATRICES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "matrices")
NAMES = ("bfwa782 pde900 jpwh_991 orsirr_1 sherman4 rdb1250 epb0 watt_1 rdb2048_noL orsreg_1 add32 sherman3 pores_2 dw2048 "
         "BentPipe2D100 nos6 bcsstk27 msc01440 bcsstk14 wathen_30_30 ani4 bcsstk16")
# start pattern ({k} or that of column k of A), gain
RULES = {"Grote and Huckle": ("diagonal", "exact"), "estimate": ("diagonal", "estimate"),
         "rows of the largest r": ("diagonal", "largest"), "given in advance": ("diagonal", "given"),
         "column, estimate": ("column", "estimate")}


def entries_of(ptrs, chosen):
    """Positions of the entries of the chosen rows, and to which of them each belongs."""
    lengths = ptrs[chosen + 1] - ptrs[chosen]
    row = np.repeat(np.arange(chosen.size), lengths)
    return np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths, lengths) + ptrs[chosen][row], row


class Growth:
    def __init__(self, a, rule, limits):
        self.rows, self.cols, self.limits = a.tocsr(), a.tocsc(), limits
        self.start, self.gain = RULES[rule]
        self.square, self.lengths = np.asarray(a.multiply(a).sum(axis=0)).ravel(), np.diff(self.cols.indptr)
        self.steps, self.anew, self.qr, self.choice, self.by_rows = 0, 0.0, 0.0, 0.0, 0.0
        self.given = ((abs(a) + sparse.eye(a.shape[0]))**2).tocsc()
        patterns, values = zip(*(self.column(k) for k in range(a.shape[0])))
        ptrs = np.concatenate([[0], np.cumsum([j.size for j in patterns])])
        self.m = sparse.csc_matrix((np.concatenate(values), np.concatenate(patterns), ptrs), a.shape).tocsr()

    def column(self, k):
        c, known, j = self.cols, 0, np.array([k])
        if self.start == "column" and self.lengths[k] <= self.limits.max_fill:
            j = np.union1d(j, c.indices[c.indptr[k]:c.indptr[k + 1]])
        for step in range(self.limits.max_steps + 1):
            at, col = entries_of(c.indptr, j)
            i = np.union1d(c.indices[at], [k])
            local = np.zeros((i.size, j.size))
            local[np.searchsorted(i, c.indices[at]), col] = c.data[at]
            m = np.linalg.lstsq(local, (i == k) * 1.0, rcond=None)[0]
            r, self.anew = (i == k) - local @ m, self.anew + i.size * j.size**2
            norm, self.qr, known = np.linalg.norm(r), self.qr + 2.0 * i.size * (j.size**2 - known**2), j.size
            if norm <= max(self.limits.epsilon, 1e-14) or step == self.limits.max_steps or j.size >= self.limits.max_fill or not (
                    new := self.choose(k, j, i, r, norm**2)).size:
                break
            j, self.steps = np.concatenate([j, new]), self.steps + 1
        return j, m

    def choose(self, k, j, i, r, square):
        """The best new indices by (r^T A e_j)^2 / ||A e_j||^2, or by the largest r_i a_ij instead of their sum."""
        reached = abs(r) > 1e-10 * np.sqrt(square)
        if self.gain == "largest":  # only from the rows of the largest residuals, as many as a step may add
            reached &= abs(r) >= np.sort(abs(r))[-min(self.limits.step_size, r.size)]
        at, row = entries_of(self.rows.indptr, i[reached])
        found, place = np.unique(self.rows.indices[at], return_inverse=True)
        gains, exact = np.zeros(found.size), self.gain in ("exact", "given")
        products = r[reached][row] * self.rows.data[at]
        (np.add if exact else np.maximum).at(gains, place, products if exact else abs(products))
        mine = ~np.isin(found, j)
        if self.gain == "given":
            mine &= np.isin(found, self.given.indices[self.given.indptr[k]:self.given.indptr[k + 1]])
        found, gains = found[mine], gains[mine]**2 / np.maximum(self.square[found[mine]], 1e-300)
        self.by_rows += 2 * at.size
        self.choice += at.size + 4 * self.lengths[found].sum() if exact else 2 * at.size
        mean = gains.sum() / max(gains.size, 1) * (1 - 1e-14)
        best = np.argsort(-gains, kind="stable")[:min(self.limits.step_size, self.limits.max_fill - j.size)]
        return np.sort(found[best[(gains[best] >= mean) & (gains[best] > 1e-14 * square)]])


def iterations(a, m, b, limit=5000):
    """BiCGSTAB for A M y = b; infinite where it has not converged."""
    r, shadow, p, rho, target = b, b, b, b @ b, 1e-8 * np.linalg.norm(b)
    with np.errstate(all="ignore"):
        for k in range(1, limit + 1):
            v = a @ (m @ p)
            alpha = rho / (shadow @ v)
            s = r - alpha * v
            t = a @ (m @ s)
            omega = (t @ s) / (t @ t)
            r = s - omega * t
            if min(np.linalg.norm(s), np.linalg.norm(r)) <= target:
                return k
            rho, before = shadow @ r, rho
            p = r + rho / before * alpha / omega * (p - omega * v)
    return np.inf


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--matrices", default=MATRICES, help="the folder of the folders")
parser.add_argument("--only", default=NAMES, help="names of matrices, with spaces")
for option, value in (("epsilon", 0.4), ("max_steps", 5), ("step_size", 5), ("max_fill", 50)):
    parser.add_argument("--" + option, type=type(value), default=value, help="that of dynamic_spai")
arguments = parser.parse_args()
files = {name.split(".mtx")[0]: os.path.join(folder, name) for folder, _, names in os.walk(arguments.matrices) for name in names}
ratios, saved = {rule: [] for rule in RULES}, []
print("| matrix | " + " | ".join(RULES) + " |\n" + "|---" * (1 + len(RULES)) + "|")
for matrix in arguments.only.split():
    A = sparse.csr_matrix(scipy.io.mmread(files[matrix]), dtype=float)
    cells, base = [], None
    for rule in RULES:
        g = Growth(A, rule, arguments)
        count = np.median([iterations(A, g.m, np.random.default_rng(seed).standard_normal(A.shape[0])) for seed in (1, 2, 3)])
        count = count if np.isfinite(count) else np.nan
        solve = 4 * count * (A.nnz + g.m.nnz)
        work = np.array([g.anew, solve, g.qr + g.choice + solve])
        base = work if base is None else base
        shown = ", ".join([f"{w:.2f}" for w in work / base])
        if rule == "Grote and Huckle":
            saved.append(1 + (g.by_rows - g.choice) / work[2])
            shown = ", ".join([f"{w / 1e6:.3g}" for w in work] + [f"{saved[-1]:.2f}"])
        ratios[rule].append(work / base)
        cells.append(f"{count:.0f}, {g.m.nnz / A.shape[0]:.1f}, {g.steps / A.shape[0]:.1f}, {shown}".replace("nan", "-"))
    print(f"| {matrix} | " + " | ".join(cells) + " |", flush=True)
means = [", ".join(f"{m:.2f}" for m in np.exp(np.nanmean(np.log(r), axis=0))) for r in ratios.values()]
print(f"| geometric mean | {np.exp(np.nanmean(np.log(saved))):.2f} | " + " | ".join(means[1:]) + " |")
halves = [", ".join(str(np.sum(h)) for h in (np.array(r) <= 0.5).T) for r in ratios.values()]
print("| at most half | | " + " | ".join(halves[1:]) + " |")
