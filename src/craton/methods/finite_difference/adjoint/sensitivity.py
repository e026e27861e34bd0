"""From the medium of the cells to what the operators have where fields lie, and back: the chain rule of gradients by density,
bulk and shear modulus, or by the moduli of a medium that is transversely isotropic about z.

An inverse density is linear in what velocities get, a compliance in what stresses lose: with the
increments dv and ds of a step and the adjoint fields v^ and s^ of transposed.py,

    dJ/d(mean density) = -a H sum of v^ dv        dJ/d(compliance) = a H sum of s^ ds

and the harmonic mean of the shear modulus is linear in 1/mu. Compliances of normal stresses, n of
them, are 1/(2 mu) of the deviatoric part and 1/(n (n lambda + 2 mu)) of the trace. A fluid has no
deviatoric part; by its shear modulus there is no gradient.

With attenuation s^ is the law of the adjoint strain e^ (point_rows.py). With Q fixed, stresses are
linear in lambda + 2 mu and in mu, and with the increments dt e of the forward strain

    dJ/d(lambda + 2 mu) = -a H sum of F_p(tr e^) dt tr e
    dJ/d(mu)            = -a H sum of 2 (F_s(e^) : dt e - F_s(tr e^) dt tr e)

where F_p and F_s take from a strain what the mechanisms with 1/Qp and 1/Qs lose. Their strengths Y_n
are functions of 1/Q: with G the derivative of F by it and unrelaxed moduli that stay,

    dJ/d(1/Qp) = -a H (lambda + 2 mu) sum of G_p(tr e^) dt tr e,   dJ/d(1/Qs) = mu times the sum of mu with G_s
"""

from functools import cached_property
from itertools import product

import numpy as np

from craton.methods.finite_difference.adjoint import increments, parameter_sums
from craton.methods.finite_difference.adjoint.increments import BY_Q, BY_REST
from craton.methods.finite_difference.adjoint.point_rows import PointRows, inverted
from craton.methods.finite_difference.equations import laminate, material, relaxing, vti
from craton.methods.finite_difference.equations.scheme import HALF
from craton.methods.waves.adjoint import Derivative

MODULI = ("c11", "c13", "c33", "c44", "c66")
SHARES = {"c44": 2 / 3, "c66": 1 / 3}  # of the shear modulus that relaxes


def of_steps(d, cells, inverse_q):
    """Return density and moduli of the steps, and 1/Qp and 1/Qs of what relaxes (None without attenuation), from those of
    the cells at the reference frequency: as `craton.run` makes them of its cells.

    Parameters
    ----------
    d : Discretisation
    cells : (rho, kappa, mu) or (rho, c11, c13, c33, c44, c66)
        (nz, ny, nx) each, kg/m3 and Pa; in cells that the ground cuts those of the matter in them.
    inverse_q : (1/Qp, 1/Qs) or None
        Of an anisotropic medium those of waves along z: 1/Qp of what relaxes depends on the moduli, too.
    """
    cells = of_matter(d, cells)
    if d.relaxation is None:
        return cells, None
    return (vti if d.anisotropic else relaxing).unrelaxed(d.relaxation, cells, inverse_q)


def slopes_of_steps(d, cells, inverse_q, by_q):
    """Return the `Derivative` of what `of_steps` returns, density, moduli and 1/Q, by the cells of a medium with
    attenuation, where it is asked for also by 1/Qp and 1/Qs; without air.
    """
    law, count = vti if d.anisotropic else relaxing, len(cells)

    def function(part, *values):
        of_q = values[count:] or [loss[part] for loss in inverse_q]
        moduli, of_q = law.unrelaxed(d.relaxation, values[:count], of_q)
        return [*moduli, *of_q]

    return Derivative(function, (*cells, *(inverse_q if by_q else ())))


def of_matter(d, values):
    """Return values of cells times the part of each that is not air."""
    if d.ground is None:
        return tuple(values)
    share = relaxing.shares(d)
    return tuple(share * v for v in values)


class Medium:
    """The medium of a `Discretisation` with `cells`, as its operators see it, in float64.

    Parameters
    ----------
    d : Discretisation
    xp : module, optional
        numpy, or the module of the machine whose arrays `gradient` takes and returns.

    Attributes
    ----------
    rho, lam : (nz + 1, ny + 1, nx + 1) arrays
        Density and lambda of the points and of the ghosts behind the last ones, with the
        constants of absorbing layers; one row in the plane. The highest plane below a
        traction-free surface holds the lambda of plane stress.
    """

    def __init__(self, d, xp=np):
        self.d, self.xp = d, xp
        self.maps = [self._sources(axis, n) for axis, n in zip((2, 1, 0), d.grid.shape)]

    @property
    def cells(self):
        """Density, bulk and shear modulus of the cells on the host, (nz, ny, nx) each."""
        return material.cells(self.d, self.d.grid)

    def _on_machine(self, *arrays):
        """Arrays of the host as those of the machine, in float64: list."""
        return [self.xp.asarray(np.ascontiguousarray(values, float)) for values in arrays]

    @cached_property
    def rows(self):
        """The `PointRows` of this medium."""
        return PointRows(self)

    @cached_property
    def rho(self):
        """Density of points and ghosts."""
        return self.take(self._stored(*self._on_machine(self.cells[0])))

    @cached_property
    def lam(self):
        """Lambda of points and ghosts, as it is stored."""
        kappa, mu = self._on_machine(*self.cells[1:])
        lam = kappa - 2 / 3 * mu
        if self.d.free:
            lam[-1] = material.plane_stress(lam[-1], mu[-1])
        return self.take(self._stored(lam))

    @property
    def shear_moduli(self):
        """Shear moduli of the cells by name."""
        return {"mu": self.cells[2]}

    def soft(self, field):
        """Return the name of the modulus whose harmonic mean a shear stress has."""
        return "mu"

    @cached_property
    def compliances(self):
        """Inverse shear moduli of points and ghosts by name; infinite in a fluid."""
        with np.errstate(divide="ignore"):
            return {
                name: self.take(self._stored(1 / self._on_machine(values)[0]))
                for name, values in self.shear_moduli.items()
            }

    def cells_of(self, index):
        """Return the indices of the cells of points or ghosts (k, j, i)."""
        return tuple(sources[a] for sources, a in zip(self.maps, index))

    def beside(self, field, index):
        """Return the points (k, j, i) whose mean a field has at some of its points: a list."""
        firsts = [[part.start for part in corner] for corner in self.corners(HALF[field])]
        return [tuple(a + s for a, s in zip(index, first)) for first in firsts]

    def mean_of_points(self, name, field, index):
        """Return the mean of ``"rho"``, or of a shear modulus inverted, at some points (k, j, i) of a field."""
        values = np.asarray(self.cells[0] if name == "rho" else self.shear_moduli[name], float)
        parts = [values[self.cells_of(at)] for at in self.beside(field, index)]
        with np.errstate(divide="ignore"):
            return sum(self._stored(part if name == "rho" else 1 / part) for part in parts) / len(parts)

    def _stored(self, values):
        """Values as they are on the machine."""
        return values.astype(self.d.precision).astype(float)

    def _sources(self, axis, n):
        """Cell from which each point along an axis, and the ghost behind the last, has its medium."""
        d = self.d
        if axis == 1 and d.planar:
            return np.zeros(1, int)
        index = np.arange(n + 1)
        if any(a == axis for a, _ in d.faces("periodic")):
            return index % n
        least, most = d.unstretched(axis)
        return np.clip(np.minimum(index, n - 1), least, most - 1)

    def take(self, values):
        """Return values of cells at points and ghosts."""
        for axis, index in enumerate(self.maps):
            values = self.xp.take(values, self.xp.asarray(index), axis)
        return values

    def fold(self, values):
        """Return the transpose of `take`: sums over the points that have the medium of a cell."""
        for axis, (index, n) in enumerate(zip(self.maps, self.d.grid.shape)):
            moved = self.xp.moveaxis(values, axis, 0)
            out = self.xp.zeros((n, *moved.shape[1:]))
            same = np.flatnonzero(index == np.arange(len(index)))  # but for edges: in one piece
            first, last = same[0], same[-1] + 1
            out[first:last] = moved[first:last]
            for at in (*range(first), *range(last, len(index))):
                out[index[at]] += moved[at]
            values = self.xp.moveaxis(out, 0, axis)
        return values

    def corners(self, axes):
        """Slices of arrays of points and ghosts: the points whose mean a field half-way along some axes (x, y, z) has."""
        planar = self.d.planar
        shifts = [
            (0, 1) if on and not (axis == 1 and planar) else (0, 0) if on else (0,) for axis, on in enumerate(axes)
        ]
        counts = self.d.grid.shape[::-1]
        return [
            tuple(slice(s, s + n) for s, n in zip(reversed(corner), reversed(counts))) for corner in product(*shifts)
        ]

    def mean(self, values, field):
        """Return the mean of values of points and ghosts where a field is, (nz, ny, nx)."""
        parts = self.corners(HALF[field])
        return sum(values[part] for part in parts) / len(parts)

    def spread(self, values, field):
        """Return the transpose of `mean`."""
        parts, out = self.corners(HALF[field]), self._blank()
        shared = values / len(parts)
        for part in parts:
            out[part] += shared
        return out

    def _blank(self):
        """Zeros of points and ghosts."""
        return self.xp.zeros(tuple(len(index) for index in self.maps))

    @cached_property
    def shape(self):
        """Points along (z, y, x); y is one row in the plane."""
        return self.d.grid.shape

    @cached_property
    def here(self):
        """Slices of the points among points and ghosts."""
        return tuple(slice(0, n) for n in self.shape)

    def norm(self, field):
        """Norms where a field is, (nz, 1, 1)."""
        norms = self.d.norms(np.arange(self.shape[0]), HALF[field][2])
        return self.xp.asarray(norms)[:, None, None]

    @cached_property
    def normals(self):
        """Number of normal stresses of each plane, (nz, 1, 1): one less on a traction-free one."""
        count = self.xp.full((self.shape[0], 1, 1), float(len(self.d.normal)))
        if self.d.free:
            count[-1] -= 1
        return count

    @cached_property
    def mu(self):
        """Shear modulus of the points, 0 in a fluid."""
        return self.xp.zeros(self.shape) if self.d.acoustic else 1 / self.compliances["mu"][self.here]

    @cached_property
    def stiff_trace(self):
        """n lambda + 2 mu of the points; of normal stresses."""
        return self.normals * self.lam[self.here] + 2 * self.mu

    def shear(self, field):
        """Mean compliance where a shear stress is."""
        return self.mean(self.compliances[self.soft(field)], field)

    def shear_modulus_left(self, field, index, left):
        """Return the modulus of a shear stress for a strain over one step, at some of its points.

        Parameters
        ----------
        field : str
        index : tuple of int arrays
            (k, j, i).
        left : array
            What is left of a modulus that relaxes; 1 where none does.
        """
        return left * inverted(self.mean_of_points("mu", field, index))

    def stiffness_left(self, index, of_p, of_s):
        """Return matrices (points, n, n) from strains over one step to normal stresses at the points of some cells.

        Parameters
        ----------
        index : tuple of int arrays
            (k, j, i).
        of_p, of_s : arrays
            What is left of P and S moduli that relax; 1 where none do.
        """
        _, kappa, mu = (np.asarray(values, float)[index] for values in self.cells)
        mu2 = 2 * mu * of_s
        lam = (kappa + 4 / 3 * mu) * of_p - mu2
        diagonal = 0 * mu2 if self.d.acoustic else mu2
        return lam[:, None, None] + diagonal[:, None, None] * np.eye(len(self.d.normal))

    def density(self, field):
        """Mean density where a velocity is."""
        return self.mean(self.rho, field)

    # --- the chain rule ----------------------------------------------------------------------

    def gradient(self, sums, scale=1.0):
        """Return dJ/d(rho, kappa, mu) of the cells, (nz, ny, nx) each, from the sums of `correlate`;
        and where it changes by 1/Qp and 1/Qs, with unrelaxed moduli that stay.

        Parameters
        ----------
        sums : (sums, nz, ny, nx) array of the machine
            Of all shots, one behind the other along y, in the plane.
        scale : float
            The number a of transposed.py, times the steps that a stored one stands for.
        """
        named = dict(zip(increments.sums_of(self.d), sums))
        rho, by = self._blank(), {name: self._blank() for name in self.compliances}
        for field in named:  # one by one: all of them in float64 would be twice the memory
            if field in self.d.velocity:
                rho -= self._by_mean(field, self._doubles(named[field]), scale)
            elif field in self.d.stress:
                self._add_shear(by, field, named, scale)
        for name, values in by.items():
            values *= self._square(name)
        for name, values in self._by_normal(named, scale).items() if self.d.normal else ():
            if name not in by:
                by[name] = self._blank()
            by[name][self.here] += values
        by_q = self._by_losses(named, scale) if any(increments.by_q(self.d)) else ()
        return (*self._of_cells(rho, by), *by_q)

    def _add_shear(self, by, field, named, scale):
        """Add the derivatives by the compliances of points, with their sign turned, of a shear stress: a harmonic mean of
        moduli is the inverse of the mean of compliances.
        """
        values = self._doubles(named[field])
        if self.d.relaxing:  # sums of strains
            values *= inverted(self.shear(field)) ** 2
        by[self.soft(field)] -= self._by_mean(field, values, scale)

    def _square(self, name):
        """Squared compliance of points and ghosts; 0 in a fluid."""
        soft = self.compliances[name]
        return self.xp.where(soft < np.inf, soft, 0.0) ** 2

    def gradient_by_parameters(self, sums, scale=1.0):
        """Return dJ/d(rho, kappa, mu) of the cells from sums by parameters; see `gradient`.

        Parameters
        ----------
        sums : sequence of (nz, ny, nx) arrays of the machine
            Those of `parameter_sums.names`, norms included.
        scale : float
        """
        named = {name: -scale * self._doubles(values) for name, values in zip(parameter_sums.names(self.d), sums)}
        by_trace, mu = named["lambda"], self._blank()[self.here]
        if not self.d.acoustic:
            mu = named["mu"] * self._square("mu")[self.here]
        if self.d.normal:
            mu += self._by_stiff_trace(by_trace)
        return self._by_kappa(named["rho"], by_trace, mu)

    def _by_stiff_trace(self, of_trace):
        """Make of sums of traces, in place, the derivative by lambda of the points; return what that by mu has of them."""
        of_trace *= inverted(self.stiff_trace) ** 2
        of_trace *= self.normals
        return 2 * of_trace / np.maximum(self.normals, 1)

    def _by_mean(self, field, values, scale):
        """Return what the misfit loses by the parameter of points and ghosts whose mean a field has, in place of `values`."""
        values *= scale * self.norm(field)
        return self.spread(values, field)

    def _doubles(self, values):
        """Return sums of all shots in float64, as an array of their own."""
        if self.d.planar:
            return values.sum(1, keepdims=True, dtype=float)
        return values.astype(float)

    def _by_losses(self, named, scale):
        """dJ/d(1/Qp, 1/Qs) of the cells."""
        by_qp, by_qs = self._blank(), self._blank()
        sums = {name.removesuffix(BY_Q): self._doubles(v) for name, v in named.items() if name.endswith(BY_Q)}
        for field in (name for name in sums if name in self.d.stress):
            weight = -scale * self.norm(field) * inverted(self.shear(field))
            by_qs += self.spread(weight * sums[field], field)
        if self.d.normal:
            weight = -scale * self.norm("sxx")
            by_qs[self.here] += weight * self.mu * sums["deviatoric"]
            by_qp[self.here] += weight * self._relaxing_stiff * sums["trace"]
        return self.fold(by_qp), self.fold(by_qs)

    @cached_property
    def _relaxing_stiff(self):
        """lambda + 2 mu of the points; 0 in a fluid on a traction-free plane."""
        kappa, mu = self._on_machine(*self.cells[1:])
        stiff = self.take(kappa + 4 / 3 * mu)[self.here]
        return self.xp.where(self._held_fluid, 0.0, stiff)

    def _by_normal(self, named, scale):
        """dJ/d(moduli of the points) by normal stresses, by name: lambda as it is stored."""
        weight = scale * self.norm("sxx")
        of_trace, of_deviatoric = (self._doubles(named[name]) for name in ("trace", "deviatoric"))
        if self.d.relaxing:
            by_stiff = -weight * self.xp.where(self._held_fluid, 0.0, of_trace)
            return {"lam": by_stiff, "mu": 2 * by_stiff - weight * of_deviatoric}
        of_deviatoric *= -weight  # in place: each of these is as large as the medium
        of_deviatoric *= inverted(2 * self.mu) ** 2
        of_deviatoric *= 2
        of_trace *= -weight
        of_deviatoric += self._by_stiff_trace(of_trace)
        return {"lam": of_trace, "mu": of_deviatoric}

    def _of_cells(self, rho, by):
        """dJ/d(rho, kappa, mu) of cells from those by what points and ghosts have."""
        lam = by["lam"] if "lam" in by else self._blank()
        return self._by_kappa(*map(self.fold, (rho, lam, by["mu"])))

    def _by_kappa(self, rho, lam, mu):
        """dJ/d(rho, kappa, mu) of cells from those by what the cells themselves have."""
        if self._in_plane_stress:
            lam[-1], more = self._plane_stress().transpose([lam[-1]])
            mu[-1] += more
        return rho, lam, self.xp.where(self._solid_cells, mu - 2 / 3 * lam, 0.0)

    @property
    def _in_plane_stress(self):
        """True where the highest plane has the moduli of plane stress: without attenuation."""
        return self.d.free and not self.d.relaxing

    @cached_property
    def _held_fluid(self):
        """Points of a fluid on a traction-free plane: no pressure, whatever the modulus."""
        out = self.xp.zeros(self.shape, bool)
        if self.d.free:
            out[-1] = self.mu[-1] == 0
        return out

    @cached_property
    def _solid_cells(self):
        """Cells with a shear modulus."""
        return self._on_machine(self.cells[2])[0] > 0

    def _plane_stress(self):
        """Return the `Derivative` of lambda of the highest cells, of plane stress, by lambda and mu."""
        kappa, mu = self._on_machine(*(values[-1] for values in self.cells[1:]))
        return Derivative(lambda part, *lame: [material.plane_stress(*lame)], (kappa - 2 / 3 * mu, mu))

    def perturbation(self, rho, *changes):
        """Return the coefficients of `scatter` that a change of the cells makes, and of 1/Qp and 1/Qs where these
        change: the transpose of `gradient` but for the increments, (sums, nz, ny, nx).
        """
        rho = self.take(rho)
        of_velocities = [-self.mean(rho, f) * inverted(self.density(f)) for f in self.d.velocity]
        of_stresses = self._of_stresses([f for f in self.d.stress if f not in self.d.normal], *changes)
        return np.stack([np.broadcast_to(v, self.shape) for v in (*of_velocities, *of_stresses)])

    def _softened(self, by, name, field):
        """Return by how much the mean compliance of a shear stress falls where moduli of points change."""
        return self.mean(by[name] * self._square(name), field)

    def _of_stresses(self, shear, kappa, mu, *losses):
        """Return the coefficients of shear and of normal stresses; see `perturbation`."""
        d = self.d
        mu = np.where(self._solid_cells, mu, 0.0)
        lam = np.asarray(kappa) - 2 / 3 * mu
        if self._in_plane_stress:
            (top,) = self._plane_stress().apply([lam[-1], mu[-1]])
            lam = np.concatenate([lam[:-1], top[None]])
        lam, mu = self.take(lam), self.take(mu)
        power = 2 if d.relaxing else 1
        out = [self._softened({"mu": mu}, "mu", f) * inverted(self.shear(f)) ** power for f in shear]
        mu, lam = mu[self.here], lam[self.here]
        if d.normal and d.relaxing:
            out += [mu, np.where(self._held_fluid, 0.0, lam + 2 * mu)]
        elif d.normal:
            out += [2 * mu * inverted(2 * self.mu), (self.normals * lam + 2 * mu) * inverted(self.stiff_trace)]
        if losses:
            of_qp, of_qs = map(self.take, losses)
            out += [self.mean(of_qs, f) * inverted(self.shear(f)) for f in shear]
            if d.normal:
                out += [self.mu * of_qs[self.here], self._relaxing_stiff * of_qp[self.here]]
        return out


# --- transversely isotropic media -------------------------------------------------------------------------------------


class TransverseMedium(Medium):
    """The medium of a `Discretisation` whose cells have density, c11, c13, c33, c44, c66.

    Of normal stresses the products of all pairs are summed: with M = sum of s^ ds and the compliance S of a point,
    dJ/dC = -a H S M S, the same on a traction-free plane, where szz and its increments are zero. Shear stresses have the
    harmonic means of c44 and, sxy, of c66.
    """

    @cached_property
    def moduli_of_cells(self):
        """c11, c13, c33, c44, c66 of the cells by name, Pa."""
        values = vti.stiffness(self.d, self.d.grid)[1:]
        return dict(zip(MODULI, (np.asarray(v, float) for v in values)))

    @property
    def shear_moduli(self):
        """See `Medium.shear_moduli`."""
        return {name: self.moduli_of_cells[name] for name in SHARES}

    def soft(self, field):
        """See `Medium.soft`."""
        return "c66" if field == "sxy" else "c44"

    @cached_property
    def _moduli_of_points(self):
        return {name: self.take(v)[self.here] for name, v in self.moduli_of_cells.items()}

    @property
    def mu(self):
        """See `Medium.mu`."""
        return self._moduli_of_points["c44"]

    @cached_property
    def _solid_cells(self):
        """See `Medium._solid_cells`."""
        return self.moduli_of_cells["c44"] > 0

    def stiffness(self, moduli):
        """Return matrices (..., n, n) of normal stresses from moduli by name."""
        return laminate.stiffness(self.d, [moduli[name] for name in increments.REST])

    @cached_property
    def _compliance(self):
        """The inverse matrices of points; in a fluid those that share a pressure out to all axes, 0
        where there is nothing.
        """
        n, moduli = len(self.d.normal), self._moduli_of_points
        matrices, solid = self.stiffness(moduli), (moduli["c44"] > 0)[..., None, None]
        fluid = inverted(moduli["c33"])[..., None, None] * np.full((n, n), 1 / n**2)
        return np.where(solid, np.linalg.inv(np.where(solid, matrices, np.eye(n))), fluid)

    # --- the law at points ----------------------------------------------------------------------

    def shear_modulus_left(self, field, index, left):
        """See `Medium.shear_modulus_left`."""
        means = {name: inverted(self.mean_of_points(name, field, index)) for name in SHARES}
        relaxes = sum(share * means[name] for name, share in SHARES.items())
        return means[self.soft(field)] - (1 - left) * relaxes

    def stiffness_left(self, index, of_p, of_s):
        """See `Medium.stiffness_left`."""
        moduli = [values[index] for values in self.moduli_of_cells.values()]
        stiff, shear = vti.relaxing_moduli(*moduli)
        lost = vti.of_isotropic((1 - of_p) * stiff, (1 - of_s) * shear)
        return self.stiffness(dict(zip(MODULI, (c - more for c, more in zip(moduli, lost)))))

    # --- the chain rule -----------------------------------------------------------------------

    def _by_normal(self, named, scale):
        """See `Medium._by_normal`."""
        n, normal = len(self.d.normal), self.d.normal
        products = np.stack([self._doubles(named[f"{a} {b}"]) for a in normal for b in normal], -1)
        products = products.reshape(*self.shape, n, n)
        weight = scale * self.norm("sxx")[..., None, None]
        slopes = -weight * (self._compliance @ products @ self._compliance)

        def rows(part, *moduli):
            return np.moveaxis(laminate.stiffness(self.d, moduli).reshape(*moduli[0].shape, n * n), -1, 0)

        moduli = [self._moduli_of_points[name] for name in increments.REST]
        by = Derivative(rows, moduli).transpose(np.moveaxis(slopes.reshape(*self.shape, n * n), -1, 0))
        return dict(zip(increments.REST, by))

    def _of_cells(self, rho, by):
        """Return dJ/d(rho, c11, c13, c33, c44, c66) of cells from those by what points and ghosts have."""
        folded = [self.fold(by[name] if name in by else self._blank()) for name in MODULI]
        return self.fold(rho), *folded[:3], *(np.where(self._solid_cells, values, 0.0) for values in folded[3:])

    def _changes_of_points(self, changes):
        """Return changes of the moduli of points and ghosts by name, none of a shear modulus of a fluid."""
        by = dict(zip(MODULI, (np.asarray(v, float) for v in changes)))
        by |= {name: np.where(self._solid_cells, by[name], 0.0) for name in SHARES}
        return {name: self.take(values) for name, values in by.items()}

    def _of_stresses(self, shear, *changes):
        """See `Medium._of_stresses`."""
        by, n = self._changes_of_points(changes), len(self.d.normal)
        out = [self._softened(by, self.soft(f), f) * inverted(self.shear(f)) for f in shear]
        if not n:
            return out
        # from horizontal strains on a traction-free plane to all: the vertical one keeps szz zero
        spread, moduli = np.broadcast_to(np.eye(n), (*self.shape, n, n)).copy(), self._moduli_of_points
        if self.d.free:
            spread[-1, ..., n - 1, :] = -(moduli["c13"] * inverted(moduli["c33"]))[-1, ..., None]
            spread[-1, ..., n - 1, n - 1] = 0
        changed = self.stiffness({name: v[self.here] for name, v in by.items()})
        matrices = np.swapaxes(spread, -1, -2) @ changed @ self._compliance
        return out + [matrices[..., a, b] for a in range(n) for b in range(n)]


class RelaxingTransverseMedium(TransverseMedium):
    """The same with attenuation, cells with unrelaxed moduli; derivatives also by 1/Qp of what relaxes.

    An isotropic part of the moduli relaxes (`rheology.relaxing_part`), linear in them, the rest does not: stresses are
    (C - P) e + P F(e), with F of attenuation in an isotropic medium. Sums by P have filtered strains, sums by C - P plain ones
    (kernels/strains.h). Both parts of shear stresses are made of harmonic means of c44 and c66. 1/Q of P waves of that part
    changes with the moduli, that of S waves stays.
    """

    def _add_shear(self, by, field, named, scale):
        """See `Medium._add_shear`."""
        plain, filtered = (self._doubles(named[name]) for name in (field + BY_REST, field))
        for name, share in SHARES.items():
            of_mean = share * (filtered - plain) + (plain if name == self.soft(field) else 0)
            by[name] -= self._by_mean(field, self._mean_squared(name, field) * of_mean, scale)

    def _mean_squared(self, name, field):
        """Squared harmonic mean of c44 or c66 where a shear stress is."""
        return inverted(self.mean(self.compliances[name], field)) ** 2

    def _by_normal(self, named, scale):
        """See `Medium._by_normal`; of strains."""
        weight = np.where(self._held_fluid, 0.0, -scale * self.norm("sxx"))
        rest = [weight * self._doubles(named[name]) if name in named else 0.0 for name in MODULI]
        stiff, shear = vti.by_isotropic(*rest)
        trace, deviatoric = (weight * self._doubles(named[name]) for name in ("trace", "deviatoric"))
        relaxing = vti.by_relaxing_moduli(trace - stiff, deviatoric - shear)
        return {name: a + b for name, a, b in zip(MODULI, rest, relaxing)}

    def _by_losses(self, named, scale):
        """See `Medium._by_losses`; of the part of the cells that relaxes, where it has normal stresses."""
        by_q = self._blank()
        by_q[self.here] = -scale * self.norm("sxx") * self._relaxing_stiff * self._doubles(named["trace" + BY_Q])
        return (self.fold(by_q),)

    @cached_property
    def _relaxing_stiff(self):
        """See `Medium._relaxing_stiff`; of the part that relaxes."""
        stiff, _ = vti.relaxing_moduli(*self._moduli_of_points.values())
        return np.where(self._held_fluid, 0.0, stiff)

    def _of_stresses(self, shear, c11, c13, c33, c44, c66, of_q=0.0, _=0.0):
        """See `Medium._of_stresses`; `of_q`: change of 1/Qp of what relaxes. 1/Qs stays."""
        by, normal = self._changes_of_points((c11, c13, c33, c44, c66)), self.d.normal
        of_parts, of_rest = [], []
        for field in shear:
            means = {n: self._mean_squared(n, field) * self._softened(by, n, field) for n in SHARES}
            relaxing = sum(share * means[name] for name, share in SHARES.items())
            of_parts.append(relaxing)
            of_rest.append(means[self.soft(field)] - relaxing)
        if normal:
            moduli = [np.where(self._held_fluid, 0.0, by[name][self.here]) for name in MODULI]
            stiff, shear = vti.relaxing_moduli(*moduli)
            of_parts += [shear, stiff, self._relaxing_stiff * self.take(of_q)[self.here]]
            rest = dict(zip(MODULI, (c - p for c, p in zip(moduli, vti.of_isotropic(stiff, shear)))))
            of_rest += [rest[name] for name in increments.REST[: 1 + len(normal)]]
        return [*of_parts, *of_rest]
