"""Transverse isotropy: phase speeds of Christoffel's equation, energy, reciprocity, layers; with attenuation and with topography."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import craton
from craton import api
from craton.backends import backend
from craton.core.grid import Grid
from craton.driver.waves import commit
from craton.methods import METHODS
from craton.methods.finite_difference import dependences, material
from craton.methods.finite_difference.laminate import cut_planes
from craton.methods.finite_difference.scheme import HALF, STRESS, VELOCITY
from craton.model.media import cells, earth, rheology
from craton.scenario import Scenario, SpectralScenario
from craton.tables.medium import Layers
from craton.validation.absorbing import advance
from craton.validation.conserved import QUIET, WAVELET, planes, random_medium

THOMSEN = {"vp": 3000.0, "vs": 1500.0, "rho": 2300.0, "epsilon": 0.25, "delta": 0.1, "gamma": 0.2}
POINTS, SPACING = 24, 10.0
GRID = Grid((0.0, 0.0, -100.0), 10.0, (11, 2, 2))
AT_REST = {"kind": "explosion", "moment": 1e-20, "wavelet": {"kind": "ricker", "frequency": 5, "delay": 1e3}}


def christoffel(direction):
    """Exact (speed, polarisation) of the three waves, slowest first, from the stiffness of the reference beside this checkout."""
    places = (Path(__file__).parents[n] / "../shared/references/rheology/rheology.py" for n in (2, 3))
    path = next((p for p in places if p.exists()), None)
    if path is None:
        pytest.skip("shared/ is not beside the checkout")
    spec = importlib.util.spec_from_file_location("rheology_reference", path)
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    m = THOMSEN
    stiffness = reference.thomsen(m["vp"], m["vs"], m["rho"], m["epsilon"], m["delta"], m["gamma"])
    return [(speed, polarisation) for speed, polarisation, _ in reference.christoffel(stiffness, m["rho"], direction)]


def periodic(model, waves=None, duration=0.2):
    """A periodic box, order 8 in float64, nothing moves."""
    size = SPACING * (POINTS - 1)
    place = (
        {"origin": [0, 0, -size], "size": [size] * 3}
        if waves is None
        else {"origin": [0, -size], "size": [size] * 2, "waves": waves}
    )
    at = [size / 2, size / 2, -size / 2] if waves is None else [size / 2, -size / 2]
    source = AT_REST if waves != "SH" else {"kind": "force", "force": [0, 1e-20, 0], "wavelet": AT_REST["wavelet"]}
    return Scenario(
        domain={**place, "spacing": SPACING},
        model={"kind": "homogeneous", **model},
        time={"duration": duration, "start": 0},
        boundaries={"top": "periodic", "others": "periodic"},
        source=[{**source, "at": at}],
        run={"order": 8, "precision": "float64", "threads": 1, "device": "cpu"},
    )


def measured_speed(direction, polarisation, waves=None, model=THOMSEN):
    """Phase speed of a standing plane wave: a_(n+1) + a_(n-1) = (2 - dt^2 W^2) a_n for its amplitudes a; W over the wavenumber."""
    scenario = periodic(model, waves)
    planned = api.plan(scenario)
    program = commit(scenario, planned, backend("cpu", threads=1))
    k = 2 * np.pi / (POINTS * SPACING) * np.array(direction)
    shapes = {}
    for axis, name in enumerate(VELOCITY):
        if name in program.plan.arrays and abs(polarisation[axis]) > 1e-9:
            field = program.grid(name)
            x = [SPACING * (np.arange(n) + half / 2) for n, half in zip(field.shape, reversed(HALF[name]))]
            shapes[name] = polarisation[axis] * np.cos(
                k[2] * x[0][:, None, None] + k[1] * x[1][:, None] * (waves is None) + k[0] * x[2]
            )
            field[...] = shapes[name]
    amplitudes = []
    for step in range(60):
        advance(program, step)
        amplitudes.append(sum((shapes[name] * program.grid(name)).sum() for name in shapes))
    a = np.array(amplitudes)
    ratio = (a[1:-1] @ (a[2:] + a[:-2])) / (a[1:-1] @ a[1:-1])
    return np.sqrt(2 - ratio) / planned.dt / np.linalg.norm(k)


# 24 points a wavelength and order 8: dispersion 1e-7. The limit is 0.1 %; found 3e-6.
@pytest.mark.parametrize("direction", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (1, 2, -1)])
def test_phase_speeds(direction):
    for speed, polarisation in christoffel(direction):
        assert measured_speed(direction, polarisation) == pytest.approx(speed, rel=1e-5)


@pytest.mark.parametrize("waves", ["P-SV", "SH"])
def test_phase_speeds_in_the_plane(waves):
    for direction in ((0, 0, 1), (1, 0, 0), (1, 0, 1), (2, 0, -1)):
        for speed, polarisation in christoffel(direction):
            if (abs(polarisation[1]) > 0.5) == (waves == "SH"):
                assert measured_speed(direction, polarisation, waves) == pytest.approx(speed, rel=1e-5)


def anisotropic_medium():
    """Boxes of random properties."""
    model, rng = random_medium(boxes=30), np.random.default_rng(5)
    for one in (model, *model["anomalies"]):
        one |= {"epsilon": rng.uniform(0, 0.3), "delta": rng.uniform(-0.1, 0.2), "gamma": rng.uniform(0, 0.3)}
    return model


def below_a_surface(sources, receivers, duration, boundaries, model):
    """The random medium below a free surface."""
    return Scenario(
        domain={"origin": [0, 0, -2400], "size": [2400, 2600, 2400], "spacing": 100},
        model=model,
        time={"duration": duration, "start": 0},
        boundaries={"top": "free", **boundaries},
        source=[{**one, "wavelet": WAVELET} for one in sources],
        receivers=[{"name": f"R{n}", "at": x} for n, x in enumerate(receivers)],
        run={"order": 4, "precision": "float64", "threads": 1, "device": "cpu"},
    )


def compliances(planned, program):
    """Density of each velocity, compliance of each shear stress and stiffness matrices of the normal ones, times the planes' weights."""
    get = {n: program.backend.to_host(program.arrays[n]) for n in ("rho", "lam", "rmu", "d11", "d13", "r66")}
    window = planned.arrays["rho"].window

    def at(name, *axes):
        shifts = [sum(a == axis for a in axes) for axis in "zyx"]
        return get[name][tuple(slice(s.start + d, s.stop + d) for s, d in zip(window, shifts))]

    whole, half = planes(at("rho").shape[0], 4)
    density = [w * (at("rho") + at("rho", a)) / 2 for w, a in zip((whole, whole, half), "xyz")]
    pairs = (("sxy", "r66", "xy", whole), ("sxz", "rmu", "xz", half), ("syz", "rmu", "yz", half))
    shear = {n: w * (at(m) + at(m, a) + at(m, b) + at(m, a, b)) / 4 for n, m, (a, b), w in pairs}
    lam, mu, c66 = at("lam"), 1 / at("rmu"), 1 / at("r66")
    c11 = lam + 2 * mu + at("d11")
    c = np.moveaxis(
        np.array(
            [
                [c11, c11 - 2 * c66, lam + at("d13")],
                [c11 - 2 * c66, c11, lam + at("d13")],
                [lam + at("d13"), lam + at("d13"), lam + 2 * mu],
            ]
        ),
        (0, 1),
        (-2, -1),
    ).copy()
    c[-1, :, :, 2, :] = c[-1, :, :, :, 2] = 0  # plane stress
    c[-1, :, :, 2, 2] = 1
    return density, shear, np.linalg.inv(c) * whole[..., None, None]


def test_energy_is_conserved():
    """The energy of the leapfrog, velocities half a step before and after the stresses; rounding of some hundred steps."""
    tensor = {"xx": 1e15, "yy": -0.5e15, "zz": 0.5e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
    sources = [
        {"kind": "moment_tensor", "at": [1110, 1133, -270], "tensor": tensor},
        {"kind": "force", "at": [1110, 1133, 0], "force": [1e10] * 3},
    ]
    scenario = below_a_surface(sources, (), 4.0, {"others": "rigid"}, anisotropic_medium())
    planned = api.plan(scenario)
    quiet, found = int(QUIET / planned.dt), []
    for name in ("stress_series", "velocity_series"):
        planned.arrays[name].data[quiet:] = 0
    program = commit(scenario, planned, backend("cpu", threads=1))
    density, shear, normal = compliances(planned, program)
    for step in range(planned.steps):
        looked = step > quiet and step % 11 == 0
        before = {name: program.host(name) for name in (*VELOCITY, *STRESS)} if looked else None
        advance(program, step)
        if looked:
            s = np.stack([before[n] for n in STRESS[:3]], -1)
            kinetic = sum((w * before[n] * program.host(n)).sum() for w, n in zip(density, VELOCITY))
            sheared = sum((w * before[n] ** 2).sum() for n, w in shear.items())
            found.append(kinetic + np.einsum("...a,...ab,...b", s, normal, s).sum() + sheared)
    found = np.array(found)
    assert found.min() > 0 and np.ptp(found) < 1e-11 * found.mean()


def test_reciprocity_with_layers_at_the_sides():
    """Force on the surface and force inside, exchanged: the free surface and the sources know c13/c33."""
    places, axes = (([1100.0, 1200.0, 0.0], [1311.0, 1123.0, -433.0]), ([1.0, 0.4, -0.7], [0.2, -1.0, 0.5]))
    records = []
    for at, force in zip(places, axes):
        source = {"kind": "force", "at": at, "force": (1e10 * np.array(force)).tolist()}
        wanted = below_a_surface(
            [source], places, 1.2, {"others": "cpml", "cpml": {"thickness": 5}}, anisotropic_medium()
        )
        records.append(api.run(wanted, progress=False).samples.reshape(-1, 2, 3))
    one, other = records[0][:, 1] @ axes[1], records[1][:, 0] @ axes[0]
    assert np.abs(one - other).max() < 1e-11 * np.abs(one).max()


def test_layers_absorb(monkeypatch):
    """What is left some seconds after a wave has gone; 1.0e-3 of the peak found, 2.7e-3 in the isotropic medium of the same vp and vs."""
    monkeypatch.setitem(WAVELET, "frequency", 2.0)
    monkeypatch.setitem(WAVELET, "delay", 0.6)
    source = {"kind": "force", "at": [1200, 1300, -1200], "force": [1e10, 5e9, 1e10]}
    model = {"kind": "homogeneous", **THOMSEN, "epsilon": 0.15}
    wanted = below_a_surface([source], [[1500, 1500, -1200]], 6.0, {"top": "cpml", "others": "cpml"}, model)
    v = np.abs(api.run(wanted, progress=False).dataset.velocity.values[0]).max(0)
    assert v[-len(v) // 3 :].max() < 2e-3 * v.max()


def test_no_anisotropy_is_the_isotropic_step():
    """Cells that flat layers cut have the average of Backus either way."""
    layers = [{"top": 0, "vp": 3000, "vs": 1500, "rho": 2200}, {"top": -730, "vp": 4000, "vs": 2300, "rho": 2500}]
    grid = Grid((0.0, 0.0, -2400.0), 100.0, (25, 3, 3))
    rho, c11, c13, c33, c44, c66 = earth.cell_stiffness(Layers(layers=layers), grid, 0, 25)
    values, _, mu = earth.cell_averages(Layers(layers=layers), grid, 0, 25)
    np.testing.assert_allclose(rho, values)
    np.testing.assert_allclose(c44, mu, rtol=1e-12)
    cut = np.abs(c11 - c33)[:, 0, 0] > 1e-6 * c33[:, 0, 0]
    assert np.flatnonzero(cut).tolist() == [17]  # 730 m deep
    d11, d13, d33, d66 = cut_planes(Layers(layers=layers), grid)[17]
    _, kappa, mu = (v[17, 0, 0] for v in earth.cell_averages(Layers(layers=layers), grid, 0, 25))
    got = [v[17, 0, 0] for v in (c11, c13, c33, c66)]
    np.testing.assert_allclose(
        got, [kappa + 4 / 3 * mu + d11, kappa - 2 / 3 * mu + d13, kappa + 4 / 3 * mu + d33, mu + d66], rtol=1e-12
    )


# --- with attenuation, with topography ---------------------------------------------------------------------------------------------------

QUALITY = {"qp": 80.0, "qs": 40.0}
LOSSY = QUALITY | {"attenuation": {"band": [0.7, 70], "frequency": 7, "mechanisms": 4, "storage": "full"}}


def decay(direction, polarisation):
    """1/Q of a standing plane wave with memory variables: of the decay of its amplitudes, once these have set in."""
    scenario = periodic(THOMSEN | LOSSY, duration=1.4)
    planned = api.plan(scenario)
    program = commit(scenario, planned, backend("cpu", threads=1))
    k = 2 * np.pi / (POINTS * SPACING) * np.array(direction)
    shapes = {}
    for axis, name in enumerate(VELOCITY):
        field = program.grid(name)
        x = [SPACING * (np.arange(n) + half / 2) for n, half in zip(field.shape, reversed(HALF[name]))]
        shapes[name] = polarisation[axis] * np.cos(k[2] * x[0][:, None, None] + k[1] * x[1][:, None] + k[0] * x[2])
        field[...] = shapes[name]
    a = []
    for step in range(900):
        advance(program, step)
        a.append(sum((shapes[name] * program.grid(name)).sum() for name in shapes))
    a = np.array(a[150:])
    (one, two), *_ = np.linalg.lstsq(np.stack([a[1:-1], a[:-2]], 1), a[2:], rcond=None)
    root = np.log(np.roots([1, -one, -two])[0] + 0j)
    return 2 * -root.real / abs(root.imag)


@pytest.mark.parametrize(
    "axis, polarisation, wave",
    [(2, (0, 0, 1), "qP"), (2, (1, 0, 0), "qSV"), (0, (0, 1, 0), "SH"), (0, (1, 0, 0), "qP")],
)
def test_quality_along_the_axes(axis, polarisation, wave):
    """The isotropic part of the stiffness relaxes, as in spectral elements: 1/Q is its loss over the modulus of the wave."""
    m = THOMSEN
    c11, c13, c33, c44, c66 = cells.stiffness(*(m[n] for n in ("vp", "vs", "rho", "epsilon", "delta", "gamma")))
    mu, lam = (2 * c44 + c66) / 3, (c11 - 2 * c66 + 2 * c13) / 3
    bulk = (c33 / QUALITY["qp"] - 4 / 3 * c44 / QUALITY["qs"]) / (c33 - 4 / 3 * c44)
    of_p = (lam + 2 / 3 * mu) * bulk + 4 / 3 * mu / QUALITY["qs"]
    lost = of_p if wave == "qP" else mu / QUALITY["qs"]
    modulus = {"qP": c33 if axis == 2 else c11, "qSV": c44, "SH": c66}[wave]
    direction = tuple(int(n == axis) for n in range(3))
    assert decay(direction, polarisation) == pytest.approx(lost / modulus, rel=0.03)


SIDE = 1600.0
SPACE = {
    "domain": {"origin": [0, 0, -SIDE], "size": [SIDE] * 3},
    "time": {"duration": 0.65, "start": 0},
    "run": {"threads": 1, "device": "cpu"},
    "source": [
        {
            "kind": "force",
            "at": [800, 800, -800],
            "force": [1e9, -4e8, 7e8],
            "wavelet": {"kind": "ricker", "frequency": 5, "delay": 0.25},
        }
    ],
    "receivers": [
        {"name": f"R{n}", "at": at} for n, at in enumerate(([1110, 900, -730], [650, 1030, -1020], [880, 760, -460]))
    ],
}


def in_full_space(method, model):
    """Velocities on common times."""
    finer = {
        "fd": ({"spacing": 32.0}, {"top": "cpml"}, {"order": 8}),
        "sem": ({"element_size": 200.0}, {"top": "stacey", "others": "stacey"}, {"degree": 6}),
    }
    domain, boundaries, run = finer[method]
    asked = {**SPACE, "domain": SPACE["domain"] | domain, "run": SPACE["run"] | run, "boundaries": boundaries}
    found = api.run(loaded(method=method, model={"kind": "homogeneous", **model}, **asked), progress=False).dataset
    return CubicSpline(found.time.values, found.velocity.values, axis=-1)(np.linspace(0, 0.6, 301))


def loaded(method, **tables):
    """A scenario of either method."""
    return (SpectralScenario if method == "sem" else Scenario)(method=method, **tables)


def test_finite_differences_and_spectral_elements_agree():
    medium = THOMSEN | {
        "vs": 1700.0,
        "qp": 30.0,
        "qs": 20.0,
        "attenuation": {"band": [0.5, 30], "frequency": 5, "storage": "full"},
    }
    lossless = {name: value for name, value in medium.items() if name not in ("qp", "qs", "attenuation")}
    sem = medium | {"attenuation": {"band": [0.5, 30], "frequency": 5}}
    one, other, elastic = (in_full_space("fd", medium), in_full_space("sem", sem), in_full_space("fd", lossless))
    assert np.linalg.norm(one - other) < 0.01 * np.linalg.norm(other)
    assert np.linalg.norm(one - elastic) > 0.2 * np.linalg.norm(one)


def plane_below(model, top, at, receivers, boundaries):
    """3.2 km of the (x, z) plane with an explosion near the surface, 33 points per S wavelength."""
    wavelet = {"kind": "ricker", "frequency": 3.0, "delay": 0.4}
    return api.run(
        Scenario(
            domain={
                "origin": [0, top - 1400 + 100 * (top == 0)],
                "size": [3200, 1400 - 100 * (top == 0)],
                "spacing": 10.0,
            },
            model={"kind": "homogeneous", **model},
            time={"duration": 1.4},
            boundaries=boundaries,
            source=[{"kind": "explosion", "moment": 1e12, "at": at, "wavelet": wavelet}],
            receivers=[{"name": f"R{n}", "at": x} for n, x in enumerate(receivers)],
            run={"threads": 1, "device": "cpu"},
        ),
        progress=False,
    ).dataset


@pytest.mark.parametrize("lossy", [False, True])
def test_flat_ground_is_the_free_surface(lossy):
    """As in an isotropic medium (test_terrain): 1.2 and, with the ground on a half plane, 2.6 %; 2.0 and 8.3 % at twice the spacing."""
    model = THOMSEN | {"vp": 1732.0508, "vs": 1000.0, "rho": 2000.0} | (LOSSY if lossy else {})
    places = [(1300, -100), (1700, -100)]
    wanted = plane_below(model, 0.0, (900, -150), places, {"top": "free", "others": "rigid"})
    for lift in (0.0, 5.0):
        raised = [(x, z + lift) for x, z in places]
        found = plane_below(
            model | {"topography": lift}, 100.0, (900, -150 + lift), raised, {"top": "rigid", "others": "rigid"}
        )
        values = CubicSpline(found.time.values, found.velocity.values, axis=-1)(wanted.time.values)
        assert np.linalg.norm(values - wanted.velocity.values) < 0.04 * np.linalg.norm(wanted.velocity.values), lift


@pytest.mark.parametrize("top", ["free", "ground"])
def test_layers_hold_with_attenuation(top):
    """A random medium below a free surface or a hill, absorbing layers at the other faces: waves go and nothing grows."""
    model = anisotropic_medium() | LOSSY | {"qp": 40.0}
    if top == "ground":
        x = np.arange(0, 2401, 200.0)
        model |= {"topography": {"x": x.tolist(), "z": (-300 + 150 * np.exp(-(((x - 1200) / 500) ** 2))).tolist()}}
    source = {"kind": "force", "at": [1200, 1300, -900], "force": [1e10, 5e9, 1e10]}
    faces = {"top": "free" if top == "free" else "rigid", "others": "cpml", "cpml": {"thickness": 5}}
    v = np.abs(
        api.run(
            below_a_surface([source], [[1500, 1500, -1000]], 12.0, faces, model), progress=False
        ).dataset.velocity.values[0]
    ).max(0)
    assert v[-len(v) // 4 :].max() < 1e-3 * v.max()


def test_fastest_wave():
    model = Scenario(**periodic(THOMSEN).model_dump()).model
    assert rheology.fastest_anisotropic(model, GRID) == pytest.approx(3000 * 1.5**0.5, rel=1e-6)
    lossy = periodic(THOMSEN | LOSSY).model
    unrelaxed = rheology.fastest_anisotropic(lossy, GRID, "vp", rheology.relaxation(lossy, GRID))
    assert 1.01 < unrelaxed / (3000 * 1.5**0.5) < 1.1


def pressure_in_the_plane(**model):
    """A hydrophone in water and a pressure on a point of the rock."""
    layers = [{"top": 0, "vp": 1500, "vs": 0, "rho": 1025}, {"top": -150, "vp": 2000, "vs": 900, "rho": 2000, **model}]
    return Scenario(
        domain={"origin": [0, -400], "size": [600, 400], "spacing": 20},
        model={"kind": "layers", "layers": layers},
        time={"duration": 0.3, "start": 0.0, "step": 0.003},
        boundaries={"cpml": {"thickness": 4}},
        source=[{"kind": "explosion", "at": [300, -40], "moment": 1e9, "wavelet": {"kind": "ricker", "frequency": 8}}],
        receivers=[{"name": "W", "at": [400, -40]}, {"name": "R", "at": [400, -240]}],
        output={"waveforms": ["pressure"]},
        run={"precision": "float64", "device": "cpu"},
    )


def test_pressure_in_the_plane():
    """In water nothing of the rock's anisotropy is seen before its echo; nor where there is none."""
    tilted, plain = (
        craton.run(pressure_in_the_plane(**thomsen), progress=False).dataset.pressure.values
        for thomsen in ({"epsilon": 0.2, "delta": 0.1}, {"epsilon": 1e-12})
    )
    early = 42  # steps: some 0.16 s to the floor and up again
    peak = np.abs(plain[0]).max()
    assert np.abs(tilted[0, ..., :early] - plain[0, ..., :early]).max() < 1e-4 * peak
    assert np.abs(tilted - plain).max() > 1e-2 * peak
    isotropic = craton.run(pressure_in_the_plane(), progress=False).dataset.pressure.values
    assert np.abs(isotropic - plain).max() < 1e-4 * peak  # layers are damped from their first point


def test_pressure_is_a_third_of_the_trace_where_nothing_moves_across_the_plane():
    """syy of plane strain, from the stiffness itself."""
    linear = METHODS["fd"].linearised(pressure_in_the_plane(epsilon=0.2, delta=0.1, gamma=0.15))
    d = linear.d.with_cells(linear.cells)
    at = [np.array([n]) for n in (3, 0, 5)]
    c11, c13, c33, c44, c66 = (float(v[3, 0, 5]) for v in linear.cells[1:])
    law = np.array([[c11, c13], [c13, c33]])
    of_syy = np.linalg.solve(law, [c11 - 2 * c66, c13])
    shares = [material.trace_share(d, at, name)[0] for name in ("sxx", "szz")]
    np.testing.assert_allclose(shares, (1 + of_syy) / 3, rtol=1e-13)
    assert abs(shares[0] - shares[1]) > 0.01
    moduli, h = np.array([c11, c13, c33, c44, c66]), 1e-6 * c11

    def shares_of(c):
        return (1 + np.linalg.solve([[c[0], c[1]], [c[1], c[2]]], [c[0] - 2 * c[4], c[1]])) / 3

    for n, row in enumerate(np.eye(5)):
        expected = (shares_of(moduli + h * row) - shares_of(moduli - h * row)) / 2e-6
        slopes = [c11 * dependences.derivative(f"pressure {field}", *moduli)[n] for field in ("sxx", "szz")]
        np.testing.assert_allclose(slopes, expected, atol=1e-8)
    wet = [np.array([n]) for n in (18, 0, 5)]
    assert material.trace_share(d, wet, "sxx")[0] == material.trace_share(d, wet, "szz")[0] == 0.5
