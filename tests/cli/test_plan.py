"""A plan is data alone: nothing that built it is reachable from it, and its copy by pickle gives the same waveforms."""

import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest
import smallcase
from common import refused
from filecase import LINE
from layeredcase import text
from paths import DATA, ROOT

from craton.backends.cpu import CPU
from craton.comm import Together
from craton.comm.local import Alone, spawn
from craton.core.subdomain import Subdomain, Totals
from craton.driver import run, waves
from craton.driver.job import Job
from craton.io.vtu import write_mesh
from craton.methods import METHODS
from craton.methods.finite_difference import build as fd
from craton.methods.spectral_element import build as sem
from craton.model.mesh.box import box_mesh
from craton.scenario import loads
from craton.validation.spectral import prepared

FORBIDDEN = ("craton.methods", "craton.model", "craton.scenario", "craton.comm", "craton.backends", "craton.driver")
SHOT = '[[snapshots]]\nname = "NAME"\nquantity = "NAME"\nevery = 0.1\n'
SHOTS = "".join(SHOT.replace("NAME", quantity) for quantity in ("velocity", "curl", "pressure"))
FAULT = (
    f'[[source]]\nkind = "srf"\ncoordinates = "metres"\nname = "F"\nfile = "{DATA / "sources" / "rupture_v2.srf"}"\n'
)
ALONG = "along = [[900, 900, -200], [2600, 1500, -200]]"
FIBRE = f'[[receivers]]\nname = "D"\ndas = {{ {ALONG}, spacing = 200, gauge = 400 }}\n'
LOSS = "attenuation = { band = [0.5, 10], mechanisms = 2 }"
SPEEDS = "vp = 3000\nvs = 1700\nrho = 2300\n"
PLACE = "origin = [0, 0, -2500]\nsize = [3000, 3000, 2500]\n"
VALLEY = "water = { level = 0 }\ntopography = { x = [0, 1500, 3000], z = [-40, -180, -40] }\n"
HILLY = (SPEEDS, SPEEDS + VALLEY), ('top = "free"', 'top = "rigid"'), ("0, -2500]\n", "0, -2300]\n")
CHUNK = (ROOT / "examples" / "earth_chunk.toml").read_text().replace("period = 40", "growth = []\nelements = [4, 4]")
SEA = "layers = [{ top = 0, vp = 1500, vs = 0, rho = 1000 }, { top = -500, vp = 3400, vs = 1900, rho = 2300 }]"
TWO = "shots = { from = [300, -10], to = [700, -10], count = 2 }"


def elements(model=SPEEDS, sides='others = "stacey"', kind="homogeneous", space=PLACE + "element_size = 500\n"):
    """The small case by spectral elements."""
    model = ('kind = "homogeneous"\n' + SPEEDS, f'kind = "{kind}"\n{model}\n')
    others = (PLACE + "spacing = 100\n", space), ('others = "cpml"\ncpml = { thickness = 5 }', sides)
    return smallcase.changed(('method = "fd"', 'method = "sem"'), model, *others)


def with_mesh(folder):
    """Spectral elements of a mesh file, which is written again as a file of the run."""
    write_mesh(folder / "box.vtu", box_mesh((0, 0, -2500), (3000, 3000, 2500), 500))
    return elements(space=f'mesh = "{folder / "box.vtu"}"\n').replace("[output]", "[output]\nmesh = true")


CASES = {
    "layers": lambda folder: text() + SHOTS,
    "fault and fibre": lambda folder: text(x=4000, y=4000, z=4000, source=FAULT, receivers=FIBRE),
    "attenuation": lambda folder: text(model=LOSS).replace("rho = 2100", "rho = 2100, qp = 60, qs = 30"),
    "topography": lambda folder: smallcase.changed(*HILLY) + SHOTS,
    "plane": lambda folder: LINE.replace("at = [300, -10]", TWO),
    "elements": lambda folder: elements(SEA, 'others = "pml"\npml = { thickness = 1 }', "layers") + SHOTS,
    "lossy elements": lambda folder: elements(SPEEDS + "qp = 60\nqs = 30\n" + LOSS),
    "mesh": with_mesh,
    "chunk": lambda folder: CHUNK,
}


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
    """What is no data: objects of builders, and whatever can be called but a type of an array's elements as np.float32."""
    return [
        (path, type(item))
        for path, item in reachable(plan)
        if not (isinstance(item, type) and issubclass(item, np.generic))
        and (type(item).__module__.startswith(FORBIDDEN) or callable(item) or type(item).__name__ == "module")
    ]


def plans(scenario, ranks=1):
    """The plans of all ranks."""

    def rank(comm):
        method = METHODS[scenario.method]
        team = Together(comm) if method.plans_by_rank and comm.size > 1 else None
        return run.plan_of_rank(scenario, method.plan(scenario, team, CPU(threads=1)), comm)

    return spawn(ranks, rank) if ranks > 1 else [rank(Alone())]


OVER_RANKS = [(name, 2) for name in CASES if name != "chunk"] + [pytest.param("chunk", 2, marks=pytest.mark.long)]


@pytest.mark.parametrize("case, ranks", [*OVER_RANKS, ("layers", 1), ("mesh", 1)])
def test_nothing_that_built_a_plan_is_reachable_from_it(case, ranks, tmp_path):
    scenario = CASES[case](tmp_path)
    for plan in plans(loads(scenario.replace("mesh = true", "") if ranks > 1 else scenario), ranks):
        assert intruders(plan) == [] and isinstance(plan.subdomain, Subdomain) and isinstance(plan.totals, Totals)
        assert len(plan.partition) == (ranks if ranks > 1 else 0) and plan.subdomain.rank == plan.rank
        copy = pickle.loads(pickle.dumps(plan))
        assert (str(copy), list(copy.arrays), copy.totals.points) == (str(plan), list(plan.arrays), plan.totals.points)


def test_the_finder_of_intruders_finds_them():
    (plan,) = plans(loads(text()))
    plan.notes = {"builder": fd.restore(loads(text()), plan)}
    assert {path for path, _ in intruders(plan)} >= {"plan.notes['builder']", "plan.notes['builder'].boundaries"}
    plan.notes = {"function": [len, plan.grid.axis]}
    assert len(intruders(plan)) >= 2


@pytest.mark.parametrize("case", ["layers", "plane", pytest.param("mesh", marks=pytest.mark.long)])
def test_a_copy_by_pickle_gives_the_same_bits(case, tmp_path):
    scenario = loads(CASES[case](tmp_path), ("time.duration=0.3", "run.threads=1"))
    (plan,) = plans(scenario)
    programs = (waves.commit(scenario, p, CPU(threads=1)) for p in (plan, pickle.loads(pickle.dumps(plan))))
    samples, again = (
        waves.march(Job(scenario, program.plan, program.backend, progress=False), program).samples
        for program in programs
    )
    assert samples.tobytes() == again.tobytes() and np.abs(samples).max() > 0


@pytest.mark.parametrize("module, scenario", [(fd, text()), (sem, elements())], ids=["fd", "sem"])
def test_builders_are_gone_when_a_plan_is_committed(module, scenario, monkeypatch):
    references, discretise, scenario = [], module.discretise, loads(scenario)

    def watched(*arguments, **options):
        builder = discretise(*arguments, **options)
        references.append(weakref.ref(builder))
        return builder

    monkeypatch.setattr(module, "discretise", watched)
    program = waves.commit(scenario, plans(scenario)[0], CPU(threads=1))
    gc.collect()
    assert len(references) == 1 and references[0]() is None and program.plan.nbytes > 0


def test_where_a_run_of_elements_diverged():
    """The position of a point by the kernels' own tables, of boxes and of bent elements."""
    scenario = loads(elements())
    (plan,), (d, _) = plans(scenario), prepared(scenario)
    for element, node in ((0, 0), (7, 21), (35, 63)):
        expected = d.coordinates([element])[0, :, node]
        np.testing.assert_allclose(plan.grid.position(d.points[element, node]), expected, atol=1e-3)
    (chunk,) = plans(loads(CHUNK))
    assert np.isfinite(chunk.grid.position(1234)).all() and np.linalg.norm(chunk.grid.position(1234)) < 6.4e6


def test_small_case_has_whole_totals():
    """And an array that nothing fills is refused."""
    (plan,) = plans(loads(smallcase.TEXT))
    assert plan.totals.points == plan.points == plan.subdomain.points and plan.totals.nbytes == plan.nbytes
    parts = plans(loads(smallcase.TEXT), 2)
    assert {p.totals.points for p in parts} == {plan.points} and sum(p.points for p in parts) == plan.points
    refused(KeyError, "rho", CPU(threads=1).commit, plan)
