"""The operators of two fields side by side, declared: a field marched back with its transposed field,
a transposed field beside the stored one, where the steps of the forward field cannot be taken back, or
a field marched forward with its Born field; see kernels/pair.h, replay.h and pair_points.h.
"""

from dataclasses import replace

import numpy as np

from craton.core.operator import Struct
from craton.core.plan import Launch
from craton.methods.spectral_element.equations import operators
from craton.methods.spectral_element.equations.operators import ELEMENT, pointwise

CORRELATED = Struct("PairElementParams", (("first", "i32", "element"), ("every", "i32")))
REPLAY = Struct(
    "ReplayParams", (("first", "i32", "element"), *((name, "i32") for name in ("every", "steps", "slots", "count")))
)
SAVE = Struct("SaveParams", (("slots", "i32"), ("count", "i32")))
PAIR = Struct("PairParams", (*((name, "i32") for name in ("count", "half", "slots", "steps", "every")), ("dt", "real")))
PREFIX = {3: "", 1: "fluid_"}  # of names, by the components of a solid and of a fluid
NOTHING = {"count": 0, "half": 0, "slots": 1, "steps": 0, "every": 1, "dt": 0.0}
BLOCK = 128  # points of a GPU's block
SHARED_BYTES = 48 << 10  # of a block
BESIDE = 200  # reals of an element's block beside its nodes, where steps are replayed: shape, quadrature rule
KEPT = 4  # highest degree at which a thread keeps its column of both fields
HIGHEST = {"float32": 8, "float64": 6}  # degree that fits the shared memory of a GPU's block
FORCES = ("pair_force", "fluid_pair_force")
FIELDS = ("pair", "pair_rate", "pair_force")
# Of pair_points.h: written, read; reals and flops of a point of a solid and of a fluid. Who reads `points` runs through a list.
POINTS = {
    "save_points": (("store",), ("velocity", "points", "step"), (7, 3), (0, 0)),
    "save_path": (("path",), ("field", "step"), (6, 2), (0, 0)),
    "take_points": (("pair", "pair_rate", "light"), ("path", "step"), (17, 7), (12, 4)),
    "pair_back": ((*FIELDS, "sums", "light"), ("inverse_mass", "step"), (39, 15), (42, 14)),
    "transposed_step": ((*FIELDS, "sums"), ("inverse_mass", "step"), (30, 12), (18, 6)),
    "pair_forward": ((*FIELDS, "pressure"), ("inverse_mass",), (37, 13), (30, 10)),
    "restore_points": (
        ("pair_force", "sums"),
        ("pair", "pair_rate", "inverse_mass", "store", "points", "step"),
        (26, 8),
        (20, 20),
    ),
    "pair_stacey": (("pair_force",), ("pair_rate", "points", "terms"), (22, 6), (33, 33)),
    "scatter_points": (("pair_force",), ("inverse_mass", "change"), (11, 5), (3, 3)),
    "scatter_faces": (("pair_force",), ("pair_rate", "inverse_mass", "points", "change"), (17, 7), (20, 20)),
}
COUPLING = {  # of pair_coupling.h: written, read
    "pair_to_fluid": ("fluid_pair_force", "pair"),
    "pair_to_solid": ("pair_force", "fluid_pair_force", "fluid_inverse_mass"),
    "transposed_to_solid": ("pair_force", "fluid_pair"),
    "transposed_to_fluid": ("fluid_pair_force", "pair_force", "inverse_mass"),
}


def correlated(kind, fluid=False, precision="float32"):
    """Return the elements of both fields and their correlation by moduli, of a kind whose steps can be
    taken back; see stiffness_correlated.h.

    Parameters
    ----------
    kind : operators.Kind
    fluid : bool
    precision : str
        What elements a GPU's block has.
    """
    names = ("sums",), ("moduli", "step"), CORRELATED
    return _of_both("correlated", kind, fluid, precision, names, 2)


def born(kind, fluid=False, precision="float32"):
    """Return the elements of both fields, the second scattered by a change of moduli; see stiffness_born.h."""
    memories = () if fluid else ("memory", "second_memory")
    medium = ("moduli", "change", *(() if fluid else ("loss",)), "rates")
    return _of_both("born", kind, fluid, precision, ((*memories, "layer"), medium, ELEMENT), 1)


def replayed(kind, fluid=False, precision="float32"):
    """Return the elements of the transposed field and its correlation with the stored one by moduli
    and losses; see stiffness_replayed.h.
    """
    memory = () if fluid else ("memory",)
    medium = ("moduli", *(() if fluid else ("loss",)), "rates", "past", "step")
    components, nodes = (1 if fluid else 3), (kind.degree + 1) ** 3
    names = ("sums", *memory, "layer"), medium, REPLAY
    reals = components * kind.degree**3 + (2 * rows_of(kind, fluid) + kind.directions * components) * nodes
    return _elements("replayed", kind, fluid, names, replay_block_of(kind, components, precision), reals)


def _of_both(name, kind, fluid, precision, names, passes):
    """Return the elements of two fields that advance together; `passes`: over sums or changes."""
    components = 1 if fluid else 3
    *block, late = block_of(kind, components, precision)
    reals = 3 * components * kind.degree**3 + passes * rows_of(kind, fluid) * (kind.degree + 1) ** 3
    keep = {"KEEP": f"(THREAD_PER_POINT && {int(kind.degree <= KEPT)})", "LATE": f"(THREAD_PER_POINT && {int(late)})"}
    return _elements(name, kind, fluid, names, block, reals, keep)


def _elements(name, kind, fluid, names, block, reals, more=None):
    """Return an element operator of two fields, from the one of a single field.

    Parameters
    ----------
    name : str
        ``"correlated"``, ``"born"`` or ``"replayed"``.
    kind : operators.Kind
    fluid : bool
    names : (writes, reads, Struct)
        Behind forces and behind fields and geometry.
    block : (int, int)
        Threads and elements of a GPU's block.
    reals : int
        Of an element, beyond those of a single field.
    more : dict, optional
        Further constants.
    """
    (writes, reads, params), (width, count) = names, block
    plain, pair = (operators.fluid(kind), "fluid_pair") if fluid else (operators.stiffness(kind), "pair")
    function = f"{'fluid' if fluid else 'stiffness'}_{name}"
    single, double = (max(1, threads // width) for threads in (resident(name, kind), 256))
    defines = dict(plain.defines) | {"ELEMENTS": count, "THREADS": width} | (more or {})
    defines |= {"MIN_BLOCKS": f"(sizeof(real) == 4 ? {single} : {double})"}
    return replace(
        plain,
        name=f"{function}{kind.suffix}",
        file=operators.HERE / f"{function}.h",
        writes=(f"{pair}_force", *writes),
        reads=(pair, "points", "geometry", *reads),
        params=params,
        kernel=function,
        defines=tuple(defines.items()),
        types=(*plain.types, ("step", "i32"), *((force, "force") for force in FORCES)),
        reals_per_point=plain.reals_per_point + reals,
        flops=2 * plain.flops + 4 * rows_of(kind, fluid) * (kind.degree + 1) ** 3,
        block=(width, 1, 1),
        span=(count, 1, 1),
    )


def resident(name, kind):
    """Return the threads resident on a GPU's multiprocessor: so many that no register spills in float32."""
    if kind.relaxation or (name == "replayed" and kind.general):
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
    return *_threads_and_elements(kind, fit or late_fit), not fit


def _threads_and_elements(kind, fit):
    """Return threads, whole warps, and elements of a GPU's block whose shared memory holds `fit` elements."""
    plane = (kind.degree + 1) ** 2
    count = max(1, min(operators.THREADS // plane, fit))
    return -(-count * plane // 32) * 32, count


def fits(degree, precision):
    """Return True where a GPU's block holds an element of a degree in layers on three sides."""
    return reals_of(operators.Kind(degree, axes=7), 3) * np.dtype(precision).itemsize <= SHARED_BYTES


def reals_of(kind, components):
    """Return the reals of shared memory that an element needs on a GPU."""
    return (5 + kind.directions) * components * (kind.degree + 1) ** 3 + BESIDE


def replay_block_of(kind, components, precision):
    """Return threads and elements of a GPU's block."""
    fit = SHARED_BYTES // (np.dtype(precision).itemsize * reals_of(kind, components))
    return _threads_and_elements(kind, fit)


def on_points(function, components=3):
    """Return an operator of `POINTS` on points of 3 or 1 components; see pair_points.h."""
    writes, reads, *cost = POINTS[function]
    reals, flops = (of_solid if components == 3 else of_fluid for of_solid, of_fluid in cost)
    listed = "points" in reads
    op = pointwise(
        f"{PREFIX[components]}{function}",
        "pair_points.h",
        writes,
        reads,
        PAIR,
        kernel=function,
        defines=(*operators.FIELDS[components], ("BLOCK", BLOCK)),
        reals_per_point=reals,
        flops=flops,
        **(operators.point_list() if listed else {"grain": (1, 1, 4096), "block": (BLOCK, 1, 1)}),
    )
    return replace(op, types=(*op.types, ("step", "i32")))


def save_layer(kind, fluid=False):
    """Return what saves the memory variables of a layer's derivatives before a step; see save_layer.h."""
    plain = operators.fluid(kind) if fluid else operators.stiffness(kind)
    components = 1 if fluid else 3
    return replace(
        plain,
        name=f"{PREFIX[components]}save_layer{kind.suffix}",
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


def damped_pair(components=3, both=False):
    """Return the friction in absorbing layers of the second of two fields, or of both; see stacey.h."""
    fields = components * (1 + both)
    return pointwise(
        f"{PREFIX[components]}damped_{'pair' if both else 'second'}",
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


def coupling(function, layered=False):
    """Return an operator of pair_coupling.h, or what a layer adds to it (`operators.in_layer`)."""
    writes, *reads = COUPLING[function]
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


def rigid(components=3):
    """Return the points at which neither field moves."""
    name, defines = f"{PREFIX[components]}pair_rigid", (("FIELDS", 2 * components),)
    return replace(operators.rigid(3), name=name, defines=defines)


def launch(op, names, count, known, **options):
    """Return the launch of an operator on `count` elements, points or entries of a list.

    Parameters
    ----------
    op : Operator
    names : dict of str to str
        Names in the plan of its arrays; those left out have their own.
    count : int
    known : dict of str to number
        Scalars beside `count`, of which it has some.
    **options
        Of `Launch`.
    """
    known = known | {"count": count}
    scalars = {name: known[name] for name in op.params.names}
    return Launch(op, tuple(names.get(a, a) for a in op.arrays), (0, 1, 0, 1, 0, count), scalars, **options)


def catalogue(kind, precision, remembering, replaying):
    """Return every operator here once, element operators with each law.

    Parameters
    ----------
    kind : operators.Kind
    precision : str
    remembering, replaying : list of dict
        Changes of the kind to attenuation and absorbing layers, of Born fields and of stored ones.
    """
    ways = ({}, {"geometry": "corners"}, {"geometry": "box"}, {"full": True})
    elements = [
        op(replace(kind, **way), fluid, precision)
        for op in (correlated, born)
        for way in ways
        for fluid in ((False,) if way.get("full") else (False, True))
    ]
    elements += [born(replace(kind, **way), precision=precision) for way in remembering]
    kinds = [replace(kind, **way) for way in replaying]
    in_fluid = [k for k in kinds if not k.relaxation and not k.full]
    for fluid, some in ((False, kinds), (True, in_fluid)):
        elements += [replayed(k, fluid, precision) for k in some] + [save_layer(k, fluid) for k in some if k.axes]
    points = []
    for components in (3, 1):
        points += [*(on_points(function, components) for function in POINTS), rigid(components)]
        points += [damped_pair(components, both) for both in (False, True)]
    return [*elements, *points, *(coupling(name, layered) for name in COUPLING for layered in (False, True))]
