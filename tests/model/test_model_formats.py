"""Models of SPECFEM (tomography), SW4 (rfile), exploration (SEG-Y, bare numbers) and published tables; faults in FSP files."""

import re
import struct

import modelcase
import numpy as np
import pyproj
import pytest
import xarray
from common import edited, refused
from modelcase import EXPLOSION
from paths import DATA

import craton
from craton.errors import ScenarioError
from craton.io import rfile as rfile_format
from craton.model.ground import terrain
from craton.model.media import earth
from craton.model.media.cells import Region
from craton.scenario import dumps, loads
from craton.survey import source_files
from craton.survey.geography import Local

REGION = Region((0.0, 0.0, -4000.0), (4000.0, 4000.0, 0.0))
PLACES = np.random.default_rng(3).uniform((0, 0, -4000), (4000, 4000, 0), (200, 3))
CENTRE = EXPLOSION | {"at": [2000, 2000, -1000]}
ROCK = {"kind": "homogeneous", "vp": 5000, "vs": 2900, "rho": 2500}


def box(model, source=CENTRE, **more):
    """Scenario of a box of 4 km."""
    return modelcase.box(model, **{"origin": [0, 0, -4000], "size": [4000, 4000, 4000], "source": source} | more)


def problem_of(properties=None, **model):
    """What is first wrong with a model of a file."""
    model = {"kind": "file"} | model | ({"properties": properties} if properties else {})
    return earth.problems(box(model).model, REGION)[0]


def values(model, places=PLACES, region=REGION, **more):
    """vp, vs and rho, at places, of a model in which nothing is wrong."""
    model = box(model, **more).model
    assert not earth.problems(model, region)
    return earth.point_values(model, places)


def linear(x, y, z):
    """S speed, m/s, that trilinear interpolation gives exactly."""
    return 1500 + 0.05 * x - 0.03 * y - 0.2 * z


# --- tomography --------------------------------------------------------------------------------------------------------------------------


def tomography(path, change=lambda rows: rows):
    """tomography_model.xyz of 9 x 9 x 5 points, its rows changed."""
    z, y, x = (n.ravel() for n in np.meshgrid(np.arange(-4000, 1, 1e3), *[np.arange(0, 4001, 5e2)] * 2, indexing="ij"))
    columns = x, y, z, *np.outer((1.8, 1, 0.9), linear(x, y, z))
    rows = change([" ".join(f"{value:.4f}" for value in row) for row in zip(*columns)])
    head = ["# a comment", "0 0 -4000 4000 4000 0", "500 500 1000", "9 9 5", "2700. 4320. 1500. 2400. 1350. 2160."]
    path.write_text("\n".join([*head, *rows]) + "\n")
    return str(path)


def test_a_tomography_of_specfem_fills_the_box(tmp_path):
    for quality in ("", " 200 100"):
        file = tomography(tmp_path / "tomography_model.xyz", lambda rows, more=quality: [row + more for row in rows])
        model = {"kind": "file", "file": file}
        vp, vs, rho = values(model)
        assert vs == pytest.approx(linear(*PLACES.T), abs=1e-3)
        assert vp == pytest.approx(1.8 * vs, rel=1e-6) and rho == pytest.approx(0.9 * vs, rel=1e-6)
    medium = earth.medium_of(box(model).model, [(0, 4000)] * 2 + [(-4000, 0)], ("vp", "vs", "rho", "qp", "qs"))
    assert medium.fields[3] == pytest.approx(1 / 200) and medium.fields[4] == pytest.approx(0.01)


UNLIKE_HEADING = "vp runs from 2.7 to 2.7 in its rows and from 2700 to 4320 in its heading"


def test_a_wrong_tomography_is_refused(tmp_path):
    for change, message in (
        (lambda rows: rows[:-1], "404 rows below the heading, which announces 9 x 9 x 5 = 405 points"),
        (lambda rows: [rows[1], rows[0], *rows[2:]], "row 1 has x = 500 m.*x must vary fastest"),
        (lambda rows: [*rows[:-1], rows[-1].replace(".", "x", 1)], "line 410 is not 6 numbers"),
        (lambda rows: [row.rsplit(" ", 1)[0] for row in rows], "5 columns; they are x y z vp vs rho"),
        (lambda rows: [f"{row.rsplit(' ', 3)[0]} 2.7 1.5 1.4" for row in rows], UNLIKE_HEADING),
    ):
        problem = problem_of(file=tomography(tmp_path / "model.xyz", change))
        assert problem.key == "model.file" and re.search(message, problem.message), (message, problem)


# --- rfile -------------------------------------------------------------------------------------------------------------------------------

ORIGIN, TURN = (12.45, 47.2), 30.0
PROJECTION = "+proj=tmerc +lat_0=47.2 +lon_0=12.4 +k=0.9996 +datum=WGS84 +units=m +no_defs"
# Spacing along the ground and down, first depth, components, points along x, y and down.
BLOCKS = ((250.0, 0.0, 0.0, 1, 49, 49, 1), (250.0, 200.0, -400.0, 5, 49, 49, 8), (500.0, 500.0, 1000.0, 5, 25, 25, 8))


def rfile(path, order="<", hole=False):
    """rfile of topography and two blocks, 250 and 500 m, 12 km wide, written byte by byte; the S speed is linear in its projection."""
    text, data = PROJECTION.encode(), b""
    head = (
        struct.pack(order + "iiidddi", 1, 4, 1, TURN, *ORIGIN, len(text)) + text + struct.pack(order + "i", len(BLOCKS))
    )
    start, (c, s) = pyproj.Proj(PROJECTION)(*ORIGIN), (np.cos(np.radians(TURN)), np.sin(np.radians(TURN)))
    for hh, hv, z0, nc, ni, nj, nk in BLOCKS:
        head += struct.pack(order + "dddiiii", hh, hv, z0, nc, ni, nj, nk)
        x, y, depth = hh * np.arange(ni)[:, None], hh * np.arange(nj), z0 + hv * np.arange(nk)
        east, north = start[0] + s * x + c * y, start[1] + c * x - s * y
        if nc == 1:
            block = (100 + 0.01 * (east - start[0]))[:, :, None, None]
        else:
            vs = 2000 + (0.02 * east - 0.01 * north)[:, :, None] + 0.1 * depth
            block = np.stack([0.9 * vs, 1.8 * vs, vs, 0 * vs + 100, 0 * vs + 50], axis=-1)
            block[:, :, depth < (300 if hole else 0)] = -999.0
        data += block.astype(order + "f4").tobytes()
    path.write_bytes(head + data)
    return str(path)


@pytest.mark.parametrize("order", ["<", ">"])
def test_an_rfile_stands_where_it_is_on_earth(order, tmp_path):
    file = rfile(tmp_path / "model.rfile", order)
    more = {"geographic": {"longitude": 12.55, "latitude": 47.22, "azimuth": -20}, "size": [4000, 4000, 4500]}
    model, places = {"kind": "file", "file": file, "topography": {"file": file}}, PLACES - [0, 0, 1]
    vp, vs, rho = values(model, places, Region((0, 0, -4000), (4000, 4000, 500)), **more)
    east, north = pyproj.Proj(PROJECTION)(*Local(12.55, 47.22, -20).degrees(*places[:, :2].T))
    expected = 2000 + 0.02 * east - 0.01 * north - 0.1 * np.minimum(places[:, 2], 0.0)
    assert abs(vs - expected).max() < 2  # m/s of 2000: deeper down the steps are 500 m
    assert vp == pytest.approx(1.8 * vs, rel=1e-5) and rho == pytest.approx(0.9 * vs, rel=1e-5)
    heights = terrain.build(box(model, **more).model).surface(*places[:, :2].T)
    assert heights == pytest.approx(100 + 0.01 * (east - pyproj.Proj(PROJECTION)(*ORIGIN)[0]), abs=0.05)


def test_an_rfile_without_a_place_is_in_its_own_axes_and_has_no_air(tmp_path):
    file = rfile(tmp_path / "model.rfile", hole=True)
    vs = values({"kind": "file", "file": file}, np.array([[1000.0, 2000.0, z] for z in (0, -100, -350, -450)]))[1]
    assert vs[0] == vs[1] == pytest.approx(vs[2], abs=1e-3)  # that of the first rock below, at 400 m
    assert vs[3] == pytest.approx(vs[0] + 0.1 * 50, abs=0.1)
    (_, *blocks), _ = rfile_format.read_blocks(file)
    assert [block.values.shape for block in blocks] == [(49, 49, 8, 5), (25, 25, 8, 5)]
    (tmp_path / "short.rfile").write_bytes((tmp_path / "model.rfile").read_bytes()[:-4])
    (tmp_path / "no.rfile").write_bytes(b"text that is no rfile")
    for name, words in (("short", "its heading announces at least"), ("no", "does not begin with the number 1")):
        assert words in problem_of(file=str(tmp_path / f"{name}.rfile")).message


# --- SEG-Y and other properties from files -----------------------------------------------------------------------------------------------


def segy(path, x, y, field, step=100.0, scalar=-10, delays=0):
    """SEG-Y by segyio: a trace for each position, samples every `step` m from z = 0; headers state the delays."""
    segyio = pytest.importorskip("segyio")
    depth, spec, of = step * np.arange(41), segyio.spec(), segyio.TraceField
    spec.format, spec.samples, spec.tracecount = 5, depth, len(x)
    with segyio.create(path, spec) as file:
        for n, (a, b) in enumerate(zip(x, y)):
            at = {of.CDP_X: round(a * -scalar), of.CDP_Y: round(b * -scalar), of.SourceGroupScalar: scalar}
            at[of.DelayRecordingTime] = int(delays * n)
            file.header[n], file.trace[n] = at, field(a, b, -depth).astype("f4")
        file.bin[segyio.BinField.Interval] = int(step * 1000) if step < 32 else 0
    return str(path)


def test_properties_from_segy_and_constants(tmp_path):
    x, y = (g.ravel() for g in np.meshgrid(np.arange(0, 4001, 250.0), np.arange(0, 4001, 500.0)))
    shuffled, coarse = np.random.default_rng(4).permutation(len(x)), x % 500 == 0
    uneven = y[shuffled] + 0.01 * (x[shuffled] % 500 == 0)  # as rounding leaves them
    files = {"vs": segy(tmp_path / "vs.sgy", x[shuffled], uneven, linear, scalar=-100)}
    files["vp"] = segy(tmp_path / "vp.sgy", x, y, lambda *at: 1.8 * linear(*at))
    files["rho"] = segy(tmp_path / "coarse.sgy", x[coarse], y[coarse], linear)
    properties = {name: {"file": file, "depth_step": 100} for name, file in files.items()}
    right = {"kind": "file", "properties": properties | {"rho": "2.4 g/cm3"}}
    assert loads(dumps(box(right))) == box(right)
    vp, vs, rho = values(right)
    assert vs == pytest.approx(linear(*PLACES.T), rel=1e-5)
    assert vp == pytest.approx(1.8 * vs, rel=1e-5) and (rho == 2400).all()
    problem = problem_of(properties)
    assert problem.key == "model.properties.rho.file" and "are not those of vp" in problem.message
    assert "states no sample interval" in problem_of(file=files["vs"]).message
    refused(ScenarioError, "file and properties are mutually exclusive", box, right | {"file": files["vs"]})
    refused(ScenarioError, "none of the properties comes from a file", problem_of, {"vp": 3, "vs": 1, "rho": 2})


def test_a_line_of_segy_is_a_section_and_its_interval_millimetres(tmp_path):
    x = np.arange(0, 4001, 100.0)
    file = segy(tmp_path / "line.sgy", 0.6 * x, 0.8 * x, lambda a, b, z: linear(np.hypot(a, b), 0, z), 25.0)
    shallow = {"origin": [0, -1000], "size": [4000, 1000], "spacing": 20, "source": CENTRE | {"at": [2000, -500]}}
    properties = {"vp": {"file": file}, "vs": 0, "rho": 1000}
    places, region = PLACES * [1, 0, 0.25], Region((0, 0, -1000), (4000, 0, 0))
    vp, vs, _ = values({"kind": "file", "properties": properties}, places, region, **shallow)
    assert vp == pytest.approx(linear(*places.T), rel=1e-5) and not vs.any()
    scattered = segy(tmp_path / "scattered.sgy", x[:7], (x[:7] - 300) ** 2, linear)
    properties["vp"] = {"file": scattered, "depth_step": 100}
    assert "neither on a line nor on a grid" in problem_of(properties).message
    twice = segy(tmp_path / "twice.sgy", np.array([0, 0, 9, 9.0]), np.array([0, 0, 9, 0.0]), linear)  # none at 0, 9
    properties["vp"] = {"file": twice, "depth_step": 100}
    assert "neither on a line nor on a grid" in problem_of(properties).message
    properties["vp"] = {"file": segy(tmp_path / "late.sgy", x[:7], 0 * x[:7], linear, delays=4), "depth_step": 100}
    assert "begin at different delays, 0 to 24" in problem_of(properties).message
    properties["vp"] = {"file": "vp.nc", "depth_step": 100}
    assert "vp.nc is no SEG-Y file" in problem_of(properties).message


# --- FSP ---------------------------------------------------------------------------------------------------------------------------------

FSP = (DATA / "models" / "heading.fsp").read_text()  # its heading
HEAD = "%  LAT  LON  X==EW  Y==NS  Z  SLIP  RAKE  TRUP  RISE {more}\n% ------------------\n"
ROWS = " 47.2500 12.5000 0.0 0.0 8.0 0.5 90 0.0 1.6 {a}\n 47.2500 12.5264 2.0 0.0 5.5 0.25 80 1.0 2.0 {b}\n 47.2 12.5 0 0 5 0 0 0 0"
PLAIN = HEAD.format(more="") + ROWS.format(a="", b="") + "\n"


def of_fault(tmp_path, text, **keys):
    """A scenario with the FSP file in a box at its epicentre."""
    (tmp_path / "event.fsp").write_text(text)
    source = {"kind": "fsp", "file": str(tmp_path / "event.fsp")} | keys
    place = {"geographic": {"longitude": 12.5, "latitude": 47.25}, "spacing": 800}
    return box(ROCK, source, origin=[-20000] * 3, size=[40000, 40000, 20000], **place)


def fault(*arguments, **keys):
    """The FiniteFault of an FSP file."""
    return source_files.build_all(of_fault(*arguments, **keys), source_files.any_solid)[0]


def test_a_fault_of_an_fsp_file_has_its_moment_place_and_times(tmp_path):
    reverse = fault(tmp_path, FSP + PLAIN)
    rigid = np.array([2800 * 3500.0**2, 2500 * 2900.0**2])  # of the layers in the heading
    assert reverse.final_moments() == pytest.approx(rigid * 4e6 * [0.5, 0.25], rel=1e-5)
    assert reverse.points[0] == pytest.approx([0, 0, -8000], abs=1)
    assert reverse.points[1] == pytest.approx([2000, 0, -5500], abs=3)
    assert reverse.onset == pytest.approx([1.6 / 24, 1 + 2 / 24])
    # it strikes north and dips 60 degrees east: M_zz = M0 sin 2 dip sin rake
    assert reverse.tensors[0][2, 2] > 0 and reverse.tensors[0][0, 0] < 0
    stated = FSP + HEAD.format(more="SF_MOMENT") + ROWS.format(a="1e16", b="3e16") + " 0\n"
    assert fault(tmp_path, stated).final_moments() == pytest.approx([1e16, 3e16], rel=1e-5)
    top = fault(tmp_path, FSP + PLAIN, subfaults="top")
    assert top.points[0] == pytest.approx([500, 0, -8000 - 866], abs=3)


def test_segments_of_an_fsp_file_have_their_own_planes(tmp_path):
    text = FSP.replace("Nsg = 1", "Nsg = 2") + "% MULTISEGMENT MODEL\n"
    for n, strike, dip, dx in ((1, 0, 90, 2), (2, 90, 45, 1)):
        text += f"% SEGMENT # {n}: STRIKE = {strike} deg DIP = {dip} deg\n% LEN = 4.00 km WID = 2.00 km\n"
        text += f"% Dx = {dx} km Dz = 2.00 km\n% Nsbfs = 2 subfaults\n" + PLAIN
    both = fault(tmp_path, text)
    assert len(both.points) == 4
    assert both.final_moments()[:2] == pytest.approx(2 * both.final_moments()[2:], rel=1e-6)
    assert both.tensors[2][2, 2] > 1e3 * abs(both.tensors[0][2, 2])  # a vertical dip slip has no M_zz


def test_an_fsp_file_that_lacks_something_is_refused_or_filled_from_its_heading(tmp_path):
    for old, new, message in (
        ("% Mech : STRK = 0", "% Mech : STRK = 999", "states no STRIKE or STRK"),
        ("Dx = 2.00 km", "", "states no DX or INDX"),
        (" 0.5 90", " x 90", ":28: not all of"),
        ("SLIP", "SLOP", "no column SLIP"),
        ("TRUP  RISE", "TRUP  TW1", "slip in time windows (TW1 ...) is not supported"),
    ):
        assert old in FSP + PLAIN
        refused(ScenarioError, message, craton.plan, of_fault(tmp_path, (FSP + PLAIN).replace(old, new)))
    filled = fault(tmp_path, (FSP + PLAIN).replace("TRUP  RISE", "TRUP  FALL"))
    assert filled.onset == pytest.approx([1.6 / 24, 1 + 1.6 / 24])


# --- tables of layers --------------------------------------------------------------------------------------------------------------------

OF_ROWS = [(0, 2400, 1100, 2100, 100, 50), (-800, 5900, 3400, 2700, 600, 300), (-15e3, 6600, 3800, 2900, 0, 0)]


def flat(path, **more):
    return {"kind": "layers", "file": str(path), "attenuation": {"band": [0.5, 5]}, **more}


def test_a_published_table_is_a_model_of_layers():
    for name in ("blanks.txt", "depth.csv", "metres.csv", "steps.nd"):
        table, names = flat(DATA / "models" / name), ("top", "vp", "vs", "rho", "qp", "qs")
        model = box(table).model
        rows = [[getattr(layer, n) or 0 for n in names] for layer in model.layers]
        assert np.allclose(rows, OF_ROWS, rtol=1e-9), name
        assert not any(layer.vp_gradient or layer.rho_gradient for layer in model.layers)
        assert model == box(model.model_dump(exclude_none=True)).model  # as it is written
        assert box(table | {"attenuation": None}).model.layers[0].qp is None


def test_tables_are_linear_between_rows_where_that_is_meant(tmp_path):
    """A .tvel, and depths in km by a key; a depth twice is a jump."""
    rows = "0 5.0 2.8 2.6\n2.0 6.0 3.4 2.7\n2.0 7.0 4.0 3.0\n4.0 8.0 4.5 3.2\n"
    (tmp_path / "a.tvel").write_text(f"one\ntwo\n{rows}")
    (tmp_path / "a.txt").write_text(f"depth vp vs rho\n{rows}")
    (tmp_path / "b.txt").write_text("depth vp vs rho\n0 5 2.8 2.6\n2 6 3.4 2.7\n")
    for model in (flat(tmp_path / "a.tvel"), flat(tmp_path / "a.txt", units="km")):
        vp, vs, rho = values(model, [(0, 0, z) for z in (-1000, -1999.9, -3000, -9000)])
        assert vp == pytest.approx([5500, 6000, 7500, 8000], abs=0.1)
        assert vs[0] == pytest.approx(3100) and rho[2] == pytest.approx(3100)
    assert values(flat(tmp_path / "b.txt", units="km"), [(0, 0, -1999)])[0] == 5000
    assert values(flat(tmp_path / "b.txt", units="km", linear=True), [(0, 0, -1000)])[0] == pytest.approx(5500)
    plain = {p.key for p in earth.problems(box(flat(tmp_path / "b.txt")).model, REGION)}
    assert plain == {"model"}  # km/s without a word is refused


def test_a_wrong_table_of_layers_is_refused(tmp_path):
    for text, words in (
        ("depth vp vs\n0 1 2\n", "no column rho"),
        ("vp vs rho\n1 2 3\n", "its columns are"),
        ("0 5 3 2\n1 5 3 2\n", "column '0' is unknown"),
        ("depth (s) vp vs rho\n0 1 2 3\n", "is a time, but a length is required"),
        ("depth vp vs rho\n3 5 3 2\n1 5 3 2\n", "must rise"),
        ("thickness vp vs rho\n0 5 3 2\n1 5 3 2\n", "a thickness is not above 0"),
        ("depth vp vs rho\n0 5000 -3000 2000\n", "-3000 m/s is out of range"),
        ("depth vp vs rho\n0 5000 nan 2000\n", "nan is not a finite number"),
    ):
        (tmp_path / "a.txt").write_text(text)
        refused(ScenarioError, words, box, flat(tmp_path / "a.txt"))
    refused(ScenarioError, "no file", box, flat(tmp_path / "b.txt"))


# --- sections and bare numbers -----------------------------------------------------------------------------------------------------------

SX, SZ = np.arange(0, 2001, 20.0), np.arange(-1000, 1, 20.0)
IN_SECTION = np.random.default_rng(1).uniform((0, 0, -1000), (2000, 0, 0), (50, 3))


def section(x, z):
    """vp, m/s, of a section that linear interpolation gives exactly."""
    return 1500 + 0.1 * x - 0.6 * z


def plane(model):
    """Scenario in the (x, z) plane."""
    return box(model, CENTRE | {"at": [500, -40]}, origin=[0, -1000], size=[2000, 1000], spacing=20)


def test_a_section_without_y_is_a_model_of_the_plane(tmp_path):
    fields = {n: (("z", "x"), section(SX, SZ[:, None]) * f) for n, f in (("vp", 1), ("vs", 0.5), ("rho", 0.8))}
    ds = xarray.Dataset(fields, {"x": SX, "z": SZ})
    by_depth = ds.assign_coords(z=-ds.z).rename(z="depth").transpose("x", "depth")
    by_depth.to_netcdf(tmp_path / "m.nc")
    for model in (
        ds.isel(x=slice(None, None, -1), z=slice(None, None, -1)),
        {"kind": "file", "file": str(tmp_path / "m.nc")},
    ):
        vp, vs, rho = earth.point_values(plane(model).model, IN_SECTION)
        assert vp == pytest.approx(section(IN_SECTION[:, 0], IN_SECTION[:, 2]), rel=1e-12)
        assert vs == pytest.approx(vp / 2) and rho == pytest.approx(0.8 * vp)
        remedies = [p.remedy for p in earth.problems(box(model).model, REGION) if "y runs" in p.message]
        assert remedies and "a domain in the (x, z) plane" in remedies[0]


FALLING = {"endian": "big", "spacing": [-20, -20], "origin": [2000, -1000]}
BIG = {"type": "float64", "endian": "big"}


@pytest.mark.parametrize("order, kind, more", [("xz", "<f4", {}), ("zx", ">f8", BIG), ("xz", ">f4", FALLING)])
def test_bare_numbers_with_a_shape_are_a_model(order, kind, more, tmp_path):
    """Marmousi's way: columns or rows of float32, in km/s; falling x and rising z by signs."""
    x, z = (SX[::-1], SZ) if "spacing" in more else (SX, SZ[::-1])
    vp = section(x[:, None], z).T / 1000 if order == "zx" else section(x[:, None], z) / 1000
    vp.astype(kind).tofile(tmp_path / "vp.bin")
    numbers = {"file": str(tmp_path / "vp.bin"), "order": order, "shape": list(vp.shape)}
    numbers |= {"spacing": [20, 20], "units": "km/s"} | more
    model = {"kind": "file", "properties": {"vp": numbers, "vs": 0, "rho": 1000}}
    scenario = plane(model)
    craton.plan(scenario)
    vp, vs, _ = earth.point_values(scenario.model, IN_SECTION)
    assert vp == pytest.approx(section(IN_SECTION[:, 0], IN_SECTION[:, 2]), rel=1e-6) and not vs.any()
    assert loads(dumps(scenario)) == scenario
    for key, value, words in (
        ("shape", [101, 52], "numbers of float"),
        ("spacing", [20], "1 values for the 2 axes of order"),
        ("spacing", [20, 0], "a spacing of 0 m"),
        ("order", None, "bare numbers need order"),
        ("units", None, "is it in km/s"),
        ("endian", "little" if kind[0] == ">" else "big", "vp is"),
    ):
        wrong = edited(model, **{f"properties__vp__{key}": value})
        refused(ScenarioError, words, lambda model: craton.plan(plane(model)), wrong)


def test_bare_numbers_fill_a_box(tmp_path):
    x, z = np.arange(0, 4001, 500.0), np.arange(0, -4001, -500.0)
    vs = linear(x[:, None], x[::-1, None, None], z)  # y falling, z fastest
    vs.astype("<f4").tofile(tmp_path / "vs.raw")
    numbers = {"file": str(tmp_path / "vs.raw"), "order": "yxz", "shape": [9, 9, 9], "spacing": [-500, 500, 500]}
    properties = {"vp": 5000, "vs": numbers | {"origin": [4000, 0, 0]}, "rho": 2500}
    assert values({"kind": "file", "properties": properties})[1] == pytest.approx(linear(*PLACES.T), rel=1e-6)


# --- what plans say of a model -----------------------------------------------------------------------------------------------------------

WATER, SEDIMENT = {"vp": 1500, "vs": 0, "rho": 1000}, {"vp": 3000, "vs": 1700, "rho": 2300}
both = pytest.mark.parametrize("method", ["fd", pytest.param("sem", marks=pytest.mark.long)])


def planned(method, model, top=0):
    """The plan of either method; the domain ends at an elevation."""
    spacing = 100 if method == "fd" else 1000
    return craton.plan(box(model, size=[4000, 4000, 4000 + top], spacing=spacing, method=method))


@both
def test_the_first_layer_fills_the_ground_above_its_top(method):
    """A first layer at top = 0 below hills of 600 m: the same as one at their height, in both methods."""
    plans, ground = [], {"topography": {"x": [0, 4000], "z": [300, 600]}}
    for top in (0, 600):
        layers = [{"vp": 5000, "vs": 2900, "rho": 2700}, {"top": -2000, "vp": 6300, "vs": 3640, "rho": 2670}]
        model = {"kind": "layers", "layers": [layers[0] | {"top": top}, layers[1]]} | ground
        plans.append(planned(method, model, 1000))
        assert earth.point_values(box(model).model, [(3900, 0, 550), (0, 0, -3000)])[0].tolist() == [5000, 6300]
    assert plans[0].dt == plans[1].dt and plans[0].warnings == plans[1].warnings


def test_the_plan_says_how_water_thinner_than_a_cell_is_represented():
    thin, deep = ({"kind": "layers", "layers": [{"top": 0, **WATER}, {"top": z, **SEDIMENT}]} for z in (-30, -300))
    slope = {"x": [0, 4000], "y": [0, 4000], "z": [[-200, 0]] * 2}
    sea = {"kind": "homogeneous", **SEDIMENT, "topography": slope, "water": {"level": -1}}

    def notes_of(*arguments):
        rows = [row for rows in planned(*arguments).notes.values() for row in rows]
        return {n: text for n, text, *_ in rows if "elements" in text or n == "thin water"}

    assert notes_of("fd", thin)["thin water"].startswith("30 m at least, less than a cell of 100 m; a cell")
    assert "4 m at least, less than a cell of 100 m over 50% of its area" in notes_of("fd", sea, 200)["thin water"]
    assert "thin water" not in notes_of("fd", deep)
    assert "the thinnest 39 m high" in notes_of("sem", sea | {"topography": -40})["fluid"]


@both
def test_qs_of_a_fluid_is_ignored_and_no_part_of_the_fit(method):
    """The plan of a sea with any Qs is that of one without, and says that it is ignored."""
    plans, rock = [], {"top": -1000, **SEDIMENT, "qp": 120, "qs": 60}
    for more in ({}, {"qs": 0.01}, {"qs": 5000}):
        layers = [{"top": 0, **WATER, "qp": 500} | more, rock]
        plan = planned(method, {"kind": "layers", "layers": layers, "attenuation": {"band": [0.1, 2]}})
        warnings = [w for w in plan.warnings if "model.layers.0" in w]
        assert warnings == (["model.layers.0.qs: Qs of a fluid is ignored"] if more else [])
        rows = [row for rows in plan.notes.values() for row in rows if "mechanisms" in str(row)]
        plans.append((plan.dt, str(rows)))
    assert plans[0] == plans[1] == plans[2]
