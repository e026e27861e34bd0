"""STATIONS of SPECFEM: ``station network latitude longitude elevation burial``."""

import numpy as np

from craton.io.contents import Stations, unique_codes
from craton.io.keyed import lines_of, number

NAMES, PLACES = {"name", "station", "sta", "code"}, {"x", "longitude", "lon"}  # in a heading
COLUMNS = ("latitude", "longitude", "elevation", "burial")


def recognises(path):
    """Whether a file has columns without commas, and no heading with name and x or longitude.

    Parameters
    ----------
    path : path-like
    """
    _, line = next(iter(lines_of(path)), (0, ""))
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
    pairs, rows = [], []
    for n, line in lines_of(path):
        words = line.split()
        if len(words) < 6:
            raise ValueError(
                f"line {n}: {len(words)} columns, but six are required: station network {' '.join(COLUMNS)}"
            )
        pairs.append((words[1], words[0]))
        rows.append([number(word, n, label) for word, label in zip(words[2:6], COLUMNS)])
    if not rows:
        raise ValueError("line 1: no stations")
    latitude, longitude, elevation, burial = np.array(rows).T
    networks, codes = (list(column) for column in zip(*pairs))
    return Stations(
        unique_codes(pairs),
        longitude,
        latitude,
        burial,
        networks=networks,
        codes=codes,
        elevation=elevation,
    )
