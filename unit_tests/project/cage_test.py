#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matrices of perf_tests/papers/cage.py are those of the collection.

    cage_test.py SOURCE MATRICES

Those that the folder MATRICES has not are compared by their numbers of rows and entries only."""
import gzip
import sys
from pathlib import Path

SIZES = {3: (5, 19), 4: (9, 49), 5: (37, 233), 6: (93, 785), 7: (340, 3084)}


def read(path):
    with (gzip.open(path, "rt") if path.suffix == ".gz" else path.open()) as file:
        words = [line.split() for line in file if not line.startswith("%")][1:]
    return {(int(i) - 1, int(j) - 1): float(value) for i, j, value in words}


def main(source, matrices):
    sys.path.insert(0, str(Path(source) / "perf_tests" / "papers"))
    from cage import cage
    faults = []
    for monomers, size in SIZES.items():
        rows, entries = cage(monomers)
        if (rows, len(entries)) != size:
            faults.append(f"cage{monomers} has {rows} rows and {len(entries)} entries, not {size[0]} and {size[1]}")
        sums = [sum(value for (_, j), value in entries.items() if j == column) for column in range(min(rows, 100))]
        if max(abs(total - 1) for total in sums) > 1e-14:
            faults.append(f"cage{monomers}: the sum of a column is not 1")
        found = sorted(Path(matrices).glob(f"cage{monomers}.mtx*"))
        if not found:
            print(f"cage{monomers} is not in {matrices}: its entries are not compared")
            continue
        known = read(found[0])
        if known.keys() != entries.keys() or max(abs(known[place] - entries[place]) for place in known) > 1e-14:
            faults.append(f"cage{monomers} is not that of {found[0]}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
