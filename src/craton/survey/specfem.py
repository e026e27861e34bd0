"""Text files of SPECFEM3D: CMTSOLUTION (also as Global CMT gives them), FORCESOLUTION, STATIONS; SI units, axes of the file."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DYNE_CM = 1e-7  # N m
MOMENTS = ("mrr", "mtt", "mpp", "mrt", "mrp", "mtp")
CMT_KEYS = ("time shift", "half duration", "latitude", "longitude", "depth", *MOMENTS)
DIRECTION = ("component dir vect source e", "component dir vect source n", "component dir vect source z_up")
FORCE_KEYS = ("time shift", "hdurorf0", "latitude", "longitude", "depth", "factor force source", *DIRECTION)
ALIASES = {"latorutm": "latitude", "longorutm": "longitude", "hdur or f0": "hdurorf0", "f0": "hdurorf0"}
FUNCTION = "source time function"


@dataclass(frozen=True)
class Cmt:
    """One block of a CMTSOLUTION.

    Parameters
    ----------
    name : str
        "event name", or empty.
    title : str
        The first line: catalogue, origin time, hypocentre.
    shift, half_duration : float
        s.
    latitude, longitude : float
        Degrees or metres, as the file has them.
    depth : float
        m.
    moments : ndarray, shape (6,)
        Mrr Mtt Mpp Mrt Mrp Mtp, N m.
    """

    name: str
    title: str
    shift: float
    half_duration: float
    latitude: float
    longitude: float
    depth: float
    moments: np.ndarray


@dataclass(frozen=True)
class Force:
    """One block of a FORCESOLUTION.

    Parameters
    ----------
    name : str
        The first line.
    shift : float
        s.
    frequency : float
        Half duration (s) or peak frequency (Hz), by `function`.
    latitude, longitude : float
        Degrees or metres, as the file has them.
    depth : float
        m.
    force : ndarray, shape (3,)
        East, north, up, N: factor times unit vector.
    function : int
        0 Gaussian, 1 Ricker, 2 step, 3 monochromatic, 4 Gaussian of Meschede et al. (2011).
    """

    name: str
    shift: float
    frequency: float
    latitude: float
    longitude: float
    depth: float
    force: np.ndarray
    function: int


def read_cmtsolution(path):
    """Every source of a CMTSOLUTION file: list of Cmt.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong or missing: says which.
    """
    return [_cmt(block) for block in _blocks(path, CMT_KEYS, "CMTSOLUTION")]


def _cmt(block):
    v = block.values
    moments = DYNE_CM * np.array([v[k] for k in MOMENTS])
    if not moments.any():
        raise ValueError(f"line {block.line}: all components of the moment tensor are zero")
    if v["half duration"] < 0:
        raise ValueError(f"line {block.lines['half duration']}: half duration {v['half duration']:g} s is negative")
    return Cmt(block.texts.get("event name", ""), block.title, v["time shift"], v["half duration"], v["latitude"], v["longitude"],
               1e3 * v["depth"], moments)  # fmt: skip


def read_forcesolution(path):
    """Every source of a FORCESOLUTION file: list of Force. Raises as `read_cmtsolution`."""
    return [_force(block) for block in _blocks(path, FORCE_KEYS, "FORCESOLUTION")]


def _force(block):
    v = block.values
    vector = np.array([v[k] for k in DIRECTION])
    size = np.linalg.norm(vector)
    if not size or not v["factor force source"]:
        raise ValueError(f"line {block.line}: the force is zero")
    # Files of before this key existed mean a Ricker wavelet of peak frequency f0.
    function = v.get(FUNCTION, 1)
    if function not in (0, 1, 2, 3, 4):
        raise ValueError(f"line {block.lines[FUNCTION]}: source time function {function:g} is unknown, it is 0 to 4")
    return Force(block.title, v["time shift"], v["hdurorf0"], v["latitude"], v["longitude"], 1e3 * v["depth"],
                 v["factor force source"] * vector / size, int(function))  # fmt: skip


@dataclass
class _Block:
    """The lines of one source: its title, and by key in small letters the numbers, texts and line numbers."""

    title: str
    line: int
    values: dict
    texts: dict
    lines: dict


def _blocks(path, keys, noun):
    """Blocks of ``key: value`` lines, each behind a title line; every one with all its keys."""
    blocks = []
    for n, line in enumerate(Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, value = _key(line, (*keys, "event name", FUNCTION))
        if key is None:
            blocks.append(_Block(line.strip(), n, {}, {}, {}))
        elif not blocks:
            raise ValueError(f"line {n}: {line.strip()[:40]!r} is before the title line of a source")
        else:
            _take(blocks[-1], n, key, value)
    if not blocks:
        raise ValueError(f"line 1: the file is empty, so it is not a {noun}")
    for block in blocks:
        missing = [k for k in keys if k not in block.values]
        if len(missing) == len(keys):
            raise ValueError(f"line {block.line}: {block.title[:40]!r} is not a line of a {noun}, such as \"{keys[0]}: 0\"")
        if missing:
            raise ValueError(f"line {block.line}: the source that starts here has no \"{missing[0]}\"")
    return blocks


def _key(line, keys):
    """(key, text behind it) of a line; (None, "") where it has none of the keys."""
    name, colon, rest = line.partition(":")
    name = " ".join(name.lower().split())
    name = ALIASES.get(name, name)
    return (name, rest.strip()) if colon and name in keys else (None, "")


def _take(block, n, key, value):
    if key in block.lines:
        raise ValueError(f"line {n}: \"{key}\" occurs twice, also in line {block.lines[key]}")
    block.lines[key] = n
    if key == "event name":
        block.texts[key] = value
    else:
        block.values[key] = number(value.split()[0] if value else "", n, key)


def number(word, line, name):
    """A finite number, with Fortran's exponents (1.d10); a ValueError that says line and name otherwise."""
    try:
        value = float(word.lower().replace("d", "e"))
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"line {line}: {name} is {word!r}, not a number" if word else f"line {line}: {name} has no value")
    return value


def tensor(moments, convention="rtp"):
    """Moment tensor, shape (3, 3), east-north-up, from the six numbers of a CMTSOLUTION.

    Parameters
    ----------
    moments : array_like, shape (6,)
        Mrr Mtt Mpp Mrt Mrp Mtp.
    convention : str
        ``"rtp"``: r up, theta south, phi east (Global CMT, SPECFEM). ``"ned"``: the six are Mxx Myy Mzz Mxy Mxz Myz with x north,
        y east, z down, as the finite-fault files of the USGS have them under the same names.
    """
    a, b, c, ab, ac, bc = moments
    if convention == "ned":
        return np.array([[b, ab, -bc], [ab, a, -ac], [-bc, -ac, c]])
    return np.array([[c, -bc, ac], [-bc, b, -ab], [ac, -ab, a]])


def is_stations(text):
    """Whether a text looks like a STATIONS file: columns without commas, and no heading with name and x."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    words = lines[0].split() if lines else []
    return len(words) >= 4 and not any(c in lines[0] for c in ",;") and not {"name", "x"} <= {w.lower() for w in words}


def read_stations(path):
    """Stations of a STATIONS file: ``station network latitude longitude elevation burial``.

    Returns
    -------
    names : list of str
        Station codes; NETWORK.STATION for all where a code stands twice.
    latitude, longitude : ndarray
        Degrees or metres, as the file has them.
    depth : ndarray
        Burial, m. Elevations are not used, as in SPECFEM: receivers are at their burial below the surface.

    Raises
    ------
    OSError, ValueError
        As `read_cmtsolution`.
    """
    rows = []
    for n, line in enumerate(Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 6:
            raise ValueError(f"line {n}: {len(words)} columns, but six are required: station network latitude longitude elevation burial")
        labels = ("latitude", "longitude", "elevation", "burial")
        rows.append((words[0], words[1], *(number(w, n, label) for w, label in zip(words[2:6], labels))))
    if not rows:
        raise ValueError("line 1: no stations")
    names = [r[0] for r in rows]
    if len(set(names)) < len(names):
        names = [f"{r[1]}.{r[0]}" for r in rows]
    return names, *(np.array([r[c] for r in rows]) for c in (2, 3, 5))
