"""Elements that one kernel takes together: of one medium, one kind of geometry, one way to store material; their arrays and launches."""
from dataclasses import dataclass, replace

import numpy as np

from craton.core.plan import Array, Launch, Turns
from craton.methods.spectral_element import absorbing_layer, material, mesh_terms, operators
from craton.methods.spectral_element.assembly import Order, ordered

SHAPES = ("box", "corners", "nodes")  # descriptions of elements, the cheapest first
FEW = 0.02  # of a medium's elements: a kind with less joins the more general one, a launch being dearer than what it saves


@dataclass(frozen=True)
class Family:
    """Elements of one kind.

    Parameters
    ----------
    name : str
        Of its arrays and its operator.
    outer : bool
        Other ranks wait for it.
    kind : operators.Kind
    elements : (n,) int array
    fluid : bool
    """

    name: str
    kind: operators.Kind
    elements: np.ndarray
    fluid: bool
    outer: bool = False


def families(d):
    """The families of a `Discretisation`: list."""
    found, layers = [], np.zeros(d.mesh.size, int) if d.layers is None else 2 * d.layers.axes + d.layers.general
    for fluid in (False, True):
        for some in np.unique(layers[d.fluid == fluid]):
            found += alike(d, np.flatnonzero((d.fluid == fluid) & (layers == some)), fluid, *map(int, divmod(some, 2)))
    return found


def alike(d, own, fluid, axes, across):
    """The families of elements of one medium, all outside absorbing layers or in the same ones: list."""
    shape, constant, found = shapes_of(d)[own], ~d.first.varying[own], []
    if not d.coloured:  # there, what an element adds must not depend on which others its rank has
        shape, constant = general(shape), few(constant)
    for n, name in enumerate(SHAPES):
        for per_node in (False, True):
            members = own[(shape == n) & (constant != per_node)]
            cut = np.searchsorted(members, d.division.outer)
            for some, outer in ((members[:cut], True), (members[cut:], False)):
                if len(some):
                    found.append(family(d, some, name, per_node, fluid, outer, axes, bool(across)))
    return found


def shapes_of(d):
    """Place in `SHAPES` of the simplest description of each element: (ne,)."""
    bent = np.where(d.first.straight, SHAPES.index("corners"), SHAPES.index("nodes"))
    return np.where(np.isnan(d.first.edges[:, 0]), bent, SHAPES.index("box"))


def general(shape):
    """Shapes of which too few are there become the next more general one that is there."""
    counts = np.bincount(shape, minlength=len(SHAPES))
    for n in range(len(SHAPES) - 1):
        if 0 < counts[n] < FEW * len(shape):
            target = next((m for m in range(n + 1, len(SHAPES)) if counts[m]), n)
            counts[target] += counts[n] * (target != n)
            shape = np.where(shape == n, target, shape)
    return shape


def few(flags):
    """Flags that are True, or none where too few are."""
    return flags if flags.mean() >= FEW else np.zeros_like(flags)


def family(d, elements, geometry, per_node, fluid, outer=False, axes=0, across=False):
    """One family; the constants of its attenuation, which follow from the step, are zeros."""
    mechanisms = 0 if fluid or d.relaxation is None else len(d.relaxation.omega)
    kind = operators.Kind(d.element.degree, geometry, per_node, d.anisotropic and not fluid, ((0.0,) * 7,) * mechanisms,
                          mechanisms > 0 and d.first.bulk_loss, d.coloured, axes, across)  # fmt: skip
    layer = "_layer_" + "".join(name for n, name in enumerate("xyz") if axes >> n & 1) if axes else ""
    layer += "_across" if across else ""
    name = f"{'fluid' if fluid else 'solid'}{layer}_{geometry}{'_varying' if per_node else ''}{'_outer' if outer else ''}"
    return Family(name, kind, elements, fluid, outer)


@dataclass(frozen=True, eq=False)
class Arranged:
    """A family whose elements are in their order.

    Parameters
    ----------
    family : Family
    order : assembly.Order
    arrays : dict of str to Array
        All but memory variables.
    """

    family: Family
    order: Order
    arrays: dict


def all_arranged(d):
    """The families of a `Discretisation`, each `Arranged`: list."""
    return [arranged(d, own) for own in families(d)]


def arranged(d, own):
    """A family of a `Discretisation` as an `Arranged`; nothing of it depends on the step."""
    order = ordered(own.elements, d.mesh.corners[own.elements], d.coloured)
    dummy = d.state.fluid if own.fluid else d.state.solid
    values = {"points": order.arranged(d.points, dummy), "geometry": geometry(d, own, order), **material.arrays(d, own, order)}
    kinds = {"points": "mesh", "geometry": "mesh", "moduli": "material", "loss": "material"}
    arrays = {f"{own.name}_{name}": Array(kinds[name], v.shape, v.dtype, v, lanes=True) for name, v in values.items()}
    if order.by_colour is not None:
        arrays[f"{own.name}_order"] = Array("mesh", order.by_colour.shape, np.int32, order.by_colour)
    return Arranged(own, order, arrays)


def arrays_and_launch(d, own):
    """Arrays of an `Arranged` family, and the launch that adds its forces."""
    kind, arrays = own.family.kind, own.arrays
    if kind.relaxation:
        kind = replace(kind, relaxation=operators.relaxing(d.relaxation, d.dt))
        memory = Array("wavefield", (len(own.order), d.element.size, kind.stored), d.precision, lanes=True)
        arrays = arrays | {f"{own.family.name}_memory": memory}
    if kind.axes:
        arrays = arrays | layer_arrays(d, own.family, own.order)
    launched = launch(d, own, kind, arrays)
    return arrays, d.units.launch(launched, own.family.fluid, 2 * (1 if own.family.fluid else 3) * d.element.degree**3)


def elastic(d, own):
    """The same without attenuation, absorbing layers and colours: forces of the unrelaxed moduli, added in any order.

    At the highest frequency the filters of a layer take away from both the strain and the force: the limit of the step holds with them.
    """
    left_out = [f"{own.family.name}_{name}" for name in ("loss", "order")]
    arrays = {name: array for name, array in own.arrays.items() if name not in left_out}
    return arrays, launch(d, own, replace(own.family.kind, relaxation=(), bulk=False, coloured=False, axes=0, general=False), arrays)


def launch(d, own, kind, arrays):
    """The launch of a family's operator of a kind; of its arrays those that are not there are not named."""
    name, fluid = own.family.name, own.family.fluid
    op = operators.fluid(kind) if fluid else operators.stiffness(kind)
    names = tuple(a if a in d.state.fields else f"{name}_{a}" if f"{name}_{a}" in arrays else "" for a in op.arrays)
    box, turns = (0, 1, 0, 1, 0, len(own.order)), own.order.turns if kind.coloured else Turns(own.order.turns.runs)
    return Launch(replace(op, name=name, kernel=op.function), names, box, {"first": 0}, turns=turns, outer=own.family.outer)


def layer_arrays(d, own, order):
    """Memory variables and rates of a family in absorbing layers; padding is like the first element."""
    size, count = (len(order), d.element.size), own.kind.directions
    rows = (8 if own.kind.general else 2) * count
    rates, elements = np.empty((size[0], rows, size[1]), d.precision), order.arranged(np.arange(d.mesh.size))
    for part in mesh_terms.batches(len(order)):
        rates[part] = absorbing_layer.rates(d, elements[part], own.kind.axes, own.kind.general)
    fields = 1 if own.fluid else 3
    return {f"{own.name}_rates": Array("boundary", rates.shape, d.precision, rates, lanes=True),
            f"{own.name}_layer": Array("boundary", (size[0], 2 * fields * count, size[1]), d.precision, lanes=True)}  # fmt: skip


def geometry(d, own, order):
    """Edges of boxes, (n, 3), corners of straight elements, (n, 3, 8), or nodes of others, (n, 3, 27); padding is like the first one."""
    elements = np.where(order.elements >= 0, order.elements, own.elements[0])
    if own.kind.geometry == "box":
        return d.first.edges[elements].astype(d.precision)
    straight = own.kind.geometry == "corners"
    out = np.empty((len(order), 3, 8 if straight else 27), d.precision)
    for part in mesh_terms.batches(len(order)):
        shapes = d.shapes(elements[part])
        out[part] = mesh_terms.corners(shapes)[0] if straight else shapes
    return out
