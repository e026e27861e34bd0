"""Gradients are the same whatever is kept of the wavefield, from fields taken back in time to segments that run again; its memory."""

from dataclasses import replace

import inversecase as small
import numpy as np
import pytest
from common import difference, misfit, peak, refused, tiers
from inversecase import Case, case_of, elements, explosion, force, long, scenario, scenario_of

import craton
from craton.backends import cpu
from craton.backends.base import aligned
from craton.backends.cpu import CPU
from craton.errors import ResourceError, ScenarioError
from craton.inverse import options as asked
from craton.inverse import storage
from craton.inverse.grids import StoredGrid
from craton.methods import METHODS
from craton.methods.spectral_element.equations import absorbing_layer

# relative errors of a gradient in float64; with boundaries in 16 bits
EXACT, SIXTEEN = 1e-10, 1e-4
QUICK = ("free surface and CPML", "rigid", "space, sea floor, one layer")
REVERSED = ("sponge", "periodic", "damped layers", "sea floor", "sea floor, SH", "thin sea", "sources at the surface")
REVERSED += ("a cavity that reaches the surface", "two shots", "SH", "acoustic", "cut cells")
REVERSED += ("cut cells in space", "space, sea floor")
KEPT = {"storage": "boundaries"}


@pytest.fixture
def layers_held(monkeypatch):
    """Stored increments whose sums are taken outside absorbing layers alone."""
    whole = StoredGrid._sums
    monkeypatch.setattr(StoredGrid, "_sums", lambda self, program: whole(self, program) * self.linear.outside_layers())


def transposed(here, **options):
    """Gradient of a random residual, and the problem."""
    problem, rng = craton.Problem(here, **options), np.random.default_rng(4)
    m = problem.m0 * (1 + 0.02 * rng.uniform(-1, 1, problem.m0.shape))
    rows = sum(np.prod(s) for r in problem.recordings for s in r.shapes.values())
    return problem.adjoint(rng.standard_normal(int(rows)), m) * problem.m0, problem


@pytest.mark.costly("in space a sea floor alone shows where changes are stored")
@pytest.mark.parametrize("name", tiers(QUICK + REVERSED, *QUICK))
def test_gradients_are_those_of_stored_increments(name, layers_held):
    here = scenario_of(name)
    back, problem = transposed(here, storage="boundaries")
    stored, _ = transposed(here, storage="increments")
    assert len(problem.experiments[0].history.blocks) == 1
    assert misfit(back, stored) < EXACT
    assert misfit(transposed(here, storage="boundaries-16")[0], stored) < SIXTEEN
    if name == "rigid":  # nothing absorbs: nothing has to be kept
        assert problem.experiments[0].storage.machine == 0


# One sum for each parameter in place of one for each field.
SUMS = ("fields", "parameters")
MIXED = {"top": "free", "bottom": "cpml", "west": "rigid", "east": "cpml", "south": "periodic", "north": "periodic"}
ON_SURFACE = [force(0.4, 0.5, 0.0, components=(1e9, 2e9, 3e9)), explosion(0.5, 0.5, 0.06)]
NAMES = (*QUICK, *REVERSED, "space, CPML all around")
BY_PARAMETERS = {name: small.GRID[name] for name in NAMES if not {"cut", "sea", "cavity"} & {*name.split()}} | {
    "space, sources on the surface, faces of all kinds": {"dimensions": 3, "steps": 12}
    | {"boundaries": MIXED, "source": ON_SURFACE}
    | small.BOTH,
    "order 2": {"boundaries": {"top": "rigid", "bottom": "rigid", "others": "periodic"}, "run": {"order": 2}},
    "single precision": {"run": {"precision": "float32"}},
}


def among_nan(shape, dtype, alignment=128):
    """As `craton.backends.base.aligned`, with nan before and behind the array."""
    count, beside = int(np.prod(shape)), 1 << 12
    around = aligned((count + 2 * beside,), dtype, alignment)
    around[...] = np.nan if around.dtype.kind == "f" else 0
    return around[beside : beside + count].reshape(shape)


@pytest.mark.parametrize("name", tiers(BY_PARAMETERS, "rigid"))
def test_sums_by_parameters_give_the_gradient_of_those_of_fields(name, monkeypatch):
    """On a machine with nan wherever nothing was promised, and around arrays: in the plane there is no place before a point along y."""
    monkeypatch.setattr(cpu, "aligned", among_nan)
    single = name == "single precision"
    options = {"storage": "boundaries-16", "every": 3} if single else KEPT
    here = scenario(**BY_PARAMETERS[name])
    slopes = [transposed(here, sums=sums, device="hostile", **options)[0] for sums in SUMS]
    assert misfit(slopes[1], slopes[0]) < (1e-5 if single else 1e-13)


@pytest.mark.costly("sums by parameters in space: kernels that nothing else in the short tier compiles")
@pytest.mark.parametrize("options", [long({"sums": "parameters"}), {"sums": "parameters", "every": 3}, {"every": 2}])
def test_the_linearised_operators_are_transposes(options):
    """Also after the forward field was taken back, and in place of a second forward run."""
    case = Case(scenario(3, steps=16), **KEPT, **options)
    assert case.of_medium() < 1e-13
    assert case.of_medium() < 1e-13
    assert case.of_sources() < 1e-13


@pytest.mark.long
def test_the_illumination_with_sums_by_parameters(layers_held):
    observed = craton.Problem(scenario()).data() * 1.01
    by_fields, by_parameters = (craton.gradient(scenario(), observed, sums=sums, **KEPT) for sums in SUMS)
    for name in ("illumination", "vs"):
        assert misfit(by_parameters[name], by_fields[name]) < 1e-13


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
    rows = [p.experiments[0].linear.d.layout.row for p in (plain, problem)]
    assert rows == [64, 36]  # 22 points, ghosts of 8 and 8 in 32s; of 8 and 4 in fours
    cut = craton.Problem(scenario_of("cut cells in space"), **options)
    assert "Backus averages of cut cells need" in cut.plan


@pytest.mark.long
@pytest.mark.parametrize("name", ["free surface and CPML", "sea floor"])
def test_single_precision(name, layers_held):
    stored, _ = transposed(scenario_of(name), storage="increments")
    for kind in ("boundaries", "boundaries-16"):
        assert misfit(transposed(scenario_of(name, run={"precision": "float32"}), storage=kind)[0], stored) < SIXTEEN


def test_blocks_that_wait_on_the_host_change_nothing(monkeypatch):
    """The ring of a machine with memory of its own, here copied at once."""
    whole, _ = transposed(scenario(), **KEPT)
    placed = storage.placed
    monkeypatch.setattr(storage, "placed", lambda *arguments: replace(placed(*arguments), slots=3 * 4))
    back, problem = transposed(scenario(), **KEPT)
    ring = problem.experiments[0].history
    assert ring.length == 4 and len(ring.blocks) > 9 and not ring.whole
    np.testing.assert_array_equal(back, whole)


def test_the_illumination_and_sources_are_those_of_increments(layers_held):
    """Where a force is, the illumination of increments has what the force itself adds, too."""
    quiet, kinds = scenario(source=[explosion(0.41, 0.2)], model=small.FLOOR), ("increments", "boundaries")
    case = Case(quiet, storage="increments")
    observed = case.problem.data(case.m)
    stored, back = (craton.gradient(quiet, observed, storage=kind) for kind in kinds)
    inside = case.problem.experiments[0].linear.outside_layers()[:, 0]
    assert misfit(back.illumination, stored.illumination * inside) < EXACT
    assert misfit(back.vp, stored.vp) < EXACT
    stored, back = (craton.Problem(scenario(), observed, storage=kind).by_sources().wavelet for kind in kinds)
    assert misfit(back, stored) < EXACT


def test_the_storage_is_chosen_with_a_reason():
    problem = craton.Problem(scenario(), memory=6e5, every=2)
    for words in ("boundaries, every 2", "do not fit", "0.1 MiB", "is held", "3.11 forward runs"):
        assert words in problem.plan, problem.plan
    whole = craton.Problem(scenario(), storage="checkpoints").experiments[0].storage
    assert (whole.reason, whole.host) == ("asked for", 0)
    deep = scenario_of("deep sea floor, sponge")
    boundaries, sixteen, sea = (
        craton.Problem(here, memory=memory).experiments[0].storage
        for here, memory in ((scenario(), 1e6), (scenario(), 1e5), (deep, 1.2e6))
    )
    assert boundaries.kind == "boundaries" and "do not fit" in boundaries.reason
    assert sixteen.kind == "boundaries-16" and sixteen.machine < boundaries.machine / 3
    assert sea.kind == "checkpoints" and "sea floor" in sea.reason
    thick = scenario(boundaries={"cpml": {"thickness": 9}}, source=[explosion(0.41, 0.2)])
    for error, words, here, options in (
        (ScenarioError, ["sea floor reaches into", "cannot be taken back"], deep, KEPT),
        (ScenarioError, ["no storage 'boundary'", "boundaries"], scenario(), {"storage": "boundary"}),
        (ResourceError, "boundaries of", scenario(), {"memory": 1e4, "storage": "boundaries-16"}),
        (ResourceError, "increments of", scenario(), {"memory": 1e4, "storage": "increments"}),
        (ScenarioError, "outside absorbing layers", thick, KEPT),
        (ScenarioError, ["sums: sums cannot", "Backus"], scenario_of("cut cells"), KEPT | {"sums": "parameters"}),
        (ScenarioError, "takes no steps back", scenario(), {"storage": "increments", "sums": "parameters"}),
        (ScenarioError, "several ranks", scenario(), {"sums": "parameters", "ranks": 2}),
        (ScenarioError, ["no sums 'three'", "fields"], scenario(), {"sums": "three"}),
    ):
        refused(error, words, craton.Problem, here, **options)


def test_what_steps_back_hold_at_each_point():
    """Two wavefields, the sums and the medium: what layers remember lies in the memory of sums."""
    linear = METHODS["fd"].linearised(scenario(3, run={"precision": "float32"}))
    for by_parameters, sums in ((False, 8), (True, 3)):
        plan = linear.at(linear.cells).backward(linear.margin(16), 5, by_parameters=by_parameters)
        field, arrays = plan.layout.field, plan.arrays
        bytes_of = {n: a.nbytes // (4 * field) for n, a in arrays.items() if a.over == plan.layout and a.nbytes}
        assert bytes_of == {"state": 9, "back": 9, "sums": sums, "material": 3}
        assert [name for name, array in arrays.items() if array.nbytes > 4 * field] == list(bytes_of)


# Checkpoints, and segments of steps that run again.

CHECKPOINTS = [("free surface and CPML", 40, 1, 1.2e6), long("attenuation in sponges", 80, 3, 7e5)]


@pytest.mark.parametrize("name, steps, every, memory", CHECKPOINTS)
def test_checkpoints_give_the_same_bits(name, steps, every, memory):
    more = {"memory": memory, "storage": "checkpoints"}
    cases = [case_of(name, {"steps": steps}, every=every, **options) for options in ({}, more)]
    assert cases[1].of_medium() < 1e-13
    assert [len(case.problem.experiments[0].history.blocks) > 1 for case in cases] == [False, True]
    for work in (lambda case: case.problem.jac(case.m), lambda case: case.problem.born(case.dm, case.m)):
        np.testing.assert_array_equal(*map(work, cases))


def same_in_parts(case, parts, words):
    """Segments of steps that run again give the same bits as all steps at once, also twice from one run."""
    whole, parts.observed = case.problem.jac(case.m), case.problem.observed
    assert words in parts.plan
    assert np.array_equal(parts.jac(case.m), whole) and len(parts.experiments[0].history.blocks) > 2
    assert np.array_equal(parts.adjoint(0 * parts.born(case.dm)), 0 * whole)
    parts._gradient = None
    assert np.array_equal(parts.jac(case.m), whole)


@pytest.mark.long
def test_segments_of_layers_that_relax_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)  # as the texts of test_gradients.py
    case = case_of("layers that relax, across lines of the mesh")
    monkeypatch.setattr(storage, "slots_for", lambda *_: 7)
    parts = craton.Problem(case.problem.scenario, parameters=small.WITH_Q)
    same_in_parts(case, parts, "of 4 segments, which run again")


@pytest.mark.costly("mostly kernels that other tests of elements need, too")
def test_velocities_of_absorbing_points_go_to_the_host_where_they_do_not_fit():
    case = Case(elements())
    case.problem.jac(case.m)
    (experiment,) = case.problem.experiments
    bytes_of_a_step = experiment.program.arrays["store"][0].nbytes
    same_in_parts(case, craton.Problem(case.problem.scenario, memory=7.5 * bytes_of_a_step), "absorbing points")
    little = {"memory": 2.5 * bytes_of_a_step}
    refused(ResourceError, "absorbing points of a step", craton.Problem, case.problem.scenario, **little)


@pytest.mark.long
def test_saved_steps_give_the_gradient_of_steps_taken_back():
    """And so the illumination."""
    case = Case(elements())
    observed, options = case.problem.data(case.m), {"storage": "checkpoints", "memory": 1e5}
    assert "segments" in craton.Problem(case.problem.scenario, **options).plan
    back, saved = (craton.gradient(case.problem.scenario, observed, **more) for more in ({}, options))
    for name in (*small.ROCK, "illumination"):
        assert difference(saved[name], back[name]) < 1e-11


# Memory of the host that is foretold, beside the peak of the arrays that are allocated.

PLANE = {"domain": {"origin": [0, -2000], "size": [4000, 2000], "spacing": 16}, "time": {"duration": 0.1, "start": 0.0}}
BOX = {"domain": {"origin": [0, 0, -1600], "size": [1200, 1200, 1600], "element_size": 100}, "time": PLANE["time"]}
VTI_Q = PLANE | {"model": small.LOSSY | small.THOMSEN}
MEASURED = {
    "plane, increments": (scenario, PLANE, {"storage": "increments"}),
    "plane, reversed, in single precision": (scenario, PLANE | {"run": {"precision": "float32"}}, KEPT),
    "plane, by Q": (scenario, PLANE | {"model": small.LOSSY}, {"parameters": small.WITH_Q}),
    "plane, VTI Q": (scenario, VTI_Q, {"parameters": small.SIX}),
    "elements": (elements, BOX, {}),
    "elements of two ranks": (elements, BOX, {"ranks": 2}),
}


@pytest.mark.parametrize("name", tiers(MEASURED, "plane, increments", "elements"))
def test_memory_of_gradients(name, monkeypatch):
    make, tables, options = MEASURED[name]
    here, options = make(**tables), options | {"device": "cpu"}
    problem = craton.Problem(here, **options)
    foretold = asked.gradient_bytes(problem.experiments[0], problem.parameters.names)
    assert f"{foretold / 2**20:,.1f} MiB of arrays at the peak" in problem.plan
    observed = problem.recordings[0].blank().fillna(0.0) + 1e-9
    del problem
    measured = peak(lambda: craton.gradient(here, observed, **options))
    assert abs(measured / foretold - 1) < 0.1
    monkeypatch.setattr(asked, "available", lambda: foretold - 1)
    with pytest.raises(ResourceError, match="the gradient needs .* of the host's memory"):
        craton.Problem(here, **options)
    planned = craton.Problem(here, memory=np.inf, **options)
    assert planned.shape[0] == len(planned.parameters.names)
