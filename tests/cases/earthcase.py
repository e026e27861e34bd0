"""The Earth in tests: PREM, a scenario of a chunk and of the whole, volumes of meshes, files of three-dimensional models."""

from functools import partial

import numpy as np
import smallcase
import xarray

from craton.model.globe import prem
from craton.model.mesh import shape

PREM = prem.prem()
RADIUS = 6371e3
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(4)
CUBE = np.einsum("i,j,k->kji", *3 * [WEIGHTS]).ravel()
CENTRE = (-67.25, -13.82)
# A radial model of few layers: TauP takes seconds for PREM.
SIMPLE = "0 5.8 3.2 2.6\n30 6.0 3.3 2.7\nmantle\n30 8.0 4.5 3.3\n2891 13 7.2 5.5\nouter-core\n2891 8 0 10\n"
SIMPLE += "5150 10 0 12\ninner-core\n5150 11 3.5 12.8\n6371 11.2 3.6 13\n"

TEXT = """
method = "sem"
[domain]
chunk = { longitude = -67.25, latitude = -13.82, width = [10, 12], azimuth = 20, period = 100, bottom = "1000 km" }
[model]
kind = "prem"
[time]
duration = 60
start = -60
[[source]]
kind = "moment_tensor"
at = { longitude = -67.0, latitude = -13.5, depth = "150 km" }
tensor = { rr = 1e20, tt = -1e20, rp = 2e19 }
wavelet = { kind = "gaussian", tau = 20 }
[[receivers]]
name = "A"
at = { longitude = -65, latitude = -13 }
[[receivers]]
name = "L"
line = { from = { longitude = -65, latitude = -13 }, to = { longitude = -65, latitude = -15, depth = 100 }, count = 3 }
[output]
waveforms = ["displacement"]
"""


changed = partial(smallcase.changed, text=TEXT)
CHUNK = TEXT[TEXT.index("longitude = ") : TEXT.index(" }\n[model]")]
LINE = TEXT[TEXT.index("[[rec") : TEXT.index("[out")]
WHOLE = changed(
    (CHUNK, 'chunks = 6, elements = [8, 8], bottom = "centre"'),
    ('longitude = -67.0, latitude = -13.5, depth = "150 km"', 'longitude = 160, latitude = -80, depth = "20 km"'),
    ("duration = 60\nstart = -60", "duration = 10\nstart = -600"),
    ("tau = 20", "tau = 150"),
    (LINE, '[[receivers]]\nname = "A"\nat = { longitude = -20, latitude = 80 }\n[[receivers]]\nname = "C"\n'),
    ("[output]", 'at = { longitude = 0, latitude = 0, depth = "6371 km" }\n[output]'),
)


def volume(mesh):
    """Of all elements, m3, by quadrature that is exact for their Jacobians (degree 5 an axis)."""
    return (shape.determinants(mesh.nodes, mesh.elements, GAUSS) @ CUBE).sum()


def emc_data(depth, latitude, longitude, dims=("depth", "latitude", "longitude"), unit="km", **fields):
    """A dataset of EMC's kind; `fields` are (values over depth, latitude, longitude, unit)."""
    axes = {"depth": depth, "latitude": latitude, "longitude": longitude}
    coords = {name: (name, np.asarray(values, float)) for name, values in axes.items()}
    coords["depth"] += ({"units": unit, "positive": "down"},)
    sizes, data = tuple(len(values) for values in axes.values()), {}
    for name, (values, of) in fields.items():
        data[name] = tuple(axes), np.broadcast_to(values, sizes), {} if of is None else {"units": of}
    return xarray.Dataset(data, coords).transpose(*dims)


def emc_file(path, *axes, **fields):
    """The same in a netCDF file; its path."""
    emc_data(*axes, **fields).to_netcdf(path, engine="h5netcdf")
    return path
