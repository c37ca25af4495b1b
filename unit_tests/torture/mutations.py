# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of the fuzz: files, options, configurations and environments, made of a random.Random each."""

import gzip
import json

from kinds import GENERAL, SPD, arrow, hermitian

NUMBERS = ("0", "-0", "1", "-1", "2", "3", "7", "100", "0.5", "1e-8", "1e-300", "1e-400", "1e300", "1e308", "1e999", "-1e999",
           "2147483647", "2147483648", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808",
           "18446744073709551615", "1e18", "0x10", "1.5", "1,5", "nan", "inf", "-inf", "NaN", "", " ", "+1", "1e", "e1",
           "1e-", "--1", "1 2", "true", "false", "yes", "none", "auto", "null", "'1'", "\u00b9", "1d2", "01")
WORDS = ("", "x", "A", "matrix", "real", "complex", "integer", "pattern", "general", "symmetric", "hermitian",
         "skew-symmetric", "array", "coordinate", "%", "%%MatrixMarket", "\0", "\x80", "\ufffd", "\t", "nan")
VALUES = ("0", "-0.0", "1", "-1", "2.5", "1e-320", "1e308", "-1e308", "1e-308", "1e155", "1e-155", "1e309", "nan", "inf",
          "1e", "0x1p3", "1,0", "1d0", "2D+1", "", "--1", "1e-999999999999", "9" * 400, "0." + "0" * 400 + "1")
# Options whose upper ends are allowed and take for ever.
LONG = {"relaxation_steps": ("0", "1", "7", "-1", "1.5", "1e999", "x", "4294967296")}
SEEDS = (("spd", "real", SPD, 12), ("general", "real", GENERAL, 12), ("arrow", "real", arrow(9), 9),
         ("hermitian", "complex", hermitian(8), 8), ("one", "real", [(0, 0, 4.0)], 1))


# ------------------------------------------------------------------------------------------------ matrix files

def market_lines(draw):
    """The lines of a good file, the number of rows, the field, and whether the matrix is SPD."""
    name, field, entries, rows = draw.choice(SEEDS)
    entries = list(entries)
    if draw.random() < 0.3:
        draw.shuffle(entries)
    symmetric = draw.random() < 0.3 and field == "real" and entries[0][2] == entries[-1][2] and \
        {(i, j): v for i, j, v in entries} == {(j, i): v for i, j, v in entries}
    if symmetric:
        entries = [entry for entry in entries if entry[0] >= entry[1]]
    lines = [f"%%MatrixMarket matrix coordinate {field} {'symmetric' if symmetric else 'general'}"]
    if draw.random() < 0.2:
        lines.append("% a comment")
    lines.append(f"{rows} {rows} {len(entries)}")
    for i, j, value in entries:
        text = f"{value.real!r} {value.imag!r}" if field == "complex" else repr(value)
        lines.append(f"{i + 1} {j + 1} {text}")
    return lines, rows, field, name != "general"


def change_word(draw, lines, number, words):
    parts = lines[number].split(" ")
    parts[draw.randrange(len(parts))] = draw.choice(words)
    lines[number] = " ".join(parts)


def size_line(lines):
    return next((k for k, line in enumerate(lines) if k > 0 and not line.startswith("%")), len(lines) - 1)


def change_entry(draw, lines):
    first = size_line(lines) + 1
    if first >= len(lines):
        return
    number = draw.randrange(first, len(lines))
    parts = lines[number].split(" ")
    place = draw.randrange(len(parts))
    small = [str(k) for k in range(-1, 14)]
    parts[place] = draw.choice(NUMBERS) if draw.random() < 0.2 else draw.choice(small if place < 2 else VALUES)
    lines[number] = " ".join(parts)


def duplicate_entry(draw, lines):
    first = size_line(lines) + 1
    if first < len(lines):
        lines.insert(draw.randrange(first, len(lines) + 1), draw.choice(lines[first:]))


def right_count(_, lines):
    """Makes the announced number of entries the true one again."""
    number = size_line(lines)
    parts = lines[number].split(" ")
    parts[-1] = str(sum(1 for line in lines[number + 1:] if line.strip() and not line.startswith("%")))
    lines[number] = " ".join(parts)


LINE_MUTATIONS = (
    lambda draw, lines: change_word(draw, lines, 0, WORDS),
    lambda draw, lines: change_word(draw, lines, size_line(lines), NUMBERS),
    lambda draw, lines: change_word(draw, lines, size_line(lines), [str(k) for k in range(15)]),
    change_entry, change_entry, change_entry, change_entry,
    duplicate_entry,
    lambda draw, lines: lines.pop(draw.randrange(len(lines))) if len(lines) > 1 else None,
    lambda draw, lines: lines.insert(draw.randrange(len(lines) + 1), draw.choice(("", " ", "% x", "\t", "1", "1 1", "junk"))),
    right_count, right_count,
)


def mutate_bytes(draw, data):
    kind = draw.randrange(5)
    if not data:
        return data
    place = draw.randrange(len(data))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([draw.randrange(256)]) + data[place + 1:]
    if kind == 2:
        return data + draw.choice((b"\0" * 5, b"garbage", b"1 1 1\n", b"\n\n", b"\xff" * 20, data))
    if kind == 3:
        return data[:place] + data[place + draw.randrange(1, 20):]
    return data[:place] + data[place:place + 20] + data[place:]


def matrix_file(draw, good):
    """(name, bytes, rows, field of a right-hand side, whether it was SPD before anything was changed)"""
    lines, rows, field, spd = market_lines(draw)
    if good:
        return "a.mtx", ("\n".join(lines) + "\n").encode(), rows, field, spd
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        draw.choice(LINE_MUTATIONS)(draw, lines)
    data = "\n".join(lines).encode("utf-8", "replace") + (b"\n" if draw.random() < 0.9 else b"")
    if draw.random() < 0.15:
        data = data.replace(b"\n", b"\r\n")
    if draw.random() < 0.2:
        data = mutate_bytes(draw, data)
    if draw.random() < 0.25:
        data = gzip.compress(data, mtime=0)
        if draw.random() < 0.1:
            data += gzip.compress(b"1 1 1\n", mtime=0)
        if draw.random() < 0.6:
            data = mutate_bytes(draw, data)
        return "a.mtx.gz", data, rows, field, spd
    return "a.mtx", data, rows, field, spd


# ------------------------------------------------------------------------------------------------ options

def misspelt(draw, word):
    place = draw.randrange(len(word) + 1)
    return draw.choice((word[:place] + word[place + 1:], word[:place] + "x" + word[place:], word.upper(), word + ".x", ""))


def option_value(draw, option):
    """A value in the range, at its ends, or none at all."""
    name, default, domain = option
    if name in LONG:
        return draw.choice(LONG[name])
    kind = draw.random()
    words = [word.strip() for word in domain.split("|")]
    ends = [end.strip() for end in domain.split("..")]
    if kind < 0.25:
        return default
    if kind < 0.85 and len(words) > 1:
        return draw.choice(words)
    if kind < 0.6 and len(ends) == 2:
        return draw.choice(ends)
    if kind < 0.85:
        return draw.choice(("0", "1", "2", "3", "5", "0.1", "0.5", "true", "false"))
    return draw.choice(NUMBERS)


def pairs(draw, options):
    """Options of an algorithm as key=value."""
    chosen = []
    for _ in range(draw.choice((0, 1, 1, 2, 3)) if options else draw.choice((0, 0, 1))):
        option = draw.choice(options) if options else ("x", "1", "")
        key = misspelt(draw, option[0]) if draw.random() < 0.05 else option[0]
        if key not in [pair.split("=")[0] for pair in chosen] or draw.random() < 0.1:
            chosen.append(f"{key}={option_value(draw, option)}")
    return chosen


FLAGS = ("--rtol", "--atol", "--max-iters", "--repeat", "--rhs", "--x0", "--spmv", "--quiet", "--nonsense", "--report",
         "--history", "--solution", "--config", "--generate", "-s", "-p", "-q", "--help", "extra.mtx")
KOKKOS = ("--kokkos-num-threads", "--kokkos-device-id", "--kokkos-map-device-id-by", "--kokkos-disable-warnings",
          "--kokkos-print-configuration", "--kokkos-tune-internals", "--kokkos-tools-libs", "--kokkos-tools-args",
          "--kokkos-tools-help", "--kokkos-help", "--kokkos-numa")
VARIABLES = ("KOKKOS_NUM_THREADS", "KOKKOS_DEVICE_ID", "KOKKOS_MAP_DEVICE_ID_BY", "KOKKOS_DISABLE_WARNINGS",
             "KOKKOS_PRINT_CONFIGURATION", "KOKKOS_TUNE_INTERNALS", "KOKKOS_TOOLS_LIBS", "KOKKOS_VISIBLE_DEVICES",
             "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_MAX_ACTIVE_LEVELS", "OMP_STACKSIZE",
             "OMPI_COMM_WORLD_LOCAL_SIZE")


def kokkos_flag(draw):
    name = draw.choice(KOKKOS)
    if draw.random() < 0.15:
        name = "--kokkos-" + misspelt(draw, name[9:])
    kind = draw.random()
    if kind < 0.2:
        return name
    return name + "=" + (draw.choice(("1", "2", "yes", "no", "random", "mpi_rank")) if kind < 0.5 else draw.choice(NUMBERS))


def extra_flags(draw):
    """Flags of the command at the limits of their values, and some that do not exist."""
    flags = []
    for _ in range(draw.choice((0, 0, 0, 0, 1, 2))):
        flag = draw.choice(FLAGS)
        if flag == "--repeat":  # up to what ends within the time limit
            flags += [flag, draw.choice(("0", "1", "3", "-1", "1.5", "x", "1e999"))]
        elif flag == "--generate":
            flags += [flag, draw.choice(("poisson2d:4", "poisson2d:0", "poisson2d:-1", "poisson2d:1e999", "poisson2d:4,x=1",
                                         "poisson3d:9223372036854775807", "elasticity3d:2,contrast=nan", "circuit:3", ":",
                                         "tridiagonal:5", "irregular3d:3,mean=1e300"))]
        elif flag in ("-q", "--quiet", "--help", "--nonsense", "extra.mtx"):
            flags.append(flag)
        else:
            flags += [flag, draw.choice(NUMBERS)]
    return flags


# ------------------------------------------------------------------------------------------------ configurations

def configuration(draw, precond_options, solver_options):
    """A dictionary of settings, most of them good."""
    settings = {"rtol": 1e-8, "max_iters": 200}
    for key, value in (("quiet", True), ("atol", 0), ("spmv", "native"), ("repeat", 2), ("x0", "zero")):
        if draw.random() < 0.15:
            settings[key] = value
    for key, options in (("p", precond_options), ("solver_options", solver_options)):
        if options and draw.random() < 0.5:
            name, default, domain = draw.choice(options)
            settings[key] = {name: option_value(draw, (name, default, domain))}
    return settings


WRONG = (None, True, [], {}, "", "x", 0, -1, 1.5, 2 ** 31, 2 ** 63, 2 ** 64 - 1, 2 ** 64, -2 ** 63 - 1, [1], {"a": 1}, "1",
         float("nan"), float("inf"), 1e308)


def nested(depth, draw):
    return draw.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth))


def configuration_text(draw, settings):
    """The settings as JSON, with one or two things wrong in most cases."""
    settings = dict(settings)
    kind = draw.randrange(13)
    if kind == 0:
        settings[draw.choice(list(settings))] = draw.choice(WRONG)
    elif kind == 1:
        settings[misspelt(draw, draw.choice(list(settings)))] = draw.choice(WRONG)
    text = json.dumps(settings, indent=draw.choice((None, 1)))
    key = draw.choice(list(settings))
    if kind == 2:  # the same key twice
        text = text[:-1] + f', "{key}": {json.dumps(settings[key])}' + "}"
    elif kind == 3:
        text = text[:-1] + f', "{key}": {draw.choice(NUMBERS)}' + "}"
    elif kind == 4:
        place = draw.choice(("x", "p", "p", "solver_options", "x0"))
        text = text[:-1] + f', "{place}": {nested(draw.choice((2, 50, 1000, 20000, 200000)), draw)}' + "}"
    elif kind == 5:
        text = nested(draw.choice((1, 100, 100000)), draw)
    elif kind == 6:
        text = text.replace("200", draw.choice(("1e999", "18446744073709551615", "-9223372036854775809", "1e3", "2e2", "200.0")))
    data = text.encode()
    return mutate_bytes(draw, data) if kind == 7 else data
