"""The operators of spectral elements, declared: what each writes and reads, its constants, its least memory traffic.

Arrays of elements are logically (ne, rows, n^3), `Array(..., lanes=True)`; ne a multiple of
`LANES`. Elements that fill up have the dummy point everywhere, the shape of a true element, and
moduli 0. Traffic and flops are per element for element kernels, whose boxes count elements along x:

    Launch(stiffness(kind), arrays, (0, 1, 0, 1, begin, end), {"first": 0},
    colours=ColourBoundaries(runs, order))

Limits of boxes and of `runs` are multiples of `LANES`. `first` is the row of `points` that element
0 of the other arrays has: runs of elements of different kinds may share one array of points.
`order` has rows as the box counts them.

force     ((N + 1) * 3,) reals, component fastest; so are displacement, velocity. Doubles for an operator's `exact()`
memory    (ne, n^3, `Kind.stored`) reals: attenuation's variables, kind "wavefield"; "" without
points    (ne, n^3) int32: global points
geometry  "stored": (ne, 10, n^3), see mesh_terms.metric; "nodes": (ne, 3, 27), mesh_terms.relative; "corners": (ne, 3, 8),
          of elements with straight edges, mesh_terms.corners; "box": (ne, 3), `MeshStatistics.edges`
moduli    isotropic (ne, 2, n^3): lambda, mu; 21 constants (ne, 21, n^3): c11 c12 .. c16 c22 .. c66 of xx yy zz yz xz xy;
          fluid (ne, 1, n^3): 1 / rho. Without `per_node` (ne, rows)
loss      (ne, 1 or 2, n^3) or (ne, 1 or 2): 1/Q_mu, 1/Q_kappa; "" without attenuation
layer     (ne, 6 or, in a fluid, 2 of each of the layer's directions, n^3) reals: memory variables of elements in absorbing layers
rates     (ne, 2 or 8 of each direction, n^3): see layer.h
order     (ne,) int32: elements by colour, `ColourBoundaries.order` has the limits; "" where not coloured
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from craton.core.operator import Operator, Struct, initialiser
from craton.core.plan import LANES
from craton.methods.spectral_element.mesh.element import Element
from craton.methods.waves.exchange import point_list

HERE = Path(__file__).parents[1] / "kernels"
ELEMENT = Struct("ElementParams", (("first", "i32", "element"),))
UPDATE = Struct("UpdateParams", (("dt", "real"),))
FACE = Struct("FaceParams", (("count", "i32"),))
GEOMETRY = {"stored": 0, "nodes": 1, "box": 2, "corners": 3}
TYPES = (
    *((name, "i32") for name in ("points", "order", "solid", "fluid")),
    ("force", "force"),
    ("potential_force", "force"),
)
CHUNK = 64  # consecutive elements that a CPU thread takes: chunks are coloured
THREADS = 128  # of a GPU's block
WORDS = 4  # reals of a thread in the update
ROW = 3 << 12  # reals of the update that a CPU thread takes


@dataclass(frozen=True)
class Kind:
    """Specialisation of an element kernel.

    Parameters
    ----------
    degree : int
        2 to 8.
    geometry : str
        ``"stored"``, ``"nodes"``, ``"corners"`` or ``"box"``.
    per_node : bool
        Material at each node, instead of one value per element.
    full : bool
        21 constants.
    relaxation : tuple
        For each mechanism (decay, held, carried, c0, c1, c2, c3), see `relaxation_constants`; empty
        without attenuation.
    bulk : bool
        Bulk attenuation too.
    coloured : bool
        Deterministic assembly on a GPU: elements come by colour and add without atomics.
    axes : int
        Reference directions along which an absorbing layer damps: bits 1, 2, 4 for xi, eta, zeta; 0
        outside layers.
    general : bool
        Lines of the mesh do not follow the layer; then there are as many bits, the lowest, as
        layers.
    """

    degree: int = 4
    geometry: str = "nodes"
    per_node: bool = True
    full: bool = False
    relaxation: tuple = ()
    bulk: bool = False
    coloured: bool = False
    axes: int = 0
    general: bool = False

    @property
    def directions(self):
        """Number of reference directions along which an absorbing layer damps."""
        return self.axes.bit_count()

    @property
    def stored(self):
        """Memory variables of a node: 5 of each mechanism, 6 with bulk attenuation, filled up to a multiple of 4."""
        return -(-len(self.relaxation) * (5 + self.bulk) // 4) * 4

    @property
    def suffix(self):
        """Suffix that identifies the kind among the operators of a plan."""
        axes = "".join(name for n, name in enumerate("xyz") if self.axes >> n & 1)
        words = {
            f"layer_{axes}": self.axes,
            "across": self.general,
            self.geometry: self.geometry != "nodes",
            "per_element": not self.per_node,
            "full": self.full,
            "attenuated": bool(self.relaxation),
            "bulk": self.bulk,
            "coloured": self.coloured,
        }
        return "".join(f"_{word}" for word, present in words.items() if present)


def relaxation_constants(relaxation, dt):
    """Return the constants of memory.h for a `model.attenuation.Relaxation` of "full" storage and a
    step, s: a tuple for each mechanism.
    """
    x = relaxation.omega * dt
    decay, mean = np.exp(-x), -np.expm1(-x) / x
    held = 1 - mean
    table = np.vstack([decay, held, decay * held + mean - decay, relaxation.polynomials])
    return tuple(tuple(float(v) for v in column) for column in table.T)


def stiffness(kind):
    """Elastic elements; see stiffness.h.

    Arrays: force, memory, [layer,] displacement, points, geometry, moduli, loss, [rates,] order.
    """
    reads = ("displacement", "points", "geometry", "moduli", "loss", "order")
    return element_operator("stiffness", kind, 3, ("force", "memory"), reads)


def fluid(kind):
    """Acoustic elements; see fluid.h.

    Arrays: potential_force, [layer,] potential, points, geometry, moduli, [rates,] order.
    """
    reads = ("potential", "points", "geometry", "moduli", "order")
    return element_operator("fluid", kind, 1, ("potential_force",), reads)


def element_operator(name, kind, fields, writes, reads):
    """Return the operator of elements of a kind; in absorbing layers it has another function and the layer's arrays."""
    function = name
    if kind.axes:
        function, writes, reads = f"{name}_layer", (*writes, "layer"), (*reads[:-1], "rates", reads[-1])
    options = {"kernel": function, "defines": constants(kind)} | machines(kind) | cost(kind, fields)
    return Operator(f"{name}{kind.suffix}", HERE / f"{function}.h", writes, reads, ELEMENT, **options)


def constants(kind):
    """Return the constants of the text."""
    element = Element(kind.degree)
    mechanisms = "{" + ",".join("{" + ",".join(map(repr, row)) + "}" for row in kind.relaxation) + "}"
    rule = [*element.derivative.T.ravel(), *element.points, *element.weights]
    width, (single, double) = threads(kind), resident(kind)
    return (
        ("DEGREE", kind.degree),
        ("RULE_VALUES", initialiser(rule)),
        ("LANES", LANES),
        ("ELEMENTS", elements(kind)),
        ("THREADS", width),
        ("KEEP", f"(THREAD_PER_POINT && {int(kind.degree <= KEPT)})"),
        ("MIN_BLOCKS", f"(sizeof(real) == 4 ? {single // width} : {double // width})"),
        ("COLOURED", int(kind.coloured)),
        ("LATE", "(THREAD_PER_POINT && DEGREE == 8 && sizeof(real) == 8)"),
        ("SPREAD", "(THREAD_PER_POINT && !LATE)"),
        ("GEOMETRY", GEOMETRY[kind.geometry]),
        ("PER_NODE", int(kind.per_node)),
        ("FULL", int(kind.full)),
        ("BULK", int(kind.bulk)),
        ("MECHANISMS", len(kind.relaxation)),
        ("RELAXATION", mechanisms),
        ("PAST_L1", 0),
        ("IN_TURN", 1),
        ("AXES", kind.axes),
        ("GENERAL", int(kind.general)),
    )


KEPT = 5  # highest degree at which a thread keeps its column of the field
SHARED_BYTES = 48 << 10  # of a block


def resident(kind):
    """Return the threads resident on a GPU's multiprocessor, in float32 and in float64: fewer, with
    more registers, for large kernels.
    """
    many = kind.degree > 5 or kind.relaxation or (kind.geometry == "nodes" and not kind.full)
    return 384 if many else 512, 256


def elements(kind):
    """Return the elements of a GPU's block: about a column for each of its threads, in float64
    within the shared memory.
    """
    n = kind.degree + 1
    reals = (9 + 3 * kind.general * kind.directions) * n**3 + 81  # reals of an element
    return max(1, min(THREADS // n**2, (SHARED_BYTES - 8 * n * (n + 2)) // (8 * reals)))


def threads(kind):
    """Return the threads of a block: whole warps."""
    return -(-elements(kind) * (kind.degree + 1) ** 2 // 32) * 32


def machines(kind):
    """Return how machines run the kernel: alone, chunk by chunk, elements per block."""
    return {
        "types": TYPES,
        "pointwise": False,
        "grain": (1, 1, CHUNK),
        "block": (threads(kind), 1, 1),
        "span": (elements(kind), 1, 1),
    }


def cost(kind, fields):
    """Return least reals moved and flops of an element; global points count as degree^3 per element."""
    n, unique = kind.degree + 1, kind.degree**3
    nodes = n**3
    rows = {(1, False): 1, (3, False): 2, (3, True): 21}[fields, kind.full] + bool(kind.relaxation) * (1 + kind.bulk)
    reals = 3 * fields * unique + nodes + {"stored": 10 * nodes, "nodes": 81, "corners": 24, "box": 3}[kind.geometry]
    reals += rows * (nodes if kind.per_node else 1) + 2 * kind.stored * nodes
    # memory variables read and written, rates
    reals += kind.directions * nodes * (4 * fields + (8 if kind.general else 2))
    derivatives = 12 * fields * n  # of a node: six sums of n products
    metric = {
        "stored": 30 * fields,
        "nodes": 30 * fields + 36 + 36 + 486 // n,
        "corners": 30 * fields + 18 + 36 + 120 // n,
        "box": 6 * fields,
    }[kind.geometry]
    law = 3 if fields == 1 else 78 if kind.full else 18
    memory = len(kind.relaxation) * (5 + kind.bulk) * 6 + len(kind.relaxation) * 8 * (1 + kind.bulk)
    filters = kind.directions * 2 * fields * 6
    return {"reals_per_point": reals, "flops": nodes * (derivatives + metric + law + memory + filters)}


def pointwise(name, file, writes, reads, params, **options):
    """Return an operator on a list of points or reals along x."""
    return Operator(name, HERE / file, writes, reads, params, types=TYPES, **options)


# how machines run through long arrays
STREAM = {"grain": (1, 1, ROW), "block": (256, 1, 1), "span": (256 * WORDS, 1, 1)}
STREAM |= {"defines": (("WORDS", WORDS), ("WIDE", 1))}


def update():
    """Update of the solid; see update.h.

    Box (0, 1, 0, 1, 0, 3 (N + 1)); arrays displacement, velocity, force, inverse_mass; dt.
    """
    writes, reads = ("displacement", "velocity", "force"), ("inverse_mass",)
    return pointwise("update", "update.h", writes, reads, UPDATE, reals_per_point=6 + 1 / 3, flops=5, **STREAM)


def fluid_update():
    """Update of the fluid; box (0, 1, 0, 1, 0, Nf + 1); potential, potential_rate, potential_force,
    pressure, fluid_inverse_mass; dt.
    """
    writes, reads = ("potential", "potential_rate", "potential_force", "pressure"), ("fluid_inverse_mass",)
    return pointwise("fluid_update", "update.h", writes, reads, UPDATE, reals_per_point=8, flops=6, **STREAM)


FIELDS = {n: (("FIELDS", n),) for n in (1, 3)}


def on_points(name, file, writes, reads, reals, flops=0, **options):
    """Return an operator on a list of points, (0, 1, 0, 1, 0, count)."""
    return pointwise(name, file, writes, reads, FACE, reals_per_point=reals, flops=flops, **point_list(), **options)


def stacey():
    """Absorbing points: force, velocity, points (m,), terms (12, m): G, C of mesh_terms."""
    return on_points("stacey", "stacey.h", ("force",), ("velocity", "points", "terms"), 22, 33, defines=FIELDS[3])


def fluid_stacey():
    """Absorbing points of the fluid: potential_force, potential_rate, points (m,), terms (2, m): G, C."""
    reads = ("potential_rate", "points", "terms")
    return on_points("fluid_stacey", "stacey.h", ("potential_force",), reads, 6, 3, defines=FIELDS[3])


def rigid(fields=3):
    """Points that do not move: force, points (m,); fields = 1 for a fluid's potential (pressure 0)."""
    name, kernel = ("rigid_points" if fields == 3 else "fluid_rigid"), "rigid_points"
    return on_points(name, "stacey.h", ("force",), ("points",), 1 + fields, kernel=kernel, defines=FIELDS[fields])


def damped_points(fields=3):
    """Points of absorbing layers: force, lowpass (fields, m), velocity, points (m,), terms (3, m),
    see stacey.h; fields = 1 for a fluid.
    """
    name = "damped_points" if fields == 3 else "fluid_damped"
    options = {"kernel": "damped_points", "defines": FIELDS[fields]}
    writes, reads = ("force", "lowpass"), ("velocity", "points", "terms")
    return on_points(name, "stacey.h", writes, reads, 4 + 5 * fields, 6 * fields, **options)


def to_fluid(layered=False):
    """Solid moves fluid: potential_force, displacement, solid (m,), fluid (m,), vectors (3, m).
    `layered`: see `in_layer`.
    """
    reads = ("displacement", "solid", "fluid", "vectors")
    op = on_points("to_fluid", "coupling.h", ("potential_force",), reads, 10, 6)
    return in_layer(op) if layered else op


def to_solid(layered=False):
    """Fluid presses on solid: force, potential_force, fluid_inverse_mass, solid (m,), fluid (m,),
    vectors (3, m). `layered`: see `in_layer`.
    """
    reads = ("potential_force", "fluid_inverse_mass", "solid", "fluid", "vectors")
    op = on_points("to_solid", "coupling.h", ("force",), reads, 13, 7)
    return in_layer(op) if layered else op


def in_layer(op):
    """Return what an absorbing layer along the faces of fluid and solid adds to their coupling:
    besides layer (fields, m) and rates (2, m), see filtered_points.h.

    Parameters
    ----------
    op : Operator
        Of coupling.h or pair_coupling.h.
    """
    return replace(
        op,
        name=f"{op.name}_layer",
        writes=(*op.writes, "layer"),
        reads=(*op.reads, "rates"),
        reals_per_point=op.reals_per_point + 4,
        flops=op.flops + 4,
    )
