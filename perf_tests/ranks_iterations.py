#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Iterations of multigrid on several ranks, with consecutive rows, parts by METIS, and rows given to ranks at random.

    ranks_iterations.py --prekond build/trilinos/src/driver/prekond [--applications FOLDER] [--ranks 1 2 3 4 7]

FOLDER has matrices NAME.mtx.gz with coordinates NAME_x.mtx, where there are any. Standard output: Markdown.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

from results_file import lines

# With the options that follow a name.
GENERATED = ["poisson3d:30", "poisson3d:30 -p cycle=k -s flexible=true", "elasticity3d:12", "elasticity3d:12 --coordinates grid",
             "elasticity3d:12 --coordinates grid -p cycle=k -s flexible=true", "anisotropic2d:150", "anisotropic2d:150 -p cycle=k -s flexible=true",
             "stretched3d:25", "irregular3d:20,unknowns=3,mean=40"]
GATHER_ROWS = 500  # so that levels of these small matrices are distributed
METHOD = ["--precond", "amg", "-p", f"gather_rows={GATHER_ROWS}", "coarse_size=100", "--solver", "cg", "--rhs", "random", "--rtol", "1e-8"]


def arguments_of(matrix):
    if not matrix.endswith(".mtx.gz"):
        return ["--generate", *matrix.split()]
    coordinates = Path(matrix.replace(".mtx.gz", "_x.mtx"))
    has_nodes = "elasticity" in matrix and coordinates.exists()
    return [matrix] + (["--coordinates", str(coordinates)] if has_nodes else [])


def solve(prekond, ranks, matrix, partition):
    """Iterations of a solve, and the report."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), prekond, "solve", *METHOD, *arguments_of(matrix),
                              *(["--partition", partition] if ranks > 1 else []), "--report", file.name],
                             capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if run.returncode not in (0, 4):  # 4: it has not converged
            raise SystemExit(f"{matrix} on {ranks} ranks ({partition}): {run.stderr.strip()}")
        report = json.load(open(file.name, encoding="utf-8"))
        result = report["solver"]
        return (result["iterations"] if result["converged"] else f"{result['iterations']} (not converged)"), report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prekond", required=True)
    parser.add_argument("--applications", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4, 7])
    options = parser.parse_args()
    matrices = GENERATED + (sorted(str(file) for file in options.applications.glob("*.mtx.gz")) if options.applications else [])
    rows = []
    for matrix in matrices:
        name = matrix.split("/")[-1].removesuffix(".mtx.gz").replace(" -s flexible=true", "")
        on_one, report = solve(options.prekond, 1, matrix, "rows")
        count = report["matrix"]["rows"]
        for label in ("rows", "metis", "random"):
            cells = []
            for ranks in options.ranks:
                if ranks == 1:
                    cells.append(on_one)
                    continue
                partition = label
                if label == "random":
                    choose = random.Random(ranks)
                    partition = tempfile.mktemp(suffix=".mtx")
                    Path(partition).write_text("%%MatrixMarket matrix array integer general\n" + f"{count} 1\n" +
                                               "".join(f"{choose.randrange(ranks)}\n" for _ in range(count)), encoding="utf-8")
                cells.append(solve(options.prekond, ranks, matrix, partition)[0])
                if label == "random":
                    os.remove(partition)
            rows.append([name, {"rows": "consecutive", "metis": "METIS", "random": "at random"}[label], *cells])
    print("\n".join(lines(["matrix", "rows of ranks", *(f"{ranks} rank{'s' if ranks > 1 else ''}" for ranks in options.ranks)], rows)))


if __name__ == "__main__":
    main()
