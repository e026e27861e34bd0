"""Finite differences over ranks: every bit as on one rank, whatever the cut; one voice and an end for all when one fails."""
import importlib.util
from functools import cache

import numpy as np
import pytest

from craton.backends import backend
from craton.backends.cpu import CPU
from craton.comm.halos import exchange
from craton.comm.local import Alone, spawn
from craton.run.march import march
from craton.scenario import loads
from craton.solvers import build
from craton.solvers.shared.ranks import shared

STEPS = 10
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed: pip install 'craton[mpi]'")

SCENARIO = """
[domain]
origin = [0, 0, {bottom}]
size = [{x}, {y}, {z}]
spacing = 100
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1700, rho = 2100 }}, {{ top = -450, vp = 4200, vs = 2400, rho = 2500, vp_gradient = 0.3 }}]
anomalies = [{{ shape = "sphere", center = [1200, 1300, -900], radius = 400, dvs = -0.2 }}]
{model}
[time]
duration = 1.0
[boundaries]
{boundaries}
cpml = {{ thickness = 5, kappa_max = 2 }}
sponge = {{ thickness = 4 }}
[[source]]
kind = "moment_tensor"
at = [{middle}, 1180, -310]
tensor = {{ xx = 1e12, zz = -2e12, xy = 5e11, yz = 3e11 }}
wavelet = {{ kind = "gaussian", tau = 0.02 }}
[[source]]
kind = "force"
at = [900, 1500, 0]
force = [1e8, 2e8, -1e8]
wavelet = {{ kind = "ricker", frequency = 6 }}
{source}
[[receivers]]
name = "R"
line = {{ from = [600, 700, 0], to = [2050, 1800, -750], count = 4 }}
{receivers}
[output]
waveforms = ["velocity", "pressure", "strain_rate", "rotation_rate"]
[run]
order = {order}
precision = "{precision}"
{run}
"""
FREE = 'top = "free"\nothers = "cpml"'
BOUNDARIES = {
    "free and absorbing": FREE,
    "periodic sides": 'top = "free"\nbottom = "cpml"\nwest = "periodic"\neast = "periodic"\nsouth = "periodic"\nnorth = "periodic"',
    "rigid and damped": 'top = "periodic"\nbottom = "periodic"\nwest = "rigid"\neast = "sponge"\nsouth = "cpml"\nnorth = "rigid"',
    "rigid above": 'top = "rigid"\nbottom = "sponge"\nwest = "sponge"\neast = "rigid"\nsouth = "periodic"\nnorth = "periodic"',
}


def text(kind="free and absorbing", order=4, precision="float32", x=2700, y=2500, z=2300, middle=1230, **more):
    """A scenario of 28 x 26 x 24 points, or another size."""
    more = {"model": "", "source": "", "receivers": "", "run": ""} | more
    return SCENARIO.format(boundaries=BOUNDARIES[kind], order=order, precision=precision, x=x, y=y, z=z, bottom=-z, middle=middle, **more)


class Blind:
    """A recorder that looks at nothing."""

    def sample(self, step):
        """Nothing."""


def fields_of(program):
    """Every field that is computed, at the grid's points."""
    return {name: program.host(name) for name, a in program.plan.arrays.items() if a.part_of == "state"}


@cache
def alone(scenario):
    """Fields and record after a few steps on one rank, and the plan."""
    plan = build(loads(scenario))
    program = CPU(threads=1).commit(plan)
    march(program, Alone(), Blind(), STEPS)
    assert plan.slots >= STEPS
    return plan, fields_of(program), program.host("record")[:STEPS]


def together(scenario, grid, device="hostile", threads=1):
    """The same from several ranks, put together: boxes are where the parts say."""
    plan = alone(scenario)[0]

    def rank(comm):
        local = shared(plan, comm.rank, comm.size, grid)
        program = backend(device, threads=threads).commit(local)
        march(program, exchange(program, comm), Blind(), STEPS)
        record = program.host("record")[:STEPS] if "record" in program.arrays else np.empty((STEPS, 0), plan.precision)
        blocks = comm.collect(record)
        joined = local.sharing["gathering"].joined(blocks, program.backend) if blocks else None
        return local.part, fields_of(program), joined

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
    gathering = shared(alone(scenario)[0], 0, 2, (2, 1, 1)).sharing["gathering"]
    assert (gathering.whole < 0).any() and {*gathering.owners[gathering.single]} == {0, 1}


@pytest.mark.parametrize("storage, mechanisms", [("coarse", 3), ("paired", 4), ("full", 2)])
def test_attenuation(storage, mechanisms):
    """Patterns of mechanisms over points go on across cuts: they lie at even points."""
    scenario = text(model=f'attenuation = {{ band = [0.5, 10], mechanisms = {mechanisms}, storage = "{storage}" }}')
    scenario = scenario.replace("rho = 2100", "rho = 2100, qp = 50, qs = 30").replace("rho = 2500", "rho = 2500, qp = 100, qs = 60")
    same_bits(scenario, (2, 2, 1))
    same_bits(scenario, (1, 1, 3))


@pytest.mark.parametrize("waves", ["P-SV", "SH"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 1, 2), (3, 1, 2)], ids=str)
def test_plane(waves, grid):
    same_bits(plane(waves), grid)


def plane(waves):
    """Two shots in the (x, z) plane."""
    force = "[0, 1e8, 0]" if waves == "SH" else "[1e8, 0, 2e8]"
    shots = "".join(f'[[source]]\nkind = "force"\nshot = "{name}"\nat = [{x}, -520]\nforce = {force}\n'
                    'wavelet = { kind = "ricker", frequency = 6 }\n' for name, x in (("one", 1430), ("two", 2210)))  # fmt: skip
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
