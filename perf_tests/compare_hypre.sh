#!/usr/bin/env bash
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# perf_tests/compare_hypre.sh [OUT_DIR]: adaptive FSAI compared with hypre's on one and two cores; hypre.json and hypre.md in
# OUT_DIR (default perf_tests/results/cpu). Run `scripts/setup peers` first. Wants two idle cores, about ten minutes.
# MATRIX (default elasticity3d:30), ROUNDS (3): interleaved rounds, REPEATS (3): setups and solves in one process.

set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

out=${1:-$SOURCE_DIR/perf_tests/results/cpu}
matrix=${MATRIX:-elasticity3d:30}
rounds=${ROUNDS:-3}
repeats=${REPEATS:-3}
mkdir -p "$out"

setup
build peer_hypre_fsai perf_adaptive_fsai prekond_driver >&2 ||
  { say "if the target peer_hypre_fsai is unknown, hypre or MPI is missing: scripts/setup peers" && exit 1; }
folder=$(build_folder)
work=$(mktemp -d -p /tmp) # /tmp is the same folder in the root
trap 'rm -rf "$work"' EXIT

# One process a core, or one thread a core; nothing is bound, in either.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_PROC_BIND=false

# hypre PROCESSES STEPS STEP_SIZE KAP_TOLERANCE
hypre() {
  say "round $round: hypre, $2 steps of $3, kap_tolerance $4, $1 process(es)"
  with_toolchain env OMP_NUM_THREADS=1 mpirun --oversubscribe --bind-to none -np "$1" \
    "$folder/perf_tests/peers/peer_hypre_fsai" "$matrix" "$2" "$3" "$4" "$repeats" </dev/null >>"$work/hypre.jsonl"
}

# ours THREADS: setup times of 30 steps of 1 by the performance test; iterations, CG, and hypre's default settings in
# Prekond's words by the command.
ours() {
  local precision
  say "round $round: Prekond, $1 thread(s)"
  with_toolchain env OMP_NUM_THREADS="$1" "$folder/perf_tests/perf_adaptive_fsai" "--matrix=$matrix" --steps=30 \
    --tolerance=0 "--repetitions=$repeats" '--benchmark_filter=^setup/' "--benchmark_out=$work/setup_$1_$round.json" \
    --benchmark_out_format=json </dev/null >"$work/log" 2>&1 || { tail "$work/log" >&2 && return 1; }
  for precision in single double; do
    solve "$1" "$precision" 30 1 0
    solve "$1" "$precision" 3 5 1e-3
  done
}

# solve THREADS PRECISION STEPS STEP_SIZE STEP_TOLERANCE
solve() {
  with_toolchain env OMP_NUM_THREADS="$1" "$folder/src/driver/prekond" solve --generate "$matrix" --rhs a_ones --quiet \
    --precond adaptive_fsai -p setup_scalar="$2" -p max_steps="$3" -p step_size="$4" -p step_tolerance="$5" \
    -p tolerance=0 --repeat "$repeats" --report "$work/solve_$2_$3_$1_$round.json" </dev/null
}

for round in $(seq "$rounds"); do
  for cores in 1 2; do
    hypre "$cores" 30 1 0
    ours "$cores"
    hypre "$cores" 3 5 1e-3
  done
done

python3 - "$work" "$out" "$matrix" "$rounds" "$repeats" <<'PYTHON'
import glob
import json
import os
import re
import statistics
import sys

work, out, matrix, rounds, repeats = sys.argv[1:]
samples = {}  # (method, cores) -> quantity -> values of all rounds


def add(method, cores, **values):
    for quantity, value in values.items():
        samples.setdefault((method, cores), {}).setdefault(quantity, []).append(value)


with open(os.path.join(work, "hypre.jsonl"), encoding="utf-8") as file:
    for line in file:
        if not line.startswith("{"):
            continue
        run = json.loads(line)
        method = f"hypre, {run['max_steps']} steps of {run['step_size']}, kap {run['kap_tolerance']:g}"
        add(method, run["processes"], setup=run["setup_seconds"], solve=run["solve_seconds"], density=run["density"],
            iterations=run["iterations"])

for path in sorted(glob.glob(os.path.join(work, "setup_*.json"))):
    cores = int(os.path.basename(path).split("_")[1])
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    # Without repetitions Google Benchmark writes no median.
    medians = [run for run in runs if run.get("aggregate_name") == "median"] or runs
    for run in medians:
        precision = re.search("/(single|double)/", run["name"]).group(1)
        seconds = run["real_time"] * {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9}[run["time_unit"]]
        add(f"Prekond {precision}, 30 steps of 1", cores, setup=seconds, density=run["density"])

rows = 0
environment = {}
for path in sorted(glob.glob(os.path.join(work, "solve_*.json"))):
    precision, steps, cores = os.path.basename(path).split("_")[1:4]
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    rows, environment = report["matrix"]["rows"], report["prekond"]
    if steps == "30":
        method, more = f"Prekond {precision}, 30 steps of 1", {}
    else:
        precond = report["preconditioner"]
        method = f"Prekond {precision}, 3 steps of 5, step_tolerance 0.001"
        more = {"setup": precond["setup_seconds"], "density": precond["density"]}
    add(method, int(cores), solve=report["solver"]["seconds"], iterations=report["solver"]["iterations"], **more)

results = {key: {quantity: statistics.median(values) for quantity, values in of.items()} for key, of in samples.items()}
for result in results.values():
    result["total"] = result["setup"] + result["solve"]
order = ["hypre, 30 ", "Prekond double, 30 ", "Prekond single, 30 ", "hypre, 3 ", "Prekond double, 3 ", "Prekond single, 3 "]
methods = sorted({method for method, _ in results}, key=lambda m: next(i for i, o in enumerate(order) if m.startswith(o)))

cpu = ""
try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
except OSError:
    pass

# Pairs of the same settings.
pairs = [(theirs, mine) for theirs in methods if theirs.startswith("hypre") for mine in methods
         if mine.startswith("Prekond") and re.search(r"\d+ steps", mine).group() == re.search(r"\d+ steps", theirs).group()]
ratios = [{"cores": cores, "of": f"{theirs} / {mine}", **{q: results[theirs, cores][q] / results[mine, cores][q]
                                                         for q in ("setup", "total")}}
          for cores in (1, 2) for theirs, mine in pairs]
efficiency = {m: {q: results[m, 1][q] / (2 * results[m, 2][q]) for q in ("setup", "solve")} for m in methods}

with open(os.path.join(out, "hypre.json"), "w", encoding="utf-8") as file:
    json.dump({"matrix": matrix, "rows": rows, "rounds": int(rounds), "repeats": int(repeats), "cpu": cpu,
               "prekond": environment, "load_average": os.getloadavg(),
               "results": [{"method": m, "cores": c, "medians": results[m, c], "rounds": samples[m, c]}
                           for m in methods for c in (1, 2)],
               "ratios": ratios, "parallel_efficiency": efficiency}, file, indent=1)
    file.write("\n")

lines = [f"# Adaptive FSAI and hypre's: {matrix}", "",
         f"{rows:,} rows; {cpu}; Kokkos {environment.get('kokkos')}, {environment.get('backend')}. Medians of {rounds} interleaved "
         f"rounds, in each the median of {repeats}. One core is one process of hypre or one thread of Prekond; hypre's FSAI on two "
         "processes works on the diagonal blocks, so its factor differs there. CG to 1e-6, b = A 1, x0 = 0. By "
         "`perf_tests/compare_hypre.sh`.", "",
         "| | cores | setup s | rows/s/core | nnz(G)/nnz(A) | iterations | CG s | setup + CG s |", "|---|---:|" + "---:|" * 6]
for method in methods:
    for cores in (1, 2):
        r = results[method, cores]
        lines.append(f"| {method} | {cores} | {r['setup']:.3f} | {rows / r['setup'] / cores:,.0f} | {r['density']:.3f} | "
                     f"{r['iterations']:.0f} | {r['solve']:.3f} | {r['total']:.3f} |")
lines += ["", "hypre's time over Prekond's with the same settings (above 1: Prekond is faster):", "", "| | cores | setup | setup + CG |",
          "|---|---:|---:|---:|"]
lines += [f"| {r['of']} | {r['cores']} | {r['setup']:.2f} | {r['total']:.2f} |" for r in ratios]
lines += ["", "Parallel efficiency on two cores, t1 / (2 t2):", "", "| | setup | CG |", "|---|---:|---:|"]
lines += [f"| {m} | {e['setup']:.2f} | {e['solve']:.2f} |" for m, e in efficiency.items()]
with open(os.path.join(out, "hypre.md"), "w", encoding="utf-8") as file:
    file.write("\n".join(lines) + "\n")
print("\n".join(lines))
PYTHON
