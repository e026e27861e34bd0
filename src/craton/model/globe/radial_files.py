"""Radial Earth models by name and from tables: AK135, files of TauP (.nd, .tvel) and CSV; models written as .nd, which TauP reads."""
from pathlib import Path

import numpy as np

from craton.model.globe.prem import prem
from craton.model.globe.radial import PARAMETERS, RadialModel, losses

EARTH = 6_371_000.0  # m
BOUNDARIES = {"mantle": "moho", "moho": "moho", "outer-core": "cmb", "cmb": "cmb", "inner-core": "icb", "icocb": "icb"}
MANTLE = 7.5e3  # m/s: below the first jump to such vp lies the mantle, where a file does not say so
TRANSITIONS = (("upper_mantle", 410e3, 60e3), ("transition_zone", 660e3, 60e3))  # down to a jump at about this depth, m; its allowance, m
STEP = 20e3  # m between the lines of a written model: PREM's speeds between them are linear within 2e-6
COLUMNS = ("vp", "vs", "vpv", "vph", "vsv", "vsh", "rho", "eta", "qkappa", "qmu", "qp", "qs")


def model(name):
    """A radial model by its name or file.

    Parameters
    ----------
    name : str or path
        ``"prem"`` (isotropic, crust up to the surface), ``"prem_ocean"``, ``"prem_ti"`` and ``"prem_ti_ocean"`` (transversely isotropic),
        ``"ak135"``, or a file .nd, .tvel, .csv.

    Raises
    ------
    ValueError
        No such model or file, or one that cannot be understood.
    """
    if str(name) in MODELS:
        return MODELS[str(name)]()
    path = Path(name)
    if path.suffix.lower() not in READERS:
        raise ValueError(f"{name} is not a radial model: {', '.join(MODELS)}, or a file that ends in {', '.join(READERS)}")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    return READERS[path.suffix.lower()](path)


def ak135():
    """AK135 (Kennett, Engdahl & Buland 1995) with the density and Q of AK135-F (Montagner & Kennett 1996), continental crust."""
    return read_nd(Path(__file__).with_name("ak135.nd"))


# --- tables to models -------------------------------------------------------------------------------------------------------------------


def table(name, radius, values, regions=None, moho=None):
    """A model that is linear between the lines of a table.

    Parameters
    ----------
    name : str
    radius : (n,) array
        m, falling (top down) or rising; a radius given twice is a discontinuity.
    values : (8, n) array
        `radial.PARAMETERS` at them, SI, losses 1 / Q.
    regions : sequence of str, optional
        Of the pieces between different radii, from below; by default from the Moho, the depths of jumps and where it is fluid.
    moho : float, optional
        Its radius, m; by default that of the first jump to 7.5 km/s.
    """
    radius, values = np.asarray(radius, float), np.asarray(values, float)
    if radius[0] > radius[-1]:
        radius, values = radius[::-1], values[:, ::-1]
    if (np.diff(radius) < 0).any():
        at = radius[1:][np.diff(radius) < 0][0]
        raise ValueError(f"{name}: depths must rise from line to line; about radius {at / 1e3:.10g} km they decrease")
    _check(name, radius, values)
    thick = np.flatnonzero(np.diff(radius) > 0)
    low, high = radius[thick], radius[thick + 1]
    slope = (values[:, thick + 1] - values[:, thick]) / (high - low)
    coefficients = np.stack([values[:, thick] - slope * low, slope * radius[-1]], axis=-1).swapaxes(0, 1)
    made = RadialModel(name, np.append(low, high[-1]), coefficients, ("",) * len(thick))
    return RadialModel(name, made.knots, coefficients, tuple(regions) if regions is not None else _regions(made, moho))


def _check(name, radius, values):
    rho, *speeds = values[: PARAMETERS.index("eta")]
    wrong = [(message, bad) for message, bad in (
        ("density is not above 0", ~(rho > 0)), ("vp is not above 0", ~(speeds[0] > 0)), ("vs is negative or nan", ~(speeds[2] >= 0)),
        ("vs is greater than vp / sqrt(4/3)", speeds[2] ** 2 * 4 / 3 >= speeds[0] ** 2), ("Q is negative", ~(values[6:].min(axis=0) >= 0)),
    ) if bad.any()]  # fmt: skip
    if wrong:
        raise ValueError(f"{name}: {wrong[0][0]} at radius {radius[wrong[0][1]][0] / 1e3:.10g} km")


def _regions(made, moho):
    """Names of the pieces of a model, from below."""
    tops, middles = made.knots[1:], (made.knots[:-1] + made.knots[1:]) / 2
    fluid = made.speeds(middles)[1] == 0
    jumps = made.jumps()
    moho = _moho(made, jumps) if moho is None else moho
    names, rest = [], list(zip(tops, fluid))[::-1]
    core = False
    for top, wet in rest:  # top down
        core = core or (wet and top <= moho)
        names.append(("outer_core" if wet else "inner_core") if core else "ocean" if wet else _solid(made, jumps, moho, top))
    return tuple(names[::-1])


def _moho(made, jumps):
    """Radius of the first jump, from above, to the mantle's speed; the surface where there is none."""
    found = [r for r in jumps[::-1] if made.speeds(r)[0] >= MANTLE > made.speeds(r, "above")[0]]
    return found[0] if found else made.radius


def _solid(made, jumps, moho, top):
    if top > moho + 1e-9 * made.radius:
        return "crust"
    for name, depth, allowance in TRANSITIONS:
        near = jumps[np.abs(made.radius - jumps - depth) < allowance]
        if len(near) and top > near[np.argmin(np.abs(made.radius - near - depth))] * (1 + 1e-12):
            return name
    return "lower_mantle"


# --- files ------------------------------------------------------------------------------------------------------------------------------


def read_nd(path, radius=None):
    """A model from a table of depth (km), vp, vs (km/s), density (g/cm3) and perhaps Qp, Qs: TauP's "named discontinuities", or .tvel.

    Parameters
    ----------
    path : path-like
    radius : float, optional
        Of the surface, m; by default the largest depth where that is beyond 6000 km, else 6371 km.

    Raises
    ------
    ValueError
        A line that is no line of such a table.
    """
    path = Path(path)
    rows, marks = _rows(path)
    columns = np.array(rows).T
    if len(columns) not in (4, 6):
        raise ValueError(f"{path.name}: {len(columns)} columns; 4 (depth vp vs density) or 6 (with Qp Qs) are expected")
    depth = 1e3 * columns[0]
    properties = dict(zip(("vp", "vs", "rho"), 1e3 * columns[1:4])) | dict(zip(("qp", "qs"), columns[4:]))
    surface = _surface(depth[-1], radius)
    return table(path.stem, surface - depth, _parameters(properties), moho=surface - depth[marks["moho"]] if "moho" in marks else None)


def _rows(path):
    """Numbers of a table, and the line after which each named boundary comes."""
    rows, marks = [], {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines[2:] if path.suffix.lower() == ".tvel" else lines, 3 if path.suffix.lower() == ".tvel" else 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) == 1 and words[0].lower() in BOUNDARIES and rows:
            marks[BOUNDARIES[words[0].lower()]] = len(rows) - 1
            continue
        try:
            rows.append([float(w) for w in words])
        except ValueError:
            raise ValueError(
                f"{path.name}, line {number}: {line.strip()!r} is neither a row of numbers nor {', '.join(BOUNDARIES)}"
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{path.name}, line {number}: {len(rows[-1])} numbers, {len(rows[0])} in the first line")
    if len(rows) < 2:
        raise ValueError(f"{path.name} holds {len(rows)} lines of numbers; a model needs 2 or more")
    return rows, marks


def _surface(deepest, radius):
    return float(radius) if radius is not None else deepest if deepest > 6e6 else EARTH


def _parameters(given):
    """`PARAMETERS` (8, n) from columns in SI by name; quality factors of 0 or infinity mean no loss."""
    vpv, vsv = (given.get(f"{v}v", given.get(v)) for v in ("vp", "vs"))
    vph, vsh = given.get("vph", vpv), given.get("vsh", vsv)
    rows = np.array([given["rho"], vpv, vph, vsv, vsh, given.get("eta", np.ones_like(vpv)), *np.zeros((2, len(vpv)))])
    q = {name: _loss(given[name]) for name in ("qkappa", "qmu", "qp", "qs") if name in given}
    if "qmu" in q or "qkappa" in q:
        rows[6:] = q.get("qkappa", 0.0), q.get("qmu", 0.0)
    elif q:
        shear = 4 / 3 * (vsv / vpv) ** 2
        rows[7] = np.where(vsv > 0, q.get("qs", 0.0), 0.0)
        rows[6] = np.maximum(q.get("qp", 0.0) - shear * rows[7], 0.0) / (1 - shear)  # tables round Qp: never a gain of energy
    return rows


def _loss(quality):
    quality = np.asarray(quality, float)
    with np.errstate(divide="ignore"):
        return np.where(quality > 0, 1 / quality, 0.0)


def read_csv(path, radius=None):
    """A model from a CSV file whose first line names its columns.

    ``depth`` or ``radius`` (m, or km with the name ``depth_km``, ``radius_km``); ``vp``, ``vs`` or ``vpv, vph, vsv, vsh, eta`` (m/s, or
    km/s where all are below 100); ``rho`` (kg/m3, or g/cm3 where all are below 100); perhaps ``qkappa, qmu`` or ``qp, qs``.

    Raises
    ------
    ValueError
        Columns that are missing or unknown, or not numbers.
    """
    path = Path(path)
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip() and not line.startswith("#")]
    names = [word.strip().lower() for word in lines[0].split(",")] if lines else []
    places = [n for n in names if n.removesuffix("_km") in ("depth", "radius")]
    unknown = [n for n in names if n not in (*places, *COLUMNS)]
    if len(places) != 1 or unknown or "rho" not in names or not ({"vp", "vs"} <= {*names} or {"vpv", "vsv"} <= {*names}):
        wrong = f"column {unknown[0]!r} is unknown" if unknown else f"its columns are {', '.join(names) or 'none'}"
        raise ValueError(f"{path.name}: {wrong}; give depth or radius (or depth_km, radius_km), vp, vs, rho, optionally qkappa, qmu")
    try:
        columns = dict(zip(names, np.array([[float(w) for w in line.split(",")] for line in lines[1:]]).T))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    properties = {name: _si(name, values) for name, values in columns.items() if name in COLUMNS}
    place = columns[places[0]] * (1e3 if places[0].endswith("_km") else 1.0)
    return table(path.stem, place if places[0].startswith("radius") else _surface(place.max(), radius) - place, _parameters(properties))


def _si(name, values):
    thousands = name.startswith("v") or name == "rho"
    return 1e3 * values if thousands and values.max() < 100 else values


def write_nd(model, path, step=STEP):
    """Write a model as TauP's .nd: depth (km), vp, vs (km/s), density (g/cm3), Qp, Qs; of Voigt's averages where it is anisotropic.

    TauP takes speeds between lines as linear: curved pieces get a line every `step` m.
    """
    lines, previous = [f"# {model.name}: depth km, vp km/s, vs km/s, density g/cm3, Qp, Qs"], None
    marks = {"upper_mantle": "mantle", "outer_core": "outer-core", "inner_core": "inner-core"}
    for p in range(len(model.regions) - 1, -1, -1):
        name = model.regions[p]
        if name != previous and name in marks and previous is not None:
            lines.append(marks[name])
        count = 1 + (int(np.ceil((model.knots[p + 1] - model.knots[p]) / step)) if model.coefficients.shape[2] > 2 else 1)
        radii = np.linspace(model.knots[p + 1], model.knots[p], count)
        vp, vs, rho = model.speeds(radii, piece=p)
        quality = [np.where(loss > 0, 1 / np.where(loss > 0, loss, 1), 0) for loss in losses(model.parameters(radii, piece=p))]
        lines += [f"{(model.radius - r) / 1e3:.6f} {a / 1e3:.8f} {b / 1e3:.8f} {c / 1e3:.8f} {qp:.3f} {qs:.3f}"
                  for r, a, b, c, qp, qs in zip(radii, vp, vs, rho, *quality)]  # fmt: skip
        previous = name
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


MODELS = {
    "prem": prem, "prem_ocean": lambda: prem(ocean=True), "prem_ti": lambda: prem(transverse=True),
    "prem_ti_ocean": lambda: prem(transverse=True, ocean=True), "ak135": ak135,
}  # fmt: skip
READERS = {".nd": read_nd, ".tvel": read_nd, ".csv": read_csv}
