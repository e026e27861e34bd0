"""craton's gravity against Harmonica, choclo and SimPEG on this CPU: the same prisms, the same points, the same number of threads, one run.

usage: gravity_peers.py [--threads 2] [--repeats 3] [--out FILE.json] [--only accuracy irregular spheres]
Needs: pip install "harmonica>=0.7" choclo simpeg, and craton (PYTHONPATH=src is enough).

accuracy   random ensembles, all fields: greatest difference over the norm of the field over the points, against Harmonica and choclo
irregular  20,000 of the prisms of seven spheres, 1,500 points, method direct: g_z, and nine fields (nine calls for Harmonica)
spheres    251,948 prisms, 15,000 points, method auto, against SimPEG's choclo engine on a share of the points (its cost is linear in them)
Times are medians of wall clock; process CPU seconds are recorded beside them. Compilation is left out on all sides (a first call).
"""
# ruff: noqa: E402 (what is imported reads the environment set here)
import argparse
import json
import os
import platform
import statistics
import time
import warnings
from functools import partial

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--out")
parser.add_argument("--only", nargs="+", default=["accuracy", "irregular", "spheres"])
options = parser.parse_args()
for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import numpy as np

import craton.gravity
from craton.methods.gravity.bench import CELLS, EXTENT, seven_spheres
from craton.versions import versions

warnings.simplefilter("ignore")
NINE = ("g_e", "g_n", "g_z", "g_ee", "g_nn", "g_zz", "g_en", "g_ez", "g_nz")
def points(nx, ny, height=100.0):
    """A grid above the ensemble as flat arrays."""
    x, y = np.meshgrid(np.linspace(0, EXTENT[0], nx), np.linspace(0, EXTENT[1], ny), indexing="ij")
    return x.ravel(), y.ravel(), np.full(x.size, height)


def timed(work):
    """Median wall and CPU seconds of a call after a first one, and what it returns."""
    result = work()
    wall, cpu = [], []
    for _ in range(options.repeats):
        begin, used = time.perf_counter(), time.process_time()
        result = work()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - used)
    return statistics.median(wall), statistics.median(cpu), result


def harmonica_fields(at, prisms, density, names):
    """Fields by Harmonica, one call each."""
    import harmonica

    return {name: harmonica.prism_gravity(at, prisms, density, name, parallel=True, disable_checks=True) for name in names}


def choclo_fields(at, prisms, density, names):
    """Fields by choclo's kernels, upward components turned down."""
    from choclo import prism as kernels
    from numba import njit, prange

    turned = {"g_z": ("u", -1e5), "g_zz": ("uu", 1e9), "g_ez": ("eu", -1e9), "g_nz": ("nu", -1e9), "potential": ("pot", 1.0)}
    out = {}
    for name in names:
        ending, factor = turned.get(name, (name[2:], 1e5 if len(name) == 3 else 1e9))
        kernel = getattr(kernels, f"gravity_{ending}")

        @njit(parallel=True)
        def run(x, y, z, p, d, total, kernel=kernel):
            for i in prange(x.size):
                for m in range(p.shape[0]):
                    total[i] += kernel(x[i], y[i], z[i], p[m, 0], p[m, 1], p[m, 2], p[m, 3], p[m, 4], p[m, 5], d[m])

        total = np.zeros(at[0].size)
        run(*at, prisms, density, total)
        out[name] = factor * total
    return out


def accuracy():
    """Greatest difference of every field over its norm over the points."""
    rng = np.random.default_rng(7)
    names, found = ("potential", *NINE), {}
    centre, half = rng.uniform([0, 0, -2000], [9000, 7000, -160], (2000, 3)), rng.uniform(5, 150, (2000, 3))
    prisms, density = np.stack([centre - half, centre + half], axis=2).reshape(-1, 6), rng.uniform(-500, 500, 2000)
    at = tuple(rng.uniform([-2000, -2000, 1], [11000, 9000, 500], (400, 3)).T)
    ours = craton_fields(at, prisms, density, names, method="direct")
    for peer, theirs in (("harmonica", harmonica_fields), ("choclo", choclo_fields)):
        them = theirs(at, prisms, density, names)
        found[peer] = {name: float(np.abs(ours[name] - them[name]).max() / np.linalg.norm(them[name])) for name in names}
        worst = max(found[peer], key=found[peer].get)
        print(f"           {peer}: worst {found[peer][worst]:.1e} of the field's norm ({worst})", flush=True)
    return found


def craton_fields(at, prisms, density, names, **given):
    """Fields by craton."""
    return craton.gravity.forward(prisms, density, at, names, device="cpu", threads=options.threads, **given)


def irregular():
    """Direct sums of irregular prisms."""
    prisms, density = seven_spheres()
    chosen = np.sort(np.random.default_rng(0).choice(len(prisms), 20_000, replace=False))
    prisms, density, at, rows = prisms[chosen], density[chosen], points(50, 30), {}
    for label, names in (("g_z", ("g_z",)), ("nine fields", NINE)):
        pairs = len(prisms) * at[0].size
        given = (at, prisms, density, names)
        ours, them = timed(partial(craton_fields, *given, method="direct")), timed(partial(harmonica_fields, *given))
        worst = max(float(np.abs(ours[2][n] - them[2][n]).max() / np.linalg.norm(them[2][n])) for n in names)
        rows[label] = row("harmonica", pairs, ours, them, worst)
        rows[label]["craton float32 wall s"] = timed(partial(craton_fields, *given, method="direct", precision="float32"))[0]
    return rows


def row(peer, pairs, ours, them, worst):
    """One comparison, printed and kept."""
    rates = [f"{name} {used[0]:.3g} s, {pairs / used[0] / 1e6:.3g} M pairs/s" for name, used in (("craton", ours), (peer, them))]
    print(f"           {'; '.join(rates)}: {them[0] / ours[0]:.0f} times, by CPU seconds {them[1] / ours[1]:.0f} times; "
          f"difference {worst:.0e} of the norm", flush=True)  # fmt: skip
    return {"pairs": pairs, "craton wall s": ours[0], "craton cpu s": ours[1], f"{peer} wall s": them[0], f"{peer} cpu s": them[1],
            "times faster": them[0] / ours[0], "difference over norm": worst}  # fmt: skip


def spheres():
    """The case of Couder-Castaneda et al. 2013 by the method that `auto` takes."""
    prisms, density = seven_spheres()
    at = points(150, 100)
    share = np.arange(7, at[0].size, 100)
    sub, rows = tuple(c[share] for c in at), {}
    for label, names in (("g_z", ("g_z",)), ("nine fields", NINE)):
        ours = timed(partial(craton_fields, at, prisms, density, names))
        them = simpeg(sub, names)
        them = (them[0] * at[0].size / share.size, them[1] * at[0].size / share.size, them[2])
        worst = max(float(np.abs(ours[2][n][share] - them[2][n]).max() / np.linalg.norm(them[2][n])) for n in names)
        rows[label] = row("simpeg", len(prisms) * at[0].size, ours, them, worst)
        rows[label] |= {"method": ours[2].method, "simpeg measured at": int(share.size)}
    return rows


def simpeg(at, names):
    """Fields by SimPEG's choclo engine: its z is upward throughout."""
    from discretize import TensorMesh
    from simpeg import maps
    from simpeg.potential_fields import gravity

    theirs = dict(zip(NINE, ("gx", "gy", "gz", "gxx", "gyy", "gzz", "gxy", "gxz", "gyz")))
    mesh = TensorMesh([[size / n] * n for size, n in zip(EXTENT, CELLS)], origin=[0, 0, -EXTENT[2]])
    rho = cell_densities().ravel(order="F") / 1000  # g/cm3
    active = rho != 0
    where = np.stack(at, axis=1)
    survey = gravity.Survey(gravity.SourceField([gravity.Point(where, components=[theirs[n] for n in names])]))
    given = {"mesh": mesh, "survey": survey, "rhoMap": maps.IdentityMap(nP=int(active.sum())), "active_cells": active}
    given |= {"engine": "choclo", "store_sensitivities": "forward_only", "numba_parallel": options.threads > 1}
    simulation = gravity.Simulation3DIntegral(**given)
    wall, cpu, values = timed(lambda: simulation.fields(rho[active]))
    values = np.asarray(values).reshape(-1, len(names)).T
    return wall, cpu, {name: -v if name in ("g_z", "g_ez", "g_nz") else v for name, v in zip(names, values)}


def cell_densities():
    """Density of every cell, (x, y, z)."""
    prisms, density = seven_spheres()
    sizes = [size / n for size, n in zip(EXTENT, CELLS)]
    corner = prisms[:, ::2] + [0, 0, EXTENT[2]]
    rho = np.zeros(CELLS)
    rho[tuple(np.rint(corner / sizes).astype(int).T)] = density
    return rho


def about():
    """What was compared."""
    names = ("craton", "harmonica", "choclo", "simpeg", "numba", "numpy")
    host = {"machine": platform.processor() or platform.machine(), "threads": options.threads}
    return host | {"python": platform.python_version()} | versions(*names)


def main():
    """Run what was asked for."""
    parts = {"accuracy": accuracy, "irregular": irregular, "spheres": spheres}
    result = {"versions": about(), "load": os.getloadavg()}
    for name in options.only:
        print(f"{name}", flush=True)
        result[name] = parts[name]()
    if options.out:
        with open(options.out, "w") as file:
            json.dump(result, file, indent=1)


main()
