"""Peak maps as data: where the sites of a map lie, what is measured there, and how running sums and
maxima become quantities.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

KIND = "peaks"  # of the arrays that change in time
GRAVITY = 9.80665  # m/s2, in the Arias intensity
COMPONENTS = ("E", "N", "Z", "H")  # H: length of the horizontal vector
# maxima of a component of these, and the field whose maximum it is
MAXIMA = {"pgv": "velocity", "pga": "acceleration", "pgd": "displacement"}
# integrals over time of a component, and of which power of which field
INTEGRALS = {"arias": ("acceleration", 2), "cav": ("acceleration", 1), "squared_velocity": ("velocity", 2)}


@dataclass(frozen=True, eq=False)
class PeakSeries:
    """A map of peaks: its sites on this rank, and what is measured there at every step.

    Parameters
    ----------
    name : str
    coords : dict
        Coordinates of the map in memory order (z, y, x), a number for the axis that a plane cuts;
        of a chunk of the Earth (eta, xi), degrees.
    places : dict of str to (dims, array)
        Further coordinates: elevation or longitude and latitude of the sites.
    where : (n,) int array
        Sites of this rank, counted through the map.
    quantities : tuple of str
    periods : tuple of float
        Of spectral acceleration, s.
    damping : float
        Of the oscillators, share of critical damping.
    dt : float
        Step, s.
    start : float
        Time before the first step, s.
    last : int
        Steps that count.
    every : int
        Steps between two values of the history behind the significant duration.
    points : (3, n) int array or None
        Points (k, j, i) of the grid by which ranks share the sites.
    reference : dict of str to float
        ``map_longitude``, ``map_latitude`` and ``map_azimuth``, degrees, of the transverse Mercator
        map that x and y are of; empty where the model lies nowhere.
    """

    name: str
    coords: dict
    places: dict
    where: np.ndarray
    quantities: tuple
    periods: tuple
    damping: float
    dt: float
    start: float
    last: int
    every: int
    points: Any = None
    reference: dict = field(default_factory=dict)

    @property
    def shape(self):
        """Points of the map along its dimensions."""
        return tuple(np.size(c) for c in self.coords.values() if np.ndim(c))

    @property
    def dims(self):
        """Names of its dimensions."""
        return tuple(name for name, c in self.coords.items() if np.ndim(c))

    @property
    def fields(self):
        """Fields whose maxima are kept, in the order of their rows: tuple of str."""
        return tuple(MAXIMA[name] for name in MAXIMA if name in self.quantities)

    @property
    def integrals(self):
        """Integrals that are kept, in the order of their rows: tuple of str.

        The significant duration needs the Arias intensity.
        """
        measured = {*self.quantities, *(["arias"] if "duration" in self.quantities else [])}
        return tuple(name for name in INTEGRALS if name in measured)

    @property
    def oscillators(self):
        """Periods of the oscillators that are followed: tuple of float."""
        return self.periods if "sa" in self.quantities else ()

    @property
    def bins(self):
        """Values of the history that are kept: int."""
        return -(-self.last // self.every) if "duration" in self.quantities else 0

    @property
    def rows(self):
        """Rows of the arrays that change in time, of which each site is a column: dict of part to int."""
        fields, integrals, periods = self.fields, self.integrals, len(self.oscillators)
        accelerated = "acceleration" in fields or periods or {"arias", "cav"} & {*integrals}
        counts = {
            "before": 3 * bool(accelerated),
            "displaced": 3 * ("displacement" in fields),
            "largest": 4 * len(fields),
            "sums": 3 * len(integrals),
            "pushed": 3 * bool(periods),
            "oscillators": 6 * periods,
            "oscillators_largest": 4 * periods,
            "history": self.bins,
        }
        return {part: count for part, count in counts.items() if count}

    def array(self, part):
        """Return the name of one of its arrays in a plan; a part has no dot, so that no two maps have the same.

        Parameters
        ----------
        part : str
        """
        return f"peaks_{self.name}.{part}"


def map_of(all_series, name):
    """Return the series that an array of a plan belongs to, or None.

    Parameters
    ----------
    all_series : sequence of PeakSeries
    name : str
        Of the array.
    """
    owners = (series for series in all_series if name in map(series.array, series.rows))
    return next(owners, None)


def nigam_jennings(period, damping, dt):
    """Return the exact recursion of an oscillator over a step in which the ground's acceleration
    changes linearly.

    With the displacement u and the velocity v of the oscillator relative to the ground, and the
    acceleration a of the ground, (u, v) after a step is A (u, v) + B (a before, a after).

    Parameters
    ----------
    period : float
        Without damping, s.
    damping : float
        Share of critical damping, below 1.
    dt : float
        Step, s.

    Returns
    -------
    (2, 4) array
        A and B side by side.

    Notes
    -----
    Nigam and Jennings (1969), Bull. Seism. Soc. Am. 59, 909-922; here from the matrix exponential
    of the oscillator with the two coefficients of the line as further unknowns.
    """
    from scipy.linalg import expm

    omega = 2 * np.pi / period
    system = np.zeros((4, 4))  # of u, v, a, and da/dt, time in steps
    system[0, 1] = dt
    system[1, :3] = -(omega**2) * dt, -2 * damping * omega * dt, -dt
    system[2, 3] = 1.0
    step = expm(system)[:2]
    step[:, 2] -= step[:, 3]  # a before and the increase, to a before and a after
    return step


def quantities_of(series, arrays):
    """Return the quantities of the sites of a rank, from what was summed: dict of name to array
    (n,), (components, n) or (periods, components, n).

    Parameters
    ----------
    series : PeakSeries
    arrays : dict of str to ndarray
        By part: ``largest``, ``sums``, ``oscillators_largest``, ``history``.
    """
    largest, sums = arrays.get("largest"), arrays.get("sums")
    out = {}
    for row, measured in enumerate(series.fields):
        name = next(name for name, of in MAXIMA.items() if of == measured)
        out[name] = largest_of(largest[4 * row : 4 * row + 4])
    for row, name in enumerate(series.integrals):
        values = sums[3 * row : 3 * row + 3]
        if name == "arias":
            values = np.pi / (2 * GRAVITY) * values
        both = values[:2].sum(axis=0) if name != "cav" else np.hypot(*values[:2])
        out[name] = np.concatenate([values, both[None]]).astype(np.float32)
    if series.bins:
        out["duration_5_95"], out["duration_5_75"] = durations(series, arrays["history"])
    if "arias" not in series.quantities:
        out.pop("arias", None)
    if series.oscillators:
        rows = arrays["oscillators_largest"].reshape(len(series.oscillators), 4, -1)
        omega = 2 * np.pi / np.array(series.oscillators)
        out["sa"] = np.stack([w**2 * largest_of(of) for w, of in zip(omega, rows)]).astype(np.float32)
    return out


def largest_of(rows):
    """Return maxima of E, N, Z and of the horizontal vector, whose square was kept.

    Parameters
    ----------
    rows : (4, n) array
    """
    out = np.array(rows, float)
    out[3] = np.sqrt(out[3])
    return out.astype(np.float32)


def durations(series, history):
    """Return significant durations, s: from 5 to 95 % and from 5 to 75 % of the final Arias
    intensity of both horizontal components.

    Between two values of the history it is taken to grow linearly.

    Parameters
    ----------
    series : PeakSeries
    history : (bins, n) array
        Running integral.
    """
    ends = np.minimum((1 + np.arange(len(history))) * series.every, series.last) * series.dt
    times, total = np.append(0.0, ends), history[-1]
    growing = np.concatenate([np.zeros((1, history.shape[1])), history])
    at = {share: crossing(times, growing, share * total) for share in (0.05, 0.75, 0.95)}
    still = total <= 0
    return tuple(np.where(still, 0.0, at[share] - at[0.05]).astype(np.float32) for share in (0.95, 0.75))


def crossing(times, growing, level):
    """Return when rows that never fall reach a level, by linear interpolation: (n,).

    Parameters
    ----------
    times : (m,) array
    growing : (m, n) array
    level : (n,) array
    """
    after = np.clip((growing < level).sum(axis=0), 1, len(times) - 1)
    columns = np.arange(growing.shape[1])
    low, high = growing[after - 1, columns], growing[after, columns]
    rise = np.where(high > low, high - low, 1.0)
    share = np.clip((level - low) / rise, 0.0, 1.0)
    return times[after - 1] + share * (times[after] - times[after - 1])
