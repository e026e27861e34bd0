"""The stability limit of finite differences against the largest eigenvalue of the committed plan's own step, in media of all kinds."""

import fdstepcase
import numpy as np
import pytest
import xarray as xr

ROCK = {"vp": 3000, "vs": 1734, "rho": 2200}
LIGHT, HEAVY = {"vp": 300, "vs": 170, "rho": 50}, {"vp": 3000, "vs": 1800, "rho": 6000}
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
THOMSEN = {"epsilon": 0.2, "delta": 0.1, "gamma": 0.1}
X = np.arange(0, 191.0, 10)
HILL = {"x": X, "y": X, "z": -40 + 25 * np.sin(X / 25) * np.cos(X[:, None] / 31)}
RIGID = {"boundaries": {"top": "rigid", "others": "rigid"}}


def layers(*stack):
    """A layered model of (top, material)."""
    return {"kind": "layers", "layers": [{"top": top} | material for top, material in stack]}


def rock(ratio, **more):
    """Homogeneous rock with a vp / vs."""
    return {"kind": "homogeneous"} | ROCK | {"vs": 3000 / ratio} | more


CASES = {  # model, what else, least of the limit used over the true one
    "vp / vs 1.5": (rock(1.5), {}, 0.99),
    "vp / vs 10": (rock(10), {}, 0.99),
    "order 2": (rock(1.73), {"order": 2}, 0.99),
    "order 8": (rock(1.73), {"order": 8, "shape": (24, 22, 22)}, 0.99),
    "order 16": (rock(1.73), {"order": 16, "shape": (18, 18, 17), **RIGID}, 0.99),
    "holberg": (rock(1.73), {"order": 4, "weights": "holberg", **RIGID}, 0.99),
    "light over heavy": (layers((0, LIGHT), (-85, HEAVY)), {}, 0.97),
    "heavy slab, cut cells": (layers((0, LIGHT), (-62, HEAVY), (-98, LIGHT)), {"order": 8, "shape": (24, 22, 22)}, 0.9),
    "ocean": (layers((0, WATER), (-75, ROCK)), {}, 0.98),
    "ocean, order 8": (layers((0, WATER), (-75, ROCK)), {"order": 8, "shape": (24, 22, 22)}, 0.97),
    "fluid below rock": (layers((0, ROCK), (-60, WATER | {"vp": 3000}), (-90, ROCK)), {}, 0.97),
    "acoustic": (layers((0, WATER), (-80, WATER | {"rho": 4000})), {}, 0.98),
    "anisotropic, cut cells": (layers((0, ROCK | THOMSEN), (-72, ROCK | THOMSEN | {"vp": 2000, "vs": 1000})), {}, 0.9),
    "hills": (rock(1.73, topography=HILL), {}, 0.98),
    "hills, vp / vs 10": (rock(10, topography=HILL), {}, 0.98),
    "hills, vp / vs 1.5": (rock(1.5, topography=HILL), {}, 0.98),
    "hills, water": (rock(1.73, topography=HILL, water={"vp": 1500, "rho": 1000, "level": -35}), {}, 0.98),
}


@pytest.mark.parametrize("name", CASES)
def test_limit_is_a_bound(name):
    """Never above the true one; how near, the table says."""
    model, more, least = CASES[name]
    scenario = fdstepcase.box(model, **more)
    true = fdstepcase.true_limit(fdstepcase.Step(scenario))
    assert least < fdstepcase.used(scenario) / true < 1 + 1e-4


@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize(
    "spread", [(0.0, 1.5, 0.0), (0.0, 3.0, 0.0), (0.3, 0.3, 0.3)], ids=("density", "density by e^3", "fluid cells")
)
def test_limit_is_a_bound_in_random_media(tmp_path, order, spread):
    """Lognormal point by point: speeds, density, and a share of fluid cells. Where one point is the fastest the step could be longer.

    The limit does not depend on the mean density; this one keeps all points below 1e7 kg/m3.
    """
    rng, axes = (
        np.random.default_rng(1),
        [np.arange(-10.0, 210, 10), np.arange(-10.0, 200, 10), np.arange(-190.0, 20, 10)],
    )
    shape = tuple(len(a) for a in axes[::-1])
    vp, rho = (mean * np.exp(part * rng.standard_normal(shape)) for mean, part in zip((3000, 22), spread))
    vs = np.where(rng.random(shape) < spread[2], 0, vp / 1.7)
    file = tmp_path / "random.nc"
    xr.Dataset(
        {k: (("z", "y", "x"), v) for k, v in {"vp": vp, "vs": vs, "rho": rho}.items()}, dict(zip("xyz", axes))
    ).to_netcdf(file)
    scenario = fdstepcase.box(
        {"kind": "file", "file": str(file), "units": "SI"}, shape=(18, 18, 17), order=order, **RIGID
    )
    assert fdstepcase.used(scenario) < fdstepcase.true_limit(fdstepcase.Step(scenario)) * (1 + 1e-4)


@pytest.mark.parametrize("model", [rock(1.73), rock(1.73, topography=HILL)], ids=("flat", "hills"))
def test_attenuation_keeps_the_unrelaxed_limit(model):
    """A step from rest has nearly the unrelaxed moduli, from which the limit is: within 3 %; 500 steps of 0.99 of it do not grow."""
    lossy = model | {"qp": 30, "qs": 15, "attenuation": {"band": [1, 30]}}
    free = fdstepcase.box(lossy, shape=(14, 13, 12))
    limit = fdstepcase.used(free)
    true = fdstepcase.true_limit(fdstepcase.Step(free))
    assert 0.97 < limit / true < 1 and limit < fdstepcase.used(fdstepcase.box(model, shape=(14, 13, 12)))
    step = fdstepcase.Step(free.model_copy(update={"time": free.time.model_copy(update={"step": 0.99 * limit})}))
    assert step.march(500) <= 1


@pytest.mark.parametrize("motion", ["P-SV", "SH"])
def test_limit_in_the_plane(motion):
    """A layer that cuts cells."""
    scenario = fdstepcase.plane(layers((0, ROCK), (-72, ROCK | {"rho": 1000, "vs": 600})), motion)
    assert 0.97 < fdstepcase.used(scenario) / fdstepcase.true_limit(fdstepcase.Step(scenario)) < 1 + 1e-4
