"""Operator of the undamped oscillations of a problem, without sources, attenuation and absorbing faces, applied by its own
kernels; and its largest eigenvalue.

    u'' = -M^-1 (K u + B^T a),   a = chi'' = M_f^-1 (B u - K_f chi)

with moduli as they are at the highest frequencies. With x = (u, chi) that is x'' = -T x. T is
self-adjoint in the inner product <x, y> = u^T M v + chi^T K_f psi, and the leapfrog is stable
exactly while dt^2 times its largest eigenvalue is below 4, whatever absorbs: with x for (u, a) at
whole steps, y for (u', chi') at half steps, A for what takes y to the rate of x, all in the norms
of energy, and dampings C >= 0 that act on the mean of two steps, as those of stacey.h do,

    y(n + 1/2) - y(n - 1/2) = -dt A^T x(n) - dt C_y (y(n + 1/2) + y(n - 1/2)) / 2
    x(n + 1) - x(n) = dt A y(n + 1/2) - dt C_x (x(n + 1) + x(n)) / 2

|x(n)|^2 + |y(n - 1/2)|^2 - dt x(n)^T A y(n - 1/2) never grows, and it is positive while dt |A| < 2;
|A|^2 is the largest eigenvalue of T. Beyond, a solution grows along (-1)^n, of which C knows
nothing: for the solid alone, 4 M - dt^2 K is not positive any more. A memory variable that follows
the strain exactly over a step answers (-1)^n with M (1 - sum Y (1 - tanh(x/2) 2/x)) <= M, x = w dt.

Factors of each node on stiffness and mass, as of an absorbing layer, would enter by
`families.elastic_launch`, which returns launches, and `masses`.

The eigenvalue and a bound from above come by Lanczos' method without reorthogonalisation. After m steps from a random
vector of n numbers, theta is the largest eigenvalue of the tridiagonal matrix, y the Ritz vector. theta never exceeds
the largest eigenvalue. Two things say how much may be lacking:

    || T y - theta y || = beta_{m+1} |s_m|, s_m the last component of the eigenvector of the
    tridiagonal matrix: an eigenvalue of T lies
        within that distance of theta (Parlett 1998, theorem 4.5.1);
    a mode with the share c of the start vector whose eigenvalue is above (1 + d) theta shows once c
    T_{m-1}(1 + 2 d) > 1, T_{m-1} the
        polynomial of Chebyshev (Kaniel 1966; Saad 2011, theorem 6.4): with c = 0.1 / sqrt(n), which
        it has but once in twelve, d = (log(20 sqrt(n)) / (2 (m - 1)))^2.

The bound is theta plus the larger of the two, and the steps end when both are small. Ends by the
residual alone come too early: of 60 random meshes one had 0.991 of its largest eigenvalue for ten
steps, with a residual of 0.0014, before a mode of a few points showed. Once an eigenvalue has
converged, vectors lose orthogonality and theta comes again as a copy: what is asked for here does
not suffer (Paige 1980).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.core.plan import Array, Phase, StepPlan
from craton.errors import ResourceError
from craton.host.compile import helper
from craton.methods.spectral_element.equations import faces
from craton.methods.spectral_element.equations.state import FloatingPoint
from craton.methods.spectral_element.mesh import families, mesh_terms
from craton.model.media import cells

TEXT = Path(__file__).parent / "undamped.cpp"
FIELDS = {"solid": ("displacement", "force", 3), "fluid": ("potential", "potential_force", 1)}
# turns to the unit: numbers of neighbouring points that differ little are mixed by the sine
MIXING = 1000.0
SLAB = 1 << 14  # points per batch of the first vector
POINTS = 1 << 16  # per batch of the others, on a host
LANES = 16  # points whose products are added side by side (undamped.cpp)
SEED = 12
# of Lanczos' method
CLOSE = 0.01  # of the eigenvalue, by which the bound may be above it: half of that in the step
SHARE = 0.1  # of a mode in the start vector, over that of the mean mode
MOST = 300  # steps


class Undamped:
    """The operator T on a machine, with a vector r and the previous vector; the forces at the
    points are its image.

    All ranks must call every method.

    Parameters
    ----------
    d : Medium
    elements : list of families.ArrangedFamily
        All its elements.
    machine : backend
    """

    def __init__(self, d, elements, machine):
        self.d, self.machine, self.team = d, machine, d.subdomain.team
        self.media = [medium for medium, present in zip(FIELDS, d.subdomain.media) if present]
        # then ranks agree to more digits than are kept of the limit
        self.precision = "float64" if d.exact else d.precision
        self.masses = dict(zip(FIELDS, d.statistics.mass))
        self.elements = elements
        self.program = self.committed(self.plan(elements))
        self.stages = {stage.name: stage for stage in self.program.phases}
        with machine.work():
            self.mass = {medium: self.real(self.masses[medium])[:, None] for medium in self.media}
            self.elsewhere = {medium: machine.asarray(d.subdomain.shared[medium].elsewhere) for medium in self.media}

    def real(self, values):
        """Copy host values to an array of the machine in the operator's precision."""
        return self.machine.asarray(np.asarray(values, self.precision))

    def committed(self, plan):
        """Return the program of a plan, whose arrays fit into the memory that is free.

        Raises
        ------
        ResourceError
        """
        needed, (free, _) = plan.nbytes, self.machine.memory()
        if needed > free:
            raise ResourceError(
                f"finding the stable step of {self.d.mesh.size:,} elements needs {needed / 2**30:.1f} "
                f"GiB, {free / 2**30:.1f} GiB are free on {self.machine.describe()}\n"
                "    -> take larger elements, or more ranks"
            )
        return self.machine.commit(plan)

    @property
    def start_bytes(self):
        """Bytes that making the first vector takes."""
        size = np.dtype(self.precision).itemsize
        return sum((8 + size * FIELDS[m][2]) * len(self.masses[m]) for m in self.media)

    @property
    def size(self):
        """Length of a vector, over all ranks."""
        shared = self.d.subdomain.shared
        of_rank = sum(FIELDS[m][2] * (len(self.masses[m]) - len(shared[m].elsewhere)) for m in self.media)
        return sum(self.team.every(lambda: of_rank))

    def plan(self, elements):
        """Return the plan whose phases are the parts of T."""
        d, arrays, launches = self.d, {}, {}
        for medium in self.media:
            field, force, components = FIELDS[medium]
            shape = (len(self.masses[medium]) + 1, components)
            arrays |= {name: Array("wavefield", shape, self.precision) for name in (field, force, f"{medium}_before")}
        for arranged in elements:
            family_arrays, launch = families.elastic_launch(d, arranged)
            arrays |= family_arrays
            launches.setdefault("fluid" if arranged.family.fluid else "solid", []).append(launch)
        for kind, word in ((faces.rigid_points, "rigid"), (faces.coupling, "to")):
            kind_arrays, by_medium = kind(d, FloatingPoint())
            arrays |= kind_arrays
            launches |= {f"{word} {medium}": medium_launches for medium, medium_launches in by_medium.items()}
        inverse = np.append(1 / self.masses["fluid"], 0.0)
        arrays = {name: self.as_real(a) for name, a in arrays.items()}
        arrays["fluid_inverse_mass"] = Array("material", inverse.shape, self.precision, inverse)
        phases = tuple(Phase(name, tuple(phase_launches)) for name, phase_launches in launches.items())
        return StepPlan(precision=self.precision, layout=d.state.layout, arrays=arrays, phases=phases)

    def as_real(self, array):
        """Return an array in this operator's precision; integers stay."""
        if np.dtype(array.dtype).kind == "i":
            return array
        return Array(array.kind, array.shape, np.dtype(self.precision), array.data, lanes=array.lanes)

    def array(self, medium, name):
        """Return "vector", "image" (times -M) or the previous vector, "before", without the dummy
        point: (points, components).
        """
        field, force, _ = FIELDS[medium]
        return self.program.arrays[{"vector": field, "image": force, "before": f"{medium}_before"}[name]][:-1]

    # --- the operator -----------------------------------------------------------------------------

    def apply(self):
        """Compute the image of the vector; return <r, r> and <r, T r>, sums over all ranks."""
        with self.machine.work():
            weighed = {}
            for medium in self.media:
                self.array(medium, "image")[...] = 0
            if "fluid" in self.media:
                self.add("fluid", "fluid")
                weighed["fluid"] = self.array("fluid", "image")  # - K_f chi
                if len(self.media) > 1:
                    weighed["fluid"] = weighed["fluid"].copy()
                    self.array("fluid", "image")[...] = 0
                    self.add("fluid", "to fluid")
                    self.array("fluid", "image")[...] += weighed["fluid"]
                self.run("rigid fluid")
            if "solid" in self.media:
                self.add("solid", "solid", "to solid")
                self.run("rigid solid")
            return self.products(weighed.get("fluid"))

    def products(self, fluid_force):
        """Return <r, r> and <r, T r>, sums over all ranks, each point once; `fluid_force` is -K_f chi."""
        of_rank = np.zeros(2)
        for medium in self.media:
            every = self.partial_products(medium, slice(None), fluid_force)
            of_rank += every - self.partial_products(medium, self.elsewhere[medium], fluid_force)
        return np.sum(self.team.every(lambda: of_rank), axis=0).tolist()

    def partial_products(self, medium, points, fluid_force):
        """Return the contribution of points of a medium of this rank to `products`: (2,)."""
        vector, force, mass = (
            a[points] for a in (self.array(medium, "vector"), self.array(medium, "image"), self.mass[medium])
        )
        stiffness = fluid_force[points] if medium == "fluid" else None

        def slab(part):
            arrays = (vector[part], force[part], mass[part])
            return products(self.machine, *arrays, None if stiffness is None else stiffness[part])

        return np.sum([np.zeros(2), *cells.in_order(slab, self.slabs(len(vector)))], axis=0)

    def compiled(self):
        """Return the compiled form of vectors' sums; None on a machine with memory of its own."""
        return helper(TEXT) if self.machine.shares_host_memory else None

    def slabs(self, count):
        """Return batches of points, for the threads of a host."""
        share = self.machine.shares_host_memory
        return mesh_terms.batches(count, POINTS if share else max(count, 1))

    def add(self, medium, *names):
        """Add the forces of the named phases, and those of other ranks at shared points."""
        for name in names:
            self.run(name)
        if self.team.size > 1:
            sharing, force = self.d.subdomain.shared[medium], self.array(medium, "image")
            shared_points = self.machine.asarray(sharing.points)
            force[shared_points] = self.real(sharing.sum_over_ranks(self.machine.to_host(force[shared_points])))

    def run(self, name):
        """Run all launches of a phase, if it exists."""
        if name in self.stages:
            self.stages[name].outer(0)
            self.stages[name].inner(0)

    def advance(self, norm, alpha=0.0, beta=0.0):
        """Make the next vector, T v - alpha v - beta previous, with v = r / norm, which becomes the previous vector."""
        for medium in self.media:
            vector, image, before = (self.array(medium, name) for name in ("vector", "image", "before"))
            arrays, compiled = (vector, image, before, self.mass[medium]), self.compiled()

            def step(part, arrays=arrays, compiled=compiled):
                advance(compiled, *(a[part] for a in arrays), norm, alpha, beta)

            with self.machine.work():
                cells.in_parallel(step, self.slabs(len(vector)))

    # --- vectors ----------------------------------------------------------------------------------

    def load(self, vector):
        """Set the vector from {medium: host array}."""
        with self.machine.work():
            for medium, values in vector.items():
                target = self.array(medium, "vector")
                target[...] = self.real(values).reshape(target.shape)

    def image(self):
        """Return T r on the host, {medium: (points, components)}."""
        with self.machine.work():
            return {
                medium: -self.machine.to_host(self.array(medium, "image") / self.mass[medium]) for medium in self.media
            }

    def previous_at(self, medium, points):
        """Return the previous vector at points of a medium on the host, in the precision of the
        machine: points.shape + (components,).
        """
        with self.machine.work():
            return self.machine.to_host(self.array(medium, "before")[self.machine.asarray(points)])

    def start(self):
        """Set a random vector that does not depend on the partition: it follows from numbers of
        elements, not of points.
        """
        vector = {medium: self.random(medium) for medium in self.media}
        if len(self.media) > 1:  # both media shall have the norm 1
            for medium in self.media:
                self.load({name: values if name == medium else 0 * values for name, values in vector.items()})
                square, _ = self.apply()
                vector[medium] = vector[medium] / np.sqrt(square or 1.0)
        self.load(vector)
        self.apply()  # rigid and free points leave
        self.advance(1.0)

    def random(self, medium):
        """Return random values at the points of a medium: (points, components)."""
        d, phase, mass = self.d, np.zeros(len(self.masses[medium])), self.masses[medium]
        pattern = np.random.default_rng(SEED).uniform(1, 2, d.element.size)
        for part in mesh_terms.batches(d.mesh.size):
            in_medium = np.flatnonzero(d.fluid[part] == (medium == "fluid")) + part.start
            np.add.at(phase, d.points[in_medium], hash_numbers(d.subdomain.numbers[in_medium])[:, None] * pattern)
        d.subdomain.shared[medium].complete(phase)
        components = FIELDS[medium][2]
        out, frequencies = np.empty((len(mass), components), self.precision), MIXING * np.arange(1, components + 1)

        def fill(part):
            turns = phase[part, None] * frequencies
            out[part] = np.sin(2 * np.pi * (turns - np.rint(turns)).astype(self.precision)) / np.sqrt(mass[part, None])

        cells.in_parallel(fill, mesh_terms.batches(len(mass), SLAB))
        return out


def products(machine, vector, force, mass, stiffness=None):
    """Return the sums (2,) of r_w r and r_w t over a slab: r the vector, t = -force / mass its image,
    r_w = mass r, or -stiffness where it is given; (points, components) each.
    """
    if not machine.shares_host_memory:
        weighed = vector * mass if stiffness is None else -stiffness
        return np.array([float(machine.xp.vdot(weighed, a)) for a in (vector, -force / mass)])
    return products_on_host(helper(TEXT), vector, force, mass, stiffness)


def products_on_host(compiled, vector, force, mass, stiffness=None):
    """Return `products`, in double precision and always in the same order, by compiled code or, for None, by NumPy."""
    if compiled is not None:
        sums = np.empty(2)
        compiled.call(f"products_{vector.dtype}_{vector.shape[1]}", len(vector), vector, force, mass, stiffness, sums)
        return sums
    weighed = vector * mass if stiffness is None else -stiffness
    width = LANES * vector.shape[1]
    terms = np.zeros((2, -(-vector.size // width) * width))
    for row, values in zip(terms, (vector, -force / mass)):
        np.multiply(weighed.ravel(), values.ravel(), out=row[: vector.size], dtype=float)
    return terms.reshape(2, -1, width).sum(axis=1).cumsum(axis=1)[:, -1]


def advance(compiled, vector, force, before, mass, norm, alpha, beta):
    """Replace a slab of the vector and of the one before, (points, components), as `Undamped.advance`."""
    if compiled is not None:
        numbers = map(float, (norm, alpha, beta))
        shape, name = vector.shape, f"advance_{vector.dtype}"
        compiled.call(name, *shape, force, mass, *numbers, vector, before)
        return
    v, new = vector * (1 / norm), force / mass
    new *= -1 / norm
    if alpha:
        new -= alpha * v
    if beta:
        new -= beta * before
    before[...], vector[...] = v, new


def hash_numbers(numbers):
    """Hash integers to pseudo-random numbers in (0, 1) (splitmix64: Steele, Lea & Flood 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) / 2.0**64


# --- Lanczos' method ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Largest:
    """Result of Lanczos' method.

    Parameters
    ----------
    value : float
        Largest eigenvalue, from below.
    lacking : float
        Relative distance from `value` to the bound from above.
    weights : (steps,) array
        Weights of the Lanczos vectors in the Ritz vector.
    """

    value: float
    lacking: float
    weights: np.ndarray

    @property
    def bound(self):
        """Eigenvalue from above."""
        return self.value * (1 + self.lacking)


def lanczos(operator, keep=None, close=CLOSE):
    """Return the `Largest` eigenvalue of an operator T, which has a start vector.

    Parameters
    ----------
    operator : object
        ``size`` numbers in a vector; ``apply()`` takes T of its vector r and gives <r, r> and <r, T
        r>; ``advance(norm, alpha, beta)`` makes the next vector, T v - alpha v - beta previous,
        with v = r / norm, which becomes the previous vector.
    keep : callable, optional
        Called when the previous vector of the operator is a Lanczos vector.
    close : float
        Relative distance from the eigenvalue to its bound at which the steps end.
    """
    diagonal, off_diagonal, size = [], [], operator.size
    while True:
        square, product = operator.apply()
        norm = float(np.sqrt(max(square, 0.0)))
        if diagonal:
            estimate = ritz(diagonal, off_diagonal, norm, size)
            if estimate.lacking <= close or len(diagonal) >= min(MOST, size):
                return estimate
            off_diagonal.append(norm)
        elif not norm:
            return Largest(0.0, 0.0, np.ones(1))
        diagonal.append(product / square)
        operator.advance(norm, diagonal[-1], off_diagonal[-1] if off_diagonal else 0.0)
        if keep:
            keep()


def ritz(diagonal, off_diagonal, norm, size):
    """Return the `Largest` of a tridiagonal matrix from its diagonal, off-diagonal, the norm of the
    next vector and its size.
    """
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    value, residual, steps = float(values[-1]), float(norm * abs(vectors[-1, -1])), len(diagonal)
    if norm <= 1e-6 * value:  # nothing is left of the space
        return Largest(value, residual / value, vectors[:, -1])
    unseen = (np.log(2 * np.sqrt(size) / SHARE) / (2 * max(steps - 1, 1))) ** 2
    return Largest(value, max(residual / max(value, 1e-300), unseen), vectors[:, -1])
