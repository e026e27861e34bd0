"""Pictures of spectral elements on regular rasters: exact for what the elements hold, nothing outside the mesh."""

import numpy as np
import pytest
from elementcase import Toy, brick
from test_sem_points import MODEL, SEA, gradient, polynomial

from craton.methods.spectral_element import snapshots
from craton.methods.spectral_element.points import COMPONENT_AXES
from craton.scenario import Layers, Snapshot


def shot(d, mesh, state, **spec):
    """The series of a snapshot and its picture of a state."""
    made = snapshots.series_of(d, Snapshot(**{"name": "p", "every": 0.02} | spec), 20.0)
    found = d.state.fields
    parts = {name: state[found[name][0] :][: found[name][1] * found[name][2]] for name in made.reads}
    return made, snapshots.picture_maker(made)(parts)


def places(made):
    """x, y, z of the picture's points, broadcast to its shape."""
    z, y, x = np.meshgrid(*(np.atleast_1d(made.coords[a]) for a in "zyx"), indexing="ij")
    return [np.squeeze(c) for c in (x, y, z)]


@pytest.mark.parametrize("plane", [{"y": 93.0}, {"z": -41.0}, None])
def test_velocity_of_a_polynomial(plane, monkeypatch):
    mesh = brick()
    d = Toy(mesh, MODEL)
    state = d.filled(velocity=polynomial)
    made, values = shot(d, mesh, state, plane=plane)
    assert values.shape == made.shape and values.dtype == np.float32
    np.testing.assert_allclose(values, polynomial(*places(made)), atol=3e-6 * np.abs(values).max())
    assert made.coords["x"][[0, -1]].tolist() == [0, 300] and len(made.coords["x"]) == 16
    monkeypatch.setattr(snapshots, "STORED", 0)  # matrices made for each snapshot
    np.testing.assert_array_equal(shot(d, mesh, state, plane=plane)[1], values)


def test_times_and_strides():
    mesh = brick()
    made, _ = shot(d := Toy(mesh, MODEL), mesh, np.zeros(d.size), plane={"y": 50}, stride=3)
    np.testing.assert_allclose(made.times, np.array([0.02, 0.04, 0.06, 0.08, 0.1]), atol=d.dt / 2 + 1e-9)
    assert len(made.coords["x"]) == 6 and made.coords["y"] == 50 and (made.steps < d.steps).all()


@pytest.mark.parametrize("quantity", ["divergence", "curl", "strain_rate", "pressure"])
def test_derived_quantities(quantity):
    mesh = brick()
    d = Toy(mesh, MODEL)
    state = d.filled(velocity=polynomial, displacement=polynomial)
    made, values = shot(d, mesh, state, plane={"y": 93.0}, quantity=quantity)
    g = gradient(*places(made))
    trace = g[0, 0] + g[1, 1] + g[2, 2]
    expected = {
        "divergence": trace,
        "pressure": -2000 * (3000**2 - 4 / 3 * 1700**2) * trace,
        "curl": [g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]],
        "strain_rate": [(g[a, b] + g[b, a]) / 2 for a, b in COMPONENT_AXES.values()],
    }[quantity]
    np.testing.assert_allclose(values, expected, atol=1e-5 * np.abs(expected).max())


def test_nothing_above_a_bent_top_and_its_surface():
    mesh = brick((6, 5, 4), (600.0, 500.0, 200.0), bump=20)
    d = Toy(mesh, MODEL)
    state = d.filled(velocity=lambda x, y, z: np.stack([x, y, z]))
    made, values = shot(d, mesh, state, plane={"y": 250.0})
    top = 20 * np.sin(3 * made.coords["x"] / 600)
    above = made.coords["z"][:, None] > top + 1
    assert np.isnan(values[:, above]).all() and np.isfinite(values[:, made.coords["z"][:, None] < top - 1]).all()
    made, values = shot(d, mesh, state, plane={"surface": True})
    assert values.shape == made.shape == (3, 26, 31) and list(made.coords) == ["y", "x"]
    np.testing.assert_allclose(values[2], np.broadcast_to(top, (26, 31)), atol=0.7)  # chords of the sine


def test_a_sea_over_rock():
    mesh = brick((2, 2, 4), (200.0, 200.0, 400.0))
    model = Layers(
        layers=[
            {"top": 0, **SEA.model_dump(include={"vp", "vs", "rho"})},
            {"top": -200, "vp": 3000, "vs": 1700, "rho": 2000},
        ]
    )
    d = Toy(mesh, model, fluid_elements=mesh.centroids()[:, 2] > -200)
    state = d.filled(velocity=lambda x, y, z: np.stack([x, y, z]), potential_rate=lambda x, y, z: 1000 * (x * y + z**2))
    made, values = shot(d, mesh, state, plane={"y": 50.0})
    x, _, z = places(made)
    sea = z > -200
    np.testing.assert_allclose(values, np.where(sea, [50 + 0 * x, x, 2 * z], [x, 50 + 0 * x, z]), rtol=1e-5, atol=1e-2)
    assert set(made.reads) == {"velocity", "potential_rate"}
