"""The staggered grid as a `craton.methods.waves.space.Space`: where positions lie on it, and which points read a quantity or take a
source there.

A force F in a cell of volume V adds dt F / (rho V) to velocity; a moment rate M' adds -dt M' / V to stress (stress glut, Aki & Richards
2002, section 3.4). Sources are spread with the weights that would interpolate a receiver there, divided by the norm of the scheme:
exchanging source and receiver then changes nothing but rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from craton.conventions import COMPONENT_AXES, velocity_slopes
from craton.methods.finite_difference import notes, points, sides
from craton.methods.finite_difference.equations import acoustic, half_steps, material, storage
from craton.methods.finite_difference.equations.boundaries import inside_layer
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.finite_difference.injection import GridBoxes, medium
from craton.methods.finite_difference.points import TENSOR, around, at_surface, on_surface, positions_of
from craton.methods.waves import pictures
from craton.methods.waves.coupling.recorded import carriers
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.interpolate import AxisWeights
from craton.methods.waves.peaks import Sites
from craton.methods.waves.tables import Changed, Rows, scaled, stacked
from craton.model.ground import terrain
from craton.survey.sources import PlaneWave
from craton.tables.receivers import Plane
from craton.text import first_of

CARRIED = 2.5  # points per wavelength of the slowest wave


@dataclass(frozen=True, eq=False)
class GridPlaces:
    """Positions on the grid, (n, 3) in spacings; in the plane y counts shots. `rows` are those among the positions that were asked for."""

    rows: np.ndarray
    positions: np.ndarray
    pressure_at = np.nan  # as its quantity says


class GridSpace:
    """Positions on the grid of a `Discretisation`."""

    integrates = False  # moment rates act, on stress
    injected = "state"
    team = SingleRank()

    def __init__(self, d, machine=None):
        self.d, self.machine, self.motion, self.shots = d, machine, d.motion, d.shots

    @property
    def medium_key(self):
        """What rows depend on beside positions, among plans of one medium."""
        return self.d.acoustic, self.d.shots

    @property
    def carried(self):
        """Highest frequency of slip rates, Hz: what is shorter than CARRIED points of the slowest wave is taken out of them."""
        return self.d.slowest / (CARRIED * self.d.grid.spacing)

    def locate(self, xyz, shots=0, fluid_first=False) -> list:
        """Return the `GridPlaces` of positions (n, 3), m, all in one: fields know on which side of a contact they are read."""
        return [GridPlaces(np.arange(len(xyz)), positions_of(self.d, xyz, shots))]

    # --- out --------------------------------------------------------------------------------------

    def read(self, quantity, component, places, rows) -> Iterator:
        """Yield the rows of one component of a quantity at some places, (m,) rows of these, numbered as they are."""
        d, positions = self.d, places.positions[rows]
        if quantity == "velocity":
            yield from (part for _, part in self._velocity("ENZ".index(component), positions))
        elif quantity == "stress":
            yield from self._stress(component, positions)
        elif quantity == "pressure":
            yield from self._pressure(positions)
        else:
            for field, derivative, factor in gradient_terms(d, quantity, component):
                yield from (scaled(part, factor) for part in around(d, field, positions, derivative))

    def stacked(self, count, parts):
        """Return the rows of channels as the record takes them; see `tables.stacked`."""
        if not self.d.in_half:
            return stacked(count, parts, self.d.precision, later=True)
        first, index, weight = stacked(count, parts, self.d.precision)
        return first, index, weight / storage.scales(self.d, index)

    def _velocity(self, axis, positions, in_matter=True):
        """Yield (field, rows) of a component of velocity."""
        d = self.d
        if VELOCITY[axis] not in d.fields:
            return
        top = on_surface(d, positions) if axis == 2 else np.zeros(len(positions), bool)
        inside = around(d, VELOCITY[axis], positions[~top], in_matter=in_matter)
        inside = ((VELOCITY[axis], part) for part in inside)
        for some, parts in ((top, at_surface(d, positions[top])), (~top, inside)):
            if some.any():
                yield from ((field, Changed(part, names=np.flatnonzero(some))) for field, part in parts)

    def _stress(self, component, positions):
        """Yield rows of a component of stress; on a free surface there is no traction. In acoustic waves normal stresses are one."""
        d, (a, b) = self.d, COMPONENT_AXES[component]
        field = "s" if d.acoustic else f"s{'xyz'[a]}{'xyz'[b]}"
        if field in d.fields:
            loaded = np.flatnonzero(~on_surface(d, positions) | ("z" not in field and field != "s"))
            yield from (Changed(part, names=loaded) for part in around(d, field, positions[loaded]))

    def medium(self, places):
        """Return vp, vs, rho, qp and qs of the cells around places, by name; Q is 0 where there is no attenuation."""
        at = tuple(np.rint(places.positions[:, axis]).astype(int) for axis in (2, 1, 0))
        return dict.fromkeys(("qp", "qs"), np.zeros(len(at[0]))) | medium(self.d, at)

    def _pressure(self, positions):
        """Yield rows of minus a third of the trace of stress; in the plane, syy is the share of sxx + szz that keeps eyy = 0."""
        d = self.d
        for field in d.normal:
            share = partial(_share_of_pressure, d, field)
            yield from (Changed(part, share) for part in around(d, field, positions, None, True))

    def raster(self, spec):
        """See `Space.raster`."""
        d = self.d
        filled = None if d.ground is None else terrain.filled(d.ground, d.grid)
        fields, share = d.velocity, None
        if spec.quantity == "pressure":
            nz, _, nx = d.shape
            # of the plane pressure depends on the cells
            at = np.meshgrid(np.arange(nz), np.arange(1), np.arange(nx), indexing="ij") if d.planar else None
            fields = d.normal
            if d.planar and d.anisotropic:
                share = {name: np.float32(material.trace_share(d, at, name)) for name in fields}
            else:
                share = np.float32(material.trace_share(d, at))
        half = {name: d.half(name) for name in fields}
        scale = storage.scale(d, fields[0]) if d.in_half else None
        return pictures.grid_raster(d, spec, half, trace_share=share, filled=filled, scale=scale)

    def sites(self, spec):
        """Return the `Sites` of a map of peaks: points of the grid."""
        d = self.d
        plane = Plane(z=float(d.grid.bounds("z")[1])) if spec.on_ground else spec.plane
        coords, lattice = pictures.shown(d, spec.model_copy(update={"plane": plane}))
        axes = [np.atleast_1d(n if isinstance(n, int) else np.arange(*n)) for n in lattice.values()]
        points, places, filled = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")]), {}, None
        if d.ground is not None:
            filled = np.broadcast_to(terrain.filled(d.ground, d.grid), d.grid.shape[1:])[points[1], points[2]]
            if spec.on_ground:
                coords.pop("z")
                points[0] = np.maximum(filled - 1, 0)
        xyz = np.stack([d.grid.axis(a)[n] for a, n in zip("xyz", points[::-1])], axis=1)
        usable = ~inside_layer(d, xyz) & (True if filled is None else points[0] < filled)
        if filled is not None and spec.on_ground:
            elevation = np.where(usable, xyz[:, 2], np.nan)
            places = {"elevation": (tuple(coords), elevation.reshape([len(c) for c in coords.values()]))}
        return Sites(coords, xyz, np.flatnonzero(usable), places, points=points[:, usable])

    def rows_of_sites(self, sites):
        """Return False, for components have rows of their own, and the rows of E, N, Z of all sites, one component behind the other.

        Below a topography they are means of the two points of a velocity beside each site; at either end of the grid, where one is missing,
        the other.
        """
        d, count = self.d, sites.points.shape[1]
        if d.ground is None:
            positions = sites.points[::-1].T.astype(float)
            parts = [
                Changed(part, names=3 * np.arange(count) + axis)
                for axis in range(3)
                for _, part in self._velocity(axis, positions, in_matter=False)
            ]
            return False, stacked(3 * count, parts, d.precision)
        source = np.empty((count, 3, 2), np.int64)
        for c, name in enumerate(VELOCITY):
            axis = 2 - d.half(name).index(1)
            for side in (0, 1):
                at = sites.points.copy()
                at[axis] = np.clip(at[axis] - 1 + side, 0, d.shape[axis] - 2)
                source[:, c, side] = d.start_of(name) + d.layout.offset(*at)
        return False, (2 * np.arange(3 * count + 1), source.ravel(), np.full(source.size, 0.5, d.precision))

    # --- in ---------------------------------------------------------------------------------------

    def tables(self, sources, index, column) -> Iterator:
        """Yield the name of a table of point sources, which rows it has, and its sources."""
        is_force = np.array([source.force is not None for source in sources])
        for name, chosen in (("velocity", is_force), ("stress", ~is_force)):
            if chosen.any():
                yield name, chosen[column], np.flatnonzero(chosen)

    def placed(self, launch, target):
        """Return the launch of a table of sources with the points (k, j, i) of its targets."""
        return replace(launch, places=self.d.layout.place(target))

    def point_rows(self, sources, fluid_first=None):
        """Return index, weight and source of what point sources add to the state, source after source.

        On a contact, tensors without shear act on the fluid unless `fluid_first`, one bool of each source, says otherwise.
        """
        d = self.d
        xyz, shots = np.array([s.xyz for s in sources], float), np.array([s.shot for s in sources])
        positions, parts = positions_of(d, xyz, shots), []
        plane = {n: s for n, s in enumerate(sources) if isinstance(s, PlaneWave)}
        forces = np.array([n for n, s in enumerate(sources) if s.force is not None and n not in plane], int)
        if len(forces):
            of_forces = self.forces(positions[forces], np.array([sources[n].force for n in forces], float))
            parts += [Changed(part, names=forces) for part in of_forces]
        parts += [self._plane(n, source, positions[n, 2]) for n, source in plane.items()]
        if moments := [n for n, s in enumerate(sources) if s.moment is not None]:
            tensors = np.array([sources[n].moment for n in moments], float)
            if fluid_first is None:
                fluid_first = [not acoustic.has_shear(tensor, d.planar) for tensor in tensors]
            of_moments = self.moments(positions[moments], tensors, np.array(fluid_first))
            parts += [Changed(part, names=np.array(moments)) for part in of_moments]
        first, index, weight = stacked(len(sources), parts)
        return index, weight, np.repeat(np.arange(len(sources)), np.diff(first))

    def forces(self, positions, forces) -> Iterator:
        """Yield the rows of what forces (n, 3) at positions add to velocity in a step."""
        d = self.d
        for axis in range(3):
            acting = np.flatnonzero(forces[:, axis])
            for field, part in self._velocity(axis, positions[acting]):
                impulse = d.dt * forces[acting, axis]
                yield Changed(scaled(part, impulse), partial(_over_mass, d, VELOCITY.index(field)), acting)

    def moments(self, positions, tensors, fluid_first) -> Iterator:
        """Yield the rows of what moment rates, tensors (n, 3, 3), at positions add to stress in a step."""
        d = self.d
        for field, moment in self.glut(tensors):
            acting = np.flatnonzero(moment)
            for part in around(d, field, positions[acting], None, fluid_first[acting]):
                part = Changed(scaled(part, moment[acting]), partial(points.over_norm, d, field), acting)
                yield from self.below_surface(field, part)

    def glut(self, tensors) -> Iterator:
        """Yield each stress with what moment rates take from it in a step, over its weights: (n,)."""
        d = self.d
        glut = {field: tensors[:, a, b] for field, (a, b) in TENSOR.items() if field in d.fields}
        if d.acoustic:
            glut = {"s": np.array([acoustic.isotropic(tensor, d.planar) for tensor in tensors])}
        yield from ((field, -d.dt / d.volume * moment) for field, moment in glut.items() if moment.any())

    def below_surface(self, field, part) -> Iterator:
        """Yield the rows of a stress. szz is held at zero on a free surface: there, what Mzz would add appears in the horizontal normal
        stresses. Pressure is, too.
        """
        d = self.d
        if not d.free or field not in ("szz", "s"):
            yield part
            return
        for some, index, weight in part.blocks():
            at = d.layout.place(index)
            top = at[0] == d.grid.shape[0] - 1
            yield Rows(part.numbers[some], (~top).sum(axis=1), index[~top], weight[~top])
            if top.any() and not d.acoustic:
                on_top = [a[top] for a in at]
                ratio = -material.vertical_strain(d, on_top)
                for other in (f for f in ("sxx", "syy") if f in d.fields):
                    there = d.start_of(other) + d.layout.offset(*on_top)
                    yield Rows(part.numbers[some], top.sum(axis=1), there, ratio * weight[top])

    # --- thousands of moments ---------------------------------------------------------------------

    def moment_blocks(self, xyz, tensors) -> Iterator:
        """Yield index, weight and source of the rows of thousands of moments, some thousand sources at a time; see points.py."""
        return points.moment_blocks(self, positions_of(self.d, xyz), tensors)

    def moment_table(self, xyz, tensors):
        """Return the targets of thousands of moments, their number of rows, and the function that yields these as `moment_blocks` does."""
        return points.moment_table(self, positions_of(self.d, xyz), tensors)

    def _plane(self, number, source, z):
        """Return the rows of a plane wave: the same force on every point of its plane, spread along z as a receiver is."""
        d, index, weight = self.d, [np.empty(0, np.int64)], [np.empty(0)]
        nz, ny, nx = d.grid.shape
        for axis, force in enumerate(source.force):
            if force and VELOCITY[axis] in d.fields:
                half = d.half(VELOCITY[axis])[2]
                along = AxisWeights([z - half / 2], 0, nz - 1 - half)
                k = along.first[0] + np.arange(along.count[0])
                weights = d.dt * force / d.grid.steps[2] * along.weights[0, : len(k)] / d.norms(k, half)
                k, j, i = (a.ravel() for a in np.meshgrid(k, np.arange(ny), np.arange(nx), indexing="ij"))
                index.append(d.start_of(VELOCITY[axis]) + d.layout.offset(k, j, i))
                weight.append(np.repeat(weights, nx * ny))
        index, weight = np.concatenate(index), np.concatenate(weight)
        return Rows(np.array([number]), np.array([len(index)]), index, weight)

    # --- boxes and the plan -----------------------------------------------------------------------

    def boxes(self, domain):
        """See `Space.boxes`."""
        return GridBoxes(self)

    def problems(self, scenario, sources):
        """Return what is wrong with sources in fluids: list of Problem."""
        return sides.source_problems(self.d, sources)

    @property
    def smallest(self):
        """Least density, slowest wave, volume of a cell, and 1: velocity itself is watched."""
        return self.d.speeds["rho"][0], self.d.slowest, self.d.volume, 1.0

    def equations(self, arrays, launches, tables, reuse):
        """Return all arrays and the phases of a step; see `half_steps.equations`."""
        return half_steps.equations(self.d, arrays, launches, tables, reuse)

    def described(self, scenario, arrays):
        """Return what the plan says of the grid: dict."""
        d = self.d
        return {
            "solver": "fd_elastic",
            "grid": d.grid,
            "layout": d.layout,
            "scale": d.amplitude,
            "watched": d.velocity,
            "kinetic": tuple((name, "") for name in d.velocity),
            "weights": half_steps.weights(d),
        }

    def warnings(self, setup):
        """Return warnings about a valid scenario that is probably not what was meant: list of str."""
        d, sources, receivers, incident = self.d, setup.sources, setup.receivers, setup.incident
        in_layer = [source.name for source in sources if inside_layer(d, source.points).any()]
        in_layer += [receivers.names[n] for n in np.flatnonzero(inside_layer(d, receivers.xyz))]
        words = "inside an absorbing layer, where waves are damped: "
        return [
            *acoustic.warnings(d, sources),
            *sides.warnings(d, sources),
            *[words + first_of(in_layer)] * bool(in_layer),
            *growing(d),
            *notes.too_coarse(d, carriers(sources, incident)),
        ]

    def completed(self, plan, setup):
        """Return the plan with its notes."""
        plan.notes = notes.sections(self.d, plan, setup)
        return plan


def growing(d):
    """Return a warning for A1 at a side of a solid: it grows slowly at vp / vs = 1.73, sooner at
    larger ratios (bench/long_run_rows.toml).
    """
    media = getattr(d.model, "layers", None) or [d.model]
    ratio = max((m.vp / m.vs for m in media if getattr(m, "vs", 0)), default=0)
    if not ratio or not any(axis < 2 for axis, _ in d.faces("a1")):
        return []
    return [
        f"A1 at a side face grows in long runs, sooner for larger vp / vs ({ratio:.2f} here; within 2,000 steps at 2.5): "
        'use "sponge" or "cpml"'
    ]


def gradient_terms(d, quantity, component) -> list:
    """Return (velocity, axis of its derivative, factor) of `velocity_slopes` that are computed."""
    h = d.grid.steps.tolist()
    terms = [(VELOCITY[v], a, factor / h[a]) for v, a, factor in velocity_slopes(quantity, component)]
    return [term for term in terms if term[0] in d.fields and not (d.planar and term[1] == 1)]


def _share_of_pressure(d, field, _, index, weight):
    """Return weights of a normal stress times minus its share of pressure."""
    return -weight * material.trace_share(d, d.layout.place(index), field)


def _over_mass(d, axis, _, index, weight):
    """Return weights over the mass that a component of velocity moves at its points."""
    density = averaged_density(d, d.layout.place(index), axis)
    return weight / (density * d.volume * points.norms(d, VELOCITY[axis], index))


def averaged_density(d, at, axis):
    """Density where a velocity component is: mean of its two neighbours along the axis, as in the kernel."""
    at = d.cell(at)
    box = [v for a in at for v in (int(a.min()), int(a.max()) + 1)]
    box[2 * (2 - axis) + 1] += 1
    low, (rho, _, _) = material.around(d, box)
    here = [a - start for a, start in zip(at, low)]
    after = [np.minimum(a + (m == 2 - axis), n - 1) for m, (a, n) in enumerate(zip(here, rho.shape))]
    return (rho[tuple(here)] + rho[tuple(after)]) / 2
