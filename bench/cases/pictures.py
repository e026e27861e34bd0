"""Every figure of `craton plot`, a film and the report of small runs of every method, to be looked at: each is drawn, or refused
in a sentence.

A picture is FOLDER/RUN-FIGURE.png, a report FOLDER/RUN.html. A row does not pass where drawing ends in anything but a `CratonError`,
or leaves the page blank.

usage: python3 -m bench pictures [draw] --device cpu [--only plane chunk] [--set folder=pictures figures=overview,map]
"""

import copy
import time
from pathlib import Path

import numpy as np

import craton
from craton.errors import CratonError
from craton.report import FIGURES, plot
from craton.report.films import film
from craton.report.page import report as page
from craton.report.runs import Run
from craton.scenario import Scenario

GAUSSIAN = {"kind": "gaussian", "tau": 0.12}
FREE = {"top": "free", "others": "cpml", "cpml": {"thickness": 6}}
LAYERS = {
    "kind": "layers",
    "layers": [{"top": 0, "vp": 2400, "vs": 1300, "rho": 2000}, {"top": -800, "vp": 3800, "vs": 2200, "rho": 2400}],
}
STRIKE_SLIP = {
    "kind": "moment_tensor",
    "at": [1500, 2000, -1200],
    "strike": 30,
    "dip": 80,
    "rake": 10,
    "moment": 1e15,
    "wavelet": GAUSSIAN,
}
STATIONS = [
    {"name": name, "at": {"x": x, "y": y, "depth": 0}}
    for name, x, y in (("ABC", 2600, 2900), ("DEF", 800, 3200), ("GHI", 3100, 900))
]
LINE = {"name": "L", "line": {"from": [1000, 2000, 0], "to": [3400, 2000, 0], "count": 9}}
PEAKS = {"name": "ground", "quantities": ["pgv", "pga", "duration", "sa"], "periods": [0.3, 1.0]}
SPACE = {
    "domain": {"origin": [0, 0, -3200], "size": [4000, 4000, 3200], "spacing": 100},
    "model": LAYERS,
    "time": {"duration": 2.4, "start": -0.75},
    "boundaries": FREE,
    "source": [STRIKE_SLIP],
    "receivers": STATIONS,
    "snapshots": [{"name": "section", "plane": {"y": 2000}, "every": 0.1}],
    "peaks": [PEAKS],
}
RELIEF = {
    "topography": {
        "x": [0, 1000, 2000, 3000, 4000],
        "y": [0, 2000, 4000],
        "z": [[0, 200, 400, 100, 0], [100, 500, 900, 300, 100], [0, 300, 500, 200, 0]],
    }
}
PLANE = {
    "domain": {"origin": [0, -1200], "size": [3000, 1200], "spacing": 20},
    "model": LAYERS,
    "time": {"duration": 1.4},
    "boundaries": {"top": "free", "others": "cpml"},
    "receivers": [{"name": "G", "line": {"from": [200, 0], "to": [2800, 0], "count": 27}}],
    "snapshots": [{"name": "section", "every": 0.05}],
}
FORCE = {"kind": "force", "force": [0, -1e6], "wavelet": {"kind": "ricker", "frequency": 6}}
CHUNK = {
    "method": "sem",
    "domain": {
        "chunk": {
            "longitude": -67.25,
            "latitude": -13.82,
            "width": [24, 20],
            "azimuth": 20,
            "elements": [8, 8],
            "growth": [],
            "bottom": "1000 km",
        }
    },
    "model": {"kind": "prem"},
    "time": {"duration": 500, "start": -100},
    "source": [
        {
            "kind": "moment_tensor",
            "at": {"longitude": -68, "latitude": -15, "depth": "150 km"},
            "tensor": {"rr": 1e20, "tt": -1e20, "rp": 2e19},
            "wavelet": {"kind": "gaussian", "tau": 30},
        }
    ],
    "receivers": [
        {
            "name": "S",
            "line": {"from": {"longitude": -65, "latitude": -8}, "to": {"longitude": -70, "latitude": -20}, "count": 9},
        }
    ],
    "snapshots": [{"name": "ground", "plane": {"surface": True}, "every": 20}],
    "output": {"waveforms": ["displacement"], "sampling": 2.0},
}
GRAVITY = {
    "method": "gravity",
    "gravity": {"fields": "all"},
    "prisms": [
        {
            "kind": "grid",
            "origin": [0, 0, -4000],
            "size": [12_000, 12_000, 4000],
            "shape": [40, 40, 10],
            "bodies": [
                {"shape": "sphere", "center": [4000, 8000, -1600], "radius": 900, "density": 300},
                {"shape": "box", "min": [7000, 2000, -2000], "max": [9500, 6000, -600], "density": -250},
            ],
        }
    ],
    "points": {"kind": "grid", "x": [0, 12_000, 41], "y": [0, 12_000, 31], "z": 100},
}


def changed(base, **changes):
    """Tables with others in their place."""
    return {**copy.deepcopy(base), **changes}


CASES = {
    "plane": changed(PLANE, title="A plane", source=[FORCE | {"at": [500, -20]}]),
    "space": changed(
        SPACE,
        title="Three stations on Earth",
        domain=SPACE["domain"] | {"geographic": {"longitude": 10.4, "latitude": 46.2, "azimuth": 20}},
    ),
    "line": changed(
        SPACE,
        title="A volume and a map",
        receivers=[LINE],
        snapshots=[{"name": "map", "plane": {"z": 0}, "every": 0.1}, {"name": "volume", "every": 0.4, "stride": 2}],
    ),
    "single": changed(SPACE, title="One station", receivers=STATIONS[:1], snapshots=[], peaks=[]),
    "mountain": changed(
        SPACE,
        title="A mountain",
        domain={"origin": [0, 0, -3000], "size": [4000, 4000, 4200], "spacing": 100},
        model=LAYERS | {"layers": [LAYERS["layers"][0] | {"top": 1100}, LAYERS["layers"][1]]} | RELIEF,
        boundaries=FREE | {"top": "rigid"},
    ),
    "elements": changed(
        SPACE,
        title="Elements",
        method="sem",
        domain={"origin": [0, 0, -3200], "size": [4000, 4000, 3200], "element_size": 500},
        boundaries={"top": "free"},
    ),
    "relief": changed(
        SPACE,
        title="Elements below a mountain",
        method="sem",
        domain={"origin": [0, 0, -3200], "size": [4000, 4000, 4200], "element_size": 500},
        model=LAYERS | {"layers": [LAYERS["layers"][0] | {"top": 1100}, LAYERS["layers"][1]]} | RELIEF,
        boundaries={"top": "free"},
        snapshots=[{"name": "ground", "plane": {"surface": True}, "every": 0.1}],
    ),
    "chunk": changed(CHUNK, title="A chunk of the Earth"),
    "globe": changed(
        CHUNK,
        title="The Earth",
        domain={"chunk": {"chunks": 6, "elements": [4, 4], "growth": [], "bottom": "cmb"}},
        time={"duration": 1600, "start": -300},
        source=[CHUNK["source"][0] | {"wavelet": {"kind": "gaussian", "tau": 120}}],
        receivers=[
            {
                "name": "S",
                "line": {
                    "from": {"longitude": -65.5, "latitude": -4},
                    "to": {"longitude": 112, "latitude": 14},
                    "count": 12,
                },
            }
        ],
        snapshots=[],
    ),
    "gravity": changed(GRAVITY, title="All fields of a sphere and a box"),
    "gradients": changed(
        GRAVITY,
        title="Two fields at scattered points",
        gravity={"fields": ["g_z", "g_zz"]},
        points={"kind": "scattered", "at": [[x, (x * 7) % 12_000, 120.0] for x in range(500, 12_000, 250)]},
    ),
    "profile": changed(
        GRAVITY,
        title="A profile",
        gravity={"fields": ["g_z", "g_e", "g_zz"]},
        points={"kind": "profile", "from": [0, 8000, 50], "to": [12_000, 4000, 50], "count": 60},
    ),
    "borehole": changed(
        GRAVITY,
        title="Down a borehole through the sphere",
        gravity={"fields": ["g_z", "g_zz"]},
        points={"kind": "borehole", "x": 4060, "y": 8060, "top": 100, "bottom": -3500, "count": 61},
    ),
    "drape": changed(
        GRAVITY,
        title="Draped over a ground",
        gravity={"fields": ["g_z", "g_zz"]},
        points={"kind": "drape", "surface": {"file": "pictures-ground.nc"}, "height": 80},
    ),
    "mesh": changed(
        SPACE,
        title="A mesh from a file",
        method="sem",
        domain={"mesh": "pictures-mesh.vtu"},
        model={"kind": "regions", "regions": {"0": {"vp": 3200, "vs": 1800, "rho": 2300}}},
        boundaries={"faces": {"top": "free"}, "others": "stacey"},
        snapshots=[{"name": "section", "plane": {"y": 2000}, "every": 0.1}],
    ),
    "greens": changed(
        SPACE,
        title="Green's functions of two stations",
        receivers=[STATIONS[0], STATIONS[2] | {"at": {"x": 2900, "y": 1200, "depth": 0}}],
        snapshots=[],
        peaks=[],
        greens={"from": [1300, 1800, -1400], "to": [1700, 2200, -1000], "max_frequency": 3},
    ),
    "survey": changed(
        PLANE,
        title="Three shots",
        source=[FORCE | {"name": "S", "shots": {"from": [500, -20], "to": [2500, -20], "count": 3}}],
    ),
    "gradient": changed(
        PLANE,
        title="Gradient by finite differences",
        source=[FORCE | {"name": "S", "shots": {"from": [500, -20], "to": [2500, -20], "count": 3}}],
        snapshots=[],
    ),
    "gradient-elements": changed(
        SPACE,
        title="Gradient by elements",
        method="sem",
        domain={"origin": [0, 0, -3200], "size": [4000, 4000, 3200], "element_size": 800},
        boundaries={"top": "free"},
        receivers=[LINE],
        snapshots=[],
        peaks=[],
    ),
}


def ground():
    """Elevations over x and y: a hill."""
    import xarray as xr

    x, y = np.linspace(0, 12_000, 41), np.linspace(0, 12_000, 31)
    z = 600 * np.exp(-((x - 7000) ** 2 + (y[:, None] - 6000) ** 2) / 8e6)
    return xr.DataArray(z, {"y": y, "x": x}, ("y", "x"), "elevation")


def write_inputs(name, folder):
    """Write the file that a case reads and return the change of its tables: its path."""
    from craton.io.vtu import write_mesh
    from craton.model.mesh.box import box_mesh

    if name == "drape":
        path = folder / "pictures-ground.nc"
        ground().to_netcdf(path)
        return {"points": CASES[name]["points"] | {"surface": {"file": str(path)}}}
    if name == "mesh":
        path = folder / "pictures-mesh.vtu"

        def hill(x, y):
            return 300 * np.exp(-((x - 2500) ** 2 + (y - 2000) ** 2) / 8e5)

        write_mesh(path, box_mesh((0, 0, -3200), (4000, 4000, 3200), 500, surface=hill))
        return {"domain": {"mesh": str(path)}}
    return {}


def scenario(name, device, small=False, **more):
    """Scenario of a case; a small one lasts a fifth as long."""
    tables = CASES[name] | more
    if small and "time" in tables:
        tables |= {"time": tables["time"] | {"duration": 0.2 * tables["time"]["duration"]}}
    run = {"device": device} | ({} if tables.get("method") == "gravity" else {"threads": 1})
    return Scenario(**tables, run=run)


def compute(name, out, device, small=False):
    """Run a case into a folder: a run, a survey or a gradient."""
    made = scenario(name, device, small, **write_inputs(name, out.parent))
    if name == "greens":
        craton.greens.build(made, out, workers=1, progress=False)
    elif name == "survey":
        craton.run_survey(made, out, workers=1, progress=False, snapshots=True)
    elif name.startswith("gradient-") or name == "gradient":
        with_gradient(name, out, device, small)
    else:
        craton.run(made, out=out, progress=False)


def with_gradient(name, out, device, small):
    """Gradient of a misfit with data of a medium that is a little faster."""
    problem = craton.Problem(scenario(name, device, small))
    data = out.with_name(f"{out.name}-observed.zarr")
    problem.data(1.02 * problem.m0).to_zarr(data, mode="w", zarr_format=2, consolidated=True)
    asked = {"observed": str(data), "parameters": ["vp", "vs"]}
    craton.run_gradient(scenario(name, device, small, gradient=asked), out, workers=1, progress=False)


def ink(path):
    """Share of the pixels of a picture that are not white."""
    from PIL import Image

    return float((np.asarray(Image.open(path).convert("L")) < 250).mean())


def drawing(work, *words):
    """Return a function of a folder and a path that draws a picture of the run."""
    return lambda out, path: work(Run(out), *words, path)


def attempt(work, out, path):
    """What came of drawing a run: dict."""
    begin = time.process_time()
    try:
        work(out, path)
    except CratonError as error:
        return {"passed": True, "drawn": False, "says": str(error)}
    row = {"drawn": True, "bytes": path.stat().st_size, "seconds": time.process_time() - begin}
    if path.suffix == ".png":
        row |= {"ink": ink(path), "passed": ink(path) > 0.005}
    return row


def draw(report):
    """All figures, a film and the report of every run."""
    folder = Path(report.setting("folder", "pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    names = report.setting("figures", ",".join(FIGURES)).split(",")
    for name in filter(report.wants, CASES):
        out = folder / name
        with report.guarded("draw", name):
            if not (out / "result.zarr").exists():
                compute(name, out, report.options.device, report.options.small)
            works = {figure: (folder / f"{name}-{figure}.png", drawing(plot, figure)) for figure in names} | {
                "film": (folder / f"{name}.gif", drawing(film)),
                "report": (folder / f"{name}.html", page),
            }
            for figure, (path, work) in works.items():
                with report.guarded("draw", f"{name} {figure}"):
                    row = attempt(work, out, path)
                    report.add("draw", {"case": f"{name} {figure}"} | row)


PARTS = {"draw": draw}
