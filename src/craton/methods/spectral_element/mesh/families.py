"""Families of elements that one kernel takes together: of one medium, geometry and storage of
material; the order of their elements in memory, their arrays and launches.

Elements follow a space-filling curve in coloured chunks, so that threads never add to one point
concurrently. A machine that adds atomically takes all elements of a family in one launch. One that
does not takes whole chunks of consecutive elements to a thread, colour after colour; for
deterministic assembly, single elements by colour.
"""

from dataclasses import dataclass, replace

import numpy as np

from craton.core.plan import LANES, Array, ColourBoundaries, Launch
from craton.methods.spectral_element.equations import absorbing_layer, material, operators
from craton.methods.spectral_element.mesh import mesh_terms
from craton.model.media import cells
from craton.model.mesh import ordering

SHAPES = ("box", "corners", "nodes")  # descriptions of elements, the cheapest first
# of a medium's elements: a smaller kind joins the more general one, because a launch costs more
# than it saves
FEW = 0.02
GEOMETRY_BATCH = 1 << 12  # elements whose nodes a thread takes at a time


@dataclass(frozen=True)
class Family:
    """Elements of one kind.

    Parameters
    ----------
    name : str
        Prefix of the names of its arrays, and name of its operator.
    kind : operators.Kind
    elements : (n,) int array
    fluid : bool
    outer : bool
        Other ranks wait for these elements.
    """

    name: str
    kind: operators.Kind
    elements: np.ndarray
    fluid: bool
    outer: bool = False


def families(medium, layers=None):
    """Sort the elements of a `Medium` into families.

    Parameters
    ----------
    medium : Medium
    layers : absorbing_layer.Layers, optional

    Returns
    -------
    list of Family
    """
    all_families, layer_kind = [], np.zeros(medium.mesh.size, int)
    if layers is not None:
        layer_kind = 2 * layers.axes + layers.general
    for fluid in (False, True):
        for kind in np.unique(layer_kind[medium.fluid == fluid]):
            elements = np.flatnonzero((medium.fluid == fluid) & (layer_kind == kind))
            all_families += families_of_medium(medium, elements, fluid, *map(int, divmod(kind, 2)))
    return all_families


def families_of_medium(d, elements, fluid, axes, across):
    """Return the families of elements of one medium, all outside absorbing layers or in the same layers: list."""
    shape, constant, medium_families = shapes_of(d)[elements], ~d.statistics.varying[elements], []
    # there, the contribution of an element must not depend on the other elements of its rank
    if not d.deterministic:
        shape, constant = merge_rare_shapes(shape), constant & (constant.sum() >= FEW * len(constant))
    for n, name in enumerate(SHAPES):
        for per_node in (False, True):
            members = elements[(shape == n) & (constant != per_node)]
            cut = np.searchsorted(members, d.subdomain.outer)
            for part, outer in ((members[:cut], True), (members[cut:], False)):
                if len(part):
                    medium_families.append(family(d, part, name, per_node, fluid, outer, axes, bool(across)))
    return medium_families


def shapes_of(d):
    """Return the index in `SHAPES` of the simplest description of each element: (ne,)."""
    bent = np.where(d.statistics.straight, SHAPES.index("corners"), SHAPES.index("nodes"))
    return np.where(np.isnan(d.statistics.edges[:, 0]), bent, SHAPES.index("box"))


def merge_rare_shapes(shape):
    """Replace each shape that few elements have by the next more general shape in use."""
    counts = np.bincount(shape, minlength=len(SHAPES))
    for n in range(len(SHAPES) - 1):
        if 0 < counts[n] < FEW * len(shape):
            target = next((m for m in range(n + 1, len(SHAPES)) if counts[m]), n)
            counts[target] += counts[n] * (target != n)
            shape = np.where(shape == n, target, shape)
    return shape


def family(d, elements, geometry, per_node, fluid, outer=False, axes=0, across=False):
    """Return one family; the constants of its attenuation, which follow from the time step, are still zeros."""
    mechanisms = 0 if fluid or d.relaxation is None else len(d.relaxation.omega)
    kind = operators.Kind(
        d.element.degree,
        geometry,
        per_node,
        d.anisotropic and not fluid,
        ((0.0,) * 7,) * mechanisms,
        mechanisms > 0 and d.statistics.bulk_loss,
        d.deterministic,
        axes,
        across,
    )
    layer = "_layer_" + "".join(name for n, name in enumerate("xyz") if axes >> n & 1) if axes else ""
    layer += "_across" if across else ""
    name = f"{'fluid' if fluid else 'solid'}{layer}_{geometry}" + "_varying" * per_node + "_outer" * outer
    return Family(name, kind, elements, fluid, outer)


# --- order in memory ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """Order in memory of the elements of a family.

    Parameters
    ----------
    elements : (n,) int array
        Element at each place; -1 for padding.
    colours : ColourBoundaries
    by_colour : (n,) int32 array or None
        Places of single elements, colour after colour.
    """

    elements: np.ndarray
    colours: ColourBoundaries
    by_colour: np.ndarray | None = None

    def __len__(self):
        return len(self.elements)

    def arrange(self, values, padding=None):
        """Return values of all elements, (ne, ...), in this order; padding gets `padding`, or if
        None the first element's values.
        """
        out = values[np.maximum(self.elements, 0)]
        if padding is not None:
            out[self.elements < 0] = padding
        return out


def order_elements(which, corners, coloured=False):
    """Return the `Order` of elements.

    Chunks of one colour follow one another; the last chunk, which may be shorter, ends its colour
    and is filled up to whole lanes.

    Parameters
    ----------
    which : (n,) int array
        Numbers of the elements, neighbours near each other.
    corners : (n, 8) int array
        Their corner nodes.
    coloured : bool
        Colour single elements, too, for deterministic assembly.
    """
    cut = ordering.chunks(corners, operators.CHUNK)
    colours, lengths = ordering.colour(cut), np.diff(cut.offsets)
    sequence = np.lexsort((-lengths, colours))
    padding = -lengths[sequence] % LANES
    full = lengths[sequence] + padding
    within = np.arange(full.sum()) - np.repeat(np.cumsum(full) - full, full)
    starts, filled = (np.repeat(a[sequence], full) for a in (cut.offsets[:-1], lengths))
    place = np.where(within < filled, starts + within, -1)
    ends = np.cumsum(full)
    runs = (0, *ends[np.append(np.flatnonzero(np.diff(colours[sequence])), len(sequence) - 1)].tolist())
    elements = np.where(place >= 0, which[np.maximum(place, 0)], -1)
    if not coloured:
        return Order(elements, ColourBoundaries(runs))
    by_colour, limits = colour_elements(place, corners)
    return Order(elements, ColourBoundaries(runs, limits), by_colour)


def colour_elements(place, corners):
    """Return places sorted by the colour of their elements, and the limits of colours; padding,
    which adds nothing, comes last.
    """
    colours = ordering.colour(ordering.chunks(corners, 1))
    of_place = np.where(place >= 0, colours[np.maximum(place, 0)], colours.max(initial=0))
    by_colour = np.argsort(of_place, kind="stable").astype(np.int32)
    return by_colour, tuple(np.searchsorted(of_place[by_colour], np.arange(colours.max(initial=0) + 2)).tolist())


# --- arrays and launches --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrangedFamily:
    """A family whose elements are in their order in memory.

    Parameters
    ----------
    family : Family
    order : Order
    arrays : dict of str to Array
        All but memory variables.
    """

    family: Family
    order: Order
    arrays: dict


def arrange_families(medium, layers=None):
    """Return the families of a `Medium` with absorbing layers, each as an `ArrangedFamily`: list.

    Moduli that the statistics have kept are used and released.
    """
    arranged = [arrange_family(medium, family) for family in families(medium, layers)]
    if medium.statistics.moduli is not None:
        medium.statistics.moduli.release()
    return arranged


def arrange_family(d, family):
    """Return a family of a `Medium` as an `ArrangedFamily`; nothing of it depends on the time step."""
    order = order_elements(family.elements, d.mesh.corners[family.elements], d.deterministic)
    dummy = d.state.fluid if family.fluid else d.state.solid
    values = {
        "points": order.arrange(d.points, dummy),
        "geometry": geometry(d, family, order),
        **material.arrays(d, family, order),
    }
    kinds = {"points": "mesh", "geometry": "mesh", "moduli": "material", "loss": "material"}
    arrays = {
        f"{family.name}_{name}": Array(kinds[name], v.shape, v.dtype, v, lanes=True) for name, v in values.items()
    }
    if order.by_colour is not None:
        arrays[f"{family.name}_order"] = Array("mesh", order.by_colour.shape, np.int32, order.by_colour)
    return ArrangedFamily(family, order, arrays)


def arrays_and_launch(d, arranged):
    """Return the arrays of an `ArrangedFamily`, and the launch that adds its forces.

    Parameters
    ----------
    d : Discretisation
    arranged : ArrangedFamily
    """
    family, kind, arrays = arranged.family, relaxing(d, arranged.family.kind), arranged.arrays
    if kind.relaxation:
        memory = Array("wavefield", (len(arranged.order), d.element.size, kind.stored), d.precision, lanes=True)
        arrays = arrays | {f"{family.name}_memory": memory}
    if kind.axes:
        arrays = arrays | layer_arrays(d, family, arranged.order)
    launch = launch_of(d, arranged, kind, arrays)
    return arrays, d.units.launch(launch, family.fluid, 2 * (1 if family.fluid else 3) * d.element.degree**3)


def relaxing(d, kind):
    """Return a kind with the constants of its mechanisms of attenuation for the step of a `Discretisation`."""
    if not kind.relaxation:
        return kind
    return replace(kind, relaxation=operators.relaxation_constants(d.relaxation, d.dt))


def elastic_launch(d, arranged):
    """Return arrays and launch without attenuation, absorbing layers and colours: forces of the
    unrelaxed moduli, added in any order.

    At the highest frequency the filters of a layer reduce both the strain and the force: the limit
    of the step holds with them.
    """
    family = arranged.family
    omitted = [f"{family.name}_{name}" for name in ("loss", "order")]
    arrays = {name: array for name, array in arranged.arrays.items() if name not in omitted}
    kind = replace(family.kind, relaxation=(), bulk=False, coloured=False, axes=0, general=False)
    return arrays, launch_of(d, arranged, kind, arrays)


def launch_of(d, arranged, kind, arrays):
    """Return the launch of a family's operator of a kind; the name of an array that is not in `arrays` is empty."""
    family, order = arranged.family, arranged.order
    op = operators.fluid(kind) if family.fluid else operators.stiffness(kind)
    names = tuple(
        a if a in d.state.fields else f"{family.name}_{a}" if f"{family.name}_{a}" in arrays else "" for a in op.arrays
    )
    colours = order.colours if kind.coloured else ColourBoundaries(order.colours.runs)
    return Launch(
        replace(op, name=family.name, kernel=op.function),
        names,
        (0, 1, 0, 1, 0, len(order)),
        {"first": 0},
        colours=colours,
        outer=family.outer,
    )


def layer_arrays(d, family, order):
    """Return memory variables and rates of a family in absorbing layers; padding has the values of
    the first element.
    """
    places, nodes, directions = len(order), d.element.size, family.kind.directions
    rows = (8 if family.kind.general else 2) * directions
    rates, elements = np.empty((places, rows, nodes), d.precision), order.arrange(np.arange(d.mesh.size))
    for part in mesh_terms.batches(places):
        rates[part] = absorbing_layer.rates(d, elements[part], family.kind.axes, family.kind.general)
    fields = 1 if family.fluid else 3
    return {
        f"{family.name}_rates": Array("boundary", rates.shape, d.precision, rates, lanes=True),
        f"{family.name}_layer": Array("boundary", (places, 2 * fields * directions, nodes), d.precision, lanes=True),
    }


def geometry(d, family, order):
    """Return edges of boxes, (n, 3), corners of straight elements, (n, 3, 8), or nodes of others,
    (n, 3, 27); padding as `layer_arrays`.
    """
    elements = np.where(order.elements >= 0, order.elements, family.elements[0])
    if family.kind.geometry == "box":
        return d.statistics.edges[elements].astype(d.precision)
    straight = family.kind.geometry == "corners"
    out = np.empty((len(order), 3, 8 if straight else 27), d.precision)

    def fill(part):
        shapes = d.shapes(elements[part])
        out[part] = mesh_terms.corners(shapes) if straight else shapes

    cells.in_parallel(fill, mesh_terms.batches(len(order), GEOMETRY_BATCH))
    return out
