"""Shared by the spectral-element tests: small distorted meshes, dense reference forces, one launch on the CPU machine."""

from dataclasses import dataclass, field

import numpy as np

from craton.backends.cpu import CPU
from craton.core.grid import Layout
from craton.core.plan import LANES, Array, Launch, Phase, StepPlan
from craton.methods.spectral_element.equations import operators as sem
from craton.methods.spectral_element.mesh import mesh_statistics, mesh_terms
from craton.methods.spectral_element.mesh.element import Element

VOIGT = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
LANED = ("points", "geometry", "moduli", "memory", "loss", "layer", "rates")  # arrays of elements
ROW = {(a, b): n for n, (a, b) in enumerate((a, b) for a in range(6) for b in range(a, 6))}


@dataclass
class Mesh:
    """A block of ex x ey x ez distorted hexahedra with 27 nodes (`straight`: edges are), numbered as a lattice; whole groups of LANES."""

    degree: int
    shape: tuple = (3, 2, 2)
    distortion: float = 0.15
    seed: int = 1
    straight: bool = False
    element: Element = field(init=False)

    def __post_init__(self):
        self.element = Element(self.degree)
        ex, ey, ez = self.shape
        rng = np.random.default_rng(self.seed)
        x, y, z = (np.arange(2 * n + 1.0) for n in self.shape)
        lattice = np.stack(np.meshgrid(z, y, x, indexing="ij")[::-1], -1) * [1.0, 0.8, 1.3] / 2
        lattice += self.distortion * rng.uniform(-0.5, 0.5, lattice.shape)
        k, j, i = (n.ravel() for n in np.indices((ez, ey, ex)))
        c, b, a = (n.ravel() for n in np.indices((3, 3, 3)))
        nodes = lattice[2 * k[:, None] + c, 2 * j[:, None] + b, 2 * i[:, None] + a]
        c, b, a = (n.ravel() for n in np.indices(3 * (self.element.n,)))
        nx, ny = self.degree * ex + 1, self.degree * ey + 1
        at = [self.degree * e[:, None] + n for e, n in ((k, c), (j, b), (i, a))]
        self.real, self.count = len(k), nx * ny * (self.degree * ez + 1)
        self.local, self.centres = mesh_terms.relative(self.filled(straightened(nodes) if self.straight else nodes))
        points = (at[0] * ny + at[1]) * nx + at[2]
        self.points = self.filled(points, self.count).astype(np.int32)  # the dummy point is the last

    @property
    def size(self):
        """Elements, those that fill up included."""
        return len(self.points)

    def filled(self, values, fill=None):
        """Values of elements, filled up with the last one's, or a number."""
        more = np.repeat(values[-1:], -len(values) % LANES, 0)
        return np.concatenate([values, more if fill is None else np.full_like(more, fill)])

    def geometry(self, kind):
        """The kernels' geometry array."""
        if kind == "stored":
            return mesh_terms.metric(self.element, self.local)
        corners, edges = mesh_terms.corners(self.local), mesh_statistics.shape_statistics(self.local)[0]
        return {"nodes": self.local, "corners": corners, "box": edges}[kind]

    def positions(self):
        """Coordinates of the global points, (count, 3)."""
        out, at = np.zeros((self.count + 1, 3)), mesh_terms.coordinates(self.element, self.local)
        out[self.points] = (at + self.centres[:, :, None]).transpose(0, 2, 1)
        return out[: self.count]

    def random(self, rows, per_node=True, low=0.5):
        """Values of the material, zero where elements fill up."""
        shape = (self.size, rows, self.element.size) if per_node else (self.size, rows)
        values = low + np.random.default_rng(self.seed + rows).random(shape)
        values[self.real :] = 0
        return values


def mesh_of(degree, geometry, shape=(2, 2, 1)):
    """A mesh whose elements have a geometry."""
    return Mesh(degree, shape, 0 if geometry == "box" else 0.15, straight=geometry == "corners")


def straightened(nodes):
    """27 nodes (ne, 27, 3) with all but the corners in the middle between them."""
    half = np.array([[1, 0], [0.5, 0.5], [0, 1]])
    eight = nodes.reshape(-1, 3, 3, 3, 3)[:, ::2, ::2, ::2]
    return np.einsum("Cc,Bb,Aa,ecbax->eCBAx", half, half, half, eight, optimize=True).reshape(nodes.shape)


def constants_of(moduli):
    """(ne, 6, 6, nodes or 1) stiffness from lambda, mu or the 21 constants (ne, rows, ...)."""
    moduli = moduli.reshape(*moduli.shape[:2], -1)
    c = np.zeros((len(moduli), 6, 6, moduli.shape[2]))
    if moduli.shape[1] == 21:
        for (a, b), n in ROW.items():
            c[:, a, b] = c[:, b, a] = moduli[:, n]
        return c
    c[:, :3, :3] = moduli[:, :1, None]  # lambda
    for a in range(3):
        c[:, a, a] += 2 * moduli[:, 1]
        c[:, a + 3, a + 3] = moduli[:, 1]
    return c


def slopes(element):
    """Derivatives along xi, eta and zeta at nodes p of the Lagrange functions of nodes q, (3, p, q)."""
    one, d = np.eye(element.n), element.derivative.T
    axes = ((one, one, d), (one, d, one), (d, one, one))
    return np.stack([np.einsum("kc,jb,ia->kjicba", *m).reshape(element.size, -1) for m in axes])


def metric(element, local):
    """Derivative of the reference coordinates along x, y and z at nodes, (e, s, r, p); weights w det J (e, p)."""
    terms = mesh_terms.metric(element, local)
    return terms[:, :9].reshape(len(local), 3, 3, -1), terms[:, 9] * element.volume_weights


def gradients(element, local):
    """G[e, r, p, q]: derivative along x_r at node p of the Lagrange function of node q; weights w det J (e, p)."""
    inverse, weight = metric(element, local)
    return np.einsum("esrp,spq->erpq", inverse, slopes(element)), weight


def strain_of(mesh, u):
    """Strain at the nodes of elements, (ne, 3, 3, n^3)."""
    du = np.einsum("erpq,eqc->ecrp", gradients(mesh.element, mesh.local)[0], u[mesh.points])
    return (du + du.transpose(0, 2, 1, 3)) / 2


def dense_force(mesh, u, moduli):
    """-K u at the global points, (count + 1, 3), by dense matrices of each element."""
    (g, weight), strain = gradients(mesh.element, mesh.local), strain_of(mesh, u)
    pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    strains = np.stack([strain[:, a, b] * (1 if a == b else 2) for a, b in pairs], 1)
    law = np.broadcast_to(constants_of(moduli), (len(moduli), 6, 6, mesh.element.size))
    stress = np.einsum("eabp,ebp->eap", law, strains)
    return -spread(mesh, np.einsum("erpq,ecrp,ep->eqc", g, stress[:, VOIGT], weight))


def dense_fluid(mesh, chi, buoyancy):
    """The same for the potential, (count + 1,)."""
    g, weight = gradients(mesh.element, mesh.local)
    flux = np.einsum("erpq,eq->erp", g, chi[mesh.points]) * buoyancy.reshape(mesh.size, 1, -1)
    return -spread(mesh, np.einsum("erpq,erp,ep->eq", g, flux, weight)[..., None])[:, 0]


def spread(mesh, values):
    """Sum of element values (ne, n^3, m) at global points."""
    out = np.zeros((mesh.count + 1, values.shape[2]))
    np.add.at(out, mesh.points, values)
    return out


def run(op, arrays, box, params, precision="float64", machine=None, colours=None, times=1, laned=LANED):
    """Host arrays after one launch, reals in `precision`, those of elements with lanes; an array that is not there is absent."""
    described = {}
    for name, a in arrays.items():
        dtype = a.dtype if a.dtype.kind == "i" else precision
        described[name] = Array("test", a.shape, dtype, np.ascontiguousarray(a, dtype), lanes=name in laned)
    names = tuple(name if name in arrays else "" for name in op.arrays)
    phases = (Phase("phase", (Launch(op, names, box, params, colours=colours),)),)
    plan = StepPlan(precision=precision, layout=Layout((1, 1, 1), 0), arrays=described, phases=phases)
    program = (machine or CPU(threads=1)).commit(plan)
    for _ in range(times):
        program.phases[0].inner(0)
    return {name: program.host(name) for name in arrays}


def solid(mesh, u, moduli, geometry="nodes"):
    """Arrays of the stiffness kernel: zero forces, displacements, elements."""
    of_points = {"force": np.zeros(u.size), "displacement": u.ravel()}
    return of_points | {"points": mesh.points, "geometry": mesh.geometry(geometry), "moduli": moduli}


def forces(mesh, u, moduli, kind, precision="float64", **more):
    """What the stiffness kernel adds to zero forces, (count + 1, 3)."""
    arrays, box = solid(mesh, u, moduli, kind.geometry), (0, 1, 0, 1, 0, mesh.size)
    return run(sem.stiffness(kind), arrays, box, {"first": 0}, precision, **more)["force"].reshape(-1, 3)
