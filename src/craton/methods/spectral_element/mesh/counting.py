"""Cost of a chunk of the Earth, or of all chunks, on one or many GPUs without the mesh: counted in
stacks, measured on columns.

Elements, points and the shared points of slices follow from the numbers of elements of each layer.
Step and bytes per element are those of columns of the largest elements, from top to bottom: in the
chunk's middle, at its sides and its corner, where they are narrowest and most oblique. Rates are
those of an H200 (bench/NOTES.md), links as in bench/cases/scaling_model.py: within a host NVLink,
beyond it a network.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.core.partition import OF_ELEMENTS, step_seconds
from craton.errors import refuse_all
from craton.methods.spectral_element import build, notes
from craton.methods.spectral_element.mesh import families
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import step_problems, time_step_for
from craton.model.globe import earth_chunk
from craton.model.mesh.hexmesh import Prepared
from craton.survey import geography
from craton.survey import problems as survey_problems
from craton.text import duration, text_sections

# elements a second, degree 4, float32, 27 nodes an element (sem_h200.json)
ISOTROPIC, ANISOTROPIC, RELAXING = 247e6, 173e6, 102e6
HOST = 4  # GPUs that NVLink joins
# B/s out of a GPU beyond its host (4 x 400 Gbit/s for 4 GPUs), s more of an exchange: assumed, not
# measured
NETWORK, FARTHER = 50e9, 5e-6
DEGREE = 4


@dataclass(frozen=True, eq=False)
class Counted:
    """The cost of a chunk or a sphere; prints as `craton plan` prints it.

    Parameters
    ----------
    chunk : Chunk or CubedSphere
    ranks : int
    grid : (int, int) or None
        Slices along xi and eta; None for equal parts of a sphere.
    elements, points, shared : int
        Elements, points and shared points of the largest slice.
    outer : int
        Elements of the largest slice that neighbours wait for.
    nbytes : int
        Bytes of the largest slice, on its GPU.
    step : float
        Time step, s.
    steps : int
    seconds : (float, float)
        A step, with the exchange hidden as far as it can be; and without exchange.
    rate : float
        Elements a second assumed.
    total : int
        Points of the whole.
    title : str
    rows : list
        Description of the chunk.
    """

    chunk: Any
    ranks: int
    grid: tuple
    elements: int
    points: int
    shared: int
    outer: int
    nbytes: int
    step: float
    steps: int
    seconds: tuple
    rate: float
    total: int
    title: str
    rows: list
    warnings: tuple = ()

    def __str__(self):
        counted = {"Counted": self._counts(), "Estimate": self._times()}
        return text_sections({self.title or "Elastic waves": self.rows} | counted)

    def _counts(self):
        whole = f"{self.chunk.size:,} elements, {self.total:,} points ({self.total / 1e9:.3g} billion)"
        rows = [("in all", whole + ", counted without building the mesh")]
        if self.ranks > 1:
            spread = self.elements * self.ranks / self.chunk.size - 1
            slices = f"{self.grid[0]} x {self.grid[1]} slices" if self.grid else "equal parts, about square,"
            sent = f"{self.shared:,} points with its neighbours, {12 * self.shared / 1e6:.3g} MB sent in a step"
            first = f"{self.outer:,} outer elements are computed first ({self.outer / self.elements:.0%})"
            rows += [
                ("ranks", f"{self.ranks:,} in {slices} from top to bottom, the largest {spread:.1%} above the mean"),
                ("a rank", f"{self.elements:,} elements, {self.points:,} points"),
                ("shared", f"{sent}; {first}"),
            ]
        memory = f"{self.nbytes / 2**30:.3g} GiB a rank, {self.nbytes * self.ranks / 2**40:.3g} TiB in all"
        return [*rows, ("memory", f"{memory}, {self.nbytes / self.elements:,.0f} bytes per element")]

    def _times(self):
        full, without_exchange = self.seconds
        per = self.chunk.size / full
        speeds, waits = f"H200 assumed: {self.rate / 1e6:.0f} M elements/s each", ""
        if self.ranks > 1:
            speeds += f"; {OF_ELEMENTS.bandwidth / 1e9:.0f} GB/s between GPUs of a host, {NETWORK / 1e9:.0f} GB/s beyond {HOST} GPUs"
            waits = f", {full / without_exchange - 1:.1%} more than without exchange"
        return [
            ("steps", f"{self.steps:,} of {self.step:.4g} s, the stability limit of columns of elements times 0.95"),
            ("GPUs", speeds),
            ("a step", f"{1e3 * full:.3g} ms{waits}: {per / 1e6:,.0f} M elements/s in all"),
            ("run", f"about {duration(full * self.steps)}"),
        ]


def count(scenario, machine, ranks=1):
    """Count the cost of a scenario on a chunk of the Earth; the stable step of its columns is found
    on a machine.

    Raises
    ------
    ScenarioError
        Too many ranks for the chunk; sources or receivers outside it.
    """
    chunk = earth_chunk.chunk_of(scenario)
    on_earth = scenario.model_copy(update={"domain": scenario.domain.on(geography.Globe(chunk))})
    refuse_all(survey_problems(on_earth))
    limit, per_element = columns(scenario, chunk, machine)
    step = scenario.time.step or time_step_for(limit)
    refuse_all(step_problems(scenario, limit, "mesh"))
    degree = scenario.run.degree
    counted = count_sphere if chunk.all_chunks > 1 else count_chunk
    largest_slice, points, shared, outer, grid = counted(chunk, ranks, degree)
    real = np.dtype(scenario.run.precision).itemsize
    nbytes = per_element * largest_slice + 10 * real * points + 6 * real * shared
    relaxing, anisotropic = scenario.model.attenuation is not None, chunk.model.anisotropic
    rate = RELAXING if relaxing else ANISOTROPIC if anisotropic else ISOTROPIC
    rate = rate * (DEGREE + 1) ** 3 / (degree + 1) ** 3 * 4 / real
    speeds = links(rate, ranks)
    seconds = tuple(
        step_seconds(largest_slice, min(outer, largest_slice), size, speeds) for size in (3 * real * shared, 0)
    )
    start = scenario.time.start or 0.0
    steps = math.ceil((scenario.time.duration - start) / step)
    return Counted(
        chunk,
        ranks,
        grid,
        largest_slice,
        points,
        shared,
        outer,
        int(nbytes),
        step,
        steps,
        seconds,
        rate,
        chunk.stack.points(degree),
        scenario.title,
        notes.describe_chunk(scenario, chunk, earth_chunk.perturbation(scenario.model)),
    )


def count_chunk(chunk, ranks, degree):
    """Return elements, points, shared points and outer elements of the largest slice, and numbers
    of slices along xi and eta.
    """
    grid = earth_chunk.arrangement(chunk.stack, ranks)
    window = largest(chunk.stack, grid)
    points = chunk.stack.points(degree, window)
    shared, outer = shared_points(chunk.stack, window, grid, degree), outer_elements(chunk.stack, window, grid)
    return elements(chunk.stack, window), points, shared, outer, grid


def count_sphere(sphere, ranks, degree):
    """Return the counts of `count_chunk` for chunks in equal parts (METIS), about square, with
    neighbours on four sides; no grid.
    """
    stack, total = sphere.stack, sphere.stack.points(degree)
    if ranks == 1:
        return sphere.size, total, 0, 0, None
    if ranks > sphere.all_chunks * (stack.edge // stack.coarsest[0]) ** 2:
        earth_chunk.refuse_ranks(ranks, stack)
    # elements of the top along all sides of a part
    sides = 4 * stack.edge * math.sqrt(sphere.all_chunks / ranks)
    points = [layer_stack.points(degree, (0, stack.edge, 0, 0)) for layer_stack in stack.stacks]
    shared = sides * np.mean(points) / stack.edge
    pieces = [1 if layer.axis is None else layer.pieces * 2 / 3 for layer in stack.layers]
    outer = sides * sum(1 / layer.width[0] * count for layer, count in zip(stack.layers, pieces))
    counts = sphere.size / ranks, total / ranks + shared / 2, shared, outer
    return (*map(math.ceil, counts), None)


def links(rate, ranks):
    """Return the `Speeds` of a number of GPUs, in elements."""
    beyond = {} if ranks <= HOST else {"bandwidth": NETWORK, "latency": OF_ELEMENTS.latency + FARTHER}
    return replace(OF_ELEMENTS, rate=rate, **beyond)


# --- slices ---------------------------------------------------------------------------------------


def largest(stack, grid):
    """Return the window of the largest slice with most neighbours."""
    windows = stack.slices(*grid)
    x, y = windows[:, :2], windows[:, 2:]
    middle = (x.mean(axis=1) - stack.count[0] / 2) ** 2 + (y.mean(axis=1) - stack.count[1] / 2) ** 2
    area = np.diff(x)[:, 0] * np.diff(y)[:, 0]
    return tuple(map(int, windows[np.lexsort((middle, -area))[0]]))


def layer_counts(layer, window):
    """Return columns of a layer in a window along xi and eta, and elements in each."""
    x0, x1, y0, y1 = window
    return (x1 - x0) // layer.width[0], (y1 - y0) // layer.width[1], layer.pieces


def elements(stack, window):
    """Return the number of elements of a window."""
    return sum(math.prod(layer_counts(layer, window)) for layer in stack.layers)


def cuts(window, grid, count):
    """Return the numbers of sides across xi and across eta that a window shares with others."""
    return tuple(min(p - 1, 2) if a > 0 or b < n else 0 for p, a, b, n in zip(grid, window[::2], window[1::2], count))


def outer_elements(stack, window, grid):
    """Return the number of elements at the sides that a window shares with others; in mesh-doubling
    layers all elements there.
    """
    total, sides = 0, cuts(window, grid, stack.count)
    for layer in stack.layers:
        m, n, each = layer_counts(layer, window)
        total += each * (m * n - max(m - sides[0], 0) * max(n - sides[1], 0))
    return total


def shared_points(stack, window, grid, degree):
    """Return the number of points at the sides that a window shares with others: the points of windows of no width."""
    x0, x1, y0, y1 = window
    x, y = x1 if x1 < stack.count[0] else x0, y1 if y1 < stack.count[1] else y0
    sides = cuts(window, grid, stack.count)
    return sides[0] * stack.points(degree, (x, x, y0, y1)) + sides[1] * stack.points(degree, (x0, x1, y, y))


# --- columns --------------------------------------------------------------------------------------


def columns(scenario, chunk, machine):
    """Return the smallest stable step, s, of some columns of a chunk, and bytes per element without
    the fields of points.
    """
    sampler, used = earth_chunk.sampler(scenario, chunk)
    scenario = earth_chunk.at_frequency(scenario, used)
    scenario = scenario.model_copy(update={"receivers": (), "time": scenario.time.model_copy(update={"step": None})})
    limits, nbytes, size = [], 0, 0
    for part in chunk.samples():
        mesh = part.local().mesh
        d = build.discretise(scenario, Prepared(mesh, sampler), [], SingleRank(), machine)
        limits.append(d.stable.limit)
        for arranged in d.families:
            arrays, launch = families.arrays_and_launch(d, arranged)
            nbytes += sum(array.nbytes for array in arrays.values()) * len(arranged.family.elements) / launch.points
        size += d.mesh.size
    return min(limits), nbytes / size
