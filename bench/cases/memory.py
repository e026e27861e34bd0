"""Memory of runs on a CPU as `craton plan` says it, beside the peak that is measured, each in a process of its own.

usage: python3 -m bench memory [runs] --device cpu [--only CASE] [--set runs=3] [--out bench/results/memory_cpu.json]

`bench/peak_memory.py` measures. A row passes where both agree within 10 %. Of two ranks each has a row.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import ROOT
from craton.comm import launcher
from craton.scenario import Scenario
from craton.tables.document import dumps

WITHIN = 0.10
TOP, BOTTOM = {"vp": 3000, "vs": 1700, "rho": 2000}, {"vp": 4000, "vs": 2300, "rho": 2400}
LOSS = {"qp": 80, "qs": 40}
AIR = {"x": [0, 1200, 2400], "y": [0, 1200, 2400], "z": [[0, 50, 0], [30, 100, 20], [0, 10, -50]]}


def box(cells, loss=None, topography=None, height=1600, **tables):
    """A box of two layers with a force and a receiver."""
    top, bottom = ({**medium, **(loss or {})} for medium in (TOP, BOTTOM))
    ricker = {"kind": "ricker", "frequency": 5, "delay": 0.05}
    model = {"kind": "layers", "layers": [{"top": height - 1600, **top}, {"top": -800, **bottom}]}
    model |= {"attenuation": {"band": [1, 20]}} if loss else {}
    model |= {"topography": topography} if topography else {}
    return {
        "domain": {"origin": [0, 0, -1600], "size": [2400, 2400, height], **cells},
        "model": model,
        "time": {"duration": 0.1},
        "source": [{"kind": "force", "at": [1200, 1200, -1200], "force": [0, 0, 1e9], "wavelet": ricker}],
        "receivers": [{"name": "R", "at": [1200, 1200, -200]}],
        **tables,
    }  # fmt: skip


def elements(size, **more):
    """A box of elements."""
    return box({"element_size": size}, method="sem", **more)


def chunk(period):
    """A chunk of the Earth with the station of an earthquake."""
    at = {"longitude": 21.0, "latitude": 38.5}
    event = {"kind": "explosion", "at": {**at, "depth": 150e3}, "moment": 1e18}
    wavelet = {"kind": "gaussian", "tau": 12}
    where = {**at, "width": [26, 10], "azimuth": 0, "period": period, "bottom": 1.5e6}
    return {
        "method": "sem",
        "domain": {"chunk": where},
        "model": {"kind": "prem"},
        "time": {"duration": 30},
        "source": [event | {"wavelet": wavelet}],
        "receivers": [{"name": "R", "at": at}],
    }


COARSE = ["domain.element_size=800"]
RIGID = {"boundaries": {"top": "rigid", "others": "cpml"}}
FREE = {"boundaries": {"top": "free", "others": "cpml"}}
CASES = {  # scenario, keys of the small run before, ranks
    "elements, box": (elements(75), COARSE, 1),
    "elements, large box": (elements(60), COARSE, 1),
    "elements, attenuation": (elements(90, loss=LOSS), COARSE, 1),
    "elements, topography": (elements(75, topography=AIR, height=1900), ["domain.element_size=400"], 1),
    "elements, layer": (elements(100, boundaries={"top": "free", "others": "pml"}), ["domain.element_size=300"], 1),
    "elements, chunk": (chunk(22), ["domain.chunk.period=100"], 1),
    "elements, two ranks": (elements(75), COARSE, 2),
    "grid": (box({"spacing": 12.5}, **FREE), ["domain.spacing=60"], 1),
    "grid, attenuation": (box({"spacing": 15}, loss=LOSS, **FREE), ["domain.spacing=60"], 1),
    "grid, topography": (box({"spacing": 12.5}, topography=AIR, height=1900, **RIGID), ["domain.spacing=60"], 1),
    "grid, two ranks": (box({"spacing": 10}, **FREE), ["domain.spacing=40"], 2),
}


def rows_of(name, folder):
    """Planned and measured bytes of a case, of each rank: list of dict."""
    tables, warm, ranks = CASES[name]
    file = Path(folder) / "case.toml"
    scenario = Scenario(title=name, run={"device": "cpu", "threads": 1}, **tables)
    file.write_text(dumps(scenario))
    script = [str(ROOT / "bench/peak_memory.py"), str(file), folder, "--warm", *warm]
    ranked = [launcher.mpiexec(), "-n", str(ranks), sys.executable, "-m", "mpi4py"]
    words = [*(ranked if ranks > 1 else [sys.executable]), *script]
    environment = launcher.environment() if ranks > 1 else dict(os.environ)
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, timeout=900)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def runs(report):
    """A row for each case, run and rank."""
    for name in filter(report.wants, CASES):
        for _ in range(report.setting("runs", 1)):
            with report.guarded("runs", name), tempfile.TemporaryDirectory() as folder:
                for row in rows_of(name, folder):
                    ratio = row["measured"] / row["planned"]
                    passed = abs(ratio - 1) < WITHIN
                    report.add("runs", {"case": name, **row, "ratio": ratio, "passed": passed})


PARTS = {"runs": runs}
