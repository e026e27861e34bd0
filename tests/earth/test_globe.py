"""Events and stations in a chunk of the Earth: files, positions, mechanisms and records in the axes of each station."""

import numpy as np
import pytest
import xarray

from craton.model.globe import prem
from craton.model.globe.chunk import chunk
from craton.survey import globe, receivers, source_files

CMT = """PDE 1994 6 9 0 33 16.4 -13.8300 -67.5600 637.0 6.9 6.8 NORTHERN BOLIVIA
event name:     060994A
time shift:     0.0
half duration:  20.0
latitude:      -12.0
longitude:     -60.0
depth:         647.1
Mrr:      -7.59e27
Mtt:       7.75e27
Mpp:      -0.16e27
Mrt:      -2.503e28
Mrp:       0.42e27
Mtp:      -2.48e27
"""
STATIONS = "LPAZ GT -16.2879 -68.1307 4717.0 20.0\nSAML AM -8.9489 -63.1831 120.0 0.0\n"


@pytest.fixture(scope="module")
def there():
    return globe.Globe(chunk(prem.prem(), (-67.25, -13.82), (20, 16), 1500e3, elements=(8, 8), growth=(), azimuth=15))


class Domain:
    """As far as files look at it."""

    planar = False


def test_events_from_files(there, tmp_path, monkeypatch):
    (tmp_path / "CMTSOLUTION").write_text(CMT)
    monkeypatch.setattr("craton.survey.geography.places", lambda domain, coordinates: there)

    class Entry:
        kind, file, coordinates, convention, wavelet, name = (
            "cmtsolution",
            str(tmp_path / "CMTSOLUTION"),
            "geographic",
            "rtp",
            None,
            None,
        )

    class Scenario:
        domain = Domain

    (source,) = source_files.build(Entry, "bolivia", Scenario, None)
    assert np.allclose(there.chunk.whereabouts(np.array(source.xyz)), (-60, -12, 647.1e3))
    own = np.array([-7.59e20, 7.75e20, -0.16e20, -2.503e21, 0.42e20, -2.48e20])  # N m: the six of the file in dyn cm
    axes = there.chunk.axes(-60.0, -12.0)
    east, north, up = axes.T
    assert up @ source.moment @ up == pytest.approx(own[0]) and north @ source.moment @ north == pytest.approx(own[1])
    assert up @ source.moment @ -north == pytest.approx(own[3]) and up @ source.moment @ east == pytest.approx(own[4])
    assert np.trace(source.moment) == pytest.approx(own[:3].sum(), abs=1e10)


def test_stations_from_files(there, tmp_path, monkeypatch):
    (tmp_path / "STATIONS").write_text(STATIONS)
    monkeypatch.setattr("craton.survey.geography.places", lambda domain, coordinates: there)

    class Entry:
        file, coordinates = str(tmp_path / "STATIONS"), "geographic"

    names, xyz, deep, codes = receivers.read_file(Entry, Domain)
    assert names == ["LPAZ", "SAML"] and not deep
    longitude, latitude, depth = there.chunk.whereabouts(xyz)
    assert np.allclose(longitude, (-68.1307, -63.1831)) and np.allclose(latitude, (-16.2879, -8.9489))
    assert np.allclose(depth, (20, 0), atol=1e-6)
    assert not there.outside(xyz)


def test_places_outside_are_told(there):
    xyz = there.xyz([-67.0, -67.0, -40.0], [-14.0, -14.0, -14.0], [-2e3, 1600e3, 10e3])
    words = [text for _, text in there.outside(xyz)]
    assert "above the ground" in words[0] and "1500 km deep" in words[1] and "reaches to 10 and 8" in words[2]


def records(xyz, motion, tensor):
    """A dataset as a run gives it, in the axes of the chunk."""
    coords = {
        "receiver": ["A", "B"],
        "component": list("ENZ"),
        "tensor": ["EE", "NN", "ZZ", "EN", "EZ", "NZ"],
        "time": [0.0, 1.0],
    }
    coords |= {axis: ("receiver", xyz[:, n]) for n, axis in enumerate("xyz")}
    time = np.array([1.0, -2.0])
    return xarray.Dataset(
        {
            "velocity": (("receiver", "component", "time"), motion[:, :, None] * time, {"units": "m/s"}),
            "strain": (("receiver", "tensor", "time"), tensor[:, :, None] * time),
            "pressure": (("receiver", "time"), np.ones((2, 2))),
        },
        coords,
    )


def test_records_get_the_axes_of_their_station(there):
    """Motion straight up at each station, and stretching along its north."""
    longitude, latitude = np.array([-70.0, -62.0]), np.array([-10.0, -18.0])
    xyz, axes = there.xyz(longitude, latitude), there.rotation(longitude, latitude)
    north = axes[:, :, 1]
    tensor = np.stack([north[:, a] * north[:, b] for a, b in globe.PAIRS], axis=1)
    found = globe.local(
        records(xyz, axes[:, :, 2], tensor), globe.stations(there, xyz, there.xyz(-67.25, -13.82, 600e3))
    )
    assert np.allclose(found.velocity, np.array([0, 0, 1])[None, :, None] * np.array([1, -2.0]), atol=1e-14)
    assert np.allclose(found.strain.isel(time=0), [[0, 1, 0, 0, 0, 0]] * 2, atol=1e-14)
    assert found.velocity.attrs["units"] == "m/s" and (found.pressure == 1).all()
    assert (
        np.allclose(found.longitude, longitude)
        and np.allclose(found.latitude, latitude)
        and np.allclose(found.depth, 0, atol=1e-6)
    )


def test_distances_and_azimuths_of_records(there):
    obspy = pytest.importorskip("obspy.geodetics")
    longitude, latitude = np.array([-70.0, -62.0]), np.array([-10.0, -18.0])
    xyz = there.xyz(longitude, latitude)
    found = globe.local(
        records(xyz, np.ones((2, 3)), np.ones((2, 6))), globe.stations(there, xyz, there.xyz(-67.25, -13.82, 600e3))
    )
    for n in range(2):  # on the ellipsoid: 0.3 % and 0.2 degrees off
        metres, azimuth, back = obspy.gps2dist_azimuth(-13.82, -67.25, latitude[n], longitude[n])
        assert float(found.azimuth[n]) == pytest.approx(azimuth, abs=0.2) and float(
            found.back_azimuth[n]
        ) == pytest.approx(back, abs=0.2)
        assert float(found.distance[n]) == pytest.approx(np.degrees(metres / 6371e3), rel=6e-3)
