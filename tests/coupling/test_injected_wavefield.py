"""Injection of waves that were sampled on another grid, in a chunk of the Earth or by another program."""

import functools
import math
from itertools import product

import h5py
import numpy as np
import pytest
import xarray as xr
from common import misfit, refused
from injectioncase import BOX, CASE, PULSE, RUN, apart, exact, inject, ran, section, together, untold, wavefield

import craton
from craton import io
from craton.cli import main
from craton.errors import ScenarioError
from craton.io.contents import FileError
from craton.methods.waves.coupling.sampled import NoLattice, interpolation, lattice_of
from craton.survey import leapfrog


def test_points_for_other_programs():
    """On both sides of each face, as far as the thickness, none further inside, none above the ground."""
    points = craton.injection_points([0, 0, -400], [600, 600, 0], 100, 200)
    xyz = np.stack([points[axis] for axis in "xyz"], axis=1)
    lattice = product(range(-200, 801, 100), range(-200, 801, 100), range(-600, 1, 100))
    expected = {(x, y, z) for x, y, z in lattice if not (200 < x < 400 and 200 < y < 400 and z > -200)}
    assert len(xyz) == len(expected) and set(map(tuple, xyz.round(9))) == expected
    above = craton.injection_points([0, 0, -400], [600, 500, 0], 100, 200, top=1000)
    assert float(above.z.max()) == 200
    for corners, sampling, words in (
        (([0, 0], [-10, 10]), 1, "ends before it begins"),
        (([0, 0], [10, 10, 10]), 1, "different lengths"),
        (([0, 0], [10, 10]), 0, "greater than 0"),
    ):
        refused(ScenarioError, words, craton.injection_points, *corners, sampling)


def of_file(path, **changes):
    """Tables of the section with the waves of a file."""
    return section("P", 25, injection=[{"file": str(path), **BOX}], **changes)


@pytest.mark.parametrize("order, bound", [(4, 0.013), pytest.param(8, 0.01, marks=pytest.mark.long)])
def test_waves_of_a_file_are_those_of_the_plane_wave(order, bound, tmp_path):
    wavefield().to_netcdf(tmp_path / "waves.nc")
    scenario = craton.Scenario(**of_file(tmp_path / "waves.nc", run=RUN | {"order": order}))
    result = craton.run(scenario, progress=False)
    velocity = result.dataset.velocity
    for name, along, z in (("in", 220, 0.0), ("deep", -200, -700.0)):
        expected = exact(velocity.time.values, along, z, ("r", "z"))[..., 0]
        assert misfit(velocity.sel(receiver=name).values, expected) < bound
    assert np.abs(velocity.sel(receiver="out").values).max() < 0.01 * np.abs(expected).max()
    words = dict(result.plan.notes["Sources"])["injection"]
    assert "9.03 samples a period, 3.97 points a wavelength" in words
    assert "interpolated with errors up to 0.052" in words


@pytest.mark.costly("the only waves of a file that are read as strain and as stress")
def test_faces_and_strain_read_as_points_and_stress(tmp_path):
    """Faces are groups of the file with x, y, z as dimensions; the first components E, Z read as x, z."""
    waves = wavefield(100.0, end=-1.0)
    waves.to_netcdf(tmp_path / "points.nc")
    lam = waves.rho * (waves.vp**2 - 2 * waves.vs**2)
    mean = waves.stress.sel(tensor=["xx", "zz"]).sum("tensor") / (2 * (lam + waves.rho * waves.vs**2))
    normal = xr.DataArray([1.0, 1.0, 0.0], dims="tensor")
    strain = (waves.stress - lam * mean * normal) / (2 * waves.rho * waves.vs**2)
    waves = waves.drop_vars("stress").assign(strain=strain, velocity=waves.velocity / 1000)
    waves.velocity.attrs["units"] = "km/s"
    for name, part in (("west", waves.x <= 800), ("east", waves.x >= 2200), ("bottom", waves.z <= -800)):
        face = waves.isel(point=np.flatnonzero(part)).set_index(point=["x", "z"]).unstack("point")
        face = face.assign_coords(component=["E", "Z"], tensor=["EE", "ZZ", "EZ"])
        face.to_netcdf(tmp_path / "faces.nc", group=name, mode="w" if name == "west" else "a")
    points, faces = (io.read(tmp_path / f"{n}.nc", "wavefield") for n in ("points", "faces"))
    assert np.array_equal(points.xyz, faces.xyz)
    for name, series in points.values.items():
        size = np.abs(points.values["szz"] if name[0] == "s" else series).max()
        assert np.allclose(faces.values[name], series, rtol=0, atol=1e-9 * size)
    (face * np.nan).to_netcdf(tmp_path / "faces.nc", group="top", mode="a")
    refused(FileError, "not finite everywhere", io.read, tmp_path / "faces.nc", "wavefield")


COARSE = {"origin": [-500, -2000], "size": [4000, 2000], "spacing": 50, "waves": "P-SV"}
SHORT = {"end": -1.0, "spacing": 200.0}
WRONG = [  # options of the file, changes of the dataset, the key that is told, words of the message
    ({"end": 1.5}, {}, "injection.0", "the waves end at 1.48 s"),
    ({"dt": 0.1}, {}, "injection.0", "samples a period"),
    ({"spacing": 100.0, "thickness": 400.0}, {}, "injection.0", "points a wavelength"),
    ({"thickness": 50.0}, {}, "injection.0", "does not cover the box"),
    ({}, {"x": 300.0}, "injection.0", "does not cover the box"),
    ({}, {"vs": 100.0}, "injection.0", "instead of 1900 to 1900"),
    ({}, {"stress": None}, "injection.0", "has no sxx, sxz, szz"),
    (SHORT, {"stress": "traction"}, "injection.0.file", "both sides"),
    ({}, {"velocity": 1.0}, "injection.0", "begin in motion"),
    (SHORT, {"time": "uneven"}, "injection.0.file", "not equally spaced"),
    (SHORT, {"velocity": None}, "injection.0.file", "neither velocity nor displacement"),
    (SHORT, {"velocity": np.nan}, "injection.0.file", "not finite"),
    (SHORT, {"vp": np.nan}, "injection.0.file", "vp of"),
    (SHORT, {"x": np.nan}, "injection.0.file", "a position of"),
    (SHORT, {"velocity": 1e300}, "injection.0.file", "beyond 1e+30"),
]


def test_waves_that_do_not_fit_are_told_before_anything_runs(tmp_path):
    rows, sound = [], functools.cache(wavefield)
    for n, (options, changes, key, words) in enumerate(WRONG):
        waves = sound(**options)
        for variable, change in changes.items():
            if change is None:
                waves = waves.drop_vars(variable)
            elif change == "traction":
                waves = waves.rename({variable: change})
            elif variable == "time":
                waves = waves.assign_coords(time=waves.time + 0.01 * (waves.time > -1.2))
            else:
                waves = waves.assign({variable: waves[variable] + change})
        waves.to_netcdf(tmp_path / f"waves{n}.nc")
        rows.append((of_file(tmp_path / f"waves{n}.nc", domain=COARSE), key, words))
    assert untold(*rows) == []


def test_waves_of_a_chunk_of_the_earth_are_injected_into_a_box(tmp_path):
    """Global to local: a box turned by 30 degrees in a chunk turned by 20."""
    (tmp_path / "even.csv").write_text("depth_km,vp,vs,rho\n0,5500,3200,2600\n6371,5500,3200,2600\n")
    turn, degree = math.radians(30), math.radians(1) * 6371e3
    east = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])

    def at(x, y, depth=0.0):
        x, y = east.T @ [x, y]
        return {"longitude": 10 + x / degree / math.cos(math.radians(45)), "latitude": 45 + y / degree, "depth": depth}

    chunk = {"longitude": 10, "latitude": 45, "width": [0.07, 0.07], "bottom": 3600.0}
    chunk |= {"elements": [6, 6], "growth": [], "geographic": False, "azimuth": 20}
    box = {"name": "box", "longitude": 10, "latitude": 45, "azimuth": 30, "sampling": 450, "thickness": 900}
    places = [(200, -300, 0.0), (-300, 300, 450.0)]
    source = CASE["source"][0] | {"force": [1e12, 2e12, -3e12], "wavelet": PULSE | {"tau": 0.35}}
    whole = {
        "method": "sem",
        "domain": {"chunk": chunk},
        "model": {"kind": "radial", "file": str(tmp_path / "even.csv")},
        "time": {"duration": 2.4, "start": -1.5},
        "source": [source | {"at": at(2500, 300, 1500)}],
        "receivers": [{"name": f"R{n}", "at": at(*place)} for n, place in enumerate(places)],
        "recording": [box | {"from": [-900, -900, -900], "to": [900, 900, 0]}],
    }
    full = ran(whole, tmp_path / "whole")
    local = {
        "domain": {"origin": [-2250, -2250, -2250], "size": [4500, 4500, 2250], "spacing": 150},
        "model": {"kind": "homogeneous", "vp": 5500, "vs": 3200, "rho": 2600},
        "time": {"duration": 2.4},
        "boundaries": {"cpml": {"thickness": 4, "frequency": 1.5}},
        "receivers": [{"name": f"R{n}", "at": [x, y, -deep]} for n, (x, y, deep) in enumerate(places)],
    }
    values, expected = together(inject(tmp_path / "whole", local), full)
    expected[..., :2] = expected[..., :2] @ east.T
    assert misfit(values, expected) < 0.01


@pytest.mark.parametrize("sampling, duration", [(200, 0.4), pytest.param(100, 1.0, marks=pytest.mark.long)])
def test_h5drm_goes_out_and_comes_in(sampling, duration, tmp_path):
    """The nodes of the domain reduction method, as ShakerMaker writes and OpenSees reads them, back into the same elements."""
    sides = {"from": [1200, 800, -400], "to": [1600, 1200, 0]}
    tables = CASE | {"source": [CASE["source"][0] | {"wavelet": PULSE | {"tau": 0.3}}], "time": {"duration": duration}}
    full = ran(tables, tmp_path, recording=[{"name": "box", **sides, "sampling": sampling}])
    path = tmp_path / "box.h5drm"
    assert main(["convert", str(tmp_path), str(path)]) == 0
    with h5py.File(path) as file:
        data, about = file["DRM_Data"], file["DRM_Metadata"]
        xyz, internal = data["xyz"][()], data["internal"][()]
        assert data["displacement"].shape == (3 * len(xyz), full.plan.steps - 1)
        count = 400 // sampling + 1
        assert internal.sum() == count**3 - (count - 2) ** 2 * (count - 1)  # four sides and the bottom
        assert xyz[internal].min(axis=0).tolist() == pytest.approx([0.8, 1.2, 0.0])
        assert xyz[internal].max(axis=0).tolist() == pytest.approx([1.2, 1.6, 0.4])
        assert about["drmbox_x0"][()].tolist() == pytest.approx([1.0, 1.4, 0.0])
        # the third component points down, the derivatives are those of the first
        u, v, a = (data[name][2] for name in ("displacement", "velocity", "acceleration"))
        for series, slope in ((u, v), (v, a)):
            assert misfit(np.gradient(series, about["dt"][()])[2:-2], slope[2:-2]) < 0.01
    back = io.read(path, "wavefield")
    assert back.xyz[0].tolist() == pytest.approx([1000 * v for v in (xyz[0][1], xyz[0][0], -xyz[0][2])])
    assert np.array_equal(back.values["uz"][:, 0], -u)
    if sampling > 100:  # too coarse for these waves to be injected
        return
    run = ran(CASE | {"source": [], "injection": [{"file": str(path), **sides}]})
    assert max(apart(run, full)) < 0.01


# --- parts ------------------------------------------------------------------------------------------


def test_resampling_is_the_time_dispersion_transform():
    def pulse(t):
        return np.exp(-(((t - 2) / 0.1) ** 2))[:, None]

    dt, steps = 0.01, 400
    fine, t = 0.004 * np.arange(1200) - 0.6, np.arange(steps) * dt
    half = leapfrog.for_leapfrog(pulse(t + dt / 2), dt, 0.5)
    resampled = leapfrog.resampled(pulse(fine), 0.004, (-0.6, 0.0), steps, dt, 0.5)
    assert np.abs(resampled - half).max() < 1e-6
    again = leapfrog.resampled(half, dt, (0.0, 0.5), steps, dt, 0.5, leapfrog=True)
    assert np.abs(again - half).max() < 1e-6
    coarser = leapfrog.resampled(half, dt, (0.0, 0.5), 250, 0.016, 0.0, leapfrog=True)
    assert np.abs(coarser - leapfrog.for_leapfrog(pulse(np.arange(250) * 0.016), 0.016)).max() < 1e-6
    slope = leapfrog.resampled(pulse(fine), 0.004, (-0.6, 0.0), steps, dt, rate=True)
    assert np.abs(slope - leapfrog.for_leapfrog(-2 * (t[:, None] - 2) / 0.01 * pulse(t), dt)).max() < 1e-5


def test_interpolation_takes_the_points_that_are_there():
    grid = np.stack(np.meshgrid(*3 * [np.arange(12)], indexing="ij"), axis=-1).reshape(-1, 3)
    points = 100.0 * grid[(grid < 5).any(axis=1)] - [300, 0, 0]
    lattice = lattice_of(points)
    xyz = np.array([[310.0, 520, 130], [-300, 0, 400], [230, 0, 0], [777, 777, 777.0]])
    onto = interpolation(lattice, xyz)
    assert onto.missing.tolist() == [False, False, False, True]
    assert onto.count[:3].tolist() == [[8, 8, 4], [1, 1, 1], [8, 1, 1]]
    number = 2 * np.pi / 800
    wave, expected = (np.exp(1j * number * places[:, 0]) for places in (points, xyz[:3]))
    error = np.abs(onto.matrix[:3] @ wave - expected).max()
    assert 0 < error < onto.error(number) < 0.05
    with pytest.raises(NoLattice):
        lattice_of(np.array([[0.0, 0, 0], [1, 0, 0], [2.3, 0, 0], [7, 0, 0]]))
