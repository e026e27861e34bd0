"""Catalogues: point moment tensors of one file by the thousand, kept as arrays from the file to the
point tables.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from craton.conventions import moment_to_magnitude
from craton.survey import wavelets
from craton.survey.sources import PointSource, double_couple, scalar_moment

MANY = 1000  # sources of a file: above, they are a catalogue
CLASSES, FINEST = 64, 1 << 14  # widths, and samples, of the moment rate of the whole
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
        return replace(
            whole,
            peak_frequency=narrow.peak_frequency,
            f95=narrow.f95,
            start=start,
            end=float((shift + (self.shared.end if self.shared else _UNIT.end * tau)).max()),
        )


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
    low = at.astype(int)
    spikes = np.bincount(low, weight * (1 - (at - low)), 3 * count)
    spikes += np.bincount(low + 1, weight * (at - low), 3 * count)
    lags = (np.arange(6 * count) - 3 * count) * step
    product = np.fft.rfft(spikes, 6 * count) * np.fft.rfft(np.fft.ifftshift(shape(lags)))
    return np.fft.irfft(product, 6 * count)[count : 2 * count]


def build(held, name, places, tau_of) -> Catalogue:
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
