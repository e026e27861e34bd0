"""Absorbing layers of spectral elements: kernels against NumPy, waves that leave, static offsets, noise that does not grow, refusals."""

from types import SimpleNamespace

import numpy as np
import pytest
import semcase
from common import edited, misfit, refused
from elementcase import SMALL
from fdcase import ran, ricker

import craton
from craton.backends.cpu import CPU
from craton.errors import ScenarioError
from craton.methods.spectral_element.build import MeshDomain
from craton.methods.spectral_element.equations import absorbing_layer
from craton.methods.spectral_element.equations import operators as sem
from craton.methods.waves.problem import build as built
from craton.scenario import SpectralScenario
from craton.validation import CASES, solutions

DT, EDGE = 0.01, 40.0
LONG = pytest.mark.long


def build(scenario):
    """The plan of a scenario."""
    return built(MeshDomain(scenario, machine=CPU(threads=1)))


# --- kernels ----------------------------------------------------------------------------------------------------------------------------


def steps(mesh, kind, fields, states, rates):
    """Forces of some fields (N + 1, components) one after the other by the kernel of a layer; memory goes on."""
    op, force, field = sem.stiffness(kind), "force", "displacement"
    if fields == 1:
        op, force, field = sem.fluid(kind), "potential_force", "potential"
    arrays = {"points": mesh.points, "geometry": mesh.geometry(kind.geometry), "rates": rates}
    arrays["moduli"] = mesh.random(2 if fields == 3 else 1)
    arrays["layer"] = np.zeros((mesh.size, 2 * fields * kind.directions, mesh.element.size))
    for u in states:
        after = semcase.run(op, arrays | {force: np.zeros(u.size), field: u}, (0, 1, 0, 1, 0, mesh.size), {"first": 0})
        arrays["layer"] = after["layer"]
        yield after[force].reshape(-1, fields)


def stretched(mesh, fields, states, axes, damping, beta):
    """The same by dense matrices along reference directions, with the filters as convolutions of the trapezoidal rule."""
    h, moduli, slopes = DT / 2, mesh.random(2 if fields == 3 else 1), semcase.slopes(mesh.element)
    metric, weight = semcase.metric(mesh.element, mesh.local)
    memory = {(s, visit): [0.0, 0.0] for s in range(3) for visit in range(2)}  # m and x of the step before

    def filtered(x, s, visit):
        """x - d m, m' = x - beta m by the trapezoidal rule."""
        if not axes >> s & 1:
            return x
        (m, before), d, b = memory[s, visit], damping[:, s, None], beta[:, s, None]
        m = (m * (1 - b * h) + h * (x + before)) / (1 + b * h)
        memory[s, visit] = [m, x]
        return x - d * m

    for u in states:
        d = [filtered(np.einsum("pq,eqc->ecp", slopes[s], u[mesh.points]), s, 0) for s in range(3)]
        gradient = sum(d[s][:, :, None] * metric[:, s][:, None] for s in range(3))  # (e, c, r, p)
        flux, total = law(gradient, moduli, fields), 0
        for s in range(3):
            through = np.einsum("ecrp,erp->ecp", flux, metric[:, s]) * weight[:, None]
            total = total - filtered(np.einsum("pq,ecp->ecq", slopes[s], through), s, 1)
        yield semcase.spread(mesh, total.transpose(0, 2, 1))


def law(gradient, moduli, fields):
    """Stress of an isotropic solid, or grad chi / rho: (e, c, r, p)."""
    if fields == 1:
        return gradient * moduli[:, :1, None]
    volume = np.einsum("eaap->ep", gradient)[:, None, None] * np.eye(3)[..., None]
    return moduli[:, :1, None] * volume + moduli[:, 1:, None] * (gradient + gradient.swapaxes(1, 2))


SHORT = [(7, 3, False), (6, 1, False), (5, 3, True), (5, 1, True)]
OTHERS = [(axes, fields, False) for axes, fields in ((1, 3), (1, 1), (2, 3), (2, 1), (4, 3), (4, 1), (6, 3), (7, 1))]


@pytest.mark.parametrize("axes, fields, across", [*SHORT, *(pytest.param(*case, marks=LONG) for case in OTHERS)])
def test_filters_are_those_of_the_trapezoidal_rule(axes, fields, across):
    """Also where the layers of west and bottom lie across lines of the mesh, of frames that say that they follow them."""
    mesh, random = semcase.Mesh(3, (2, 2, 1)), np.random.default_rng(3)
    damping, beta = random.uniform(10, 50, (2, mesh.size, 3, mesh.element.size))
    along, kind = [s for s in range(3) if axes >> s & 1], sem.Kind(3, axes=axes)
    rates = np.stack([absorbing_layer.filter_rates(damping[:, s], beta[:, s], DT / 2) for s in along], 1)
    if across:
        kind, frames = sem.Kind(3, axes=3, general=True), np.zeros((mesh.size, 2, 6, mesh.element.size))
        frames[:, 0, [0, 3]] = [[5.0], [0.2]]  # xi: slope of the depth and its inverse
        frames[:, 1, [2, 5]] = [[4.0], [0.25]]  # zeta
        rates = np.concatenate([rates, frames], 2)
    rates = rates.reshape(mesh.size, -1, mesh.element.size)
    still = np.zeros((1, fields))  # of the dummy point
    states = [np.vstack([random.standard_normal((mesh.count, fields)), still]) for _ in range(4)]
    forces, expected = steps(mesh, kind, fields, states, rates), stretched(mesh, fields, states, axes, damping, beta)
    for force, dense in zip(forces, expected, strict=True):
        assert np.abs(force - dense).max() <= 1e-12 * np.abs(dense).max()


def test_friction_is_implicit_in_velocity_and_leaves_slow_motion():
    rng, rate, gain = np.random.default_rng(1), np.array([3.0, 5.0]), np.array([0.2, 0.3])
    mass, arrays = np.array([2.0, 4.0]), {name: rng.standard_normal(30) for name in ("force", "velocity")}
    lowpass = rng.standard_normal((3, 2))
    terms = np.stack([1 / (1 + DT / 2 * rate), rate * mass, gain])
    rows = {"lowpass": lowpass.copy(), "points": np.array([2, 7], np.int32), "terms": terms}
    after = semcase.run(sem.damped_points(), arrays | rows, (0, 1, 0, 1, 0, 2), {"count": 2}, laned=())
    for n, g in enumerate((2, 7)):
        a, fast = after["force"].reshape(-1, 3)[g] / mass[n], arrays["velocity"].reshape(-1, 3)[g] - lowpass[:, n]
        assert np.allclose(mass[n] * a, arrays["force"].reshape(-1, 3)[g] - mass[n] * rate[n] * (fast + DT / 2 * a))
        assert np.allclose(after["lowpass"].reshape(3, 2)[:, n], lowpass[:, n] + gain[n] * fast)


# --- runs -------------------------------------------------------------------------------------------------------------------------------

WAVELET = {"kind": "ricker", "frequency": 7.5, "delay": 0.2}
BOX = {
    "model": {"kind": "homogeneous", "vp": 2078.46, "vs": 1200, "rho": 2000},
    "time": {"duration": 0.9, "start": 0, "step": 0.0016},
    "source": [{"kind": "force", "at": [0, 0, 0], "force": [0, 0, -1e9], "wavelet": WAVELET}],
    "receivers": [{"name": "A", "at": [80, 0, 0]}, {"name": "B", "at": [160, 160, 0]}],
    "run": {"device": "cpu", "degree": 4},
}


def box(half, others="pml", **changes):
    """A force on a half-space, sides and bottom `half` away; receivers up to 160 m, where they are inside."""
    domain = {"origin": [-half, -half, -half], "size": [2 * half, 2 * half, half], "element_size": EDGE}
    tables = BOX | {"domain": domain, "boundaries": {"others": others}}
    tables |= {"receivers": BOX["receivers"][: 1 if half <= 160 else 2]}
    return SpectralScenario(**edited(tables, **changes))


@pytest.mark.long
@pytest.mark.costly("the only run through layers across lines of the mesh, whose kernels are compiled for it")
def test_lines_of_the_mesh_need_not_follow_the_layer(monkeypatch):
    """All elements of a layer taken as if they did not."""
    faces = {"west": "pml", "bottom": "pml", "others": "stacey", "pml": {"thickness": 2}}
    small = box(160.0, time__duration=0.3, boundaries=faces)
    plain, aligned = ran(small).velocity.values, build(small).operators
    monkeypatch.setattr(absorbing_layer, "ALIGNED", -1.0)
    assert any("across" in name for name in build(small).operators) and not any("across" in name for name in aligned)
    assert misfit(ran(small).velocity.values, plain) <= 1e-5


@pytest.mark.long
def test_static_offset_stays():
    """The last displacement of a step in moment is that of a box wider by an element at each side."""
    wavelet = {"kind": "gaussian", "tau": 0.03, "delay": 0.15}
    source = [{"kind": "explosion", "at": [10, 0, -90], "moment": 1e12, "wavelet": wavelet}]
    more = {"source": source, "output": {"waveforms": ["displacement"]}, "time__duration": 0.7}
    moves = (ran(box(half, **more)).displacement.values for half in (280.0, 320.0))
    small, large = (values[..., -200:].mean(axis=-1) for values in moves)
    assert np.abs(small - large).max() <= 0.01 * np.abs(large).max()


def sea(floor, depth, others="rigid", duration=1.2, half=200, **boundaries):
    """An explosion in water over rock, elements of 100 m."""
    water, rock = ({"vp": 1500, "vs": 0, "rho": 1000}, {"vp": 2500, "vs": 1200, "rho": 2000})
    wavelet = {"kind": "ricker", "frequency": 4, "delay": 0.25}
    return SpectralScenario(
        domain={"origin": [-half, -half, -depth], "size": [2 * half, 2 * half, depth], "element_size": 100},
        model={"kind": "layers", "layers": [{"top": 0} | water, {"top": floor} | rock]},
        boundaries={"others": others, **boundaries},
        time={"duration": duration, "step": 0.002, "start": 0},
        source=[{"kind": "explosion", "at": [10, -20, -230], "moment": 1e12, "wavelet": wavelet}],
        receivers=[{"name": "A", "at": [150, 100, -300]}],
        output={"waveforms": ["pressure"]},
        run={"device": "cpu"},
    )


def pressure(scenario):
    """What receivers record."""
    return ran(scenario).pressure.values


def test_a_sea_floor_along_a_layer_is_as_deep_as_the_layer_makes_it():
    """d / alpha integrated from the inner edge to the floor, 300 m behind it: 57 m. Of alpha far above the waves a layer is a medium
    stretched by 1 + d / alpha."""
    slow = {"width": 800, "frequency": 300, "reflection": np.exp(-700.0), "friction": 0}
    q = (np.arange(1000) + 0.5) / 1000 * 300 / 800
    d, alpha = 3 * 2500 * 700 / (2 * 800) * q**2, np.pi * 300 * (1 - q / 2)
    deeper = 300 * float((d / alpha).mean())
    values = pressure(sea(-800, 1300, bottom="pml", pml=slow))
    assert misfit(values, pressure(sea(-800 - deeper, 1500))) <= 0.02  # without the filters at the floor 0.10
    assert misfit(values, pressure(sea(-800, 1500))) >= 0.1


def test_interfaces_along_a_layer_are_told():
    """Water over rock: along the layer at the bottom, across those at the sides, and behind it."""
    plans = [build(sea(floor, 900, None, half=500)) for floor in (-700, -400, -600)]
    along, across, behind = ([text for text in plan.warnings if "impedance" in text] for plan in plans)
    assert len(along) == 1 and across == behind == []
    assert "by 233% within the absorbing layer of 300 m at face bottom" in along[0]


@pytest.mark.long
def test_an_ocean_leaves_through_layers_across_its_floor():
    """Nothing is said of the sides; those of the other box are 200 m further away."""
    near, wide = (pressure(sea(-400, 900, None, 0.9, half)) for half in (500, 700))
    assert misfit(near, wide) <= 0.01


@pytest.mark.parametrize("frequency", [3.0, pytest.param(4.5, marks=LONG)])
def test_full_space_in_a_small_box(frequency):
    """A force, three elements from stations to layers on all sides, until all has left; `stacey` leaves 3 to 5 %."""
    places = [np.array(x) for x in ([150.0, 110.0, 60.0], [-130.0, 180.0, -170.0])]
    source = CASES["force-4"]["scenario"]["source"][0] | {"at": [10.0, -20.0, 15.0], "wavelet": ricker(frequency)}
    scenario = SpectralScenario(
        domain={"origin": 3 * [-540], "size": 3 * [1080], "element_size": 120},
        model=CASES["force-4"]["scenario"]["model"],
        boundaries={"top": "pml"},
        time={"duration": 2.2 / frequency + 0.15, "start": -1.2 / frequency},
        source=[source],
        receivers=[{"name": f"R{n}", "at": x.tolist()} for n, x in enumerate(places)],
        run={"device": "cpu"},
    )
    data = ran(scenario)
    _, exact = solutions.full_space(CASES["force-4"]["scenario"] | {"source": [source]}, data)
    assert misfit(data.velocity.values, exact) <= 0.003


# --- plans ------------------------------------------------------------------------------------------------------------------------------


def planned(*words, **changes):
    """The plan of a box, and what it tells of waves."""
    plan = build(box(*words, **changes))
    return plan, dict(plan.notes["Elastic waves"])


def test_boxes_have_layers_where_nothing_is_said():
    receivers = BOX["receivers"][:1]
    roomy, rows = planned(320.0, None, receivers=receivers)
    assert rows["faces"] == "pml: west, east, south, north, bottom; free: top"
    assert rows["expected error"] == "of velocity, from the layers: about 0.14%"
    assert not any("stacey" in text for text in roomy.warnings)
    tight, rows = planned(120.0, None, receivers=receivers)
    assert rows["faces"] == "stacey: west, east, south, north, bottom; free: top"
    assert "leave no room in " in rows["no layers"] and "10 %" in rows["first-order faces"]
    assert any(text.startswith('boundaries: "stacey" in place of') for text in tight.warnings)
    _, rows = planned(160.0, "stacey")
    assert "no layers" not in rows and "10 %" in rows["first-order faces"]
    refused(ScenarioError, "absorbing layers meet", build, box(120.0, receivers=[]))
    refused(ScenarioError, "absorbing layers meet", build, box(160.0, boundaries__pml={"thickness": 5}))


def test_plan_tells_of_layers():
    """They are as thick as waves need: 6.9, 5.8, 4.3 elements per P wavelength; at most a sixth of 30."""
    receivers = [{"name": "near", "at": [300, 0, 0]}, {"name": "inner", "at": [0, 0, 0]}]
    plan, _ = planned(320.0, receivers=receivers)
    assert "convolutional PML, bottom 120 m, east 120 m" in str(plan)
    assert "inside an absorbing layer, where waves are damped: near" in plan.warnings
    domain = {"origin": [-600, -100, -200], "size": [1200, 200, 200], "element_size": EDGE}
    for frequency, elements in ((7.5, 3), (9, 4), (12, 5)):
        source = [BOX["source"][0] | {"wavelet": {"kind": "ricker", "frequency": frequency}}]
        more = {"domain": domain, "source": source, "receivers": [], "boundaries__west": "pml"}
        assert f"west {elements * EDGE:.0f} m" in planned(600.0, "stacey", **more)[1]["layers"]
    plans = (build(box(160.0, boundaries__pml=pml)) for pml in ({"thickness": 2}, {"width": 80}))
    assert len({plan.arrays["solid_layer_x_box_rates"].data.tobytes() for plan in plans}) == 1


@pytest.mark.parametrize("method", ["fd", "sem"])
def test_layers_are_those_of_the_speeds_that_are_given(method):
    """Whatever the model: the same profiles with and without a body slower and faster than the rest."""
    name, spacing, thickness = ("cpml", 100, 5) if method == "fd" else ("pml", 500, 1)

    def profiles(speeds, *anomalies):
        boundaries = {"others": name, name: {"thickness": thickness, "frequency": 2.0} | speeds}
        more = {"method": method, "domain__spacing": spacing, "boundaries": boundaries, "time__step": 0.004}
        plan = craton.plan(craton.Scenario(**edited(SMALL, model__anomalies=list(anomalies), **more)))
        assert f"made for {'waves of 900 .. 4000' if speeds else 'waves of'}" in str(plan.notes)
        return {n: a.data.tobytes() for n, a in plan.arrays.items() if a.kind == "boundary" and a.data is not None}

    body = {"shape": "box", "min": [800, 800, -1200], "max": [1200, 1200, -800], "vp": 3900, "vs": 1000, "rho": 2300}
    speeds = {"vp": [2000, 4000], "vs": [900, 2000]}
    assert profiles(speeds) == profiles(speeds, body)
    assert profiles({}) != profiles({}, body) and profiles(speeds)


def test_what_layers_leave_is_stated_from_above():
    """Measured in full space with 3, 4, 6, 8 elements in the layer, by elements to the P wavelength."""
    measured = {2.5: (0.112, 0.085, 0.052, 0.029), 3.5: (0.047, 0.037, 0.024, 0.0133)}
    measured[5.0] = (0.0063, 0.0035, 0.0026, 0.0015)
    d = SimpleNamespace(statistics=SimpleNamespace(speeds={"vp": (3464.0, 3464.0)}))
    for edges, reflected in measured.items():
        edge = 3464.0 / 2.0 / edges
        ratio = np.divide([absorbing_layer.left_behind(d, edge, n * edge, 2.0) for n in (3, 4, 6, 8)], reflected)
        assert (ratio > 0.93).all() and (ratio < 1.7).all(), (edges, ratio)
