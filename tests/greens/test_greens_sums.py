"""Weighted sums of stored series: the CPU's text and the GPU's, run on the host, against NumPy; what may be left out; files of fields."""

import ctypes
import zlib

import numpy as np
import pytest
from kernelcase import built

from craton.backends.cpu import CPU
from craton.core.operator import BOX
from craton.greens import fields
from craton.methods.shared import series

SUMS, COLUMNS, PLACES, SAMPLES = 3, 2, 40, 150


@pytest.fixture(params=["float32", "int16"])
def case(request):
    """Stored columns, their scales, and rows of three sums; one of them has none."""
    rng = np.random.default_rng(4)
    values = (1e3 * rng.standard_normal((COLUMNS, PLACES, SAMPLES))).astype(request.param)
    scale = rng.uniform(0.5, 2.0, (COLUMNS, PLACES)).astype(np.float32)
    first = np.array([0, 13, 13, 29], np.int32)
    row = rng.integers(0, PLACES, 29)
    weight = rng.standard_normal(29).astype(np.float32)
    factor = scale if request.param == "int16" else np.ones_like(scale)
    expected = np.zeros((SUMS, COLUMNS, SAMPLES))
    for n in range(SUMS):
        part = slice(first[n], first[n + 1])
        heavy = weight[part] * factor[:, row[part]].astype(float)
        expected[n] = np.einsum("cr,crt->ct", heavy, values[:, row[part]].astype(float))
    return request.param, values, scale, {"first": first, "row": row, "weight": weight}, expected


def ready(stored, values, scale):
    """Arrays of the columns by their names in a plan."""
    arrays = {f"values_{n}": values[n] for n in range(COLUMNS)}
    return arrays | ({f"scale_{n}": scale[n] for n in range(COLUMNS)} if stored == "int16" else {})


def test_sums_of_the_cpu(case):
    stored, values, scale, rows, expected = case
    planned = series.plan([0, 1], PLACES, SAMPLES, stored, SUMS, 64)
    program = CPU(threads=2).commit(planned, arrays=ready(stored, values, scale))
    for name, given in rows.items():
        program.backend.fill(program.arrays[name], given)
    program.phases[0].inner(0)
    np.testing.assert_allclose(program.arrays["sums"], expected, rtol=1e-5, atol=1e-3)


def test_sums_of_the_text_of_a_gpu(case, tmp_path):
    stored, values, scale, rows, expected = case
    op = series.operator(stored)
    x, y, z = op.block
    call = ", ".join(f"({op.c_type(name)}*)a[{n}]" for n, name in enumerate(op.arrays))
    head = f'extern "C" __attribute__((visibility("default"))) void run(void** a, const Box* box, const {op.params.name}* p)'
    size = f"{{(unsigned)(box->i1 + {x - 1}) / {x}, 1, (unsigned)box->k1}}, {{{x}, {y}, {z}}}"
    entry = f"{head} {{ launch({size}, [&] {{ {op.function}({call}, *box, *p); }}); }}"
    text = f'#include "host_cuda.hpp"\n{op.source("float32")}\n{entry}\n'
    library, sums = built(text, tmp_path / "sums"), np.zeros((SUMS, COLUMNS, SAMPLES))
    for launch in series.plan([0, 1], PLACES, SAMPLES, stored, SUMS, 64).phases[0].launches:
        arrays = {**ready(stored, values, scale), **rows, "sums": sums}
        pointers = (ctypes.c_void_p * len(op.arrays))(
            *(arrays[name].ctypes.data if name else None for name in launch.arrays)
        )
        box = BOX.value("float32", **dict(zip((n for n, _ in BOX.fields), launch.box)))
        params = op.params.value("float32", **launch.params)
        library.run(pointers, *(ctypes.c_void_p(value.ctypes.data) for value in (box, params)))
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-3)


def test_what_is_left_out_is_lighter_than_allowed():
    """Of weights over many magnitudes; a source without a moment has no rows."""
    rng = np.random.default_rng(1)
    index = rng.integers(0, 99, (3, 500))
    weight = 10.0 ** rng.uniform(-9, 0, (3, 500)) * rng.choice([-1, 1], (3, 500))
    weight[1] = 0
    magnitude = 10.0 ** rng.uniform(-3, 3, 99)
    first, row, heavy = fields.lightened(index, weight, magnitude, 1e-4)
    assert first[1] == first[2] and len(row) == len(heavy) == first[3]
    for n in (0, 2):
        part = slice(first[n], first[n + 1])
        total = (np.abs(weight[n]) * magnitude[index[n]]).sum()
        kept = (np.abs(heavy[part]) * magnitude[row[part]]).sum()
        assert 0 <= total - kept <= 2e-4 * total and first[n + 1] - first[n] < 400
    first, row, _ = fields.lightened(index, weight, magnitude, 0.0)
    assert np.array_equal(np.sort(row[: first[1]]), np.sort(index[0]))


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_fields_are_chunks_of_zarr_with_a_checksum(tmp_path, dtype):
    """Blocks in time are joined; a reader of zarr finds a bit that has flipped."""
    import zarr

    rng = np.random.default_rng(2)
    group = zarr.open_group(tmp_path, mode="w", zarr_format=2)
    shape = (1, 7, 9)
    group.create_array(fields.FOLDER, shape=shape, chunks=shape, dtype=dtype, **fields.packing())
    blocks = [1e3 * rng.standard_normal((7, n)).astype(np.float32) for n in (4, 5)]
    factor = np.full(7, 2.0)
    fields.write(tmp_path / fields.FOLDER, 0, blocks, factor, dtype)
    expected = 2 * np.concatenate(blocks, axis=1)
    stored = group[fields.FOLDER][0].astype(float)
    if dtype == "int16":  # sums over time are off by half a unit at most: roundings do not add up
        assert np.abs(np.cumsum(stored - expected, axis=1)).max() < 0.501
    else:
        np.testing.assert_array_equal(stored, expected)
    path = tmp_path / fields.FOLDER / "0.0.0"
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
