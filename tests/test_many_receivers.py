"""Many receivers: rows of point tables made together are those made one by one, to the last bit; tables of many rows are read fast."""

import time

import numpy as np
import pytest
import smallcase
import xarray as xr

import craton
from craton.io.text_table import read_stations
from craton.methods.finite_difference import material, receiver_points
from craton.methods.shared.tables import stacked_rows
from craton.model.media import readers
from craton.scenario import loads

ALL = 'output.waveforms=["velocity", "pressure", "strain_rate", "rotation_rate"]'
PLANE = (
    ("origin = [0, 0, -2500]", "origin = [0, -2500]"),
    ("size = [3000, 3000, 2500]", "size = [3000, 2500]"),
)
BETWEEN = smallcase.TEXT[
    smallcase.TEXT.index("[[receivers]]") : smallcase.TEXT.index("[output]")
]  # receivers and snapshots


def scattered(folder, count, planar=False):
    """A file of receivers on points, between them, on the surface and at the edges of the grid; its entry of the scenario."""
    rng = np.random.default_rng(3)
    xyz = rng.uniform(0, 1, (count, 3)) * [3000, 3000, -2500]
    xyz[: count // 4, 2] = 0
    xyz[count // 5 : count // 3] = xyz[count // 5 : count // 3].round(-2)
    xyz[count // 3 : count // 2, 0] = xyz[count // 3 : count // 2, 0].round(-1) / 20
    if planar:
        xyz[:, 1] = 0
    rows = [f"R{n},{x:.4f},{y:.4f},{z:.4f}\n" for n, (x, y, z) in enumerate(xyz)]
    (folder / "receivers.csv").write_text("name,x,y,z\n" + "".join(rows))
    return f'[[receivers]]\nfile = "{folder / "receivers.csv"}"\n\n'


@pytest.mark.parametrize(
    "more, planar",
    [((ALL,), False), ((ALL, "boundaries.top=cpml", "run.order=8"), False), ((ALL,), True)],
)
def test_rows_made_together_are_those_made_one_by_one(more, planar, tmp_path, monkeypatch):
    compared, together = [], receiver_points.rows_of

    def both(d, channels, receivers, later):
        single = [receiver_points.channel_rows(d, c, receivers.xyz[c.receiver]) for c in channels]
        expected = stacked_rows([tuple(map(np.concatenate, zip(*rows))) for rows in single])
        first, source, weight = together(d, channels, receivers)
        assert np.array_equal(first, expected[0]) and np.array_equal(source, expected[1])
        assert weight.tobytes() == expected[2].astype(d.precision).tobytes()
        compared.append(len(channels))
        return first, source, weight

    monkeypatch.setattr(receiver_points, "rows_of", both)
    text = smallcase.changed(*PLANE).replace("1500, 1500, -1000", "1500, -1000") if planar else None
    text = (text or smallcase.TEXT).replace(BETWEEN, scattered(tmp_path, 60, planar))
    craton.plan(loads(text, ("run.precision=float64", *more)))
    assert compared == [60 * (7 if planar else 13)]


def test_a_table_of_many_rows(tmp_path):
    """As fast as its columns, and the same as row by row; what has units or faults is read row by row."""
    path, rng = tmp_path / "many.csv", np.random.default_rng(1)
    rows = [
        f"R{n}, {x:.3f} ,{y:.3f},{z:.3f}\n" for n, (x, y, z) in enumerate(rng.random((20_000, 3)))
    ]
    path.write_text("name,x,y,depth\n" + "".join(rows))
    begin = time.process_time()
    fast = read_stations(path)
    assert time.process_time() - begin < 0.5
    rows[7] = rows[7].replace(" ,", " m,")
    path.write_text("name,x,y,depth\n" + "".join(rows))
    slow = read_stations(path)
    for column in ("names", "codes", "networks"):
        assert getattr(fast, column) == getattr(slow, column)
    for column in ("x", "y", "depth"):
        assert getattr(fast, column).tobytes() == getattr(slow, column).tobytes()
    path.write_text("name,x,y,depth\n" + "".join([*rows[:3], "R3,1,2\n", *rows[4:]]))
    with pytest.raises(ValueError, match="line 5 has 3"):
        read_stations(path)
    for bad, message in (
        ("R3,1,2\n", "line 5 has 3"),
        ("R3,1,2,nan\n", "line 5"),
        (",1,2,3\n", "line 5"),
    ):
        path.write_text("name,x,y,depth\n" + "".join([*rows[:3], bad, *rows[4:9]]))
        with pytest.raises(ValueError, match=message):
            read_stations(path)


def hydrophones(shots, count):
    """A survey of hydrophones between points over a model of a Dataset whose speeds vary along x and z."""
    x, z = np.arange(0, 2001, 50.0), np.arange(-600, 1, 20.0)
    vs = 500 + 0.1 * x - z[:, None, None] + np.zeros((len(z), 2, 1))
    values = {"vp": 1900 + 0 * vs, "vs": vs, "rho": 2000 + 0 * vs}
    model = xr.Dataset(
        {name: (("z", "y", "x"), v) for name, v in values.items()},
        {"x": x, "y": [-1.0, 1.0], "z": z},
    )
    wavelet = {"kind": "ricker", "frequency": 5}
    along = {"from": [200, -95], "to": [1800, -95], "count": shots}
    return craton.Scenario(
        domain={"origin": [0, -600], "size": [2000, 600], "spacing": 10},
        model=model,
        time={"duration": 0.1},
        run={"precision": "float64"},
        source=[{"kind": "explosion", "shots": along, "moment": 1e9, "wavelet": wavelet}],
        receivers=[{"name": "H", "line": {"from": [303, -104], "to": [1707, -95], "count": count}}],
        output={"waveforms": ["pressure"]},
    )


def test_hydrophones_of_many_shots_read_the_model_once(monkeypatch):
    """More shots and receivers open the file no more often and read few blocks more; weights are those of the whole grid."""
    opened, read = [], []
    open_file, read_block = readers.open_file, readers.Source.read
    monkeypatch.setattr(
        readers, "open_file", lambda *a, **k: opened.append(1) or open_file(*a, **k)
    )
    monkeypatch.setattr(readers.Source, "read", lambda *a: read.append(1) or read_block(*a))
    craton.plan(hydrophones(2, 2))
    once, blocks = len(opened), len(read)
    many = craton.plan(hydrophones(6, 40))
    assert len(opened) == 2 * once and len(read) < 2 * blocks + 8

    monkeypatch.setattr(material, "TILES", (1 << 20, 1 << 20))  # the whole grid at once
    whole = craton.plan(hydrophones(6, 40))
    for name in ("sample_source", "sample_weight"):
        assert many.arrays[name].data.tobytes() == whole.arrays[name].data.tobytes()
