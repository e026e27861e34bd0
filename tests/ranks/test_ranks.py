"""Finite differences over ranks: every bit as on one rank, whatever the cut; one voice and an end for all when one fails."""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path

import benchscript
import numpy as np
import pytest
import smallcase
from layeredcase import BOUNDARIES, text
from smallcase import PICTURES, pictured, same_results

import craton
from craton.backends import backend
from craton.backends.cpu import CPU
from craton.comm import launcher
from craton.comm.halos import exchange
from craton.comm.local import Alone, spawn
from craton.core.gathering import divide_channels, sampling_launches
from craton.core.partition import split
from craton.driver import waves
from craton.driver.march import march
from craton.errors import ComputationError, CratonError, ScenarioError
from craton.methods import METHODS
from craton.methods.shared.ranks import plan_of_rank
from craton.scenario import loads

STEPS = 10
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'"
)


class Blind:
    """A recorder that looks at nothing."""

    def sample(self, step):
        """Nothing."""


def planned_by_method(scenario, team=None, machine=None):
    """The plan of a scenario by its method."""
    return METHODS[scenario.method].plan(scenario, team, machine)


def fields_of(program):
    """Every field that is computed, at the grid's points."""
    return {name: program.host(name) for name, a in program.plan.arrays.items() if a.part_of == "state"}


@cache
def alone(scenario):
    """Fields and record after a few steps on one rank, and the plan."""
    plan = planned_by_method(loads(scenario))
    program = waves.commit(loads(scenario), plan, CPU(threads=1))
    march(program, Alone(), Blind(), STEPS)
    assert plan.slots >= STEPS
    return plan, fields_of(program), program.host("record")[:STEPS]


def together(scenario, grid, device="hostile", threads=1):
    """The same from several ranks, put together: boxes are where the parts say."""
    plan = alone(scenario)[0]

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, grid)
        program = waves.commit(loads(scenario), local, backend(device, threads=threads))
        march(program, exchange(program, comm), Blind(), STEPS)
        record = program.host("record")[:STEPS] if "record" in program.arrays else np.empty((STEPS, 0), plan.precision)
        blocks = comm.collect(record)
        joined = local.gathering.join_columns(blocks, program.backend) if blocks else None
        return local.subdomain, fields_of(program), joined

    found = spawn(int(np.prod(grid)), rank)
    whole = {name: np.full(plan.layout.shape, np.nan, plan.precision) for name in found[0][1]}
    for part, fields, _ in found:
        for name, values in fields.items():
            whole[name][tuple(slice(a, b) for a, b in zip(part.box[::2], part.box[1::2]))] = values
    return whole, found[0][2], [part for part, _, _ in found]


def same_bits(scenario, grid, **options):
    """Equal in every bit, and something happened."""
    _, want, record = alone(scenario)
    whole, joined, parts = together(scenario, grid, **options)
    assert [name for name in want if whole[name].tobytes() != want[name].tobytes()] == []
    assert joined.tobytes() == record.tobytes()
    assert all(np.abs(values).max() > 0 for values in want.values()) and (np.abs(record).max(axis=0) > 0).mean() > 0.5
    return parts


# --- the same bits ----------------------------------------------------------------------------------------------------------------------

CUTS = [(2, 1, 1), (1, 2, 1), (1, 1, 2), (3, 1, 1), (2, 2, 1), (1, 2, 2)]


@pytest.mark.parametrize("kind", BOUNDARIES)
@pytest.mark.parametrize("grid", CUTS, ids=str)
def test_every_boundary_and_cut(kind, grid):
    """Halos are nan before each run, and no ghost but those that a neighbour fills is defined at a cut."""
    parts = same_bits(text(kind), grid)
    assert len(parts) == np.prod(grid) and all(part.neighbours for part in parts)


@pytest.mark.parametrize("kind", ["free and absorbing", "rigid and damped"])
def test_eight_ranks(kind):
    same_bits(text(kind), (2, 2, 2))


@pytest.mark.parametrize("order, precision", [(2, "float64"), (6, "float32"), (8, "float64"), (16, "float32")])
def test_orders_and_precisions(order, precision):
    kind = "rigid above" if order == 16 else "free and absorbing"  # closures of a free surface end at order 8
    same_bits(text(kind, order, precision, x=4100, z=4300), (2, 1, 2))


def test_odd_sizes_with_threads():
    parts = same_bits(text(x=3000, y=2400, z=2800), (3, 2, 1), device="cpu", threads=2)
    assert all(a % 2 == 0 for part in parts for a in part.box[::2])
    assert {part.shape[2] % 2 for part in parts} == {0, 1}


def test_source_and_receiver_on_the_cut():
    """Both lie between the last point of one rank and the first of the next: their weights are on both sides."""
    scenario = text(middle=1350, receivers='[[receivers]]\nname = "C"\nat = [1350, 1220, 0]')
    parts = same_bits(scenario, (2, 1, 1))
    assert parts[0].box[5] == 14
    plan = alone(scenario)[0]
    columns, gathering = divide_channels(plan, split(plan, 2, (2, 1, 1)), *sampling_launches(plan))
    assert (np.diff(gathering.first) > 1).any() and all(len(of_rank.rows) for of_rank in columns)


@pytest.mark.parametrize("storage, mechanisms", [("coarse", 3), ("paired", 4), ("full", 2)])
def test_attenuation(storage, mechanisms):
    """Patterns of mechanisms over points go on across cuts: they lie at even points."""
    scenario = text(model=f'attenuation = {{ band = [0.5, 10], mechanisms = {mechanisms}, storage = "{storage}" }}')
    scenario = scenario.replace("rho = 2100", "rho = 2100, qp = 50, qs = 30").replace(
        "rho = 2500", "rho = 2500, qp = 100, qs = 60"
    )
    same_bits(scenario, (2, 2, 1))
    same_bits(scenario, (1, 1, 3))


@pytest.mark.parametrize("waves", ["P-SV", "SH"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 1, 2), (3, 1, 2)], ids=str)
def test_plane(waves, grid):
    same_bits(plane(waves), grid)


def plane(waves):
    """Two shots in the (x, z) plane."""
    force = "[0, 1e8, 0]" if waves == "SH" else "[1e8, 0, 2e8]"
    shots = "".join(
        f'[[source]]\nkind = "force"\nshot = "{name}"\nat = [{x}, -520]\nforce = {force}\n'
        'wavelet = { kind = "ricker", frequency = 6 }\n'
        for name, x in (("one", 1430), ("two", 2210))
    )
    return f"""
[domain]
origin = [0, -2300]
size = [4000, 2300]
spacing = 100
waves = "{waves}"
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1700, rho = 2100 }}, {{ top = -450, vp = 4200, vs = 2400, rho = 2500 }}]
[time]
duration = 1.0
[boundaries]
top = "free"
others = "cpml"
cpml = {{ thickness = 5 }}
{shots}
[[receivers]]
name = "R"
line = {{ from = [1200, 0], to = [2400, -350], count = 5 }}
[output]
waveforms = ["velocity"]
"""


def test_finite_fault_and_fibre(tmp_path):
    """A fault's columns of the step are set on each rank before its own rows of the fault are injected; a fibre crosses the cut."""
    rupture = Path(__file__).parents[1] / "data" / "sources" / "rupture_v2.srf"
    fibre = '[[receivers]]\nname = "D"\ndas = { along = [[900, 900, -200], [2600, 1500, -200]], spacing = 200, gauge = 400 }'
    fault = f'[[source]]\nkind = "srf"\ncoordinates = "metres"\nfile = "{rupture}"\nname = "F"'
    scenario = text(x=4000, y=4000, z=4000, source=fault, receivers=fibre)
    same_bits(scenario, (2, 2, 1))


def test_anisotropy():
    same_bits(text().replace("rho = 2100", "rho = 2100, epsilon = 0.1, delta = 0.05, gamma = 0.08"), (2, 1, 2))


@pytest.mark.parametrize(
    "kind, grid", [("free and absorbing", (2, 2, 1)), ("rigid and damped", (1, 2, 2)), ("one-way", (2, 1, 2))]
)
def test_acoustic(kind, grid):
    same_bits(fluid(text(kind)), grid)


def test_acoustic_plane():
    same_bits(fluid(plane("P-SV")), (3, 1, 2))


def fluid(scenario):
    """The same with vs = 0, as acoustic waves."""
    scenario = scenario.replace('waves = "P-SV"\n', "").replace(
        "spacing = 100\n", 'spacing = 100\nwaves = "acoustic"\n', 1
    )
    return scenario.replace("vs = 1700", "vs = 0").replace("vs = 2400", "vs = 0")


@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("water", ["", "water = { level = 100 }\n"], ids=["dry", "wet"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (3, 1, 2)], ids=str)
def test_topography(grid, water, order):
    """Air, cells that the ground cuts, and flat pieces of sea floor with their closed differences, cut anywhere along x and y."""
    same_bits(hilly(water, order), grid)
    assert ("situations" in alone(hilly(water, order))[0].arrays) == bool(water)


def test_topography_and_sea_floor_in_the_plane():
    for water in ("", "water = { level = 100 }\n"):
        same_bits(hilly(water, plane_=True), (3, 1, 1))
        assert ("situations" in alone(hilly(water, plane_=True))[0].arrays) == bool(water)


def test_a_sea_floor_may_be_cut_along_z():
    """Closed differences reach no farther than plain ones."""
    scenario = hilly("water = { level = 100 }\n")
    box = alone(scenario)[0].phases[0].launches
    low, high = next(one.box[:2] for one in box if "situations" in one.arrays)
    cuts = {part.box[0] for part in split(alone(scenario)[0], 5, (1, 1, 5))}
    assert any(low < cut < high for cut in cuts)
    same_bits(scenario, (1, 1, 5))


def hilly(water, order=4, plane_=False):
    """A trough between two plains 200 m below the top, around which is air or water."""
    ground = "x = [0, 900, 1200, 1800, 2100, 4000]\nz = [-200, -200, -460, -480, -200, -200]"
    model = f'[model]\nkind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2100\n{water}[model.topography]\n{ground}\n'
    if plane_:
        scenario = (
            plane("P-SV").replace("origin = [0, -2300]", "origin = [0, -2100]").replace('top = "free"', 'top = "rigid"')
        )
        scenario = scenario.replace("from = [1200, 0], to = [2400, -350]", "from = [1200, -600], to = [2400, -950]")
        return scenario[: scenario.index("[model]")] + model + scenario[scenario.index("[time]") :]
    scenario = text(order=order, x=3300).replace("origin = [0, 0, -2300]", "origin = [0, 0, -2100]")
    scenario = scenario.replace('top = "free"', 'top = "rigid"').replace("1180, -310]", "1180, -710]")
    scenario = scenario.replace("at = [900, 1500, 0]", "at = [900, 1500, -500]").replace(
        "from = [600, 700, 0]", "from = [600, 700, -600]"
    )
    return scenario[: scenario.index("[model]")] + model + scenario[scenario.index("[time]") :]


def test_plane_wave():
    scenario = text(
        "periodic sides",
        source='[[source]]\nkind = "plane_wave"\nwave = "SV"\nz = -1200\nwavelet = { kind = "gaussian", tau = 0.05 }',
    )
    same_bits(scenario, (2, 1, 2))


# --- who owns what ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12])
def test_parts_cover_the_grid_once(ranks):
    plan = alone(text(x=4100, y=4300, z=4500))[0]
    seen = np.zeros(plan.layout.shape, int)
    parts = split(plan, ranks)
    for rank, part in enumerate(parts):
        seen[tuple(slice(a, b) for a, b in zip(part.box[::2], part.box[1::2]))] += 1
        for (axis, side), other in part.faces.items():
            assert (
                parts[other].faces[axis, 1 - side] == rank
                and parts[other].range(axis)[1 - side] == part.range(axis)[side]
            )
    assert (seen == 1).all()


def test_ranks_in_layers_have_fewer_points():
    """Four ranks along z: the free surface and the CPML below cost more a point."""
    plan = planned_by_method(loads(text(x=2700, y=2500, z=19900)))
    parts = split(plan, 4, (1, 1, 4))
    heights = [part.shape[0] for part in parts]
    assert heights[0] < heights[1] and heights[3] < heights[1] and sum(heights) == 200


def test_too_many_ranks_are_refused():
    plan = alone(text())[0]
    with pytest.raises(ScenarioError, match=r"100000 ranks do not fit 28 x 26 x 24 points"):
        split(plan, 100_000)
    with pytest.raises(ScenarioError, match=r"2 x 2 x 1 parts are not 3"):
        split(plan, 3, (2, 2, 1))


def test_no_rank_holds_the_whole_grid():
    """Memory of a rank is its share: fields, material and layers, with ghosts."""
    plan = planned_by_method(loads(text(x=9900, y=9900, z=9900)))
    local = plan_of_rank(plan, 0, 8, (2, 2, 2))
    assert local.nbytes < 0.22 * plan.nbytes  # an eighth, rows of 50 points padded to 96 (of 100 to 128)
    assert max(a.nbytes for a in local.arrays.values()) < 0.22 * max(a.nbytes for a in plan.arrays.values())


def test_an_array_that_does_not_say_how_it_follows_the_grid_is_refused():
    plan = alone(text())[0]
    wrong = replace(plan, arrays=plan.arrays | {"psi_stress_x0": replace(plan.arrays["psi_stress_x0"], over=None)})
    with pytest.raises(CratonError, match="psi_stress_x0.*does not say how it follows the grid"):
        plan_of_rank(wrong, 0, 2)


# --- whole runs -------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The small scenario on one rank."""
    out = tmp_path_factory.mktemp("one") / "out"
    craton.run(pictured(), out=out, progress=False)
    return out


@pytest.mark.parametrize("grid", [(2, 1, 1), (3, 1, 2)], ids=str)
def test_run_into_one_store(grid, reference, tmp_path):
    """Each rank writes whole chunks of the pictures; rank 0 has the waveforms."""
    craton.run(pictured(run_grid=list(grid)), out=tmp_path / "out", progress=False, devices=int(np.prod(grid)))
    same_results(reference, tmp_path / "out")
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (
        told["state"] == "finished" and len(told["ranks"]) == np.prod(grid) and all(0 <= w < 1 for w in told["waiting"])
    )


def test_an_explosion_ends_all_ranks(tmp_path):
    scenario = pictured(time_duration=4.0)
    plan = craton.plan(scenario)
    assert plan.limit < np.inf

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, (1, 1, 2))
        local.limit = 1e-30 if comm.rank == 1 else local.limit  # only this rank sees it
        with pytest.raises(ComputationError, match="unstable at step") as error:
            waves.march(
                scenario, waves.commit(scenario, local, backend("cpu", threads=1)), None, False, comm
            ).finished()
        return error.value.agreed, str(error.value)

    found = spawn(2, rank)
    assert found[0] == found[1] and found[0][0] == 4


# --- processes --------------------------------------------------------------------------------------------------------------------------


def environment():
    """Variables of processes: one thread each, the modules of this one."""
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def command(folder, *words, **options):
    """`craton run` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "craton", "run", *words],
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@needs_mpi
def test_ranks_of_the_command_line_give_the_same_bits(reference, tmp_path):
    (tmp_path / "case.toml").write_text(smallcase.TEXT.replace("[output]", PICTURES))
    words = ("--ranks", "2", "--oversubscribe", "--set", "run.grid=[2, 1, 1]")
    done = command(tmp_path, "case.toml", "-o", "out", *words)
    _, said = done.communicate(timeout=180)  # two cores that have other work
    assert done.returncode == 0, said
    same_results(reference, tmp_path / "out")


MANY = """
    from mpi4py import MPI
    import craton
    from craton.scenario import load
    world = MPI.COMM_WORLD
    threes = world.Split(world.rank // 3)
    rounds = [(world, [1, 2, 2]), (threes, [1, 1, 3])]
    for comm, grid in rounds[: 1 if world.rank == 3 else 2]:
        scenario = load("case.toml", [f"run.grid={grid}"])
        craton.run(scenario, out=f"out {comm.size}", progress=False, comm=comm)
    """


@needs_mpi
def test_processes_give_the_same_bits(reference, tmp_path):
    """Four and three of them, of one start of mpiexec: starting costs more than the runs."""
    (tmp_path / "case.toml").write_text(smallcase.TEXT.replace("[output]", PICTURES))
    (tmp_path / "many.py").write_text(textwrap.dedent(MANY))
    done = subprocess.run(
        [launcher.mpiexec(), "-n", "4", sys.executable, "-m", "mpi4py", "many.py"],
        cwd=tmp_path,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    for size in (4, 3):
        same_results(reference, tmp_path / f"out {size}")
        told = json.loads((tmp_path / f"out {size}" / "run.json").read_text())
        assert len({rank["pid"] for rank in told["ranks"]}) == size


@needs_mpi
@pytest.mark.parametrize("victim, delay", [(0, 0.3), (1, 0.9)])
def test_a_killed_rank_ends_the_job(victim, delay, tmp_path):
    """Within 10 s, with one message, and a store that opens with all that was flushed: two of the times of bench/cases/kill_ranks.py."""
    row = benchscript.load("cases.kill_ranks").killed(tmp_path, victim, delay, ranks=2)
    assert row["passed"], row
