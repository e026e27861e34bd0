"""Every operator of this physics, for those who want to see or compile them all."""

from dataclasses import replace

from craton.methods.finite_difference.adjoint import increments, parameter_sums, reversal
from craton.methods.finite_difference.equations import operators as fd
from craton.methods.finite_difference.equations import relaxing, scheme, source_boxes, storage
from craton.methods.finite_difference.equations.closure import HIGHEST, closure
from craton.methods.waves import exchange, peaks, tables
from craton.model.media import attenuation


def operators(order, motion=None):
    """All operators of one order, by name: the step, the step below a free surface, among air and
    at a sea floor, boundaries, point tables.

    In space, or with `motion` (``"P-SV"``, ``"SH"``) in the (x, z) plane.
    """
    differences = scheme.stencil(order, free=True, motion=motion)
    axes = range(0, 3, 2 if motion else 1)
    counts = {None: (3,), "P-SV": (2, 3), "SH": (1, 2)}[motion]
    steps = [fd.velocity(differences), fd.stress(differences), fd.laminate(differences)]
    surface = [fd.among_air(op) for op in steps[:2]]
    surface += [make(differences, order // 2) for make in (fd.contact_velocity, fd.contact_stress)]
    layers = [fd.cpml_laminate(differences, axis) for axis in axes if axis < 2]
    layers += [fd.damping(axis, motion) for axis in axes]
    layers += [fd.a1(differences, axis, side) for axis in axes for side in range(2)]
    layers += [fd.sponge(axis, count) for axis in axes for count in counts]
    layers += [*anisotropic(differences, order, axes), *attenuated(differences, order, axes)]
    layers += acoustic(order, motion) if motion != "SH" else []
    others = [
        fd.rigid(),
        *map(fd.wrap, counts),
        tables.INJECT,
        tables.WINDOW,
        tables.SAMPLE,
        tables.ADVANCE,
        *(peaks.operators() if motion is None else ()),
    ]
    others += [way(count) for way in (exchange.pack, exchange.unpack) for count in counts]
    return {op.name: op for op in (*bounded(steps, differences, order, axes), *surface, *layers, *others)}


def bounded(steps, differences, order, axes):
    """Return steps, the same below a free surface, and CPML layers of velocity and stress."""
    closed = closure(min(order, HIGHEST))
    layers = [kind(differences, axis) for kind in (fd.cpml_velocity, fd.cpml_stress) for axis in axes]
    return [*steps, *(fd.at_surface(op, closed, differences) for op in steps), *layers]


def in_half(order):
    """Operators on fields and material in 16 bits, by name; none of orders that have none."""
    if order != storage.ORDER:
        return {}
    differences = scheme.stencil(order, free=True)
    steps = [fd.velocity(differences), fd.stress(differences), fd.laminate(differences)]
    others = [*(fd.cpml_laminate(differences, axis) for axis in range(2)), fd.rigid(), *map(fd.damping, range(3))]
    every = *bounded(steps, differences, order, range(3)), *others
    halves = [storage.on_16_bits(op, differences, True) for op in every]
    halves += [storage.SAMPLE, source_boxes.NARROW, source_boxes.WIDEN]
    return {op.name: op for op in halves}


def transposed(order, motion=None):
    """Operators that only gradients need, by name: increments, strains of media with attenuation,
    what CPML layers do transposed, and steps that are taken back.

    In space, or with `motion` (``"P-SV"``, ``"SH"``) in the (x, z) plane; increments of elastic
    waves below a free surface.
    """
    differences = scheme.stencil(order, free=True, motion=motion)
    axes = range(0, 3, 2 if motion else 1)
    fields = scheme.MOTION[motion]
    velocities = sum(name in scheme.VELOCITY for name in fields)
    normals = sum(name not in scheme.VELOCITY and not any(scheme.HALF[name]) for name in fields)
    spread = fields.index("szz") if normals else -1
    transposes = [
        increments.operator(kernel, len(fields), velocities, normals, part, spread)
        for kernel in ("keep", "increment", "scatter", "correlate")
        for part in increments.PARTS[: 1 if kernel == "correlate" else 2]
    ]
    transposes += [
        increments.operator(kernel, len(fields), velocities, normals, "stress", spread, True)
        for kernel in ("scatter", "correlate")
    ]
    transposes += [fd.damping(axis, motion, transposed=True) for axis in axes]
    example = example_of("paired" if motion else "mixed", motion)
    counts = [dict(example)[f"{kind}_STORED"] for kind in ("NORMAL", "SHEAR")]
    stresses = len(fields) - velocities
    variables = counts[0] * normals + counts[1] * (stresses - normals)
    plain, vti = differences, replace(differences, law=(("VTI", 1),))
    transposes += [
        increments.strain_operator(kernel, law, example, len(fields), stresses, variables, normals > 0, *more)
        # by 1/Q, in a sponge, of some steps
        for law, *more in (
            (plain,),
            (plain, (normals > 0, True)),
            (plain, (False, False), True),
            (plain, (False, False), False, True),
            *((vti, (normals > 0, False), *more) for more in ((), (True,), (False, True))),
        )
        for kernel in increments.OF_STRAINS
    ]
    transposes += [fd.remember(differences, axis, step) for axis in axes for step in increments.PARTS]
    transposes += [
        kind(differences, axis, transposed=True) for kind in (fd.cpml_velocity, fd.cpml_stress) for axis in axes
    ]
    transposes += [fd.cpml_laminate(differences, axis, True) for axis in axes if axis < 2]
    transposes += [increments.cut_operator(f"laminate_{kernel}", differences) for kernel in ("increment", "correlate")]
    transposes += backwards(differences, order)
    return {op.name: op for op in transposes}


def backwards(differences, order):
    """Operators of steps that are taken back."""
    steps = [reversal.backward(differences, part) for part in increments.PARTS]
    steps.append(increments.cut_operator("backward_laminate", differences, reversal.BACK))
    closed = closure(min(order, HIGHEST))
    sums = [parameter_sums.operator(differences, part) for part in increments.PARTS]
    sums.append(parameter_sums.operator(differences, "velocity", light=True))
    return [
        *steps,
        *sums,
        *(reversal.backward(differences, part, summed=False) for part in increments.PARTS),
        reversal.backward(differences, "velocity", light=True),
        *(fd.at_surface(op, closed, differences) for op in steps),
        *(parameter_sums.at_surface(op, closed, differences) for op in sums[:2]),
        *(
            reversal.operator(kernel, reversal.joined_margin(([], []), *kept))
            for kernel in ("save", "restore")
            for kept in ((32, 1), (16, 16))
        ),
        reversal.TAKE_OUT,
        reversal.SET_ASIDE,
        reversal.CHANGED,
        reversal.CHANGED_NORMAL,
        parameter_sums.SUM_FORCES,
    ]


def example_of(kind, motion):
    """Constants of a storage of four mechanisms for Q = 20 from 0.1 to 10 Hz, steps of 1 ms."""
    fit = attenuation.relaxation((0.1, 10.0), 1 / 20, storage=kind, mechanisms=4)
    return relaxing.constants(fit, 1e-3, motion is not None)


def attenuated(differences, order, axes):
    """Operators with memory variables: the stress step of each storage; below a free surface and in
    layers of one of them.

    The fit stands in the text, so these are examples, see `example_of`.
    """
    storages = [kind for kind in attenuation.STORAGES if kind != "mixed" or not differences.motion]
    constants = {kind: example_of(kind, differences.motion) for kind in storages}
    steps = {kind: fd.stress(differences, values) for kind, values in constants.items()}
    named = [replace(op, name=f"{op.name}_{kind}") for kind, op in steps.items()]
    kind = "paired" if differences.motion else "mixed"
    example = constants[kind]
    surface = fd.at_surface(steps[kind], closure(min(order, HIGHEST)), differences)
    layers = [fd.cpml_stress(differences, axis, example, free=True) for axis in axes]
    floor = [fd.contact_stress(differences, order // 2, example)]
    return named + [replace(op, name=f"{op.name}_{kind}", kernel=op.function) for op in (surface, *layers, *floor)]


def anisotropic(differences, order, axes):
    """Operators of transverse isotropy about z; with memory variables those of one storage."""
    differences = replace(differences, law=(("VTI", 1),))
    step, closed = fd.stress(differences), closure(min(order, HIGHEST))
    return [
        step,
        fd.at_surface(step, closed, differences),
        fd.among_air(step),
        *(fd.cpml_stress(differences, axis) for axis in axes),
        *(op for op in attenuated(differences, order, axes) if not op.name.endswith(("coarse", "full"))),
    ]


def acoustic(order, motion):
    """Operators of acoustic waves that differ."""
    differences = scheme.stencil(order, free=True, motion=motion, acoustic=True)
    axes = range(0, 3, 2 if motion else 1)
    steps = [fd.velocity(differences), fd.stress(differences)]
    return [
        *bounded(steps, differences, order, axes),
        *(fd.a1(differences, axis, side) for axis in axes for side in range(2)),
    ]
