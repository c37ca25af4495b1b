#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public header compiles alone.

    headers_test.py ROOT BUILD UNIT...

UNIT is a source that the Ninja build in BUILD compiles and that includes public headers only: each of them is
parsed by itself with UNIT's compile command. A header that is the first include of a source of the library or of the
tests is left out, because the build has shown the same. Exit code: 77 where the build is not by Ninja.
"""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def first_includes(root):
    """The headers that a source of the library or of the tests includes before anything else."""
    found = set()
    for folder in ("src", "unit_tests"):
        for path in (root / folder).rglob("*.cpp"):
            match = INCLUDE.search(path.read_text())
            if match:
                found.add(match.group(1))
    return found


def commands(build):
    text = subprocess.run(["ninja", "-C", str(build), "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    return {os.path.normpath(os.path.join(entry["directory"], entry["file"])): entry for entry in json.loads(text)}


def parse_only(entry, unit, header, folder):
    """The compile command of `unit`, for a source that includes nothing but `header`."""
    source = Path(folder) / (re.sub(r"\W", "_", header) + ".cpp")
    source.write_text(f"#include <{header}>\n")
    words = [word for word in shlex.split(entry["command"]) if Path(word).name != "ccache"]
    out = words.index("-o")
    del words[out:out + 2]
    words = [str(source) if os.path.normpath(os.path.join(entry["directory"], word)) == unit else word for word in words]
    return [*words, "-fsyntax-only"]


def main():
    root, build = (Path(name).resolve() for name in sys.argv[1:3])
    if not (build / "build.ninja").exists() or not shutil.which("ninja"):
        print("NOT CHECKED: the build is not by Ninja")
        return 77
    known, proven = commands(build), first_includes(root)
    failures, looked_at, left_out = [], 0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {}
        for unit in sys.argv[3:]:
            unit = os.path.normpath(unit)
            for header in INCLUDE.findall(Path(unit).read_text()):
                if header in proven:
                    left_out += 1
                    continue
                command = parse_only(known[unit], unit, header, folder)
                jobs[header] = pool.submit(subprocess.run, command, cwd=known[unit]["directory"], capture_output=True, text=True)
        for header, job in jobs.items():
            looked_at += 1
            if job.result().returncode != 0:
                failures.append(header)
                print(f"{header} does not compile alone:\n{job.result().stderr}")
    print(f"{looked_at} headers parsed alone, {left_out} are the first include of a source, {len(failures)} failures")
    return 1 if failures or looked_at + left_out == 0 else 0


sys.exit(main())
