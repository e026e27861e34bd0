"""Gradients from a wavefield that is taken back in time: those of stored increments, outside absorbing layers."""

import numpy as np
import pytest
from inversecase import Case, scenario
from test_adjoint import CASES, told

import craton
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
    monkeypatch.setattr(
        Experiment,
        "_sums",
        lambda self, program: whole(self, program) * self.linear.outside_layers(),
    )


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


def test_the_linearised_operators_are_transposes():
    """Also after the forward field was taken back, and in place of a second forward run."""
    case = Case(scenario(3, steps=25), storage="boundaries", every=2)
    assert case.of_medium() < 1e-13
    assert case.of_medium() < 1e-13


def test_single_precision(layers_held):
    tables = {"run": {"precision": "float32"}}
    stored, _ = transposed({}, storage="increments")
    for storage in ("boundaries", "boundaries-16"):
        back, _ = transposed(tables, storage=storage)
        assert apart(back, stored) < SIXTEEN


def test_blocks_that_wait_on_the_host_change_nothing(monkeypatch):
    """The ring of a machine with memory of its own, here copied at once."""
    from dataclasses import replace

    from craton.inverse import storage

    whole, _ = transposed({}, storage="boundaries")
    placed = storage.placed
    monkeypatch.setattr(
        storage, "placed", lambda *arguments: replace(placed(*arguments), slots=3 * 4)
    )
    back, problem = transposed({}, storage="boundaries")
    ring = problem.experiments[0].ring
    assert ring.length == 4 and len(ring.blocks) > 9 and not ring.whole
    np.testing.assert_array_equal(back, whole)


def test_the_illumination_and_sources_are_those_of_increments(layers_held):
    """Where a force is, the illumination of increments has what the force itself adds, too."""
    quiet = scenario(source=CASES["sea floor"]["source"][:1])
    case = Case(quiet, storage="increments")
    observed = case.problem.data(case.m)
    outs = [craton.gradient(quiet, observed, storage=s) for s in ("increments", "boundaries")]
    inside = case.problem.experiments[0].linear.outside_layers()[:, 0]
    assert apart(outs[1].illumination.values, outs[0].illumination.values * inside) < EXACT
    assert apart(outs[1].vp.values, outs[0].vp.values) < EXACT
    by_sources = [
        craton.Problem(scenario(), observed, storage=s).by_sources()
        for s in ("increments", "boundaries")
    ]
    assert apart(by_sources[1].wavelet.values, by_sources[0].wavelet.values) < EXACT


def test_the_storage_is_chosen_with_a_reason():
    problem = craton.Problem(scenario(), memory=6e5, every=2)
    for words in ("boundaries, every 2", "do not fit", "0.1 MiB", "is held", "3.11 forward runs"):
        assert words in problem.plan, problem.plan
    small = craton.Problem(scenario(), memory=1e6).experiments[0].storage
    assert small.kind == "boundaries" and "do not fit" in small.reason
    sixteen = craton.Problem(scenario(), memory=1e5).experiments[0].storage
    assert sixteen.kind == "boundaries-16" and sixteen.machine < small.machine / 3
    sea = craton.Problem(scenario(**CASES["sea floor"]), memory=1.2e6).experiments[0].storage
    assert sea.kind == "checkpoints" and "sea floor" in sea.reason
    told(
        ["sea floor", "cannot be taken back"], scenario(**CASES["sea floor"]), storage="boundaries"
    )
    told(["no storage 'boundary'", "boundaries"], scenario(), storage="boundary")
    with pytest.raises(ResourceError, match="boundaries of"):
        craton.Problem(scenario(), memory=1e4, storage="boundaries-16")
    with pytest.raises(ResourceError, match="increments of"):
        craton.Problem(scenario(), memory=1e4, storage="increments")
    thin = {"boundaries": {"cpml": {"thickness": 9}}, "source": [CASES["sea floor"]["source"][0]]}
    told(["outside absorbing layers"], scenario(**thin), storage="boundaries")


def test_what_steps_back_hold_at_each_point():
    """Two wavefields, the sums and the medium: what layers remember lies in the memory of sums."""
    linear = METHODS["fd"].linearised(scenario(3, run={"precision": "float32"}))
    plan = linear.at(linear.cells).backward(linear.margin(16), 5)
    field = plan.layout.field
    fields = {
        name: array.nbytes // (4 * field)
        for name, array in plan.arrays.items()
        if array.over == plan.layout and array.nbytes
    }
    assert fields == {"state": 9, "back": 9, "sums": 8, "material": 3}
    assert [name for name, array in plan.arrays.items() if array.nbytes > 4 * field] == list(fields)
