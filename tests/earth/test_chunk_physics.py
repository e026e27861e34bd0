"""Waves in chunks of a uniform Earth, where the answer is known: Q, flattening, topography, three-dimensional models, anisotropy, boxes."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import craton
from craton.model.globe import prem
from craton.scenario import Scenario

A, VP, VS, RHO = 6371e3, 8000.0, 4600.0, 3300.0
WGS84 = 6378137.0, 1 / 298.257223563
EXPLOSION = {
    "kind": "moment_tensor",
    "tensor": {"rr": 1e18, "tt": 1e18, "pp": 1e18},
    "wavelet": {"kind": "gaussian", "tau": 3.75},
}
AREA = {
    "longitude": 0,
    "latitude": 0,
    "width": [8, 6],
    "bottom": 400e3,
    "period": 15.0,
    "growth": [],
    "geographic": False,
}  # of S waves


def table(path, depths=(0, 6371), **columns):
    """A radial model's file of values at depths, km."""
    rows = np.broadcast_arrays(np.array(depths), *columns.values())
    text = [",".join(["depth_km", *columns]), *(",".join(map(str, row)) for row in np.transpose(rows))]
    path.write_text("\n".join(text) + "\n")
    return {"kind": "radial", "file": str(path)}


def even(tmp_path, **more):
    """A uniform Earth."""
    return table(tmp_path / "even.csv", vp=VP, vs=VS, rho=RHO, **more)


def ran(model, source, stations, until, area=AREA, **more):
    """Velocity of a run at (longitude, latitude, depth): dataset with a sample each 0.1 s."""
    scenario = Scenario(
        method="sem",
        domain={"chunk": area},
        model=model,
        time={"start": -15, "duration": until + 15},
        source=[source],
        receivers=[
            {"name": f"R{n}", "at": dict(zip(("longitude", "latitude", "depth"), place))}
            for n, place in enumerate(stations)
        ],
        output={"waveforms": ["velocity"]},
        **more,
    )
    data = craton.run(scenario, device="cpu", progress=False).dataset
    times = np.arange(-14, until - 0.5, 0.1)  # finer than steps, which a run does not give
    velocity = CubicSpline(data.time, data.velocity, axis=-1)(times)
    return (
        data.drop_vars("time")
        .drop_vars("velocity")
        .assign_coords(time=times)
        .assign(velocity=(data.velocity.dims, velocity))
    )


def at(place, **more):
    return {**more, "at": dict(zip(("longitude", "latitude", "depth"), place))}


def windowed(data, receiver, component, centre, half):
    """A record about a time, tapered by a cosine over the outer third of the window: (times, values)."""
    t = data.time.values
    inside = np.abs(t - centre) < half
    trace = data.velocity.isel(receiver=receiver).sel(component=component).values
    return t[inside], trace[inside] * np.sin(
        np.pi / 2 * np.minimum(3 * (1 - np.abs(t[inside] - centre) / half), 1)
    ) ** 2


def lag(first, second, component, receiver, centre, half=15.0, band=(0.02, 0.1)):
    """How much later a pulse of nearly the same shape is in the second run, s: by the phase of its spectrum, weighted by its power."""
    t, one = windowed(first, receiver, component, centre, half)
    _, other = windowed(second, receiver, component, centre, half)
    omega = 2 * np.pi * np.linspace(*band, 30)
    a, b = (np.exp(-1j * omega[:, None] * t) @ values for values in (one, other))
    turn = -np.unwrap(np.angle(b / a))
    return float((np.abs(a) ** 2 * omega * turn).sum() / (np.abs(a) ** 2 * omega**2).sum())


def placed(longitude, latitude, r):
    """Cartesian position at geocentric latitude."""
    lon, lat = np.radians((longitude, latitude))
    return r * np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


# --- loss -------------------------------------------------------------------------------------------------------------------------------


def across(omega, x, vp, vs):
    """Spectrum of displacement along a force, at right angles to it (Aki & Richards 2002, eq. 4.23), but for a factor."""
    near = [(1j * x / v / omega + 1 / omega**2) * np.exp(-1j * omega * x / v) for v in (vp, vs)]
    return np.exp(-1j * omega * x / vs) / (vs**2 * x) + (near[0] - near[1]) / x**3


def test_constant_q_damps_and_delays(tmp_path):
    """Waves that rise 200 km, over those of the elastic run, against Kjartansson's speeds (1979), which are those given at 1 s.

    Amplitudes fall to 0.86 to 0.73, delays grow with the period, to 1.6 s at 22 s. Mechanisms fit 1 / Q within 2 %; the bottom's and the
    sides' answers leave 1 %.
    """
    quality, x = 30.0, 200e3
    source = at((0, 0, x), kind="force", force=[1e15, 0, 0], wavelet={"kind": "ricker", "frequency": 0.06})
    model, area = (even(tmp_path, qp=quality, qs=quality), AREA | {"width": [6, 6], "bottom": 350e3, "period": 10.0})
    elastic, lossy = (
        ran({**model, **more}, source, [(0, 0)], 75.0, area) for more in ({}, {"attenuation": {"band": [0.02, 0.3]}})
    )
    frequency = np.linspace(0.045, 0.08, 8)
    omega, gamma = 2 * np.pi * frequency, math.atan(1 / quality) / math.pi
    factor = math.cos(math.pi * gamma / 2) * (1j * frequency / 1.0) ** gamma
    spectra = [
        np.exp(-1j * omega[:, None] * t) @ values
        for t, values in (windowed(one, 0, "E", 45.0, 28.0) for one in (elastic, lossy))
    ]
    wanted = across(omega, x, VP * factor, VS * factor) / across(omega, x, VP, VS)
    off = spectra[1] / spectra[0] / wanted
    assert np.abs(wanted[-1]) < 0.75 and (-np.angle(wanted) / omega > 1).all()
    assert np.abs(np.abs(off) - 1).max() < 0.015
    assert np.abs(np.angle(off) / omega).max() < 0.05


# --- figure and ground ------------------------------------------------------------------------------------------------------------------


def ellipsoid(longitude, latitude):
    """Position on WGS84 at geographic latitude."""
    a, f = WGS84
    lat = math.radians(latitude)
    square = f * (2 - f)
    n = a / math.sqrt(1 - square * math.sin(lat) ** 2)
    flat = n * math.cos(lat)
    lon = math.radians(longitude)
    return np.array([flat * math.cos(lon), flat * math.sin(lon), n * (1 - square) * math.sin(lat)])


def test_flattening_changes_travel_times(tmp_path):
    """Rays are straight in a uniform Earth: times on WGS84 less those on the sphere of its volume, between the same geographic places."""
    latitude, depth = 80.0, 250e3
    stations = [(0.0, 81.5), (0.0, 83.0), (0.0, 78.0), (12.0, 80.0)]
    area = AREA | {"latitude": latitude, "geographic": True, "width": [8, 8], "period": 12.0}
    source = {**EXPLOSION, "wavelet": {"kind": "gaussian", "tau": 3.0}}
    runs = [
        ran(even(tmp_path), at((0.0, latitude, depth), **source), stations, 75.0, area | {"elliptic": e})
        for e in (False, True)
    ]
    figures = [lambda *place: A * ellipsoid(*place) / np.linalg.norm(ellipsoid(*place)), ellipsoid]
    times = []
    for ground in figures:
        source = ground(0.0, latitude)
        source = source * (1 - depth / np.linalg.norm(source))
        times.append([np.linalg.norm(ground(*station) - source) / VP for station in stations])
    for n, (one, other) in enumerate(zip(*times)):
        found = lag(*runs, "Z", n, one)
        assert found == pytest.approx(other - one, abs=0.002)
    assert np.ptp(np.subtract(*times)) > 0.05


def test_plateau_is_higher_by_its_height(tmp_path):
    """A plateau in the east: a pulse from below comes later by the longer way to its ground; in the west nothing changes."""
    import xarray

    height, depth = 4000.0, 250e3
    lon = np.linspace(-6, 6, 121)
    rise = height * 0.5 * (1 + np.sin(np.pi / 2 * np.clip(lon / 1.5, -1, 1)))
    grid = xarray.DataArray(
        np.broadcast_to(rise, (3, 121)), {"lat": [-5.0, 0, 5], "lon": lon}, ("lat", "lon"), "z", {"units": "m"}
    )
    grid.to_netcdf(tmp_path / "relief.nc", engine="h5netcdf")
    stations = [(-3.0, 0.5), (-2.0, -1.0), (2.0, -1.0), (3.0, 0.5)]
    runs = [
        ran(even(tmp_path), at((0.0, 0.0, depth + up), **EXPLOSION), stations, 70.0, AREA | more)
        for up, more in ((0.0, {}), (height / 2, {"topography": {"file": str(tmp_path / "relief.nc")}}))
    ]
    assert np.allclose(runs[1].depth, 0, atol=1e-3)
    source = placed(0, 0, A - depth)
    for n, station in enumerate(stations):
        flat, high = (np.linalg.norm(placed(*station, A + h) - source) / VP for h in (0.0, height * (station[0] > 0)))
        found = lag(*runs, "Z", n, flat)
        assert found == pytest.approx(high - flat, abs=0.005)


# --- media ------------------------------------------------------------------------------------------------------------------------------


def emc_file(path, depths, longitudes, change):
    """A three-dimensional model of changes of vp and vs in per cent, (depth, longitude)."""
    import xarray

    values = np.broadcast_to(np.asarray(change, float)[:, None, :], (len(depths), 2, len(longitudes)))
    coords = {
        "depth": ("depth", np.array(depths, float), {"units": "km", "positive": "down"}),
        "latitude": [-10.0, 10.0],
        "longitude": np.array(longitudes, float),
    }
    dims = ("depth", "latitude", "longitude")
    xarray.Dataset({name: (dims, values, {"units": "%"}) for name in ("dvp", "dvs")}, coords).to_netcdf(
        path, engine="h5netcdf"
    )
    return {"file": str(path)}


def test_model_laid_over_is_that_model(tmp_path):
    """2 % faster down to 300 km: by a file of EMC's kind as by a radial model's own; times fall as those of straight rays do."""
    depth, stations = 250e3, [(0.5, 0.0), (-2.0, 1.0), (3.0, 0.5)]
    source, area = (at((0, 0, depth), **EXPLOSION), AREA | {"honour": [300e3], "elements": [18, 14], "period": None})
    over = emc_file(tmp_path / "over.nc", (0, 300), (-20, 20), np.full((2, 2), 2.0))
    changed = table(
        tmp_path / "changed.csv",
        (0, 300, 300, 6371),
        vp=[1.02 * VP] * 2 + [VP] * 2,
        vs=[1.02 * VS] * 2 + [VS] * 2,
        rho=RHO,
    )
    plain = even(tmp_path)
    before, laid, own = (
        ran(model, source, stations, 70.0, area) for model in (plain, {**plain, "perturbation": over}, changed)
    )
    one, other = laid.velocity.values, own.velocity.values
    assert np.linalg.norm(one - other) < 1e-6 * np.linalg.norm(other)
    for n, station in enumerate(stations):
        time = np.linalg.norm(placed(*station, A) - placed(0, 0, A - depth)) / VP
        assert lag(before, laid, "Z", n, time) == pytest.approx(time * (1 / 1.02 - 1), abs=0.02)


def test_model_laid_over_is_where_its_file_says(tmp_path):
    """4 % faster east of 0.5 degrees alone."""
    depth, stations, edge = 250e3, [(-2.5, 0.0), (3.0, 0.0)], (0.4, 0.6)
    over = emc_file(tmp_path / "over.nc", (0, 1000), (-20, *edge, 20), [(0, 0, 4, 4)] * 2)
    source = at((0, 0, depth), **EXPLOSION)
    before, after = (ran({**even(tmp_path), **more}, source, stations, 70.0) for more in ({}, {"perturbation": over}))
    start = placed(0, 0, A - depth)
    for n, station in enumerate(stations):
        way = placed(*station, A) - start
        along = start + np.linspace(0, 1, 2001)[:, None] * way
        change = np.interp(np.degrees(np.arctan2(along[:, 1], along[:, 0])), edge, (0, 0.04))
        time, less = (np.linalg.norm(way) / VP, np.mean(1 / (1 + change) - 1) * np.linalg.norm(way) / VP)
        assert lag(before, after, "Z", n, time) == pytest.approx(less, abs=0.03)


def test_anisotropy_splits_shear_waves(tmp_path):
    """PREM's medium at 100 km depth: along the horizontal SH is faster than SV, by 1.8 s in 270 km."""
    rho, vpv, vph, vsv, vsh, eta = prem.prem(True).parameters(A - 100e3)[:6]
    model = table(tmp_path / "ti.csv", vpv=vpv, vph=vph, vsv=vsv, vsh=vsh, eta=eta, rho=rho)
    depth = 200e3
    source = at((-1.5, 0, depth), kind="force", force=[0, 1e15, 1e15], wavelet={"kind": "ricker", "frequency": 0.08})
    data = ran(model, source, [(1.0, 0.0, depth)], 90.0)
    x = np.linalg.norm(placed(1.0, 0, A - depth) - placed(-1.5, 0, A - depth))
    turned = data.assign(velocity=data.velocity.copy(data=data.velocity.values[:, [0, 2, 1]]))  # north is up
    found = lag(data, turned, "N", 0, x / vsh, half=20.0)
    assert vsh > 1.02 * vsv and found == pytest.approx(x / vsv - x / vsh, rel=0.05)


# --- boxes ------------------------------------------------------------------------------------------------------------------------------


def off_the_box(tmp_path, degrees):
    """Relative L2 between a chunk of a uniform Earth and a box of its size and elements; all lengths and times grow with its width."""
    table(tmp_path / "even.csv", vp=5500, vs=3200, rho=2600)
    size = degrees / 0.1
    length, deep, degree = math.radians(degrees) * A, 6000.0 * size, math.radians(1) * A
    source = {
        "kind": "force",
        "force": [1e12, 2e12, -3e12],
        "wavelet": {"kind": "gaussian", "tau": 0.15 * size},
    }  # moments: shared
    rest = {
        "time": {"duration": 2.5 * size, "start": -0.8 * size, "step": 0.01 * size},
        "output": {"waveforms": ["displacement"]},
        "method": "sem",
    }
    chunk = {
        "longitude": 0,
        "latitude": 0,
        "width": [degrees] * 2,
        "bottom": deep,
        "elements": [12, 12],
        "growth": [],
        "geographic": False,
    }
    focus, places = ((0.002 * size, -0.003 * size), [(0.011 * size, 0.007 * size), (-0.02 * size, 0.015 * size)])
    globe = Scenario(
        domain={"chunk": chunk},
        model={"kind": "radial", "file": str(tmp_path / "even.csv")},
        source=[source | {"at": {"longitude": focus[0], "latitude": focus[1], "depth": 2800 * size}}],
        receivers=[{"name": f"R{n}", "at": {"longitude": x, "latitude": y}} for n, (x, y) in enumerate(places)],
        **rest,
    )
    box = Scenario(
        domain={
            "origin": [-length / 2, -length / 2, -deep],
            "size": [length, length, deep],
            "spacing": length / 12 * 1.0001,
        },
        boundaries={"top": "free", "others": "stacey"},
        model={"kind": "homogeneous", "vp": 5500, "vs": 3200, "rho": 2600},
        source=[source | {"at": [focus[0] * degree, focus[1] * degree, -2800 * size]}],
        receivers=[{"name": f"R{n}", "at": [x * degree, y * degree, 0]} for n, (x, y) in enumerate(places)],
        **rest,
    )
    found, wanted = (craton.run(one, device="cpu", progress=False) for one in (globe, box))
    assert found.plan.grid.elements == wanted.plan.grid.elements
    a, b = found.dataset.displacement.values, wanted.dataset.displacement.values
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_chunk_of_no_width_is_a_box(tmp_path):
    """What remains is curvature: its part falls as the width does, to 7e-4 at 0.1 degrees."""
    wide, narrow = (off_the_box(tmp_path, degrees) for degrees in (0.8, 0.1))
    assert narrow < 0.001 and 6 < wide / narrow < 10
