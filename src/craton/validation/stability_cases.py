"""Long runs in small boxes, as data: the media, faces and sources in which absorbing layers are
known to grow, and those that must not.

Boxes of finite differences have 48 x 48 x 40 points of 25 m, x = y = 0 in the middle of the ground,
a CPML of 10 points, a free top, float32 and order 4 unless a row says otherwise; those of bodies
36 x 36 x 28. The same rows can be computed in a thin slice (y periodic) or in the (x, z) plane.
"""

import tomllib
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import numpy as np

from craton.scenario import Scenario

POINTS, SPACING, THICKNESS = (48, 48, 40), 25.0, 10
ROCK = {"vp": 3464.0, "vs": 2000.0, "rho": 2400.0}
# of a run: three dimensions, y periodic, the (x, z) plane
SHAPES = ("space", "slice", "P-SV", "SH")
PLANAR = SHAPES[2:]
SLICE = 5  # points along y of a slice
EXTREMES = (0.2, 3.0)  # of the S speed of a random medium, over its mean
MOMENT = {"xx": 0.7e13, "yy": 1.3e13, "zz": -0.9e13, "xz": 0.6e13}
SHEAR = {"xy": 0.8e13, "yz": -0.5e13}  # besides, outside the plane


@dataclass(frozen=True)
class LongRun:
    """A row: a medium in a box, and how it is run.

    Parameters
    ----------
    what : str
        In words.
    model : dict
        Table of the scenario; kind "random" is `random_medium`.
    boundaries, run : dict
        Tables of the scenario, where they are not the default.
    frequency, depth : float
        Peak frequency of the Ricker wavelet, Hz; depth of the source, m. Waves of less than three
        points do not move on a grid: where there are such, they stay, and the row is `trapped`.
    source : dict
        Kind and strength of the source, in place of a moment tensor.
    trapped : bool
        The structure keeps waves: they are compared with those in a wide box.
    shapes : tuple of str
        Of `SHAPES`, those in which the row makes sense.
    ranks : int
        Ranks, threads of this process, that share the run.
    """

    what: str
    model: dict
    boundaries: dict = field(default_factory=dict)
    run: dict = field(default_factory=dict)
    frequency: float = 5.0
    depth: float = 310.0
    source: dict = field(default_factory=dict)
    trapped: bool = False
    shapes: tuple = SHAPES[:3]
    ranks: int = 1
    method = length = "fd"
    points, kept = POINTS, False
    layer = THICKNESS * SPACING  # m, that waves in a wide box are compared without

    def scenario(self, folder, shape="space", wide=1):
        """Return the Scenario of the row; its duration means nothing.

        Parameters
        ----------
        folder : Path
            Where the file of a random medium is written; the plan reads it.
        shape : str
            One of `SHAPES`.
        wide : float
            Widths of the usual box along x and y, about: the middle stays where it is.
        """
        *across, down = (n - 1 for n in self.points)
        cells = [n + 2 * ceil((wide - 1) * n / 2) for n in across] + [down]
        if shape == "slice":
            cells[1] = SLICE - 1
        size = SPACING * np.array(cells, float)
        low = np.array([-size[0] / 2, -size[1] / 2, -size[2]])
        axes = [0, 2] if shape in PLANAR else [0, 1, 2]
        domain = {"origin": low[axes].tolist(), "size": size[axes].tolist(), "spacing": SPACING}
        if shape in PLANAR and self.model.get("vs") != 0:
            domain["waves"] = shape
        return Scenario(
            title=self.what,
            domain=domain,
            model=model(self.model, folder, low, low + size),
            time={"duration": 1.0},
            boundaries=faces(self.boundaries, shape),
            source=[source(self, shape)],
            run=dict(self.run),
        )


@dataclass(frozen=True)
class Body(LongRun):
    """A row of a body that touches or crosses layers, in a smaller box: waves may stay in it, but
    not grow.
    """

    length = "bodies"
    points, kept = (36, 36, 28), True


def hills(x, y=0.0):
    """Elevation of a ground with three slopes, m, within 250 m below zero: 1 to 4, 1 to 2.5, 1 to
    1.5.
    """
    along = np.interp(np.asarray(x), (-460, -180, -40, 210, 360), (-130, -60, -200, -100, -200))
    return along + 25 * np.sin(np.asarray(y) / 130)


def valleys(x, y=0.0):
    """Return the same between the layers, flat within them: in a wide box nothing else scatters
    waves back.
    """
    along = np.interp(np.asarray(x), (-330, -180, -40, 210, 330), (-100, -60, -200, -100, -200))
    return along + 25 * np.sin(np.asarray(y) / 130) * np.clip((337 - np.abs(y)) / 100, 0, 1) * np.clip(
        (337 - np.abs(x)) / 100, 0, 1
    )


def peak(x, y=0.0):
    """Return a hill whose top lies 2 m within a cell, one point wide."""
    return np.maximum(-85.6 - 0.25 * np.hypot(np.asarray(x) + 187.5, np.asarray(y)), -200.0)


def slope(x, y=0.0):
    """Elevation of a sea floor that goes on sloping into layers at the sides, m: 1 to 4."""
    return np.interp(np.asarray(x), (-400, 400), (-350, -150)) + 10 * np.sin(np.asarray(y) / 100)


RELIEF = {relief.__name__: relief for relief in (hills, valleys, peak, slope)}
DATA = tomllib.loads(Path(__file__).with_name("stability.toml").read_text("utf-8"))


def rows_of(kind, table):
    """Rows by name.

    Parameters
    ----------
    kind : type
        `LongRun`, or that of another method.
    table : dict
        Of stability.toml: fields of each row; a model by its name, or with the name of its
        topography.
    """
    rows = {}
    for name, keys in table.items():
        model = keys["model"]
        model = DATA["models"][model] if isinstance(model, str) else model
        relief = {key: RELIEF[value] for key, value in model.items() if key == "topography"}
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
        rows[name] = kind(**fields | {"model": model | relief})
    return rows


ROWS = rows_of(LongRun, DATA["issue"] | DATA["more"]) | rows_of(Body, DATA["bodies"])


def faces(boundaries, shape):
    """Return the table of the faces; y periodic in a slice."""
    table = {"top": "free", "others": "cpml", "cpml": {"thickness": THICKNESS}, **boundaries}
    if shape == "slice":
        table |= {"south": "periodic", "north": "periodic"}
    return table


def source(row, shape):
    """Return the source off the middle and off the points."""
    at = [17.0, -8.0 if shape == "space" else 6.0, -row.depth]
    kind = {"kind": "moment_tensor", "tensor": MOMENT | (SHEAR if shape not in PLANAR else {})}
    if shape in PLANAR:
        at = at[::2]
    if shape == "SH":
        kind = {"kind": "force", "force": [0, 1e10, 0]}
    return {**(row.source or kind), "at": at, "wavelet": {"kind": "ricker", "frequency": row.frequency}}


def model(table, folder, low, high):
    """Return the table of the model, a random one as a file."""
    return random_medium(table, folder, low, high) if table["kind"] == "random" else table


def random_medium(table, folder, low, high, seed=11):
    """Return a medium of normally distributed S speed within `EXTREMES`, correlated over
    `correlation` points (Gaussian), vp / vs constant.

    Parameters
    ----------
    table : dict
        ``vs`` (mean, m/s), ``deviation`` (standard, relative), ``correlation`` (points), ``ratio``
        vp / vs, perhaps ``qp``, ``qs`` and ``attenuation``.
    folder : Path
    low, high : array
        Corners of the box, m.
    seed : int

    Returns
    -------
    dict
        Table of a model of kind "file".
    """
    import xarray
    from scipy.ndimage import gaussian_filter

    axes = {name: np.arange(a, b + SPACING / 2, SPACING) for name, a, b in zip("xyz", low, high)}
    noise = np.random.default_rng(seed).standard_normal([len(axes[name]) for name in "zyx"])
    smooth = gaussian_filter(noise, table["correlation"] / np.sqrt(2), mode="wrap")
    vs = table["vs"] * np.clip(1 + table["deviation"] * (smooth - smooth.mean()) / smooth.std(), *EXTREMES)
    values = {"vp": table["ratio"] * vs, "vs": vs, "rho": np.full_like(vs, 2300.0)}
    values |= {name: np.full_like(vs, table[name]) for name in ("qp", "qs") if name in table}
    path = folder / "random.zarr"
    xarray.Dataset({name: (("z", "y", "x"), v) for name, v in values.items()}, axes).to_zarr(
        path, mode="w", consolidated=False
    )
    return {"kind": "file", "file": str(path), **{key: table[key] for key in ("attenuation",) if key in table}}
