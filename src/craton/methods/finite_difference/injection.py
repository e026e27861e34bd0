"""Boxes of the staggered grid whose sides incident waves cross, see `craton.methods.waves.coupling.boxes`: differences that reach through
a side, which a half step lacks where the total field is computed inside and the scattered field outside.

Let A be one half step of the whole field, I be 1 at points inside the box and 0 outside. The run computes w = u - (1 - I) u0, with u0 the
incident field, for which u0 -> A u0 without the scatterers. Then

    w -> A w + (I A - A I) u0,

and the commutator has entries only where a difference reaches from one side of the box to the other: sources that are exact for any linear
scheme, to rounding (total-field/scattered-field, Taflove & Hagness 2005, section 5.10; multiple point sources, Robertsson & Chapman 2000,
Geophysics 65, 908). For an entry that takes the value at q to the point p it is A[p, q] (I[p] - I[q]).

A box that ends at a free surface is open there: no difference crosses its top. Memory variables of attenuation are part of the field.

A is found by trial: the kernels of the step, on a slab of the grid around each side, are applied to fields that are 1 in one plane along
the side, plane after plane. A difference along an axis, and no other, takes fields to fields that are half a point away along it.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from craton.core.localise import localise_plan
from craton.core.subdomain import Subdomain
from craton.errors import Problem
from craton.methods.finite_difference.equations import contact, material, relaxing, vti
from craton.methods.finite_difference.equations.boundaries import inside_layer
from craton.methods.finite_difference.equations.half_steps import step_alone
from craton.methods.finite_difference.equations.scheme import HALF
from craton.methods.waves.coupling import boxes, recorded
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.interpolate import MARGIN
from craton.methods.waves.tables import injection, table_of
from craton.tables.fields import spatial

ON_POINT = 1e-3  # of half a spacing: positions that are the same
PHASES = {  # where in a step, and to which array, crossings are added
    "velocity": ("velocity_before", "state"),
    "stress": ("stress_last", "state"),
    "memory": ("stress_last", "memory"),
}
ROUNDING = 1e-14  # of the largest weight: what is left where differences end at contacts


class GridBoxes:
    """Boxes of a grid, as `craton.methods.waves.coupling.boxes.Boxes`.

    Parameters
    ----------
    space : GridSpace
        The step is tried on its machine.
    """

    method, team, on_earth, layers = "fd", SingleRank(), False, "boundaries.cpml"
    medium = ("qp", "qs", "vp", "vs", "rho")
    beside, outside_points = f"less than {MARGIN} points from", "outside the domain or in absorbing layers"

    def __init__(self, space):
        self.space, self.d, self.machine = space, space.d, space.machine
        d, self.precision = self.d, self.d.precision
        self.fields = tuple(name for name in boxes.FIELDS if name in d.fields)
        self.reach, self.tolerance = d.grid.spacing, ON_POINT * d.grid.spacing
        self.refused_points = [
            (d.ground is not None, "where the medium has topography", "record without sampling"),
            (d.partly_fluid, "where the model has fluid parts", "leave the fluid out"),
        ]
        surface = f", boundaries.surface {d.boundaries.surface}" if d.free else ""
        self.alike = {"differences": f"run.order {d.order}, weights {d.weights}{surface}"}
        self.alike |= recorded.attenuation_of(d.relaxation)

    def box(self, spec):
        """Return the `Box` of the grid points nearest to the corners of a table."""
        return self.nearest(spec.from_, spec.to)

    def nearest(self, low, high):
        """Return the `Box` of the grid points nearest to two corners, m."""
        d = self.d
        corners = [np.rint((np.array(spatial(c)) - d.grid.origin) / d.grid.steps).astype(int) for c in (low, high)]
        if d.planar:
            for corner in corners:
                corner[1] = 0
        top = d.grid.shape[0] - 1
        open_top = d.face("top") == "free" and corners[1][2] >= top
        if open_top:  # above it there is nothing
            corners[1][2] = top
        return Box(*(tuple(map(int, c)) for c in corners), bool(open_top), d.planar)

    def box_of_wave(self, wave):
        """Return the `Box` of an incident wave in the points of this grid, and list of Problem."""
        if wave.wavelet or wave.resampled:
            return self.nearest(*wave.corners), []
        d, about, key = self.d, wave.about, f"{wave.key}.recorded"
        theirs = (about["spacing"], about.get("vertical", about["spacing"]))
        for name, recorded_step, step in zip(("spacing", "vertical_spacing"), theirs, d.grid.steps[1:]):
            if abs(recorded_step - step) > 1e-9 * step:
                words = f"it was recorded with a {name} of {recorded_step:.9g} m, the grid has {step:.9g} m"
                return None, [Problem(key, words, f"write the same domain.{name} in both runs")]
        offset = (np.array(about["origin"]) - d.grid.origin) / d.grid.steps
        if d.planar:
            offset[1] = 0.0
        if np.abs(offset - np.rint(offset)).max() > ON_POINT:
            words = "its points do not lie on points of this grid"
            return None, [Problem(key, words, "move domain.origin by a part of the spacing")]
        low, high = (np.array(about[name]) + np.rint(offset).astype(int) for name in ("low", "high"))
        box = Box(tuple(map(int, low)), tuple(map(int, high)), about["open_top"], d.planar)
        if box.open_top and (d.face("top") != "free" or box.high[2] != d.grid.shape[0] - 1):
            words = "the box is open at a free surface at its top, which this run does not have there"
            return None, [Problem(key, words, 'give both runs boundaries.top = "free" at the same elevation')]
        odd = [axis for axis, n in zip("xyz", np.rint(offset)) if n % 2]
        if odd and d.relaxing and not relaxing.Mechanisms(d).alike:
            words = (
                f"the grids are an odd number of points apart along {', '.join(odd)}, and next points "
                f'have other mechanisms where attenuation.storage is "{d.relaxation.storage}"'
            )
            remedy = f"move domain.origin by {d.grid.spacing:g} m along {', '.join(odd)}"
            return box, [Problem(key, words, f'{remedy}, or write storage = "full" in both runs')]
        return box, []

    def box_problems(self, box, key):
        """Return what stands against a box: list of Problem."""
        d = self.d
        if d.cells is not None:
            return [Problem(key, "there is no box yet where the medium is that of an inversion", "leave it out")]
        problems = []
        for axis in box.axes:
            first, last = reachable(d, axis)
            shallowest = below_surface(d) if axis == 2 and box.open_top else last
            if box.high[axis] - box.low[axis] < 2:
                words = f"the box is less than two points wide along {'xyz'[axis]}"
                problems.append(Problem(key, words, "make it larger, or the spacing smaller"))
            elif box.low[axis] < first or (box.high[axis] > last and not (axis == 2 and box.open_top)):
                low, high = (d.grid.origin[axis] + d.grid.steps[axis] * n for n in (first, last))
                words = f"the box is too close to a boundary along {'xyz'[axis]}"
                top = ", or end it at the free surface" if axis == 2 and d.face("top") == "free" else ""
                problems.append(Problem(key, words, f"keep it between {low:,.6g} and {high:,.6g} m{top}"))
            elif box.low[axis] > shallowest:
                limit = d.grid.origin[2] + d.grid.steps[2] * shallowest
                words = "the lower side of the box lies among the differences below the free surface"
                problems.append(Problem(key, words, f"let it reach down to {limit:,.6g} m or deeper"))
        return problems

    def about(self, box):
        """Return what a recording says of its box: dict."""
        grid = self.d.grid
        return {
            "spacing": float(grid.spacing),
            "vertical": float(grid.steps[2]),
            "low": list(box.low),
            "high": list(box.high),
            "origin": [float(v) for v in grid.origin],
            "open_top": box.open_top,
        }

    def sides(self, box):
        """Return the `GridSides` of a box."""
        step = step_alone(replace(self.d, precision="float64"))
        return GridSides(self.d, crossings(self.d, box, step, self.machine))

    def positions_beside(self, box, xyz):
        """Return which positions (n, 3), m, are in a box or so near that their weights reach into it, and which are so
        deep inside that they do not reach out of it: (n,) bool arrays.
        """
        n = (np.asarray(xyz, float).reshape(-1, 3) - self.d.grid.origin) / self.d.grid.steps
        around, deep = np.ones((2, len(n)), bool)
        for axis in box.axes:
            low, high = box.low[axis], np.inf if axis == 2 and box.open_top else box.high[axis]
            around &= (n[:, axis] > low - MARGIN) & (n[:, axis] < high + MARGIN)
            deep &= (n[:, axis] >= low + MARGIN) & (n[:, axis] <= high - MARGIN)
        return around, deep

    def peak(self, places, series):
        """Return the largest velocity of incident values, m/s."""
        return recorded.peak_of(series, np.isin(places.fields, self.d.velocity))

    def shell_of(self, spec):
        """Return the `Shell` of a recording at points."""
        return boxes.shell_of(spec, self.d.grid.bounds("z")[1] if self.d.face("top") == "free" else np.inf)

    def outside(self, xyz):
        """Return which positions (n, 3), m, are outside the domain or in absorbing layers, (n,) bool."""
        d, axes = self.d, [0, 2] if self.d.planar else [0, 1, 2]
        low, high = np.array([d.grid.bounds(axis) for axis in "xyz"]).T
        beyond = (xyz < low - ON_POINT) | (xyz > high + ON_POINT)
        return beyond[:, axes].any(axis=1) | inside_layer(d, xyz)


def below_surface(d):
    """Return the highest integer point along z of a side through which no difference of the planes
    below a free surface reaches.
    """
    reach = len(d.stencil.axes[2])
    return d.grid.shape[0] - (d.surface_planes + reach - 1 if d.free else 0)


def reachable(d, axis):
    """First and last integer point along an axis through which a side may pass: differences through
    it reach no layer, and no planes of a free surface.
    """
    count, reach = d.grid.shape[2 - axis], max(map(len, d.stencil.axes)) + 1
    points = np.zeros((count, 3))
    points[:] = [np.mean(d.grid.bounds(a)) for a in "xyz"]
    points[:, axis] = d.grid.axis("xyz"[axis])
    plain = ~inside_layer(d, points)
    if axis == 2:
        plain[count - d.surface_planes :] = False
    inside = np.flatnonzero(plain)
    return int(inside[0]) + reach, int(inside[-1]) - reach


@dataclass(frozen=True, eq=False)
class GridSides:
    """The sides of a box, as `craton.methods.waves.coupling.boxes.Sides`.

    Parameters
    ----------
    d : Discretisation
    crossings : dict of str to Crossing
    """

    d: Any
    crossings: dict

    @cached_property
    def places(self):
        """The `Places` that differences through the sides take."""
        d = self.d
        state = np.unique(np.concatenate([crossing.source for crossing in self.crossings.values()]))
        fields, xyz, points = where(d, state)
        around, at_contacts = medium(d, points), contacts(d, points)
        fluid = np.isfinite(at_contacts) | ((around["vs"] == 0) & (around["vs"] > 0).any())
        around |= {"contact": at_contacts} if d.partly_fluid else {}
        # the velocity step takes the stress that the step before has left
        late = np.isin(fields, d.stress)
        return boxes.Places(fields, xyz, state, late, around, fluid, np.arange(len(state)))

    def without_anomalies(self, wave):
        """Return vp, vs and rho of the layers alone at the places: dict."""
        layers = replace(self.d, model=self.d.model.model_copy(update={"anomalies": ()}), memo={})
        return medium(layers, self.d.layout.place(self.places.state))

    def launches(self, name, series):
        """Return arrays, and launches by phase, that inject the values of all steps, (steps, n)."""
        arrays, launches = {}, {}
        for kind, crossing in self.crossings.items():
            table = table_of(crossing.target, crossing.weight, np.searchsorted(self.places.state, crossing.source))
            more, launch = injection(f"{name}_{kind}", table, series, self.d.precision, PHASES[kind][1])
            arrays |= more | {f"{name}_series": more[f"{name}_{kind}_series"]}
            del arrays[f"{name}_{kind}_series"]
            names = tuple(f"{name}_series" if a.endswith("_series") else a for a in launch.arrays)
            launch = replace(launch, arrays=names, places=self.d.layout.place(table[0]))
            launches.setdefault(PHASES[kind][0], []).append(launch)
        return arrays, launches


def where(d, index):
    """Return names of the fields, positions (n, 3), m, and points (k, j, i) of places of the state."""
    fields = (index + d.layout.first) // d.layout.field
    points = d.layout.place(index)
    half = np.array([HALF[name] for name in d.fields])[fields] / 2
    xyz = d.grid.origin + d.grid.steps * (np.stack(points[::-1], axis=1) + half)
    if d.planar:
        xyz[:, 1] = 0.0
    return np.array(d.fields)[fields], xyz, points


def medium(d, at):
    """vp, vs, m/s, and rho, kg/m3, that the model gives for the cells at points (k, j, i), with
    attenuation Qp and Qs, 0 where there is none: dict of arrays.
    """
    names = ("vp", "vs", "rho", *(("qp", "qs") if d.relaxing else ()))
    out = np.zeros((len(names), len(at[0])))
    cells = d.cell(at)
    for k in np.unique(cells[0]):
        on = cells[0] == k
        box = [v for a in cells for v in (int(a[on].min()), int(a[on].max()) + 1)]
        part = d.grid.window(box)
        here = tuple(a[on] - low for a, low in zip(cells, box[::2]))
        rho, kappa, mu = (v[here] for v in (vti if d.anisotropic else relaxing).reference_medium(d, part))
        with np.errstate(divide="ignore", invalid="ignore"):
            speeds = np.sqrt((kappa + 4 / 3 * mu) / rho), np.sqrt(mu / rho)
            inverse_q = relaxing.inverse_q(d, part) if d.relaxing else ()
            quality = [np.where(v[here] > 0, 1 / v[here], 0) for v in inverse_q]
        out[:, on] = (*np.nan_to_num(speeds), rho, *quality)
    return dict(zip(names, out))


def contacts(d, at):
    """Numbers that stand for the differences that end at contacts of fluid and solid (contact.py)
    at points (k, j, i); nan where none does: (n,) array.
    """
    closed, out = contact.closures(d), np.full(len(at[0]), np.nan)
    if closed is None:
        return out
    (k0, k1, j0, j1, i0, i1), at = closed.box, d.cell(at)
    limits = zip(at, (k0, j0, i0), (k1, j1, i1))
    in_box = np.logical_and.reduce([(n >= low) & (n < high) for n, low, high in limits])
    k, j, i = (n[in_box] for n in at)
    situations = closed.situations.at(k - k0, j - j0, i - i0)
    different, which = np.unique(situations, return_inverse=True)
    patterns = closed.patterns[closed.rows[different]]
    _, columns, width = patterns.shape
    any_weights = np.cos(100.0 * np.arange(columns)[:, None] + np.arange(width) - width // 2)
    numbers = (patterns * any_weights).sum((1, 2))  # of no two situations the same
    out[in_box] = np.where(different > 0, numbers, np.nan)[which]
    return out


# --- what crosses the sides ------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """A box of integer points of the grid, both ends inside.

    Parameters
    ----------
    low, high : tuple of int
        First and last point along (x, y, z).
    open_top : bool
        It ends at the free surface.
    planar : bool
        The (x, z) plane: it has no sides along y.
    """

    low: tuple
    high: tuple
    open_top: bool
    planar: bool

    @property
    def axes(self):
        """Axes (0, 1, 2 for x, y, z) along which it has sides."""
        return (0, 2) if self.planar else (0, 1, 2)

    def holds(self, axis, half, n):
        """Return whether the index `n` along an axis is inside, of points on or half-way between
        integer points.

        Parameters
        ----------
        axis : int
        half : int
            1 for points half-way.
        n : int or int array
        """
        first, last = self.limits(axis, half)
        return (n >= first) & ((n < last) | (axis == 2 and self.open_top))

    def limits(self, axis, half):
        """Return the first and last + 1 index inside, see `holds`.

        Parameters
        ----------
        axis, half : int
        """
        return self.low[axis], self.high[axis] + 1 - half


@dataclass(frozen=True, eq=False)
class Crossing:
    """Entries of the commutator of one half step.

    Parameters
    ----------
    target : (n,) int array
        Places in the state, or in the block of memory variables, see `Discretisation.start_of`.
    source : (n,) int array
        Places in the state.
    weight : (n,) array
    """

    target: np.ndarray
    source: np.ndarray
    weight: np.ndarray


def crossings(d, box, step, machine):
    """Return the `Crossing` of the half steps: dict by ``"velocity"`` and ``"stress"``, and with attenuation of the
    ``"memory"`` variables.

    `step` is the `StepPlan` of the grid in float64, without sources and receivers; parts of it run on the `machine`.
    """
    parts = {}
    for axis in box.axes:
        for limits in slabs(d, box, axis):
            part = Subdomain(limits)
            local = localise_plan(replace(step, partition=(part,)), part)
            program = machine.commit(local, {"material": partial(material.fill, d=d)})
            for names in alike(d, axis):
                for n in range(*part.range("xyz"[axis])):
                    for kind, rows in entries(d, box, axis, program, names, n):
                        parts.setdefault(kind, []).append(rows)
    out = {}
    for kind, rows in parts.items():
        target, source, weight = (np.concatenate(columns) for columns in zip(*rows))
        real = np.abs(weight) > ROUNDING * np.abs(weight).max()
        out[kind] = Crossing(target[real], source[real], weight[real])
    return out


def slabs(d, box, axis):
    """Yield the parts of the grid (k0, k1, j0, j1, i0, i1) in which differences along an axis reach through a side."""
    closed = contact.closures(d)
    reach = d.reach if closed is None else max(d.reach, closed.patterns.shape[1] // 2)
    ends = [box.low[axis], *([] if axis == 2 and box.open_top else [box.high[axis]])]
    lines = np.unique(np.add.outer(ends, np.arange(-reach, reach + 1)).clip(0, d.grid.shape[2 - axis] - 1))
    for run in np.split(lines, np.flatnonzero(np.diff(lines) > 1) + 1):
        ranges = [(low, high + 1) for low, high in zip(box.low, box.high)]
        ranges[axis] = int(run[0]), int(run[-1]) + 1
        # even and odd points may have other mechanisms of attenuation
        yield tuple(n for low, high in ranges[::-1] for n in (low - low % 2, high))


def alike(d, axis):
    """Yield names of fields of one half step that lie alike along an axis: no field takes two of them along it."""
    others = {f"s{a}{a}" for a in "xyz"} - {"s" + 2 * "xyz"[axis]}
    for fields in (d.velocity, [name for name in d.stress if name not in others]):
        for half in (0, 1):
            if names := [name for name in fields if d.half(name)[axis] == half]:
                yield names


def entries(d, box, axis, program, names, n):
    """Yield what a step makes of fields that are 1 in a plane n across an axis, as far as it crosses a side:
    ``"velocity"``, ``"stress"`` or ``"memory"``, and (targets, sources, weights).
    """
    corner, layout, moves = program.plan.subdomain.box[::2], program.plan.layout, names[0] in d.velocity
    blocks = {"state": d.fields} | ({"memory": relaxing.Mechanisms(d).fields} if d.relaxing else {})
    with program.backend.work():
        for block in blocks:
            program.arrays[block][...] = 0
        for name in names:
            program.grid(name)[(slice(None),) * (2 - axis) + (n - corner[2 - axis],)] = 1
    program.step(0)
    starts = {d.half(name): d.start_of(name) for name in names}
    for block, fields in blocks.items():
        values = program.host(block)
        for number, name in enumerate(fields):
            half = d.half(name)
            start = starts.get((*half[:axis], 1 - half[axis], *half[axis + 1 :]))  # of a field half a point away
            if start is None or (name in d.velocity) == moves:
                continue
            lines = [np.arange(*box.limits(other, half[other])) for other in range(3)]
            across = np.arange(*program.plan.subdomain.range("xyz"[axis]))
            inside = box.holds(axis, half[axis], across)
            crosses = inside != box.holds(axis, 1 - half[axis], n)
            lines[axis], sign = across[crosses], np.where(inside[crosses], 1, -1)
            first = layout.start(number)
            of_field = values[first : first + np.prod(layout.padded)].reshape(layout.padded)[layout.window()]
            weight = of_field[np.ix_(*(line - low for line, low in zip(lines[::-1], corner)))]
            weight = weight * np.expand_dims(sign, tuple({0, 1, 2} - {2 - axis}))
            target = number * d.layout.field + d.layout.offset(*np.ix_(*lines[::-1]))
            lines[axis] = np.array([n])
            source = np.broadcast_to(start + d.layout.offset(*np.ix_(*lines[::-1])), target.shape)
            some = weight != 0
            kind = "velocity" if not moves else "stress" if block == "state" else "memory"
            yield kind, (target[some], source[some], weight[some])
