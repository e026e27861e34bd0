"""What files hold, before the program makes something of it: plain data in SI units, and the error
of a file.
"""

import gc
import logging
import sys
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from craton.errors import CratonError, InputError


class FileError(InputError):
    """A file cannot be used."""


@contextmanager
def errors_of_libraries(path, says_line=False):
    """Inside, whatever a library raises on a damaged file becomes a FileError that names it.

    Errors of this package outside its readers stay what they are, and so do files that cannot be opened, and with
    `says_line` a ValueError of this package, to which the caller adds the file.
    """
    try:
        yield
    except (FileError, CratonError, MemoryError):
        raise
    except Exception as error:
        module = _module_of(error)
        is_reader = module.startswith("craton.io")
        if getattr(error, "errno", None) or module.startswith("craton.") and not is_reader:
            raise
        if says_line and is_reader and type(error) is ValueError:
            raise
        close_quietly(error)
        reason = " ".join(str(error).split())[:300]
        raise FileError(
            f"cannot read {path}: {type(error).__name__}: {reason}",
            "The file is damaged, or it is of another format than its name says.",
        ) from error


@contextmanager
def warnings_of_libraries(path):
    """Inside, what libraries warn of goes to the log of debugging: what is wrong with a file is an error, and what is not is
    nothing to its user.
    """
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in told:
                logging.getLogger("craton").debug("%s: %s", path, warning.message)


def _module_of(error):
    """Name of the module that raised an error."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_globals.get("__name__", "")


def close_quietly(error):
    """Let go of what the frames of an error hold: files that were opened half way print tracebacks of their own when they are
    closed.
    """
    before, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
    try:
        chain = error
        while chain is not None:
            traceback.clear_frames(chain.__traceback__)
            chain = chain.__cause__ or chain.__context__
        gc.collect()
    finally:
        sys.unraisablehook = before


class UnknownFormat(FileError):
    """The file is in no format that is known for what it should hold."""


class MissingLibrary(FileError):
    """The library that reads a format is not installed."""


def floats(texts):
    """Return the numbers of texts as files write them: ``1_0``, which is Python's way of writing 10, is none and raises ValueError."""
    if "_" in "".join(texts):
        text = next(text for text in texts if "_" in text)
        raise ValueError(f"could not convert string to float: {text!r}")
    return np.array(list(map(float, texts)))


@dataclass(frozen=True, eq=False)
class FileSource:
    """A point source of a file.

    Parameters
    ----------
    longitude, latitude : float
        Degrees, or metres where the file has them.
    depth : float
        m.
    shift : float
        Time of the centroid after the origin time, s.
    width : float
        Half duration, s, or peak frequency, Hz, by `wavelet`; 0 where the file has none.
    moment : ndarray, shape (3, 3), optional
        Moment tensor, east-north-up, N m.
    force : ndarray, shape (3,), optional
        East, north, up, N.
    plane : tuple of float, optional
        Strike, dip and rake, degrees, and scalar moment, N m, of a double couple: where there is no
        moment tensor.
    wavelet : str
        ``"gaussian"``, ``"ricker"``, or the name of a source time function that is not known here.
    name : str
    origin : str or None
        Origin time, ISO 8601, UTC; None where the file has none.
    coordinates : str or None
        ``"geographic"`` or ``"metres"``; None where the file does not say.
    """

    longitude: float
    latitude: float
    depth: float
    shift: float
    width: float
    moment: np.ndarray | None = None
    force: np.ndarray | None = None
    plane: tuple | None = None
    wavelet: str = "gaussian"
    name: str = ""
    origin: str | None = None
    coordinates: str | None = None


@dataclass(frozen=True, eq=False)
class FileSources:
    """Point sources of a file with mechanisms of one kind, as arrays: a million in 150 MB. Items
    are `FileSource`.

    Parameters
    ----------
    longitude, latitude, depth, shift, width : ndarray, shape (n,)
        See `FileSource`.
    moment : ndarray, shape (n, 3, 3), optional
    force : ndarray, shape (n, 3), optional
    plane : ndarray, shape (n, 4), optional
    wavelet : str
    names : list of str, optional
        Of each.
    origins : list of str or None, optional
        Of each.
    coordinates : str or None
    """

    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    shift: np.ndarray
    width: np.ndarray
    moment: np.ndarray | None = None
    force: np.ndarray | None = None
    plane: np.ndarray | None = None
    wavelet: str = "gaussian"
    names: list | None = None
    origins: list | None = None
    coordinates: str | None = None

    def __len__(self):
        return len(self.longitude)

    def __getitem__(self, n):
        place = (self.longitude, self.latitude, self.depth, self.shift, self.width)
        return FileSource(
            *(float(column[n]) for column in place),
            None if self.moment is None else self.moment[n],
            None if self.force is None else self.force[n],
            None if self.plane is None else tuple(self.plane[n].tolist()),
            self.wavelet,
            "" if self.names is None else self.names[n],
            None if self.origins is None else self.origins[n],
            self.coordinates,
        )


@dataclass(frozen=True, eq=False)
class Stations:
    """Stations of a file.

    Parameters
    ----------
    names : list of str
        All different: station codes, or network and code; see `unique_codes`.
    x, y : ndarray, shape (n,)
        Longitude and latitude, degrees, or metres.
    depth : ndarray, shape (n,)
        m, down.
    deep : bool
        Whether the file states depths, which count from the ground; else elevations.
    coordinates : str or None
        ``"geographic"``, ``"model"`` for the axes of the model; None where the file does not say.
    networks, codes : list of str or None
        Network and station codes; None where the file has names only. A network that the file does
        not state is empty.
    elevation : ndarray, shape (n,), or None
        Of the ground at the stations, m; None where the file does not state it.
    locations : list of str or None
        Location codes of sensors.
    epochs : ndarray, shape (n, 2), or None
        Begin and end of the epoch that each row holds for, s since 1970 UTC, infinite where it is
        open; a station then has a row for each sensor and epoch.
    """

    names: list
    x: np.ndarray
    y: np.ndarray
    depth: np.ndarray
    deep: bool = True
    coordinates: str | None = None
    networks: list | None = None
    codes: list | None = None
    elevation: np.ndarray | None = None
    locations: list | None = None
    epochs: np.ndarray | None = None

    @property
    def pairs(self):
        """Codes of network and station: list of (str, str)."""
        networks = self.networks if self.networks is not None else [""] * len(self.names)
        return list(zip(networks, self.codes if self.codes is not None else self.names))


def sensors(rows) -> Stations:
    """Return the stations of rows, one for each sensor and epoch, that files on Earth state.

    A row has the channel, empty of a station itself; and network, station, location, longitude, latitude (degrees), depth,
    elevation of the ground (m), begin and end (s since 1970, None where it is open). Channels of equal rows are one sensor,
    a channel that stands twice is two. Raises ValueError where there are none.
    """
    counts = Counter(rows)
    rows = list(dict.fromkeys(row for _, row in counts))
    rows += dict.fromkeys(row for (_, row), count in counts.items() if count > 1)
    if not rows:
        raise ValueError("no stations")
    networks, codes, locations, *numbers = (list(column) for column in zip(*rows))
    begin = [-np.inf if time is None else time for time in numbers[4]]
    end = [np.inf if time is None else time for time in numbers[5]]
    longitude, latitude, depth, elevation = (np.array(column, float) for column in numbers[:4])
    return Stations(
        codes,
        longitude,
        latitude,
        depth,
        coordinates="geographic",
        networks=networks,
        codes=codes,
        elevation=elevation,
        locations=locations,
        epochs=np.array([begin, end], float).T,
    )


def moment_tensor(six, convention="rtp"):
    """Return the moment tensor (3, 3), east-north-up, from the six numbers of a CMTSOLUTION, Mrr Mtt Mpp Mrt Mrp Mtp.

    `convention` ``"rtp"``: r up, theta south, phi east (Global CMT, SPECFEM). ``"ned"``: the six are Mxx Myy Mzz Mxy Mxz Myz
    with x north, y east, z down, as the finite-fault files of the USGS have them under the same names.
    """
    a, b, c, ab, ac, bc = six
    if convention == "ned":
        return np.array([[b, ab, -bc], [ab, a, -ac], [-bc, -ac, c]])
    return np.array([[c, -bc, ac], [-bc, b, -ab], [ac, -ab, a]])


def unique_codes(pairs) -> list[str]:
    """Return the station codes of pairs of network and station; network.station for all where a code stands twice."""
    codes = [station for _, station in pairs]
    return (
        codes if len(set(codes)) == len(codes) else [f"{network}.{station}".lstrip(".") for network, station in pairs]
    )


@dataclass(frozen=True, eq=False)
class RadialTable:
    """A radial Earth model of a file, linear between its rows.

    Parameters
    ----------
    radius : ndarray, shape (n,)
        m, falling or rising; one that stands twice is a discontinuity.
    columns : dict of str to ndarray, shape (n,)
        ``vp, vs`` or ``vpv, vph, vsv, vsh, eta``, m/s; ``rho``, kg/m3; perhaps ``qkappa, qmu`` or
        ``qp, qs``.
    moho : float or None
        Its radius, m, where the file names it.
    """

    radius: np.ndarray
    columns: dict
    moho: float | None = None


@dataclass(frozen=True, eq=False)
class Wavefield:
    """Waves at points around a box.

    Parameters
    ----------
    name : str
        In words, for messages.
    xyz : (n, 3) array
        m.
    values : dict of str to (time, n) array
        ``"ux"``, m, or ``"vx"``, m/s, and ``"sxx"``, Pa, tension positive, and the like, SI units.
    start, interval : float
        Time of the first values and between values, s.
    medium : dict of str to (n,) array
        ``"vp"``, ``"vs"``, m/s, and ``"rho"``, kg/m3, or nothing.
    place : dict of str to float
        Where values lie after the first time, in intervals; 0 of those that are not named.
    leapfrog : bool
        As a leapfrog run of the step `interval` has left them.
    fewest : int
        Points along an axis from which values between them are made, where no more are there.
    """

    name: str
    xyz: np.ndarray
    values: dict
    start: float
    interval: float
    medium: dict
    place: dict = field(default_factory=dict)
    leapfrog: bool = False
    fewest: int = 4

    @property
    def samples(self):
        """Number of times."""
        return len(next(iter(self.values.values())))

    @property
    def end(self):
        """Time of the last values, s."""
        last = min(self.place.get(name, 0.0) for name in self.values)
        return self.start + (self.samples - 1 + last) * self.interval


# Lexicographic place (c * 3 + b) * 3 + a of each node of a 27-node hexahedron, in the order of the format.
CORNERS = (0, 2, 8, 6, 18, 20, 26, 24)
BELOW, ABOVE, UPRIGHT = (1, 5, 7, 3), (19, 23, 25, 21), (9, 11, 17, 15)
NODE_ORDERS = {
    # VTK file formats, type 29 (and 25: the first 20)
    "VTK": (*CORNERS, *BELOW, *ABOVE, *UPRIGHT, 12, 14, 10, 16, 4, 22, 13),
    # Gmsh reference manual, "Node ordering"
    "gmsh": (*CORNERS, 1, 3, 9, 5, 11, 7, 17, 15, 19, 21, 23, 25, 4, 10, 12, 14, 16, 22, 13),
    # Exodus II: A finite element data model, HEX27
    "Exodus": (*CORNERS, *BELOW, *UPRIGHT, *ABOVE, 13, 4, 22, 12, 14, 10, 16),
    # SPECFEM3D Cartesian manual, figure of HEX27
    "SPECFEM": (*CORNERS, *BELOW, *UPRIGHT, *ABOVE, 4, 10, 14, 16, 12, 22, 13),
}


@dataclass
class MeshParts:
    """What a mesh file holds, before it is a mesh: nodes, hexahedra, quadrilaterals and sides, each with the name of its
    group.

    Parameters
    ----------
    points : (m, 3) array
        Nodes, m.
    elements : list of (ne, 8, 20 or 27) arrays
        Node numbers from 0, in VTK's order.
    names : list of (ne,) object arrays
        Name of each element's group, None where it has none.
    quads : list of ((nq, 4) array, (nq,) object array)
        Corners of quadrilaterals and the names of their groups.
    sides : dict of str to (elements, local faces)
        Face sets given by element.
    others : list of arrays
        Node numbers of points, lines and surfaces.
    counts : dict of str to int
        How many cells of types that are neither hexahedra nor quadrilaterals there are.
    """

    points: np.ndarray
    elements: list = field(default_factory=list)
    names: list = field(default_factory=list)
    quads: list = field(default_factory=list)
    sides: dict = field(default_factory=dict)
    others: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)

    def add_elements(self, cells, order: str, names):
        """Add hexahedra (ne, 8, 20 or 27), their nodes in an order of `NODE_ORDERS`, and the names of their groups (ne,)."""
        width = cells.shape[1]
        if width not in (8, 20, 27):
            raise FileError(f"elements of {width} nodes are no hexahedra of 8, 20 or 27")
        columns = [NODE_ORDERS[order][:width].index(place) for place in NODE_ORDERS["VTK"][:width]]
        self.elements.append(np.asarray(cells[:, columns], np.int64))
        self.names.append(names)

    def add_quads(self, corners, names):
        """Add quadrilaterals (nq, 4) and the names of their groups (nq,)."""
        self.quads.append((np.asarray(corners, np.int64), names))
        self.others.append(np.asarray(corners, np.int64).ravel())

    def add_others(self, kind: str, cells):
        """Count cells of another type."""
        self.counts[kind] = self.counts.get(kind, 0) + len(cells)
        if isinstance(cells, np.ndarray) and cells.dtype != object:
            self.others.append(cells.ravel())
