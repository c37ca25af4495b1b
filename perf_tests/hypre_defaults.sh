#!/usr/bin/env bash
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# perf_tests/hypre_defaults.sh [OUT_DIR]: time to solution (setup + CG to 1e-6) by the defaults of Prekond's adaptive FSAI
# and of hypre's (3 steps of 5, kap_tolerance 1e-3) on many matrices; hypre_defaults.json and .md in OUT_DIR (default
# perf_tests/results/cpu). Run `scripts/setup peers` first. Wants two idle cores, about ten minutes.
# MATRICES: a folder of .mtx and .mtx.gz files (default ../shared/matrices/spd). GENERATED: model problems.
# REPEATS (5): setups and solves in one process, of which the medians are taken. SMALLEST (1000): rows of a matrix.

set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

out=${1:-$SOURCE_DIR/perf_tests/results/cpu}
matrices=${MATRICES:-$SOURCE_DIR/../shared/matrices/spd}
generated=${GENERATED:-elasticity3d:20 elasticity3d:30 elasticity3d:20,contrast=1 poisson3d:40 poisson2d:300 anisotropic2d:200}
repeats=${REPEATS:-5}
smallest=${SMALLEST:-1000}
mkdir -p "$out"

setup
build peer_hypre_fsai prekond_driver >&2 ||
  { say "if the target peer_hypre_fsai is unknown, hypre or MPI is missing: scripts/setup peers" && exit 1; }
folder=$(build_folder)
work=$(mktemp -d -p /tmp) # /tmp is the same folder in the root
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_PROC_BIND=false

# both MATRIX ARGUMENT...: hypre and Prekond on a matrix; the arguments are what Prekond is told of it.
both() {
  local matrix=$1
  shift
  say "$(basename "$matrix")"
  with_toolchain env OMP_NUM_THREADS=2 "$folder/src/driver/prekond" compare "$@" --rhs a_ones --quiet --patience 0 --repeat "$repeats" \
    --precond adaptive_fsai,adaptive_fsai:setup_scalar=double --report "$work/report.json" </dev/null || true
  with_toolchain env OMP_NUM_THREADS=1 mpirun --oversubscribe --bind-to none -np 2 \
    "$folder/perf_tests/peers/peer_hypre_fsai" "$matrix" 3 5 1e-3 "$repeats" </dev/null >"$work/hypre.json" ||
    echo '{}' >"$work/hypre.json"
  python3 - "$work" >>"$work/rows.jsonl" <<'PYTHON'
import json
import sys

work = sys.argv[1]
with open(work + "/report.json", encoding="utf-8") as file:
    reports = json.load(file)
theirs = {}
with open(work + "/hypre.json", encoding="utf-8") as file:
    for line in file:
        if line.startswith("{"):
            theirs = json.loads(line)
row = {"matrix": reports[0]["matrix"], "machine": reports[0]["prekond"]}
for name, report in zip(("single", "double"), reports):
    precond, solver = report["preconditioner"], report["solver"]
    row[name] = {"setup": precond["setup_seconds"], "solve": solver["seconds"], "iterations": solver["iterations"],
                 "density": precond["density"], "converged": solver["converged"]}
if theirs:
    row["hypre"] = {"setup": theirs["setup_seconds"], "solve": theirs["solve_seconds"],
                    "iterations": theirs["iterations"], "density": theirs["density"],
                    "converged": theirs["iterations"] < 10000}
print(json.dumps(row))
PYTHON
}

for matrix in $generated; do both "$matrix" --generate "$matrix"; done
for file in "$matrices"/*.mtx "$matrices"/*.mtx.gz; do
  [[ -e $file ]] || continue
  # In the header's line of sizes the rows come first.
  rows=$( (case $file in *.gz) zcat "$file" ;; *) cat "$file" ;; esac) 2>/dev/null | awk '!/^%/ { print $1; exit }' || true)
  [[ ${rows:-0} -ge $smallest ]] || continue
  # hypre's program reads no compressed files from outside the root.
  plain=$work/$(basename "${file%.gz}")
  case $file in *.gz) zcat "$file" >"$plain" ;; *) cp "$file" "$plain" ;; esac
  both "$plain" "$plain"
  rm -f "$plain"
done

python3 - "$work" "$out" "$repeats" <<'PYTHON'
import json
import os
import statistics
import sys

work, out, repeats = sys.argv[1:]
with open(os.path.join(work, "rows.jsonl"), encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
for row in rows:
    row["matrix"]["source"] = os.path.basename(row["matrix"]["source"])
    if "hypre" in row:
        total = lambda r: r["setup"] + r["solve"]
        row["ratio"] = total(row["hypre"]) / total(row["single"])
judged = [row for row in rows if "ratio" in row and row["hypre"]["converged"] and row["single"]["converged"]]
slower = [row["matrix"]["source"] for row in judged if row["ratio"] < 1]
machine = rows[0]["machine"]
lines = ["# Time to solution with the defaults, and with hypre's", "",
         "Setup and CG to 1e-6, b = A 1, x0 = 0; hypre: FSAI of 3 steps of 5 with kap_tolerance 1e-3, two processes; Prekond: "
         f"adaptive_fsai, two threads, {machine['backend']}, Kokkos {machine['kokkos']}. Medians of {repeats}. By "
         "`perf_tests/hypre_defaults.sh`.", "",
         f"{len(judged)} matrices on which both converged; hypre's total over Prekond's: median "
         f"{statistics.median(row['ratio'] for row in judged):.2f}, least {min(row['ratio'] for row in judged):.2f}; Prekond "
         f"was slower on {len(slower)}{': ' + ', '.join(slower) if slower else ''}.", "",
         "| matrix | rows | nnz | hypre: setup ms | iterations | CG ms | total | Prekond: setup ms | iterations | CG ms | "
         "total | ratio | double: setup ms | iterations |", "|---|" + "---:|" * 13]


def cells(result):
    shown = str(result["iterations"]) + ("" if result["converged"] else " (not converged)")
    return [f"{1e3 * result['setup']:.2f}", shown, f"{1e3 * result['solve']:.2f}",
            f"{1e3 * (result['setup'] + result['solve']):.2f}"]


for row in rows:
    m = row["matrix"]
    theirs = cells(row["hypre"]) if "hypre" in row else ["failed", "", "", ""]
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
    lines.append("| " + " | ".join([m["source"], f"{m['rows']:,}", f"{m['nnz']:,}", *theirs, *cells(row["single"]), ratio,
                                    *cells(row["double"])[:2]]) + " |")
with open(os.path.join(out, "hypre_defaults.md"), "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
with open(os.path.join(out, "hypre_defaults.json"), "w", encoding="utf-8") as file:
    json.dump(rows, file, indent=1)
    file.write("\n")
print("\n".join(lines[:6]))
PYTHON
