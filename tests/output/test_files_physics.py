"""Faults, plane waves and fibres in small runs: against point sources, the free surface's doubling, and differences of velocity."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from common import refused
from filecase import rupture

import craton
from craton import memory
from craton.errors import ResourceError
from craton.io import ruptures
from craton.methods.finite_difference import build as fd
from craton.methods.finite_difference import points as grid_points
from craton.methods.finite_difference.space import GridSpace
from craton.methods.waves import sources as slip_windows
from craton.scenario import Scenario
from craton.survey import geography, leapfrog, source_arrays, source_files
from craton.survey import sources as survey_sources

MEDIUM = {"kind": "homogeneous", "vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
RUN = {"device": "cpu", "precision": "float64", "threads": 1}
PERIODIC = {"top": "free", "others": "periodic", "bottom": "cpml", "cpml": {"thickness": 12}}
POINT = {"kind": "explosion", "at": [1200, 1300, -700], "moment": 1e15}
POINT["wavelet"] = {"kind": "gaussian", "tau": 0.12, "delay": 0.7}
STATION = [{"name": "A", "at": [2000, 1700, 0]}]
SUBFAULT = (1530.0, 1480.0, 0.91, 20, 70, 0.10, 30)


def scenario(source, receivers=STATION, size=(3000, 3000, 2500), **others):
    tables = {"time": {"duration": 1.4}, "boundaries": PERIODIC, "run": RUN, "model": MEDIUM} | others
    domain = {"origin": [0, 0, -size[2]], "size": list(size), "spacing": 100}
    return Scenario(**{"domain": domain, "source": source, "receivers": receivers} | tables)


def medium(xyz):
    return tuple(np.full(len(xyz), MEDIUM[key]) for key in ("vp", "vs", "rho"))


def velocity(*arguments, **options):
    return craton.run(scenario(*arguments, **options), progress=False).dataset.velocity.values


# --- plane waves ------------------------------------------------------------------------------------------------------------------------


def plane_wave(wave, tau, velocity=1.0, z=-1700):
    """Table of a wave that passes a plane at its delay, 7 tau, and its velocity there at any time."""
    wavelet = {"kind": "gaussian", "tau": tau, "delay": 7 * tau}
    table = {"kind": "plane_wave", "wave": wave, "azimuth": 90, "z": z, "velocity": velocity, "wavelet": wavelet}
    sign = -1 if wave == "SH" else 1  # SH is to the right of its azimuth, 90: southwards
    return table, lambda t: sign * velocity * np.exp(-0.5 * ((t - 7 * tau) / tau) ** 2) / (np.sqrt(2 * np.pi) * tau)


@pytest.mark.parametrize(
    "wave, waves", [("SV", ""), ("SH", ""), ("P", ""), ("SV", "P-SV"), ("P", "P-SV"), ("SH", "SH")]
)
def test_plane_wave_has_its_amplitude_and_doubles_at_a_free_surface(wave, waves):
    """v(t) passes the plane at t, a point 700 m above it at 700 m / c, and the surface, 1700 m above, with twice its size.

    In space, and in the (x, z) plane along x, up, or across (to the right of x: -y).
    """
    tau = 0.12 if wave == "P" and not waves else 0.2
    speed = MEDIUM["vp" if wave == "P" else "vs"]
    table, gauss = plane_wave(wave, tau, 0.3)
    domain = {"origin": [0, 0, -3600], "size": [400, 400, 3600], "spacing": 50}
    at = [{"name": "up", "at": [230, 240, 0]}, {"name": "below", "at": [230, 240, -1000]}]
    if waves:
        domain = {"origin": [0, -3600], "size": [400, 3600], "spacing": 50, "waves": waves}
        at = [{"name": "up", "at": [230, 0]}, {"name": "below", "at": [230, -1000]}]
        del table["azimuth"]
    s = scenario([table], at, domain=domain, time={"duration": 3.6})
    data = craton.run(s, progress=False).dataset
    component = {"SV": "E", "SH": "N", "P": "Z"}[wave]
    t, peak = data.time.values, abs(gauss(7 * tau))
    up, below = data.velocity.sel(component=component).values
    assert np.abs(up - 2 * gauss(t - 1700 / speed)).max() < 1e-3 * peak
    assert np.abs(below - gauss(t - 700 / speed) - gauss(t - 2700 / speed)).max() < 1e-3 * peak
    assert (np.abs(data.velocity.drop_sel(component=component)) < 1e-9 * peak).all()


def test_plane_wave_in_the_plan():
    table, _ = plane_wave("P", 0.1, z=-1500)
    options = {"receivers": [{"name": "A", "at": [500, 500, 0]}], "size": (1000, 1000, 4000)}
    planned = craton.plan(scenario([table], **options))
    assert "plane P wave, vertical, 3000 m/s" in str(planned) and not [w for w in planned.warnings if "plane" in w]
    anomaly = {"shape": "box", "min": [0, 0, -2000], "max": [400, 400, -1000], "dvp": -0.1}
    planned = craton.plan(scenario([table], model=MEDIUM | {"anomalies": [anomaly]}, **options))
    assert any("the wave is not plane" in w for w in planned.warnings)


# --- finite faults ----------------------------------------------------------------------------------------------------------------------


SMOOTH = 100 * np.hanning(42)[1:-1] ** 2  # slip rate, cm/s, of a smooth second or so: nothing above the grid's reach
SHALLOW = (*SUBFAULT[:2], 0.05, *SUBFAULT[3:])
THREE = [(1330.0, *SUBFAULT[1:]), (1630.0, 1500.0, 0.60, 80, 50, 0.25, -60), (1500.0, 1500.0, 1.0, 0, 90, 0.3, 0)]


@pytest.mark.parametrize("places, width, bound", [([SHALLOW], 8, 5e-3), (THREE, 8, 5e-3), (THREE, 4, 1e-2)])
def test_fault_equals_point_sources(tmp_path, monkeypatch, places, width, bound):
    """The same subfaults as moment tensors with sampled wavelets: two ways to the same wavefield. One is next to the free surface;
    three are spread over 4 points per axis too, as those of a fault that has many.

    They differ by how samples are joined (straight lines here, cubics there): (w dt)^2 / 12 for the interval of 0.02 s, 1e-3 at 1 Hz,
    and by the mean over a step.
    """
    monkeypatch.setattr(grid_points, "FEW", 0 if width == 4 else grid_points.FEW)
    slip, points = sum(SMOOTH) * 0.02 * 1e-2, []
    for x, y, depth, strike, dip, onset, rake in places:
        times = [onset + 0.02 * (n - 1) for n in range(len(SMOOTH) + 2)]
        wavelet = {"kind": "samples", "values": [0.0, *(SMOOTH * 1e-2 / slip), 0.0], "times": times}
        angles = {"strike": strike, "dip": dip, "rake": rake, "moment": 2300 * 1700.0**2 * 1e6 * slip}
        points.append({"kind": "moment_tensor", "at": [x, y, -1e3 * depth], "wavelet": wavelet} | angles)
    at = [*STATION, {"name": "B", "at": [1200, 1900, -700]}]
    of_fault, of_points = velocity([rupture(tmp_path / "r.srf", places, SMOOTH)], at), velocity(points, at)
    count = min(of_fault.shape[-1], of_points.shape[-1])  # the runs may begin a step apart
    assert np.abs(of_fault[..., -count:] - of_points[..., -count:]).max() < bound * np.abs(of_points).max()


def test_fault_and_point_source_act_together(tmp_path):
    """Linear: the sum of both alone, with one start."""
    fault = rupture(tmp_path / "r.srf", [SUBFAULT], SMOOTH)
    span = {"duration": 1.4, "start": -0.2}
    both, of_fault, of_point = (velocity(s, time=span) for s in ([fault, POINT], [fault], [POINT]))
    # windows are cut at 1e-6, records at the band of their sources
    assert np.abs(both - of_fault - of_point).max() < 1e-5 * np.abs(both).max()


def test_windows_are_short_and_equal_columns_of_the_whole_run(tmp_path):
    """Of 20 s of steps a subfault that slips for 0.8 s keeps some 2 s; they hold its slip, and a window that begins late is what the
    correction of the whole series has there.
    """
    rng = np.random.default_rng(1)
    x, depth, onset = (rng.uniform(low, high, 20) for low, high in ((700, 2300), (0.3, 1.7), (0, 5)))
    table = rupture(tmp_path / "r.srf", [(a, 1500.0, b, 0, 90, c, 0) for a, b, c in zip(x, depth, onset)], SMOOTH)
    s = scenario([table], time={"duration": 20.0})
    fault = source_arrays.finite_fault(ruptures.read_srf(tmp_path / "r.srf"), "f", geography.Metres(), medium)
    d = fd.discretise(s, fd.grid_of(s), [fault])
    band = GridSpace(d).carried
    begin, counts, values = slip_windows.fault_windows(d, fault, band)
    assert counts.max() * d.dt < 3.5 and values.nbytes < 0.2 * 8 * d.steps * len(counts)
    sums = np.add.reduceat(values, np.cumsum(counts) - counts) * d.dt
    assert np.allclose(sums, fault.slips(), rtol=1e-4) and (begin >= 0).all() and (begin + counts <= d.steps).all()
    windows = np.split(values, np.cumsum(counts)[:-1])
    series = leapfrog.for_leapfrog(fault.series(np.arange(20), d.start + 0.5 * d.dt, d.dt, d.steps), d.dt, 0.5, band)
    for first, window, whole in zip(begin, windows, series.T):
        padded = np.pad(window, (first, d.steps - first - len(window)))
        assert np.abs(padded - whole).max() < 3e-5 * np.abs(whole).max()


def test_windows_of_a_fault_that_slips_late_hold_what_the_correction_moves_forward(tmp_path):
    """After 200 s the highest frequencies act some seconds before the slip; a window that ended with it had 0.7 % of its own echo."""
    rupture(tmp_path / "r.srf", [(*SUBFAULT[:5], 200.0, 30)], SMOOTH)
    fault = source_arrays.finite_fault(ruptures.read_srf(tmp_path / "r.srf"), "f", geography.Metres(), medium)
    d = SimpleNamespace(dt=0.02, start=0.0, steps=13_000, precision="float64")
    (begin,), _, values = slip_windows.fault_windows(d, fault, 4.0)
    whole = leapfrog.for_leapfrog(fault.series(np.arange(1), 0.5 * d.dt, d.dt, d.steps), d.dt, 0.5, 4.0)[:, 0]
    padded = np.pad(values, (begin, d.steps - begin - len(values)))
    assert np.abs(padded - whole).max() < 3e-5 * np.abs(whole).max()


def test_plan_of_a_fault_begins_with_it_prints_its_bytes_and_refuses_what_does_not_fit(tmp_path, monkeypatch):
    s = scenario([rupture(tmp_path / "r.srf", [(*SUBFAULT[:5], -0.5, 30)] * 3, SMOOTH)])
    plan = craton.plan(s)
    assert survey_sources.start_time(s, source_files.build_all(s, medium)) <= -0.5 and plan.start <= -0.5
    assert all(words in str(plan) for words in ("finite fault of 3 subfaults", "points", "window"))
    stress = [launch.op.name for launch in plan.phases[1].launches]
    # a phase may be cut at its first step
    assert stress.index("window") < stress.index("stress") < stress.index("inject")
    monkeypatch.setattr(memory, "available", lambda: 48 * 5000)
    refused(ResourceError, ["tables of 3 slipping subfaults do not fit: 5,000 rows ", "merge"], craton.plan, s)


# --- fibres -----------------------------------------------------------------------------------------------------------------------------

FIBRE = {"name": "F", "das": {"along": [[800, 1500, -60], [1400, 2300, -60]], "spacing": 100, "gauge": 60}}


def test_fibre_records_the_difference_of_velocities(tmp_path):
    """Channels against receivers at the ends of the gauge length, and a short gauge length against strain rate at its middle."""
    places = np.array([0.6, 0.8, 0]) * np.array([0, 60, 200, 260, 30])[:, None] + [800, 1500, -60]
    at = [{"name": f"R{n}", "at": place} for n, place in enumerate(places.tolist())]
    output = {"waveforms": ["velocity", "strain_rate"]}
    result = craton.run(scenario([POINT], [FIBRE, *at], output=output), out=tmp_path / "out", progress=False)
    along = np.einsum("rct,c->rt", result.dataset.velocity.values, [0.6, 0.8, 0])
    values = result.fibres.strain_rate.values
    peak = np.abs(values).max()
    assert list(result.fibres.distance.values) == [30 + 100 * n for n in range(10)]
    for channel in (0, 2):
        assert np.abs(values[channel] - (along[channel + 1] - along[channel]) / 60).max() < 1e-9 * peak
    ee, nn, _, en, _, _ = result.dataset.strain_rate.sel(receiver="R4").values
    axial = 0.36 * ee + 0.64 * nn + 2 * 0.48 * en
    assert np.abs(values[0] - axial).max() < 0.01 * peak  # (k g)^2 / 24 with k = 2 pi 3 Hz / 3000 m/s: 6e-4
    # the group of result.zarr holds the same, and the root holds the receivers alone
    store = tmp_path / "out" / "result.zarr"
    group = xr.open_zarr(store, group="fibres")
    assert group.strain_rate.dims == ("channel", "time") and {"distance", "x", "y", "z", "fibre"} <= set(group.coords)
    assert np.array_equal(group.strain_rate.values, values) and "fibres" not in xr.open_zarr(store).data_vars
    assert (store / ".zmetadata").read_text().count("fibres/") > 3


def test_fibre_alone(tmp_path):
    """No receivers: waveforms are empty, the fibre is kept; a sampling interval holds for it too."""
    result = craton.run(scenario([POINT], [FIBRE], output={"sampling": 0.05}), out=tmp_path / "out", progress=False)
    assert result.fibres.sizes["channel"] == 10 and np.allclose(np.diff(result.fibres.time), 0.05)
    assert not result.dataset.data_vars and (tmp_path / "out" / "result.zarr" / "fibres").is_dir()
    assert np.abs(result.fibres.strain_rate).max() > 0
