"""The examples of inversion in small forms: models come near the true ones, kernels and images are where they must be."""

import numpy as np
import pytest
from paths import ROOT
from pointcase import example

import craton

pytestmark = pytest.mark.long


def quiet(text):
    """Report nothing."""


def test_inversion_of_a_section_with_lenses():
    """The model comes near the true one, not only the data."""
    fwi = example("fwi")
    survey = fwi.Survey(480, 260, 10, 10, shots=6, receivers=16, duration=0.7, smoothing=1, layer=5)
    problem, truth, models, values = fwi.invert(survey, 10, report=quiet)
    assert values[-1] < 0.2 and (np.diff(values) < 0).all()
    assert fwi.error(truth, models[-1], problem) < 1 / 3  # 0.28; 0.19 after 20


def test_joint_inversion_halves_the_error_of_density():
    module = example("joint")
    small = module.Survey(480, 240, 10, 12, shots=3, receivers=9, stations=15, duration=0.55, layer=6)
    inversion = module.Inversion(small)
    alone, joint = (inversion.errors(inversion.run(both, iterations=6, report=quiet)) for both in (False, True))
    assert joint["rho"] < 0.5 * alone["rho"]
    assert joint["vs"] < 0.75 and joint["vp"] < 0.9


def test_inversion_in_space(monkeypatch):
    """A shot on the free surface of a box and one in each well, for vp and vs."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    box, gradients = example("fwi_3d"), []
    problem, truth, models, values = box.invert(box.SMALL, 3, report=quiet, gradients=gradients)
    assert len(problem.recordings) == 5 and problem.shape == (2, 16, 21, 21)
    errors = [box.error(truth, m, problem) for m in models]
    assert values[-1] < 0.3 and (np.diff(values) < 0).all(), values
    assert errors[-1] < 0.85 and (np.diff(errors) < 0).all(), errors
    history = box.history(box.SMALL, problem, truth, models, values, gradients)
    assert history["error_of_vs"] == errors and history["shots"] == 5
    assert len(history["seconds_of_gradients"]) >= 3 and min(history["seconds_of_gradients"]) > 0.01


def test_a_moment_tensor_in_three_iterations():
    """Each of them one run forward and one back."""
    event, size = example("moment_tensor"), {"width": 800, "depth": 600, "spacing": 20, "duration": 0.5}
    observed = craton.Problem(event.scenario(event.TRUE, **size)).data()
    inverted = event.invert(observed, report=quiet, **size)
    for name, value in event.TRUE.items():
        assert inverted[name] == pytest.approx(value, abs=1e-6 * event.UNIT)


def test_an_image_shows_reflectors_where_they_are():
    """The image is largest at the top and bottom of the layer that reflects first."""
    migration = example("rtm")
    small = migration.Survey(600, 360, 6, 22, 5, 30, duration=0.45, layer=8, muted=6)
    image = np.abs(migration.image(small).image)
    for across, depth in ((slice(150, 250), 0.4), (slice(350, 450), 0.5)):  # beside the fault
        brightest = float(image.sel(x=across).mean("x").idxmax("z"))
        assert abs(brightest / small.depth + depth) < 0.09


def test_a_travel_time_depends_on_a_banana_with_a_hole():
    """The kernel adds up to minus the travel time of the ray, and is small on the ray."""
    banana = example("banana_doughnut")
    path = banana.Path(9e3, 3e3, 1.5e3, 9e3, 9e3, 1.5e3, frequency=1.0, degree=3)
    kernels = banana.kernel(path)
    assert -float((kernels.kernel * kernels.volume).sum()) == pytest.approx(path.travel_time, rel=0.03)
    y, z, values = banana.section(kernels, "x", 6000, 1.0)
    on_ray = np.argmin(np.hypot(y - path.width / 2, z - 1e3 * banana.ray(path)[1][50]))
    assert abs(values[on_ray]) < 0.4 * np.abs(values).max()


def test_a_banana_in_a_chunk_of_the_earth_says_what_a_faster_ball_does(tmp_path):
    """The travel time of runs with a ball faster and slower, and of all that is faster."""
    pytest.importorskip("obspy")
    banana = example("banana_doughnut_prem")
    model = (("kind", "radial"), ("file", str(ROOT / "examples" / "files" / "prem_no_crust.nd")))
    size = {"distance": 24.0, "bottom": 1500e3, "width": (36.0, 14.0), "elements": (10, 4)}
    path = banana.Path(**size, period=60.0, degree=3, precision="float64", model=model)
    kernels = banana.kernel(path)
    by_kernel, by_runs = banana.check(path, kernels, radius=400e3, change=5e-4)
    assert by_kernel == pytest.approx(by_runs, rel=1e-6) and by_kernel < -0.002
    assert -float((kernels.kernel * kernels.volume).sum()) == pytest.approx(path.arrival[0], rel=0.04)
    banana.draw(path, kernels, tmp_path / "banana.png")
    assert (tmp_path / "banana.png").stat().st_size > 20_000
