"""What a plan warns of: settings that can be computed but are probably not meant."""

import pytest

import craton
from craton.scenario import Scenario

SLOW, FAST = {"vp": 3000, "vs": 1500, "rho": 2000}, {"vp": 6000, "vs": 3400, "rho": 2600}


def warned(boundaries=None, layers=(SLOW, FAST)):
    """Warnings of the plan of two layers in a small box."""
    found = [{"top": top, **layer} for top, layer in zip((0, -1000), layers)]
    return craton.plan(
        Scenario(
            domain={"origin": [0, 0, -6000], "size": [6000] * 3, "spacing": 100},
            model={"kind": "layers", "layers": found},
            time={"duration": 1},
            boundaries=boundaries or {},
            source=[
                {
                    "kind": "explosion",
                    "at": [3000, 3000, -3000],
                    "moment": 1e15,
                    "wavelet": {"kind": "gaussian", "tau": 0.2},
                }
            ],
            receivers=[{"name": "A", "at": [3500, 3000, 0]}],
        )
    ).warnings


def test_nothing_where_nothing_is_odd():
    assert warned() == []


@pytest.mark.parametrize("bottom", ["rigid", "sponge"])
def test_no_warning_of_growth_where_nothing_grows(bottom):
    """Plates and fast layers over slow ones between absorbing sides are stable: validation/stability_cases.py runs them."""
    assert not any("grow" in w for w in warned({"bottom": bottom}) + warned(layers=(FAST, SLOW)))


@pytest.mark.parametrize("depth, odd", [(1.5, True), (12.0, False), (0.0, False), (1500.0, False)])
def test_a_depth_in_kilometres_is_suspicious(depth, odd):
    """Read as metres, a source at 1.5 km would lie in the uppermost grid cell."""
    scenario = Scenario(
        domain={"origin": [0, 0, -6000], "size": [6000] * 3, "spacing": 100},
        model={"kind": "homogeneous", **FAST},
        time={"duration": 1},
        source=[
            {
                "kind": "explosion",
                "at": {"x": 3000, "y": 3000, "depth": depth},
                "moment": 1e15,
                "wavelet": {"kind": "gaussian", "tau": 0.2},
            }
        ],
        receivers=[{"name": "A", "at": [3500, 3000, 0]}],
    )
    assert any("a depth of 1.5 m" in w and "did you mean km?" in w for w in scenario.warnings) == odd


def test_a_shallow_shot_is_not_suspicious_where_kilometres_would_lie_outside():
    """2.5 m below the ground in a domain 600 m deep."""
    scenario = Scenario(
        domain={"origin": [0, 0, -600], "size": [600] * 3, "spacing": 50},
        model={"kind": "homogeneous", **FAST},
        time={"duration": 1},
        source=[
            {
                "kind": "force",
                "at": {"x": 300, "y": 300, "depth": 2.5},
                "force": [0, 0, -1e6],
                "wavelet": {"kind": "ricker", "frequency": 5},
            }
        ],
        receivers=[{"name": "A", "at": [350, 300, 0]}],
    )
    assert not any("did you mean km?" in warning for warning in scenario.warnings)


def test_topography_needs_finer_grids_than_a_flat_surface():
    """The plan says "ok" only where surface waves along the ground are resolved as well."""
    tables = {
        "domain": {"origin": [0, 0, -6000], "size": [6000, 6000, 6400], "spacing": 100},
        "model": {"kind": "homogeneous", **FAST},
        "time": {"duration": 1},
        "receivers": [{"name": "A", "at": {"x": 3500, "y": 3000, "depth": 0}}],
    }
    for topography, tau, judged in (
        (None, 0.1, "(ok)"),
        (100.0, 0.1, "surface waves along the topography need 20"),
        (100.0, 1.0, "(ok)"),
    ):
        source = {"kind": "explosion", "at": [3000, 3000, -3000], "moment": 1e15}
        source["wavelet"] = {"kind": "gaussian", "tau": tau}
        model = tables["model"] | ({} if topography is None else {"topography": topography})
        top = {"boundaries": {"top": "rigid"}} if topography is not None else {}
        plan = craton.plan(Scenario(**tables | top | {"model": model, "source": [source]}))
        (text,) = [text for rows in plan.notes.values() for label, text in rows if label == "points per wavelength"]
        assert judged in text, text


def test_water_in_other_units_is_suspicious():
    def odd(**water):
        model = {"kind": "homogeneous", **FAST, "topography": -100, "water": water}
        wavelet = {"kind": "gaussian", "tau": 0.2}
        source = {"kind": "explosion", "at": [0, 0, -2000], "moment": 1e15, "wavelet": wavelet}
        scenario = Scenario(
            domain={"origin": [0, 0, -6000], "size": [6000] * 3, "spacing": 100},
            model=model,
            time={"duration": 1},
            source=[source],
            receivers=[{"name": "A", "at": [3500, 3000, -3000]}],
        )
        return any("are no water; did you mean km/s" in w for w in scenario.warnings)

    assert odd(vp=1.5) and odd(rho=1.03) and not odd() and not odd(vp=1450, rho=1030)
