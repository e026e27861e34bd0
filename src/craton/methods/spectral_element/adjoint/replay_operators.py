"""The operators of a transposed field beside the stored one, declared: where the steps of the
forward field cannot be taken back; see kernels/replay.h.
"""

from dataclasses import replace

import numpy as np

from craton.core.operator import Struct
from craton.methods.spectral_element.adjoint import pair_operators
from craton.methods.spectral_element.adjoint.pair_operators import fields_of, point_block, rows_of
from craton.methods.spectral_element.equations import operators

REPLAY = Struct(
    "ReplayParams", (("first", "i32", "element"), *((name, "i32") for name in ("every", "steps", "slots", "count")))
)
SAVE = Struct("SaveParams", (("slots", "i32"), ("count", "i32")))
# reals of an element's block beside its nodes: shape, quadrature rule
BESIDE = 200


def replayed(kind, fluid=False, precision="float32"):
    """Return the elements of the transposed field and its correlation with the stored one by moduli
    and losses; see stiffness_replayed.h.

    Parameters
    ----------
    kind : operators.Kind
    fluid : bool
    precision : str
        What elements a GPU's block has.
    """
    plain = operators.fluid(kind) if fluid else operators.stiffness(kind)
    components, nodes = (1 if fluid else 3), (kind.degree + 1) ** 3
    function = f"{'fluid' if fluid else 'stiffness'}_replayed"
    pair, relaxing = ("fluid_pair", ()) if fluid else ("pair", ("memory",))
    medium = ("moduli", *(() if fluid else ("loss",)), "rates", "past", "step")
    width, count = block_of(kind, components, precision)
    defines = dict(plain.defines) | {
        "ELEMENTS": count,
        "THREADS": width,
        "MIN_BLOCKS": f"(sizeof(real) == 4 ? {max(1, resident(kind) // width)} : {max(1, 256 // width)})",
    }
    rows, sums = kind.directions * components, rows_of(kind, fluid)
    return replace(
        plain,
        name=f"{function}{kind.suffix}",
        file=operators.HERE / f"{function}.h",
        writes=(f"{pair}_force", "sums", *relaxing, "layer"),
        reads=(pair, "points", "geometry", *medium),
        params=REPLAY,
        kernel=function,
        defines=tuple(defines.items()),
        types=(*plain.types, ("step", "i32"), *((name, "force") for name in pair_operators.FORCES)),
        reals_per_point=plain.reals_per_point + components * kind.degree**3 + (2 * sums + rows) * nodes,
        flops=2 * plain.flops + 4 * sums * nodes,
        block=(width, 1, 1),
        span=(count, 1, 1),
    )


def resident(kind):
    """Return the threads resident on a GPU's multiprocessor in float32: so many that no register
    spills.
    """
    return 256 if kind.relaxation or kind.general else 384


def fits(degree, precision):
    """Return True where a GPU's block holds an element of a degree in layers on three sides."""
    return reals_of(operators.Kind(degree, axes=7), 3) * np.dtype(precision).itemsize <= pair_operators.SHARED_BYTES


def reals_of(kind, components):
    """Return the reals of shared memory that an element needs on a GPU."""
    return (5 + kind.directions) * components * (kind.degree + 1) ** 3 + BESIDE


def block_of(kind, components, precision):
    """Return threads and elements of a GPU's block."""
    n = kind.degree + 1
    fit = pair_operators.SHARED_BYTES // (np.dtype(precision).itemsize * reals_of(kind, components))
    count = max(1, min(operators.THREADS // n**2, fit))
    return -(-count * n**2 // 32) * 32, count


def save_layer(kind, fluid=False):
    """Return what saves the memory variables of a layer's derivatives before a step; see
    save_layer.h.
    """
    plain = operators.fluid(kind) if fluid else operators.stiffness(kind)
    components = 1 if fluid else 3
    prefix = "fluid_" if fluid else ""
    return replace(
        plain,
        name=f"{prefix}save_layer{kind.suffix}",
        file=operators.HERE / "save_layer.h",
        writes=("past",),
        reads=("layer", "step"),
        params=SAVE,
        kernel="save_layer",
        defines=(*plain.defines, ("COMPONENTS", components)),
        types=(*plain.types, ("step", "i32")),
        reals_per_point=2 * kind.directions * components * (kind.degree + 1) ** 3,
        flops=0,
    )


def save_path(components=3):
    """Return what saves a field at all points before a step."""
    return fields_of("save_path", components, ("path",), ("field", "step"), 2 * components, 0, **point_block())


def take_points(components=3):
    """Return what gives the first field and its rate the values that were saved."""
    names = ("pair", "pair_rate", "light"), ("path", "step")
    return fields_of("take_points", components, *names, 5 * components + 2, 4 * components, **point_block())


def transposed_step(components=3):
    """Return the step of the transposed field at all points, and its sums by masses."""
    names = ("pair", "pair_rate", "pair_force", "sums"), ("inverse_mass", "step")
    return fields_of("transposed_step", components, *names, 9 * components + 3, 6 * components, **point_block())


def damped_pair(components=3, both=False):
    """Return the friction in absorbing layers of the second of two fields, or of both; see stacey.h."""
    prefix, fields = "" if components == 3 else "fluid_", components * (1 + both)
    return operators.pointwise(
        f"{prefix}damped_{'pair' if both else 'second'}",
        "stacey.h",
        ("force", "lowpass"),
        ("velocity", "points", "terms"),
        operators.FACE,
        kernel="damped_points",
        defines=(("FIELDS", fields), ("STRIDE", 2 * components), ("FIRST", 0 if both else components)),
        reals_per_point=4 + 5 * fields,
        flops=6 * fields,
        **operators.point_list(),
    )


def catalogue(kind, precision, remembering=()):
    """Return every operator here once, element operators with each law.

    Parameters
    ----------
    kind : operators.Kind
    precision : str
    remembering : sequence of dict
        Changes of the kind to attenuation and absorbing layers.
    """
    kinds = [replace(kind, **way) for way in remembering]
    in_fluid = [k for k in kinds if not k.relaxation and not k.full]
    out = [
        *(replayed(k, False, precision) for k in kinds),
        *(replayed(k, True, precision) for k in in_fluid),
        *(save_layer(k) for k in kinds if k.axes),
        *(save_layer(k, True) for k in in_fluid if k.axes),
    ]
    points = (save_path, take_points, transposed_step, damped_pair)
    out += [make(components) for make in points for components in (3, 1)]
    return [*out, *(damped_pair(components, both=True) for components in (3, 1))]
