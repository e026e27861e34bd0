"""Travel times against the table of the reference, picks on synthetic pulses, and the figures of both."""

import numpy as np
import pandas
import pytest
import xarray as xr
from common import refused
from earthcase import CENTRE, PREM, SIMPLE
from paths import SHARED

from craton.model.globe import radial_files
from craton.model.globe.chunk import chunk
from craton.report import figures, station_maps
from craton.report.traces import draw_profile

pytest.importorskip("obspy")

from craton.survey import traveltimes  # noqa: E402 (needs ObsPy)

EARTH = SHARED / "references" / "earth"


@pytest.mark.skipif(not EARTH.exists(), reason="shared/ is not beside the checkout")
@pytest.mark.costly("the only times that others computed; TauP takes seconds for PREM")
def test_times_of_prem_against_the_table_of_the_reference():
    """TauP takes speeds between lines as linear: lines 20 km apart here, about 50 km in the table, which makes up to 3e-4 of the time."""
    table = pandas.read_csv(EARTH / "taup_prem.csv")
    rows, checked = table[np.isclose(table.depth_km, 647.1, atol=0.01)], 0
    for distance in sorted(set(rows.delta_deg))[:6]:
        single = rows[rows.delta_deg == distance].drop_duplicates("phase", keep=False)
        arrivals = traveltimes.arrivals(PREM, 647.1e3, distance, set(single.phase))
        for phase, expected in zip(single.phase, single.time_s):
            times = [arrival.time for arrival in arrivals if arrival.phase == phase]
            if len(times) == 1:
                assert times[0] == pytest.approx(expected, rel=3e-4, abs=0.02)
                checked += 1
    assert checked >= 10


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    """A model of few layers: TauP takes seconds for PREM."""
    path = tmp_path_factory.mktemp("model") / "simple.nd"
    path.write_text(SIMPLE)
    return radial_files.model(path)


def test_curves_have_their_branches(simple):
    distances, times = traveltimes.curves(simple, 647.1e3, [5.0, 10.0, 20.0], ("p", "P", "PcP"))["PcP"]
    assert (np.diff(times) > 0).all() and list(distances) == [5, 10, 20]
    assert times == pytest.approx([traveltimes.arrivals(simple, 647.1e3, at, ["PcP"])[0].time for at in distances])


def gaussian(t, sigma=3.0):
    return np.exp(-0.5 * (t / sigma) ** 2)


def test_pulses_are_picked_between_samples():
    """The likeness is that at the nearest sample."""
    t = np.arange(-20.0, 380.0)
    for arrival, sign in ((100.0, 1), (100.37, 1), (100.37, -1)):
        trace = sign * 3 * gaussian(t - arrival) + 20 * gaussian(t - 180.0)
        time, likeness = traveltimes.delay(trace, gaussian, 1.0, -20.0, (70, 130))
        assert time == pytest.approx(arrival, abs=0.02) and likeness == pytest.approx(sign, abs=5e-3)
        assert traveltimes.delay(trace, gaussian, 1.0, -20.0, (170, 190))[0] == pytest.approx(180, abs=0.02)
    refused(ValueError, "does not hold", traveltimes.delay, trace, gaussian, 1.0, -20.0, (900, 950))


def test_figures(tmp_path, simple):
    t, distance = np.arange(0, 900, 1.0), np.array([2.0, 5, 9])
    traces = np.array([gaussian(t - 80 - 10 * d) for d in distance])
    curves = traveltimes.curves(simple, 647.1e3, np.arange(2, 10, 2.0), ("p", "s"))
    places = {"distance": ("receiver", distance, {"units": "degree"}), "receiver": ["A", "B", "C"], "time": t}
    array = xr.DataArray(traces, places, ("receiver", "time"), "displacement")
    with figures.figure(6, 6) as page:
        draw_profile(axes := page.subplots(), array, None, curves, scale="trace")
    assert len(axes.lines) == 5 and {text.get_text() for text in axes.texts} == {"p", "s", "A", "B", "C"}
    page.savefig(tmp_path / "section.png")
    made = chunk(PREM, CENTRE, (20, 20), 1500e3, period=80)
    places = {"longitude": ("receiver", [-67.25]), "latitude": ("receiver", [-18.82]), "receiver": ["S5"]}
    source = dict(zip(("source_longitude", "source_latitude"), CENTRE))
    axes = station_maps.globe_map(xr.Dataset(coords=places, attrs=source), made).axes[1]
    assert axes.get_title(loc="left") == "11 x 11 elements at the surface, 968 in all"
    lines = np.concatenate([line.get_xydata() for line in axes.lines if line.get_color() == "#b3261e"])
    assert np.abs(lines).max(axis=0) == pytest.approx(
        np.sin(np.radians([10, 12.5])), abs=0.01
    )  # about the middle of both
    with figures.resolution(40):
        axes.figure.savefig(tmp_path / "map.png")
