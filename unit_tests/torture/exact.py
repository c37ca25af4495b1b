# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix Market files and residuals without the library: nothing here under- or overflows.

A real number is a Fraction, a complex one a pair of them. Whatever doubles a file holds, sums of their products are exact.
"""

import gzip
import math
import re
import tempfile
from fractions import Fraction
from pathlib import Path

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?\Z")
WHOLE = re.compile(r"[+-]?\d+\Z")
BLANKS = " \t\n\v\f\r"


class NotAMatrix(Exception):
    """A file that is no Matrix Market file."""


class Matrix:
    """rows x cols, `entries` a dictionary (row, column) -> (real part, imaginary part), doubles."""

    def __init__(self, rows, cols, entries, is_complex):
        self.rows = rows
        self.cols = cols
        self.entries = entries
        self.is_complex = is_complex


def read_text(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except Exception as error:  # zlib's and gzip's own, and the end of the file
            raise NotAMatrix(str(error)) from error
    return data.decode("latin-1")


def number(text):
    if not NUMBER.match(text):
        raise NotAMatrix(f"{text!r} is not a number")
    value = float(re.sub("[dD]", "e", text))
    if math.isinf(value):
        raise NotAMatrix(f"{text!r} is too large")
    return value


def whole(text):
    if not WHOLE.match(text):
        raise NotAMatrix(f"{text!r} is not a whole number")
    return int(text)


def data_lines(text):
    """The words of each line that is neither blank nor a comment."""
    for line in text.split("\n"):
        if not line.startswith("%") and line.strip(BLANKS):
            yield re.split(f"[{BLANKS}]+", line.strip(BLANKS))


def read_market(path):
    """The Matrix of a file, by the format's definition. Raises NotAMatrix."""
    text = read_text(path)
    if "\0" in text:
        raise NotAMatrix("a NUL byte")
    first, _, rest = text.partition("\n")
    banner = [word.lower() for word in re.split(f"[{BLANKS}]+", first.strip(BLANKS))]
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise NotAMatrix("no banner")
    form, field, symmetry = banner[2:]
    if form not in ("coordinate", "array") or field not in ("real", "double", "integer", "complex", "pattern"):
        raise NotAMatrix("an unknown format or field")
    if symmetry not in ("general", "symmetric", "skew-symmetric", "hermitian"):
        raise NotAMatrix("an unknown symmetry")
    lines = data_lines(rest)
    sizes = [whole(word) for word in next(lines, [])]
    if len(sizes) != (3 if form == "coordinate" else 2) or min(sizes) < 0:
        raise NotAMatrix("a bad size line")
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise NotAMatrix("symmetric and not square")
    entries = read_coordinates(lines, sizes, field, symmetry) if form == "coordinate" else \
        read_array(lines, sizes, field, symmetry)
    return Matrix(sizes[0], sizes[1], entries, field == "complex")


def values_of(words, field):
    if field == "pattern":
        if words:
            raise NotAMatrix("a pattern has no values")
        return (1.0, 0.0)
    if len(words) != (2 if field == "complex" else 1):
        raise NotAMatrix("a wrong number of values")
    if field == "integer":
        whole(words[0])
    return (number(words[0]), number(words[1]) if field == "complex" else 0.0)


def mirrored(value, symmetry):
    real, imaginary = value
    if symmetry == "hermitian":
        return (real, -imaginary)
    return (-real, -imaginary) if symmetry == "skew-symmetric" else value


def add(entries, key, value):
    """Duplicates are summed in the order of the file, in doubles, as who assembles a matrix does."""
    before = entries.get(key, (0.0, 0.0))
    entries[key] = (before[0] + value[0], before[1] + value[1])


def read_coordinates(lines, sizes, field, symmetry):
    rows, cols, count = sizes
    entries = {}
    read = 0
    for words in lines:
        if len(words) < 2:
            raise NotAMatrix("an entry without a column")
        row, col = whole(words[0]), whole(words[1])
        if not (1 <= row <= rows and 1 <= col <= cols):
            raise NotAMatrix("an entry outside of the matrix")
        value = values_of(words[2:], field)
        add(entries, (row - 1, col - 1), value)
        if symmetry != "general" and row != col:
            add(entries, (col - 1, row - 1), mirrored(value, symmetry))
        read += 1
    if read != count:
        raise NotAMatrix(f"{read} entries, {count} announced")
    return entries


def read_array(lines, sizes, field, symmetry):
    rows, cols = sizes
    if field == "pattern":
        raise NotAMatrix("an array without values")
    if symmetry == "general":
        cells = [(i, j) for j in range(cols) for i in range(rows)]
    else:
        cells = [(i, j) for j in range(cols) for i in range(j + (symmetry == "skew-symmetric"), rows)]
    values = [values_of(words, field) for words in lines]
    if len(values) != len(cells):
        raise NotAMatrix(f"{len(values)} values, {len(cells)} announced")
    entries = {}
    for (i, j), value in zip(cells, values):
        entries[i, j] = value
        if symmetry != "general" and i != j:
            entries[j, i] = mirrored(value, symmetry)
    return entries


def read_vector(path, length):
    """The (real, imaginary) pairs of an n x 1 matrix."""
    matrix = read_market(path)
    if (matrix.rows, matrix.cols) != (length, 1):
        raise NotAMatrix(f"not a vector of {length} numbers")
    return [matrix.entries.get((i, 0), (0.0, 0.0)) for i in range(length)]


def norm_squared(vector):
    return sum((part * part for value in vector for part in value), Fraction(0))


def exactly(vector):
    return [(Fraction(real), Fraction(imaginary)) for real, imaginary in vector]


def residual(matrix, x, b):
    """b - A x, exactly."""
    x, r = exactly(x), exactly(b)
    for (i, j), value in matrix.entries.items():
        real, imaginary = Fraction(value[0]), Fraction(value[1])
        r[i] = (r[i][0] - real * x[j][0] + imaginary * x[j][1], r[i][1] - real * x[j][1] - imaginary * x[j][0])
    return r


def solves(matrix, x, b, rtol, atol=0.0):
    """Is ||b - A x|| <= max(rtol ||b||, atol)? One part in a thousand is left to the library's rounding of the norm, and
    eight roundings of ||b|| to that of the residual, where next to nothing is asked for."""
    if any(math.isnan(part) or math.isinf(part) for value in x for part in value):
        return False
    least = Fraction(1, 2 ** 50)
    allowed = max(max(Fraction(rtol), least) ** 2 * norm_squared(exactly(b)), Fraction(atol) ** 2)
    return norm_squared(residual(matrix, x, b)) <= allowed * Fraction(1002, 1000)


def ratio(matrix, x, b):
    """||b - A x|| / ||b|| as a text, for messages."""
    if any(math.isnan(part) or math.isinf(part) for value in x for part in value):
        return "not finite"
    r, norm_b = norm_squared(residual(matrix, x, b)), norm_squared(exactly(b))
    if norm_b == 0:
        return "0" if r == 0 else "infinite"
    if r == 0:
        return "0"
    quotient = r / norm_b
    exponent = (len(str(quotient.numerator)) - len(str(quotient.denominator)) - 1) // 2
    mantissa = math.sqrt(float(quotient / Fraction(10) ** (2 * exponent)))
    return f"{mantissa:.3g}e{exponent}" if mantissa < 10 else f"{mantissa / 10:.3g}e{exponent + 1}"


def write_matrix(path, rows, entries, field="real", symmetry="general"):
    """`entries`: (row, column, value) from 0, the value a float or a complex number."""
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{rows} {rows} {len(entries)}\n")
        for i, j, value in entries:
            file.write(f"{i + 1} {j + 1} {text_of(value, field)}\n")


def write_vector(path, values, field="real"):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix array {field} general\n{len(values)} 1\n")
        for value in values:
            file.write(text_of(value, field) + "\n")


def text_of(value, field):
    if field == "complex":
        return f"{value.real!r} {value.imag!r}"
    return repr(float(value))


# ------------------------------------------------------------------------------------------------ what judges is judged

def market(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mtx"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_market(path)


def refuses(text):
    try:
        market(text)
    except NotAMatrix:
        return True
    return False


def prove():
    """Raises AssertionError unless this file reads what it should, refuses what it should, and tells a solution from none."""
    banner = "%%MatrixMarket matrix coordinate "
    good = banner + "real symmetric\n2 2 2\n1 1 2\n2 1 -1\n"
    assert market(good).entries == {(0, 0): (2.0, 0.0), (1, 0): (-1.0, 0.0), (0, 1): (-1.0, 0.0)}
    assert market(gzip.compress(good.encode())).entries == market(good).entries
    assert market(banner + "complex hermitian\n2 2 1\n2 1 1 3\n").entries == {(1, 0): (1.0, 3.0), (0, 1): (1.0, -3.0)}
    assert market(banner + "real general\n% c\n\n1 1 2\n1 1 2D0\n1 1 .5\n").entries == {(0, 0): (2.5, 0.0)}
    for bad in ("", good[:-9], good + "1 1 1\n", good.replace("2 1 -1", "3 1 1"), good.replace("-1", "x"),
                good.replace("-1", "1e999"), good.replace("symmetric", "symetric"), good.replace("-1", "-1 2"),
                gzip.compress(good.encode())[:-3], gzip.compress(good.encode()) + b"junk", good + "\0"):
        assert refuses(bad), bad
    for scale in (1.0, 1e-300, 5e-324, 1e300):
        matrix = Matrix(2, 2, {(0, 0): (2.0, 0.0), (0, 1): (1.0, 0.0), (1, 1): (1.0, 0.0)}, False)
        b = [(3.0 * scale, 0.0), (scale, 0.0)]
        assert solves(matrix, [(scale, 0.0)] * 2, b, 1e-8)
        assert not solves(matrix, [(0.0, 0.0)] * 2, b, 1e-8)
        assert not solves(matrix, [(math.nan, 0.0)] * 2, b, 1e-8)
        assert scale == 5e-324 or not solves(matrix, [(scale * (1 + 1e-7), 0.0)] * 2, b, 1e-8)
        assert solves(matrix, [(0.0, 0.0)] * 2, b, 1e-8, atol=4 * scale)
    rotation = Matrix(1, 1, {(0, 0): (0.0, 1.0)}, True)
    assert solves(rotation, [(1.0, 0.0)], [(0.0, 1.0)], 1e-8) and not solves(rotation, [(1.0, 0.0)], [(0.0, -1.0)], 1e-8)
    assert ratio(matrix, [(0.0, 0.0)] * 2, b) == "1e0", ratio(matrix, [(0.0, 0.0)] * 2, b)
