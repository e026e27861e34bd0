"""Speed of spectral elements, measured: elements per second of whole time steps with Stacey faces and a free surface."""
from dataclasses import dataclass, replace

import numpy as np

EDGE = 100.0  # of an element, m
MOVED = 0.15  # of an edge: how far inner nodes of an irregular mesh are moved along each axis, at most
SIZES = {"cpu": (24, 24, 16)}  # elements along x, y, z; elsewhere:
LARGE = (96, 96, 36)
# Elements per second of SPECFEM3D Cartesian 4.1.1, measured on the same machines (issue 6): its own CUDA code on one H200; two ranks on two
# cores, -O3 -march=native. It keeps the material of every node.
PEER = "SPECFEM3D 4.1.1"
PEERS = {"cpu": {"irregular, material at each node": 0.159e6, "irregular, 21 constants at each node": 0.123e6}}  # elsewhere:
PEERS_LARGE = {"irregular, material at each node": 146e6, "cubes, material at each node": 169e6}
TOP = {"vp": 3000, "vs": 1700, "rho": 2000}
BOTTOM = {"vp": 4000, "vs": 2300, "rho": 2400}
VARYING = {"vp_gradient": 0.02, "vs_gradient": 0.01}  # per second: no two nodes along z alike
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.1}
LOSS = {"qp": 80, "qs": 40}


@dataclass(frozen=True)
class Case:
    """One line of the benchmark.

    Parameters
    ----------
    title : str
    shape : tuple of int
        Elements along x, y, z.
    more : dict
        What both layers have besides their speeds and density.
    irregular : bool
        Inner nodes are moved at random; else cubes.
    water : bool
        The upper quarter is water.
    """

    title: str
    shape: tuple
    more: dict
    irregular: bool = True
    water: bool = False


def cases(device):
    """The cases for a machine of that name."""
    shape = SIZES.get(device, LARGE)
    return [
        Case("irregular, material of each element", shape, {}),
        Case("irregular, material at each node", shape, VARYING),
        Case("cubes, material of each element", shape, {}, irregular=False),
        Case("cubes, material at each node", shape, VARYING, irregular=False),
        Case("irregular, 21 constants of each element", shape, THOMSEN),
        Case("irregular, 21 constants at each node", shape, VARYING | THOMSEN),
        Case("irregular, attenuation of each element", shape, LOSS),
        Case("irregular, attenuation at each node", shape, VARYING | LOSS),
        Case("irregular, water over rock", shape, {}, water=True),
    ]  # fmt: skip


def scenario_of(case):
    """The scenario of a case: two layers, a force in the lower one, one receiver."""
    from craton.scenario import Scenario

    x, y, z = (EDGE * n for n in case.shape)
    depth = EDGE * (case.shape[2] // (4 if case.water else 2))
    top = {"vp": 1500, "vs": 0, "rho": 1000} if case.water else TOP | case.more
    model = {"kind": "layers", "layers": [{"top": 0} | top, {"top": -depth} | BOTTOM | case.more]}
    if "qp" in case.more:
        model["attenuation"] = {"band": [1, 20]}  # three mechanisms
    place = [x / 2, y / 2, -0.75 * z]
    return Scenario(
        method="sem", title=case.title, domain={"origin": [0, 0, -z], "size": [x, y, z], "element_size": EDGE}, model=model,
        time={"duration": 1000}, receivers=[{"name": "R", "at": place}],
        source=[{"kind": "force", "at": place, "force": [0, 0, 1e9], "wavelet": {"kind": "ricker", "frequency": 5}}])  # fmt: skip


def irregular(scenario, moved=MOVED, seed=1):
    """What `sem_elastic.build` takes in place of a scenario's mesh: it with inner nodes moved at random, and the model there."""
    from craton.model.media import sampling
    from craton.model.mesh import meshing, numbering
    from craton.model.mesh.prepared import Prepared

    mesh, region = meshing.mesh_of(scenario), meshing.region_of(scenario)
    levels = [level for level in meshing.interfaces_of(scenario) if not callable(level)]
    low, high = (np.array(bound) for bound in (region.lower, region.upper))
    near = 1e-6 * EDGE
    inner = ((mesh.nodes > low + near) & (mesh.nodes < high - near)).all(axis=1)
    for level in levels:
        inner &= np.abs(mesh.nodes[:, 2] - level) > near
    nodes = mesh.nodes.copy()
    nodes[inner] += moved * EDGE * np.random.default_rng(seed).uniform(-1, 1, (int(inner.sum()), 3))
    mesh = replace(mesh, nodes=nodes).elevated()
    return Prepared(mesh.reordered(numbering.locality(mesh)), sampling.sampler(scenario.model, region))


def plan_of(case):
    """The plan of a case."""
    from craton.comm.placement import planner
    from craton.methods.spectral_element.build import build

    scenario = scenario_of(case)
    return build(scenario, irregular(scenario) if case.irregular else None, machine=planner())


def figures(case, plan, found, device):
    """What `craton.benchmark.timed` found, in elements, with memory and the other program's rate."""
    elements, peer = plan.grid.elements, PEERS.get(device, PEERS_LARGE).get(case.title)
    rates = {name: found[name] * elements / plan.points for name in ("lowest", "highest")}
    return found | rates | {
        "elements": elements, "shape_xyz": case.shape, "bytes_per_element": plan.nbytes / elements,
        "elements_per_second": elements / found["seconds_per_step"], "peer": peer and {"program": PEER, "elements_per_second": peer},
    }  # fmt: skip


def row(case):
    """One line of the table: rate, memory, and the other program's rate where it is known."""
    rate, peer = case["elements_per_second"], case["peer"]
    spread = (case["highest"] - case["lowest"]) / rate / 2
    there = f"  ({PEER}: {peer['elements_per_second'] / 1e6:.3g})" if peer else ""
    memory = f"{case['bytes_per_element'] / 1e3:.1f} kB an element"
    fraction = f"{case['fraction_of_copy_bandwidth']:.0%} of copy bandwidth"
    return f"{case['case']:<40} {rate / 1e6:>7.3g} M elements/s  +-{spread:.0%}  {fraction}  {memory}{there}"
