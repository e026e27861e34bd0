"""Earth models from files: netCDF or zarr with vp, vs, rho on x, y, z, turned to metres, SI and
rising axes at this border; files on longitude and latitude at nodes in the axes of a box; parts that
several threads ask for one after another, read together.
"""

from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

import numpy as np

from craton import io
from craton.conventions import AXES
from craton.errors import Problem, ScenarioError, refuse, refuse_all
from craton.io import netcdf
from craton.io.contents import FileError
from craton.io.netcdf import factor
from craton.model import mapping
from craton.model.interpolate import interpolated, rises
from craton.model.media import properties
from craton.model.media.gridded import Gridded

COORDINATES = {
    "x": ("x", "easting", "east"),
    "y": ("y", "northing", "north"),
    "z": ("z", "elevation", "upward", "depth"),
}
VARIABLES = {"vp": ("vp", "v_p"), "vs": ("vs", "v_s"), "rho": ("rho", "density")}
SECTION = 0.0  # m: y of a file without one, for domains in the (x, z) plane
OPTIONAL = {"qp": ("qp", "q_p"), "qs": ("qs", "q_s")} | {name: (name,) for name in properties.THOMSEN}
DIMENSIONS = (
    dict.fromkeys(AXES, "length")
    | {"vp": "velocity", "vs": "velocity", "rho": "density"}
    | dict.fromkeys(OPTIONAL, "ratio")
)
VALUES = 1 << 23  # of all fields of a block
HELD: dict[int, "Blocks"] = {}  # by the identity of a model, while it is read ahead


@contextmanager
def open_model(path, key="model.file", variables=tuple(VARIABLES), frame=None, system=None):
    """Open a model file; gives a `Source` of some of its variables. Raises ScenarioError where it cannot be understood.

    `path` path-like; `key`: of the file in the scenario; `variables`: of `VARIABLES` and `OPTIONAL`; `frame`: of the
    box, where that has a place on Earth: files on longitude and latitude or with a reference system of their own are
    mapped to it; `system`: reference system of the file's coordinates, where it does not state it itself.
    """
    try:
        with io.read(path, "gridded model") as dataset:
            yield _source(dataset, Path(path), key, variables, frame, system)
    except FileError as error:
        raise ScenarioError.of(key, str(error), error.remedy) from error


def open_file(model, key="model.file", variables=tuple(VARIABLES)):
    """Open the file of a model as `open_model` does, mapped to the box that it is for.

    `model` model of a scenario, of kind file; `variables`: as of `open_model`.
    """
    frame, system = getattr(model, "frame", None), getattr(model, "crs", None)
    if getattr(model, "properties", None) is not None:
        return _open_properties(model, key.removesuffix(".file"), variables, frame, system)
    return open_model(model.file, key, variables, frame, system)


@contextmanager
def _open_properties(model, key, variables, frame, system):
    """Open a model that has a file for each property, on one grid; see `open_model`."""
    with ExitStack() as files:
        arrays = {}
        for name, value in model.properties:
            if hasattr(value, "file"):
                at = f"{key}.properties.{name}.file"
                arrays[name] = _property(files, value, name, at)
        dataset = _merged(arrays, dict(model.properties), key)
        path, at = Path(model.files[next(iter(arrays))]), f"{key}.properties"
        try:
            yield _source(dataset, path, at, variables, frame, system)
        except FileError as error:
            raise ScenarioError.of(at, str(error), error.remedy) from error


def _property(files, table, name, key):
    """Array of one property from its file."""
    path, options = Path(table.file), table.of_numbers
    form = "raw binary" if options else None
    if table.depth_step is not None:
        if not any("depth_step" in row.options and row.matches(path) for row in io.formats("gridded model")):
            refuse(key, f"{path.name} is no SEG-Y file", "leave depth_step out: the file states its own z")
        options = {"depth_step": table.depth_step}
    try:
        dataset = files.enter_context(io.read(path, "gridded model", form, **options))
    except FileError as error:
        raise ScenarioError.of(key, str(error), error.remedy) from error
    words = {str(variable).lower(): variable for variable in dataset.data_vars}
    candidates = (VARIABLES | OPTIONAL)[name]
    variable = next((words[word] for word in candidates if word in words), None)
    if variable is None and len(words) == 1:
        (variable,) = words.values()
    if variable is None:
        held = ", ".join(map(str, dataset.data_vars)) or "no variable"
        refuse(key, f"{path.name} has {held}: none is {name}")
    array = dataset[variable]
    if table.units is not None:
        stated = netcdf.stated_unit(array)
        if stated not in ("", table.units):
            message, remedy = f"{path.name} states {stated}", "leave units out"
            refuse(key.removesuffix("file") + "units", message, remedy)
        array = array.assign_attrs(units=table.units)
    return array.assign_attrs(dataset.attrs | array.attrs)


def _merged(arrays, values, key):
    """Dataset of arrays on one grid and of constants; refuses grids that differ."""
    from xarray import Dataset, full_like

    first_name, first = next(iter(arrays.items()))
    wrong = [
        Problem(
            f"{key}.properties.{name}.file",
            f"its {dim} are not those of {first_name}",
            "put all properties on one grid",
        )
        for name, array in arrays.items()
        for dim in first.dims
        if dim not in array.coords
        or array[dim].shape != first[dim].shape
        or not np.allclose(array[dim], first[dim], rtol=1e-6, atol=1e-6)
    ]
    refuse_all(wrong)
    fields = {n: a.assign_coords({d: first[d] for d in first.dims}) for n, a in arrays.items()}
    for name, value in values.items():
        if name not in arrays and value is not None:
            fields[name] = full_like(first, value, dtype=float).assign_attrs(units="")
    return Dataset(fields, attrs={k: v for k, v in first.attrs.items() if k.startswith("crs_")})


def _source(dataset, path, key, variables, frame, system):
    system = mapping.system_of(dataset, system)
    if frame is not None and system is not None:
        return MappedSource(dataset, path, key, variables, frame, system)
    if mapping.on_degrees(dataset):
        raise FileError(f"{path.name} is on longitude and latitude", mapping.WHERE)
    names = {str(name).lower() for name in (*dataset.variables, *dataset.dims)}
    is_section = names.isdisjoint(COORDINATES["y"]) and not names.isdisjoint(COORDINATES["x"])
    return Source(dataset, path, key, variables, SECTION if is_section else None)


class Source:
    """An open model file: its axes in metres, rising, and blocks of its values in SI. A section has
    no y: it stands at one that is given.

    Attributes
    ----------
    axes : tuple of arrays
        x, y, z in metres, each strictly rising, z up.

    `variables` are the names, of `VARIABLES`, that are read.
    """

    def __init__(self, dataset, path, key, variables=tuple(VARIABLES), section=None):
        names = {str(name).lower(): name for name in dataset.variables}
        self._problems = []
        self._path, self._key, self.dataset = path, key, dataset
        axes = [
            ("", np.full(1, section), False)
            if axis == "y" and section is not None
            else self._axis(dataset, names, axis)
            for axis in AXES
        ]
        is_held = [name not in OPTIONAL or any(word in names for word in OPTIONAL[name]) for name in variables]
        dataset = dataset.isel({name: slice(None, None, -1) for name, _, is_falling in axes if is_falling})
        fields = [self._field(dataset, names, name, axes) if known else None for name, known in zip(variables, is_held)]
        if self._problems:
            raise ScenarioError(self._problems)
        self.axes = tuple(values for _, values, _ in axes)
        self._fields = tuple(zip(variables, fields))

    def _complain(self, message, remedy=""):
        self._problems.append(Problem(self._key, f"{self._path.name}: {message}", remedy))

    def _find(self, names, quantity, noun):
        """Return the variable of a file that one of our names means, case aside; None and a problem
        where there is none.
        """
        candidates = (COORDINATES | VARIABLES | OPTIONAL)[quantity]
        variable = next((names[name] for name in candidates if name in names), None)
        if variable is None:
            held = ", ".join(map(str, names.values())) or "nothing"
            self._complain(
                f"no {noun} {quantity} (the file has {held})", f"Name it {quantity}, with a units attribute."
            )
        return variable

    def _scale(self, variable, quantity):
        """Factor from the unit in a variable's attributes to SI; no unit is SI."""
        try:
            return factor(variable, DIMENSIONS[quantity], quantity)
        except FileError as error:
            self._complain(str(error), error.remedy)
            return 1.0

    def _axis(self, dataset, names, axis):
        """Name of a dimension, its coordinates in metres rising, and whether the file lists them
        the other way.
        """
        name = self._find(names, axis, "coordinate")
        if name is None:
            return None, None, False
        variable = dataset.variables[name]
        if variable.dims != (name,):
            self._complain(f"coordinate {name} must have one dimension of its own name, not {variable.dims}")
            return name, None, False
        values = np.asarray(variable.values, dtype=float) * self._scale(variable, axis)
        down = str(variable.attrs.get("positive", "down" if name.lower() == "depth" else "up")).lower() == "down"
        values = -values if axis == "z" and down else values
        flipped = len(values) > 1 and values[0] > values[-1]
        values = values[::-1] if flipped else values
        if not len(values) or not rises(values):
            self._complain(f"coordinate {name} must increase or decrease strictly, without missing values")
        return name, np.ascontiguousarray(values), flipped

    def _field(self, dataset, names, quantity, axes):
        """One quantity as a lazy array (z, y, x), and its factor to SI."""
        name = self._find(names, quantity, "variable")
        dims = tuple(dim for dim, *_ in reversed(axes) if dim != "")
        if name is None or None in dims:
            return None
        array = dataset[name]
        if set(array.dims) != set(dims):
            self._complain(
                f"{name} has the dimensions {', '.join(map(str, array.dims)) or 'none'}; it needs {', '.join(map(str, dims))}"
            )
            return None
        return array.transpose(*dims), self._scale(array.variable, quantity)

    def ranges(self, box):
        """First and one past the last index on x, y, z of the points that a box needs; rounding does not draw in one
        more.

        `box` ((x0, x1), (y0, y1), (z0, z1)), m.
        """
        limits = []
        for axis, (low, high) in zip(self.axes, box):
            fuzz = 1e-6 * (axis[-1] - axis[0]) / max(len(axis) - 1, 1)
            start = np.searchsorted(axis, low + fuzz, side="right") - 1
            stop = np.searchsorted(axis, high - fuzz, side="left") + 1
            start = min(max(int(start), 0), len(axis) - 1)
            limits.append((start, max(min(int(stop), len(axis)), start + 1)))
        return tuple(limits)

    def read(self, ranges):
        """Return a block of the file as `Gridded`, by index ranges on x, y, z.

        `ranges` tuple of (int, int): on x, y, z, as of `ranges`.
        """
        z, y, x = (slice(*limits) for limits in reversed(ranges))

        def block(name, field):
            if field is None:
                return np.zeros([stop - start for start, stop in reversed(ranges)])
            array, scale = field
            values = array[z, y, x].values if array.ndim == 3 else array[z, x].values[:, None]
            with np.errstate(divide="ignore", over="ignore"):
                return properties.inside(name, np.ascontiguousarray(values, dtype=float) * scale)

        values = {name: block(name, field) for name, field in self._fields}
        if "qs" in values:
            values["qs"][values["vs"] == 0] = 0  # Qs of a fluid is often written as 0
        return Gridded(
            tuple(axis[start:stop] for axis, (start, stop) in zip(self.axes, ranges)), tuple(values.values())
        )

    def slabs(self, box, values=8_000_000):
        """Yield the part of the file that a box needs, in blocks of whole planes with about so many points each.

        `box` ((x0, x1), (y0, y1), (z0, z1)), m; `values`: points of a block.
        """
        x, y, (first, last) = self.ranges(box)
        planes = max(values // ((x[1] - x[0]) * (y[1] - y[0])), 1)
        for start in range(first, last, planes):
            yield self.read((x, y, (start, min(start + planes, last))))


class MappedSource(Source):
    """An open model file of other coordinates: its values at nodes of the box, about two for each
    step of the file; `ranges` and `slabs` are those of the nodes.

    Parameters
    ----------
    dataset : xarray.Dataset
        Over depth or z, and longitude and latitude or x and y.
    path : pathlib.Path
    key : str
        Of the file in the scenario.
    variables : sequence of str
    frame : craton.tables.ground.Frame
    system : craton.model.mapping.System
        Of the coordinates of the file.
    """

    def __init__(self, dataset, path, key, variables, frame, system):
        self._raster = mapping.raster(dataset, frame, system, path.name, 0.0)
        self._file = Source(self._raster.data, path, key, variables)
        self.axes = (self._raster.x, self._raster.y, self._file.axes[2])

    def read(self, ranges):
        """Return a block of nodes as `Gridded`; see `Source.read`.

        `ranges` tuple of (int, int): of the nodes on x, y and levels on z.
        """
        columns, rows, levels = ranges
        window, stencil = self._raster.window(slice(*rows), slice(*columns))
        block = self._file.read((*window, levels))
        fields = tuple(np.stack([interpolated(plane, *stencil) for plane in field]) for field in block.fields)
        axes = (self.axes[0][slice(*columns)], self.axes[1][slice(*rows)], block.axes[2])
        return Gridded(axes, fields)


# --- read ahead -----------------------------------------------------------------------------------


class Blocks:
    """A model file, open, and the last block that was read of each set of properties.

    Parameters
    ----------
    model : model of a scenario, of kind file
    """

    def __init__(self, model):
        self.model, self.lock, self.files = model, Lock(), ExitStack()
        self.sources, self.blocks = {}, {}
        self.closed = False

    def close(self):
        """Close the file, when no thread reads it any more."""
        with self.lock:
            self.closed = True
            self.files.close()

    def part(self, box, names):
        """Return the `Gridded` part of the file that a box needs; None where the file is closed.

        `box` ((x0, x1), (y0, y1), (z0, z1)), m; `names`: of `properties.NAMES`.
        """
        with self.lock:
            if self.closed:
                return None
            if names not in self.sources:
                opened = open_file(self.model, variables=names)
                self.sources[names] = self.files.enter_context(opened)
            source, (block, limits) = self.sources[names], self.blocks.get(names, (None, ()))
            ranges = source.ranges(box)
            if block is None or any(a < low or b > high for (a, b), (low, high) in zip(ranges, limits)):
                limits = _ahead(ranges, source.axes[2], len(names))
                block = source.read(limits)
                self.blocks[names] = block, limits
        return _cut(block, limits, ranges)


def _ahead(ranges, z, fields):
    """Return index ranges on x, y, z with the levels that follow, up to `VALUES` in all."""
    x, y, (first, last) = ranges
    planes = VALUES // (fields * (x[1] - x[0]) * (y[1] - y[0]))
    return x, y, (first, min(max(first + planes, last), len(z)))


def _cut(block, limits, ranges):
    """Return the part of a `Gridded` block with index ranges `limits` that has the ranges of a
    smaller one; nothing is copied.
    """
    x, y, z = (slice(a - low, b - low) for (a, b), (low, _) in zip(ranges, limits))
    axes = tuple(axis[part] for axis, part in zip(block.axes, (x, y, z)))
    return Gridded(axes, tuple(values[z, y, x] for values in block.fields))


@contextmanager
def read_ahead(model):
    """Within, `part_of` reads neighbouring parts of a model's file together."""
    if model.kind != "file" or id(model) in HELD:
        yield
        return
    HELD[id(model)] = blocks = Blocks(model)
    try:
        yield
    finally:
        del HELD[id(model)]
        blocks.close()


def part_of(model, box, names):
    """Return the `Gridded` part of a model's file that a box needs.

    `model` model of a scenario, of kind file; `box` ((x0, x1), (y0, y1), (z0, z1)), m; `names`: of `properties.NAMES`.
    """
    held = HELD.get(id(model))
    part = None if held is None else held.part(box, tuple(names))
    if part is not None:
        return part
    with open_file(model, variables=names) as source:
        return source.read(source.ranges(box))
