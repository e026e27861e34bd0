"""Long runs: nothing grows in any row of the table (the quick form: planes and thin slices); and that the instrument sees what grows."""

from dataclasses import replace

import numpy as np
import pytest

from craton.methods.finite_difference import boundaries
from craton.scenario import Scenario
from craton.validation import stability_cases as cases
from craton.validation.reflection import Incidence, measured
from craton.validation.stability import FORMS, QUICK, ROWS, TRAPPED, Diverged, Watch, measure, stability

# Rows that are known not to hold, each with what is seen; strict, so that a cure is noticed.
OPEN = {"a1": "A1 at the sides grows: above 1e-4 of the peak, 8e-4 at 16,000 steps; plans warn of it"}


def rows(names):
    """Parameters of the names, those of `OPEN` expected to fail."""
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name], strict=True)) if name in OPEN else name
        for name in names
    ]


# Elements along x, y and z in place of those of the table, half as many: as large, so as many steps of the same length, and the same
# faces, edges and corners of layers, three elements thick; the source stays above those at the bottom.
ELEMENTS = {"cubes": (8, 8, 7), "lossy": (8, 8, 7), "two-layers": (9, 9, 8), "sea-floor": (8, 8, 8)}


@pytest.mark.parametrize("name", rows(QUICK))
def test_nothing_grows(name, monkeypatch):
    for of_row, elements in ELEMENTS.items():
        if name.startswith(f"sem-{of_row}-"):
            monkeypatch.setitem(ROWS, name, replace(ROWS[name], elements=elements))
    (row,) = stability("cpu", "quick", [name])
    assert row["passed"], row


def small(step=None, **boundaries):
    """A plane of rock, 40 x 30 points."""
    return Scenario(
        domain={"origin": [-500, -750], "size": [1000, 750], "spacing": 25},
        model={"kind": "homogeneous", **cases.ROCK},
        time={"duration": 1.0, **({"step": step} if step else {})},
        boundaries=boundaries,
        source=[{"kind": "explosion", "at": [10, -300], "moment": 1e13, "wavelet": {"kind": "ricker", "frequency": 5}}],
    )


def basin():
    """A basin of Vs 250 in Vs 2000 up to the inner edges of layers of 8 points, 33 x 25 points."""
    soft = {"vp": 1500, "vs": 250, "rho": 1700}
    body = {"shape": "box", "min": [-300, -1e4, -100], "max": [200, 1e4, 0], **soft}
    force = {"kind": "force", "at": [60, 0], "force": [0, -1e6]}
    return Scenario(
        domain={"origin": [-400, -600], "size": [800, 600], "spacing": 25},
        model={"kind": "homogeneous", **cases.ROCK, "anomalies": [body]},
        time={"duration": 1.0},
        boundaries={"cpml": {"thickness": 8}},
        source=[force | {"wavelet": {"kind": "ricker", "frequency": 3}}],
    )


def test_a_basin_at_the_layers_grows_only_where_they_stretch_without_bound(monkeypatch):
    """The mode at 3 Vs / 4 H = 1.9 Hz, backward in the layer: 0.4 decades in 1,000 steps."""
    found = measure(basin(), 8000, "cpu")
    assert not found["grows"] and found["rise"] < 0.8
    monkeypatch.setattr(boundaries, "greatest_stretch", lambda d: np.inf)
    found = measure(basin(), 8000, "cpu")
    assert found["grows"] and found["rise"] > 3


def test_what_stays_is_seen():
    """Between rigid faces nothing leaves."""
    found = measure(small(top="rigid", others="rigid"), 2000, "cpu")
    assert 0.05 < found["ratio"] < 1.5 and 0.05 < found["half_ratio"] < 1.5 and found["diverged"] is None
    assert found["steps"][-1] == 2000 and len(found["steps"]) == len(found["velocity"])


def test_what_leaves_is_seen():
    found = measure(small(top="cpml"), 2000, "cpu")
    assert found["ratio"] < 1e-5 < 0.1 < found["peak"] / found["velocity"].max() <= 1


class Growing:
    """Stands for a program whose velocity is multiplied by 1.01 in each step."""

    class plan:  # noqa: N801
        arrays, start, dt, steps, points = {"vx": None, "vz": None}, -0.1, 0.001, 3000, 1

    class backend:  # noqa: N801
        xp = np
        work = staticmethod(__import__("contextlib").nullcontext)

    def __init__(self):
        self.arrays = {"vx": np.zeros(4), "vz": np.ones(4)}


def test_what_grows_ends_the_run():
    """A thousand times the peak of the beginning (400 steps): 694 steps later, seen within 100; what is not finite, at once."""
    from craton.comm.local import Alone

    program = Growing()
    watch = Watch(program, Alone(), 40_000)
    with pytest.raises(Diverged):
        for step in range(3000):
            program.arrays["vz"] *= 1.01
            watch.sample(step)
    assert 1094 <= watch.steps[-1] <= 1200
    watch = Watch(program, Alone(), 40_000)
    program.arrays["vx"][2] = np.nan
    with pytest.raises(Diverged):
        watch.look(10)


def test_ranks_see_the_same():
    """The largest value of all ranks."""
    scenario = small().model_copy(update={"run": small().run.model_copy(update={"grid": (2, 1, 1)})})
    one, two = (measure(scenario, 300, "cpu", ranks=n) for n in (1, 2))
    assert np.array_equal(one["velocity"], two["velocity"])


def test_trapped_waves_are_compared_with_a_wide_box(tmp_path):
    """The middle of a wide box is the small one: same points, same source; its width about four times."""
    row = ROWS["soft-top"]
    one, wide = (row.scenario(tmp_path, "P-SV", n) for n in (1, 4))
    assert one.source == wide.source and one.domain.spacing == wide.domain.spacing
    offset = (one.domain.origin[0] - wide.domain.origin[0]) / one.domain.spacing
    assert offset == round(offset) and wide.domain.size[0] / one.domain.size[0] == pytest.approx(4, rel=0.02)
    (found,) = stability("cpu", "quick", ["soft-top"], steps=400)
    assert found["until"] > 1 and found["trapped"] > 1e-4 and found["limit"] == TRAPPED


def test_forms():
    assert set(FORMS) == {"quick", "standard", "full"} and set(QUICK) <= set(ROWS) and len(cases.DATA["more"]) >= 12
    assert all(set(counts) == {"fd", "bodies", "sem"} for _, counts in FORMS.values())


# --- what layers send back --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wave", ["P", "S", "Rayleigh"])
def test_layers_send_little_back(wave):
    """Less than -60 dB up to 60 degrees; the other angles and Rayleigh waves that come aslant are in `craton validate reflection`."""
    found = measured(Incidence(wave, (0,) if wave == "Rayleigh" else (0, 40, 60)), "cpu")
    assert all((ratios > 1e-7).all() and (ratios < 1e-3).all() for ratios in found.values()), found


def test_walls_send_all_back():
    """A rigid wall 10 points behind the inner edge: what comes has gone 20 points further than to the mirror image, of 86."""
    found = measured(Incidence("P", (0,), (("west", "rigid"),)), "cpu")
    assert all(ratios[0] == pytest.approx((86 / 106) ** 0.5, rel=0.1) for ratios in found.values()), found
