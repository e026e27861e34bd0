"""The oscillations of a problem without sources, attenuation and absorbing faces: their operator, applied by the problem's own kernels.

    u'' = -M^-1 (K u + B^T a),   a = chi'' = M_f^-1 (B u - K_f chi)

with moduli as they are at the highest frequencies. With x = (u, chi) that is x'' = -T x. T is self-adjoint in the inner product
<x, y> = u^T M v + chi^T K_f psi, and the leapfrog is stable exactly while dt^2 times its largest eigenvalue is below 4, whatever absorbs:
with x for (u, a) at whole steps, y for (u', chi') at half steps, A for what takes y to the rate of x, all in the norms of energy, and
dampings C >= 0 that act on the mean of two steps, as those of stacey.h do,

    y(n + 1/2) - y(n - 1/2) = -dt A^T x(n) - dt C_y (y(n + 1/2) + y(n - 1/2)) / 2
    x(n + 1) - x(n) = dt A y(n + 1/2) - dt C_x (x(n + 1) + x(n)) / 2

|x(n)|^2 + |y(n - 1/2)|^2 - dt x(n)^T A y(n - 1/2) never grows, and it is positive while dt |A| < 2; |A|^2 is the largest eigenvalue of T.
Beyond, a solution grows along (-1)^n, of which C knows nothing: for the solid alone, 4 M - dt^2 K is not positive any more.
"""
from functools import partial

import numpy as np

from craton.plan.layout import Layout
from craton.plan.plan import Array, Phase, Plan
from craton.solvers.sem_elastic import families, faces, mesh_terms

FIELDS = {"solid": ("displacement", "force", 3), "fluid": ("potential", "potential_force", 1)}
MIXING = 1000.0  # radians to the unit: numbers of neighbouring points that differ little are mixed by the sine
SEED = 12


class Undamped:
    """The operator T on a machine. A vector is {medium: (points, components)}, arrays of the machine.

    Parameters
    ----------
    d : Discretisation
        Its points, media, masses; no step. All ranks must ask for whatever is done.
    elements : list of families.Arranged
        All its elements.
    machine : backend
    """

    def __init__(self, d, elements, machine):
        self.d, self.machine, self.xp, self.team = d, machine, machine.xp, d.division.team
        self.media = [medium for medium, there in zip(FIELDS, d.division.media) if there]
        self.precision = "float64" if d.exact else d.precision  # then ranks agree to more digits than are kept of the limit
        self.masses = dict(zip(FIELDS, d.first.mass))
        self.program = machine.commit(self.plan(elements))
        self.stages = {stage.name: stage for stage in self.program.phases}
        real = partial(self.xp.asarray, dtype=self.precision)
        with machine.work():
            self.mass = {medium: real(machine.asarray(self.masses[medium]))[:, None] for medium in self.media}
            self.elsewhere = {medium: machine.asarray(d.division.shared[medium].elsewhere) for medium in self.media}

    @property
    def size(self):
        """Numbers of a vector, on all ranks."""
        def own():
            return sum(FIELDS[m][2] * (len(self.masses[m]) - len(self.d.division.shared[m].elsewhere)) for m in self.media)

        return sum(self.team.every(own))

    def plan(self, elements):
        """The plan whose phases are the parts of T."""
        d, arrays, launches = self.d, {}, {}
        for medium in self.media:
            field, force, components = FIELDS[medium]
            arrays |= {name: Array("wavefield", (len(self.masses[medium]) + 1, components), self.precision) for name in (field, force)}
        for own in elements:
            more, launch = families.elastic(d, own)
            arrays |= more
            launches.setdefault("fluid" if own.family.fluid else "solid", []).append(launch)
        for kind, word in ((faces.still, "still"), (faces.coupling, "to")):
            more, found = kind(d)
            arrays |= more
            launches |= {f"{word} {medium}": some for medium, some in found.items()}
        inverse = np.append(1 / self.masses["fluid"], 0.0)
        arrays = {name: self.as_real(a) for name, a in arrays.items()} | {
            "fluid_inverse_mass": Array("material", inverse.shape, self.precision, inverse)}  # fmt: skip
        phases = tuple(Phase(name, tuple(some)) for name, some in launches.items())
        return Plan("", "", self.precision, None, d.state, arrays, phases, 1, 1.0, 0.0, [], None, 1, np.inf)

    def as_real(self, array):
        """An array in this operator's precision; integers stay."""
        if np.dtype(array.dtype).kind == "i":
            return array
        return Array(array.kind, array.shape, np.dtype(self.precision), array.data, lanes=array.lanes)

    # --- the operator ---------------------------------------------------------------------------------------------------------------

    def apply(self, vector):
        """T r, <r, r> and <r, T r> of a vector r; with the sums over all ranks."""
        with self.machine.work():
            fields, forces = ({medium: self.program.arrays[FIELDS[medium][n]] for medium in self.media} for n in (0, 1))
            for medium, values in vector.items():
                fields[medium][:-1], forces[medium][...] = values.reshape(fields[medium][:-1].shape), 0
            image, weighed = {}, {}  # K_f chi, M u: what makes the inner product
            if "fluid" in self.media:
                self.add("fluid", "fluid")
                weighed["fluid"] = -self.of_points("fluid")
                self.couple(forces["fluid"])
                image["fluid"] = -self.of_points("fluid") / self.mass["fluid"]
            if "solid" in self.media:
                weighed["solid"] = vector["solid"] * self.mass["solid"]
                self.add("solid", "solid", "to solid")
                self.run("still solid")
                image["solid"] = -self.of_points("solid") / self.mass["solid"]
            square, product = self.inner([(weighed, vector), (weighed, image)])
        return image, square, product

    def couple(self, force):
        """Add B u to complete forces of the fluid, and hold its free surface."""
        if len(self.media) > 1:
            alone = force.copy()
            force[...] = 0
            self.add("fluid", "to fluid")
            force += alone
        self.run("still fluid")

    def add(self, medium, *names):
        """Add forces by some launches, and those of other ranks at shared points."""
        for name in names:
            self.run(name)
        sharing, force = self.d.division.shared[medium], self.program.arrays[FIELDS[medium][1]]
        if self.team.size > 1:
            at = self.machine.asarray(sharing.points)
            force[at] = self.machine.asarray(sharing.summed(self.machine.to_host(force[at])))

    def run(self, name):
        """All launches of a phase, if there are any."""
        if name in self.stages:
            self.stages[name].outer(0)
            self.stages[name].inner(0)

    def of_points(self, medium):
        """Forces without the dummy point, (points, components)."""
        return self.program.arrays[FIELDS[medium][1]][:-1].reshape(-1, FIELDS[medium][2])

    # --- vectors --------------------------------------------------------------------------------------------------------------------

    def inner(self, pairs):
        """Sums over all points of all ranks of the products of pairs of vectors, each point once: list of float."""
        def own():
            return [sum(self.of_medium(medium, a[medium], b[medium]) for medium in self.media) for a, b in pairs]

        return [sum(found) for found in zip(*self.team.every(own))]

    def of_medium(self, medium, a, b):
        """Sum over the points that this rank counts."""
        there = self.elsewhere[medium]
        return float(self.xp.vdot(a, b)) - (float(self.xp.vdot(a[there], b[there])) if len(there) else 0.0)

    def at(self, vector, medium, points):
        """Values of a vector at some points of a medium on the host, points.shape + (components,)."""
        with self.machine.work():
            return self.machine.to_host(vector[medium][self.machine.asarray(points)]).astype(float)

    def scaled(self, vector, factor):
        """factor * vector, in place."""
        with self.machine.work():
            for values in vector.values():
                values *= factor
        return vector

    def combined(self, image, scale, vector, alpha, before, beta):
        """scale * image - alpha * vector - beta * before, in place of `image`."""
        with self.machine.work():
            for medium, values in image.items():
                values *= scale
                values -= alpha * vector[medium]
                if before:
                    values -= beta * before[medium]
        return image

    def start(self):
        """A random vector, the same however elements are shared: numbers of elements make it, not those of points."""
        vector = {}
        for n, medium in enumerate(self.media):
            components, phase = FIELDS[medium][2], self.phases(medium, bool(n) or medium == "fluid")
            values = np.stack([np.sin(MIXING * (c + 1) * phase) for c in range(components)], axis=1)
            values /= np.sqrt(self.masses[medium])[:, None]
            with self.machine.work():
                vector[medium] = self.xp.asarray(self.machine.asarray(values), dtype=self.precision)
        return self.balanced(vector)

    def phases(self, medium, fluid):
        """A number of each point, radians / MIXING: from the numbers of its elements and its place in them."""
        d, total = self.d, np.zeros(len(self.masses[medium]))
        pattern = np.random.default_rng(SEED).uniform(1, 2, d.element.size)
        for part in mesh_terms.batches(d.mesh.size):
            own = np.flatnonzero(d.fluid[part] == fluid) + part.start
            np.add.at(total, d.points[own], hashed(d.division.numbers[own])[:, None] * pattern)
        return d.division.shared[medium].complete(total)

    def balanced(self, vector):
        """A vector scaled so that both media have the norm 1, which rigid and free points leave."""
        with self.machine.work():
            for medium in self.media:
                alone = {name: values if name == medium else 0 * values for name, values in vector.items()}
                image, square, _ = self.apply(alone)
                vector[medium] = image[medium] / np.sqrt(square or 1.0)
        return vector


def hashed(numbers):
    """Numbers in (0, 1) that look random, of whole ones (splitmix64: Steele, Lea & Flood 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) / 2.0**64
