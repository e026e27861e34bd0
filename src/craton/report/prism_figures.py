"""The prisms of a gravity scenario, before or after its run: their mass per area from above and from
the south, and where the points are.
"""

import numpy as np

from craton.model.prisms import ensembles, from_scenario
from craton.report import figures, scales
from craton.report.style import wave_colours

BINS = 400  # of a map at most
SPARSE = 60  # bins of prisms that lie anywhere


def figure_of(scenario):
    """Return the figure of a gravity scenario's prisms.

    Parameters
    ----------
    scenario : Scenario
    """
    built = from_scenario.build(scenario.prisms)
    whole = built[0] if len(built) == 1 else ensembles.union(built)
    views = [mass_per_area(whole, 0, 1), mass_per_area(whole, 0, 2)]
    spans = [max(np.ptp(b) / max(np.ptp(a), 1e-9), 0.12) for a, b, _ in views]
    heights = [float(np.clip(6.5 * span, 1.2, 7.0)) for span in spans]
    with figures.figure(8.5, 1.4 + sum(heights)) as page:
        for axis, view, words in zip(
            page.subplots(2, 1, height_ratios=heights),
            views,
            (("y (northing, km)", "From above"), ("z (elevation, km)", "From the south")),
        ):
            _draw(axis, view, *words)
        low, high = (f"{float(v):,.5g}" for v in (whole.density.min(), whole.density.max()))
        title = scenario.title or "Prisms"
        words = f"{title}: {len(whole):,} prisms, {low} to {high} kg/m³"
        page.suptitle(words, x=0.012, ha="left", fontsize=12, fontweight="bold")
    return page


def mass_per_area(ensemble, across, up):
    """Mass of prisms over the area of bins in the plane of two axes: edges of the bins, m, and values
    (n_up, n_across), kg/m2.

    Parameters
    ----------
    ensemble : Cells or PrismList
    across, up : int
        Axes, 0 to 2.
    """
    prisms = ensemble.prisms
    volume = np.prod(prisms[:, 1::2] - prisms[:, ::2], axis=1)
    middle = (prisms[:, ::2] + prisms[:, 1::2]) / 2
    edges = [_edges(ensemble, axis) for axis in (across, up)]
    mass, *_ = np.histogram2d(middle[:, up], middle[:, across], edges[::-1], weights=ensemble.density * volume)
    return *edges, mass / np.outer(np.diff(edges[1]), np.diff(edges[0]))


def _edges(ensemble, axis):
    """Edges of bins along an axis, m: those of the cells, together where they are many."""
    cells = getattr(ensemble, "xyz"[axis], None)
    if cells is None:
        low, high = ensemble.prisms[:, 2 * axis].min(), ensemble.prisms[:, 2 * axis + 1].max()
        return np.linspace(low, high, SPARSE + 1)
    stride = -(-(len(cells) - 1) // BINS)
    chosen = cells[::stride]
    return chosen if chosen[-1] == cells[-1] else np.append(chosen, cells[-1])


def _draw(axis, view, label, title):
    across, up, values = view
    limit = scales.robust_limit(values, 100.0)
    is_signed = values.min() < 0 < values.max()
    image = axis.pcolormesh(
        across / 1000,
        up / 1000,
        np.where(values == 0, np.nan, values),
        cmap=wave_colours() if is_signed else "cividis",
        vmin=-limit if is_signed else None,
        vmax=limit if is_signed else None,
        rasterized=True,
    )
    scales.side_bar(image, axis, "kg/m²")
    axis.set_aspect("equal")
    axis.set(xlabel="x (easting, km)", ylabel=label)
    axis.set_title(f"{title}: mass over area", loc="left")
