"""Hash the waveforms of small scenarios over all methods, and compare the hashes with those of another version of the package.

The script runs each scenario on the CPU with one thread, waves in single precision. A hash is the SHA-256 of the recorded samples'
bytes, of gravity that of the fields. Hashes depend on processor and compiler: compare only files which the same machine has written.

usage: PYTHONPATH=src python3 bench/waveforms.py --out FILE.json         write the hashes
       PYTHONPATH=src python3 bench/waveforms.py --against FILE.json     compare, a line per scenario; exit code 1 where a hash differs

The script uses only scenario files, `craton.load` and `craton.run`, so that it runs unchanged before and after a change of the inside.
"""
import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import craton

LAYERS = """
[model]
kind = "layers"
layers = [
    { top = 0, vp = 3000, vs = 1700, rho = 2100 },
    { top = -1230, vp = 4200, vs = 2400, rho = 2500 },
]
"""
LOSSY = """
[model]
kind = "layers"
layers = [
    { top = 0, vp = 3000, vs = 1700, rho = 2100, qp = 100, qs = 50 },
    { top = -1230, vp = 4200, vs = 2400, rho = 2500, qp = 200, qs = 100 },
]
attenuation = { band = [0.3, 10], mechanisms = 4, storage = "coarse" }
"""
RUN = """
[run]
device = "cpu"
precision = "float32"
threads = 1
"""
TENSOR = """
[[source]]
kind = "moment_tensor"
at = [1430, 1280, -640]
tensor = { xx = 1e12, yy = 4e11, zz = -2e12, xy = 5e11, xz = -7e11, yz = 3e11 }
wavelet = { kind = "gaussian", tau = 0.1, delay = 0.3 }
"""
LINE = """
[[receivers]]
name = "R"
line = { from = [1000, 900, -50], to = [2150, 1700, -1450], count = 4 }
"""
OUTPUT = """
[output]
waveforms = ["velocity", "pressure", "strain_rate", "rotation_rate"]
"""

# Finite differences in space: 31 x 29 x 28 points.
SPACE = {
    "method": 'method = "fd"',
    "domain": """
[domain]
origin = [0, 0, -2700]
size = [3000, 2800, 2700]
spacing = 100
""",
    "model": LAYERS,
    "time": """
[time]
duration = 1.5
start = 0
""",
    "boundaries": """
[boundaries]
top = "free"
others = "cpml"
cpml = { thickness = 6 }
""",
    "source": TENSOR,
    "receivers": LINE,
    "output": OUTPUT,
    "run": RUN,
}

# Finite differences in the (x, z) plane: 61 x 51 points.
PLANE = SPACE | {
    "domain": """
[domain]
origin = [0, -2500]
size = [3000, 2500]
spacing = 50
""",
    "source": """
[[source]]
kind = "force"
at = [1430, -640]
force = [1e8, 0, 2e8]
wavelet = { kind = "gaussian", tau = 0.06, delay = 0.2 }
""",
    "receivers": """
[[receivers]]
name = "R"
line = { from = [1000, -50], to = [2150, -1450], count = 4 }
""",
    "output": """
[output]
waveforms = ["velocity", "strain_rate"]
""",
}

# Spectral elements: 8 x 7 x 7 cubes of 400 m.
ELEMENTS = SPACE | {
    "method": 'method = "sem"',
    "domain": """
[domain]
origin = [0, 0, -2800]
size = [3200, 2800, 2800]
spacing = 400
""",
    "model": """
[model]
kind = "homogeneous"
vp = 3000
vs = 1700
rho = 2300
""",
    "boundaries": """
[boundaries]
top = "free"
others = "stacey"
""",
}

# Gravity: 14 x 12 x 10 cells, some of them empty, 15 x 13 points above their centres.
PRISMS = {
    "method": 'method = "gravity"',
    "gravity": """
[gravity]
fields = ["g_z", "g_ez", "g_zz", "potential"]
method = "direct"
""",
    "prisms": """
[prisms]
kind = "grid"
origin = [0, 0, -1000]
size = [1400, 1200, 1000]
shape = [14, 12, 10]
bodies = [
    { shape = "box", min = [100, 200, -900], max = [1300, 900, -100], density = 500 },
    { shape = "sphere", center = [700, 600, -500], radius = 300, density = -250 },
]
""",
    "points": """
[points]
kind = "grid"
x = [0, 1400, 15]
y = [0, 1200, 13]
z = 10
""",
    "run": RUN,
}

# Name of a scenario -> (tables of its kind, the tables that replace some of these).
SCENARIOS = {
    "fd layers cpml": (SPACE, {}),
    "fd double couple and force": (SPACE, {
        "source": """
[[source]]
kind = "moment_tensor"
at = [1430, 1280, -640]
strike = 20
dip = 60
rake = 30
moment = 1e15
wavelet = { kind = "ricker", frequency = 3 }
[[source]]
kind = "force"
at = [1900, 1500, 0]
force = [1e11, 2e11, -1e11]
wavelet = { kind = "gaussian", tau = 0.1 }
""",
        "time": """
[time]
duration = 1.2
""",
    }),
    "fd vti": (SPACE, {
        "model": """
[model]
kind = "layers"
layers = [
    { top = 0, vp = 3000, vs = 1700, rho = 2100, epsilon = 0.15, delta = 0.07, gamma = 0.1 },
    { top = -1230, vp = 4200, vs = 2400, rho = 2500, epsilon = 0.1, delta = 0.05, gamma = 0.02 },
]
""",
    }),
    "fd attenuation coarse": (SPACE, {"model": LOSSY}),
    "fd attenuation paired": (SPACE, {"model": LOSSY.replace("coarse", "paired")}),
    "fd acoustic": (SPACE, {
        "model": """
[model]
kind = "layers"
layers = [
    { top = 0, vp = 1500, vs = 0, rho = 1000 },
    { top = -1230, vp = 2200, vs = 0, rho = 1800 },
]
""",
        "source": """
[[source]]
kind = "explosion"
at = [1430, 1280, -640]
moment = 1e12
wavelet = { kind = "gaussian", tau = 0.15, delay = 0.4 }
""",
        "output": """
[output]
waveforms = ["velocity", "pressure"]
""",
    }),
    "fd topography with water": (SPACE, {
        "domain": """
[domain]
origin = [0, 0, -2400]
size = [3000, 2800, 2700]
spacing = 100
""",
        "model": LAYERS.replace("top = 0", "top = 300") + """
topography = { x = [0, 800, 1300, 1700, 2200, 3000], z = [120, 100, -330, -260, 140, 90] }
water = { level = 40 }
""",
        "boundaries": """
[boundaries]
top = "rigid"
others = "cpml"
cpml = { thickness = 6 }
""",
        "receivers": """
[[receivers]]
name = "R"
line = { from = [900, 900, -430], to = [2150, 1700, -1450], count = 4 }
""",
    }),
    "fd sponge": (SPACE, {
        "boundaries": """
[boundaries]
top = "free"
others = "sponge"
sponge = { thickness = 8 }
""",
    }),
    "fd a1": (SPACE, {
        "boundaries": """
[boundaries]
top = "a1"
others = "a1"
""",
    }),
    "fd periodic": (SPACE, {
        "boundaries": """
[boundaries]
top = "free"
bottom = "cpml"
others = "periodic"
cpml = { thickness = 6 }
""",
    }),
    "fd order 2": (SPACE, {"run": RUN + "order = 2"}),
    "fd order 8": (SPACE, {"run": RUN + "order = 8"}),
    "fd plane P-SV": (PLANE, {}),
    "fd plane SH": (PLANE, {
        "domain": PLANE["domain"] + 'waves = "SH"',
        "source": PLANE["source"].replace("[1e8, 0, 2e8]", "[0, 1e8, 0]"),
    }),
    "sem stacey": (ELEMENTS, {}),
    "sem pml": (ELEMENTS, {
        "boundaries": """
[boundaries]
top = "free"
others = "pml"
pml = { thickness = 2 }
""",
    }),
    "sem sea": (ELEMENTS, {
        "model": """
[model]
kind = "layers"
layers = [
    { top = 0, vp = 1500, vs = 0, rho = 1000 },
    { top = -400, vp = 3000, vs = 1700, rho = 2300 },
]
""",
        "output": """
[output]
waveforms = ["velocity", "pressure"]
""",
    }),
    "sem attenuation": (ELEMENTS, {"model": ELEMENTS["model"] + "qp = 80\nqs = 40\nattenuation = { band = [0.3, 10] }"}),
    "sem two layers": (ELEMENTS, {"model": LAYERS}),
    "sem chunk of prem": (ELEMENTS, {
        "domain": """
[domain.chunk]
longitude = 20.0
latitude = 40.0
width = [12, 12]
period = 120
bottom = "900 km"
""",
        "model": """
[model]
kind = "prem"
""",
        "time": """
[time]
duration = 60
start = 0
""",
        "source": """
[[source]]
kind = "moment_tensor"
at = { longitude = 20.4, latitude = 40.3, depth = "150 km" }
tensor = { xx = 1e18, yy = 4e17, zz = -2e18, xy = 5e17, xz = -7e17, yz = 3e17 }
wavelet = { kind = "gaussian", tau = 20, delay = 20 }
""",
        "receivers": """
[[receivers]]
name = "R"
line = { from = { longitude = 19, latitude = 39 }, to = { longitude = 22, latitude = 41.5 }, count = 4 }
""",
        "output": """
[output]
waveforms = ["displacement", "velocity"]
""",
    }),
    "gravity direct": (PRISMS, {}),
    "gravity far": (PRISMS, {"gravity": PRISMS["gravity"].replace("direct", "far")}),
    "gravity fft": (PRISMS, {"gravity": PRISMS["gravity"].replace("direct", "fft")}),
}  # fmt: skip


def run(tables, folder):
    """Run a scenario.

    Parameters
    ----------
    tables : dict of str to str
        TOML texts of the scenario's tables.
    folder : path-like
        Folder that the scenario file is written to.

    Returns
    -------
    Result
    """
    path = Path(folder) / "scenario.toml"
    path.write_text("\n".join(tables.values()) + "\n")
    return craton.run(craton.load(path), device="cpu", progress=False)


def values(result):
    """Return the numbers that a run leaves.

    Parameters
    ----------
    result : Result

    Returns
    -------
    list of ndarray
        Recorded samples of waves, (steps, channels); each field of gravity.

    Raises
    ------
    ValueError
        An array has a value that is not finite, or zeros only: its hash would say nothing.
    """
    waves = result.scenario.method != "gravity"
    arrays = [np.asarray(result.samples)] if waves else [field.values for field in result.dataset.data_vars.values()]
    for array in arrays:
        if not (np.isfinite(array).all() and array.any()):
            raise ValueError("the run records zeros only, or values that are not finite")
    return arrays


def digest(arrays):
    """Return the SHA-256 of the bytes of arrays, as hexadecimal digits.

    Parameters
    ----------
    arrays : list of ndarray

    Returns
    -------
    str
    """
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def hashes(report):
    """Run all scenarios.

    Parameters
    ----------
    report : callable
        Function that takes the name, the hash (None after a failure) and a text about each run, after the run.

    Returns
    -------
    dict of str to str
        Hash of each scenario that has not failed.
    """
    table = {}
    for name, (tables, changes) in SCENARIOS.items():
        begin = time.perf_counter()
        try:
            with TemporaryDirectory() as folder:
                arrays = values(run(tables | changes, folder))
        except Exception as error:  # the other scenarios still run
            report(name, None, f"{type(error).__name__}: {error}")
            continue
        table[name] = digest(arrays)
        shapes = ", ".join(" x ".join(map(str, array.shape)) for array in arrays[:1])
        report(name, table[name], f"{len(arrays)} of {shapes} {arrays[0].dtype}, {time.perf_counter() - begin:.1f} s")
    return table


def printer(reference=None):
    """Return a function that prints a line for each run.

    Parameters
    ----------
    reference : dict of str to str, optional
        Hashes that each run's hash is compared with.

    Returns
    -------
    callable
    """

    def line(name, sha, text):
        verdict = "FAILED" if sha is None else sha[:12] if reference is None else verdict_of(sha, reference.get(name))
        print(f"{name:<28} {verdict:<12} {text}", flush=True)

    return line


def verdict_of(sha, expected):
    """Return the word for a comparison of two hashes, of which the second may be None.

    Parameters
    ----------
    sha : str
    expected : str or None

    Returns
    -------
    str
    """
    return "same" if sha == expected else "DIFFERENT" if expected else "NEW"


def compare(path):
    """Compare the hashes of all scenarios with those of a file, and print the result.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    int
        Exit code: 1 where a hash differs, or is missing on either side.
    """
    reference = json.loads(Path(path).read_text())
    table = hashes(printer(reference))
    for name in reference.keys() - SCENARIOS.keys():
        print(f"{name:<28} {'GONE':<12} the script has no such scenario")
    same = [name for name in table if table[name] == reference.get(name)]
    print(f"{len(same)} of {len(reference.keys() | SCENARIOS.keys())} scenarios have the same hash")
    return int(table != reference)


def write(path):
    """Write the hashes of all scenarios to a file, unless a scenario fails.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    int
        Exit code: 1 after a failure.
    """
    table = hashes(printer())
    if len(table) < len(SCENARIOS):
        print(f"{len(SCENARIOS) - len(table)} scenarios failed: {path} is not written")
        return 1
    Path(path).write_text(json.dumps(table, indent=1) + "\n")
    return 0


def main(words=None):
    """Write or compare hashes as the command line says, and return the exit code.

    Parameters
    ----------
    words : list of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--out", metavar="FILE.json", help="write the hashes")
    task.add_argument("--against", metavar="FILE.json", help="compare with the hashes of a file")
    options = parser.parse_args(words)
    return write(options.out) if options.out else compare(options.against)


if __name__ == "__main__":
    sys.exit(main())
