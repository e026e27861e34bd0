"""Catalogues: files of many moment tensors, kept as arrays. What they give is what as many single sources give; a million of them
is read and planned in seconds (bench/NOTES.md), 20,000 here.
"""

import time

import numpy as np
import pytest
import smallcase

import craton
from craton import io
from craton.greens.sources import parts_of
from craton.io import keyed, limits, long_table
from craton.io.contents import FileError
from craton.methods.finite_difference import build, faults, receiver_points
from craton.methods.finite_difference import catalogues as on_grid
from craton.methods.shared.tables import table_of
from craton.methods.spectral_element import couples
from craton.scenario import loads
from craton.survey import catalogues, source_files

HEADING = "name,x,y,depth,strike,dip,rake,moment,half_duration,time_shift\n"
SOURCE = smallcase.TEXT[smallcase.TEXT.index("[[source]]") : smallcase.TEXT.index("[[receivers]]")]
SHOTS = smallcase.TEXT[smallcase.TEXT.index("[[snapshots]]") : smallcase.TEXT.index("[output]")]
EXACT = ("run.precision=float64", "time.duration=2.8")
ELEMENTS = (
    ('method = "fd"', 'method = "sem"'),
    ("spacing = 100", "element_size = 500"),
    ('others = "cpml"\ncpml = { thickness = 5 }', 'others = "stacey"'),
)
BLOCK = """event {0}
event name: E{0}
time shift: {1}
half duration: 0.3
latorUTM: 1500.25
longorUTM: {2}
depth: 1.125
Mrr: 1.1e21
Mtt: -2.5e21
Mpp: {1}e21
Mrt: 0.125e21
Mrp: 1d20
Mtp: 3e19
"""


def table(count, seed=1):
    """Rows of a catalogue: between points and on them, close to the surface, of vertical planes."""
    rng = np.random.default_rng(seed)
    xyz = rng.uniform([700, 700, 150], [2300, 2300, 1700], (count, 3))
    xyz[::3] = xyz[::3].round(-2)
    columns = [*xyz.T, rng.uniform(0, 360, count), rng.choice([90, 45, 71.5], count)]
    columns += [rng.uniform(-180, 180, count), 10 ** rng.uniform(12, 13, count)]
    columns += [rng.choice([0.3, 0.41], count), rng.choice([0.7, 0.83], count)]
    return [f"E{n}," + ",".join(map(repr, map(float, row))) + "\n" for n, row in enumerate(zip(*columns))]


def scenario(path, *changes, kind="csv", more="", overrides=EXACT):
    """The small scenario with the sources of a file."""
    text = smallcase.TEXT.replace(SHOTS, "")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    entry = f'[[source]]\nkind = "{kind}"\nfile = "{path}"\n{more}\n'
    return loads(text.replace(SOURCE, entry), overrides)


@pytest.fixture
def any_count(monkeypatch):
    """Files of any length are catalogues where the test says so."""
    monkeypatch.setattr(long_table, "LONG", 1)

    def kept(as_arrays):
        monkeypatch.setattr(catalogues, "MANY", 0 if as_arrays else 10**9)

    return kept


@pytest.mark.parametrize(
    "changes, more, worst",
    [((), "", 1e-6), ((), 'wavelet = { kind = "ricker", frequency = 2, delay = 0.6 }', 5e-6), (ELEMENTS, "", 1e-5)],
    ids=["fd", "fd of one wavelet", "sem"],
)
def test_as_many_single_sources(changes, more, worst, any_count, tmp_path, monkeypatch):
    """Records, and what is said of the event. What is left is how records end, which goes with the band of the sources: 1e-4 where
    waves still pass then. Elements share none of the moments among neighbours.
    """
    monkeypatch.setattr(couples, "MOST", 0)
    (tmp_path / "c.csv").write_text(HEADING + "".join(table(30)))
    results = []
    for as_arrays in (False, True):
        any_count(as_arrays)
        results.append(craton.run(scenario(tmp_path / "c.csv", *changes, more=more)).dataset)
    single, together = results
    difference = np.abs(together.velocity - single.velocity).max().item()
    assert difference < worst * np.abs(single.velocity).max().item()
    for name in ("source_moment_tensor", "centroid_time", "half_duration", "centroid_x"):
        if name in single.attrs:
            scale = np.abs(single.attrs[name]).max()
            assert np.allclose(together.attrs[name], single.attrs[name], 1e-3, 1e-4 * scale), name


@pytest.mark.parametrize("top, count", [("free", 40), ("cpml", 40)])
def test_rows_are_counted_before_they_are_made(top, count, any_count, tmp_path, monkeypatch):
    """Those of finite faults, which are sorted whole; in blocks of few sources, to the last bit."""
    any_count(True)
    monkeypatch.setattr(on_grid, "BLOCK", 7)
    (tmp_path / "c.csv").write_text(HEADING + "".join(table(count)))
    case = scenario(tmp_path / "c.csv", overrides=(f'boundaries.top="{top}"',))
    grid, held = build.grid_of(case), source_files.build_all(case)
    d = build.discretise(case, grid, held)
    arrays, _, _ = on_grid.sources(d, held)
    index, weight, source = faults.rows(d, held)
    expected = table_of(index, weight, held[0].histories[2][source])
    for name, values in zip(("target", "first", "column", "weight"), expected, strict=True):
        array = arrays[f"catalogue_{name}"]
        assert array.shape == values.shape
        assert np.array_equal(array.on_host(), values.astype(array.dtype))
    assert np.array_equal(arrays["catalogue_weight"].on_host(), arrays["catalogue_weight"].on_host())


@pytest.mark.parametrize("kind", ["csv", "cmtsolution"])
def test_twenty_thousand_in_little_time(kind, tmp_path):
    """0.4 to 0.9 s beside other work; as single sources 20,000 took minutes."""
    if kind == "csv":
        (tmp_path / "c").write_text(HEADING + "".join(table(20_000)))
    else:
        blocks = (BLOCK.format(n, 1 + n / 1e5, 800 + n / 20) for n in range(20_000))
        (tmp_path / "c").write_text("".join(blocks))
    more = 'coordinates = "metres"' if kind == "cmtsolution" else ""
    begin = time.process_time()
    plan = craton.plan(scenario(tmp_path / "c", kind=kind, more=more, overrides=()))
    assert time.process_time() - begin < 4
    assert plan.bytes_by_kind["points"] < 150 << 20


def test_many_receivers_are_planned_before_their_rows_are_made(tmp_path, monkeypatch):
    """The rows that are made later are the same."""
    path = tmp_path / "r.csv"
    xyz = np.random.default_rng(2).uniform([600, 600, -1900], [2400, 2400, 0], (40, 3))
    path.write_text("name,x,y,z\n" + "".join(f"R{n},{x},{y},{z}\n" for n, (x, y, z) in enumerate(xyz)))
    text = smallcase.TEXT.replace(SHOTS, f'[[receivers]]\nfile = "{path}"\n')
    now = craton.plan(loads(text)).arrays
    monkeypatch.setattr(receiver_points, "LATER", 0)
    later = craton.plan(loads(text)).arrays
    for name in ("sample_source", "sample_first", "sample_weight"):
        assert later[name].shape == now[name].shape
        assert np.array_equal(later[name].on_host(), now[name].on_host())
    assert not isinstance(later["sample_source"].data, np.ndarray)


def test_blocks_in_several_chunks(tmp_path, monkeypatch):
    """A file that is read in parts of some lines is the same; one that is not alike is read block by block."""
    path = tmp_path / "c"
    text = "".join(BLOCK.format(n, n / 7, 1000 + n) for n in range(50))
    path.write_text(text)
    whole = io.read(path, "source", "cmtsolution")
    monkeypatch.setattr(keyed, "CHUNK", 500)
    for parts in (io.read(path, "source", "cmtsolution"), _single(path, text)):
        assert len(parts) == 50
        for a, b in zip(whole, parts, strict=True):
            assert (a.longitude, a.shift, a.name) == (b.longitude, b.shift, b.name)
            assert a.moment.tobytes() == b.moment.tobytes()


def _single(path, text):
    """The sources with one block in another order of its lines."""
    path.write_text(text.replace("latorUTM: 1500.25\nlongorUTM: 1049\n", "longorUTM: 1049\nlatorUTM: 1500.25\n"))
    sources = io.read(path, "source", "cmtsolution")
    assert isinstance(sources, list)
    return sources


@pytest.mark.parametrize(
    "kind, old, new, message",
    [
        ("csv", "E7,", "E7,1 km", "line 9"),
        ("cmtsolution", "longorUTM: 1007", "longorUTM: x", "a source from number 1 on is unlike"),
    ],
)
def test_many_that_are_not_alike_are_refused(kind, old, new, message, tmp_path, monkeypatch):
    """They would be read one by one."""
    monkeypatch.setattr(limits, "MOST_ROWS", 20)
    monkeypatch.setattr("craton.io.source_table.MOST_ROWS", 20)
    rows = table(50) if kind == "csv" else [BLOCK.format(n, n / 7, 1000 + n) for n in range(50)]
    text = (HEADING if kind == "csv" else "") + "".join(rows)
    (tmp_path / "c").write_text(text.replace(old, new))
    with pytest.raises((FileError, ValueError), match=message):
        io.read(tmp_path / "c", "source", kind)


def test_single_sources_of_a_catalogue(any_count, tmp_path):
    """As the file's sources are by themselves; Green's functions take them so."""
    (tmp_path / "c.csv").write_text(HEADING + "".join(table(5)))
    any_count(True)
    (held,) = source_files.build_all(scenario(tmp_path / "c.csv"))
    any_count(False)
    alone, times = source_files.build_all(scenario(tmp_path / "c.csv")), np.linspace(0, 2, 9)
    for a, b in zip(parts_of(held), alone, strict=True):
        assert (a.name, a.xyz) == (b.name, b.xyz)
        assert np.allclose(a.moment, b.moment, 1e-12, 1e-3)
        assert np.allclose(a.wavelet(times), b.wavelet(times), 1e-12, 1e-12)
