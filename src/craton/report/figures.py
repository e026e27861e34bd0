"""Figures of a run with matplotlib: three-component records, record sections, snapshots of the
wavefield, and an overview of OUT.
"""

import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

import numpy as np

from craton.errors import ResourceError
from craton.report import scales
from craton.report.style import COLOURS, STYLE, prefixed, raised, wave_colours

COMPONENT_NAMES = {"E": "East", "N": "North", "Z": "Up", "R": "Radial", "T": "Transverse"}
# More receivers than this are drawn as a section, traces over distance, instead of one panel per
# component.
FEW = 4
DENSE = 60
NAMED = 12  # receivers of a section that are named
FRAME = 0.09  # inches around all that a figure shows
ASIDE = {"fontsize": 8.5, "fontweight": "normal", "color": "0.35"}
_dpi: ContextVar = ContextVar("dpi", default=None)


@contextmanager
def figure(width, height):
    """Open a matplotlib Figure in the house style, without pyplot and its global list of figures."""
    try:
        import matplotlib
        from matplotlib.ticker import LogFormatter
    except ImportError as error:
        raise ResourceError("figures need matplotlib; install it with: pip install 'craton[plot]'") from error
    with matplotlib.rc_context(STYLE):
        page = _page_class()(figsize=(width, height), layout="constrained")
        # room for tick labels that grow once the axes have their size
        x, y = FRAME / width, FRAME / height
        page.get_layout_engine().set(rect=(x, y, 1 - 2 * x, 1 - 2 * y))
        yield page
        for axis in (axis for axes in page.axes for axis in (axes.xaxis, axes.yaxis)):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set_major_formatter(_powers())
                axis.set_minor_formatter(_powers(labelOnlyBase=False))


@contextmanager
def resolution(dpi):
    """Inside, PNG files have this resolution whatever their function asks for.

    Parameters
    ----------
    dpi : float
        Pixels per inch.
    """
    token = _dpi.set(dpi)
    try:
        yield
    finally:
        _dpi.reset(token)


@lru_cache(1)
def _page_class():
    """Return the class of figures: PNG files of these are drawn once, where matplotlib draws all
    once to lay it out and once more. What is made while they are drawn has the house style too.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.image import imsave

    class Page(Figure):
        def draw(self, renderer):
            with matplotlib.rc_context(STYLE), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph")  # a box stands for it
                return super().draw(renderer)

        def savefig(self, fname, dpi=None, **options):
            if options.get("format", Path(str(fname)).suffix[1:]) != "png":
                return super().savefig(fname, dpi=dpi, **options)
            if _dpi.get() or dpi:
                self.set_dpi(_dpi.get() or dpi)
            canvas = FigureCanvasAgg(self)
            canvas.draw()
            return imsave(fname, np.asarray(canvas.buffer_rgba()), format="png", dpi=self.dpi)

    return Page


def _powers(**options):
    """Return a formatter of logarithmic axes whose powers are superscripts, not mathematics."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x, pos=None):
            text = super().__call__(x, pos).removeprefix("$\\mathdefault{").removesuffix("}$")
            text = text.replace("\\times", "×")
            return re.sub(r"\^\{([^}]*)\}", lambda power: raised(power[1]), text)

    return Powers(**options)


def record(dataset, receiver=None, quantity=None, mark=None):
    """Seismogram of one receiver, a panel per component on a common scale.

    Parameters
    ----------
    dataset : xarray.Dataset
        Waveforms of a run.
    receiver : str, optional
        Name; the first one when absent.
    quantity : str, optional
        Variable; the first one when absent.
    mark : float, optional
        A time to mark, s.

    Returns
    -------
    matplotlib.figure.Figure
    """
    array = _quantity(dataset, quantity)
    with figure(9, 1.2 + 1.4 * len(components(array))) as page:
        axes = page.subplots(len(components(array)), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        draw_record(axes, array, receiver, mark)
    return page


def record_section(dataset, quantity=None, origin=None):
    """All receivers: one as in `record`, a few as a table of panels, more over distance with a
    panel per component.

    Parameters
    ----------
    dataset : xarray.Dataset
        Waveforms of a run.
    quantity : str, optional
        Variable; the first one when absent.
    origin : tuple of float, optional
        Position (x, y, z) in metres from which (horizontal) distance counts; the first receiver
        when absent.

    Returns
    -------
    matplotlib.figure.Figure
    """
    array = _quantity(dataset, quantity)
    rows, names = array.sizes["receiver"], list(components(array.isel(time=slice(0, 1))))
    if rows == 1:
        return record(dataset, quantity=quantity)
    with figure(max(4.2 * len(names), 8), 6 if rows > FEW else 1 + 1.9 * rows) as page:
        if rows > FEW:
            draw_section(page.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0], array, origin)
        else:
            _draw_table(page.subplots(rows, len(names), sharex=True, sharey="row", squeeze=False), array)
    return page


def snapshot(frame, sources=(), receivers=(), interfaces=(), limit=None):
    """Wavefield on a plane.

    Parameters
    ----------
    frame : xarray.DataArray
        Values over two of x, y, z (metres), with a scalar coordinate ``time``; attributes
        ``long_name`` and ``units``.
    sources, receivers : array_like, shape (n, 3), optional
        Positions (x, y, z), metres: stars and triangles, hollow where they lie off the plane.
    interfaces : sequence of float or callable
        Elevations of layer tops and of the ground, metres, drawn on vertical planes: numbers, or
        functions of x and y (m).
    limit : float, optional
        Value at the ends of the colour scale; by default the 99.7th percentile of the absolute
        values.

    Returns
    -------
    matplotlib.figure.Figure
    """
    height, width = (_span(frame, dim) for dim in frame.dims)
    with figure(10, float(np.clip(8.4 * height / width, 2.2, 9)) + 1.2) as page:
        axis = page.subplots()
        image = draw_snapshot(axis, frame, sources, receivers, interfaces, limit)
        scales.colour_bar(image, [axis])
    return page


def draw_record(axes, array, receiver=None, mark=None):
    """Draw the components of one receiver on `axes`, one each."""
    receiver = str(array.receiver.values[0]) if receiver is None else receiver
    traces = array.sel(receiver=receiver)
    factor, unit = prefixed(array.attrs.get("units", ""), float(np.nanmax(np.abs(traces.values), initial=0)))
    for axis, (name, values) in zip(axes, components(traces).items()):
        axis.plot(traces.time, values * factor, color=COLOURS[name[-1:]], linewidth=1.1)
        axis.axhline(0, color="0.75", linewidth=0.6, zorder=0)
        axis.set_ylabel(f"{COMPONENT_NAMES.get(name, name)}\n({unit})")
        peak = np.nanmax(np.abs(values), initial=0) * factor
        axis.text(
            0.995,
            0.93,
            f"peak {peak:.3g} {unit}",
            transform=axis.transAxes,
            ha="right",
            va="top",
            fontsize=8,
            color="0.35",
        )
        if mark is not None:
            axis.axvline(mark, color="0.2", linewidth=0.9, linestyle=(0, (4, 3)))
    if mark is not None:
        axes[0].annotate(
            "snapshot",
            (mark, 1),
            (4, -3),
            xycoords=axes[0].get_xaxis_transform(),
            textcoords="offset points",
            va="top",
            fontsize=8,
            color="0.35",
        )
    axes[0].set_xlim(float(array.time[0]), float(array.time[-1]))
    axes[0].margins(y=0.08)
    axes[-1].set_xlabel("Time (s)")
    x, y, z = (float(traces[axis]) / 1000 for axis in "xyz")
    axes[0].set_title(f"Station {receiver}: {label(array).lower()}", loc="left")
    axes[0].set_title(f"x {x:.6g} km, y {y:.6g} km, z {z:.6g} km", loc="right", **ASIDE)


def _draw_table(axes, array):
    """Receivers by row, components by column, a common scale in each row."""
    for row, name in zip(axes, array.receiver.values):
        traces = array.sel(receiver=name)
        factor, unit = prefixed(array.attrs.get("units", ""), float(np.nanmax(np.abs(traces.values), initial=0)))
        for axis, (component, values) in zip(row, components(traces).items()):
            axis.axhline(0, color="0.75", linewidth=0.6, zorder=0)
            axis.plot(traces.time, values * factor, color=COLOURS[component[-1:]], linewidth=1.0)
        row[0].set_ylabel(f"{name}\n({unit})")
    for axis, component in zip(axes[0], components(array)):
        axis.set_title(COMPONENT_NAMES.get(component, component), loc="left")
        axis.set_xlim(float(array.time[0]), float(array.time[-1]))
    for axis in axes[-1]:
        axis.set_xlabel("Time (s)")
    axes[0, -1].set_title(label(array), loc="right", **ASIDE)


def draw_section(axes, array, origin=None):
    """Draw all receivers over distance on `axes`, a component on each: wiggles, or a colour image
    where they are many.

    Every receiver is scaled by the largest absolute value of its components, so that distant ones
    can be read.
    """
    distance, unit = distances(array, origin)
    order = np.argsort(distance, kind="stable")
    scaled = normalised(array, order)
    step = max(np.ptp(distance), 1e-3) / max(len(distance) - 1, 1)
    dense, named = len(distance) > DENSE, len(distance) <= NAMED
    for axis, (name, traces) in zip(axes, components(scaled).items()):
        if dense:
            image = axis.pcolormesh(
                array.time,
                distance[order],
                traces,
                cmap=wave_colours(),
                vmin=-0.8,
                vmax=0.8,
                shading="nearest",
                rasterized=True,
            )
        else:
            size = (0.75 if named else 1.5) * step  # few are far apart, with room for their names
            _wiggles(axis, array.time.values, distance[order], size * traces, COLOURS[name[-1:]])
        axis.set_title(COMPONENT_NAMES.get(name, name), loc="left")
        axis.set_xlabel("Time (s)")
    if named:
        name_traces(axes[-1], distance[order], scaled.receiver.values)
    axes[0].set_ylabel(f"Distance ({unit})")
    axes[0].set_xlim(float(array.time[0]), float(array.time[-1]))
    axes[-1].set_title(f"{label(array)}, normalised per receiver", loc="right", **ASIDE)
    if dense:
        scales.colour_bar(image, list(axes), f"{label(array)} / peak at each receiver")


def name_traces(axis, distance, names):
    """Write the names of receivers at the end of their traces; those at nearly one distance side by
    side.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    distance : (n,) array
        Rising.
    names : sequence of str
    """
    near = np.ptp(distance) / 25
    groups = []
    for place, name in zip(distance, names):
        if groups and place - groups[-1][0] < near:
            groups[-1][1].append(str(name))
        else:
            groups.append((place, [str(name)]))
    for place, together in groups:
        axis.annotate(
            ", ".join(together),
            (1.01, place),
            xycoords=axis.get_yaxis_transform(),
            va="center",
            fontsize=8,
            annotation_clip=False,
        )


def normalised(array, order):
    """Return receivers in an order, each divided by its largest absolute value; silent ones stay
    silent.

    Parameters
    ----------
    array : xarray.DataArray
        With the receivers first.
    order : (n,) array of int
    """
    values = np.nan_to_num(array.values[order])
    peaks = np.abs(values).reshape(len(values), -1).max(axis=1)
    peaks[peaks <= 1e-6 * peaks.max(initial=0)] = np.inf
    return array.isel(receiver=order).copy(data=values / peaks.reshape(-1, *[1] * (values.ndim - 1)))


def distances(array, origin=None):
    """Return distances of the receivers from the source, and their unit.

    On a chunk of the Earth they are degrees at its centre, elsewhere horizontal and in km.

    Parameters
    ----------
    array : xarray.DataArray
        With coordinates x, y (m) of the receivers, or distance (degree).
    origin : tuple of float, optional
        Position (x, y, z) of the source, m; the first receiver when absent.
    """
    if "distance" in array.coords and array.distance.attrs.get("units") == "degree":
        return array.distance.values, "degree"
    x, y = array.x.values, array.y.values
    x0, y0 = (x[0], y[0]) if origin is None else origin[:2]
    return np.hypot(x - x0, y - y0) / 1000, "km"


def draw_snapshot(axis, frame, sources=(), receivers=(), interfaces=(), limit=None):
    """Draw a wavefield on a plane on `axis`; returns the image, whose values are in `image.unit`."""
    vertical, horizontal = frame.dims
    values = frame.values
    if limit is None:
        limit = scales.robust_limit(values)
    factor, unit = prefixed(frame.attrs.get("units", ""), limit)
    image = scales.draw_cells(
        axis,
        frame[horizontal].values / 1000,
        frame[vertical].values / 1000,
        values * factor,
        smooth=True,
        cmap=wave_colours(),
        vmin=-limit * factor,
        vmax=limit * factor,
    )
    image.unit, image.label = unit, label(frame)
    axis.set_aspect("equal")
    axis.set_xlabel(f"{horizontal} ({'easting' if horizontal == 'x' else 'northing'}, km)")
    if vertical == "z":
        is_above = float(frame[vertical].max()) > 0  # as with mountains: depths would be negative
        if not is_above:
            axis.yaxis.set_major_formatter(lambda value, _: f"{-value + 0:g}")
        axis.set_ylabel("Elevation (km)" if is_above else "Depth (km)")
        for elevation in interfaces:
            level = along(frame, horizontal, elevation) / 1000
            axis.plot(frame[horizontal] / 1000, level, color="0.25", linewidth=0.9, linestyle=(0, (6, 3)))
    else:
        axis.set_ylabel(f"{vertical} (northing, km)")
    _symbols(axis, frame, receivers, marker="v", s=55 if len(receivers) <= 20 else 22, color="#1a1a1a", zorder=5)
    _symbols(axis, frame, sources, marker="*", s=170, color="#f2c200", zorder=6)
    time = f", t = {float(frame.time):.4g} s" if "time" in frame.coords else ""
    axis.set_title(heading(frame) + time, loc="left", pad=10)
    key = ["★ source"] * bool(np.size(sources)) + ["▼ station"] * bool(np.size(receivers))
    axis.set_title("   ".join([_plane(frame), *key]), loc="right", pad=10, **ASIDE)
    return image


def along(frame, horizontal, elevation):
    """Return elevations, m, of an interface along the horizontal axis of a vertical plane.

    Parameters
    ----------
    frame : xarray.DataArray
    horizontal : str
        ``"x"`` or ``"y"``.
    elevation : float or callable
        Of x and y, m.
    """
    points = frame[horizontal].values
    if not callable(elevation):
        return np.full(len(points), float(elevation))
    cut = "y" if horizontal == "x" else "x"
    across = np.full(len(points), float(frame[cut]) if cut in frame.coords else 0.0)
    return np.asarray(elevation(*((points, across) if horizontal == "x" else (across, points))), float)


def _quantity(dataset, name):
    """Return the variable asked for, or the first."""
    if not dataset.data_vars:
        raise ValueError("the dataset has no waveforms")
    return dataset[name or next(iter(dataset.data_vars))]


def components(array):
    """Component name -> values; one entry for pressure and the like."""
    dim = next((d for d in ("component", "tensor") if d in array.dims), None)
    if dim is None:
        return {array.attrs.get("symbol", "P"): array.values}
    values, axis = array.values, array.dims.index(dim)
    return {str(name): values.take(n, axis) for n, name in enumerate(array[dim].values)}


def label(array):
    """Name of the quantity for a title: the first clause of its long name."""
    text = str(array.attrs.get("long_name") or array.name or "").split(",")[0]
    return text[:1].upper() + text[1:]


def heading(frame):
    """Quantity and component of a frame: ``Particle velocity, north component``."""
    name = next((str(frame[d].values) for d in ("component", "tensor") if d in frame.coords and not frame[d].ndim), "")
    return label(frame) + (
        f", {COMPONENT_NAMES.get(name, name).lower() if len(name) == 1 else name} component" if name else ""
    )


def _plane(frame):
    """Which plane this is: ``y = 4 km``."""
    fixed = [axis for axis in "xyz" if axis in frame.coords and axis not in frame.dims]
    return ", ".join(f"{axis} = {float(frame[axis]) / 1000:.6g} km" for axis in fixed)


def _span(frame, dim):
    return max(float(np.ptp(frame[dim].values)), 1e-9)


def _wiggles(axis, time, distance, traces, colour):
    for offset, trace in zip(distance, traces):
        axis.plot(time, offset + trace, color=colour, linewidth=0.7)
        axis.fill_between(time, offset, offset + trace, where=trace > 0, color=colour, alpha=0.35, linewidth=0)


def _symbols(axis, frame, xyz, color, **style):
    """Points projected on the plane: filled where they lie within a thirtieth of its width, hollow
    where not.
    """
    if not np.size(xyz):
        return
    xyz = np.asarray(xyz, float).reshape(-1, 3)
    vertical, horizontal = frame.dims
    fixed = next((a for a in "xyz" if a not in frame.dims), "y")
    in_plane = np.ones(len(xyz), bool)
    if fixed in frame.coords:
        in_plane = np.abs(xyz[:, "xyz".index(fixed)] - float(frame[fixed])) <= _span(frame, horizontal) / 30
    for rows, fill in ((in_plane, color), (~in_plane, "none")):
        if rows.any():
            points = xyz[rows] / 1000
            axis.scatter(
                points[:, "xyz".index(horizontal)],
                points[:, "xyz".index(vertical)],
                facecolors=fill,
                clip_on=False,
                edgecolors="#1a1a1a",
                linewidths=0.8,
                **style,
            )
