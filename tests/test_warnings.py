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
