"""Difference weights in numbers: order, band and error of the group velocity, dispersion, stability; and that plans say so."""

import fdcase
import numpy as np
import pytest

from craton.driver import run as driver
from craton.methods.finite_difference.equations import scheme

PHASE = np.linspace(1e-3, np.pi, 20001)
SOURCE = fdcase.explosion([3000, 3000, -3000], fdcase.ricker(2))


def group_error(weights):
    """Relative error of the group velocity along an axis at PHASE."""
    return sum((2 * n - 1) * c * np.cos((n - 0.5) * PHASE) for n, c in enumerate(weights, 1)) - 1


def band(weights, bound):
    """Largest phase up to which the group velocity is right within `bound`."""
    return PHASE[np.argmax(abs(group_error(weights)) > bound)]


@pytest.mark.parametrize("order", scheme.ORDERS)
def test_weights(order):
    """Taylor's differentiate polynomials: moments sum 2 c_n (n - 1/2)^m are 1 for m = 1 and 0 for the odd m below the order.
    Holberg's are consistent, within their bound, and have the wider band.
    """
    x, c = np.arange(order // 2) + 0.5, scheme.taylor(order)
    for m in range(1, order, 2):  # 2^-52 times the largest term is rounding
        assert abs(2 * (c * x**m).sum() - (m == 1)) <= 8 * np.finfo(float).eps * abs(2 * c * x**m).max() + 1e-15
    taylors, c, bound = band(c, scheme.GROUP_ERROR), scheme.holberg(order), scheme.GROUP_ERROR
    assert abs((np.arange(1, order, 2) * c).sum() - 1) < 1e-14
    end = band(c, 1.02 * bound)  # the extrema were found on a grid of 4000 phases
    inside = end > PHASE
    assert inside.any() and abs(group_error(c)[inside]).max() <= 1.02 * bound
    if order > 2:
        turns = np.diff(np.sign(np.diff(group_error(c)[inside])))
        assert np.count_nonzero(turns) == order // 2 - 1  # equal ripples, one less than weights: the best approximation
        assert abs(group_error(c)[inside]).max() > 0.98 * bound and end > 1.25 * taylors


def test_velocity_error_is_that_of_the_symbol():
    """Along an axis k h = 2 asin(w h / 2 c) for order 2; the time error has the other sign; each axis has its own."""
    plain, (h, c, f) = scheme.stencil(2), (100.0, 2000.0, 2.0)
    exact = 2 * np.pi * f * h / c
    x, z, diagonal = scheme.velocity_error(plain, h, 0.0, c, f)
    assert x == z == pytest.approx(exact / (2 * np.arcsin(exact / 2)) - 1, rel=1e-9) and x < diagonal < 0
    magic = scheme.velocity_error(plain, h, h / c, c, f)[0]  # the one-dimensional magic step
    assert magic == pytest.approx(0, abs=1e-12)
    x, z, diagonal = scheme.velocity_error(scheme.stencil(16, free=True), 100.0, 0.0, 1000.0, 2.9)
    expected = [scheme.velocity_error(scheme.stencil(order), 100.0, 0.0, 1000.0, 2.9)[0] for order in (16, 8)]
    assert [x, z] == expected and z < 3 * x < 0 and z < diagonal < 0


@pytest.mark.parametrize("weights", scheme.WEIGHTS)
def test_stable_step_is_the_limit_of_the_highest_wavenumber(weights):
    """At k h = pi along each axis |symbol| is largest: 2 sum |c|."""
    for order in scheme.ORDERS:
        chosen = scheme.stencil(order, weights)
        limit = 2 * 10 / (4000 * np.sqrt(3) * max(scheme.symbol(chosen.horizontal, PHASE)))
        assert scheme.stable_step(chosen, 10.0, 4000.0) == pytest.approx(limit, rel=1e-7), order


def planned(order, weights="taylor", top="free", spacing=200, **more):
    """A plan of a homogeneous medium, and its notes on the resolution."""
    more |= {"run": {"order": order, "weights": weights}, "boundaries": {"top": top}}
    model = {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2500}
    p = driver.plan(fdcase.box([6000] * 3, spacing, model, SOURCE, 1, [[1500, 2000, -2000]], **more))
    return p, dict(p.notes["Resolution"])


def test_plans_say_what_a_choice_costs():
    """The error of the phase velocity, at the highest frequency where it is asked for; in snapshots that of time too."""
    for top in ("free", "cpml"):
        errors = {}
        for order, weights in ((8, "taylor"), (16, "taylor"), (16, "holberg")):
            p, notes = planned(order, weights, top)
            errors[order, weights] = notes["phase velocity error"]
            assert ("Holberg" in str(p.notes)) == (weights == "holberg")
        assert len(set(errors.values())) == 3 and ("along z" in errors[16, "taylor"]) == (top == "free")
    p, notes = planned(4, spacing={"max_frequency": 3, "points_per_wavelength": 4})
    d = scheme.velocity_error(scheme.stencil(4), p.grid.spacing, 0.0, 2300.0, 3.0)
    assert f"{d[0]:+.2%} along an axis, {d[2]:+.2%} along the diagonal" in notes["at max_frequency"]
    snapshots = [{"name": "s", "quantity": "velocity", "every": 0.1}]
    assert "spatial and temporal" in planned(8, "holberg", "cpml", snapshots=snapshots)[1]["in snapshots"]
