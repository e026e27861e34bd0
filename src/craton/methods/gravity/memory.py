"""Memory of the host that a gravity run takes on a CPU at its peak, foretold from the plan and the
method that will be taken.

Bytes for each prism, point, node of a tree and place of a lattice are counted from the arrays that
the methods make; tests/gravity/test_gravity_ranks.py compares them with what is allocated.
"""

from craton.memory import array_bytes
from craton.methods.gravity import DEVICE, direct, far, fft, lattice, tree, vertex

# bytes of Python and its libraries when fields are computed, and when they are written
COMPUTING, WRITING = 80 << 20, 145 << 20
MADE = 20  # for each prism while the plan is made, beside those that it holds
FOUND = 155  # for each prism of a block while nodes and layers are found
LOADED = 150  # for each point of a tile while it is loaded
TREE = 155, 170, (400, 312)  # for each prism: moments, coefficients, walk in double and in single


def process_bytes(plan, method, machine):
    """Bytes of the process at its peak, and of arrays at that time: (int, int).

    Parameters
    ----------
    plan : GravityPlan
        Of which `gravity.chosen` has looked at all methods: what they remember is counted.
    method : str
    machine : backend
    """
    problem, held = plan.problem, array_bytes(plan)
    prisms, results = len(problem.prisms), _fields(problem)
    before = held - array_bytes(*(problem.memo.get(name) for name in ("nodes", "columns")))
    finding = FOUND * min(prisms, lattice.BLOCK)
    needed = SOLVING[method](problem, machine) if problem.pairs else 0
    arrays = max(before + MADE * prisms, held + finding, held + 2 * results, held + needed)
    return max(COMPUTING + arrays, WRITING + held + 2 * results), arrays


def _swept(problem, planned):
    """Bytes of a plan of tiles on the machine, of a tile that is loaded, and of the fields."""
    points = planned.arrays["points"].shape[1]
    order = 8 * problem.points.shape[1]
    return sum(a.nbytes for a in planned.arrays.values()) + LOADED * points + order + _fields(problem)


def _fields(problem):
    """Bytes of the fields of a problem."""
    return 8 * len(problem.fields) * problem.points.shape[1]


def _direct(problem, machine):
    return _swept(problem, direct.plan(problem, machine.width))


def _vertex(problem, machine):
    vertices = vertex.nodes(problem, machine)
    return _swept(problem, vertex.plan(problem, vertices, machine)) + 32 * len(vertices.at)


def _fft(problem, machine):
    grid = fft.columns(problem, machine)
    shape, fields, results = fft.sizes(grid), len(problem.fields), _fields(problem)
    area, places = 8 * shape[0] * shape[1], fft.places_of(grid, shape)
    room = 0.5 * machine.memory()[0]
    levels = min(fft.blocks(grid, fields, area // 8, room)[0].stop, len(grid.levels))
    spectra = len(grid.layers) if levels > 1 else 0  # of the layers
    kernel = (48 + 16 * fields) * places
    summing = area * (fields * levels + spectra + 5) + 16 * fields * places
    at_the_end = area * (fields * (levels + 2) + spectra + 3) + 2 * results // len(grid.levels)
    return results + kernel + max(LOADED * places, summing, at_the_end)


def _far(problem, machine):
    leaf, count = far.LEAF[machine.width >= DEVICE], far.most_prisms(machine)
    part = problem.prisms[:count]
    nodes = len(tree.grow(tree.sort(part, leaf)[1], len(part), leaf)[0])
    degree = far.degree_for(problem.rtol)
    series, whole = (16 * len(tree.terms(n)) for n in (degree, degree + 2))
    cartesian = 8 * len(tree.monomials(degree + 2))
    single = problem.precision == "float32"
    walk = far.tile_points(problem, machine.width)
    growing = nodes * (cartesian + 2 * whole) + TREE[0] * len(part)
    making = nodes * (whole + 3 * series) + TREE[1] * len(part)
    walking = nodes * series * (1 if single else 2) + TREE[2][single] * len(part)
    return 2 * _fields(problem) + max(growing, making, walking + LOADED * walk)


SOLVING = {"direct": _direct, "vertex": _vertex, "fft": _fft, "far": _far}


def rows(plan, method, machine):
    """Return what `craton plan` prints of memory.

    Parameters
    ----------
    plan : GravityPlan
    method : str
        That will be taken.
    machine : backend
    """
    size = array_bytes(plan.problem.prisms, plan.problem.density, plan.problem.points)
    out = [("prisms and points", f"{size / 2**20:,.1f} MiB")]
    if machine.shares_host_memory:
        whole, arrays = process_bytes(plan, method, machine)
        libraries = f"{(whole - arrays) / 2**20:,.0f} MiB of them Python and its libraries"
        out += [
            ("total", f"{arrays / 2**20:,.1f} MiB of arrays at the peak, by {method}"),
            ("process on a CPU", f"about {whole / 2**20:,.0f} MiB at most, some {libraries}"),
        ]
    return out
