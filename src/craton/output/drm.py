"""Recordings at points as waves of the domain reduction method: the nodes on the faces of the box
and outside it, with displacement, velocity and acceleration as if time had been continuous.
"""

import numpy as np

from craton.errors import CratonError
from craton.output.recordings import open_recording
from craton.survey import leapfrog

ON_FACE = 1e-3  # of the spacing
ORDER = 7  # of the splines in time: 1e-6 at 20 samples a period


def waves(path, name):
    """Return the nodes of a recording: xarray.Dataset, see `craton.io.h5drm.write`.

    Parameters
    ----------
    path : path-like
        The run's folder.
    name : str
        Of the recording.

    Raises
    ------
    CratonError
        It was not recorded at points of a volume.
    """
    import xarray as xr
    from scipy.interpolate import make_interp_spline

    recorded = open_recording(path, name)
    about, labels = recorded.about, recorded.labels
    if not about.get("sampling") or len(about["from"]) != 3:
        raise CratonError(
            f'the recording "{name}" of {path} is not at points of a volume: add sampling to its [[recording]]'
        )
    fields = [str(field) for field in labels["field"]]
    first = {field: fields.index(field) for field in ("vx", "vy", "vz")}
    count = fields.count("vx")
    xyz = np.stack([labels[axis][:count] for axis in "xyz"], axis=1)
    spacing = [float(np.diff(np.unique(xyz[:, n].round(6))).min()) for n in range(3)]
    chosen, internal = nodes(xyz, about, spacing)
    dt, steps = about["dt"], recorded.steps
    times = (np.arange(1, steps)) * dt
    motions = {key: [] for key in ("displacement", "velocity", "acceleration")}
    for field in first:
        places = first[field] + np.flatnonzero(chosen)
        values = recorded.columns(places, 0, steps).astype(float)
        values = leapfrog.from_leapfrog(values, dt, 0.5, about["band"] or np.inf)
        spline = make_interp_spline((np.arange(steps) + 0.5) * dt, values, ORDER)
        for key, motion in zip(motions, (spline.antiderivative(), spline, spline.derivative())):
            motions[key].append(motion(times))
    dims = ("component", "time", "point")
    coordinates = {"time": about["start"] + times, "component": ["E", "N", "Z"]}
    coordinates |= {axis: ("point", xyz[chosen, n]) for n, axis in enumerate("xyz")}
    coordinates["internal"] = "point", internal
    attributes = {"from": about["from"], "to": about["to"], "spacing": spacing}
    arrays = {key: (dims, np.stack(motion)) for key, motion in motions.items()}
    return xr.Dataset(arrays, coordinates, attributes)


def nodes(xyz, about, spacing):
    """Return which points are on the faces of a box or outside it, (n,) bool, and of these which
    are on the faces.

    Parameters
    ----------
    xyz : (n, 3) array
        m.
    about : dict
        Of the recording.
    spacing : sequence of float
        Of the points along x, y and z, m.
    """
    low, high = np.array(about["from"]), np.array(about["to"])
    room = ON_FACE * np.array(spacing)
    open_top = xyz[:, 2].max() <= high[2] + room[2]
    high = np.where([False, False, open_top], np.inf, high)
    inside = ((xyz >= low - room) & (xyz <= high + room)).all(axis=1)
    deep = ((xyz > low + room) & (xyz < high - room)).all(axis=1)
    return ~deep, inside[~deep]
