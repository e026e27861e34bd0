"""Sound inputs of every format, as small as they can be, with a scenario that reads each."""

import re
import shutil

import gravitycase
import numpy as np
import refusals
from paths import DATA as ALL_DATA
from paths import ROOT
from smallcase import TEXT, changed

from attack import binaries

EXAMPLES = ROOT / "examples"
DATA = ALL_DATA / "sources"
LARGE = ("two_layers_full", "globe", "earth_chunk")  # examples whose sound plans take seconds
# beginnings of names: plans of 0.2 s and more
SLOW = ("radial", "model nc", "model rfile", "model zarr", "perturbation", "observed", "waves")


BASE = changed(
    ("[model]", "geographic = { longitude = -118.2, latitude = 34.1 }\n[model]"),
    ("duration = 1.0", "duration = 0.2"),
    ("spacing = 100", "spacing = 125"),
    ("thickness = 5", "thickness = 3"),
    text=TEXT[: TEXT.index("[[snapshots]]")].replace("1500, 0]", "1500, -300]"),  # below the hill
)
SOURCE = f"[[source]]\n{refusals.SOURCE}\n"
STATIONS = BASE[BASE.index("[[receivers]]") :]
WAVELET = 'wavelet = { kind = "gaussian", tau = 0.12 }'
METRES = 'coordinates = "metres"'
WIDE = [
    ("origin = [0, 0, -2500]", "origin = [-6000, -6000, -12000]"),
    ("size = [3000, 3000, 2500]", "size = [12000, 12000, 12000]"),
    ("spacing = 125", "spacing = 500"),
]
PRISMS = gravitycase.SMALL[gravitycase.SMALL.index('kind = "grid"') : gravitycase.SMALL.index("\n[points]")]
GRAVITY = changed((PRISMS, 'kind = "table"\nfile = "p.END"\n'), text=gravitycase.SMALL)
MESH = changed(
    ("valley.msh", "FILE"),
    ("duration = 1.0", "duration = 0.05"),
    ('others = "cpml"\ncpml = { thickness = 5 }', 'others = "stacey"'),
    text=refusals.MESH,
)
REDUCED = """method = "sem"
domain = { origin = [0, 0, -800], size = [1200, 1200, 800], element_size = 400 }
model = { kind = "homogeneous", vp = 3000, vs = 1700, rho = 2300 }
time = { duration = 0.05 }
boundaries = { others = "stacey" }
run = { device = "cpu" }
receivers = [{ name = "A", at = [600, 500, -100] }]
injection = [{ file = "w.h5drm", from = [400, 400, -400], to = [800, 800, 0] }]
"""
PLANE = """domain = { origin = [0, -600], size = [900, 600], spacing = 50 }
model = { kind = "homogeneous", vp = 2000, vs = 1100, rho = 2200 }
time = { start = -0.5, step = 0.005, duration = 0.1 }
boundaries = { others = "rigid" }
run = { device = "cpu" }
"""
SHOTS = 'name = "S", shots = { from = [200, -100], to = [600, -100], count = 2 }'
SECTION = f"""{PLANE}gradient = {{ observed = "d.END", parameters = ["vp"] }}
source = [{{ {SHOTS}, kind = "force", force = [1e9, 0], {WAVELET} }}]
receivers = [{{ name = "A", line = {{ from = [300, -50], to = [700, -50], count = 3 }} }}]
"""
INJECTED = f"""{PLANE}injection = [{{ file = "w.END", from = [300, -300], to = [600, 0] }}]
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
    return written


def cases():
    """Scenario, name of a file that it reads, and function that writes this, by name: what the file holds, and its format."""
    base = {**sources(), **stations(), **grids()}
    cases = {name: (changed(*changes, text=BASE), file, make) for name, (file, make, *changes) in base.items()}
    for path in sorted(EXAMPLES.glob("*.toml")):
        if path.stem not in LARGE:
            cases[path.stem] = (path.read_text(), "case.toml", with_files)
    return cases | others()


def chosen(written, random):
    """Name of a case; one whose plan takes tenths of a second comes a tenth as often."""
    weights = [0.1 if name.startswith(SLOW) or file == "case.toml" else 1 for name, (_, _, file) in written.items()]
    return random.choices(list(written), weights)[0]


def with_files(path):
    """Copy the files of the examples beside a scenario."""
    shutil.copytree(EXAMPLES / "files", path.parent / "files")


def copied(path):
    """Copy a file of the tests' data by its name."""
    shutil.copy(DATA / path.name, path)


def texted(text):
    """A function that writes a text."""
    return lambda path: path.write_text(text)


def sources():
    """Sources and a wavelet: file, function that writes it, changes of the small scenario that reads it."""
    times = np.arange(80) * 0.01
    samples = np.column_stack([times, np.exp(-(((times - 0.3) / 0.09) ** 2))])
    read = ('{ kind = "gaussian", tau = 0.12, delay = 0.6 }', '{ kind = "samples", file = "w.txt" }')
    cases = {"wavelet": ("w.txt", lambda path: np.savetxt(path, samples, "%.6f"), read)}
    for kind, file, extra, changes in (
        ("cmtsolution", "CMTSOLUTION_cartesian", f"{METRES}\n{WAVELET}", []),
        ("forcesolution", "FORCESOLUTION", f"{METRES}\n{WAVELET}", []),
        ("srf", "rupture_v2.srf", METRES, []),
        ("srf", "rupture_v1.srf", "", WIDE),
        ("quakeml", "event.xml", WAVELET, []),
        ("fsp", "event.fsp", "", WIDE),
        ("csv", "events.csv", WAVELET, WIDE),
    ):
        read = (SOURCE, f'[[source]]\nkind = "{kind}"\nfile = "{file}"\n{extra}\n')
        cases[f"source {file}"] = (file, copied, read, *changes)
    return cases


def stations():
    """The same of stations."""
    fdsn = "#Network|Station|Latitude|Longitude|Elevation|SiteName|StartTime|EndTime\n"
    fdsn += "".join(f"CI|S{n}|34.1{n}1|-118.19{n}|100.0|Site|2001-01-01T00:00:00|\n" for n in (1, 2))
    cases = {}
    for file, extra, make in (
        ("STATIONS_cartesian", METRES, copied),
        ("stations.xml", "", copied),
        ("fdsn.txt", "", texted(fdsn)),
        ("s.csv", "", texted("name,x,y,z\nA,1000,1000,0\nB,1100,1200,-10\n")),
        ("e.csv", "", texted("name,longitude,latitude,depth\nA,-118.19,34.12,0 km\n")),
    ):
        cases[f"stations {file}"] = (file, make, (STATIONS, f'[[receivers]]\nfile = "{file}"\n{extra}\n'))
    return cases


def grids():
    """The same of models and rasters on grids."""
    table = "depth_km vp_km/s vs_km/s rho_g/cm3\n0 3 1.7 2.3\n1 4 2.3 2.5\n"
    raw = 'shape = [4, 4, 4], order = "xyz", spacing = [1000, 1000, 1000]'
    cases = {}
    for name, file, kind, extra, make in (
        ("layers txt", "crust.txt", "layers", "", texted(table)),
        ("model nc", "m.nc", "file", "", model),
        ("model zarr", "m.zarr", "file", "", model),
        ("model rfile", "m.rfile", "file", "", binaries.rfile),
        ("model tomography", "m.xyz", "file", "", texted(tomography())),
        ("model segy", "vp.sgy", "", "depth_step = 500", binaries.segy),
        ("model bin", "vp.bin", "", raw, lambda path: np.full(64, 3000, "float32").tofile(path)),
    ):
        read = f'kind = "{kind}"\nfile = "{file}"'
        if extra:
            read = f'kind = "file"\nproperties.vp = {{ file = "{file}", {extra} }}\nproperties.vs = 1700\nproperties.rho = 2300'
        cases[name] = (file, make, (refusals.MEDIUM, read))
    ground = {"nc": elevations, "zarr": elevations, "asc": ascii_grid, "tif": geotiff, "rfile": binaries.rfile}
    for end, make in ground.items():
        read = ("rho = 2300", f'rho = 2300\ntopography = {{ file = "dem.{end}" }}')
        cases[f"topography {end}"] = (f"dem.{end}", make, read)
    return cases


def tomography():
    """A tomography of SPECFEM of 3 x 3 x 3 points."""
    heading = "0 0 -3000 3000 3000 0\n1500 1500 1500\n3 3 3\n3000 3000 1700 1700 2300 2300\n"
    axis = range(0, 3001, 1500)
    return heading + "".join(f"{x} {y} {z - 3000} 3000 1700 2300\n" for z in axis for y in axis for x in axis)


def elevations(path):
    """Flat ground with a hill."""
    x = np.linspace(-500, 3500, 9)
    z = -200 + 50 * np.exp(-(((x[:, None] - 1500) / 500) ** 2) - ((x - 1500) / 500) ** 2)
    binaries.to_file({"z": (("y", "x"), z, {"units": "m"})}, {"x": x, "y": x}, path)


def model(path, side=3000.0, **changes):
    """A model of 4 x 4 x 4 points: a cube below the origin; changes of its values, None for none."""
    x, values = np.linspace(0, side, 4), {"vp": 3e3, "vs": 1.7e3, "rho": 2.3e3} | changes
    fields = {name: (("z", "y", "x"), np.full((4, 4, 4), v)) for name, v in values.items() if v is not None}
    binaries.to_file(fields, {"x": x, "y": x, "z": x - side}, path)


def ascii_grid(path):
    """An ESRI ASCII grid."""
    heading = "ncols 9\nnrows 9\nxllcorner -500\nyllcorner -500\ncellsize 500\nNODATA_value -9999\n"
    path.write_text(heading + 9 * f"{9 * '-200 '}\n")


def geotiff(path):
    """A GeoTIFF."""
    import rasterio

    place = rasterio.transform.from_origin(-500, 3500, 500, 500)
    options = {"driver": "GTiff", "height": 9, "width": 9, "count": 1, "dtype": "float32"}
    with rasterio.open(path, "w", transform=place, **options) as file:
        file.write(np.full((9, 9), -200, "float32"), 1)


def others():
    """Meshes, radial models, results of other runs, prisms."""
    cases = {}
    for file in ("cube.vtu", "cube.vtk", "cube.msh", "old.msh", "cube.e", "folder"):
        cases[f"mesh {file.replace('cube.', '')}"] = (MESH.replace("FILE", file), file, binaries.cube)
    coarse = [("[16, 16]", "[4, 4]"), ("duration = 3600", "duration = 60"), ('growth = ["700 km"]', "")]
    globe = changed(*coarse, text=(EXAMPLES / "globe.toml").read_text()).replace('"files/', f'"{EXAMPLES}/files/')
    read = f'file = "{EXAMPLES}/files/prem_no_crust.nd"'
    for end, text in radial().items():
        cases[f"radial {end}"] = (changed((read, f'file = "m.{end}"'), text=globe), f"m.{end}", texted(text))
    text = changed((f'kind = "radial"\n{read}', 'kind = "prem"\nperturbation = { file = "p.nc" }'), text=globe)
    cases["perturbation nc"] = (text, "p.nc", perturbation)
    for end in ("nc", "zarr"):
        cases[f"observed {end}"] = (SECTION.replace("END", end), f"d.{end}", observed)
        cases[f"waves {end}"] = (INJECTED.replace("END", end), f"w.{end}", waves)
    cases["waves h5drm"] = (REDUCED, "w.h5drm", binaries.reduced)
    for end in ("csv", "nc", "parquet"):
        cases[f"prisms {end}"] = (GRAVITY.replace("END", end), f"p.{end}", binaries.prisms)
    return cases


def perturbation(path):
    """Changes of vs by longitude, latitude and depth."""
    axes = {"depth": [0.0, 400.0, 800.0], "latitude": [-90.0, 0.0, 90.0], "longitude": [-180.0, -60.0, 60.0, 180.0]}
    binaries.to_file({"dvs": (tuple(axes), np.ones((3, 3, 4)), {"units": "%"})}, axes, path)


def observed(path):
    """Data of two shots."""
    import craton
    from craton.scenario import loads

    data = craton.Problem(loads(SECTION.replace("END", path.suffix[1:]))).data()
    binaries.to_file(data.data_vars, data.coords, path)


def waves(path):
    """Velocity and strain of a vertical P wave of 2000 m/s at points 50 m apart."""
    times, x, z = np.arange(-0.5, 0.81, 0.05), np.arange(100.0, 801, 50), np.arange(-500.0, 1, 50)
    late = times[:, None, None] - (z[:, None] + 500) / 2000 + 0 * x
    pulse, still = np.exp(-((late / 0.14) ** 2)).astype("float32"), np.zeros(late.shape, "float32")
    fields = {"velocity": (("component", "time", "z", "x"), np.stack([still, pulse]))}
    fields |= {"strain": (("tensor", "time", "z", "x"), np.stack([still, -pulse / 2000, still]))}
    names = {"component": ["x", "z"], "tensor": ["xx", "zz", "xz"]}
    medium = {"vp": 2000.0, "vs": 1100.0, "rho": 2200.0}
    binaries.to_file(fields | medium, names | {"time": times, "x": x, "y": 0.0, "z": z}, path)


def radial():
    """A radial model as .nd, .tvel and .csv."""
    nd = (EXAMPLES / "files" / "prem_no_crust.nd").read_text()
    rows = [row for row in (line.split("#")[0].split() for line in nd.splitlines()) if len(row) >= 4]
    lines = (f"{float(d) * 1000},{v}e3,{s}e3,{r}e3\n" for d, v, s, r, *_ in rows)
    tvel = "model - P\nmodel - S\n" + "".join(" ".join(row[:4]) + "\n" for row in rows)
    return {"nd": nd, "tvel": tvel, "csv": "depth,vp,vs,rho\n" + "".join(lines)}
