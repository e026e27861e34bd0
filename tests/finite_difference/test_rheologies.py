"""Waves in other than isotropic elastic media: transverse isotropy, attenuation, cells that interfaces cut (Backus)."""

import fdcase
import numpy as np
import pytest
from common import misfit
from fdcase import LOSSY, QUALITY, THOMSEN, box, cases, explosion, force, ran, ricker

import craton
from craton.core.grid import Grid
from craton.methods import METHODS
from craton.methods.finite_difference.adjoint import point_rows
from craton.methods.finite_difference.equations import material
from craton.methods.finite_difference.equations.laminate import cut_planes
from craton.model.media import cells, earth, rheology
from craton.tables.medium import Layers
from craton.validation.conserved import random_medium
from craton.validation.exact.fullspace import constant_q

STIFFNESS = tuple(THOMSEN[name] for name in ("vp", "vs", "rho", "epsilon", "delta", "gamma"))


# --- plane waves -------------------------------------------------------------------------------------------------------------------------


def christoffel(direction):
    """Exact (speed, polarisation) of the three waves, slowest first: Christoffel's equation with Thomsen's parameters, over the density."""
    x, y, z = np.array(direction) / np.linalg.norm(direction)
    c33, c44 = THOMSEN["vp"] ** 2, THOMSEN["vs"] ** 2
    c11, c66 = c33 * (1 + 2 * THOMSEN["epsilon"]), c44 * (1 + 2 * THOMSEN["gamma"])
    across = np.sqrt((c33 - c44) * (c33 * (1 + 2 * THOMSEN["delta"]) - c44))  # c13 + c44
    rows = [c11 * x**2 + c66 * y**2 + c44 * z**2, (c11 - c66) * x * y, across * x * z]
    rows += [rows[1], c66 * x**2 + c11 * y**2 + c44 * z**2, across * y * z]
    rows += [rows[2], rows[5], c44 * (x**2 + y**2) + c33 * z**2]
    squares, polarisations = np.linalg.eigh(np.reshape(rows, (3, 3)))
    return list(zip(np.sqrt(squares), polarisations.T))


# 24 points a wavelength and order 8: dispersion 1e-7. The limit is 0.1 %; found 3e-6.
IN_SPACE, IN_THE_PLANE = ((1, 2, -1),), ((0, 0, 1), (1, 0, 0), (1, 0, 1), (2, 0, -1))


@pytest.mark.parametrize(
    ("waves", "directions"),
    cases([(None, IN_SPACE), ("P-SV", IN_THE_PLANE)], ("SH", IN_THE_PLANE), (None, IN_THE_PLANE)),
)
def test_phase_speeds(waves, directions):
    for direction in directions:
        for speed, polarisation in christoffel(direction):
            if waves is None or (abs(polarisation[1]) > 0.5) == (waves == "SH"):
                assert fdcase.measured_speed(direction, polarisation, waves) == pytest.approx(speed, rel=1e-5)


@pytest.mark.parametrize(
    ("axis", "polarisation", "wave"), cases([(2, (0, 0, 1), "qP")], (2, (1, 0, 0), "qSV"), (0, (0, 1, 0), "SH"))
)
def test_quality_along_the_axes(axis, polarisation, wave):
    """The isotropic part of the stiffness relaxes, as in spectral elements: 1/Q is its loss over the modulus of the wave."""
    c11, c13, c33, c44, c66 = cells.stiffness(*STIFFNESS)
    mu, lam = (2 * c44 + c66) / 3, (c11 - 2 * c66 + 2 * c13) / 3
    bulk = (c33 / QUALITY["qp"] - 4 / 3 * c44 / QUALITY["qs"]) / (c33 - 4 / 3 * c44)
    of_p = (lam + 2 / 3 * mu) * bulk + 4 / 3 * mu / QUALITY["qs"]
    lost = of_p if wave == "qP" else mu / QUALITY["qs"]
    modulus = {"qP": c33, "qSV": c44, "SH": c66}[wave]
    direction = tuple(int(n == axis) for n in range(3))
    assert fdcase.decay(direction, polarisation, THOMSEN | LOSSY) == pytest.approx(lost / modulus, rel=0.03)


def test_fastest_wave():
    model, grid = fdcase.periodic(THOMSEN).model, Grid((0.0, 0.0, -100.0), 10.0, (11, 2, 2))
    assert rheology.fastest_anisotropic(model, grid) == pytest.approx(3000 * 1.5**0.5, rel=1e-6)
    lossy = fdcase.periodic(THOMSEN | LOSSY).model
    unrelaxed = rheology.fastest_anisotropic(lossy, grid, "vp", rheology.relaxation(lossy, grid))
    assert 1.01 < unrelaxed / (3000 * 1.5**0.5) < 1.1


# --- a random medium below a free surface ------------------------------------------------------------------------------------------------


def anisotropic_medium():
    """Boxes of random properties."""
    model, rng = random_medium(boxes=12), np.random.default_rng(5)
    for medium in (model, *model["anomalies"]):
        medium |= {"epsilon": rng.uniform(0, 0.3), "delta": rng.uniform(-0.1, 0.2), "gamma": rng.uniform(0, 0.3)}
    return model


def below_a_surface(sources, places, duration, faces, model):
    """The medium in a box below a free surface."""
    tables = {"time": {"duration": duration, "start": 0}, "boundaries": {"top": "free", **faces}}
    run = {"order": 4, "precision": "float64", "threads": 1}
    return box([2400, 2600, 2400], 100, model, sources, duration, places, run=run, **tables)


LAYERS = {"others": "cpml", "cpml": {"thickness": 5}}


@pytest.mark.parametrize(("faces", "duration"), cases([({"others": "rigid"}, 0.6)], (LAYERS, 1.2)), ids=str)
def test_reciprocity(faces, duration):
    """Force on the surface and force inside, exchanged: the operator is its own adjoint, the free surface and the sources know c13/c33."""
    places, axes = ([1100.0, 1200.0, 0.0], [1311.0, 1123.0, -433.0]), ([1.0, 0.4, -0.7], [0.2, -1.0, 0.5])
    records = []
    for at, push in zip(places, axes):
        source = force(at, (1e10 * np.array(push)).tolist(), ricker(4, 0.3))
        asked = below_a_surface(source, places, duration, faces, anisotropic_medium())
        records.append(craton.run(asked, progress=False).samples.reshape(-1, 2, 3))
    forth, back = records[0][:, 1] @ axes[1], records[1][:, 0] @ axes[0]
    assert np.abs(forth).max() > 0 and np.abs(forth - back).max() < 1e-11 * np.abs(forth).max()


X = np.arange(0, 2401, 200.0)
HILL = {"topography": {"x": X.tolist(), "z": (-300 + 150 * np.exp(-(((X - 1200) / 500) ** 2))).tolist()}}
LOSSY_MEDIUM = anisotropic_medium() | LOSSY | {"qp": 40.0}
ABSORBED = {  # model, face at the top, thickness of layers, limit
    "whole space": ({"kind": "homogeneous", **THOMSEN, "epsilon": 0.15}, "cpml", 10, 2e-3),
    "free surface, losses": (LOSSY_MEDIUM, "free", 5, 1e-3),
    "hill, losses": (LOSSY_MEDIUM | HILL, "rigid", 5, 1e-3),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ABSORBED)
def test_layers_absorb(name):
    """Waves go and nothing grows: what is left of the peak after four seconds."""
    model, top, thickness, limit = ABSORBED[name]
    source = force([1200, 1300, -900], [1e10, 5e9, 1e10], ricker(2.0, 0.6))
    faces = {"top": top, "others": "cpml", "cpml": {"thickness": thickness}}
    data = ran(below_a_surface(source, [[1500, 1500, -1000]], 5.0, faces, model))
    velocity = np.abs(data.velocity.values[0])
    assert velocity[:, data.time.values > 4].max() < limit * velocity.max()


# --- a full space ------------------------------------------------------------------------------------------------------------------------


def in_full_space(method, model):
    """Velocities of a force on common times."""
    fine, faces, run = {
        "fd": ({"spacing": 32.0}, {"top": "cpml"}, {"order": 8}),
        "sem": ({"element_size": 200.0}, {"top": "stacey", "others": "stacey"}, {"degree": 6}),
    }[method]
    source, places = force([800, 800, -800], [1e9, -4e8, 7e8], ricker(5, 0.25)), ([1110, 900, -730], [650, 1030, -1020])
    tables = {
        "method": method,
        "time": {"duration": 0.65, "start": 0},
        "boundaries": faces,
        "run": {"threads": 1} | run,
    }
    asked = box([1600] * 3, fine, {"kind": "homogeneous"} | model, source, 1, (*places, [880, 760, -460]), **tables)
    return fdcase.velocities(asked, np.linspace(0, 0.6, 301))


@pytest.mark.long
def test_finite_differences_and_spectral_elements_agree():
    tilted, loss = THOMSEN | {"vs": 1700.0}, {"qp": 30.0, "qs": 20.0}
    band = {"band": [0.5, 30], "frequency": 5}
    grid = in_full_space("fd", tilted | loss | {"attenuation": band | {"storage": "full"}})
    assert misfit(grid, in_full_space("sem", tilted | loss | {"attenuation": band})) < 0.01


@pytest.mark.long
@pytest.mark.parametrize(("quality", "storage"), [(20, "paired"), (100, "coarse")])
def test_full_space_with_constant_q(quality, storage):
    """The issue's bound is 2 %; measured 0.5 % (Q = 20, two mechanisms a point) and 0.3 % (Q = 100, one), with the grid's dispersion."""
    attenuation = {"band": [0.5, 30], "frequency": 5, "storage": storage}
    rock = {"kind": "homogeneous", "vp": 4000, "vs": 2300, "rho": 2500, "qp": quality, "qs": quality}
    source, places = force([0, 0, 0], [1e9, -0.4e9, 0.7e9], ricker(5, 0.25)), ([360, 210, -90], [-270, 270, 270])
    tables = {"origin": [-690, -420, -510], "boundaries": {"top": "cpml"}, "run": {"order": 8, "threads": 1}}
    size = [1470, 1110, 1200]  # 14 points around source and receivers
    data = ran(box(size, 30, rock | {"attenuation": attenuation}, source, 0.55, places, **tables))
    for record, x in zip(data.velocity.values, places):
        expected, elastic = (constant_q(x, data.time.values, q) for q in (quality, np.inf))
        assert misfit(record, expected) < 0.01 and misfit(elastic, expected) > 3 / quality  # Q matters here


# --- in the plane ------------------------------------------------------------------------------------------------------------------------


def pressure_in_the_plane(**model):
    """A hydrophone in water and a pressure on a point of the rock."""
    rock = {"top": -150, "vp": 2000, "vs": 900, "rho": 2000, **model}
    layers = {"kind": "layers", "layers": [{"top": 0, "vp": 1500, "vs": 0, "rho": 1025}, rock]}
    tables = {"boundaries": {"cpml": {"thickness": 4}}, "output": {"waveforms": ["pressure"]}}
    tables |= {"time": {"duration": 0.3, "start": 0.0, "step": 0.003}, "run": {"precision": "float64"}}
    return box([600, 400], 20, layers, explosion([300, -40], ricker(8), 1e9), 0.3, ([400, -40], [400, -240]), **tables)


def test_pressure_is_a_third_of_the_trace_where_nothing_moves_across_the_plane():
    """syy of plane strain, from the stiffness itself."""
    linear = METHODS["fd"].linearised(pressure_in_the_plane(epsilon=0.2, delta=0.1, gamma=0.15))
    d, at = linear.d.with_cells(linear.cells), [np.array([n]) for n in (3, 0, 5)]
    moduli = np.array([float(v[3, 0, 5]) for v in linear.cells[1:]])  # c11, c13, c33, c44, c66
    h = 1e-6 * moduli[0]

    def shares_of(c):
        return (1 + np.linalg.solve([[c[0], c[1]], [c[1], c[2]]], [c[0] - 2 * c[4], c[1]])) / 3

    shares = [material.trace_share(d, at, name)[0] for name in ("sxx", "szz")]
    np.testing.assert_allclose(shares, shares_of(moduli), rtol=1e-13)
    assert abs(shares[0] - shares[1]) > 0.01
    for n, row in enumerate(np.eye(5)):
        expected = (shares_of(moduli + h * row) - shares_of(moduli - h * row)) / 2e-6
        slopes = [moduli[0] * point_rows.derivative(f"pressure {f}", *moduli[:, None])[n][0] for f in ("sxx", "szz")]
        np.testing.assert_allclose(slopes, expected, atol=1e-8)
    wet = [np.array([n]) for n in (18, 0, 5)]
    assert material.trace_share(d, wet, "sxx")[0] == material.trace_share(d, wet, "szz")[0] == 0.5


# --- cells that horizontal interfaces cut (what they do to waves: `two-layers` of test_exact) ---------------------------------------------

STACK = [
    {"top": 0, "vp": 2000, "vs": 900, "rho": 1800},
    {"top": -230, "vp": 3000, "vs": 1800, "rho": 2200},
    {"top": -1430, "vp": 4000, "vs": 2300, "rho": 2600},
]


def layered(layers=STACK, top="free", anomalies=(), model=None):
    """Layers in a box."""
    model = model or {"kind": "layers", "layers": layers, "anomalies": list(anomalies)}
    faces, source = {"top": top, "others": "cpml", "cpml": {"thickness": 6}}, explosion([1600, 1400, -800], ricker(3))
    return box([3200, 2800, 3000], 100, model, source, 0.5, boundaries=faces)


def launches(scenario):
    """(name of the operator, box) of what is done to cut planes."""
    plan = craton.plan(scenario)
    return [(each.op.name, each.box) for phase in plan.phases for each in phase.launches if "laminate" in each.op.name]


def test_cut_cells_of_the_isotropic_and_of_the_anisotropic_step_agree():
    """Cells that flat layers cut have the average of Backus either way."""
    stack = [{"top": 0, "vp": 3000, "vs": 1500, "rho": 2200}, {"top": -730, "vp": 4000, "vs": 2300, "rho": 2500}]
    model, grid = Layers(layers=stack), Grid((0.0, 0.0, -2400.0), 100.0, (25, 3, 3))
    rho, c11, c13, c33, c44, c66 = earth.cell_stiffness(model, grid, 0, 25)
    values, kappa, mu = earth.cell_averages(model, grid, 0, 25)
    np.testing.assert_allclose(rho, values)
    assert rho[17, 0, 0] == pytest.approx(0.8 * 2200 + 0.2 * 2500)
    np.testing.assert_allclose(c44, mu, rtol=1e-12)
    assert np.flatnonzero((np.abs(c11 - c33) > 1e-6 * c33)[:, 0, 0]).tolist() == [17]  # 730 m deep
    d11, d13, d33, d66 = cut_planes(model, grid)[17]
    k, m = kappa[17, 0, 0], mu[17, 0, 0]
    expected = [k + 4 / 3 * m + d11, k - 2 / 3 * m + d13, k + 4 / 3 * m + d33, m + d66]
    np.testing.assert_allclose([v[17, 0, 0] for v in (c11, c13, c33, c66)], expected, rtol=1e-12)


def test_planes_that_are_cut_and_by_how_much():
    plan = craton.plan(layered())
    corrections = cut_planes(layered().model, plan.grid)
    assert sorted(corrections) == [16, 28]  # z = -1400: its cell ends at -1450; z = -200 ends at -250
    table = plan.arrays["laminate"].data
    assert table[28] == pytest.approx(corrections[28], rel=1e-6) and not table[[15, 17, 27, 29]].any()
    assert "2 grid planes are crossed by layer interfaces; effective VTI medium used" in str(plan)


def test_where_cut_planes_are_corrected():
    def below(top, first=STACK[0], second=STACK[1]):
        return {"layers": [first, {**second, "top": top}]}

    for change, count in (
        ({"model": {"kind": "homogeneous", "vp": 3000, "vs": 1500, "rho": 2000}}, 0),
        (below(-250), 0),  # between two cells: both averages are exact
        (below(-230, second=STACK[0]), 0),  # nothing changes there
        (below(-230, first={**STACK[0], "vs": 0}), 0),  # a fluid slips
        (below(-30), 0),  # the cell of the surface is in plane stress
        ({**below(-230), "top": "cpml"}, 0),  # within the layer
        (below(-2610), 0),
        ({}, 2),
    ):
        assert len({at[:2] for _, at in launches(layered(**change))}) == count, change


def test_boxes_cover_the_plane_but_for_anomalies_and_layers_have_their_share():
    sphere = {"shape": "sphere", "center": [1500, 1300, -1500], "radius": 350, "dvs": -0.2}
    shallow = {"shape": "box", "min": [0, 500, -400], "max": [500, 1000, -100], "dvp": 0.1}
    deep = {"shape": "box", "min": [1000, 500, -900], "max": [1500, 1000, -500], "dvp": 0.1}
    seen, expected = np.zeros((31, 29, 33), int), np.zeros((31, 29, 33), int)
    for name, (k0, k1, j0, j1, i0, i1) in launches(layered(anomalies=[sphere, shallow, deep])):
        assert k0 < k1 and j0 < j1 and i0 < i1
        seen[k0:k1, j0:j1, i0:i1] += name.startswith("laminate")
    expected[[16, 28]] = 1
    expected[16, 8:19, 10:21] = 0  # x 1150 .. 1850, y 950 .. 1650 touch cells 11 .. 19, 9 .. 17 and, edges, one more
    expected[28, 4:12, 0:7] = 0  # x 0 .. 500, y 500 .. 1000: cells 0 .. 5 and 5 .. 10, and one more
    np.testing.assert_array_equal(seen, expected)
    boxes = {}
    for name, at in launches(layered()):
        boxes.setdefault(name, []).append(at)
    assert set(boxes) == {"laminate", "laminate_surface", "cpml_laminate_x", "cpml_laminate_y"}
    assert {b[:2] for b in boxes["laminate"]} == {(16, 17)} and {b[:2] for b in boxes["laminate_surface"]} == {(28, 29)}
    assert sorted(b[2:4] for b in boxes["cpml_laminate_y"] if b[0] == 16) == [(0, 6), (22, 29)]
