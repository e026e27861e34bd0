"""VTKHDF files as VTK reads them, through PyVista."""

import numpy as np
import pytest
import xarray as xr

from craton.errors import CratonError
from craton.io import vtkhdf

pyvista = pytest.importorskip("pyvista")
TIMES = np.array([0.0, 0.25, 0.75])


def series(**change):
    """Frames of a volume: a vector, a tensor and a number."""
    random, shape = np.random.default_rng(2), (3, 4, 5, 6)
    axes = {
        "time": TIMES,
        "z": -300.0 + 100 * np.arange(4),
        "y": 50.0 * np.arange(5),
        "x": 1000 + 20.0 * np.arange(6),
        **change,
    }
    dims = ("time", "z", "y", "x")
    values = {
        "pressure": (dims, random.random(shape, np.float32)),
        "velocity": (("time", "component", *dims[1:]), random.random((3, 3, 4, 5, 6), np.float32)),
        "strain": (("time", "tensor", *dims[1:]), random.random((3, 6, 4, 5, 6), np.float32)),
    }
    return xr.Dataset(values, axes | {"component": list("ENZ"), "tensor": ["EE", "NN", "ZZ", "EN", "EZ", "NZ"]})


def frames(path):
    """(time, image) of each step, by VTK's own reader."""
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    for step in range(reader.GetNumberOfSteps()):
        reader.SetStep(step)
        reader.Update()
        yield reader.GetTimeValue(), pyvista.wrap(reader.GetOutputDataObject(0)).copy()


def test_frames_of_a_volume(tmp_path):
    data = series()
    path = vtkhdf.write_snapshots(data, tmp_path / "wave.vtkhdf")
    read = list(frames(path))
    assert [time for time, _ in read] == list(TIMES)
    for n, (_, image) in enumerate(read):
        assert image.dimensions == (6, 5, 4) and image.spacing == (20, 50, 100) and image.origin == (1000, 0, -300)
        assert np.array_equal(np.asarray(image["pressure"]).reshape(4, 5, 6), data.pressure.values[n])
        velocity = np.asarray(image["velocity"]).reshape(4, 5, 6, 3)
        assert np.array_equal(np.moveaxis(velocity, -1, 0), data.velocity.values[n])
        assert np.array_equal(np.asarray(image["strain_EZ"]).reshape(4, 5, 6), data.strain.sel(tensor="EZ").values[n])


def test_frames_of_a_plane(tmp_path):
    data = series().isel(y=2)
    _, image = list(frames(vtkhdf.write_snapshots(data, tmp_path / "plane.vtkhdf")))[1]
    assert image.dimensions == (6, 4, 1) and image.origin == (1000, 100, -300)
    assert np.array_equal(np.asarray(image["pressure"]).reshape(4, 6), data.pressure.values[1])
    corners = [1000, 1100, 100, 100, -300, 0]
    assert np.allclose(image.bounds, corners)


def test_a_mesh(tmp_path):
    points = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1, 3)], float)
    cells = np.array([[0, 1, 4, 3, 6, 7, 10, 9], [1, 2, 5, 4, 7, 8, 11, 10]])
    path = vtkhdf.write_mesh(
        tmp_path / "m.vtkhdf", points, cells, 12, {"height": points[:, 2]}, {"vp": np.array([3.0, 4.0])}
    )
    mesh = pyvista.read(str(path))
    assert np.array_equal(mesh.points, points) and np.array_equal(mesh.cells_dict[12], cells)
    assert np.array_equal(mesh["height"], points[:, 2]) and np.array_equal(mesh["vp"], [3, 4])
    assert mesh.compute_cell_sizes()["Volume"] == pytest.approx([1, 2])


@pytest.mark.parametrize(
    "write, words",
    [
        (
            lambda folder: vtkhdf.write_snapshots(series(x=[0.0, 1, 2, 3, 4, 6]), folder / "a.vtkhdf"),
            "along x are 1 to 2 m apart",
        ),
        (lambda folder: vtkhdf.write_snapshots(series().isel(time=slice(0)), folder / "a.vtkhdf"), "no snapshots"),
        (lambda folder: vtkhdf.write_snapshots(series(), folder / "a.vtk"), "ends in .vtkhdf"),
        (
            lambda folder: vtkhdf.write_mesh(
                folder / "a.vtkhdf", np.zeros((8, 3)), np.zeros((1, 8)), 12, {}, {"vp": [1, 2]}
            ),
            "2 values",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, write, words):
    with pytest.raises(CratonError, match=words):
        write(tmp_path)
    assert not list(tmp_path.iterdir())
