"""Fibres that record axial strain rate: channels along a polyline, each averaged over the gauge
length.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Fibres:
    """The channels of all fibres of a run.

    Parameters
    ----------
    names : list of str
        Of the fibre that each channel lies on, (n,).
    distance : ndarray, shape (n,)
        Along its fibre, m.
    xyz : ndarray, shape (n, 3)
        Middle of the channel, m.
    ends, tangents : ndarray, shape (n, 2, 3)
        Where the gauge length begins and ends on the fibre, m, and the fibre's unit tangents there.
    gauge : ndarray, shape (n,)
        m.
    """

    names: list
    distance: np.ndarray
    xyz: np.ndarray
    ends: np.ndarray
    tangents: np.ndarray
    gauge: np.ndarray

    def __len__(self):
        return len(self.names)

    def terms(self, channel):
        """Terms whose sum is the value of a channel: (position, velocity component 0 1 2, weight)
        of

        ``(v(s + g/2) . t(s + g/2) - v(s - g/2) . t(s - g/2)) / g``

        with the tangents t of the fibre at both ends of the gauge length g. Where the fibre is
        straight between them this is the mean over g of the axial strain rate t . dv/ds. Where it
        bends it also holds the mean of v . dt/ds, which is no strain: channels whose gauge length
        holds a corner tell of the corner.

        Parameters
        ----------
        channel : int
            Number of the channel.
        """
        for end, sign in ((0, -1.0), (1, 1.0)):
            for axis in range(3):
                weight = sign * self.tangents[channel, end, axis] / self.gauge[channel]
                if weight:
                    yield tuple(self.ends[channel, end]), axis, weight


def build(entries):
    """Return the channels of ``(name, along (m, 3), spacing, gauge)`` fibres, lengths in m.

    The first channel lies half a gauge length from the fibre's beginning, the others every
    `spacing` as far as half a gauge length remains behind them. At a corner the tangent is that of
    the piece towards the middle of the channel.

    Parameters
    ----------
    entries : list of (str, (m, 3) array, float, float)
    """
    parts = [_channels(*entry) for entry in entries]
    if not parts:
        return Fibres([], np.empty(0), np.empty((0, 3)), np.empty((0, 2, 3)), np.empty((0, 2, 3)), np.empty(0))
    names, *arrays = zip(*parts)
    return Fibres([n for fibre_names in names for n in fibre_names], *(np.concatenate(a) for a in arrays))


def _channels(name, along, spacing, gauge):
    """names, distance, xyz, ends, tangents, gauge of one fibre."""
    along = np.asarray(along, dtype=float)
    pieces = np.diff(along, axis=0)
    lengths = np.linalg.norm(pieces, axis=1)
    corners = np.concatenate([[0.0], np.cumsum(lengths)])
    count = int(np.floor((corners[-1] - gauge) / spacing + 1e-9)) + 1
    distance = gauge / 2 + spacing * np.arange(count)
    s = np.stack([distance - gauge / 2, distance + gauge / 2], axis=1)
    tiny = 1e-9 * corners[-1]
    piece = np.stack(
        [np.searchsorted(corners, s[:, 0] + tiny, "right") - 1, np.searchsorted(corners, s[:, 1] - tiny, "left") - 1],
        axis=1,
    )
    piece = np.clip(piece, 0, len(pieces) - 1)
    unit = pieces / lengths[:, None]

    def at(where):
        return np.stack([np.interp(where, corners, c) for c in along.T], axis=-1)

    return [name] * count, distance, at(distance), at(s), unit[piece], np.full(count, float(gauge))
