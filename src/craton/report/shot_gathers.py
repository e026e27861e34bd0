"""Shot gathers: traces over signed offset, time downwards, as exploration draws them."""

import numpy as np

from craton.report import figures

SHOWN = 4  # shots of a picture
# Colours end at this part of a trace's peak: what surface waves leave of reflections is seen.
CLIP = 0.25
NOTE = "each trace divided by its peak"


def draw_shots(page, array, gain=1.0):
    """Draw up to four shots side by side, from the first to the last, each with the component that
    has most to see; return the name of that component.

    Parameters
    ----------
    page : matplotlib.figure.Figure
    array : xarray.DataArray
        Over shot, receiver and time, with the positions of the sources as `source_of` reads them.
    gain : float
        Of amplitudes.
    """
    shown = np.unique(np.linspace(0, array.sizes["shot"] - 1, SHOWN).round().astype(int))
    parts = {name: np.nanmean(np.abs(values)) for name, values in figures.components(array.isel(shot=shown)).items()}
    name = max(parts, key=parts.get)
    axes = page.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for axis, index in zip(axes, shown):
        shot = array.isel(shot=int(index)).load()
        dim = next((d for d in ("component", "tensor") if d in shot.dims), None)
        place = source_of(shot)
        draw_gather([axis], shot.sel({dim: [name]}) if dim else shot, place, gain)
        axis.set_title(f"shot {str(shot.shot.values)}", loc="left")
        where = "" if place is None else f"x {place[0] / 1000:.4g} km"
        axis.set_title(where, loc="right", **figures.ASIDE)
        axis.label_outer()
    return name


def source_of(array):
    """Return the position of the source that a shot's coordinates tell, m; None where they do not.

    Parameters
    ----------
    array : xarray.DataArray
    """
    names = [f"source_{axis}" for axis in "xyz"]
    known = all(name in array.coords and not array[name].ndim for name in names)
    return tuple(float(array[name]) for name in names) if known else None


def signed_offsets(array, origin=None):
    """Return horizontal distances of receivers from the source with the sign of the line's
    direction, m: positive towards the east, on lines that run north towards the north.

    The line is the principal axis of the receivers' positions.

    Parameters
    ----------
    array : xarray.DataArray
        With coordinates x, y (m) of the receivers.
    origin : tuple of float, optional
        Position (x, y, z) of the source, m; the first receiver when absent.
    """
    places = np.column_stack([array.x.values, array.y.values]).astype(float)
    line = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)[2][0]
    line = line * (1.0 if line[np.argmax(np.abs(line))] >= 0 else -1.0)
    away = places - (places[0] if origin is None else np.asarray(origin[:2], float))
    return np.hypot(*away.T) * np.where(away @ line < 0, -1.0, 1.0)


def draw_gather(axes, array, origin=None, gain=1.0):
    """Draw all receivers over signed offset with time downwards on `axes`, a component on each.

    Wiggles with their positive side filled, or a colour image where receivers are many; each is
    scaled by the largest absolute value of its components, and colours end at a quarter of it over
    `gain`.
    """
    offset = signed_offsets(array, origin) / 1000
    order = np.argsort(offset, kind="stable")
    offset, scaled = offset[order], figures.normalised(array, order)
    step = max(np.ptp(offset), 1e-3) / max(len(offset) - 1, 1)
    time = array.time.values
    for axis, (name, traces) in zip(axes, figures.components(scaled).items()):
        if len(offset) > figures.DENSE:
            axis.pcolormesh(
                offset,
                time,
                traces.T,
                cmap=figures.wave_colours(),
                vmin=-CLIP / gain,
                vmax=CLIP / gain,
                shading="nearest",
                rasterized=True,
            )
        else:
            _hanging_wiggles(axis, time, offset, 1.5 * gain * step * traces, figures.COLOURS[name[-1:]])
        axis.set_title(figures.COMPONENT_NAMES.get(name, name), loc="left")
        axis.set_xlabel("Offset (km)")
        axis.xaxis.set_label_position("top")
        axis.xaxis.tick_top()
        axis.spines[["top", "bottom"]].set_visible(True)
    axes[-1].set_title(NOTE, loc="right", **figures.ASIDE)
    axes[0].set_ylabel("Time (s)")
    axes[0].set_ylim(float(time[-1]), float(time[0]))


def _hanging_wiggles(axis, time, offset, traces, colour):
    for position, trace in zip(offset, traces):
        axis.plot(position + trace, time, color=colour, linewidth=0.7)
        axis.fill_betweenx(time, position, position + trace, where=trace > 0, color=colour, alpha=0.35, linewidth=0)
