"""The limit of the step against the largest eigenvalue, closures of the free surface, long runs, what layers send back."""

from contextlib import nullcontext
from dataclasses import replace
from math import pi, sqrt

import benchscript
import fdstepcase
import numpy as np
import pytest
import xarray as xr
from fdcase import RIGID, box, cases, explosion, force, moment_tensor, ricker

from craton.comm.local import Alone
from craton.methods.finite_difference.equations import boundaries
from craton.methods.finite_difference.equations.closure import closure, operators, taylor
from craton.validation import CASES, merged
from craton.validation.absorbing import Incidence, measured

LONG = benchscript.load("long_runs")

# --- the limit of the step ---------------------------------------------------------------------------------------------------------------

ROCK = {"vp": 3000, "vs": 1734, "rho": 2200}
LIGHT, HEAVY = {"vp": 300, "vs": 170, "rho": 50}, {"vp": 3000, "vs": 1800, "rho": 6000}
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
THOMSEN = {"epsilon": 0.2, "delta": 0.1, "gamma": 0.1}
X = np.arange(0, 191.0, 10)
HILL = {"topography": {"x": X, "y": X, "z": -40 + 25 * np.sin(X / 25) * np.cos(X[:, None] / 31)}}
LAKE = {"water": {"vp": 1500, "rho": 1000, "level": -35}}
CLOSED = {"boundaries": RIGID}
SMALL, EIGHT = {"shape": (18, 18, 17), **CLOSED}, {"order": 8, "shape": (24, 22, 22)}
PLANE = {"shape": (40, 30), "waves": "P-SV"}


def layers(*stack):
    """A layered model of (top, material)."""
    return {"kind": "layers", "layers": [{"top": top} | material for top, material in stack]}


def rock(ratio, **more):
    """Homogeneous rock with a vp / vs."""
    return {"kind": "homogeneous"} | ROCK | {"vs": 3000 / ratio} | more


LIMITS = {  # model, what else, least of the limit used over the true one
    "vp / vs 1.5": (rock(1.5), {}, 0.99),
    "vp / vs 10": (rock(10), {}, 0.99),
    "order 2": (rock(1.73), {"order": 2}, 0.99),
    "order 8": (rock(1.73), EIGHT, 0.99),
    "order 16": (rock(1.73), {"order": 16, **SMALL}, 0.99),
    "holberg": (rock(1.73), {"order": 4, "weights": "holberg", **CLOSED}, 0.99),
    "light over heavy": (layers((0, LIGHT), (-85, HEAVY)), {}, 0.97),
    "heavy slab, cut cells": (layers((0, LIGHT), (-62, HEAVY), (-98, LIGHT)), EIGHT, 0.9),
    "ocean": (layers((0, WATER), (-75, ROCK)), {}, 0.98),
    "ocean, order 8": (layers((0, WATER), (-75, ROCK)), EIGHT, 0.97),
    "fluid below rock": (layers((0, ROCK), (-60, WATER | {"vp": 3000}), (-90, ROCK)), {}, 0.97),
    "acoustic": (layers((0, WATER), (-80, WATER | {"rho": 4000})), {}, 0.98),
    "anisotropic, cut cells": (layers((0, ROCK | THOMSEN), (-72, ROCK | THOMSEN | {"vp": 2000, "vs": 1000})), {}, 0.9),
    "hills": (rock(1.73, **HILL), {}, 0.98),
    "hills, vp / vs 10": (rock(10, **HILL), {}, 0.98),
    "hills, vp / vs 1.5": (rock(1.5, **HILL), {}, 0.98),
    "hills, water": (rock(1.73, **HILL, **LAKE), {}, 0.98),
    "plane, cut cells": (layers((0, ROCK), (-72, ROCK | {"rho": 1000, "vs": 600})), PLANE, 0.97),
    "SH, cut cells": (layers((0, ROCK), (-72, ROCK | {"rho": 1000, "vs": 600})), PLANE | {"waves": "SH"}, 0.97),
}
# Texts that no other short test has:
COMPILED = ("order 2", "holberg", "order 8", "order 16", "heavy slab, cut cells", "ocean, order 8", "SH, cut cells")


def over_true(scenario):
    """The limit that is used over the true one."""
    return fdstepcase.used(scenario) / fdstepcase.true_limit(fdstepcase.Step(scenario))


@pytest.mark.parametrize("name", cases([n for n in LIMITS if n not in COMPILED], *COMPILED))
def test_limit_is_a_bound(name):
    """Never above the true one; how near, the table says."""
    model, more, least = LIMITS[name]
    assert least < over_true(fdstepcase.box(model, **more)) < 1 + 1e-4


@pytest.mark.long
@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("spread", [(0.0, 3.0, 0.0), (0.3, 0.3, 0.3)], ids=str)
def test_limit_is_a_bound_in_random_media(tmp_path, order, spread):
    """Lognormal point by point: speeds, density, and a share of fluid cells. Where one point is the fastest the step could be longer.

    The limit does not depend on the mean density; this one keeps all points below 1e7 kg/m3.
    """
    rng, lows, highs = np.random.default_rng(1), (-10.0, -10.0, -190.0), (210, 200, 20)
    axes = [np.arange(low, high, 10) for low, high in zip(lows, highs)]
    shape = tuple(len(a) for a in axes[::-1])
    vp, rho = (mean * np.exp(part * rng.standard_normal(shape)) for mean, part in zip((3000, 22), spread))
    vs = np.where(rng.random(shape) < spread[2], 0, vp / 1.7)
    values = {name: (("z", "y", "x"), v) for name, v in {"vp": vp, "vs": vs, "rho": rho}.items()}
    xr.Dataset(values, dict(zip("xyz", axes))).to_netcdf(tmp_path / "random.nc")
    model = {"kind": "file", "file": str(tmp_path / "random.nc"), "units": "SI"}
    assert over_true(fdstepcase.box(model, order=order, **SMALL)) < 1 + 1e-4


@pytest.mark.long
@pytest.mark.parametrize("model", [rock(1.73), rock(1.73, **HILL)], ids=("flat", "hills"))
def test_attenuation_keeps_the_unrelaxed_limit(model):
    """A step from rest has nearly the unrelaxed moduli, from which the limit is: within 3 %; 500 steps of 0.99 of it do not grow."""
    elastic, lossy = (
        fdstepcase.box(model | more, shape=(14, 13, 12))
        for more in ({}, {"qp": 30, "qs": 15, "attenuation": {"band": [1, 30]}})
    )
    limit = fdstepcase.used(lossy)
    assert 0.97 < over_true(lossy) < 1 and limit < fdstepcase.used(elastic)
    step = fdstepcase.Step(lossy.model_copy(update={"time": lossy.time.model_copy(update={"step": 0.99 * limit})}))
    largest = step.march(500)
    assert largest[450:].max() <= largest[0]


# --- closures of the free surface --------------------------------------------------------------------------------------------------------

RAYLEIGH_PER_VS = 0.9194016867619662  # Vp / Vs = sqrt 3: sqrt(2 - 2 / sqrt 3)


@pytest.mark.parametrize("order", (2, 4, 6, 8))
def test_rows_hold_the_stencil_and_the_adjoint_and_are_exact_for_polynomials(order):
    """By the adjoint energy is conserved, and surface forces and receivers are reciprocal."""
    c, taps, m = closure(order), taylor(order), order // 2
    moments = [2 * np.sum(taps * (np.arange(m) + 0.5) ** n) for n in range(1, order, 2)]
    assert np.allclose(moments, np.eye(m)[0], atol=1e-13)  # within, exact to its order
    b, hm, hp = operators(order, 40)
    d1, d2, plain = b / hm[:, None], -b.T / hp[:, None], np.concatenate([-taps[::-1], taps])
    for row in range(c.rows, 30):
        assert np.array_equal(d1[row, row + 1 - m : row + 1 + m], plain) and np.count_nonzero(d1[row]) == order
        assert np.array_equal(d2[row, row - m : row + m], plain) and np.count_nonzero(d2[row]) == order
    assert np.array_equal(c.d1, d1[: c.rows, : c.cols]) and np.array_equal(c.d2, d2[: c.rows, : c.cols])
    assert not d1[: c.rows, c.cols :].any() and not d2[: c.rows, c.cols :].any()
    adjoint = -(c.hm[:, None] * c.d1[:, : c.rows]).T
    assert np.allclose(c.hp[:, None] * c.d2[:, : c.rows], adjoint, rtol=1e-15, atol=1e-16)
    assert np.allclose(c.surface, -c.hm * c.d1[:, 0], rtol=1e-14)
    assert min(c.hp.min(), c.hm.min()) > 0.25
    x, half = np.arange(c.cols), np.arange(c.cols) + 0.5
    for n in range(2 if order == 2 else 3):
        slope_half, slope = (n * p[: c.rows].astype(float) ** max(n - 1, 0) for p in (half, x))
        assert np.allclose(c.d1 @ x**n, slope_half, rtol=1e-12, atol=1e-12)
        pull = (n == 0) * np.eye(c.rows)[0] / c.hp  # of the weak condition, towards zero traction
        assert np.allclose(c.d2 @ half**n - pull, slope, rtol=1e-12, atol=1e-12)
        surface = c.surface @ half[: c.rows] ** n - (n == 1) * c.hp[0]
        assert surface == pytest.approx(float(n == 0), abs=1e-12)


def bar(order, cells):
    """Frequencies of a bar with two surfaces, for (vx, sxz) and (szz, vz), rising, without the rigid motion."""
    b, hm, hp = operators(order, cells)
    rows = closure(order).rows
    b[-rows:, -rows:] = -b[rows - 1 :: -1, rows - 1 :: -1]
    hm[-rows:], hp[-rows:] = hm[rows - 1 :: -1], hp[rows - 1 :: -1]
    scaled = b / np.sqrt(hm)[:, None] / np.sqrt(hp)
    return [np.sort(np.linalg.svd(s, compute_uv=False))[: cells - 1] for s in (scaled, scaled[:, 1:-1])]


def rayleigh_speed(order, per_wavelength, ratio=3**0.5):
    """Discrete Rayleigh speed over Vs at `per_wavelength` points per S wavelength, only the vertical being discretised."""
    k, lam, cells = (2 * pi / per_wavelength / RAYLEIGH_PER_VS, ratio**2 - 2, int(3 * per_wavelength) + 8)
    b, hm, hp = operators(order, cells)
    n = cells + 1
    exx, ezz = np.eye(n, n + cells) * -k, np.hstack([np.zeros((n, n)), -b.T / hp[:, None]])
    ezz[0] = -lam / (lam + 2) * exx[0]
    shear, szz = np.hstack([b / hm[:, None], k * np.eye(cells)]), hp[:, None] * (lam * exx + (lam + 2) * ezz)
    matrix = exx.T @ (hp[:, None] * ((lam + 2) * exx + lam * ezz)) + ezz.T @ szz
    root = np.sqrt(np.concatenate([hp, hm]))
    matrix = (matrix + shear.T @ (hm[:, None] * shear)) / root[:, None] / root
    return sqrt(np.linalg.eigvalsh(matrix)[0]) / k


@pytest.mark.parametrize(
    ("order", "standing", "rayleigh"), [(2, 2e-2, 1.1e-2), (4, 1.5e-3, 8e-4), (6, 5e-4, 4e-4), (8, 3e-4, 5e-4)]
)
def test_waves_at_ten_points_per_wavelength(order, standing, rayleigh):
    """Standing waves in a bar, Rayleigh's speed, and the step, which closures do not reduce."""
    for frequencies in bar(order, 60):
        assert np.abs(frequencies / (np.arange(1, 60) * pi / 60) - 1)[:12].max() < standing
    assert abs(rayleigh_speed(order, 10) / RAYLEIGH_PER_VS - 1) < rayleigh
    assert abs(rayleigh_speed(order, 20) / RAYLEIGH_PER_VS - 1) < rayleigh / 3
    b, hm, hp = operators(order, 120)
    scaled = b / np.sqrt(hm)[:, None] / np.sqrt(hp)
    radius, interior = closure(order).spectral_radius, 2 * np.abs(taylor(order)).sum()
    assert interior <= radius < 1.0005 * interior
    assert max(np.linalg.norm(s, 2) for s in (scaled, scaled[:, 1:])) <= radius * (1 + 1e-12)


# --- long runs ---------------------------------------------------------------------------------------------------------------------------

# Elements along x, y and z in place of those of the table, half as many: as large, so as many steps of the same length, and the same
# faces, edges and corners of layers, three elements thick; the source stays above those at the bottom.
ELEMENTS = {"cubes": (8, 8, 7), "lossy": (8, 8, 7), "two-layers": (9, 9, 8), "sea-floor": (8, 8, 8)}
SHORT = ["hills", "mixed-faces", "sem-cubes-stacey"]
# Half the steps of the quick form are enough for most; the waves of these take longer to leave, and bodies of water beat.
SLOW = ("a1", "plate", "order-6", "thickness-5", "shifted", "plane-sh")
# Less than the table asks for: a hill one cell wide at its top swung for ever at a tenth of the peak; what is left in water is
# eddies (docs/terrain.md).
LEFT = {"peak": 1e-6, "hills": 1e-6, "hills-water": 1e-4}


@pytest.mark.parametrize("name", cases(SHORT, *(name for name in LONG.QUICK if name not in SHORT)))
def test_nothing_grows(name, monkeypatch):
    """Planes and thin slices, as in the table's quick form, but for A1 at the sides, of which plans warn: 8e-4 at 16,000 steps."""
    for of_row, elements in ELEMENTS.items():
        if name.startswith(f"sem-{of_row}-"):
            monkeypatch.setitem(LONG.ROWS, name, replace(LONG.ROWS[name], elements=elements))
    steps = 20_000 if name in SLOW or "water" in name else {"ranks": 8000, "sem": 1500}.get(name.split("-")[0], 10_000)
    (row,) = LONG.stability({"form": "quick", "names": [name], "steps": steps}, "cpu")
    assert row["passed"] == (name != "a1"), row  # so that a cure is noticed
    assert row["late"] < LEFT.get(name, np.inf), row


def small(**tables):
    """A plane of rock, 40 x 30 points."""
    model, source = LONG.cases.DATA["models"]["rock"], explosion([10, -300], ricker(5), 1e13)
    return box([1000, 750], 25, model, source, 1.0, origin=[-500, -750], **tables)


@pytest.mark.long
@pytest.mark.parametrize("faces", [{}, {"top": "cpml"}])
def test_nothing_grows_in_space(faces):
    """5,000 steps on 20^3 points with CPML of 5, below a free surface or CPML; 100,000 in `bench physics`. Little is left."""
    model = merged(CASES["two-layers"]["scenario"]["model"], {"layers": {"1": {"top": -850}}})
    tensor = {"xx": 1e15, "yy": -0.5e15, "zz": 0.7e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
    source, faces = moment_tensor([911, 960, -730], tensor, ricker(3, 0.4)), {"cpml": {"thickness": 5}, **faces}
    time = {"duration": 1, "start": 0, "step": 0.0075}
    measures = LONG.measure(box([1900] * 3, 100, model, source, 1, boundaries=faces, time=time), 5000, "cpu")
    assert measures["ratio"] <= measures["half_ratio"] <= 1e-4


def test_a_basin_at_the_layers_grows_only_where_they_stretch_without_bound(monkeypatch):
    """A basin of Vs 250 in Vs 2000 up to the layers: the mode at 3 Vs / 4 H = 1.9 Hz, backward there: 0.4 decades in 1,000 steps."""
    body = {"shape": "box", "min": [-300, -1e4, -100], "max": [200, 1e4, 0], "vp": 1500, "vs": 250, "rho": 1700}
    model, faces = LONG.cases.DATA["models"]["rock"] | {"anomalies": [body]}, {"cpml": {"thickness": 8}}
    source = force([60, 0], [0, -1e6], ricker(3))
    basin = box([800, 600], 25, model, source, 1.0, origin=[-400, -600], boundaries=faces)
    measures = LONG.measure(basin, 8000, "cpu")
    assert not measures["grows"] and measures["rise"] < 0.8
    monkeypatch.setattr(boundaries, "greatest_stretch", lambda d: np.inf)
    measures = LONG.measure(basin, 8000, "cpu")
    assert measures["grows"] and measures["rise"] > 3


def test_what_stays_and_what_leaves_is_seen():
    """Between rigid faces nothing leaves."""
    measures = LONG.measure(small(boundaries=RIGID), 2000, "cpu")
    assert 0.05 < measures["ratio"] < 1.5 and 0.05 < measures["half_ratio"] < 1.5 and measures["diverged"] is None
    assert measures["steps"][-1] == 2000 and len(measures["steps"]) == len(measures["velocity"])
    measures = LONG.measure(small(boundaries={"top": "cpml"}), 2000, "cpu")
    assert measures["ratio"] < 1e-5 < 0.1 < measures["peak"] / measures["velocity"].max() <= 1


class Growing:
    """Stands for a program whose velocity is multiplied by 1.01 in each step."""

    class plan:  # noqa: N801
        arrays, start, dt, steps, points = {"vx": None, "vz": None}, -0.1, 0.001, 3000, 1

    class backend:  # noqa: N801
        xp, work = np, nullcontext

    def __init__(self):
        self.arrays = {"vx": np.zeros(4), "vz": np.ones(4)}


def test_what_grows_ends_the_run():
    """A thousand times the peak of the beginning (400 steps): 694 steps later, seen within 100; what is not finite, at once."""
    program = Growing()
    watch = LONG.Watch(program, Alone(), 40_000)
    with pytest.raises(LONG.Diverged):
        for step in range(3000):
            program.arrays["vz"] *= 1.01
            if watch.due(step):
                watch.see(step, program)
    assert 1094 <= watch.steps[-1] <= 1200
    watch = LONG.Watch(program, Alone(), 40_000)
    program.arrays["vx"][2] = np.nan
    with pytest.raises(LONG.Diverged):
        watch.see(10, program)


def test_ranks_see_the_same():
    """The largest value of all ranks."""
    alone, shared = (LONG.measure(small(run={"threads": 1, "grid": (2, 1, 1)}), 300, "cpu", ranks=n) for n in (1, 2))
    assert np.array_equal(alone["velocity"], shared["velocity"])


def test_trapped_waves_are_compared_with_a_wide_box(tmp_path):
    """The middle of a wide box is the small one: same points, same source; its width about four times."""
    row = LONG.ROWS["soft-top"]
    narrow, wide = (row.scenario(tmp_path, "P-SV", n) for n in (1, 4))
    assert narrow.source == wide.source and narrow.domain.spacing == wide.domain.spacing
    offset = (narrow.domain.origin[0] - wide.domain.origin[0]) / narrow.domain.spacing
    assert offset == round(offset) and wide.domain.size[0] / narrow.domain.size[0] == pytest.approx(4, rel=0.02)
    (measures,) = LONG.stability({"form": "quick", "names": ["soft-top"], "steps": 400}, "cpu")
    assert measures["until"] > 1 and measures["trapped"] > 1e-4 and measures["limit"] == LONG.TRAPPED
    assert list(LONG.FORMS) == ["quick", "standard", "full"] and set(LONG.QUICK) <= set(LONG.ROWS)
    assert all(set(counts) == {"fd", "bodies", "sem"} for _, counts in LONG.FORMS.values())


@pytest.mark.parametrize("wave", cases(["P", "Rayleigh"], "S"))
def test_layers_send_little_back(wave):
    """Less than -60 dB up to 60 degrees; the other angles and Rayleigh waves that come aslant are in `craton validate reflection`."""
    amplitudes = measured(Incidence(wave, (0,) if wave == "Rayleigh" else (0, 40, 60)), "cpu")
    assert all((ratios > 1e-7).all() and (ratios < 1e-3).all() for ratios in amplitudes.values()), amplitudes


def test_walls_send_all_back():
    """A rigid wall 10 points behind the inner edge: what comes has gone 20 points further than to the mirror image, of 86."""
    amplitudes = measured(Incidence("P", (0,), (("west", "rigid"),)), "cpu")
    assert all(ratios[0] == pytest.approx((86 / 106) ** 0.5, rel=0.1) for ratios in amplitudes.values()), amplitudes
