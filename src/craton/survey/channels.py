"""Channels of a run: what each column of the record is. Those of many receivers are counted, not
listed, so that a million receivers cost no more than their positions.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from craton.conventions import components, recorded_as

# What is made of stresses lives at full steps; all else is made of velocities, and sampled at half steps.
FULL_STEP = ("pressure",)


class Channel(NamedTuple):
    """One recorded time series.

    Parameters
    ----------
    receiver : int
        Number of the receiver in ``Receivers``.
    quantity, component : str
        A key of ``conventions.QUANTITIES`` that the wavefield gives directly, and one of its
        components.
    half : bool
        True where sample n belongs to ``start + (n + 1/2) dt``, False where it belongs to ``start +
        (n + 1) dt``, `at` aside.
    shot : int
        Number of the shot, where there are several.
    terms : tuple
        Of a channel of a fibre: (position, velocity component 0 1 2, weight) whose sum it is; see
        `craton.survey.receivers`.
    at : float, optional
        Where sample n belongs to ``start + (n + at) dt``.
    """

    receiver: int
    quantity: str
    component: str
    half: bool
    shot: int = 0
    terms: tuple = ()
    at: float | None = None

    @property
    def place(self):
        """Place of the sample within its step, in steps."""
        return self.at if self.at is not None else 0.5 if self.half else 1.0


class Channels(Sequence):
    """Channels by shot, then quantity, receiver, component; made when they are asked for.

    Parameters
    ----------
    count : int
        Receivers.
    kinds : tuple of (str, tuple of str)
        Quantities and their components.
    shots : int
    more : tuple of Channel
        Behind the others: of fibres.
    """

    def __init__(self, count, kinds, shots=1, more=()):
        self.count, self.kinds, self.shots, self.more = count, tuple(kinds), shots, tuple(more)
        self.of_shot = count * sum(len(along) for _, along in self.kinds)

    def __len__(self):
        return self.shots * self.of_shot + len(self.more)

    def __getitem__(self, number):
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        number = range(len(self))[number]
        if number >= self.shots * self.of_shot:
            return self.more[number - self.shots * self.of_shot]
        shot, number = divmod(number, self.of_shot)
        kinds = iter(self.kinds)
        quantity, along = next(kinds)
        while number >= self.count * len(along):
            number -= self.count * len(along)
            quantity, along = next(kinds)
        receiver, component = divmod(number, len(along))
        return Channel(receiver, quantity, along[component], quantity not in FULL_STEP, shot)

    def __iter__(self):
        for shot in range(self.shots):
            for quantity, along in self.kinds:
                half = quantity not in FULL_STEP
                for receiver in range(self.count):
                    for component in along:
                        yield Channel(receiver, quantity, component, half, shot)
        yield from self.more

    def __add__(self, more):
        return Channels(self.count, self.kinds, self.shots, (*self.more, *more))

    def __eq__(self, other):
        if not isinstance(other, Channels):
            return list(self) == other
        return vars(self) == vars(other)

    __hash__ = None

    def columns(self):
        """Return the `Columns` of the channels."""
        size, by_component, first = self.shots * self.of_shot, {}, 0
        receiver, shot = np.empty(size, np.int64), np.arange(size) // max(self.of_shot, 1)
        for quantity, along in self.kinds:
            width = len(along)
            for n, component in enumerate(along):
                of_shot = first + n + width * np.arange(self.count)
                of_all = of_shot + self.of_shot * np.arange(self.shots)[:, None]
                receiver[of_all] = np.arange(self.count)
                by_component[quantity, component] = of_all.ravel()
            first += width * self.count
        if self.more:
            by_component[None] = size + np.arange(len(self.more))
        none = np.full(len(self.more), -1)
        return Columns(np.append(receiver, none), np.append(shot, 0 * none), by_component)


class Columns(NamedTuple):
    """Channels as arrays.

    Parameters
    ----------
    receiver, shot : (n,) int array
        Of each channel; receiver -1 of those of fibres.
    by_component : dict of (str, str) or None to int array
        Numbers of the channels of a quantity and component; by None those of fibres.
    """

    receiver: np.ndarray
    shot: np.ndarray
    by_component: dict


def columns(channels):
    """Return the `Columns` of channels.

    Parameters
    ----------
    channels : Channels or list of Channel
    """
    if isinstance(channels, Channels):
        return channels.columns()
    by_component = defaultdict(list)
    for n, channel in enumerate(channels):
        by_component[None if channel.terms else (channel.quantity, channel.component)].append(n)
    return Columns(
        np.array([-1 if channel.terms else channel.receiver for channel in channels], np.int64),
        np.array([channel.shot for channel in channels], np.int64),
        {name: np.array(numbers) for name, numbers in by_component.items()},
    )


def channels(count, quantities, motion=None, shots=1):
    """Channels to record at `count` receivers so that every one of `quantities` can be written.

    Quantities that are integrated (displacement, strain) or differentiated (acceleration) after the
    run are recorded as what they come from, once. In the plane, only the components of `motion` (``"P-SV"`` or ``"SH"``) are.

    Parameters
    ----------
    count : int
        Receivers.
    quantities : sequence of str
        Keys of `conventions.QUANTITIES`.
    motion : str, optional
        ``"P-SV"`` or ``"SH"`` in the plane.
    shots : int
        How many there are.

    Returns
    -------
    Channels
        By shot, then quantity, receiver, component.
    """
    recorded = dict.fromkeys(map(recorded_as, quantities))
    return Channels(count, [(q, tuple(components(q, motion) or ())) for q in recorded], shots)
