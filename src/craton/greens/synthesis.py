"""From sources and strain rates of band-limited impulses to seismograms: sources as point moments, how often strain rates
are stored, and what makes a wavelet's velocities of them.

The field is that of a force with the history p, `wavelets.lowpass_shape`. A source with the moment
rate s moves a station with v = s * p^-1 * integral of e dt (Aki & Richards 2002, section 3.1), where e
is the field: all in the frequency domain, where p is known. Pressure is that of an injected volume
with the rate p, and not integrated.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import TENSOR_AXES
from craton.errors import refuse, refuse_all
from craton.survey import leapfrog, wavelets
from craton.survey.channels import FULL_STEP
from craton.survey.source_arrays import Catalogue, FiniteFault
from craton.survey.sources import shots

BAND = 1.3  # times max_frequency, up to which spectra are kept
ALIASES = 1.66  # times max_frequency, where the spectrum of the pulse has fallen to 3e-8
FINE = 16  # samples of a wavelet in one of the stored samples
TOGETHER = 64  # series that are transformed at a time
LOST = 1e-3  # of a wavelet's spectrum above max_frequency, from which on it is told
REST = 128  # samples of rest behind a series and a wavelet as long, in the second half of which
# wavelets end that are longer: harmonics repeat after it


def interval_steps(max_frequency, dt):
    """Return the steps from one stored sample to the next; 0 where steps are too long.

    Parameters
    ----------
    max_frequency : float
        Hz.
    dt : float
        s.
    """
    highest = ALIASES * max_frequency
    if math.pi * highest * dt >= leapfrog.NONE:
        return 0
    # of the leapfrog's own time, in which the samples are taken
    phase = 2 * math.asin(math.pi * highest * dt)
    return max(1, int(math.pi / phase))


def margin(max_frequency):
    """Return the time, s, that runs go on after the seismograms: a wavelet that begins before t = 0
    needs what comes so much later.

    Parameters
    ----------
    max_frequency : float
        Hz.
    """
    return 2 * wavelets.LOWPASS_SPAN / max_frequency


class Synthesis:
    """Seismograms from what is stored of runs with one time axis.

    Parameters
    ----------
    dt, start : float
        Of the runs, s.
    every, count : int
        Steps from one stored sample to the next, and samples.
    max_frequency : float
        Hz.
    quantity : str
        What stations record, see `craton.methods.waves.greens.Volume`.
    """

    def __init__(self, dt, start, every, count, max_frequency, quantity):
        self.dt, self.every, self.count, self.quantity = dt, every, count, quantity
        # in steps after the start: time of the first sample
        self.place = 1.0 if quantity in FULL_STEP else 0.5
        self.interval, self.start = every * dt, start
        self.max_frequency, self._last, self._matrix = max_frequency, None, None
        from scipy.fft import next_fast_len

        self.length = next_fast_len(2 * count + REST, real=True)
        f = np.fft.rfftfreq(self.length, self.interval)
        self.frequencies = f[f < BAND * max_frequency]

    def spectra(self, series):
        """Return the spectra of series as if time had been continuous.

        Parameters
        ----------
        series : (columns, samples) array

        Returns
        -------
        (columns, frequencies) complex array
        """
        rows = np.asarray(series, float).T
        return leapfrog.spectra(rows, self.dt, self.every, self.place, self.frequencies)

    def factor(self, wavelet):
        """Return the spectrum of a wavelet over that of the pulse, up to max_frequency.

        Parameters
        ----------
        wavelet : Wavelet or SlipRate
        """
        if self._last is not None and self._last[0] == key_of(wavelet):
            return self._last[1]
        f, highest = self.frequencies, self.max_frequency
        if isinstance(wavelet, SlipRate):
            spectrum = wavelet.spectrum(f, self.dt, self.needed)
        else:
            spectrum = np.fft.rfft(self.values(wavelet))[: len(f)] * self.interval / FINE
            spectrum = spectrum * np.exp(-2j * np.pi * f * wavelet.start)
        out = spectrum * leapfrog.taper(f, highest, BAND * highest) / wavelets.lowpass_spectrum(f, highest)
        self._last = key_of(wavelet), out, wavelet
        return out

    def values(self, wavelet):
        """Return a wavelet at FINE times in each of `length` intervals from its start."""
        times = wavelet.start + np.arange(FINE * self.length) * self.interval / FINE
        return wavelet(times) * self.needed(times)

    def needed(self, times):
        """Return factors of a wavelet: 1 up to the last sample that is stored, which no later value
        reaches, and falling to 0 behind it, so that harmonics do not bring it back.
        """
        last = self.start + (self.count - 1) * self.interval
        behind = (times - last) / (REST / 2 * self.interval)
        return leapfrog.taper(behind, 0, 1)

    def rates(self, series, wavelet):
        """Return the spectra of what sources of a wavelet give, before it is integrated.

        Parameters
        ----------
        series : (columns, samples) array
            Of strain rates.
        wavelet : Wavelet or SlipRate
            Moment rate.

        Returns
        -------
        (columns, frequencies) complex array
        """
        return self.spectra(series) * self.factor(wavelet)

    def records(self, rates, begin, times):
        """Return what stations record at equidistant times, (columns, times).

        Parameters
        ----------
        rates : (columns, frequencies) array
            See `rates`; of several wavelets their sum.
        begin : float
            When the first wavelet begins, s.
        times : array
            s.
        """
        f = self.frequencies
        mean = rates[:, :1].real / (self.length * self.interval)
        with np.errstate(divide="ignore", invalid="ignore"):
            integrated = rates / (2j * np.pi * f)
        if self.quantity == "pressure":
            mean, integrated = np.zeros_like(mean), rates.copy()
        integrated[:, 0] = 0.0
        step = times[1] - times[0] if len(times) > 1 else self.interval
        # harmonics repeat: before the wavelet begins there is what fades behind the last sample
        rest = np.array([min(begin, 0.0) - 2 / self.max_frequency])
        at_rest = self._evaluated(integrated, rest, step) + mean * rest
        out = self._evaluated(integrated, times - self.start, step) + mean * (times - self.start)
        return out - at_rest

    def matrix(self, wavelet, times):
        """Return what makes records of series: (samples, times), for many series.

        Parameters
        ----------
        wavelet, times
            As of `rates` and `records`.
        """
        key = key_of(wavelet), len(times), times[0], times[-1]
        if self._matrix is None or self._matrix[0] != key:
            parts = [
                self.records(self.rates(rows, wavelet), wavelet.start, times)
                for rows in np.array_split(np.eye(self.count), -(-self.count // TOGETHER))
            ]
            # the wavelet stays with it: one of samples is told apart as an object
            self._matrix = key, np.concatenate(parts), wavelet
        return self._matrix[1]

    def _evaluated(self, spectra, times, step):
        """Sum of the harmonics at times after the first sample."""
        space = self.frequencies[1]
        turn = np.exp(2j * np.pi * space * step)
        begin = np.exp(-2j * np.pi * space * times[0])
        from scipy.signal import czt

        sums = czt(spectra, len(times), turn, begin, axis=1).real
        return 2 * sums / (self.length * self.interval)

    def end(self, wavelet):
        """Return the time up to which seismograms of a wavelet are complete, s."""
        last = self.start + (self.count - 1) * self.interval
        edge = wavelets.LOWPASS_SPAN / 2 / self.max_frequency + leapfrog.extra(self.every * self.count) * self.dt
        return last - edge + min(wavelet.start, 0.0)

    def lost(self, wavelet):
        """Return the largest amplitude of a wavelet's spectrum above max_frequency over its largest
        one; 0 of a slip rate, whose samples have corners.
        """
        if isinstance(wavelet, SlipRate):
            return 0.0
        amplitude = np.abs(np.fft.rfft(self.values(wavelet)))
        f = np.fft.rfftfreq(FINE * self.length, self.interval / FINE)
        return float(amplitude[f > self.max_frequency].max() / (amplitude.max() or 1.0))


def key_of(wavelet):
    """Return what tells wavelets apart; samples as objects: two lists of values may have the same
    description.
    """
    if isinstance(wavelet, SlipRate) or wavelet.kind == "samples":
        return id(wavelet)
    return wavelet.kind, wavelet.delay, wavelet.parameters, wavelet.start, wavelet.peak


@dataclass(frozen=True, eq=False)
class PointMoment:
    """A moment at a point.

    Parameters
    ----------
    xyz : (3,) array
        m.
    moment : (3, 3) array
        N m, or N m for a metre of slip.
    wavelet : Wavelet or SlipRate
    """

    xyz: np.ndarray
    moment: np.ndarray
    wavelet: Any


@dataclass(frozen=True, eq=False)
class SlipRate:
    """The slip rate of a subfault: linear between samples, from and to zero one interval beside
    them.

    Parameters
    ----------
    onset, interval : float
        Of the samples, s.
    rates : (n,) array
        m/s.
    """

    onset: float
    interval: float
    rates: np.ndarray

    @property
    def start(self):
        """Time before which nothing slips, s."""
        return self.onset - self.interval

    def spectrum(self, frequencies, step, factor):
        """Return the spectrum, m, of its means over the time steps of a run, which are what runs
        take, times a factor.

        Parameters
        ----------
        frequencies : array
            Hz.
        step : float
            s.
        factor : callable
            Of the rates at times, s.
        """
        times = self.onset + self.interval * np.arange(len(self.rates))
        waves = np.exp(-2j * np.pi * np.outer(frequencies, times))
        linear = np.sinc(frequencies * self.interval) ** 2 * np.sinc(frequencies * step)
        return self.interval * linear * (waves @ (self.rates * factor(times)))


def moments_of(scenario, medium=None):
    """Return the sources of a scenario as point moments: list of PointSource and `PointMoment`.

    Parameters
    ----------
    scenario : Scenario
    medium : callable, optional
        vp, vs, density at positions (n, 3); finite faults need it.

    Raises
    ------
    ScenarioError
        There are none, several shots, others than moment tensors, or a file that cannot be read.
    """
    from craton.survey import source_files
    from craton.survey.checks import source_problems

    refuse_all(source_problems(scenario))
    sources = source_files.build_all(scenario, medium)
    wrong = [source for source in sources if source.moment is None]
    if len(shots(scenario)) > 1:
        words = "seismograms are of sources that act together, not of several shots"
        refuse("source", words, "give one shot after another")
    if wrong or not sources:
        words = "Green's functions are of moment tensors" if wrong else "there is no source"
        refuse("source", words, 'use kind = "moment_tensor"')
    return [part for source in sources for part in parts_of(source)]


def parts_of(source):
    """Return a source's point moments: list."""
    if isinstance(source, Catalogue):
        return source.single()
    if not isinstance(source, FiniteFault):
        return [source]
    table = zip(source.points, source.tensors, source.onset, source.interval)
    ends = zip(source.begin, source.begin + source.count)
    return [
        PointMoment(xyz, tensor, SlipRate(onset, interval, source.rates[begin:end]))
        for (xyz, tensor, onset, interval), (begin, end) in zip(table, ends)
    ]


def six_numbers(moment):
    """Return tensors as (n, 6): EE, NN, ZZ, EN, EZ, NZ."""
    moment = np.asarray(moment, float)
    if moment.ndim >= 2 and moment.shape[-2:] == (3, 3):
        return np.stack([moment[..., a, b].ravel() for a, b in TENSOR_AXES], axis=1)
    return np.atleast_2d(moment)
