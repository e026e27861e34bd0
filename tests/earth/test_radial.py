"""Radial Earth models: PREM against the published numbers, AK135, tables, and travel times of what is written for TauP."""

import sys
from pathlib import Path

import numpy as np
import pytest

from craton.model.globe import prem, radial, radial_files

EARTH = Path(__file__).parents[2] / "shared" / "references" / "earth"
# Dziewonski & Anderson (1981), table II: radius km, vp, vs m/s, density kg/m3, kappa, mu in 1e8 Pa, isotropic.
PUBLISHED = [
    (0.0, "below", 11262.2, 3667.8, 13088.5, 14253, 1761),
    (1221.5, "below", 11028.27, 3504.32, 12763.60, 13434, 1567),
    (1221.5, "above", 10355.68, 0.0, 12166.34, 13047, 0),
    (3480.0, "below", 8064.82, 0.0, 9903.49, 6441, 0),
    (3480.0, "above", 13716.60, 7264.66, 5566.45, 6556, 2938),
    (5701.0, "above", 10266.22, 5570.20, 3992.14, 2556, 1239),
    (5971.0, "below", 9133.97, 4932.59, 3723.78, 1899, 906),
    (6346.6, "above", 6800.0, 3900.0, 2900.0, 753, 441),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda r: f"{r[0]:g}-{r[1]}")
def test_prem_against_its_published_table(row):
    r, side, vp, vs, rho, kappa, mu = row
    found = np.array(prem.prem().speeds(r * 1e3, side)).ravel()
    assert np.allclose(found, (vp, vs, rho), rtol=3e-5, atol=0.2)  # the table has six digits
    found_kappa, found_mu = (found[2] * (found[0] ** 2 - 4 / 3 * found[1] ** 2), found[2] * found[1] ** 2)
    assert np.allclose((found_kappa / 1e8, found_mu / 1e8), (kappa, mu), rtol=2e-4, atol=0.6)


def test_mass_and_moment_of_inertia_of_prem():
    """Dziewonski & Anderson (1981), table I: 5.974e24 kg; I = 0.3308 M R^2."""
    model, (x, w) = (prem.prem(ocean=True), np.polynomial.legendre.leggauss(8))  # exact for their degree: 3 + 4
    low, high = model.knots[:-1, None], model.knots[1:, None]
    r = (low + high) / 2 + (high - low) / 2 * x
    shell = (high - low) / 2 * w * model.parameters(r, piece=np.arange(13)[:, None])[0] * 4 * np.pi * r**2
    assert shell.sum() == pytest.approx(5.974e24, rel=2e-4)
    assert (2 / 3 * shell * r**2).sum() / shell.sum() / model.radius**2 == pytest.approx(0.3308, rel=2e-4)


@pytest.mark.skipif(not EARTH.exists(), reason="shared/ is not beside the checkout")
def test_prem_against_the_reference_program(monkeypatch):
    monkeypatch.syspath_prepend(str(EARTH))
    sys.modules.pop("prem", None)
    import prem as reference

    r = np.concatenate([np.linspace(1, 6371, 3000), prem.prem().knots[1:-1] / 1e3])
    for side, sign in (("below", "-"), ("above", "+")):
        found = prem.prem().parameters(r * 1e3, side)
        wanted = reference.prem(r, side=sign)
        assert np.allclose(prem.prem().speeds(r * 1e3, side), wanted[[1, 2, 0]], rtol=1e-12)
        assert np.allclose(1 / found[6], wanted[5], rtol=1e-12)
        assert np.allclose(found[7], 1 / wanted[6], rtol=1e-12)


def test_transversely_isotropic_prem():
    """Speeds and eta at 80 km depth, from the published polynomials by hand."""
    model = prem.prem(transverse=True)
    assert model.anisotropic and not prem.prem().anisotropic
    rho, *rest = model.parameters(6291e3)[:6]
    assert np.allclose(rest, (7959.1, 8150.1, 4408.8, 4561.9, 0.92210), rtol=1e-4)
    a, c, f, l, n = model.moduli(6291e3)
    assert (
        f == pytest.approx(rest[4] * (a - 2 * l))
        and c == pytest.approx(rho * rest[0] ** 2)
        and n == pytest.approx(rho * rest[3] ** 2)
    )
    vp, vs, _ = model.speeds(np.array([6291e3, 6200e3]))
    iso = prem.prem().speeds(np.array([6291e3, 6200e3]))
    assert np.allclose((vp, vs), iso[:2], rtol=2e-3)  # PREM's isotropic polynomials are a fit to these averages
    assert np.allclose(model.speeds(4000e3), prem.prem().speeds(4000e3), rtol=1e-12)


def test_thomsens_parameters_give_loves_moduli_back():
    values = prem.prem(transverse=True).parameters(np.array([6200e3, 6340e3]))
    a, c, f, l, n = radial.love(values)
    epsilon, delta, gamma = radial.thomsen(values)
    assert np.allclose(c * (1 + 2 * epsilon), a) and np.allclose(l * (1 + 2 * gamma), n)
    assert np.allclose(np.sqrt(2 * c * (c - l) * delta + (c - l) ** 2) - l, f)


def test_stiffness_about_any_axis():
    moduli = prem.prem(transverse=True).moduli(6200e3)
    a, c, f, l, n = moduli
    upright = radial.stiffness(moduli, np.array([0.0, 0.0, 1.0]))
    wanted = np.diag([a, a, c, l, l, n])
    wanted[0, 1] = wanted[1, 0] = a - 2 * n
    wanted[:2, 2] = wanted[2, :2] = f
    assert np.allclose(upright, wanted, atol=1e-12 * c)
    axis = np.array([1.0, 2.0, -2.0]) / 3
    turned = radial.stiffness(moduli, axis)
    # the strain of stretching along the axis gives the stress C n n + F (I - n n)
    strain = np.outer(axis, axis)
    voigt = np.array([*np.diag(strain), 2 * strain[1, 2], 2 * strain[0, 2], 2 * strain[0, 1]])
    stress = c * strain + f * (np.eye(3) - strain)
    assert np.allclose(turned @ voigt, [*np.diag(stress), stress[1, 2], stress[0, 2], stress[0, 1]], rtol=1e-12)
    assert np.linalg.eigvalsh(turned).min() == pytest.approx(np.linalg.eigvalsh(upright).min(), rel=0.3)


def test_losses_of_prem():
    """Qp of PREM's upper crust, 1456, as published."""
    qp, qs = 1 / np.array(prem.prem().inverse_q(6365e3))
    assert qs == pytest.approx(600) and qp == pytest.approx(1456, abs=1)
    assert prem.prem().inverse_q(2000e3)[1] == 0  # a fluid has no shear loss


def test_sides_and_jumps_of_prem():
    model = prem.prem()
    assert np.allclose(model.jumps() / 1e3, [1221.5, 3480, 5701, 5971, 6151, 6346.6, 6356])
    assert model.region(6346.6e3) == "upper_mantle" and model.region(6346.6e3, "above") == "crust"
    assert (
        model.boundary("outer_core") == (1221.5e3, 3480e3)
        and model.fluid("outer_core")
        and not model.fluid("inner_core")
    )
    assert model.slowest(6346.6e3, 6371e3) == 3200 and model.slowest(6151e3, 6346.6e3) == pytest.approx(
        4418.85, abs=0.1
    )
    assert model.slowest(2000e3, 3480e3) == pytest.approx(8064.8, abs=0.1)
    with pytest.raises(ValueError, match="6372"):
        model.speeds(6372e3)
    with pytest.raises(KeyError, match="outer_core"):
        model.boundary("asthenosphere")


def test_crusts_of_prem():
    assert prem.prem(ocean=True).region(6370e3) == "ocean" and prem.prem(ocean=True).speeds(6370e3)[0] == 1450
    assert prem.prem(crust="upper").speeds(6350e3)[0] == 5800 and prem.prem(crust="lower").speeds(6370e3)[0] == 6800
    assert prem.prem(crust="none").speeds(6371e3)[0] == pytest.approx(4187.5 + 3938.2)
    with pytest.raises(ValueError, match="crust"):
        prem.prem(crust="thick")


def test_ak135():
    """Values of Kennett, Engdahl & Buland (1995), table 3."""
    model = radial_files.model("ak135")
    assert np.allclose(model.speeds(6371e3)[:2], (5800, 3460)) and np.allclose(model.speeds(6361e3)[2], 2720)
    assert np.allclose(np.array(model.speeds(model.radius - 660e3, "below"))[:2], (10790.9, 5960.7), atol=0.8)
    assert np.allclose((model.radius - model.jumps()[::-1]) / 1e3, [20, 35, 210, 410, 660, 2740, 2891.5, 5153.5])
    middle = model.radius - 35e3
    assert model.region(middle) == "upper_mantle" and model.region(middle, "above") == "crust"
    names = dict.fromkeys(model.regions[::-1])
    assert list(names) == ["crust", "upper_mantle", "transition_zone", "lower_mantle", "outer_core", "inner_core"]
    assert 1 / model.inverse_q(middle)[1] == pytest.approx(75.6) and model.parameters(middle)[6] == pytest.approx(
        0, abs=1e-7
    )


TABLE = "0 5.8 3.2 2.6\n30 6.0 3.3 2.7\nmantle\n30 8.0 4.5 3.3\n800 10 6 4.2\n"


def test_tables_of_layers(tmp_path):
    (tmp_path / "own.nd").write_text("# my model\n" + TABLE)
    own = radial_files.model(tmp_path / "own.nd")
    assert own.name == "own" and own.radius == 6371e3 and np.allclose(own.knots / 1e3, [5571, 6341, 6371])
    assert own.regions == ("lower_mantle", "crust") and np.allclose(own.speeds(6356e3), (5900, 3250, 2650))
    assert np.allclose(own.speeds(6341e3), (8000, 4500, 3300))
    (tmp_path / "own.csv").write_text(
        "depth_km,vp,vs,rho,qkappa,qmu\n0,5800,3200,2.6,0,100\n30,6000,3300,2.7,0,100\n"
        "30,8000,4500,3.3,1000,200\n800,10000,6000,4.2,1000,200\n"
    )
    csv = radial_files.model(tmp_path / "own.csv")
    assert np.allclose(csv.speeds(np.linspace(5571e3, 6371e3, 50)), own.speeds(np.linspace(5571e3, 6371e3, 50)))
    assert csv.regions == own.regions and np.allclose(csv.parameters(6000e3)[6:], (1e-3, 5e-3))


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.nd", TABLE + "sea\n", "line 6: 'sea'"),
        ("a.nd", "0 5.8 3.2\n30 6.0 3.3\n", "3 columns"),
        ("a.nd", "0 5.8 3.2 2.6\n", "1 lines"),
        ("a.nd", "0 5.8 3.2 2.6\n30 6 3\n", "line 2: 3 numbers"),
        ("a.nd", "0 5.8 5.2 2.6\n30 6 3 2.7\n", "vs is greater"),
        ("a.nd", "0 5.8 3.2 2.6\n30 6 3 2.7\n20 6 3 2.7\n40 6 3 2.7\n", "they decrease"),
        ("a.csv", "z,vp,vs,rho\n0,1,1,1\n", "column 'z' is unknown"),
        ("a.csv", "depth,vp,vs,rho\n0,1,1\n1,2\n", "a.csv"),
        ("a.txt", "", "not a radial model"),
    ],
)
def test_tables_that_are_wrong(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=match):
        radial_files.model(tmp_path / name)
    with pytest.raises(ValueError, match="no file"):
        radial_files.model(tmp_path / "absent.nd")


@pytest.mark.parametrize("name", ["prem", "prem_ocean", "prem_ti", "ak135"])
def test_written_models_read_back(tmp_path, name):
    model = radial_files.model(name)
    radial_files.write_nd(model, tmp_path / "out.nd")
    back = radial_files.model(tmp_path / "out.nd")
    r = np.linspace(10e3, 6371e3, 4001) + 0.3
    r = r[:-1]
    assert np.allclose(back.speeds(r), model.speeds(r), rtol=1e-5)  # linear between lines
    assert np.allclose(np.array(back.inverse_q(r)), model.inverse_q(r), rtol=2e-3)
    assert set(back.regions) == set(model.regions)


@pytest.mark.parametrize(
    "model", [prem.prem(), prem.prem(True), radial_files.ak135()], ids=("prem", "transverse", "ak135")
)
def test_radii_of_elements_as_those_of_points(model):
    """Rows in one piece, in several, on knots: the same as one by one, from either side; and speeds and losses without other parameters."""
    rng = np.random.default_rng(0)
    near = rng.uniform(1e6, model.radius, (50, 1)) * rng.uniform(0.99, 1, (50, 40))
    r = np.concatenate([rng.uniform(0, model.radius, (50, 40)), np.sort(rng.choice(model.knots, (50, 40))), near])
    for side in ("below", "above"):
        np.testing.assert_allclose(
            model.parameters(r, side), model.parameters(r.ravel(), side).reshape(-1, *r.shape), rtol=1e-13
        )
    for found, wanted in zip(model.medium(r), (*model.speeds(r.ravel()), *model.inverse_q(r.ravel()))):
        np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-12, atol=1e-15)
    assert np.array_equal(model.medium(r, lossy=False)[2], model.medium(r)[2])
