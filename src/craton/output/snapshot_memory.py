"""Snapshots of a run without a folder: the series that `SnapshotWriter` would write, as datasets."""

import numpy as np

from craton.conventions import DERIVED, QUANTITIES
from craton.output.dataset import cf_dataset, coordinate_attributes, global_attributes
from craton.output.snapshots import component_dimension, frame_number

TIME = {"units": "s", "long_name": "time after the origin time"}


class SnapshotMemory:
    """Keeps frames; has the verbs of `craton.output.snapshots.SnapshotWriter`."""

    def __init__(self):
        self._series = {}

    def add_series(self, name, quantities, coords, times, dtype="float32", **others):
        """Declare a series; parameters as of `SnapshotWriter.add_series`, of which `others` are for
        files.
        """
        axes = {axis: np.asarray(values, float) for axis, values in coords.items()}
        dims = tuple(axis for axis, values in axes.items() if values.ndim)
        variables, coordinates = {}, {}
        for quantity, components in quantities.items():
            lead = ()
            if len(components) > 1:
                lead = (component_dimension(quantity, components),)
                about = {"long_name": lead[0]}
                coordinates[lead[0]] = (lead, np.array(components), about)
            sizes = [len(components)] * len(lead) + [axes[axis].size for axis in dims]
            frames = np.full((len(times), *sizes), np.nan, dtype)
            _, units, long_name = QUANTITIES.get(quantity) or DERIVED[quantity]
            attributes = {"units": units, "long_name": long_name}
            variables[quantity] = (("time", *lead, *dims), frames, attributes)
        for axis, values in axes.items():
            dimension = (axis,) if axis in dims else ()
            coordinates[axis] = (dimension, values, coordinate_attributes(axis))
        coordinates["time"] = (("time",), np.asarray(times, float), TIME)
        self._series[name] = {"variables": variables, "coordinates": coordinates, "frames": 0}

    def put(self, name, time, arrays, copy=True, region=None):
        """Keep one frame; parameters as of `SnapshotWriter.put`."""
        series = self._series[name]
        index = frame_number(series["coordinates"]["time"][1], time, name)
        series["frames"] = max(series["frames"], index + 1)
        for quantity, values in (arrays or {}).items():
            series["variables"][quantity][1][(index, ..., *(region or ()))] = values

    def datasets(self, attributes):
        """Return the series as xarray.Dataset by name, as far as frames were taken.

        Parameters
        ----------
        attributes : dict
            Of each dataset: title, scenario.
        """
        about = global_attributes(**attributes)
        return {
            name: cf_dataset(series["variables"], series["coordinates"], about).isel(time=slice(series["frames"]))
            for name, series in self._series.items()
        }
