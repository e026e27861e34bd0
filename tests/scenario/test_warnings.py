"""What a plan warns of: settings that can be computed but are probably not meant."""

from common import edited

import craton
from craton.scenario import Scenario

SLOW, FAST = {"vp": 3000, "vs": 1500, "rho": 2000}, {"vp": 6000, "vs": 3400, "rho": 2600}
SOURCE = {"kind": "explosion", "at": [3000, 3000, -3000], "moment": 1e15, "wavelet": {"kind": "gaussian", "tau": 0.2}}
ROCK = {
    "domain": {"origin": [0, 0, -6000], "size": [6000] * 3, "spacing": 100},
    "model": {"kind": "homogeneous", **FAST},
    "time": {"duration": 1},
    "source": [SOURCE],
    "receivers": [{"name": "A", "at": [3500, 3000, 0]}],
}


def of_layers(*layers, **boundaries):
    """Warnings of the plan of two layers in a small box."""
    model = {"kind": "layers", "layers": [{"top": top, **layer} for top, layer in zip((0, -1000), layers)]}
    return craton.plan(Scenario(**ROCK | {"model": model, "boundaries": boundaries})).warnings


def test_nothing_where_nothing_is_odd():
    """Nor of growth where nothing grows: plates and fast layers over slow ones between absorbing sides are stable."""
    assert of_layers(SLOW, FAST) == []
    for bottom in ("rigid", "sponge"):
        warnings = of_layers(SLOW, FAST, bottom=bottom) + of_layers(FAST, SLOW)
        assert not any("grow" in w for w in warnings)  # bench/long_runs.py runs them


def test_kilometres_and_other_units_are_suspicious():
    """Read as metres, a source at 1.5 km would lie in the uppermost grid cell; not 2.5 m below a ground 600 m deep."""
    for depth, odd in ((1.5, True), (12.0, False), (0.0, False), (1500.0, False)):
        source = SOURCE | {"at": {"x": 3000, "y": 3000, "depth": depth}}
        warnings = Scenario(**ROCK | {"source": [source]}).warnings
        assert any("a depth of 1.5 m" in w and "did you mean km?" in w for w in warnings) == odd, depth
    shot = {"kind": "force", "at": {"x": 300, "y": 300, "depth": 2.5}, "force": [0, 0, -1e6]}
    shot["wavelet"] = {"kind": "ricker", "frequency": 5}
    small = {"origin": [0, 0, -600], "size": [600] * 3, "spacing": 50}
    receivers = [{"name": "A", "at": [350, 300, 0]}]
    scenario = Scenario(**ROCK | {"domain": small, "source": [shot], "receivers": receivers})
    assert not any("did you mean km?" in w for w in scenario.warnings)
    for water, odd in (({"vp": 1.5}, True), ({"rho": 1.03}, True), ({}, False), ({"vp": 1450, "rho": 1030}, False)):
        deep = [{"name": "A", "at": [3500, 3000, -3000]}]
        sea = edited(ROCK, model__topography=-100, model__water=water, receivers=deep)
        assert any("are no water; did you mean km/s" in w for w in Scenario(**sea).warnings) == odd, water


def test_topography_needs_finer_grids_than_a_flat_surface():
    """The plan says "ok" only where surface waves along the ground are resolved as well."""
    receiver = {"name": "A", "at": {"x": 3500, "y": 3000, "depth": 0}}
    for topography, tau, judged in (
        (None, 0.1, "(ok)"),
        (100.0, 0.1, "surface waves along the topography need 20"),
        (100.0, 1.0, "(ok)"),
    ):
        source = SOURCE | {"wavelet": {"kind": "gaussian", "tau": tau}}
        tables = edited(ROCK, domain__size=[6000, 6000, 6400], receivers=[receiver], source=[source])
        if topography is not None:
            tables = edited(tables, model__topography=topography, boundaries={"top": "rigid"})
        notes = [text for rows in craton.plan(Scenario(**tables)).notes.values() for text in rows]
        (text,) = [text for label, text in notes if label == "points per wavelength"]
        assert judged in text, text
