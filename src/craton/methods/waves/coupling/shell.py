"""Recordings at points around a box, for runs of any grid: a lattice of points on both sides of its
faces, in axes of its own, and the values of a run there.
"""

from dataclasses import dataclass

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.methods.waves.coupling import recorded
from craton.tables.fields import spatial
from craton.tables.injection import Recording

LAYERS = 4  # of points on each side of a face, where no thickness is given
AT_TOP = 1e-6  # of the spacing: boxes that end at the ground
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
VELOCITY = ("vx", "vy", "vz")
STRESS = ("sxx", "syy", "szz", "sxy", "sxz", "syz")
IN_FLUID = "s"  # the one normal stress of acoustic waves


@dataclass(frozen=True, eq=False)
class Shell:
    """Points around a box.

    Parameters
    ----------
    spec : craton.tables.injection.Recording
    local : (n, 3) array
        In the axes of the box, m.
    xyz : (n, 3) array
        In those of the run, m.
    axes : (3, 3) array
        Rows: the axes of the box in those of the run.
    """

    spec: object
    local: np.ndarray
    xyz: np.ndarray
    axes: np.ndarray


def injection_points(from_, to, sampling, thickness=None, top=0.0):
    """Return the points around a box at which another program should write velocity and stress, for an
    injection of its file.

    Parameters
    ----------
    from_, to : sequence of 2 or 3 floats
        Corners of the box of the injection, m, in the axes of the domain: (x, z) in the plane.
    sampling : float
        Distance of the points, m: 3.5 of them a shortest wavelength at least.
    thickness : float, optional
        How far points reach on both sides of a face, m; by default four times the sampling.
    top : float
        Elevation of the flat ground, m; infinite where the top is no free surface. A box that ends
        there has no points above it.

    Returns
    -------
    xarray.Dataset
        Coordinates ``x``, ``y``, ``z`` over ``point``, m: velocity and stress over time and point
        make it a file that ``[[injection]]`` reads.

    Raises
    ------
    ScenarioError
        The box ends before it begins, or a distance is not positive.
    """
    import xarray as xr
    from pydantic import ValidationError

    box = {"name": "points", "from": list(from_), "to": list(to)}
    try:
        spec = Recording(**box, sampling=sampling, thickness=thickness)
    except ValidationError as error:
        remedy = "give two corners, [x, y, z], lower south-west first, and distances above 0, in m"
        problems = [Problem(".".join(map(str, e["loc"])) or "to", e["msg"], remedy) for e in error.errors()]
        raise ScenarioError(problems) from error
    xyz = shell_of(spec, float(top)).xyz
    return xr.Dataset(
        coords={
            axis: ("point", column, {"units": "m", "long_name": f"{axis} of the domain"})
            for axis, column in zip("xyz", xyz.T)
        }
    )


def shell_of(spec, top, frame=None):
    """Return the `Shell` of a recording.

    Parameters
    ----------
    spec : craton.tables.injection.Recording
    top : float
        Elevation of the ground, m: in the axes of the run, with a frame in those of the box;
        infinite where the top is no free surface.
    frame : (origin, axes), optional
        Of the box in the axes of the run, for recordings on Earth.
    """
    origin, turned = frame or frame_of(spec)
    top = top if frame else top - origin[2]
    low, high = (np.array(spatial(corner), float) for corner in (spec.from_, spec.to))
    axes = (0, 2) if len(spec.from_) == 2 else (0, 1, 2)
    thickness = spec.thickness or LAYERS * spec.sampling
    lines, inner = [np.zeros(1)] * 3, [np.ones(1, bool)] * 3
    for axis in axes:
        count = int(np.ceil((high[axis] - low[axis]) / spec.sampling - AT_TOP))
        spacing = (high[axis] - low[axis]) / count
        beyond = int(np.ceil(thickness / spacing - AT_TOP))
        index = np.arange(-beyond, count + beyond + 1)
        at_ground = axis == 2 and high[2] > top - AT_TOP * spacing
        index = index[: len(index) - beyond] if at_ground else index
        inner[axis] = (index > beyond) & ((index < count - beyond) | at_ground)
        lines[axis] = low[axis] + spacing * index
        if at_ground:
            lines[axis][-1] = high[2]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    hollow = np.all(np.stack(np.meshgrid(*inner, indexing="ij"), axis=-1), axis=-1).ravel()
    local = grid[~hollow]
    return Shell(spec, local, origin + local @ turned, turned)


def frame_of(spec):
    """Return origin (3,) and axes (3, 3) of a recording in a Cartesian domain."""
    origin = np.zeros(3) if spec.origin is None else np.array(spatial(spec.origin), float)
    return origin, turned_axes(np.eye(3), spec.azimuth)


def turned_axes(axes, azimuth):
    """Return horizontal axes (rows east, north, up) turned clockwise by degrees."""
    if not azimuth:
        return axes
    sine, cosine = np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth))
    return np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]) @ axes


def mixing(names, axes):
    """Return what makes fields in the axes of a box from those of the run, (fields, fields).

    Parameters
    ----------
    names : sequence of str
        Fields of the run: ``"vx"``, ``"sxz"`` and the like.
    axes : (3, 3) array
        Rows: the axes of the box.
    """
    out = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        for column, source in enumerate(names):
            if name[0] != source[0]:
                continue
            a, b = (tuple("xyz".index(letter) for letter in word[1:]) for word in (name, source))
            if len(a) != len(b):
                continue
            if not a:
                out[row, column] = 1.0
            elif len(a) == 1:
                out[row, column] = axes[a[0], b[0]]
            else:
                out[row, column] = axes[a[0], b[0]] * axes[a[1], b[1]]
                if b[0] != b[1]:
                    out[row, column] += axes[a[0], b[1]] * axes[a[1], b[0]]
    return out


def ring(shell, names, rows, medium, about, d, band):
    """Return the `Recording` of a shell, its arrays, and the launch that samples it.

    Parameters
    ----------
    shell : Shell
    names : sequence of str
        Fields of the run.
    rows : csr_array, shape (fields x points, state)
        Weights of each field at each point.
    medium : dict of str to (points,) array
    about : dict
    d : Discretisation
    band : float
        Hz.
    """
    from scipy.sparse import csr_array, eye_array, kron

    if len(shell.local) and not np.array_equal(shell.axes, np.eye(3)):
        mixed = csr_array(mixing(names, shell.axes))
        rows = csr_array(kron(mixed, eye_array(len(shell.local))) @ rows)
    places = {**dict(zip("xyz", shell.local.T)), **medium}
    labels = {name: np.tile(values, len(names)) for name, values in places.items()}
    labels["field"] = np.repeat(names, len(shell.local))
    spec = shell.spec
    about = about | {"from": list(spec.from_), "to": list(spec.to), "sampling": spec.sampling}
    return recorded.ring(spec.name, rows.indices, labels, about, d, band, first=rows.indptr, weight=rows.data)


def outside_problems(key, outside, xyz, words):
    """Return the problem of points where nothing can be recorded: list of Problem.

    Parameters
    ----------
    key : str
        Of the scenario.
    outside : (n,) bool array
    xyz : (n, 3) array
        m.
    words : str
        Where they are.
    """
    if not outside.any():
        return []
    x, y, z = xyz[np.flatnonzero(outside)[0]]
    message = f"{outside.sum():,} points of the recording are {words}, the first at ({x:.6g}, {y:.6g}, {z:.6g}) m"
    return [Problem(key, message, "make the box smaller, or its thickness")]


def source_warning(shell, sources):
    """Return the warning of sources in the box of a recording or in its points: list of str.

    Parameters
    ----------
    shell : Shell
    sources : list of sources
    """
    from craton.text import first_of

    low, high = shell.local.min(axis=0), shell.local.max(axis=0)
    origin = shell.xyz[0] - shell.local[0] @ shell.axes
    names = []
    for source in sources:
        local = (np.asarray(source.points, float) - origin) @ shell.axes.T
        if ((local >= low - AT_TOP) & (local <= high + AT_TOP)).all(axis=-1).any():
            names.append(source.name)
    words = f'in the box of the recording "{shell.spec.name}", or among its points, so that it is no incident wave: '
    return [words + first_of(names)] * bool(names)
