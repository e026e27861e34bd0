"""Sources of seismograms as point moments: those of a scenario, and the subfaults of a finite
fault with their slip rates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from craton.conventions import TENSOR_AXES
from craton.errors import Problem, ScenarioError
from craton.survey.catalogues import Catalogue
from craton.survey.faults import FiniteFault


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
        There are none, others than moment tensors, or a file that cannot be read.
    """
    from craton.survey import source_files
    from craton.survey.checks import source_problems

    problems = source_problems(scenario)
    if problems:
        raise ScenarioError(problems)
    sources = source_files.build_all(scenario, medium)
    wrong = [s for s in sources if getattr(s, "moment", None) is None]
    if wrong or not sources:
        words = "Green's functions are of moment tensors" if wrong else "there is no source"
        raise ScenarioError([Problem("source", words, 'use kind = "moment_tensor"')])
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
        moment = moment.reshape(-1, 3, 3)
        return np.stack([moment[:, a, b] for a, b in TENSOR_AXES], axis=1)
    return np.atleast_2d(moment)
