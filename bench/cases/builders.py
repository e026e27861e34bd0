"""Scenarios that are computed: terrain, rheology, the set-up of Okamoto et al. (2010); those written down are in scenarios.toml."""

import numpy as np

from bench.harness import merged, tables
from craton.methods.finite_difference.bench import cube
from craton.scenario import Scenario

STORAGES = ("coarse", "mixed", "paired", "full")
RHEOLOGIES = ("elastic", *STORAGES, "vti")
THOMSEN = {"epsilon": 0.2, "delta": 0.1, "gamma": 0.15}
GROUNDS = ("none", "flat", "mountain", "coast")
RELIEF, SPACING = 20, 20.0  # planes between the lowest and the highest ground; m


def rheology(kind, n, faces, precision="float32"):
    """A cube of n^3 points: "elastic", "vti", or a storage of memory variables."""
    if kind == "elastic":
        return cube(n, *faces, precision=precision)
    medium = THOMSEN if kind == "vti" else {"qp": 80, "qs": 40}
    loss = {"attenuation": {"band": [0.5, 20], "storage": kind}} if kind in STORAGES else {}
    scenario = cube(n, *faces, precision=precision, medium=medium, **loss)
    return changed(scenario, title=f"{kind}: {scenario.title}")


def changed(scenario, **tables):
    """A scenario with other tables."""
    kept = scenario.model_dump(by_alias=True, exclude_none=True)
    return Scenario(**kept | tables)


def rheology_small(kind, precision):
    """0.35 s of a cube of 70^3 points with a free top, CPML, and a line of receivers."""
    scenario = rheology(kind, 70, ("free", "cpml"), precision)
    line = {"from": [150, 330, 0], "to": [540, 340, 0], "count": 9}
    return changed(scenario, receivers=[{"name": "L", "line": line}], time={"duration": 0.35})


def terrain(points, ground, others="rigid", duration=40.0, precision="float32"):
    """A cube of points^3: below a free surface at its top ("none"), or with a ground in its upper part."""
    extent, room = SPACING * (points - 1), (RELIEF + 4) * SPACING
    x = np.linspace(0, extent, 129)
    distance = np.hypot(x - extent / 2, x[:, None] - extent / 2)
    hill = np.cos(np.pi * distance / (0.7 * extent)) ** 2
    z = RELIEF * SPACING * np.where(distance < 0.35 * extent, hill, 0)
    tops = {"none": {}, "flat": {"topography": 0.0}}
    tops["mountain"] = {"topography": {"x": x, "y": x, "z": z}}
    tops["coast"] = {"topography": {"x": x, "y": x, "z": z - 0.5 * room}, "water": {"level": 0.0}}
    top, middle, depth = 0.0 if ground == "none" else room, 0.5 * extent, -0.25 * extent
    line = {"from": [0.3 * extent, middle, depth], "to": [0.7 * extent, middle, depth], "count": 9}
    base = tables("terrain")
    base["source"][0]["at"] = [0.4 * extent, middle, -0.3 * extent]
    faces = {"others": others} | ({"top": "free"} if ground == "none" else {})
    changes = {"title": f"{points}^3, ground: {ground}", "time": {"duration": duration}}
    changes["domain"] = {"origin": [0, 0, top - extent], "size": [extent] * 3, "spacing": SPACING}
    changes |= {"model": tops[ground], "boundaries": faces, "run": {"precision": precision}}
    return Scenario(**merged(base, changes | {"receivers": [{"name": "R", "line": line}]}))


def okamoto(shape=(512, 512, 256), steps=1500, spacing=200.0):
    """A1 at the bottom, sponge and periodic sides, land topography and ocean, on a grid of `shape` points (x, y, z).

    A face has one kind of boundary here: west and east are periodic, south and north have the sponge of 20 points, above is vacuum.
    """
    coarser, size = spacing / 200.0, [spacing * (n - 1) for n in shape]
    step, top, middle = 0.01 * coarser, 14 * spacing, [0.5 * n for n in size[:2]]
    x, y = (np.linspace(0, extent, 97) for extent in size[:2])
    # The sides are periodic: the ground is level where they meet.
    edge = np.clip(np.minimum(x, size[0] - x) / (0.1 * size[0]), 0, 1)
    relief = coarser * elevation(x, y[:, None], size[0]) * edge**2 * (3 - 2 * edge)
    base, title = tables("okamoto"), f"Okamoto et al. 2010, {' x '.join(map(str, shape))}"
    for layer in base["model"]["layers"]:
        layer["top"] *= coarser
    base["model"] |= {"topography": {"x": x, "y": y, "z": relief}, "water": {"level": -0.5 * spacing}}
    base["source"][0]["at"] = [*middle, top - 0.35 * size[2]]
    base["source"][0]["wavelet"] |= {"duration": 3.0 * coarser, "delay": 2.0 * coarser}
    sides = {axis: [0.2 * n, 0.8 * n, 7] for axis, n in zip("xy", size)}
    time = {"duration": steps * step, "step": step, "start": 0}
    domain = {"origin": [0, 0, top - size[2]], "size": size, "spacing": spacing}
    receivers = [{"name": "S", "grid": sides | {"depth": 2 * spacing}}]
    return Scenario(**base, title=title, time=time, domain=domain, receivers=receivers)


def elevation(x, y, width):
    """A sea floor at -3000 m in the west, a coast, hills of 1500 m in the east."""
    shelf = -3000 + 3500 / (1 + np.exp(-(x - 0.45 * width) / (0.05 * width)))
    hills = np.cos(2 * np.pi * x / (0.31 * width)) * np.sin(2 * np.pi * y / (0.43 * width))
    return shelf + 500 * np.tanh(np.maximum(x - 0.5 * width, 0) / (0.1 * width)) * hills
