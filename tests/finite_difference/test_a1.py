"""Clayton & Engquist's A1: plane waves at normal incidence on every face, the closed form of the box scheme, a long run."""

import numpy as np
import pytest
from kernelcase import inside, run, unchanged_outside

from craton import api
from craton.core.layout import Layout
from craton.methods.finite_difference import operators
from craton.methods.finite_difference.scheme import stencil
from craton.scenario import Scenario

H, FREQUENCY, LENGTH, DELAY = 50.0, 2.0, 4000.0, 0.7
VP, VS, RHO = 3000.0, 1732.0, 2400.0
FACES = (("west", "east"), ("south", "north"), ("bottom", "top"))


def column(component, axis, side, order, kind="a1"):
    """A plane of equal forces across a periodic column, whose plane wave meets `kind` at one end and A1 at the other.

    Returns the scenario and the time when the direct wave is over at the receiver, half-way to the end.
    """
    points, speed = order + 2, VP if component == axis else VS
    size = [(points - 1) * H] * 3
    size[axis] = LENGTH
    nodes = np.arange(points) * H - np.array([[0], [0], [size[2]]])
    nodes = [nodes[a] if a != axis else nodes[a][:1] + LENGTH / 2 for a in range(3)]
    at = np.stack(np.meshgrid(*nodes), -1).reshape(-1, 3)
    wavelet = {"kind": "ricker", "frequency": FREQUENCY, "delay": DELAY}
    force = (1e9 * np.eye(3)[component]).tolist()
    scenario = Scenario(
        domain={"origin": [0, 0, -size[2]], "size": size, "spacing": H},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": DELAY + LENGTH / speed + 1 / FREQUENCY, "start": 0},
        boundaries={
            f: "periodic" if a != axis else (kind if s == side else "a1")
            for a in range(3)
            for s, f in enumerate(FACES[a])
        },
        source=[{"kind": "force", "at": x.tolist(), "force": force, "wavelet": wavelet} for x in at],
        receivers=[{"name": "R", "at": (at[0] + (side - 0.5) * LENGTH / 2 * np.eye(3)[axis]).tolist()}],
        run={"order": order, "precision": "float64", "threads": 1},
    )
    return scenario, DELAY + LENGTH / 4 / speed + 1.2 / FREQUENCY


def reflection(*case):
    """Largest amplitude after the direct wave, relative to it."""
    scenario, over = column(*case)
    samples = np.abs(api.run(scenario, device="cpu", progress=False).samples).max(axis=1)
    late = np.arange(len(samples)) * api.plan(scenario).dt > over
    return samples[late].max() / samples.max()


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("component", [0, 1, 2])
def test_plane_waves_leave(component, axis, side):
    """P, SV and SH at normal incidence, 17 points per S wavelength at the wavelet's peak frequency; A1 is exact but for the box scheme."""
    assert reflection(component, axis, side, 4) < 0.01


@pytest.mark.parametrize("order", [2, 8])
def test_plane_waves_leave_at_other_orders(order):
    assert reflection(2, 2, 0, order) < 0.01


def test_a_rigid_face_reflects_all():
    assert reflection(2, 2, 0, 4, "rigid") > 0.9


@pytest.mark.parametrize("motion, component", [("P-SV", 2), ("P-SV", 0), ("SH", 1)])
def test_plane_waves_leave_the_plane(motion, component):
    """The (x, z) plane: the column without its y axis."""
    found, over = column(component, 2, 0, 4)
    wanted = found.model_dump(include={"time", "run"}) | {
        "domain": {"origin": [0, -LENGTH], "size": [found.domain.size[0], LENGTH], "spacing": H, "waves": motion},
        "model": {"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        "boundaries": {"top": "a1", "bottom": "a1", "others": "periodic"},
        "receivers": [{"name": "R", "at": [0, -0.75 * LENGTH]}],
    }
    force, wavelet = ((1e9 * np.eye(3)[component]).tolist(), {"kind": "ricker", "frequency": FREQUENCY, "delay": DELAY})
    row = [{"kind": "force", "at": [x * H, -LENGTH / 2], "force": force, "wavelet": wavelet} for x in range(6)]
    scenario = Scenario(**wanted, source=row)
    samples = np.abs(api.run(scenario, device="cpu", progress=False).samples).max(axis=1)
    late = np.arange(len(samples)) * api.plan(scenario).dt > over
    assert samples.max() > 0 and samples[late].max() < 0.01 * samples.max()


BOUNDARIES = {
    "sponge and periodic sides": {
        "west": "sponge",
        "east": "sponge",
        "south": "periodic",
        "north": "periodic",
        "bottom": "a1",
        "sponge": {"thickness": 5, "strength": 0.05},
    },
    "a1 on all but the top": {"others": "a1"},
}


@pytest.mark.parametrize("case", BOUNDARIES)
def test_a_long_run_below_a_free_surface_dies_out(case):
    """20,000 steps: nothing grows, and what is left is rounding errors of float32 (6e-8) and what leaves slowly."""
    h, n = 50.0, 17
    length = (n - 1) * h
    force = {
        "kind": "force",
        "at": [410, 385, -400],
        "force": [1e9, 2e9, 3e9],
        "wavelet": {"kind": "ricker", "frequency": 3, "delay": 0.5},
    }
    scenario = Scenario(
        domain={"origin": [0, 0, -length], "size": [length] * 3, "spacing": h},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": 140, "start": 0, "step": 0.007},
        boundaries=BOUNDARIES[case],
        source=[force],
        receivers=[{"name": "R", "at": [300, 300, -200]}],
        run={"threads": 1},
    )
    samples = np.abs(api.run(scenario, device="cpu", progress=False).samples).max(axis=1)
    assert len(samples) >= 20_000
    assert samples[5_000:].max() < 1e-4 * samples.max() and samples[15_000:].max() < 1e-5 * samples.max()


@pytest.mark.parametrize("vs, warned", [(0.0, False), (VS, True), (VP / 2.5, True)])
def test_growth_at_the_sides_of_a_solid_is_warned_of(vs, warned):
    scenario, _ = column(0, 0, 0, 4)
    slow = scenario.model_copy(update={"model": scenario.model.model_copy(update={"vs": vs})})
    assert any("A1 at a side face grows" in said for said in api.plan(slow).warnings) == warned


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_kernel_solves_the_box_scheme(axis, side):
    """(v'[s] - v[s]) + (v'[s-1] - v[s-1]) + g (v'[s] - v'[s-1] + v[s] - v[s-1]) = 0 on every plane, within a few roundings of 1."""
    layout, op, rng = (Layout((12, 12, 12), 2), operators.a1(stencil(4), axis, side), np.random.default_rng(4))
    inner = 12 - 1 - 2 if side else 2
    box = [0, 12] * 3
    box[2 * (2 - axis) : 2 * (2 - axis) + 2] = inner, inner + 1
    extent = tuple(b - a for a, b in zip(box[::2], box[1::2]))
    arrays = {n: rng.uniform(-1, 1, layout.padded) for n in ("va", "vb", "vc")}
    arrays |= {n: rng.uniform(1, 3, layout.padded) for n in ("rho", "lam")}
    rmu = rng.uniform(1, 3, layout.padded)
    rmu[inside(layout, (0, 6, 0, 6, 0, 6))] = np.inf  # fluid in one corner
    arrays |= {"rmu": rmu, "past": rng.uniform(-1, 1, (3, 5, *extent))}
    k0, _, j0, _, i0, _ = box
    params = {
        "row": layout.row,
        "plane": layout.plane,
        "sheet": layout.plane,
        "top": 11,
        "dt_h": 0.3,
        "k0": k0,
        "j0": j0,
        "i0": i0,
    }
    params |= dict(zip(("nk", "nj", "ni"), extent))
    after = run(op, op.arrays, {n: a.copy() for n, a in arrays.items()}, tuple(box), params, layout, "float64")
    rho, lam, mu = (a[inside(layout, box)] for a in (arrays["rho"], arrays["lam"], 1 / rmu))
    vp, vs = np.sqrt((lam + 2 * mu) / rho), np.sqrt(mu / rho)
    for n, speed in enumerate((vp, np.where(mu > 0, vs, vp), np.where(mu > 0, vs, vp))):
        name, outward = "abc"[n], 1 if side else -1
        planes = []
        for s in range(5):
            at = list(box)
            at[2 * (2 - axis)] += s * outward
            at[2 * (2 - axis) + 1] += s * outward
            planes.append(after[f"v{name}"][inside(layout, at)])
        new, old, g = np.stack(planes), arrays["past"][n], 0.3 * speed
        assert (new[0] == arrays[f"v{name}"][inside(layout, box)]).all() and (after["past"][n] == new).all()
        residual = (new[1:] - old[1:]) + (new[:-1] - old[:-1]) + g * (new[1:] - new[:-1] + old[1:] - old[:-1])
        assert np.abs(residual).max() < 1e-13
        low, high = (inner, inner + 5) if side else (inner - 4, inner + 1)
        touched = [0, 12] * 3
        touched[2 * (2 - axis) : 2 * (2 - axis) + 2] = low, high
        assert unchanged_outside(arrays[f"v{name}"], after[f"v{name}"], inside(layout, touched))


def test_a_source_in_the_planes_that_a1_overwrites_is_said():
    scenario, _ = column(2, 2, 0, 4)
    assert not any("absorbing" in said for said in api.plan(scenario).warnings)
    low = scenario.model_copy(
        update={"domain": scenario.domain.model_copy(update={"origin": (0, 0, -LENGTH / 2 - H)}), "receivers": ()}
    )
    assert any("inside an absorbing layer" in said for said in api.plan(low).warnings)
