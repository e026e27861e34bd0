"""Gradients from a wavefield that is taken back in time: those of stored increments, outside absorbing layers."""

import numpy as np
import pytest
from inversecase import Case, place, scenario
from test_adjoint import CASES, told

import craton
from craton.backends import cpu
from craton.backends.base import aligned
from craton.backends.cpu import CPU
from craton.errors import ResourceError
from craton.inverse.experiment import Experiment
from craton.methods import METHODS

# relative errors of a gradient in float64; with boundaries in 16 bits
EXACT, SIXTEEN = 1e-10, 1e-4
REVERSED = (
    "free surface and CPML",
    "sponge",
    "rigid",
    "periodic",
    "damped layers",
    "sea floor",
    "space, sea floor",
    "thin sea",
    "a cavity that reaches the surface",
    "force on the surface",
    "two shots",
    "SH",
    "acoustic",
    "space, CPML all around",
    "cut cells",
    "cut cells in space",
)


@pytest.fixture
def layers_held(monkeypatch):
    """Stored increments whose sums are taken outside absorbing layers alone."""
    whole = Experiment._sums
    monkeypatch.setattr(Experiment, "_sums", lambda self, program: whole(self, program) * self.linear.outside_layers())


def transposed(tables, **options):
    """Gradient of a random residual, and the problem."""
    problem = craton.Problem(scenario(**tables), **options)
    rng = np.random.default_rng(4)
    m = problem.m0 * (1 + 0.02 * rng.uniform(-1, 1, problem.m0.shape))
    rows = sum(np.prod(s) for r in problem.recordings for s in r.shapes.values())
    return problem.adjoint(rng.standard_normal(int(rows)), m) * problem.m0, problem


def apart(a, b):
    """Relative L2 difference."""
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("name", REVERSED)
def test_gradients_are_those_of_stored_increments(name, layers_held):
    back, problem = transposed(CASES[name], storage="boundaries")
    stored, _ = transposed(CASES[name], storage="increments")
    assert not problem.experiments[0].replayed
    assert apart(back, stored) < EXACT
    sixteen, _ = transposed(CASES[name], storage="boundaries-16")
    assert apart(sixteen, stored) < SIXTEEN
    if name == "rigid":  # nothing absorbs: nothing has to be kept
        assert problem.experiments[0].storage.machine == 0


# One sum for each parameter in place of one for each field: gradients in float64, in float32.
SUMS = ("fields", "parameters")
ROUNDED = {"float64": 1e-13, "float32": 1e-5}
MIXED = {"top": "free", "bottom": "cpml", "west": "rigid", "east": "cpml"}
MIXED |= {"south": "periodic", "north": "periodic", "cpml": {"thickness": 4}}
ON_SURFACE = [
    {"kind": "force", "at": place(3, 0.4, 0.5, 0.0), "force": [1e9, 2e9, 3e9]},
    {"kind": "explosion", "at": place(3, 0.5, 0.5, 0.06), "moment": 1e12},
]
IN_SPACE = {"dimensions": 3, "steps": 12, "output": {"waveforms": ["velocity", "pressure"]}}
BY_PARAMETERS = {name: CASES[name] for name in REVERSED if not {"cut", "sea", "cavity"} & {*name.split()}} | {
    "space, sources on the surface, faces of all kinds": IN_SPACE | {"boundaries": MIXED, "source": ON_SURFACE},
    "space, order 2": IN_SPACE
    | {"boundaries": {"top": "rigid", "bottom": "rigid", "others": "periodic"}, "run": {"order": 2}},
}
IN_FLOAT32 = ("free surface and CPML", "space, sources on the surface, faces of all kinds")


@pytest.mark.parametrize(
    "name, precision", [(name, "float64") for name in BY_PARAMETERS] + [(name, "float32") for name in IN_FLOAT32]
)
def test_sums_by_parameters_give_the_gradient_of_those_of_fields(name, precision):
    """On a machine with nan wherever nothing was promised."""
    tables = BY_PARAMETERS[name]
    tables = tables | {"run": tables.get("run", {}) | {"precision": precision}}
    storage = "boundaries" if precision == "float64" else "boundaries-16"
    options = {"storage": storage, "every": 1 if precision == "float64" else 3}
    slopes = [transposed(tables, sums=sums, device="hostile", **options)[0] for sums in SUMS]
    assert apart(slopes[1], slopes[0]) < ROUNDED[precision]


def test_sums_by_parameters_are_exact():
    """Dot products with both sums; central differences where no layer holds its medium."""
    for every in (1, 3):
        case = Case(scenario(3, steps=16), storage="boundaries", sums="parameters", every=every)
        assert case.of_medium() < 1e-13
        assert case.of_sources() < 1e-13
    for name in ("rigid", "SH"):
        tables = CASES[name] | {"boundaries": CASES["rigid"]["boundaries"]}
        case = Case(scenario(**tables), storage="boundaries", sums="parameters")
        assert case.of_differences() < 1e-8


def among_nan(shape, dtype, alignment=128):
    """As `craton.backends.base.aligned`, with nan before and behind the array."""
    count, beside = int(np.prod(shape)), 1 << 12
    around = aligned((count + 2 * beside,), dtype, alignment)
    around[...] = np.nan if around.dtype.kind == "f" else 0
    return around[beside : beside + count].reshape(shape)


@pytest.mark.parametrize("name", ["SH", "rigid"])
def test_sums_by_parameters_read_nothing_outside_of_arrays(monkeypatch, name):
    """In the plane there is no place before a point along y."""
    monkeypatch.setattr(cpu, "aligned", among_nan)
    tables = CASES[name] | {"boundaries": CASES["rigid"]["boundaries"]}
    case = Case(scenario(**tables), storage="boundaries", sums="parameters")
    assert np.isfinite(case.problem.jac(case.m)).all()


def test_the_illumination_with_sums_by_parameters(layers_held):
    observed = craton.Problem(scenario()).data() * 1.01
    options = {"storage": "boundaries"}
    outs = [craton.gradient(scenario(), observed, sums=s, **options) for s in SUMS]
    assert apart(outs[1].illumination.values, outs[0].illumination.values) < 1e-13
    assert apart(outs[1].vs.values, outs[0].vs.values) < 1e-13


def test_sums_are_chosen_with_a_reason(monkeypatch):
    """Those of fields where programs fit beside what is kept, else those of parameters."""
    options = {"storage": "boundaries", "every": 4, "memory": 1e7}
    plain = craton.Problem(scenario(3), **options)
    assert "8 a point, one for each field" in plain.plan
    needed = plain.experiments[0].program_bytes() + plain.experiments[0].storage.machine
    for free, reason in ((needed, ""), (needed - 1, "those of fields do not fit")):
        monkeypatch.setattr(CPU, "memory", lambda self, free=free: (free, free))
        problem = craton.Problem(scenario(3), **options)
        assert problem.experiments[0].storage.reason_of_sums == reason
        assert problem.experiments[0].storage.by_parameters == bool(reason)
    for words in ("3 a point", "40 bytes per grid point fewer", "3.0 % more", "3.12 forward runs"):
        assert words in problem.plan, problem.plan
    assert problem.experiments[0].program_bytes() < needed
    rows = [one.experiments[0].linear.d.layout.row for one in (plain, problem)]
    assert rows == [64, 36]  # 22 points, ghosts of 8 and 8 in 32s; of 8 and 4 in fours
    cut = scenario(**CASES["cut cells in space"])
    assert "Backus averages of cut cells need" in craton.Problem(cut, **options).plan
    told(["sums: sums cannot", "Backus"], cut, storage="boundaries", sums="parameters")
    told(["takes no steps back"], scenario(), storage="increments", sums="parameters")
    told(["several ranks"], scenario(), sums="parameters", ranks=2)
    told(["no sums 'three'", "fields"], scenario(), sums="three")


def test_the_linearised_operators_are_transposes():
    """Also after the forward field was taken back, and in place of a second forward run."""
    case = Case(scenario(3, steps=25), storage="boundaries", every=2)
    assert case.of_medium() < 1e-13
    assert case.of_medium() < 1e-13


@pytest.mark.parametrize("name", ["free surface and CPML", "sea floor"])
def test_single_precision(name, layers_held):
    tables = CASES[name] | {"run": {"precision": "float32"}}
    stored, _ = transposed(CASES[name], storage="increments")
    for storage in ("boundaries", "boundaries-16"):
        back, _ = transposed(tables, storage=storage)
        assert apart(back, stored) < SIXTEEN


def test_blocks_that_wait_on_the_host_change_nothing(monkeypatch):
    """The ring of a machine with memory of its own, here copied at once."""
    from dataclasses import replace

    from craton.inverse import storage

    whole, _ = transposed({}, storage="boundaries")
    placed = storage.placed
    monkeypatch.setattr(storage, "placed", lambda *arguments: replace(placed(*arguments), slots=3 * 4))
    back, problem = transposed({}, storage="boundaries")
    ring = problem.experiments[0].ring
    assert ring.length == 4 and len(ring.blocks) > 9 and not ring.whole
    np.testing.assert_array_equal(back, whole)


@pytest.mark.parametrize("model", ["free surface and CPML", "sea floor"])
def test_the_illumination_and_sources_are_those_of_increments(model, layers_held):
    """Where a force is, the illumination of increments has what the force itself adds, too."""
    quiet = scenario(source=CASES["sea floor"]["source"][:1], **medium_of(model))
    case = Case(quiet, storage="increments")
    observed = case.problem.data(case.m)
    outs = [craton.gradient(quiet, observed, storage=s) for s in ("increments", "boundaries")]
    inside = case.problem.experiments[0].linear.outside_layers()[:, 0]
    assert apart(outs[1].illumination.values, outs[0].illumination.values * inside) < EXACT
    assert apart(outs[1].vp.values, outs[0].vp.values) < EXACT
    by_sources = [craton.Problem(scenario(), observed, storage=s).by_sources() for s in ("increments", "boundaries")]
    assert apart(by_sources[1].wavelet.values, by_sources[0].wavelet.values) < EXACT


def medium_of(name):
    """The table of the model of a case, where it has one."""
    return {"model": CASES[name]["model"]} if "model" in CASES[name] else {}


def test_the_storage_is_chosen_with_a_reason():
    problem = craton.Problem(scenario(), memory=6e5, every=2)
    for words in ("boundaries, every 2", "do not fit", "0.1 MiB", "is held", "3.11 forward runs"):
        assert words in problem.plan, problem.plan
    small = craton.Problem(scenario(), memory=1e6).experiments[0].storage
    assert small.kind == "boundaries" and "do not fit" in small.reason
    sixteen = craton.Problem(scenario(), memory=1e5).experiments[0].storage
    assert sixteen.kind == "boundaries-16" and sixteen.machine < small.machine / 3
    deep = scenario(**CASES["deep sea floor, sponge"])
    sea = craton.Problem(deep, memory=1.2e6).experiments[0].storage
    assert sea.kind == "checkpoints" and "sea floor" in sea.reason
    told(["sea floor reaches into", "cannot be taken back"], deep, storage="boundaries")
    told(["no storage 'boundary'", "boundaries"], scenario(), storage="boundary")
    with pytest.raises(ResourceError, match="boundaries of"):
        craton.Problem(scenario(), memory=1e4, storage="boundaries-16")
    with pytest.raises(ResourceError, match="increments of"):
        craton.Problem(scenario(), memory=1e4, storage="increments")
    thin = {"boundaries": {"cpml": {"thickness": 9}}, "source": [CASES["sea floor"]["source"][0]]}
    told(["outside absorbing layers"], scenario(**thin), storage="boundaries")


@pytest.mark.parametrize("by_parameters", [False, True])
def test_what_steps_back_hold_at_each_point(by_parameters):
    """Two wavefields, the sums and the medium: what layers remember lies in the memory of sums."""
    linear = METHODS["fd"].linearised(scenario(3, run={"precision": "float32"}))
    plan = linear.at(linear.cells).backward(linear.margin(16), 5, by_parameters=by_parameters)
    field = plan.layout.field
    fields = {
        name: array.nbytes // (4 * field)
        for name, array in plan.arrays.items()
        if array.over == plan.layout and array.nbytes
    }
    assert fields == {"state": 9, "back": 9, "sums": 8 - 5 * by_parameters, "material": 3}
    assert [name for name, array in plan.arrays.items() if array.nbytes > 4 * field] == list(fields)
