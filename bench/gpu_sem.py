"""One session on a GPU machine for the kernels of spectral elements: checks against the CPU, each variant's time, the whole step.

    PYTHONPATH=src python3 bench/gpu_sem.py --out FILE.json [--only checks step variants laws memories degrees] [--size 96 96 36]
    PYTHONPATH=src compute-sanitizer python3 bench/gpu_sem.py --check

A block of irregular elements (random interior displacement, 15 % of an edge), structured numbering, random fields; no scenario. The JSON
grows with each row.
"""
import argparse
import json
import time
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from craton.backends import backend
from craton.backends.cpu import CPU
from craton.benchmark import provenance
from craton.core.layout import Layout
from craton.core.operator import BOX
from craton.core.plan import LANES, Array, ColourBoundaries, Launch, Phase, StepPlan
from craton.methods.spectral_element import mesh_terms
from craton.methods.spectral_element import operators as sem
from craton.methods.spectral_element.element import Element

BOUNDS = tuple(name for name, _ in BOX.fields)
RELAXATION = ((0.99, 0.004, 0.009, 1.2, 0.1, 0.02, 0.01), (0.95, 0.02, 0.04, 1.1, 0.1, 0.02, 0.01), (0.8, 0.1, 0.15, 1.3, 0.1, 0.02, 0.01))
TILE = 4  # elements along an edge of a tile: a chunk of 64
LIMIT = {"float32": 2e-5, "float64": 1e-12}


class Mesh:
    """ex x ey x ez distorted hexahedra; points numbered by first touch in the order of the elements."""

    def __init__(self, shape, degree, tiled=True, seed=1):
        self.shape, self.element = shape, Element(degree)
        ex, ey, ez = shape
        k, j, i = (n.ravel() for n in np.indices((ez, ey, ex)))
        if tiled:
            order = np.lexsort((i, j, k, i // TILE, j // TILE, k // TILE))
            k, j, i = k[order], j[order], i[order]
        self.colour = (k % 2) * 4 + (j % 2) * 2 + i % 2
        c, b, a = (n.ravel() for n in np.indices(3 * (degree + 1,)))
        nx, ny = degree * ex + 1, degree * ey + 1
        self.count = nx * ny * (degree * ez + 1)
        assert len(k) % LANES == 0
        lattice = ((degree * k[:, None] + c) * ny + degree * j[:, None] + b) * nx + degree * i[:, None] + a
        self.points, self.kji = renumbered(lattice, self.count), (k, j, i)
        self.faces = {"west": i == 0, "east": i == ex - 1, "south": j == 0, "north": j == ey - 1, "bottom": k == 0}
        corners = np.stack(np.meshgrid(*(np.arange(n + 1.0) for n in (ez, ey, ex)), indexing="ij")[::-1], -1)
        corners[1:-1, 1:-1, 1:-1] += 0.15 * np.random.default_rng(seed).uniform(-1, 1, corners[1:-1, 1:-1, 1:-1].shape)
        self.corners = corners

    @property
    def size(self):
        """Elements."""
        return len(self.points)

    def local(self, part=slice(None)):
        """27 nodes of some elements relative to the centre, (ne, 3, 27)."""
        half = np.array([[1, 0], [0.5, 0.5], [0, 1]])
        k, j, i = (n[part][:, None] for n in self.kji)
        c, b, a = (n.ravel() for n in np.indices((2, 2, 2)))
        box = self.corners[k + c, j + b, i + a].reshape(-1, 2, 2, 2, 3)
        nodes = np.einsum("Cc,Bb,Aa,ecbax->eCBAx", half, half, half, box, optimize=True).reshape(len(box), 27, 3)
        return mesh_terms.relative(nodes)[0]

    def shapes(self, kind):
        """The geometry array; of stored terms those of the first elements over and over, for they are only timed."""
        if kind == "box":
            return np.ones((self.size, 3), np.float32)
        if kind == "nodes":
            return np.concatenate([self.local(part).astype(np.float32) for part in mesh_terms.batches(self.size, 1 << 15)])
        if kind == "corners":
            parts = mesh_terms.batches(self.size, 1 << 15)
            return np.concatenate([mesh_terms.corners(self.local(part))[0].astype(np.float32) for part in parts])
        some = mesh_terms.metric(self.element, self.local(slice(0, 4096))).astype(np.float32)
        return np.resize(some, (self.size, *some.shape[1:]))

    def boundary(self):
        """Points of five faces, each once."""
        nodes = dict(zip(("west", "east", "south", "north", "bottom"), self.element.face_nodes))
        return np.unique(np.concatenate([self.points[at][:, nodes[name]].ravel() for name, at in self.faces.items()])).astype(np.int32)


def renumbered(lattice, count):
    """Numbers by first touch."""
    flat = lattice.ravel()
    first = np.empty(count, np.int64)
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    number = np.empty(count, np.int32)
    number[np.argsort(first, kind="stable")] = np.arange(count, dtype=np.int32)
    return number[flat].reshape(lattice.shape)


def with_defines(op, elements=None, threads=None, **defines):
    """The operator with other constants, other elements of a block."""
    given = dict(op.defines)
    if threads:
        defines |= {"ELEMENTS": elements, "THREADS": threads}
        op = replace(op, block=(threads, 1, 1), span=(elements, 1, 1))
    return replace(op, defines=tuple({**given, **defines}.items()))


class Bench:
    """Rows of results, a table on the screen and a JSON that grows."""

    def __init__(self, out):
        import cupy

        self.cupy, self.out, self.rows = cupy, out, []
        self.machine = backend("cuda")
        self.head = provenance(self.machine)

    def add(self, **row):
        """One row: printed and written."""
        self.rows.append(row)
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
        if self.out:
            self.out.write_text(json.dumps({**self.head, "rows": self.rows}, indent=1) + "\n")

    def compiled(self, op, precision="float32"):
        """(function, registers, local bytes)."""
        made = self.cupy.RawModule(code=op.source(precision), options=("-std=c++17",)).get_function(op.function)
        return made, made.num_regs, made.local_size_bytes

    def caller(self, made, op, arrays, box, params, precision="float32"):
        """A function that launches the kernel."""
        span = (op.span or op.block)[0]
        grid = (-(-(box[5] - box[4]) // span), 1, 1)
        pointers = [arrays[name] if name in arrays else np.uintp(0) for name in op.arrays]
        values = (BOX.value(precision, **dict(zip(BOUNDS, box))), op.params.value(precision, **params))
        return lambda: made(grid, op.block, (*pointers, *values))

    def median(self, work, repeats=20):
        """Median seconds of a piece of work on the device."""
        cupy, found = self.cupy, []
        for n in range(repeats + 3):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            found += [cupy.cuda.get_elapsed_time(begin, end) / 1e3] if n >= 3 else []
        return float(np.median(found))


# --- checks -----------------------------------------------------------------------------------------------------------------------------


def checks(bench, degrees=(2, 3, 4, 5, 6, 7, 8)):
    """Every law and geometry, coloured too, against the CPU machine in float64."""
    for degree in degrees:
        kinds = {name: {"geometry": name} for name in ("nodes", "corners", "stored", "box")} | {"per element": {"per_node": False}}
        if degree == 4:
            kinds |= {"full": {"full": True}, "coloured": {"coloured": True}, "attenuated": {"relaxation": RELAXATION},
                      "bulk": {"relaxation": RELAXATION, "bulk": True, "full": True, "per_node": False}}  # fmt: skip
        for precision in ("float32", "float64"):
            for name, given in kinds.items():
                found = compare(bench, sem.Kind(degree, **given), precision)
                bench.add(what="check", degree=degree, case=name, precision=precision, **found)


def compare(bench, kind, precision):
    """Relative L2 difference of force and memory between a GPU in some precision and the CPU in float64."""
    mesh = Mesh((4, 4, 3), kind.degree)
    rng = np.random.default_rng(3)
    nodes = mesh.element.size
    rows = 21 if kind.full else 2
    stored = mesh_terms.metric(mesh.element, mesh.local())
    geometry = {"nodes": mesh.local(), "corners": mesh_terms.corners(mesh.local())[0], "stored": stored, "box": np.ones((mesh.size, 3))}
    n = 3 * (mesh.count + 1)
    arrays = {"force": np.zeros(n), "displacement": rng.standard_normal(n), "points": mesh.points,
              "geometry": geometry[kind.geometry], "order": np.argsort(mesh.colour, kind="stable").astype(np.int32),
              "moduli": 0.5 + rng.random((mesh.size, rows, nodes) if kind.per_node else (mesh.size, rows)),
              "loss": rng.random((mesh.size, 1 + kind.bulk, nodes) if kind.per_node else (mesh.size, 1 + kind.bulk)) / 20,
              "memory": rng.standard_normal((mesh.size, nodes, kind.stored or 4))}  # fmt: skip
    limits = np.cumsum([0, *np.bincount(mesh.colour, minlength=8)])
    found = []
    for machine, real in ((CPU(threads=1), "float64"), (bench.machine, precision)):
        op = sem.stiffness(kind)
        colours = ColourBoundaries((), tuple(int(n) for n in limits)) if kind.coloured else None
        plan = small_plan([Launch(op, op.arrays, (0, 1, 0, 1, 0, mesh.size), {"first": 0}, colours=colours)], arrays, real)
        program = machine.commit(plan)
        program.phases[0].inner(0)
        found.append([program.host(name).astype(float) for name in ("force", "memory")])
    errors = [float(np.linalg.norm(a - b) / np.linalg.norm(a)) for a, b in zip(*found)]
    return {"force": errors[0], "memory": errors[1], "passed": max(errors) <= LIMIT[precision]}


LANED = ("points", "geometry", "moduli", "memory", "loss")


def small_plan(launches, arrays, precision, dtypes=None):
    """A plan of one phase; arrays of the device are taken as they are."""
    def one(name, a):
        dtype = np.int32 if a.dtype.kind == "i" else precision
        return Array("test", a.shape, dtype, a.astype(dtype, copy=False), lanes=name in LANED)

    described = {name: one(name, a) for name, a in arrays.items()}
    phases = (Phase("step", tuple(launches)),)
    return StepPlan(precision=precision, layout=Layout((1, 1, 1), 0), arrays=described, phases=phases)


# --- times ------------------------------------------------------------------------------------------------------------------------------


class Fields:
    """Arrays of the large mesh on the device, made when they are asked for."""

    def __init__(self, bench, mesh):
        self.cupy, self.mesh = bench.cupy, mesh
        n = 3 * (mesh.count + 1)
        random = self.cupy.random.default_rng(1)
        self.random = lambda *shape: random.random(shape, dtype=self.cupy.float32)
        self.known = {"displacement": 1e-3 * self.random(n), "force": self.cupy.zeros(n, "f4"), "velocity": self.cupy.zeros(n, "f4"),
                      "inverse_mass": self.random(mesh.count + 1), "points": self.cupy.asarray(mesh.points, "i4"),
                      "order": self.cupy.asarray(np.argsort(mesh.colour, kind="stable"), "i4")}  # fmt: skip
        self.shapes = {}

    def of(self, kind, fields=3):
        """All arrays of an element kernel."""
        mesh, nodes = self.mesh, self.mesh.element.size
        if kind.geometry not in self.shapes:
            self.shapes[kind.geometry] = self.cupy.asarray(mesh.shapes(kind.geometry))
        rows = 1 if fields == 1 else 21 if kind.full else 2
        out = {**self.known, "geometry": self.shapes[kind.geometry]}
        out["moduli"] = self.random(mesh.size, rows, *([nodes] if kind.per_node else []))
        if kind.relaxation:
            out["loss"] = self.random(mesh.size, 1 + kind.bulk, *([nodes] if kind.per_node else [])) / 100
            out["memory"] = self.cupy.zeros((mesh.size, nodes, kind.stored), "f4")
        if fields == 1:
            out |= {"potential": out["inverse_mass"], "potential_force": self.known["force"][: mesh.count + 1]}
        return out


def timed(bench, fields, kind, name, op=None, **more):
    """A row for one element kernel with some settings."""
    op = with_defines(op or sem.stiffness(kind), **more)
    made, registers, local = bench.compiled(op)
    arrays, mesh = fields.of(kind, 1 if op.function == "fluid" else 3), fields.mesh
    cuts = [0, *np.cumsum(np.bincount(mesh.colour, minlength=8))] if kind.coloured else [0, mesh.size]
    calls = [bench.caller(made, op, arrays, (0, 1, 0, 1, int(a), int(b)), {"first": 0}) for a, b in zip(cuts, cuts[1:])]
    seconds = bench.median(lambda: [call() for call in calls])
    least = op.reals_per_point * 4 * mesh.size
    bench.add(what="stiffness", case=name, ms=1e3 * seconds, M_elements_s=mesh.size / seconds / 1e6, least_GB_s=least / seconds / 1e9,
              gflops=op.flops * mesh.size / seconds / 1e9, registers=registers, local=local)  # fmt: skip
    return seconds


def update(bench, fields):
    """The update with some numbers of words a thread."""
    n = 3 * (fields.mesh.count + 1)
    for words, wide in ((1, 0), (2, 0), (4, 0), (4, 1), (8, 1), (16, 1)):
        for width in (128, 256, 512):
            op = with_defines(replace(sem.update(), block=(width, 1, 1), span=(width * words, 1, 1)), WORDS=words, WIDE=wide)
            made, registers, _ = bench.compiled(op)
            seconds = bench.median(bench.caller(made, op, fields.known, (0, 1, 0, 1, 0, n), {"dt": 1e-9}))
            rate = op.reals_per_point * 4 * n / seconds / 1e9
            bench.add(what="update", words=words, wide=wide, block=width, ms=1e3 * seconds, GB_s=rate, registers=registers)


def variants(bench, fields):
    """Isotropic elements: geometry, material, blocks, registers, assembly."""
    for geometry in ("nodes", "corners", "stored", "box"):
        for per_node in (True, False):
            kind = sem.Kind(4, geometry, per_node)
            timed(bench, fields, kind, f"{geometry}, material per {'node' if per_node else 'element'}")
    for geometry in ("nodes", "corners", "stored", "box"):
        for keep, spread in ((1, 1), (0, 1), (1, 0)):
            for resident in (384, 512, 640, 768):
                timed(bench, fields, sem.Kind(4, geometry), f"{geometry}, {resident} threads, keep {keep}, spread {spread}",
                      MIN_BLOCKS=resident // 128, KEEP=keep, SPREAD=spread)  # fmt: skip
    timed(bench, fields, sem.Kind(4, coloured=True), "coloured, one launch a colour")


def laws(bench, fields):
    """21 constants, attenuation, fluid."""
    for per_node in (True, False):
        where = "node" if per_node else "element"
        for geometry, resident in ((g, r) for g in ("nodes", "corners") for r in (256, 384, 512, 640)):
            more, kind = {"MIN_BLOCKS": resident // 128}, sem.Kind(4, geometry, per_node=per_node)
            timed(bench, fields, replace(kind, full=True), f"21 constants per {where}, {geometry}, {resident} threads", **more)
            for bulk in (False, True):
                name = f"attenuation{' with bulk' if bulk else ''} per {where}, {geometry}, {resident} threads"
                timed(bench, fields, replace(kind, relaxation=RELAXATION, bulk=bulk), name, **more)
    timed(bench, fields, replace(kind, full=True, relaxation=RELAXATION, per_node=True), "21 constants and attenuation per node")
    for per_node in (True, False):
        kind = sem.Kind(4, per_node=per_node)
        timed(bench, fields, kind, f"fluid per {'node' if per_node else 'element'}", sem.fluid(kind))


def memories(bench, fields):
    """Ways to the memory variables: past the L1 cache, node after node."""
    for geometry, past, turn, resident in product(("corners", "nodes"), (0, 1), (0, 1), (384, 512, 640)):
        name = f"attenuation, {geometry}, past L1 {past}, in turn {turn}, {resident} threads"
        kind = sem.Kind(4, geometry, relaxation=RELAXATION)
        timed(bench, fields, kind, name, PAST_L1=past, IN_TURN=turn, MIN_BLOCKS=resident // 128)


def degrees(bench, size):
    """Isotropic elements of other degrees, about a quarter of the points."""
    for degree in (2, 3, 5, 6, 7, 8):
        shape = tuple(max(4, round(n * 2.5 / degree / 4) * 4) for n in size)
        fields = Fields(bench, Mesh(shape, degree))
        seconds = timed(bench, fields, sem.Kind(degree), f"degree {degree}, {shape}")
        bench.add(what="degree", degree=degree, G_points_s=fields.mesh.count / seconds / 1e9)
        del fields
        bench.cupy.get_default_memory_pool().free_all_blocks()


def step(bench, fields):
    """Whole steps as the machine runs them, a graph of stiffness, Stacey faces and update."""
    edge = fields.mesh.boundary()
    faces = {"edge": bench.cupy.asarray(edge), "terms": 1e-3 * fields.random(12, len(edge))}
    kinds = {"isotropic": sem.Kind(4), "isotropic, corners": sem.Kind(4, "corners"),
             "isotropic, corners, per element": sem.Kind(4, "corners", per_node=False), "isotropic, boxes": sem.Kind(4, "box"),
             "isotropic, stored": sem.Kind(4, "stored"), "coloured": sem.Kind(4, coloured=True), "21 constants": sem.Kind(4, full=True),
             "21 constants, corners": sem.Kind(4, "corners", full=True), "attenuation": sem.Kind(4, relaxation=RELAXATION),
             "attenuation, corners": sem.Kind(4, "corners", relaxation=RELAXATION),
             "attenuation with bulk": sem.Kind(4, relaxation=RELAXATION, bulk=True)}  # fmt: skip
    for name, kind in kinds.items():
        program, arrays = committed(bench, fields, kind, faces)
        run = program.phases[0].inner
        stream = bench.machine.stream
        with stream:
            ten(run)
            best = float(np.median([bench.machine.timed(partial(ten, run)) / 10 for _ in range(9)]))
        rate, size = fields.mesh.size / best / 1e6, arrays / fields.mesh.size
        bench.add(what="step", case=name, ms=1e3 * best, M_elements_s=rate, bytes_an_element=size)
        del program
        bench.cupy.get_default_memory_pool().free_all_blocks()


def ten(run):
    """Ten steps."""
    for n in range(10):
        run(n)


def committed(bench, fields, kind, faces):
    """The program of a step, and the bytes of its arrays."""
    mesh, op, n = fields.mesh, sem.stiffness(kind), 3 * (fields.mesh.count + 1)
    arrays = {**fields.of(kind), **faces}
    colours = ColourBoundaries((), tuple(int(n) for n in np.cumsum([0, *np.bincount(mesh.colour, minlength=8)]))) if kind.coloured else None
    launches = [
        Launch(op, tuple(a if a in arrays else "" for a in op.arrays), (0, 1, 0, 1, 0, mesh.size), {"first": 0}, colours=colours),
        Launch(sem.stacey(), ("force", "velocity", "edge", "terms"), (0, 1, 0, 1, 0, len(faces["edge"])), {"count": len(faces["edge"])}),
        Launch(sem.update(), sem.update().arrays, (0, 1, 0, 1, 0, n), {"dt": 1e-9}),
    ]
    plan = small_plan(launches, arrays, "float32")
    return bench.machine.commit(plan), plan.nbytes


def main():
    """What was asked for, one JSON for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--check", action="store_true", help="small sizes only, for compute-sanitizer")
    parser.add_argument("--only", nargs="*", default=["checks", "variants", "step", "laws", "memories", "degrees"])
    parser.add_argument("--size", nargs=3, type=int, default=[96, 96, 36])
    asked = parser.parse_args()
    bench = Bench(asked.out)
    if asked.check:
        checks(bench, degrees=(2, 4, 8))
    else:
        session(bench, asked)


def session(bench, asked):
    """All that was asked for."""
    if "checks" in asked.only:
        checks(bench, degrees=(4,) if len(asked.only) > 1 else (2, 3, 4, 5, 6, 7, 8))
    begin = time.perf_counter()
    bench.add(what="copy", GB_s=bench.machine.copy_bandwidth() / 1e9)
    mesh = Mesh(tuple(asked.size), 4)
    fields = Fields(bench, mesh)
    bench.add(what="mesh", elements=mesh.size, points=mesh.count, seconds=time.perf_counter() - begin)
    for name, work in (("step", step), ("variants", update), ("variants", variants), ("laws", laws), ("memories", memories)):
        if name in asked.only:
            work(bench, fields)
            bench.add(what="time", after=work.__name__, seconds=time.perf_counter() - begin)
    if "variants" in asked.only:
        rough = Fields(bench, Mesh(tuple(asked.size), 4, tiled=False))
        timed(bench, rough, sem.Kind(4), "elements and points in rows")
        del rough
    if "degrees" in asked.only:
        del fields
        bench.cupy.get_default_memory_pool().free_all_blocks()
        degrees(bench, asked.size)
    bench.add(what="time", after="all", seconds=time.perf_counter() - begin)


if __name__ == "__main__":
    main()
