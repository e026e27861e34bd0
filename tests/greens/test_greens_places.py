"""Stores whose volume reaches a topography, on chunks of the Earth and where the model has a place on Earth: as forward runs."""

import numpy as np
import pytest

import craton
from craton import greens
from craton.errors import ScenarioError
from craton.greens.mtuq import place_of

TENSOR = {"xx": 1e13, "yy": -2e13, "zz": 1.5e13, "xy": 0.7e13, "xz": -0.4e13, "yz": 0.9e13}
GROUND = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
ALONG = np.arange(0, 3001, 50.0)
HILL = {"x": ALONG.tolist(), "z": (-100 + 150 * np.exp(-(((ALONG - 1500) / 500) ** 2))).tolist()}
X = np.arange(0, 2001, 100.0)
HILLS = {"x": X.tolist(), "y": X.tolist()}
HILLS["z"] = (60 * np.sin(X / 400)[:, None] * np.cos(X / 300)).tolist()
FORCED = {"device": "cpu", "threads": 1, "precision": "float64"}
CASES = {
    "finite differences below a hill": (
        {
            "domain": {"origin": [0, -2000], "size": [3000, 2200], "spacing": 50, "waves": "P-SV"},
            "model": GROUND | {"qp": 60, "qs": 30, "topography": HILL},
            "time": {"duration": 2.6},
            "boundaries": {"cpml": {"thickness": 6, "frequency": 2.0}},
            "receivers": [{"name": "A", "at": {"x": 2000, "depth": 0}}],
            "greens": {"from": [1300, -600], "to": [1700, 100], "max_frequency": 4.5},
        },
        [[1413.7, -331.9], [1500, 30.0], [1620, -20]],
        {name: TENSOR[name] for name in ("xx", "zz", "xz")},
        {"kind": "gaussian_derivative", "tau": 0.25},
    ),
    "elements below hills": (
        {
            "method": "sem",
            "domain": {"origin": [0, 0, -1600], "size": [2000, 2000, 1700], "element_size": 400},
            "model": GROUND | {"topography": HILLS},
            "time": {"duration": 2.2},
            "receivers": [{"name": "A", "at": {"x": 1500, "y": 1100, "depth": 0}}],
            "greens": {"from": [500, 550, -500], "to": [700, 750, 100], "max_frequency": 3.5},
        },
        [[613.7, 667.1, -331.9], {"x": 613.7, "y": 667.1, "depth": 10}],
        TENSOR,
        {"kind": "gaussian_derivative", "tau": 0.25},
    ),
    "a chunk of the Earth across the date line": (
        {
            "method": "sem",
            "domain": {
                "chunk": {"longitude": 179.9, "latitude": -13.8, "width": [8, 8], "azimuth": 20}
                | {"elements": [4, 4], "bottom": "400 km"}
            },
            "model": {"kind": "prem"},
            "time": {"duration": 120},
            "receivers": [{"name": "A", "at": {"longitude": -179.5, "latitude": -13.2}}],
            "greens": {"from": [179.6, -14.2, -40e3], "to": [180.2, -13.6, 0]} | {"max_frequency": 0.025},
        },
        [
            {"longitude": 179.7, "latitude": -14.1, "depth": 33e3},
            {"longitude": -179.9, "latitude": -13.9, "depth": 10e3},
        ],
        {name: 1e5 * value for name, value in TENSOR.items()},
        {"kind": "gaussian_derivative", "tau": 40},
    ),
    "a box on a map": (
        {
            "domain": {"origin": [0, 0, -1500], "size": [1700, 1700, 1500], "spacing": 100}
            | {"geographic": {"longitude": 12.0, "latitude": 44.0, "azimuth": 30}},
            "model": GROUND,
            "time": {"duration": 1.5},
            "boundaries": {"cpml": {"thickness": 3, "frequency": 2.0}},
            "receivers": [{"name": "A", "at": [1000, 900, 0]}],
            "greens": {"from": [700, 700, -600], "to": [800, 800, -500], "max_frequency": 3.5},
        },
        [[750, 733, -550]],
        TENSOR,
        {"kind": "gaussian_derivative", "tau": 0.25},
    ),
}


def scenario(tables, at, tensor, wavelet):
    """The scenario of a case with a moment tensor."""
    source = {"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": wavelet}
    return craton.Scenario(**tables, source=[source], run=FORCED)


@pytest.mark.parametrize("name", CASES)
def test_seismograms_are_those_of_forward_runs(tmp_path, name):
    """Whole datasets, with components and coordinates, of positions as a forward run takes them."""
    tables, places, tensor, wavelet = CASES[name]
    first = scenario(tables, places[0], tensor, wavelet)
    greens.build(first, tmp_path / "store", workers=1, progress=False)
    store = greens.open(tmp_path / "store")
    for at in places:
        quake = scenario(tables, at, tensor, wavelet)
        run = craton.run(quake, progress=False).dataset
        end = tables["time"]["duration"] - wavelet["tau"]
        step = float(run.time[1] - run.time[0])
        # its own times: half a step after whole ones
        computed = store.seismograms(list(quake.source), sampling=step / 2, duration=end)
        assert set(run.coords) == set(computed.coords)
        for key in (k for k in run.coords if k != "time" and run[k].dtype.kind == "f"):
            np.testing.assert_allclose(computed[key], run[key], rtol=1e-9, atol=1e-6)
        where = np.round((run.time.values - computed.time.values[0]) / (step / 2)).astype(int)
        where = where[where < computed.sizes["time"]]
        got, expected = computed.velocity[..., where], run.velocity[..., : len(where)]
        np.testing.assert_allclose(got.time, expected.time, atol=1e-9)
        assert np.linalg.norm(got.values - expected.values) < 1e-5 * np.linalg.norm(expected)
        if "chunk" in tables["domain"]:
            assert place_of(store, list(quake.source)) == pytest.approx(at, rel=1e-9)


def test_sources_in_the_air_are_refused(tmp_path):
    """In the volume, and above the hill."""
    tables, places, tensor, wavelet = CASES["finite differences below a hill"]
    tables = tables | {"time": {"duration": 0.3}}
    first = scenario(tables, places[0], tensor, wavelet)
    store = greens.build(first, tmp_path / "store", workers=1, progress=False)
    with pytest.raises(ScenarioError, match="in the air"):
        store.batch([[1700, 0, 90]], np.ones((1, 6)), wavelet | {"tau": 0.1})
