"""Sources and hydrophones on the free surface: what is silent there is told, and what is told is silent."""

import pytest

import craton

WATER = {"kind": "homogeneous", "vp": 1500, "vs": 0, "rho": 1000}
ROCK = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
EXPLOSION = {"kind": "explosion", "moment": 1e12}
DIP_SLIP = {"kind": "moment_tensor", "tensor": {"xz": 1e12}}
STRIKE_SLIP = {"kind": "moment_tensor", "tensor": {"xy": 1e12}}


def scenario(method, model, source, z, receiver, ground=0, axes=3, tau=0.06, **tables):
    size = [1600, 1600, 1200 + ground]
    pick = {3: [0, 1, 2], 2: [0, 2]}[axes]
    domain = tables.pop("domain", {})
    resolution = {"spacing": 50} if method == "fd" else {"element_size": 200}
    if ground:
        model = model | {"topography": {"x": [0, 1600], "y": [0, 1600], "z": [[100] * 2] * 2}}
    return craton.Scenario(
        method=method,
        domain={"origin": [[0, 0, -1200][i] for i in pick], "size": [size[i] for i in pick]} | resolution | domain,
        model=model,
        time={"duration": 0.7, "start": -0.3},
        source=[
            source | {"at": [[500, 800, z][i] for i in pick], "wavelet": {"kind": "gaussian", "tau": tau, "delay": 0}}
        ],
        receivers=[{"name": "R", "at": [[900, 900, receiver][i] for i in pick]}],
        output={"waveforms": ["velocity", "pressure"][: 1 if domain.get("waves") else 2]},
        boundaries={"cpml": {"thickness": 5}} if method == "fd" else {},
        **tables,
    )


def told(scenario):
    return [w for w in craton.plan(scenario).warnings if "free surface" in w]


def peaks(scenario):
    data = craton.run(scenario, progress=False).dataset
    return tuple(float(abs(data[name]).max()) for name in ("velocity", "pressure"))


@pytest.mark.parametrize("method, axes", [("fd", 2), ("fd", 3), ("sem", 3)])
def test_a_fluid_has_no_pressure_at_its_surface(method, axes):
    """Neither explosions nor hydrophones there; a cell deeper both do what they should."""
    silent = scenario(method, WATER, EXPLOSION, 0, -100, axes=axes)
    deeper = scenario(method, WATER, EXPLOSION, -50, -100, axes=axes)
    (words,) = told(silent)
    assert words.startswith("source 1 is on the free surface") and "put it a cell deeper" in words
    assert told(deeper) == []
    assert peaks(silent)[1] < 1e-4 * peaks(deeper)[1]
    (words,) = told(scenario(method, WATER, EXPLOSION, -50, 0, axes=axes))
    assert "record no pressure, which is 0 there: R" in words


def test_a_hydrophone_at_the_surface_is_zero():
    velocity, pressure = peaks(scenario("fd", WATER, EXPLOSION, -50, 0, axes=2))
    assert velocity > 0 and pressure < 1e-4 * peaks(scenario("fd", WATER, EXPLOSION, -50, -50, axes=2))[1]


def test_without_a_free_surface_nothing_is_told():
    s = scenario("fd", WATER, EXPLOSION, 0, 0, axes=2)
    s = craton.Scenario(
        **s.model_dump(by_alias=True, exclude_none=True) | {"boundaries": {"top": "cpml", "cpml": {"thickness": 5}}}
    )
    assert told(s) == []


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_the_surface_may_be_a_topography(method):
    water = scenario(method, WATER, EXPLOSION, 100, 100, ground=200)
    assert len(told(water)) == 2
    assert told(scenario(method, WATER, EXPLOSION, 50, 50, ground=200)) == []
    assert told(scenario(method, ROCK, EXPLOSION, 100, 100, ground=200)) == []


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_rock_is_silent_for_moments_of_its_surface_tractions_alone(method):
    """Vertical dip slip does nothing there, an explosion and strike slip do (reciprocity: strains xz are zero)."""
    (words,) = told(scenario(method, ROCK, DIP_SLIP, 0, 0))
    assert "shear tractions" in words
    for source in (EXPLOSION, STRIKE_SLIP):
        assert told(scenario(method, ROCK, source, 0, 0)) == []
    assert told(scenario(method, ROCK, DIP_SLIP, -50, 0)) == []


def test_dip_slip_is_silent_by_elements_at_the_surface():
    fine = {"domain": {"element_size": 130}, "tau": 0.1}
    silent, loud = (scenario("sem", ROCK, DIP_SLIP, z, -100, **fine) for z in (0, -130))
    assert peaks(silent)[0] < 0.05 * peaks(loud)[0]


def test_shear_waves_in_the_plane():
    across = {"waves": "SH"}
    dip = {"kind": "moment_tensor", "tensor": {"yz": 1e12}}
    strike = {"kind": "moment_tensor", "tensor": {"xy": 1e12}}
    for source, count in ((dip, 1), (strike, 0)):
        s = scenario("fd", ROCK, source, 0, 0, axes=2, domain=across)
        assert len(told(s)) == count
