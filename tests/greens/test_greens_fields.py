"""What a store keeps: weighted sums of series by the GPU's text on the host, against NumPy; files; coefficients of elements."""

import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from common import edited, refused
from greenscase import ELEMENTS, GROUND, scenario
from kernelcase import launch, on_host

from craton.errors import ScenarioError
from craton.greens import fields
from craton.greens.database import refuse_layout
from craton.methods import METHODS
from craton.methods.spectral_element.sources import element_parts
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.greens import sum_operator, sum_plan


@pytest.mark.parametrize("stored", [pytest.param("int16", marks=pytest.mark.long), "float32"])
def test_sums_of_the_text_of_a_gpu(stored, tmp_path):
    """Stored columns, their scales, and rows of three sums; one of them has none."""
    rng, sums, columns, places, samples = np.random.default_rng(4), 3, 2, 40, 150
    values = (1e3 * rng.standard_normal((columns, places, samples))).astype(stored)
    scale = rng.uniform(0.5, 2.0, (columns, places)).astype(np.float32)
    first, row = np.array([0, 13, 13, 29], np.int32), rng.integers(0, places, 29)
    weight, factor = rng.standard_normal(29).astype(np.float32), scale if stored == "int16" else np.ones_like(scale)
    expected = np.zeros((sums, columns, samples))
    for n in range(sums):
        part = slice(first[n], first[n + 1])
        heavy = weight[part] * factor[:, row[part]].astype(float)
        expected[n] = np.einsum("cr,crt->ct", heavy, values[:, row[part]].astype(float))
    arrays = {"first": first, "row": row, "weight": weight, "sums": np.zeros(expected.shape)}
    arrays |= {f"values_{n}": values[n] for n in range(columns)}
    arrays |= {f"scale_{n}": scale[n] for n in range(columns)} if stored == "int16" else {}
    op = sum_operator(stored)
    library = on_host([op], "float32", tmp_path / "sums")
    for launched in sum_plan([0, 1], places, samples, stored, sums, 64).phases[0].launches:
        addresses = [arrays[name].ctypes.data if name else None for name in launched.arrays]
        blocks = (-(-launched.box[5] // op.block[0]), 1, launched.box[1])
        launch(library, op, "float32", addresses, launched.box, launched.params, blocks)
    np.testing.assert_allclose(arrays["sums"], expected, rtol=1e-5, atol=1e-3)


def test_what_is_left_out_is_lighter_than_allowed():
    """Of weights over many magnitudes; a source without a moment has no rows."""
    rng = np.random.default_rng(1)
    index = rng.integers(0, 99, (3, 500))
    weight = 10.0 ** rng.uniform(-9, 0, (3, 500)) * rng.choice([-1, 1], (3, 500))
    weight[1] = 0
    magnitude = 10.0 ** rng.uniform(-3, 3, 99)
    rows = [0, 500, 1000, 1500], index.ravel(), weight.ravel()
    first, row, heavy = fields.lightened(*rows, magnitude, 1e-4)
    assert first[1] == first[2] and len(row) == len(heavy) == first[3]
    for n in (0, 2):
        part = slice(first[n], first[n + 1])
        total = (np.abs(weight[n]) * magnitude[index[n]]).sum()
        rest = (np.abs(heavy[part]) * magnitude[row[part]]).sum()
        assert 0 <= total - rest <= 2e-4 * total and first[n + 1] - first[n] < 400
    first, row, _ = fields.lightened(*rows, magnitude, 0.0)
    assert np.array_equal(np.sort(row[: first[1]]), np.sort(index[0]))
    rows = np.array([0, 4]), np.arange(4), np.array([1.0, 1.0, 2.0, 4.0])
    left = [fields.lightened(*rows, np.ones(4), spared)[1].tolist() for spared in (0.24, 0.25)]
    assert left == [[0, 1, 2, 3], [2, 3]]  # as much as it may be, no more


def test_fields_are_chunks_of_zarr_with_a_checksum(tmp_path):
    """Blocks in time are joined; a reader of zarr finds a bit that has flipped."""
    rng, shape = np.random.default_rng(2), (1, 7, 9)
    for dtype, bound in (("float32", 0), ("int16", 0.501)):
        group = zarr.open_group(tmp_path / dtype, mode="w", zarr_format=2)
        group.create_array(fields.FOLDER, shape=shape, chunks=shape, dtype=dtype, **fields.packing())
        blocks = [1e3 * rng.standard_normal((7, n)).astype(np.float32) for n in (4, 5)]
        fields.write(tmp_path / dtype / fields.FOLDER, 0, blocks, np.full(7, 2.0), dtype)
        off = group[fields.FOLDER][0].astype(float) - 2 * np.concatenate(blocks, axis=1)
        # in 16 bits sums over time are off by half a unit at most: roundings do not add up
        assert np.abs(np.cumsum(off, axis=1)).max() <= bound
        path = tmp_path / dtype / fields.FOLDER / "0.0.0"
        data = bytearray(path.read_bytes())
        assert int.from_bytes(data[-4:], "little") == zlib.crc32(data[:-4])
        data[11] ^= 4
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match="crc32"):
            group[fields.FOLDER][0]


def test_the_largest_values_fit_into_16_bits(tmp_path):
    """With what was rounded off before them, on both sides."""
    row = [0.49, fields.LEVELS, 0.3, -0.49, -fields.LEVELS, fields.LEVELS]
    fields.write(tmp_path, 0, [np.array([row], np.float32)], np.ones(1), "int16")
    stored = np.fromfile(tmp_path / "0.0.0", np.int16, len(row)).astype(float)
    assert np.abs(np.cumsum(stored - row)).max() < 0.501


# --- elements: Legendre coefficients, which have the digits of strains ------------------------------------------------------

MOMENT = np.array([[1.0, 0.7, -0.4], [0.7, -2.0, 0.9], [-0.4, 0.9, 1.5]])
SIX = np.array([[1.0, -2.0, 1.5, 0.7, -0.4, 0.9]])
POSITIONS = ((600.0, 613.7, -31.9), (455.0, 700.0, -60.0))


@pytest.fixture(scope="module", params=["boxes", "below a hill"])
def field(request):
    """Elements of about 400 m."""
    domain = {"origin": [0, 0, -400], "size": [1200, 1200, 400], "element_size": 400}
    tables = edited(ELEMENTS, domain=domain, model=GROUND, time__duration=1.0)
    if request.param != "boxes":
        x = np.arange(0, 1201, 100.0)
        hill = {"x": x.tolist(), "y": x.tolist(), "z": (20 * np.sin(x / 300)[:, None] * np.cos(x / 200)).tolist()}
        tables = edited(tables, domain__size=[1200, 1200, 500], model__topography=hill)
    return METHODS["sem"].moment_field(scenario(tables, (600, 600, -50)), [450, 450, -90], [700, 750, 0])[0].volume


def at_nodes(field, at):
    """Index and weight of what a moment sees of the velocities at nodes."""
    index, weight, _ = ElementSpace(field.d).point_rows([SimpleNamespace(xyz=np.array(at), moment=MOMENT, force=None)])
    return index - field.d.offset("force"), weight


def test_sums_are_those_of_velocities_at_nodes(field):
    """For any motion of the nodes: what moments see of it, from coefficients and from the nodes."""
    motion = np.random.default_rng(1).standard_normal((field.d.points.max() + 1, 3))
    coefficients = field.picture({"velocity": motion[field.nodes[0]]})
    assert coefficients.shape == (field.places,)
    for at in POSITIONS:
        _, places, weights = field.rows(np.array([at]), SIX)
        index, weight = at_nodes(field, at)
        assert weights @ coefficients[places] == pytest.approx(weight @ motion.ravel()[index], rel=1e-11)


def test_long_waves_keep_their_digits_in_16_bits(field):
    """A wave of 250 elements: values at the nodes, rounded in the same way, have lost them."""
    numbers, _ = field.nodes
    position = np.zeros((field.d.points.max() + 1, 3))
    points = np.asarray(field.d.points).reshape(field.d.mesh.size, -1)
    position[points] = np.moveaxis(field.d.coordinates(np.arange(len(points))), 1, 2)
    phase = 2 * np.pi * (position @ [6e-6, 5e-6, 4e-6] - np.linspace(0, 1, 20)[:, None])
    motion = np.cos(phase)[..., None] * [0.3, -0.5, 0.8]
    stored = np.array([field.picture({"velocity": v[numbers]}) for v in motion])

    def rounded(series):
        scale = np.abs(series).max(axis=0) / fields.LEVELS
        return np.rint(series / scale) * scale

    for at in POSITIONS:
        _, places, weights = field.rows(np.array([at]), SIX)
        exact, (index, weight) = stored[:, places] @ weights, at_nodes(field, at)
        off_stored = rounded(stored)[:, places] @ weights - exact
        off_nodes = rounded(motion.reshape(20, -1)[:, index]) @ weight - exact
        assert np.linalg.norm(off_stored) < 1e-4 * np.linalg.norm(exact)
        assert np.linalg.norm(off_nodes) > 3e-3 * np.linalg.norm(exact)


def test_parts_of_sources_that_are_not_stored_are_told_and_stores_of_another_layout_refused(field):
    """Of nodes, as they were kept before."""
    source = SimpleNamespace(xyz=np.array(POSITIONS[0]), moment=MOMENT, force=None)
    _, element, *_ = element_parts(field.d, [source])[0]
    less = replace(field, elements=field.elements[field.elements != element])
    refused(ScenarioError, "outside of what is stored", less.rows, np.array([POSITIONS[0]]), SIX)
    refused(ScenarioError, "another version", refuse_layout, {"resolution": 1.0}, field)
