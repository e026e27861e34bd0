"""Radial Earth models by name and from tables: AK135, files of TauP (.nd, .tvel) and CSV; models
written as .nd, which TauP reads.
"""

from pathlib import Path

import numpy as np

from craton import io
from craton.io.contents import UnknownFormat
from craton.io.depth_tables import write_nd as write_table
from craton.model.globe.prem import prem
from craton.model.globe.radial import PARAMETERS, RadialModel, inverse_q

MANTLE = 7.5e3  # m/s: below the first jump to such vp lies the mantle, where a file does not say so
# down to a jump at about this depth, m; its allowance, m
TRANSITIONS = (("upper_mantle", 410e3, 60e3), ("transition_zone", 660e3, 60e3))
# m between the lines of a written model: PREM's speeds between them are linear within 2e-6
STEP = 20e3


def model(name):
    """Return a radial model by its name or file.

    `name`: ``"prem"`` (isotropic, crust up to the surface), ``"prem_ocean"``, ``"prem_ti"`` and ``"prem_ti_ocean"``
    (transversely isotropic), ``"ak135"``, or a file .nd, .tvel, .csv. Raises ValueError: no such model or file, or one
    that cannot be understood.
    """
    if str(name) in MODELS:
        return MODELS[str(name)]()
    path = Path(name)
    try:
        rows = io.read(path, "radial model")
    except UnknownFormat as error:
        raise ValueError(
            f"{name} is not a radial model: {', '.join(MODELS)}, or a file; {error}; {error.remedy}"
        ) from None
    return table(path.stem, rows.radius, _parameters(rows.columns), moho=rows.moho)


def ak135():
    """AK135 (Kennett, Engdahl & Buland 1995) with the density and Q of AK135-F (Montagner & Kennett
    1996), continental crust.
    """
    return model(Path(__file__).with_name("ak135.nd"))


# --- tables to models -----------------------------------------------------------------------------


def table(name, radius, values, moho=None):
    """Return a model that is linear between the lines of a table.

    `radius` (n,): m, falling (top down) or rising; a radius given twice is a discontinuity; `values` (8, n):
    `radial.PARAMETERS` at them, SI, losses 1 / Q; `moho`: its radius, m; by default that of the first jump to 7.5
    km/s. Regions follow from it, the depths of jumps and where it is fluid.
    """
    radius, values = np.asarray(radius, float), np.asarray(values, float)
    if len(radius) < 2:
        raise ValueError(f"{name} holds {len(radius)} lines of numbers; a model needs 2 or more")
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
    unnamed = RadialModel(name, np.append(low, high[-1]), coefficients, ("",) * len(thick))
    return RadialModel(name, unnamed.knots, coefficients, _regions(unnamed, moho))


def _check(name, radius, values):
    rho, *speeds = values[: PARAMETERS.index("eta")]
    wrong = [
        (message, bad)
        for message, bad in (
            ("density is not above 0", ~(rho > 0)),
            ("vp is not above 0", ~(speeds[0] > 0)),
            ("vs is negative or nan", ~(speeds[2] >= 0)),
            ("vs is greater than vp / sqrt(4/3)", speeds[2] ** 2 * 4 / 3 >= speeds[0] ** 2),
            ("Q is negative", ~(values[6:].min(axis=0) >= 0)),
        )
        if bad.any()
    ]
    if wrong:
        raise ValueError(f"{name}: {wrong[0][0]} at radius {radius[wrong[0][1]][0] / 1e3:.10g} km")


def _regions(model, moho):
    """Names of the pieces of a model, from below."""
    tops, middles = model.knots[1:], (model.knots[:-1] + model.knots[1:]) / 2
    fluid = model.speeds(middles)[1] == 0
    jumps = model.jumps()
    moho = _moho(model, jumps) if moho is None else moho
    names, core = [], False
    for top, wet in zip(tops[::-1], fluid[::-1]):
        core = core or (wet and top <= moho)
        if core:
            names.append("outer_core" if wet else "inner_core")
        else:
            names.append("ocean" if wet else _solid(model, jumps, moho, top))
    return tuple(names[::-1])


def _moho(model, jumps):
    """Radius of the first jump, from above, to the mantle's speed; the surface where there is none."""
    mantle_tops = [r for r in jumps[::-1] if model.speeds(r)[0] >= MANTLE > model.speeds(r, "above")[0]]
    return mantle_tops[0] if mantle_tops else model.radius


def _solid(model, jumps, moho, top):
    if top > moho + 1e-9 * model.radius:
        return "crust"
    for name, depth, allowance in TRANSITIONS:
        candidates = jumps[np.abs(model.radius - jumps - depth) < allowance]
        if len(candidates) and top > candidates[np.argmin(np.abs(model.radius - candidates - depth))] * (1 + 1e-12):
            return name
    return "lower_mantle"


def _parameters(columns):
    """`PARAMETERS` (8, n) from columns in SI by name; quality factors of 0 or infinity mean no
    loss.
    """
    vpv, vsv = (columns.get(f"{v}v", columns.get(v)) for v in ("vp", "vs"))
    vph, vsh = columns.get("vph", vpv), columns.get("vsh", vsv)
    rows = np.array(
        [columns["rho"], vpv, vph, vsv, vsh, columns.get("eta", np.ones_like(vpv)), *np.zeros((2, len(vpv)))]
    )
    q = {name: _loss(columns[name]) for name in ("qkappa", "qmu", "qp", "qs") if name in columns}
    if "qmu" in q or "qkappa" in q:
        rows[6:] = q.get("qkappa", 0.0), q.get("qmu", 0.0)
    elif q:
        shear = 4 / 3 * (vsv / vpv) ** 2
        rows[7] = np.where(vsv > 0, q.get("qs", 0.0), 0.0)
        # tables round Qp: never a gain of energy
        rows[6] = np.maximum(q.get("qp", 0.0) - shear * rows[7], 0.0) / (1 - shear)
    return rows


def _loss(quality):
    quality = np.asarray(quality, float)
    with np.errstate(divide="ignore"):
        return np.where(quality > 0, 1 / quality, 0.0)


def write_nd(model, path):
    """Write a model as TauP's .nd: depth (km), vp, vs (km/s), density (g/cm3), Qp, Qs; of Voigt's averages where it is
    anisotropic.

    TauP takes speeds between lines as linear: curved pieces get a line every `STEP` m.

    `path` path-like.
    """
    names = {"upper_mantle": "mantle", "outer_core": "outer-core", "inner_core": "inner-core"}
    pieces, above = [], None
    for p in range(len(model.regions) - 1, -1, -1):
        region = model.regions[p]
        boundary = names.get(region) if above not in (None, region) else None
        thickness, is_curved = model.knots[p + 1] - model.knots[p], model.coefficients.shape[2] > 2
        count = 1 + (int(np.ceil(thickness / STEP)) if is_curved else 1)
        radii = np.linspace(model.knots[p + 1], model.knots[p], count)
        quality = [
            np.where(loss > 0, 1 / np.where(loss > 0, loss, 1), 0)
            for loss in inverse_q(model.parameters(radii, piece=p))
        ]
        pieces.append((boundary, np.stack([model.radius - radii, *model.speeds(radii, piece=p), *quality], axis=1)))
        above = region
    write_table(path, model.name, pieces)


MODELS = {
    "prem": prem,
    "prem_ocean": lambda: prem(ocean=True),
    "prem_ti": lambda: prem(transverse=True),
    "prem_ti_ocean": lambda: prem(transverse=True, ocean=True),
    "ak135": ak135,
}
