"""A plan is data alone: nothing that built it is reachable from it, and its copy by pickle gives the same waveforms."""

import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest
import rankcase
import smallcase
from layeredcase import text

from craton.backends.cpu import CPU
from craton.comm import Together
from craton.comm.local import Alone, spawn
from craton.core.subdomain import Subdomain, Totals
from craton.driver import run, waves
from craton.io.vtu import write_mesh
from craton.methods import METHODS
from craton.methods.finite_difference import build as fd
from craton.methods.spectral_element import build as sem
from craton.model.mesh.box import box_mesh
from craton.scenario import loads

FORBIDDEN = ("craton.methods", "craton.model", "craton.scenario", "craton.comm", "craton.backends", "craton.driver")
QUANTITIES = ("velocity", "curl", "pressure")
SHOTS = "".join(f'[[snapshots]]\nname = "{name}"\nquantity = "{name}"\nevery = 0.1\n' for name in QUANTITIES)
RUPTURE = Path(__file__).parents[1] / "data" / "sources" / "rupture_v2.srf"
FAULT = f'[[source]]\nkind = "srf"\ncoordinates = "metres"\nfile = "{RUPTURE}"\nname = "F"\n'
FIBRE = (
    '[[receivers]]\nname = "D"\ndas = { along = [[900, 900, -200], [2600, 1500, -200]], spacing = 200, gauge = 400 }\n'
)
LOSSY = text(model="attenuation = { band = [0.5, 10], mechanisms = 2 }").replace(
    "rho = 2100", "rho = 2100, qp = 60, qs = 30"
)
CASES = {
    "layers": lambda folder: text() + SHOTS,
    "fault and fibre": lambda folder: text(x=4000, y=4000, z=4000, source=FAULT, receivers=FIBRE),
    "attenuation": lambda folder: LOSSY,
    "topography": lambda folder: rankcase.hilly("water = { level = 100 }\n") + SHOTS,
    "plane": lambda folder: rankcase.plane("P-SV") + SHOTS,
    "elements": lambda folder: rankcase.elements("sea layers") + SHOTS,
    "lossy elements": lambda folder: rankcase.elements("attenuation"),
    "mesh": lambda folder: with_mesh(folder),
    "chunk": lambda folder: rankcase.elements("mantle"),
}


def with_mesh(folder):
    """Spectral elements of a mesh file, which is written again as a file of the run."""
    write_mesh(folder / "box.vtu", box_mesh((0, 0, -1500), (2000, 1500, 1500), 500))
    changed = rankcase.elements("solid").replace(
        "origin = [0, 0, -1500], size = [2000, 1500, 1500], element_size = 500", f'mesh = "{folder / "box.vtu"}"'
    )
    return changed.replace("[output]", "[output]\nmesh = true")


def reachable(root):
    """(path, object) of all that can be reached from an object by attributes, items and bases of arrays, each object once."""
    waiting, seen = [("plan", root)], {}
    while waiting:
        path, item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        yield path, item
        if isinstance(item, dict):
            waiting += [(f"{path}[{key!r}]", part) for key, value in item.items() for part in (key, value)]
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += [(f"{path}[{n}]", part) for n, part in enumerate(item)]
        elif isinstance(item, np.ndarray):
            waiting += [(f"{path}.base", item.base)]
        elif not isinstance(item, (Path, type)):
            waiting += [(f"{path}.{name}", value) for name, value in getattr(item, "__dict__", {}).items()]


def intruders(plan):
    """What is no data: objects of builders, and whatever can be called."""
    return [
        (path, type(item))
        for path, item in reachable(plan)
        if not is_number_type(item)
        and (type(item).__module__.startswith(FORBIDDEN) or callable(item) or type(item).__name__ == "module")
    ]


def is_number_type(item):
    """True for np.float32 and its like, the type of an array's elements."""
    return isinstance(item, type) and issubclass(item, np.generic)


def plans(scenario, ranks):
    """The plans of all ranks."""

    def rank(comm):
        method = METHODS[scenario.method]
        team = Together(comm) if method.plans_by_rank and comm.size > 1 else None
        return run.plan_of_rank(scenario, method.plan(scenario, team, CPU(threads=1)), comm)

    return spawn(ranks, rank) if ranks > 1 else [rank(Alone())]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_nothing_that_built_a_plan_is_reachable_from_it(case, ranks, tmp_path):
    scenario = loads(CASES[case](tmp_path).replace("mesh = true", "") if ranks > 1 else CASES[case](tmp_path))
    for plan in plans(scenario, ranks):
        assert intruders(plan) == []
        assert isinstance(plan.subdomain, Subdomain) and isinstance(plan.totals, Totals)
        assert len(plan.partition) == (ranks if ranks > 1 else 0) and plan.subdomain.rank == plan.rank
        copy = pickle.loads(pickle.dumps(plan))
        assert (
            str(copy) == str(plan)
            and list(copy.arrays) == list(plan.arrays)
            and copy.totals.points == plan.totals.points
        )


def test_the_finder_of_intruders_finds_them():
    plan = plans(loads(text()), 1)[0]
    plan.notes = {"builder": fd.restore(loads(text()), plan)}
    assert {path for path, _ in intruders(plan)} >= {"plan.notes['builder']", "plan.notes['builder'].scenario"}
    plan.notes = {"function": [len, plan.grid.axis]}
    assert len(intruders(plan)) >= 2


@pytest.mark.parametrize("case", ["layers", "plane", "attenuation", "elements"])
def test_a_copy_by_pickle_gives_the_same_bits(case, tmp_path):
    scenario = loads(CASES[case](tmp_path), ("time.duration=0.3", "run.threads=1"))
    (plan,) = plans(scenario, 1)
    results = [
        waves.march(scenario, waves.commit(scenario, one, CPU(threads=1)), None, False, Alone())
        for one in (plan, pickle.loads(pickle.dumps(plan)))
    ]
    assert results[0].samples.tobytes() == results[1].samples.tobytes() and np.abs(results[0].samples).max() > 0


@pytest.mark.parametrize("module, given", [(fd, text()), (sem, rankcase.elements("solid"))], ids=["fd", "sem"])
def test_builders_are_gone_when_a_plan_is_committed(module, given, monkeypatch):
    references, real = [], module.discretise

    def watched(*arguments, **options):
        made = real(*arguments, **options)
        references.append(weakref.ref(made))
        return made

    monkeypatch.setattr(module, "discretise", watched)
    scenario = loads(given)
    program = waves.commit(scenario, plans(scenario, 1)[0], CPU(threads=1))
    gc.collect()
    assert len(references) == 1 and references[0]() is None and program.plan.nbytes > 0


def test_an_array_that_nothing_fills_is_refused():
    with pytest.raises(KeyError, match="rho"):
        CPU(threads=1).commit(plans(loads(text()), 1)[0])


def test_where_a_run_of_elements_diverged():
    """The position of a point by the kernels' own tables, of boxes and of bent elements."""
    (plan,) = plans(loads(rankcase.elements("solid")), 1)
    d, _ = sem_problem("solid")
    for element, node in ((0, 0), (7, 21), (35, 63)):
        point = d.points[element, node]
        np.testing.assert_allclose(plan.grid.position(point), d.coordinates([element])[0, :, node], atol=1e-3)
    (chunk,) = plans(loads(rankcase.elements("mantle")), 1)
    assert np.isfinite(chunk.grid.position(1234)).all() and np.linalg.norm(chunk.grid.position(1234)) < 6.4e6


def sem_problem(case):
    """The Discretisation of a case of spectral elements, and its plan."""
    from craton.validation.spectral import prepared

    return prepared(loads(rankcase.elements(case)))


def test_small_case_has_whole_totals():
    (plan,) = plans(loads(smallcase.TEXT), 1)
    assert plan.totals.points == plan.points == plan.subdomain.points and plan.totals.nbytes == plan.nbytes
    local = plans(loads(smallcase.TEXT), 2)
    assert {one.totals.points for one in local} == {plan.points} and sum(one.points for one in local) == plan.points
