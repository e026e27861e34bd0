"""Gradients of spectral elements are exact: transposes by dot products, the gradient by central differences and by Taylor's remainder."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from inversecase import RICKER, Case

import craton
from craton.errors import ResourceError, ScenarioError
from craton.methods.spectral_element import absorbing_layer
from craton.scenario import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples"
EXACT, CENTRAL = 1e-13, 1e-8
ROCK = {"kind": "homogeneous", "vp": 2500, "vs": 1400, "rho": 2200}
ANISOTROPIC = ROCK | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
CONSTANTS = [f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)]
WATER = {"vp": 1500, "vs": 0, "rho": 1000}
SEA = {"kind": "layers", "layers": [{"top": 0} | WATER, {"top": -80, "vp": 2500, "vs": 1400, "rho": 2200}]}
LOSSY = ROCK | {"qp": 80, "qs": 40, "attenuation": {"band": [1, 20]}}
SEA_OVER_SHALE = {
    "kind": "layers",
    "layers": [
        {"top": 0, "qp": 9999, "qs": 9999} | WATER,
        {"top": -80, "vp": 2500, "vs": 1400, "rho": 2200, "qp": 80, "qs": 40}
        | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1},
    ],
}
LOSSY_ANISOTROPIC = LOSSY | ANISOTROPIC
WITH_Q = ("vp", "vs", "rho", "inverse_qp", "inverse_qs")
LAYERS = {"west": "pml", "bottom": "pml", "pml": {"thickness": 1, "friction": 0.3}}
EXPLOSION = {"kind": "explosion", "at": [61, 52, -30], "moment": 1e12, "wavelet": RICKER}
FORCE = {"kind": "force", "at": [91, 82, -110], "force": [1e9, 2e9, 3e9], "wavelet": RICKER}
RECEIVERS = [{"name": "A", "at": [51, 72, -30]}, {"name": "B", "at": [121, 92, -100]}]


def scenario(**tables):
    """2 x 2 x 2 elements of degree 2, a free surface and Stacey faces unless said otherwise, some 20 steps."""
    return Scenario(
        method="sem",
        domain={"origin": [0, 0, -160], "size": [160, 140, 160], "element_size": 80} | tables.pop("domain", {}),
        model=tables.pop("model", ROCK),
        time={"duration": 0.08, "start": 0.0} | tables.pop("time", {}),
        boundaries={"top": "free", "others": "stacey"} | tables.pop("boundaries", {}),
        source=tables.pop("source", [EXPLOSION, FORCE]),
        receivers=tables.pop("receivers", RECEIVERS),
        output={"waveforms": tables.pop("waveforms", ["velocity"])},
        run={"precision": "float64", "threads": 1, "degree": 2} | tables.pop("run", {}),
        **tables,
    )


CASES = {
    "solid": {
        "boundaries": {"west": "rigid", "top": "stacey"},
        "waveforms": ["velocity", "displacement", "strain_rate", "rotation_rate", "pressure"],
    },
    "sea": {"model": SEA, "waveforms": ["pressure"]},
    "a sea over 21 constants": {
        "model": SEA_OVER_SHALE,
        "receivers": RECEIVERS[1:],
        "waveforms": ["velocity", "strain_rate"],
    },
    "acoustic": {"model": {"kind": "homogeneous"} | WATER, "source": [EXPLOSION], "waveforms": ["pressure"]},
}


def parameters_of(name):
    """Parameters of the medium of a case."""
    return ("c11", "c13", "c33", "c44", "rho") if "constants" in name else ("vp", "vs", "rho")


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_exact(name):
    """<F s, r> = <s, F^T r> by the series of sources, <B dm, r> = <dm, B^T r> by the medium, and central differences."""
    case = Case(scenario(**CASES[name]), parameters_of(name))
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL


FLOOR_IN_LAYER = {
    "model": {"kind": "layers", "layers": [SEA["layers"][0], SEA["layers"][1] | {"top": -160}]},
    "domain": {"origin": [0, 0, -320], "size": [160, 140, 320]},
    "boundaries": LAYERS | {"pml": {"width": 240, "friction": 0.3}, "west": "stacey"},
    "receivers": [{"name": "B", "at": [121, 92, -200]}],
    "source": [EXPLOSION, FORCE | {"at": [91, 82, -180]}],
}
REMEMBERING = {
    "a sea in a layer": ({"model": SEA, "waveforms": ["pressure"], "boundaries": LAYERS | {"bottom": "rigid"}}, {}),
    "21 constants in a layer beside Stacey's faces": (
        {"model": ANISOTROPIC, "boundaries": LAYERS | {"bottom": "stacey"}},
        {"parameters": ("c11", "c33", "c44", "rho")},
    ),
    "attenuation": ({"model": LOSSY}, {}),
    "a sea over 21 constants that relax": (
        {
            "model": SEA_OVER_SHALE | {"attenuation": {"band": [1, 20]}},
            "boundaries": LAYERS | {"bottom": "stacey"},
            "waveforms": ["pressure"],
            "receivers": RECEIVERS[:1],
        },
        {"parameters": ("c11", "c13", "c33", "c44", "rho")},
    ),
    "21 constants that relax in a layer": (
        {"model": LOSSY_ANISOTROPIC, "boundaries": LAYERS},
        {"parameters": ("c11", "c12", "c33", "c44", "c66", "rho")},
    ),
    "a sea floor along a layer": (FLOOR_IN_LAYER, {}),
    "a sea floor along a layer, across lines of the mesh": (FLOOR_IN_LAYER, {}),
    "layers that relax, across lines of the mesh": ({"model": LOSSY, "boundaries": LAYERS}, {"parameters": WITH_Q}),
}


@pytest.mark.parametrize("name", REMEMBERING)
def test_what_remembers_has_exact_gradients(name, monkeypatch):
    """Steps of absorbing layers and of attenuation cannot be taken back: the field is saved."""
    tables, options = REMEMBERING[name]
    if "across" in name:
        monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)
    case = Case(scenario(**tables), **options)
    operators = case.problem.experiments[0].linear.elements[1]["solid"]
    assert ("across" in name) == any("across" in launch.op.name for launch in operators)
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL


def test_q_of_layers_in_single_precision_and_in_segments():
    """The remainder is of second order; float32 is float64 to 1e-4; segments of steps that run again
    give the same bits as all steps at once.
    """
    tables = {"model": LOSSY, "boundaries": LAYERS}
    case = Case(scenario(**tables), parameters=WITH_Q)
    value, slope = case.problem.fun(case.m), case.problem.jac(case.m) @ case.dm
    steps = 0.01 * 10.0 ** -np.arange(5)
    rest = [abs(case.problem.fun(case.m + e * case.dm) - value - e * slope) for e in steps]
    assert np.polyfit(np.log(steps), np.log(rest), 1)[0] == pytest.approx(2, abs=0.05)
    whole = case.problem.jac(case.m)
    parts = craton.Problem(case.problem.scenario, parameters=WITH_Q)
    parts.observed = case.problem.observed
    parts.experiments[0]._slots = lambda: 7
    assert "of 4 segments, which run again" in parts.plan
    assert np.array_equal(parts.jac(case.m), whole)
    assert np.array_equal(parts.adjoint(0 * parts.born(case.dm)), 0 * whole)  # twice from one run
    parts._gradient = None
    assert np.array_equal(parts.jac(case.m), whole)
    single = Case(scenario(**tables, run={"precision": "float32"}), parameters=WITH_Q)
    assert single.of_sources() < 1e-5
    assert single.of_medium() < 1e-5
    slope = single.problem.jac(single.m)
    assert np.linalg.norm(slope - whole) < 1e-4 * np.linalg.norm(whole)


def test_saved_steps_give_the_gradient_of_steps_taken_back(plain):
    """And so the illumination."""
    observed, options = plain.problem.data(plain.m), {"storage": "checkpoints", "memory": 1e5}
    assert "segments" in craton.Problem(plain.problem.scenario, **options).plan
    back, saved = (craton.gradient(plain.problem.scenario, observed, **kept) for kept in ({}, options))
    for name in ("vp", "vs", "rho", "illumination"):
        most = float(abs(back[name]).max())
        assert float(abs(back[name] - saved[name]).max()) < 1e-11 * most > 0


def test_21_constants():
    """All of them at each node, those that are zero at the start, too."""
    here, rng = scenario(model=ANISOTROPIC), np.random.default_rng(1)
    case = Case(here, parameters=("rho", *CONSTANTS), varied=0.01)
    most = np.full(case.problem.shape, 1e9)  # Pa
    most[0] = 2200
    case.dm = (most * rng.uniform(-1, 1, most.shape)).ravel()
    case.m = case.m0 + 0.02 * (most * rng.uniform(-1, 1, most.shape)).ravel()
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    for parameters, model, words in (
        (("vp",), ANISOTROPIC, "the medium is anisotropic"),
        (("c11", "c44"), ROCK, "the medium is isotropic"),
    ):
        with pytest.raises(ScenarioError, match=words):
            craton.Problem(scenario(model=model), parameters=parameters)
    with pytest.raises(ScenarioError, match=r"c11, c22 .. c66 that are not positive"):
        case.problem.fun(case.m - 10 * case.m0)


@pytest.mark.parametrize("transverse", [False, True])
def test_a_chunk_of_the_earth(transverse):
    """PREM with the outer core; curved elements; stations with an east, north and up of their own. The transversely isotropic
    PREM relaxes, and is flattened.
    """
    model = {"transverse": True, "attenuation": {"band": [0.002, 0.02]}} if transverse else {}
    chunk = {"longitude": 21.0, "latitude": 38.5, "width": [20, 20], "elements": [2, 2]}
    quake = {
        "kind": "moment_tensor",
        "at": {"longitude": 20.1, "latitude": 38.4, "depth": "150 km"},
        "strike": 250,
        "dip": 40,
        "rake": -80,
        "magnitude": 6.5,
        "wavelet": {"kind": "gaussian", "tau": 12},
    }
    earth = Scenario(
        method="sem",
        domain={"chunk": chunk | {"bottom": "3200 km", "elliptic": transverse}},
        model={"kind": "prem"} | model,
        time={"duration": 60, "start": 0},
        source=[quake],
        receivers=[{"name": "A", "at": {"longitude": 22.0, "latitude": 38.5, "depth": "200 km"}}],
        output={"waveforms": ["displacement", "strain_rate"]},
        run={"precision": "float64", "threads": 1, "degree": 2},
    )
    by = ("c11", "c13", "c33", "c44", "c66", "rho") if transverse else ("vp", "vs", "rho")
    case = Case(earth, by, varied=0.01)
    assert case.problem.experiments[0].linear.d.fluid.sum() == 4
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL


def test_parameters_on_the_grid_of_a_model_file(tmp_path):
    x, y, z = (np.linspace(*ends) for ends in ((-10, 170, 4), (-10, 150, 3), (-170, 10, 5)))
    rng, shape = np.random.default_rng(5), (5, 3, 4)
    means = {"vp": 2500, "vs": 1400, "rho": 2200}
    fields = {name: (("z", "y", "x"), mean * (1 + 0.03 * rng.uniform(-1, 1, shape))) for name, mean in means.items()}
    xr.Dataset(fields, {"z": z, "y": y, "x": x}).to_netcdf(tmp_path / "model.nc")
    here = scenario(model={"kind": "file", "file": str(tmp_path / "model.nc")})
    case = Case(here, on="model")
    cells = case.problem.parameters.cells(case.m0)
    for ours, theirs in zip(cells, case.problem.experiments[0].linear.cells):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    assert dict(case.problem.dataset(case.m).sizes) == {"z": 5, "y": 3, "x": 4}
    with pytest.raises(ScenarioError, match="not a file"):
        craton.Problem(scenario(), on="model")


def test_single_precision():
    case = Case(scenario(run={"precision": "float32"}))
    assert case.of_sources() < 1e-5
    assert case.of_medium() < 1e-5
    double = Case(scenario())
    slopes = [each.problem.jac(each.m) for each in (case, double)]
    assert np.linalg.norm(slopes[0] - slopes[1]) < 1e-4 * np.linalg.norm(slopes[1])


@pytest.fixture(scope="module")
def plain():
    """A case of free surface and Stacey faces."""
    return Case(scenario())


def test_the_remainder_is_of_second_order_over_four_decades(plain):
    value, slope = plain.problem.fun(plain.m), plain.problem.jac(plain.m) @ plain.dm
    steps = 0.01 * 10.0 ** -np.arange(5)
    rest = [abs(plain.problem.fun(plain.m + e * plain.dm) - value - e * slope) for e in steps]
    assert np.polyfit(np.log(steps), np.log(rest), 1)[0] == pytest.approx(2, abs=0.05)


def test_velocities_of_absorbing_points_go_to_the_host_where_they_do_not_fit(plain):
    whole = plain.problem.jac(plain.m)
    experiment = plain.problem.experiments[0]
    bytes_of_a_step = experiment._stores(experiment.program)["store"][0].nbytes
    parts = craton.Problem(plain.problem.scenario, memory=7.5 * bytes_of_a_step)
    parts.observed = plain.problem.observed
    assert np.array_equal(parts.jac(plain.m), whole)
    assert len(parts.experiments[0].segments) > 2
    assert np.array_equal(parts.adjoint(0 * parts.born(plain.dm)), 0 * whole)  # twice from one run
    parts._gradient = None
    assert np.array_equal(parts.jac(plain.m), whole)
    with pytest.raises(ResourceError, match="absorbing points of a step"):
        craton.Problem(plain.problem.scenario, memory=0.5 * bytes_of_a_step).data()


def test_the_run_is_that_of_craton_run_and_ends_where_it_began(plain):
    """The medium at nodes is that of the scenario; marched back, the field is at rest again."""
    data = plain.problem.data(plain.m0)
    run = craton.run(plain.problem.scenario, progress=False).dataset
    scale = float(abs(run.velocity).max())
    assert float(abs(data.velocity - run.velocity).max()) < 1e-12 * scale
    plain.problem.jac(plain.m)
    back = next(iter(plain.problem.experiments[0].others.values()))
    rest = back.arrays["pair_rate"][:, :3]
    assert np.abs(rest).max() < 1e-11 * np.abs(plain.problem.experiments[0].program.arrays["velocity"]).max()


def test_gradient_as_a_dataset(plain):
    observed = plain.problem.data(plain.m)
    gradient = craton.gradient(plain.problem.scenario, observed)
    assert gradient.vp.dims == ("element", "node")
    assert gradient.vp.shape == (8, 27)
    assert gradient.x.dims == ("element", "node")
    flat = np.stack([gradient[name].values for name in ("vp", "vs", "rho")]).ravel()
    fresh = craton.Problem(plain.problem.scenario, observed)
    assert np.allclose(flat, fresh.jac(fresh.m0), rtol=1e-12, atol=0)
    assert float(gradient.volume.sum()) == pytest.approx(160 * 140 * 160)
    assert float(gradient.illumination.min()) >= 0
    assert float(gradient.illumination.max()) > 0
    assert gradient.attrs["misfit"] == pytest.approx(fresh.fun(fresh.m0), rel=1e-12)


def test_sources(plain):
    """Force, moment tensor, position and origin time by differences of the misfit of changed scenarios."""
    problem, observed = plain.problem, plain.problem.data(plain.m)
    value = craton.Problem(problem.scenario, observed)
    gradient = value.by_sources(value.m0)

    def misfit(source, **changes):
        tables = [EXPLOSION, FORCE]
        tables[source] = tables[source] | changes
        changed = craton.Problem(scenario(source=tables), observed)
        return changed.fun(changed.m0)

    by_force = (misfit(1, force=[1e9, 2.001e9, 3e9]) - misfit(1, force=[1e9, 1.999e9, 3e9])) / 2e6
    assert float(gradient.force[1, 1]) == pytest.approx(by_force, rel=1e-7)
    by_x = (misfit(1, at=[91.01, 82, -110]) - misfit(1, at=[90.99, 82, -110])) / 0.02
    assert float(gradient.position[1, 0]) == pytest.approx(by_x, rel=1e-4)
    by_moment = (misfit(0, moment=1.001e12) - misfit(0, moment=0.999e12)) / 2e9
    assert float(gradient.moment[0, :3].sum()) == pytest.approx(by_moment, rel=1e-7)


def test_what_is_not_covered_is_refused_before_anything_runs(plain):
    cases = {
        "pressure in an anisotropic": {"model": ANISOTROPIC, "waveforms": ["pressure"]},
        "velocity in a fluid": {"model": SEA},
    }
    for words, tables in cases.items():
        with pytest.raises(ScenarioError, match=words):
            craton.Problem(scenario(**tables))
    lossy = scenario(model=LOSSY)
    with pytest.raises(ScenarioError, match="cannot be taken back: attenuation remembers"):
        craton.Problem(lossy, storage="boundaries")
    with pytest.raises(ScenarioError, match="Q of an elastic medium"):
        craton.Problem(scenario(), parameters=WITH_Q)
    with pytest.raises(ScenarioError, match="for which the mechanisms are not made"):
        low = craton.Problem(lossy, parameters=WITH_Q)
        low.fun(np.where(low.m0 < 1, 2 * low.m0, low.m0))
    m = plain.m0.copy()
    m[: m.size // 3] *= 3
    with pytest.raises(ScenarioError, match=r"unstable for this medium: the limit is"):
        plain.problem.fun(m)
    water = craton.Problem(scenario(model=SEA, waveforms=["pressure"]), parameters=("vs",))
    with pytest.raises(ScenarioError, match="fluid nodes have a shear modulus"):
        water.data(water.m0 + 100)


def example(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


def test_a_travel_time_depends_on_a_banana_with_a_hole():
    """The example in a small form: the kernel adds up to minus the travel time of the ray, and is small on the ray."""
    banana = example("banana_doughnut")
    path = banana.Path(9e3, 3e3, 1.5e3, 9e3, 9e3, 1.5e3, frequency=1.0, degree=3)
    kernels = banana.kernel(path)
    total = float((kernels.kernel * kernels.volume).sum())
    assert -total == pytest.approx(path.travel_time, rel=0.03)
    y, z, values = banana.section(kernels, "x", 6000, 1.0)
    on_ray = np.argmin(np.hypot(y - path.width / 2, z - 1e3 * banana.ray(path)[1][50]))
    assert abs(values[on_ray]) < 0.4 * np.abs(values).max()


def test_a_banana_in_a_chunk_of_the_earth_says_what_a_faster_ball_does(tmp_path):
    """The example in a small form: the travel time of runs with a ball faster and slower, and of all that is faster."""
    pytest.importorskip("obspy")
    banana = example("banana_doughnut_prem")
    path = banana.Path(
        distance=24.0,
        bottom=1500e3,
        width=(36.0, 14.0),
        elements=(10, 4),
        period=60.0,
        degree=3,
        precision="float64",
        model=(("kind", "radial"), ("file", str(EXAMPLES / "files" / "prem_no_crust.nd"))),
    )
    kernels = banana.kernel(path)
    by_kernel, by_runs = banana.check(path, kernels, radius=400e3, change=5e-4)
    assert by_kernel == pytest.approx(by_runs, rel=1e-6) and by_kernel < -0.002
    total = float((kernels.kernel * kernels.volume).sum())
    assert -total == pytest.approx(path.arrival[0], rel=0.04)
    banana.draw(path, kernels, tmp_path / "banana.png")
    assert (tmp_path / "banana.png").stat().st_size > 20_000
