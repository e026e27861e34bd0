"""Waves against exact solutions: the cases of `craton validate` in small, a full space, one-way faces (A1); the solutions themselves."""

import json
import math
from functools import partial

import numpy as np
import pytest
from common import tiers
from fdcase import box, cases, force, moment_tensor, ran, ricker
from kernelcase import inside, run, unchanged_outside

import craton
from craton import validation
from craton.core.grid import Layout
from craton.methods.finite_difference.equations import operators
from craton.methods.finite_difference.equations.scheme import stencil
from craton.validation import CASES, GROUPS, absorbing, compare, conserved, validate, waveforms
from craton.validation.compare import misfit, reference
from craton.validation.exact import fullspace, lines
from craton.validation.figure import draw

# --- the cases of `craton validate` ------------------------------------------------------------------------------------------------------


def slice_in_the_plane():
    """Tables of the slice as a computation in the (x, z) plane: force per metre along y."""
    line = SLICE["source"][0]
    line = line | {"at": line["at"][::2], "force": [f / 10 for f in line["force"][::2]]}
    domain = {"origin": [0, 0], "size": [1000, 6400], "spacing": 10, "waves": "P-SV"}
    faces = {"top": "cpml", "others": "cpml", "cpml": {"thickness": 10}}
    return SLICE | {"domain": domain, "boundaries": faces, "source": [line]}


SPACE, SLICE = CASES["force-4"]["scenario"], CASES["cpml-slice"]["scenario"]
ORDER_8 = {"orders": [8], "scenario": {"time": {"duration": 2.0}}}
# Minutes each on two cores (`craton validate fd` has them), or of an order that other tests in a full space have (test_rheologies.py)
LEFT_OUT = {"two-layers-100", "loh1", "force-8", "double-couple-8"}
NAMES = sorted({*GROUPS["fd"], "energy, order 8"} - LEFT_OUT)


@pytest.mark.parametrize("name", tiers(NAMES, "energy"))
def test_validate(name, monkeypatch):
    """In random media with a quarter of the bodies: most of the time of a plan is theirs."""
    monkeypatch.setattr(conserved, "random_medium", partial(conserved.random_medium, boxes=15))
    if name == "cpml-slice":  # in the (x, z) plane, which `test_slice_is_the_plane` compares with it
        rows = absorbing.cpml_slice({"what": "plane", "scenario": slice_in_the_plane()}, "cpu")
    else:
        rows = list(validation.rows(name.split(",")[0], "cpu", "small", ORDER_8 if ", order 8" in name else None))
    assert rows and all(set(row) - {"curves", "case"} == {"what", "misfit", "limit", "passed"} for row in rows)
    assert all(row["passed"] and 0 < row["misfit"] <= row["limit"] for row in rows), json.dumps(rows, indent=1)


@pytest.mark.long
def test_slice_is_the_plane():
    """Energies of the slice, periodic along y, are those of the plane to rounding: while the waves are in the layers, too."""
    time = {"duration": 0.3, "start": 0}
    time = {"time": time | {"step": craton.plan(craton.Scenario(**SLICE | {"time": time})).dt}}
    both = (SLICE, slice_in_the_plane())
    energies = [absorbing.energies(craton.Scenario(**tables | time), "cpu")[1] for tables in both]
    assert len(energies[0]) > 4 and 0.1 < energies[0][-1] < 0.9
    np.testing.assert_allclose(*energies, rtol=1e-9)


def test_groups_and_full_sizes(monkeypatch):
    for name in validation.RUNS:
        monkeypatch.setitem(validation.RUNS, name, lambda case, device: [{"what": device, "misfit": case.get("limit")}])
    assert list(validate("force-4", device="cpu")) == [{"case": "force-4", "what": "cpu", "misfit": 0.01}]
    of_groups = [row["case"] for group in GROUPS for row in validate(group)]
    assert [row["case"] for row in validate()] == of_groups == list(CASES)
    assert [row["case"] for row in validate(["force-4", "lamb"], "small")] == ["force-4", "lamb"]
    monkeypatch.setitem(
        validation.RUNS, "waveforms", lambda case, device: [{"what": case["scenario"]["domain"]["spacing"]}]
    )
    assert [row["what"] for full in (False, True) for row in validate("lamb", full=full)] == [10, 5]
    passed = [compare.row("what", value, 1.0)["passed"] for value in (0.5, 1.0, 1.1, np.nan)]
    assert passed == [True, True, False, False]


def test_figure_of_a_validation(tmp_path):
    """A panel for each case with curves, the worst of its rows, and a point for each row."""
    t = np.linspace(0, 1, 50)
    shared = {"limit": 1.0, "passed": True, "curves": (t, t, t)}
    of = [(name, n) for name in ("lamb", "garvin") for n in (1, 3, 2)]
    rows = [{"case": name, "what": f"{name} {n}", "misfit": n / 10, **shared} for name, n in of]
    rows.append({"case": "energy", "what": "e", "misfit": 2.0, "limit": 1.0, "passed": False})
    page = draw(rows)
    *panels, last = page.get_axes()
    assert [axes.get_title() for axes in page.get_axes()] == ["lamb 3", "garvin 3", ""] and len(panels) == 2
    assert [text.get_text() for text in last.get_yticklabels()] == ["lamb", "garvin", "energy"]
    assert len(last.get_lines()) == len(rows) + 1
    page.savefig(tmp_path / "f.png")


# --- the exact solutions themselves ------------------------------------------------------------------------------------------------------


def test_line_force_on_the_surface():
    """Against closed forms evaluated elsewhere, kept in single precision: trusted to 1e-7 of the peak."""
    exact, history = reference("lamb2d"), fullspace.history("ricker", 14.5)
    medium, push = tuple(float(exact[name]) for name in ("vp", "vs", "rho")), (0, -float(exact["F_down_per_m"]))
    for n, x in enumerate(exact["x"]):
        motion = lines.surface_force(x, push, history, 1 / (math.sqrt(2) * math.pi * 14.5), exact["t"] - 0.12, medium)
        assert misfit(motion, np.stack([exact["vx"][n], -exact["vz"][n]])) < 1e-6


def over_arrivals(history, first, t, power=0):
    """Integral of history(t - first cosh a) cosh(a)^power over a: what H(t - first) / sqrt(t^2 - first^2) does, its root taken away."""
    a = np.linspace(0, math.acosh((t[-1] + 1) / first), 6001)
    return np.array([np.trapezoid(history(now - first * np.cosh(a)) * np.cosh(a) ** power, a) for now in t])


def test_lines_inside():
    """A force along itself; an explosion below a liquid-like surface, which doubles the vertical motion of the line's own wave:
    v_r = M / (2 pi rho vp^3) times an integral.
    """
    history, tau, t = fullspace.history("ricker", 10.0), 1 / (math.sqrt(2) * math.pi * 10), np.linspace(0, 0.8, 80)
    expected = 3e6 / (2 * np.pi * 2000 * 1500**2) * over_arrivals(lambda s: history(s, 1), 600 / 1500, t)
    motion = lines.sh_force(600.0, 3e6, history, tau, t, 1500, 2000)
    np.testing.assert_allclose(motion, expected, atol=1e-6 * np.abs(expected).max())
    t, vp, rho, x, h = np.linspace(0, 0.6, 80), 2000.0, 1000.0, 300.0, 400.0
    radial = 1e9 / (2 * np.pi * rho * vp**3) * over_arrivals(lambda s: history(s, 1), 500 / vp, t, power=1)
    along, upwards = lines.buried_explosion(x, h, 1e9, history, tau, t, (vp, 0.01, rho))
    np.testing.assert_allclose(upwards, 2 * h / 500 * radial, atol=1e-4 * np.abs(radial).max())
    assert np.abs(along).max() < 1e-3 * np.abs(upwards).max()


def test_speeds_of_guided_waves():
    """The roots that independent programs give: LOH.1's layer at 0.9 Hz, water over sediment and over rock; speeds of two records."""
    love = lines.love_speed(0.9, 1000.0, (2000.0, 2600.0), (3464.0, 2700.0))
    bottoms = (1800.0, 600.0, 1900.0), (3400.0, 1963.0, 2500.0)
    soft, hard = (lines.scholte_speed((1500.0, 1000.0), bottom) for bottom in bottoms)
    assert [love, soft, hard] == pytest.approx([2273.585967, 526.8907636, 1426.585289], rel=1e-9)
    t = np.arange(0, 12, 0.01)
    records = [np.exp(-0.5 * ((t - x / 300) / 0.4) ** 2) * np.cos(2 * np.pi * 3 * (t - x / 310)) for x in (900, 1500)]
    (speed,) = waveforms.phase_speeds(t, records, (900, 1500), [3.0], [320.0])
    assert speed == pytest.approx(310, rel=1e-3)


# --- a full space ------------------------------------------------------------------------------------------------------------------------

ROCK = SPACE["model"]
VP, VS, RHO = (ROCK[name] for name in ("vp", "vs", "rho"))
KAPPA = RHO * (VP**2 - 4 / 3 * VS**2)


def force_error(order, spacing):
    """Misfit of vx of a force along x, source and receivers on points of vx, so that nothing is interpolated; wavelength 1 km at 1 %.

    CPML of 10 points is 600 m away: what it reflects stays below the errors that are compared.
    """
    frequency, distances = VS / 1000 / 2.7299, {(1, 0, 0): 2000, (1, 0, 1): 1333, (1, 1, 1): 1133}
    places = [2 * round(x / (2 * spacing)) * spacing * np.array(way) for way, x in distances.items()]
    border = math.ceil(600 / spacing) + 10
    size = [(math.ceil(x / spacing) + 2 * border + 1) * spacing for x in (2000, 1133, 1333)]
    tables = {"origin": [-(border + 0.5) * spacing, -border * spacing, -border * spacing]}
    tables |= {"time": {"duration": 2000 / VS + 1.2 / frequency, "start": -1.5 / frequency}}
    tables |= {"boundaries": {"top": "cpml", "others": "cpml", "cpml": {"thickness": 10}}}
    source = force([0, 0, 0], [1e10, 0, 0], ricker(frequency, 0))
    data = ran(box(size, spacing, ROCK, source, 1, places, run={"order": order, "precision": "float64"}, **tables))
    medium = fullspace.history("ricker", frequency), data.time.values, VP, VS, RHO
    expected = [fullspace.point_force(x, (0, 0, 0), (1e10, 0, 0), *medium)[0] for x in places]
    return misfit(data.velocity.values[:, 0], np.array(expected))


@pytest.mark.long
@pytest.mark.parametrize(("order", "coarse"), [(4, 200.0), (2, 150.0)])
def test_order_of_convergence(order, coarse):
    """Time error is corrected (survey.leapfrog), so the slope is that of the space differences, nominal up to the next term's share."""
    errors = [force_error(order, spacing) for spacing in (coarse, coarse / 1.5)]
    assert abs(math.log(errors[0] / errors[1]) / math.log(1.5) - order) < 0.15 * order


# s; the Gaussian's spectrum is 1 % of its peak at 2 Hz, 10 points per wavelength
TAU = math.sqrt(2 * math.log(100)) / (2 * math.pi * 2.0)
TENSOR = {"xx": 1e15, "yy": -0.5e15, "zz": 0.7e15, "xy": 0.8e15, "xz": -0.3e15, "yz": 0.6e15}
MOMENT = np.array([[TENSOR["".join(sorted(a + b))] for a in "xyz"] for b in "xyz"])
AT = np.array([1540.0, 1530.0, 1575.0])
PLACES = [AT + np.array(d) for d in ((1211.0, 33.0, 47.0), (1163.0, 1219.0, 871.0), (420.0, 1250.0, 1181.0))]


def infinite(source, places, duration, **tables):
    """A full space of the size that the places need, 14 points between them and the faces."""
    size = (np.ceil(np.max([AT, *places], axis=0) / 100) + 14) * 100
    tables |= {"origin": [0, 0, 0], "boundaries": SPACE["boundaries"]}
    return box(size.tolist(), 100.0, ROCK, source, duration, [x.tolist() for x in places], **tables)


def exact_quantities(x, t):
    """Every quantity at x, gradients by central differences of the exact motion."""
    history = fullspace.history("gaussian", TAU)

    def motion(deriv):
        return lambda y: fullspace.moment_tensor(y, AT, MOMENT, lambda t, n: history(t, n - 1), t, VP, VS, RHO, deriv)

    def strained(g):
        return np.array([(g[a, b] + g[b, a]) / 2 for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])

    g, rate = (fullspace.gradient(motion(deriv), x, 20.0) for deriv in (0, 1))
    return {
        "velocity": motion(1)(x),
        "displacement": motion(0)(x),
        "pressure": -KAPPA * (g[0, 0] + g[1, 1] + g[2, 2])[None],
        "strain": strained(g),
        "strain_rate": strained(rate),
        "rotation_rate": np.array([rate[2, 1] - rate[1, 2], rate[0, 2] - rate[2, 0], rate[1, 0] - rate[0, 1]]) / 2,
    }


def test_every_quantity_of_a_moment_tensor_off_the_nodes():
    """Limit 1 %: that of the issue for velocity at order 4 and 10 points per wavelength, kept for all quantities and for the offset that
    stays of the displacement when the waves have gone.
    """
    source = moment_tensor(AT.tolist(), TENSOR, {"kind": "gaussian", "tau": TAU})
    names = ("velocity", "displacement", "pressure", "strain", "strain_rate", "rotation_rate")
    data, failures = ran(infinite(source, PLACES, 3.2, output={"waveforms": list(names)})), []
    for n, x in enumerate(PLACES):
        expected = exact_quantities(x, data.time.values)
        errors = {name: misfit(data[name].values[n].reshape(expected[name].shape), expected[name]) for name in names}
        failures += [(n, name, error) for name, error in errors.items() if not error < 0.01]
        last, offset = (v[:, -10:].mean(axis=1) for v in (data.displacement.values[n], expected["displacement"]))
        assert np.linalg.norm(last - offset) < 0.01 * np.linalg.norm(offset), n
    assert not failures


@pytest.mark.long
def test_single_precision_is_enough():
    """float32 keeps 6e-8 a step; some hundred steps and their sums leave 1e-6 to 1e-5 of the motion."""
    source = CASES["double-couple-4"]["scenario"]["source"][0] | {"at": AT.tolist(), "wavelet": ricker(0.7)}
    scenarios = [infinite(source, PLACES, 2.5, run={"precision": p}) for p in ("float32", "float64")]
    single, double = (craton.run(scenario, device="cpu", progress=False).samples for scenario in scenarios)
    assert single.dtype == np.float32 and double.dtype == np.float64
    assert 0 < misfit(single.astype(float), double) < 1e-5


# --- one-way faces: Clayton & Engquist's A1 ----------------------------------------------------------------------------------------------

H, FREQUENCY, LENGTH, DELAY = 50.0, 2.0, 4000.0, 0.7
FAST, SLOW = 3000.0, 1732.0
HARD = {"kind": "homogeneous", "vp": FAST, "vs": SLOW, "rho": 2400.0}
ENDS = (("west", "east"), ("south", "north"), ("bottom", "top"))


def column(component, axis, side, order, kind="a1", motion=None):
    """A plane of equal forces across a periodic column, whose plane wave meets `kind` at one end and A1 at the other; in the (x, z)
    plane where its motion is given, the column without its y axis.

    Returns the scenario and the time when the direct wave is over at the receiver, half-way to the end.
    """
    points, speed = order + 2, FAST if component == axis else SLOW
    size = [(points - 1) * H] * 3
    size[axis] = LENGTH
    nodes = np.arange(points) * H - np.array([[0], [0], [size[2]]])
    nodes = [nodes[a] if a != axis else nodes[a][:1] + LENGTH / 2 for a in range(3)]
    faces = dict.fromkeys(("south", "north", "west", "east", "bottom", "top"), "periodic")
    faces |= {ENDS[axis][side]: kind, ENDS[axis][1 - side]: "a1"}
    if motion:
        size, nodes[1] = [size[0], size[2]], np.zeros(1)
        faces = {"others": "periodic"} | {f: faces[f] for f in ENDS[axis]}
    there = [0, 2] if motion else [0, 1, 2]
    at = np.stack(np.meshgrid(*nodes), -1).reshape(-1, 3)
    receiver = at[0] + (side - 0.5) * LENGTH / 2 * np.eye(3)[axis]
    push, wavelet = (1e9 * np.eye(3)[component]).tolist(), ricker(FREQUENCY, DELAY)
    sources = [force(x[there].tolist(), push, wavelet) for x in at]
    time = {"duration": DELAY + LENGTH / speed + 1 / FREQUENCY, "start": 0}
    run = {"order": order, "precision": "float64", "threads": 1}
    tables = {"waves": motion, "time": time, "boundaries": faces, "run": run}
    scenario = box(size, H, HARD, sources, 1, [receiver[there].tolist()], **tables)
    return scenario, DELAY + LENGTH / 4 / speed + 1.2 / FREQUENCY


def reflection(*case):
    """Largest amplitude after the direct wave, relative to it."""
    scenario, over = column(*case)
    result = craton.run(scenario, device="cpu", progress=False)
    samples = np.abs(result.samples).max(axis=1)
    return samples[np.arange(len(samples)) * result.plan.dt > over].max() / samples.max()


@pytest.mark.parametrize(("axis", "side"), cases([(2, 0)], (0, 0), (0, 1), (1, 0), (1, 1), (2, 1)))
def test_plane_waves_leave(axis, side):
    """P, SV and SH at normal incidence, 17 points per S wavelength at the wavelet's peak frequency; A1 is exact but for the box scheme."""
    for component in range(3):
        assert reflection(component, axis, side, 4) < 0.01, component


@pytest.mark.long
def test_plane_waves_leave_at_other_orders_and_the_plane_and_a_rigid_face_reflects_all():
    for component, order, motion in ((2, 2, None), (2, 8, None), (2, 4, "P-SV"), (0, 4, "P-SV"), (1, 4, "SH")):
        assert reflection(component, 2, 0, order, "a1", motion) < 0.01, (component, order, motion)
    assert reflection(2, 2, 0, 4, "rigid") > 0.9


MIXED = {"west": "sponge", "east": "sponge", "south": "periodic", "north": "periodic", "bottom": "a1"}


def test_growth_at_the_sides_and_sources_that_a1_overwrites_are_said():
    for vs, warned in ((0.0, False), (SLOW, True), (FAST / 2.5, True)):
        scenario, _ = column(0, 0, 0, 4)
        slow = scenario.model_copy(update={"model": scenario.model.model_copy(update={"vs": vs})})
        assert any("A1 at a side face grows" in said for said in craton.plan(slow).warnings) == warned
    scenario, _ = column(2, 2, 0, 4)
    assert not any("absorbing" in said for said in craton.plan(scenario).warnings)
    domain = scenario.domain.model_copy(update={"origin": (0, 0, -LENGTH / 2 - H)})
    low = scenario.model_copy(update={"domain": domain, "receivers": ()})
    assert any("inside an absorbing layer" in said for said in craton.plan(low).warnings)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_kernel_solves_the_box_scheme(axis, side):
    """(v'[s] - v[s]) + (v'[s-1] - v[s-1]) + g (v'[s] - v'[s-1] + v[s] - v[s-1]) = 0 on every plane, within a few roundings of 1."""
    layout, op, rng = (Layout((12, 12, 12), 2), operators.a1(stencil(4), axis, side), np.random.default_rng(4))
    inner = 12 - 1 - 2 if side else 2

    def across(low, high):
        at = [0, 12] * 3
        at[2 * (2 - axis) : 2 * (2 - axis) + 2] = low, high
        return at

    at = across(inner, inner + 1)
    extent = tuple(b - a for a, b in zip(at[::2], at[1::2]))
    arrays = {n: rng.uniform(-1, 1, layout.padded) for n in ("va", "vb", "vc")}
    arrays |= {n: rng.uniform(1, 3, layout.padded) for n in ("rho", "lam", "rmu")}
    arrays["rmu"][inside(layout, (0, 6, 0, 6, 0, 6))] = np.inf  # fluid in one corner
    arrays["past"] = rng.uniform(-1, 1, (3, 5, *extent))
    params = {"row": layout.row, "plane": layout.plane, "sheet": layout.plane, "top": 11, "dt_h": 0.3}
    params |= dict(zip(("k0", "j0", "i0"), at[::2])) | dict(zip(("nk", "nj", "ni"), extent))
    after = run(op, op.arrays, {n: a.copy() for n, a in arrays.items()}, tuple(at), params, layout, "float64")
    rho, lam, mu = (a[inside(layout, at)] for a in (arrays["rho"], arrays["lam"], 1 / arrays["rmu"]))
    vp, vs, outward = np.sqrt((lam + 2 * mu) / rho), np.sqrt(mu / rho), 1 if side else -1
    for n, speed in enumerate((vp, np.where(mu > 0, vs, vp), np.where(mu > 0, vs, vp))):
        before, values = arrays[f"v{'abc'[n]}"], after[f"v{'abc'[n]}"]
        new = np.stack([values[inside(layout, across(inner + s * outward, inner + s * outward + 1))] for s in range(5)])
        old, g = arrays["past"][n], 0.3 * speed
        assert (new[0] == before[inside(layout, at)]).all() and (after["past"][n] == new).all()
        residual = (new[1:] - old[1:]) + (new[:-1] - old[:-1]) + g * (new[1:] - new[:-1] + old[1:] - old[:-1])
        assert np.abs(residual).max() < 1e-13
        touched = across(inner, inner + 5) if side else across(inner - 4, inner + 1)
        assert unchanged_outside(before, values, inside(layout, touched))
