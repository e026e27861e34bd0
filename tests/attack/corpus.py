"""Sound inputs of every format, as small as they can be, with a scenario that reads each."""

import shutil
from pathlib import Path

import numpy as np
from smallcase import TEXT

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "sources"
MEDIUM = 'kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300'
SOURCE = TEXT[TEXT.index("[[source]]") : TEXT.index("[[receivers]]")]
SNAPSHOTS = TEXT[TEXT.index("[[snapshots]]") : TEXT.index("[output]")]
BASE = TEXT.replace(SNAPSHOTS, "").replace("duration = 1.0", "duration = 0.2")
LARGE = ("two_layers_full", "globe", "earth_chunk")  # whose sound plans take seconds
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


def build(folder):
    """Write the corpus into a folder: name -> (folder, scenario, file that is read)."""
    cases = {}
    for name, (text, file, make) in {**sources(), **grids(), **others()}.items():
        place = folder / name
        place.mkdir(parents=True)
        if make(place / file) is not False:
            (place / "case.toml").write_text(text)
            cases[name] = (place, "case.toml", file)
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if path.stem in LARGE:
            continue
        place = folder / path.stem
        place.mkdir()
        shutil.copytree(ROOT / "examples" / "files", place / "files")
        shutil.copy(path, place / "case.toml")
        cases[path.stem] = (place, "case.toml", "case.toml")
    return cases


def copied(name):
    """A function that copies a file of the tests' data."""
    return lambda path: shutil.copy(DATA / name, path)


def texted(text):
    """A function that writes a text."""
    return lambda path: path.write_text(text)


def sources():
    """Sources, stations and wavelets."""
    cases = {}
    stf = 'wavelet = { kind = "gaussian", tau = 0.12 }'
    for kind, file, extra in (
        ("cmtsolution", "CMTSOLUTION_cartesian", f'coordinates = "metres"\n{stf}'),
        ("forcesolution", "FORCESOLUTION", f'coordinates = "metres"\n{stf}'),
        ("srf", "rupture_v2.srf", ""),
        ("srf", "rupture_v1.srf", ""),
        ("quakeml", "event.xml", stf),
        ("fsp", "event.fsp", ""),
        ("csv", "events.csv", stf),
    ):
        text = changed((SOURCE, f'[[source]]\nkind = "{kind}"\nfile = "{file}"\n{extra}\n'))
        text = text.replace(
            "spacing = 100", "spacing = 100\ngeographic = { longitude = -118.2, latitude = 34.1 }"
        )
        cases[f"source {file}"] = (text, file, copied(file))
    for file in ("STATIONS_cartesian", "stations.xml"):
        extra = '\ncoordinates = "metres"' if "cart" in file else ""
        text = changed((STATION, f'[[receivers]]\nfile = "{file}"{extra}\n'))
        text = text.replace(
            "spacing = 100", "spacing = 100\ngeographic = { longitude = -118.2, latitude = 34.1 }"
        )
        cases[f"stations {file}"] = (text, file, copied(file))
    text = changed((STATION, '[[receivers]]\nfile = "s.csv"\n'))
    cases["stations csv"] = (text, "s.csv", texted("name,x,y,z\nA,1000,1000,0\nB,1100,1200,-10\n"))
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
    properties = 'kind = "file"\n[model.properties]\nvp = { file = "vp.sgy", depth_step = 500 }\nvs = 1700\nrho = 2300'
    text = changed((MEDIUM, properties))
    cases["model segy"] = (text, "vp.sgy", segy)
    return cases


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
    fields = {
        name: (axes, np.full((4, 4, 4), value))
        for name, value in (("vp", 3e3), ("vs", 1.7e3), ("rho", 2.3e3))
    }
    return to_file(xr.Dataset(fields, {"x": x, "y": x, "z": z}), path)


def to_file(dataset, path):
    """Write netCDF or zarr by the end of the name."""
    if path.suffix == ".nc":
        dataset.to_netcdf(path, engine="h5netcdf")
    else:
        dataset.to_zarr(path, zarr_format=2)


def ascii_grid(path):
    """An ESRI ASCII grid."""
    rows = "\n".join(" ".join("-100" for _ in range(9)) for _ in range(9))
    path.write_text(
        f"ncols 9\nnrows 9\nxllcorner -500\nyllcorner -500\ncellsize 500\nNODATA_value -9999\n{rows}\n"
    )


def geotiff(path):
    """A GeoTIFF, where rasterio is there."""
    try:
        import rasterio
    except ImportError:
        return False
    place = rasterio.transform.from_origin(-500, 3500, 500, 500)
    options = {"driver": "GTiff", "height": 9, "width": 9, "count": 1, "dtype": "float32"}
    with rasterio.open(path, "w", transform=place, **options) as file:
        file.write(np.full((9, 9), -100, "float32"), 1)
    return True


def segy(path):
    """A SEG-Y cube, where segyio is there."""
    try:
        import segyio
    except ImportError:
        return False
    segyio.tools.from_array(str(path), np.full((3, 3, 6), 3000, "float32"), dt=500 * 1000)
    return True


def others():
    """Meshes, radial models, prisms."""
    cases = {}
    for end in ("vtu", "msh", "e"):
        cases[f"mesh {end}"] = (MESH.format(file=f"cube.{end}"), f"cube.{end}", cube)
    globe = (ROOT / "examples" / "globe.toml").read_text()
    nd = (ROOT / "examples" / "files" / "prem_no_crust.nd").read_text()
    cases["radial nd"] = (at_home(globe), "m.nd", texted(nd))
    rows = (
        "west,east,south,north,bottom,top,density\n0,10,0,10,-20,-10,300\n10,20,0,10,-20,-10,-200\n"
    )
    table = GRAVITY.format(prisms='kind = "table"\nfile = "p.{}"')
    cases["prisms csv"] = (table.format("csv"), "p.csv", texted(rows))
    return cases


def at_home(text):
    """The scenario of an example with its files where they are, and its radial model in m.nd."""
    text = text.replace("files/prem_no_crust.nd", "m.nd")
    return text.replace('"files/', f'"{ROOT / "examples" / "files"}/')


def cube(path):
    """Eight hexahedra."""
    x = np.linspace(0, 1000, 3)
    points = np.stack(np.meshgrid(x, x, x - 1000, indexing="ij"), -1).reshape(-1, 3)
    corner = np.array([0, 9, 12, 3, 1, 10, 13, 4])
    cells = [corner + 9 * i + 3 * j + k for i in range(2) for j in range(2) for k in range(2)]
    if path.suffix == ".e":
        return exodus(path, points, np.array(cells))
    try:
        import meshio
    except ImportError:
        return False
    mesh = meshio.Mesh(points, [("hexahedron", np.array(cells))])
    meshio.write(path, mesh, file_format={".msh": "gmsh", ".vtu": "vtu"}[path.suffix])
    return True


def exodus(path, points, cells):
    """An Exodus file of one block."""
    import xarray as xr

    fields = {f"coord{axis}": ("num_nodes", points[:, n]) for n, axis in enumerate("xyz")}
    fields["connect1"] = (
        ("num_el_in_blk1", "num_nod_per_el1"),
        (cells + 1).astype("int32"),
        {"elem_type": "HEX8"},
    )
    fields["eb_prop1"] = ("num_el_blk", np.array([1], "int32"), {"name": "ID"})
    fields["eb_status"] = ("num_el_blk", np.array([1], "int32"))
    attributes = {
        "version": np.float32(5),
        "api_version": np.float32(5),
        "floating_point_word_size": np.int32(8),
    }
    xr.Dataset(fields, attrs=attributes).to_netcdf(path, engine="h5netcdf")
    return True
