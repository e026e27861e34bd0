"""Spectral elements over ranks: the same waveforms however elements are shared, points that ranks have in common agree bit by bit."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import craton
from craton import api
from craton.backends import backend
from craton.backends.cpu import CPU
from craton.cli import main
from craton.comm import Together
from craton.comm.halos import OnHost, exchange
from craton.comm.local import spawn
from craton.driver.march import march
from craton.errors import ResourceError, ScenarioError
from craton.methods import METHODS
from craton.methods.shared.sharing import Sharing, SingleRank
from craton.methods.spectral_element import fixed_point
from craton.methods.spectral_element.discretisation import Medium
from craton.methods.spectral_element.ranks import rank_loads
from craton.scenario import loads

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'"
)

TEXT = """
method = "sem"
[domain]
origin = [0, 0, -1500]
size = [2000, 1500, 1500]
element_size = 500
[model]
kind = "layers"
layers = [{layers}]
{model}
[time]
duration = 0.7
step = 0.006
[boundaries]
{boundaries}
{source}
[[receivers]]
name = "R"
line = {{ from = [500, 700, 0], to = [1750, 1000, -1250], count = 6 }}
[output]
waveforms = ["velocity", "pressure", "strain_rate"]
[run]
device = "cpu"
threads = 1
degree = 3
assembly = "colour"
precision = "{precision}"
"""
MOMENT = """
[[source]]
kind = "moment_tensor"
at = [1000, 760, -800]
tensor = { xx = 1e12, zz = -2e12, xy = 5e11, yz = 3e11 }
wavelet = { kind = "gaussian", tau = 0.05 }
[[source]]
kind = "force"
at = [1400, 500, -1000]
force = [1e8, 2e8, -1e8]
wavelet = { kind = "ricker", frequency = 4 }
"""
BLAST = """
[[source]]
kind = "explosion"
at = [1000, 500, -250]
moment = 1e12
wavelet = { kind = "gaussian", tau = 0.05 }
"""
ROCK = (
    "{ top = 0, vp = 3000, vs = 1700, rho = 2100 }, { top = -500, vp = 4200, vs = 2400, rho = 2500, vp_gradient = 0.3 }"
)
SEA = "{ top = 0, vp = 1500, vs = 0, rho = 1000 }, { top = -500, vp = 3400, vs = 1900, rho = 2300 }"
LAYER = 'others = "pml"\npml = { thickness = 1 }'
CASES = {
    "layers": {"layers": ROCK, "source": MOMENT, "boundaries": LAYER},
    "sea layers": {"layers": SEA, "source": BLAST, "boundaries": LAYER},
    "floor in a layer": {
        "layers": SEA,
        "source": BLAST,
        "boundaries": 'top = "pml"\npml = { width = 750 }\nothers = "stacey"',
    },
    "solid": {"layers": ROCK, "source": MOMENT},
    "rigid sides": {"layers": ROCK, "source": MOMENT, "boundaries": 'west = "rigid"\neast = "free"\nothers = "stacey"'},
    "sea": {"layers": SEA, "source": BLAST + MOMENT},
    "attenuation": {
        "layers": ROCK.replace("rho = 2100", "rho = 2100, qp = 60, qs = 30"),
        "source": MOMENT,
        "model": "attenuation = { band = [0.5, 10], mechanisms = 2 }",
    },
}


def planned_by_method(scenario, team=None, machine=None):
    """The plan of a scenario by its method."""
    return METHODS[scenario.method].plan(scenario, team, machine)


def text(case, precision="float32", **more):
    """A scenario of 4 x 3 x 3 elements."""
    table = {"model": "", "boundaries": "", "precision": precision} | CASES[case] | more
    return TEXT.format(**table)


def scenario(case, precision="float32", partition="auto"):
    """The scenario, its elements shared in one way."""
    return loads(text(case, precision), [f"run.partition={partition}"])


@cache
def alone(case, precision="float32"):
    """Waveforms on one rank."""
    return craton.run(scenario(case, precision), progress=False)


def off(got, want):
    """Relative L2 difference of the displacements, and the largest of velocity, pressure and strain rate, all channels together."""
    found = {}
    for quantity in dict.fromkeys(c.quantity for c in want.plan.channels):
        some = [n for n, c in enumerate(want.plan.channels) if c.quantity == quantity]
        a, b = (one.samples[:, some].astype(float) for one in (got, want))
        found[quantity] = np.linalg.norm(a - b) / np.linalg.norm(b)
        if quantity == "velocity":
            a, b = (np.cumsum(one, axis=0) for one in (a, b))
            displacement = np.linalg.norm(a - b) / np.linalg.norm(b)
    return displacement, max(found.values())


# --- the same waveforms -----------------------------------------------------------------------------------------------------------------

MARKS = {
    "metis": pytest.mark.skipif(
        not importlib.util.find_spec("pymetis"), reason="pymetis is not installed: pip install pymetis"
    )
}
SHARED = [
    ("solid", 2, "metis"),
    ("solid", 3, "metis"),
    ("solid", 8, "metis"),
    ("solid", 4, "slices"),
    ("solid", 8, "bisection"),
    ("solid", 4, "random"),
    ("rigid sides", 3, "bisection"),
    ("rigid sides", 4, "random"),
    ("sea", 2, "metis"),
    ("sea", 4, "slices"),
    ("sea", 3, "random"),
    ("sea", 8, "bisection"),
    ("attenuation", 4, "metis"),
    ("attenuation", 3, "random"),
    ("layers", 3, "metis"),
    ("layers", 4, "random"),
    ("sea layers", 3, "bisection"),
    ("sea layers", 4, "random"),
    ("floor in a layer", 3, "bisection"),
    ("floor in a layer", 4, "random"),
]


@pytest.mark.parametrize("case, ranks, partition", [pytest.param(*one, marks=MARKS.get(one[2], ())) for one in SHARED])
def test_any_partition(case, ranks, partition):
    """The same bits: forces are counted in whole units, and what an element adds does not depend on its rank."""
    want = alone(case)
    got = craton.run(scenario(case, partition=partition), progress=False, devices=ranks)
    assert got.plan.dt == want.plan.dt and got.plan.channels == want.plan.channels
    assert (np.abs(want.samples).max(axis=0) > 0).mean() > 0.7
    np.testing.assert_array_equal(got.samples, want.samples)


@pytest.mark.parametrize(
    "case, ranks, partition",
    [
        ("solid", 5, "bisection"),
        ("rigid sides", 2, "slices"),
        ("sea", 4, "random"),
        ("sea", 3, "bisection"),
        ("attenuation", 2, "slices"),
    ],
)
def test_any_partition_in_double(case, ranks, partition):
    want = alone(case, "float64")
    got = craton.run(scenario(case, "float64", partition), progress=False, devices=ranks)
    assert max(off(got, want)) < 1e-12


def test_hills_with_fast_assembly():
    """Topography from an array, adds in any order: elements of 27 nodes that are no boxes."""
    height = 200 * np.exp(
        -((np.arange(0, 2001, 250)[None] - 900) ** 2 + (np.arange(0, 1501, 250)[:, None] - 700) ** 2) / 400**2
    )
    tables = loads(text("solid", "float64")).model_dump(by_alias=True, exclude_none=True)
    tables["model"]["topography"] = {
        "x": np.arange(0, 2001, 250.0).tolist(),
        "y": np.arange(0, 1501, 250.0).tolist(),
        "z": height.tolist(),
    }
    tables["domain"]["size"], tables["model"]["layers"][0]["top"], tables["run"]["assembly"] = (
        [2000, 1500, 1700],
        200,
        "fast",
    )
    hilly = craton.Scenario(**tables)
    want = craton.run(hilly, progress=False)
    assert max(off(craton.run(hilly, progress=False, devices=3), want)) < 1e-12


@pytest.mark.parametrize("bits", [32, 58])
@pytest.mark.parametrize("case", ["solid", "sea"])
def test_units_of_forces_have_room(case, bits, monkeypatch):
    """A unit 4,000 times finer or 16,000 times coarser: still float32's own difference from sums of reals."""
    monkeypatch.setattr(fixed_point, "BITS", bits)
    got, reals = (craton.run(loads(text(case), [f"run.assembly={how}"]), progress=False) for how in ("colour", "fast"))
    assert 0 < off(got, reals)[0] < 1e-6 and off(got, reals)[1] < 1e-5


# --- shared points ----------------------------------------------------------------------------------------------------------------------


class Blind:
    """A recorder that looks at nothing."""

    def sample(self, step):
        """Nothing."""


def marched(case, ranks, partition, device="hostile", steps=12, change=lambda plan: plan, **options):
    """Programs of all ranks after some steps."""
    given = scenario(case, partition=partition)

    def rank(comm):
        program = backend(device, threads=1).commit(change(planned_by_method(given, Together(comm), CPU(threads=1))))
        march(program, exchange(program, comm), Blind(), steps)
        return program

    return spawn(ranks, rank)


def copies(programs, field, medium):
    """Pairs of a field's values at the points that two ranks share."""
    for a in programs:
        for m in next((p.messages for p in a.plan.phases if p.name == medium), ()):
            b = programs[m.rank]
            back = next(o for p in b.plan.phases if p.name == medium for o in p.messages if o.rank == a.plan.rank)
            yield tuple(one.host(field)[numbers(one.plan, medium, way)] for one, way in ((a, m), (b, back)))


def numbers(plan, phase, message):
    """Own numbers of the points of a message of a phase."""
    of, (packing,) = (plan.arrays[message.out], next(p.packing for p in plan.phases if p.name == phase))
    fields = dict(packing.op.defines)["FIELDS"]
    packed = plan.arrays[packing.arrays[2]].data
    return packed[of.start // fields : (of.start + of.shape[0]) // fields]


@pytest.mark.parametrize("ranks, partition", [(8, "random"), (3, "bisection")])
@pytest.mark.parametrize("case", ["solid", "sea"])
def test_ranks_have_the_same_bits_at_shared_points(case, ranks, partition):
    """Also where more than two meet; buffers are nan before anything comes."""
    programs, met = marched(case, ranks, partition), 0
    for field, medium in (
        ("displacement", "solid"),
        ("velocity", "solid"),
        *([("potential", "fluid")] * (case == "sea")),
    ):
        for one, other in copies(programs, field, medium):
            assert one.tobytes() == other.tobytes() and np.isfinite(one).all()
            met += bool(np.abs(one).max() > 0)
    assert met > ranks


def test_hostile_machine_changes_nothing():
    honest, hostile = (marched("sea", 3, "slices", device) for device in ("cpu", "hostile"))
    assert all(a.host("state").tobytes() == b.host("state").tobytes() for a, b in zip(honest, hostile))


def test_what_does_not_come_is_seen(monkeypatch):
    """Without the exchange the sum is beyond anything at once: buffers hold the largest number there is, or nan."""
    honest = max(np.abs(one.host("displacement")).max() for one in marched("solid", 2, "slices", steps=1))
    monkeypatch.setattr(OnHost, "finish", lambda self, shared: shared and shared.unpack(0))
    assert all(np.abs(one.host("displacement")).max() > 1e3 * honest for one in marched("solid", 2, "slices", steps=1))
    monkeypatch.setattr(Medium, "exact", False)
    assert all(np.isnan(one.host("displacement")).any() for one in marched("solid", 2, "slices", steps=1))


@pytest.mark.parametrize("case", ["sea", "attenuation"])
def test_outer_elements_and_only_they_touch_shared_points(case):
    for program in marched(case, 4, "bisection", "cpu", steps=0):
        plan = program.plan
        assert 0 < plan.subdomain.outer <= plan.subdomain.elements
        for phase in plan.phases:
            shared = np.unique(np.concatenate([numbers(plan, phase.name, m) for m in phase.messages] or [[-1]]))
            of_elements = [one for one in phase.launches if f"{one.op.name}_points" in plan.arrays and one.colours]
            for one in of_elements:
                touching = np.isin(plan.arrays[f"{one.op.name}_points"].data, shared).any(axis=1)
                moduli = plan.arrays[f"{one.op.name}_moduli"].data
                real = (moduli != 0).any(axis=tuple(range(1, moduli.ndim)))
                assert touching[real].all() if one.outer else not touching.any()
            assert all(one.outer for one in phase.launches if not any(one is e for e in of_elements))


def test_a_fluid_and_the_solid_below_it_stay_together():
    for program in marched("sea", 4, "random", "cpu", steps=0):
        plan = program.plan
        if "coupling_solid" in plan.arrays:
            assert {"displacement", "potential"} <= set(plan.arrays)
    assert (
        sum(subdomain.elements for subdomain in plan.partition) == 36 and plan.totals.points == alone("sea").plan.points
    )


@pytest.mark.parametrize(
    "case, ranks, partition", [("solid", 2, "slices"), ("sea", 3, "random"), ("sea", 4, "bisection")]
)
def test_ranks_agree_on_the_step(case, ranks, partition):
    """And one rank takes the same: sums over ranks are the same to rounding, and the limit has four digits."""
    free = text(case).replace("step = 0.006", "")
    steps = spawn(
        ranks,
        lambda comm: planned_by_method(loads(free, [f"run.partition={partition}"]), Together(comm), CPU(threads=1)).dt,
    )
    assert len(set(steps)) == 1 and steps[0] == planned_by_method(loads(free), machine=CPU(threads=1)).dt


class Pair:
    """Two ranks in one thread: what each sends is there already."""

    size = 2

    def __init__(self, rank, incoming):
        self.rank, self.incoming, self.sent = rank, incoming, {}

    def swap(self, arrays):
        """Note what goes, give what was laid out."""
        self.sent = arrays
        return self.incoming


def test_sums_and_unions_over_ranks():
    sharing = Sharing(Pair(1, {0: np.array([10.0, 20.0]), 2: np.array([5.0])}), {0: np.array([3, 7]), 2: np.array([7])})
    assert sharing.points.tolist() == [3, 7]
    values = np.arange(9.0)
    assert sharing.complete(values).tolist() == [0, 1, 2, 13, 4, 5, 6, 32, 8]
    first, source = sharing.rows({0: 0, 2: 2})
    assert first.tolist() == [0, 2, 5] and source.tolist() == [0, -1, 1, -1, 2]  # rank 0, own, rank 2
    sharing = Sharing(Pair(1, {0: np.array([[0.0, 0.0], [1.0, 4.0]])}), {0: np.array([3, 7])})
    points, sums = sharing.unite_points(np.array([1, 3]), np.array([[0.5], [2.0]]))
    assert points.tolist() == [1, 3, 7] and sums.tolist() == [[0.5], [2.0], [4.0]]
    points, sums = Sharing(SingleRank()).unite_points(np.array([1, 3]), np.zeros((2, 0)))
    assert points.tolist() == [1, 3] and sums.shape == (2, 0)


# --- what is refused ------------------------------------------------------------------------------------------------------------------


def test_more_ranks_than_elements():
    with pytest.raises(ScenarioError, match="40 ranks for 36 elements"):
        craton.run(scenario("solid"), progress=False, devices=40)


def test_a_mesh_file_of_several_ranks_is_refused():
    asked = text("solid").replace("waveforms =", "mesh = true\nwaveforms =")
    with pytest.raises(ScenarioError, match="several ranks do not write the mesh"):
        craton.run(loads(asked), progress=False, devices=2)


@pytest.mark.parametrize("victim", [0, 1])
def test_an_error_of_one_rank_is_one_of_all(victim, monkeypatch):
    """Also in the middle of a build, before the others ask it for something."""
    from craton.methods.spectral_element import ranks

    combine = ranks.combine_statistics

    def broken(subdomain, statistics):
        if subdomain.team.rank == victim:
            raise ResourceError("no memory left")
        return combine(subdomain, statistics)

    monkeypatch.setattr(ranks, "combine_statistics", broken)

    def rank(comm):
        with pytest.raises(Exception, match="no memory left") as error:
            api.run(scenario("solid"), progress=False, comm=comm)
        return error.value.agreed

    assert spawn(2, rank) == [3, 3]


# --- processes and the command line -----------------------------------------------------------------------------------------------------


def command(folder, *words):
    """`craton` as a process: its output."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "craton", *words], cwd=folder, env=env, text=True, capture_output=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PICTURES = """
[[snapshots]]
name = "ground"
quantity = "velocity"
plane = { surface = true }
every = 0.1
[[snapshots]]
name = "volume"
quantity = "velocity"
every = 0.2
"""


def test_pictures_are_put_together(tmp_path):
    """Every place of a raster is seen by one rank. (Of derivatives, which jump at faces of elements, ranks may see the other side.)"""
    import xarray

    asked, found = loads(text("attenuation", "float64") + PICTURES), []
    for ranks in (1, 3):
        craton.run(asked, out=tmp_path / str(ranks), progress=False, devices=ranks)
        found.append(
            [
                xarray.open_zarr(tmp_path / str(ranks) / "result.zarr", group=f"snapshots/{name}")[quantity].to_numpy()
                for name, quantity in (("ground", "velocity"), ("volume", "velocity"))
            ]
        )
    for want, got in zip(*found):
        assert np.abs(want).max() > 0 and np.isfinite(want).all()
        assert np.linalg.norm(got - want) < 1e-6 * np.linalg.norm(want)  # stored in float32


@needs_mpi
def test_processes(tmp_path):
    """Two processes that build their parts, run, and leave one store; what they record is what one rank does."""
    import xarray

    (tmp_path / "case.toml").write_text(text("sea", "float64"))
    command(tmp_path, "run", "case.toml", "-o", "out", "--ranks", "2")
    got, want = xarray.open_zarr(tmp_path / "out" / "result.zarr"), alone("sea", "float64").dataset
    for name in ("velocity", "pressure", "strain_rate"):
        a, b = got[name].to_numpy(), want[name].to_numpy()
        assert np.linalg.norm(a - b) < 1e-12 * np.linalg.norm(b)
    told = json.loads((tmp_path / "out" / "run.json").read_text())
    assert told["state"] == "finished" and len(told["ranks"]) == 2 and told["points"] == alone("sea").plan.points


def test_plan_says_who_has_what(tmp_path, capsys):
    """What `craton plan --ranks` counts is what the ranks have."""
    (tmp_path / "case.toml").write_text(text("sea"))
    words = ("--ranks", "3", "--set", "run.partition=bisection")
    assert main(["plan", str(tmp_path / "case.toml"), *words]) == 0
    said = capsys.readouterr().out
    assert "Ranks: 3" in said and all(
        word in said for word in ("shared points", "outer", "memory", "imbalance", "efficiency")
    )
    loads_ = rank_loads(planned_by_method(scenario("sea", partition="bisection"), machine=CPU(threads=1)).weights, 3)
    for one, program in zip(loads_, marched("sea", 3, "bisection", "cpu", steps=0)):
        own = program.plan.subdomain
        assert (one.elements, one.outer, one.neighbours) == (own.elements, own.outer, len(own.neighbours))
        assert one.shared == sum(neighbour.shared for neighbour in own.neighbours)
        buffers = [program.plan.arrays.get(f"shared_{field}_out") for field in ("force", "potential_force")]
        assert one.sent == sum(a.shape[0] for a in buffers if a)
