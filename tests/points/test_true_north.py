"""Records in true east, north and up: the same event and stations in boxes whose y axis points elsewhere."""

import functools

import numpy as np
import pytest
from common import misfit
from obspy.geodetics import gps2dist_azimuth

import craton
from craton.report import figures, pictures
from craton.scenario import loads
from craton.survey.geography import Local

LONGITUDE, LATITUDE = 12.5, 47.25
CMT = """ PDE  2020  1  1  0  0  0.00  47.2500   12.5000   2.0 5.0 5.0 TEST
event name:     E
time shift:      0.0000
half duration:   0.0000
latitude:       47.2500
longitude:      12.5000
depth:           2.0000
Mrr:       1.0e+22
Mtt:      -2.0e+22
Mpp:       1.0e+22
Mrt:       1.5e+22
Mrp:      -0.7e+22
Mtp:       2.2e+22
"""
SCENARIO = """
title = "box"
model = {{ kind = "homogeneous", vp = 5000, vs = 2900, rho = 2700 }}
time = {{ duration = 2.2, start = -0.8 }}
receivers = [{{ file = "STATIONS" }}]
output = {{ waveforms = ["velocity", "strain_rate"], sampling = 0.02 }}
run = {{ threads = 1 }}
[[source]]
kind = "cmtsolution"
file = "CMTSOLUTION"
wavelet = {{ kind = "gaussian", tau = 0.26, delay = 0 }}
[domain]
origin = [-6000, -6000, -7000]
size = [12000, 12000, 7000]
spacing = 200
geographic = {{ longitude = 12.5, latitude = 47.25, azimuth = {azimuth} }}
"""
PLACES = {"A": (12.52, 47.262), "B": (12.475, 47.235), "C": (12.505, 47.225)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By azimuth of the box: datasets."""
    folder = tmp_path_factory.mktemp("north")
    (folder / "CMTSOLUTION").write_text(CMT)
    (folder / "STATIONS").write_text("".join(f"{n} XX {lat} {lon} 0 1000\n" for n, (lon, lat) in PLACES.items()))

    @functools.cache
    def of(azimuth):
        made = loads(SCENARIO.format(azimuth=azimuth), file=folder / "s.toml")
        return craton.run(made, device="cpu", progress=False).dataset

    return of


@pytest.mark.parametrize("azimuth, limit", [(30, 0.03), (90, 1e-3)])
def test_components_are_true_east_north_up(azimuth, limit, runs):
    """By 90 degrees the grid falls on itself; by 30 positions lie elsewhere between its points."""
    for quantity in ("velocity", "strain_rate")[: 1 + (azimuth == 90)]:
        expected, values = runs(0)[quantity].values, runs(azimuth)[quantity].values
        assert misfit(values, expected) < limit, quantity
        assert misfit(values[:, ::-1], expected) > 0.5  # the test sees components that are exchanged


def test_places_are_those_of_the_files(runs):
    for dataset in (runs(0), runs(90)):
        for name, (longitude, latitude) in PLACES.items():
            station = dataset.sel(receiver=name)
            assert float(station.longitude) == pytest.approx(longitude, abs=1e-9)
            assert float(station.latitude) == pytest.approx(latitude, abs=1e-9) and float(station.elevation) == -1000
        assert dataset.attrs["source_longitude"] == pytest.approx(12.5, abs=1e-9)
        assert dataset.attrs["source_z"] == pytest.approx(-2000)
    for name, (longitude, latitude) in PLACES.items():
        distance, azimuth, back = gps2dist_azimuth(LATITUDE, LONGITUDE, latitude, longitude)
        station = runs(90).sel(receiver=name)
        assert float(station.distance) == pytest.approx(distance, abs=0.01) and station.distance.attrs["units"] == "m"
        assert float(station.azimuth) == pytest.approx(azimuth, abs=1e-4)
        assert float(station.back_azimuth) == pytest.approx(back, abs=1e-4)


def test_the_map_is_inverted():
    local, random = Local(LONGITUDE, LATITUDE, 37.0), np.random.default_rng(4)
    x, y = random.uniform(-3e5, 3e5, (2, 50))
    assert np.allclose(local.xy(*local.degrees(x, y)), (x, y), atol=1e-6)
    across = Local(179.5, -16.0)
    assert np.allclose(across.xy(*across.degrees(x, y)), (x, y), atol=1e-6)  # over the date line


def test_axes_far_east_of_the_reference_turn_by_the_convergence():
    local = Local(0.0, 45.0)
    east, north, up = np.moveaxis(local.axes(np.array([[200e3, 0.0, 0.0]])), -1, 0)
    longitude, latitude = local.degrees(200e3, 0.0)
    further = np.array(local.xy(longitude, latitude + 1e-4)) - [200e3, 0.0]
    assert np.allclose(north[0, :2], further / np.linalg.norm(further), atol=1e-7) and np.allclose(up, [[0, 0, 1]])
    assert north[0, 0] < -0.01 and np.allclose(east[0] @ north[0], 0)


PLANE = """
model = {{ kind = "homogeneous", vp = 3000, vs = 1700, rho = 2200 }}
time = {{ duration = 0.8 }}
receivers = [{{ name = "R", at = [800, 0] }}]
source = [{{ kind = "force", at = [0, -500], force = {force}, wavelet = {{ kind = "ricker", frequency = 5 }} }}]
[domain]
origin = [-2000, -2000]
size = [4000, 2000]
spacing = 50
waves = "{waves}"
geographic = {{ longitude = 12.5, latitude = 47.25, azimuth = {azimuth} }}
"""


@pytest.mark.parametrize("waves, force, alone", [("P-SV", "[1e9, 1e9]", "E"), ("SH", "[0, 1e9, 0]", "N")])
def test_motion_of_a_plane_is_turned(waves, force, alone):
    """A profile at an azimuth moves east and north; one from west to east has the components of its plane alone."""
    texts = (PLANE.format(waves=waves, force=force, azimuth=azimuth) for azimuth in (0, 60))
    flat, turned = (craton.run(loads(text), device="cpu", progress=False).dataset.velocity for text in texts)
    motion = flat.sel(component=alone).values
    assert list(flat.component.values) == (["E", "Z"] if waves == "P-SV" else ["N"])
    assert list(turned.component.values) == (["E", "N", "Z"] if waves == "P-SV" else ["E", "N"])
    c, s = (0.5, -np.sqrt(0.75)) if waves == "P-SV" else (np.sqrt(0.75), 0.5)
    for component, share in (("E", c), ("N", s)):  # the meridian convergence is small here
        assert np.allclose(turned.sel(component=component), share * motion, atol=1e-3 * np.abs(motion).max())


def test_sections_count_from_a_source_that_stands_in_a_file(runs, tmp_path):
    """Distances of the record section are those from the event, also when its file is gone."""
    dataset = runs(90).isel(tensor=0, drop=True)
    assert pictures._recorded_source(dataset) == [tuple(dataset.attrs[f"source_{axis}"] for axis in "xyz")]
    scene = pictures.scene_of(tmp_path, dataset)  # no scenario there
    assert scene["title"] == "box" and len(scene["sources"]) == 1
    distance, unit = figures.distances(dataset.velocity, scene["sources"][0])
    assert unit == "km" and np.allclose(1000 * distance, dataset.distance, rtol=1e-3)
    wrong, _ = figures.distances(dataset.velocity)
    assert not np.allclose(wrong, distance)
