#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Setup times of the adaptive FSAI compared with that of Warp (the package warp-lang, `warp.optim.linear.FSAI`) on one matrix,
in one run: compare_warp.py --matrix elasticity3d:60 --widths 8,31

Both grow every row by one column a step, without a stop, to the same number of entries with the diagonal. Warp's time is
that of making the operator (pattern, values, transpose) from a matrix on the device, without its compilation; ours is
that of perf_adaptive_fsai, also with the transpose. In double precision both work in double throughout; in single, Warp's
matrix and factor are single, while ours has a double matrix and factor around a setup in single. Medians. Writes
warp.json."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import warp
from warp.optim.linear import FSAI
from warp.sparse import bsr_from_triplets

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TYPES = {"single": (warp.float32, numpy.float32), "double": (warp.float64, numpy.float64)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prekond", default=os.path.join(ROOT, "scripts", "prekond"), help="the command")
    parser.add_argument("--perf", required=True, help="the program perf_adaptive_fsai")
    parser.add_argument("--matrix", default="elasticity3d:60", help="as `prekond generate` takes it, symmetric")
    parser.add_argument("--widths", default="8,31", help="entries of a row, the diagonal included")
    parser.add_argument("--precisions", default="single,double")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--device", default="cuda:0", help="Warp's device")
    parser.add_argument("--out", default=os.path.join(HERE, "results", "h200", "warp.json"))
    return parser.parse_args()


def read_symmetric(path):
    """Rows, columns and values of all entries of a Matrix Market file in symmetric storage, and the number of rows."""
    with open(path, encoding="ascii") as file:
        assert "symmetric" in file.readline()
        line = file.readline()
        while line.startswith("%"):
            line = file.readline()
        num_rows = int(line.split()[0])
        entries = numpy.fromstring(file.read(), sep=" ").reshape(-1, 3)
    rows, cols = (entries[:, k].astype(numpy.int32) - 1 for k in (0, 1))
    below = rows != cols
    return (numpy.concatenate([rows, cols[below]]), numpy.concatenate([cols, rows[below]]),
            numpy.concatenate([entries[:, 2], entries[below, 2]]), num_rows)


def measure_warp(arguments, triplets, width, precision):
    """Median seconds, those of the first time (with the compilation), entries of G and rows cut short by a pivot."""
    warp_type, numpy_type = TYPES[precision]
    rows, cols, values, num_rows = triplets
    where = arguments.device
    a = bsr_from_triplets(num_rows, num_rows, warp.array(rows, dtype=int, device=where),
                          warp.array(cols, dtype=int, device=where),
                          warp.array(values.astype(numpy_type), dtype=warp_type, device=where))
    seconds = []
    for _ in range(arguments.repetitions + 1):
        warp.synchronize()
        start = time.perf_counter()
        factor = FSAI(a, max_row_size=width, kap_tolerance=0.0)
        warp.synchronize()
        seconds.append(time.perf_counter() - start)
        entries, cut = factor.G.nnz_sync(), factor.truncated_rows
    return {"seconds": statistics.median(seconds[1:]), "first_seconds": seconds[0], "nnz_g": int(entries),
            "truncated_rows": int(cut)}


def measure_prekond(arguments, widths):
    """By width and precision: median seconds and entries of G."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([arguments.perf, f"--matrix={arguments.matrix}", "--tolerance=0",
                        "--steps=" + ",".join(str(width - 1) for width in widths),
                        f"--repetitions={arguments.repetitions}", f"--benchmark_out={out}",
                        "--benchmark_out_format=json"], check=True, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            runs = json.load(file)["benchmarks"]
    results = {}
    for run in runs:
        words = run["run_name"].split("/")
        if run.get("aggregate_name") != "median" or words[0] != "setup":
            continue
        width = int(words[3].split(":")[1]) + 1
        scale = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9}[run["time_unit"]]
        results[words[2], width] = {"seconds": run["real_time"] * scale, "nnz_g": int(run["nnz_g"])}
    return results


def main():
    arguments = parse_arguments()
    widths = [int(width) for width in arguments.widths.split(",")]
    warp.config.quiet = True
    warp.init()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.mtx")
        subprocess.run([arguments.prekond, "generate", arguments.matrix, "-q", "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        triplets = read_symmetric(path)
    ours = measure_prekond(arguments, widths)
    lines = []
    for precision in arguments.precisions.split(","):
        for width in widths:
            theirs = measure_warp(arguments, triplets, width, precision)
            line = {"matrix": arguments.matrix, "rows": triplets[3], "nnz": len(triplets[2]), "precision": precision,
                    "width": width, "warp": theirs, "prekond": ours[precision, width],
                    "ratio": theirs["seconds"] / ours[precision, width]["seconds"]}
            lines.append(line)
            print(f"{arguments.matrix} {precision} width {width}: Warp {1e3 * theirs['seconds']:.2f} ms, "
                  f"Prekond {1e3 * line['prekond']['seconds']:.2f} ms, ratio {line['ratio']:.2f}; "
                  f"nnz(G) {theirs['nnz_g']} and {line['prekond']['nnz_g']}", flush=True)
            with open(arguments.out, "w", encoding="utf-8") as file:
                json.dump({"warp": warp.config.version, "device": str(warp.get_device(arguments.device).name),
                           "runs": lines}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
