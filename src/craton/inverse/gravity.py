"""Gravity as a term of an inversion: the density of the cells of a wave scenario as prisms, data at
points, and the transpose of both.
"""

import numpy as np

from craton.backends import backend
from craton.errors import Problem, ScenarioError, refuse, refuse_all
from craton.inverse.data import numbers, weights_of
from craton.inverse.parameters import LONG_NAMES
from craton.inverse.terms import LeastSquares, lines_of
from craton.model.media import cells
from craton.output.inspection import named_damage

ACROSS = 100.0  # length of the cells of a section across it, over its largest extent
REFERENCES = ("start", "mean")
SPELT = {"mGal": ("mgal",), "Eotvos": ("eotvos", "eötvös", "e"), "J/kg": ("j/kg", "m2/s2")}


class GravityProblem(LeastSquares):
    """Half the squared difference of gravity, of the density of the cells of a waveform problem.

    Each cell of the grid is a prism (`craton.gravity.operator`), whose density is that which the
    waves have: with parameters on a model file the means over cells, as `craton.gravity.from_model`
    takes them.

    Parameters
    ----------
    problem : craton.Problem
        Its parameters, of which one is ``rho``; or any term on a grid.
    observed : xarray.Dataset
        ``g_z`` (mGal), ``g_zz`` (Eotvos) or other fields of `craton.gravity.forward` at points with
        coordinates x, y, z (easting, northing, upward), m; a section needs no y.
    weights : dict or xarray.Dataset, optional
        Factors of computed and observed fields by name: 1 / standard deviation.
    reference : float, str or (nz, ny, nx) array
        Density to subtract, kg/m3: a number, one for each cell, ``"start"`` (that of the start), or
        ``"mean"`` (the mean of each horizontal layer of cells).
    across : float, optional
        Length of the cells of a section across it, m; by default 100 times its extent.
    device : str
        See `craton.gravity.operator`.
    threads : int, optional

    Raises
    ------
    ScenarioError
        The data are wrong, with every problem found; or density is none of the parameters.
    ResourceError
        No such device, or no compiler.
    """

    def __init__(self, problem, observed, weights=None, reference="start", across=None, device="auto", threads=None):
        from craton.methods.gravity import linear

        self.parameters = problem.parameters
        self.grid = self.parameters.grid
        refuse_without_density(self.parameters)
        scenario = getattr(problem, "scenario", None)
        if scenario is not None and scenario.model.topography is not None:  # cells hold matter above the ground, too
            refuse("model.topography", "gravity of the cells of a model with topography is not covered", "leave it out")
        with named_damage(getattr(observed, "encoding", {}).get("source")):
            observed, names = fields_of(observed, self.grid)
        self.observed = observed[names]
        self.fields = tuple(names)
        self._values = np.concatenate([observed[n].values.ravel() for n in names]).astype(float)
        factors = weights_of(weights, self.observed)
        shape = self.observed[names[0]].shape
        self.weights = np.concatenate([np.broadcast_to(factors.get(name, 1.0), shape).ravel() for name in names])
        self._reference = self._reference_of(reference)
        x, y = (np.diff(np.stack(cells.edges(self.grid, name)), axis=0)[0] for name in "xy")
        self._areas = (y[:, None] * x)[None] if isinstance(reference, str) and reference == "mean" else None
        self._prisms = prisms_of(self.grid, across)
        self.operator = linear.operator(self._prisms, self.observed, self.fields, backend(device, threads=threads))
        self._m = self._residual = None

    def _reference_of(self, reference):
        """Return the density to subtract, kg/m3; nothing where the mean of each layer is."""
        if isinstance(reference, str):
            if reference not in REFERENCES:
                remedy = f"give kg/m3, an array, or {' or '.join(REFERENCES)}"
                refuse("reference", f"{reference!r} is no density", remedy)
            return self.parameters.cells(self.m0)[0] if reference == "start" else 0.0
        try:
            values = np.broadcast_to(np.asarray(reference, float), self.grid.shape)
        except ValueError:
            words = f"has the shape {np.shape(reference)}, the cells {self.grid.shape}"
            raise ScenarioError.of("reference", words, "give a number") from None
        if not np.isfinite(values).all():
            refuse("reference", "is not finite", "give kg/m3")
        return values

    def _less_means(self, density):
        """Return the density of the cells, less the mean of each layer where that is the reference."""
        if self._areas is None:
            return density
        return density - (density * self._areas).sum((1, 2), keepdims=True) / self._areas.sum()

    def _predicted(self, m):
        density = self.parameters.cells(m)[0]
        return self.operator @ (self._less_means(density) - self._reference).ravel()

    def residual(self, m):
        """See `LeastSquares.residual`: field after field, raveled; that of the last vector stays."""
        m = numbers(m, self.shape, "m", "start from problem.m0")
        if self._m is None or not np.array_equal(m, self._m):
            self._m, self._residual = m, self._predicted(m) - self._values
        return self._residual

    def data(self, m=None):
        """Return the fields of a vector of parameters, the start by default: xarray.Dataset.

        Parameters
        ----------
        m : (n,) array, optional
        """
        values = self._predicted(self.m0 if m is None else np.asarray(m, float).ravel())
        parts = values.reshape(len(self.fields), *self.observed[self.fields[0]].shape)
        return self.observed.copy(data=dict(zip(self.fields, parts)))

    def born(self, dm, m=None):
        """See `LeastSquares.born`: field after field, raveled."""
        change = self.parameters.changes(self.m0 if m is None else m, dm)[0]
        return self.operator @ self._less_means(np.asarray(change)).ravel()

    def adjoint(self, residual, m=None):
        """See `LeastSquares.adjoint`."""
        by_density = (self.operator.T @ np.asarray(residual, float)).reshape(self.grid.shape)
        if self._areas is not None:
            by_density = by_density - self._areas * by_density.sum((1, 2), keepdims=True) / self._areas.sum()
        zero = np.zeros_like(by_density)
        return self.parameters.gradient(self.m0 if m is None else m, (by_density, zero, zero))


def refuse_without_density(parameters):
    """Refuse parameters without density, to which gravity would be blind, and those of elements."""
    if "rho" not in parameters.names:
        words = f"{', '.join(parameters.names)}: gravity depends on density"
        refuse("parameters", words, f"add rho ({LONG_NAMES['rho']}) to the parameters of the problem")
    lines_of(parameters)


def fields_of(observed, grid):
    """Return observed gravity with all coordinates, and the names of its fields.

    Parameters
    ----------
    observed : xarray.Dataset
    grid : Grid

    Raises
    ------
    ScenarioError
        It has no field of gravity, no coordinates, another unit, or values that are not finite.
    """
    from craton.methods.gravity.fields import FIELDS, UNITS
    from craton.survey.points import WORDS, coordinates_of

    held = list(map(str, getattr(observed, "data_vars", ())))
    names = [name for name in held if name in FIELDS]
    if not names:
        words = f"has {', '.join(held) or 'no variables'}"
        refuse("observed", words, f"give an xarray.Dataset with some of {', '.join(FIELDS)}")
    if grid.planar and not set(WORDS["y"]) & {str(v).lower() for v in observed.variables}:
        observed = observed.assign_coords(y=0.0)
    try:
        at, dims = coordinates_of(observed)
    except ValueError as error:
        raise ScenarioError.of("observed", str(error), "name its coordinates") from error
    problems = [
        Problem("observed", f"the coordinate {axis} is not finite", "leave such points out")
        for axis, values in zip("xyz", at)
        if not np.isfinite(values).all()
    ]
    for name in names:
        unit = str(observed[name].attrs.get("units", "")).strip()
        if unit.lower() not in ("", *SPELT[UNITS[name]]):
            words = f"is in {unit!r}, the computed field in {UNITS[name]}"
            problems.append(Problem(f"observed.{name}", words, f"convert it to {UNITS[name]}"))
        if set(observed[name].dims) != set(dims):
            words = f"has the dimensions {observed[name].dims}, its points {dims}"
            problems.append(Problem(f"observed.{name}", words, "give a value at each point"))
        elif wrong := int((~np.isfinite(observed[name].values)).sum()):
            words = f"{wrong} values are not finite"
            problems.append(Problem(f"observed.{name}", words, "leave these points out"))
    refuse_all(problems)
    ordered = {name: observed[name].transpose(*dims) for name in names}
    return observed.assign(ordered), names


def prisms_of(grid, across=None):
    """Return the cells of a grid as prisms, (cells, 6): west, east, south, north, bottom, top, m.

    Parameters
    ----------
    grid : Grid
    across : float, optional
        Length across a section, m.
    """
    limits = {name: cells.edges(grid, name) for name in "xyz"}
    if grid.planar:
        longest = max(np.ptp(grid.axis(name)) for name in "xz")
        half = 0.5 * (ACROSS * longest if across is None else float(across))
        if not half > 0:
            refuse("across", f"{across} m", "give a length, m")
        limits["y"] = np.array([-half]), np.array([half])
    corners = []
    for name, axis in (("x", 2), ("y", 1), ("z", 0)):
        shape = [1, 1, 1]
        shape[axis] = -1
        corners += [np.broadcast_to(end.reshape(shape), grid.shape) for end in limits[name]]
    return np.stack([c.ravel() for c in corners], axis=1)
