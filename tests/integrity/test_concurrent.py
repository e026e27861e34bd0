"""Launches that a device may run side by side: which do, and that their order changes no bit."""

from dataclasses import replace

import numpy as np
import pytest

from craton import api
from craton.backends.concurrent import side_by_side
from craton.backends.cpu import CPU
from craton.driver import waves
from craton.methods.finite_difference.bench import cube

STEPS = 40


def names(groups):
    """Names of operators, those of a group together."""
    return [sorted({launch.op.name for launch in group}) for group in groups]


def test_opposite_layers_run_side_by_side_and_crossing_ones_do_not():
    plan = api.plan(cube(48, "free", "cpml"))
    groups = names(side_by_side([launch for p in plan.phases for launch in p.launches], plan))
    assert groups[:4] == [
        ["velocity"],
        ["cpml_velocity_x"],
        ["cpml_velocity_y"],
        ["cpml_velocity_z", "velocity_surface"],
    ]
    stress = groups.index(["stress"])
    assert ["inject"] in groups
    assert groups[stress + 3] == ["cpml_stress_z", "stress_surface"]
    assert len(groups) == 14


@pytest.mark.parametrize("faces", ["a1", "periodic"])
def test_what_reads_far_beyond_its_box_shares_no_array_with_its_neighbours(faces):
    plan = api.plan(cube(48, faces, faces))
    launches = [launch for p in plan.phases for launch in p.launches]
    far = [launch for launch in launches if launch.on_grid and not launch.op.pointwise]
    assert far
    for group in side_by_side(launches, plan):
        for launch in far:
            if launch in group:
                others = {name for other in group if other is not launch for name in other.arrays}
                assert not others & set(launch.arrays) - {""}


@pytest.mark.parametrize("faces", ["cpml", "sponge"])
def test_order_within_groups_changes_no_bit(faces):
    top = "free" if faces == "cpml" else faces
    scenario = cube(48, top, faces)
    plan = api.plan(scenario)
    reversed_plan = replace(plan, phases=[replace(p, launches=turned(p.launches, plan)) for p in plan.phases])
    assert any(a.launches != b.launches for a, b in zip(plan.phases, reversed_plan.phases))
    fields = [after_steps(scenario, p) for p in (plan, reversed_plan)]
    assert np.abs(fields[0]).max() > 0
    np.testing.assert_array_equal(*fields)


def turned(launches, plan):
    """The launches of each group in the opposite order."""
    return tuple(launch for group in side_by_side(list(launches), plan) for launch in reversed(group))


def after_steps(scenario, plan):
    """The vertical velocity after some steps."""
    program = waves.commit(scenario, plan, CPU(threads=1))
    for step in range(STEPS):
        for stage in program.phases:
            stage.outer(step)
            stage.inner(step)
    return np.array(program.grid("vz"))
