"""Attenuation and transverse isotropy on one GPU: rates over the elastic step's, parity with the CPU, full spaces of constant Q.

usage: PYTHONPATH=src python3 bench/gpu_rheology.py [--out FILE.json] [--only rates parity quality] [--sizes 384 512]
"""
import argparse
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
from parity import compared

from craton import api, benchmark
from craton.scenario import loads

ROOT = Path(__file__).parent.parent
STORAGES = ("coarse", "mixed", "paired", "full")
LAYERS = ("vs = 1732, rho = 2000", "vs = 2309, rho = 2400")
THOMSEN = "epsilon = 0.2, delta = 0.1, gamma = 0.15"
FACES = (("rigid", "rigid"), ("free", "cpml"))


def cube(n, faces, rheology):
    """Scenario text of a cube of n^3 points: "elastic", "vti", or a storage."""
    text = benchmark.cube(n, *faces)
    if rheology != "elastic":
        more = THOMSEN if rheology == "vti" else "qp = 80, qs = 40"
        for one in LAYERS:
            assert one in text
            text = text.replace(one, f"{one}, {more}")
        text = text.replace('title = "', f'title = "{rheology}: ')
    if rheology in STORAGES:
        text = text.replace('kind = "layers"\n', f'kind = "layers"\nattenuation = {{ band = [0.5, 20], storage = "{rheology}" }}\n')
    return text


def rates(sizes, show=print):
    """Rates of whole steps on random data, and the time of a step over that of the elastic one."""
    from craton.backends import backend

    machine = backend("cuda")
    bandwidth, rows = machine.copy_bandwidth(), []
    show(f"{machine.describe()}: copy {bandwidth / 1e9:,.0f} GB/s")
    for n in sizes:
        for faces in FACES:
            elastic = None
            for rheology in ("elastic", *STORAGES, "vti"):
                case = benchmark.measure(cube(n, faces, rheology), machine, bandwidth)
                elastic = elastic or case["seconds_per_step"]
                case["ratio"] = case["seconds_per_step"] / elastic
                rows.append(case)
                show(f"{benchmark.row(case)}   {case['ratio']:.2f} times elastic")
    return {"copy_bandwidth": bandwidth, "cases": rows}


def small(rheology, precision):
    """A short run with everything: two layers, free top, CPML."""
    text = benchmark.cube(70, "free", "cpml", precision=precision) if rheology == "elastic" else cube(70, ("free", "cpml"), rheology)
    text = text.replace('precision = "float32"', f'precision = "{precision}"').replace("duration = 1000", "duration = 0.35")
    line = '[[receivers]]\nname = "L"\nline = { from = [150, 330, 0], to = [540, 340, 0], count = 9 }\n'
    return loads(text.replace("[[receivers]]", line + "[[receivers]]"))


def parity(show=print):
    """Largest difference of waveforms between the machines over the largest value, and relative L2."""
    return [compared(f"{rheology}, {precision}", small(rheology, precision), show=show)
            for precision in ("float32", "float64") for rheology in ("elastic", *STORAGES, "vti")]  # fmt: skip


# A force in a full space; distances in S wavelengths of 460 m at 5 Hz.
FORCE, AT, HALF_SIDE, SPACING = (1e9, -0.4e9, 0.7e9), (0.0, 0.0, 0.0), 2100.0, 20.0
DIRECTIONS = ((1, 0, 0), (0, 0, 1), (1, 1, 0), (0.8, 0.5, -0.3), (-0.6, 0.6, 0.55))
DISTANCES = (1, 2, 3)
FULL_SPACE = """
[domain]
origin = [{low}, {low}, {low}]
size = [{side}, {side}, {side}]
spacing = {spacing}
[model]
kind = "homogeneous"
vp = 4000
vs = 2300
rho = 2500
qp = {q}
qs = {q}
attenuation = {{ band = [0.5, 30], frequency = 5{storage} }}
[time]
duration = 1.3
[boundaries]
top = "cpml"
[run]
order = 8
[[source]]
kind = "force"
at = [0, 0, 0]
force = [1e9, -0.4e9, 0.7e9]
wavelet = {{ kind = "ricker", frequency = 5, delay = 0.25 }}
"""


def places():
    """Name and position of the receivers."""
    units = [np.array(d) / np.linalg.norm(d) for d in DIRECTIONS]
    return [(f"D{n}W{m}", (460.0 * m * d).round(3)) for n, d in enumerate(units) for m in DISTANCES]


def solution():
    """Function (x, times, Q) of the exact velocity (3, n), and its file: shared/references/rheology, else the tests' own."""
    for folder in (ROOT / "shared", ROOT.parent / "shared"):
        path = folder / "references/rheology/rheology.py"
        if path.exists():
            sys.path.insert(0, str(path.parent.parent))
            return reference(module(path)), str(path)
    path = ROOT / "tests/test_attenuation.py"
    return module(path).exact, str(path)


def reference(r):
    """The exact solution by the reference's functions."""

    def exact(x, times, quality):
        m = {c: r.mod_constQ(2500.0 * c**2, quality, 2 * np.pi * 5) for c in (4000.0, 2300.0)}
        return r.visco_force(x, np.zeros(3), FORCE, r.W.ricker(5.0, 0.25), times, m[4000.0], m[2300.0], 2500.0, deriv=1)

    return exact


def module(path):
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def quality(device, show=print):
    """Against the exact solution: amplitude and phase of the strongest component at 3, 5, 8 Hz, and relative L2 of all components."""
    exact, name = solution()
    rows = []
    for q, storage in ((20, None), (100, None), (20, "coarse"), (20, "paired"), (20, "full")):
        words = f', storage = "{storage}"' if storage else ""
        text = FULL_SPACE.format(low=-HALF_SIDE, side=2 * HALF_SIDE, spacing=SPACING, q=q, storage=words)
        text += "".join(f'[[receivers]]\nname = "{n}"\nat = {x.tolist()}\n' for n, x in places())
        data = api.run(loads(text), device=device, progress=False).dataset
        for receiver, x in places():
            got, wanted = data.velocity.sel(receiver=receiver).values.astype(float), exact(x, data.time.values, q)
            rows.append({"q": q, "storage": storage or "default", "receiver": receiver, **errors(got, wanted, data.time.values)})
        some = [r for r in rows if (r["q"], r["storage"]) == (q, storage or "default")]
        for m in DISTANCES:
            there = [r for r in some if r["receiver"].endswith(f"W{m}")]
            worst = {key: max(abs(r[key]) for r in there) for key in ("amplitude", "phase", "l2")}
            show(f"Q = {q}, {storage or 'default'}, {m} wavelengths: worst of {len(there)} directions: amplitude {worst['amplitude']:.2%}, "
                 f"phase {worst['phase']:.4f} rad = {worst['phase'] / (2 * np.pi):.2%} of a cycle, L2 {worst['l2']:.2%}")  # fmt: skip
    return {"solution": name, "rows": rows}


def errors(got, wanted, times):
    """Worst error of amplitude (relative) and phase (rad) at three frequencies, and relative L2."""
    c = int(np.argmax((wanted**2).sum(1)))
    w = np.exp(-2j * np.pi * np.outer([3.0, 5.0, 8.0], times))
    ratio = (w @ got[c]) / (w @ wanted[c])
    return {"amplitude": float(np.abs(np.abs(ratio) - 1).max()), "phase": float(np.abs(np.angle(ratio)).max()),
            "l2": float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))}  # fmt: skip


def main():
    """All parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", nargs="+", default=["rates", "parity", "quality"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[384, 512])
    parser.add_argument("--device", default="cuda", help="of the full spaces")
    options = parser.parse_args()
    parts = {"rates": lambda: rates(options.sizes), "parity": parity, "quality": lambda: quality(options.device)}
    result = {}
    for name in options.only:
        result[name] = parts[name]()
        if options.out:
            Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
