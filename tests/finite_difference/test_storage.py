"""Fields and material in 16 bits: conversions, codes of material, accuracy against float32 by the real kernels, what is refused."""

import numpy as np
import pytest
import xarray
from common import refused
from fdcase import cases
from kernelcase import BLOCK, launch, on_host, run, unoptimised
from smallcase import TEXT

import craton
from craton.backends.base import aligned
from craton.core.grid import Layout
from craton.errors import ScenarioError
from craton.methods.finite_difference.equations import operators, source_boxes, storage
from craton.methods.finite_difference.equations.scheme import stencil
from craton.methods.finite_difference.equations.storage import Code
from craton.scenario import loads

HALF = TEXT.replace("[run]", '[run]\nstorage = "half"')
LAYOUT, WHOLE = Layout((16, 64, 64), 0), (0, 16, 0, 64, 0, 64)  # as many points as there are numbers of 16 bits


def exchanged(op, fields, reals):
    """Grid and box after one of the exchanges, both of `LAYOUT`; to `widen`, every point is a ghost."""
    strides = {f"{of}_{s}": getattr(LAYOUT, s) for of in ("box", "grid") for s in ("row", "plane", "field")}
    rest = dict.fromkeys(("k0", "j0", "i0", "nk", "nj", "ni", "first"), 0) | {"count": 1}
    padded = {"state": np.zeros(LAYOUT.padded, np.float16), "box_state": np.zeros(LAYOUT.padded, "f4")}
    window = LAYOUT.window()
    for name, values in (("state", fields), ("box_state", reals)):
        padded[name][window] = values.reshape(LAYOUT.shape)
    after = run(op, (*op.writes, *op.reads), padded, WHOLE, strides | rest, LAYOUT, "float32")
    return after["state"][window].ravel(), after["box_state"][window].ravel()


def test_numbers_are_widened_and_rounded_as_numpy_does_and_never_beyond_the_range():
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    _, wide = exchanged(source_boxes.WIDEN, numbers, np.zeros(1 << 16))
    assert np.array_equal(wide, numbers.astype(np.float32), equal_nan=True)
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
        refused(ValueError, "outside 2e", code.encoded, np.array([wrong]))


def waveforms(text):
    """Velocity (receiver, component, time) of a scenario."""
    return craton.run(loads(text)).dataset.velocity.values


def error(values, expected):
    """Worst relative L2 error of a receiver."""
    difference = np.linalg.norm((values - expected).reshape(len(values), -1), axis=1)
    return (difference / np.linalg.norm(expected.reshape(len(values), -1), axis=1)).max()


FAR = '[[receivers]]\nname = "far"\nat = [600, 600, -1900]\n[[receivers]]\nname = "A"'
PRESSURE = '[[snapshots]]\nname = "p"\nquantity = "pressure"\nplane = { y = 1500 }\nevery = 0.25\n[output]'


@pytest.mark.long
def test_results_differ_from_float32_by_little_and_by_less_with_boxes(monkeypatch):
    """Channels beside the source's box are sampled in float32, those between boxes in 16 bits. Pictures are in SI units."""
    texts = [t.replace('[[receivers]]\nname = "A"', FAR, 1).replace("[output]", PRESSURE) for t in (TEXT, HALF)]
    results = [craton.run(loads(text)) for text in texts]
    exact, boxed = (result.dataset.velocity.values for result in results)
    monkeypatch.setattr(source_boxes, "RADIUS", 1)
    bare = waveforms(texts[1])
    assert 1e-6 < error(boxed[1:], exact[1:]) < 2e-5 and 1e-5 < error(boxed[:1], exact[:1]) < 1e-3
    assert 2 * error(boxed[1:], exact[1:]) < error(bare[1:], exact[1:]) < 2e-2
    for name in ("section", "p"):
        exact_pictures, pictures = (result.snapshots[name].isel(time=-1).to_array().values for result in results)
        off = np.abs(pictures - exact_pictures)
        if name == "p":  # cut off at the source's point; beside it a small sum of large stresses
            assert np.abs(exact_pictures).max() > 10 * np.abs(pictures).max()
            off[..., 12:19, 12:19], exact_pictures[..., 12:19, 12:19] = 0, 0
        assert off.max() < 2e-3 * np.abs(exact_pictures).max(), name


@pytest.mark.long
@pytest.mark.parametrize(("at", "bound"), [("1500, 1500, 0", 2e-5), ("600, 1500, -1000", 2e-3)])
def test_strong_fields_beside_a_source_do_not_end_at_the_largest_number(at, bound):
    """Beside receivers, where 16 bits would end; with a box that ends beside it, at the absorbing layer."""
    old = "at = [1500, 1500, -1000]"
    assert old in HALF
    exact, rounded = (waveforms(text.replace(old, f"at = [{at}]")) for text in (TEXT, HALF))
    assert error(rounded, exact) < bound


def test_boxes_whose_ghosts_reach_each_other_are_one():
    box = np.array([0, 9, 0, 9, 0, 9])
    for gap, count in ((0, 1), (1, 1), (2, 2)):
        assert len(source_boxes.joined([box], box + np.array([0, 0, 0, 0, 9 + gap, 9 + gap]), 2)) == count


def test_the_plan_states_bytes_scale_and_error():
    plan, exact = craton.plan(loads(HALF)), craton.plan(loads(TEXT))
    text = str(plan)
    assert "fields and material in 16 bits" in text and "expected error" in text
    assert f"cut off at {65504 / plan.scale:.2g} m/s" in text
    assert [np.dtype(plan.arrays[name].dtype).itemsize for name in ("state", "material")] == [2, 2]
    assert all("HALF" not in dict(op.defines) for op in exact.operators.values())
    # Scales are powers of two and leave room; 1e-3: see build.DIVERGED
    assert np.log2(plan.scale) % 1 == 0 and plan.scale * 1e-3 * plan.limit > storage.PEAK / 4


# --- what is refused ---------------------------------------------------------------------------------------------------------------------

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


def test_what_was_not_validated_is_refused():
    for words, (old, new) in REFUSED.items():
        refused(ScenarioError, words, lambda text: craton.plan(loads(text)), HALF.replace(old, new, 1))
    refused(ScenarioError, "several ranks", craton.run, loads(HALF), devices=2, progress=False)
    elements = ("method=sem", "domain.spacing=500")
    refused(ScenarioError, 'available only with method = "fd"', loads, HALF, elements)


@pytest.mark.long
def test_a_value_beyond_the_samples_of_a_model_is_refused(tmp_path):
    """A spike of density that the samples of an anomaly's extremes miss."""
    x, z = np.arange(-100, 3101, 100.0), np.arange(-2600, 101, 100.0)
    medium = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}  # of `TEXT`
    model = {n: np.full((len(x), len(x), len(z)), v) for n, v in medium.items()}
    model["rho"][10:12, 10:12, 10:12] *= 0.6
    path, dims = tmp_path / "model.nc", ("x", "y", "z")
    xarray.Dataset({n: (dims, v) for n, v in model.items()}, {"x": x, "y": x, "z": z}).to_netcdf(path)
    body = '{ shape = "box", min = [-100, -100, -2600], max = [3100, 3100, 100], drho = -0.3 }'
    table = f'kind = "file"\nfile = "{path}"\nanomalies = [{body}]\n\n[time]'
    text = HALF[: HALF.index('kind = "homogeneous"')] + table + HALF.split("[time]")[1]
    with pytest.raises(ScenarioError, match=r"model's rho: a parameter of \S+ is outside"):
        craton.run(loads(text), progress=False)


# --- the streamed text -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", cases([operators.velocity], operators.stress))
def test_streamed_step_does_what_the_plain_body_does(step, tmp_path, monkeypatch):
    """The text for GPUs, run on the host, against the body of the CPU."""
    unoptimised(monkeypatch)
    op, vec = storage.on_16_bits(step(stencil(4)), stencil(4), False), storage.STREAMED[step.__name__][0]
    layout, box, rng = Layout((7, 6, 61), 2, alignment=64), (0, 7, 0, 6, 3, 58), np.random.default_rng(2)
    codes = storage.codes({"rho": (2000, 2600), "vs": (1000, 2000), "lam": (2e9, 1e10)})
    params = {f"{n}_{part}": v for n, code in codes.items() for part, v in code._asdict().items()}
    params |= {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": 6}
    params["dt_h"] = 1e-11 * (1e14 if step is operators.velocity else 1)
    params = {name: params[name] for name in op.params.names}
    before = {}
    for name, kind in dict(op.types).items():
        values = rng.standard_normal(layout.padded) if kind == "field" else rng.integers(0, 65536, layout.padded)
        before[name] = values.astype("f2" if kind == "field" else "u2")
    plain = run(op, op.arrays, {name: values.copy() for name, values in before.items()}, box, params, layout, "float32")
    variant = operators.variant("float32", (vec, *BLOCK, 4, 1))
    fast = {name: aligned(values.shape, values.dtype) for name, values in before.items()}
    for name, values in fast.items():
        values[...] = before[name]
    addresses = [fast[name].ctypes.data + 2 * int(layout.first) if name in fast else None for name in op.arrays]
    library = on_host([op], "float32", tmp_path / "streamed.so", variant)
    launch(library, op, "float32", addresses, box, params, (-(-58 // (vec * BLOCK[0])), -(-6 // BLOCK[1]), -(-7 // 4)))
    for name in set(op.writes[:6]) & set(before):
        expected, values, start = (np.asarray(arrays[name], float) for arrays in (plain, fast, before))
        assert np.abs(expected - start).max() > 0.1
        assert np.abs(values - expected).max() <= 2 * np.spacing(np.float16(np.abs(expected).max()))
        assert (values != expected).mean() < 0.005
