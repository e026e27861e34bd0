"""Waves against exact solutions, in small: the cases of `craton validate`, and what they leave out. Limits say where they come from."""

import json
import math

import numpy as np
import pytest

import craton
from craton.validation import CASES, FULL, GROUPS, absorbing, conserved, guided, homogeneous, lossy, validate
from craton.validation.compare import misfit, reference
from craton.validation.exact import fullspace, lines
from craton.validation.exact import guided as exact_guided
from craton.validation.figure import draw


def near(source, order):
    """A full space of a quarter of the points: closer limits make up for the shorter way."""
    limit = {4: 0.002, 8: 0.00033}[order]
    return lambda device: homogeneous.full_space(source, order, device, reach=5, limit=limit)


def plane(device):
    """The slice in the (x, z) plane, which `test_slice_is_the_plane` compares with it."""
    return absorbing.limits("plane", *absorbing.energies(absorbing.plane_scenario(4.2), device))


SMALL = {
    "force-4": near("single force", 4),
    "force-8": near("single force", 8),
    "double-couple-4": near("double couple", 4),
    "double-couple-8": near("double couple", 8),
    "cpml-slice": plane,
    "energy": lambda device: conserved.energy(device, orders=(4, 8), duration=3.0),
    "reciprocity": lambda device: conserved.reciprocity(device, orders=(4,), places=conserved.PLACES[1:]),
    "scholte": lambda device: guided.scholte(device, bottoms=("soft bottom",)),
    "attenuation": lambda device: lossy.attenuating(device, runs=((20, "full"),), border=13, share=0.5),
}
LONG = {"two-layers-100", "loh1", *GROUPS["earth"]}  # a minute each on two cores: `craton validate fd` has them


@pytest.mark.parametrize("name", sorted(set(GROUPS["fd"]) - LONG))
def test_validate(name):
    rows = SMALL.get(name, CASES[name])("cpu")
    assert rows and all(set(row) - {"curves"} == {"what", "misfit", "limit", "passed"} for row in rows)
    assert all(row["passed"] and 0 < row["misfit"] <= row["limit"] for row in rows), json.dumps(rows, indent=1)


def test_slice_is_the_plane():
    """Energies of the slice, periodic along y, are those of the plane to rounding: while the waves are in the layers, too."""
    step = craton.plan(absorbing.slice_scenario(0.3)).dt
    energies = []
    for scenario in (absorbing.slice_scenario(0.3), absorbing.plane_scenario(0.3)):
        same_step = scenario.model_copy(update={"time": scenario.time.model_copy(update={"step": step})})
        energies.append(absorbing.energies(same_step, "cpu")[1])
    assert len(energies[0]) > 4 and 0.1 < energies[0][-1] < 0.9
    np.testing.assert_allclose(*energies, rtol=1e-9)


def test_validate_names_its_rows(monkeypatch):
    monkeypatch.setitem(
        CASES, "force-4", lambda device: [{"what": device, "misfit": 0.0, "limit": 1.0, "passed": True}]
    )
    assert list(validate("force-4", device="cpu")) == list(validate(["force-4"], "cpu"))
    assert list(validate("force-4", device="cpu")) == [
        {"case": "force-4", "what": "cpu", "misfit": 0.0, "limit": 1.0, "passed": True}
    ]


def test_groups_and_full_sizes(monkeypatch):
    for name in CASES:
        monkeypatch.setitem(CASES, name, lambda device: [{"what": "small"}])
    monkeypatch.setitem(FULL, "lamb", lambda device: [{"what": "large"}])
    assert (
        [row["case"] for row in validate()]
        == [row["case"] for group in GROUPS for row in validate(group)]
        == list(CASES)
    )
    assert [row["what"] for row in validate(["force-4", "lamb"])] == ["small", "small"]
    assert [row["what"] for row in validate("lamb", full=True)] == ["large"]
    assert set(FULL) <= set(CASES)


def test_figure_of_a_validation(tmp_path):
    """A panel for each case with curves, the worst of its rows, and a point for each row."""
    t = np.linspace(0, 1, 50)
    shared = {"limit": 1.0, "passed": True, "curves": (t, t, t)}
    rows = [
        {"case": name, "what": f"{name} {n}", "misfit": n / 10, **shared}
        for name in ("lamb", "garvin")
        for n in (1, 3, 2)
    ]
    rows.append({"case": "energy", "what": "e", "misfit": 2.0, "limit": 1.0, "passed": False})
    page = draw(rows)
    titles = [axes.get_title() for axes in page.get_axes()]
    assert titles == ["lamb 3", "garvin 3", ""]
    assert [text.get_text() for text in page.get_axes()[-1].get_yticklabels()] == ["lamb", "garvin", "energy"]
    assert len(page.get_axes()[-1].get_lines()) == len(rows) + 1
    page.savefig(tmp_path / "f.png")


# --- the exact solutions themselves -----------------------------------------------------------------------------------------------------


def test_line_force_on_the_surface():
    """Against closed forms evaluated elsewhere, kept in single precision: trusted to 1e-7 of the peak."""
    kept, history = reference("lamb2d"), fullspace.history("ricker", 14.5)
    medium = tuple(float(kept[name]) for name in ("vp", "vs", "rho"))
    for n, x in enumerate(kept["x"]):
        force = (0, -float(kept["F_down_per_m"]))
        found = lines.surface_force(x, force, history, 1 / (math.sqrt(2) * math.pi * 14.5), kept["t"] - 0.12, medium)
        assert misfit(found, np.stack([kept["vx"][n], -kept["vz"][n]])) < 1e-6


def over_arrivals(history, first, t, power=0):
    """Integral of history(t - first cosh a) cosh(a)^power over a: what H(t - first) / sqrt(t^2 - first^2) does, its root taken away."""
    a = np.linspace(0, math.acosh((t[-1] + 1) / first), 6001)
    return np.array([np.trapezoid(history(one - first * np.cosh(a)) * np.cosh(a) ** power, a) for one in t])


def test_line_force_along_itself():
    history, t, tau = (fullspace.history("ricker", 10.0), np.linspace(0, 0.8, 80), 1 / (math.sqrt(2) * math.pi * 10))
    wanted = 3e6 / (2 * np.pi * 2000 * 1500**2) * over_arrivals(lambda s: history(s, 1), 600 / 1500, t)
    np.testing.assert_allclose(
        lines.sh_force(600.0, 3e6, history, tau, t, 1500, 2000), wanted, atol=1e-6 * np.abs(wanted).max()
    )


def test_buried_explosion_below_a_liquid_like_surface():
    """With vs = 0 the surface doubles the vertical motion of the line's own wave: v_r = M / (2 pi rho vp^3) times an integral."""
    rate, t, vp, rho, x, h = (fullspace.history("ricker", 10.0), np.linspace(0, 0.6, 80), 2000.0, 1000.0, 300.0, 400.0)
    radial = 1e9 / (2 * np.pi * rho * vp**3) * over_arrivals(lambda s: rate(s, 1), 500 / vp, t, power=1)
    found = lines.buried_explosion(x, h, 1e9, rate, 1 / (math.sqrt(2) * math.pi * 10), t, (vp, 0.01, rho))
    np.testing.assert_allclose(found[1], 2 * h / 500 * radial, atol=1e-4 * np.abs(radial).max())
    assert np.abs(found[0]).max() < 1e-3 * np.abs(found[1]).max()


def test_speeds_of_guided_waves():
    """The roots that independent programs give: LOH.1's layer at 0.9 Hz, water over sediment and over rock."""
    assert exact_guided.love_speed(0.9, 1000.0, guided.LAYER, guided.HALF_SPACE) == pytest.approx(2273.585967, rel=1e-9)
    assert exact_guided.scholte_speed(guided.WATER, guided.BOTTOMS["soft bottom"]) == pytest.approx(
        526.8907636, rel=1e-9
    )
    assert exact_guided.scholte_speed(guided.WATER, guided.BOTTOMS["hard bottom"]) == pytest.approx(
        1426.585289, rel=1e-9
    )


def test_phase_velocity_of_two_records():
    t = np.arange(0, 12, 0.01)
    records = [np.exp(-0.5 * ((t - x / 300) / 0.4) ** 2) * np.cos(2 * np.pi * 3 * (t - x / 310)) for x in (900, 1500)]
    (found,) = guided.speeds(t, records, (900, 1500), [3.0], [320.0])
    assert found == pytest.approx(310, rel=1e-3)


def test_a_wrong_medium_is_seen(monkeypatch):
    right = homogeneous.infinite

    def infinite(*words):
        scenario = right(*words)
        return scenario.model_copy(update={"model": scenario.model.model_copy(update={"vs": 0.995 * homogeneous.VS})})

    monkeypatch.setattr(homogeneous, "infinite", infinite)
    assert not homogeneous.full_space("single force", 4, "cpu", reach=5)[0]["passed"]
