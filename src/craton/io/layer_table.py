"""Tables of flat layers: depth or thickness, vp, vs, density and perhaps Qp, Qs, as text under a
heading of names and units, or of TauP.
"""

import re

import numpy as np

from craton.io import taup, text_table
from craton.io.contents import FileError, surface_radius
from craton.units import UnitError, si

SUFFIXES = (".nd", ".tvel")  # of TauP
SPELT = {
    "depth": ("depth", "z", "top", "depthtop", "topdepth"),
    "thickness": ("thickness", "thick", "h", "dz"),
    "vp": ("vp", "alpha"),
    "vs": ("vs", "beta"),
    "rho": ("rho", "density", "dens"),
    "qp": ("qp", "qalpha"),
    "qs": ("qs", "qbeta"),
}
NAMES = {word: name for name, words in SPELT.items() for word in words}
DIMENSIONS = {"depth": "length", "thickness": "length", "rho": "density"}
DIMENSIONS |= {"vp": "velocity", "vs": "velocity"}
THOUSANDS = {"length": "km", "velocity": "km/s", "density": "g/cm3"}
# Units as they are written without brackets and slashes: depth_km, vp_km_s.
PLAIN = {"km": "km", "m": "m", "kms": "km/s", "ms": "m/s", "gcm3": "g/cm3", "gcc": "g/cm3"}
PLAIN |= {"kgm3": "kg/m3"}
BRACKETS = re.compile(r"(.*?)[\s_]*[\[(]\s*(.*?)\s*[\])]")
BARE = re.compile(rf"(.*?)[\s_]+((?:{'|'.join(('km', 'm', 'g', 'kg'))})(?:[_/]?(?:s|cm3|cc|m3))?)")
DEEP = 6e6  # m, see `surface_radius`
REMEDY = "head the columns: depth_km vp_km/s vs_km/s rho_g/cm3, and perhaps qp qs"


def recognises(path):
    """Any text may be a table.

    Parameters
    ----------
    path : path-like
    """
    return True


def read(path, units=None, linear=None):
    """Read a table.

    Parameters
    ----------
    path : pathlib.Path
    units : str, optional
        ``"km"``: km, km/s and g/cm3 where the heading states no unit; else SI.
    linear : bool, optional
        Values grow linearly from row to row; by default those of TauP, and where a depth stands
        twice. Otherwise each row is a layer below its depth.

    Returns
    -------
    list of dict
        Layers from the top down: ``top`` (m, an elevation), ``vp, vs, rho``, their gradients where
        they are linear, and ``qp, qs`` where the file has them and they are no 0.

    Raises
    ------
    FileError
        Columns that are missing or unknown, units that are not understood, depths out of order.
    """
    is_taup = path.suffix.lower() in SUFFIXES
    columns = _of_taup(path) if is_taup else _columns(path, units)
    if "thickness" in columns:
        thickness = columns.pop("thickness")
        if linear:
            raise FileError(f"{path.name}: rows of a thickness are constant", "leave linear out")
        if not (thickness[:-1] > 0).all():
            raise FileError(f"{path.name}: a thickness is not above 0; only the last one may be 0")
        columns["depth"] = np.append(0.0, np.cumsum(thickness[:-1]))
        linear = False
    depth = columns.pop("depth")
    if not len(depth) or not (np.diff(depth) >= 0).all():
        raise FileError(f"{path.name}: depths must rise from row to row")
    twice = bool((np.diff(depth) == 0).any())
    if linear is None:
        linear = is_taup or twice
    elif twice and not linear:
        raise FileError(f"{path.name}: a depth stands twice", "leave linear = false out")
    return [_layer(n, depth, columns, linear) for n in _rows(depth)]


def _rows(depth):
    """Numbers of the rows that begin a layer: all but the upper one of two at one depth."""
    return np.flatnonzero(np.append(np.diff(depth) > 0, True))


def _layer(n, depth, columns, linear):
    layer = {"top": 0.0 - float(depth[n])}
    for name, values in columns.items():
        if name in DIMENSIONS:
            layer[name] = float(values[n])
            if linear and n + 1 < len(depth) and values[n + 1] != values[n]:
                step = float(depth[n + 1] - depth[n])
                layer[f"{name}_gradient"] = float(values[n + 1] - values[n]) / step
        elif 0 < values[n] < np.inf:
            layer[name] = float(values[n])
    return layer


def _of_taup(path):
    """Columns of a file of TauP."""
    table = taup.read(path)
    deep = table.radius.min() < surface_radius(0.0) - DEEP  # then it counts from its first line
    surface = table.radius.max() if deep else surface_radius(0.0)
    return {"depth": np.round(surface - table.radius, 3), **table.columns}


def _columns(path, units):
    """Columns of a text table in SI units, by name."""
    headings, column = text_table.read(path)
    stated = [_name_and_unit(heading) for heading in headings]
    names = [name for name, _ in stated]
    if unknown := [h for h, (name, _) in zip(headings, stated) if name not in SPELT]:
        raise FileError(f"{path.name}: column {unknown[0]!r} is unknown", REMEDY)
    missing = [name for name in ("vp", "vs", "rho") if name not in names]
    if missing or len({*names} & {"depth", "thickness"}) != 1 or len({*names}) < len(names):
        words = f"it has no column {missing[0]}" if missing else f"its columns are {headings}"
        raise FileError(f"{path.name}: {words}", f"{REMEDY}; thickness in place of depth")
    return {
        name: column(heading) * _factor(name, unit, units, f"{path.name}: {heading}")
        for heading, (name, unit) in zip(headings, stated)
    }


def _name_and_unit(heading):
    """Our name of a column, or None, and the unit in its heading."""
    text = heading.strip().lower()
    found = BRACKETS.fullmatch(text) or BARE.fullmatch(text)
    name, unit = found.groups() if found else (text, "")
    unit = PLAIN.get(re.sub(r"[_/\s]", "", unit), unit)
    return NAMES.get(re.sub(r"[_\s]", "", name)), unit


def _factor(name, unit, units, where):
    """Factor to SI of a column."""
    dimension = DIMENSIONS.get(name)
    if dimension is None:
        return 1.0
    unit = unit or (THOUSANDS[dimension] if units == "km" else "")
    try:
        return si(f"1 {unit}", dimension) if unit else 1.0
    except UnitError as error:
        raise FileError(f"{where}: {error}", error.remedy) from None
