"""Runs of spectral elements from the scenario to the directory OUT, against finite differences of the same file."""

import numpy as np
import pytest
import smallcase

import craton
from craton.cli import main
from craton.scenario import loads

# A wave of 3 Hz at 3000 m/s; records end before anything comes back from the sides, which absorb differently.
TEXT = smallcase.changed(("tau = 0.12, delay = 0.6", "tau = 0.1, delay = 0.5"), ("thickness = 5", "thickness = 10"))
SEM = TEXT.replace('"fd"', '"sem"').replace("spacing = 100", "spacing = 300")


def misfits(found, wanted):
    """Relative L2 difference of velocity at each receiver, over the times of both."""
    times = wanted.time.sel(time=slice(*found.time.values[[0, -1]])).values
    v, w = (found.velocity.interp(time=times, method="cubic").values, wanted.velocity.sel(time=times).values)
    return np.sqrt(((v - w) ** 2).sum(axis=(1, 2)) / (w**2).sum(axis=(1, 2)))


def test_the_same_file_by_both_methods(tmp_path):
    """Explosion below a free surface: spectral elements of 300 m and 20 points a wavelength of finite differences agree within 1 %."""
    path = tmp_path / "same.toml"
    path.write_text(TEXT)
    out = tmp_path / "out"
    words = [
        "run",
        str(path),
        "-o",
        str(out),
        "--quiet",
        "--set",
        "method=sem",
        "--set",
        "domain.spacing=300",
        "--set",
        "output.mesh=true",
    ]
    assert main(words) == 0
    assert {p.name for p in out.iterdir()} >= {"result.zarr", "scenario.toml", "run.json", "mesh.vtu"}
    xarray = pytest.importorskip("xarray")
    wanted = craton.run(loads(TEXT.replace("spacing = 100", "spacing = 50")), progress=False).dataset
    assert misfits(xarray.open_zarr(out / "result.zarr"), wanted).max() < 0.01
    section = xarray.open_zarr(out / "result.zarr", group="snapshots/section")
    assert section.velocity.dims == ("time", "component", "z", "x") and np.isfinite(section.velocity).all()
    assert main(["plot", str(out)]) == 0


def test_sea_floor_receivers_hear_what_the_water_does():
    """Continuity at a fluid-solid interface: the normal velocity on both sides, of which the water's is a derivative of its potential:
    4 % of the peak at 12 points a wavelength."""
    layers = "layers = [ { top = 0, vp = 1500, vs = 0, rho = 1000 }, { top = -500, vp = 3000, vs = 1700, rho = 2300 } ]"
    text = SEM.replace('kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300', f'kind = "layers"\n{layers}')
    text = text.replace("at = [2000, 1500, 0]", "at = [2000, 1500, -500.01]").replace("spacing = 300", "spacing = 250")
    text = text.replace(
        "from = [1000, 1500, 0], to = [1400, 1500, 0]", "from = [2000, 1500, -499.99], to = [2000, 1500, -250]"
    )
    ds = craton.run(loads(text), progress=False).dataset
    rock, water = (ds.velocity.sel(receiver=name).values for name in ("A", "L1"))
    np.testing.assert_allclose(water[2], rock[2], atol=0.04 * np.abs(rock[2]).max())
    assert np.abs(water[0] - rock[0]).max() > 0.1 * np.abs(rock[0]).max()  # it slips along the floor


def test_what_is_wrong_is_told(tmp_path, capfd):
    path = tmp_path / "wrong.toml"
    text = SEM.replace("at = [1500, 1500, -1000]", "at = [1500, 1500, -2600]")
    path.write_text(text.replace("at = [2000, 1500, 0]", "at = [2000, 1500, 10]"))
    assert main(["plan", str(path)]) == 2
    said = capfd.readouterr().err
    assert "source.0.at" in said and "receivers.0.at" in said and "in the air" in said


def test_receivers_near_a_source_are_told():
    near = craton.plan(loads(SEM.replace("at = [2000, 1500, 0]", "at = [1500, 1500, -700]")))
    assert any("within 2 elements of a point source" in text and "A" in text for text in near.warnings)
    assert not any("elements of a point source" in text for text in craton.plan(loads(SEM)).warnings)


def test_fibres_and_the_surface(tmp_path):
    text = SEM.replace(
        'name = "A"\nat = [2000, 1500, 0]',
        'name = "F"\ndas = { along = [[1000, 1500, -10], [2000, 1500, -10]], spacing = 200, gauge = 100 }',
    )
    text = text.replace("plane = { y = 1500 }", "plane = { surface = true }")
    result = craton.run(loads(text), out=tmp_path / "out", progress=False)
    assert result.fibres.strain_rate.shape[0] == 5 and float(np.abs(result.fibres.strain_rate).max()) > 0
    xarray = pytest.importorskip("xarray")
    surface = xarray.open_zarr(tmp_path / "out" / "result.zarr", group="snapshots/section")
    assert surface.velocity.dims == ("time", "component", "y", "x")


def test_anisotropic_media_attenuate():
    """Q of 21 constants: those of an isotropic medium as that medium; with Thomsen's parameters another wave, damped as much."""
    kappa, mu = 2300 * (3000**2 - 4 / 3 * 1700**2), 2300 * 1700**2
    names = {"c11": kappa + 4 / 3 * mu, "c12": kappa - 2 / 3 * mu, "c44": mu}
    same = {"c22": "c11", "c33": "c11", "c13": "c12", "c23": "c12", "c55": "c44", "c66": "c44"}
    constants = ", ".join(f"{name} = {names[same.get(name, name)]:.17g}" for name in (*names, *same))

    def run(medium, lossy=True):
        more = "attenuation = { band = [0.5, 10], frequency = 2 }\nqp = 15\nqs = 10\n" if lossy else ""
        text = SEM.replace('kind = "homogeneous"\n', f'kind = "homogeneous"\n{more}')
        text = text.replace("vp = 3000\nvs = 1700\n", medium)
        changes = ["run.precision=float64", "run.degree=3", "time.duration=1.2", "time.step=0.01"]
        changes.append("boundaries.others=stacey")  # friction in layers goes by the kind of law
        return craton.run(loads(text, changes), progress=False).dataset.velocity.values

    plain = "vp = 3000\nvs = 1700\n"
    isotropic, full = run(plain), run(f"stiffness = {{ {constants} }}\n")
    assert np.linalg.norm(full - isotropic) < 1e-10 * np.linalg.norm(isotropic)
    thomsen = f"{plain}epsilon = 0.1\ndelta = 0.05\ngamma = 0.1\n"
    tilted, lossless, elastic = run(thomsen), run(thomsen, False), run(plain, False)
    assert np.linalg.norm(tilted - isotropic) > 0.05 * np.linalg.norm(isotropic)
    damped = np.abs(isotropic).max() / np.abs(elastic).max()
    assert damped < 0.95 and np.abs(tilted).max() / np.abs(lossless).max() == pytest.approx(damped, abs=0.02)
