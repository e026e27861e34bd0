"""Launches that a device may run side by side: which do, and that their order changes no bit."""

from dataclasses import replace

import numpy as np
import pytest

from craton import api
from craton.backends.concurrent import side_by_side
from craton.backends.cpu import CPU
from craton.driver import waves
from craton.methods.finite_difference.bench import cube

STEPS = 24


def launches_of(plan):
    return [launch for p in plan.phases for launch in p.launches]


def test_opposite_layers_run_side_by_side_and_crossing_ones_do_not():
    plan = api.plan(cube(32, "free", "cpml"))
    groups = [sorted({launch.op.name for launch in group}) for group in side_by_side(launches_of(plan), plan)]
    first = [["velocity"], ["cpml_velocity_x"], ["cpml_velocity_y"], ["cpml_velocity_z", "velocity_surface"]]
    assert groups[:4] == first and ["inject"] in groups and len(groups) == 14
    assert groups[groups.index(["stress"]) + 3] == ["cpml_stress_z", "stress_surface"]


@pytest.mark.parametrize("faces", ["a1", pytest.param("periodic", marks=pytest.mark.long)])
def test_what_reads_far_beyond_its_box_shares_no_array_with_its_neighbours(faces):
    plan = api.plan(cube(32, faces, faces))
    launches = launches_of(plan)
    far = [launch for launch in launches if launch.on_grid and not launch.op.pointwise]
    assert far
    for group in side_by_side(launches, plan):
        for launch in (launch for launch in far if launch in group):
            arrays = {name for neighbour in group if neighbour is not launch for name in neighbour.arrays}
            assert not arrays & set(launch.arrays) - {""}


@pytest.mark.parametrize(
    "points, top, faces", [(32, "free", "cpml"), pytest.param(48, "sponge", "sponge", marks=pytest.mark.long)]
)
def test_order_within_groups_changes_no_bit(points, top, faces):
    scenario, fields = cube(points, top, faces), []
    plan = api.plan(scenario)

    def turned(launches):
        return tuple(launch for group in side_by_side(list(launches), plan) for launch in reversed(group))

    reversed_plan = replace(plan, phases=[replace(p, launches=turned(p.launches)) for p in plan.phases])
    assert any(a.launches != b.launches for a, b in zip(plan.phases, reversed_plan.phases))
    for order in (plan, reversed_plan):
        program = waves.commit(scenario, order, CPU(threads=1))
        for step in range(STEPS):
            for stage in program.phases:
                stage.outer(step)
                stage.inner(step)
        fields.append(np.array(program.grid("vz")))
    assert np.abs(fields[0]).max() > 0
    np.testing.assert_array_equal(*fields)
