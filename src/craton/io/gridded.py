"""Gridded models of the Earth: bare numbers, as models of exploration are often handed on, and tomography models of
SPECFEM3D, ``tomography_model.xyz``.
"""

from math import prod

import numpy as np

from craton.io.contents import FileError, floats
from craton.io.text_table import iter_lines

# --- bare numbers ---------------------------------------------------------------------------------

ORDERS = ("xz", "zx", "xyz", "xzy", "yxz", "yzx", "zxy", "zyx")
TYPES = ("float32", "float64")
ENDIANS = {"little": "<", "big": ">"}
REMEDY = 'write shape = [nx, nz], order = "xz", spacing = [dx, dz] beside the file'


def read_numbers(path, shape=None, order=None, spacing=None, origin=None, type=TYPES[0], endian="little"):
    """Open a file as a Dataset of one variable, ``value``, over the axes of `order` (m, z up), read when it is used.

    `order` has the axes from the one that varies slowest to the one that varies fastest (``"xz"``: one column after the
    other; samples along z go down); `shape`, `spacing` (m, negative for x and y that fall and z that rises) and `origin`
    (m, 0 by default) are along them.
    """
    from xarray import Dataset

    if None in (shape, order, spacing):
        raise FileError(f"{path.name} has no heading that says what is where", REMEDY)
    kind = np.dtype(ENDIANS[endian] + {"float32": "f4", "float64": "f8"}[type])
    needed, held = kind.itemsize * prod(map(int, shape)), path.stat().st_size
    if needed != held:
        raise FileError(
            f"{path.name} has {held:,} bytes, {' x '.join(map(str, shape))} numbers of {type} have {needed:,}",
            "correct shape or type",
        )
    axes = {
        axis: first + (-step if axis == "z" else step) * np.arange(count)
        for axis, first, step, count in zip(order, origin or [0.0] * len(shape), spacing, shape)
    }
    return Dataset({"value": (tuple(order), np.memmap(path, kind, "r", shape=tuple(shape)))}, axes)


# --- tomography of SPECFEM3D ----------------------------------------------------------------------

COLUMNS = ("x", "y", "z", "vp", "vs", "rho", "qp", "qs")
ENOUGH = 1e-3  # of the spacing: coordinates are often rounded
# times the extremes of the heading: these are often those of another version of the model
BEYOND = 2


def is_tomography(path) -> bool:
    """Whether a file is text that begins with six numbers, three numbers and three whole numbers."""
    if path.is_dir():
        return False
    with open(path, "rb") as file:
        head = file.read(2000)
    if b"\0" in head:
        return False
    lines = [line.split("#")[0].split() for line in head.decode("utf-8", "replace").splitlines()]
    lines = [words for words in lines if words]
    if [len(words) for words in lines[:3]] != [6, 3, 3]:
        return False
    return all(word.lstrip("+").isdigit() for word in lines[2])


def read_tomography(path):
    """Read a model: a Dataset of vp, vs (m/s), rho (kg/m3), and qp, qs where the file has them, over z, y, x (m, z up).

    Its heading has four lines, then come x y z vp vs rho and perhaps Qp Qs of each point, x fastest.
    """
    from xarray import Dataset

    lines = list(iter_lines(path))
    origin_end, spacing, counts = (_numbers(*line, path) for line in lines[:3])
    counts = [int(value) for value in counts]
    rows = _rows(lines[4:], counts, path)
    _check_extremes(rows, _numbers(*lines[3], path), path)
    axes = {name: origin_end[n] + spacing[n] * np.arange(count) for n, (name, count) in enumerate(zip("xyz", counts))}
    _check_places(rows, axes, spacing, path)
    shape = counts[::-1]
    fields = {name: (("z", "y", "x"), column.reshape(shape)) for name, column in zip(COLUMNS[3:], rows.T[3:])}
    return Dataset(fields, axes)


def _numbers(line, text, path):
    try:
        words = text.split("#")[0].split()
        return floats([word.replace("d", "e").replace("D", "e") for word in words]).tolist()
    except ValueError:
        raise FileError(f"{path.name}: line {line} of the heading is not numbers") from None


def _rows(lines, counts, path):
    """Rows of numbers, all of the points that the heading announces."""
    name, total = path.name, int(np.prod(counts))
    if len(lines) != total:
        raise FileError(
            f"{name}: {len(lines)} rows below the heading, which announces "
            f"{' x '.join(map(str, counts))} = {total} points"
        )
    width = len(lines[0][1].split())
    if not 6 <= width <= len(COLUMNS):
        raise FileError(f"{name}: {width} columns; they are x y z vp vs rho and perhaps Qp Qs")
    try:
        return floats(" ".join(text for _, text in lines).split()).reshape(total, width)
    except ValueError:
        bad = next(n for n, text in lines if not _is_row(text, width))
        raise FileError(f"{name}: line {bad} is not {width} numbers") from None


def _is_row(text, width):
    try:
        return len(floats(text.split())) == width
    except ValueError:
        return False


def _check_extremes(rows, stated, path):
    """Refuse values far beyond the least and greatest vp, vs and rho of the heading."""
    for name, low, high, column in zip(COLUMNS[3:], stated[::2], stated[1::2], rows.T[3:]):
        least, most = column.min(), column.max()
        if 0 < low <= high and (least < low / BEYOND or most > high * BEYOND):
            raise FileError(
                f"{path.name}: {name} runs from {least:g} to {most:g} in its rows and from "
                f"{low:g} to {high:g} in its heading",
                "put both in m/s and kg/m3",
            )


def _check_places(rows, axes, spacing, path):
    """Refuse rows that do not stand where the heading says."""
    grids = np.meshgrid(axes["z"], axes["y"], axes["x"], indexing="ij")
    for n, (name, grid) in enumerate(zip("xyz", grids[::-1])):
        wrong = np.flatnonzero(~(np.abs(rows[:, n] - grid.ravel()) <= ENOUGH * abs(spacing[n]) + 1e-6))
        if len(wrong):
            row = wrong[0]
            raise FileError(
                f"{path.name}: row {row + 1} has {name} = {rows[row, n]:.10g} m, where the "
                f"heading puts {grid.ravel()[row]:.10g} m: x must vary fastest, z slowest"
            )
