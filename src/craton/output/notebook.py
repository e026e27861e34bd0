"""The viewer of a result in a notebook: snapshots with a slider for time, receivers to click on."""

from functools import cache
from pathlib import Path

import numpy as np

from craton.errors import CratonError
from craton.io.libraries import library
from craton.output.snapshots import chosen, component_of, component_shown, plane_of, robust_limit

SCRIPT = Path(__file__).with_suffix(".js")
MOST_BYTES = 24 * 2**20  # of pictures that are sent to the browser
MOST_POINTS = 400  # along an axis of a picture: what a screen shows
MOST_SAMPLES = 4000  # of a trace
LOUDEST = 99.5  # percent of the values, those near zero apart, that the colour scale holds


def view(result, series=None, component=None):
    """Return a widget, anywidget.AnyWidget, that shows a result of waves: `craton.Result.view` of it.

    By default it shows the first series of snapshots and the vertical component. Its traits ``frame`` and ``receiver``
    follow what is shown and may be set.
    """
    about, frames, traces = contents(result, series, component)
    return viewer_class()(about=about, frames=frames, traces=traces)


@cache
def viewer_class():
    """Return the class of the widget; anywidget is imported when the first one is made."""
    anywidget = library("anywidget", "the viewer", CratonError)
    import traitlets

    class Viewer(anywidget.AnyWidget):
        """Snapshots over time, receivers and their traces."""

        _esm = SCRIPT
        about = traitlets.Dict().tag(sync=True)
        frames = traitlets.Bytes().tag(sync=True)
        traces = traitlets.Bytes().tag(sync=True)
        frame = traitlets.Int(0).tag(sync=True)
        receiver = traitlets.Int(0).tag(sync=True)

    return Viewer


def contents(result, series=None, component=None):
    """Return what the viewer shows: title, axes, times, names and places of receivers as a dict for JSON; pictures
    (time, row from below, column), int8, 127 at ``["picture"]["limit"]``; and traces (receiver, component, time),
    float32, both as bytes.
    """
    if "time" not in result.dataset.dims:
        raise CratonError(
            "the viewer shows waves, and this result has no time.\n    draw its fields: result.dataset.g_z.plot()"
        )
    name = chosen("series of snapshots", series, result.snapshots)
    picture, frames = (None, b"") if name is None else picture_of(result.snapshots[name], name, component)
    receivers, traces = receivers_of(result.dataset, picture)
    if picture is None and not receivers["names"]:
        raise CratonError("the viewer shows snapshots and receivers, and this result has neither")
    about = {"title": result.plan.title, "picture": picture, "receivers": receivers}
    return about, frames, traces


def picture_of(dataset, name, component):
    """Return axes, times and scale of a series, dict for JSON, and its frames as bytes."""
    plane = component_of(plane_of(dataset), component, "Z")
    field = thinned(plane)
    values = np.nan_to_num(np.asarray(field.values, float))
    limit = robust_limit(values, LOUDEST)
    frames = np.round(np.clip(values / limit, -1, 1) * 127).astype(np.int8)
    _, rows, columns = field.dims
    picture = {
        "name": name,
        "label": f"{field.name} {component_shown(field)}".strip(),
        "unit": field.attrs.get("units", ""),
        "limit": limit,
        "shape": list(frames.shape),
        "times": [float(time) for time in field.time.values],
        "x": axis(field, columns),
        "y": axis(field, rows),
    }
    return picture, frames.tobytes()


def thinned(field):
    """Return a series (time, row, column) with so few points and times that a browser takes it at once."""
    time, rows, columns = field.dims
    field = field.isel({dim: slice(None, None, -(-field.sizes[dim] // MOST_POINTS)) for dim in (rows, columns)})
    return field.isel({time: slice(None, None, max(1, -(-field.size // MOST_BYTES)))})


def axis(field, dim) -> dict:
    """Return name, unit, first and last coordinate of an axis."""
    values = field[dim].values
    unit = field[dim].attrs.get("units", "m")
    return {"name": str(dim), "unit": unit, "first": float(values[0]), "last": float(values[-1])}


def receivers_of(dataset, picture):
    """Return names, places and times of the receivers, dict for JSON, and their traces as bytes; places are those along
    the axes of a picture, else along x and y.
    """
    quantity = next((name for name in dataset.data_vars if "receiver" in dataset[name].dims), None)
    if quantity is None:  # snapshots alone
        return {"names": [], "x": [], "y": [], "components": []}, b""
    traces = dataset[quantity]
    if "shot" in traces.dims:
        traces = traces.isel(shot=0)
    if traces.ndim == 2:  # pressure: one component
        traces = traces.expand_dims(component=[""], axis=1)
    _, components, times = traces.dims
    traces = traces.isel({times: slice(None, None, -(-traces.sizes[times] // MOST_SAMPLES))})
    dims = [picture["x"]["name"], picture["y"]["name"]] if picture else ["x", "y"]
    at = [dataset[dim] if dim in dataset.coords else 0 * dataset.x for dim in dims]
    receivers = {
        "names": [str(name) for name in dataset.receiver.values],
        "x": [float(value) for value in at[0].values],
        "y": [float(value) for value in at[1].values],
        "components": [str(name) for name in traces[components].values],
        "label": quantity,
        "unit": traces.attrs.get("units", ""),
        "start": float(traces.time.values[0]),
        "step": float(np.diff(traces.time.values[:2])[0]),
        "count": traces.sizes[times],
    }
    return receivers, np.ascontiguousarray(traces.values, np.float32).tobytes()
