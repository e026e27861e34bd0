"""Every operator of this physics, for those who want to see or compile them all."""

from craton.solvers.fd_elastic import operators as fd
from craton.solvers.fd_elastic import scheme
from craton.solvers.fd_elastic.closure import HIGHEST, closure
from craton.solvers.shared import points


def operators(order):
    """All operators of one order in space, by name: the step, the step below a free surface, the boundaries, the point tables."""
    differences = scheme.stencil(order, free=True)
    steps = [fd.velocity(differences), fd.stress(differences), fd.laminate(differences)]
    surface = [fd.at_surface(op, closure(min(order, HIGHEST)), differences) for op in steps]
    layers = [kind(differences, axis) for kind in (fd.cpml_velocity, fd.cpml_stress) for axis in range(3)]
    layers += [fd.cpml_laminate(differences, axis) for axis in range(2)]
    others = [*map(fd.sponge, range(3)), fd.rigid(), fd.wrap(), points.INJECT, points.SAMPLE, points.ADVANCE]
    return {op.name: op for op in (*steps, *surface, *layers, *others)}
