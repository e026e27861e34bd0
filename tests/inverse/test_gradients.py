"""Gradients are exact: transposes by dot products, the gradient by central differences and by Taylor's remainder."""

import inversecase as given
import numpy as np
import pytest
from common import refused
from inversecase import Case, apart, case_of, elements, force, layers, model_file, place, scenario, scenario_of

import craton
from craton.errors import ScenarioError
from craton.methods.spectral_element import absorbing_layer
from craton.survey import filters, leapfrog

# one of each physics, boundary and medium; all others are in the long tier
QUICK = (
    "free surface and CPML",
    "sponge",
    "sea floor",
    "sources at the surface",
    "resampled, with a fibre",
    "two shots",
)
QUICK += (
    "acoustic",
    "anisotropy, topography with a lake",
    "cut cells",
    "plain elements",
    "sea",
    "a sea in a layer",
    "relaxing elements",
)
GRADIENTS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in given.CASES]


def long(*values):
    """A row of a table for the long tier."""
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.mark.costly("exact gradients find more mutants than any other test")
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_exact(name, monkeypatch):
    """<F s, r> = <s, F^T r> by the series of sources, <B dm, r> = <dm, B^T r> by the medium, and central differences."""
    if "across" in name:
        monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)
    case = case_of(name)
    linear = case.problem.experiments[0].linear
    if name in given.REMEMBERING:
        assert ("across" in name) == any("across" in launch.op.name for launch in linear.elements[1]["solid"])
    if "Earth" in name:
        assert linear.d.fluid.sum() == 4
    assert case.of_sources() < given.EXACT
    assert case.of_medium() < given.EXACT
    assert case.of_differences() < given.CENTRAL


LARGE_STEPS = (3e-4, 1e-4)
MODULI = ("c11", "c13", "c33", "c44", "c66")
# case, parameters, largest variation, steps of differences. Q alone, so that nothing else hides it
BY = [
    ("free surface and CPML", ("lambda", "mu"), 0.005, None),
    ("free surface and CPML", ("rho", "ip", "is"), 0.005, None),
    ("free surface and CPML", ("kappa", "mu", "rho"), 0.005, None),
    ("attenuation", ("vp", "vs", *given.BY_Q, "rho"), 0.02, None),
    long("attenuation", given.BY_Q, 0.2, LARGE_STEPS),
    ("attenuation", ("qp", "qs"), 0.1, None),
    long("attenuation, SH", given.BY_Q[1:], 0.2, LARGE_STEPS),
    long("attenuation in water and soil", given.BY_Q, 0.2, LARGE_STEPS),
    long("attenuation in space", given.BY_Q, 0.2, LARGE_STEPS),
    long("anisotropy", MODULI, 0.02, None),
    ("anisotropy, topography with a lake", (*MODULI, "rho"), 0.02, None),
]


@pytest.mark.parametrize("name, parameters, varied, steps", BY)
def test_gradients_by_other_parameters(name, parameters, varied, steps):
    """A fluid in an anisotropic model has one modulus."""
    case = case_of(name, parameters=parameters, varied=varied)
    assert case.of_medium() < given.EXACT
    assert case.of_differences(*[steps] if steps else []) < given.CENTRAL
    if "lake" in name:
        slope = case.problem.dataset(case.problem.jac(case.m))
        fluid = case.problem.dataset(case.m0).c44 == 0
        assert fluid.any() and not slope.c11.where(fluid, 0).any() and slope.c33.where(fluid, 0).any()


@pytest.mark.long
def test_parameters_with_q_have_the_gradient_of_those_without():
    """Ratios of moduli are interpolated where Q stays, to 1e-6."""
    case, slopes = case_of("attenuation"), []
    observed = case.problem.data(1.01 * case.m0)
    for parameters in (given.SPEEDS, ("vp", "rho", *given.BY_Q)):
        problem = craton.Problem(case.problem.scenario, observed, parameters=parameters)
        named = problem.dataset(problem.jac(problem.m0))
        slopes.append(np.stack([named.vp, 1000 * named.rho]))
    assert apart(slopes[1], slopes[0]) < 1e-4


@pytest.mark.costly("the only gradient of a stiffness of 21 constants")
def test_21_constants():
    """All of them at each node, those that are zero at the start, too."""
    constants = [f"c{a}{b}" for a in range(1, 7) for b in range(a, 7)]
    case, rng = (
        Case(elements(model=given.ANISOTROPIC), parameters=("rho", *constants), varied=0.01),
        np.random.default_rng(1),
    )
    most = np.full(case.problem.shape, 1e9)  # Pa
    most[0] = 2200
    case.dm = (most * rng.uniform(-1, 1, most.shape)).ravel()
    case.m = case.m0 + 0.02 * (most * rng.uniform(-1, 1, most.shape)).ravel()
    assert case.of_sources() < given.EXACT
    assert case.of_medium() < given.EXACT
    assert case.of_differences() < given.CENTRAL
    for parameters, model, words in (
        (("vp",), given.ANISOTROPIC, "the medium is anisotropic"),
        (("c11", "c44"), given.SOLID, "the medium is isotropic"),
    ):
        refused(ScenarioError, words, craton.Problem, elements(model=model), parameters=parameters)
    with pytest.raises(ScenarioError, match=r"c11, c22 .. c66 that are not positive"):
        case.problem.fun(case.m - 10 * case.m0)


IN_ELEMENTS = {"z": (-170, 10, 5), "y": (-10, 150, 3), "x": (-10, 170, 4)}


@pytest.mark.parametrize(
    "make, ends", [(scenario, given.FILE_OF_PLANE), long(elements, IN_ELEMENTS)], ids=["fd", "sem"]
)
def test_parameters_on_the_grid_of_a_model_file(make, ends, tmp_path):
    here = make(model=model_file(tmp_path, ends))
    case = Case(here, on="model")
    for ours, theirs in zip(case.problem.parameters.cells(case.m0), case.problem.experiments[0].linear.cells):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert case.of_medium() < given.EXACT
    assert case.of_differences() < given.CENTRAL
    assert dict(case.problem.dataset(case.m).sizes) == {name: end[2] for name, end in ends.items()}
    refused(ScenarioError, ["not a file", 'on="grid"'], craton.Problem, make(), on="model")
    if make is scenario:
        words = "kappa, mu on a model file"
        refused(ScenarioError, words, craton.Problem, here, on="model", parameters=("kappa", "mu"))
        refused(ScenarioError, "'cells' is no place", craton.Problem, here, on="cells")


IN_FLOAT32 = (
    "free surface and CPML",
    "attenuation",
    "anisotropy with attenuation",
    "plain elements",
    "layers that relax",
)


@pytest.mark.long
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_single_precision(name):
    case, double = case_of(name, {"run": {"precision": "float32"}}), case_of(name)
    assert case.of_sources() < 1e-5
    assert case.of_medium() < 1e-5
    assert apart(case.problem.jac(case.m), double.problem.jac(double.m)) < 1e-4


@pytest.mark.parametrize(
    "name, options, largest",
    [
        ("free surface and CPML", {}, 0.01),
        ("cut cells", {}, 0.01),
        long("attenuation", {"parameters": given.BY_Q, "varied": 0.2}, 0.03),
        ("plain elements", {}, 0.01),
        long("layers that relax", {}, 0.01),
    ],
)
def test_the_remainder_is_of_second_order_over_four_decades(name, options, largest):
    assert case_of(name, **options).order_of_remainder(largest) == pytest.approx(2, abs=0.05)


@pytest.fixture(scope="module")
def plain():
    """A case of a free surface and CPML."""
    return Case(scenario())


@pytest.fixture(scope="module")
def of_elements():
    """A case of a free surface and Stacey's faces."""
    return Case(elements())


def test_nothing_undefined_is_read(plain):
    """A machine with nan wherever nothing was promised gives the same bits."""
    other = Case(scenario(), device="hostile")
    np.testing.assert_array_equal(other.problem.jac(other.m), plain.problem.jac(plain.m))


ON_GPU = ["free surface and CPML", "sea floor", "space", "two shots", "attenuation", "anisotropy"]
ON_GPU += ["anisotropy, topography with a lake", "cut cells in space", "cut cells with attenuation"]


@pytest.mark.gpu
@pytest.mark.parametrize("precision, bound", [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("name", ON_GPU)
def test_a_gpu_agrees_with_the_cpu(name, precision, bound):
    from craton.backends.cuda import available

    if not available():
        pytest.skip("no CUDA device")
    cases = [case_of(name, {"run": {"precision": precision}}, device=device) for device in ("cpu", "cuda")]
    ours, theirs = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert apart(theirs, ours) < bound
    assert apart(*(case.problem.born(case.dm, case.m) for case in cases[::-1])) < bound


@pytest.mark.parametrize(
    "model", [given.SOLID, long(given.LOSSY), long(given.LOSSY | given.THOMSEN)], ids=["", "Q", "Q, anisotropy"]
)
def test_every_third_step_is_nearly_as_good(model):
    """Some ten steps in the shortest period: products need two samples of theirs."""
    smooth = {"wavelet": {"kind": "ricker", "frequency": 15, "delay": 0.08}}
    here = scenario(steps=110, source=[force(0.41, 0.43) | smooth], model=model)
    cases = [Case(here, given.SIX if "epsilon" in model else given.SPEEDS, every=every) for every in (1, 3)]
    assert cases[1].of_medium() < given.EXACT
    all_steps, third = (case.problem.jac(case.m) * case.m0 for case in cases)
    assert 0 < apart(third, all_steps) < 0.01


@pytest.mark.long
def test_shots_in_space_are_runs_whose_gradients_add_up():
    sources = {s: force(x, 0.5, 0.3, components=(1e9, 0, 2e9)) for x, s in ((0.4, "a"), (0.6, "b"))}
    here = scenario(3, source=[source | {"shot": shot} for shot, source in sources.items()])
    case = Case(here)
    observed = case.problem.data(case.m * 1.01)
    assert case.of_medium() < given.EXACT
    whole = craton.Problem(here, observed)
    alone = [craton.Problem(scenario(3, source=[s]), observed.sel(shot=shot)) for shot, s in sources.items()]
    assert whole.fun(whole.m0) == pytest.approx(sum(one.fun(one.m0) for one in alone), rel=1e-12)
    assert apart(whole.jac(whole.m0), sum(one.jac(one.m0) for one in alone)) < 1e-12


def test_weights(plain):
    observed = plain.problem.data(plain.m)
    muted = craton.Problem(scenario(), observed, weights={"velocity": np.array([1.0, 0])[:, None, None]})
    rest = (muted.data().velocity - observed.velocity).values[0]
    expected = 0.5 * float(observed.time[1] - observed.time[0]) * (rest**2).sum()
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
        made = forward(x, *before)
        y = rng.standard_normal(made.shape)
        assert len(made) == (len(times) if forward is filters.resample else n)
        assert (made * y).sum() == pytest.approx((back(y, *after) * x).sum(), rel=1e-12)


SMOOTH = {"wavelet": {"kind": "ricker", "frequency": 20, "delay": 0.04}}
SHAKEN = force(0.413, 0.431) | SMOOTH
TURNED = {"kind": "moment_tensor", "at": SHAKEN["at"], "tensor": {"xx": 1e12, "zz": 3e12, "xz": -2e12}} | SMOOTH
# what a gradient has of all sources; a source changed by e; step; relative bound
BY_X = (lambda g: g.position[:, 0], lambda s, e: {"at": [s["at"][0] + e, *s["at"][1:]]}, 0.01, 1e-4)
BY_Z = (lambda g: g.position[:, -1], lambda s, e: {"at": [*s["at"][:-1], s["at"][-1] + e]}, 0.01, 1e-4)
BY_TIME = (lambda g: g.origin_time, lambda s, e: {"wavelet": s["wavelet"] | {"delay": 0.04 + e}}, 1e-5, 1e-4)
BY_FORCE = (lambda g: g.force.sel(component="E"), lambda s, e: {"force": [1e9 + e, 2e9]}, 1e6, 1e-4)
BY_SHEAR = (lambda g: g.moment.sel(tensor="EZ"), lambda s, e: {"tensor": s["tensor"] | {"xz": -2e12 + e}}, 1e9, 1e-4)
BY_NORTH = (lambda g: g.force[:, 1], lambda s, e: {"force": [1e9, 2e9 + e, 3e9]}, 1e6, 1e-7)
BY_MOMENT = (lambda g: g.moment[:, :3].sum("tensor"), lambda s, e: {"moment": 1e12 + e}, 1e9, 1e-7)
# sources; which of them changes, and how
SHAKES = {
    "force": (scenario, [SHAKEN], [(0, BY_X), (0, BY_Z), (0, BY_TIME), (0, BY_FORCE)]),
    "moment": (scenario, [TURNED], [(0, BY_X), (0, BY_Z), (0, BY_TIME), (0, BY_SHEAR)]),
    "elements": (elements, [given.BLAST, given.PUSH], [(1, BY_X), (1, BY_NORTH), (0, BY_MOMENT)]),
}


@pytest.mark.parametrize("name", ["force", "elements", long("moment")])
def test_gradients_by_sources(name, plain, of_elements):
    """Components, position and origin time, against runs with other sources."""
    make, sources, changes = SHAKES[name]
    case = plain if make is scenario else of_elements
    observed = case.problem.data(case.m)

    def value(number, changed):
        tables = [s | changed if n == number else s for n, s in enumerate(sources)]
        problem = craton.Problem(make(source=tables), observed)
        return problem.fun(problem.m0)

    slope = craton.Problem(make(source=sources), observed).by_sources()
    for number, (found, changed, step, bound) in changes:
        more, less = (value(number, changed(sources[number], e)) for e in (step, -step))
        assert float(found(slope)[number]) == pytest.approx((more - less) / (2 * step), rel=bound)
    assert slope.wavelet.dims == ("source", "step")


def test_the_dataset_of_a_gradient(plain):
    observed, grid = plain.problem.data(plain.m), dict(zip("xz", given.SHAPES[2]))
    out = craton.gradient(scenario(), observed, parameters=("vp", "rho"))
    fresh = craton.Problem(scenario(), observed, parameters=("vp", "rho"))
    slope = fresh.dataset(fresh.jac(fresh.m0))
    assert out.attrs["misfit"] == fresh.fun(fresh.m0) > 0
    for name in ("vp", "rho"):
        assert dict(out[name].sizes) == grid
        np.testing.assert_array_equal(out[name], slope[name])
    assert dict(out.illumination.sizes) == grid and (out.illumination > 0).any()
    brightest = out.illumination.argmax(("x", "z"))
    where = [float(out[axis][brightest[axis]]) for axis in ("x", "z")]
    assert min(np.abs(np.subtract(where, at)).max() for at in (place(2, 0.41, 0.43), place(2, 0.6, 0.6))) < 30
    rest = fresh.data(fresh.m0).velocity - observed.velocity
    step = float(observed.time[1] - observed.time[0])
    np.testing.assert_allclose(out.adjoint_velocity, step * rest, atol=1e-30)


def test_the_dataset_of_a_gradient_of_elements(of_elements):
    observed = of_elements.problem.data(of_elements.m)
    out = craton.gradient(of_elements.problem.scenario, observed)
    assert out.vp.dims == out.x.dims == ("element", "node") and out.vp.shape == (8, 27)
    flat = np.stack([out[name].values for name in given.SPEEDS]).ravel()
    fresh = craton.Problem(of_elements.problem.scenario, observed)
    assert np.allclose(flat, fresh.jac(fresh.m0), rtol=1e-12, atol=0)
    assert float(out.volume.sum()) == pytest.approx(160 * 140 * 160)
    assert float(out.illumination.min()) >= 0 and float(out.illumination.max()) > 0
    assert out.attrs["misfit"] == pytest.approx(fresh.fun(fresh.m0), rel=1e-12)


def test_a_linear_operator(plain):
    operator = plain.problem.operator(plain.m)
    assert operator.shape == (plain.problem.born(plain.dm).size, plain.m.size)
    rest, step = operator.matvec(plain.dm), plain.problem.recordings[0].interval
    np.testing.assert_allclose(operator.rmatvec(step * rest), plain.problem.hvp(plain.dm), rtol=1e-9, atol=1e-30)


def test_what_elements_do_not_cover_is_refused_before_anything_runs(of_elements):
    lossy, water = elements(model=given.RELAXING), elements(model=given.SEA_OVER_ROCK, waveforms=["pressure"])
    for words, here, options in (
        ("pressure in an anisotropic", elements(model=given.ANISOTROPIC, waveforms=["pressure"]), {}),
        ("velocity in a fluid", elements(model=given.SEA_OVER_ROCK), {}),
        ("cannot be taken back: attenuation remembers", lossy, {"storage": "boundaries"}),
        ("Q of an elastic medium", elements(), {"parameters": given.WITH_Q}),
    ):
        refused(ScenarioError, words, craton.Problem, here, **options)
    low, deep = craton.Problem(lossy, parameters=given.WITH_Q), craton.Problem(water, parameters=("vs",))
    fast = of_elements.m0.copy()
    fast[: fast.size // 3] *= 3
    for words, work, m in (
        ("for which the mechanisms are not made", low.fun, np.where(low.m0 < 1, 2 * low.m0, low.m0)),
        ("unstable for this medium: the limit is", of_elements.problem.fun, fast),
        ("fluid nodes have a shear modulus", deep.data, deep.m0 + 100),
    ):
        refused(ScenarioError, words, work, m)


def test_the_run_is_that_of_craton_run_and_ends_where_it_began(of_elements):
    """The medium at nodes is that of the scenario; marched back, the field is at rest again."""
    problem = of_elements.problem
    data, run = problem.data(of_elements.m0), craton.run(problem.scenario, progress=False).dataset
    assert float(abs(data.velocity - run.velocity).max()) < 1e-12 * float(abs(run.velocity).max())
    problem.jac(of_elements.m)
    back = next(iter(problem.experiments[0].others.values()))
    rest = back.arrays["pair_rate"][:, :3]
    assert np.abs(rest).max() < 1e-11 * np.abs(problem.experiments[0].program.arrays["velocity"]).max()


def test_the_plan_tells_of_cut_cells():
    """An interface through the middle of cells; one between cells cuts none. They keep a shear modulus."""
    for depth, is_cut in ((-90, True), (-85, False)):
        plan = craton.Problem(scenario(model=layers(given.SOIL, given.ROCK | {"top": depth}))).plan
        assert ("planes that interfaces cut  1: what Backus averages" in plan) == is_cut, plan
    problem = craton.Problem(scenario_of("cut cells"), parameters=("vs",))
    refused(ScenarioError, "interface cuts have no shear modulus", problem.data, 0 * problem.m0)


@pytest.mark.parametrize("name", ["cut cells", long("cut cells with attenuation")])
def test_the_start_of_a_problem_is_the_run_of_its_scenario(name):
    """Cut cells have their Backus averages in both: with isotropic means the data are 1e-3 apart."""
    here = scenario_of(name)
    run = craton.run(here, progress=False).dataset
    problem = craton.Problem(here, run * 1.1)
    data = problem.data()
    for quantity in data.data_vars:
        np.testing.assert_allclose(data[quantity], run[quantity], rtol=0, atol=1e-13 * float(abs(run[quantity]).max()))
    interval = float(np.diff(run.time[:2])[0])
    expected = sum(float(((0.1 * run[q]) ** 2).sum()) for q in data.data_vars) * interval / 2
    assert problem.fun(problem.m0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["free surface and CPML", "pressure and strain", "cut cells"])
def test_rows_of_all_receivers_together_are_those_one_by_one(name):
    linear = craton.Problem(scenario_of(name), device="cpu").experiments[0].linear
    state = linear.at(linear.cells)
    for together, single in (
        (state.medium.of_all_receivers, state.medium.of_receivers),
        (state.medium.of_all_sources, state.medium.of_sources),
    ):
        for got, rows in zip(together(state.rows), state.rows, strict=True):
            for part, wanted in zip(got, single(rows), strict=True):
                np.testing.assert_array_equal(part, wanted)
