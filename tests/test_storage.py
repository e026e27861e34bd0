"""Fields and material in 16 bits: conversions, codes of material, accuracy against float32 by the real kernels, what is refused."""

import numpy as np
import pytest
from kernelcase import run
from smallcase import TEXT

import craton
from craton.core.layout import Layout
from craton.errors import ScenarioError
from craton.methods.finite_difference import source_boxes, storage
from craton.methods.finite_difference.storage import Code
from craton.scenario import loads

HALF = TEXT.replace("[run]", '[run]\nstorage = "half"')
LAYOUT = Layout((16, 64, 64), 0)  # as many points as there are numbers of 16 bits
WHOLE = (0, 16, 0, 64, 0, 64)


def exchanged(op, fields, reals):
    """Grid and box after one of the exchanges, both of `LAYOUT`; to `widen`, every point is a ghost."""
    strides = {
        f"{of}_{stride}": getattr(LAYOUT, stride)
        for of in ("box", "grid")
        for stride in ("row", "plane", "field")
    }
    rest = dict.fromkeys(("k0", "j0", "i0", "nk", "nj", "ni", "first"), 0) | {"count": 1}
    padded = {
        "state": np.zeros(LAYOUT.padded, np.float16),
        "box_state": np.zeros(LAYOUT.padded, "f4"),
    }
    window = LAYOUT.window()
    padded["state"][window] = fields.reshape(LAYOUT.shape)
    padded["box_state"][window] = reals.reshape(LAYOUT.shape)
    names = (*op.writes, *op.reads)
    after = run(op, names, padded, WHOLE, strides | rest, LAYOUT, "float32")
    return after["state"][window].ravel(), after["box_state"][window].ravel()


def test_every_number_of_16_bits_is_widened_as_numpy_does():
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    _, wide = exchanged(source_boxes.WIDEN, numbers, np.zeros(1 << 16))
    assert np.array_equal(wide, numbers.astype(np.float32), equal_nan=True)


def test_reals_are_rounded_as_numpy_does_and_never_beyond_the_range():
    reals = np.random.default_rng(1).integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    reals[np.isnan(reals)] = 0
    reals[: 1 << 14] = np.linspace(-2e-7, 2e-7, 1 << 14)  # numbers without a leading bit
    ties = (np.arange(1 << 14) + 0x3C00 * 2 + 1) << 12  # half-way between two numbers
    reals[1 << 14 : 1 << 15] = (ties + ((127 - 15 - 15) << 23)).astype(np.uint32).view(np.float32)
    narrow, _ = exchanged(source_boxes.NARROW, np.zeros(1 << 16, np.float16), reals)
    assert np.array_equal(narrow, np.clip(reals, -65504, 65504).astype(np.float16))


def test_codes_of_material_are_nearest_and_reach_the_ends():
    code, values = Code.between(2e9, 3e11), np.geomspace(2e9, 3e11, 10001)
    decoded = code.decoded(code.encoded(values))
    assert np.abs(decoded / values - 1).max() <= code.step / 2**24 * (1 + 1e-6) < 7e-5
    for wrong in (1.9e9, 3.1e11):
        with pytest.raises(ValueError, match="outside 2e"):
            code.encoded(np.array([wrong]))


def waveforms(text):
    """Velocity (receiver, component, time) of a scenario."""
    return craton.run(loads(text)).dataset.velocity.values


def error(found, expected):
    """Worst relative L2 error of a receiver."""
    difference = np.linalg.norm((found - expected).reshape(len(found), -1), axis=1)
    return (difference / np.linalg.norm(expected.reshape(len(found), -1), axis=1)).max()


def test_waveforms_differ_from_float32_by_little_and_by_less_with_boxes(monkeypatch):
    exact, boxed = waveforms(TEXT), waveforms(HALF)
    monkeypatch.setattr(source_boxes, "RADIUS", 1)
    bare = waveforms(HALF)
    assert 1e-6 < error(boxed, exact) < 1e-3
    assert 2 * error(boxed, exact) < error(bare, exact) < 2e-2


def test_snapshots_are_in_si_units():
    def last(text):
        return craton.run(loads(text)).snapshots["section"].isel(time=-1).to_array().values

    exact, found = last(TEXT), last(HALF)
    assert np.abs(found - exact).max() < 2e-3 * np.abs(exact).max()


def test_plan_states_bytes_and_error():
    plan, exact = craton.plan(loads(HALF)), craton.plan(loads(TEXT))
    text = str(plan)
    assert "fields and material in 16 bits" in text and "expected error" in text
    assert [np.dtype(plan.arrays[name].dtype).itemsize for name in ("state", "material")] == [2, 2]
    assert all("HALF" not in dict(op.defines) for op in exact.operators.values())


def test_scales_are_powers_of_two_and_leave_room():
    plan = craton.plan(loads(HALF))
    assert np.log2(plan.scale) % 1 == 0
    assert plan.scale * 1e-3 * plan.limit > storage.PEAK / 4  # 1e-3: see build.DIVERGED


REFUSED = {
    "precision": ('storage = "half"', 'storage = "half"\nprecision = "float64"'),
    "order 8": ('storage = "half"', 'storage = "half"\norder = 8'),
    "sponge": ('others = "cpml"', 'others = "sponge"\nsponge = { thickness = 5 }'),
    "attenuation": ("rho = 2300", "rho = 2300\nattenuation = { qp = 50, qs = 25, band = [1, 10] }"),
    "fluid": ("vs = 1700", "vs = 0"),
    "2-D": ("[3000, 3000, 2500]", "[3000, 2500]"),
    "absorbing layer": ("at = [1500, 1500, -1000]", "at = [200, 1500, -1000]"),
    "peaks": ("[run]", "[[peaks]]\nname = 'top'\n[run]"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_was_not_validated_is_refused(words):
    old, new = REFUSED[words]
    with pytest.raises(ScenarioError, match=words):
        craton.plan(loads(HALF.replace(old, new, 1)))


def test_several_ranks_are_refused():
    with pytest.raises(ScenarioError, match="several ranks"):
        craton.run(loads(HALF), devices=2, progress=False)


def test_elements_refuse_it():
    changes = ("method=sem", "domain.spacing=500")
    with pytest.raises(ScenarioError, match='available only with method = "fd"'):
        loads(HALF, changes)
