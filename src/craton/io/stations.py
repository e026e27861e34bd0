"""STATIONS of SPECFEM: ``station network latitude longitude elevation burial``."""

import numpy as np

from craton.io.contents import Stations, floats, unique_codes
from craton.io.keyed import first_line, lines_of, number

NAMES, PLACES = {"name", "station", "sta", "code"}, {"x", "longitude", "lon"}  # in a heading
COLUMNS = ("latitude", "longitude", "elevation", "burial")


def recognises(path):
    """Whether a file has columns without commas, and no heading with name and x or longitude.

    Parameters
    ----------
    path : path-like
    """
    line = first_line(path)
    words = line.lower().split()
    is_heading = all(set(words) & names for names in (NAMES, PLACES))
    return len(words) >= 4 and not any(c in line for c in ",;") and not is_heading


def read(path):
    """Read the stations of a file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stations
        At their burial below the surface; elevations are those of the ground.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong: says which.
    """
    lines = lines_of(path)
    if not lines:
        raise ValueError("line 1: no stations")
    rows = [line.split() for _, line in lines]
    for (n, _), words in zip(lines, rows):
        if len(words) < 6:
            raise ValueError(
                f"line {n}: {len(words)} columns, but six are required: station network {' '.join(COLUMNS)}"
            )
    latitude, longitude, elevation, burial = (
        _numbers(lines, [words[place] for words in rows], label) for place, label in enumerate(COLUMNS, 2)
    )
    networks, codes = [words[1] for words in rows], [words[0] for words in rows]
    pairs = list(zip(networks, codes))
    return Stations(
        unique_codes(pairs), longitude, latitude, burial, networks=networks, codes=codes, elevation=elevation
    )


def _numbers(lines, words, label):
    """Finite numbers of a column; the first that is none is named with its line."""
    try:
        values = floats(words)
        if np.isfinite(values).all():
            return values
    except ValueError:  # Fortran's exponents, too
        pass
    return np.array([number(word, n, label) for (n, _), word in zip(lines, words)])
