"""Sound inputs of every format, as small as they can be, with a scenario that reads each."""

import re
import shutil

import numpy as np
from paths import DATA as ALL_DATA
from paths import ROOT
from smallcase import TEXT, changed

from attack import binaries

EXAMPLES = ROOT / "examples"
DATA = ALL_DATA / "sources"
LARGE = ("two_layers_full", "globe", "earth_chunk")  # examples whose sound plans take seconds
# beginnings of names: plans of 0.2 s and more
SLOW = ("radial", "model nc", "model rfile", "model zarr", "perturbation", "observed", "waves")


def part(text, first, last):
    """What stands between two words of a text, with the first one."""
    return text[text.index(first) : text.index(last)]


SOURCE = part(TEXT, "[[source]]", "[[receivers]]")
BASE = changed((part(TEXT, "[[snapshots]]", "[output]"), ""), ("duration = 1.0", "duration = 0.2"))
BASE = changed(("spacing = 100", "spacing = 125"), ("thickness = 5", "thickness = 3"), text=BASE)
STATION = part(BASE, "[[receivers]]", "[output]")
MEDIUM = part(BASE, 'kind = "homogeneous"', "\n\n[time]")
WAVELET = 'wavelet = { kind = "gaussian", tau = 0.12 }'
ON_EARTH = ("[model]", "geographic = { longitude = -118.2, latitude = 34.1 }\n[model]")
WIDE = [
    ("origin = [0, 0, -2500]", "origin = [-6000, -6000, -12000]"),
    ("size = [3000, 3000, 2500]", "size = [12000, 12000, 12000]"),
    ("spacing = 125", "spacing = 500"),
]
GRAVITY = """method = "gravity"
gravity = { fields = ["g_z"] }
prisms = { kind = "table", file = "p.END" }
points = { kind = "grid", x = [0, 100, 3], y = [0, 100, 3], z = 10 }
"""
ELEMENTS = """method = "sem"
model = { kind = "homogeneous", vp = 3000, vs = 1700, rho = 2300 }
time = { duration = 0.05 }
boundaries = { others = "stacey" }
run = { device = "cpu" }
receivers = [{ name = "A", at = [600, 500, -100] }]
"""
MESH = f"""{ELEMENTS}domain = {{ mesh = "FILE" }}
[[source]]
kind = "explosion"
at = [500, 500, -500]
moment = 1e14
{WAVELET}
"""
REDUCED = f"""{ELEMENTS}domain = {{ origin = [0, 0, -800], size = [1200, 1200, 800], element_size = 400 }}
injection = [{{ file = "w.h5drm", from = [400, 400, -400], to = [800, 800, 0] }}]
"""
PLANE = """domain = { origin = [0, -600], size = [900, 600], spacing = 50 }
model = { kind = "homogeneous", vp = 2000, vs = 1100, rho = 2200 }
boundaries = { others = "rigid" }
run = { device = "cpu" }
"""
SECTION = f"""{PLANE}gradient = {{ observed = "d.END", parameters = ["vp"] }}
time = {{ start = 0.0, step = 0.005, duration = 0.1 }}
[[source]]
kind = "force"
shots = {{ from = [200, -100], to = [600, -100], count = 2 }}
name = "S"
force = [1e9, 0]
wavelet = {{ kind = "ricker", frequency = 8, delay = 0.1 }}
[[receivers]]
name = "A"
line = {{ from = [300, -50], to = [700, -50], count = 3 }}
"""
INJECTED = f"""{PLANE}time = {{ step = 0.005, duration = 0.1 }}
injection = [{{ file = "w.END", from = [300, -300], to = [600, 0] }}]
receivers = [{{ name = "A", at = [450, -100] }}]
"""


def build(folder, only=""):
    """Write the corpus into a folder: name -> (folder, scenario, file that is read); of cases whose names match an expression."""
    written = {}
    for name, (text, file, make) in cases().items():
        if re.search(only, name):
            (folder / name).mkdir(parents=True)
            if make(folder / name / file) is not False:
                (folder / name / "case.toml").write_text(text)
                written[name] = (folder / name, "case.toml", file)
    for path in sorted(EXAMPLES.glob("*.toml")):
        if path.stem not in LARGE and re.search(only, path.stem):
            shutil.copytree(EXAMPLES / "files", folder / path.stem / "files")
            shutil.copy(path, folder / path.stem / "case.toml")
            written[path.stem] = (folder / path.stem, "case.toml", "case.toml")
    return written


def cases():
    """Scenario, name of a file that it reads, and function that writes this, by name: what the file holds, and its format."""
    return sources() | grids() | others()


def chosen(written, random):
    """Name of a case; one whose plan takes tenths of a second comes one time in ten."""
    while True:
        name = random.choice(sorted(written))
        slow = name.startswith(SLOW) or written[name][2] == "case.toml"
        if not slow or random.random() < 0.1:
            return name


def copied(path):
    """Copy a file of the tests' data by its name."""
    shutil.copy(DATA / path.name, path)


def texted(text):
    """A function that writes a text."""
    return lambda path: path.write_text(text)


def sources():
    """Sources, stations and wavelets."""
    cases = {}
    for kind, file, extra, changes in (
        ("cmtsolution", "CMTSOLUTION_cartesian", f'coordinates = "metres"\n{WAVELET}', []),
        ("forcesolution", "FORCESOLUTION", f'coordinates = "metres"\n{WAVELET}', []),
        ("srf", "rupture_v2.srf", 'coordinates = "metres"', []),
        ("srf", "rupture_v1.srf", "", [*WIDE, ON_EARTH]),
        ("quakeml", "event.xml", WAVELET, [ON_EARTH]),
        ("fsp", "event.fsp", "", [*WIDE, ON_EARTH]),
        ("csv", "events.csv", WAVELET, [*WIDE, ON_EARTH]),
    ):
        read = (SOURCE, f'[[source]]\nkind = "{kind}"\nfile = "{file}"\n{extra}\n')
        cases[f"source {file}"] = (changed(read, *changes, text=BASE), file, copied)
    fdsn = "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
    fdsn += "".join(f"CI|S{n}|34.1{n}1|-118.19{n}|100.0|Site|2001-01-01T00:00:00|\n" for n in (1, 2))
    for file, extra, make in (
        ("STATIONS_cartesian", '\ncoordinates = "metres"', copied),
        ("stations.xml", "", copied),
        ("fdsn.txt", "", texted(fdsn)),
        ("s.csv", "", texted("name,x,y,z\nA,1000,1000,0\nB,1100,1200,-10\n")),
        ("e.csv", "", texted("name,longitude,latitude,depth\nA,-118.19,34.12,0 km\n")),
    ):
        read = (STATION, f'[[receivers]]\nfile = "{file}"{extra}\n')
        cases[f"stations {file}"] = (changed(read, ON_EARTH, text=BASE), file, make)
    samples = "\n".join(f"{n * 0.01:.2f} {np.exp(-(((n - 30) / 9) ** 2)):.6f}" for n in range(80))
    read = ('{ kind = "gaussian", tau = 0.12, delay = 0.6 }', '{ kind = "samples", file = "w.txt" }')
    cases["wavelet"] = (changed(read, text=BASE), "w.txt", texted(samples + "\n"))
    return cases


def grids():
    """Models and rasters on grids."""
    table = "depth_km vp_km/s vs_km/s rho_g/cm3\n0 3 1.7 2.3\n1 4 2.3 2.5\n"
    layered = changed((MEDIUM, 'kind = "layers"\nfile = "crust.txt"'), text=BASE)
    cases = {"layers txt": (layered, "crust.txt", texted(table))}
    for name, file, make in (
        ("nc", "m.nc", model),
        ("zarr", "m.zarr", model),
        ("rfile", "m.rfile", binaries.rfile),
        ("tomography", "m.xyz", texted(tomography())),
    ):
        text = changed((MEDIUM, f'kind = "file"\nfile = "{file}"'), *on_earth(name), text=BASE)
        cases[f"model {name}"] = (text, file, make)
    numbers = 'shape = [4, 4, 4], order = "xyz", spacing = [1000, 1000, 1000]'
    for name, file, extra, make in (
        ("segy", "vp.sgy", "depth_step = 500", binaries.segy),
        ("bin", "vp.bin", numbers, lambda path: np.full(64, 3000, "float32").tofile(path)),
    ):
        read = f'kind = "file"\n[model.properties]\nvp = {{ file = "{file}", {extra} }}\nvs = 1700\nrho = 2300'
        cases[f"model {name}"] = (changed((MEDIUM, read), text=BASE), file, make)
    ground = {"nc": elevations, "zarr": elevations, "asc": ascii_grid, "tif": geotiff, "rfile": binaries.rfile}
    for end, make in ground.items():
        read = (MEDIUM, f'{MEDIUM}\ntopography = {{ file = "dem.{end}" }}')
        text = changed(read, *on_earth(end), text=BASE).replace("1500, 0]", "1500, -300]")  # receivers below the hill
        cases[f"topography {end}"] = (text, f"dem.{end}", make)
    return cases


def on_earth(name):
    """The change of a scenario that reads an rfile, whose place is on the Earth."""
    return [ON_EARTH] if name == "rfile" else []


def tomography():
    """A tomography of SPECFEM of 3 x 3 x 3 points."""
    heading = "0 0 -3000 3000 3000 0\n1500 1500 1500\n3 3 3\n3000 3000 1700 1700 2300 2300\n"
    axis = range(0, 3001, 1500)
    return heading + "".join(f"{x} {y} {z - 3000} 3000 1700 2300\n" for z in axis for y in axis for x in axis)


def to_file(fields, axes, path):
    """Write netCDF or zarr by the end of the name."""
    import xarray as xr

    dataset = xr.Dataset(fields, axes)
    if path.suffix == ".nc":
        dataset.to_netcdf(path, engine="h5netcdf")
    else:
        dataset.to_zarr(path, zarr_format=2)


def elevations(path):
    """Flat ground with a hill."""
    x = np.linspace(-500, 3500, 9)
    z = -200 + 50 * np.exp(-(((x[:, None] - 1500) / 500) ** 2) - ((x - 1500) / 500) ** 2)
    to_file({"z": (("y", "x"), z, {"units": "m"})}, {"x": x, "y": x}, path)


def model(path):
    """A model of 4 x 4 x 4 points."""
    axes = {"z": np.linspace(-2500, 0, 4), "y": np.linspace(0, 3000, 4), "x": np.linspace(0, 3000, 4)}
    means = {"vp": 3e3, "vs": 1.7e3, "rho": 2.3e3}
    to_file({name: (tuple(axes), np.full((4, 4, 4), mean)) for name, mean in means.items()}, axes, path)


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
    """Meshes, radial models, results of other runs, prisms."""
    cases = {}
    for file in ("cube.vtu", "cube.vtk", "cube.msh", "old.msh", "cube.e", "folder"):
        cases[f"mesh {file.replace('cube.', '')}"] = (MESH.replace("FILE", file), file, binaries.cube)
    coarse = [("[16, 16]", "[4, 4]"), ("duration = 3600", "duration = 60"), ('growth = ["700 km"]', "")]
    globe, read = changed(*coarse, text=(EXAMPLES / "globe.toml").read_text()), 'file = "files/prem_no_crust.nd"'
    for end in ("nd", "tvel", "csv"):
        text = changed((read, f'file = "m.{end}"'), text=globe)
        cases[f"radial {end}"] = (at_home(text), f"m.{end}", texted(radial(end)))
    text = changed((f'kind = "radial"\n{read}', 'kind = "prem"\nperturbation = { file = "p.nc" }'), text=globe)
    cases["perturbation nc"] = (at_home(text), "p.nc", perturbation)
    for end in ("nc", "zarr"):
        cases[f"observed {end}"] = (SECTION.replace("END", end), f"d.{end}", observed)
        cases[f"waves {end}"] = (INJECTED.replace("END", end), f"w.{end}", waves)
    cases["waves h5drm"] = (REDUCED, "w.h5drm", binaries.reduced)
    for end in ("csv", "nc", "parquet"):
        cases[f"prisms {end}"] = (GRAVITY.replace("END", end), f"p.{end}", binaries.prisms)
    return cases


def at_home(text):
    """The scenario of an example with its files where they are."""
    return text.replace('"files/', f'"{EXAMPLES / "files"}/')


def perturbation(path):
    """Changes of vs by longitude, latitude and depth."""
    axes = {"depth": [0.0, 400.0, 800.0], "latitude": [-90.0, 0.0, 90.0], "longitude": [-180.0, -60.0, 60.0, 180.0]}
    to_file({"dvs": (tuple(axes), np.ones((3, 3, 4)), {"units": "%"})}, axes, path)


def observed(path):
    """Data of two shots."""
    import craton
    from craton.scenario import loads

    data = craton.Problem(loads(SECTION.replace("END", path.suffix[1:]))).data()
    to_file(data.data_vars, data.coords, path)


def waves(path):
    """Velocity and strain of a vertical P wave of 2000 m/s at points 50 m apart."""
    times, x, z = np.arange(-0.5, 0.81, 0.05), np.arange(100.0, 801, 50), np.arange(-500.0, 1, 50)
    late = times[:, None, None] - (z[:, None] + 500) / 2000 + 0 * x
    pulse, still = np.exp(-((late / 0.14) ** 2)).astype("float32"), np.zeros(late.shape, "float32")
    fields = {
        "velocity": (("component", "time", "z", "x"), np.stack([still, pulse])),
        "strain": (("tensor", "time", "z", "x"), np.stack([still, -pulse / 2000, still])),
        "vp": 2000.0,
        "vs": 1100.0,
        "rho": 2200.0,
    }
    names = {"component": ["x", "z"], "tensor": ["xx", "zz", "xz"]}
    to_file(fields, names | {"time": times, "x": x, "y": 0.0, "z": z}, path)


def radial(end):
    """A radial model as .nd, .tvel or .csv."""
    nd = (EXAMPLES / "files" / "prem_no_crust.nd").read_text()
    rows = [row for row in (line.split("#")[0].split() for line in nd.splitlines()) if len(row) >= 4]
    lines = (f"{float(d) * 1000},{v}e3,{s}e3,{r}e3\n" for d, v, s, r, *_ in rows)
    tvel = "model - P\nmodel - S\n" + "".join(" ".join(row[:4]) + "\n" for row in rows)
    return {"nd": nd, "tvel": tvel, "csv": "depth,vp,vs,rho\n" + "".join(lines)}[end]
