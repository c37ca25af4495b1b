#!/usr/bin/env python3
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what compilers do not: the direction of includes and a few rules of form.

    layers_test.py ROOT

First it proves on small made-up trees that it finds every kind of violation, then it looks at the tree ROOT.
"""

import re
import sys
import tempfile
from pathlib import Path

# A layer may include itself and what stands on a lower line.
RANKS = [("core",), ("matrix",), ("distributed",), ("sparse_product",), ("pattern", "dense"), ("krylov", "batched"), ("precond",)]
RANK = {layer: rank for rank, layers in enumerate(RANKS) for layer in layers}
SEES_ALL = {"adapters", "driver"}
# The rooms of src/precond, likewise.
ROOMS = [("setup",), ("scaling",), ("storage",), ("triangular",), ("factorization",),
         ("relaxation", "approximate_inverse", "polynomial"), ("distributed", "choice"), ("multigrid", "domain", "wrappers"), ("registry",), ("automatic",)]
REGISTRY = "include/prekond/precond/registry.hpp"
WHOLE = "include/prekond/prekond.hpp"  # is in no layer, and in none's headers
ROOM_RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
TRILINOS = r"Tpetra|Teuchos|Ifpack2|Belos|Xpetra|Thyra|Zoltan2|Amesos2|MueLu|MatrixMarket_Tpetra|mpi\.h"
# The libraries that adapters adapt, and those that only the driver and tests use.
ADAPTED = re.compile(rf"^({TRILINOS}|KokkosKernels|KokkosSparse|KokkosBlas|KokkosGraph|KokkosBatched|KokkosLapack|KokkosOde|"
                     r"HYPRE|petsc)")
TOOLS = re.compile(r"^(CLI/|CLI11|nlohmann/|gtest/|gmock/|benchmark/)")
# The adapter for Kokkos Kernels is built where there is no Trilinos too.
KOKKOSKERNELS_FILES = re.compile(r"^(include/prekond|src)/adapters/(impl/)?kokkoskernels")
# So is the one for PETSc.
PETSC_FILES = re.compile(r"^(include/prekond|src)/adapters/(impl/)?(petsc|mpi_)")
BACKEND = re.compile(r"\bKOKKOS_ENABLE_(CUDA|HIP|SYCL|OPENMP|OPENMPTARGET|OPENACC|HPX|THREADS|SERIAL)\b|"
                     r"\b__(CUDA_ARCH|CUDACC|NVCC|HIPCC|HIP_DEVICE_COMPILE|SYCL_DEVICE_ONLY)__\b")
LAMBDA = re.compile(r"\bKOKKOS_(CLASS_)?LAMBDA\b")
ATOMIC = re.compile(r"\batomic_(load|store)\b")
BACKEND_FILES = {"src/core/lane_group.hpp", "src/core/instantiate.hpp", "src/core/load_once.hpp", "include/prekond/core/impl/team_sum.hpp",
                 "src/core/concurrency.hpp", "src/core/one_thread.hpp", "src/driver/kokkos_flags.cpp"}
MOST_LINES = 800
SPDX = ("SPDX-FileCopyrightText: Prekond contributors", "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
CODE_FOLDERS = ("include", "src", "unit_tests", "perf_tests", "examples", "cmake", "scripts")
CODE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".cmake"}
PAGE_HEADER = re.compile(r"<(prekond/[a-z0-9_/]+\.hpp)>")
# The headers that CONTRIBUTING.md has its reader write.
TAUGHT_HEADERS = {"prekond/precond/row_norm.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def layer_of(path):
    """The layer of a file, given by its path from the root."""
    parts = path.split("/")
    if path.startswith("include/prekond/") and len(parts) > 3:
        return parts[2]
    if path.startswith("src/") and len(parts) > 2:
        return parts[1]
    return None


def room_of(path):
    """The room of a file of src/precond, or of the registry's public header; None elsewhere."""
    if path == REGISTRY:
        return "registry"
    parts = path.split("/")
    return parts[2] if path.startswith("src/precond/") and len(parts) > 3 else None


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def files_of(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and suffixes(path):
                yield path, path.relative_to(root).as_posix()


def library_files(root):
    return files_of(root, ("include", "src"), lambda path: path.suffix in (".hpp", ".cpp"))


def resolve(root, path, name, kind, quoted):
    """The file that an include line names, from the root; None for one of another library. Raises ValueError."""
    if name.startswith("prekond/"):
        if quoted:
            raise ValueError(f'"{name}" is written <{name}>')
        found = "include/" + name
        if not (root / found).is_file() and not (root / (found + ".in")).is_file():
            raise ValueError(f"<{name}> does not exist")
        return found
    if not quoted:
        return None
    if kind == "include":
        raise ValueError(f'"{name}" is not qualified: write <prekond/...>')
    for base in (path.parent, root / "src"):
        found = (base / name).resolve()
        if found.is_file():
            return found.relative_to(root.resolve()).as_posix()
    raise ValueError(f'"{name}" does not exist')


def wrong_arrow(layer, target):
    """Why `layer` may not include the file `target`, or None."""
    other = layer_of(target)
    if other == "driver" and layer != "driver":
        return f"layer {layer} may not include {target}"
    if layer in SEES_ALL or other == layer:
        return None
    if layer not in RANK:
        return f"is in no layer that {Path(__file__).name} knows"
    if other not in RANK:
        return f"layer {layer} may not include {target}"
    if RANK[other] >= RANK[layer]:
        return f"layer {layer} may not include {target} of layer {other}"
    return None


def wrong_room(name, target):
    """Why the file `name` of the layer precond may not include the file `target`, or None."""
    room, other = room_of(name), room_of(target)
    if other is None or room == other or layer_of(name) != "precond":
        return None
    if room is None:
        return f"a public header of a method may not include {target}"
    if room not in ROOM_RANK or other not in ROOM_RANK:
        return f"is in no room that {Path(__file__).name} knows, or {target} is not"
    if ROOM_RANK[other] >= ROOM_RANK[room]:
        return f"room {room} may not include {target} of room {other}"
    return None


def wrong_library(layer, name, included):
    """Why the file `name` of `layer` may not include the header `included` of another library, or None."""
    if layer not in SEES_ALL and (ADAPTED.match(included) or TOOLS.match(included)):
        return f"only adapters, the driver and tests include <{included}>"
    if layer == "adapters" and TOOLS.match(included):
        return f"only the driver and tests include <{included}>"
    if KOKKOSKERNELS_FILES.match(name) and re.match(TRILINOS, included):
        return f"the adapter for Kokkos Kernels does without <{included}>"
    if PETSC_FILES.match(name) and re.match(TRILINOS, included) and included != "mpi.h":
        return f"the adapter for PETSc does without <{included}>"
    return None


def check_includes(root):
    for path, name in library_files(root):
        layer, kind = layer_of(name), name.split("/")[0]
        if name == WHOLE:
            continue
        if layer is None:
            yield f"{name}: is in no layer: it needs a folder under {kind}/"
            continue
        if name.startswith("src/precond/") and room_of(name) is None:
            yield f"{name}: is in no room: it needs a folder under src/precond/"
            continue
        if layer not in RANK and layer not in SEES_ALL:
            yield f"{name}: is in no layer: '{layer}' is unknown"
            continue
        for bracket, included in INCLUDE.findall(path.read_text()):
            try:
                target = resolve(root, path, included, kind, bracket == '"')
            except ValueError as error:
                yield f"{name}: {error}"
                continue
            if target is None:
                reason = wrong_library(layer, name, included)
                if reason:
                    yield f"{name}: {reason}"
                continue
            if kind == "include" and not target.startswith("include/"):
                yield f"{name}: a public header includes {target}"
                continue
            if KOKKOSKERNELS_FILES.match(name) and layer_of(target) == "adapters" and not KOKKOSKERNELS_FILES.match(target):
                yield f"{name}: the adapter for Kokkos Kernels does without {target}"
                continue
            reason = wrong_arrow(layer, target) or wrong_room(name, target)
            if reason:
                yield f"{name}: {reason}"


def check_folder_pairs(root):
    """Two folders of src/ do not include each other, unless one is inside the other."""
    arrows = {}
    for path, name in files_of(root, ("src",), lambda path: path.suffix in (".hpp", ".cpp")):
        for bracket, included in INCLUDE.findall(path.read_text()):
            try:
                target = resolve(root, path, included, "src", bracket == '"')
            except ValueError:
                continue  # check_includes tells of it
            if target and target.startswith("src/"):
                folders = name.rpartition("/")[0], target.rpartition("/")[0]
                if folders[0] != folders[1] and not any(f"{a}/".startswith(f"{b}/") for a, b in (folders, folders[::-1])):
                    arrows.setdefault(folders, (name, target))
    for (folder, other), (name, target) in sorted(arrows.items()):
        if folder < other and (other, folder) in arrows:
            back = " includes ".join(arrows[other, folder])
            yield f"{name}: includes {target}, and {back}: the folders {folder} and {other} include each other"


def check_places(root):
    """A file has not the name of a folder beside it: it belongs into that folder."""
    for path, name in library_files(root):
        if path.with_suffix("").is_dir():
            yield f"{name}: belongs into the folder of its own name"


def check_backends(root):
    for path, name in library_files(root):
        found = BACKEND.search(without_comments(path.read_text()))
        if found and name not in BACKEND_FILES:
            yield f"{name}: {found.group()} belongs in {' or '.join(sorted(BACKEND_FILES))}"


def check_lambdas(root):
    """nvcc wraps a host-device lambda in a class whose function pointers each object file has its own of, while its copy
    constructor is shared by all: where two files instantiate the same function, one calls a null pointer."""
    for path, name in files_of(root, CODE_FOLDERS, lambda path: path.suffix == ".hpp"):
        found = LAMBDA.search(without_comments(path.read_text()))
        if found:
            yield f"{name}: {found.group()} belongs in source files; a header has functors"


def check_atomics(root):
    """Kokkos::atomic_load and atomic_store are loops of compare-and-swaps on CUDA."""
    for path, name in library_files(root):
        found = ATOMIC.search(without_comments(path.read_text()))
        if found:
            yield f"{name}: {found.group()} is a loop on CUDA; see src/core/concurrent_words.hpp"


def is_code(path):
    return (path.suffix in CODE_SUFFIXES or path.name == "CMakeLists.txt" or path.name.endswith(".hpp.in") or
            (path.parent.name == "scripts" and not path.suffix))


def check_form(root):
    for path, name in files_of(root, CODE_FOLDERS, is_code):
        lines = path.read_text().splitlines()
        if not all(any(text in line for line in lines[:4]) for text in SPDX):
            yield f"{name}: lacks the two SPDX lines at its beginning"
        if ".hpp" in path.name and "#pragma once" not in lines:
            yield f"{name}: lacks #pragma once"
        if name.startswith(("include/", "src/")) and len(lines) > MOST_LINES:
            yield f"{name}: has {len(lines)} lines, more than {MOST_LINES}"


def check_pages(root):
    """Pages name every public header, and none that does not exist."""
    pages = [path for path in (*sorted((root / "docs").glob("*.md")), root / "README.md", root / "CONTRIBUTING.md") if path.is_file()]
    named = set()
    for path in pages:
        name = path.relative_to(root).as_posix()
        for header_name in sorted(set(PAGE_HEADER.findall(path.read_text()))):
            found = root / "include" / header_name
            if name.startswith("docs/"):
                named.add(header_name)
            if not found.is_file() and not Path(f"{found}.in").is_file() and header_name not in TAUGHT_HEADERS:
                yield f"{name}: <{header_name}> does not exist"
    for path, name in files_of(root, ("include",), lambda path: path.suffix == ".hpp"):
        if "/impl/" not in name and name.removeprefix("include/") not in named:
            yield f"{name}: no page of docs/ names <{name.removeprefix('include/')}>"


def undocumented_classes(lines):
    """Classes at namespace scope, outside of any namespace impl, that no `///` precedes."""
    namespaces = []
    for i, line in enumerate(lines):
        opened = re.match(r"(?:inline )?namespace\s*([\w:]*)\s*\{", line)
        if opened and not line.rstrip().endswith("}"):
            namespaces.append(opened.group(1))
        elif line.startswith("}") and not line.startswith("};") and re.match(r"\}\s*// namespace", line) and namespaces:
            namespaces.pop()
        declared = re.match(r"(?:template\s*<.*>\s*)?(?:class|struct)\s+(?:\w+\(.*\)\s+)?(\w+)[^;]*$", line)
        if not declared or any(part in ("impl", "") for space in namespaces for part in space.split("::")):
            continue
        first = i
        while first > 0 and re.match(r"\s*(template\b|requires\b)|\s{4,}\S", lines[first - 1]):
            first -= 1
        if first == 0 or not lines[first - 1].startswith("///"):
            yield declared.group(1)


def check_docstrings(root):
    for path, name in library_files(root):
        if not name.startswith("include/") or "/impl/" in name:
            continue
        for class_name in undocumented_classes(path.read_text().splitlines()):
            # The fields of an option struct are documented one by one, where they are described.
            if not class_name.endswith("Options"):
                yield f"{name}: {class_name} has no docstring (///)"


RESULTS = "perf_tests/results"
RESULTS_BYTES = 2_000_000


def check_results(root):
    """What pages and sources name of the results exists, and they are few."""
    for path, name in files_of(root, ("docs", "include", "src", "perf_tests"), lambda path: path.suffix in {*CODE_SUFFIXES, ".md"}):
        text = path.read_text()
        named = [(root / found.rstrip("."), found) for found in re.findall(RESULTS + r"[\w./-]*", text)]
        if name.startswith(RESULTS):
            named += [(path.parent / found, found) for found in re.findall(r"\]\(([\w./-]+)[)#]", text)]
        for file, found in named:
            if not file.exists():
                yield f"{name}: {found} does not exist"
    sizes = [(path.stat().st_size, name) for path, name in files_of(root, (RESULTS,), lambda path: True)]
    if sum(size for size, _ in sizes) > RESULTS_BYTES:
        yield f"{max(sizes)[1]}: is the largest in {RESULTS}, which has more than {RESULTS_BYTES} bytes"


CHECKS = (check_includes, check_folder_pairs, check_places, check_backends, check_lambdas, check_atomics, check_form, check_docstrings,
          check_pages, check_results)


def violations(root):
    return [text for check in CHECKS for text in check(root)]


# ----------------------------------------------------------------------------------------------------------- self-test

HEAD = "".join(f"// {line}\n" for line in SPDX)


def header(*lines):
    return HEAD + "#pragma once\n" + "".join(line + "\n" for line in lines)


def source(*lines):
    return HEAD + "".join(line + "\n" for line in lines)


GOOD = {
    "README.md": "`<prekond/precond/ilu.hpp>`\n",
    "CONTRIBUTING.md": "#include <prekond/precond/row_norm.hpp>\n",
    "include/prekond/core/views.hpp": header("#include <vector>"),
    "include/prekond/core/version.hpp.in": header(),
    "src/core/lane_group.hpp": header("#ifdef KOKKOS_ENABLE_CUDA", "#endif"),
    "include/prekond/matrix/csr.hpp": header("#include <prekond/core/version.hpp>", "#include <prekond/core/views.hpp>"),
    "include/prekond/matrix/io/mm.hpp": header("#include <prekond/matrix/csr.hpp>"),
    "include/prekond/distributed/rows.hpp": header("#include <prekond/matrix/csr.hpp>"),
    "include/prekond/pattern/graph.hpp": header("#include <prekond/matrix/csr.hpp>"),
    "include/prekond/dense/qr.hpp": header("#include <prekond/core/views.hpp>"),
    "include/prekond/krylov/cg.hpp": header("#include <prekond/core/views.hpp>", "namespace prekond {", "/// Solves.",
                                            "template <class T>", "class Cg {", "};", "struct Later;",
                                            "struct CgOptions {", "};", "namespace impl {", "struct Hidden {", "};",
                                            "}  // namespace impl", "}  // namespace prekond"),
    "include/prekond/batched/lu.hpp": header("#include <prekond/dense/qr.hpp>"),
    "include/prekond/precond/ilu.hpp": header("#include <prekond/krylov/cg.hpp>", "#include <prekond/dense/qr.hpp>",
                                              "#include <prekond/distributed/rows.hpp>",
                                              "// KOKKOS_ENABLE_CUDA, KOKKOS_LAMBDA in a comment"),
    "include/prekond/adapters/tpetra.hpp": header("#include <Tpetra_CrsMatrix.hpp>", "#include <prekond/precond/ilu.hpp>",
                                                  "#include <prekond/adapters/impl/rows.hpp>"),
    "include/prekond/adapters/impl/rows.hpp": header("#include <mpi.h>"),
    "include/prekond/adapters/kokkoskernels.hpp": header("#include <KokkosSparse_spmv.hpp>"),
    "include/prekond/adapters/petsc.hpp": header("#include <mpi.h>", "#include <petscmat.h>"),
    "src/adapters/list.cpp": source("#include <Teuchos_ParameterList.hpp>", "#include <prekond/core/views.hpp>"),
    "src/core/instantiate.hpp": header("#ifdef KOKKOS_ENABLE_HIP", "#endif"),
    "src/core/options.cpp": source("#include <prekond/core/views.hpp>", "auto f = KOKKOS_LAMBDA(int i) {};"),
    "src/matrix/io/mm.cpp": source('#include "core/instantiate.hpp"', '#include "parts.hpp"', "#include <prekond/matrix/io/mm.hpp>"),
    "src/matrix/io/parts.hpp": header(),
    "src/precond/factorization/ilu.cpp": source("#include <prekond/precond/ilu.hpp>", '#include "core/instantiate.hpp"'),
    "include/prekond/precond/registry.hpp": header("#include <prekond/precond/ilu.hpp>"),
    "src/precond/registry/registry.cpp": source("#include <prekond/precond/registry.hpp>"),
    "src/precond/factorization/ilu.hpp": header('#include "precond/scaling/b.hpp"'),
    "src/precond/scaling/b.hpp": header(),
    "src/precond/polynomial/c.hpp": header(),
    "src/krylov/a/c.hpp": header(),
    "src/krylov/b/b.hpp": header('#include "krylov/a/c.hpp"'),
    "src/driver/main.cpp": source("#include <CLI/CLI.hpp>", "#include <prekond/precond/ilu.hpp>", "#include <mpi.h>",
                                  "#include <prekond/adapters/tpetra.hpp>"),
    "unit_tests/a_test.cpp": source("#include <nlohmann/json.hpp>", "#ifdef KOKKOS_ENABLE_CUDA", "#endif"),
    "scripts/build": "#!/bin/sh\n" + source().replace("//", "#"),
    "docs/amg.md": "[Measured](../perf_tests/results/cpu/amg.md#here), perf_tests/results/cpu/amg.md.",
    "perf_tests/results/cpu/amg.md": "[above](../cpu)",
}

# The page of such a tree, which names its public headers.
PAGE = "".join(f"| `<{name.removeprefix('include/').removesuffix('.in')}>` | some words |\n" for name in GOOD
               if name.startswith("include/") and "/impl/" not in name)
GOOD["docs/library.md"] = PAGE

# One line a violation: the rule, the file, its text, and a part of the message.
BAD = [
    ("upward", "include/prekond/core/views.hpp", header("#include <prekond/matrix/csr.hpp>"), "core may not include"),
    ("upward", "include/prekond/matrix/csr.hpp", header("#include <prekond/pattern/graph.hpp>"), "matrix may not include"),
    ("upward", "include/prekond/krylov/cg.hpp", header("# include <prekond/precond/ilu.hpp>"), "krylov may not include"),
    ("upward", "include/prekond/precond/ilu.hpp", header("#include <prekond/adapters/tpetra.hpp>"), "precond may not"),
    ("upward", "include/prekond/distributed/rows.hpp", header("#include <prekond/pattern/graph.hpp>"), "distributed may not"),
    ("upward", "include/prekond/matrix/csr.hpp", header("#include <prekond/distributed/rows.hpp>"), "matrix may not include"),
    ("sideways", "include/prekond/dense/qr.hpp", header("#include <prekond/pattern/graph.hpp>"), "dense may not include"),
    ("sideways", "include/prekond/batched/lu.hpp", header("#include <prekond/krylov/cg.hpp>"), "batched may not include"),
    ("upward in src", "src/matrix/io/mm.cpp", source("#include <prekond/dense/qr.hpp>"), "matrix may not include"),
    ("upward in src", "src/core/options.cpp", source("#include <prekond/matrix/csr.hpp>"), "core may not include"),
    ("upward by quotes", "src/matrix/a.cpp", source('#include "precond/scaling/b.hpp"'), "matrix may not include src/precond/scaling"),
    ("a room upward", "src/precond/setup/a.hpp", header('#include "precond/factorization/ilu.hpp"'), "room setup may not"),
    ("a room sideways", "src/precond/relaxation/a.hpp", header('#include "precond/polynomial/c.hpp"'), "room relaxation may not"),
    ("the registry", "src/precond/multigrid/a.cpp", source("#include <prekond/precond/registry.hpp>"), "room multigrid may not"),
    ("the registry", "include/prekond/precond/amg.hpp", header("#include <prekond/precond/registry.hpp>"),
     "a public header of a method may not"),
    ("no room", "src/precond/a.cpp", source(), "is in no room"),
    ("no room", "src/precond/common/a.cpp", source('#include "precond/scaling/b.hpp"'), "is in no room"),
    ("a pair of folders", "src/krylov/a/a.hpp", header('#include "krylov/b/b.hpp"'), "include each other"),
    ("a file beside its folder", "src/krylov/a.cpp", source(), "belongs into the folder"),
    ("the driver", "src/precond/factorization/ilu.cpp", source('#include "driver/run.hpp"'), "precond may not include src/driver"),
    ("the driver", "src/adapters/list.cpp", source('#include "driver/run.hpp"'), "adapters may not include src/driver"),
    ("an adapter", "src/matrix/io/mm.cpp", source("#include <prekond/adapters/tpetra.hpp>"), "matrix may not include"),
    ("an adapter", "include/prekond/krylov/cg.hpp", header("#include <prekond/adapters/kokkoskernels.hpp>"), "krylov may not"),
    ("an adapter's inside", "src/precond/factorization/ilu.cpp", source("#include <prekond/adapters/impl/rows.hpp>"), "precond may not"),
    ("another adapter", "include/prekond/adapters/kokkoskernels.hpp", header("#include <prekond/adapters/tpetra.hpp>"),
     "does without include/prekond/adapters/tpetra.hpp"),
    ("Trilinos", "include/prekond/adapters/kokkoskernels.hpp", header("#include <Teuchos_RCP.hpp>"), "does without <Teuchos"),
    ("Trilinos", "include/prekond/adapters/impl/petsc_rows.hpp", header("#include <Teuchos_RCP.hpp>"), "for PETSc does without <Teuchos"),
    ("PETSc", "src/precond/factorization/ilu.cpp", source("#include <petscksp.h>"), "only adapters"),
    ("a header from src", "include/prekond/precond/ilu.hpp", header('#include "../../../src/core/instantiate.hpp"'), "not qualified"),
    ("quotes", "include/prekond/matrix/csr.hpp", header('#include "io/mm.hpp"'), "not qualified"),
    ("quotes", "src/matrix/io/mm.cpp", source('#include "prekond/core/views.hpp"'), "is written <"),
    ("missing", "include/prekond/matrix/csr.hpp", header("#include <prekond/core/view.hpp>"), "does not exist"),
    ("missing", "src/matrix/io/mm.cpp", source('#include "part.hpp"'), "does not exist"),
    ("no layer", "include/prekond/utils/a.hpp", header(), "'utils' is unknown"),
    ("no layer", "include/prekond/a.hpp", header(), "in no layer"),
    ("no layer", "src/a.cpp", source(), "in no layer"),
    ("Tpetra", "include/prekond/precond/ilu.hpp", header("#include <Tpetra_CrsMatrix.hpp>"), "only adapters"),
    ("Teuchos", "src/core/options.cpp", source("#include <Teuchos_ParameterList.hpp>"), "only adapters"),
    ("Ifpack2", "src/precond/factorization/ilu.cpp", source("#include <Ifpack2_Preconditioner.hpp>"), "only adapters"),
    ("Belos", "include/prekond/krylov/cg.hpp", header("#include <BelosTpetraAdapter.hpp>"), "only adapters"),
    ("MPI", "include/prekond/distributed/rows.hpp", header("#include <mpi.h>"), "only adapters"),
    ("MPI", "include/prekond/core/views.hpp", header("#include <mpi.h>"), "only adapters"),
    ("Kokkos Kernels", "src/precond/factorization/ilu.cpp", source("#include <KokkosSparse_spmv.hpp>"), "only adapters"),
    ("Kokkos Kernels", "src/precond/factorization/ilu.cpp", source("#include <KokkosBlas1_dot.hpp>"), "only adapters"),
    ("CLI11", "src/matrix/io/mm.cpp", source("#include <CLI/CLI.hpp>"), "only adapters"),
    ("JSON", "include/prekond/core/views.hpp", header("#include <nlohmann/json.hpp>"), "only adapters"),
    ("JSON", "src/adapters/list.cpp", source("#include <nlohmann/json.hpp>"), "only the driver and tests"),
    ("GoogleTest", "include/prekond/adapters/tpetra.hpp", header("#include <gtest/gtest.h>"), "only the driver and tests"),
    ("a backend", "src/precond/factorization/ilu.cpp", source("#if defined(KOKKOS_ENABLE_CUDA)", "#endif"), "KOKKOS_ENABLE_CUDA belongs"),
    ("a backend", "include/prekond/dense/qr.hpp", header("#ifdef __CUDA_ARCH__", "#endif"), "__CUDA_ARCH__ belongs"),
    ("a backend", "src/driver/main.cpp", source("#ifdef KOKKOS_ENABLE_OPENMP", "#endif"), "KOKKOS_ENABLE_OPENMP belongs"),
    ("a lambda", "include/prekond/dense/qr.hpp", header("auto f = KOKKOS_LAMBDA(int i) {};"), "KOKKOS_LAMBDA belongs"),
    ("a lambda", "unit_tests/testing/a.hpp", header("auto f = KOKKOS_CLASS_LAMBDA(int i) {};"), "KOKKOS_CLASS_LAMBDA belongs"),
    ("an atomic load", "src/matrix/io/mm.cpp", source("int i = Kokkos::atomic_load(&j);"), "atomic_load is a loop"),
    ("an atomic store", "include/prekond/dense/qr.hpp", header("Kokkos::atomic_store(&j, 1);"), "atomic_store is a loop"),
    ("SPDX", "include/prekond/dense/qr.hpp", "#pragma once\n", "SPDX"),
    ("SPDX", "src/matrix/io/mm.cpp", HEAD.splitlines()[0] + "\n", "SPDX"),
    ("SPDX", "unit_tests/a_test.cpp", "", "SPDX"),
    ("SPDX", "scripts/build", "#!/bin/sh\n", "SPDX"),
    ("SPDX", "examples/CMakeLists.txt", "", "SPDX"),
    ("guard", "include/prekond/dense/qr.hpp", HEAD, "#pragma once"),
    ("guard", "src/matrix/io/parts.hpp", HEAD, "#pragma once"),
    ("length", "src/matrix/io/mm.cpp", source(*[""] * (MOST_LINES - 1)), "801 lines"),
    ("a result", "docs/amg.md", "[Measured](../perf_tests/results/cpu/ilu.md)", "cpu/ilu.md does not exist"),
    ("a result", "src/matrix/io/mm.cpp", source("// perf_tests/results/h200/a.json"), "h200/a.json does not exist"),
    ("a result", "perf_tests/results/cpu/b.md", "[that](c.json)", "c.json does not exist"),
    ("size", "perf_tests/results/cpu/b.json", " " * RESULTS_BYTES, "is the largest"),
    ("docstring", "include/prekond/dense/qr.hpp", header("namespace prekond {", "class Qr {", "};"), "Qr has no docstring"),
    ("a header on no page", "include/prekond/dense/svd.hpp", header(), "no page of docs/ names <prekond/dense/svd.hpp>"),
    ("a page of no header", "docs/library.md", PAGE + "`<prekond/dense/svd.hpp>`\n", "<prekond/dense/svd.hpp> does not exist"),
    ("a page of no header", "README.md", "#include <prekond/svd.hpp>\n", "<prekond/svd.hpp> does not exist"),
    ("a page of no header", "CONTRIBUTING.md", "`<prekond/dense/impl/svd.hpp>`\n", "impl/svd.hpp> does not exist"),
    ("docstring", "include/prekond/dense/qr.hpp",
     header("namespace prekond {", "namespace impl {", "struct Hidden {", "};", "}  // namespace impl", "", "template <class T>",
            "  requires true", "struct Qr : Base<T> {", "};"), "Qr has no docstring"),
]


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, GOOD)
        found = violations(root)
        if found:
            failures.append(f"violations in a tree that has none: {found}")
    for what, name, text, message in BAD:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write(root, {**GOOD, "src/driver/run.hpp": header(), name: text})
            found = violations(root)
            if not any(line.startswith(name + ":") and message in line for line in found):
                failures.append(f"{what}: expected '{name}: ...{message}...', found {found}")
            strangers = [line for line in found if not line.startswith(name + ":")]
            if strangers:
                failures.append(f"{what}: also found {strangers}")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    failures = self_test()
    for text in failures:
        print("self-test:", text)
    found = violations(root)
    for text in found:
        print(text)
    looked_at = sum(1 for _ in library_files(root))
    print(f"{looked_at} files of the library: {len(found)} violations")
    if looked_at < 20:
        print(f"self-test: {root} is not the tree")
    return 1 if failures or found or looked_at < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
