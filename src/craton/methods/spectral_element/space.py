"""Elements as a `craton.methods.waves.space.Space`: where positions lie in them, and which nodes read a quantity or take a source
there.

A force acts through the values of the element's polynomials, a moment through their slopes: exchanging source and receiver changes
nothing but rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from craton.core.grid import Cells, ElementGrid, ElementTable
from craton.core.plan import ElementIdentity
from craton.errors import Problem
from craton.memory import array_bytes
from craton.methods.spectral_element import notes, ranks, snapshots
from craton.methods.spectral_element.equations import absorbing_layer, step
from craton.methods.spectral_element.equations.state import FLUID, SOLID
from craton.methods.spectral_element.injection import ElementBoxes
from craton.methods.spectral_element.mesh import placing
from craton.methods.spectral_element.ranks import ELSEWHERE
from craton.methods.spectral_element.sites import (
    Sites,
    at_sites,
    is_fluid_at,
    materials,
    numbers,
    quantity_rows,
    sites,
    vector_index,
)
from craton.methods.spectral_element.sources import element_parts, holding, moment_rows
from craton.methods.waves.tables import Changed, Rows, stacked
from craton.model.mesh import meshing
from craton.survey.source_arrays import Catalogue, FiniteFault

SHEAR = 1e-6  # of the largest component of a moment tensor: below, it is isotropic
BATCH = 4096  # positions whose polynomials are evaluated at a time
MOMENTS = 1024  # moments whose rows are made at a time


@dataclass(frozen=True, eq=False)
class ElementPlaces:
    """Positions in elements of one medium; `rows` are those among the positions that were asked for."""

    rows: np.ndarray
    sites: Sites
    fluid: bool

    @property
    def pressure_at(self):
        """Time within a step of samples of pressure, nan: as its quantity says. In a fluid pressure is that at the start of a step."""
        return 0.0 if self.fluid else np.nan


class ElementSpace:
    """Positions in the elements of a `Discretisation`."""

    integrates = True  # moments act, not their rates
    injected = "forces"
    carried = np.inf  # slip rates of all frequencies act
    medium_key = ()
    motion, shots = None, ()  # in space, one by one

    def __init__(self, d, machine=None):
        self.d, self.machine = d, machine

    @property
    def team(self):
        """The ranks that share the mesh."""
        return self.d.subdomain.team

    def locate(self, xyz, shots=0, fluid_first=False) -> Iterator:
        """Yield the `ElementPlaces` of positions (n, 3), m, that this rank takes, some thousand at a time; all ranks must call."""
        yield from self._in_batches(self.d.locate(xyz, fluid_first))

    def _in_batches(self, located) -> Iterator:
        """Yield the `ElementPlaces` of located positions."""
        fluid = is_fluid_at(self.d, located.element)
        for medium in (False, True):
            rows = np.flatnonzero((fluid == medium) & (located.element != ELSEWHERE))
            for batch in np.array_split(rows, -(-len(rows) // BATCH)) if len(rows) else ():
                yield ElementPlaces(batch, sites(self.d, located.some(batch)), medium)

    # --- out --------------------------------------------------------------------------------------

    def read(self, quantity, component, places, rows) -> Iterator:
        """Yield the rows of one component of a quantity at some places, (m,) rows of these, numbered as they are."""
        index, weight = quantity_rows(self.d, places.sites, quantity, component)
        if quantity == "stress":  # all components have the same points, so that turned ones add up in one order
            counts = np.full(len(rows), index.shape[1])
            yield Rows(np.arange(len(rows)), counts, index[rows].ravel(), weight[rows].ravel())
            return
        yield Rows.without_zeros(np.arange(len(rows)), index[rows], weight[rows])

    def medium(self, places):
        """Return vp, vs and rho at places, by name."""
        samples = materials(self.d, places.sites.element)
        return {name: at_sites(places.sites, samples[name]) for name in ("vp", "vs", "rho")}

    def stacked(self, count, parts):
        """Return the rows of channels as the record takes them; see `tables.stacked`."""
        return stacked(count, parts)

    def raster(self, spec):
        """Return coordinates, what of fields to read, and the samplings of a table of snapshots; all ranks must call."""
        return snapshots.raster(self.d, spec)

    def sites(self, spec):
        """Return the `Sites` of a map of peaks; all ranks must call."""
        return snapshots.sites_of_map(self.d, spec)

    def rows_of_sites(self, sites):
        """Return whether the components of a site share rows, and the rows: in a solid those of the eastern velocity of each site, north
        and up lie behind it; else of E, N, Z of each. All ranks must call.
        """
        located = self.d.locate(sites.xyz, False).some(sites.where)
        together = not is_fluid_at(self.d, located.element).any()
        components = "E" if together else "ENZ"
        parts = [
            Changed(part, names=len(components) * places.rows + n)
            for places in self._in_batches(located)
            for n, component in enumerate(components)
            for part in self.read("velocity", component, places, np.arange(len(places.rows)))
        ]
        return together, stacked(len(components) * len(sites.where), parts)

    # --- in ---------------------------------------------------------------------------------------

    def tables(self, sources, index, column) -> Iterator:
        """Yield the name of a table of point sources, which rows it has, and its sources."""
        in_fluid = self.in_fluid(index)
        for name, rows in (("source", ~in_fluid), ("fluid_source", in_fluid)):
            if rows.any():
                yield name, rows, np.unique(column[rows])

    def placed(self, launch, target):
        """Return the launch of a table of sources, which adds to the forces as the scheme accumulates them."""
        return self.d.units.launch(launch, bool(self.in_fluid(target[:1])[0]))

    def in_fluid(self, index):
        """Return which indices in the forces are those of the fluid's potential."""
        return index >= self.d.offset("potential_force") if self.d.state.fluid else np.zeros(len(index), bool)

    def point_rows(self, sources):
        """Return index, weight and source of what point sources add to the forces, of the parts in owned elements; see `element_parts`."""
        parts = [(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int32))]
        parts += [
            (index, weight, np.full(index.size, n, np.int32)) for n, _, index, weight in element_parts(self.d, sources)
        ]
        return tuple(np.concatenate(part) for part in zip(*parts))

    def moment_blocks(self, xyz, tensors) -> Iterator:
        """Yield index, weight and source of the rows of thousands of moments in owned elements, some thousand at a time."""
        yield from self._blocks(tensors, *holding(self.d, xyz))

    def moment_table(self, xyz, tensors):
        """Return the targets of thousands of moments, their number of rows, and the function that yields these as `moment_blocks` does."""
        source, located, parts = holding(self.d, xyz)
        if not len(source):
            return np.empty(0, np.int64), 0, None
        nodes = numbers(self.d, np.unique(located.element))
        target = np.unique(vector_index(self.d, "force", nodes))
        count = 3 * self.d.element.size * len(source)
        return target, count, lambda: self._blocks(tensors, source, located, parts)

    def _blocks(self, tensors, source, located, parts):
        """Yield the rows of moments by the elements that hold them."""
        for low in range(0, len(source), MOMENTS):
            some = np.arange(low, min(low + MOMENTS, len(source)))
            n = source[some]
            index, weight = moment_rows(self.d, sites(self.d, located.some(some)), tensors[n])
            weight = weight / parts[n][:, None]
            yield index.ravel(), weight.ravel(), np.repeat(n, index.shape[1])

    # --- boxes and the plan -----------------------------------------------------------------------

    def boxes(self, domain):
        """See `Space.boxes`."""
        return ElementBoxes(self, domain)

    def problems(self, scenario, sources):
        """Return what lies outside the mesh or in a fluid that cannot have it: list of Problem; all ranks must call."""
        return placing.problems(scenario, self.d) or source_problems(self.d, sources)

    @property
    def smallest(self):
        """Least density, slowest wave, smallest volume of an element, and what a velocity is in the field that is watched."""
        statistics = self.d.statistics
        rho, slowest = statistics.speeds["rho"][0], statistics.speeds["slowest"][0]
        return rho, slowest, statistics.smallest, 1.0 if self.d.state.solid else rho * statistics.speeds["vp"][1]

    def equations(self, arrays, launches, tables, reuse):
        """Return all arrays and the phases of a step; see `step.equations`."""
        return step.equations(self.d, arrays, launches, reuse)

    def described(self, scenario, arrays):
        """Return what the plan says of the mesh: dict."""
        d = self.d
        return {
            "solver": "sem_elastic",
            "grid": grid_of(d, scenario.domain),
            "layout": d.state.layout,
            "watched": ("velocity",) if d.state.solid else ("pressure",),
            "kinetic": (("velocity", "inverse_mass"), ("pressure", "fluid_inverse_mass")),
            "cells": cells_of(d) if scenario.output.mesh else None,
            "elements": identity_of(d, arrays),
        }

    def warnings(self, setup):
        """Return warnings about a valid scenario that is probably not what was meant: list of str; all ranks must call."""
        d, scenario, sources, receivers = self.d, setup.scenario, setup.sources, setup.receivers
        positions = [*((s.name, s.points) for s in sources), *zip(receivers.names, receivers.xyz)]
        median = meshing.edges(d.mesh)[1]
        return [
            *notes.warnings(d, sources),
            *absorbing_layer.warn_inside_layers(d, positions),
            *absorbing_layer.warn_contrasts(d),
            *placing.warn_near_sources(sources, receivers, scenario.output.waveforms, median),
        ]

    def completed(self, plan, setup):
        """Return the plan with the memory that making it took, and its notes; of several ranks with all subdomains."""
        d = self.d
        plan.planning = max(d.stable.nbytes, array_bytes(d, plan.held))  # in the search for the stable step, or now
        if self.team.size > 1:
            return ranks.complete_plan(d, plan)
        plan.weights = ranks.weigh_elements(setup.scenario, d.subdomain.whole, d.fluid)
        plan.notes = notes.sections(d, plan, setup)
        return plan


# --- what a plan says of the mesh -----------------------------------------------------------------


def grid_of(d, domain):
    """Return the `ElementGrid` that messages use to describe the points."""
    shortest, median, longest = meshing.edges(d.mesh)
    from_file_or_globe = domain.mesh is not None or domain.chunk is not None
    watched = [arranged for arranged in d.families if arranged.family.fluid != bool(d.state.solid)]
    return ElementGrid(
        d.mesh.size,
        d.element.degree,
        d.state.solid + d.state.fluid,
        shortest,
        median,
        longest,
        from_file_or_globe,
        tuple(table_of(d, arranged) for arranged in watched),
    )


def table_of(d, arranged):
    """Return the `ElementTable` of an `ArrangedFamily`: its arrays, which are not copied, and centres."""
    points, shapes = (arranged.arrays[f"{arranged.family.name}_{name}"].data for name in ("points", "geometry"))
    return ElementTable(points, shapes, arranged.order.arrange(d.centres))


def cells_of(d):
    """Return the `Cells` of a mesh, which is whole here, for its file."""
    values = {name: d.statistics.constant[name] for name in ("vp", "vs", "rho")}
    # Hz, at 5 points a wavelength
    values["highest frequency"] = d.statistics.quality.points(1.0) / 5
    return Cells(d.mesh.nodes, d.mesh.elements, d.mesh.regions, d.mesh.faces, values)


def identity_of(d, arrays):
    """Return the `ElementIdentity` of the owned elements.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of the plan.
    """
    numbers, centres, fields = {}, {}, {}
    for arranged in d.families:
        name, order = arranged.family.name, arranged.order
        rows = order.arrange(d.subdomain.numbers.astype(np.int64))
        numbers[name] = np.where(order.elements < 0, -1, rows)
        centres[name] = order.arrange(d.centres).astype(np.float32)
        fields[name] = tuple(FLUID if arranged.family.fluid else SOLID)
    lowpass = {name: spec.shape[0] for name, spec in arrays.items() if name.endswith("_lowpass")}
    tables = {
        name: (name.removesuffix("lowpass") + "points", "velocity" if n == 3 else "potential_rate")
        for name, n in lowpass.items()
    }
    return ElementIdentity(numbers, centres, fields, tables)


def source_problems(d, sources):
    """Return the problems of sources that a fluid cannot have: forces, moments with shear, slipping faults."""
    problems = []
    for source in sources:
        refused = _not_in_fluid(source)  # on the floor of a sea it acts on the solid
        located = d.locate(source.points, not refused).element
        in_fluid = (located >= 0) & is_fluid_at(d, located)
        if refused and in_fluid.any():
            place = "({:g}, {:g}, {:g})".format(*source.points[np.argmax(in_fluid)])
            words = f"{source.name}: {refused} is not possible in a fluid, where it lies at {place} m"
            problems.append(Problem("source", words, "move it into the solid, or make it an explosion"))
    return problems


def _not_in_fluid(source):
    if isinstance(source, FiniteFault):
        return "a finite fault"
    if isinstance(source, Catalogue):
        return "a catalogue of more than 1,000 moment tensors"
    if source.force is not None:
        return "a force"
    isotropic = np.trace(source.moment) / 3
    sheared = np.abs(source.moment - isotropic * np.eye(3)).max() > SHEAR * np.abs(source.moment).max()
    return "a moment tensor with shear" if sheared or not isotropic else None
