"""Sources and receivers of spectral elements as point tables: (index, weight, column) rows into the
blocks "forces" and "state".

In the weak form a force F at x acts on node a with F l_a(x), a moment tensor M with M . grad l_a(x)
(Aki & Richards 2002, section 3.3: the force equivalent to M is -M . grad delta). The displacement
scheme needs the moment itself where a scenario gives its rate: M(t_n) is dt times the sum of the
rates at the half steps before t_n, as the velocity-stress scheme of finite differences has it
implicitly; the leapfrog's corrections (`craton.survey.leapfrog`) are then the same. In a fluid,
with u = grad chi / rho and p = -chi'', an isotropic moment M adds -M l_a(x) / kappa to the force of
the potential.
"""

import numpy as np

from craton.core.gathering import partial_sums
from craton.core.plan import Array, Launch
from craton.errors import Problem, ResourceError, ScenarioError
from craton.methods.spectral_element import catalogues, couples
from craton.methods.spectral_element.ranks import ELSEWHERE
from craton.methods.spectral_element.sites import (
    VOIGT,
    at_sites,
    materials,
    numbers,
    sites,
    vector_index,
    velocity_rows,
)
from craton.methods.waves import points as operators
from craton.methods.waves.ranks.sharing import SingleRank
from craton.methods.waves.reuse import Reuse
from craton.methods.waves.slip import BLOCK, MOST, SORTED, available, joined, windows
from craton.methods.waves.tables import Rows, injection, joined_rows, of_values, sampling, table_of
from craton.survey import leapfrog
from craton.survey.catalogues import Catalogue
from craton.survey.channels import columns
from craton.survey.faults import FiniteFault

COMPONENT_AXES = {"EE": (0, 0), "NN": (1, 1), "ZZ": (2, 2), "EN": (0, 1), "EZ": (0, 2), "NZ": (1, 2)}
SHEAR = 1e-6  # of the largest component of a moment tensor: below, it is isotropic
DETAIL = 4096  # sites per batch


def source_problems(d, sources):
    """Return the problems of sources that a fluid cannot have: forces, moments with shear, slipping
    faults.
    """
    problems = []
    for source in sources:
        refused = _not_in_fluid(source)  # on the floor of a sea it acts on the solid
        located = d.locate(source.points, not refused).element
        in_fluid = (located >= 0) & is_fluid_at(d, located)
        if not in_fluid.any():
            continue
        if refused:
            place = "({:g}, {:g}, {:g})".format(*source.points[np.argmax(in_fluid)])
            problems.append(
                Problem(
                    "source",
                    f"{source.name}: {refused} is not possible in a fluid, where it lies at {place} m",
                    "move it into the solid, or make it an explosion",
                )
            )
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


# --- in -------------------------------------------------------------------------------------------


def sources(d, all_sources, carried=np.inf, reuse=None):
    """Return arrays and launches that add all sources to "force" and "potential_force" at the start
    of a step, and the highest frequency.

    Parameters
    ----------
    d : the discretised problem, see `sites`
    all_sources : list of PointSource and FiniteFault
    carried : float
        Frequency up to which the slip rates of finite faults are kept, Hz.
    reuse : craton.methods.waves.reuse.Reuse, optional
        Keeps the parts that elements take, for sources that differ in their wavelets only.

    Returns
    -------
    arrays : dict of str to Array
    launches : list of Launch
    band : float
        Infinite without sources.
    """
    points = [s for s in all_sources if not isinstance(s, FiniteFault | Catalogue)]
    arrays, launches, bands = {}, [], []
    if points:
        series, rates = histories(d, points)
        bands = [leapfrog.band(rates, d.dt)]
        placed = [[np.asarray(v).tolist() for v in (s.xyz, s.force, s.moment)] for s in points]
        index, weight, column = (reuse or Reuse(keep=False)).get(
            "rows of sources", lambda: rows_of_points(d, points), placed
        )
        in_fluid = index >= d.offset("potential_force") if d.state.fluid else np.zeros(len(index), bool)
        for name, fluid in (("source", False), ("fluid_source", True)):
            rows = np.flatnonzero(in_fluid == fluid)
            if len(rows):
                columns, local_column = np.unique(column[rows], return_inverse=True)
                table = table_of(index[rows], weight[rows], local_column.astype(np.int32))
                new_arrays, launch = injection(name, table, series[:, columns], d.precision, "forces")
                arrays |= new_arrays
                launches.append(d.units.launch(launch, fluid))
    fault_arrays, fault_launches, fault_bands = fault_sources(
        d, [s for s in all_sources if isinstance(s, FiniteFault)], carried
    )
    more_arrays, more_launches, more_bands = catalogues.sources(
        d, all_sources, moment_rows, held_launches, integrate_slip
    )
    return (
        arrays | fault_arrays | more_arrays,
        [*launches, *fault_launches, *more_launches],
        max([*bands, *fault_bands, *more_bands], default=np.inf),
    )


def histories(d, points):
    """Return forces and moments at the steps, corrected for time dispersion, and the wavelets
    themselves: (steps, n) each.
    """
    half = np.array([source.moment is not None for source in points])
    steps = np.arange(d.steps)
    rates = np.stack([s.wavelet(d.start + (steps + 0.5 * h) * d.dt) for s, h in zip(points, half)], axis=1).astype(
        float
    )
    series = np.empty_like(rates)
    series[:, ~half] = leapfrog.for_leapfrog(rates[:, ~half], d.dt, 0.0)
    series[:, half] = moments(leapfrog.for_leapfrog(rates[:, half], d.dt, 0.5), d.dt)
    return series, rates


def moments(rates, dt):
    """Integrate moment rates at the half steps to moments at the steps: (steps, n)."""
    sums = dt * np.cumsum(rates, axis=0)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def rows_of_points(d, points):
    """Return (index, weight, column) of the parts of point sources that owned elements take; see
    `element_parts`.
    """
    parts = [(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int32))]
    parts += [
        (index, weight, np.full(index.size, number, np.int32)) for number, _, index, weight in element_parts(d, points)
    ]
    return tuple(np.concatenate(part) for part in zip(*parts))


def element_parts(d, points):
    """Return (number of the source, element, index, weight) of each part of a point source that an
    owned element takes: list.

    A moment is distributed over Gauss points around it, see `couples`. Elsewhere, where elements
    meet, each has an equal share: the polynomials of an element have slopes on its own side of a
    face only; a moment in one element alone would be off by a per cent.
    """
    xyz = np.array([source.xyz for source in points], float)
    parts, shared = moment_parts(d, points, xyz)
    source_numbers, located, parts_of = d.elements_holding(xyz)
    holding_sites = sites(d, located)
    for m, n in enumerate(source_numbers):
        if shared[n]:
            continue
        source, site = points[n], holding_sites.part(slice(m, m + 1))
        index, weight = (
            force_rows(d, site, source.force) if source.moment is None else moment_rows(d, site, source.moment[None])
        )
        parts.append((n, located.element[m], index.ravel(), weight.ravel() / parts_of[n]))
    return parts


def moment_parts(d, points, xyz):
    """Return the parts of distributed moments, as of `element_parts`, and which sources these are."""
    moments = np.array([n for n, source in enumerate(points) if source.moment is not None], int)
    is_shared, which, located, weights = couples.samples(d, xyz[moments])
    shared = np.zeros(len(points), bool)
    shared[moments] = is_shared
    parts = []
    first = np.flatnonzero(np.diff(which, prepend=-1) | np.diff(located.element, prepend=-1))
    for begin, end in zip(first, [*first[1:], len(which)]):
        n = moments[which[begin]]
        tensors = weights[begin:end, None, None] * points[n].moment
        index, weight = moment_rows(d, sites(d, located.some(slice(begin, end))), tensors)
        parts.append((n, located.element[begin], index[0], weight.sum(axis=0)))
    return parts, shared


def force_rows(d, positions, force):
    """Return (index, weight) of a force (3,) at sites of the solid: (n, 3 n^3)."""
    weight = np.asarray(force)[None, :, None] * positions.values[:, None, :]
    return vector_index(d, "force", numbers(d, positions.element)), weight.reshape(len(positions), -1)


def moment_rows(d, positions, tensors):
    """Return (index, weight) of moment tensors (n, 3, 3) at sites of the solid, (n, 3 n^3), or of
    the fluid, (n, n^3).
    """
    number = numbers(d, positions.element)
    if d.fluid[positions.element].any():
        material = materials(d, positions.element)
        kappa = at_sites(positions, material["rho"] * material["vp"] ** 2)
        pressure = np.trace(tensors, axis1=1, axis2=2) / 3
        return d.offset("potential_force") + number, -(pressure / kappa)[:, None] * positions.values
    weight = np.einsum("ncj,njm->ncm", tensors, positions.slopes)
    return vector_index(d, "force", number), weight.reshape(len(positions), -1)


# --- finite faults --------------------------------------------------------------------------------


def fault_sources(d, faults, carried):
    """Return arrays, launches and bands of finite faults, whose moments remain after slip has
    ended.
    """
    if not faults:
        return {}, [], []
    begin, limits, rates = joined([windows(d, f, carried) for f in faults])
    series = integrate_slip(rates, limits, d.dt)
    target, first, column, weight = table_of(*fault_rows(d, faults))
    if not len(target):
        return {}, [], [leapfrog.TAPER * carried]
    arrays = of_values(
        "fault",
        target=(target, np.int64),
        first=(first, np.int32),
        column=(column, np.int32),
        weight=(weight, d.precision),
        begin=(begin + 1, np.int32),
        at=(limits, np.int64),
        series=(series, d.precision),
    )
    arrays["fault_now"] = Array("points", begin.shape, d.precision)
    return arrays, held_launches(d, "fault", len(begin), len(target)), [leapfrog.TAPER * carried]


def held_launches(d, name, columns, targets):
    """Return the launches that read the windows of a step, whose last values stay, and inject them.

    Parameters
    ----------
    d : Discretisation
    name : str
        With which the names of the arrays begin.
    columns, targets : int
        Number of windows, and of points.
    """
    now = Launch(
        operators.HOLD,
        (*(f"{name}_{part}" for part in ("now", "begin", "at", "series")), "step"),
        (0, 1, 0, 1, 0, columns),
        {"columns": 1, "slots": 1},
    )
    tables = (f"{name}_{part}" for part in ("target", "first", "column", "weight", "now"))
    inject = Launch(operators.INJECT, ("forces", *tables, "step"), (0, 1, 0, 1, 0, targets), {"columns": 0, "slots": 1})
    return [now, d.units.launch(inject)]


def integrate_slip(rates, limits, dt):
    """Integrate slip rates: slip after each step of each window, (n,), windows one after another
    between `limits` (columns + 1,).
    """
    total = np.concatenate([[0.0], np.cumsum(rates, dtype=float)])
    return dt * (total[1:] - np.repeat(total[limits[:-1]], np.diff(limits)))


def fault_rows(d, faults):
    """Return (index, weight, column) of all slipping components in owned elements."""
    xyz, tensors = (np.concatenate([getattr(f, name) for f in faults]) for name in ("points", "tensors"))
    count = 3 * d.element.size * len(xyz)
    most = min(MOST, available() // SORTED)
    if count > most:
        raise ResourceError(
            f"the point tables of {len(xyz):,} slipping subfaults do not fit: {most:,} rows are possible here, they need "
            f"{count:,}; merge subfaults, or split the fault over runs"
        )
    located, parts = (d.locate(xyz, False), [(np.empty(0, np.int64), np.empty(0, d.precision), np.empty(0, np.int32))])
    outside = ((located.element < 0) & (located.element != ELSEWHERE)).sum()
    if outside:
        raise ScenarioError([Problem("source", f"{outside} slipping subfaults lie outside the mesh", "move the fault")])
    owned = np.flatnonzero(located.element >= 0)
    for low in range(0, len(owned), BLOCK):
        block = owned[low : low + BLOCK]
        index, weight = moment_rows(d, sites(d, located.some(block)), tensors[block])
        column = np.repeat(block.astype(np.int32), index.shape[1])
        parts.append((index.ravel(), weight.ravel().astype(d.precision), column))
    return tuple(np.concatenate(part) for part in zip(*parts))


# --- out ------------------------------------------------------------------------------------------


def is_fluid_at(d, element):
    """Return which elements are fluid; the values where there is no element, -1 or `ELSEWHERE`,
    have no meaning.
    """
    return d.fluid[np.maximum(element, -1)]


def recording(d, channels, receivers, slots, team=None):
    """Return channels with the times of their samples, arrays, and launches that sample them at the
    end of a step and count the steps.

    Pressure of a fluid is that at the start of the step, all other quantities those at its end.

    Returns
    -------
    channels : list of Channel
        All channels.
    gathering : Gathering or None
        Makes the channels of what several ranks record.
    arrays : dict of str to Array
    launches : list of Launch
    """
    parts, in_fluid = rows_of_channels(d, channels, receivers)
    recorded, table = joined_rows(parts)
    team = team or SingleRank()
    of_rank, in_fluid_by_rank = zip(*team.every(lambda: (recorded, in_fluid)))
    fluid_channels = np.any(in_fluid_by_rank, axis=0)
    placed = with_times(channels, fluid_channels)
    arrays, launches = sampling(*table, slots, d.precision)
    gathering = partial_sums(of_rank, len(channels), operators.SAMPLE) if team.size > 1 and channels else None
    return placed, gathering, arrays, launches


def with_times(channels, in_fluid):
    """Return the channels, those of pressure in a fluid with the start of the step as their time."""
    if not np.any(in_fluid):
        return channels
    return [c._replace(at=0.0) if fluid and c.quantity == "pressure" else c for c, fluid in zip(channels, in_fluid)]


def channel_rows(d, channels, receivers):
    """Return the (index, weight) of each channel, None where another rank records it, and which lie
    in a fluid, (channels,) bool.
    """
    parts, in_fluid = rows_of_channels(d, channels, receivers)
    rows = dict(row for part in parts for row in part.by_channel())
    return [rows.get(n) for n in range(len(channels))], in_fluid


def rows_of_channels(d, channels, receivers):
    """Return the rows of the channels of this rank, list of `Rows`, and which channels lie in a
    fluid, (channels,) bool.
    """
    table = columns(channels)
    parts, in_fluid = [], np.zeros(len(channels), bool)
    by_quantity = {}
    for name, of_name in table.by_component.items():
        if name is not None:
            by_quantity.setdefault(name[0], {})[name[1]] = of_name
    for quantity, by_component in by_quantity.items():
        for part, fluid in receiver_rows(d, quantity, by_component, table.receiver, receivers.xyz):
            in_fluid[part.channels] = fluid
            parts.append(part)
    fibres = [(n, channels[n]) for n in map(int, table.by_component.get(None, ()))]
    for n, (index, weight), fluid in fibre_rows(d, fibres) if fibres else ():
        in_fluid[n] = fluid
        parts.append(Rows(np.array([n]), np.array([len(index)]), index, weight))
    return parts, in_fluid


def receiver_rows(d, quantity, by_component, receiver, xyz):
    """Yield (`Rows`, in a fluid) of channels of one quantity.

    Parameters
    ----------
    by_component : dict of str to int array
        Numbers of the channels of each component.
    receiver : (channels,) int array
        Receiver of each channel.
    xyz : (receivers, 3) array
        m.
    """
    receiver_numbers = np.unique(receiver[np.concatenate(list(by_component.values()))])
    located = d.locate(xyz[receiver_numbers], quantity == "pressure")
    for fluid in (False, True):
        in_medium = np.flatnonzero((is_fluid_at(d, located.element) == fluid) & (located.element != ELSEWHERE))
        for batch in np.array_split(in_medium, -(-len(in_medium) // DETAIL)) if len(in_medium) else ():
            batch_sites, place = sites(d, located.some(batch)), np.full(len(xyz), -1)
            place[receiver_numbers[batch]] = np.arange(len(batch))
            for component, of_component in by_component.items():
                at = place[receiver[of_component]]
                if (at >= 0).any():
                    index, weight = quantity_rows(d, batch_sites, quantity, component)
                    at, chosen = at[at >= 0], of_component[at >= 0]
                    yield Rows(chosen, *nonzero_rows(index[at], weight[at])), fluid


def nonzero_rows(index, weight):
    """Return rows without their zero weights, the first of a row that has no other: number of each,
    index and weight of all.

    Parameters
    ----------
    index, weight : (n, m) arrays
    """
    nonzero = weight != 0
    nonzero[~nonzero.any(axis=1), 0] = True
    return nonzero.sum(axis=1), index[nonzero], weight[nonzero]


def rows_without_zeros(index, weight):
    """Return the `nonzero_rows`, (index, weight) of each: list.

    Parameters
    ----------
    index, weight : (n, m) arrays
    """
    part = Rows(np.arange(len(index)), *nonzero_rows(index, weight))
    return [row for _, row in part.by_channel()]


def quantity_rows(d, positions, quantity, component):
    """Return (index, weight), (n, m) each, of one component of a quantity at sites that are all in
    a solid or all in a fluid.
    """
    if quantity == "pressure":
        return pressure_rows(d, positions)
    in_fluid = len(positions) and d.fluid[positions.element[0]]
    if quantity == "velocity" and not in_fluid:
        first = d.offset("velocity") + "ENZ".index(component)
        return first + 3 * numbers(d, positions.element), positions.values
    weights = np.zeros((len(positions), 3, positions.values.shape[1]))
    if quantity == "velocity":
        weights[:, "ENZ".index(component)] = positions.values
    elif quantity == "strain_rate":
        a, b = COMPONENT_AXES[component]
        weights[:, a] += positions.slopes[:, b] / 2
        weights[:, b] += positions.slopes[:, a] / 2
    elif quantity in ("rotation_rate", "curl"):
        a, part = "ENZ".index(component), 0.5 if quantity == "rotation_rate" else 1.0
        b, c = (a + 1) % 3, (a + 2) % 3
        weights[:, c], weights[:, b] = part * positions.slopes[:, b], -part * positions.slopes[:, c]
    elif quantity == "divergence":
        weights[:] = positions.slopes
    else:
        raise ValueError(f"{quantity} is not recorded")
    return velocity_rows(d, positions, weights)


def pressure_rows(d, positions):
    """Return (index, weight) of pressure; in a solid, minus a third of the trace of the elastic
    stress.
    """
    number = numbers(d, positions.element)
    if len(positions) and d.fluid[positions.element[0]]:
        return d.offset("pressure") + number, positions.values
    weight = -np.einsum("nab,nbm->nam", mean_stress(positions, materials(d, positions.element)), positions.slopes)
    return vector_index(d, "displacement", number), weight.reshape(len(positions), -1)


def mean_stress(positions, material):
    """Return a third of the trace of the stress due to displacement gradients u_a,b at sites:
    symmetric (n, 3, 3), Pa.
    """
    if "stiffness" not in material:
        kappa = at_sites(positions, material["rho"] * (material["vp"] ** 2 - 4 / 3 * material["vs"] ** 2))
        return kappa[:, None, None] * np.eye(3)
    constants, law = at_sites(positions, material["stiffness"]), np.empty((len(positions), 6, 6))
    upper = np.triu_indices(6)
    law[:, upper[0], upper[1]] = law[:, upper[1], upper[0]] = constants
    return law[:, :3].sum(axis=1)[:, VOIGT] / 3


def fibre_rows(d, channels):
    """Yield (number, (index, weight), False) of the numbered channels of fibres: sums of velocities
    at the ends of gauge lengths.
    """
    terms = [(n, place_number, axis, factor) for n, c in channels for place_number, axis, factor in c.terms]
    places = list(dict.fromkeys(place_number for _, place_number, _, _ in terms))
    located = d.locate(np.array(places), False)
    parts = {n: [] for n, _ in channels}
    for fluid in (False, True):
        in_medium = np.flatnonzero((is_fluid_at(d, located.element) == fluid) & (located.element != ELSEWHERE))
        if not len(in_medium):
            continue
        end_sites, place = (sites(d, located.some(in_medium)), {places[i]: n for n, i in enumerate(in_medium)})
        rows = [quantity_rows(d, end_sites, "velocity", component) for component in "ENZ"]
        for n, place_number, axis, factor in terms:
            if place_number in place:
                at = slice(place[place_number], place[place_number] + 1)
                index, weight = (part[at] for part in rows[axis])
                parts[n] += rows_without_zeros(index, factor * weight)
    for n, row_parts in ((n, row_parts) for n, row_parts in parts.items() if row_parts):
        yield n, tuple(np.concatenate(part) for part in zip(*row_parts)), False
