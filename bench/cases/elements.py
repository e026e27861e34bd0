"""Kernels of spectral elements on a GPU: checks against the CPU, each variant's time, the whole step; no scenario.

usage: python3 -m bench elements [checks step variants laws memories degrees] [--out FILE.json] [--size 96 96 36]
       compute-sanitizer python3 -m bench elements --small

A block of irregular elements (random interior displacement, 15 % of an edge), structured numbering, random fields. sem_h200 has all parts,
sem_memory_h200 checks, step and memories. Needs CuPy.
"""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from bench.harness import tables
from craton.backends.cpu import CPU
from craton.core.grid import Layout
from craton.core.operator import BOX
from craton.core.plan import LANES, Array, ColourBoundaries, Launch, Phase, StepPlan
from craton.methods.spectral_element.equations import operators as sem
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.element import Element

BOUNDS = tuple(name for name, _ in BOX.fields)
MECHANISMS = ((0.99, 0.004, 0.009, 1.2), (0.95, 0.02, 0.04, 1.1), (0.8, 0.1, 0.15, 1.3))
RELAXATION = tuple((*row, 0.1, 0.02, 0.01) for row in MECHANISMS)
TILE = 4  # elements along an edge of a tile: a chunk of 64
LIMIT = {"float32": 2e-5, "float64": 1e-12}
SHAPE, SMALL = (96, 96, 36), (4, 4, 3)
LANED = ("points", "geometry", "moduli", "memory", "loss")
GEOMETRIES = ("nodes", "corners", "stored", "box")


class Mesh:
    """ex x ey x ez distorted hexahedra; points numbered by first touch in the order of the elements."""

    def __init__(self, shape, degree, tiled=True, seed=1):
        self.element = Element(degree)
        ex, ey, ez = shape
        k, j, i = (n.ravel() for n in np.indices((ez, ey, ex)))
        if tiled:
            order = np.lexsort((i, j, k, i // TILE, j // TILE, k // TILE))
            k, j, i = k[order], j[order], i[order]
        assert len(k) % LANES == 0
        self.kji, self.size, self.colour = (k, j, i), len(k), (k % 2) * 4 + (j % 2) * 2 + i % 2
        c, b, a = (n.ravel() for n in np.indices(3 * (degree + 1,)))
        nx, ny = degree * ex + 1, degree * ey + 1
        self.count = nx * ny * (degree * ez + 1)
        rows = (degree * k[:, None] + c) * ny + degree * j[:, None] + b
        self.points = renumbered(rows * nx + degree * i[:, None] + a, self.count)
        self.faces = (i == 0, i == ex - 1, j == 0, j == ey - 1, k == 0)
        planes = np.meshgrid(*(np.arange(n + 1.0) for n in (ez, ey, ex)), indexing="ij")
        self.corners, random = np.stack(planes[::-1], -1), np.random.default_rng(seed)
        inner = self.corners[1:-1, 1:-1, 1:-1]
        inner += 0.15 * random.uniform(-1, 1, inner.shape)

    @property
    def colours(self):
        """Where each colour begins, and the end."""
        counts = np.bincount(self.colour, minlength=8)
        return tuple(int(n) for n in np.cumsum([0, *counts]))

    def local(self, part=slice(None)):
        """27 nodes of elements relative to the centre, (ne, 3, 27)."""
        half = np.array([[1, 0], [0.5, 0.5], [0, 1]])
        k, j, i = (n[part][:, None] for n in self.kji)
        c, b, a = (n.ravel() for n in np.indices((2, 2, 2)))
        box = self.corners[k + c, j + b, i + a].reshape(-1, 2, 2, 2, 3)
        nodes = np.einsum("Cc,Bb,Aa,ecbax->eCBAx", half, half, half, box, optimize=True)
        return mesh_terms.relative(nodes.reshape(len(box), 27, 3))[0]

    def shapes(self, kind):
        """The geometry array; of stored terms those of the first elements over and over, for they are only timed."""
        if kind == "box":
            return np.ones((self.size, 3), np.float32)
        if kind == "stored":
            terms = mesh_terms.metric(self.element, self.local(slice(0, 4096))).astype(np.float32)
            return np.resize(terms, (self.size, *terms.shape[1:]))
        of = {"nodes": lambda x: x, "corners": lambda x: mesh_terms.corners(x)}[kind]
        parts = mesh_terms.batches(self.size, 1 << 15)
        return np.concatenate([of(self.local(part)).astype(np.float32) for part in parts])

    def boundary(self):
        """Points of five faces, each once."""
        pairs = zip(self.faces, self.element.face_nodes)
        return np.unique(np.concatenate([self.points[at][:, n].ravel() for at, n in pairs])).astype(np.int32)


def renumbered(lattice, count):
    """Numbers by first touch."""
    flat = lattice.ravel()
    first = np.empty(count, np.int64)
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)
    number = np.empty(count, np.int32)
    number[np.argsort(first, kind="stable")] = np.arange(count, dtype=np.int32)
    return number[flat].reshape(lattice.shape)


# --- checks -----------------------------------------------------------------------------------


def checks(report):
    """Every law and geometry, coloured too, against the CPU machine in float64."""
    options = report.options
    alone = options.parts == ["checks"]
    few = (2, 4, 8) if options.small else range(2, 9) if alone else (4,)
    kinds = tables("element_checks")
    for degree, precision in product(few, ("float32", "float64")):
        for name, properties in (kinds["all"] | (kinds["four"] if degree == 4 else {})).items():
            row = compare(report.machine, kind_of(degree, properties), precision)
            about = {"what": "check", "degree": degree, "case": name, "precision": precision}
            report.add("rows", about | row)


def kind_of(degree, properties):
    """The kind of elements of a table of scenarios.toml."""
    relaxation = {"relaxation": RELAXATION} if properties.get("relaxation") else {}
    return sem.Kind(degree, **properties | relaxation)


def compare(machine, kind, precision):
    """Relative L2 difference of force and memory between a machine in some precision and the CPU in float64."""
    mesh, rng = Mesh(SMALL, kind.degree), np.random.default_rng(3)
    per, n, local = [mesh.element.size] if kind.per_node else [], 3 * (mesh.count + 1), mesh.local()
    makers = {
        "nodes": lambda: local,
        "box": lambda: np.ones((mesh.size, 3)),
        "corners": lambda: mesh_terms.corners(local),
        "stored": lambda: mesh_terms.metric(mesh.element, local),
    }
    arrays = {
        "force": np.zeros(n),
        "displacement": rng.standard_normal(n),
        "points": mesh.points,
        "geometry": makers[kind.geometry](),
        "order": np.argsort(mesh.colour, kind="stable").astype(np.int32),
        "moduli": 0.5 + rng.random((mesh.size, 21 if kind.full else 2, *per)),
        "loss": rng.random((mesh.size, 1 + kind.bulk, *per)) / 20,
        "memory": rng.standard_normal((mesh.size, mesh.element.size, kind.stored or 4)),
    }
    states = []
    for own, real in ((CPU(threads=1), "float64"), (machine, precision)):
        program = own.commit(plan_of([element_launch(kind, mesh, arrays)], arrays, real))
        program.phases[0].inner(0)
        states.append([program.host(name).astype(float) for name in ("force", "memory")])
    errors = [float(np.linalg.norm(a - b) / np.linalg.norm(a)) for a, b in zip(*states)]
    passed = max(errors) <= LIMIT[precision]
    return {"force": errors[0], "memory": errors[1], "passed": passed}


def element_launch(kind, mesh, arrays):
    """The launch of an element kernel over all elements."""
    op, colours = sem.stiffness(kind), ColourBoundaries((), mesh.colours) if kind.coloured else None
    names = tuple(name if name in arrays else "" for name in op.arrays)
    return Launch(op, names, (0, 1, 0, 1, 0, mesh.size), {"first": 0}, colours=colours)


def plan_of(launches, arrays, precision):
    """A plan of one phase; arrays of the device are taken as they are."""

    def described(name, values):
        dtype = np.int32 if values.dtype.kind == "i" else precision
        data = values.astype(dtype, copy=False)
        return Array("test", values.shape, dtype, data, lanes=name in LANED)

    spec = {name: described(name, values) for name, values in arrays.items()}
    phases = (Phase("step", tuple(launches)),)
    return StepPlan(precision=precision, layout=Layout((1, 1, 1), 0), arrays=spec, phases=phases)


# --- times ------------------------------------------------------------------------------------


class Fields:
    """Arrays of a large mesh on the device, made when they are asked for.

    Parameters
    ----------
    report : Report
    mesh : Mesh
    """

    def __init__(self, report, mesh):
        import cupy

        self.report, self.machine, self.cupy, self.mesh = report, report.machine, cupy, mesh
        n, random = 3 * (mesh.count + 1), cupy.random.default_rng(1)
        self.random = lambda *shape: random.random(shape, dtype=cupy.float32)
        self.known = {
            "displacement": 1e-3 * self.random(n),
            "force": cupy.zeros(n, "f4"),
            "velocity": cupy.zeros(n, "f4"),
            "inverse_mass": self.random(mesh.count + 1),
            "points": cupy.asarray(mesh.points, "i4"),
            "order": cupy.asarray(np.argsort(mesh.colour, kind="stable"), "i4"),
        }
        self.shapes = {}

    def of(self, kind, components=3):
        """All arrays of an element kernel."""
        mesh, nodes = self.mesh, self.mesh.element.size
        if kind.geometry not in self.shapes:
            self.shapes[kind.geometry] = self.cupy.asarray(mesh.shapes(kind.geometry))
        rows, per = (1 if components == 1 else 21 if kind.full else 2, [nodes] if kind.per_node else [])
        out = {**self.known, "geometry": self.shapes[kind.geometry]}
        out["moduli"] = self.random(mesh.size, rows, *per)
        if kind.relaxation:
            out["loss"] = self.random(mesh.size, 1 + kind.bulk, *per) / 100
            out["memory"] = self.cupy.zeros((mesh.size, nodes, kind.stored), "f4")
        if components == 1:
            force = self.known["force"][: mesh.count + 1]
            out |= {"potential": out["inverse_mass"], "potential_force": force}
        return out

    def caller(self, op, arrays, box, params):
        """A function that launches a kernel, its registers and bytes of local memory."""
        module = self.cupy.RawModule(code=op.source("float32"), options=("-std=c++17",))
        kernel, span = module.get_function(op.function), (op.span or op.block)[0]
        grid = (-(-(box[5] - box[4]) // span), 1, 1)
        pointers = [arrays[name] if name in arrays else np.uintp(0) for name in op.arrays]
        values = (BOX.value("float32", **dict(zip(BOUNDS, box))), op.params.value("float32", **params))
        call = partial(kernel, grid, op.block, (*pointers, *values))
        return call, kernel.num_regs, kernel.local_size_bytes

    def median(self, work, repeats=20):
        """Median seconds of a piece of work on the device."""
        seconds = []
        for _ in range(repeats + 3):
            begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            seconds.append(self.cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        return float(np.median(seconds[3:]))

    def timed(self, kind, name, op=None, **defines):
        """A row for one element kernel with some settings; its seconds."""
        op = with_defines(op or sem.stiffness(kind), **defines)
        arrays, mesh = self.of(kind, 1 if op.function == "fluid" else 3), self.mesh
        cuts, calls = mesh.colours if kind.coloured else (0, mesh.size), []
        for a, b in zip(cuts, cuts[1:]):
            call, registers, local = self.caller(op, arrays, (0, 1, 0, 1, a, b), {"first": 0})
            calls.append(call)
        seconds = self.median(lambda: [call() for call in calls])
        rate, least = mesh.size / seconds, op.reals_per_point * 4
        row = {"what": "stiffness", "case": name, "ms": 1e3 * seconds, "M_elements_s": rate / 1e6}
        row |= {"least_GB_s": least * rate / 1e9, "gflops": op.flops * rate / 1e9}
        self.report.add("rows", row | {"registers": registers, "local": local})
        return seconds

    def free(self):
        """Give the device's memory back to it."""
        self.cupy.get_default_memory_pool().free_all_blocks()


def with_defines(op, **defines):
    """The operator with other constants."""
    return replace(op, defines=tuple({**dict(op.defines), **defines}.items()))


def large(report):
    """Fields of the large mesh, and the copy bandwidth as a row, once a session."""
    if not hasattr(report, "fields"):
        report.add("rows", {"what": "copy", "GB_s": report.bandwidth / 1e9})
        mesh = Mesh(tuple(report.options.size or SHAPE), 4)
        report.add("rows", {"what": "mesh", "elements": mesh.size, "points": mesh.count})
        report.fields = Fields(report, mesh)
    return report.fields


def step(report):
    """Whole steps as the machine runs them, a graph of stiffness, Stacey faces and update."""
    fields = large(report)
    edge = fields.mesh.boundary()
    faces = {"edge": fields.cupy.asarray(edge), "terms": 1e-3 * fields.random(12, len(edge))}
    for name, properties in tables("element_steps").items():
        program, nbytes = committed(fields, kind_of(4, properties), faces)
        run, machine, size = partial(ten, program.phases[0].inner), fields.machine, fields.mesh.size
        with machine.stream:
            run()
            best = float(np.median([machine.timed(run) / 10 for _ in range(9)]))
        row = {"what": "step", "case": name, "ms": 1e3 * best, "M_elements_s": size / best / 1e6}
        report.add("rows", row | {"bytes_an_element": nbytes / size})
        del program, run
        fields.free()


def ten(run):
    """Ten steps."""
    for n in range(10):
        run(n)


def committed(fields, kind, faces):
    """The program of a step, and the bytes of its arrays."""
    arrays, edge = {**fields.of(kind), **faces}, len(faces["edge"])
    n, stacey = 3 * (fields.mesh.count + 1), ("force", "velocity", "edge", "terms")
    launches = [
        element_launch(kind, fields.mesh, arrays),
        Launch(sem.stacey(), stacey, (0, 1, 0, 1, 0, edge), {"count": edge}),
        Launch(sem.update(), sem.update().arrays, (0, 1, 0, 1, 0, n), {"dt": 1e-9}),
    ]
    plan = plan_of(launches, arrays, "float32")
    return fields.machine.commit(plan), plan.nbytes


def variants(report):
    """The update by words and threads; isotropic elements by geometry, material, registers, assembly, numbering."""
    fields = large(report)
    n = 3 * (fields.mesh.count + 1)
    for (words, wide), width in product(((1, 0), (2, 0), (4, 0), (4, 1), (8, 1), (16, 1)), (128, 256, 512)):
        op = replace(sem.update(), block=(width, 1, 1), span=(width * words, 1, 1))
        op = with_defines(op, WORDS=words, WIDE=wide)
        call, registers, _ = fields.caller(op, fields.known, (0, 1, 0, 1, 0, n), {"dt": 1e-9})
        seconds = fields.median(call)
        row = {"what": "update", "words": words, "wide": wide, "block": width, "ms": 1e3 * seconds}
        rate = op.reals_per_point * 4 * n / seconds / 1e9
        report.add("rows", row | {"GB_s": rate, "registers": registers})
    for geometry, per_node in product(GEOMETRIES, (True, False)):
        where = "node" if per_node else "element"
        fields.timed(sem.Kind(4, geometry, per_node), f"{geometry}, material per {where}")
    for geometry, (keep, spread), resident in product(GEOMETRIES, ((1, 1), (0, 1), (1, 0)), (384, 512, 640, 768)):
        name = f"{geometry}, {resident} threads, keep {keep}, spread {spread}"
        defines = {"MIN_BLOCKS": resident // 128, "KEEP": keep, "SPREAD": spread}
        fields.timed(sem.Kind(4, geometry), name, **defines)
    fields.timed(sem.Kind(4, coloured=True), "coloured, one launch a colour")
    rough = Fields(report, Mesh(tuple(report.options.size or SHAPE), 4, tiled=False))
    rough.timed(sem.Kind(4), "elements and points in rows")


def laws(report):
    """21 constants, attenuation, fluid."""
    fields, where = large(report), {True: "node", False: "element"}
    for per_node, geometry, resident in product((True, False), ("nodes", "corners"), (256, 384, 512, 640)):
        kind, blocks = sem.Kind(4, geometry, per_node=per_node), {"MIN_BLOCKS": resident // 128}
        name = f"per {where[per_node]}, {geometry}, {resident} threads"
        fields.timed(replace(kind, full=True), f"21 constants {name}", **blocks)
        for bulk in (False, True):
            lossy = replace(kind, relaxation=RELAXATION, bulk=bulk)
            fields.timed(lossy, f"attenuation{' with bulk' if bulk else ''} {name}", **blocks)
    both = sem.Kind(4, "corners", full=True, relaxation=RELAXATION)
    fields.timed(both, "21 constants and attenuation per node")
    for per_node in (True, False):
        kind = sem.Kind(4, per_node=per_node)
        fields.timed(kind, f"fluid per {where[per_node]}", sem.fluid(kind))


def memories(report):
    """Ways to the memory variables: past the L1 cache, node after node."""
    for geometry, past, turn, resident in product(("corners", "nodes"), (0, 1), (0, 1), (384, 512, 640)):
        name = f"attenuation, {geometry}, past L1 {past}, in turn {turn}, {resident} threads"
        defines = {"PAST_L1": past, "IN_TURN": turn, "MIN_BLOCKS": resident // 128}
        large(report).timed(sem.Kind(4, geometry, relaxation=RELAXATION), name, **defines)


def degrees(report):
    """Isotropic elements of other degrees, about a quarter of the points."""
    report.__dict__.pop("fields", None)
    for degree in (2, 3, 5, 6, 7, 8):
        size = report.options.size or SHAPE
        shape = tuple(max(4, round(n * 2.5 / degree / 4) * 4) for n in size)
        fields = Fields(report, Mesh(shape, degree))
        fields.free()
        seconds = fields.timed(sem.Kind(degree), f"degree {degree}, {shape}")
        rate = fields.mesh.count / seconds / 1e9
        report.add("rows", {"what": "degree", "degree": degree, "G_points_s": rate})
        del fields


def only_large(part):
    """A part that `--small` leaves out."""
    return lambda report: None if report.options.small else part(report)


PARTS = {"checks": checks} | {part.__name__: only_large(part) for part in (step, variants, laws, memories, degrees)}
