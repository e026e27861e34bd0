"""Recordings of the wavefield around a box, in result.zarr: laid out, written in blocks of steps, opened by the run into
which they are injected, and as waves of the domain reduction method for other programs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import CratonError
from craton.integrity import writing
from craton.io.regular import check, refuse_swollen
from craton.output.arrays import CHUNK_BYTES, consolidate, create, open_group, write_whole
from craton.output.inspection import named_damage
from craton.survey import leapfrog

GROUP = "recordings"
VALUES = "values"
UNITS = {"x": "m", "y": "m", "z": "m", "vp": "m/s", "vs": "m/s", "rho": "kg/m3"}
ABOUT = {
    "long_name": "field of each place, SI units",
    "comment": "row n is the state after time step n; time of each field: attribute `late` of "
    "the group, in steps after the start",
}


class RecordingWriter:
    """Writes recordings to the groups ``recordings/NAME`` of a zarr store: ``values(time, place)``.

    Parameters
    ----------
    path : path-like
        ``OUT/result.zarr``; created when missing.
    """

    def __init__(self, path):
        self.path, self.arrays = Path(path), {}

    def declare(self, recording, again=False):
        """Lay a recording out, all values missing; or open it `again` where a run goes on.

        Parameters
        ----------
        recording : Recording
        again : bool
        """
        root, name = open_group(self.path, "a"), f"{GROUP}/{recording.name}"
        if again:
            self.arrays[recording.name] = root[f"{name}/{VALUES}"]
            return
        group = root.require_group(name, overwrite=True)
        group.attrs.update(recording.about)
        for label, values in recording.labels.items():
            write_whole(group, label, np.asarray(values), ["place"], {"units": UNITS.get(label, "")})
        shape = (recording.steps, recording.places)
        width = np.dtype(recording.precision).itemsize
        chunks = recording.slots, min(recording.places, CHUNK_BYTES // (width * recording.slots))
        self.arrays[recording.name] = create(
            group, VALUES, shape, chunks, recording.precision, ["time", "place"], ABOUT
        )
        consolidate(self.path, name)

    def write(self, name, first, block):
        """Write the values of some steps.

        Parameters
        ----------
        name : str
        first : int
            Step of the first row.
        block : (steps, places) array

        Raises
        ------
        ResourceError
            The disk is full.
        """
        with writing(f'the recording "{name}" to {self.path}'):
            self.arrays[name][first : first + len(block)] = block


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recording of another run, opened.

    Parameters
    ----------
    path : Path
        The store.
    name : str
    labels : dict of str to (places,) array
    about : dict
        See `craton.core.snapshots.Recording`.
    values : array
        (time, place), read when it is used.
    """

    path: Path
    name: str
    labels: dict
    about: dict
    values: Any

    @property
    def steps(self):
        """Number of rows."""
        return self.values.shape[0]

    def columns(self, places, first, last):
        """Return the values of some places in the rows first .. last - 1.

        Parameters
        ----------
        places : (n,) int array
        first, last : int

        Raises
        ------
        Damaged
            A file of it is.
        """
        with named_damage(self.path / GROUP / self.name):
            return self.values.oindex[first:last, places]

    def whole(self):
        """Return the values of all places and steps; raises as `columns`."""
        with named_damage(self.path / GROUP / self.name):
            return self.values[:]


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Rows of a recording as a run takes them, read from its store when they are asked for.

    Parameters
    ----------
    path : Path
        The store.
    name : str
        Of the recording.
    places : (n,) int array
    late : (n,) bool array
        Which the run takes a step later than they were recorded.
    shift : int
        Row of the recording at the first step of the run; rows before the first one are zero.
    largest : (n,) array
        Largest magnitude of each place.
    """

    path: Path
    name: str
    places: np.ndarray
    late: np.ndarray
    shift: int
    largest: np.ndarray

    def __call__(self, first, last):
        """Return the rows of the steps first .. last - 1."""
        values = open_group(self.path)[f"{GROUP}/{self.name}/{VALUES}"]
        begin = first + self.shift - 1
        rows = np.zeros((last - first + 1, len(self.places)), values.dtype)
        rest = min(max(-begin, 0), len(rows))
        with named_damage(self.path / GROUP / self.name):
            rows[rest:] = values.oindex[begin + rest : last + self.shift, self.places]
        return np.where(self.late, rows[:-1], rows[1:])


def names(path):
    """Return the names of the recordings of a run, sorted.

    Parameters
    ----------
    path : path-like
        The directory OUT of the run.
    """
    return _names(open_group(Path(path) / "result.zarr"))


def _names(root):
    return sorted(root[GROUP].group_keys()) if GROUP in root else []


def open_recording(path, name):
    """Return a recording of a run: `Recorded`.

    Parameters
    ----------
    path : path-like
        The directory OUT of the run, or its result.zarr.
    name : str

    Raises
    ------
    FileNotFoundError
        There is none of this name; the message says which there are.
    OSError, ValueError
        It cannot be read.
    Damaged
        A file of it is not as it was written.
    """
    from craton.output.store import refuse_changed

    path = Path(path)
    store = path if path.suffix == ".zarr" else path / "result.zarr"
    if not store.is_dir():
        raise FileNotFoundError(f"there is no run in {path}")
    check(store, folders=True)
    refuse_changed(store.parent, f"{store.name}/{GROUP}/{name}")
    root = open_group(store)
    if name not in _names(root):
        others = f"; there are {', '.join(_names(root))}" if _names(root) else ""
        raise FileNotFoundError(f'{store} has no recording "{name}"{others}')
    refuse_swollen(store / GROUP / name)
    with named_damage(store / GROUP / name):
        group = root[f"{GROUP}/{name}"]
        labels = {label: group[label][...] for label in group.array_keys() if label != VALUES}
        return Recorded(store, name, labels, dict(group.attrs), group[VALUES])


# --- waves of the domain reduction method -----------------------------------------------------------------------------

ON_FACE = 1e-3  # of the spacing
ORDER = 7  # of the splines in time: 1e-6 at 20 samples a period


def waves(path, name):
    """Return the nodes of a recording: xarray.Dataset, see `craton.io.wavefield.write_h5drm`.

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
