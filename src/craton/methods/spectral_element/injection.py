"""Boxes of elements around which incident waves are recorded and injected, see
`craton.methods.waves.coupling.boxes`: the domain reduction method (Bielak, Loukakis, Hisada & Yoshimura 2003, BSSA 93,
817), exact for the discrete scheme.

Let b be the points of elements inside the box, e all others, K the stiffness of the elements outside
that share points with the box (the layer), u0 the incident displacement. The run computes u at b and
u - u0 at e; then the forces

    -K_be u0_e   at points b of the layer,      K_eb u0_b   at its points e

stand for the incident field, and the same of a fluid's potential and of the coupling of fluid and solid where the box
has one side only (box_forces.py). Mass and absorbing faces act at single points: they add nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from craton.errors import Problem
from craton.methods.spectral_element.box_forces import forces
from craton.methods.spectral_element.box_layer import (
    SPEEDS,
    Box,
    Surroundings,
    around_box,
    layer_without,
    places_around,
)
from craton.methods.spectral_element.ranks import ELSEWHERE
from craton.methods.spectral_element.sites import VOIGT, at_sites, materials, numbers, sites, vector_index
from craton.methods.waves.coupling import boxes, recorded, shell
from craton.methods.waves.tables import injection, table_of

SAME_POINT = 1e-4  # of the shortest distance between points: positions that are the same


class ElementBoxes:
    """Boxes of elements, as `craton.methods.waves.coupling.boxes.Boxes`; all ranks must call every method.

    Parameters
    ----------
    d : Discretisation
    machine : backend
        On which forces are computed.
    domain : ElementDomain
        Whose top is where a box in metres is open at a free surface.
    """

    method, beside, layers, precision = "sem", "in the elements around", "boundaries.pml", "float64"
    outside_points = "outside the mesh, in absorbing layers or in fluid"

    def __init__(self, d, machine=None, domain=None):
        self.d, self.machine, self.domain = d, machine, domain
        self.team, self.on_earth = d.subdomain.team, d.globe is not None
        self.reach = np.cbrt(d.statistics.smallest)
        self.tolerance = SAME_POINT * self.reach / d.element.degree**2
        self.refused_points = [(d.relaxation is not None, "where the medium has attenuation", "leave attenuation out")]
        self.alike = {"degree": d.element.degree, **recorded.attenuation_of(d.relaxation)}

    def box(self, spec):
        """Return the `Surroundings` of a recording's box."""
        place = (spec.longitude, spec.latitude, spec.azimuth) if spec.longitude is not None else None
        return around_box(self.d, Box(spec.from_, spec.to, place))

    def box_of_wave(self, wave):
        """Return the `Surroundings` of the box of an incident wave, and no problems."""
        place = None if wave.wavelet or wave.resampled else wave.about.get("place")
        return around_box(self.d, Box(*wave.corners, place)), []

    def box_problems(self, around, key):
        """Return what stands against a box: list of Problem."""
        d = self.d
        if d.exact:
            words = 'there is no box yet with run.assembly = "colour"'
            return [Problem(key, words, 'use "fast" or float64')]

        def of_rank():
            """Elements in the box and in all, boundaries that the box reaches, layers beside it."""
            touched = [
                (name, d.face_kinds[name])
                for name, rows in d.mesh.faces.items()
                if d.face_kinds[name] != "free" and np.isin(np.asarray(rows)[:, 0], around.inside).any()
            ]
            absorbing = d.layers is not None and (d.layers.axes[around.elements] != 0).any()
            return len(around.inside), d.mesh.size, touched, bool(absorbing)

        inside, elements, touched, absorbing = zip(*self.team.every(of_rank))
        if not any(inside) or sum(inside) == sum(elements):
            words = "no element" if not any(inside) else "every element"
            remedy = "give corners around some elements: those whose centres they hold are inside"
            return [Problem(key, f"{words} of the mesh is in the box", remedy)]
        if any(touched):
            name, kind = next(boundary for boundaries in touched for boundary in boundaries)
            words = f"the box reaches the boundary {name!r}, which is {kind}"
            return [Problem(key, words, "leave an element and more between them")]
        if any(absorbing):
            words = "the box is next to an absorbing layer"
            return [Problem(key, words, "leave an element and more between them")]
        return []

    def about(self, around):
        """Return what a recording says of its box: dict."""
        box = around.box
        return {"from": list(box.low), "to": list(box.high), "place": box.place and list(box.place)}

    def sides(self, around):
        """Return the `ElementSides` of a box."""
        return ElementSides(self.d, around, self.machine, places_around(self.d, around))

    def positions_beside(self, around, xyz):
        """Return which positions (n, 3), m, are in a box or in the elements around it, and which in the box."""
        located = self.d.locate(np.asarray(xyz, float).reshape(-1, 3), False).element
        both = self.team.every(
            lambda: [np.isin(located, around.elements), np.isin(located, around.inside) & (located >= 0)]
        )
        beside, inside = np.any(both, axis=0)
        return beside | inside, inside

    def peak(self, places, series):
        """Return the largest velocity of incident values, m/s; in a fluid that which belongs to the largest pressure by
        the largest speed and the smallest density, see `build.divergence_guard`.
        """
        d, series = self.d, np.asarray(series)
        moving, potential = np.isin(places.fields, ("ux", "uy", "uz")), places.fields == "potential"
        pressure = np.abs(np.diff(series[:, potential].astype(float), 2, axis=0)).max(initial=0.0) / d.dt**2
        velocity = np.abs(np.diff(series[:, moving], axis=0)).max(initial=0.0) / d.dt
        speeds = d.statistics.speeds
        return float(max(velocity, pressure / (speeds["rho"][0] * speeds["vp"][1])))

    def shell_of(self, spec):
        """Return the `Shell` of a recording at points."""
        if not self.on_earth:
            free = self.d.face_kinds["top"] == "free"
            return shell.shell_of(spec, self.domain.top if free else np.inf)
        chunk = self.d.globe.chunk
        origin = np.asarray(chunk.place(spec.longitude, spec.latitude, 0.0), float)
        axes = np.asarray(chunk.axes(spec.longitude, spec.latitude), float).T
        around = shell.shell_of(spec, 0.0, (origin, shell.turned_axes(axes, spec.azimuth)))
        depth = chunk.whereabouts(around.xyz)[2]
        up = around.xyz / np.linalg.norm(around.xyz, axis=1, keepdims=True)
        # the tangent plane at the origin rises above the ground away from it
        return replace(around, xyz=around.xyz + np.minimum(depth, 0.0)[:, None] * up)

    def outside(self, xyz):
        """Return which positions (n, 3), m, have no values to be recorded, (n,) bool."""
        d, located = self.d, self.d.locate(xyz, False).element
        refused_elements = d.fluid if d.layers is None else d.fluid | (d.layers.axes != 0)
        outside = (located < 0) & (located != ELSEWHERE)
        outside |= (located >= 0) & refused_elements[np.maximum(located, 0)]
        return np.any(self.team.every(lambda: outside), axis=0)

    def read(self, whole):
        """Return a `Shell` of this rank, the fields there, weights (fields x points, state), medium and the numbers of
        the values.
        """
        from scipy.sparse import csr_array

        d = self.d
        located = d.locate(whole.xyz, False)
        rows = np.flatnonzero(located.element != ELSEWHERE)
        around = replace(whole, local=whole.local[rows], xyz=whole.xyz[rows])
        places = sites(d, located.some(rows))
        samples = materials(d, places.element)
        law, number = stiffness(places, samples), numbers(d, places.element)
        index, weight = [], []
        for axis in range(3):
            index.append(d.offset("velocity") + axis + 3 * number)
            weight.append(places.values)
        for a, b in shell.PAIRS:
            moduli = law[:, VOIGT[a, b]][:, VOIGT]
            index.append(vector_index(d, "displacement", number))
            weight.append(np.einsum("ncd,ndm->ncm", moduli, places.slopes).reshape(len(number), -1))
        counts = np.concatenate([np.full(len(number), part.shape[1]) for part in index])
        columns, values = (np.concatenate([p.ravel() for p in parts]) for parts in (index, weight))
        shape = len(counts), int(columns.max(initial=0)) + 1
        weights = csr_array((values, columns, np.append(0, np.cumsum(counts))), shape=shape)
        media = {name: at_sites(places, samples[name]) for name in SPEEDS}
        names = (*shell.VELOCITY, *shell.STRESS)
        fields = np.arange(len(names))[:, None]
        return around, names, weights, media, (fields * len(whole.xyz) + rows).ravel()


def stiffness(positions, material):
    """Return Hooke's law at sites, (n, 6, 6), Pa."""
    law = np.zeros((len(positions), 6, 6))
    if "stiffness" in material:
        upper = np.triu_indices(6)
        constants = at_sites(positions, material["stiffness"])
        law[:, upper[0], upper[1]] = law[:, upper[1], upper[0]] = constants
        return law
    mu = at_sites(positions, material["rho"] * material["vs"] ** 2)
    lam = at_sites(positions, material["rho"] * material["vp"] ** 2) - 2 * mu
    law[:, :3, :3] = lam[:, None, None]
    law[:, range(3), range(3)] += 2 * mu[:, None]
    law[:, range(3, 6), range(3, 6)] = mu[:, None]
    return law


@dataclass(frozen=True, eq=False)
class ElementSides:
    """The sides of a box, as `craton.methods.waves.coupling.boxes.Sides`.

    Parameters
    ----------
    d : Discretisation
    around : Surroundings
    machine : backend
    places : boxes.Places
    """

    d: Any
    around: Surroundings
    machine: Any
    places: boxes.Places

    def without_anomalies(self, wave):
        """Return vp, vs and rho of the flat layers of a plane wave at the places: dict; all ranks must call."""
        return layer_without(self.d, wave.stack, self.around.layers["solid"])

    def launches(self, name, series):
        """Return arrays, and launches by phase, that add the forces of the values of all steps, (steps, n).

        A rank adds the forces of its own elements; ranks exchange those of points that they share as any other forces.
        """
        if not len(self.places.fields):
            return {}, {}
        target, added = forces(self.d, self.around, series, self.machine)
        table = table_of(target, np.ones(len(target)), np.arange(len(target)))
        arrays, launch = injection(name, table, added, self.d.precision, "forces")
        return arrays, {"forces": [self.d.units.launch(launch, False)]}
