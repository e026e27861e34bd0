"""Absorbing layers on a GPU: what they cost, against the CPU, and a small run for compute-sanitizer.

    PYTHONPATH=src python3 bench/gpu_layers.py fd [--out FILE.json]        finite differences with and without layers
    PYTHONPATH=src python3 bench/gpu_layers.py sem [--out FILE.json]       spectral elements, 96 x 96 x 36: "stacey" and "pml"
    PYTHONPATH=src python3 bench/gpu_layers.py parity [--out FILE.json]    both methods, CPU against GPU
    PYTHONPATH=src compute-sanitizer python3 bench/gpu_layers.py small     a few steps of every layer kernel
"""
import argparse
import json
from pathlib import Path

import craton
from craton.backends import backend
from craton.benchmark import TWO_LAYERS, bench, cube, provenance, timed
from craton.scenario import Scenario, SpectralScenario

ROOT = Path(__file__).parents[1]
ROCK, HARD, WATER = {"vp": 3000, "vs": 1600, "rho": 2100}, {"vp": 4500, "vs": 2500, "rho": 2500}, {"vp": 1500, "vs": 0, "rho": 1000}
WAVELET = {"kind": "ricker", "frequency": 3, "delay": 0.3}
LIMITS = {"float32": 1e-4, "float64": 1e-12}


def layers(*rows):
    """Table of a layered model."""
    return {"kind": "layers", "layers": [{"top": top, **medium} for top, medium in rows]}


def tables(size, spacing, model, source_depth, duration, run, boundaries):
    """A box with an explosion in its middle and receivers in and outside the layers."""
    x, y, z = size
    receivers = [{"name": "L", "line": {"from": [0.1 * x, 0.4 * y, -0.1 * z], "to": [0.9 * x, 0.6 * y, -0.9 * z], "count": 12}}]
    domain = {"origin": [0, 0, -z], "size": list(size), "spacing": spacing}
    moment = {"xx": 1e15, "yy": -2e15, "zz": 7e14, "xy": 1e15, "xz": 3e14, "yz": -5e14}
    source = {"kind": "moment_tensor", "tensor": moment, "at": [0.51 * x, 0.48 * y, -source_depth], "wavelet": WAVELET}
    return {"domain": domain, "model": model, "source": [source], "time": {"duration": duration, "start": 0}, "boundaries": boundaries,
            "receivers": receivers, "run": run}  # fmt: skip


def differences(precision, duration=1.0, top=ROCK, **model):
    """Finite differences with all CPML layers below a free surface, their velocities damped."""
    medium = layers((0, {**top, **model}), (-820, {**HARD, **model}))
    boundaries = {"top": "free", "others": "cpml"}
    return Scenario(**tables((2050, 1850, 1500), 50, medium, 640, duration, {"precision": precision}, boundaries))


def elements(precision, duration=1.0, sea=False, lossy=False, size=(1600, 1600, 1200), edge=100.0, others="pml"):
    """Spectral elements with layers on all sides but the top."""
    media = [(0, WATER), (-400, ROCK)] if sea else [(0, ROCK), (-600, HARD)]
    losses = {"qp": 80, "qs": 40} if lossy else {}
    model = layers(*((top, {**medium, **(losses if medium["vs"] else {})}) for top, medium in media))
    if lossy:
        model["attenuation"] = {"band": [0.5, 10]}
    boundaries = {"top": "free", "others": others}
    return SpectralScenario(method="sem", **tables(size, edge, model, 750, duration, {"precision": precision}, boundaries))


def cases(precision, duration):
    """Scenarios that have every kernel of absorbing layers, by name."""
    small = {"fd": differences(precision, duration), "fd, VTI": differences(precision, duration, epsilon=0.05, delta=0.3),
             "fd, sea": differences(precision, duration, WATER), "sem": elements(precision, duration),
             "sem, sea": elements(precision, duration, sea=True)}  # fmt: skip
    return small | {"sem, attenuation": elements(precision, duration, lossy=True)}


def parity():
    """Largest difference of records of CPU and GPU over their peak."""
    rows = []
    for precision, limit in LIMITS.items():
        for name, scenario in cases(precision, 1.0).items():
            one, other = (craton.run(scenario, device=device, progress=False).samples.astype(float) for device in ("cpu", "cuda"))
            peak = float(abs(one - other).max() / abs(one).max())
            rows.append({"case": name, "precision": precision, "difference": peak, "passed": peak <= limit})
            print(f"{name:<20} {precision} CPU against GPU {peak:.1e} of the peak", flush=True)
    return {"parity": rows}


def sem():
    """Rates of 96 x 96 x 36 elements between absorbing faces and between absorbing layers."""
    machine = backend("cuda")
    bandwidth, rows = machine.copy_bandwidth(), []
    for others in ("stacey", "pml"):
        scenario = elements("float32", 2.0, size=(9600, 9600, 3600), others=others)
        rows.append({"others": others, **timed(scenario, craton.plan(scenario), machine, bandwidth)})
        print(others, {key: value for key, value in rows[-1].items() if isinstance(value, (int, float, str))}, flush=True)
    return {"copy_bandwidth": bandwidth, "sem": rows}


def main():
    """The part that was asked for."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("part", choices=("fd", "sem", "parity", "small"))
    words.add_argument("--out", type=Path)
    asked = words.parse_args()
    if asked.part == "small":
        for name, scenario in cases("float32", 0.03).items():
            craton.run(scenario, device="cuda", progress=False)
            print(name, flush=True)
        return
    about = provenance(backend("cuda"))
    if (ROOT / "COMMIT").exists():
        about["commit"] = (ROOT / "COMMIT").read_text().strip()
    if asked.part == "fd":
        result = bench("fd", "cuda", texts=[TWO_LAYERS, *(cube(512, *faces) for faces in (("rigid", "rigid"), ("free", "cpml")))])
    else:
        result = {"parity": parity, "sem": sem}[asked.part]()
    if asked.out:
        asked.out.write_text(json.dumps({**result, **about}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
