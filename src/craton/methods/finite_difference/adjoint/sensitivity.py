"""From the medium of the cells to what the operators have where fields lie, and back: the chain
rule of gradients by density, bulk and shear modulus; rows of point tables in the adjoint's units.

An inverse density is linear in what velocities get, a compliance in what stresses lose: with the
increments dv and ds of a step and the adjoint fields v^ and s^ of transposed.py,

    dJ/d(mean density) = -a H sum of v^ dv        dJ/d(compliance) = a H sum of s^ ds

and the harmonic mean of the shear modulus is linear in 1/mu. Compliances of normal stresses, n of
them, are 1/(2 mu) of the deviatoric part and 1/(n (n lambda + 2 mu)) of the trace. A fluid has no
deviatoric part; by its shear modulus there is no gradient.
"""

from functools import cached_property
from itertools import product

import numpy as np

from craton.methods.finite_difference.adjoint import increments, parameter_sums, strains
from craton.methods.finite_difference.equations import laminate, material
from craton.methods.finite_difference.equations.scheme import HALF


class Medium:
    """The medium of a `Discretisation` with `cells`, as its operators see it, in float64.

    Parameters
    ----------
    d : Discretisation
    xp : module, optional
        numpy, or the module of the machine whose arrays `gradient` takes and returns.

    Attributes
    ----------
    rho, lam, rmu : (nz + 1, ny + 1, nx + 1) arrays
        Density, lambda and 1/mu of the points and of the ghosts behind the last ones, with the
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

    def _on_machine(self, *numbers):
        """Cells by their numbers, as arrays of the machine in float64."""
        return [self.xp.asarray(np.ascontiguousarray(self.cells[n], float)) for n in numbers]

    @cached_property
    def rho(self):
        """Density of points and ghosts."""
        return self.take(self._stored(*self._on_machine(0)))

    @cached_property
    def lam(self):
        """Lambda of points and ghosts, as it is stored."""
        kappa, mu = self._on_machine(1, 2)
        lam = kappa - 2 / 3 * mu
        if self.d.free:
            lam[-1] = material.plane_stress(lam[-1], mu[-1])
        return self.take(self._stored(lam))

    @cached_property
    def rmu(self):
        """1/mu of points and ghosts; infinite in a fluid."""
        with np.errstate(divide="ignore"):
            return self.take(self._stored(1 / self._on_machine(2)[0]))

    def of_points(self, name, index):
        """Return ``"rho"``, ``"lam"`` or ``"rmu"`` of some points or ghosts.

        Parameters
        ----------
        name : str
        index : tuple of int arrays
            (k, j, i).
        """
        at = tuple(sources[a] for sources, a in zip(self.maps, index))
        rho, kappa, mu = (np.asarray(values[at], float) for values in self.cells)
        values = material.parameter(name, rho, kappa, mu)
        if name == "lam" and self.d.free:
            top = at[0] == self.shape[0] - 1
            values[top] = material.plane_stress(values[top], mu[top])
        return self._stored(values)

    def mean_of_points(self, name, field, index):
        """Return the mean of a parameter at some points of a field; see `of_points`."""
        firsts = [[part.start for part in corner] for corner in self.corners(HALF[field])]
        shifted = [tuple(a + s for a, s in zip(index, first)) for first in firsts]
        return sum(self.of_points(name, at) for at in shifted) / len(shifted)

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
        """Slices of arrays of points and ghosts: the points whose mean a field half-way along some
        axes (x, y, z) has.
        """
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
        return self.xp.zeros(self.shape) if self.d.acoustic else 1 / self.rmu[self.here]

    @cached_property
    def stiff_trace(self):
        """n lambda + 2 mu of the points; of normal stresses."""
        return self.normals * self.lam[self.here] + 2 * self.mu

    def moduli(self, inverse):
        """Factors of the deviatoric part and of the trace over n of normal strains that give
        stresses, or those of stresses that give strains (`inverse`); 0 where there is none.
        """
        deviatoric, trace = 2 * self.mu, self.stiff_trace
        return tuple(_inverted(v) if inverse else v for v in (deviatoric, trace))

    def soft(self, field):
        """Return the name of the compliance whose mean a shear stress has."""
        return "rmu"

    def shear(self, field):
        """Mean of 1/mu where a shear stress is."""
        return self.mean(self.rmu, field)

    def shear_modulus_left(self, field, index, left):
        """Return the modulus of a shear stress for a strain over one step, at some of its points.

        Parameters
        ----------
        field : str
        index : tuple of int arrays
            (k, j, i).
        left : array
            What is left of a modulus that relaxes.
        """
        return left / self.mean_of_points("rmu", field, index)

    def stiffness_left(self, index, of_p, of_s):
        """Return matrices (points, n, n) from strains over one step to normal stresses at the points
        of some cells.

        Parameters
        ----------
        index : tuple of int arrays
            (k, j, i).
        of_p, of_s : arrays
            What is left of P and S moduli that relax.
        """
        _, kappa, mu = (np.asarray(values, float)[index] for values in self.cells)
        mu2 = 2 * mu * of_s
        lam = (kappa + 4 / 3 * mu) * of_p - mu2
        return lam[:, None, None] + mu2[:, None, None] * np.eye(len(self.d.normal))

    def density(self, field):
        """Mean density where a velocity is."""
        return self.mean(self.rho, field)

    # --- rows of point tables ----------------------------------------------------------------

    def of_receivers(self, rows, scale=1.0):
        """Return rows that record the fields as rows that inject a residual into the adjoint
        fields: times B / H for velocities, -C / H for stresses.

        Parameters
        ----------
        rows : (index, weight)
            Places in the state and weights.
        scale : float
            Of the residual.
        """
        if not self.d.relaxing:
            return self._in_adjoint_units(rows, scale, False)
        moving, stressed = self._split(rows)
        parts = [self._in_adjoint_units(moving, scale, False)]
        parts.append(self.law.of_receivers(stressed, scale)[0])
        return tuple(np.concatenate(part) for part in zip(*parts))

    def into_memory(self, rows, scale=1.0):
        """Return rows that record the fields as rows that inject a residual into adjoint memory
        variables; see `of_receivers`.
        """
        return self.law.of_receivers(self._split(rows)[1], scale)[1]

    def of_sources(self, rows, scale=1.0):
        """Return rows that inject into the fields as rows that sample what the misfit changes by:
        times H / B for adjoint velocities, -H C^-1 for stresses; see `of_receivers`. With
        attenuation rows of stresses sample the block of memory variables.
        """
        if self.d.relaxing and len(self._split(rows)[1][0]):
            return self.law.of_sources(rows, scale)
        return self._in_adjoint_units(rows, scale, True)

    @cached_property
    def law(self):
        """The law of a medium with attenuation, see `strains.Law`."""
        return strains.Law(self)

    def _split(self, rows):
        """Rows of velocities and rows of stresses."""
        index, weight = (np.asarray(part) for part in rows)
        numbers = (index + self.d.layout.first) // self.d.layout.field
        stressed = numbers >= len(self.d.velocity)
        return (index[~stressed], weight[~stressed]), (index[stressed], weight[stressed])

    def of_all_receivers(self, entries):
        """Return `of_receivers` of each of many rows, of one scale."""
        if self.d.relaxing:
            return [self.of_receivers(rows) for rows in entries]
        return self._each_in_adjoint_units(entries, False)

    def of_all_sources(self, entries):
        """Return `of_sources` of each of many rows, of one scale."""
        if self.d.relaxing:
            return [self.of_sources(rows) for rows in entries]
        return self._each_in_adjoint_units(entries, True)

    def _each_in_adjoint_units(self, entries, inverse):
        """`_in_adjoint_units` of each of many rows, computed together: in rows of one entry there are
        too few points for arrays to be quick.
        """
        if not entries:
            return []
        rows = [np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*entries)]
        owners = np.repeat(np.arange(len(entries)), [len(index) for index, _ in entries])
        index, weight, origin = self._traced_in_adjoint_units(rows, 1.0, inverse)
        order = np.argsort(owners[origin], kind="stable")
        ends = np.searchsorted(owners[origin][order], np.arange(1, len(entries)))
        return list(zip(*(np.split(part[order], ends) for part in (index, weight))))

    def _in_adjoint_units(self, rows, scale, inverse):
        """Return rows of adjoint fields from rows of fields, or with `inverse` the reverse."""
        return self._traced_in_adjoint_units(rows, scale, inverse)[:2]

    def _traced_in_adjoint_units(self, rows, scale, inverse):
        """Return `_in_adjoint_units`, and the number of the input row of each output row."""
        index, weight = (np.asarray(part) for part in rows)
        d, parts = self.d, []
        if not len(index):
            return index, weight, np.zeros(0, int)
        numbers = (index + d.layout.first) // d.layout.field
        for number in np.unique(numbers):
            mine, field = numbers == number, d.fields[number]
            k, j, i = at = tuple(np.asarray(a) for a in d.layout.place(index[mine]))
            sheet = d.cell(at)
            norms = d.norms(k, HALF[field][2])
            values = scale * weight[mine] * (norms if inverse else 1 / norms)
            origin = np.flatnonzero(mine)
            if field in d.normal:
                parts += self._normal_rows(field, at, sheet, values, inverse, origin)
                continue
            mean = self.mean_of_points("rho" if field in d.velocity else self.soft(field), field, sheet)
            if field == "sxy":
                mean = _stiffer(mean, laminate.at_points(d, at)[3])
            factor = (
                (mean if inverse else _inverted(mean))  # nothing moves among air
                if field in d.velocity
                else -_inverted(mean ** (-1 if inverse else 1))
            )
            parts.append((index[mine], values * factor, origin))
        return tuple(np.concatenate(part) for part in zip(*parts))

    def _normal_rows(self, field, at, sheet, values, inverse, origin):
        """Yield the rows (index, weight) of all normal stresses that replace rows of one of them, and
        the number of the input row of each.
        """
        d, n = self.d, self.normals[at[0], 0, 0]
        mu = 0.0 if d.acoustic else 1 / self.of_points("rmu", sheet)
        deviatoric, trace = 2 * mu + 0 * n, n * self.of_points("lam", sheet) + 2 * mu
        if inverse:
            deviatoric, trace = _inverted(deviatoric), _inverted(trace)
        held, (cut, matrices) = self._held(at[0]), self._of_cut_cells(at, sheet, inverse)
        for number, other in enumerate(d.normal):
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(n > 0, (trace - deviatoric) / n, 0.0)
            share = share + (deviatoric if other == field else 0)
            share[cut] = matrices[:, number, d.normal.index(field)]
            on = ~held if "szz" in (field, other) or d.acoustic else np.ones(len(held), bool)
            place = d.start_of(other) + d.layout.offset(*(a[on] for a in at))
            yield place, -(share * values)[on], origin[on]

    def _of_cut_cells(self, at, sheet, inverse):
        """Which points lie in cut cells (laminate.py), and the matrices from their strains to normal
        stresses, or inverted.
        """
        changes = laminate.at_points(self.d, at)
        cut = changes.any(axis=0)
        if not cut.any():
            return cut, np.zeros((0, len(self.d.normal), len(self.d.normal)))
        index = tuple(a[cut] for a in sheet)
        lam, mu2 = self.of_points("lam", index), 2 / self.of_points("rmu", index)
        isotropic = lam[:, None, None] + mu2[:, None, None] * np.eye(len(self.d.normal))
        matrices = isotropic + laminate.stiffness(self.d, changes[:, cut])
        return cut, np.linalg.inv(matrices) if inverse else matrices

    def _held(self, k):
        """Whether points lie on a traction-free plane, where szz or the pressure stays zero."""
        return self.d.free & (k == self.shape[0] - 1)

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
        d, xp = self.d, self.xp
        named = dict(zip(increments.sums_of(d), sums))
        rho, mu = self._blank(), self._blank()
        for field in named:  # one by one: all of them in float64 would be twice the memory
            # a harmonic mean of mu is the inverse of the mean of 1/mu
            if field in d.velocity:
                rho -= self._by_mean(field, named[field], scale)
            elif field in d.stress:
                mu -= self._by_mean(field, named[field], scale)
        if mu.any():
            mu *= xp.where(self.rmu < np.inf, self.rmu, 0.0) ** 2
        lam = self._blank()
        if d.normal:
            lam[self.here], more = self._by_moduli(named, scale)
            mu[self.here] += more
            del more
        by_q = self._by_losses(named, scale) if any(increments.by_q(d)) else ()
        return (*self._of_cells(rho, lam, mu), *by_q)

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
            mu = named["mu"] * self.xp.where(self.mu > 0, self.rmu[self.here], 0.0) ** 2
        if self.d.normal:
            by_trace *= _inverted(self.stiff_trace) ** 2
            by_trace *= self.normals
            mu += 2 * by_trace / np.maximum(self.normals, 1)
        return self._by_kappa(named["rho"], by_trace, mu)

    def _by_mean(self, field, values, scale):
        """Return what the misfit loses by the parameter of points and ghosts whose mean a field has."""
        values = self._doubles(values)
        if self.d.relaxing and field in self.d.stress:  # sums of strains
            values *= _inverted(self.shear(field)) ** 2
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
        sums = {
            name.removesuffix(increments.BY_Q): self._doubles(v)
            for name, v in named.items()
            if name.endswith(increments.BY_Q)
        }
        for field in (name for name in sums if name in self.d.stress):
            weight = -scale * self.norm(field) * _inverted(self.shear(field))
            by_qs += self.spread(weight * sums[field], field)
        if self.d.normal:
            weight = -scale * self.norm("sxx")
            by_qs[self.here] += weight * self.mu * sums["deviatoric"]
            by_qp[self.here] += weight * self._relaxing_stiff * sums["trace"]
        return self.fold(by_qp), self.fold(by_qs)

    @cached_property
    def _relaxing_stiff(self):
        """lambda + 2 mu of the points; 0 in a fluid on a traction-free plane."""
        kappa, mu = self._on_machine(1, 2)
        stiff = self.take(kappa + 4 / 3 * mu)[self.here]
        return self.xp.where(self._held_fluid, 0.0, stiff)

    def _by_moduli(self, named, scale):
        """dJ/d(lambda, mu) by normal stresses, lambda as it is stored."""
        weight = scale * self.norm("sxx")
        of_trace, of_deviatoric = (self._doubles(named[name]) for name in ("trace", "deviatoric"))
        if self.d.relaxing:
            by_stiff = -weight * self.xp.where(self._held_fluid, 0.0, of_trace)
            return by_stiff, 2 * by_stiff - weight * of_deviatoric
        of_deviatoric *= -weight  # in place: each of these is as large as the medium
        of_deviatoric *= _inverted(2 * self.mu) ** 2
        of_deviatoric *= 2
        of_trace *= -weight
        of_trace *= _inverted(self.stiff_trace) ** 2
        of_trace *= self.normals
        of_deviatoric += 2 * of_trace / np.maximum(self.normals, 1)
        return of_trace, of_deviatoric

    def _of_cells(self, rho, lam, mu):
        """dJ/d(rho, kappa, mu) of cells from those by what points and ghosts have."""
        return self._by_kappa(*(self.fold(values) for values in (rho, lam, mu)))

    def _by_kappa(self, rho, lam, mu):
        """dJ/d(rho, kappa, mu) of cells from those by what the cells themselves have."""
        if self._in_plane_stress:
            by_lam, by_mu = self._plane_stress()
            mu[-1] += by_mu * lam[-1]
            lam[-1] *= by_lam
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
        return self._on_machine(2)[0] > 0

    def _plane_stress(self):
        """Return d/dlambda and d/dmu of 2 mu lambda / (lambda + 2 mu), of the highest cells."""
        kappa, mu = (self.xp.asarray(np.ascontiguousarray(values[-1], float)) for values in self.cells[1:])
        lam = kappa - 2 / 3 * mu
        stiff = (lam + 2 * mu) ** 2
        return 4 * mu**2 / stiff, 2 * lam**2 / stiff

    def perturbation(self, rho, kappa, mu, *losses):
        """Return the coefficients of `scatter` that a change of the cells makes, and of 1/Qp and
        1/Qs where these change: the transpose of `gradient` but for the increments, (sums, nz, ny,
        nx).
        """
        d = self.d
        mu = np.where(self._solid_cells, mu, 0.0)
        lam = np.asarray(kappa) - 2 / 3 * mu
        if self._in_plane_stress:
            by_lam, by_mu = self._plane_stress()
            lam = lam.copy()
            lam[-1] = by_lam * lam[-1] + by_mu * mu[-1]
        rho, lam, mu = (self.take(values) for values in (rho, lam, mu))
        solid = self.rmu < np.inf
        rmu = -mu * np.where(solid, self.rmu, 0.0) ** 2
        out = [-self.mean(rho, f) * _inverted(self.density(f)) for f in d.velocity]
        shear = [f for f in d.stress if f not in d.normal]
        power = 2 if d.relaxing else 1
        out += [-self.mean(rmu, f) * _inverted(self.shear(f)) ** power for f in shear]
        if d.normal and d.relaxing:
            mu, lam = mu[self.here], lam[self.here]
            out += [mu, np.where(self._held_fluid, 0.0, lam + 2 * mu)]
        elif d.normal:
            deviatoric, trace = self.moduli(inverse=True)
            mu, lam = mu[self.here], lam[self.here]
            out += [2 * mu * deviatoric, (self.normals * lam + 2 * mu) * trace]
        if losses:
            of_qp, of_qs = map(self.take, losses)
            out += [self.mean(of_qs, f) * _inverted(self.shear(f)) for f in shear]
            if d.normal:
                out += [self.mu * of_qs[self.here], self._relaxing_stiff * of_qp[self.here]]
        return np.stack([np.broadcast_to(v, self.shape) for v in out])


def _inverted(values):
    """1 / values; 0 where they are 0 or infinite."""
    usable = (values != 0) & np.isfinite(values)
    out = np.where(usable, values, 1.0)
    np.divide(1.0, out, out=out)
    out *= usable
    return out


def _stiffer(compliance, more):
    """Return compliances of the moduli that are so much larger."""
    out, on = np.array(compliance, float), more > 0
    out[on] = 1 / (1 / out[on] + more[on])
    return out
