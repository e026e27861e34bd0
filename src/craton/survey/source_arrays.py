"""Sources by the thousand, kept as arrays from the file to the point tables: catalogues of point moment tensors, and
finite faults whose subfaults have slip rates of their own.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from craton.conventions import moment_to_magnitude
from craton.survey import wavelets
from craton.survey.sources import PointSource, double_couple, dyads, plane_axes, scalar_moment

MANY = 1000  # sources of a file: above, they are a catalogue
CLASSES, FINEST = 64, 1 << 14  # widths, and samples, of the moment rate of a whole catalogue
FINEST_OF_FAULT = 1 << 15  # samples of the total moment rate
INSTANT = (
    "{} has no duration, and an instantaneous moment release cannot be resolved; "
    'add wavelet = {{ kind = "gaussian", tau = 0.1 }}'
)
SPECTRUM = 0.9036  # over tau, the frequency at which the spectrum of a Gaussian has fallen to 1e-7


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Point moment tensors with wavelets of one shape, and the point source that they are from
    afar.

    Parameters
    ----------
    name : str
    points : ndarray, shape (n, 3)
        Positions, m.
    tensors : ndarray, shape (n, 3, 3)
        East-north-up (of the model's axes), N m; times the wavelet, a moment rate.
    shift : ndarray, shape (n,)
        Time by which each wavelet is later, s.
    tau : ndarray, shape (n,)
        Standard deviations of Gaussians of unit area, s.
    shared : Wavelet or None
        That of all sources, in place of Gaussians.
    """

    name: str
    points: np.ndarray
    tensors: np.ndarray
    shift: np.ndarray
    tau: np.ndarray
    shared: wavelets.Wavelet | None = None
    force: None = None
    delayed: bool = False
    warnings: tuple = ()

    @cached_property
    def sizes(self):
        """Scalar moment of each source, N m: (n,)."""
        return scalar_moment(self.tensors)

    @cached_property
    def moment(self):
        """Sum of the moment tensors, (3, 3) N m."""
        return self.tensors.sum(axis=0)

    @cached_property
    def largest(self):
        """Sum of the largest components of all sources, N m: no field can be larger."""
        return float(np.abs(self.tensors).max(axis=(1, 2)).sum())

    @cached_property
    def xyz(self):
        """Mean position by scalar moments, m."""
        return tuple(float(v) for v in self.sizes @ self.points / self.sizes.sum())

    @property
    def hypocentre(self):
        """Position of the first source of the file, (3,) m."""
        return self.points[0]

    @property
    def subject(self):
        """How many sources it holds, in words."""
        return f"{len(self.points):,} moment tensors"

    def describe(self):
        """Return the sources in words: str."""
        total = float(self.sizes.sum())
        return (
            f"catalogue of {self.subject}, {self.wavelet.start:g} to {self.wavelet.end:g} s, sum of scalar moments {total:.4g} N m, "
            f"largest Mw {moment_to_magnitude(float(self.sizes.max())):.2f}, M0 of the sum {scalar_moment(self.moment):.4g} N m"
        )

    def single(self):
        """Return each source as a `PointSource`: list."""
        makers = [(self.shared or _gaussian(t)).shifted(float(s)) for t, s in zip(self.tau, self.shift)]
        return [
            PointSource(f"{self.name}.{n}", tuple(map(float, xyz)), tensor, None, wavelet)
            for n, (xyz, tensor, wavelet) in enumerate(zip(self.points, self.tensors, makers), 1)
        ]

    @cached_property
    def histories(self):
        """Wavelets that differ, and which of them each source has.

        Returns
        -------
        shift, tau : ndarray, shape (m,)
            Sorted by time; `tau` is 0 where a wavelet is shared.
        which : ndarray of int32, shape (n,)
        """
        tau = self.tau if self.shared is None else np.zeros(len(self.shift))
        pairs, which = np.unique(self.shift + 1j * tau, return_inverse=True)
        return pairs.real.copy(), pairs.imag.copy(), which.astype(np.int32)

    def span(self):
        """First and last time, s, at which each of the `histories` is above 1e-8 of its peak."""
        shift, tau, _ = self.histories
        if self.shared is None:
            return shift + _UNIT.start * tau, shift - _UNIT.start * tau
        start, end = self.shared.start, self.shared.end
        return shift + start, shift + 2 * end - start

    def highest(self, dt):
        """Frequency at which the spectrum of each of the `histories` has fallen to 1e-7, Hz.

        Parameters
        ----------
        dt : float
            Time step, s, whose Nyquist frequency is the highest.
        """
        from craton.survey import leapfrog

        shift, tau, _ = self.histories
        if self.shared is None:
            return np.minimum(SPECTRUM / tau, 0.5 / dt)
        (low,), (high,) = (times[:1] - shift[:1] for times in self.span())
        series = self.shared(np.arange(low, high + dt, dt))[:, None]
        return np.full(len(shift), leapfrog.band(series, dt))

    def series(self, chosen, first, dt, steps):
        """Values of wavelets at equal steps, 1/s.

        Parameters
        ----------
        chosen : ndarray of int, shape (k,)
            Numbers of `histories`.
        first, dt : float
            Time of the first value, and step, s.
        steps : int

        Returns
        -------
        ndarray, shape (steps, k)
        """
        shift, tau, _ = self.histories
        t = (first + np.arange(steps) * dt)[:, None] - shift[chosen]
        return wavelets.gaussian_shape(t, tau[chosen]) if self.shared is None else self.shared(t)

    @cached_property
    def wavelet(self):
        """Moment rate of the whole by scalar moments, of unit area where its parts have it; its
        bounds in time and frequency are those of all parts.
        """
        shift, tau, which = self.histories
        weight = np.bincount(which, self.sizes, len(shift)) / self.sizes.sum()
        start, end = (float(v) for v in (self.span()[0].min(), self.span()[1].max()))
        times = np.linspace(start, end, FINEST)
        values = np.zeros(FINEST)
        for group, width in _classes(tau):
            shape = self.shared or _gaussian(width)
            values += _laid(times, shift[group], weight[group], shape)
        whole = wavelets.build(SimpleNamespace(kind="samples", file=None, times=times, values=values, delay=None))
        narrow = self.shared or _gaussian(float(tau.min()))
        end = float((shift + (self.shared.end if self.shared else _UNIT.end * tau)).max())
        return replace(whole, peak_frequency=narrow.peak_frequency, f95=narrow.f95, start=start, end=end)


def _gaussian(tau):
    """Return the Gaussian wavelet of a standard deviation, s, about t = 0."""
    return wavelets.build(SimpleNamespace(kind="gaussian", tau=tau, delay=0.0))


_UNIT = _gaussian(1.0)


def _classes(tau):
    """(numbers, standard deviation) of wavelets of nearly one width."""
    low, high = np.log(np.maximum([tau.min(), tau.max()], 1e-300))
    number = np.zeros(len(tau), int)
    if high > low:
        scaled = (np.log(tau) - low) / (high - low)
        number = np.minimum((scaled * CLASSES).astype(int), CLASSES - 1)
    for n in np.unique(number):
        group = np.flatnonzero(number == n)
        yield group, float(tau[group].mean())


def _laid(times, shift, weight, shape):
    """Sum of a wavelet at many shifts: weights on the two times about each, convolved."""
    step, count = times[1] - times[0], len(times)
    at = np.clip((shift - times[0]) / step, -count, 2 * count - 2) + count
    spikes = _shared(at, weight, 3 * count)
    lags = (np.arange(6 * count) - 3 * count) * step
    product = np.fft.rfft(spikes, 6 * count) * np.fft.rfft(np.fft.ifftshift(shape(lags)))
    return np.fft.irfft(product, 6 * count)[count : 2 * count]


def catalogue(held, name, places, tau_of) -> Catalogue:
    """Return the catalogue of a file's moments (`craton.io.contents.FileSources`) on a map of positions; raise
    ValueError where all moments are zero. `tau_of` turns half durations into standard deviations of Gaussians, s.
    """
    tensors = held.moment if held.plane is None else double_couple(*held.plane.T)
    if not tensors.any():
        raise ValueError("all moments are zero")
    turn = places.rotation(held.longitude, held.latitude)
    tensors = turn @ tensors @ np.swapaxes(turn, -1, -2)
    return Catalogue(
        name, places.xyz(held.longitude, held.latitude, held.depth), tensors, held.shift, tau_of(held.width)
    )


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


def finite_fault(rupture, name, places, medium) -> FiniteFault:
    """Return the rupture of a file (`craton.io.ruptures.Rupture`) on a map of positions, in a medium: a function of
    positions (n, 3), m, that gives vp, vs, m/s, and density, kg/m3, for the shear modulus where the file states none.
    """
    points = places.xyz(rupture.longitude, rupture.latitude, rupture.depth)
    count = np.diff(rupture.first).reshape(-1, 3)
    subfault, component = np.nonzero(count)
    if not len(subfault):
        raise ValueError("no subfault slips")
    tensors = _tensors(rupture, subfault, component, *medium(points))
    turn = places.rotation(rupture.longitude, rupture.latitude)[subfault]
    tensors = turn @ tensors @ np.swapaxes(turn, -1, -2)
    times = rupture.onset[subfault], rupture.interval[subfault]
    rows = rupture.first[:-1].reshape(-1, 3)[subfault, component], count[subfault, component]
    fault = FiniteFault(name, points[subfault], tensors, *times, *rows, rupture.rates, len(points))
    if not fault.moment.any() or not fault.final_moments().any():
        words = "the slip rates are zero, or the subfaults are in a fluid"
        raise ValueError(f"the moment of all subfaults is zero: {words}")
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
    step = max(fault.interval.min() / 2, (end - start) / FINEST_OF_FAULT)
    total = np.zeros(int(np.ceil((end - start) / step)) + 6)
    for batch in np.array_split(np.arange(len(share)), max(1, fault.count.sum() // 4_000_000)):
        owner = np.repeat(batch, fault.count[batch])
        first = np.cumsum(fault.count[batch]) - fault.count[batch]
        number = np.arange(len(owner)) - np.repeat(first, fault.count[batch])
        at = (fault.onset[owner] + number * fault.interval[owner] - start) / step + 2
        values = share[owner] * fault.rates[fault.begin[owner] + number] / step
        total += _shared(at, values, len(total))
    width = max(1, round(float(np.median(fault.interval)) / step))
    # linear between samples, which lie on every width-th point
    hat = np.convolve(np.ones(width), np.ones(width)) / width**2
    total = np.convolve(np.pad(total, width), hat, "same")
    times = start + (np.arange(len(total)) - 2 - width) * step
    return wavelets.build(SimpleNamespace(kind="samples", file=None, times=times, values=total, delay=None))


def _shared(at, values, count):
    """Return `count` sums of values, each shared by the two numbers about its place."""
    low = at.astype(int)
    return np.bincount(low, values * (1 - (at - low)), count) + np.bincount(low + 1, values * (at - low), count)
