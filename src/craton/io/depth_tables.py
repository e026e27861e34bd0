"""Tables of the Earth over depth, as text under a heading of names and units, or of TauP ("named discontinuities", .nd, and
.tvel: km, km/s, g/cm3): radial models, and flat layers.
"""

import re
from pathlib import Path

import numpy as np

from craton.io import text_table
from craton.io.contents import FileError, RadialTable, floats
from craton.io.units import UnitError, si

TAUP = (".nd", ".tvel")
BOUNDARIES = ("mantle", "moho", "outer-core", "cmb", "inner-core", "icocb")
MOHO = BOUNDARIES[:2]
SPELT = {
    "depth": ("depth", "z", "top", "depthtop", "topdepth"),
    "thickness": ("thickness", "thick", "h", "dz"),
    "vp": ("vp", "alpha"),
    "vs": ("vs", "beta"),
    "rho": ("rho", "density", "dens"),
    "qp": ("qp", "qalpha"),
    "qs": ("qs", "qbeta"),
}
RADIAL = ("radius", "vpv", "vph", "vsv", "vsh", "eta", "qkappa", "qmu")  # of radial models alone
NAMES = {word: name for name, words in SPELT.items() for word in words} | {name: name for name in RADIAL}
DIMENSIONS = dict.fromkeys(("depth", "thickness", "radius"), "length") | {"rho": "density"}
DIMENSIONS |= dict.fromkeys(("vp", "vs", "vpv", "vph", "vsv", "vsh"), "velocity")
THOUSANDS = {"length": "km", "velocity": "km/s", "density": "g/cm3"}
# Units as they are written without brackets and slashes: depth_km, vp_km_s.
PLAIN = {"km": "km", "m": "m", "kms": "km/s", "ms": "m/s", "gcm3": "g/cm3", "gcc": "g/cm3"}
PLAIN |= {"kgm3": "kg/m3"}
BRACKETS = re.compile(r"(.*?)[\s_]*[\[(]\s*(.*?)\s*[\])]")
BARE = re.compile(rf"(.*?)[\s_]+((?:{'|'.join(('km', 'm', 'g', 'kg'))})(?:[_/]?(?:s|cm3|cc|m3))?)")
SPARSE = 100  # a density in kg/m3, a speed in m/s: where all are below, they are in g/cm3 and km/s


def read_radial(path) -> RadialTable:
    """Read a radial model of TauP, or as CSV.

    Columns of CSV: ``depth`` or ``radius``; ``vp``, ``vs`` or ``vpv, vph, vsv, vsh, eta``; ``rho``; perhaps ``qkappa, qmu``
    or ``qp, qs``; in SI units, or those of the heading (``depth_km``), or km/s and g/cm3 where all values are below 100.
    """
    if path.suffix.lower() in TAUP:
        columns, moho = _of_taup(path)
    else:
        columns, moho = _of_text(path, {*NAMES.values()} - {"thickness"}, _likely_unit), None
    names = {*columns}
    if (
        len(names & {"depth", "radius"}) != 1
        or "rho" not in names
        or not ({"vp", "vs"} <= names or {"vpv", "vsv"} <= names)
    ):
        raise FileError(
            f"{path.name}: its columns are {', '.join(columns)}; give depth or radius (or depth_km, radius_km), vp, vs, rho, "
            "optionally qkappa, qmu"
        )
    if "radius" in names:
        return RadialTable(columns.pop("radius"), columns)
    depth = columns.pop("depth")
    deepest = depth.max(initial=0)
    surface = deepest if deepest > 6e6 else 6_371_000.0  # down to the centre, else of the Earth
    return RadialTable(surface - depth, columns, None if moho is None else surface - moho)


def read_layers(path, units=None, linear=None) -> list[dict]:
    """Read flat layers from the top down: ``top`` (m, an elevation), ``vp, vs, rho``, their gradients where they are
    linear, and ``qp, qs`` where the file has them and they are no 0.

    With `units` "km" depths are in km, speeds in km/s and densities in g/cm3 where the heading states no unit; else SI.
    `linear`: values grow linearly from row to row; by default those of TauP, and where a depth stands twice. Otherwise each
    row is a layer below its depth.
    """
    is_taup = path.suffix.lower() in TAUP
    if is_taup:
        columns, _ = _of_taup(path)
    else:
        columns = _of_text(path, SPELT, lambda dimension, values: THOUSANDS[dimension] if units == "km" else "")
    missing = [name for name in ("vp", "vs", "rho") if name not in columns]
    if missing or ("depth" in columns) == ("thickness" in columns):
        fault = f"it has no column {missing[0]}" if missing else f"its columns are {', '.join(columns)}"
        raise FileError(
            f"{path.name}: {fault}",
            "head the columns: depth_km vp_km/s vs_km/s rho_g/cm3, and perhaps qp qs; thickness in place of depth",
        )
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
    first = np.append(np.diff(depth) > 0, True)  # of two rows at one depth the lower one begins a layer
    return [_layer(n, depth, columns, linear) for n in np.flatnonzero(first)]


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


def _of_text(path, known, usual_unit):
    """Return the columns of a text table in SI units by our names; `usual_unit(dimension, values)` is asked for the unit
    of a column whose heading states none.
    """
    headings, column = text_table.read(path)
    columns = {}
    for heading in headings:
        text = heading.strip().lower()
        match = BRACKETS.fullmatch(text) or BARE.fullmatch(text)
        word, unit = match.groups() if match else (text, "")
        name = NAMES.get(re.sub(r"[_\s]", "", word))
        if name not in known:
            raise FileError(f"{path.name}: column {heading!r} is unknown", f"known are {', '.join(sorted(known))}")
        if name in columns:
            raise FileError(f"{path.name}: the column {name} stands twice")
        columns[name] = column(heading)
        if dimension := DIMENSIONS.get(name):
            unit = PLAIN.get(re.sub(r"[_/\s]", "", unit), unit) or usual_unit(dimension, columns[name])
            try:
                columns[name] = columns[name] * (si(f"1 {unit}", dimension) if unit else 1.0)
            except UnitError as error:
                raise FileError(f"{path.name}: {heading}: {error}", error.remedy) from None
    return columns


def _likely_unit(dimension, values):
    """Return the unit of speeds and densities that are too small for SI."""
    return THOUSANDS[dimension] if dimension != "length" and values.max(initial=0) < SPARSE else ""


def _of_taup(path):
    """Return the columns of a file of TauP in SI units: depth, vp, vs, rho and perhaps qp, qs; and the depth of the Moho,
    None where the file does not name it.
    """
    rows, moho = [], None
    heading = 2 if path.suffix.lower() == ".tvel" else 0
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split("#")[0].split()
        if number <= heading or not words:
            continue
        if len(words) == 1 and words[0].lower() in BOUNDARIES and rows:
            moho = 1e3 * rows[-1][0] if words[0].lower() in MOHO else moho
            continue
        try:
            rows.append(floats(words))
        except ValueError:
            expected = f"neither a row of numbers nor {', '.join(BOUNDARIES)}"
            raise FileError(f"{path.name}, line {number}: {line.strip()!r} is {expected}") from None
        if len(rows[-1]) != len(rows[0]):
            raise FileError(f"{path.name}, line {number}: {len(rows[-1])} numbers, {len(rows[0])} in the first line")
    columns = np.array(rows).T
    if len(columns) not in (4, 6):
        raise FileError(f"{path.name}: {len(columns)} columns; 4 (depth vp vs density) or 6 (with Qp Qs) are expected")
    columns[:4] *= 1e3
    return dict(zip(("depth", "vp", "vs", "rho", "qp", "qs"), columns)), moho


def write_nd(path, title: str, pieces):
    """Write a radial model as .nd.

    `pieces` are from above: the name of the boundary on top of one, or None, and its rows (n, 6): depth, vp, vs, density,
    SI, Qp, Qs.
    """
    lines = [f"# {title}: depth km, vp km/s, vs km/s, density g/cm3, Qp, Qs"]
    for boundary, rows in pieces:
        lines += [boundary] if boundary else []
        lines += ["{:.6f} {:.8f} {:.8f} {:.8f} {:.3f} {:.3f}".format(*(row / ([1e3] * 4 + [1.0] * 2))) for row in rows]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")
