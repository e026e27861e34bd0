"""Snapshots and maps of peaks that a scenario asks for and that cannot be taken, in words."""

from craton.conventions import components, recorded_as
from craton.errors import Problem


def problems(scenario):
    """Snapshots that cannot be taken, and planes of snapshots and maps of peaks beside the domain.

    Parameters
    ----------
    scenario : Scenario
    """
    problems = [
        Problem(
            f"snapshots.{n}.quantity",
            f'"{spec.quantity}" is available only at receivers, not in snapshots',
            f'use "{recorded_as(spec.quantity)}" here, or list it in output.waveforms',
        )
        for n, spec in enumerate(scenario.snapshots)
        if recorded_as(spec.quantity) != spec.quantity
    ]
    problems += [
        Problem(
            f"snapshots.{n}.quantity",
            f"{scenario.domain.motion} waves have no {spec.quantity}",
            'use "velocity", or change domain.waves',
        )
        for n, spec in enumerate(scenario.snapshots)
        if components(spec.quantity, scenario.domain.motion) is None
    ]
    planes = [
        (f"{noun}.{n}.plane", spec.plane)
        for noun in ("snapshots", "peaks")
        for n, spec in enumerate(getattr(scenario, noun, ()))
        if spec.plane is not None
    ]
    return problems + [
        problem for key, plane in planes if not plane.surface for problem in misplaced(scenario.domain, key, plane)
    ]


def misplaced(domain, key, plane):
    """Return the problem of a plane that does not cut the domain.

    Parameters
    ----------
    domain : Domain
    key : str
        Of the plane in the scenario.
    plane : craton.tables.receivers.Plane
    """
    axis = "xyz".index(plane.axis)
    low, high = domain.corner[axis], domain.corner[axis] + domain.extent[axis]
    fuzz = 1e-9 * domain.extent[axis]
    if low - fuzz <= plane.coordinate <= high + fuzz:
        return []
    return [
        Problem(
            key,
            f"{plane.axis} = {plane.coordinate:g} m is outside the domain, {low:g} to {high:g} m",
            "move the plane inside, or leave plane out for the whole volume",
        )
    ]
