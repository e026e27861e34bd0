"""Gradients are exact: transposes by dot products, the gradient by central differences."""

import os
from random import Random
from types import SimpleNamespace

import inversecase as small
import numpy as np
import pytest
from common import misfit, refused, tiers
from inversecase import CENTRAL, EXACT, Case, case_of, elements, force, long, place, scenario

import craton
from craton.errors import ScenarioError
from craton.methods.spectral_element.equations import absorbing_layer
from craton.methods.waves.adjoint import unit_rows
from craton.survey import filters, leapfrog
from craton.survey.sources import PointSource


@pytest.fixture
def lines(request, monkeypatch):
    """No lines of the mesh along which layers could be taken to lie, in cases that say so."""
    if "across" in request.getfixturevalue("name"):
        monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)


@pytest.mark.costly("exact gradients find more mutants than any other test")
@pytest.mark.parametrize("name", tiers(small.CASES, *small.QUICK))
def test_gradients_are_exact(name, lines):
    """<F s, r> = <s, F^T r> by the series of sources, <B dm, r> = <dm, B^T r> by the medium, and central differences."""
    case = case_of(name)
    linear = case.problem.experiments[0].linear
    if name in small.REMEMBERING:
        assert ("across" in name) == any("across" in launch.op.name for launch in linear.elements[1]["solid"])
    if "Earth" in name:
        assert linear.d.fluid.sum() == 4
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL


PLAIN, RELAXING_LAYERS = ("free surface and CPML", "plain elements"), "layers that relax, across lines of the mesh"


def test_a_sea_floor_beside_a_layer_is_refused():
    beside = scenario(model=small.FLOOR, source=[small.explosion(0.41, 0.2)], boundaries={"top": "cpml"})
    refused(ScenarioError, "a level sea floor so near a CPML layer", craton.Problem, beside)


MODULI = ("c11", "c13", "c33", "c44", "c66", "rho")
# case, parameters, largest variation. Q alone, so that nothing else hides it
BY = [
    *((PLAIN[0], parameters, 0.005) for parameters in (("lambda", "mu"), ("rho", "ip", "is"), ("kappa", "mu", "rho"))),
    ("attenuation", ("vp", "vs", *small.BY_Q, "rho"), 0.02),
    long("attenuation", small.BY_Q, 0.2),
    ("attenuation", ("qp", "qs"), 0.1),
    ("anisotropy, topography with a lake", MODULI, 0.02),
]


@pytest.mark.parametrize("name, parameters, varied", BY)
def test_gradients_by_other_parameters(name, parameters, varied):
    """A fluid in an anisotropic model has one modulus."""
    case = case_of(name, parameters=parameters, varied=varied)
    assert case.of_medium() < EXACT
    assert case.of_differences((3e-4, 1e-4) if parameters == small.BY_Q else (3e-5, 6e-6)) < CENTRAL
    if "lake" in name:
        slope = case.problem.dataset(case.problem.jac(case.m))
        fluid = case.problem.dataset(case.m0).c44 == 0
        assert fluid.any() and not slope.c11.where(fluid, 0).any() and slope.c33.where(fluid, 0).any()


@pytest.mark.costly("the only gradient of a stiffness of 21 constants")
def test_21_constants():
    """All of them at each node, those that are zero at the start, too."""
    constants = [f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)]
    case = Case(elements(model=small.ANISOTROPIC), parameters=("rho", *constants), varied=0.01)
    largest = np.full(case.problem.shape, 1e9)  # Pa
    largest[0] = 2200
    case.dm, change = (largest * np.random.default_rng(1).uniform(-1, 1, (2, *largest.shape))).reshape(2, -1)
    case.m = case.m0 + 0.02 * change
    assert case.of_sources() < EXACT
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    refused(ScenarioError, "c11, c22 .. c66 that are not positive", case.problem.fun, case.m - 10 * case.m0)


IN_ELEMENTS = {"z": (-170, 10, 5), "y": (-10, 150, 3), "x": (-10, 170, 4)}


@pytest.mark.parametrize("make, ends", [(scenario, small.FILE_OF_PLANE), long(elements, IN_ELEMENTS)])
def test_parameters_on_the_grid_of_a_model_file(make, ends, tmp_path):
    here = make(model=small.model_file(tmp_path, ends))
    case = Case(here, on="model")
    for ours, theirs in zip(case.problem.parameters.cells(case.m0), case.problem.experiments[0].linear.cells):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert case.of_medium() < EXACT
    assert case.of_differences() < CENTRAL
    assert dict(case.problem.dataset(case.m).sizes) == {name: end[2] for name, end in ends.items()}
    refused(ScenarioError, ["not a file", 'on="grid"'], craton.Problem, make(), on="model")
    if make is scenario:
        words = "kappa, mu on a model file"
        refused(ScenarioError, words, craton.Problem, here, on="model", parameters=("kappa", "mu"))
        refused(ScenarioError, "'cells' is no place", craton.Problem, here, on="cells")


@pytest.mark.long
@pytest.mark.parametrize("name", [*PLAIN, "anisotropy with attenuation", RELAXING_LAYERS])
def test_single_precision(name, lines):
    case, double = case_of(name, {"run": {"precision": "float32"}}), case_of(name)
    assert case.of_sources() < 1e-5
    assert case.of_medium() < 1e-5
    assert misfit(case.problem.jac(case.m), double.problem.jac(double.m)) < 1e-4


@pytest.fixture(scope="module")
def plain():
    """A case of a free surface and CPML."""
    return Case(scenario())


@pytest.fixture(scope="module")
def of_elements():
    """A case of a free surface and Stacey's faces."""
    return Case(elements())


ON_GPU = [PLAIN[0], "sea floor", "space", "two shots", "attenuation", "anisotropy", "cut cells in space"]
ON_GPU += ["anisotropy, topography with a lake", "cut cells with attenuation"]


@pytest.mark.gpu
@pytest.mark.parametrize("precision, bound", [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("name", ON_GPU)
def test_a_gpu_agrees_with_the_cpu(name, precision, bound):
    from craton.backends.cuda import available

    if not available():
        pytest.skip("no CUDA device")
    cases = [case_of(name, {"run": {"precision": precision}}, device=device) for device in ("cpu", "cuda")]
    ours, theirs = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert misfit(theirs, ours) < bound
    assert misfit(*(case.problem.born(case.dm, case.m) for case in cases[::-1])) < bound


@pytest.mark.parametrize("model", [small.SOLID, long(small.LOSSY), long(small.LOSSY | small.THOMSEN)])
def test_every_third_step_is_nearly_as_good(model):
    """Some ten steps in the shortest period: products need two samples of theirs."""
    smooth = {"wavelet": {"kind": "ricker", "frequency": 15, "delay": 0.08}}
    here = scenario(steps=110, source=[force(0.41, 0.43) | smooth], model=model)
    cases = [Case(here, small.SIX if "epsilon" in model else small.SPEEDS, every=every) for every in (1, 3)]
    assert cases[1].of_medium() < EXACT
    all_steps, third = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert 0 < misfit(third, all_steps) < 0.01


def test_weights(plain):
    observed = plain.problem.data(plain.m)
    muted = craton.Problem(scenario(), observed, weights={"velocity": np.array([1.0, 0])[:, None, None]})
    residual = (muted.data().velocity - observed.velocity).values[0]
    expected = 0.5 * muted.recordings[0].interval * (residual**2).sum()
    assert muted.fun(muted.m0) == pytest.approx(expected, rel=1e-12)


def test_transposes_of_filters():
    rng, dt, n, times = np.random.default_rng(0), 0.002, 150, np.arange(0, 0.29, 0.006)
    for forward, back, before, after in (
        (leapfrog.from_leapfrog, leapfrog.from_leapfrog_transposed, (dt, 0.5, 30.0), (dt, 0.5, 30.0)),
        (leapfrog.for_leapfrog, leapfrog.for_leapfrog_transposed, (dt, 0.5), (dt, 0.5)),
        (filters.integrate, filters.integrate_transposed, (dt,), (dt,)),
        (filters.differentiate, filters.differentiate_transposed, (dt,), (dt,)),
        (filters.resample, filters.resample_transposed, (0.001, dt, times, 60.0), (0.001, dt, times, n, 60.0)),
    ):
        x = rng.standard_normal((n, 3))
        filtered = forward(x, *before)
        y = rng.standard_normal(filtered.shape)
        assert len(filtered) == (len(times) if forward is filters.resample else n)
        assert (filtered * y).sum() == pytest.approx((back(y, *after) * x).sum(), rel=1e-12)


SMOOTH = {"wavelet": {"kind": "ricker", "frequency": 20, "delay": 0.04}}
SHAKEN = force(0.413, 0.431) | SMOOTH
TURNED = {"kind": "moment_tensor", "at": SHAKEN["at"], "tensor": {"xx": 1e12, "zz": 3e12, "xz": -2e12}} | SMOOTH


def moved(at, e):
    """A place moved along x, and twice as far downwards."""
    return [at[0] + e, *at[1:-1], at[-1] - 2 * e]


# what a gradient has of all sources; a source changed by e; step; relative bound
BY_PLACE = (lambda g: g.position[:, 0] - 2 * g.position[:, -1], lambda s, e: {"at": moved(s["at"], e)}, 0.01, 1e-4)
BY_TIME = (lambda g: g.origin_time, lambda s, e: {"wavelet": s["wavelet"] | {"delay": 0.04 + e}}, 1e-5, 1e-4)
BY_FORCE = (lambda g: g.force.sel(component="E"), lambda s, e: {"force": [1e9 + e, 2e9]}, 1e6, 1e-4)
BY_SHEAR = (lambda g: g.moment.sel(tensor="EZ"), lambda s, e: {"tensor": s["tensor"] | {"xz": -2e12 + e}}, 1e9, 1e-4)
BY_NORTH = (lambda g: g.force[:, 1], lambda s, e: {"force": [1e9, 2e9 + e, 3e9]}, 1e6, 1e-7)
BY_MOMENT = (lambda g: g.moment[:, :3].sum("tensor"), lambda s, e: {"moment": 1e12 + e}, 1e9, 1e-7)
# sources; which of them changes, and how
SHAKES = {
    "force": ([SHAKEN], [(0, BY_PLACE), (0, BY_TIME), (0, BY_FORCE)]),
    "moment": ([TURNED], [(0, BY_PLACE), (0, BY_TIME), (0, BY_SHEAR)]),
    "elements": ([small.BLAST, small.PUSH], [(1, BY_PLACE), (1, BY_NORTH), (0, BY_MOMENT)]),
}


@pytest.mark.parametrize("name", tiers(SHAKES, "force", "elements"))
def test_gradients_by_sources(name, plain, of_elements):
    """Components, position and origin time, against runs with other sources."""
    make, case = (elements, of_elements) if name == "elements" else (scenario, plain)
    observed, (sources, changes) = case.problem.data(case.m), SHAKES[name]

    def value(number, changed):
        tables = [s | changed if n == number else s for n, s in enumerate(sources)]
        problem = craton.Problem(make(source=tables), observed)
        return problem.fun(problem.m0)

    slope = craton.Problem(make(source=sources), observed).by_sources()
    for number, (part, changed, step, bound) in changes:
        above, below = (value(number, changed(sources[number], e)) for e in (step, -step))
        assert float(part(slope)[number]) == pytest.approx((above - below) / (2 * step), rel=bound)
    assert slope.wavelet.dims == ("source", "step")


def test_a_source_at_an_end_has_no_derivative_across_it():
    """Of position x at x = 0, which is the end: central differences need both sides."""

    def rows(sources):
        return np.zeros(len(sources), int), np.array([s.xyz.sum() for s in sources]), np.arange(len(sources))

    source = PointSource("end", np.zeros(3), None, np.ones(3), None)
    of_units = unit_rows(SimpleNamespace(point_rows=rows), source, "force", 10.0, lambda xyz: xyz[:, 0] <= 0)
    assert [weight.sum() for _, weight in of_units[3:]] == pytest.approx([0, 1, 1])


def test_the_dataset_of_a_gradient(plain):
    observed, parameters = plain.problem.data(plain.m), ("vp", "rho")
    out = craton.gradient(scenario(), observed, parameters=parameters)
    fresh = craton.Problem(scenario(), observed, parameters=parameters)
    slope = fresh.dataset(fresh.jac(fresh.m0))
    assert out.attrs["misfit"] == fresh.fun(fresh.m0) > 0
    for name in parameters:
        np.testing.assert_array_equal(out[name], slope[name])
    assert all(dict(out[name].sizes) == dict(zip("xz", small.SHAPES[2])) for name in (*parameters, "illumination"))
    brightest = out.illumination.argmax(("x", "z"))
    where = [float(out[axis][brightest[axis]]) for axis in ("x", "z")]
    assert min(np.abs(np.subtract(where, at)).max() for at in (place(2, 0.41, 0.43), place(2, 0.6, 0.6))) < 30
    residual = fresh.data(fresh.m0).velocity - observed.velocity
    np.testing.assert_allclose(out.adjoint_velocity, fresh.recordings[0].interval * residual, atol=1e-30)


def test_the_dataset_of_a_gradient_of_elements(of_elements):
    here, observed = of_elements.problem.scenario, of_elements.problem.data(of_elements.m)
    out, fresh = craton.gradient(here, observed), craton.Problem(here, observed)
    assert out.vp.dims == out.x.dims == ("element", "node") and out.vp.shape == (8, 27)
    flat = np.stack([out[name].values for name in small.SPEEDS]).ravel()
    assert np.allclose(flat, fresh.jac(fresh.m0), rtol=1e-12, atol=0)
    assert float(out.volume.sum()) == pytest.approx(160 * 140 * 160)
    assert float(out.illumination.min()) >= 0 and float(out.illumination.max()) > 0
    assert out.attrs["misfit"] == pytest.approx(fresh.fun(fresh.m0), rel=1e-12)


def test_a_linear_operator(plain):
    problem, operator = plain.problem, plain.problem.operator(plain.m)
    assert operator.shape == (problem.born(plain.dm).size, plain.m.size)
    weighted = problem.recordings[0].interval * operator.matvec(plain.dm)
    np.testing.assert_allclose(operator.rmatvec(weighted), problem.hvp(plain.dm), rtol=1e-9, atol=1e-30)


def test_what_elements_do_not_cover_is_refused_before_anything_runs(of_elements):
    lossy, water = elements(model=small.RELAXING), small.scenario_of("sea")
    for words, here, options in (
        ("pressure in an anisotropic", elements(model=small.ANISOTROPIC, waveforms=["pressure"]), {}),
        ("velocity in a fluid", small.scenario_of("sea", waveforms=["velocity"]), {}),
        ("cannot be taken back: attenuation remembers", lossy, {"storage": "boundaries"}),
        ("every 1,000 steps, and the run has 26", elements(), {"every": 1000}),
        ("Q of an elastic medium", elements(), {"parameters": small.WITH_Q}),
        ("the medium is anisotropic", elements(model=small.ANISOTROPIC), {"parameters": ("vp",)}),
        ("the medium is isotropic", elements(), {"parameters": ("c11", "c44")}),
    ):
        refused(ScenarioError, words, craton.Problem, here, **options)
    low, deep = craton.Problem(lossy, parameters=small.WITH_Q), craton.Problem(water, parameters=("vs",))
    fast = of_elements.m0.copy()
    fast[: fast.size // 3] *= 3
    without_mass = of_elements.m0 * np.repeat((1.0, 1.0, -1.0), fast.size // 3)
    for words, work, m in (
        ("for which the mechanisms are not made", low.fun, np.where(low.m0 < 1, 2 * low.m0, low.m0)),
        ("unstable for this medium: the limit is", of_elements.problem.fun, fast),
        ("fluid nodes have a shear modulus", deep.data, deep.m0 + 100),
        ("216 nodes have densities that are not positive", of_elements.problem.fun, without_mass),
    ):
        refused(ScenarioError, words, work, m)


def test_the_plan_tells_of_cut_cells():
    """An interface through the middle of cells; one between cells cuts none. They keep a shear modulus."""
    for depth, is_cut in ((-90, True), (-85, False)):
        plan = craton.Problem(scenario(model=small.layers(small.SOIL, small.ROCK | {"top": depth}))).plan
        assert ("planes that interfaces cut  1: what Backus averages" in plan) == is_cut, plan
    problem = craton.Problem(small.scenario_of("cut cells"), parameters=("vs",))
    refused(ScenarioError, "interface cuts have no shear modulus", problem.data, 0 * problem.m0)


COUNT = int(os.environ.get("COMBINATIONS", 0))
FACES, RECORDED = ([tables[key] for tables in small.GRID.values() if key in tables] for key in ("boundaries", "output"))
FACES += [{"top": top} | faces for top in ("sponge", "rigid") for faces in FACES if "top" not in faces]
# what is refused, by words of the message; docs/gradients.md has them, or the forward run has
REFUSED = [
    "a force on points of a CPML layer, or next to one",
    "a moment with shear on points of a fluid, or next to one",
    "SH waves have no pressure",
    "points along z are too few",
    "layer of the top",
    "a level sea floor so near a CPML layer",
]


@pytest.mark.long
@pytest.mark.parametrize("number", range(COUNT or 12))
def test_transposes_of_combinations(number):
    """Medium and sources of a case, faces of another one, what a third one records, by dot products.

    `COMBINATIONS=500 pytest tests/inverse/test_gradients.py -k combinations` draws so many, others each time.
    """
    rng = Random() if COUNT else Random(number)
    name = rng.choice(list(small.GRID))
    by = small.PARAMETERS.get(name, rng.choice((small.SPEEDS, ("kappa", "mu", "rho"))))
    order = rng.choice((2, 4) if COUNT else (4,))  # in the suite texts that other tests have compiled
    tables = {"boundaries": rng.choice(FACES), "output": rng.choice(RECORDED), "run": {"order": order}}
    try:
        case = Case(scenario(**small.GRID[name] | tables), by, every=rng.choice((1, 3)))
        mismatches = case.of_medium(), case.of_sources()
    except ScenarioError as error:
        assert any(words in str(error) for words in REFUSED), (name, tables, str(error))
    else:
        assert max(mismatches) < EXACT, (name, by, tables)
