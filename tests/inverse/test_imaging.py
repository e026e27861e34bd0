"""Free surfaces by stress imaging: rows, eigenvalues of half-spaces, Lamb's problem against the default, long runs, space, bad input."""

from itertools import product

import numpy as np
import pytest
from common import edited, misfit, refused, tiers
from smallcase import changed

import craton
from craton.errors import ScenarioError
from craton.methods.finite_difference.equations import closure
from craton.methods.finite_difference.equations.closure import imaged as differences
from craton.methods.finite_difference.equations.closure import imaging, surface
from craton.scenario import Scenario, loads
from craton.validation.compare import at_times, reference

KINDS = ("imaging", "imaging-2")
ORDERS = (2, 4, 6, 8)


def run(tables):
    return craton.run(Scenario(**tables), progress=False)


def test_exact_for_what_the_image_continues():
    """Odd powers are odd functions. Lowered to order 2, rows near the surface are exact for lines alone."""
    x, half = np.arange(31.0), np.arange(30) + 0.5
    for order, lowered in product(ORDERS, (False, True)):
        stress1, stress2, d1, d2 = differences(order, lowered, 30)
        inside = 30 - order  # the other end is cut off
        for n in (1,) if lowered else range(1, order, 2):
            assert (stress1 @ x**n)[:inside] == pytest.approx(n * half[:inside] ** (n - 1), rel=1e-9)
            assert (stress2 @ half**n)[1:inside] == pytest.approx(n * x[1:inside] ** (n - 1), rel=1e-9)
            assert (stress2 @ half**n)[0] == pytest.approx(float(n == 1), abs=1e-9)
        for n in range(3):
            assert (d1 @ x**n)[:inside] == pytest.approx(n * half[:inside] ** max(n - 1, 0), abs=1e-9)
            assert (d2 @ half**n)[1:inside] == pytest.approx(n * x[1:inside] ** max(n - 1, 0), abs=1e-9)
        rows = imaging(order, lowered)
        assert not any(table.flags.writeable for table in (*rows.stress, rows.d1, rows.d2))
        if order == 2:  # they are those of the closure
            b, hm, hp = closure.operators(2, 30)
            assert np.array_equal(stress1, b / hm[:, None]) and np.array_equal(d1, stress1)
            assert np.array_equal(stress2, -b.T / hp[:, None]) and np.array_equal(d2[1:], stress2[1:])
        elif lowered:  # two neighbours near the surface, and szz(0) = 0
            near = stress2[1 : order // 2], d1[: order // 2 - 1], d2[1 : order // 2], stress1[: order // 2 - 1]
            assert all((np.count_nonzero(table, axis=1) == 2).all() for table in near)
            assert np.array_equal(stress2[0, :2], [2, 0])


def squared_frequencies(rows, wavenumber, ratio):
    """Eigenvalues w^2 of P-SV waves in a half-space, vp = rho = h = 1; `wavenumber` is the symbol of the difference along x."""
    stress1, stress2, d1, d2 = rows
    half, whole = d1.shape
    mu = 1 / ratio**2
    lam, k, below = 1 - 2 * mu, 1j * wavenumber, np.eye(whole)
    below[0, 0] = 0
    top = 2 * mu * (1 + lam / (lam + 2 * mu)) * (np.eye(whole) - below)  # plane stress
    sxx = np.hstack([k * (below + top), lam * below @ d2])
    szz = np.hstack([lam * k * below, below @ d2])
    sxz = mu * np.hstack([d1, k * np.eye(half)])
    return -np.linalg.eigvals(np.vstack([k * sxx + stress2 @ sxz, k * sxz + stress1 @ szz]))


@pytest.mark.parametrize("order", tiers(ORDERS, 2, 4))
def test_half_spaces_have_no_growing_modes_within_the_stability_limit(order):
    plain = 2 * np.abs(closure.taylor(order)).sum()
    for kind in KINDS:
        rows, radius = differences(order, kind == "imaging-2", 40), surface(kind, order).spectral_radius
        assert plain <= radius < 1.0005 * plain
        for ratio in (1.45, 3**0.5, 2.5, 5):
            for wavenumber in np.linspace(0.05, 1, 9) * plain:
                squares = squared_frequencies(rows, wavenumber, ratio)
                # w = a + ib grows as exp(b t): rounding of double roots, sqrt(1e-16), against 2e-3 to 3e-2 of the one-sided rows below
                assert np.abs(np.sqrt(squares).imag).max() < 1e-6 and squares.real.max() <= wavenumber**2 + radius**2


def test_one_sided_differences_of_order_four_grow():
    stress1, stress2, d1, d2 = (d.copy() for d in differences(4, False, 40))
    d1[0, :5] = d2[1, :5] = [-11 / 12, 17 / 24, 3 / 8, -5 / 24, 1 / 24]  # Kristek et al. 2002
    squares = squared_frequencies((stress1, stress2, d1, d2), 0.5 * 2 * np.abs(closure.taylor(4)).sum(), 3**0.5)
    assert np.abs(np.sqrt(squares).imag).max() > 2e-3


def lamb(kind, spacing):
    """E = sum((u - ua)^2) / sum(ua^2) of both components 400 m from a vertical force on the surface."""
    exact = reference("lamb2d")
    push = {"kind": "force", "at": [0, 0], "force": [0, -float(exact["F_down_per_m"])]}
    tables = {
        "domain": {"origin": [-300, -500], "size": [1000, 500], "spacing": spacing},
        "model": {"kind": "homogeneous"} | {name: float(exact[name]) for name in ("vp", "vs", "rho")},
        "time": {"duration": 0.6, "start": 0},
        "run": {"order": 4, "threads": 1},
        "boundaries": {"surface": kind, "cpml": {"thickness": round(50 / spacing)}},
        "source": [push | {"wavelet": {"kind": "ricker", "frequency": 14.5, "delay": 0.12}}],
        "receivers": [{"name": "R", "at": [float(exact["x"][0]), 0]}],
    }
    data, t = run(tables).dataset, exact["t"][exact["t"] < 0.55]
    expected = np.stack([exact["vx"][0], -exact["vz"][0]])[:, : len(t)]
    return misfit(at_times(data.time.values, data.velocity.values[0], t), expected) ** 2


@pytest.mark.parametrize("kind", tiers(KINDS, "imaging"))
def test_lamb(kind):
    """Order 2 in displacement is a factor 16 of E; at 10 m the error is not yet small (E = 0.09)."""
    coarse, middle, fine = (lamb(kind, h) for h in (10, 5, 2.5))
    assert middle < coarse / 5 and fine < middle / 8
    assert middle < 0.015 and lamb("sbp", 5) < middle / 300  # 0.011 to 0.013, and 1.6e-5


@pytest.mark.long
@pytest.mark.parametrize("kind, order", [("imaging", 8), ("imaging-2", 4)])
def test_stable_for_thousands_of_steps(kind, order):
    """A random medium in a box with rigid sides, at 99.9 % of the stability limit: waves stay, and stay as large."""
    radius = np.hypot(2 * np.abs(closure.taylor(order)).sum(), surface(kind, order).spectral_radius)
    step = 0.999 * 2 * 40 / (5500 * radius)
    lowest, highest = (-100, -1300, 100, 100, 2000, 1.5, 1500), (1700, -50, 600, 600, 5500, 3, 3000)
    boxes = [
        {"shape": "box", "min": [x, -1e5, z], "max": [x + dx, 1e5, z + dz], "vp": vp, "vs": vp / ratio, "rho": rho}
        for x, z, dx, dz, vp, ratio, rho in np.random.default_rng(7).uniform(lowest, highest, (30, 7)).tolist()
    ]
    push = {"kind": "force", "force": [1e9, 1e9], "wavelet": {"kind": "ricker", "frequency": 6, "delay": 0.2}}
    tables = {
        "domain": {"origin": [0, -1200], "size": [1800, 1200], "spacing": 40},
        "model": {"kind": "homogeneous", "vp": 5500, "vs": 3000, "rho": 2400, "anomalies": boxes},
        "source": [push | {"at": at} for at in ([933, -170], [1033, 0])],
        "receivers": [{"name": "A", "at": [600, 0]}, {"name": "B", "at": [1200, -80]}],
        "boundaries": {"others": "rigid", "surface": kind},
        "run": {"order": order, "precision": "float64", "threads": 1},
        "time": {"duration": 5000 * step, "start": 0, "step": step},
    }
    quarters = [np.sqrt((part**2).mean()) for part in np.array_split(run(tables).samples, 4)]
    # a reverberating box: rms fluctuates by 10 %. The slowest growth of the one-sided rows above is e^6 over these steps
    assert 0.7 < quarters[3] / quarters[1] < 1.4, quarters


# a small plane with an interface that cuts cells, and CPML
SOIL = {"vp": 1800, "vs": 1000, "rho": 1900}
RICKER = {"wavelet": {"kind": "ricker", "frequency": 7.0, "delay": 0.16}}
PUSH = RICKER | {"kind": "force", "at": [303.3, -122.2], "force": [3e6, -1e7]}
PLANE = {
    "domain": {"origin": [0, -500], "size": [900, 500], "spacing": 10},
    "model": {"kind": "layers", "layers": [SOIL | {"top": 0}, {"top": -235, "vp": 3000, "vs": 1700, "rho": 2300}]},
    "time": {"duration": 0.4, "start": 0, "step": 0.0015},
    "source": [PUSH],
    "receivers": [{"name": "A", "at": [600, 0]}, {"name": "B", "at": [455.5, -261.7]}],
    "run": {"precision": "float64", "threads": 1},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_equals_three_dimensions(kind):
    """Periodic along y, with a source in every plane, whose force is that of a metre times the spacing: nothing depends on y."""
    flat = edited(PLANE, boundaries__surface=kind)
    space = edited(
        flat,
        domain={"origin": [0, 0, -500], "size": [900, 60, 500], "spacing": 10},
        boundaries__south="periodic",
        boundaries__north="periodic",
        source=[PUSH | {"at": [303.3, 10 * n, -122.2], "force": [3e7, 0, -1e8]} for n in range(7)],
        receivers=[r | {"at": [r["at"][0], 30, r["at"][1]]} for r in PLANE["receivers"]],
    )
    values, in_space = run(flat).dataset.velocity, run(space).dataset.velocity
    assert misfit(values, in_space.sel(component=values.component)) < 1e-11  # the same sums in another order


@pytest.mark.long
def test_works_with_attenuation():
    lossy = {"kind": "homogeneous", "qp": 40, "qs": 20, "attenuation": {"band": [1, 20]}} | SOIL
    tables = edited(PLANE, model=lossy, time={"duration": 0.5, "start": 0})
    values, default = (run(edited(tables, boundaries__surface=s)).dataset.velocity for s in ("imaging", "sbp"))
    assert misfit(values, default) < 0.06  # 0.031: a buried source, mostly body waves


def test_bad_input_and_what_the_plan_says():
    imaged = ('top = "free"', 'top = "free"\nsurface = "imaging"')
    for changes, words in (
        ([('top = "free"', 'top = "cpml"\nsurface = "imaging"')], 'the top is "cpml"'),
        ([('top = "free"', 'top = "free"\nsurface = "images"')], '"sbp", "imaging" or "imaging-2"'),
        ([imaged, ("rho = 2300", "rho = 2300\ntopography = -150")], "topography"),
    ):
        refused(ScenarioError, [words, "surface"], lambda: craton.plan(loads(changed(*changes))))  # noqa: B023
    words = "stress imaging of vertical order 2 at the free surface"
    assert words in str(craton.plan(Scenario(**edited(PLANE, boundaries__surface="imaging-2"))))
