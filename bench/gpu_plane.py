"""The plane on one GPU: parity with the CPU, then the cases of Nakata et al. (2011). A table, and JSON with --out.

usage: PYTHONPATH=src python3 bench/gpu_plane.py [--out FILE.json] [--only parity nakata]
"""
import argparse
import json

from parity import compared

from craton import benchmark, nakata
from craton.scenario import Scenario

CASE = {
    "domain": {"origin": [0, -2500], "size": [4000, 2500], "spacing": 10},
    "model": {"kind": "layers", "layers": [{"top": 0, "vp": 1800, "vs": 1000, "rho": 1900},
                                           {"top": -735, "vp": 3000, "vs": 1700, "rho": 2300}]},
    "time": {"duration": 1.8, "start": 0},
    "receivers": [{"name": "L", "line": {"from": [500, 0], "to": [3500, 0], "count": 31}}],
}  # fmt: skip
RICKER = {"kind": "ricker", "frequency": 6, "delay": 0.2}
FORCE = {"P-SV": [3e6, 0, -1e7], "SH": [0, 1e7, 0]}


def scenario(waves, order, precision, shots, others):
    """Two layers below a free surface; several shots or one."""
    source = {"kind": "force", "force": FORCE[waves], "wavelet": RICKER}
    place = {"at": [1503.3, -122.2]} if shots == 1 else {"shots": {"from": [1000, -122.2], "to": [3000, -122.2], "count": shots}}
    sides = {"west": "periodic", "east": "periodic", "bottom": "sponge"} if others == "periodic" else {"others": others}
    return Scenario(**CASE | {"domain": CASE["domain"] | {"waves": waves}}, source=[source | place], boundaries=sides,
                    run={"order": order, "precision": precision})


def parity():
    """Largest difference between the machines over the largest value, and relative L2, of the waveforms of some runs."""
    rows = []
    for waves, order, precision, shots, others in (
        ("P-SV", 4, "float32", 1, "cpml"), ("P-SV", 4, "float64", 3, "cpml"), ("P-SV", 8, "float32", 3, "sponge"),
        ("SH", 4, "float32", 3, "cpml"), ("SH", 2, "float64", 1, "periodic"), ("P-SV", 12, "float32", 2, "rigid"),
    ):
        name = f"{waves}, order {order}, {precision}, {shots} shots, {others}"
        rows.append(compared(name, scenario(waves, order, precision, shots, others)))
    return rows


def main():
    """All parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", nargs="+", default=["parity", "nakata"])
    options = parser.parse_args()
    result = {}
    if "parity" in options.only:
        result["parity"] = parity()
    if "nakata" in options.only:
        texts = [*nakata.cases("cuda"), nakata.case(2, 1920, 1, "cpml"), nakata.case(2, 1920, 64, "cpml"), nakata.case(2, 960, 256)]
        result |= benchmark.bench("nakata", "cuda", texts=texts)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
