"""Sources and stations from files of other programs: against ObsPy, published formulas and hand-made numbers; the map; fibres."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace as Spec

import numpy as np
import pytest

from craton.errors import ResourceError
from craton.io import cmtsolution, quakeml, srf, stations
from craton.io.contents import moment_tensor
from craton.scenario import dumps, loads
from craton.survey import faults, fibres, geography, planes, problems, receivers, source_files, sources, warnings

DATA = Path(__file__).parents[1] / "data" / "sources"
SCENARIO = """
title = "files"
[domain]
origin = [-1500, -1500, -4000]
size = [4000, 4000, 4000]
spacing = 100
GEOGRAPHIC
[model]
kind = "homogeneous"
vp = 5000
vs = 2900
rho = 2600
[time]
duration = 5
"""
HERE = "geographic = { longitude = -118.2, latitude = 34.1, azimuth = 20 }"


def medium(xyz):
    """The scenario's."""
    return np.full(len(xyz), 5000.0), np.full(len(xyz), 2900.0), np.full(len(xyz), 2600.0)


def scenario(*tables, geographic=HERE):
    """A scenario with these [[source]] or [[receivers]] tables; a harmless source is added to receivers."""
    text = SCENARIO.replace("GEOGRAPHIC", geographic) + "\n".join(tables)
    if "[[source]]" not in text:
        text += '\n[[source]]\nkind = "explosion"\nat = [0, 0, -1000]\nmoment = 1e14\nwavelet = { kind = "gaussian", tau = 0.1 }\n'
    return loads(text, file=str(DATA / "scenario.toml"))


def source(kind, file, *lines):
    return "\n".join(["[[source]]", f'kind = "{kind}"', f'file = "{file}"', *lines, ""])


# --- the map ----------------------------------------------------------------------------------------------------------------------------


def test_map_against_published_and_proj_values():
    """PROJ 9 gave the first two pairs for +proj=tmerc +lon_0=-118.2 +lat_0=34.1 +k=1 +ellps=WGS84, through another program than pyproj."""
    local = geography.Local(-118.2, 34.1)
    assert np.allclose(local.xy(-117.2, 34.1), (92278.14219562011, 451.49807702517455), rtol=0, atol=1e-4)
    assert np.allclose(local.xy(-110.0, 40.0), (700644.0768959332, 687123.6713200548), rtol=0, atol=1e-3)
    assert float(local.turned(-110.0, 40.0)) == pytest.approx(5.292294158871066, abs=1e-8)
    # A degree of the meridian at 34.6 N, from the series of the meridian's arc: 111132.954 - 559.822 cos 2p + 1.175 cos 4p m.
    p = np.radians(34.6)
    assert local.xy(-118.2, 35.1)[1] == pytest.approx(
        111132.954 - 559.822 * np.cos(2 * p) + 1.175 * np.cos(4 * p), abs=0.5
    )


def krueger(longitude, latitude):
    """Easting, northing from the equator, m, by Krueger's series to the fourth order in n (Karney 2011, J. Geodesy 85, 475)."""
    lam, tau, f = np.radians(longitude), np.tan(np.radians(latitude)), 1 / 298.257223563
    n, e = f / (2 - f), np.sqrt(f * (2 - f))
    sigma = np.sinh(e * np.arctanh(e * tau / np.hypot(1, tau)))
    conformal = tau * np.hypot(1, sigma) - sigma * np.hypot(1, tau)
    zeta = np.arctan2(conformal, np.cos(lam)) + 1j * np.arcsinh(np.sin(lam) / np.hypot(conformal, np.cos(lam)))
    alpha = (
        n / 2 - 2 / 3 * n**2 + 5 / 16 * n**3 + 41 / 180 * n**4,
        13 / 48 * n**2 - 3 / 5 * n**3 + 557 / 1440 * n**4,
        61 / 240 * n**3 - 103 / 140 * n**4,
        49561 / 161280 * n**4,
    )
    z = (
        6378137.0
        / (1 + n)
        * (1 + n**2 / 4 + n**4 / 64)
        * (zeta + sum(a * np.sin(2 * j * zeta) for j, a in enumerate(alpha, 1)))
    )
    return z.imag, z.real


@pytest.mark.parametrize(
    ("longitude", "latitude"), [(-118.2, 34.1), (10.0, 47.0), (0.0, 0.0), (179.5, -60.0), (30.0, 80.0)]
)
def test_map_against_kruegers_series(longitude, latitude):
    """To a micrometre within 300 km, also across the date line."""
    random = np.random.default_rng(0)
    far, azimuth = 300 / 111.2 * np.sqrt(random.random(2000)), 2 * np.pi * random.random(2000)
    lat = latitude + far * np.cos(azimuth)
    lon = longitude + far * np.sin(azimuth) / np.cos(np.radians(lat))
    x, y = geography.Local(longitude, latitude).xy((lon + 180) % 360 - 180, lat)
    east, north = krueger(lon - longitude, lat)
    assert np.abs(x - east).max() < 1e-6 and np.abs(y - north + krueger(0, latitude)[1]).max() < 1e-6


@pytest.mark.parametrize("place", [(-118.9, 33.5), (61.0, 88.0), (-118.2, 34.1)])
def test_turn_is_that_of_the_meridian(place):
    """61 degrees east is beyond the pole for the reference, where the meridian runs southward on the map."""
    longitude, latitude = place
    local = geography.Local(-118.2, 34.1 if latitude < 80 else 80.0)
    x, y = local.xy([longitude] * 2, [latitude - 1e-4, latitude + 1e-4])
    north = np.degrees(np.arctan2(x[1] - x[0], y[1] - y[0]))
    assert local.turned(longitude, latitude) == pytest.approx(-north, abs=1e-4)


def test_map_without_pyproj(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(ResourceError, match="pip install pyproj"):
        geography.Local(10.0, 47.0).xy(10.1, 47.1)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_map_keeps_the_shape(shape):
    local, lon, lat = geography.Local(10.0, 47.0), np.full(shape, 10.5), np.full(shape, 47.5)
    assert np.shape(local.turned(lon, lat)) == np.shape(local.xy(lon, lat)[0]) == shape
    assert geography.Places(local).rotation(lon, lat).shape == (*shape, 3, 3)
    assert geography.Places(local).xyz(lon, lat, 5.0).shape == (*shape, 3)


def test_azimuth_turns_the_axes():
    """With +y to the east of north by 90 degrees, y is east and x is south."""
    x, y = geography.Local(10.0, 47.0, 90.0).xy(10.01, 47.0)
    assert y > 700 and abs(x) < 1
    x, y = geography.Local(10.0, 47.0, 90.0).xy(10.0, 47.01)
    assert x < -1000 and abs(y) < 1e-6


@pytest.mark.parametrize("place", [(10.0, 95.0), (200.0, 47.0), (float("nan"), 47.0)])
def test_places_off_the_map_are_refused(place):
    with pytest.raises(ValueError, match="no place within 20 deg of the reference"):
        geography.Local(10.0, 47.0).xy(*place)


# --- CMTSOLUTION, FORCESOLUTION ---------------------------------------------------------------------------------------------------------


def test_cmtsolution_against_obspy():
    obspy = pytest.importorskip("obspy")
    (mine,), event = (
        cmtsolution.read(DATA / "CMTSOLUTION"),
        obspy.read_events(str(DATA / "CMTSOLUTION"), format="CMTSOLUTION")[0],
    )
    theirs = event.focal_mechanisms[0].moment_tensor
    centroid = next(o for o in event.origins if o.origin_type == "centroid")
    hypocentre = next(o for o in event.origins if o.origin_type == "hypocenter")
    assert np.allclose(mine.moment, moment_tensor([getattr(theirs.tensor, c) for c in quakeml.COMPONENTS]), rtol=1e-12)
    assert (mine.longitude, mine.latitude, mine.depth) == pytest.approx(
        (centroid.longitude, centroid.latitude, centroid.depth)
    )
    assert (
        mine.shift == pytest.approx(centroid.time - hypocentre.time)
        and 2 * mine.width == theirs.source_time_function.duration
    )
    assert mine.name == "060994A"


def test_rtp_to_enu_is_a_rotation():
    """r, theta, phi are up, south, east: M_enu = Q M_rtp Q^T with the three unit vectors as columns; ned likewise."""
    six = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    a, b, c, ab, ac, bc = six
    full = np.array([[a, ab, ac], [ab, b, bc], [ac, bc, c]])
    for convention, axes in (("rtp", [(0, 0, 1), (0, -1, 0), (1, 0, 0)]), ("ned", [(0, 1, 0), (1, 0, 0), (0, 0, -1)])):
        turn = np.array(axes).T
        assert np.array_equal(moment_tensor(six, convention), turn @ full @ turn.T)


def test_half_duration_is_that_of_specfem():
    """The moment of the built wavelet is SPECFEM's (1 + erf(1.628 t / half duration)) / 2, centred on the time shift."""
    from math import erf

    s = scenario(source("cmtsolution", "CMTSOLUTION_cartesian", 'coordinates = "metres"'))
    assert not problems(s)
    one, two = source_files.build_all(s, medium)
    t = np.linspace(-3, 4, 70_001)
    moment = np.cumsum(two.wavelet(t)) * (t[1] - t[0])
    wanted = [(1 + erf(1.628 * (x - 0.25) / 0.5)) / 2 for x in t[::700]]
    assert np.abs(moment[::700] - wanted).max() < 1e-4  # sum against integral: half a step times the peak rate
    assert one.xyz == (1500.0, 1200.0, -900.0) and two.xyz == (1500.0, 1800.0, -1100.0)
    assert np.allclose(one.moment, 1e14 * np.eye(3)) and two.moment[0, 1] == pytest.approx(2e14)
    assert (one.name, two.name) == ("source 1.1", "source 1.2")


def test_mechanism_turns_with_the_model():
    """A model turned by 20 degrees sees the strike 20 degrees (and the convergence of its place) smaller."""
    tensor = sources.double_couple(50, 60, 70, 1e15)
    turn = geography.places(scenario().domain, "geographic").rotation(-118.2, 34.1)
    assert np.allclose(turn @ tensor @ turn.T, sources.double_couple(30, 60, 70, 1e15), atol=1e3)


def test_forcesolution():
    s = scenario(source("forcesolution", "FORCESOLUTION", 'coordinates = "metres"'))
    ricker, gaussian = source_files.build_all(s, medium)
    assert ricker.xyz == (1200.0, 1500.0, -500.0) and np.allclose(ricker.force, [0, 1.2e10, -1.6e10])
    assert (
        ricker.wavelet.kind == "ricker"
        and ricker.wavelet.delay == 0.1
        and ricker.wavelet.peak_frequency == pytest.approx(2.5)
    )
    assert gaussian.wavelet.area == pytest.approx(1) and gaussian.wavelet.peak == pytest.approx(
        1.628 / 0.6 / np.sqrt(np.pi)
    )


def test_own_wavelet_is_moved_by_the_time_shift():
    s = scenario(
        source(
            "cmtsolution",
            "CMTSOLUTION_cartesian",
            'coordinates = "metres"',
            'wavelet = { kind = "gaussian", tau = 0.2 }',
        )
    )
    one, two = source_files.build_all(s, medium)
    assert two.wavelet.delay == 0.25 and two.wavelet(0.25) == pytest.approx(one.wavelet(0.0))
    assert two.wavelet.start == pytest.approx(one.wavelet.start + 0.25)
    assert sources.start_time(s, [one, two]) == pytest.approx(one.wavelet.start)


def test_scenario_with_files_is_written_and_read_again():
    s = scenario(
        source("cmtsolution", "CMTSOLUTION_cartesian", 'coordinates = "metres"'), '[[receivers]]\nfile = "stations.xml"'
    )
    assert loads(dumps(s)) == s


# --- QuakeML, StationXML, STATIONS ------------------------------------------------------------------------------------------------------


def test_quakeml():
    pytest.importorskip("obspy")
    s = scenario(source("quakeml", "event.xml"), geographic=HERE.replace("20", "0"))
    assert not problems(s)
    (one,) = source_files.build_all(s, medium)
    assert np.allclose(one.xyz, [*geography.Local(-118.2, 34.1).xy(-118.195, 34.105), -1200.0])
    assert one.wavelet.delay == pytest.approx(0.4) and one.wavelet.peak == pytest.approx(1.628 / 0.5 / np.sqrt(np.pi))
    # rtp to enu, and a convergence of 0.003 degrees
    assert np.allclose(one.moment, 1e14 * np.array([[-3, -6, 5], [-6, 2, -4], [5, -4, 1]]), atol=1e11)


def test_quakeml_without_obspy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "obspy", None)
    monkeypatch.setattr(source_files, "_contents", source_files._contents.__wrapped__)
    (problem,) = problems(scenario(source("quakeml", "event.xml")))
    assert problem.key == "source.0.kind" and "pip install 'craton[seis]'" in problem.message


def test_quakeml_from_nodal_plane_and_magnitude(tmp_path):
    pytest.importorskip("obspy")
    from obspy.core import event as ev

    plane = ev.NodalPlane(strike=30, dip=40, rake=50)
    mechanism = ev.FocalMechanism(nodal_planes=ev.NodalPlanes(nodal_plane_1=plane))
    from obspy import UTCDateTime

    origin = ev.Origin(time=UTCDateTime(0), longitude=-118.2, latitude=34.1, depth=900)
    event = ev.Event(
        origins=[origin], focal_mechanisms=[mechanism], magnitudes=[ev.Magnitude(mag=5.0, magnitude_type="Mw")]
    )
    ev.Catalog([event]).write(str(tmp_path / "e.xml"), format="QUAKEML")
    assert np.allclose(
        sources.double_couple(*quakeml.read(tmp_path / "e.xml")[0].plane), sources.double_couple(30, 40, 50, 10**16.6)
    )


def test_stations():
    read = stations.read(DATA / "STATIONS")
    assert read.names == ["BOZ", "LKWY"] and list(read.depth) == [0, 12.5]
    assert list(read.y) == [45.647, 44.5652] and read.x[0] == -111.6296
    found = receivers.build(scenario('[[receivers]]\nfile = "STATIONS_cartesian"\ncoordinates = "metres"\n'))
    assert found.names == ["X20", "X30"] and np.array_equal(found.xyz, [[1200, 1800, 0], [1700, 1800, -150]])


def test_stations_of_two_networks(tmp_path):
    (tmp_path / "s").write_text("A N1 1 2 0 0\nA N2 3 4 0 0\n")
    assert stations.read(tmp_path / "s").names == ["N1.A", "N2.A"]


def test_stationxml():
    pytest.importorskip("obspy")
    found = receivers.build(scenario('[[receivers]]\nfile = "stations.xml"\n', geographic=HERE.replace("20", "0")))
    assert found.names == ["AAA", "BBB"] and np.allclose(found.xyz[0], 0, atol=1e-6)
    assert np.allclose(found.xyz[1], [*geography.Local(-118.2, 34.1).xy(-118.189, 34.109), -100])


CMT = """PDE 2010 6 9 0 33 16.4 34.1 -118.2 7.5 4.9 4.8 NEAR
event name: a
time shift: 0
half duration: 1
latitude: 34.1
longitude: -118.2
depth: DEPTH
Mrr: 0
Mtt: 0
Mpp: 0
Mrt: 1eEXPONENT
Mrp: 0
Mtp: 0
"""


def quake(form, depth, magnitude, path):
    """A scenario 12 km deep with an event of a file at a depth (m) of a magnitude."""
    moment = 10 ** (1.5 * magnitude + 9.1)
    if form == "cmtsolution":
        exponent = f"{moment * 1e7:.6e}".partition("e+")
        text = CMT.replace("1eEXPONENT", f"{exponent[0]}e{exponent[2]}")
        (path / "e").write_text(text.replace("DEPTH", f"{depth / 1e3:.7g}"))
    elif form == "csv":
        heading = "longitude,latitude,depth,strike,dip,rake,magnitude,half_duration\n"
        (path / "e").write_text(heading + f"-118.2,34.1,{depth},10,60,30,{magnitude},1\n")
    else:
        obspy = pytest.importorskip("obspy")
        ev = obspy.core.event
        origin = ev.Origin(time=obspy.UTCDateTime(0), longitude=-118.2, latitude=34.1, depth=depth)
        plane = ev.NodalPlane(strike=30, dip=40, rake=50)
        event = ev.Event(
            origins=[origin],
            focal_mechanisms=[ev.FocalMechanism(nodal_planes=ev.NodalPlanes(nodal_plane_1=plane))],
            magnitudes=[ev.Magnitude(mag=magnitude, magnitude_type="Mw")],
        )
        ev.Catalog([event]).write(str(path / "e"), format="QUAKEML")
    wavelet = 'wavelet = { kind = "gaussian", tau = 0.2 }'
    text = SCENARIO.replace("4000]\nsize", "12000]\nsize").replace("4000, 4000]", "4000, 12000]")
    text = text.replace("GEOGRAPHIC", HERE) + source(form, path / "e", wavelet)
    return loads(text, file=str(DATA / "scenario.toml"))


@pytest.mark.parametrize("form", ["quakeml", "cmtsolution", "csv"])
def test_depths_that_look_like_km_are_asked_for(form, tmp_path):
    """A magnitude 5 is a kilometre wide: its depth is not 7.5 m; that of a magnitude 2 may be."""
    (problem,) = problems(quake(form, 7.5, 5.0, tmp_path))
    assert problem.key == "source.0.file" and "did you mean 7.5 km?" in problem.message
    small = quake(form, 7.5, 1.9, tmp_path)
    assert not problems(small)
    (words,) = [w for w in warnings(small, source_files.build_all(small, medium), -5) if "km?" in w]
    assert words.startswith("source.0.file: a depth of 7.5 m for a source of Mw 1.9")
    for depth, magnitude in ((7500, 5.0), (0, 5.0), (900, 4.0), (150, 2.0)):
        s = quake(form, depth, magnitude, tmp_path)
        assert not problems(s)
        assert not [w for w in warnings(s, source_files.build_all(s, medium), -5) if "km?" in w]


def test_depths_of_a_cmtsolution_in_metres_are_asked_for(tmp_path):
    (problem,) = problems(quake("cmtsolution", 7.5e6, 5.0, tmp_path))
    assert "are in km: did you mean m?" in problem.remedy


# --- SRF --------------------------------------------------------------------------------------------------------------------------------


def test_srf_numbers_in_si():
    r = srf.read(DATA / "rupture_v1.srf")
    assert (
        list(r.depth) == [1000, 1000]
        and list(r.area) == [1e6, 1e6]
        and list(r.rake) == [0, 90]
        and list(r.onset) == [0.5, 0.8]
    )
    assert (
        np.array_equal(np.diff(r.first), [6, 0, 0, 3, 3, 3]) and r.rates[2] == np.float32(3.0) and r.slip[0, 0] == 1.0
    )
    r = srf.read(DATA / "rupture_v2.srf")
    assert r.vs[0] == 3000 and r.density[0] == 2500 and np.isnan(r.vs[1]) and np.isnan(r.density[1])


def test_srf_moments():
    """Final moment of each component against `double_couple`; opening is lambda tr + 2 mu n n; mu by the file, else by the model."""
    r, mu = srf.read(DATA / "rupture_v1.srf"), 2600 * 2900.0**2
    lam = 2600 * 5000.0**2 - 2 * mu
    fault = faults.build(r, "f", geography.Places(None), medium)
    final = fault.slips()[:, None, None] * fault.tensors
    wanted = [
        sources.double_couple(0, 90, 0, mu * 1e6),
        sources.double_couple(30, 60, 90, 0.5 * mu * 1e6),
        sources.double_couple(30, 60, 180, 0.2 * mu * 1e6),
    ]
    assert np.allclose(final[:3], wanted, atol=1e-6 * mu * 1e6)
    normal = np.array(
        [np.sin(np.radians(60)) * np.cos(np.radians(30)), -np.sin(np.radians(60)) * np.sin(np.radians(30)), 0.5]
    )
    assert np.allclose(
        final[3], 0.1 * 1e6 * (lam * np.eye(3) + 2 * mu * np.outer(normal, normal)), atol=1e-6 * mu * 1e6
    )
    fault = faults.build(srf.read(DATA / "rupture_v2.srf"), "f", geography.Places(None), medium)
    assert fault.final_moments() == pytest.approx([2500 * 3000.0**2 * 1e6, mu * 1e6], rel=1e-6)


def test_slip_rates_keep_their_slip_at_any_step():
    fault = faults.build(srf.read(DATA / "rupture_v1.srf"), "f", geography.Places(None), medium)
    for dt in (0.007, 0.1, 0.33):
        series = fault.series(np.arange(len(fault.points)), 0.0, dt, int(2 / dt))
        assert np.allclose(series.sum(axis=0) * dt, fault.slips(), rtol=1e-6)
    at = fault.series(np.array([0]), 0.0, 0.1, 20)[:, 0]  # steps centred on the samples, which begin at 0.5 s
    r = np.array([0, 0, 1, 3, 4, 2, 0, 0.0])
    assert np.allclose(at[5:11], (r[:-2] + 6 * r[1:-1] + r[2:]) / 8, atol=1e-6)  # mean of the broken line over a step


def test_whole_of_a_fault():
    """Total moment and rate: what a distant point source would be."""
    fault = faults.build(srf.read(DATA / "rupture_v2.srf"), "f", geography.Places(None), medium)
    sizes = fault.final_moments()
    assert fault.xyz == pytest.approx((1000 + 1000 * sizes[1] / sizes.sum(), 1500, -1000))
    assert sources.scalar_moment(fault.moment) == pytest.approx(sizes.sum())
    assert fault.wavelet.area == pytest.approx(1, rel=2e-3)
    t = np.linspace(0, 1.2, 2401)
    middle = (0.6 * sizes[0] + 0.7 * sizes[1]) / sizes.sum()
    assert np.sum(t * fault.wavelet(t)) / np.sum(fault.wavelet(t)) == pytest.approx(middle, abs=0.01)


def test_stated_slip_is_compared(tmp_path):
    text = (DATA / "rupture_v2.srf").read_text().replace("100.00 ", "200.00 ")
    (tmp_path / "r.srf").write_text(text)
    fault = faults.build(srf.read(tmp_path / "r.srf"), "f", geography.Places(None), medium)
    assert "50 % of the slip" in fault.warnings[0]
    assert not faults.build(srf.read(DATA / "rupture_v2.srf"), "f", geography.Places(None), medium).warnings


def test_fault_in_a_fluid_leaves_no_moment():
    def water(xyz):
        return np.full(len(xyz), 1500.0), np.zeros(len(xyz)), np.full(len(xyz), 1000.0)

    text = (DATA / "rupture_v2.srf").read_text()
    assert "3.0000e+05" in text
    with pytest.raises(ValueError, match="fluid"):
        r = srf.read(DATA / "rupture_v2.srf")
        r.vs[:] = np.nan
        faults.build(r, "f", geography.Places(None), water)


# --- what is wrong with files -----------------------------------------------------------------------------------------------------------

BROKEN = {
    "cmtsolution": [
        ("Mrr:      -7.590000e+27", "Mrr:      none", ":8: mrr is 'none', not a number"),
        ("Mtp:      -2.480000e+27\n", "", ':1: the source that starts here has no "mtp"'),
        ("half duration:  20.0000", "half duration:  -1", ":4: half duration -1 s is negative"),
        ("half duration:  20.0000", "half duration:  0", "has no duration"),
        ("depth:         647.1000", "latitude: 3", ':7: "latitude" occurs twice, also in line 5'),
    ],
    "forcesolution": [
        ("hdurorf0:       2.5 ", "hdurorf0:      ", ":3: hdurorf0 is '#', not a number"),
        (
            "source time function:            1",
            "source time function:            9",
            ":7: source time function 9 is unknown",
        ),
        ("source time function:            1", "source time function:            2", "a step, is not supported"),
        (
            "N:     3.d0\ncomponent dir vect source Z_UP:  -4.d0",
            "N:  0\ncomponent dir vect source Z_UP: 0",
            ":1: the force is zero",
        ),
    ],
    "srf": [
        ("2.0\n#", "3.0\n#", ":1: an SRF file starts with its version"),
        ("POINTS 1\n  1000", "POINTS one\n  1000", ":8: POINTS must be followed by the number of subfaults"),
        (
            "0.00000e+00  1.00000e+03  0.00000e+00\nPOINTS",
            "0.00000e+00  1.00000e+03\nPOINTS",
            "'POINTS 1' is not 3 samples",
        ),
        (
            "0.00000e+00  1.00000e+03  0.00000e+00\nPOINTS",
            "0 1 2 3\nPOINTS",
            ":11: 4 samples of slip rate, but the header announces 3",
        ),
        ("1.0000e+10     0.5000", "-1.0000e+10     0.5000", ":9: area -1e+10 cm2 and interval 0.1 s must be positive"),
        ("  2.5000e+00", "", ":9: 9 numbers, a subfault's heading has 10"),
    ],
}
FILES = {"cmtsolution": "CMTSOLUTION", "forcesolution": "FORCESOLUTION", "srf": "rupture_v2.srf"}


@pytest.mark.parametrize("kind, old, new, says", [(k, *row) for k, rows in BROKEN.items() for row in rows])
def test_broken_file(tmp_path, kind, old, new, says):
    text = (DATA / FILES[kind]).read_text()
    assert text.count(old) >= 1
    (tmp_path / "broken").write_text(text.replace(old, new, 1))
    (problem,) = problems(scenario(source(kind, tmp_path / "broken", 'coordinates = "metres"')))
    assert problem.key == "source.0.file" and f"{tmp_path / 'broken'}:" in problem.message and says in problem.message


@pytest.mark.parametrize("kind", [*BROKEN, "quakeml"])
@pytest.mark.parametrize("content", ["", "hello\n", "1.0\nPOINTS 2\n", "\x00\x01\x02"])
def test_any_file_gives_a_problem_not_a_traceback(tmp_path, kind, content):
    pytest.importorskip("obspy")
    (tmp_path / "f").write_text(content)
    (problem,) = problems(scenario(source(kind, tmp_path / "f")))
    assert problem.key == "source.0.file" and str(tmp_path / "f") in problem.message and problem.remedy


@pytest.mark.parametrize("kind", [*BROKEN, "quakeml"])
def test_missing_file(kind):
    (problem,) = problems(scenario(source(kind, "nowhere")))
    assert problem.key == "source.0.file" and "cannot read" in problem.message and "nowhere" in problem.message


def test_geographic_positions_need_a_reference():
    found = problems(scenario(source("srf", "rupture_v1.srf"), '[[receivers]]\nfile = "STATIONS"\n', geographic=""))
    assert {p.key for p in found} == {"source.0.coordinates", "receivers.0.file"}
    assert all("domain.geographic" in p.message and "geographic = {" in p.remedy for p in found)


def test_positions_off_the_domain():
    (problem,) = problems(scenario(source("cmtsolution", "CMTSOLUTION_cartesian")))
    assert "no place within 20 deg" in problem.message
    far = "geographic = { longitude = -118.3, latitude = 34.1 }"
    (problem,) = problems(scenario(source("srf", "rupture_v1.srf"), geographic=far))
    assert problem.key == "source.0.file" and "outside the domain" in problem.message


@pytest.mark.parametrize(
    "text, says",
    [("A N 1 2 0\n", ":1: 5 columns"), ("A N 1 x 0 0\n", ":1: longitude is 'x'"), ("A N 1 2 0 nan", ":1: burial")],
)
def test_broken_stations(tmp_path, text, says):
    (tmp_path / "STATIONS").write_text(text)
    (problem,) = problems(scenario(f'[[receivers]]\nfile = "{tmp_path / "STATIONS"}"\ncoordinates = "metres"\n'))
    assert problem.key == "receivers.0.file" and says in problem.message


def test_file_is_read_again_when_it_changes(tmp_path):
    shutil.copy(DATA / "CMTSOLUTION_cartesian", tmp_path / "c")
    s = scenario(source("cmtsolution", tmp_path / "c", 'coordinates = "metres"'))
    before = source_files.build_all(s, medium)[0].moment[0, 0]
    (tmp_path / "c").write_text((tmp_path / "c").read_text().replace("1.000000d+21", "3.0d+21"))
    assert source_files.build_all(s, medium)[0].moment[0, 0] == pytest.approx(3 * before)


# --- fibres and plane waves: their geometry ---------------------------------------------------------------------------------------------


def test_fibre_channels():
    """100 m east, then 50 m up: every 10 m, gauge length 20 m."""
    f = fibres.build([("F", [(0, 0, -50), (100, 0, -50), (100, 0, 0)], 10, 20)])
    assert list(f.distance) == [*range(10, 141, 10)] and len(f) == 14 and set(f.names) == {"F"}
    assert np.allclose(f.xyz[[0, 8, 9, 10]], [(10, 0, -50), (90, 0, -50), (100, 0, -50), (100, 0, -40)])
    assert list(f.terms(0)) == [((0, 0, -50), 0, -1 / 20), ((20, 0, -50), 0, 1 / 20)]
    assert list(f.terms(8)) == [
        ((80, 0, -50), 0, -1 / 20),
        ((100, 0, -50), 0, 1 / 20),
    ]  # the end is the corner: the piece before it
    assert list(f.terms(9)) == [((90, 0, -50), 0, -1 / 20), ((100, 0, -40), 2, 1 / 20)]
    assert list(f.terms(13))[-1] == ((100, 0, 0), 2, 1 / 20)


@pytest.mark.parametrize(
    "das, says",
    [
        ("{ along = [[0, 0, 0]], spacing = 10, gauge = 10 }", "receivers.0.das.along"),
        ("{ along = [[0, 0, 0], [0, 0, 0]], spacing = 10, gauge = 10 }", "receivers.0.das.along.1"),
        ("{ along = [[0, 0, 0], [5, 0, 0]], spacing = 10, gauge = 10 }", "10 m, is longer than the fibre, 5 m"),
        ("{ along = [[0, 0, 0], [50, 0, 0]], spacing = 0, gauge = 10 }", "receivers.0.das.spacing"),
    ],
)
def test_impossible_fibres(das, says):
    with pytest.raises(Exception, match=says.replace(".", r"\.")):
        scenario(f'[[receivers]]\nname = "F"\ndas = {das}\n')


def test_fibre_outside():
    (problem,) = problems(
        scenario('[[receivers]]\nname = "F"\ndas = { along = [[0, 0, 0], [0, 0, 50]], spacing = 10, gauge = 10 }\n')
    )
    assert problem.key == "receivers.0.das" and "z = 50 m" in problem.message


def test_plane_wave_directions():
    """SV moves along the azimuth, SH to its right; the model's own azimuth is taken off."""
    domain = scenario(geographic="").domain
    for wave, azimuth, wanted in (
        ("P", 30, (0, 0, 1)),
        ("SV", 90, (1, 0, 0)),
        ("SH", 0, (1, 0, 0)),
        ("SV", 0, (0, 1, 0)),
    ):
        entry = Spec(
            wave=wave, azimuth=azimuth, height=-2000, velocity=1.0, wavelet=Spec(kind="gaussian", tau=0.1, delay=None)
        )
        built = planes.build(entry, "p", domain, medium)
        assert np.allclose(built.direction, wanted) and built.speed == (5000 if wave == "P" else 2900)


@pytest.mark.parametrize(
    "line, key",
    [("incidence = 20", "incidence"), ("depth = 2", "z"), ("velocity = 0", "velocity"), ('wave = "Q"', "wave")],
)
def test_impossible_plane_waves(line, key):
    table = '[[source]]\nkind = "plane_wave"\nz = -2000\nwavelet = { kind = "gaussian", tau = 0.1 }\n' + line
    with pytest.raises(Exception, match=rf"source\.0\.{key}"):
        scenario(table if key == "wave" else table + '\nwave = "P"')


def test_plane_wave_needs_periodic_sides():
    (problem,) = problems(
        scenario('[[source]]\nkind = "plane_wave"\nwave = "P"\nz = -2000\nwavelet = { kind = "gaussian", tau = 0.1 }\n')
    )
    assert problem.key == "source.0.wave" and "periodic" in problem.message
