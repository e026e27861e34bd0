"""Long runs in small boxes, as data (long_run_rows.toml): the media, faces and sources in which absorbing layers are
known to grow, and those that must not.

Boxes of finite differences have 48 x 48 x 40 points of 25 m, x = y = 0 in the middle of the ground,
a CPML of 10 points, a free top, float32 and order 4 unless a row says otherwise; those of bodies
36 x 36 x 28. The same rows can be computed in a thin slice (y periodic) or in the (x, z) plane. Spectral elements
have small meshes, and rows for each kind of absorbing faces.
"""

import tomllib
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

import numpy as np

from craton.scenario import Scenario

SPACING, THICKNESS = 25.0, 10
# of a run: three dimensions, y periodic, the (x, z) plane
SHAPES = ("space", "slice", "P-SV", "SH")
PLANAR = SHAPES[2:]
SLICE = 5  # points along y of a slice
EXTREMES = (0.2, 3.0)  # of the S speed of a random medium, over its mean
MOMENT = {"xx": 0.7e13, "yy": 1.3e13, "zz": -0.9e13, "xz": 0.6e13}
SHEAR = {"xy": 0.8e13, "yz": -0.5e13}  # besides, outside the plane
FACES = {"fd": {"top": "free", "others": "cpml", "cpml": {"thickness": THICKNESS}}, "sem": {"top": "free"}}
PERIODIC = {"south": "periodic", "north": "periodic"}
OFF = {"fd": (0.68, -0.32), "sem": (0.3, -0.2)}  # cells from the middle to the source along x and y
ABSORBING = ("stacey", "pml")  # kinds of absorbing faces that are tried in every row of elements
# What the rows of a table of long_run_rows.toml share
SHARED = {
    "issue": {},
    "more": {},
    "bodies": {"kept": True, "elements": (35, 35, 27)},
    "elements": {"method": "sem", "elements": (10, 10, 8), "shapes": ("space",)},
}


@dataclass(frozen=True)
class LongRun:
    """A row: a medium in a box, and how it is run.

    Parameters
    ----------
    what : str
        In words.
    model : dict
        Table of the scenario; kind "random" is `random_medium`.
    method : str
    boundaries, run : dict
        Tables of the scenario, where they are not the default.
    edge, elements : float, tuple of int
        Spacing of points or edge of an element, m; cells or elements along x, y and z.
    frequency, depth : float
        Peak frequency of the Ricker wavelet, Hz; depth of the source, m. Waves of less than three
        points do not move on a grid: where there are such, they stay, and the row is `trapped`.
    source : dict
        Kind and strength of the source, in place of a moment tensor.
    domain, at : dict, optional
        Table of the scenario in place of a box, and the place of the source in it.
    trapped : bool
        The structure keeps waves: they are compared with those in a wide box.
    kept : bool
        Waves may stay in a body that touches or crosses layers, but not grow.
    shapes : tuple of str
        Of `SHAPES`, those in which the row makes sense.
    ranks : int
        Ranks, threads of this process, that share the run.
    """

    what: str
    model: dict
    method: str = "fd"
    boundaries: dict = field(default_factory=dict)
    run: dict = field(default_factory=dict)
    edge: float = SPACING
    elements: tuple = (47, 47, 39)
    frequency: float = 5.0
    depth: float = 310.0
    source: dict = field(default_factory=dict)
    domain: dict | None = None
    at: dict | None = None
    trapped: bool = False
    kept: bool = False
    shapes: tuple = SHAPES[:3]
    ranks: int = 1

    @property
    def length(self) -> str:
        """What the number of steps goes by."""
        return "bodies" if self.kept else self.method

    @property
    def layer(self) -> float:
        """Width along the sides, m, that waves in a wide box are compared without: the CPML, or three elements."""
        return (THICKNESS if self.method == "fd" else 3) * self.edge

    def scenario(self, folder: Path, shape="space", wide=1):
        """Return the scenario of the row in a shape; its duration means nothing. The file of a random medium is written to `folder`,
        where the plan reads it; `wide`: widths of the usual box along x and y, about, whose middle stays where it is.
        """
        *across, down = self.elements
        cells = [n + 2 * ceil((wide - 1) * n / 2) for n in across] + [down]
        if shape == "slice":
            cells[1] = SLICE - 1
        size = self.edge * np.array(cells, float)
        low = np.array([-size[0] / 2, -size[1] / 2, -size[2]])
        axes = [0, 2] if shape in PLANAR else [0, 1, 2]
        domain = {"origin": low[axes].tolist(), "size": size[axes].tolist(), "spacing": self.edge}
        if shape in PLANAR and self.model.get("vs") != 0:
            domain["waves"] = shape
        model = random_medium(self.model, folder, low, low + size) if self.model["kind"] == "random" else self.model
        x, y = OFF[self.method] if shape == "space" else (OFF[self.method][0], 0.24)
        place = [[x * self.edge, y * self.edge, -self.depth][axis] for axis in axes]
        kind = {"kind": "moment_tensor", "tensor": MOMENT | (SHEAR if shape not in PLANAR else {})}
        if shape == "SH":
            kind = {"kind": "force", "force": [0, 1e10, 0]}
        wavelet = {"kind": "ricker", "frequency": self.frequency}
        return Scenario(
            method=self.method,
            title=self.what,
            domain=self.domain or domain,
            model=dict(model),
            time={"duration": self.edge},
            boundaries=FACES[self.method] | self.boundaries | (PERIODIC if shape == "slice" else {}),
            source=[(self.source or kind) | {"at": self.at or place, "wavelet": wavelet}],
            run=dict(self.run),
        )


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
DATA = tomllib.loads(Path(__file__).with_name("long_run_rows.toml").read_text("utf-8"))


def load():
    """Rows by name; a model by its name, or with the name of its topography."""
    rows = {}
    for table, shared in SHARED.items():
        for name, keys in DATA[table].items():
            model = keys["model"]
            model = DATA["models"][model] if isinstance(model, str) else model
            relief = {key: RELIEF[value] for key, value in model.items() if key == "topography"}
            fields = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
            row = LongRun(**shared | fields | {"model": model | relief})
            if row.method == "fd":
                rows[name] = row
                continue
            for kind in ABSORBING:
                rows[f"sem-{name}-{kind}"] = replace(row, boundaries={"others": kind} | row.boundaries)
    return rows


ROWS = load()


def random_medium(table: dict, folder: Path, low, high, seed=11) -> dict:
    """Return a model of kind "file" of normally distributed S speed: mean `vs`, m/s, relative standard `deviation` within `EXTREMES`,
    correlated over `correlation` points (Gaussian), `ratio` vp / vs; perhaps `qp`, `qs` and `attenuation`. `low`, `high`: corners, m.
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
