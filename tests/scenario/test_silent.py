"""Sources and hydrophones on the free surface: what is silent there is told, and what is told is silent."""

import pytest

import craton

WATER = {"kind": "homogeneous", "vp": 1500, "vs": 0, "rho": 1000}
ROCK = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
EXPLOSION = {"kind": "explosion", "moment": 1e12}
DIP_SLIP = {"kind": "moment_tensor", "tensor": {"xz": 1e12}}
STRIKE_SLIP = {"kind": "moment_tensor", "tensor": {"xy": 1e12}}


def scenario(method, model, source, z, receiver, ground=0, axes=3, tau=0.06, top="free", **domain):
    """A source at the elevation z and a receiver; with `ground` its surface is a topography at 100 m."""

    def placed(*place):
        return list(place) if axes == 3 else [place[0], place[2]]

    resolution = {"spacing": 50} if method == "fd" else {"element_size": 400}
    if ground:
        model = model | {"topography": {"x": [0, 1600], "y": [0, 1600], "z": [[100] * 2] * 2}}
    box = {"origin": placed(0, 0, -1200), "size": placed(1600, 1600, 1200 + ground)}
    return craton.Scenario(
        method=method,
        domain=box | resolution | domain,
        model=model,
        time={"duration": 0.7, "start": -0.3},
        source=[source | {"at": placed(500, 800, z), "wavelet": {"kind": "gaussian", "tau": tau, "delay": 0}}],
        receivers=[{"name": "R", "at": placed(900, 900, receiver)}],
        output={"waveforms": ["velocity", "pressure"][: 1 if "waves" in domain else 2]},
        boundaries={"top": top} | ({"cpml": {"thickness": 5}} if method == "fd" else {}),
    )


def warnings(*words, **options):
    """Warnings of a plan that are about the free surface."""
    return [w for w in craton.plan(scenario(*words, **options)).warnings if "free surface" in w]


def peaks(*words, **options):
    data = craton.run(scenario(*words, **options), progress=False).dataset
    return tuple(float(abs(data[name]).max()) for name in ("velocity", "pressure"))


@pytest.mark.parametrize("method, axes", [("fd", 2), ("fd", 3), ("sem", 3)])
def test_a_fluid_has_no_pressure_at_its_surface(method, axes):
    """Neither explosions nor hydrophones there; a cell deeper both do what they should."""
    silent, deeper = ((method, WATER, EXPLOSION, z, -100) for z in (0, -50))
    assert peaks(*silent, axes=axes)[1] < 1e-4 * peaks(*deeper, axes=axes)[1]
    if axes == 2:
        velocity, pressure = peaks("fd", WATER, EXPLOSION, -50, 0, axes=2)
        assert velocity > 0 and pressure < 1e-4 * peaks("fd", WATER, EXPLOSION, -50, -50, axes=2)[1]


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_what_is_silent_is_told(method):
    """Rock is silent for moments of its surface tractions alone: vertical dip slip does nothing there, an explosion and strike slip
    do (reciprocity: strains xz are zero).
    """
    for axes in (2, 3) if method == "fd" else (3,):
        (words,) = warnings(method, WATER, EXPLOSION, 0, -100, axes=axes)
        assert words.startswith("source 1 is on the free surface") and "put it a cell deeper" in words
        assert warnings(method, WATER, EXPLOSION, -50, -100, axes=axes) == []
        (words,) = warnings(method, WATER, EXPLOSION, -50, 0, axes=axes)
        assert "record no pressure, which is 0 there: R" in words
    (words,) = warnings(method, ROCK, DIP_SLIP, 0, 0)
    assert "shear tractions" in words
    for source, z in ((EXPLOSION, 0), (STRIKE_SLIP, 0), (DIP_SLIP, -50)):
        assert warnings(method, ROCK, source, z, 0) == []
    assert len(warnings(method, WATER, EXPLOSION, 100, 100, ground=200)) == 2
    assert warnings(method, WATER, EXPLOSION, 50, 50, ground=200) == []
    assert warnings(method, ROCK, EXPLOSION, 100, 100, ground=200) == []


def test_what_is_told_in_the_plane_and_without_a_free_surface():
    assert warnings("fd", WATER, EXPLOSION, 0, 0, axes=2, top="cpml") == []
    for source, count in (({"yz": 1e12}, 1), ({"xy": 1e12}, 0)):
        tensor = {"kind": "moment_tensor", "tensor": source}
        assert len(warnings("fd", ROCK, tensor, 0, 0, axes=2, waves="SH")) == count


@pytest.mark.long
def test_dip_slip_is_silent_by_elements_at_the_surface():
    silent, loud = (peaks("sem", ROCK, DIP_SLIP, z, -100, element_size=130, tau=0.1)[0] for z in (0, -130))
    assert silent < 0.05 * loud
