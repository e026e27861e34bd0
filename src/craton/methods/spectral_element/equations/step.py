"""The launches of a step of elements: the fluid from the solid's displacement, the solid with the fluid's pressure, the update of both;
absorbing layers, faces, and what ranks exchange.
"""

from dataclasses import replace

import numpy as np

from craton.core.plan import Array, Launch, Phase
from craton.methods.spectral_element.equations import absorbing_layer, faces, operators
from craton.methods.spectral_element.mesh import families


def equations(d, arrays, launches, reuse):
    """Return all arrays of a plan, and the phases of a step.

    Parameters
    ----------
    d : Discretisation
    arrays : dict of str to Array
        Of tables and boxes.
    launches : list of dict of str to list of Launch
        By where in a step they run: ``"record"`` at its end, others at its start.
    reuse : Reuse
    """
    of_elements, elements, edges, exchanges = reuse.get(
        "elements", lambda: elements_of(d), (id(d.families), d.dt, d.units)
    )
    places = [(place, of_place) for some in launches for place, of_place in some.items()]
    begun = [launch for place, of_place in places if place != "record" for launch in of_place]
    ending = [replace(launch, outer=True) for place, of_place in places if place == "record" for launch in of_place]
    phases = (*phases_of(d, begun, elements, edges, exchanges), Phase("record", tuple(ending)))
    return of_elements | arrays, phases


def elements_of(d):
    """Return what of a plan does not depend on sources and receivers: its arrays, the launches of
    elements and of faces, and what ranks exchange.
    """
    elements, edges = {"solid": [], "fluid": []}, []
    arrays = d.state.arrays(d.precision, d.exact) | inverse_mass_arrays(d)
    for family in d.families:
        family_arrays, launch = families.arrays_and_launch(d, family)
        arrays |= family_arrays
        elements["fluid" if family.family.fluid else "solid"].append(launch)
    for edge_arrays, launches in (
        faces.absorbing_faces(d),
        faces.rigid_points(d, d.units),
        faces.coupling(d, d.units),
        absorbing_layer.friction_points(d),
        absorbing_layer.coupling(d),
    ):
        arrays |= edge_arrays
        edges.append(launches)
    shared_arrays, exchanges = exchange_arrays(d)
    return arrays | shared_arrays, elements, edges, exchanges


def inverse_mass_arrays(d):
    """Return the arrays of inverse masses; the inverse mass of the dummy point is 0."""
    arrays = {}
    for name, mass in zip(("inverse_mass", "fluid_inverse_mass"), d.statistics.mass):
        if len(mass):
            inverse = np.zeros(len(mass) + 1, d.precision)
            np.divide(1.0, mass, out=inverse[:-1], casting="same_kind")
            arrays[name] = Array("material", inverse.shape, d.precision, inverse)
    return arrays


def exchange_arrays(d):
    """Return arrays and, for each medium, the exchange that completes its forces at points of several ranks."""
    arrays, exchanges, dtype = {}, {}, "int64" if d.exact else d.precision
    for medium, field, components in (("solid", "force", 3), ("fluid", "potential_force", 1)):
        medium_arrays, exchanges[medium] = d.subdomain.shared[medium].exchange(field, components, dtype, d.exact)
        arrays |= medium_arrays
    return arrays, exchanges


def phases_of(d, injections, elements, edges, exchanges):
    """Return the phases of a step: the fluid from the solid's displacement, the solid with the
    fluid's pressure, the update of both.

    The fluid's accelerations must be complete before the solid's forces are, and are used up when
    the fluid is updated. Neighbours' contributions are added before absorbing and rigid faces act.
    Every rank has the same phases, empty ones too.
    """
    absorbing, rigid, coupling, layers, coupling_in_layers = edges
    coupling = {medium: [*coupling[medium], *coupling_in_layers[medium]] for medium in coupling}
    phases = []
    if d.subdomain.media[1]:
        phases.append(phase("fluid", [*injections, *coupling["fluid"]], elements["fluid"], exchanges["fluid"]))
        phases.append(phase("fluid faces", [*layers["fluid"], *absorbing["fluid"], *rigid["fluid"]]))
        injections = []
    if d.subdomain.media[0]:
        phases.append(phase("solid", [*injections, *coupling["solid"]], elements["solid"], exchanges["solid"]))
    return (*phases, phase("step", [*layers["solid"], *absorbing["solid"], *rigid["solid"], *updates(d)]))


def phase(name, launches, elements=(), exchange=None):
    """Return a phase: the elements that neighbours wait for, other launches that add to points,
    then the remaining elements.
    """
    outer = [launch for launch in elements if launch.outer] + [replace(launch, outer=True) for launch in launches]
    return Phase(name, (*outer, *(launch for launch in elements if not launch.outer)), **(exchange or {}))


def updates(d):
    """Yield the launches that update both media by one time step."""
    for op, count, components in ((operators.update(), d.state.solid, 3), (operators.fluid_update(), d.state.fluid, 1)):
        if count:
            launch = Launch(op, op.arrays, (0, 1, 0, 1, 0, components * (count + 1)), {"dt": d.dt})
            yield d.units.launch(launch, components == 1, 2)
