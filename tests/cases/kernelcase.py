"""Shared by the kernel tests: every operator of fd_elastic, and a way to run one of them alone on the CPU machine."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from craton.backends import nvrtc
from craton.backends.cpu import CPU
from craton.core.plan import Array, Launch, Phase, StepPlan
from craton.methods.finite_difference import catalogue, operators
from craton.methods.finite_difference.closure import HIGHEST, closure
from craton.methods.finite_difference.scheme import ORDERS, stencil
from craton.methods.shared import halo, points, series

ABSENT = ("memory", "d11", "d13", "r66", "qp", "qs")  # in an isotropic medium without attenuation
PRECISIONS = ("float32", "float64")
PLANE_ORDERS = (2, 4, 8)
STEPS = (operators.velocity, operators.stress, operators.laminate)


def has_closure(order):
    """True where the free surface has that order."""
    try:
        closure(order)
    except ValueError:
        return False
    return True


SURFACE_ORDERS = tuple(order for order in ORDERS if has_closure(order))


def of_order(order):
    """Operators whose text depends on the order."""
    plain, free = stencil(order), stencil(order, free=True)
    steps = [make(plain) for make in STEPS]
    surface = [operators.at_surface(make(free), closure(min(order, HIGHEST)), free) for make in STEPS]
    layers = [make(plain, axis) for make in (operators.cpml_velocity, operators.cpml_stress) for axis in range(3)]
    layers += [operators.a1(plain, axis, side) for axis in range(3) for side in range(2)]
    floor = [make(plain, order) for make in (operators.contact_velocity, operators.contact_stress)]
    steps += [*map(operators.among_air, steps[:2]), *floor]
    others = rheologies(order, plain, free) if order in (4, 8) else []
    layers += [operators.cpml_laminate(plain, axis) for axis in range(2)]
    return [*steps, *surface, *layers, *others, *catalogue.acoustic(order, None)]


def rheologies(order, plain, free):
    """Operators of attenuation and of transverse isotropy."""
    return [*catalogue.anisotropic(free, order, range(3)), *catalogue.attenuated(free, order, range(3))]


def every_operator():
    """{id: operator}: all orders in space, some in the plane, each text that does not depend on the order once."""
    found = {f"{op.name}-{order}": op for order in ORDERS for op in of_order(order)}
    tables = (points.INJECT, points.WINDOW, points.HOLD, points.SAMPLE, points.ADVANCE)
    damping = [operators.damping(axis) for axis in range(3)]
    others = [*damping, *map(operators.sponge, range(3)), operators.rigid(), operators.wrap(), *tables]
    others += [way(count) for way in (halo.pack, halo.unpack) for count in (1, 2, 3)]
    others += [*catalogue.transposed(4).values(), *series.operators()]
    others += catalogue.in_half(4).values()
    found |= {op.name: op for op in others}
    for motion in ("P-SV", "SH"):
        for order in PLANE_ORDERS:
            there = catalogue.operators(order, motion)
            there = {name: op for name, op in there.items() if order == 4 or not dict(op.defines).get("ATTENUATION")}
            found |= {f"{name}-{motion}-{order}" if "R" in dict(op.defines) else name: op for name, op in there.items()}
    return found


def compiled_for_gpus(wanted):
    """{(`shared_text`, architecture): Compiled} of (operator, precision, architecture) triples, on as many threads as there are cores.

    Kernels of one file with the same constants are one program: NVRTC makes of each what it makes of it alone.
    `-minimal` leaves out declarations that no kernel has, such as textures: the machine code is the same bytes.
    """
    functions, operators = defaultdict(set), {}
    for op, precision, arch in wanted:
        key = shared_text(op, precision), arch
        functions[key].add(op.function)
        operators[key] = op, precision

    def made(key):
        op, precision = operators[key]
        text = op.source(precision, functions[key])
        return nvrtc.compile(text, key[1], (*nvrtc.OPTIONS, "-minimal"))

    with ThreadPoolExecutor() as pool:
        return dict(zip(operators, pool.map(made, operators)))


def shared_text(op, precision):
    """The text of an operator without its kernel: that of all operators that may be one program."""
    return op.source(precision, kernels=())


def plan_of(launches, arrays, layout, precision):
    """A plan of one phase. Arrays of the layout's padded shape are counted from the grid's first point."""
    window = layout.window()
    described = {
        name: Array(
            "wavefield",
            a.shape,
            a.dtype,
            a,
            **({"first": layout.first, "window": window} if a.shape[-3:] == layout.padded else {}),
        )
        for name, a in arrays.items()
    }
    there = [
        replace(one, arrays=tuple("" if a in ABSENT and a not in arrays else a for a in one.arrays)) for one in launches
    ]
    phases = (Phase("phase", tuple(there)),)
    return StepPlan(precision=precision, layout=layout, arrays=described, phases=phases)


@dataclass
class CPUWithOthers(CPU):
    """The CPU machine, whose texts hold the kernels of other operators with the same constants, too.

    Velocity and stress of one order are one text in every run. A test of either alone compiles
    that text, which the test of the other one finds in the cache.
    """

    others: tuple = ()

    def compile(self, operators, precision):
        """Entry address of each operator, the others' too."""
        return super().compile([*operators, *self.others], precision)


def commit(launches, arrays, layout, precision, machine=None, others=()):
    """The arrays on the machine and a function that runs the launches on them."""
    machine = machine or CPUWithOthers(threads=1, others=tuple(others))
    program = machine.commit(plan_of(launches, arrays, layout, precision))
    return program.arrays, lambda: program.phases[0].inner(0)


def run(op, names, arrays, box, params, layout, precision, others=()):
    """All arrays after one launch."""
    launches = [Launch(op, tuple(names), box, params)]
    after, step = commit(launches, arrays, layout, precision, others=others)
    step()
    return after


def inside(layout, box):
    """Slices of a padded array that are the points of a box."""
    return tuple(slice(o + a, o + b) for o, a, b in zip(layout.origin, box[::2], box[1::2]))


def unchanged_outside(before, after, slices):
    """True where nothing but `slices` differs, bit for bit."""
    mask = np.ones(before.shape, bool)
    mask[slices] = False
    return (
        (before.view(np.uint8).reshape(*before.shape, -1) == after.view(np.uint8).reshape(*after.shape, -1))
        .all(-1)[mask]
        .all()
    )
