"""What a store keeps of spectral elements: Legendre coefficients, which have the digits of strains."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import craton
from craton.errors import ScenarioError
from craton.greens.fields import LEVELS
from craton.methods import METHODS
from craton.methods.spectral_element.greens import element_velocities
from craton.methods.spectral_element.points import element_parts, rows_of_points

MOMENT = np.array([[1.0, 0.7, -0.4], [0.7, -2.0, 0.9], [-0.4, 0.9, 1.5]])
SIX = np.array([[1.0, -2.0, 1.5, 0.7, -0.4, 0.9]])
LOW, HIGH = [450, 450, -90], [700, 750, 0]
WAVELET = {"kind": "gaussian", "tau": 0.3}
PLACES = ((600.0, 613.7, -31.9), (455.0, 700.0, -60.0))


@pytest.fixture(scope="module", params=["boxes", "below a hill"])
def field(request):
    """Elements of about 400 m."""
    tables = {
        "method": "sem",
        "domain": {"origin": [0, 0, -400], "size": [1200, 1200, 400], "element_size": 400},
        "model": {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000},
        "time": {"duration": 1.0},
        "source": [{"kind": "explosion", "at": [600, 600, -50], "moment": 1.0, "wavelet": WAVELET}],
    }
    if request.param != "boxes":
        x = np.arange(0, 1201, 100.0)
        hill = (20 * np.sin(x / 300)[:, None] * np.cos(x / 200)).tolist()
        tables["domain"]["size"][2] = 500
        tables["model"]["topography"] = {"x": x.tolist(), "y": x.tolist(), "z": hill}
    return element_velocities(craton.Scenario(**tables), LOW, HIGH)[0]


def test_sums_are_those_of_velocities_at_nodes(field):
    """For any motion of the nodes: what moments see of it, from coefficients and from the nodes."""
    motion = np.random.default_rng(1).standard_normal((field.medium.points.max() + 1, 3))
    coefficients = field.picture({"velocity": motion[field.nodes[0]]})
    assert coefficients.shape == (field.places,)
    for at in PLACES:
        places, weights = field.rows(np.array([at]), SIX)
        sources = [SimpleNamespace(xyz=np.array(at), moment=MOMENT, force=None)]
        index, weight, _ = rows_of_points(field.medium, sources)
        expected = weight @ motion.ravel()[index - field.medium.offset("force")]
        assert weights[0] @ coefficients[places[0]] == pytest.approx(expected, rel=1e-11)


def test_long_waves_keep_their_digits_in_16_bits(field):
    """A wave of 250 elements: values at the nodes, rounded in the same way, have lost them."""
    numbers, _ = field.nodes
    position = np.zeros((field.medium.points.max() + 1, 3))
    points = np.asarray(field.medium.points).reshape(field.medium.mesh.size, -1)
    position[points] = np.moveaxis(field.medium.coordinates(np.arange(len(points))), 1, 2)
    phase = 2 * np.pi * (position @ [6e-6, 5e-6, 4e-6] - np.linspace(0, 1, 20)[:, None])
    motion = np.cos(phase)[..., None] * [0.3, -0.5, 0.8]
    stored = np.array([field.picture({"velocity": v[numbers]}) for v in motion])

    def rounded(series):
        scale = np.abs(series).max(axis=0) / LEVELS
        return np.rint(series / scale) * scale

    for at in PLACES:
        places, weights = (part[0] for part in field.rows(np.array([at]), SIX))
        exact = stored[:, places] @ weights
        off = rounded(stored)[:, places] @ weights - exact
        assert np.linalg.norm(off) < 1e-4 * np.linalg.norm(exact)
        sources = [SimpleNamespace(xyz=np.array(at), moment=MOMENT, force=None)]
        index, weight, _ = rows_of_points(field.medium, sources)
        nodes = motion.reshape(20, -1)[:, index - field.medium.offset("force")]
        off = rounded(nodes) @ weight - exact
        assert np.linalg.norm(off) > 3e-3 * np.linalg.norm(exact)


def test_parts_of_sources_that_are_not_stored_are_told(field):
    _, element, *_ = element_parts(field.medium, [SimpleNamespace(xyz=np.array(PLACES[0]), moment=MOMENT, force=None)])[
        0
    ]
    less = replace(field, elements=field.elements[field.elements != element])
    with pytest.raises(ScenarioError, match="outside of what is stored"):
        less.rows(np.array([PLACES[0]]), SIX)


def test_stores_of_another_layout_are_refused(field):
    """Of nodes, as they were kept before."""
    about = {name: value for name, value in field.about.items() if name != "layout"}
    with pytest.raises(ScenarioError, match="earlier version"):
        METHODS["sem"].moment_rows(field.scenario, about)
