"""Sources and stations from files of other programs: against ObsPy, published formulas and hand-made numbers; the map; fibres."""

import shutil
import sys
from types import SimpleNamespace as Spec

import numpy as np
import pyproj
import pytest
from common import refused
from paths import DATA
from scipy.special import erf

from craton.errors import ResourceError, ScenarioError
from craton.io import cmtsolution, quakeml, ruptures, stations
from craton.io.contents import moment_tensor
from craton.scenario import dumps, loads
from craton.survey import geography, problems, receivers, source_arrays, source_files, sources, warnings

FILES = DATA / "sources"
SCENARIO = """
title = "files"
domain.origin = [-1500, -1500, -4000]
domain.size = [4000, 4000, 4000]
domain.spacing = 100
model = { kind = "homogeneous", vp = 5000, vs = 2900, rho = 2600 }
time = { duration = 5 }
"""
HERE = "domain.geographic = { longitude = -118.2, latitude = 34.1, azimuth = 20 }\n"
NORTH = HERE.replace("20", "0")
METRES = 'coordinates = "metres"'
GAUSSIAN = 'wavelet = { kind = "gaussian", tau = 0.1 }\n'
PLANE = '[[source]]\nkind = "plane_wave"\nz = -2000\nwave = MORE\n' + GAUSSIAN
FIBRE = '[[receivers]]\nname = "F"\ndas = { along = MORE }\n'


def medium(xyz, vp=5000.0, vs=2900.0, rho=2600.0):
    """The scenario's."""
    return tuple(np.full(len(xyz), value) for value in (vp, vs, rho))


def scenario(*tables, geographic=HERE):
    """A scenario with these [[source]] or [[receivers]] tables; a harmless source is added to receivers."""
    text = SCENARIO + geographic + "\n".join(tables)
    if "[[source]]" not in text:
        text += '\n[[source]]\nkind = "explosion"\nat = [0, 0, -1000]\nmoment = 1e14\n' + GAUSSIAN
    return loads(text, file=str(FILES / "scenario.toml"))


def source(kind, file, *lines):
    return "\n".join(["[[source]]", f'kind = "{kind}"', f'file = "{file}"', *lines, ""])


def built(kind, file, *lines, **options):
    """The sources of a file."""
    return source_files.build_all(scenario(source(kind, file, *lines), **options), medium)


def check_problem(tables, key, *words, **options):
    """The only problem of a scenario with these tables is at a key, says these words, and has a remedy."""
    (problem,) = problems(scenario(tables, **options) if isinstance(tables, str) else tables)
    assert problem.key == key and all(word in problem.message + problem.remedy for word in words), problem
    assert problem.remedy, problem


def fault(path):
    return source_arrays.finite_fault(ruptures.read_srf(path), "f", geography.Metres(), medium)


# --- the map ----------------------------------------------------------------------------------------------------------------------------


def test_map_against_utm():
    """To a micrometre within 300 km of points on the meridians of its zones, also across the date line; the turn is that of the
    meridian, also beyond the pole.
    """
    random = np.random.default_rng(0)
    far, azimuth = 300 / 111.2 * np.sqrt(random.random(2000)), 2 * np.pi * random.random(2000)
    for zone, latitude in ((11, 34.1), (32, 47.0), (31, 0.0), (60, -60.0), (36, 80.0)):
        utm, middle = pyproj.Proj(f"EPSG:{32600 + zone}"), 6 * zone - 183
        lat = latitude + far * np.cos(azimuth)
        lon = (middle + far * np.sin(azimuth) / np.cos(np.radians(lat)) + 180) % 360 - 180
        offsets = np.array(utm(lon, lat)) - np.reshape(utm(middle, latitude), (2, 1))
        assert np.abs(offsets / 0.9996 - geography.Local(middle, latitude).xy(lon, lat)).max() < 1e-6
    for longitude, latitude, reference in [(-118.9, 33.5, 34.1), (61.0, 88.0, 80.0), (-118.2, 34.1, 34.1)]:
        local = geography.Local(-118.2, reference)
        x, y = local.xy([longitude] * 2, [latitude - 1e-4, latitude + 1e-4])
        north = np.degrees(np.arctan2(x[1] - x[0], y[1] - y[0]))
        assert local.turned(longitude, latitude) == pytest.approx(-north, abs=1e-4)


def test_map_turns_its_axes_keeps_shapes_and_has_an_end(monkeypatch):
    """With +y to the east of north by 90 degrees, y is east and x is south."""
    x, y = geography.Local(10.0, 47.0, 90.0).xy([10.01, 10.0], [47.0, 47.01])
    assert y[0] > 700 and abs(x[0]) < 1 and x[1] < -1000 and abs(y[1]) < 1e-6
    local = geography.Local(10.0, 47.0)
    for shape in [(), (0,), (2, 3)]:
        lon, lat = np.full(shape, 10.5), np.full(shape, 47.5)
        assert np.shape(local.turned(lon, lat)) == np.shape(local.xy(lon, lat)[0]) == shape
        assert local.rotation(lon, lat).shape == (*shape, 3, 3)
        assert local.xyz(lon, lat, 5.0).shape == (*shape, 3)
    for place in [(10.0, 95.0), (200.0, 47.0), (float("nan"), 47.0)]:
        refused(ValueError, "no place within 20 deg of the reference", local.xy, *place)
    monkeypatch.setitem(sys.modules, "pyproj", None)
    refused(ResourceError, "pip install pyproj", geography.Local(10.0, 47.0).xy, 10.1, 47.1)


# --- CMTSOLUTION, FORCESOLUTION ---------------------------------------------------------------------------------------------------------


def test_cmtsolution_against_obspy():
    (mine,) = cmtsolution.read(FILES / "CMTSOLUTION")
    event = pytest.importorskip("obspy").read_events(str(FILES / "CMTSOLUTION"), format="CMTSOLUTION")[0]
    theirs = event.focal_mechanisms[0].moment_tensor
    origins = {origin.origin_type: origin for origin in event.origins}
    centroid = origins["centroid"]
    assert np.allclose(mine.moment, moment_tensor([getattr(theirs.tensor, c) for c in quakeml.COMPONENTS]), rtol=1e-12)
    for name in ("longitude", "latitude", "depth"):
        assert getattr(mine, name) == pytest.approx(getattr(centroid, name))
    assert mine.shift == pytest.approx(centroid.time - origins["hypocenter"].time) and mine.name == "060994A"
    assert 2 * mine.width == theirs.source_time_function.duration


def test_tensors_turn_with_their_axes():
    """r, theta, phi are up, south, east: M_enu = Q M_rtp Q^T with the three unit vectors as columns; ned likewise.

    A model turned by 20 degrees sees the strike 20 degrees (and the convergence of its place) smaller.
    """
    full = np.array([[1.0, 4, 5], [4, 2, 6], [5, 6, 3]])
    for convention, axes in (("rtp", [(0, 0, 1), (0, -1, 0), (1, 0, 0)]), ("ned", [(0, 1, 0), (1, 0, 0), (0, 0, -1)])):
        turn = np.array(axes).T
        assert np.array_equal(moment_tensor(np.arange(1.0, 7), convention), turn @ full @ turn.T)
    turn = geography.places(scenario().domain, "geographic").rotation(-118.2, 34.1)
    turned = turn @ sources.double_couple(50, 60, 70, 1e15) @ turn.T
    assert np.allclose(turned, sources.double_couple(30, 60, 70, 1e15), atol=1e3)


def test_half_duration_is_that_of_specfem():
    """The moment of the built wavelet is SPECFEM's (1 + erf(1.628 t / half duration)) / 2, centred on the time shift."""
    s = scenario(source("cmtsolution", "CMTSOLUTION_cartesian", METRES), '[[receivers]]\nfile = "stations.xml"')
    assert not problems(s) and loads(dumps(s)) == s
    first, second = source_files.build_all(s, medium)
    t = np.linspace(-3, 4, 70_001)
    moment = np.cumsum(second.wavelet(t)) * (t[1] - t[0])
    # sum against integral: half a step times the peak rate
    assert np.abs(moment - (1 + erf(1.628 * (t - 0.25) / 0.5)) / 2).max() < 1e-4
    assert first.xyz == (1500.0, 1200.0, -900.0) and second.xyz == (1500.0, 1800.0, -1100.0)
    assert np.allclose(first.moment, 1e14 * np.eye(3)) and second.moment[0, 1] == pytest.approx(2e14)
    assert (first.name, second.name) == ("source 1.1", "source 1.2")


def test_own_wavelet_is_moved_by_the_time_shift():
    words = "cmtsolution", "CMTSOLUTION_cartesian", METRES, 'wavelet = { kind = "gaussian", tau = 0.2 }'
    first, second = pair = built(*words)
    assert second.wavelet.delay == 0.25 and second.wavelet(0.25) == pytest.approx(first.wavelet(0.0))
    assert second.wavelet.start == pytest.approx(first.wavelet.start + 0.25)
    assert sources.start_time(scenario(source(*words)), pair) == pytest.approx(first.wavelet.start)


def test_forcesolution():
    ricker, gaussian = built("forcesolution", "FORCESOLUTION", METRES)
    assert ricker.xyz == (1200.0, 1500.0, -500.0) and np.allclose(ricker.force, [0, 1.2e10, -1.6e10])
    assert ricker.wavelet.kind == "ricker" and ricker.wavelet.delay == 0.1
    assert ricker.wavelet.peak_frequency == pytest.approx(2.5) and gaussian.wavelet.area == pytest.approx(1)
    assert gaussian.wavelet.peak == pytest.approx(1.628 / 0.6 / np.sqrt(np.pi))


# --- QuakeML, StationXML, STATIONS ------------------------------------------------------------------------------------------------------


def test_quakeml(monkeypatch):
    pytest.importorskip("obspy")
    assert not problems(scenario(source("quakeml", "event.xml"), geographic=NORTH))
    (quake,) = built("quakeml", "event.xml", geographic=NORTH)
    assert np.allclose(quake.xyz, [*geography.Local(-118.2, 34.1).xy(-118.195, 34.105), -1200.0])
    w = quake.wavelet
    assert w.delay == pytest.approx(0.4) and w.peak == pytest.approx(1.628 / 0.5 / np.sqrt(np.pi))
    # rtp to enu, and a convergence of 0.003 degrees
    assert np.allclose(quake.moment, 1e14 * np.array([[-3, -6, 5], [-6, 2, -4], [5, -4, 1]]), atol=1e11)
    monkeypatch.setitem(sys.modules, "obspy", None)
    monkeypatch.setattr(source_files, "_contents", source_files._contents.__wrapped__)
    check_problem(source("quakeml", "event.xml"), "source.0.kind", "pip install 'craton[seis]'")


def test_stations(tmp_path):
    table = stations.read_specfem(FILES / "STATIONS")
    assert table.names == ["BOZ", "LKWY"] and list(table.depth) == [0, 12.5]
    assert list(table.y) == [45.647, 44.5652] and table.x[0] == -111.6296
    metres = receivers.build(scenario(f'[[receivers]]\nfile = "STATIONS_cartesian"\n{METRES}\n'))
    assert metres.names == ["X20", "X30"] and np.array_equal(metres.xyz, [[1200, 1800, 0], [1700, 1800, -150]])
    (tmp_path / "s").write_text("A N1 1 2 0 0\nA N2 3 4 0 0\n")
    assert stations.read_specfem(tmp_path / "s").names == ["N1.A", "N2.A"]
    pytest.importorskip("obspy")
    degrees = receivers.build(scenario('[[receivers]]\nfile = "stations.xml"\n', geographic=NORTH))
    expected = [*geography.Local(-118.2, 34.1).xy(-118.189, 34.109), -100]
    assert degrees.names == ["AAA", "BBB"] and np.allclose(degrees.xyz, [[0, 0, 0], expected], atol=1e-6)


def quake_of(form, depth, magnitude, path):
    """A scenario 12 km deep with an event of a file at a depth (m) of a magnitude."""
    if form == "cmtsolution":
        heading = (FILES / "CMTSOLUTION").read_text().split("latitude:")[0]
        place = f"latitude: 34.1\nlongitude: -118.2\ndepth: {depth / 1e3:.7g}\nMrr: 0\nMtt: 0\nMpp: 0\nMrp: 0\nMtp: 0"
        (path / "e").write_text(f"{heading}{place}\nMrt: {10 ** (1.5 * magnitude + 16.1):.6e}\n")
    elif form == "csv":
        heading = "longitude,latitude,depth,strike,dip,rake,magnitude,half_duration\n"
        (path / "e").write_text(heading + f"-118.2,34.1,{depth},10,60,30,{magnitude},1\n")
    else:
        obspy = pytest.importorskip("obspy")
        ev = obspy.core.event
        origin = ev.Origin(time=obspy.UTCDateTime(0), longitude=-118.2, latitude=34.1, depth=depth)
        plane = ev.NodalPlanes(nodal_plane_1=ev.NodalPlane(strike=30, dip=40, rake=50))
        event = ev.Event(origins=[origin], focal_mechanisms=[ev.FocalMechanism(nodal_planes=plane)])
        event.magnitudes = [ev.Magnitude(mag=magnitude, magnitude_type="Mw")]
        event.write(str(path / "e"), format="QUAKEML")
        expected = sources.double_couple(30, 40, 50, 10 ** (1.5 * magnitude + 9.1))
        assert np.allclose(sources.double_couple(*quakeml.read(path / "e")[0].plane), expected)
    text = SCENARIO.replace("-4000]", "-12000]").replace("4000, 4000]", "4000, 12000]") + HERE
    return loads(text + source(form, path / "e", GAUSSIAN.replace("0.1", "0.2")))


@pytest.mark.parametrize("form", ["quakeml", "cmtsolution", "csv"])
def test_depths_that_look_like_km_are_asked_for(form, tmp_path):
    """A magnitude 5 is a kilometre wide: its depth is not 7.5 m; that of a magnitude 2 may be."""
    check_problem(quake_of(form, 7.5, 5.0, tmp_path), "source.0.file", "did you mean 7.5 km?")
    for depth, magnitude in ((7500, 5.0), (0, 5.0), (900, 4.0), (150, 2.0), (7.5, 1.9)):
        s = quake_of(form, depth, magnitude, tmp_path)
        questions = [words for words in warnings(s, source_files.build_all(s, medium), -5) if "km?" in words]
        assert not problems(s) and len(questions) == (magnitude == 1.9)
    assert questions[0].startswith("source.0.file: a depth of 7.5 m for a source of Mw 1.9")
    if form == "cmtsolution":
        check_problem(quake_of(form, 7.5e6, 5.0, tmp_path), "source.0.file", "are in km: did you mean m?")


# --- SRF --------------------------------------------------------------------------------------------------------------------------------


def test_srf_moments_and_slip_rates():
    """Final moment of each component against `double_couple`; opening is lambda tr + 2 mu n n. Slip rates keep their slip at any step."""
    mu = 2600 * 2900.0**2
    rupture = fault(FILES / "rupture_v1.srf")
    shares = ((0, 90, 0, 1), (30, 60, 90, 0.5), (30, 60, 180, 0.2))
    expected = [sources.double_couple(*angles, share * mu * 1e6) for *angles, share in shares]
    dip, strike = np.radians(60), np.radians(30)
    normal = np.array([np.sin(dip) * np.cos(strike), -np.sin(dip) * np.sin(strike), np.cos(dip)])
    expected.append(0.1 * 1e6 * ((2600 * 5000.0**2 - 2 * mu) * np.eye(3) + 2 * mu * np.outer(normal, normal)))
    assert np.allclose(rupture.slips()[:, None, None] * rupture.tensors, expected, atol=1e-6 * mu * 1e6)
    for dt in (0.007, 0.1, 0.33):
        series = rupture.series(np.arange(len(rupture.points)), 0.0, dt, int(2 / dt))
        assert np.allclose(series.sum(axis=0) * dt, rupture.slips(), rtol=1e-6)
    rates = rupture.series(np.array([0]), 0.0, 0.1, 20)[:, 0]  # steps centred on the samples, which begin at 0.5 s
    r = np.array([0, 0, 1, 3, 4, 2, 0, 0.0])
    assert np.allclose(rates[5:11], (r[:-2] + 6 * r[1:-1] + r[2:]) / 8, atol=1e-6)  # mean of the broken line in a step


def test_whole_of_a_fault(tmp_path):
    """Total moment and rate: what a distant point source would be; another slip than the one stated, and a fluid, are told. The
    rigidity is that of the file, else of the model.
    """
    rupture = fault(FILES / "rupture_v2.srf")
    first, second = sizes = rupture.final_moments()
    assert sizes == pytest.approx([2500 * 3000.0**2 * 1e6, 2600 * 2900.0**2 * 1e6], rel=1e-6)
    assert rupture.xyz == pytest.approx((1000 + 1000 * second / sizes.sum(), 1500, -1000)) and not rupture.warnings
    assert sources.scalar_moment(rupture.moment) == pytest.approx(sizes.sum())
    assert rupture.wavelet.area == pytest.approx(1, rel=2e-3)
    t = np.linspace(0, 1.2, 2401)
    middle = np.average(t, weights=rupture.wavelet(t))
    assert middle == pytest.approx((0.6 * first + 0.7 * second) / sizes.sum(), abs=0.01)
    text = (FILES / "rupture_v2.srf").read_text()
    (tmp_path / "r.srf").write_text(text.replace("100.00 ", "200.00 "))
    assert "50 % of the slip" in fault(tmp_path / "r.srf").warnings[0]
    file = ruptures.read_srf(FILES / "rupture_v2.srf")
    assert list(file.vs) == pytest.approx([3000, np.nan], nan_ok=True)
    assert list(file.density) == pytest.approx([2500, np.nan], nan_ok=True)
    file.vs[:] = np.nan
    build, water = source_arrays.finite_fault, lambda xyz: medium(xyz, 1500, 0, 1000)
    refused(ValueError, "fluid", build, file, "f", geography.Metres(), water)


# --- what is wrong with files -----------------------------------------------------------------------------------------------------------

KINDS = {"cmtsolution": "CMTSOLUTION", "forcesolution": "FORCESOLUTION", "srf": "rupture_v2.srf"}
UP = "component dir vect source Z_UP:"
STEP = "source time function:            "
RATES = "0.00000e+00  1.00000e+03  0.00000e+00\nPOINTS"
BROKEN = (
    ("cmtsolution", "Mrr:      -7.590000e+27", "Mrr:      none", ":8: mrr is 'none', not a number"),
    ("cmtsolution", "Mtp:      -2.480000e+27\n", "", ':1: the source that starts here has no "mtp"'),
    ("cmtsolution", "half duration:  20.0000", "half duration:  -1", ":4: half duration -1 s is negative"),
    ("cmtsolution", "half duration:  20.0000", "half duration:  0", "has no duration"),
    ("cmtsolution", "depth:         647.1000", "latitude: 3", ':7: "latitude" occurs twice, also in line 5'),
    ("forcesolution", "hdurorf0:       2.5 ", "hdurorf0:      ", ":3: hdurorf0 is '#', not a number"),
    ("forcesolution", STEP + "1", STEP + "9", ":7: source time function 9 is unknown"),
    ("forcesolution", STEP + "1", STEP + "2", "a step, is not supported"),
    ("forcesolution", "3.d0\n" + UP + "  -4.d0", "0\n" + UP + " 0", ":1: the force is zero"),
    ("srf", "2.0\n#", "3.0\n#", ":1: an SRF file starts with its version"),
    ("srf", "POINTS 1\n  1000", "POINTS one\n  1000", ":8: POINTS must be followed by the number of subfaults"),
    ("srf", RATES, "0.00000e+00  1.00000e+03\nPOINTS", "'POINTS 1' is not 3 samples"),
    ("srf", RATES, "0 1 2 3\nPOINTS", ":11: 4 samples of slip rate, but the header announces 3"),
    ("srf", "1.0000e+10     0.5", "-1.0000e+10     0.5", ":9: area -1e+10 cm2 and interval 0.1 s must be positive"),
    ("srf", "  2.5000e+00", "", ":9: 9 numbers, a subfault's heading has 10"),
)


def test_broken_files_give_a_problem_each(tmp_path):
    """And any file, or none."""
    pytest.importorskip("obspy")
    path = tmp_path / "broken"
    for kind, old, new, message in BROKEN:
        text = (FILES / KINDS[kind]).read_text()
        assert text.count(old) >= 1
        path.write_text(text.replace(old, new, 1))
        check_problem(source(kind, path, METRES), "source.0.file", f"{path}:", message)
    for kind in (*KINDS, "quakeml"):
        for content in ("", "hello\n", "1.0\nPOINTS 2\n", "\x00\x01\x02"):
            path.write_text(content)
            check_problem(source(kind, path), "source.0.file", str(path))
        check_problem(source(kind, "nowhere"), "source.0.file", "cannot read", "nowhere")
    for row, message in (
        ("1 2 0", ":1: 5 columns"),
        ("1 x 0 0", ':1: longitude: "x" is not a number'),
        ("1 2 0 nan", ":1: burial"),
    ):
        path.write_text(f"A N {row}\n")
        check_problem(f'[[receivers]]\nfile = "{path}"\n{METRES}\n', "receivers.0.file", message)


def test_places_need_a_reference_and_lie_in_the_domain():
    both = problems(scenario(source("srf", "rupture_v1.srf"), '[[receivers]]\nfile = "STATIONS"\n', geographic=""))
    assert {p.key for p in both} == {"source.0.coordinates", "receivers.0.file"}
    assert all("domain.geographic" in p.message and "geographic = {" in p.remedy for p in both)
    check_problem(source("cmtsolution", "CMTSOLUTION_cartesian"), "source.0.file", "no place within 20 deg")
    west = NORTH.replace("118.2", "118.3")
    check_problem(source("srf", "rupture_v1.srf"), "source.0.file", "outside the domain", geographic=west)


def test_file_is_read_again_when_it_changes(tmp_path):
    path = shutil.copy(FILES / "CMTSOLUTION_cartesian", tmp_path / "c")
    before = built("cmtsolution", path, METRES)[0].moment[0, 0]
    path.write_text(path.read_text().replace("1.000000d+21", "3.0d+21"))
    assert built("cmtsolution", path, METRES)[0].moment[0, 0] == pytest.approx(3 * before)


# --- fibres and plane waves: their geometry ---------------------------------------------------------------------------------------------


def test_fibre_channels():
    """100 m east, then 50 m up: every 10 m, gauge length 20 m."""
    f = receivers.fibres_of([("F", [(0, 0, -50), (100, 0, -50), (100, 0, 0)], 10, 20)])
    assert list(f.distance) == [*range(10, 141, 10)] and len(f) == 14 and set(f.names) == {"F"}
    assert np.allclose(f.xyz[[0, 8, 9, 10]], [(10, 0, -50), (90, 0, -50), (100, 0, -50), (100, 0, -40)])
    assert list(f.terms(0)) == [((0, 0, -50), 0, -1 / 20), ((20, 0, -50), 0, 1 / 20)]
    # the end is the corner: the piece before it
    assert list(f.terms(8)) == [((80, 0, -50), 0, -1 / 20), ((100, 0, -50), 0, 1 / 20)]
    assert list(f.terms(9)) == [((90, 0, -50), 0, -1 / 20), ((100, 0, -40), 2, 1 / 20)]
    assert list(f.terms(13))[-1] == ((100, 0, 0), 2, 1 / 20)


def test_plane_wave_directions():
    """SV moves along the azimuth, SH to its right; the model's own azimuth is taken off."""
    wavelet = Spec(kind="gaussian", tau=0.1, delay=None)
    directions = (("P", 30, (0, 0, 1)), ("SV", 90, (1, 0, 0)), ("SH", 0, (1, 0, 0)), ("SV", 0, (0, 1, 0)))
    for wave, azimuth, expected in directions:
        entry = Spec(wave=wave, azimuth=azimuth, height=-2000, velocity=1.0, wavelet=wavelet)
        plane = sources.plane_wave(entry, "p", scenario(geographic="").domain, medium)
        assert np.allclose(plane.direction, expected) and plane.speed == (5000 if wave == "P" else 2900)
        entry.azimuth += 20  # that of y, HERE
        turned = sources.plane_wave(entry, "p", scenario().domain, medium)
        assert np.allclose(turned.direction, expected)


def test_impossible_fibres_and_plane_waves():
    for table, words, message in (
        (FIBRE, "[[0, 0, 0]], spacing = 10, gauge = 10", "receivers.0.das.along"),
        (FIBRE, "[[0, 0, 0], [0, 0, 0]], spacing = 10, gauge = 10", "receivers.0.das.along.1"),
        (FIBRE, "[[0, 0, 0], [50, 0, 0]], spacing = 0, gauge = 10", "receivers.0.das.spacing"),
        (PLANE, '"P"\nincidence = 20', "source.0.incidence"),
        (PLANE, '"P"\ndepth = 2', "source.0.z"),
        (PLANE, '"P"\nvelocity = 0', "source.0.velocity"),
        (PLANE, '"Q"', "source.0.wave"),
    ):
        refused(ScenarioError, message, scenario, table.replace("MORE", words))
    above = "[[0, 0, 0], [0, 0, 50]], spacing = 10, gauge = 10"
    check_problem(FIBRE.replace("MORE", above), "receivers.0.das", "z = 50 m")
    check_problem(PLANE.replace("MORE", '"P"'), "source.0.wave", "periodic")
