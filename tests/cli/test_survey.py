"""Wavelets, mechanisms, receivers and filters against quadrature, FFT, closed forms and ObsPy; and what is said of bad ones."""

import importlib.util
import math
import pickle
import re
from pathlib import Path
from types import SimpleNamespace as Spec

import numpy as np
import pytest

from craton.errors import ScenarioError
from craton.scenario import loads
from craton.survey import channels, filters, problems, receivers, source_files, sources, warnings, wavelets

SPECS = {
    "gaussian": Spec(kind="gaussian", delay=None, tau=0.045),
    "ricker": Spec(kind="ricker", delay=0.3, frequency=4.0),
    "gaussian_derivative": Spec(kind="gaussian_derivative", delay=-0.1, tau=0.08),
    "brune": Spec(kind="brune", delay=0.2, corner_frequency=1.5),
    "kuepper1": Spec(kind="kuepper", delay=0.1, duration=0.5, extrema=1),
    "kuepper2": Spec(kind="kuepper", delay=None, duration=0.5, extrema=2),
    "kuepper3": Spec(kind="kuepper", delay=None, duration=0.5, extrema=3),
}
AREAS = {"gaussian": 1.0, "ricker": 0.0, "gaussian_derivative": 0.0, "brune": 1.0, "kuepper2": 0.0}
PULSES = ("gaussian", "brune", "kuepper1")
SCENARIO = """
title = "t"
[domain]
origin = [0, 0, -5000]
size = [10_000, 8000, 5000]
spacing = 100
[model]
kind = "homogeneous"
vp = 5000
vs = 2900
rho = 2600
[time]
duration = 5
"""
DOUBLE_COUPLE = """
[[source]]
kind = "moment_tensor"
at = [2000, 4000, -2500]
strike = 0
dip = 90
rake = 0
moment = 1e18
wavelet = { kind = "gaussian", tau = 0.1 }
"""
STATION = '[[receivers]]\nname = "R1"\nat = [5000, 5000, 0]\n'


def scenario(*parts, file="scenario"):
    return loads(SCENARIO + "".join(parts), file=str(file))


def fine(wavelet):
    """A grid that holds the whole wavelet at 1e-10 of its peak or less, fine enough for every spectrum here."""
    length = wavelet.end - wavelet.start
    t = np.linspace(wavelet.start - 3 * length, wavelet.end + 5 * length, 400_001)
    return t, wavelet(t)


# --- wavelets ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
def test_wavelet_area_and_peak(name):
    w = wavelets.build(SPECS[name])
    t, s = fine(w)
    assert w.area == pytest.approx(np.trapezoid(s, t), abs=1e-7 * w.peak)
    assert w.area == pytest.approx(AREAS.get(name, w.area), abs=1e-15)
    assert np.abs(s).max() == pytest.approx(w.peak, rel=1e-6)
    assert w.is_pulse == (name in PULSES or name == "kuepper3")


@pytest.mark.parametrize("name", SPECS)
def test_wavelet_frequencies(name):
    w = wavelets.build(SPECS[name])
    t, s = fine(w)
    f, amplitude = np.fft.rfftfreq(len(t), t[1] - t[0]), np.abs(np.fft.rfft(s))
    step = f[1]
    top = f[np.argmax(f * amplitude if name in PULSES else amplitude)]
    assert w.peak_frequency == pytest.approx(top, abs=step)
    # Brune's 1/f^2 tail loses 1e-3 of the area above the grid's Nyquist frequency; the others decay fast.
    cumulative = np.cumsum(amplitude) - 0.5 * amplitude - 0.5 * amplitude[0]
    part = np.interp(w.f95, f, cumulative) / (
        cumulative[-1] if name != "brune" else 0.5 * math.pi * 1.5 / (step * (t[1] - t[0]))
    )
    assert part == pytest.approx(0.95, abs=2e-3)


@pytest.mark.parametrize("name", SPECS)
def test_wavelet_start_and_end(name):
    w = wavelets.build(SPECS[name])
    t, s = fine(w)
    assert np.abs(s[t < w.start]).max() <= 1.0001e-8 * w.peak
    assert np.abs(s[t > w.end]).max() <= 1.0001e-4 * w.peak
    assert np.abs(s[(t > w.start) & (t < w.start + 0.02 * (w.end - w.start))]).max() > 1e-8 * w.peak, (
        "starts needlessly early"
    )
    assert f"f95 {w.f95:.3g} Hz" in w.describe()


def test_wavelets_are_the_functions_of_the_field():
    t = np.linspace(-1, 2, 301)
    w = wavelets.build(SPECS["gaussian"])
    assert np.allclose(w(t), np.exp(-0.5 * (t / 0.045) ** 2) / (0.045 * math.sqrt(2 * math.pi)), rtol=1e-13)
    r = wavelets.build(SPECS["ricker"])
    assert r(0.3) == 1.0
    assert r(np.array([0.3 + 1 / (math.sqrt(2) * math.pi * 4.0)])) == pytest.approx(0.0, abs=1e-15)
    d = wavelets.build(SPECS["gaussian_derivative"])
    slope = np.gradient(np.exp(-0.5 * ((t + 0.1) / 0.08) ** 2), t[1] - t[0])
    assert np.allclose(d(t) / d.peak, slope / np.abs(slope).max(), atol=0.03)
    b = wavelets.build(SPECS["brune"])
    assert b(0.2 + 1 / (3 * math.pi)) == pytest.approx(b.peak)
    assert (b(t[t < 0.2]) == 0).all()
    assert b.f95 == pytest.approx(1.5 * math.tan(0.475 * math.pi))


@pytest.mark.parametrize("extrema", [1, 2, 3, 6])
def test_kuepper_has_its_extrema_and_is_smooth_at_both_ends(extrema):
    w = wavelets.build(Spec(kind="kuepper", delay=0.0, duration=2.0, extrema=extrema))
    s = w(np.linspace(0, 2, 20_001))
    slope = np.diff(s)
    assert np.count_nonzero(slope[1:] * slope[:-1] < 0) == extrema
    assert abs(slope[0]) < 1e-6
    assert w(np.array([-0.1, 2.1])) == pytest.approx([0, 0], abs=1e-15)


def test_wavelets_against_the_reference_module():
    candidates = [p / "shared/references/wavelets.py" for p in Path(__file__).parents]
    path = next((p for p in candidates if p.exists()), None)
    if path is None:
        pytest.skip("shared/references is not beside this checkout")
    spec = importlib.util.spec_from_file_location("reference_wavelets", path)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    t = np.linspace(-1, 2, 1001)
    assert np.allclose(
        wavelets.build(SPECS["gaussian"])(t), reference.gaussian(0.045, t0=0.0)(t), rtol=1e-12, atol=1e-12
    )
    assert np.allclose(wavelets.build(SPECS["ricker"])(t), reference.ricker(4.0, t0=0.3)(t), rtol=1e-12, atol=1e-12)
    derivative = reference.Wavelet(0.08, -0.1, 1)(t)
    assert np.allclose(
        wavelets.build(SPECS["gaussian_derivative"])(t), derivative / reference.Wavelet(0.08, 0, 1)(-0.08), atol=1e-12
    )


def test_samples_reproduce_the_wavelet_they_were_taken_from(tmp_path):
    exact = wavelets.build(SPECS["ricker"])
    times = np.linspace(-0.4, 1.0, 281)
    np.savetxt(tmp_path / "s.txt", np.c_[times, exact(times)], header="time value", delimiter=", ")
    w = wavelets.build(Spec(kind="samples", delay=0.5, file=str(tmp_path / "s.txt"), times=None, values=None))
    t = np.linspace(-1, 2, 3001)
    assert np.abs(w(t) - exact(t - 0.5)).max() < 1e-4
    assert (w.peak_frequency, w.f95) == (pytest.approx(4.0, rel=0.01), pytest.approx(exact.f95, rel=0.01))
    assert not w.is_pulse
    assert w.start == pytest.approx(exact.start + 0.5, abs=0.006)
    assert "281 samples of s.txt" in w.describe()


def test_unevenly_sampled_pulse():
    times = np.sort(np.r_[0.0, 1.0, np.random.default_rng(1).uniform(0, 1, 60)])
    w = wavelets.build(Spec(kind="samples", delay=None, file=None, times=times, values=np.sin(math.pi * times) ** 2))
    assert w.area == pytest.approx(0.5, abs=1e-3)
    assert w(np.array([-0.1, 0.5, 1.1])) == pytest.approx([0, 1, 0], abs=1e-3)
    assert w.is_pulse


@pytest.mark.parametrize(
    "text, says",
    [
        ("0 1\n1 2\n", "2 samples are too few"),
        ("0 0\n1 1\n1 2\n2 0\n", "time 1 s is not after"),
        ("0 0\n1 nan\n2 2\n3 0\n", "sample 2 is not finite"),
        ("0 0\n1 0\n2 0\n3 0\n", "all samples are zero"),
        ("t v\n0 0\n1 x\n2 0\n3 0\n", "line 3 is not a time and a value"),
    ],
)
def test_bad_sample_files(tmp_path, text, says):
    (tmp_path / "w.txt").write_text(text)
    source = DOUBLE_COUPLE.replace('{ kind = "gaussian", tau = 0.1 }', '{ kind = "samples", file = "w.txt" }')
    (problem,) = problems(scenario(source, file=tmp_path / "s.toml"))
    assert problem.key == "source.0.wavelet.file"
    assert says in problem.message and "w.txt" in problem.message


# --- sources -----------------------------------------------------------------------------------------------------------------------


def random_mechanisms(n=25):
    rng = np.random.default_rng(7)
    return np.c_[rng.uniform(0, 360, n), rng.uniform(2, 88, n), rng.uniform(-178, 178, n)]


def rtp(tensor):
    """(rr, tt, pp, rt, rp, tp) of an east-north-up tensor: r up, theta south, phi east."""
    return (tensor[2, 2], tensor[1, 1], tensor[0, 0], -tensor[1, 2], tensor[0, 2], -tensor[0, 1])


def same_plane(a, b, tolerance):
    turn = (np.asarray(a) - np.asarray(b) + 180) % 360 - 180
    return np.abs(turn).max() < tolerance


def test_strike_slip_convention():
    tensor = sources.double_couple(0, 90, 0, 1e18)
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = 1e18
    assert np.array_equal(tensor, expected)
    # Thrust to the north and south: shortened along y, raised.
    thrust = sources.double_couple(90, 45, 90, 1.0)
    assert thrust == pytest.approx(np.diag([0.0, -1.0, 1.0]), abs=1e-15)


def test_tensors_of_mechanisms_against_obspy():
    mopad = pytest.importorskip("obspy.imaging.scripts.mopad")
    for strike, dip, rake in random_mechanisms():
        mine = sources.double_couple(strike, dip, rake, 3.0)
        ned = np.asarray(mopad.MomentTensor((strike, dip, rake, 3.0), system="NED").get_M(system="NED"))
        turn = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
        assert mine == pytest.approx(turn @ ned @ turn.T, abs=1e-6)
        assert sources.scalar_moment(mine) == pytest.approx(3.0, rel=1e-12)
        assert np.trace(mine) == pytest.approx(0, abs=1e-12)


def test_nodal_planes_against_obspy():
    beachball = pytest.importorskip("obspy.imaging.beachball")
    for strike, dip, rake in random_mechanisms():
        planes = sources.nodal_planes(sources.double_couple(strike, dip, rake, 1e16))
        auxiliary = beachball.aux_plane(strike, dip, rake)
        for given, tolerance in (((strike, dip, rake), 1e-6), (auxiliary, 1e-3)):
            assert any(same_plane(given, plane, tolerance) for plane in planes), (given, planes)


def test_nodal_planes_of_general_tensors_against_obspy():
    mopad = pytest.importorskip("obspy.imaging.scripts.mopad")
    rng = np.random.default_rng(3)
    for _ in range(10):
        a = rng.standard_normal((3, 3))
        tensor = a + a.T
        theirs = mopad.MomentTensor(list(rtp(tensor)), system="USE").get_fps()
        mine = sources.nodal_planes(tensor)
        for plane in theirs:
            assert any(same_plane(plane, p, 1e-2) for p in mine), (theirs, mine)


SPECIAL = [(0, 90, 0), (30, 90, 0), (200, 90, 180), (0, 45, 90), (90, 45, -90), (120, 90, 90), (10, 0, 40)]


@pytest.mark.parametrize("strike, dip, rake", SPECIAL)
def test_nodal_planes_of_special_mechanisms_give_the_tensor_back(strike, dip, rake):
    tensor = sources.double_couple(strike, dip, rake, 1.0)
    planes = sources.nodal_planes(tensor)
    for plane in planes:
        assert sources.double_couple(*plane) == pytest.approx(tensor, abs=1e-9)
        assert 0 <= plane[0] < 360 and 0 <= plane[1] <= 90 and -180 < plane[2] <= 180
    assert planes == tuple(sorted(planes))


def test_no_planes_without_shear():
    assert sources.nodal_planes(1e15 * np.eye(3)) is None
    assert sources.parts(1e15 * np.eye(3)) == (1.0, 0.0)
    assert sources.parts(-np.eye(3)) == (-1.0, 0.0)
    assert sources.parts(np.diag([-1.0, -1.0, 2.0])) == pytest.approx((0.0, 0.0))
    assert sources.parts(sources.double_couple(20, 30, 40)) == pytest.approx((0.0, 1.0))


def test_magnitudes():
    # Hanks & Kanamori: Mw 7.0 is 3.98e19 N m; the Chile earthquake of 1960 had about 2e23 N m and Mw 9.5.
    assert sources.magnitude_to_moment(7.0) == pytest.approx(3.981e19, rel=1e-3)
    assert sources.moment_magnitude(2e23) == pytest.approx(9.47, abs=0.005)
    assert sources.moment_magnitude(sources.magnitude_to_moment(5.3)) == pytest.approx(5.3, abs=1e-12)


def test_sources_of_a_scenario():
    built = source_files.build_all(
        scenario(
            DOUBLE_COUPLE,
            """
        [[source]]
        kind = "moment_tensor"
        name = "general"
        at = { x = 1000, y = 1000, depth = 1000 }
        tensor = { xx = 1e15, yz = -2e15 }
        wavelet = { kind = "ricker", frequency = 2 }
        [[source]]
        kind = "moment_tensor"
        at = [1000, 1000, -1000]
        strike = 10
        dip = 20
        rake = 30
        magnitude = 5
        wavelet = { kind = "brune", corner_frequency = 1 }
        [[source]]
        kind = "explosion"
        at = [1000, 1000, -1000]
        moment = 1e15
        wavelet = { kind = "gaussian", tau = 0.1 }
        [[source]]
        kind = "force"
        at = [1000, 1000, 0]
        force = [0, 3e9, -4e9]
        wavelet = { kind = "kuepper", duration = 0.3 }
    """,
        )
    )
    assert [s.name for s in built] == ["source 1", "general", "source 3", "source 4", "source 5"]
    assert built[0].xyz == (2000.0, 4000.0, -2500.0) and built[1].xyz == (1000.0, 1000.0, -1000.0)
    assert np.array_equal(built[1].moment, [[1e15, 0, 0], [0, 0, -2e15], [0, -2e15, 0]])
    assert sources.scalar_moment(built[2].moment) == pytest.approx(10**16.6)
    assert np.array_equal(built[3].moment, 1e15 * np.eye(3))
    assert built[4].moment is None and np.array_equal(built[4].force, [0, 3e9, -4e9])
    lines = [sources.describe(s) for s in built]
    assert "M0 1e+18 N m, Mw 5.93" in lines[0] and "0/90/0 and 90/90/-180" in lines[0].replace(
        "90/90/180", "90/90/-180"
    )
    assert "the final moment is zero" in lines[1] and "Mw 5.00" in lines[2] and "explosion" in lines[3]
    assert "peak 5e+09 N" in lines[4] and "kuepper" in lines[4]
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize(
    "wavelet, start",
    [
        ("tau = 0.1", -0.1 * math.sqrt(2 * math.log(1e8))),
        ("tau = 0.1, delay = 0.4", 0.0),
        ("tau = 0.1, delay = 5", 0.0),
        ("tau = 0.1, delay = 0", -0.1 * math.sqrt(2 * math.log(1e8))),
        ("tau = 0.1, delay = 0.1", 0.1 - 0.1 * math.sqrt(2 * math.log(1e8))),
    ],
)
def test_start_time(wavelet, start):
    s = scenario(DOUBLE_COUPLE.replace("tau = 0.1", wavelet))
    built = source_files.build_all(s)
    assert sources.start_time(s, built) == pytest.approx(start, abs=1e-12)
    assert sources.start_time(loads(SCENARIO + DOUBLE_COUPLE, ["time.start=-2"]), built) == -2.0
    assert len(warnings(s, built, sources.start_time(s, built))) == ("delay = 5" in wavelet)


def test_warnings_about_wavelets():
    late = DOUBLE_COUPLE.replace("tau = 0.1", "tau = 0.1, delay = 4.9")
    s = scenario(late, DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', '"ricker", frequency = 5'))
    texts = warnings(s, source_files.build_all(s), 0.0)
    assert len(texts) == 3
    assert "source 1: its wavelet ends at 5.33 s, after the end of the run at 5 s" in texts[0]
    assert "source 2: at the start of the run, 0 s, the wavelet has already reached 100 % of its peak" in texts[1]
    assert "the final moment is zero" in texts[2]


PULSE = '"samples", times = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], values = [0, 0.3, 1, 1.4, 0.9, 0.2, 0]'


def warned(*parts, start=None):
    s = scenario(*parts)
    built = source_files.build_all(s)
    return warnings(s, built, sources.start_time(s, built) if start is None else start), built


@pytest.mark.parametrize("wavelet", [PULSE, '"kuepper", duration = 0.5, extrema = 3'])
def test_an_area_that_is_not_one_is_told_and_normalized(wavelet):
    """The final moment is the area times M0: told with its value, and made M0 by normalize."""
    texts, (built,) = warned(DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', wavelet))
    (text,) = texts
    assert f"area of {built.wavelet.area:.4g} instead of 1" in text and "normalize = true" in text
    assert f"{built.wavelet.area * 1e18:.4g} N m" in text
    wavelet += ", normalize = true"
    texts, (built,) = warned(DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', wavelet))
    t, values = fine(built.wavelet)
    assert not texts and built.wavelet.area == 1
    assert np.trapezoid(values, t) == pytest.approx(1, rel=1e-6)
    # of samples, the peak is that of their spline at twice as many times
    assert np.abs(values).max() == pytest.approx(built.wavelet.peak, rel=2e-3)
    assert "M0 1e+18" in sources.describe(built)


def test_a_force_of_any_area_is_no_moment():
    force = '[[source]]\nkind = "force"\nat = [5000, 4000, -1000]\nforce = [0, 0, 1e9]\n'
    assert warned(force + f"wavelet = {{ kind = {PULSE} }}\n")[0] == []


def test_no_area_is_not_normalized():
    wavelet = '"kuepper", duration = 0.5, normalize = true'
    found = problems(scenario(DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', wavelet)))
    assert [p.key for p in found] == ["source.0.wavelet.normalize"] and "no area" in found[0].message


def test_samples_that_begin_or_end_with_a_jump_are_told_what_helps():
    wavelet = PULSE.replace("[0, 0.3,", "[1, 0.3,").replace("0.2, 0]", "0.2, 0.7]")
    at = DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', wavelet + ", normalize = true")
    texts, _ = warned(at)
    assert len(texts) == 2 and "first sample" in texts[0] and "rise from zero" in texts[0]
    assert "last sample" in texts[1] and not any("delay" in text for text in texts)
    longer = wavelet.replace("times = [0,", "times = [-0.1, 0,").replace("0.6]", "0.6, 0.7]")
    longer = longer.replace("values = [1,", "values = [0, 1,").replace("0.7 ]", "0.7, 0]")
    longer = longer.replace("0.2, 0.7]", "0.2, 0.7, 0]") + ", normalize = true"
    assert warned(DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', longer))[0] == []


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.2345678])
@pytest.mark.parametrize("wavelet", ['"gaussian", tau = 0.1', '"ricker", frequency = 3', PULSE])
def test_both_remedies_of_a_run_that_begins_within_the_wavelet_help(wavelet, delay):
    def cut(delay, start):
        spec = f"{wavelet}, delay = {delay!r}"
        texts, _ = warned(DOUBLE_COUPLE.replace('"gaussian", tau = 0.1', spec), start=start)
        return next((text for text in texts if "already reached" in text), None)

    text = cut(delay, 0.47)
    start = float(re.search(r"start at (\S+) s", text)[1])
    more = float(re.search(r"by (\S+) s more", text)[1])
    assert start < 0.47 and more > 0
    assert cut(delay, start) is None and cut(delay + more, 0.47) is None


# --- receivers ---------------------------------------------------------------------------------------------------------------------


def test_lines_and_grids():
    found = receivers.build(
        scenario(
            DOUBLE_COUPLE,
            STATION,
            """
        [[receivers]]
        name = "L"
        line = { from = [0, 0, 0], to = { x = 3000, y = 6000, depth = 300 }, count = 4 }
        [[receivers]]
        name = "G"
        grid = { x = [0, 1000, 3], y = [2000, 3000, 2], depth = 50 }
    """,
        )
    )
    assert found.names == ["R1", "L1", "L2", "L3", "L4", "G1", "G2", "G3", "G4", "G5", "G6"] and len(found) == 11
    assert found.xyz[1:5] == pytest.approx(
        np.array([[0, 0, 0], [1000, 2000, -100], [2000, 4000, -200], [3000, 6000, -300]])
    )
    grid = [[x, y, -50] for y in (2000, 3000) for x in (0, 500, 1000)]
    assert found.xyz[5:] == pytest.approx(np.array(grid))


@pytest.mark.parametrize(
    "text",
    [
        "name,x,y,z\nA,100,200,-30\nB,1e3,2000,0\n",
        "\ufeffY; X; NAME; Depth\n\n# a comment\n200; 100; A; 30\n2000; 1 km; B; 0\n",
        'name\tx\ty\tz\tnote\n"A"\t100\t200\t-30\tfirst\nB\t1000\t"2 km"\t0\t\n',
    ],
)
def test_receiver_files(tmp_path, text):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    found = receivers.build(scenario(DOUBLE_COUPLE, '[[receivers]]\nfile = "r.csv"\n', file=tmp_path / "s.toml"))
    assert found.names == ["A", "B"]
    assert np.array_equal(found.xyz, [[100, 200, -30], [1000, 2000, 0]])


def test_no_receivers_at_all():
    found = receivers.build(scenario(DOUBLE_COUPLE))
    assert found.names == [] and found.xyz.shape == (0, 3)


@pytest.mark.parametrize(
    "text, says",
    [
        ("name,x,y\nA,1,2\n", "exactly one of the columns z and depth"),
        ("name,x,z\nA,1,2\n", "no column y; its columns are name, x, z"),
        ("name,x,y,z\n", "no receivers"),
        ("name,x,y,z\nA,1,2\n", "line 2 has 3 columns"),
        ("name,x,y,z\n\nA,1,2,deep\n", 'r.csv:3: "deep" is not a number'),
        ("name,x,y,z\nA,1,2,nan\n", "not a finite number"),
        ("name,x,y,z\nA,1,2,-3\n,1,2,-3\n", "r.csv:3: the name is empty"),
        ("name,x,y,z\nA,1,2,-3\nA,1,2,-4\n", 'the name "A" is already taken'),
    ],
)
def test_bad_receiver_files(tmp_path, text, says):
    (tmp_path / "r.csv").write_text(text)
    wrong = scenario(DOUBLE_COUPLE, '[[receivers]]\nfile = "r.csv"\n', file=tmp_path / "s.toml")
    (problem,) = problems(wrong)
    assert problem.key == "receivers.0.file" and says in problem.message
    with pytest.raises(ScenarioError, match="receivers.0.file"):
        receivers.build(wrong)


def test_channels():
    found = channels.channels(2, ("displacement", "velocity", "pressure"))
    assert found[0] == channels.Channel(0, "velocity", "E", True)
    assert [(c.receiver, c.quantity, c.component) for c in found[2:4]] == [(0, "velocity", "Z"), (1, "velocity", "E")]
    assert found[6:] == [channels.Channel(0, "pressure", "P", False), channels.Channel(1, "pressure", "P", False)]
    assert len(channels.channels(3, ("strain", "strain_rate"))) == 18


# --- problems ----------------------------------------------------------------------------------------------------------------------


def test_nothing_wrong_with_points_on_the_faces():
    corner = STATION.replace("[5000, 5000, 0]", "[10_000, 8000, -5000]").replace("R1", "R2")
    assert problems(scenario(DOUBLE_COUPLE.replace("[2000, 4000, -2500]", "[0, 0, 0]"), STATION, corner)) == []


@pytest.mark.parametrize(
    "at, says",
    [
        ("[2000, 4000, 2500]", "z = 2500 m is in the air, above the free surface at z = 0 m"),
        ("{ x = 2000, y = 4000, depth = -10 }", "z = 10 m is in the air"),
        ("[2000, 4000, -5001]", "z = -5001 m is outside the domain, z from -5000 to 0 m"),
        ("[-1, 4000, -10]", "x = -1 m is outside the domain, x from 0 to 10000 m"),
        ("[0, 48_000, -50_000]", "z = -50000 m is outside"),
    ],
)
def test_source_outside(at, says):
    (problem,) = problems(scenario(DOUBLE_COUPLE.replace("[2000, 4000, -2500]", at), STATION))
    assert problem.key == "source.0.at" and says in problem.message and problem.remedy


def test_top_that_is_no_free_surface():
    text = (SCENARIO + DOUBLE_COUPLE + STATION).replace("5000, 0]", "5000, 1]") + '[boundaries]\ntop = "cpml"\n'
    (problem,) = problems(loads(text))
    assert problem.key == "receivers.0.at" and "above the top of the domain" in problem.message


def test_all_problems_at_once(tmp_path):
    found = problems(
        scenario(
            DOUBLE_COUPLE,
            """
        [[source]]
        kind = "moment_tensor"
        at = [-5, 0, 0]
        tensor = { xx = 0 }
        wavelet = { kind = "samples", file = "missing.txt" }
        [[receivers]]
        name = "L"
        line = { from = [0, 0, 0], to = [20_000, 0, 0], count = 5 }
        [[receivers]]
        name = "G"
        grid = { x = [0, 1000, 3], y = [2000, 9000, 2], z = 0 }
        [[receivers]]
        name = "L3"
        at = [0, 0, 0]
        [[receivers]]
        file = "nowhere.csv"
    """,
            file=tmp_path / "s.toml",
        )
    )
    by_key = {p.key: p.message for p in found}
    assert len(found) == len(by_key) == 7
    assert set(by_key) == {
        "source.1.at",
        "source.1.tensor",
        "source.1.wavelet.file",
        "receivers.0.line",
        "receivers.1.grid",
        "receivers.2.name",
        "receivers.3.file",
    }
    assert by_key["receivers.0.line"].startswith('"L4": x = 15000 m')
    assert "missing.txt" in by_key["source.1.wavelet.file"] and "No such file" in by_key["source.1.wavelet.file"]
    assert "nowhere.csv" in by_key["receivers.3.file"]


# --- filters -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frequency", [0.0, 0.1, 0.3, 0.5, 0.7])
def test_half_sample_shift(frequency):
    """Any frequency up to 0.7 of Nyquist (0.5 asked), both phases, in the middle of the signal."""
    n, t = np.arange(200), np.arange(60, 140) + 0.5
    waves = np.exp(1j * math.pi * frequency * n)
    shifted = filters.resample(np.stack([waves.real, waves.imag], axis=1), 0.0, 1.0, t)
    exact = np.exp(1j * math.pi * frequency * t)
    assert np.abs(shifted - np.stack([exact.real, exact.imag], axis=1)).max() < 1e-6


def test_half_sample_shift_of_a_wavelet_from_its_very_beginning():
    w = wavelets.build(Spec(kind="ricker", delay=0.6, frequency=4.0))
    dt = 0.02
    n = np.arange(100)
    shifted = filters.resample(w((n + 1) * dt), dt, dt, (n + 0.5) * dt)
    assert np.abs(shifted - w((n + 0.5) * dt)).max() < 1e-6


def test_end_of_a_signal_that_does_not_die_away():
    """The last samples, where half the kernel has no data: a displacement that keeps growing, and one with a static offset."""
    n = np.arange(300)
    for signal in (lambda t: 1e-3 * t, lambda t: np.tanh((t - 150) / 10)):
        shifted = filters.resample(signal(n + 1.0), 1.0, 1.0, n[50:] + 0.5)
        assert np.abs(shifted - signal(n[50:] + 0.5)).max() < 1e-6


@pytest.mark.parametrize("ratio", [4, 10])
def test_decimation_passes_and_stops(ratio):
    n = np.arange(400 * ratio)
    t = np.arange(100, 300) * ratio + 0.37
    nyquist = 0.5 / ratio
    for part in (0.0, 0.2, 0.5, 0.7, 1.0, 1.1, 1.7, 2.0, 3.3):
        phase = np.exp(2j * math.pi * part * nyquist * n)
        out = filters.resample(np.stack([phase.real, phase.imag], axis=1), 0.0, 1.0, t, cutoff=0.8 * nyquist)
        exact = np.exp(2j * math.pi * part * nyquist * t) if part <= 0.7 else np.zeros(len(t))
        assert np.abs(out[:, 0] + 1j * out[:, 1] - exact).max() < (1e-3 if part <= 0.7 else 1e-4), part


def test_resample_is_one_answer_for_every_blocking_and_shape(monkeypatch):
    samples = np.random.default_rng(0).standard_normal((150, 4, 3)).astype(np.float32)
    times = np.linspace(-3.0, 149.0, 311)
    whole = filters.resample(samples, 0.0, 1.0, times)
    assert whole.shape == (311, 4, 3) and whole.dtype == np.float32
    monkeypatch.setattr(filters, "BLOCK_TIMES", 7)
    monkeypatch.setattr(filters, "BLOCK_VALUES", 100)
    assert filters.resample(samples, 0.0, 1.0, times) == pytest.approx(whole, abs=1e-6)
    assert filters.resample(samples[:, 2, 1], 0.0, 1.0, times[::-1]) == pytest.approx(whole[::-1, 2, 1], abs=1e-6)
    assert filters.resample(samples, 0.0, 1.0, []).shape == (0, 4, 3)
    assert filters.resample(samples[:0], 0.0, 1.0, []).shape == filters.integrate(samples[:0], 1.0).shape == (0, 4, 3)
    assert filters.resample(samples[:, :0], 0.0, 1.0, times).shape == (311, 0, 3)


def test_samples_that_are_not_finite_stay_where_they_are():
    samples = np.ones((200, 2))
    samples[150:, 1] = np.inf
    out = filters.resample(samples, 0.0, 1.0, np.arange(199) + 0.5)
    assert np.isfinite(out[:, 0]).all()
    assert np.isfinite(out[:134, 1]).all() and np.isnan(out[150:, 1]).all()
    assert out[40:134, 1] == pytest.approx(1.0, abs=1e-9)


def test_resample_refuses():
    with pytest.raises(ValueError, match="after the last one"):
        filters.resample(np.zeros(10), 0.0, 1.0, [11.5])
    with pytest.raises(ValueError, match="positive"):
        filters.resample(np.zeros(10), 0.0, 0.0, [1.0])
    with pytest.raises(ValueError, match="after the last one"):
        filters.resample(np.zeros(0), 0.0, 1.0, [0.5])


def test_integral_is_known_at_the_end_of_each_step():
    dt, n = 0.01, np.arange(500)
    velocity = np.stack([np.cos((n + 0.5) * dt), np.full(500, 2.0)], axis=1)
    displacement = filters.integrate(velocity, dt)
    end = (n + 1) * dt
    assert displacement[:, 0] == pytest.approx(np.sin(end), abs=1e-5)
    assert displacement[:, 1] == pytest.approx(2 * end, rel=1e-13)
    assert filters.integrate(velocity.astype(np.float32)[:, :, None], dt).dtype == np.float32


def test_channels_are_the_same_listed_and_counted():
    """By their numbers, in order and as arrays: several shots, quantities of 3, 1 and no components in a plane, fibres behind."""
    along = channels.Channel(0, "fibre_strain_rate", "", True, terms=((0, 0, 1.0),))
    counted = channels.channels(4, ("velocity", "pressure", "rotation_rate"), "P-SV", 2) + [along]
    listed = list(counted)
    assert counted == listed and len(counted) == len(listed) == 2 * 4 * (2 + 1 + 1) + 1
    assert [counted[n] for n in range(len(listed))] == listed == counted[:]
    assert counted[-1] == along and counted == pickle.loads(pickle.dumps(counted))
    arrays, expected = channels.columns(counted), channels.columns(listed)
    assert np.array_equal(arrays.receiver, expected.receiver)
    assert np.array_equal(arrays.shot, expected.shot)
    assert list(arrays.by_component) != [] and arrays.by_component.keys() == expected.by_component.keys()
    for name, numbers in expected.by_component.items():
        assert np.array_equal(np.sort(arrays.by_component[name]), numbers)
    with pytest.raises(IndexError):
        counted[len(listed)]
