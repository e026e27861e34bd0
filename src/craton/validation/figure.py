"""The figure of a validation: some seismograms over exact ones, and the misfit of every row over
its limit.
"""

import numpy as np

from craton.report.figures import COLOURS, STYLE, figure, prefixed

SHOWN = (
    "double-couple-4",
    "lamb",
    "two-layers-100",
    "lamb-2d",
    "garvin",
    "attenuation",
    "sem-space",
    "sem-lamb",
    "sem-two-layers",
    "sem-attenuation",
)  # of each the worst row that has curves
MAGNIFIED = 10  # the difference
LEAST = 1e-6  # of the limit: what is smaller is drawn there


def draw(rows):
    """Return a matplotlib Figure of rows of `craton.validation.validate`."""
    curved = [row for row in rows if "curves" in row]
    worst = {row["case"]: row for row in sorted(curved, key=lambda row: row["misfit"] / row["limit"])}
    shown = [worst[name] for name in SHOWN if name in worst] or curved[:6]
    names = list(dict.fromkeys(row["case"] for row in rows))
    with figure(9, 3.0 + 1.9 * -(-len(shown) // 2) + 0.2 * len(names)) as page:
        upper, lower = page.subfigures(2, 1, height_ratios=(1.9 * max(-(-len(shown) // 2), 1), 1.2 + 0.2 * len(names)))
        panels = upper.subplots(-(-len(shown) // 2), 2, squeeze=False).ravel() if shown else ()
        for axes, row in zip(panels, shown):
            seismogram(axes, row)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        if shown:
            panels[0].legend(loc="upper left", frameon=False, fontsize=8)
        misfits(lower.subplots(), rows, names)
    return page


def seismogram(axes, row):
    """Exact in black, found in colour over it, their difference below."""
    t, computed, expected = row["curves"]
    factor, unit = prefixed("m/s", np.abs(expected).max())
    axes.plot(t, factor * expected, color="black", linewidth=2.2, label="exact")
    axes.plot(t, factor * computed, color=COLOURS["N"], linewidth=1.0, label="craton")
    below = 1.6 * np.abs(expected).max()
    difference = factor * (MAGNIFIED * (computed - expected) - below)
    axes.plot(t, difference, color="0.5", linewidth=0.8, label=f"difference x {MAGNIFIED}")
    strong = t[np.abs(expected) > 0.005 * np.abs(expected).max()]
    axes.set(xlim=(strong[0] - 0.1 * np.ptp(strong), strong[-1] + 0.1 * np.ptp(strong)), xlabel="time (s)", ylabel=unit)
    axes.set_title(short(row["what"]), fontsize=8.5, fontweight="normal")


def short(text, most=64):
    """Return the beginning of a long text."""
    return text if len(text) <= most else text[: most - 1].rstrip(" ,:") + "…"


def misfits(axes, rows, names):
    """Draw a point for each row, misfit over limit, on a line of the chart for each case."""
    for row in rows:
        share = max(row["misfit"] / row["limit"], LEAST)
        look = {"marker": "o", "color": COLOURS["E"]} if row["passed"] else {"marker": "X", "color": COLOURS["N"]}
        axes.plot(share, names.index(row["case"]), markersize=5, linestyle="none", **look)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="misfit / limit", ylim=(len(names) - 0.4, -0.6), yticks=range(len(names)))
    axes.set_yticklabels(names)
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)


def save(rows, path):
    """Write the figure."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        draw(rows).savefig(path, dpi=130)
