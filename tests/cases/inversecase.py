"""Small scenarios for tests of gradients, and what an exact gradient must satisfy."""

import numpy as np

import craton
from craton.scenario import Scenario

RICKER = {"kind": "ricker", "frequency": 20}
SOLID = {"kind": "homogeneous", "vp": 2500, "vs": 1400, "rho": 2200}
SHAPES = {2: (28, 24), 3: (22, 20, 21)}
SPACING = 10.0


def extent(dimensions):
    """Size of the domain, m."""
    return [(n - 1) * SPACING for n in SHAPES[dimensions]]


def place(dimensions, *parts):
    """A position from parts of the size along x, (y,) and downwards."""
    size = extent(dimensions)
    x, *y, z = parts
    return [x * size[0], *(part * size[1] for part in y[: dimensions - 2]), -z * size[-1]]


def scenario(dimensions=2, steps=40, **tables):
    """A scenario with a force and an explosion, CPML and a free surface, unless said otherwise.

    Parameters
    ----------
    dimensions : int
    steps : int
        About, of 1.8 ms.
    tables : dict
        Replace or extend its tables; `waves` is domain.waves.
    """
    size = extent(dimensions)
    domain = {"size": size, "spacing": SPACING}
    domain["origin"] = [0, -size[-1]] if dimensions == 2 else [0, 0, -size[-1]]
    if "waves" in tables:
        domain["waves"] = tables.pop("waves")
    moment = {"kind": "explosion", "at": place(dimensions, 0.41, 0.5, 0.43), "moment": 1e12}
    force = {"kind": "force", "at": place(dimensions, 0.6, 0.52, 0.6), "force": [1e9, 2e9, 3e9][:dimensions]}
    sources = tables.pop("source", [moment, force])
    receivers = [
        {"name": "A", "at": place(dimensions, 0.37, 0.5, 0.55)},
        {"name": "B", "at": place(dimensions, 0.62, 0.47, 0.0)},
    ]
    return Scenario(
        method="fd",
        domain=domain,
        model=tables.pop("model", SOLID),
        time={"duration": steps * 0.0018, "start": 0.0} | tables.pop("time", {}),
        boundaries={"top": "free", "others": "cpml", "cpml": {"thickness": 4}} | tables.pop("boundaries", {}),
        source=[{"wavelet": RICKER} | source for source in sources],
        receivers=tables.pop("receivers", receivers),
        output={"waveforms": ["velocity"]} | tables.pop("output", {}),
        run={"precision": "float64", "threads": 1} | tables.pop("run", {}),
        **tables,
    )


def model_file(folder):
    """The model of a file on a grid of its own, coarser than the computation's.

    Parameters
    ----------
    folder : Path
        Where it is written.
    """
    import xarray as xr

    rng = np.random.default_rng(5)
    axes = {"z": np.linspace(-240, 10, 8), "y": [-20.0, 20.0], "x": np.linspace(-10, 290, 9)}
    shape = tuple(len(axis) for axis in axes.values())
    means = {"vp": 2500, "vs": 1400, "rho": 2200}
    values = {name: (tuple(axes), mean * (1 + 0.03 * rng.uniform(-1, 1, shape))) for name, mean in means.items()}
    path = folder / "model.nc"
    xr.Dataset(values, axes).to_netcdf(path)
    return {"kind": "file", "file": str(path)}


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

    def __init__(self, scenario, parameters=("vp", "vs", "rho"), misfit="l2", varied=0.02, **options):
        self.rng = np.random.default_rng(3)
        blank = craton.Problem(scenario, None, misfit, parameters, on=options.get("on", "grid"))
        self.m0 = blank.m0
        observed = blank.data(self.random(varied))
        self.problem = craton.Problem(scenario, observed, misfit, parameters, **options)
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
        other = sum(
            float(series[step][:, n] @ source["series"])
            for name, step in (("force", "velocity"), ("moment", "stress"))
            for n, source in enumerate(back[name])
        )
        return abs(float((samples * residual).sum()) - other) / np.sqrt((samples**2).sum(0) @ (residual**2).sum(0))

    def of_medium(self):
        """Mismatch of <residual, Born data> and of <change, transposed residual>, relative."""
        change = self.problem.born(self.dm, self.m)
        residual = self.rng.standard_normal(change.shape)
        back = self.problem.adjoint(residual, self.m)
        return abs(change @ residual - back @ self.dm) / (np.linalg.norm(change) * np.linalg.norm(residual))

    def of_differences(self, steps=(3e-5, 6e-6)):
        """Mismatch of the gradient and of central differences of order 4, relative to its norm."""
        slope = self.problem.jac(self.m) @ self.dm
        best = np.inf
        for e in steps:
            near, far = (
                self.problem.fun(self.m + k * e * self.dm) - self.problem.fun(self.m - k * e * self.dm) for k in (1, 2)
            )
            best = min(best, abs((8 * near - far) / (12 * e) - slope) / abs(slope))
        return best
