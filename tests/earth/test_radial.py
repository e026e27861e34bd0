"""Radial Earth models: PREM against the published numbers, AK135, tables, and what is written for TauP."""

import sys

import numpy as np
import pytest
from common import refused
from earthcase import PREM, RADIUS
from paths import SHARED

from craton.model.globe import prem, radial, radial_files

EARTH = SHARED / "references" / "earth"
TI = prem.prem(transverse=True)
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


def test_prem_against_its_published_tables():
    """Table I, too: 5.974e24 kg; I = 0.3308 M R^2; and Qp of the upper crust, 1456."""
    for r, side, *speeds, kappa, mu in PUBLISHED:
        vp, vs, rho = np.array(PREM.speeds(r * 1e3, side)).ravel()
        assert np.allclose((vp, vs, rho), speeds, rtol=3e-5, atol=0.2), r  # the table has six digits
        moduli = rho * (vp**2 - 4 / 3 * vs**2) / 1e8, rho * vs**2 / 1e8
        assert np.allclose(moduli, (kappa, mu), rtol=2e-4, atol=0.6), r
    model, (x, w) = prem.prem(ocean=True), np.polynomial.legendre.leggauss(8)  # exact for their degree: 3 + 4
    low, high = model.knots[:-1, None], model.knots[1:, None]
    r = (low + high) / 2 + (high - low) / 2 * x
    shell = (high - low) / 2 * w * model.parameters(r, piece=np.arange(13)[:, None])[0] * 4 * np.pi * r**2
    assert shell.sum() == pytest.approx(5.974e24, rel=2e-4)
    assert (2 / 3 * shell * r**2).sum() / shell.sum() / model.radius**2 == pytest.approx(0.3308, rel=2e-4)
    qp, qs = 1 / np.array(PREM.medium(6365e3)[3:])
    assert qs == pytest.approx(600) and qp == pytest.approx(1456, abs=1)
    assert PREM.medium(2000e3)[4] == 0  # a fluid has no shear loss


@pytest.mark.skipif(not EARTH.exists(), reason="shared/ is not beside the checkout")
def test_prem_against_the_reference_program(monkeypatch):
    monkeypatch.syspath_prepend(str(EARTH))
    sys.modules.pop("prem", None)
    import prem as reference

    r = np.concatenate([np.linspace(1, 6371, 3000), PREM.knots[1:-1] / 1e3])
    for side, sign in (("below", "-"), ("above", "+")):
        values, expected = PREM.parameters(r * 1e3, side), reference.prem(r, side=sign)
        assert np.allclose(PREM.speeds(r * 1e3, side), expected[[1, 2, 0]], rtol=1e-12)
        assert np.allclose(values[6:8], 1 / expected[5:7], rtol=1e-12, atol=0)


def test_transversely_isotropic_prem():
    """Speeds and eta at 80 km depth, from the published polynomials by hand."""
    assert TI.anisotropic and not PREM.anisotropic
    rho, vpv, vph, vsv, vsh, eta = TI.parameters(6291e3)[:6]
    assert np.allclose((vpv, vph, vsv, vsh, eta), (7959.1, 8150.1, 4408.8, 4561.9, 0.92210), rtol=1e-4)
    a, c, f, l, n = TI.moduli(6291e3)
    assert (f, c, n) == pytest.approx((eta * (a - 2 * l), rho * vpv**2, rho * vsh**2))
    r = np.array([6291e3, 6200e3])  # PREM's isotropic polynomials are a fit to these averages
    assert np.allclose(TI.speeds(r)[:2], PREM.speeds(r)[:2], rtol=2e-3)
    assert np.allclose(TI.speeds(4000e3), PREM.speeds(4000e3), rtol=1e-12)


def test_stiffness_about_any_axis():
    """The strain of stretching along the axis gives the stress C n n + F (I - n n)."""
    moduli = a, c, f, l, n = TI.moduli(6200e3)
    upright = radial.stiffness(moduli, np.array([0.0, 0.0, 1.0]))
    expected = np.diag([a, a, c, l, l, n])
    expected[0, 1] = expected[1, 0] = a - 2 * n
    expected[:2, 2] = expected[2, :2] = f
    assert np.allclose(upright, expected, atol=1e-12 * c)
    axis = np.array([1.0, 2.0, -2.0]) / 3
    turned, strain = radial.stiffness(moduli, axis), np.outer(axis, axis)
    voigt = np.array([*np.diag(strain), 2 * strain[1, 2], 2 * strain[0, 2], 2 * strain[0, 1]])
    stress = c * strain + f * (np.eye(3) - strain)
    assert np.allclose(turned @ voigt, [*np.diag(stress), stress[1, 2], stress[0, 2], stress[0, 1]], rtol=1e-12)
    assert np.linalg.eigvalsh(turned).min() == pytest.approx(np.linalg.eigvalsh(upright).min(), rel=0.3)


def test_sides_and_jumps_of_prem():
    assert np.allclose(PREM.jumps() / 1e3, [1221.5, 3480, 5701, 5971, 6151, 6346.6, 6356])
    assert PREM.region(6346.6e3) == "upper_mantle" and PREM.region(6346.6e3, "above") == "crust"
    assert PREM.boundary("outer_core") == (1221.5e3, 3480e3)
    assert PREM.slowest(6346.6e3, RADIUS) == 3200 and PREM.slowest(6151e3, 6346.6e3) == pytest.approx(4418.85, abs=0.1)
    assert PREM.slowest(2000e3, 3480e3) == pytest.approx(8064.8, abs=0.1)
    assert prem.prem(ocean=True).region(6370e3) == "ocean" and prem.prem(ocean=True).speeds(6370e3)[0] == 1450
    refused(ValueError, "6372", PREM.speeds, 6372e3)
    refused(KeyError, "outer_core", PREM.boundary, "asthenosphere")


def test_ak135():
    """Values of Kennett, Engdahl & Buland (1995), table 3."""
    model = radial_files.model("ak135")
    middle = model.radius - 35e3
    assert np.allclose(model.speeds(RADIUS)[:2], (5800, 3460)) and np.allclose(model.speeds(6361e3)[2], 2720)
    assert np.allclose(np.array(model.speeds(model.radius - 660e3, "below"))[:2], (10790.9, 5960.7), atol=0.8)
    assert np.allclose((model.radius - model.jumps()[::-1]) / 1e3, [20, 35, 210, 410, 660, 2740, 2891.5, 5153.5])
    assert model.region(middle) == "upper_mantle" and model.region(middle, "above") == "crust"
    names = dict.fromkeys(model.regions[::-1])
    assert list(names) == ["crust", "upper_mantle", "transition_zone", "lower_mantle", "outer_core", "inner_core"]
    assert 1 / model.medium(middle)[4] == pytest.approx(75.6)
    assert model.parameters(middle)[6] == pytest.approx(0, abs=1e-7)


TABLE = "0 5.8 3.2 2.6\n30 6.0 3.3 2.7\nmantle\n30 8.0 4.5 3.3\n800 10 6 4.2\n"
CSV = "depth_km,vp,vs,rho,qkappa,qmu\n0,5800,3200,2.6,0,100\n30,6000,3300,2.7,0,100\n30,8000,4500,3.3,1000,200\n"
WRONG = [
    ("a.nd", TABLE + "sea\n", "line 6: 'sea'"),
    ("a.nd", "0 5.8 3.2\n30 6.0 3.3\n", "3 columns"),
    ("a.nd", "0 5.8 3.2 2.6\n", "1 lines"),
    ("a.nd", "0 5.8 3.2 2.6\n30 6 3\n", "line 2: 3 numbers"),
    ("a.nd", "0 5.8 5.2 2.6\n30 6 3 2.7\n", "vs is greater"),
    ("a.nd", "0 5.8 3.2 2.6\n30 6 3 2.7\n20 6 3 2.7\n40 6 3 2.7\n", "they decrease"),
    ("a.csv", "height,vp,vs,rho\n0,1,1,1\n", "column 'height' is unknown"),
    ("a.csv", "depth,vp,vs,rho\n0,1,1\n1,2\n", "a.csv"),
    ("a.txt", "", "not a radial model"),
]


def test_tables_of_layers(tmp_path):
    (tmp_path / "own.nd").write_text("# my model\n" + TABLE)
    (tmp_path / "own.csv").write_text(CSV + "800,10000,6000,4.2,1000,200\n")
    own, csv = (radial_files.model(tmp_path / name) for name in ("own.nd", "own.csv"))
    assert own.name == "own" and own.radius == RADIUS and np.allclose(own.knots / 1e3, [5571, 6341, 6371])
    assert own.regions == ("lower_mantle", "crust") and np.allclose(own.speeds(6356e3), (5900, 3250, 2650))
    assert np.allclose(own.speeds(6341e3), (8000, 4500, 3300))
    r = np.linspace(5571e3, RADIUS, 50)
    assert np.allclose(csv.speeds(r), own.speeds(r)) and csv.regions == own.regions
    assert np.allclose(csv.parameters(6000e3)[6:], (1e-3, 5e-3))
    values = [3300, 8000, 8200, 4400, 4500, 0.9]
    rows = "\n".join(",".join(map(str, (depth, *values))) for depth in (0, 6371))
    (tmp_path / "ti.csv").write_text(f"depth_km,rho,vpv,vph,vsv,vsh,eta\n{rows}\n")
    assert np.allclose(radial_files.model(tmp_path / "ti.csv").parameters(6e6)[:6], values)
    for name, text, words in WRONG:
        (tmp_path / name).write_text(text)
        refused(ValueError, words, radial_files.model, tmp_path / name)
    refused(ValueError, "no file", radial_files.model, tmp_path / "absent.nd")


def test_written_models_read_back(tmp_path):
    """Linear between lines."""
    for name in ("prem", "prem_ocean", "prem_ti", "ak135"):
        model, r = radial_files.model(name), np.linspace(10e3, RADIUS, 4001)[:-1] + 0.3
        radial_files.write_nd(model, tmp_path / "out.nd")
        back = radial_files.model(tmp_path / "out.nd")
        assert np.allclose(back.speeds(r), model.speeds(r), rtol=1e-5), name
        assert np.allclose(back.medium(r)[3:], model.medium(r)[3:], rtol=2e-3), name
        assert set(back.regions) == set(model.regions), name


def test_radii_of_elements_as_those_of_points():
    """Rows in one piece, in several, on knots: the same as one by one, from either side; and speeds and losses without other parameters."""
    for model in (PREM, TI, radial_files.ak135()):
        rng = np.random.default_rng(0)
        near = rng.uniform(1e6, model.radius, (50, 1)) * rng.uniform(0.99, 1, (50, 40))
        r = np.concatenate([rng.uniform(0, model.radius, (50, 40)), np.sort(rng.choice(model.knots, (50, 40))), near])
        for side in ("below", "above"):
            one_by_one = model.parameters(r.ravel(), side).reshape(-1, *r.shape)
            np.testing.assert_allclose(model.parameters(r, side), one_by_one, rtol=1e-13)
        expected = np.stack([*model.speeds(r.ravel()), *radial.inverse_q(model.parameters(r.ravel()))])
        np.testing.assert_allclose(np.reshape(model.medium(r), expected.shape), expected, rtol=1e-12, atol=1e-15)
        assert np.array_equal(model.medium(r, lossy=False)[2], model.medium(r)[2])
