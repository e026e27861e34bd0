"""Every operator of this physics, for those who want to see or compile them all."""

from craton.solvers.fd_elastic import contact, scheme
from craton.solvers.fd_elastic import operators as fd
from craton.solvers.fd_elastic.closure import HIGHEST, closure
from craton.solvers.shared import points


def operators(order, motion=None):
    """All operators of one order, by name: the step, the step below a free surface, among air and at a sea floor, boundaries, point tables.

    In space, or with `motion` (``"P-SV"``, ``"SH"``) in the (x, z) plane.
    """
    differences = scheme.stencil(order, free=True, motion=motion)
    axes = range(0, 3, 2 if motion else 1)
    counts = {None: (3,), "P-SV": (2, 3), "SH": (1, 2)}[motion]
    steps = [fd.velocity(differences), fd.stress(differences), fd.laminate(differences)]
    surface = [fd.at_surface(op, closure(min(order, HIGHEST)), differences) for op in steps]
    surface += [fd.among_air(op) for op in steps[:2]]
    block = contact.block(differences.vertical)
    surface += [] if block is None else [fd.contact_velocity(differences, block), fd.contact_stress(differences, block)]
    layers = [kind(differences, axis) for kind in (fd.cpml_velocity, fd.cpml_stress) for axis in axes]
    layers += [fd.cpml_laminate(differences, axis) for axis in axes if axis < 2]
    layers += [fd.a1(differences, axis, side) for axis in axes for side in range(2)]
    layers += [fd.sponge(axis, count) for axis in axes for count in counts]
    others = [fd.rigid(), *map(fd.wrap, counts), points.INJECT, points.WINDOW, points.SAMPLE, points.ADVANCE]
    return {op.name: op for op in (*steps, *surface, *layers, *others)}
