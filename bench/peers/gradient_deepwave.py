"""Gradients of craton and of deepwave 0.1.0, 2-D P-SV, same grid, medium, shots and steps: time, and cosine in the interior.

usage: OMP_NUM_THREADS=2 python bench/peers/gradient_deepwave.py [--surface flat|vacuum] [--shots 20] [--reps 3] [--every 1]
       [-o FILE.json]

Explosions and receivers of pressure, which both codes have at the same points; order 4, CPML of 10 points, float32. deepwave adds
its PML outside the model, craton's lies inside. Both differentiate half the squared difference from their own data of the model
with lenses. Times are of misfit and gradient of all shots together, least of --reps; both run in this process with as many threads
as OMP_NUM_THREADS says. --surface vacuum: both have a free surface of 4 rows of vacuum half a cell above the first row (deepwave's improved
vacuum method; craton's topography there), the same scheme. --surface flat: craton has its flat free surface in the first row, another scheme
half a cell off. deepwave stores in float32 (its 8-bit storage is off); craton keeps what storage="auto" chooses.
"""

import argparse
import json
import os
import time

import numpy as np

PML, H, F = 10, 5.0, 18.0
NX, NZ = 121, 49  # points without absorbing layers; those of examples/fwi.py
LAYERS = [(0, 1100, 600, 1900), (-60, 1500, 800, 2000), (-150, 1900, 1000, 2100)]
LENSES = [(0.32, -0.5, 0.17, -0.10, -0.12), (0.66, -0.55, 0.17, 0.10, 0.12)]
AIR = 4
STEPS, DT = 825, 0.48 * H / (1.25 * 1900)


def models(lenses):
    """vp, vs, rho (nz, nx) of the interior, z downward."""
    x, z = np.meshgrid(H * np.arange(NX), -H * np.arange(NZ))
    out = np.zeros((3, NZ, NX))
    for top, *values in LAYERS:
        out[:, z <= top + 1e-6] = np.array(values)[:, None]
    for cx, cz, r, dvp, dvs in LENSES if lenses else ():
        width, depth = H * (NX - 1), H * (NZ - 1)
        inside = np.hypot(x - cx * width, z - cz * depth) < r * depth
        out[0, inside] *= 1 + dvp
        out[1, inside] *= 1 + dvs
    return out


def places(shots):
    """Index of shots and receivers along x, and of their rows."""
    return np.linspace(4, NX - 5, shots).round().astype(int), np.arange(4, NX - 4, 3), 3, 5


def wavelet(t):
    """Ricker's, delayed."""
    a = (np.pi * F * (t - 1.5 / F)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def of_craton(arguments):
    """Gradient (3, nz, nx) of the interior, seconds, and what was kept."""
    import craton

    sources, receivers, row, deep = places(arguments.shots)
    top = {"none": PML, "flat": 0, "vacuum": AIR}[arguments.surface]
    ground = {"x": [-H * PML, H * (NX + PML)], "z": [H / 2, H / 2]}
    surface = {"topography": ground} if arguments.surface == "vacuum" else {}
    size = [H * (NX - 1 + 2 * PML), H * (NZ - 1 + PML + top)]
    scenario = craton.Scenario(
        domain={"origin": [-H * PML, top * H - size[1]], "size": size, "spacing": H, "waves": "P-SV"},
        model={"kind": "homogeneous", "vp": 1500, "vs": 800, "rho": 2000} | surface,
        time={"duration": STEPS * DT, "start": 0.0, "step": DT},
        boundaries={"top": "cpml" if arguments.surface == "none" else "free", "cpml": {"thickness": PML, "frequency": F}},
        source=[
            {
                "kind": "explosion",
                "at": [H * float(i), -H * row],
                "moment": 1e8,
                "shot": f"S{n:02d}",
                "wavelet": {"kind": "ricker", "frequency": F, "delay": 1.5 / F},
            }
            for n, i in enumerate(sources)
        ],
        receivers=[{"name": f"R{i}", "at": [H * float(i), -H * deep]} for i in receivers],
        output={"waveforms": ["pressure"]},
        run={"order": 4},
    )
    problem = craton.Problem(scenario)

    def vector(lenses):
        """Vector of parameters: layers repeat the last interior points."""
        pads = ((0, 0), (top, PML), (PML, PML))
        fields = np.pad(models(lenses), pads, mode="edge")[:, ::-1]  # z upward
        return np.reshape(fields, problem.shape).ravel()

    observed = problem.data(vector(True))
    problem = craton.Problem(scenario, observed, every=arguments.every)
    times = []
    for n in range(arguments.reps + 1):
        began = time.perf_counter()
        _, slope = problem.fun_and_jac(vector(False) * (1 + 1e-9 * n))  # else it is remembered
        times.append(time.perf_counter() - began)
    fields = np.reshape(slope, problem.shape)[:, ::-1, 0]
    return fields[:, top : top + NZ, PML : PML + NX], min(times[1:])


def of_deepwave(arguments):
    """The same of deepwave."""
    import deepwave
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    sources, receivers, row, deep = places(arguments.shots)
    air = 0 if arguments.surface == "none" else AIR  # rows of vacuum, of which deepwave makes its free surface
    at = torch.tensor([[[row + air, int(i)]] for i in sources])
    to = torch.tensor([[[deep + air, int(i)] for i in receivers]]).repeat(len(sources), 1, 1)
    series = torch.tensor(wavelet((np.arange(STEPS) + 0.5) * DT), dtype=torch.float32)
    series = series.reshape(1, 1, -1).repeat(len(sources), 1, 1) * 1e6
    width = [PML if arguments.surface == "none" else 0, PML, PML, PML]

    def data(vp, vs, rho):
        moduli = deepwave.vpvsrho_to_lambmubuoyancy(vp, vs, rho)
        out = deepwave.elastic(
            *moduli,
            H,
            DT,
            source_amplitudes_pressure_rate=series,
            source_locations_pressure_rate=at,
            receiver_locations_p=to,
            accuracy=4,
            pml_width=width,
            pml_freq=F,
            max_vel=1.25 * 1900,
        )
        return out.receiver_amplitudes_p

    def tensors(lenses, **options):
        padded = np.pad(models(lenses), ((0, 0), (air, 0), (0, 0)))
        return [torch.tensor(f, dtype=torch.float32, **options) for f in padded]

    with torch.no_grad():
        observed = data(*tensors(True))
    times = []
    for _ in range(arguments.reps + 1):
        fields = tensors(False, requires_grad=True)
        began = time.perf_counter()
        (0.5 * DT * ((data(*fields) - observed) ** 2).sum()).backward()
        times.append(time.perf_counter() - began)
    return np.stack([f.grad.numpy()[air:] for f in fields]), min(times[1:])


def main():
    """Compare, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--surface", choices=("none", "flat", "vacuum"), default="none")
    parser.add_argument("--shots", type=int, default=20)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("-o", "--out")
    arguments = parser.parse_args()
    (ours, seconds), (theirs, their_seconds) = of_craton(arguments), of_deepwave(arguments)
    inside = slice(None), slice(12, NZ - 2), slice(6, NX - 6)  # below sources and receivers
    cosines = {
        name: float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))
        for name, a, b in zip(("vp", "vs", "rho"), ours[inside], theirs[inside])
    }
    report = {
        "shots": arguments.shots,
        "surface": arguments.surface,
        "every": arguments.every,
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "craton, s": round(seconds, 3),
        "deepwave, s": round(their_seconds, 3),
        "ratio": round(their_seconds / seconds, 2),
        "cosine": cosines,
    }
    text = json.dumps(report, indent=1)
    print(text)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
