"""Launches that a device may run side by side: which do, and that their order changes no bit."""

from dataclasses import replace

import numpy as np
import pytest

from craton.backends.cpu import CPU
from craton.backends.cuda import side_by_side
from craton.driver import run as driver
from craton.driver import waves
from craton.methods.finite_difference.bench import cube


def groups_of(plan):
    return side_by_side([launch for phase in plan.phases for launch in phase.launches], plan)


@pytest.mark.parametrize("faces", ["a1", pytest.param("periodic", marks=pytest.mark.long)])
def test_what_reads_far_beyond_its_box_shares_no_array_with_its_neighbours(faces):
    plan, readers = driver.plan(cube(32, faces, faces)), []
    for group in groups_of(plan):
        for launch in (launch for launch in group if launch.on_grid and not launch.op.pointwise):
            arrays = {name for neighbour in group if neighbour is not launch for name in neighbour.arrays}
            assert not arrays & set(launch.arrays) - {""}
            readers.append(launch)
    assert readers


def test_opposite_layers_run_side_by_side_and_order_within_groups_changes_no_bit():
    """Crossing layers do not."""
    scenario, fields = cube(32, "free", "cpml"), []
    plan = driver.plan(scenario)
    names = [sorted({launch.op.name for launch in group}) for group in groups_of(plan)]
    first = [["velocity"], ["cpml_velocity_x"], ["cpml_velocity_y"], ["cpml_velocity_z", "velocity_surface"]]
    assert names[:4] == first and ["inject"] in names and len(names) == 14
    assert names[names.index(["stress"]) + 3] == ["cpml_stress_z", "stress_surface"]

    def turned(launches):
        return tuple(launch for group in side_by_side(list(launches), plan) for launch in reversed(group))

    reversed_plan = replace(plan, phases=[replace(phase, launches=turned(phase.launches)) for phase in plan.phases])
    assert any(a.launches != b.launches for a, b in zip(plan.phases, reversed_plan.phases))
    for order in (plan, reversed_plan):
        program = waves.commit(scenario, order, CPU(threads=1))
        for step in range(24):
            program.step(step)
        fields.append(np.array(program.grid("vz")))
    assert np.abs(fields[0]).max() > 0
    np.testing.assert_array_equal(*fields)
