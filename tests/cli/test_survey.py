"""Wavelets, mechanisms, receivers and filters against quadrature, FFT, closed forms and ObsPy; and what is said of bad ones."""

import math
import pickle
import re
from types import SimpleNamespace as Spec

import numpy as np
import pytest
from common import refused

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
domain = { origin = [0, 0, -5000], size = [10_000, 8000, 5000], spacing = 100 }
model = { kind = "homogeneous", vp = 5000, vs = 2900, rho = 2600 }
time = { duration = 5 }
"""
MECHANISM = "strike = 0, dip = 90, rake = 0, moment = 1e18"
PULSE = 'wavelet = { kind = "gaussian", tau = 0.1 }'
COUPLE = f'{{ kind = "moment_tensor", at = [2000, 4000, -2500], {MECHANISM}, {PULSE} }}'
STATION = '{ name = "R1", at = [5000, 5000, 0] }'


def scenario(*rows, file="scenario", overrides=()):
    """A scenario of rows of sources, which have a kind, and of receivers."""
    sources, places = ([row for row in rows if ("kind" in row) == kind] for kind in (True, False))
    text = SCENARIO + f"source = [{', '.join(sources)}]\nreceivers = [{', '.join(places)}]\n"
    return loads(text, overrides, file=str(file))


def check_problem(scenario, key, *words):
    """The only problem of a scenario is at a key and says these words."""
    (problem,) = problems(scenario)
    assert problem.key == key and all(word in problem.message for word in words) and problem.remedy, problem


def couple(wavelet):
    """The double couple with another wavelet: `"ricker", frequency = 5`."""
    return COUPLE.replace('"gaussian", tau = 0.1', wavelet)


def fine(wavelet):
    """A grid that holds the whole wavelet at 1e-10 of its peak or less, fine enough for every spectrum here."""
    length = wavelet.end - wavelet.start
    t = np.linspace(wavelet.start - 3 * length, wavelet.end + 5 * length, 400_001)
    return t, wavelet(t)


# --- wavelets ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
def test_wavelet_area_peak_frequencies_and_ends(name):
    w = wavelets.build(SPECS[name])
    t, s = fine(w)
    assert w.area == pytest.approx(np.trapezoid(s, t), abs=1e-7 * w.peak)
    assert w.area == pytest.approx(AREAS.get(name, w.area), abs=1e-15)
    assert np.abs(s).max() == pytest.approx(w.peak, rel=1e-6) and w.is_pulse == (name in PULSES or name == "kuepper3")
    f, amplitude = np.fft.rfftfreq(len(t), t[1] - t[0]), np.abs(np.fft.rfft(s))
    top = f[np.argmax(f * amplitude if name in PULSES else amplitude)]
    assert w.peak_frequency == pytest.approx(top, abs=f[1])
    # Brune's 1/f^2 tail loses 1e-3 of the area above the grid's Nyquist frequency; the others decay fast.
    cumulative = np.cumsum(amplitude) - 0.5 * amplitude - 0.5 * amplitude[0]
    whole = cumulative[-1] if name != "brune" else 0.5 * math.pi * 1.5 / (f[1] * (t[1] - t[0]))
    assert np.interp(w.f95, f, cumulative) / whole == pytest.approx(0.95, abs=2e-3)
    assert np.abs(s[t < w.start]).max() <= 1.0001e-8 * w.peak and np.abs(s[t > w.end]).max() <= 1.0001e-4 * w.peak
    begin = (t > w.start) & (t < w.start + 0.02 * (w.end - w.start))
    assert np.abs(s[begin]).max() > 1e-8 * w.peak, "starts needlessly early"
    assert f"f95 {w.f95:.3g} Hz" in w.describe()


def test_wavelets_are_the_functions_of_the_field():
    t = np.linspace(-1, 2, 301)
    a, u = (math.pi * 4.0 * (t - 0.3)) ** 2, (t + 0.1) / 0.08
    gaussian, ricker, derivative, b = (wavelets.build(spec) for spec in list(SPECS.values())[:4])
    assert np.allclose(gaussian(t), np.exp(-0.5 * (t / 0.045) ** 2) / (0.045 * math.sqrt(2 * math.pi)), rtol=1e-13)
    assert np.allclose(ricker(t), (1 - 2 * a) * np.exp(-a), rtol=1e-12, atol=1e-12)
    # the peak of the derivative is before its middle and is 1
    assert np.allclose(derivative(t), -u * np.exp(0.5 - 0.5 * u**2), rtol=1e-12, atol=1e-12)
    assert b(0.2 + 1 / (3 * math.pi)) == pytest.approx(b.peak) and (b(t[t < 0.2]) == 0).all()
    assert b.f95 == pytest.approx(1.5 * math.tan(0.475 * math.pi))
    for extrema in (1, 2, 3, 6):
        w = wavelets.build(Spec(kind="kuepper", delay=0.0, duration=2.0, extrema=extrema))
        slope = np.diff(w(np.linspace(0, 2, 20_001)))
        assert np.count_nonzero(slope[1:] * slope[:-1] < 0) == extrema and abs(slope[0]) < 1e-6
        assert w(np.array([-0.1, 2.1])) == pytest.approx([0, 0], abs=1e-15)


def test_samples_reproduce_the_wavelet_they_were_taken_from(tmp_path):
    exact = wavelets.build(SPECS["ricker"])
    times = np.linspace(-0.4, 1.0, 281)
    np.savetxt(tmp_path / "s.txt", np.c_[times, exact(times)], header="time value", delimiter=", ")
    w = wavelets.build(Spec(kind="samples", delay=0.5, file=str(tmp_path / "s.txt"), times=None, values=None))
    t = np.linspace(-1, 2, 3001)
    assert np.abs(w(t) - exact(t - 0.5)).max() < 1e-4
    assert (w.peak_frequency, w.f95) == (pytest.approx(4.0, rel=0.01), pytest.approx(exact.f95, rel=0.01))
    assert not w.is_pulse and "281 samples of s.txt" in w.describe()
    assert w.start == pytest.approx(exact.start + 0.5, abs=0.006)
    times = np.sort(np.r_[0.0, 1.0, np.random.default_rng(1).uniform(0, 1, 60)])  # uneven
    w = wavelets.build(Spec(kind="samples", delay=None, file=None, times=times, values=np.sin(math.pi * times) ** 2))
    assert w.area == pytest.approx(0.5, abs=1e-3) and w.is_pulse
    assert w(np.array([-0.1, 0.5, 1.1])) == pytest.approx([0, 1, 0], abs=1e-3)


# --- sources -----------------------------------------------------------------------------------------------------------------------


def among(plane, planes, tolerance):
    """Whether a plane is one of some, its angles up to full turns."""
    turns = [(np.asarray(plane) - np.asarray(possible) + 180) % 360 - 180 for possible in planes]
    return any(np.abs(turn).max() < tolerance for turn in turns)


def test_mechanisms_against_obspy():
    """Tensors of mechanisms, nodal planes of double couples and of general tensors."""
    mopad = pytest.importorskip("obspy.imaging.scripts.mopad")
    beachball = pytest.importorskip("obspy.imaging.beachball")
    turn = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    rng = np.random.default_rng(7)
    for angles in rng.uniform((0, 2, -178), (360, 88, 178), (25, 3)):
        tensor = sources.double_couple(*angles, 3.0)
        ned = np.asarray(mopad.MomentTensor((*angles, 3.0), system="NED").get_M(system="NED"))
        assert tensor == pytest.approx(turn @ ned @ turn.T, abs=1e-6)
        assert sources.scalar_moment(tensor) == pytest.approx(3.0, rel=1e-12)
        assert np.trace(tensor) == pytest.approx(0, abs=1e-12)
        planes = sources.nodal_planes(sources.double_couple(*angles, 1e16))
        assert among(angles, planes, 1e-6) and among(beachball.aux_plane(*angles), planes, 1e-3), (angles, planes)
    for tensor in rng.standard_normal((10, 3, 3)):
        tensor += tensor.T.copy()
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor  # r is up, theta south, phi east
        expected = mopad.MomentTensor([zz, yy, xx, -yz, xz, -xy], system="USE").get_fps()
        assert all(among(plane, sources.nodal_planes(tensor), 1e-2) for plane in expected), expected


def test_nodal_planes_of_special_mechanisms_give_the_tensor_back():
    for angles in ((0, 90, 0), (30, 90, 0), (200, 90, 180), (0, 45, 90), (90, 45, -90), (120, 90, 90), (10, 0, 40)):
        tensor = sources.double_couple(*angles, 1.0)
        planes = sources.nodal_planes(tensor)
        for strike, dip, rake in planes:
            assert sources.double_couple(strike, dip, rake) == pytest.approx(tensor, abs=1e-9)
            assert 0 <= strike < 360 and 0 <= dip <= 90 and -180 < rake <= 180
        assert planes == tuple(sorted(planes))
    assert sources.nodal_planes(1e15 * np.eye(3)) is None


def test_conventions_of_mechanisms_and_magnitudes():
    """Strike slip; thrust to the north and south: shortened along y, raised; isotropic parts and double couples."""
    assert sources.parts(1e15 * np.eye(3)) == (1.0, 0.0) and sources.parts(-np.eye(3)) == (-1.0, 0.0)
    assert sources.parts(np.diag([-1.0, -1.0, 2.0])) == pytest.approx((0.0, 0.0))
    assert sources.parts(sources.double_couple(20, 30, 40)) == pytest.approx((0.0, 1.0))
    assert np.array_equal(sources.double_couple(0, 90, 0, 1e18), [[0, 1e18, 0], [1e18, 0, 0], [0, 0, 0]])
    assert sources.double_couple(90, 45, 90, 1.0) == pytest.approx(np.diag([0.0, -1.0, 1.0]), abs=1e-15)
    # Hanks & Kanamori: Mw 7.0 is 3.98e19 N m; the Chile earthquake of 1960 had about 2e23 N m and Mw 9.5.
    assert sources.magnitude_to_moment(7.0) == pytest.approx(3.981e19, rel=1e-3)
    assert sources.moment_to_magnitude(2e23) == pytest.approx(9.47, abs=0.005)
    assert sources.moment_to_magnitude(sources.magnitude_to_moment(5.3)) == pytest.approx(5.3, abs=1e-12)


FOUR = (
    '{ kind = "moment_tensor", name = "general", at = { x = 1000, y = 1000, depth = 1000 }, '
    'tensor = { xx = 1e15, yz = -2e15 }, wavelet = { kind = "ricker", frequency = 2 } }',
    '{ kind = "moment_tensor", at = [1000, 1000, -1000], strike = 10, dip = 20, rake = 30, magnitude = 5, '
    'wavelet = { kind = "brune", corner_frequency = 1 } }',
    f'{{ kind = "explosion", at = [1000, 1000, -1000], moment = 1e15, {PULSE} }}',
    '{ kind = "force", at = [1000, 1000, 0], force = [0, 3e9, -4e9], wavelet = { kind = "kuepper", duration = 0.3 } }',
)


def test_sources_of_a_scenario():
    built = source_files.build_all(scenario(COUPLE, *FOUR))
    assert [s.name for s in built] == ["source 1", "general", "source 3", "source 4", "source 5"]
    couple, general, quake, explosion, force = built
    assert couple.xyz == (2000.0, 4000.0, -2500.0) and general.xyz == (1000.0, 1000.0, -1000.0)
    assert np.array_equal(general.moment, [[1e15, 0, 0], [0, 0, -2e15], [0, -2e15, 0]])
    assert sources.scalar_moment(quake.moment) == pytest.approx(10**16.6)
    assert np.array_equal(explosion.moment, 1e15 * np.eye(3))
    assert force.moment is None and np.array_equal(force.force, [0, 3e9, -4e9])
    shear, pulse = r" 0/90/0 and 90/90/-?180.*M0 1e\+18 N m, Mw 5\.93", r"peak 5e\+09 N.*kuepper"
    words = shear, "the final moment is zero", r"Mw 5\.00", "explosion", pulse
    for pattern, line in zip(words, map(sources.describe, built)):
        assert re.search(pattern, line) and "\n" not in line, line


def warned(*parts, start=None):
    s = scenario(*parts)
    built = source_files.build_all(s)
    return warnings(s, built, sources.start_time(s, built) if start is None else start), built


def test_start_time_and_warnings_about_wavelets():
    before = -0.1 * math.sqrt(2 * math.log(1e8))
    starts = {"": before, ", delay = 0.4": 0, ", delay = 5": 0, ", delay = 0": before, ", delay = 0.1": 0.1 + before}
    for delay, start in starts.items():
        text = couple('"gaussian", tau = 0.1' + delay)
        texts, built = warned(text)
        assert sources.start_time(scenario(text), built) == pytest.approx(start, abs=1e-12)
        assert sources.start_time(scenario(text, overrides=["time.start=-2"]), built) == -2.0
        assert len(texts) == ("delay = 5" in delay)
    texts, _ = warned(couple('"gaussian", tau = 0.1, delay = 4.9'), couple('"ricker", frequency = 5'), start=0.0)
    assert len(texts) == 3 and "source 1: its wavelet ends at 5.33 s, after the end of the run at 5 s" in texts[0]
    assert "source 2: at the start of the run, 0 s, the wavelet has already reached 100 % of its peak" in texts[1]
    assert "the final moment is zero" in texts[2]


SAMPLES = '"samples", times = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], values = [0, 0.3, 1, 1.4, 0.9, 0.2, 0]'


def test_an_area_that_is_not_one_is_told_and_normalized():
    """The final moment is the area times M0: told with its value, and made M0 by normalize; a force of any area is no moment."""
    for wavelet in (SAMPLES, '"kuepper", duration = 0.5, extrema = 3'):
        (text,), (built,) = warned(couple(wavelet))
        assert f"area of {built.wavelet.area:.4g} instead of 1" in text and "normalize = true" in text
        assert f"{built.wavelet.area * 1e18:.4g} N m" in text
        texts, (built,) = warned(couple(wavelet + ", normalize = true"))
        t, values = fine(built.wavelet)
        assert not texts and built.wavelet.area == 1 and np.trapezoid(values, t) == pytest.approx(1, rel=1e-6)
        # of samples, the peak is that of their spline at twice as many times
        assert np.abs(values).max() == pytest.approx(built.wavelet.peak, rel=2e-3)
        assert "M0 1e+18" in sources.describe(built)
    force = '{ kind = "force", at = [5000, 4000, -1000], force = [0, 0, 1e9]'
    assert warned(f"{force}, wavelet = {{ kind = {SAMPLES} }} }}")[0] == []
    none = scenario(couple('"kuepper", duration = 0.5, normalize = true'))
    check_problem(none, "source.0.wavelet.normalize", "no area")


def test_samples_that_begin_or_end_with_a_jump_are_told_what_helps():
    times, values = "0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6", "1, 0.3, 1, 1.4, 0.9, 0.2, 0.7"
    wavelet = '"samples", times = [{}], values = [{}], normalize = true'
    texts, _ = warned(couple(wavelet.format(times, values)))
    assert len(texts) == 2 and "first sample" in texts[0] and "rise from zero" in texts[0]
    assert "last sample" in texts[1] and not any("delay" in text for text in texts)
    assert warned(couple(wavelet.format(f"-0.1, {times}, 0.7", f"0, {values}, 0")))[0] == []


def test_both_remedies_of_a_run_that_begins_within_the_wavelet_help():
    def cut(wavelet, delay, start):
        texts, _ = warned(couple(f"{wavelet}, delay = {delay!r}"), start=start)
        return "".join(text for text in texts if "already reached" in text)

    for wavelet in ('"gaussian", tau = 0.1', '"ricker", frequency = 3', SAMPLES):
        for delay in (0.0, 0.1, 0.2345678):
            text = cut(wavelet, delay, 0.47)
            start, more = (float(re.search(words, text)[1]) for words in (r"start at (\S+) s", r"by (\S+) s more"))
            assert start < 0.47 and more > 0 and cut(wavelet, delay, start) == cut(wavelet, delay + more, 0.47) == ""


# --- receivers ---------------------------------------------------------------------------------------------------------------------

LINE = '{ name = "L", line = { from = [0, 0, 0], to = { x = 3000, y = 6000, depth = 300 }, count = 4 } }'
GRID = '{ name = "G", grid = { x = [0, 1000, 3], y = [2000, 3000, 2], depth = 50 } }'
FILE = '{ file = "r.csv" }'


def test_lines_and_grids():
    built = receivers.build(scenario(COUPLE, STATION, LINE, GRID))
    assert built.names == ["R1", "L1", "L2", "L3", "L4", "G1", "G2", "G3", "G4", "G5", "G6"] and len(built) == 11
    line = [[0, 0, 0], [1000, 2000, -100], [2000, 4000, -200], [3000, 6000, -300]]
    assert built.xyz[1:] == pytest.approx(np.array(line + [[x, y, -50] for y in (2000, 3000) for x in (0, 500, 1000)]))
    none = receivers.build(scenario(COUPLE))
    assert none.names == [] and none.xyz.shape == (0, 3)


def test_receiver_files(tmp_path):
    for text in (
        "name,x,y,z\nA,100,200,-30\nB,1e3,2000,0\n",
        "\ufeffY; X; NAME; Depth\n\n# a comment\n200; 100; A; 30\n2000; 1 km; B; 0\n",
        'name\tx\ty\tz\tnote\n"A"\t100\t200\t-30\tfirst\nB\t1000\t"2 km"\t0\t\n',
    ):
        (tmp_path / "r.csv").write_text(text, encoding="utf-8")
        built = receivers.build(scenario(COUPLE, FILE, file=tmp_path / "s.toml"))
        assert built.names == ["A", "B"] and np.array_equal(built.xyz, [[100, 200, -30], [1000, 2000, 0]])


def test_bad_files_of_receivers_and_samples(tmp_path):
    with_receivers = scenario(COUPLE, FILE, file=tmp_path / "s.toml")
    with_samples = scenario(couple('"samples", file = "w.txt"'), file=tmp_path / "s.toml")
    for text, message in (
        ("name,x,y\nA,1,2\n", "exactly one of the columns z and depth"),
        ("name,x,z\nA,1,2\n", "no column y; its columns are name, x, z"),
        ("name,x,y,z\n", "no receivers"),
        ("name,x,y,z\nA,1,2\n", "r.csv:2: 3 columns, not 4: name x y z"),
        ("name,x,y,z\n\nA,1,2,deep\n", 'r.csv:3: z: "deep" is not a number'),
        ("name,x,y,z\nA,1,2,nan\n", "not a finite number"),
        ("name,x,y,z\nA,1,2,-3\n,1,2,-3\n", "r.csv:3: the name is empty"),
        ("name,x,y,z\nA,1,2,-3\nA,1,2,-4\n", 'the name "A" is already taken'),
    ):
        (tmp_path / "r.csv").write_text(text)
        check_problem(with_receivers, "receivers.0.file", message)
        refused(ScenarioError, "receivers.0.file", receivers.build, with_receivers)
    for text, message in (
        ("0 1\n1 2\n", "2 samples are too few"),
        ("0 0\n1 1\n1 2\n2 0\n", "time 1 s is not after"),
        ("0 0\n1 nan\n2 2\n3 0\n", "sample 2 is not finite"),
        ("0 0\n1 0\n2 0\n3 0\n", "all samples are zero"),
        ("t v\n0 0\n1 x\n2 0\n3 0\n", "line 3 is not a time and a value"),
    ):
        (tmp_path / "w.txt").write_text(text)
        check_problem(with_samples, "source.0.wavelet.file", message, "w.txt")


def test_channels_are_the_same_listed_and_counted():
    """By their numbers, in order and as arrays: several shots, quantities of 3, 1 and no components in a plane, fibres behind."""
    pressure = [channels.Channel(n, "pressure", "P", False) for n in range(2)]
    velocity = [channels.Channel(n, "velocity", c, True) for n in range(2) for c in "ENZ"]
    assert channels.channels(2, ("displacement", "velocity", "pressure")) == velocity + pressure
    assert len(channels.channels(3, ("strain", "strain_rate"))) == 18
    along = channels.Channel(0, "fibre_strain_rate", "", True, terms=((0, 0, 1.0),))
    counted = channels.channels(4, ("velocity", "pressure", "rotation_rate"), "P-SV", 2) + [along]
    listed = list(counted)
    assert counted == listed and len(counted) == len(listed) == 2 * 4 * (2 + 1 + 1) + 1
    assert [counted[n] for n in range(len(listed))] == listed == counted[:]
    assert counted[-1] == along and counted == pickle.loads(pickle.dumps(counted))
    arrays, expected = channels.columns(counted), channels.columns(listed)
    assert np.array_equal(arrays.receiver, expected.receiver) and np.array_equal(arrays.shot, expected.shot)
    assert list(arrays.by_component) != [] and arrays.by_component.keys() == expected.by_component.keys()
    for name, numbers in expected.by_component.items():
        assert np.array_equal(np.sort(arrays.by_component[name]), numbers)
    with pytest.raises(IndexError):
        counted[len(listed)]


# --- problems ----------------------------------------------------------------------------------------------------------------------


def test_places_outside():
    """Nothing is wrong with points on the faces."""
    corner = STATION.replace("[5000, 5000, 0]", "[10_000, 8000, -5000]").replace("R1", "R2")
    assert problems(scenario(COUPLE.replace("[2000, 4000, -2500]", "[0, 0, 0]"), STATION, corner)) == []
    for at, message in (
        ("{ x = 2000, y = 4000, depth = -10 }", "z = 10 m is in the air, above the free surface at z = 0 m"),
        ("[2000, 4000, -5001]", "z = -5001 m is outside the domain, z from -5000 to 0 m"),
        ("[-1, 4000, -10]", "x = -1 m is outside the domain, x from 0 to 10000 m"),
    ):
        check_problem(scenario(COUPLE.replace("[2000, 4000, -2500]", at), STATION), "source.0.at", message)
    check_problem(scenario(COUPLE, GRID.replace("3000, 2", "9000, 2")), "receivers.0.grid", "y = 9000 m")
    above = scenario(COUPLE, STATION.replace("5000, 0]", "5000, 1]"), overrides=["boundaries.top=cpml"])
    check_problem(above, "receivers.0.at", "above the top of the domain")  # not of a free surface


# --- filters -----------------------------------------------------------------------------------------------------------------------


def both(phase):
    """Real and imaginary part as two columns."""
    return np.stack([phase.real, phase.imag], axis=1)


def test_half_sample_shift():
    """Any frequency up to 0.7 of Nyquist (0.5 asked), both phases, in the middle of the signal; a wavelet from its very beginning."""
    n, t = np.arange(200), np.arange(60, 140) + 0.5
    for frequency in (0.0, 0.1, 0.3, 0.5, 0.7):
        shifted = filters.resample(both(np.exp(1j * math.pi * frequency * n)), 0.0, 1.0, t)
        assert np.abs(shifted - both(np.exp(1j * math.pi * frequency * t))).max() < 1e-6
    w = wavelets.build(Spec(kind="ricker", delay=0.6, frequency=4.0))
    dt, n = 0.02, np.arange(100)
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
    n, t = np.arange(400 * ratio), np.arange(100, 300) * ratio + 0.37
    nyquist = 0.5 / ratio
    for part in (0.0, 0.2, 0.5, 0.7, 1.0, 1.1, 1.7, 2.0, 3.3):
        out = filters.resample(both(np.exp(2j * math.pi * part * nyquist * n)), 0.0, 1.0, t, cutoff=0.8 * nyquist)
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


def test_resample_keeps_what_is_not_finite_in_its_place_and_refuses():
    samples = np.ones((200, 2))
    samples[150:, 1] = np.inf
    sound, broken = filters.resample(samples, 0.0, 1.0, np.arange(199) + 0.5).T
    assert np.isfinite(sound).all() and np.isfinite(broken[:134]).all() and np.isnan(broken[150:]).all()
    assert broken[40:134] == pytest.approx(1.0, abs=1e-9)
    late = "after the last one"
    for count, step, time, words in ((10, 1.0, 11.5, late), (10, 0.0, 1.0, "positive"), (0, 1.0, 0.5, late)):
        refused(ValueError, words, filters.resample, np.zeros(count), 0.0, step, [time])


def test_integral_is_known_at_the_end_of_each_step():
    dt, n = 0.01, np.arange(500)
    velocity = np.stack([np.cos((n + 0.5) * dt), np.full(500, 2.0)], axis=1)
    wave, ramp = filters.integrate(velocity, dt).T
    assert wave == pytest.approx(np.sin((n + 1) * dt), abs=1e-5) and ramp == pytest.approx(2 * (n + 1) * dt, rel=1e-13)
    assert filters.integrate(velocity.astype(np.float32)[:, :, None], dt).dtype == np.float32
