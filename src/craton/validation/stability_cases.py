"""Long runs in small boxes, as data: the media, faces and sources in which absorbing layers are known to grow, and those that must not.

Boxes of finite differences have 48 x 48 x 40 points of 25 m, x = y = 0 in the middle of the ground, a CPML of 10 points, a free top,
float32 and order 4 unless a row says otherwise. The same rows can be computed in a thin slice (y periodic) or in the (x, z) plane.
"""
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from craton.scenario import Scenario

POINTS, SPACING, THICKNESS = (48, 48, 40), 25.0, 10
ROCK = {"vp": 3464.0, "vs": 2000.0, "rho": 2400.0}
HARD = {"vp": 6000.0, "vs": 3500.0, "rho": 2700.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
SHAPES = ("space", "slice", "P-SV", "SH")  # of a run: three dimensions, y periodic, the (x, z) plane
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
        Peak frequency of the Ricker wavelet, Hz; depth of the source, m. Waves of less than three points do not move on a grid: where
        there are such, they stay, and the row is `trapped`.
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
    method = "fd"
    layer = THICKNESS * SPACING  # m, that waves in a wide box are compared without

    def scenario(self, folder, shape="space", wide=1):
        """The Scenario of the row; its duration means nothing.

        Parameters
        ----------
        folder : Path
            Where the file of a random medium is written; the plan reads it.
        shape : str
            One of `SHAPES`.
        wide : float
            Widths of the usual box along x and y, about: the middle stays where it is.
        """
        cells = [(n - 1) + 2 * ceil((wide - 1) * (n - 1) / 2) for n in POINTS[:2]] + [POINTS[2] - 1]
        if shape == "slice":
            cells[1] = SLICE - 1
        size = SPACING * np.array(cells, float)
        low = np.array([-size[0] / 2, -size[1] / 2, -size[2]])
        axes = [0, 2] if shape in PLANAR else [0, 1, 2]
        domain = {"origin": low[axes].tolist(), "size": size[axes].tolist(), "spacing": SPACING}
        if shape in PLANAR and self.model.get("vs") != 0:
            domain["waves"] = shape
        return Scenario(title=self.what, domain=domain, model=model(self.model, folder, low, low + size), time={"duration": 1.0},
                        boundaries=faces(self.boundaries, shape), source=[source(self, shape)], run=dict(self.run))  # fmt: skip


def medium(vs, ratio=1.732, rho=2300.0, **others):
    """A medium of an S speed, m/s, and a ratio vp / vs."""
    return {"vp": vs * ratio, "vs": vs, "rho": rho, **others}


def uniform(**values):
    """A homogeneous model."""
    return {"kind": "homogeneous", **values}


def layers(*some, **others):
    """A model of layers: (elevation of the top, medium), from the top down."""
    return {"kind": "layers", "layers": [{"top": top, **values} for top, values in some], **others}


def random(deviation, **others):
    """A random model; see `random_medium`."""
    return {"kind": "random", "vs": 2000.0, "deviation": deviation, "correlation": 1.5, "ratio": 1.7, **others}


def hills(x, y=0.0):
    """Elevation of a ground with three slopes, m, within 250 m below zero: 1 to 4, 1 to 2.5, 1 to 1.5."""
    along = np.interp(np.asarray(x), (-460, -180, -40, 210, 360), (-130, -60, -200, -100, -200))
    return along + 25 * np.sin(np.asarray(y) / 130)


def valleys(x, y=0.0):
    """The same between the layers, flat within them: in a wide box nothing else scatters waves back."""
    along = np.interp(np.asarray(x), (-330, -180, -40, 210, 330), (-100, -60, -200, -100, -200))
    return along + 25 * np.sin(np.asarray(y) / 130) * np.clip((337 - np.abs(y)) / 100, 0, 1) * np.clip((337 - np.abs(x)) / 100, 0, 1)


def peak(x, y=0.0):
    """A hill whose top lies 2 m within a cell, one point wide."""
    return np.maximum(-85.6 - 0.25 * np.hypot(np.asarray(x) + 187.5, np.asarray(y)), -200.0)


LOSSY = {"attenuation": {"band": [0.5, 20]}}
WEAK = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
STRONG = {"epsilon": 0.3, "delta": -0.1, "gamma": 0.25}
NEGATIVE = {"epsilon": 0.05, "delta": 0.25, "gamma": 0.05}  # eta < 0
BACKWARD = {"epsilon": 0.0, "delta": 0.4, "gamma": 0.0}  # the quasi-shear wave runs backwards against some slownesses (Becache et al. 2003)
SOFT_INCLUSION = {"shape": "box", "min": [-2400, -200, -500], "max": [100, 200, -200], "vp": 900, "vs": 350, "rho": 1900}
INCLUSION = uniform(**ROCK, anomalies=[SOFT_INCLUSION])
GRADIENT = {"vp": 1500.0, "vs": 700.0, "rho": 2000.0, "vp_gradient": 3.0, "vs_gradient": 1.8, "rho_gradient": 0.5}
SOFT_OVER_HARD = layers((0, medium(350.0, 2.0, 1900.0)), (-200, medium(3500.0, 1.72, 2700.0)))
FAST_OVER_SLOW = layers((0, HARD), (-300, medium(600.0, 1.732, 2000.0)))
OCEAN = layers((0, WATER), (-300, medium(300.0, 5.0, 1700.0)), (-500, ROCK))
ZONE = layers((0, ROCK), (-250, medium(700.0, 2.2, 2000.0)), (-400, ROCK))
SANDWICH = layers((0, WATER), (-200, ROCK), (-400, WATER), (-550, HARD))

SOFT_TOP = layers((0, medium(150.0, 10.0, 1600.0)), (-100, ROCK))
LOSSY_LAYERS = layers((0, medium(800.0, 2.0, 2000.0, qp=40, qs=20)), (-300, {**ROCK, "qp": 160, "qs": 80}), **LOSSY)

# The table of issue 12, then rows of our own.
ISSUE = {
    "fast-over-slow": LongRun("fast layer over slow, Vs 3500 over 600", FAST_OVER_SLOW, frequency=3, depth=160),
    "fast-over-slow-8": LongRun("the same, order 8", FAST_OVER_SLOW, run={"order": 8}, frequency=3, depth=160),
    "random-30": LongRun("random medium, Vs +-30 %", random(0.3)),
    "random-60": LongRun("random medium, Vs +-60 %", random(0.6), frequency=3),
    "plate": LongRun("homogeneous, free top and rigid bottom", uniform(**ROCK), {"bottom": "rigid"}),
    "slow-over-fast": LongRun("slow over fast, Vs 350 over 3500", SOFT_OVER_HARD, frequency=3, trapped=True),
    "hills": LongRun("hills, three slopes, dry", uniform(**ROCK, topography=hills), depth=400),
    "hills-water": LongRun("hills, water in the valleys", uniform(**ROCK, topography=valleys, water={"level": -120}), depth=400,
                           trapped=True),
    "ocean": LongRun("300 m of water, 200 m of Vs 300, rock", OCEAN, frequency=3, depth=560, trapped=True),
    "soft-top": LongRun("100 m of Vs 150, vp/vs 10, over rock", SOFT_TOP, frequency=3, trapped=True),
    "homogeneous": LongRun("homogeneous", uniform(**ROCK)),
    "lossy-layers": LongRun("layers with Qs 20 and 80", LOSSY_LAYERS),
    "vti-weak": LongRun("VTI, epsilon 0.1, delta 0.05, gamma 0.1", uniform(**ROCK, **WEAK)),
    "vti-strong": LongRun("VTI, epsilon 0.3, delta -0.1, gamma 0.25", uniform(**ROCK, **STRONG)),
    "vti-negative": LongRun("VTI, eta < 0: epsilon 0.05, delta 0.25", uniform(**ROCK, **NEGATIVE)),
    "acoustic": LongRun("water only", uniform(**WATER), source={"kind": "explosion", "moment": 1e13}),
    "sponge-bottom": LongRun("homogeneous, sponge at the bottom", uniform(**ROCK), {"bottom": "sponge"}, depth=200),
}  # fmt: skip
MORE = {
    "ratio-1.5": LongRun("homogeneous, vp/vs 1.5", uniform(**medium(2000.0, 1.5))),
    "ratio-3": LongRun("homogeneous, vp/vs 3", uniform(**medium(1000.0, 3.0)), frequency=4),
    "ratio-10": LongRun("homogeneous, vp/vs 10", uniform(**medium(300.0, 10.0)), frequency=1.2),
    "plane-psv": LongRun("P-SV, fast layer over slow", FAST_OVER_SLOW, frequency=3, depth=160, shapes=("P-SV",)),
    "plane-sh": LongRun("SH, fast layer over slow", FAST_OVER_SLOW, frequency=3, depth=160, shapes=("SH",)),
    "order-2": LongRun("random medium +-30 %, order 2", random(0.3), run={"order": 2}),
    "order-6": LongRun("plate with rigid bottom, order 6", uniform(**ROCK), {"bottom": "rigid"}, run={"order": 6}),
    "order-8": LongRun("random medium +-30 %, order 8", random(0.3), run={"order": 8}),
    "order-16": LongRun("random medium +-30 %, order 16", random(0.3), run={"order": 16}),
    "float64": LongRun("random medium +-30 %, float64", random(0.3), run={"precision": "float64"}),
    "ranks": LongRun("random medium +-30 %, 2 x 1 x 2 ranks", random(0.3), run={"grid": [2, 1, 2]}, ranks=4, frequency=3,
                     shapes=("space", "slice")),
    "thickness-5": LongRun("plate with rigid bottom, 5 points of CPML", uniform(**ROCK), {"bottom": "rigid", "cpml": {"thickness": 5}}),
    "thickness-20": LongRun("plate with rigid bottom, 20 points of CPML", uniform(**ROCK), {"bottom": "rigid", "cpml": {"thickness": 20}}),
    "peak": LongRun("a hill whose top fills 2 % of a cell", uniform(**ROCK, topography=peak), depth=400),
    "sandwich": LongRun("water above rock above water above rock", SANDWICH, depth=300, trapped=True),
    "gradient": LongRun("Vs 700 at the top, rising by 1.8 /s", layers((0, GRADIENT)), frequency=3),
    "mixed-faces": LongRun("sponge and CPML on neighbouring faces", FAST_OVER_SLOW,
                           {"west": "sponge", "south": "sponge", "sponge": {"thickness": 15}}, frequency=3, depth=160),
    "inclusion": LongRun("source inside a soft box that touches the layer", INCLUSION, frequency=3, depth=330, trapped=True),
    "absorbing-top": LongRun("random medium +-30 %, absorbing top", random(0.3), {"top": "cpml"}, depth=500),
    "slow-zone": LongRun("a slow zone in rock, Vs 700 in 2000", ZONE, frequency=3, depth=310, trapped=True),
    "lossy-random": LongRun("random medium +-30 %, Q 30", random(0.3, qp=60.0, qs=30.0, **LOSSY)),
    "a1": LongRun("homogeneous, A1 at the sides and below", uniform(**ROCK), {"others": "a1"}),
    "vti-backward": LongRun("VTI, eta << 0: epsilon 0, delta 0.4", uniform(**ROCK, **BACKWARD)),
    "imaging": LongRun("fast layer over slow, free top by stress imaging", FAST_OVER_SLOW, {"surface": "imaging"}, frequency=3,
                       depth=160),
    "shifted": LongRun("plate with rigid bottom, kappa 5", uniform(**ROCK), {"bottom": "rigid", "cpml": {"thickness": 10, "kappa_max": 5}}),
}  # fmt: skip
ROWS = ISSUE | MORE


def faces(boundaries, shape):
    """The table of the faces; y periodic in a slice."""
    found = {"top": "free", "others": "cpml", "cpml": {"thickness": THICKNESS}, **boundaries}
    if shape == "slice":
        found |= {"south": "periodic", "north": "periodic"}
    return found


def source(row, shape):
    """The source off the middle and off the points."""
    at = [17.0, -8.0 if shape == "space" else 6.0, -row.depth]
    kind = {"kind": "moment_tensor", "tensor": MOMENT | (SHEAR if shape not in PLANAR else {})}
    if shape in PLANAR:
        at = at[::2]
    if shape == "SH":
        kind = {"kind": "force", "force": [0, 1e10, 0]}
    return {**(row.source or kind), "at": at, "wavelet": {"kind": "ricker", "frequency": row.frequency}}


def model(table, folder, low, high):
    """The table of the model, a random one as a file."""
    return random_medium(table, folder, low, high) if table["kind"] == "random" else table


def random_medium(table, folder, low, high, seed=11):
    """A medium of normally distributed S speed within `EXTREMES`, correlated over `correlation` points (Gaussian), vp / vs constant.

    Parameters
    ----------
    table : dict
        ``vs`` (mean, m/s), ``deviation`` (standard, relative), ``correlation`` (points), ``ratio`` vp / vs, perhaps ``qp``, ``qs`` and
        ``attenuation``.
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
    xarray.Dataset({name: (("z", "y", "x"), v) for name, v in values.items()}, axes).to_zarr(path, mode="w", consolidated=False)
    return {"kind": "file", "file": str(path), **{key: table[key] for key in ("attenuation",) if key in table}}
