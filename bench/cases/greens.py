"""Green's functions: seismograms of a store against forward runs, and how long a query takes.

`mismatch`: for each case and storage the relative L2 of the velocities at each of three stations at random places, for
random moment tensors at random places with random wavelets, from forward runs of the same scenario, over all times. Grids
are small; runs are in double precision, so that what is measured is the store. Stations are four spacings from the volume,
or an element, at least: closer by, the field that is stored varies by orders of magnitude over the points of one source.

`speed`: CPU time of a source, 4 stations and 600 samples at the store's own sampling: the first query with the files out
of the page cache, single ones after it, batches.

usage: python3 -m bench greens [mismatch speed] --device cpu [--only "fd space"] [--set sources=50 batch=1000 many=10000]
       [--out bench/results/greens_cpu.json]
"""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import craton
from craton import greens
from craton.greens.database import wavelet_of

LAYERS = [
    {"top": 0, "vp": 2000, "vs": 1100, "rho": 2000, "qp": 80, "qs": 40},
    {"top": -600, "vp": 3000, "vs": 1700, "rho": 2300, "qp": 200, "qs": 100},
]
ALONG = np.arange(0, 3001, 50.0)
HILL = {"x": ALONG.tolist(), "z": (-100 + 150 * np.exp(-(((ALONG - 1500) / 500) ** 2))).tolist()}
GROUND = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
SPACE = {
    "domain": {"origin": [0, 0, -1800], "size": [2600, 2500, 1800], "spacing": 100},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 2.4},
    "boundaries": {"cpml": {"thickness": 4, "frequency": 2.0}},
}
ELEMENTS = {
    "method": "sem",
    "domain": {"origin": [0, 0, -1600], "size": [2000, 2000, 1600], "element_size": 400},
    "model": {"kind": "layers", "layers": [{k: v for k, v in e.items() if "q" not in k} for e in LAYERS]},
    "time": {"duration": 2.0},
    "boundaries": {"pml": {"frequency": 2.0}},
}
CHUNK = {"longitude": 20.0, "latitude": 38.0, "width": [12, 12], "elements": [6, 6]}
# volume of sources, box of stations, highest frequency, longest time of a wavelet, size of a moment
CASES = {
    "fd space": (SPACE, ([900, 1000, -600], [1300, 1400, 0]), ([1700, 800, -500], [1850, 1700, 0]), 3.5, 0.3),
    "fd plane below a hill": (
        {
            "domain": {"origin": [0, -2000], "size": [3000, 2200], "spacing": 50, "waves": "P-SV"},
            "model": GROUND | {"topography": HILL},
            "time": {"duration": 2.4},
            "boundaries": {"cpml": {"thickness": 6, "frequency": 2.0}},
        },
        ([1200, -700], [1700, -110]),
        ([1900, -800], [2300, -110]),
        4.5,
        0.3,
    ),
    "sem box": (ELEMENTS, ([500, 550, -500], [800, 850, 0]), ([1200, 500, -300], [1500, 1500, 0]), 3.5, 0.3),
    "sem chunk": (
        {
            "method": "sem",
            "domain": {"chunk": CHUNK | {"bottom": "400 km"}},
            "model": {"kind": "prem"},
            "time": {"duration": 120},
            "boundaries": {"pml": {"frequency": 0.01}},
        },
        ([18.2, 37.2, -60e3], [19.0, 38.8, 0]),
        ([21.0, 36.5, 0], [21.8, 39.5, 0]),
        0.025,
        50.0,
    ),
}
STORAGES = {"float32": 1e-5, "16 bits": 1e-3}
STATIONS = 3


def places(rng, corners, count, chunk):
    """Random places in a box: list of positions of a scenario."""
    low, high = np.array(corners, float)
    xyz = low + rng.random((count, len(low))) * (high - low)
    if not chunk:
        return [[float(v) for v in row] for row in xyz]
    names = ("longitude", "latitude", "depth")
    return [dict(zip(names, (float(a), float(b), -float(c)))) for a, b, c in xyz]


def wavelet(rng, longest):
    """A random wavelet whose spectrum ends below the store's highest frequency."""
    tau = float(longest * rng.uniform(0.75, 1.0))
    kind = rng.choice(["gaussian", "gaussian_derivative", "samples"])
    if kind != "samples":
        return {"kind": str(kind), "tau": tau}
    times = np.linspace(-5.5, 6.3, 237)
    values = np.exp(-(times**2) / 2) - 0.6 * np.exp(-((times - 0.8) ** 2) / 2)
    return {"kind": "samples", "times": (tau * times).tolist(), "values": values.tolist()}


def source(rng, at, case):
    """A random moment tensor."""
    planar = len(at) == 2
    names = ("xx", "zz", "xz") if planar else ("xx", "yy", "zz", "xy", "xz", "yz")
    size = 1e18 if isinstance(at, dict) else 1e13
    tensor = {name: float(size * rng.standard_normal()) for name in names}
    return {"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": wavelet(rng, case[4])}


def scenario(case, storage, sources, stations, **changes):
    """Scenario of a case."""
    tables, (low, high), _, frequency, _ = case
    table = {"from": low, "to": high, "max_frequency": frequency, "storage": storage}
    receivers = [{"name": f"S{n}", "at": at} for n, at in enumerate(stations)]
    run = {"device": "cpu", "threads": 1, "precision": "float64"}
    more = {"source": sources, "receivers": receivers, "greens": table, "run": run}
    return craton.Scenario(**{**tables, **more, **changes})


def mismatches(store, sources, forward):
    """Relative L2 at each station of each source: (sources, stations)."""
    out = []
    for table, expected in zip(sources, forward):
        step = float(expected.time[1] - expected.time[0])
        computed = store.seismograms([table], sampling=step / 2).velocity
        where = np.round((expected.time.values - float(computed.time[0])) / (step / 2)).astype(int)
        inside = (where >= 0) & (where < computed.sizes["time"])
        got, values = computed.values[..., where[inside]], expected.values[..., inside]
        out.append(np.linalg.norm(got - values, axis=(1, 2)) / np.linalg.norm(values, axis=(1, 2)))
    return np.array(out)


def mismatch(report):
    """Every case, both storages."""
    count = int(report.setting("sources", 50))
    for name, case in CASES.items():
        if not report.wants(name):
            continue
        with report.guarded("mismatch", name), TemporaryDirectory() as folder:
            rng = np.random.default_rng(19)
            chunk = "chunk" in case[0]["domain"]
            stations = places(rng, case[2], STATIONS, chunk)
            sources = [source(rng, at, case) for at in places(rng, case[1], count, chunk)]
            forward = [
                craton.run(scenario(case, "float32", [s], stations), progress=False, warn=False).dataset.velocity
                for s in sources
            ]
            for storage, limit in STORAGES.items():
                built = scenario(case, storage, sources[:1], stations)
                path = Path(folder) / storage
                store = greens.build(built, path, workers=1, progress=False)
                errors = mismatches(store, sources, forward)
                row = {"case": name, "storage": storage, "sources": count, "stations": STATIONS}
                row |= {"median": float(np.median(errors)), "worst": float(errors.max())}
                row |= {"limit": limit, "passed": bool(errors.max() <= limit)}
                report.add("mismatch", row)


def evicted(folder):
    """Put a store's files out of the page cache."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cpu(work):
    """CPU and wall milliseconds of some work."""
    begin = time.process_time(), time.perf_counter()
    work()
    return 1e3 * (time.process_time() - begin[0]), 1e3 * (time.perf_counter() - begin[1])


PULSE = {"kind": "gaussian_derivative", "tau": 0.25}
NETWORK = [[1700, 1100, 0], [1000, 900, 0], [1633, 1331, -333], [1900, 1700, 0]]
VOLUME = ([1000, 900, -1000], [1700, 1600, -300])


def speed(report):
    """4 stations, 600 samples."""
    case = (SPACE, VOLUME, None, 3.5, 0.3)
    for storage in STORAGES:
        with report.guarded("speed", storage), TemporaryDirectory() as folder:
            quake = {"kind": "moment_tensor", "at": [1200, 1200, -600], "tensor": {"xx": 1e13}}
            quake |= {"wavelet": PULSE}
            built = scenario(case, storage, [quake], NETWORK, time={"duration": 24.0})
            greens.build(built, Path(folder) / "store", workers=1, progress=False)
            report.add("speed", {"case": storage} | queries(report, folder, quake))


def queries(report, folder, quake):
    """Times of the queries of a store."""
    count, many = int(report.setting("batch", 1000)), int(report.setting("many", 10_000))
    rng = np.random.default_rng(3)
    xyz = rng.uniform(*np.array(VOLUME, float), (max(count, many), 3))
    six = 1e13 * rng.standard_normal((len(xyz), 6))
    store = greens.open(Path(folder) / "store", threads=1)
    times = store.batch(xyz[:65], six[:65], PULSE)[1]  # compiles
    options = {"wavelet": PULSE, "duration": float(times[599])}
    store.batch(xyz[:65], six[:65], **options)
    del store
    evicted(folder)
    store = greens.open(Path(folder) / "store", threads=1)
    store.synthesis.matrix(*matrix_arguments(store, options))  # once for a wavelet
    cold = cpu(lambda: store.batch(xyz[0], six[0], **options))
    single = [cpu(lambda n=n: store.batch(xyz[n], six[n], **options))[0] for n in range(1, 80)]
    whole = [cpu(lambda: store.seismograms(quake))[0] for _ in range(20)]
    together = cpu(lambda: store.batch(xyz[:count], six[:count], **options))[0] / count
    velocity, after = store.batch(xyz[0], six[0], **options)
    shape = (many, *velocity.shape[1:])
    out = np.memmap(Path(folder) / "out", np.float32, "w+", shape=shape)
    all_of_them = cpu(lambda: store.batch(xyz[:many], six[:many], out=out, **options))[0] / many
    return {
        "samples": len(after),
        "stored": store.synthesis.count,
        "cold_cpu_ms": cold[0],
        "cold_wall_ms": cold[1],
        "single_cpu_ms": float(np.median(single)),
        "dataset_cpu_ms": float(np.median(whole[5:])),
        "batch": count,
        "batch_cpu_ms": together,
        "many": many,
        "many_cpu_ms": all_of_them,
        "load": os.getloadavg()[0],
        "passed": bool(together < 5.0),
    }


def matrix_arguments(store, options):
    """Wavelet and times of `Synthesis.matrix`."""
    wavelet_here = wavelet_of(options["wavelet"])
    return wavelet_here, store._times([wavelet_here], None, options["duration"])


PARTS = {"mismatch": mismatch, "speed": speed}
