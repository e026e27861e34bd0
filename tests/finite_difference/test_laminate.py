"""Cells that horizontal interfaces cut: Backus averages, and where they act (what they do to waves: test_physics)."""

import numpy as np
import pytest

import craton
from craton.methods.finite_difference import laminate
from craton.model.media import cells
from craton.scenario import Scenario

LAYERS = [
    {"top": 0, "vp": 2000, "vs": 900, "rho": 1800},
    {"top": -230, "vp": 3000, "vs": 1800, "rho": 2200},
    {"top": -1430, "vp": 4000, "vs": 2300, "rho": 2600},
]
UNIFORM = {"kind": "homogeneous", "vp": 3000, "vs": 1500, "rho": 2000}


def scenario(layers=LAYERS, top="free", anomalies=(), kind="layers", receivers=(), **run):
    model = {"kind": "layers", "layers": layers, "anomalies": list(anomalies)} if kind == "layers" else UNIFORM
    return Scenario(
        domain={"origin": [0, 0, -3000], "size": [3200, 2800, 3000], "spacing": 100},
        model=model,
        time={"duration": 0.5},
        boundaries={"top": top, "others": "cpml", "cpml": {"thickness": 6}},
        receivers=list(receivers),
        run=run,
        source=[
            {
                "kind": "explosion",
                "at": [1600, 1400, -800],
                "moment": 1e15,
                "wavelet": {"kind": "ricker", "frequency": 3},
            }
        ],
    )


def launches(plan):
    return [one for phase in plan.phases for one in phase.launches if "laminate" in one.op.name]


def matrix(c11, c13, c33, c66):
    return np.array([[c11, c11 - 2 * c66, c13], [c11 - 2 * c66, c11, c13], [c13, c13, c33]])


def test_backus_average_is_that_of_continuous_stress_and_strain():
    """From the definition: layers share exx, eyy, szz; the average of what is not shared, by Hooke's law layer by layer."""
    rng = np.random.default_rng(0)
    kappa, mu, weights = rng.uniform(1, 5, 4), rng.uniform(0.5, 3, 4), rng.dirichlet(np.ones(4))
    lam = kappa - 2 / 3 * mu
    found = laminate.backus(kappa, mu, weights)
    exx, eyy, szz = 0.3, -0.7, 1.1
    ezz = (szz - lam * (exx + eyy)) / (lam + 2 * mu)
    sxx = lam * (exx + eyy + ezz) + 2 * mu * exx
    average = matrix(*found) @ [exx, eyy, (weights * ezz).sum()]
    assert average[[0, 2]] == pytest.approx([(weights * sxx).sum(), szz], rel=1e-12)
    assert found[3] == pytest.approx((weights * mu).sum())
    np.testing.assert_allclose(
        laminate.backus(kappa[:1], mu[:1], np.ones(1)), laminate.isotropic(kappa[0], mu[0]), rtol=1e-12
    )


def test_planes_that_are_cut_and_by_how_much():
    plan = craton.plan(scenario())
    grid = plan.grid
    found = laminate.cut_planes(scenario().model, grid)
    assert sorted(found) == [16, 28]  # z = -1400: its cell ends at -1450; z = -200 ends at -250
    values = [np.array([layer[n] for layer in LAYERS[:2]], float) for n in ("vp", "vs", "rho")]
    weights = np.array([0.8, 0.2])  # of the cell from -150 to -250
    _, kappa, mu = cells.mean(*values, weights, (0,))
    np.testing.assert_allclose(
        found[28], laminate.backus(*cells.moduli(*values), weights) - laminate.isotropic(kappa, mu), rtol=1e-9
    )
    # Harmonic means are too soft along the layers, and never stiffer than the laminate: what is added has no negative eigenvalue.
    assert np.linalg.eigvalsh(matrix(*found[28])).min() > -1e-9 * kappa
    table = plan.arrays["laminate"].data
    assert table[28] == pytest.approx(found[28], rel=1e-6) and not table[[15, 17, 27, 29]].any()
    assert "2 grid planes are crossed by layer interfaces; effective VTI medium used" in str(plan)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({"kind": "homogeneous"}, 0),
        ({"layers": [LAYERS[0], {**LAYERS[1], "top": -250}]}, 0),  # between two cells: both averages are exact
        ({"layers": [LAYERS[0], {**LAYERS[0], "top": -230}]}, 0),  # nothing changes there
        ({"layers": [{**LAYERS[0], "vs": 0}, LAYERS[1]]}, 0),  # a fluid slips
        ({"layers": [LAYERS[0], {**LAYERS[1], "top": -30}]}, 0),  # the cell of the surface is in plane stress
        ({"layers": [LAYERS[0], {**LAYERS[1], "top": -230}], "top": "cpml"}, 0),  # within the layer
        ({"layers": [LAYERS[0], {**LAYERS[1], "top": -2610}]}, 0),
        ({}, 2),
    ],
)
def test_where_it_acts(change, count):
    assert len({one.box[:2] for one in launches(craton.plan(scenario(**change)))}) == count


def test_boxes_cover_the_plane_but_for_anomalies():
    sphere = {"shape": "sphere", "center": [1500, 1300, -1500], "radius": 350, "dvs": -0.2}
    box = {"shape": "box", "min": [0, 500, -400], "max": [500, 1000, -100], "dvp": 0.1}
    deep = {"shape": "box", "min": [1000, 500, -900], "max": [1500, 1000, -500], "dvp": 0.1}
    plan = craton.plan(scenario(anomalies=[sphere, box, deep]))
    seen = np.zeros(plan.grid.shape, int)
    for one in launches(plan):
        if one.op.name.startswith("laminate"):
            k0, k1, j0, j1, i0, i1 = one.box
            seen[k0:k1, j0:j1, i0:i1] += 1
    expected = np.zeros_like(seen)
    expected[[16, 28]] = 1
    expected[16, 8:19, 10:21] = (
        0  # x 1150 .. 1850, y 950 .. 1650 touch cells 11 .. 19 and 9 .. 17 (edges count), and one more
    )
    expected[28, 4:12, 0:7] = 0  # x 0 .. 500, y 500 .. 1000: cells 0 .. 5 and 5 .. 10, and one more
    assert seen.max() == 1
    np.testing.assert_array_equal(seen, expected)


def test_layers_at_the_sides_have_their_share():
    boxes = {one.op.name: [] for one in launches(craton.plan(scenario()))}
    for one in launches(craton.plan(scenario())):
        boxes[one.op.name].append(one.box)
    assert set(boxes) == {"laminate", "laminate_surface", "cpml_laminate_x", "cpml_laminate_y"}
    assert {b[:2] for b in boxes["laminate"]} == {(16, 17)} and {b[:2] for b in boxes["laminate_surface"]} == {(28, 29)}
    assert sorted(b[2:4] for b in boxes["cpml_laminate_y"] if b[0] == 16) == [(0, 6), (22, 29)]


def test_rectangles_without_a_hole():
    assert laminate.without((0, 9, 0, 9), (9, 12, 0, 3)) == [(0, 9, 0, 9)]
    assert laminate.without((0, 9, 0, 9), (-1, 12, -5, 30)) == []
    parts = laminate.without((0, 9, 2, 8), (3, 5, 4, 20))
    seen = np.zeros((9, 8), int)
    for j0, j1, i0, i1 in parts:
        seen[j0:j1, i0:i1] += 1
    seen[3:5, 4:8] += 1
    assert (seen[:, 2:] == 1).all() and not seen[:, :2].any()
