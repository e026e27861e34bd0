"""Pictures of the wavefield: which points of which fields they need, and the quantity at the integer points from these."""
from functools import partial

import numpy as np

from craton.conventions import INTEGRATED, QUANTITIES, TENSOR, VECTOR
from craton.errors import Problem
from craton.plan.plan import Frames
from craton.solvers.fd_elastic.points import COMPONENT_AXES
from craton.solvers.fd_elastic.scheme import HALF, VELOCITY

MARGIN = 2  # planes beside a plane that centring and differentiating need
NORMAL = ("sxx", "syy", "szz")
PICTURES = {"divergence": ("divergence",), "curl": VECTOR, "strain_rate": TENSOR}


def frames(d):
    """One `Frames` for each snapshot of the scenario."""
    return tuple(one(d, spec) for spec in d.scenario.snapshots)


def problems(scenario):
    """Snapshots that cannot be taken."""
    found = [
        Problem(f"snapshots.{n}.quantity", f'"{spec.quantity}" is summed over time at receivers only, not in snapshots',
                f'use "{INTEGRATED[spec.quantity]}" here, or list it under output.waveforms')
        for n, spec in enumerate(scenario.snapshots) if spec.quantity in INTEGRATED
    ]  # fmt: skip
    planes = [(n, spec.plane) for n, spec in enumerate(scenario.snapshots) if spec.plane is not None]
    return found + [problem for n, plane in planes for problem in misplaced(scenario.domain, n, plane)]


def misplaced(domain, n, plane):
    """The problem of a plane that does not cut the domain."""
    axis = "xyz".index(plane.axis)
    low, high = domain.origin[axis], domain.origin[axis] + domain.size[axis]
    fuzz = 1e-9 * domain.size[axis]
    if low - fuzz <= plane.coordinate <= high + fuzz:
        return []
    return [Problem(f"snapshots.{n}.plane", f"{plane.axis} = {plane.coordinate:g} m is outside the domain, {low:g} to {high:g} m",
                    "move the plane inside, or leave plane out for the whole volume")]  # fmt: skip


def one(d, spec):
    """Where and when one series of snapshots is taken."""
    block, chosen, coords = cut(d.grid, spec)
    full = spec.quantity == "pressure"
    wanted = np.arange(1, int(d.end / spec.every) + 1) * spec.every
    steps = np.unique(np.clip(np.rint((wanted - d.start) / d.dt - (1 if full else 0.5)), 0, d.steps - d.extra - 1).astype(int))
    times = d.start + (steps + (1 if full else 0.5)) * d.dt
    fields = NORMAL if full else VELOCITY
    components = PICTURES.get(spec.quantity) or QUANTITIES[spec.quantity][0]
    combine = partial(picture, quantity=spec.quantity, spacing=d.grid.spacing, chosen=chosen)
    return Frames(spec.name, spec.quantity, tuple(components), coords, steps, times, dict.fromkeys(fields, block), combine)


def cut(grid, spec):
    """Slices of the block to read, slices of the picture within it, and the picture's coordinates, all (z, y, x)."""
    block, chosen, coords = [], [], {}
    for axis, n in zip("zyx", grid.shape):
        if spec.plane is not None and spec.plane.axis == axis:
            at = int(np.clip(round((spec.plane.coordinate - grid.bounds(axis)[0]) / grid.spacing), 0, n - 1))
            low = max(at - MARGIN, 0)
            block.append(slice(low, min(at + MARGIN + 1, n)))
            chosen.append(at - low)
            coords[axis] = float(grid.axis(axis)[at])
        else:
            block.append(slice(0, n))
            chosen.append(slice(None, None, spec.stride))
            coords[axis] = grid.axis(axis)[:: spec.stride]
    return tuple(block), tuple(chosen), coords


@np.errstate(invalid="ignore", over="ignore")  # of a wavefield that explodes: the guard speaks of it
def picture(arrays, quantity, spacing, chosen):
    """The quantity on the chosen points, ([component,] z, y, x), float32."""
    if quantity == "pressure":
        return np.float32(-sum(arrays[f] for f in NORMAL) / 3)[chosen]
    velocity = [centred(arrays[f], HALF[f]) for f in VELOCITY]
    if quantity == "velocity":
        return np.stack([v[chosen] for v in velocity]).astype(np.float32)
    values = np.stack([v[chosen] for v in derived(quantity, velocity, spacing)]).astype(np.float32)
    return values[0] if len(values) == 1 else values


def derived(quantity, velocity, spacing):
    """Components made of derivatives of velocity at the integer points."""

    def slope(component, axis):
        return np.gradient(velocity[component], spacing, axis=2 - axis)

    def curl(a):
        return slope((a + 2) % 3, (a + 1) % 3) - slope((a + 1) % 3, (a + 2) % 3)

    if quantity == "divergence":
        return [sum(slope(a, a) for a in range(3))]
    if quantity == "strain_rate":
        return [(slope(a, b) + slope(b, a)) / 2 for a, b in COMPONENT_AXES.values()]
    return [curl(a) * (0.5 if quantity == "rotation_rate" else 1.0) for a in range(3)]


def centred(field, half):
    """A staggered field at the integer points: mean of its neighbours; at either end, where one is missing, extrapolated."""
    for axis in range(3):
        if half[axis]:
            f = np.moveaxis(field, 2 - axis, 0)
            middle = (f[1:-1] + f[:-2]) / 2
            field = np.moveaxis(np.concatenate([1.5 * f[:1] - 0.5 * f[1:2], middle, 1.5 * f[-2:-1] - 0.5 * f[-3:-2]]), 0, 2 - axis)
    return field
