"""Small scenarios for tests of gradients, on grids and of elements, and what an exact gradient must satisfy."""

import numpy as np
import pytest

import craton
from craton.inverse.data import by_shot, matched
from craton.scenario import Scenario

EXACT, CENTRAL = 1e-13, 1e-8  # relative: of dot products, of central differences
RICKER = {"kind": "ricker", "frequency": 20}
ROCK = {"vp": 2500, "vs": 1400, "rho": 2200}
SOLID = {"kind": "homogeneous"} | ROCK
SHAPES = {2: (28, 24), 3: (22, 20, 21)}
SPACING = 10.0
SPEEDS = ("vp", "vs", "rho")


def extent(dimensions):
    """Size of the domain, m."""
    return [(n - 1) * SPACING for n in SHAPES[dimensions]]


def place(dimensions, *parts):
    """A position from parts of the size along x, (y,) and downwards."""
    size = extent(dimensions)
    x, *y, z = parts
    return [x * size[0], *(part * size[1] for part in y[: dimensions - 2]), -z * size[-1]]


def force(*parts, components=(1e9, 2e9), **more):
    """A point force at parts of the size of a plane, or of space."""
    return {"kind": "force", "at": place(len(parts), *parts), "force": list(components)} | more


def explosion(*parts):
    """An explosion at parts of the size of a plane, or of space."""
    return {"kind": "explosion", "at": place(len(parts), *parts), "moment": 1e12}


def moment(*parts, **tensor):
    """A moment tensor at parts of the size of a plane, or of space."""
    return {"kind": "moment_tensor", "at": place(len(parts), *parts)} | tensor


def station(name, *parts):
    """A receiver at parts of the size of a plane, or of space."""
    return {"name": name, "at": place(len(parts), *parts)}


def layers(*tables, **more):
    """A model of layers."""
    return {"kind": "layers", "layers": list(tables)} | more


def scenario(dimensions=2, steps=40, **tables):
    """A scenario on a grid with a force and an explosion, CPML and a free surface, unless said otherwise.

    Parameters
    ----------
    dimensions : int
    steps : int
        About, of 1.8 ms.
    tables : dict
        Replace or extend its tables; `waves` is domain.waves.
    """
    size, y = extent(dimensions), lambda part: (part,) * (dimensions - 2)
    domain = {"size": size, "spacing": SPACING, "origin": [0] * (dimensions - 1) + [-size[-1]]}
    domain |= {"waves": tables.pop("waves")} if "waves" in tables else {}
    pushed = force(0.6, *y(0.52), 0.6, components=[1e9, 2e9, 3e9][:dimensions])
    sources = tables.pop("source", [explosion(0.41, *y(0.5), 0.43), pushed])
    receivers = [station("A", 0.37, *y(0.5), 0.55), station("B", 0.62, *y(0.47), 0.0)]
    return Scenario(
        method="fd",
        domain=domain | tables.pop("domain", {}),
        model=tables.pop("model", SOLID),
        time={"duration": steps * 0.0018, "start": 0.0} | tables.pop("time", {}),
        boundaries={"top": "free", "others": "cpml", "cpml": {"thickness": 4}} | tables.pop("boundaries", {}),
        source=[{"wavelet": RICKER} | source for source in sources],
        receivers=tables.pop("receivers", receivers),
        output={"waveforms": ["velocity"]} | tables.pop("output", {}),
        run={"precision": "float64", "threads": 1} | tables.pop("run", {}),
        **tables,
    )


PUSH = {"kind": "force", "at": [91, 82, -110], "force": [1e9, 2e9, 3e9], "wavelet": RICKER}
BLAST = {"kind": "explosion", "at": [61, 52, -30], "moment": 1e12, "wavelet": RICKER}
SHALLOW, DEEP = {"name": "A", "at": [51, 72, -30]}, {"name": "B", "at": [121, 92, -100]}


def elements(**tables):
    """2 x 2 x 2 elements of degree 2, a free surface and Stacey faces unless said otherwise, some 20 steps."""
    return Scenario(
        method="sem",
        domain={"origin": [0, 0, -160], "size": [160, 140, 160], "element_size": 80} | tables.pop("domain", {}),
        model=tables.pop("model", SOLID),
        time={"duration": 0.08, "start": 0.0} | tables.pop("time", {}),
        boundaries={"top": "free", "others": "stacey"} | tables.pop("boundaries", {}),
        source=tables.pop("source", [BLAST, PUSH]),
        receivers=tables.pop("receivers", [SHALLOW, DEEP]),
        output={"waveforms": tables.pop("waveforms", ["velocity"])},
        run={"precision": "float64", "threads": 1, "degree": 2} | tables.pop("run", {}),
        **tables,
    )


def earth(transverse):
    """A chunk of PREM with the outer core, curved elements, stations with an east, north and up of their own. The transversely
    isotropic PREM relaxes, and is flattened.
    """
    chunk = {"longitude": 21.0, "latitude": 38.5, "width": [20, 20], "elements": [2, 2], "bottom": "3200 km"}
    angles = {"strike": 250, "dip": 40, "rake": -80, "magnitude": 6.5, "wavelet": {"kind": "gaussian", "tau": 12}}
    at = {"longitude": 20.1, "latitude": 38.4, "depth": "150 km"}
    return Scenario(
        method="sem",
        domain={"chunk": chunk | {"elliptic": transverse}},
        model={"kind": "prem"} | ({"transverse": True, "attenuation": {"band": [0.002, 0.02]}} if transverse else {}),
        time={"duration": 60, "start": 0},
        source=[{"kind": "moment_tensor", "at": at} | angles],
        receivers=[{"name": "A", "at": {"longitude": 22.0, "latitude": 38.5, "depth": "200 km"}}],
        output={"waveforms": ["displacement", "strain_rate"]},
        run={"precision": "float64", "threads": 1, "degree": 2},
    )


# what grids are tried on

LOSSES, BAND = {"qp": 40, "qs": 25}, {"attenuation": {"band": [5, 50]}}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.08}
LOSSY = SOLID | LOSSES | BAND
PAIRED = SOLID | LOSSES | {"attenuation": BAND["attenuation"] | {"storage": "paired"}}
WATER, SOIL = {"top": 0, "vp": 1500, "vs": 0, "rho": 1000}, {"top": 0, "vp": 1200, "vs": 500, "rho": 1800}
SOFT, FLOOR, DEEP_FLOOR, THIN_SEA = (
    layers(top, ROCK | {"top": z}) for top, z in ((SOIL, -85), (WATER, -85), (WATER, -115), (WATER, -45))
)
# interfaces within cells, one of them below a free surface
IN_CELLS = [SOIL, ROCK | {"top": -30}, {"top": -112, "vp": 3000, "vs": 1700, "rho": 2400}]
CUT, LOSSY_CUT = layers(*IN_CELLS), layers(*(layer | LOSSES for layer in IN_CELLS), **BAND)
LOSSY_FLOOR = layers(WATER | LOSSES, ROCK | LOSSES | {"top": -85}, **BAND)
# the first source lies in the first of them
CAVITIES = [
    {"shape": "box", "min": [90, -1e3, -100], "max": [160, 1e3, 0], "vp": 1500, "vs": 0, "rho": 1000},
    {"shape": "sphere", "center": [190, 0, -120], "radius": 35, "vp": 1400, "vs": 0, "rho": 1100},
]
SEA = {"kind": "homogeneous", "vp": 2000, "vs": 0, "rho": 1000}
GROUND = {"topography": {"x": [0, 100, 180, 270], "z": [-30, -42, -25, -61]}}
LAKE = {"water": {"level": -35, "vp": 1480, "rho": 1000}}
FIBRE = {"name": "F", "das": {"along": [place(2, 0.2, 0.1), place(2, 0.8, 0.0)], "spacing": 20, "gauge": 40}}
ON_GROUND = [station("A", 0.37, 0.55), {"name": "B", "at": [100, -45]}]
STRAIN = {"output": {"waveforms": ["velocity", "strain_rate"]}}
BOTH = {"output": {"waveforms": ["velocity", "pressure"]}}
SPACE = {"dimensions": 3, "steps": 25}
SH = {"waves": "SH", "source": [force(0.4, 0.4, components=(0, 1e9, 0))]}
COUPLE = moment(0.6, 0.5, strike=30, dip=70, rake=20, moment=1e12)
AT_SURFACE = {"source": [explosion(0.4, 0.06), force(0.4, 0.0)]}
IN_BOTH_LAYERS = {"source": [explosion(0.41, 0.2), force(0.41, 0.6)]}
ON_FLOOR = {"kind": "explosion", "at": [112, -85], "moment": 1e12}  # it acts on the water
IN_SOIL_AND_ROCK = {"source": [explosion(0.41, 0.48), force(0.41, 0.13)]}
SPONGE = {"others": "sponge", "sponge": {"thickness": 5, "strength": 0.1}}
# the first of each physics, boundary and medium are tried in the short tier
GRID = {
    "free surface and CPML": {},
    "sponge": {"boundaries": SPONGE},
    "sea floor": {"model": FLOOR, "source": [*IN_BOTH_LAYERS["source"], ON_FLOOR]} | BOTH,
    "sources at the surface": AT_SURFACE,
    "resampled, with a fibre": {
        "receivers": [station("A", 0.37, 0.55), FIBRE],
        "output": {"waveforms": ["velocity", "displacement", "acceleration"], "sampling": 0.004},
    },
    "two shots": {"source": [force(0.3, 0.3, shot="a"), force(0.6, 0.0, shot="b")]},
    "acoustic": {"waves": "acoustic", "model": SEA, "source": [explosion(0.4, 0.2)]} | BOTH,
    "anisotropy, topography with a lake": {"model": SOLID | THOMSEN | GROUND | LAKE, "receivers": ON_GROUND[:1]},
    "cut cells": {"model": CUT} | IN_SOIL_AND_ROCK | BOTH,
}
QUICK = [*GRID, "anisotropy with attenuation", "plain elements", "sea", "relaxing elements"]
QUICK += ["layers that relax, across lines of the mesh"]
GRID |= {
    "CPML all around": {"boundaries": {"top": "cpml"}},
    "rigid": {"boundaries": {"top": "rigid", "others": "rigid"}},
    "periodic": {"boundaries": {"bottom": "cpml", "others": "periodic"}},
    "damped layers": {"model": SOFT},
    "a cavity that reaches the surface": {"model": SOLID | {"anomalies": CAVITIES}} | IN_BOTH_LAYERS | BOTH,
    "deep sea floor, sponge": {
        "model": DEEP_FLOOR,
        "boundaries": {"bottom": "sponge", "sponge": {"thickness": 11, "strength": 0.1}},
        "source": [explosion(0.41, 0.3), force(0.41, 0.62)],
    },
    "thin sea": {"model": THIN_SEA, "source": [explosion(0.41, 0.1), force(0.41, 0.6)]},
    "pressure and strain": {"output": {"waveforms": ["pressure", "strain_rate", "rotation_rate"]}},
    "order 2": {"run": {"order": 2}},
    "SH": SH,
    "moment tensors": {"source": [moment(0.4, 0.3, tensor={"xx": 1e12, "zz": -3e12, "xz": 2e12}), COUPLE]},
    "space": SPACE | BOTH,
    "space, moment tensor": SPACE | {"source": [moment(0.43, 0.46, 0.38, tensor={"xx": 1e12, "xy": 3e12, "yz": 4e12})]},
    "space, CPML all around": SPACE | {"boundaries": {"top": "cpml"}},
    "space, sea floor": SPACE | {"model": FLOOR},
    "space, sea floor, one layer": {"dimensions": 3, "steps": 14, "model": FLOOR}
    | {"boundaries": {"others": "rigid", "south": "cpml"}},
    "space, acoustic": SPACE | {"model": SEA, "source": [explosion(0.4, 0.4, 0.05)]} | BOTH,
    "sea floor, SH": SH | {"model": FLOOR},
    "attenuation": {"model": LOSSY} | AT_SURFACE | BOTH,
    "attenuation, pairs of mechanisms, CPML all around": {"model": PAIRED, "boundaries": {"top": "cpml"}},
    "attenuation, SH": SH | {"model": LOSSY},
    "attenuation in water and soil": {"model": LOSSY_FLOOR} | IN_BOTH_LAYERS | BOTH,
    "attenuation in space": SPACE | {"model": LOSSY} | BOTH,
    "attenuation in sponges": BOTH
    | {
        "model": LOSSY,
        "boundaries": SPONGE | {"bottom": "cpml", "sponge": {"thickness": 8, "strength": 0.1}},
        "source": [explosion(0.13, 0.12), force(0.4, 0.0)],
    },
    "topography with attenuation": {"model": LOSSY | GROUND, "receivers": ON_GROUND},
    "anisotropy": {"model": SOLID | THOMSEN} | AT_SURFACE,
    "anisotropy, SH": SH | {"model": SOLID | THOMSEN},
    "anisotropy in space": SPACE | {"model": SOLID | THOMSEN} | BOTH,
    "topography with a lake": {"model": SOLID | GROUND | LAKE, "receivers": ON_GROUND[:1]} | BOTH,
    "anisotropy with attenuation": {"model": LOSSY | THOMSEN} | AT_SURFACE | STRAIN,
    "anisotropy with attenuation, SH": SH | {"model": LOSSY | THOMSEN},
    "cut cells, SH": SH | {"model": CUT} | STRAIN,
    "cut cells in space": SPACE | {"model": CUT} | BOTH,
    "cut cells with attenuation": {"model": LOSSY_CUT} | IN_SOIL_AND_ROCK | BOTH,
    "anisotropy with attenuation in space": SPACE | {"steps": 20, "model": LOSSY | THOMSEN} | BOTH,
}
SIX = ("vp", "vs", *THOMSEN, "rho")
BY_Q = ("inverse_qp", "inverse_qs")

# what elements are tried on: tables, and options of the problem

WITH_Q = (*SPEEDS, *BY_Q)
Q_OF_ELEMENTS, SLOW_BAND = {"qp": 80, "qs": 40}, {"attenuation": {"band": [1, 20], "mechanisms": 2}}
SHALE = ROCK | {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
ANISOTROPIC = SOLID | SHALE
RELAXING = SOLID | Q_OF_ELEMENTS | SLOW_BAND
SEA_OVER_SHALE = layers(WATER | {"qp": 9999, "qs": 9999}, SHALE | Q_OF_ELEMENTS | {"top": -80})
PML = {"west": "pml", "bottom": "pml", "pml": {"thickness": 1, "friction": 0.3}}
FLOOR_IN_LAYER = {
    "model": layers(WATER, ROCK | {"top": -160}),
    "domain": {"origin": [0, 0, -320], "size": [160, 140, 320]},
    "boundaries": PML | {"pml": {"width": 240, "friction": 0.3}, "west": "stacey"},
    "receivers": [{"name": "B", "at": [121, 92, -200]}],
    "source": [BLAST, PUSH | {"at": [91, 82, -180]}],
}
EVERYTHING = ["velocity", "displacement", "strain_rate", "rotation_rate", "pressure"]
PRESSURE = {"waveforms": ["pressure"]}
RELAXING_SEA = {"model": SEA_OVER_SHALE | SLOW_BAND, "receivers": [SHALLOW]} | PRESSURE
ELEMENTS = {
    "plain elements": {},
    "solid": {"boundaries": {"west": "rigid", "top": "stacey"}, "waveforms": EVERYTHING},
    "sea": {"model": layers(WATER, ROCK | {"top": -80})} | PRESSURE,
    "a sea over 21 constants": {"model": SEA_OVER_SHALE, "receivers": [DEEP], "waveforms": ["velocity", "strain_rate"]},
    "fluid": {"model": SEA | {"vp": 1500}, "source": [BLAST]} | PRESSURE,
}
# steps of absorbing layers and of attenuation cannot be taken back: the field is saved
REMEMBERING = {
    "a sea in a layer": ELEMENTS["sea"] | {"boundaries": PML | {"bottom": "rigid"}},
    "21 constants in a layer beside Stacey's faces": {"model": ANISOTROPIC, "boundaries": PML | {"bottom": "stacey"}},
    "relaxing elements": {"model": RELAXING},
    "a sea over 21 constants that relax": RELAXING_SEA | {"boundaries": PML | {"bottom": "stacey"}},
    "21 constants that relax in a layer": {"model": RELAXING | SHALE, "boundaries": PML},
    "a sea floor along a layer": FLOOR_IN_LAYER,
    "a sea floor along a layer, across lines of the mesh": FLOOR_IN_LAYER,
    "layers that relax, across lines of the mesh": {"model": RELAXING, "boundaries": PML},
}
PARAMETERS = {name: SIX for name in GRID if "anisotropy" in name} | {  # that are not speeds and density
    "attenuation, SH": ("vs", "inverse_qs", "rho"),
    "attenuation in water and soil": WITH_Q,
    "attenuation in space": WITH_Q,
    "a sea over 21 constants": ("c11", "c13", "c33", "c44", "rho"),
    "21 constants in a layer beside Stacey's faces": ("c11", "c33", "c44", "rho"),
    "a sea over 21 constants that relax": ("c11", "c13", "c33", "c44", "rho"),
    "21 constants that relax in a layer": ("c11", "c12", "c33", "c44", "c66", "rho"),
    "layers that relax, across lines of the mesh": WITH_Q,
}
CASES = {
    name: (make, tables, {"parameters": PARAMETERS.get(name, SPEEDS)})
    for make, tried in ((scenario, GRID), (elements, ELEMENTS | REMEMBERING))
    for name, tables in tried.items()
}
for kind, by in (("isotropic", SPEEDS), ("transverse", ("c11", "c13", "c33", "c44", "c66", "rho"))):
    CASES[f"{kind} Earth"] = (earth, {"transverse": kind == "transverse"}, {"parameters": by, "varied": 0.01})


def long(*values):
    """A row of a table for the long tier."""
    return pytest.param(*values, marks=pytest.mark.long)


def scenario_of(name, **more):
    """The scenario of a case with other tables."""
    make, tables, _ = CASES[name]
    return make(**tables | more)


def case_of(name, more=None, **options):
    """The problem of a case, with other tables and options."""
    return Case(scenario_of(name, **more or {}), **CASES[name][2] | options)


def model_file(folder, ends):
    """The model of a file on a grid of its own, coarser than the computation's.

    Parameters
    ----------
    folder : Path
        Where it is written.
    ends : dict
        First, last and number of points by axis z, y, x.
    """
    import xarray as xr

    rng, axes = np.random.default_rng(5), {name: np.linspace(*end) for name, end in ends.items()}
    shape = tuple(map(len, axes.values()))
    values = {name: (tuple(axes), mean * (1 + 0.03 * rng.uniform(-1, 1, shape))) for name, mean in ROCK.items()}
    path = folder / "model.zarr"
    xr.Dataset(values, axes).to_zarr(path, zarr_format=2)
    return {"kind": "file", "file": str(path)}


FILE_OF_PLANE = {"z": (-240, 10, 8), "y": (-20, 20, 2), "x": (-10, 290, 9)}
SHOTS = [force(x, 0.3, shot=name) for name, x in (("a", 0.3), ("b", 0.5), ("c", 0.7))]


def with_data(path, **table):
    """A scenario of three shots with a table [gradient]."""
    return scenario(source=SHOTS, gradient={"observed": str(path), "parameters": ["vp", "rho"]} | table)


class Case:
    """A problem at a random medium, with data of another one.

    Parameters
    ----------
    scenario : Scenario
    parameters : sequence of str
    misfit : str or callable
    varied : float
        Largest relative variation of the parameters.
    """

    def __init__(self, scenario, parameters=SPEEDS, misfit="l2", varied=0.02, **options):
        self.rng = np.random.default_rng(3)
        self.problem = problem = craton.Problem(scenario, None, misfit, parameters, **options)
        self.m0 = problem.m0
        observed = problem.data(self.random(varied))
        # as a second problem would have them, in a third of the time
        of_shots = zip(by_shot(observed, problem.names, "observed"), problem.recordings)
        problem.observed = [matched(data, run.blank()) for data, run in of_shots]
        self.m = self.random(varied)
        self.dm = self.m0 * self.rng.uniform(-1, 1, self.m0.shape)

    def random(self, varied):
        """A vector of parameters near the start."""
        return self.m0 * (1 + varied * self.rng.uniform(-1, 1, self.m0.shape))

    def of_sources(self):
        """Mismatch of <residual, data> and of <series, transposed residual>, relative."""
        experiment = self.problem.experiments[0]
        self.problem.fun(self.m)
        samples = experiment.samples
        peaks = np.abs(samples).max(axis=0)  # 0 of the pressure on a free surface
        residual = self.rng.standard_normal(samples.shape) / np.where(peaks > 0, peaks, np.inf)
        back, series = experiment.adjoint(residual, by_sources=True), experiment.linear.series
        by_series = sum(
            float(series[step][:, n] @ source["series"])
            for name, step in (("force", "velocity"), ("moment", "stress"))
            for n, source in enumerate(back[name])
        )
        return abs(float((samples * residual).sum()) - by_series) / np.sqrt((samples**2).sum(0) @ (residual**2).sum(0))

    def of_medium(self):
        """Mismatch of <residual, Born data> and of <change, transposed residual>, relative."""
        return mismatch(self.problem, self.m, self.dm, self.rng)

    def of_differences(self, steps=(3e-5, 6e-6)):
        """Mismatch of the gradient and of central differences of order 4, relative; of the first step for which it is small enough."""
        slope, best = self.problem.jac(self.m) @ self.dm, np.inf
        for step in steps:
            if best >= CENTRAL:
                best = abs(central(lambda e: self.problem.fun(self.m + e * self.dm), step) / slope - 1)
        return best


def central(function, step):
    """Derivative of a function at 0 by central differences of order 4."""
    near, far = (function(k * step) - function(-k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def mismatch(problem, m, dm, rng):
    """Mismatch of <residual, Born data> and of <change, transposed residual>, relative."""
    change = problem.born(dm, m)
    residual = rng.standard_normal(change.shape)
    back = problem.adjoint(residual, m)
    return abs(change @ residual - back @ dm) / (np.linalg.norm(change) * np.linalg.norm(residual))
