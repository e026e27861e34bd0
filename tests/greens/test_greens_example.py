"""The example of a moment tensor from a store of Green's functions, in a small form."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[2] / "examples" / "greens_moment_tensor.py"


def loaded():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("greens_moment_tensor", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["greens_moment_tensor"] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_uncertainties_of_a_moment_tensor_hold_the_true_one(tmp_path):
    """Place and moments within what the covariance allows, a fit to the noise, and the picture."""
    example, rng = loaded(), np.random.default_rng(1)
    valley = example.Valley(
        size=4800.0,
        depth=2880.0,
        spacing=160.0,
        height=480.0,
        stations=2,
        reach=(0.1, 0.19),
        event=(2360.0, 2440.0, -1000.0),
        around=(80.0, 80.0, 160.0),
        step=80.0,
        tau=0.2,
        duration=2.1,
        max_frequency=2.0,
    )
    scenario, times, observed, sigma, solution = example.invert(valley, tmp_path, rng)
    misfit = (observed - solution.fit) / sigma
    expected = observed.size - 6
    assert abs((misfit**2).sum() - expected) < 5 * np.sqrt(2 * expected)
    places, six = solution.ensemble(2000, rng)
    assert np.all(np.abs(places.mean(axis=0) - valley.event) < 3 * places.std(axis=0) + valley.step)
    assert np.all(np.abs(six.mean(axis=0) - example.TRUE) < 4 * six.std(axis=0))
    at = np.argmin(np.linalg.norm(solution.places - valley.event, axis=1))
    off = np.linalg.solve(solution.covariances[at], solution.moments[at] - example.TRUE)
    assert off @ (solution.moments[at] - example.TRUE) < 25  # chi squared of six numbers
    file = tmp_path / "picture.png"
    example.draw(valley, scenario, solution, times, observed, sigma, file, rng)
    assert file.stat().st_size > 20_000
