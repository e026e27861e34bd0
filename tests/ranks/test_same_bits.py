"""Waves over ranks, by grids, meshes and chunks of the Earth: every bit as on one rank, whatever the cut; one voice when one fails."""

import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import benchscript
import numpy as np
import pytest
import rankcase
import smallcase
from common import manifest, misfit, needs_mpi, refused, stored
from layeredcase import BOUNDARIES, text
from paths import DATA
from rankcase import alone, elements, fluid, hilly, misfits, plane, run_alone, same_bits, shared
from smallcase import pictured, same_results

import craton
from craton.backends import backend
from craton.cli import main
from craton.comm import Together, launcher
from craton.comm.halos import OnHost, connect
from craton.comm.local import spawn
from craton.core.gathering import divide_channels, sampling_launches
from craton.core.partition import split
from craton.driver import run as driver
from craton.driver import waves
from craton.driver.job import Job
from craton.driver.march import march
from craton.errors import ComputationError, ResourceError, ScenarioError
from craton.methods.spectral_element import ranks
from craton.methods.spectral_element.discretisation import Medium
from craton.methods.spectral_element.equations import state
from craton.methods.waves.ranks import plan_of_rank
from craton.scenario import loads

LONG = pytest.mark.long


def with_more(short, more):
    """Cases of a table, and those that `make test-all` has besides; their first value is their name."""
    cases = [pytest.param(*case, id=case[0]) for case in short.items()]
    return cases + [pytest.param(*case, id=f"{case[0]}, more", marks=LONG) for case in more.items()]


# --- grids ------------------------------------------------------------------------------------------------------------------------------


def lossy(storage, mechanisms, boundaries="free and absorbing"):
    """Patterns of mechanisms over points, which go on across cuts: they lie at even points."""
    model = f'attenuation = {{ band = [0.5, 10], mechanisms = {mechanisms}, storage = "{storage}" }}'
    scenario = text(boundaries, model=model).replace("rho = 2100", "rho = 2100, qp = 50, qs = 30")
    return scenario.replace("rho = 2500", "rho = 2500, qp = 100, qs = 60")


def fault_and_fibre():
    """A fault's columns of the step are set on each rank before its own rows of the fault are injected; a fibre crosses the cut."""
    fibre = '[[receivers]]\nname = "D"\ndas = { along = [[900, 900, -200], [2600, 1500, -200]], spacing = 200, gauge = 400 }'
    rupture = DATA / "sources" / "rupture_v2.srf"
    fault = f'[[source]]\nkind = "srf"\ncoordinates = "metres"\nfile = "{rupture}"\nname = "F"'
    return text(x=4000, y=4000, z=4000, source=fault, receivers=fibre)


def anisotropic(boundaries):
    """An upper layer that is slower along z."""
    return text(boundaries).replace("rho = 2100", "rho = 2100, epsilon = 0.1, delta = 0.05, gamma = 0.08")


WAVE = '[[source]]\nkind = "plane_wave"\nwave = "SV"\nz = -1200\nwavelet = { kind = "gaussian", tau = 0.05 }'
WET, TALL = "water = { level = 100 }\n", {"x": 4100, "z": 4300}
X, Y, Z, XY, XZ, YZ = (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (2, 1, 2), (1, 2, 2)
GRIDS = {  # scenario, cuts. Media and orders meet absorbing layers, and waves one-way sides, in MORE_GRIDS: five kernels
    "free and absorbing": (text(), [X, YZ]),
    "periodic sides": (text("periodic sides"), [Y, XZ]),
    "rigid and damped": (text("rigid and damped"), [Z, XY]),
    "rigid above": (text("rigid above"), [XZ, Y]),
    "attenuation": (lossy("coarse", 3, "rigid above"), [XY, (1, 1, 3)]),
    "anisotropy": (anisotropic("rigid above"), [XZ]),
    "fault and fibre": (fault_and_fibre(), [XY]),
    "plane wave": (text("periodic sides", source=WAVE), [XZ]),
    "acoustic": (fluid(text("rigid above")), [YZ]),
    "plane": (plane("P-SV"), [X, (3, 1, 2)]),
    "antiplane": (plane("SH"), [Z]),
    "hills": (hilly(), [XY, (3, 1, 2)]),  # cells that the ground cuts, and flat pieces with closed differences
    "sea floor": (hilly(WET), [X, Y, (3, 1, 2)]),
    "sea floor in the plane": (hilly(WET, scenario=plane("P-SV")), [(3, 1, 1)]),
    "order 2 in double": (text("rigid above", order=2, precision="float64", **TALL), [XZ]),
}
MORE_GRIDS = {
    "one-way": (text("one-way"), [(3, 1, 1), YZ]),
    **{name: (text(name), [Z, (3, 1, 1), XY, (2, 2, 2)]) for name in BOUNDARIES},
    "paired attenuation": (lossy("paired", 4), [XY, (1, 1, 3)]),
    "full attenuation": (lossy("full", 2), [XY, (1, 1, 3)]),
    "anisotropy": (anisotropic("free and absorbing"), [XZ]),
    "order 6": (text(order=6, **TALL), [XZ]),
    "order 8 in double": (text(order=8, precision="float64", **TALL), [XZ]),
    "order 16": (text("rigid above", order=16, **TALL), [XZ]),  # closures of a free surface end at order 8
    "acoustic one-way": (fluid(text("one-way")), [XZ]),
    "acoustic rigid and damped": (fluid(text("rigid and damped")), [YZ]),
    "antiplane": (plane("SH"), [X, (3, 1, 2)]),
    "acoustic plane": (fluid(plane("P-SV")), [(3, 1, 2)]),
    "hills in the plane": (hilly(scenario=plane("P-SV")), [(3, 1, 1)]),
    "hills of order 8": (hilly(order=8), [X, Z, (3, 1, 2)]),
    "sea floor of order 8": (hilly(WET, order=8), [Y, Z, XY]),
}


@pytest.mark.parametrize("name, case", with_more(GRIDS, MORE_GRIDS))
def test_grids(name, case):
    """Halos are nan before each run, and no ghost but those that a neighbour fills is defined at a cut."""
    scenario, cuts = case
    for grid in cuts:
        assert len(same_bits(scenario, grid)) == np.prod(grid), grid


def test_odd_sizes_with_threads():
    parts = same_bits(text(x=3000, y=2400, z=2800), (3, 2, 1), device="cpu", threads=2)
    assert all(a % 2 == 0 for part in parts for a in part.box[::2])
    assert {part.shape[2] % 2 for part in parts} == {0, 1}


def test_source_and_receiver_on_the_cut():
    """Both lie between the last point of one rank and the first of the next: their weights are on both sides."""
    scenario = text(middle=1350, receivers='[[receivers]]\nname = "C"\nat = [1350, 1220, 0]')
    assert same_bits(scenario, X)[0].box[5] == 14
    plan = alone(scenario)[0]
    tables, gathering = divide_channels(plan, split(plan, 2, X), *sampling_launches(plan))
    assert (np.diff(gathering.first) > 1).any() and all((np.diff(first) == 1).any() for first, _, _ in tables)


def test_a_sea_floor_may_be_cut_along_z():
    """Closed differences reach no farther than plain ones; a dry trough has none."""
    plan = alone(hilly(WET))[0]
    low, high = next(launch.box[:2] for launch in plan.phases[0].launches if "situations" in launch.arrays)
    assert any(low < part.box[0] < high for part in split(plan, 5, (1, 1, 5)))
    same_bits(hilly(WET), (1, 1, 5))
    assert "situations" not in alone(hilly())[0].arrays


# --- elements ---------------------------------------------------------------------------------------------------------------------------

SHARED = {  # case and precision: ranks, how elements are shared
    "sea float32": (3, "random"),
    "floor in a layer float32": (3, "random"),
}
MORE_SHARED = {
    "solid float32": (8, "metis"),
    "rigid sides float32": (3, "metis"),
    "sea float32": (8, "bisection"),
    "attenuation float32": (4, "metis"),
    "sea layers float32": (3, "bisection"),
    "core float32": (4, "slices"),
    "solid float64": (5, "bisection"),
    "sea float64": (4, "random"),
    "mantle float32": (3, "slices"),
}


@pytest.mark.parametrize("name, shares", with_more(SHARED, MORE_SHARED))
def test_elements(name, shares):
    """In float32 forces are counted in whole units, and what an element adds does not depend on its rank: the same bits. Sources and
    receivers of chunks lie on cuts, and their step is not given."""
    (case, precision), (size, partition) = name.rsplit(" ", 1), shares
    if partition == "metis" and not find_spec("pymetis"):
        pytest.skip("pymetis is not installed: pip install pymetis")
    expected, of_chunk = run_alone(case, precision), case in rankcase.CHUNKS
    assert (np.abs(expected.samples).max(axis=0) > 0).mean() > (0.3 if of_chunk else 0.7)
    result = craton.run(shared(case, precision, partition), progress=False, devices=size)
    step = expected.plan.dt
    assert result.plan.dt == (pytest.approx(step, rel=1e-12) if of_chunk else step)
    assert result.plan.channels == expected.plan.channels
    if precision == "float32":
        np.testing.assert_array_equal(result.samples, expected.samples)
    assert max(misfits(result, expected)) < 1e-12


def test_hills_with_fast_assembly():
    """Adds in any order; elements of 27 nodes that are no boxes."""
    scenario = loads(elements("hill", "float64"), ["run.assembly=fast", "domain.size=[2000, 1500, 1700]"])
    alone, on_three = (craton.run(scenario, progress=False, devices=size) for size in (1, 3))
    assert max(misfits(on_three, alone)) < 1e-12


def test_units_of_forces_have_room(monkeypatch):
    """A unit 4,000 times finer or 16,000 times coarser: still float32's own difference from sums of reals."""
    reals = craton.run(loads(elements("sea"), ["run.assembly=fast"]), progress=False)
    for bits in (32, 58):
        monkeypatch.setattr(state, "BITS", bits)
        displacement, derivatives = misfits(craton.run(shared("sea"), progress=False), reals)
        assert 0 < displacement < 1e-6 and derivatives < 1e-5


def marched(case, size, partition, devices=("hostile",), steps=12):
    """Programs of all ranks after some steps, for each device."""

    def rank(comm):
        plan = rankcase.planned(shared(case, partition=partition), Together(comm))
        programs = [backend(device, threads=1).commit(plan) for device in devices]
        for program in programs:
            connect(program, comm)
            march(program, (), steps)
        return programs

    return zip(*spawn(size, rank))


def at_shared_points(programs, field, medium):
    """Pairs of a field's values at the points that two ranks share."""

    def values(program, message):
        return program.host(field)[rankcase.points_of(program.plan, medium, message)]

    def messages(program):
        return next((p.messages for p in program.plan.phases if p.name == medium), ())

    for a in programs:
        for message in messages(a):
            b = programs[message.rank]
            yield values(a, message), values(b, next(m for m in messages(b) if m.rank == a.plan.rank))


@pytest.mark.parametrize("size, partition", [(4, "random"), pytest.param(8, "bisection", marks=LONG)])
def test_elements_have_the_same_bits_at_shared_points(size, partition):
    """Also where more than two ranks meet; buffers are nan before anything comes, which changes nothing."""
    honest, hostile = marched("sea", size, partition, ("cpu", "hostile"))
    assert all(a.host("state").tobytes() == b.host("state").tobytes() for a, b in zip(honest, hostile))
    moving = 0
    for field, medium in (("displacement", "solid"), ("velocity", "solid"), ("potential", "fluid")):
        for own, neighbours in at_shared_points(hostile, field, medium):
            assert own.tobytes() == neighbours.tobytes() and np.isfinite(own).all()
            moving += bool(np.abs(own).max() > 0)
    assert moving > size


def test_what_does_not_come_is_seen(monkeypatch):
    """Without the exchange the sum is beyond anything at once: buffers hold the largest number there is, or nan."""

    def displacements():
        (programs,) = marched("solid", 2, "slices", steps=1)
        return [program.host("displacement") for program in programs]

    largest = max(np.abs(displacement).max() for displacement in displacements())
    monkeypatch.setattr(OnHost, "finish", lambda self, shared: shared and shared.unpack(0))
    assert all(np.abs(displacement).max() > 1e3 * largest for displacement in displacements())
    monkeypatch.setattr(Medium, "exact", False)
    assert all(np.isnan(displacement).any() for displacement in displacements())


# --- one voice --------------------------------------------------------------------------------------------------------------------------


def test_an_explosion_ends_all_ranks():
    scenario = pictured(time_duration=4.0)
    plan = craton.plan(scenario)
    assert plan.limit < np.inf

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, Z)
        local.limit = 1e-30 if comm.rank == 1 else local.limit  # only this rank sees it
        program = waves.commit(scenario, local, backend("cpu", threads=1))
        with pytest.raises(ComputationError, match="unstable at step") as error:
            waves.march(Job(scenario, local, program.backend, comm, progress=False), program).finished()
        return error.value.agreed, str(error.value)

    first, second = spawn(2, rank)
    assert first == second and first[0] == 4


@pytest.mark.parametrize("victim", [0, 1])
def test_an_error_of_one_rank_is_one_of_all(victim, monkeypatch):
    """Also in the middle of a build, before the others ask it for something."""
    combine = ranks.combine_statistics

    def broken(subdomain, statistics):
        if subdomain.team.rank == victim:
            raise ResourceError("no memory left")
        return combine(subdomain, statistics)

    def rank(comm):
        with pytest.raises(Exception, match="no memory left") as error:
            driver.run(shared("solid"), progress=False, comm=comm)
        return error.value.agreed

    monkeypatch.setattr(ranks, "combine_statistics", broken)
    assert spawn(2, rank) == [3, 3]


def test_a_mesh_file_of_several_ranks_is_refused():
    asked = loads(elements("solid"), ["output.mesh=true"])
    refused(ScenarioError, "several ranks do not write the mesh", craton.run, asked, progress=False, devices=2)


# --- stores -----------------------------------------------------------------------------------------------------------------------------


PICTURED = smallcase.TEXT.replace("[output]", smallcase.PICTURES).replace("duration = 1.0", "duration = 0.5")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The small scenario on one rank."""
    out = tmp_path_factory.mktemp("alone") / "out"
    craton.run(loads(PICTURED, ["run.threads=1"]), out=out, progress=False)
    return out


def finished(out, size):
    """What run.json says of a run that has ended well."""
    run = manifest(out)
    assert run["state"] == "finished" and len(run["ranks"]) == size
    return run


def test_run_into_one_store(reference, tmp_path):
    """Each rank writes whole chunks of the pictures; rank 0 has the waveforms."""
    scenario = loads(PICTURED, ["run.threads=1", f"run.grid={list(XZ)}"])
    craton.run(scenario, out=tmp_path / "out", progress=False, devices=4)
    same_results(reference, tmp_path / "out")
    assert all(0 <= waited < 1 for waited in finished(tmp_path / "out", 4)["waiting"])


GROUND = '[[snapshots]]\nname = "ground"\nquantity = "velocity"\nplane = { surface = true }\n'
SECTION = GROUND + 'every = 5\n[[snapshots]]\nname = "section"\nquantity = "velocity"\nplane = { y = 0 }\nevery = 5\n'
VOLUME = GROUND + 'every = 0.1\n[[snapshots]]\nname = "volume"\nquantity = "velocity"\nevery = 0.2\n'


def same_pictures(out, expected_out, *names):
    """The same velocities but for their rounding to float32, and the same places without any."""
    pictures = []
    for name in names:
        values, expected = (stored(folder, f"snapshots/{name}").velocity.values for folder in (out, expected_out))
        assert np.array_equal(np.isnan(values), np.isnan(expected)) and np.nanmax(np.abs(expected)) > 0
        assert misfit(np.nan_to_num(values), np.nan_to_num(expected)) < 1e-6
        pictures.append(expected)
    return pictures


def test_pictures_of_elements_are_put_together(tmp_path):
    """Every place of a raster is seen by one rank. (Of derivatives, which jump at faces of elements, ranks may see the other side.)"""
    scenario = loads(elements("rigid sides") + VOLUME, ["run.partition=auto", "time.duration=0.2"])
    alone, on_three = (craton.run(scenario, out=tmp_path / str(n), progress=False, devices=n) for n in (1, 3))
    np.testing.assert_array_equal(alone.samples, on_three.samples)
    pictures = same_pictures(tmp_path / "3", tmp_path / "1", "ground", "volume")
    assert all(np.isfinite(picture).all() for picture in pictures)


@pytest.fixture
def environment(monkeypatch):
    """Variables of processes: one thread each, the modules of this one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


ONLY = pytest.mark.costly("the only run of processes that the command line starts")
STARTED = [pytest.param("sea", "", marks=ONLY), pytest.param("mantle", SECTION, marks=LONG)]


@needs_mpi
@pytest.mark.parametrize("case, pictures", STARTED)
def test_processes_of_the_command_line(case, pictures, tmp_path, environment):
    """They build their parts, run, and leave one store; of a chunk no rank has the whole top, which a picture shows."""
    file, out = tmp_path / "case.toml", tmp_path / "out"
    file.write_text(elements(case) + pictures)
    assert main(["run", str(file), "-o", str(out), "--ranks", "2", "--oversubscribe", "--quiet"]) == 0
    expected, dataset = run_alone(case), stored(out)
    assert finished(out, 2)["points"] == expected.plan.points
    assert all(np.array_equal(dataset[name], values) for name, values in expected.dataset.data_vars.items())
    if pictures:
        craton.run(craton.load(file), out=tmp_path / "alone", progress=False)
        same_pictures(out, tmp_path / "alone", "ground", "section")


PAIR = """
    from mpi4py import MPI
    import craton
    comm = MPI.COMM_WORLD.Split()
    craton.run(craton.load("case.toml"), out="out", progress=False, comm=comm)
    """


@needs_mpi
@pytest.mark.long
def test_processes_of_another_communicator(reference, tmp_path, environment):
    (tmp_path / "case.toml").write_text(PICTURED)
    words = [launcher.mpiexec(), "-n", "2", sys.executable, "-m", "mpi4py", "-c", textwrap.dedent(PAIR)]
    done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, timeout=180)
    assert done.returncode == 0, done.stderr
    same_results(reference, tmp_path / "out")
    assert len({rank["pid"] for rank in finished(tmp_path / "out", 2)["ranks"]}) == 2


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("victim, delay", [(0, 0.3), (1, 0.9)])
def test_a_killed_rank_ends_the_job(victim, delay, tmp_path):
    """Within 10 s, with one message, and a store that opens with all that was flushed: two of the times of bench/cases/kill_ranks.py."""
    row = benchscript.load("cases.kill_ranks").killed(tmp_path, victim, delay, ranks=2)
    assert row["passed"], row
