"""Finite faults: thousands of point moment tensors with slip rates of their own, kept as arrays
from the file to the point tables.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from craton.conventions import moment_to_magnitude
from craton.survey import wavelets
from craton.survey.sources import dyads, plane_axes, scalar_moment

FINEST = 1 << 15  # samples of the total moment rate


@dataclass(frozen=True, eq=False)
class FiniteFault:
    """A kinematic rupture: its subfaults, and the point source that it is from afar.

    Parameters
    ----------
    name : str
    xyz : tuple of float
        Centroid, metres: mean of the subfaults by their moment.
    moment : ndarray, shape (3, 3)
        Final moment tensor of the whole, east-north-up (of the model's axes), N m.
    wavelet : Wavelet
        Moment rate of the whole, as far as it has the tensor `moment`; its area is 1.
    points : ndarray, shape (n, 3)
        Positions of the n slipping components of subfaults, m.
    tensors : ndarray, shape (n, 3, 3)
        Moment tensor per slip, N m / m.
    onset, interval : ndarray, shape (n,)
        Time of the first sample and sampling interval, s.
    begin, count : ndarray of int, shape (n,)
        Samples ``rates[begin : begin + count]``.
    rates : ndarray
        Slip rates, m/s.
    subfaults : int
        Of the file.
    warnings : tuple of str
        What looks wrong with the file.
    """

    name: str
    points: np.ndarray
    tensors: np.ndarray
    onset: np.ndarray
    interval: np.ndarray
    begin: np.ndarray
    count: np.ndarray
    rates: np.ndarray
    subfaults: int
    warnings: tuple = ()
    force: None = None
    delayed: bool = False

    @cached_property
    def moment(self):
        """Final moment tensor of the whole, N m, (3, 3)."""
        return np.einsum("n,nij->ij", self.slips(), self.tensors)

    @cached_property
    def xyz(self):
        """Centroid, m."""
        sizes = self.final_moments()
        return tuple(float(v) for v in sizes @ self.points / sizes.sum())

    @cached_property
    def wavelet(self):
        """Moment rate of the whole, divided by its final moment."""
        return _moment_rate(self)

    @property
    def hypocentre(self):
        """Where the rupture starts, m."""
        return self.points[np.argmin(self.onset)]

    @property
    def end(self):
        """Time at which each slip rate is over, s."""
        return self.onset + self.count * self.interval

    def describe(self):
        """Return the source in words: str."""
        moment = scalar_moment(self.moment)
        total = float(np.sum(self.final_moments()))
        return (
            f"finite fault of {self.subfaults:,} subfaults, rupture {self.onset.min():g} to {self.end.max():g} s, M0 {moment:.4g} N m, "
            f"Mw {moment_to_magnitude(moment):.2f}, sum of the subfault moments {total:.4g} N m"
        )

    def final_moments(self):
        """Scalar moment of each component, N m."""
        return scalar_moment(self.tensors) * np.abs(self.slips())

    def slips(self):
        """Return final slip of each component, m: what its samples sum to."""
        total = np.concatenate([[0.0], np.cumsum(self.rates, dtype=float)])
        return (total[self.begin + self.count] - total[self.begin]) * self.interval

    def series(self, subfaults, first, dt, steps):
        """Mean slip rates over steps, m/s: their sum times `dt` is the slip, whatever the
        intervals.

        Rates are linear between samples, and from and to zero one interval before the first and
        after the last sample.

        Parameters
        ----------
        subfaults : ndarray of int, shape (k,)
            Indices of the subfaults.
        first, dt : float
            Middle of the first step and length of a step, s.
        steps : int

        Returns
        -------
        ndarray, shape (steps, k)
        """
        longest, interval = int(self.count[subfaults].max()), self.interval[subfaults, None]
        offset = np.arange(longest)
        has_sample = offset < self.count[subfaults, None]
        rate = np.zeros((len(subfaults), longest + 3))
        rate[:, 1 : longest + 1][has_sample] = self.rates[(self.begin[subfaults, None] + offset)[has_sample]]
        slip = interval * (np.cumsum(rate, axis=1) - rate / 2)
        edges = first + (np.arange(steps + 1) - 0.5) * dt
        at = np.clip((edges - self.onset[subfaults, None]) / interval + 1, 0, longest + 1)
        m = at.astype(int)
        f = at - m
        low, high = np.take_along_axis(rate, m, 1), np.take_along_axis(rate, m + 1, 1)
        return np.diff(np.take_along_axis(slip, m, 1) + interval * (low * f + (high - low) * f * f / 2), axis=1).T / dt


def build(rupture, name, places, medium) -> FiniteFault:
    """Return the rupture of a file (`craton.io.contents.Rupture`) on a map of positions, in a medium: a function of
    positions (n, 3), m, that gives vp, vs, m/s, and density, kg/m3, for the shear modulus where the file states none.
    """
    points = places.xyz(rupture.longitude, rupture.latitude, rupture.depth)
    count = np.diff(rupture.first).reshape(-1, 3)
    subfault, component = np.nonzero(count)
    if not len(subfault):
        raise ValueError("no subfault slips")
    tensors = _tensors(rupture, subfault, component, *medium(points))
    turn = places.rotation(rupture.longitude, rupture.latitude)[subfault]
    fault = FiniteFault(
        name,
        points[subfault],
        turn @ tensors @ np.swapaxes(turn, -1, -2),
        rupture.onset[subfault],
        rupture.interval[subfault],
        rupture.first[:-1].reshape(-1, 3)[subfault, component],
        count[subfault, component],
        rupture.rates,
        len(points),
    )
    if not fault.moment.any() or not fault.final_moments().any():
        raise ValueError(
            "the moment of all subfaults is zero: the slip rates are zero, or the subfaults are in a fluid"
        )
    off = np.abs(fault.slips()).sum() / max(np.abs(rupture.slip[subfault, component]).sum(), 1e-30) - 1
    if abs(off) < 0.02:
        return fault
    words = f"{name}: its slip rates integrate to {100 * (1 + off):.3g} % of the slip in the subfault headers"
    return replace(fault, warnings=(f"{words}; the slip rates are used",))


def _tensors(rupture, subfault, component, vp, vs, rho):
    """Return moment tensors per slip, (n, 3, 3), N, true east-north-up: shear along and across rake, opening (Aki &
    Richards 2002, eq. 3.22); mu by the file's vs and density where it has them, the rest by the model.
    """
    stated = np.isfinite(rupture.vs * rupture.density)
    lam, mu = rho * (vp**2 - 2 * vs**2), np.where(stated, rupture.density * rupture.vs**2, rho * vs**2)
    normal, along, up_dip = plane_axes(rupture.strike, rupture.dip)
    rake = np.radians(rupture.rake)[subfault] + np.where(component == 1, np.pi / 2, 0.0)
    normal = normal[subfault]
    slip = np.cos(rake)[:, None] * along[subfault] + np.sin(rake)[:, None] * up_dip[subfault]
    slip = np.where((component == 2)[:, None], normal, slip)
    shear = mu[subfault, None, None] * dyads(slip, normal)
    opening = np.where(component == 2, lam[subfault], 0.0)[:, None, None] * np.eye(3)
    return rupture.area[subfault, None, None] * (shear + opening)


def _moment_rate(fault):
    """Moment rate of the whole in units of `moment`, as a wavelet: the samples of all components
    laid on one time axis.
    """
    share = np.einsum("nij,ij->n", fault.tensors, fault.moment) / np.sum(fault.moment**2) * fault.interval
    start, end = (fault.onset - fault.interval).min(), fault.end.max()
    step = max(fault.interval.min() / 2, (end - start) / FINEST)
    total = np.zeros(int(np.ceil((end - start) / step)) + 6)
    for batch in np.array_split(np.arange(len(share)), max(1, fault.count.sum() // 4_000_000)):
        owner = np.repeat(batch, fault.count[batch])
        number = np.arange(len(owner)) - np.repeat(
            np.cumsum(fault.count[batch]) - fault.count[batch], fault.count[batch]
        )
        at = (fault.onset[owner] + number * fault.interval[owner] - start) / step + 2
        values = share[owner] * fault.rates[fault.begin[owner] + number] / step
        low = at.astype(int)
        total += np.bincount(low, values * (1 - (at - low)), len(total)) + np.bincount(
            low + 1, values * (at - low), len(total)
        )
    width = max(1, round(float(np.median(fault.interval)) / step))
    # linear between samples, which lie on every width-th point
    hat = np.convolve(np.ones(width), np.ones(width)) / width**2
    total = np.convolve(np.pad(total, width), hat, "same")
    times = start + (np.arange(len(total)) - 2 - width) * step
    return wavelets.build(SimpleNamespace(kind="samples", file=None, times=times, values=total, delay=None))
