"""Tomography models of SPECFEM3D, ``tomography_model.xyz``: a heading of four lines, then x y z vp
vs rho and perhaps Qp Qs of each point, x fastest.
"""

from contextlib import contextmanager
from pathlib import Path

import numpy as np

from craton.io.contents import FileError, floats
from craton.io.text_table import lines_of

COLUMNS = ("x", "y", "z", "vp", "vs", "rho", "qp", "qs")
ENOUGH = 1e-3  # of the spacing: coordinates are often rounded
# times the extremes of the heading: these are often those of another version of the model
BEYOND = 2


@contextmanager
def opened(path):
    """Open a model.

    Parameters
    ----------
    path : pathlib.Path

    Yields
    ------
    xarray.Dataset
        vp, vs (m/s), rho (kg/m3), and qp, qs where the file has them, over z, y, x (m, z up).

    Raises
    ------
    FileError
        The heading or a row is wrong, or rows are missing: says which.
    """
    yield read(path)


def recognises(path):
    """Whether a file is text that begins with six numbers, three numbers and three whole numbers.

    Parameters
    ----------
    path : pathlib.Path
    """
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


def read(path):
    """Read a model: xarray.Dataset, as of `opened`.

    Parameters
    ----------
    path : path-like
    """
    from xarray import Dataset

    lines = lines_of(path)
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
        raise FileError(f"{Path(path).name}: line {line} of the heading is not numbers") from None


def _rows(lines, counts, path):
    """Rows of numbers, all of the points that the heading announces."""
    name, total = Path(path).name, int(np.prod(counts))
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
                f"{Path(path).name}: {name} runs from {least:g} to {most:g} in its rows and from "
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
                f"{Path(path).name}: row {row + 1} has {name} = {rows[row, n]:.10g} m, where the "
                f"heading puts {grid.ravel()[row]:.10g} m: x must vary fastest, z slowest"
            )
