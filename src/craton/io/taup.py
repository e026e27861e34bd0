"""Radial Earth models of TauP: "named discontinuities" (.nd) and .tvel, in km, km/s and g/cm3."""

from pathlib import Path

import numpy as np

from craton.io.contents import FileError, RadialTable, floats, surface_radius

BOUNDARIES = {"mantle": "moho", "moho": "moho", "outer-core": "cmb", "cmb": "cmb", "inner-core": "icb", "icocb": "icb"}
COLUMNS = ("vp", "vs", "rho", "qp", "qs")


def read(path):
    """Read a table of depth (km), vp, vs (km/s), density (g/cm3) and perhaps Qp, Qs.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    RadialTable

    Raises
    ------
    FileError
        A line that is no line of such a table.
    """
    rows, marks = _rows(path)
    columns = np.array(rows).T
    if len(columns) not in (4, 6):
        raise FileError(f"{path.name}: {len(columns)} columns; 4 (depth vp vs density) or 6 (with Qp Qs) are expected")
    columns[:4] *= 1e3
    radius = surface_radius(columns[0, -1]) - columns[0]
    return RadialTable(radius, dict(zip(COLUMNS, columns[1:])), radius[marks["moho"]] if "moho" in marks else None)


def _rows(path):
    """Numbers of a table, and the line after which each named boundary comes."""
    rows, marks = [], {}
    heading = 2 if path.suffix.lower() == ".tvel" else 0
    for number, line in enumerate(
        path.read_text(encoding="utf-8", errors="replace").splitlines()[heading:], heading + 1
    ):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) == 1 and words[0].lower() in BOUNDARIES and rows:
            marks[BOUNDARIES[words[0].lower()]] = len(rows) - 1
            continue
        try:
            rows.append(floats(words).tolist())
        except ValueError:
            expected = f"neither a row of numbers nor {', '.join(BOUNDARIES)}"
            raise FileError(f"{path.name}, line {number}: {line.strip()!r} is {expected}") from None
        if len(rows[-1]) != len(rows[0]):
            raise FileError(f"{path.name}, line {number}: {len(rows[-1])} numbers, {len(rows[0])} in the first line")
    return rows, marks


def write(path, title, pieces):
    """Write a model as .nd.

    Parameters
    ----------
    path : path-like
    title : str
    pieces : list of (str or None, (n, 6) array)
        From above: name of the boundary on top of a piece; depth, vp, vs, density, SI, Qp, Qs.
    """
    lines = [f"# {title}: depth km, vp km/s, vs km/s, density g/cm3, Qp, Qs"]
    for boundary, rows in pieces:
        lines += [boundary] if boundary else []
        lines += ["{:.6f} {:.8f} {:.8f} {:.8f} {:.3f} {:.3f}".format(*(row / ([1e3] * 4 + [1.0] * 2))) for row in rows]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")
