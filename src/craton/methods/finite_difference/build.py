"""The grid of a scenario as a `craton.methods.waves.problem.Domain`: size, step, what is wrong with them."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from craton.conventions import FACES, components
from craton.core.grid import Grid
from craton.errors import Problem, refuse_all
from craton.methods.finite_difference import greens, sides
from craton.methods.finite_difference.discretisation import Discretisation
from craton.methods.finite_difference.equations import acoustic, scheme, source_boxes, storage
from craton.methods.finite_difference.equations.closure import HIGHEST, surface
from craton.methods.finite_difference.space import GridSpace
from craton.methods.protocol import Reuse
from craton.methods.waves.problem import step_problems, times
from craton.model.ground import terrain
from craton.model.media import checks, earth, rheology
from craton.model.media.cells import Region
from craton.survey import problems as survey_problems
from craton.survey import sources as survey_sources

MOST_POINTS = 1 << 52
LONGEST = 2**31 - 64  # points along an axis


class GridDomain:
    """The grid of a scenario; see `Domain`. Recordings and injections try the step on a machine."""

    method = "fd"

    def __init__(self, scenario, reuse=None, machine=None):
        self.scenario, self.reuse, self.machine = scenario, reuse or Reuse(keep=False), machine
        self.grid = self.reuse.get("grid", lambda: grid_of(scenario))
        self.values = partial(earth.point_values, scenario.model)

    @property
    def fastest(self):
        """Fastest wave speed, m/s."""
        return self.reuse.get("fastest", lambda: fastest(self.scenario, self.grid))

    def problems(self):
        """Return what is wrong with size, model, step, surface and output: list of Problem."""
        scenario, grid = self.scenario, self.grid
        wrong = self.reuse.get("model problems", lambda: model_problems(scenario, grid))
        if not wrong:
            limit = stability_limit(scenario, grid, self.fastest)
            wrong = [*step_problems(scenario, limit, "grid"), *storage.problems(scenario, grid)]
        return [*size_problems(scenario, grid), *wrong, *surface_problems(scenario), *output_problems(scenario)]

    def in_media(self, sources):
        """Return the sources; refuse those that waves without shear, or fields in 16 bits, cannot have."""
        refuse_all(acoustic.source_problems(self.scenario, sources))
        refuse_all(storage.source_problems(self.scenario, sources))
        return sources

    def discretise(self, scenario, sources, waves):
        """Return the `GridSpace` with its time step."""
        d = discretise(scenario, self.grid, sources, self.fastest, self.reuse)
        if d.in_half:
            d = replace(d, amplitude=storage.amplitude(d, sources, source_boxes.distances(d, sources)))
        if len(waves) > len(sources):
            d = replace(d, frequency=max(wave.wavelet.peak_frequency for wave in waves))
        return GridSpace(d, self.machine)

    def volume(self, low, high, stations, impulse):
        """Return the `GridVolume` between two corners, and list of Problem; CPML layers begin at the same points for all waves."""
        bare = self.scenario.model_copy(update={"source": ()})
        return greens.volume_of(discretise(bare, self.grid, [], self.fastest, self.reuse), low, high, stations)


def model_problems(scenario, grid):
    """Return what is wrong with the model on a grid: list of Problem."""
    wrong = earth.problems(scenario.model, grid)
    if all(isinstance(problem, checks.Unlikely) for problem in wrong):
        wrong += rheology.problems(scenario.model, grid) or acoustic.problems(scenario, grid)
        wrong += ground_problems(scenario, grid)
    return wrong


def ground_problems(scenario, grid):
    """Return a problem where ground or water rises into an absorbing layer at the top."""
    ground, kind = terrain.build(scenario.model), scenario.boundaries.face("top")
    if ground is None or kind not in ("cpml", "sponge"):
        return []
    highest = terrain.heights(ground, grid)[1]
    lower_side = grid.bounds("z")[1] - getattr(scenario.boundaries, kind).thickness * grid.steps[2]
    if highest < lower_side:
        return []
    message = f'the surface rises to {highest:.10g} m, into the "{kind}" layer of the top, which begins at {lower_side:.10g} m'
    return [Problem("boundaries.top", message, 'use "free" or "rigid": no waves enter the air above the ground')]


def surface_problems(scenario):
    """Return a method for the free surface where the top plane is not a free surface."""
    top, kind = scenario.boundaries.face("top"), scenario.boundaries.surface
    if kind == "sbp" or (top == "free" and scenario.model.topography is None):
        return []
    reason = f'the top is "{top}"' if top != "free" else "topography is represented by the material"
    return [Problem("boundaries.surface", f'"{kind}" needs a flat free surface: {reason}', "leave surface out")]


def output_problems(scenario):
    """Quantities that 2-D waves do not have."""
    motion = scenario.domain.motion
    fibres = [n for n, entry in enumerate(scenario.receivers) if hasattr(entry, "das")]
    if motion == "SH" and fibres:
        message = "SH waves do not strain a fibre in the (x, z) plane"
        return [Problem(f"receivers.{n}.das", message, "leave it out, or change domain.waves") for n in fibres]
    return [
        Problem(f"output.waveforms.{n}", f"{motion} waves have no {quantity}", "leave it out, or change domain.waves")
        for n, quantity in enumerate(scenario.output.waveforms)
        if components(quantity, motion) is None
    ]


def grid_of(scenario):
    """Return the grid of a scenario; without a spacing it is derived from max_frequency and points_per_wavelength."""
    domain = scenario.domain
    spacing = domain.spacing or derived_spacing(scenario)
    vertical = domain.vertical_spacing or sides.vertical_spacing(scenario, spacing)
    nx, ny, nz = domain.points(spacing, vertical)
    x, y, _ = domain.corner
    # the top keeps its elevation
    origin = (x, y, domain.top - (nz - 1) * (vertical or spacing))
    return Grid(origin, spacing, (nz, ny, nx), vertical=None if vertical == spacing else vertical)


def derived_spacing(scenario):
    """Spacing that gives the slowest wave its points per wavelength at max_frequency, m, rounded
    down to three digits.
    """
    domain = scenario.domain
    region = Region(domain.corner, tuple(o + s for o, s in zip(domain.corner, domain.extent)))
    refuse_all(earth.problems(scenario.model, region) + survey_problems(scenario))
    spacing = earth.extremes(scenario.model, region)["slowest"] / (domain.max_frequency * domain.points_per_wavelength)
    digits = 2 - math.floor(math.log10(spacing))
    return math.floor(spacing * 10**digits) / 10**digits


def discretise(scenario, grid, sources, vp_max=None, reuse=None):
    """Return the `Discretisation` of a scenario on a grid: order, step, start and number of steps."""
    reuse, vp_max = reuse or Reuse(keep=False), vp_max or fastest(scenario, grid)
    speeds = reuse.get("speeds", lambda: earth.extremes(scenario.model, grid))
    shots, fluid_only = survey_sources.shots(scenario), acoustic.chosen(scenario, grid, sources, speeds)
    limit = stability_limit(scenario, grid, vp_max)
    return Discretisation(
        **of_tables(scenario),
        grid=grid,
        **times(scenario, sources, limit, "grid"),
        limit=limit,
        vp_max=vp_max,
        frequency=max((s.wavelet.peak_frequency for s in sources), default=0.0) or 0.1 * vp_max / grid.spacing,
        shots=shots,
        acoustic=fluid_only,
        memo=reuse.get("medium", dict, (fluid_only, shots)),
    )


def of_tables(scenario):
    """Return what a `Discretisation` takes from the tables of a scenario, by name."""
    run = scenario.run
    tables = {"model": scenario.model, "boundaries": scenario.boundaries, "motion": scenario.domain.motion}
    return tables | {name: getattr(run, name) for name in ("order", "weights", "precision", "storage")}


def restore(scenario, plan):
    """Return the `Discretisation` of a plan, without what follows from its sources: for the medium, and what lies in it."""
    return Discretisation(
        **of_tables(scenario) | {"precision": plan.precision},
        grid=plan.grid.undivided,
        **{name: getattr(plan, name) for name in ("dt", "start", "steps", "extra", "shots")},
        vp_max=np.nan,
        frequency=np.nan,
        acoustic="s" in plan.arrays,
    )


def fastest(scenario, grid):
    """Return the fastest wave speed, m/s: over all directions, and with attenuation in the high-frequency limit."""
    model, speed = scenario.model, "vs" if scenario.domain.motion == "SH" else "vp"
    relaxation = rheology.relaxation(model, grid)
    if rheology.anisotropic(model, grid):
        return rheology.fastest_anisotropic(model, grid, speed, relaxation)
    if relaxation is not None:
        return rheology.fastest(model, grid, relaxation, speed)
    return earth.extremes(model, grid)[speed][1]


def size_problems(scenario, grid):
    """Axes too short for their absorbing layers and differences, or too long for 32-bit indices."""
    order, problems, boundaries = scenario.run.order, [], scenario.boundaries
    layers = {"cpml": boundaries.cpml.thickness + 1, "sponge": boundaries.sponge.thickness + 1}
    layers |= {"free": 2 * min(order, HIGHEST) + 2, "a1": order // 2 + 1}
    for axis, n in zip("xyz", grid.shape[::-1]):
        if axis == "y" and grid.planar:
            continue
        faces = [name for name, (along, _) in FACES.items() if along == axis]
        least = max(sum(layers.get(boundaries.face(name), 0) for name in faces) + 1, order + 1)
        if n < least:
            words = f"{n} points along {axis} are too few: the boundaries and differences of order {order} need {least}"
            remedy = f"make the domain longer along {axis}, the spacing smaller, or the absorbing layers thinner"
            problems.append(Problem("domain.size", words, remedy))
        if n > LONGEST:
            words = f"{n:,} points along {axis} exceed 32-bit indices"
            problems.append(Problem("domain.size", words, "use a larger spacing or a smaller domain"))
    count = math.prod(grid.shape)
    if not problems and count > MOST_POINTS:
        words = f"{count:,} points are more than a machine can address"
        problems.append(Problem("domain.size", words, "use a larger spacing"))
    return problems


def stability_limit(scenario, grid, vp_max):
    """Largest stable step, s."""
    run, boundaries, rise = scenario.run, scenario.boundaries, float(grid.steps[2] / grid.spacing)
    free = boundaries.face("top") == "free" and scenario.model.topography is None
    floor = sides.closed_plane(scenario.model, boundaries, run.order, grid) is not None
    kinds = [boundaries.surface] * free + ["sbp"] * floor
    radius = max((surface(kind, run.order).spectral_radius / rise for kind in kinds), default=None)
    stencil = scheme.stencil(run.order, run.weights, free or floor, scenario.domain.motion, rise)
    return scheme.stable_step(stencil, grid.spacing, vp_max, radius)
