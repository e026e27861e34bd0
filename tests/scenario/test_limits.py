"""Numbers and texts beyond all sense are refused in words, before anything is allocated: one row for each input of issue 15."""

import warnings

import pytest
import smallcase

import craton
from craton import memory
from craton.errors import ResourceError, ScenarioError
from craton.methods import METHODS
from craton.output.store import check_out
from craton.scenario import loads

HUGE = {
    "sizes": ("size = [3000, 3000, 2500]", "size = [1e18, 3000, 2500]", "domain.size"),
    "duration": ("duration = 1.0", "duration = 1e18", "time.duration"),
    "vp": ("vp = 3000", "vp = 1e18", "model.vp"),
    "density": ("rho = 2300", "rho = 1e300", "model.rho"),
    "moment": ("moment = 1e14", "moment = 1e45", "source.0.moment"),
    "receivers": ("count = 3 }", "count = 1_000_000_000 }", "receivers.1.line.count"),
    "400 digits": ("vp = 3000", "vp = 1" + 400 * "0", "model.vp"),
    "400 digits of a count": ("count = 3 }", "count = 1" + 400 * "0" + " }", "count"),
    "nested lists": ("vp = 3000", "vp = " + 3000 * "[" + 3000 * "]", "nested hundreds deep"),
    "5000 digits": ("vp = 3000", "vp = " + 5000 * "9", "thousands of digits"),
}


@pytest.mark.parametrize("old, new, key", HUGE.values(), ids=HUGE)
def test_huge_numbers_are_refused(old, new, key):
    with warnings.catch_warnings(), pytest.raises(ScenarioError) as refused:
        warnings.simplefilter("error")
        craton.plan(loads(smallcase.changed((old, new))))
    assert key in str(refused.value) and "bug" not in str(refused.value)


def test_a_zero_byte_in_a_folder_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="zero byte"):
        check_out(f"{tmp_path}/a\0b")


def test_parameters_beyond_memory_are_told_before_they_are_made(monkeypatch):
    """2.4e10 cells of three moduli would be 580 GB."""
    wide = loads(smallcase.TEXT, ("domain.size=[3e9, 3000, 2500]", "snapshots=[]"))
    monkeypatch.setattr(memory, "available", lambda: 4 << 30)
    with pytest.raises(ResourceError, match="parameters of a gradient in 24,180,000,806 cells"):
        METHODS[wide.method].linearised(wide, None)
