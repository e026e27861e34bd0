"""Contacts of fluid and solid: differences along every axis end there, and energy is conserved."""

import numpy as np
import pytest
from fdstepcase import SILENT, Step

import craton
from craton.core.sparse import Sparse
from craton.methods.finite_difference import build
from craton.methods.finite_difference.contact import Line
from craton.methods.finite_difference.scheme import taylor

ROCK = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1020.0}
COUNT = 60  # points of a line


def closed(line, cuts):
    """Differences of a line and their numbers, (integer points, half points)."""
    codes, out = line.codes(cuts), np.zeros((COUNT, COUNT))
    for n in range(line.size, COUNT - line.size):
        out[n, n - line.size : n + line.size] = line.row(codes[n]) if codes[n] else line.plain()
    return out, codes


def random_lines(seed=0, count=100):
    """Cuts of some lines."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        cuts = np.zeros(COUNT, bool)
        cuts[rng.choice(np.arange(20, 40), rng.integers(1, 8), replace=False)] = True
        yield cuts


@pytest.mark.parametrize("order", [4, 6, 8, 16])
@pytest.mark.parametrize("normal", [True, False])
def test_no_difference_of_a_line_crosses_a_cut(order, normal):
    """Its largest singular value is that of the plain scheme; linear motion is differentiated exactly, constant traction too."""
    weights = tuple(taylor(order))
    line, inner = Line(weights, order // 2, normal), slice(order, -order)
    for cuts in random_lines():
        matrix, codes = closed(line, cuts)
        part_of_half = 2 * np.cumsum(cuts) - cuts  # a cut lies between two parts
        part_of_integer = 2 * np.append(0, np.cumsum(cuts)[:-1])
        apart = np.abs(part_of_integer[:, None] - part_of_half) > 1
        assert np.abs(matrix[apart & (codes > 0)[:, None]]).max(initial=0) < 1e-12
        if normal:
            assert np.allclose((matrix @ np.arange(COUNT))[inner], 1, atol=1e-12)
        else:
            matrix[:, cuts] = 0
            assert np.abs(matrix.sum(0)[inner][~cuts[inner]]).max() < 1e-12
        assert np.linalg.norm(matrix, 2) < 2 * np.abs(weights).sum() * (1 + 1e-9)


CASES = {
    "plane": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20}},
    "plane, order 8": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20}, "run": {"order": 8}},
    "SH": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20, "waves": "SH"}},
    "space": {"domain": {"origin": [0, 0, -400], "size": [400, 400, 400], "spacing": 20}},
    "space, order 6": {"domain": {"origin": [0, 0, -400], "size": [400, 400, 400], "spacing": 20}, "run": {"order": 6}},
    "Q": {
        "domain": {"origin": [0, 0, -400], "size": [400, 400, 400], "spacing": 20},
        "model": {"qp": 60.0, "qs": 30.0, "attenuation": {"band": [0.5, 10]}},
    },
    "level": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20}, "floor": -405.0},
    "level, SH": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20, "waves": "SH"}, "floor": -405.0},
    "level in space, order 6": {
        "domain": {"origin": [0, 0, -800], "size": [400, 400, 800], "spacing": 20},
        "floor": -405.0,
        "run": {"order": 6},
    },
    "level, thin water": {"domain": {"origin": [0, -800], "size": [800, 800], "spacing": 20}, "floor": -45.0},
}


def scenario(name, top="rigid"):
    """Rock below a level floor, or with cavities, one of them up to the top, in a rigid box."""
    case = CASES[name]
    model = {"kind": "homogeneous", **ROCK, **case.get("model", {})}
    planar = len(case["domain"]["size"]) == 2
    middle = np.add(case["domain"]["origin"], np.divide(case["domain"]["size"], 2))
    x, z = middle[0], middle[-1]
    y = 0.0 if planar else middle[1]
    model["anomalies"] = [
        {"shape": "sphere", "center": [x, y, z], "radius": 75.0, **WATER},
        {"shape": "box", "min": [x - 130, y - 90, z + 90], "max": [x - 50, y + 70, 1.0], **WATER},
        {"shape": "box", "min": [x + 50, y - 30, z + 30], "max": [x + 110, y + 50, z + 51], **WATER},
    ]
    if "floor" in case:
        layers = [{"top": 0.0, **WATER}, {"top": case["floor"], **ROCK}]
        model = {"kind": "layers", "layers": layers}
    corner = (middle - np.divide(case["domain"]["size"], 2.5)).tolist()
    source = {"kind": "force", "at": corner, "force": [1, 1, 1], **SILENT}
    faces = {"top": top, "others": "rigid"}
    run = {"precision": "float64"} | case.get("run", {})
    tables = {"domain": case["domain"], "model": model, "source": [source], "boundaries": faces}
    return craton.Scenario(**tables, time={"duration": 0.1}, run=run)


def after(values, axis):
    """Values of the next points along an axis; the last ones repeated."""
    return np.concatenate([np.take(values, range(1, values.shape[axis]), axis), np.take(values, [-1], axis)], axis)


def beside(step):
    """True where a cell is fluid, and where the points of each velocity lie in the fluid alone."""
    fluid = np.isinf(step.program.grid("rmu"))
    return fluid, {name: fluid & after(fluid, 2 - "xyz".index(name[1])) for name in step.velocities}


@pytest.mark.parametrize("top", ["rigid", "free"])
@pytest.mark.parametrize("name", CASES)
def test_eddies_of_the_fluid_do_not_feel_the_solid(name, top):
    """Stress of the solid moves no point within the fluid, and these strain no solid."""
    step, rng = Step(scenario(name, top)), np.random.default_rng(1)
    fluid, inside = beside(step)
    assert fluid.any() and not fluid.all()
    step.clear((*step.velocities, *step.stresses))
    for field in step.stresses:
        solid = ~fluid
        for axis in {2 - "xyz".index(a) for a in field[1:]} if field[1] != field[2] else ():
            solid &= after(solid, axis)
        step.program.grid(field)[...] = rng.standard_normal(fluid.shape) * solid
    step.run("velocity")
    moved = max(np.abs(step.program.grid(field)).max() for field in step.velocities)
    for field, where in inside.items():
        assert np.abs(step.program.grid(field)[where]).max(initial=0) < 1e-12 * max(moved, 1e-300)
    step.clear((*step.velocities, *step.stresses))
    for field, where in inside.items():
        values = step.program.grid(field)
        values[...] = rng.standard_normal(values.shape) * where
    step.run("stress")
    largest = max(np.abs(step.program.grid(field)).max() for field in step.stresses)
    for field in step.stresses:
        if field[1] == field[2]:
            assert np.abs(step.program.grid(field)[~fluid]).max() < 1e-12 * largest
        else:
            assert np.abs(step.program.grid(field)).max() < 1e-12 * max(largest, 1e5)


@pytest.mark.parametrize("top", ["rigid", "free"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "Q"])
def test_energy_is_conserved(name, top):
    """The step of velocities is symmetric with the masses, whatever the contacts are."""
    asked = scenario(name, top)
    step, rng = Step(asked), np.random.default_rng(2)
    d = build.discretise(asked, step.plan.grid, [])
    assert (d.floor is not None) == (name.startswith("level") and "thin" not in name)
    rho, inner = step.program.grid("rho"), np.zeros(step.shape, bool)
    sides = [slice(9, None if top == "free" else -9), slice(9, -9), slice(9, -9)]
    inner[tuple(side if n > 1 else slice(None) for n, side in zip(step.shape, sides))] = True
    masses = []
    for field in step.velocities:
        mass = (rho + after(rho, 2 - "xyz".index(field[1]))) / 2
        norms = d.norms(np.arange(len(mass)), d.half(field)[2])
        masses.append(np.broadcast_to(mass * norms[:, None, None], step.shape) * inner)
        if top == "free" and field == "vz":
            masses[-1][-1] = 0  # above the surface
    mass = np.concatenate([each.ravel() for each in masses])
    x, y = (rng.standard_normal(len(mass)) * (mass > 0) for _ in range(2))
    one, other = (mass * x) @ step.twice(y), (mass * y) @ step.twice(x)
    assert abs(one - other) < 1e-12 * np.linalg.norm(mass * x) * np.linalg.norm(y)


def test_numbers_at_some_points_are_an_array_where_one_is_asked_for():
    whole = np.where(np.random.default_rng(0).random((5, 4, 7)) < 0.3, 3, 0).astype(np.int32)
    places = np.flatnonzero(whole)
    some = Sparse(whole.shape, places, whole.ravel()[places])
    assert np.array_equal(np.ascontiguousarray(some, np.int32), whole)
    for part in (np.s_[1:4, 0:3, 2:7], np.s_[0:5, 2:2, 0:7], np.s_[4:5, 3:4, 6:7]):
        assert np.array_equal(np.asarray(some[part]), whole[part]), part
    assert np.array_equal(some.at(*np.indices(whole.shape)), whole)
