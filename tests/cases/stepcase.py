"""Shared by the tests of the stable step: random scenarios of spectral elements, their true limit, a march from a random state."""

from dataclasses import dataclass, replace

import numpy as np
from elementcase import hexahedra

from craton.backends.cpu import CPU
from craton.methods.protocol import Reuse
from craton.methods.spectral_element.build import discretise
from craton.methods.spectral_element.equations import state
from craton.methods.spectral_element.equations.undamped import Undamped
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import Setup, assemble
from craton.model.media import sampling
from craton.model.media.cells import Region
from craton.model.mesh import hexmesh
from craton.model.mesh.hexmesh import named_by_place
from craton.scenario import SpectralScenario
from craton.survey.receivers import build as receivers_of
from craton.validation.spectral import with_model

KINDS = ("homogeneous", "layers", "gradient", "anisotropic", "lossy", "sea", "lake")
FACES = ("top", "bottom", "west", "east", "south", "north")
GROWTH = 3.0  # largest energy of the last third of a march over that before: what is stable decays or stays


@dataclass(frozen=True)
class Case:
    """A scenario, and how its mesh departs from boxes.

    Parameters
    ----------
    tables : dict
        Of the scenario.
    counts : tuple
        Elements along x, y, z.
    edges : tuple
        Mean edges along x, y, z, m.
    graded, sheared, moved, curved : float
        Ratio of neighbouring edges along z less 1; shift along x over height; parts of an edge by which inner corners and then inner
        nodes of 27 are moved.
    seed : int
    kind : str
        Of the medium.
    """

    tables: dict
    counts: tuple
    edges: tuple
    graded: float = 0.0
    sheared: float = 0.0
    moved: float = 0.0
    curved: float = 0.0
    seed: int = 1
    kind: str = ""

    @property
    def scenario(self):
        """The scenario, whose mesh is `mesh`."""
        return SpectralScenario(**self.tables)

    @property
    def interfaces(self):
        """Levels of the boundaries of fluids, m: those of the layers where any is fluid."""
        layers = self.tables["model"].get("layers", ())
        return [layer["top"] for layer in layers[1:]] if any(layer["vs"] == 0 for layer in layers) else []


def model_of(rng, kind, depth, count):
    """A medium of a kind: layers that cut elements but for those of water, which is above ("sea") or below the top rock."""
    more = {
        "anisotropic": {name: rng.uniform(-0.1, 0.2) for name in ("epsilon", "delta", "gamma")},
        "lossy": {"qp": rng.uniform(15, 200), "qs": rng.uniform(10, 100)},
    }.get(kind, {})
    cuts, layers = rng.integers(1, count, 2) / count if kind in ("sea", "lake") else rng.uniform(0.2, 0.8, 2), []
    for part in sorted({0.0, *cuts}):
        vp, quotient = rng.uniform(600, 8000), rng.uniform(1.6, 3) if kind == "anisotropic" else ratio(rng)
        layers.append({"top": float(-part * depth), "vp": vp, "vs": vp / quotient, "rho": 1500 + 0.2 * vp} | more)
    if kind == "homogeneous":
        del layers[0]["top"]
        return {"kind": "homogeneous"} | layers[0]
    if kind == "gradient":
        layers = [layers[0] | {"vp_gradient": rng.uniform(-0.05, 2.0) * layers[0]["vp"] / depth}]
    if kind in ("sea", "lake"):
        layers[kind == "lake"] |= {"vp": rng.uniform(1000, 5000), "vs": 0, "rho": rng.uniform(800, 3000)}
    lossy = {"attenuation": {"band": [1.0, 30.0], "mechanisms": int(rng.integers(2, 4))}} if kind == "lossy" else {}
    return {"kind": "layers", "layers": layers} | lossy


def ratio(rng):
    """vp / vs, 1.5 to 10."""
    return 1.5 * (10 / 1.5) ** rng.uniform()


def case_of(seed, counts=None):
    """A random `Case`: small meshes of all kinds, or `counts` elements along x, y, z; the first from the seed whose medium is possible."""
    rng = np.random.default_rng(seed)
    while True:
        case = drawn(rng, seed, counts)
        size = case.tables["domain"]["size"]
        if not sampling.problems(case.scenario.model, Region((0.0, 0.0, -size[2]), (size[0], size[1], 0.0))):
            return case


def drawn(rng, seed, counts=None):
    """A `Case`, whatever its medium."""
    few, edge = tuple(int(n) for n in rng.integers(2, 6, 3)), float(rng.uniform(5, 500))
    counts = counts or few
    edges = tuple(edge * part for part in rng.choice((1.0, 1.0, 0.5, 0.1, 0.04), 3).tolist())
    size, kind = [n * e for n, e in zip(counts, edges)], str(rng.choice(KINDS))
    model = model_of(rng, kind, size[2], counts[2])
    choices = {"degree": (2, 3, 4, 4, 5, 6), "precision": ("float32", "float64")}
    choices["assembly"] = ("fast", "fast", "colour")
    run = {name: rng.choice(values).item() for name, values in choices.items()}
    boundaries = {name: str(rng.choice(("free", "stacey", "stacey", "rigid"))) for name in FACES}
    tables = tables_of(f"random {seed}", size, min(edges), model, run, boundaries)
    fluid = any(layer["vs"] == 0 for layer in model.get("layers", ()))
    shape = rng.choice(("boxes", "graded", "sheared", "moved", "curved", "all"))
    most = {"graded": 0.0 if fluid else 0.5, "sheared": 0.8, "moved": 0.3, "curved": 0.05}
    part = {name: float(rng.uniform(0, value)) if shape in (name, "all") else 0.0 for name, value in most.items()}
    return Case(tables, counts, edges, seed=seed, kind=kind, **part)


def tables_of(title, size, spacing, model, run, boundaries):
    """A scenario with an explosion in the middle of a box below z = 0."""
    source = {"kind": "explosion", "moment": 1.0, "wavelet": {"kind": "ricker", "frequency": 1.0}}
    source["at"] = [size[0] / 2, size[1] / 2, -size[2] / 2]
    tables = {"method": "sem", "title": title, "time": {"duration": 1.0, "start": 0.0}, "source": [source]}
    tables |= {"domain": {"origin": [0, 0, -size[2]], "size": size, "spacing": spacing}, "run": run, "model": model}
    return tables | {"boundaries": boundaries}


def mesh(case):
    """The mesh of a case; what folds its elements is halved until they are valid."""
    while hexmesh.problems(lattice(case), case.tables["run"]["degree"]):
        case = replace(case, moved=case.moved / 2, curved=case.curved / 2, sheared=case.sheared / 2)
    return lattice(case)


def lattice(case):
    """The mesh as the case says."""
    heights = np.append(0, np.cumsum((1 + case.graded) ** np.arange(case.counts[2])))
    axes = [np.linspace(0, n * e, n + 1) for n, e in zip(case.counts, case.edges)]
    axes[2] = axes[2][-1] * (heights / heights[-1] - 1)
    axes[2] = [next((level for level in case.interfaces if abs(level - z) < 1e-6 * case.edges[2]), z) for z in axes[2]]
    (places, elements), rng = hexahedra(axes), np.random.default_rng(case.seed)

    def moved(places, part):
        """Places moved by that part of an edge; the boundary of a fluid stays level."""
        away = ~np.isin(places[..., 2:], case.interfaces) * np.array([0, 0, 1]) + np.array([1, 1, 0])
        smallest = np.array([np.diff(axis).min() for axis in axes])
        return part * smallest * rng.uniform(-1, 1, places.shape) * away

    places[1:-1, 1:-1, 1:-1] += moved(places, case.moved)[1:-1, 1:-1, 1:-1]
    mesh = hexmesh.HexMesh(places.reshape(-1, 3), elements).elevated()
    low, high = mesh.bounds()
    inside = ((mesh.nodes > low + 1e-9) & (mesh.nodes < high - 1e-9)).all(axis=1)
    nodes = mesh.nodes + moved(mesh.nodes, case.curved) * inside[:, None]
    nodes[:, 0] += case.sheared * (nodes[:, 2] - low[2])
    return replace(mesh, faces=named_by_place(mesh), nodes=nodes)


def box(counts=(4, 4, 4), edge=20.0, model=None, run=None, boundaries="stacey", **more):
    """A `Case` of cubes, or what `more` makes of them: homogeneous rock with vp / vs = 2.5 below a free top, unless said otherwise."""
    model = model or {"kind": "homogeneous", "vp": 2450, "vs": 980, "rho": 2000}
    run, boundaries = {"precision": "float64", "degree": 4} | (run or {}), {"top": "free", "others": boundaries}
    tables = tables_of("box", [n * edge for n in counts], edge, model, run, boundaries)
    return Case(tables, counts, (edge, edge, edge), **more)


def discretised(case):
    """Discretisation without sources."""
    scenario = case.scenario
    return discretise(scenario, with_model(scenario, mesh(case)), [], SingleRank(), CPU(threads=1))


def true_limit(d):
    """2 / sqrt of the largest eigenvalue of the operator, by ARPACK, s."""
    from scipy.sparse.linalg import LinearOperator, eigs, eigsh

    double = d if d.precision == "float64" else replace(d, precision="float64", units=state.FloatingPoint())
    operator = Undamped(double, d.families, CPU(threads=1))
    shapes = {medium: (len(operator.masses[medium]), 3 if medium == "solid" else 1) for medium in operator.media}
    roots = np.concatenate([np.repeat(np.sqrt(operator.masses[m]), c) for m, (_, c) in shapes.items()])
    cut = np.cumsum([n * c for n, c in shapes.values()])[:-1]

    def image(x):
        parts = np.split(x.ravel() / roots, cut)
        operator.load(dict(zip(shapes, parts)))
        operator.apply()
        images = operator.image()
        return roots * np.concatenate([images[medium].ravel() for medium in shapes])

    which, solver = ("LR", eigs) if len(shapes) > 1 else ("LA", eigsh)
    whole = LinearOperator((len(roots), len(roots)), matvec=image, dtype=float)
    start = image(np.random.default_rng(2).standard_normal(len(roots)))
    return float(2 / np.sqrt(solver(whole, k=1, which=which, v0=start, tol=1e-5, return_eigenvectors=False)[0].real))


def marched(scenario, d, dt, steps, every=20):
    """Largest kinetic energy of solid or fluid in the last third of a march from a random start over that before; inf where not finite."""
    frequency = 2 / d.stable.limit  # of the fastest mode, rad/s: energy of a potential is frequency^2 M_f chi'^2, about
    d = replace(d, dt=dt, steps=steps)
    if d.exact:
        forces = [10 * scale * np.sqrt(mass.max(initial=0)) for scale, mass in zip((frequency, 1.0), d.statistics.mass)]
        d = replace(d, units=state.FixedPoint(*map(state.unit, forces)))
    program = CPU(threads=1).commit(
        assemble(Setup(ElementSpace(d), scenario, [], receivers_of(scenario), [], []), Reuse(keep=False))
    )
    rng, weights, energies = np.random.default_rng(3), {}, []
    fields, rigid = ("velocity", "potential_rate"), ("rigid_points_points", "fluid_rigid_points")
    for name, rigid_points, scale, mass in zip(fields, rigid, (1.0, frequency), d.statistics.mass):
        if len(mass):
            rate = program.arrays[name]
            rate[:-1] = (rng.standard_normal(rate[:-1].shape).T / (scale * np.sqrt(mass))).T
            rate[program.arrays.get(rigid_points, slice(0))] = 0
            weights[name] = scale**2 * mass[:, None]
    for step in range(steps):
        program.step(step)
        if step % every == every - 1:
            energies.append(max(energy(program.arrays[name], mass) for name, mass in weights.items()))
            if not np.isfinite(energies[-1]):
                return np.inf
    cut = 2 * len(energies) // 3
    return max(energies[cut:]) / max(energies[:cut])


def energy(rate, mass):
    """Kinetic energy over that of the start."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = rate[:-1].reshape(len(mass), -1).astype(float)
        return float(np.nan_to_num((mass * values**2).sum() / values.size, nan=np.inf))
