"""The operators of two fields side by side, declared: a field marched back with its transposed field,
or forward with its Born field; see kernels/pair.h and pair_points.h.
"""

from dataclasses import replace

import numpy as np

from craton.core.operator import Struct
from craton.methods.spectral_element.equations import operators
from craton.methods.spectral_element.equations.operators import ELEMENT, pointwise

CORRELATED = Struct("PairElementParams", (("first", "i32", "element"), ("every", "i32")))
PAIR = Struct("PairParams", (*((name, "i32") for name in ("count", "half", "slots", "steps", "every")), ("dt", "real")))
NOTHING = {"count": 0, "half": 0, "slots": 1, "steps": 0, "every": 1, "dt": 0.0}
BLOCK = 128  # points of a GPU's block
SHARED_BYTES = 48 << 10  # of a block
KEPT = 4  # highest degree at which a thread keeps its column of both fields
HIGHEST = {"float32": 8, "float64": 6}  # degree that fits the shared memory of a GPU's block
FORCES = ("pair_force", "fluid_pair_force")


def correlated(kind, fluid=False, precision="float32"):
    """Return the elements of both fields and their correlation by moduli; see
    stiffness_correlated.h.

    Parameters
    ----------
    kind : operators.Kind
        Without attenuation and absorbing layers, whose steps cannot be taken back.
    fluid : bool
    precision : str
        What elements a GPU's block has.
    """
    pair = "fluid_pair" if fluid else "pair"
    writes, reads = (f"{pair}_force", "sums"), (pair, "points", "geometry", "moduli", "step")
    return element_operator("correlated", kind, fluid, precision, (writes, reads, CORRELATED))


def born(kind, fluid=False, precision="float32"):
    """Return the elements of both fields, the second scattered by a change of moduli; see
    stiffness_born.h.
    """
    pair = "fluid_pair" if fluid else "pair"
    own = () if fluid else ("memory", "second_memory")
    medium = ("moduli", "change", *(() if fluid else ("loss",)), "rates")
    names = (f"{pair}_force", *own, "layer"), (pair, "points", "geometry", *medium), ELEMENT
    return element_operator("born", kind, fluid, precision, names)


def element_operator(name, kind, fluid, precision, names):
    """Return an element operator of both fields, from the one of a single field."""
    writes, reads, params = names
    plain = operators.fluid(kind) if fluid else operators.stiffness(kind)
    function = f"{'fluid' if fluid else 'stiffness'}_{name}"
    components, nodes = (1 if fluid else 3), (kind.degree + 1) ** 3
    rows = rows_of(kind, fluid)
    width, count, late = block_of(kind, components, precision)
    blocks = max(1, resident(name, kind, precision) // width)
    defines = dict(plain.defines) | {
        "ELEMENTS": count,
        "THREADS": width,
        "KEEP": f"(THREAD_PER_POINT && {int(kind.degree <= KEPT)})",
        "MIN_BLOCKS": f"(sizeof(real) == 4 ? {blocks} : {blocks})",
        "LATE": f"(THREAD_PER_POINT && {int(late)})",
    }
    return replace(
        plain,
        name=f"{function}{kind.suffix}",
        file=operators.HERE / f"{function}.h",
        writes=writes,
        reads=reads,
        params=params,
        kernel=function,
        defines=tuple(defines.items()),
        types=(*plain.types, ("step", "i32"), *((force, "force") for force in FORCES)),
        reals_per_point=plain.reals_per_point
        + 3 * components * kind.degree**3
        + (2 if name == "correlated" else 1) * rows * nodes,
        flops=2 * plain.flops + 4 * rows * nodes,
        block=(width, 1, 1),
        span=(count, 1, 1),
    )


def resident(name, kind, precision):
    """Return the threads resident on a GPU's multiprocessor: so many that no register spills in
    float32.
    """
    if precision == "float64" or kind.relaxation:
        return 256
    few = kind.degree <= KEPT and kind.geometry == "box" and not kind.full
    return 512 if name == "correlated" and few else 384


def rows_of(kind, fluid):
    """Return by how many parameters the forces of elements change: moduli, then losses."""
    return 1 if fluid else (21 if kind.full else 2) + (2 if kind.relaxation else 0)


def block_of(kind, components, precision):
    """Return threads and elements of a GPU's block, and whether some of an element waits in
    registers because the shared memory is too small.
    """
    n, size = kind.degree + 1, np.dtype(precision).itemsize
    rule, terms, through = size * n * (n + 2), 81, kind.general * kind.directions
    fit, late_fit = (
        (SHARED_BYTES - rule) // (size * ((arrays + through) * 2 * components * n**3 + terms)) for arrays in (3, 2)
    )
    count = max(1, min(operators.THREADS // n**2, fit or late_fit))
    return -(-count * n**2 // 32) * 32, count, not fit


def fields_of(function, components, writes, reads, reals, flops, **options):
    """Return an operator of pair_points.h on points of 3 or 1 components."""
    op = pointwise(
        f"{'' if components == 3 else 'fluid_'}{function}",
        "pair_points.h",
        writes,
        reads,
        PAIR,
        kernel=function,
        defines=(*operators.FIELDS[components], ("BLOCK", BLOCK)),
        reals_per_point=reals,
        flops=flops,
        **options,
    )
    return replace(op, types=(*op.types, ("step", "i32")))


def save_points(components=3):
    """Return what stores velocities at absorbing points before a step."""
    names = ("store",), ("velocity", "points", "step")
    return fields_of("save_points", components, *names, 1 + 2 * components, 0, **operators.point_list())


def pair_back(components=3):
    """Return the step back of the field and the step of its transposed field, at all points."""
    names = ("pair", "pair_rate", "pair_force", "sums", "light"), ("inverse_mass", "step")
    return fields_of("pair_back", components, *names, 12 * components + 3, 14 * components, **point_block())


def pair_forward(components=3):
    """Return the step of the field and of its Born field, at all points."""
    names = ("pair", "pair_rate", "pair_force", "pressure"), ("inverse_mass",)
    return fields_of("pair_forward", components, *names, 12 * components + 1, 10 * components, **point_block())


def restore_points(components=3):
    """Return what gives the field its saved velocities at absorbing points, by forces."""
    writes, sums = ("pair_force", "sums"), {3: 6, 1: 1}[components]
    reads = ("pair", "pair_rate", "inverse_mass", "store", "points", "step")
    reals = 2 + 4 * components + 2 * sums
    return fields_of("restore_points", components, writes, reads, reals, 20, **operators.point_list())


def pair_stacey(components=3):
    """Return the absorbing faces of one of the two fields."""
    names = ("pair_force",), ("pair_rate", "points", "terms")
    return fields_of("pair_stacey", components, *names, {3: 22, 1: 6}[components], 33, **operators.point_list())


def scatter_points(components=3):
    """Return what adds the forces that a change of masses scatters."""
    names = ("pair_force",), ("inverse_mass", "change")
    return fields_of("scatter_points", components, *names, 2 + 3 * components, 3, **point_block())


def scatter_faces(components=3):
    """Return what adds the forces that a change of absorbing faces scatters."""
    names = ("pair_force",), ("pair_rate", "inverse_mass", "points", "change")
    return fields_of("scatter_faces", components, *names, 2 + 5 * components, 20, **operators.point_list())


def coupling(function, layered=False):
    """Return an operator of pair_coupling.h, or what a layer adds to it (`operators.in_layer`)."""
    solid, fluid = "pair", "fluid_pair"
    writes, *reads = {
        "pair_to_fluid": (f"{fluid}_force", solid),
        "pair_to_solid": (f"{solid}_force", f"{fluid}_force", "fluid_inverse_mass"),
        "transposed_to_solid": (f"{solid}_force", fluid),
        "transposed_to_fluid": (f"{fluid}_force", f"{solid}_force", "inverse_mass"),
    }[function]
    op = pointwise(
        function,
        "pair_coupling.h",
        (writes,),
        (*reads, "solid", "fluid", "vectors"),
        PAIR,
        reals_per_point=10,
        flops=6,
        **operators.point_list(),
    )
    return operators.in_layer(op) if layered else op


COUPLING = ("pair_to_fluid", "pair_to_solid", "transposed_to_solid", "transposed_to_fluid")


def rigid(components=3):
    """Return the points at which neither field moves."""
    prefix = "" if components == 3 else "fluid_"
    return replace(operators.rigid(3), name=f"{prefix}pair_rigid", defines=(("FIELDS", 2 * components),))


def point_block():
    """Return how machines run through points."""
    return {"grain": (1, 1, 4096), "block": (BLOCK, 1, 1)}


def catalogue(kind, precision, remembering=()):
    """Return every operator here once, element operators with each law.

    Parameters
    ----------
    kind : operators.Kind
    precision : str
    remembering : sequence of dict
        Changes of the kind to attenuation and absorbing layers.
    """
    ways = ({}, {"geometry": "corners"}, {"geometry": "box"}, {"full": True})
    elements = [
        op(replace(kind, **way), fluid, precision)
        for op in (correlated, born)
        for way in ways
        for fluid in ((False,) if way.get("full") else (False, True))
    ]
    elements += [born(replace(kind, **way), precision=precision) for way in remembering]
    lists = (save_points, pair_back, pair_forward, restore_points, pair_stacey)
    lists += (scatter_points, scatter_faces, rigid)
    points = [make(components) for make in lists for components in (3, 1)]
    return [*elements, *points, *(coupling(name, layered) for name in COUPLING for layered in (False, True))]
