"""The viewer of a result in a notebook: snapshots with a slider for time, receivers to click on."""

from functools import cache
from pathlib import Path

from craton.errors import CratonError

SCRIPT = Path(__file__).with_name("viewer.js")
MOST_BYTES = 24 * 2**20  # of pictures that are sent to the browser
MOST_POINTS = 400  # along an axis of a picture: what a screen shows
MOST_SAMPLES = 4000  # of a trace
LOUDEST = 0.995  # share of the values that the colour scale holds


def view(result, series=None, component=None):
    """Return a widget that shows a result: `craton.Result.view` of it.

    Parameters
    ----------
    result : craton.Result
        Of waves.
    series : str, optional
        Name of the series of snapshots on a plane; by default the first one.
    component : str, optional
        Component of a vector: ``"Z"``, which is the default, ``"E"``, ``"N"``.

    Returns
    -------
    anywidget.AnyWidget
        Its traits ``frame`` and ``receiver`` follow what is shown and may be set.

    Raises
    ------
    CratonError
        anywidget is missing; the result is of gravity; there is no such series or component.
    """
    about, frames, traces = contents(result, series, component)
    return viewer_class()(about=about, frames=frames, traces=traces)


@cache
def viewer_class():
    """Return the class of the widget; anywidget is imported when the first one is made."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise CratonError(
            "the viewer needs anywidget, which is not installed.\n"
            "    pip install 'craton[notebook]'; or draw result.snapshots with xarray's plot"
        ) from error

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
    """Return what the viewer shows.

    Parameters
    ----------
    result : craton.Result
    series, component : str, optional
        See `view`.

    Returns
    -------
    about : dict
        Title, axes, times, names and places of receivers; for JSON.
    frames : bytes
        Pictures (time, row from below, column), int8, 127 at ``about["picture"]["limit"]``.
    traces : bytes
        (receiver, component, time), float32.
    """
    if "time" not in result.dataset.dims:
        raise CratonError(
            "the viewer shows waves, and this result has no time.\n    draw its fields: result.dataset.g_z.plot()"
        )
    name = chosen("series of snapshots", series, list(result.snapshots))
    picture, frames = (None, b"") if name is None else picture_of(result, name, component)
    receivers, traces = receivers_of(result, picture)
    about = {"title": result.plan.title, "picture": picture, "receivers": receivers}
    return about, frames, traces


def chosen(kind, name, names, preferred=None):
    """Return a name out of some, or the preferred or first one; None where there is none.

    Parameters
    ----------
    kind : str
        What has the names, for the message.
    name : str or None
        As asked for.
    names : list of str
    preferred : str, optional
    """
    if name is None:
        return preferred if preferred in names else next(iter(names), None)
    if name not in names:
        known = ", ".join(names) or "none"
        raise CratonError(f'there is no {kind} "{name}"\n    there are: {known}')
    return name


def picture_of(result, name, component):
    """Return axes, times and scale of a series, and its frames as bytes.

    Parameters
    ----------
    result : craton.Result
    name : str
        Of the series.
    component : str or None
    """
    import numpy as np

    dataset = result.snapshots[name]
    quantity = next(iter(dataset.data_vars))
    field = dataset[quantity]
    for dim in [dim for dim in field.dims if dim.startswith("component")]:
        names = [str(each) for each in field[dim].values]
        component = chosen("component", component, names, "Z")
        field = field.sel({dim: component})
    if "shot" in field.dims:
        field = field.isel(shot=0)
    if field.ndim != 3:
        raise CratonError(
            f'series "{name}" is no plane: {", ".join(map(str, field.dims[1:]))}\n'
            "    view a series with a plane, or draw this one with PyVista"
        )
    field = thinned(field)
    values = np.nan_to_num(np.asarray(field.values, float))
    limit = float(np.quantile(np.abs(values), LOUDEST)) or float(np.abs(values).max()) or 1.0
    frames = np.round(np.clip(values / limit, -1, 1) * 127).astype(np.int8)
    _, rows, columns = field.dims
    picture = {
        "name": name,
        "label": f"{quantity} {component or ''}".strip(),
        "unit": field.attrs.get("units", ""),
        "limit": limit,
        "shape": list(frames.shape),
        "times": [float(time) for time in field.time.values],
        "x": axis(field, columns),
        "y": axis(field, rows),
    }
    return picture, frames.tobytes()


def thinned(field):
    """Return a series with so few points and times that a browser takes it at once.

    Parameters
    ----------
    field : xarray.DataArray
        (time, row, column).
    """
    time, rows, columns = field.dims
    field = field.isel({dim: slice(None, None, -(-field.sizes[dim] // MOST_POINTS)) for dim in (rows, columns)})
    return field.isel({time: slice(None, None, max(1, -(-field.size // MOST_BYTES)))})


def axis(field, dim):
    """Return name, unit, first and last coordinate of an axis: dict.

    Parameters
    ----------
    field : xarray.DataArray
    dim : str
    """
    values = field[dim].values
    unit = field[dim].attrs.get("units", "m")
    return {"name": str(dim), "unit": unit, "first": float(values[0]), "last": float(values[-1])}


def receivers_of(result, picture):
    """Return names, places in the picture and times of the receivers, and their traces as bytes.

    Parameters
    ----------
    result : craton.Result
    picture : dict or None
        Axes, by which places are chosen; x and y where there is none.
    """
    import numpy as np

    dataset = result.dataset
    quantity = next(name for name in dataset.data_vars if "receiver" in dataset[name].dims)
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
