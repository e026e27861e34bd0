"""Sound inputs of every format, as small as they can be, with a scenario that reads each."""

import shutil
from pathlib import Path

import numpy as np
from smallcase import TEXT

from attack import binaries

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "sources"
MEDIUM = 'kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300'
SOURCE = TEXT[TEXT.index("[[source]]") : TEXT.index("[[receivers]]")]
SNAPSHOTS = TEXT[TEXT.index("[[snapshots]]") : TEXT.index("[output]")]
BASE = TEXT.replace(SNAPSHOTS, "").replace("duration = 1.0", "duration = 0.2")
BASE = BASE.replace("spacing = 100", "spacing = 125").replace("thickness = 5", "thickness = 3")
WIDE = {
    "origin = [0, 0, -2500]": "origin = [-6000, -6000, -12000]",
    "size = [3000, 3000, 2500]": "size = [12000, 12000, 12000]",
    "spacing = 125": "spacing = 500",
}
ON_EARTH = {"[model]": "geographic = { longitude = -118.2, latitude = 34.1 }\n[model]"}
LARGE = ("two_layers_full", "globe", "earth_chunk")  # examples whose sound plans take seconds
SLOW = (
    "radial",
    "model nc",
    "model rfile",
    "model zarr",
    "perturbation",
    "observed",
    "waves",
)  # beginnings of names: plans of 0.2 s and more
STATION = BASE[BASE.index("[[receivers]]") : BASE.index("[output]")]
WAVELET = 'wavelet = { kind = "gaussian", tau = 0.12, delay = 0.6 }'
GRAVITY = """method = "gravity"
[gravity]
fields = ["g_z"]
[prisms]
{prisms}
[points]
kind = "grid"
x = [0, 100, 3]
y = [0, 100, 3]
z = 10
"""
MESH = """method = "sem"
[domain]
mesh = "{file}"
[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2300
[time]
duration = 0.05
[boundaries]
others = "stacey"
[[source]]
kind = "explosion"
at = [500, 500, -500]
moment = 1e14
wavelet = {{ kind = "gaussian", tau = 0.12 }}
[[receivers]]
name = "A"
at = [600, 500, -500]
[run]
device = "cpu"
"""


SECTION = """[domain]
origin = [0, -600]
size = [900, 600]
spacing = 50
[model]
kind = "homogeneous"
vp = 2000
vs = 1100
rho = 2200
[time]
start = 0.0
step = 0.005
duration = 0.1
[boundaries]
others = "rigid"
[[source]]
kind = "force"
shots = { from = [200, -100], to = [600, -100], count = 2 }
name = "S"
force = [1e9, 0]
wavelet = { kind = "ricker", frequency = 8, delay = 0.1 }
[[receivers]]
name = "A"
line = { from = [300, -50], to = [700, -50], count = 3 }
[gradient]
observed = "d.FORMAT"
parameters = ["vp"]
[run]
device = "cpu"
"""
INJECTED = SECTION[: SECTION.index("[[source]]")].replace("start = 0.0\n", "")
INJECTED += """[[injection]]
file = "w.FORMAT"
from = [300, -300]
to = [600, 0]
[[receivers]]
name = "A"
at = [450, -100]
[run]
device = "cpu"
"""
REDUCED = (
    MESH[: MESH.index("[[source]]")]
    .format(file="")
    .replace('mesh = ""', "origin = [0, 0, -800]\nsize = [1200, 1200, 800]\nelement_size = 400")
)
REDUCED += """[[injection]]
file = "w.h5drm"
from = [400, 400, -400]
to = [800, 800, 0]
[[receivers]]
name = "A"
at = [600, 500, -100]
[run]
device = "cpu"
"""


def changed(*changes):
    """The small scenario with texts replaced."""
    text = BASE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def buried(text):
    """The scenario with receivers below a hill."""
    return text.replace("1500, 0]", "1500, -300]")


def build(folder, beginnings=""):
    """Write the corpus into a folder: name -> (folder, scenario, file that is read); of all cases, or of those whose
    names begin so.
    """
    cases = {}
    for name, (text, file, make) in {**sources(), **grids(), **others()}.items():
        if not name.startswith(beginnings):
            continue
        place = folder / name
        place.mkdir(parents=True)
        if make(place / file) is not False:
            (place / "case.toml").write_text(text)
            cases[name] = (place, "case.toml", file)
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if path.stem in LARGE or not path.stem.startswith(beginnings):
            continue
        place = folder / path.stem
        place.mkdir()
        shutil.copytree(ROOT / "examples" / "files", place / "files")
        shutil.copy(path, place / "case.toml")
        cases[path.stem] = (place, "case.toml", "case.toml")
    return cases


def chosen(cases, random):
    """Name of a case; one whose plan takes tenths of a second comes one time in ten."""
    while True:
        name = random.choice(sorted(cases))
        slow = name.startswith(SLOW) or cases[name][2] == "case.toml"
        if not slow or random.random() < 0.1:
            return name


def copied(name):
    """A function that copies a file of the tests' data."""
    return lambda path: shutil.copy(DATA / name, path)


def texted(text):
    """A function that writes a text."""
    return lambda path: path.write_text(text)


def replaced(text, changes):
    """A text with others in it exchanged, each of which must be there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def sources():
    """Sources, stations and wavelets."""
    cases = {}
    wavelet = 'wavelet = { kind = "gaussian", tau = 0.12 }'
    metres = f'coordinates = "metres"\n{wavelet}'
    for kind, file, extra, changes in (
        ("cmtsolution", "CMTSOLUTION_cartesian", metres, {}),
        ("forcesolution", "FORCESOLUTION", metres, {}),
        ("srf", "rupture_v2.srf", 'coordinates = "metres"', {}),
        ("srf", "rupture_v1.srf", "", WIDE | ON_EARTH),
        ("quakeml", "event.xml", wavelet, ON_EARTH),
        ("fsp", "event.fsp", "", WIDE | ON_EARTH),
        ("csv", "events.csv", wavelet, WIDE | ON_EARTH),
    ):
        text = changed((SOURCE, f'[[source]]\nkind = "{kind}"\nfile = "{file}"\n{extra}\n'))
        cases[f"source {file}"] = (replaced(text, changes), file, copied(file))
    fdsn = "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
    fdsn += "".join(f"CI|S{n}|34.1{n}1|-118.19{n}|100.0|Site|2001-01-01T00:00:00|\n" for n in (1, 2))
    for file, extra, make in (
        ("STATIONS_cartesian", '\ncoordinates = "metres"', copied("STATIONS_cartesian")),
        ("stations.xml", "", copied("stations.xml")),
        ("fdsn.txt", "", texted(fdsn)),
        ("s.csv", "", texted("name,x,y,z\nA,1000,1000,0\nB,1100,1200,-10\n")),
        ("e.csv", "", texted("name,longitude,latitude,depth\nA,-118.19,34.12,0 km\n")),
    ):
        text = changed((STATION, f'[[receivers]]\nfile = "{file}"{extra}\n'))
        cases[f"stations {file}"] = (replaced(text, ON_EARTH), file, make)
    text = changed((WAVELET, 'wavelet = { kind = "samples", file = "w.txt" }'))
    samples = "\n".join(f"{n * 0.01:.2f} {np.exp(-(((n - 30) / 9) ** 2)):.6f}" for n in range(80))
    cases["wavelet"] = (text, "w.txt", texted(samples + "\n"))
    return cases


def grids():
    """Models and rasters on grids."""
    cases = {}
    for end in ("nc", "zarr"):
        text = changed((MEDIUM, f'kind = "file"\nfile = "m.{end}"'))
        cases[f"model {end}"] = (text, f"m.{end}", model)
        text = buried(changed((MEDIUM, f'{MEDIUM}\ntopography = {{ file = "dem.{end}" }}')))
        cases[f"topography {end}"] = (text, f"dem.{end}", elevations)
    for end, make in (("asc", ascii_grid), ("tif", geotiff)):
        text = buried(changed((MEDIUM, f'{MEDIUM}\ntopography = {{ file = "dem.{end}" }}')))
        cases[f"topography {end}"] = (text, f"dem.{end}", make)
    text = changed((MEDIUM, 'kind = "file"\nfile = "m.rfile"'))
    cases["model rfile"] = (replaced(text, ON_EARTH), "m.rfile", binaries.rfile)
    text = buried(changed((MEDIUM, f'{MEDIUM}\ntopography = {{ file = "dem.rfile" }}')))
    cases["topography rfile"] = (replaced(text, ON_EARTH), "dem.rfile", binaries.rfile)
    text = changed((MEDIUM, 'kind = "file"\nfile = "m.xyz"'))
    cases["model tomography"] = (text, "m.xyz", texted(tomography()))
    properties = 'kind = "file"\n[model.properties]\nvp = { file = "vp.sgy", depth_step = 500 }\nvs = 1700\nrho = 2300'
    text = changed((MEDIUM, properties))
    cases["model segy"] = (text, "vp.sgy", binaries.segy)
    numbers = 'shape = [4, 4, 4], order = "xyz", spacing = [1000, 1000, 1000]'
    properties = properties.replace("vp.sgy", "vp.bin").replace("depth_step = 500", numbers)
    cases["model bin"] = (changed((MEDIUM, properties)), "vp.bin", bare_numbers)
    text = changed((MEDIUM, 'kind = "layers"\nfile = "crust.txt"'))
    table = "depth_km vp_km/s vs_km/s rho_g/cm3\n0 3 1.7 2.3\n1 4 2.3 2.5\n"
    cases["layers txt"] = (text, "crust.txt", texted(table))
    return cases


def tomography():
    """A tomography of SPECFEM of 3 x 3 x 3 points."""
    heading = "0 0 -3000 3000 3000 0\n1500 1500 1500\n3 3 3\n3000 3000 1700 1700 2300 2300\n"
    axis = range(0, 3001, 1500)
    return heading + "".join(f"{x} {y} {z - 3000} 3000 1700 2300\n" for z in axis for y in axis for x in axis)


def elevations(path):
    """Flat ground with a hill."""
    import xarray as xr

    x = np.linspace(-500, 3500, 9)
    z = -200 + 50 * np.exp(-(((x[:, None] - 1500) / 500) ** 2) - ((x - 1500) / 500) ** 2)
    kept = xr.Dataset({"z": (("y", "x"), z, {"units": "m"})}, {"x": x, "y": x})
    return to_file(kept, path)


def model(path):
    """A model of 4 x 4 x 4 points."""
    import xarray as xr

    x, z = np.linspace(0, 3000, 4), np.linspace(-2500, 0, 4)
    axes = ("z", "y", "x")
    fields = {name: (axes, np.full((4, 4, 4), value)) for name, value in (("vp", 3e3), ("vs", 1.7e3), ("rho", 2.3e3))}
    return to_file(xr.Dataset(fields, {"x": x, "y": x, "z": z}), path)


def to_file(dataset, path):
    """Write netCDF or zarr by the end of the name."""
    if path.suffix == ".nc":
        dataset.to_netcdf(path, engine="h5netcdf")
    else:
        dataset.to_zarr(path, zarr_format=2)


def bare_numbers(path):
    """A wave speed at 4 x 4 x 4 points."""
    np.full(64, 3000, "float32").tofile(path)


def ascii_grid(path):
    """An ESRI ASCII grid."""
    rows = "\n".join(" ".join("-200" for _ in range(9)) for _ in range(9))
    path.write_text(f"ncols 9\nnrows 9\nxllcorner -500\nyllcorner -500\ncellsize 500\nNODATA_value -9999\n{rows}\n")


def geotiff(path):
    """A GeoTIFF, where rasterio is there."""
    try:
        import rasterio
    except ImportError:
        return False
    place = rasterio.transform.from_origin(-500, 3500, 500, 500)
    options = {"driver": "GTiff", "height": 9, "width": 9, "count": 1, "dtype": "float32"}
    with rasterio.open(path, "w", transform=place, **options) as file:
        file.write(np.full((9, 9), -200, "float32"), 1)
    return True


def others():
    """Meshes, radial models, prisms."""
    cases = {}
    for file in ("cube.vtu", "cube.vtk", "cube.msh", "old.msh", "cube.e", "folder"):
        kind = file if file == "folder" else file.replace("cube.", "")
        cases[f"mesh {kind}"] = (MESH.format(file=file), file, binaries.cube)
    globe = (ROOT / "examples" / "globe.toml").read_text()
    globe = globe.replace("[16, 16]", "[4, 4]").replace("duration = 3600", "duration = 60")
    globe = globe.replace('growth = ["700 km"]', "")
    for end in ("nd", "tvel", "csv"):
        text = at_home(globe).replace("m.nd", f"m.{end}")
        cases[f"radial {end}"] = (text, f"m.{end}", texted(radial(end)))
    text = globe.replace(
        'kind = "radial"\nfile = "files/prem_no_crust.nd"', 'kind = "prem"\nperturbation = { file = "p.nc" }'
    )
    cases["perturbation nc"] = (at_home(text), "p.nc", perturbation)
    for end in ("nc", "zarr"):
        cases[f"observed {end}"] = (SECTION.replace("FORMAT", end), f"d.{end}", observed)
        cases[f"waves {end}"] = (INJECTED.replace("FORMAT", end), f"w.{end}", waves)
    cases["waves h5drm"] = (REDUCED, "w.h5drm", reduced)
    table = GRAVITY.format(prisms='kind = "table"\nfile = "p.{}"')
    for end in ("csv", "nc", "parquet"):
        cases[f"prisms {end}"] = (table.format(end), f"p.{end}", binaries.prisms)
    return cases


def perturbation(path):
    """Changes of vs by longitude, latitude and depth."""
    import xarray as xr

    axes = {"depth": [0.0, 400.0, 800.0], "latitude": [-90.0, 0.0, 90.0]}
    axes |= {"longitude": [-180.0, -60.0, 60.0, 180.0]}
    changes = xr.Dataset({"dvs": (tuple(axes), np.ones((3, 3, 4)), {"units": "%"})}, axes)
    return to_file(changes, path)


def observed(path):
    """Data of two shots."""
    import craton
    from craton.scenario import loads

    text = SECTION.replace("FORMAT", path.suffix[1:])
    return to_file(craton.Problem(loads(text)).data(), path)


def waves(path):
    """Velocity and strain of a vertical P wave of 2000 m/s at points 50 m apart."""
    import xarray as xr

    times, x, z = np.arange(-0.5, 0.81, 0.05), np.arange(100.0, 801, 50), np.arange(-500.0, 1, 50)
    late = times[:, None, None] - (z[:, None] + 500) / 2000 + 0 * x
    pulse, still = np.exp(-((late / 0.14) ** 2)).astype("float32"), np.zeros(late.shape, "float32")
    axes = ("time", "z", "x")
    fields = {
        "velocity": (("component", *axes), np.stack([still, pulse])),
        "strain": (("tensor", *axes), np.stack([still, -pulse / 2000, still])),
        "vp": 2000.0,
        "vs": 1100.0,
        "rho": 2200.0,
    }
    names = {"component": ["x", "z"], "tensor": ["xx", "zz", "xz"]}
    return to_file(xr.Dataset(fields, names | {"time": times, "x": x, "y": 0.0, "z": z}), path)


def reduced(path):
    """Displacement of a vertical P wave of 3000 m/s at nodes 200 m apart, in km."""
    import h5py

    times, side = np.arange(-1.4, 1.21, 0.1), np.arange(0, 1.3, 0.2)
    xyz = np.stack(np.meshgrid(side, side, side[:5], indexing="ij"), axis=-1).reshape(-1, 3)
    rows = np.zeros((len(xyz), 3, len(times)), "float32")
    rows[:, 2] = np.exp(-(((times + xyz[:, 2:] / 3) / 0.4) ** 2))
    with h5py.File(path, "w") as file:
        file["DRM_Data/xyz"] = xyz
        file["DRM_Data/data_location"] = 3 * np.arange(len(xyz))
        file["DRM_Data/displacement"] = rows.reshape(-1, len(times))
        file["DRM_Metadata/dt"], file["DRM_Metadata/tstart"] = 0.1, -1.4


def radial(end):
    """A radial model as .nd, .tvel or .csv."""
    nd = (ROOT / "examples" / "files" / "prem_no_crust.nd").read_text()
    if end == "nd":
        return nd
    words = [line.split("#")[0].split() for line in nd.splitlines()]
    rows = [row for row in words if len(row) >= 4]
    if end == "tvel":
        return "model - P\nmodel - S\n" + "".join(" ".join(row[:4]) + "\n" for row in rows)
    lines = (f"{float(d) * 1000},{v}e3,{s}e3,{r}e3\n" for d, v, s, r, *_ in rows)
    return "depth,vp,vs,rho\n" + "".join(lines)


def at_home(text):
    """The scenario of an example with its files where they are, and its radial model in m.nd."""
    text = text.replace("files/prem_no_crust.nd", "m.nd")
    return text.replace('"files/', f'"{ROOT / "examples" / "files"}/')
