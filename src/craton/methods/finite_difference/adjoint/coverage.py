"""What of a scenario gradients do not cover yet, and grids too large for their parameters, with the remedy."""

from craton import memory
from craton.conventions import FACES
from craton.errors import Problem, ResourceError
from craton.methods.finite_difference.adjoint import transposed
from craton.methods.finite_difference.space import GridSpace
from craton.survey.catalogues import Catalogue
from craton.survey.faults import FiniteFault
from craton.survey.planes import PlaneWave
from craton.text import megabytes

BEYOND_GRADIENTS = {PlaneWave: "a plane wave", FiniteFault: "a finite fault"}
BEYOND_GRADIENTS |= {Catalogue: "a file of more than 1,000 sources"}
PARAMETER_BYTES = 32  # of a cell: density and moduli in double precision, and what is made of them


def refused_tables(scenario):
    """Return what gradients do not cover yet and the tables of a scenario say: list of Problem.

    Parameters
    ----------
    scenario : Scenario
    """
    boundaries = scenario.boundaries
    kinds = {boundaries.face(name) for name in FACES}
    surface = boundaries.face("top") == "free" and boundaries.surface
    wrong = [
        (scenario.injection, "injection", "injections", "leave it out"),
        ("a1" in kinds, "boundaries", '"a1" faces', 'use "cpml" or "sponge"'),
        (
            surface in ("imaging", "imaging-2"),
            "boundaries.surface",
            f'"{surface}", which has no exact transpose',
            'use "sbp"',
        ),
    ]
    return [
        Problem(key, f"gradients do not cover {words}", remedy) for is_wrong, key, words, remedy in wrong if is_wrong
    ]


def refused_on_grid(d, sources):
    """Return what gradients do not cover yet and the discretisation shows: list of Problem.

    Parameters
    ----------
    d : Discretisation
    sources : list
    """
    wrong = []
    for s in sources:
        if kind := BEYOND_GRADIENTS.get(type(s)):
            wrong.append(("source", f"{s.name}: {kind}", "use point sources"))
        elif s.force is not None and touches_layer(d, s):
            words = f"{s.name}: a force on points of a CPML layer, or next to one"
            wrong.append(("source", words, "move it inwards"))
    if floor_near_layer(d):
        words = "a level sea floor so near a CPML layer that differences at the floor and in the layer overlap"
        wrong.append(
            ("boundaries", words, "move the boundary away from the floor, or make the layer thinner, by a few spacings")
        )
    return [Problem(key, f"gradients do not cover {words}", remedy) for key, words, remedy in wrong]


def floor_near_layer(d):
    """Return True where differences that end at a level floor have norms of their own (closure.py) at points that the differences of
    a layer above or below it reach: what the transposed layer adds there is not divided by them.
    """
    if d.floor is None:
        return False
    lowest, highest = d.floor + 1 - d.floor_closure.rows, d.floor + d.floor_closure.rows
    reached = {side: transposed.reached(d, 2, side)[0][:2] for axis, side in d.faces("cpml") if axis == 2}
    return (0 in reached and lowest < reached[0][1]) or (1 in reached and highest > reached[1][0])


def touches_layer(d, source):
    """Return True for a force on points whose medium is that of the edge of a CPML layer: its
    weights have the density of their own cells, the step has that of the edge.
    """
    index, _, _ = GridSpace(d).point_rows([source])
    offsets = d.layout.place(index)
    for axis in (*d.horizontal, 2):
        low, high = d.unstretched(axis)
        at = offsets[2 - axis]
        beyond = (low > 0 and at.min() < low) or (high < d.grid.shape[2 - axis] and at.max() + 1 >= high)
        if beyond:
            return True
    return False


def refuse_large(grid):
    """Refuse a grid whose cells, the parameters of a gradient, do not fit into this host's memory.

    Parameters
    ----------
    grid : Grid

    Raises
    ------
    ResourceError
    """
    needed, free = PARAMETER_BYTES * grid.size, memory.available()
    if free is not None and needed > free:
        fits = grid.coarser(1.01 * (needed / free) ** (1 / 3))
        raise ResourceError(
            f"the parameters of a gradient in {grid.size:,} cells need {megabytes(needed)}, "
            f"{megabytes(free)} are free on this host.\n    they fit with {fits}"
        )
