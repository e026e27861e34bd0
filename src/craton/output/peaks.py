"""Maps of peaks of a run: gathered over ranks, as datasets, in the store."""

from pathlib import Path

import numpy as np

from craton.core.peaks import COMPONENTS, quantities_of
from craton.integrity import writing
from craton.output.arrays import consolidate, open_datasets, write_dataset
from craton.output.dataset import cf_dataset, coordinate_attributes, global_attributes

ABOUT = {  # units and long name
    "pgv": ("m/s", "peak ground velocity"),
    "pga": ("m/s2", "peak ground acceleration"),
    "pgd": ("m", "peak ground displacement"),
    "arias": ("m/s", "Arias intensity"),
    "cav": ("m/s", "cumulative absolute velocity"),
    "squared_velocity": ("m2/s", "integral of squared velocity"),
    "duration_5_95": ("s", "significant duration, 5 to 95 % of the Arias intensity"),
    "duration_5_75": ("s", "significant duration, 5 to 75 % of the Arias intensity"),
    "sa": ("m/s2", "pseudo-spectral acceleration"),
}
COMPONENT = "east, north, up, and the horizontal vector (of a peak its greatest length, RotD100)"


def collected(program, comm):
    """Return the quantities of all maps of a program, over all ranks, on rank 0: dict of name to
    dict of array; empty on other ranks. All ranks must call it.

    Parameters
    ----------
    program : Program
    comm : Comm
    """
    maps = {}
    for series in program.plan.peaks:
        parts = ("largest", "sums", "oscillators_largest", "history")
        names = {part: series.array(part) for part in parts}
        arrays = {part: program.host(n) for part, n in names.items() if n in program.arrays}
        values = quantities_of(series, arrays) if arrays else {}
        shares = comm.gather((series.where, values))
        if comm.rank == 0:
            maps[series.name] = on_map(series, shares)
    return maps


def on_map(series, shares):
    """Return the quantities of a map, nan where there is no site: dict of name to array.

    Parameters
    ----------
    series : PeakSeries
    shares : list of (where, dict of name to array)
        The sites of each rank, and what was measured there.
    """
    out = {}
    size = int(np.prod(series.shape))
    for where, values in shares:
        for name, array in values.items():
            if name not in out:
                out[name] = np.full((*array.shape[:-1], size), np.nan, np.float32)
            out[name][..., where] = array
    return {name: array.reshape(*array.shape[:-1], *series.shape) for name, array in out.items()}


def dataset(series, values, attributes):
    """Return a map as xarray.Dataset: pgv(component, y, x) and the like, sa(period, component, y,
    x).

    Parameters
    ----------
    series : PeakSeries
    values : dict of str to ndarray
        As `collected` gives them.
    attributes : dict
        Of the dataset: title, scenario.
    """
    coordinates = {
        name: ((name,) if np.ndim(c) else (), np.asarray(c, float), coordinate_attributes(name) | PLACES.get(name, {}))
        for name, c in series.coords.items()
    }
    for name, (dims, array) in series.places.items():
        coordinates[name] = (dims, array, PLACES[name])
    coordinates["component"] = (("component",), list(COMPONENTS), {"long_name": COMPONENT})
    if "sa" in values:
        about = {"units": "s", "long_name": "period of the oscillator"}
        coordinates["period"] = (("period",), np.array(series.oscillators), about)
    lead = ("period", "component")
    variables = {
        name: (
            (*lead[len(lead) + len(series.dims) - array.ndim :], *series.dims),
            array,
            dict(zip(("units", "long_name"), ABOUT[name])),
        )
        for name, array in values.items()
    }
    about = {"damping": series.damping, "time_step": series.dt} | series.reference | attributes
    return cf_dataset(variables, coordinates, global_attributes(**about))


PLACES = {
    "elevation": {"units": "m", "long_name": "elevation of the site"},
    "longitude": {"units": "degrees_east", "standard_name": "longitude"},
    "latitude": {"units": "degrees_north", "standard_name": "latitude"},
    "xi": {"units": "degree", "long_name": "gnomonic angle from the centre along xi"},
    "eta": {"units": "degree", "long_name": "gnomonic angle from the centre along eta"},
}


def write(maps, root):
    """Write maps into the groups ``peaks/NAME`` of a store.

    Parameters
    ----------
    maps : dict of str to xarray.Dataset
    root : path-like
        OUT/result.zarr.

    Raises
    ------
    ResourceError
        The disk is full.
    """
    with writing(f"maps of peaks to {root}"):
        for name, array in maps.items():
            write_dataset(root, array, f"peaks/{name}", array.data_vars)
        if maps:
            consolidate(root, *(f"peaks/{name}" for name in maps))


def read(out):
    """Return the maps of peaks of a run by name: dict of xarray.Dataset.

    Parameters
    ----------
    out : path-like
        The directory OUT.
    """
    return open_datasets(Path(out) / "result.zarr", "peaks")
