"""Gradients are exact: transposes by dot products, the gradient by central differences and by Taylor's remainder."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from inversecase import SOLID, Case, model_file, place, scenario

import craton
from craton.errors import ScenarioError
from craton.survey import filters, leapfrog

EXAMPLE = Path(__file__).parents[2] / "examples" / "fwi.py"
EXACT, CENTRAL = 1e-13, 1e-8
WATER, SOFT = (
    {
        "kind": "layers",
        "layers": [{"top": 0, "vp": vp, "vs": vs, "rho": rho}, {"top": -85, "vp": 2500, "vs": 1400, "rho": 2200}],
    }
    for vp, vs, rho in ((1500, 0, 1000), (1200, 500, 1800))
)
# interfaces within cells, one of them below a free surface
CUT = SOFT | {
    "layers": [SOFT["layers"][0], SOFT["layers"][1] | {"top": -30}, {"top": -112, "vp": 3000, "vs": 1700, "rho": 2400}]
}
DEEP, THIN = (WATER | {"layers": [WATER["layers"][0], WATER["layers"][1] | {"top": top}]} for top in (-115, -45))
CAVITIES = [
    {"shape": "box", "min": [90, -1e3, -100], "max": [160, 1e3, 0], "vp": 1500, "vs": 0, "rho": 1000},
    {"shape": "sphere", "center": [190, 0, -120], "radius": 35, "vp": 1400, "vs": 0, "rho": 1100},
]
SEA = {"kind": "homogeneous", "vp": 2000, "vs": 0, "rho": 1000}
FIBRE = {"name": "F", "das": {"along": [place(2, 0.2, 0.1), place(2, 0.8, 0.0)], "spacing": 20, "gauge": 40}}


def force(*parts, components=(1e9, 2e9), **more):
    """A point force in the plane."""
    return {"kind": "force", "at": place(2, *parts), "force": list(components)} | more


def explosion(*parts):
    """An explosion."""
    return {"kind": "explosion", "at": place(len(parts), *parts), "moment": 1e12}


LOSSES = {"qp": 40, "qs": 25}
BAND = {"attenuation": {"band": [5, 50]}}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.08}
LOSSY = SOLID | LOSSES | BAND
GROUND = {"topography": {"x": [0, 100, 180, 270], "z": [-30, -42, -25, -61]}}
LAKE = {"water": {"level": -35, "vp": 1480, "rho": 1000}}
BOTH = {"output": {"waveforms": ["velocity", "pressure"]}}
ON_GROUND = [{"name": "A", "at": place(2, 0.37, 0.55)}, {"name": "B", "at": [100, -45]}]

SIX = {"parameters": ("vp", "vs", *THOMSEN, "rho")}

CASES = {
    "free surface and CPML": {},
    "CPML all around": {"boundaries": {"top": "cpml"}},
    "sponge": {"boundaries": {"others": "sponge", "sponge": {"thickness": 5, "strength": 0.1}}},
    "rigid": {"boundaries": {"top": "rigid", "others": "rigid"}},
    "periodic": {"boundaries": {"bottom": "cpml", "others": "periodic"}},
    "damped layers": {"model": SOFT},
    "sea floor": {
        "model": WATER,
        "output": {"waveforms": ["velocity", "pressure"]},
        "source": [explosion(0.41, 0.2), force(0.41, 0.6)],
    },
    "a cavity that reaches the surface": {
        "model": SOLID | {"anomalies": CAVITIES},
        "output": {"waveforms": ["velocity", "pressure"]},
        "source": [explosion(0.5, 0.2), force(0.41, 0.6)],
    },
    "deep sea floor, sponge": {
        "model": DEEP,
        "boundaries": {"bottom": "sponge", "sponge": {"thickness": 11, "strength": 0.1}},
        "source": [explosion(0.41, 0.3), force(0.41, 0.62)],
    },
    "thin sea": {"model": THIN, "source": [explosion(0.41, 0.1), force(0.41, 0.6)]},
    "force on the surface": {"source": [force(0.4, 0.0)]},
    "explosion below the surface": {"source": [explosion(0.4, 0.06)]},
    "pressure and strain": {"output": {"waveforms": ["pressure", "strain_rate", "rotation_rate"]}},
    "resampled": {"output": {"waveforms": ["velocity", "displacement", "acceleration"], "sampling": 0.004}},
    "fibre": {"receivers": [FIBRE]},
    "two shots": {"source": [force(0.3, 0.3, shot="a"), force(0.6, 0.0, shot="b")]},
    "order 2": {"run": {"order": 2}},
    "SH": {"waves": "SH", "source": [force(0.4, 0.4, components=(0, 1e9, 0))]},
    "acoustic": {
        "waves": "acoustic",
        "model": SEA,
        "source": [explosion(0.4, 0.2)],
        "output": {"waveforms": ["pressure", "velocity"]},
    },
    "space": {"dimensions": 3, "output": {"waveforms": ["velocity", "pressure"]}},
    "space, CPML all around": {"dimensions": 3, "boundaries": {"top": "cpml"}},
    "space, sea floor": {"dimensions": 3, "model": WATER},
    "space, acoustic": {
        "dimensions": 3,
        "model": SEA,
        "source": [explosion(0.4, 0.4, 0.05)],
        "output": {"waveforms": ["pressure"]},
    },
    "attenuation": {"model": LOSSY, "source": [explosion(0.4, 0.06), force(0.4, 0.0)]} | BOTH,
    "attenuation, pairs of mechanisms, CPML all around": {
        "model": SOLID | LOSSES | {"attenuation": {"band": [5, 50], "storage": "paired"}},
        "boundaries": {"top": "cpml"},
    },
    "attenuation, SH": {"waves": "SH", "model": LOSSY, "source": [force(0.4, 0.4, components=(0, 1e9, 0))]},
    "attenuation in water and soil": {
        "model": {"layers": [layer | LOSSES for layer in WATER["layers"]], "kind": "layers"} | BAND,
        "source": [explosion(0.41, 0.2), force(0.41, 0.6)],
    }
    | BOTH,
    "attenuation in space": {"dimensions": 3, "model": LOSSY, "steps": 25} | BOTH,
    "attenuation in sponges": {
        "model": LOSSY,
        "boundaries": {"bottom": "cpml", "others": "sponge", "sponge": {"thickness": 8, "strength": 0.1}},
        "source": [explosion(0.13, 0.12), force(0.4, 0.0)],
    }
    | BOTH,
    "topography with attenuation": {"model": LOSSY | GROUND, "receivers": ON_GROUND},
    "anisotropy": {"model": SOLID | THOMSEN, "source": [explosion(0.4, 0.06), force(0.4, 0.0)]},
    "anisotropy, SH": {"waves": "SH", "model": SOLID | THOMSEN, "source": [force(0.4, 0.4, components=(0, 1e9, 0))]},
    "anisotropy in space": {"dimensions": 3, "model": SOLID | THOMSEN, "steps": 25} | BOTH,
    "anisotropy, topography with a lake": {"model": SOLID | THOMSEN | GROUND | LAKE, "receivers": ON_GROUND[:1]},
    "topography with a lake": {"model": SOLID | GROUND | LAKE, "receivers": ON_GROUND[:1]} | BOTH,
    "anisotropy with attenuation": {
        "model": LOSSY | THOMSEN,
        "source": [explosion(0.4, 0.06), force(0.4, 0.0)],
        "output": {"waveforms": ["velocity", "strain_rate"]},
    },
    "anisotropy with attenuation, SH": {
        "waves": "SH",
        "model": LOSSY | THOMSEN,
        "source": [force(0.4, 0.4, components=(0, 1e9, 0))],
    },
    "cut cells": {"model": CUT, "source": [explosion(0.41, 0.48), force(0.41, 0.13)]} | BOTH,
    "cut cells, SH": {
        "waves": "SH",
        "model": CUT,
        "source": [force(0.4, 0.4, components=(0, 1e9, 0))],
        "output": {"waveforms": ["strain_rate"]},
    },
    "cut cells in space": {"dimensions": 3, "model": CUT, "steps": 25} | BOTH,
    "cut cells with attenuation": {
        "model": {"layers": [layer | LOSSES for layer in CUT["layers"]], "kind": "layers"} | BAND,
        "source": [explosion(0.41, 0.48), force(0.41, 0.13)],
    }
    | BOTH,
    "anisotropy with attenuation in space": {"dimensions": 3, "model": LOSSY | THOMSEN, "steps": 20} | BOTH,
}


ON_GPU = ["free surface and CPML", "sea floor", "space", "two shots"]
ON_GPU += ["attenuation", "anisotropy", "anisotropy, topography with a lake"]
ON_GPU += ["cut cells in space", "cut cells with attenuation"]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_exact(name):
    """<F s, r> = <s, F^T r> by the series of sources, <B dm, r> = <dm, B^T r> by the medium, and central differences."""
    case = Case(scenario(**CASES[name]), **(SIX if "anisotropy" in name else {}))
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL


BY_Q = ("inverse_qp", "inverse_qs")


@pytest.mark.parametrize(
    "name", ["attenuation", "attenuation, SH", "attenuation in water and soil", "attenuation in space"]
)
def test_gradients_by_q_are_exact(name):
    """Alone, so that nothing else hides them; and of second order."""
    names = BY_Q[1:] if "SH" in name else BY_Q
    case = Case(scenario(**CASES[name]), names, varied=0.2)
    assert case.of_medium() < EXACT
    assert case.of_differences(steps=(3e-4, 1e-4)) < CENTRAL
    if name == "attenuation":
        assert order_of_remainder(case, 0.03) == pytest.approx(2, abs=0.05)


def test_parameters_with_q():
    """Q in place of 1/Q; all five together have the gradient by speeds and density that three have."""
    tables = CASES["attenuation"]
    assert Case(scenario(**tables), ("qp", "qs"), varied=0.1).of_differences() < CENTRAL
    case = Case(scenario(**tables), ("vp", "vs", *BY_Q, "rho"))
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    observed, mixed = case.problem.data(1.01 * case.m0), ("vp", "rho", *BY_Q)
    slopes = []
    for problem in (
        craton.Problem(scenario(**tables), observed),
        craton.Problem(scenario(**tables), observed, parameters=mixed),
    ):
        named = problem.dataset(problem.jac(problem.m0))
        slopes.append(np.stack([named.vp, 1000 * named.rho]))
    # ratios of moduli are interpolated where Q stays, to 1e-6
    assert np.linalg.norm(slopes[0] - slopes[1]) < 1e-4 * np.linalg.norm(slopes[0])


@pytest.mark.parametrize("name", ["free surface and CPML", "attenuation", "anisotropy with attenuation"])
def test_single_precision(name):
    tables, more = CASES[name], SIX if "anisotropy" in name else {}
    case = Case(scenario(**tables, run={"precision": "float32"}), **more)
    assert case.of_sources() < 1e-5
    assert case.of_medium() < 1e-5
    double = Case(scenario(**tables), **more)
    slopes = [one.problem.jac(one.m) for one in (case, double)]
    assert np.linalg.norm(slopes[0] - slopes[1]) < 1e-4 * np.linalg.norm(slopes[1])


@pytest.fixture(scope="module")
def plain():
    """A case of the first kind."""
    return Case(scenario())


def order_of_remainder(case, largest=0.01):
    """Power with which Taylor's remainder falls over four decades."""
    value, slope = case.problem.fun(case.m), case.problem.jac(case.m) @ case.dm
    steps = largest * 10.0 ** -np.arange(5)
    rest = [abs(case.problem.fun(case.m + e * case.dm) - value - e * slope) for e in steps]
    return np.polyfit(np.log(steps), np.log(rest), 1)[0]


def test_the_remainder_is_of_second_order_over_four_decades(plain):
    assert order_of_remainder(plain) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("misfit", ["correlation", "travel_time", "envelope", "phase", "transport"])
def test_misfits(misfit):
    """Two quantities with several components, a fibre, and windows."""
    here = scenario(receivers=[{"name": "A", "at": place(2, 0.37, 0.55)}, FIBRE], **BOTH)
    blank = craton.Problem(here).recordings[0].blank()
    weights = {
        name: factor * craton.inverse.window(blank, 0.01, 0.07, 0.6)
        for name, factor in (("velocity", 1), ("fibre_strain_rate", 2))
    }
    assert set(weights) < set(blank.data_vars)
    assert Case(here, misfit=misfit, weights=weights).of_differences() < CENTRAL


def test_a_function_as_a_misfit(plain):
    def cubed(computed, observed, interval):
        rest = (computed - observed) * 1e6
        return float((rest**4).sum()), 4e6 * rest**3

    assert Case(scenario(), misfit=cubed).of_differences() < CENTRAL


@pytest.mark.parametrize("names", [("lambda", "mu"), ("rho", "ip", "is"), ("kappa", "mu", "rho")])
def test_parameters(names):
    assert Case(scenario(), names, varied=0.005).of_differences() < CENTRAL


def test_parameters_of_an_anisotropic_medium():
    case = Case(scenario(**CASES["anisotropy"]), ("c11", "c13", "c33", "c44", "c66"))
    assert case.of_differences() < CENTRAL


@pytest.mark.parametrize(
    "name, steps, every, memory", [("attenuation", 40, 1, 9e5), ("attenuation in sponges", 80, 3, 7e5)]
)
def test_checkpoints_of_memory_variables_give_the_same_bits(name, steps, every, memory):
    tables = CASES[name] | {"steps": steps}
    cases = [
        Case(scenario(**tables), every=every),
        Case(scenario(**tables), every=every, memory=memory, storage="checkpoints"),
    ]
    assert cases[1].of_medium() < EXACT
    assert cases[1].problem.experiments[0].replayed
    for results in (
        [case.problem.jac(case.m) for case in cases],
        [case.problem.born(case.dm, case.m) for case in cases],
    ):
        np.testing.assert_array_equal(*results)


def test_checkpoints_give_the_same_bits(plain):
    other = Case(scenario(), memory=1.2e6, storage="checkpoints")
    assert other.problem.experiments[0].replayed
    assert not plain.problem.experiments[0].replayed
    np.testing.assert_array_equal(other.problem.jac(other.m), plain.problem.jac(plain.m))
    np.testing.assert_array_equal(other.problem.born(other.dm, other.m), plain.problem.born(plain.dm, plain.m))


def test_nothing_undefined_is_read(plain):
    """A machine with nan wherever nothing was promised gives the same bits."""
    other = Case(scenario(), device="hostile")
    np.testing.assert_array_equal(other.problem.jac(other.m), plain.problem.jac(plain.m))


@pytest.mark.gpu
@pytest.mark.parametrize("precision, bound", [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("name", ON_GPU)
def test_a_gpu_agrees_with_the_cpu(name, precision, bound):
    from craton.backends.cuda import available

    if not available():
        pytest.skip("no CUDA device")
    tables = CASES[name] | {"run": {"precision": precision}}
    more = SIX if "anisotropy" in name else {}
    cases = [Case(scenario(**tables), device=device, **more) for device in ("cpu", "cuda")]
    ours, theirs = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert np.linalg.norm(ours - theirs) < bound * np.linalg.norm(ours)
    born = [case.problem.born(case.dm, case.m) for case in cases]
    assert np.linalg.norm(born[0] - born[1]) < bound * np.linalg.norm(born[0])


@pytest.mark.parametrize("model", [SOLID, LOSSY, LOSSY | THOMSEN], ids=["", "Q", "Q, anisotropy"])
def test_every_third_step_is_nearly_as_good(model):
    """Some ten steps in the shortest period: products need two samples of theirs."""
    smooth = {"wavelet": {"kind": "ricker", "frequency": 15, "delay": 0.08}}
    tables = {"steps": 110, "source": [force(0.41, 0.43) | smooth], "model": model}
    more = SIX if "epsilon" in model else {}
    cases = [Case(scenario(**tables), every=every, **more) for every in (1, 3)]
    assert cases[1].of_medium() < EXACT
    all_steps, third = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert 0 < np.linalg.norm(all_steps - third) < 0.01 * np.linalg.norm(all_steps)


def test_shots_in_space_are_runs_whose_gradients_add_up():
    sources = [
        {"kind": "force", "at": place(3, x, 0.5, 0.3), "force": [1e9, 0, 2e9], "shot": shot}
        for x, shot in ((0.4, "a"), (0.6, "b"))
    ]
    whole = Case(scenario(3, source=sources))
    slope, observed = whole.problem.jac(whole.m), whole.problem.data(whole.m * 1.01)
    assert whole.of_medium() < EXACT
    whole = craton.Problem(scenario(3, source=sources), observed)
    value, total = whole.fun(slope * 0 + whole.m0), whole.jac(whole.m0)
    alone = [
        craton.Problem(
            scenario(3, source=[{k: v for k, v in source.items() if k != "shot"}]), observed.sel(shot=source["shot"])
        )
        for source in sources
    ]
    assert value == pytest.approx(sum(one.fun(one.m0) for one in alone), rel=1e-12)
    parts = sum(one.jac(one.m0) for one in alone)
    assert np.linalg.norm(total - parts) < 1e-12 * np.linalg.norm(parts)


def test_weights(plain):
    observed = plain.problem.data(plain.m)
    muted = craton.Problem(scenario(), observed, weights={"velocity": np.array([1.0, 0])[:, None, None]})
    rest = (muted.data().velocity - observed.velocity).values[0]
    expected = 0.5 * float(observed.time[1] - observed.time[0]) * (rest**2).sum()
    assert muted.fun(muted.m0) == pytest.approx(expected, rel=1e-12)


def test_transposes_of_filters():
    rng = np.random.default_rng(0)
    dt, n, times = 0.002, 150, np.arange(0, 0.29, 0.006)
    pairs = [
        (
            lambda x: leapfrog.from_leapfrog(x, dt, 0.5, 30.0),
            lambda y: leapfrog.from_leapfrog_transposed(y, dt, 0.5, 30.0),
            n,
        ),
        (lambda x: leapfrog.for_leapfrog(x, dt, 0.5), lambda y: leapfrog.for_leapfrog_transposed(y, dt, 0.5), n),
        (lambda x: filters.integrate(x, dt), lambda y: filters.integrate_transposed(y, dt), n),
        (lambda x: filters.differentiate(x, dt), lambda y: filters.differentiate_transposed(y, dt), n),
        (
            lambda x: filters.resample(x, 0.001, dt, times, 60.0),
            lambda y: filters.resample_transposed(y, 0.001, dt, times, n, 60.0),
            len(times),
        ),
    ]
    for forward, back, count in pairs:
        x, y = rng.standard_normal((n, 3)), rng.standard_normal((count, 3))
        assert (forward(x) * y).sum() == pytest.approx((back(y) * x).sum(), rel=1e-12)


SHAKEN = {
    "force": {"kind": "force", "at": place(2, 0.413, 0.431), "force": [1e9, 2e9]},
    "moment": {"kind": "moment_tensor", "at": place(2, 0.413, 0.431), "tensor": {"xx": 1e12, "zz": 3e12, "xz": -2e12}},
}
SMOOTH = {"wavelet": {"kind": "ricker", "frequency": 20, "delay": 0.04}}


@pytest.mark.parametrize("kind", SHAKEN)
def test_gradients_by_sources(kind, plain):
    """Components, position and origin time, against runs with other sources."""
    observed = plain.problem.data(plain.m)
    source = SHAKEN[kind] | SMOOTH

    def value(changed):
        problem = craton.Problem(scenario(source=[changed]), observed)
        return problem.fun(problem.m0)

    def central(change, step):
        return (value(change(step)) - value(change(-step))) / (2 * step)

    here = craton.Problem(scenario(source=[source]), observed)
    slope = here.by_sources()
    at, delay = source["at"], source["wavelet"]["delay"]
    expected = {
        "x": central(lambda e: source | {"at": [at[0] + e, at[1]]}, 0.01),
        "z": central(lambda e: source | {"at": [at[0], at[1] + e]}, 0.01),
        "time": central(lambda e: source | {"wavelet": source["wavelet"] | {"delay": delay + e}}, 1e-5),
    }
    found = dict(zip("xyz", slope.position.values[0])) | {"time": float(slope.origin_time[0])}
    if kind == "force":
        expected["F"] = central(lambda e: source | {"force": [1e9 + e, 2e9]}, 1e6)
        found["F"] = float(slope.force.sel(component="E")[0])
    else:
        tensor = source["tensor"]
        expected["M"] = central(lambda e: source | {"tensor": tensor | {"xz": -2e12 + e}}, 1e9)
        found["M"] = float(slope.moment.sel(tensor="EZ")[0])
    for name, number in expected.items():
        assert found[name] == pytest.approx(number, rel=1e-4), name
    assert slope.wavelet.dims == ("source", "step")


GRID = {"x": 28, "z": 24}


def test_the_dataset_of_a_gradient(plain):
    observed = plain.problem.data(plain.m)
    out = craton.gradient(scenario(), observed, parameters=("vp", "rho"))
    fresh = craton.Problem(scenario(), observed, parameters=("vp", "rho"))
    slope = fresh.dataset(fresh.jac(fresh.m0))
    assert out.attrs["misfit"] == fresh.fun(fresh.m0) > 0
    for name in ("vp", "rho"):
        assert dict(out[name].sizes) == GRID
        np.testing.assert_array_equal(out[name], slope[name])
    assert dict(out.illumination.sizes) == GRID and (out.illumination > 0).any()
    brightest = out.illumination.argmax(("x", "z"))
    source = [place(2, 0.41, 0.43), place(2, 0.6, 0.6)]
    where = [float(out[axis][brightest[axis]]) for axis in ("x", "z")]
    assert min(np.abs(np.subtract(where, at)).max() for at in source) < 30
    rest = fresh.data(fresh.m0).velocity - observed.velocity
    step = float(observed.time[1] - observed.time[0])
    np.testing.assert_allclose(out.adjoint_velocity, step * rest, atol=1e-30)


def test_a_linear_operator(plain):
    operator = plain.problem.operator(plain.m)
    assert operator.shape == (plain.problem.born(plain.dm).size, plain.m.size)
    rest = operator.matvec(plain.dm)
    step = plain.problem.recordings[0].interval
    np.testing.assert_allclose(operator.rmatvec(step * rest), plain.problem.hvp(plain.dm), rtol=1e-9, atol=1e-30)


def told(words, *arguments, **options):
    """The text of the error that a problem ends with, which must hold some words."""
    with pytest.raises(ScenarioError) as caught:
        craton.Problem(*arguments, **options)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_a_fluid_in_an_anisotropic_model_has_one_modulus():
    moduli = ("c11", "c13", "c33", "c44", "c66", "rho")
    case = Case(scenario(**CASES["anisotropy, topography with a lake"]), moduli)
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    slope = case.problem.dataset(case.problem.jac(case.m))
    fluid = case.problem.dataset(case.m0).c44 == 0
    assert fluid.any() and not slope.c11.where(fluid, 0).any() and slope.c33.where(fluid, 0).any()


def test_the_plan_tells_of_cut_cells():
    """An interface through the middle of cells; one between cells cuts none."""
    for depth, is_cut in ((-90, True), (-85, False)):
        layers = [SOFT["layers"][0], SOFT["layers"][1] | {"top": depth}]
        plan = craton.Problem(scenario(model={"kind": "layers", "layers": layers})).plan
        assert ("planes that interfaces cut  1: what Backus averages" in plan) == is_cut, plan


@pytest.mark.parametrize("name", ["cut cells", "cut cells with attenuation"])
def test_the_start_of_a_problem_is_the_run_of_its_scenario(name):
    """Cut cells have their Backus averages in both: with isotropic means the data are 1e-3 apart."""
    tables = scenario(**CASES[name])
    run = craton.run(tables, progress=False).dataset
    observed = run * 1.1
    problem = craton.Problem(tables, observed)
    data = problem.data()
    for quantity in data.data_vars:
        np.testing.assert_allclose(data[quantity], run[quantity], rtol=0, atol=1e-13 * float(abs(run[quantity]).max()))
    interval = float(np.diff(run.time[:2])[0])
    expected = sum(float(((0.1 * run[q]) ** 2).sum()) for q in data.data_vars) * interval / 2
    assert problem.fun(problem.m0) == pytest.approx(expected, rel=1e-12)


def test_cut_cells_keep_a_shear_modulus():
    problem = craton.Problem(scenario(**CASES["cut cells"]), parameters=("vs",))
    fluid = 0 * problem.m0
    with pytest.raises(ScenarioError, match="interface cuts have no shear modulus"):
        problem.data(fluid)


def test_the_remainder_is_of_second_order_in_cut_cells():
    assert order_of_remainder(Case(scenario(**CASES["cut cells"]))) == pytest.approx(2, abs=0.05)


@pytest.fixture(scope="module")
def file_model(tmp_path_factory):
    """A model file on a grid of its own, coarser than the computation's."""
    return model_file(tmp_path_factory.mktemp("model"))


def test_parameters_on_the_grid_of_a_model_file(file_model):
    here = scenario(model=file_model)
    case = Case(here, on="model")
    cells = case.problem.parameters.cells(case.m0)
    for ours, theirs in zip(cells, case.problem.experiments[0].linear.cells):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    assert dict(case.problem.dataset(case.m).sizes) == {"z": 8, "y": 2, "x": 9}
    told(["not a file", 'on="grid"'], scenario(), on="model")
    told(["kappa, mu on a model file"], here, parameters=("kappa", "mu"), on="model")
    told(["'cells' is no place"], here, on="cells")


def test_inversion_of_a_section_with_lenses():
    """The example in a small form: the model comes near the true one, not only the data."""
    spec = importlib.util.spec_from_file_location("fwi", EXAMPLE)
    fwi = importlib.util.module_from_spec(spec)
    sys.modules["fwi"] = fwi  # its dataclass looks there
    spec.loader.exec_module(fwi)
    survey = fwi.Survey(480, 260, 10, 10, shots=6, receivers=16, duration=0.7, smoothing=1, layer=5)
    problem, truth, models, values = fwi.invert(survey, 10, report=lambda text: None)
    errors = [fwi.error(truth, m, problem) for m in models]
    assert values[-1] < 0.2 and (np.diff(values) < 0).all()
    assert errors[-1] < 1 / 3  # 0.28; 0.19 after 20


@pytest.mark.parametrize("name", ["free surface and CPML", "pressure and strain", "cut cells"])
def test_rows_of_all_receivers_together_are_those_one_by_one(name):
    linear = craton.Problem(scenario(**CASES[name]), device="cpu").experiments[0].linear
    state = linear.at(linear.cells)
    for together, single in (
        (state.medium.of_all_receivers, state.medium.of_receivers),
        (state.medium.of_all_sources, state.medium.of_sources),
    ):
        for got, rows in zip(together(state.rows), state.rows, strict=True):
            for part, wanted in zip(got, single(rows), strict=True):
                np.testing.assert_array_equal(part, wanted)
