"""craton.torch: data and gradients through autograd; runs where PyTorch is installed."""

import sys

import numpy as np
import pytest
from common import refused
from inversecase import BOTH, GRID, Case, long, scenario

import craton
from craton.errors import ResourceError, ScenarioError


@pytest.fixture
def torch():
    """PyTorch, where it is installed."""
    return pytest.importorskip("torch")


def test_a_friendly_word_without_pytorch(monkeypatch):
    """And importing craton.torch does not import it."""
    present = "torch" in sys.modules
    assert craton.torch.layer.__module__ == "craton.torch"
    assert ("torch" in sys.modules) == present
    monkeypatch.setitem(sys.modules, "torch", None)
    refused(ResourceError, "pip install 'craton[torch]'", craton.torch.layer, scenario())


CASES = [GRID["two shots"] | BOTH, {}, long({"dimensions": 3, "steps": 20})]


@pytest.mark.parametrize("tables", CASES, ids=["variables of shots", "one variable", "space"])
def test_a_layer_is_the_problem(tables, torch):
    problem = Case(scenario(**tables)).problem
    layer = craton.torch.layer(problem.scenario)
    fields = [f.requires_grad_() for f in layer.start()]
    out = layer(*fields)
    out = out if isinstance(out, dict) else {layer.variables[0]: out}
    data = problem.data(problem.m0)
    assert set(out) == set(data.data_vars)
    loss = 0.0
    for key, values in out.items():
        expected = np.nan_to_num(data[key].values)
        np.testing.assert_array_equal(values.detach().numpy(), expected)
        observed = np.stack([run[key] for run in problem.observed]).reshape(expected.shape)
        residual = values - torch.tensor(np.nan_to_num(observed))  # 0 where there is no channel
        loss = loss + 0.5 * problem.recordings[0].interval * (residual**2).sum()
    loss.backward()
    assert float(loss.detach()) == pytest.approx(problem.fun(problem.m0), rel=1e-12)
    slope = np.stack([f.grad.numpy().reshape(problem.shape[1:]) for f in fields]).ravel()
    expected = problem.jac(problem.m0)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_layer_among_others(torch):
    """Single precision goes through; what craton does not know is differentiated around it."""
    layer = craton.torch.layer(scenario(), parameters=("vp",), every=2)
    (start,) = layer.start(torch.float32)
    scale = torch.ones(1, requires_grad=True)
    out = layer(start * scale)
    assert out.dtype == torch.float32
    (out**2).sum().backward()
    assert torch.isfinite(scale.grad).all() and float(scale.grad.abs()) > 0


def test_tensors_and_arrays_of_the_cpu_share_their_memory(torch):
    """Parameters, data, and both derivatives: written by one, read by the other."""
    from craton.torch import function, on_host

    class Doubled:  # in place of a layer
        shape, problem = (3,), None

        def vector(self, fields):
            self.given = on_host(fields[0])
            return self.given

        def data(self, m):
            self.returned = [2 * m]
            return self.returned

        def transposed(self, m, derivatives):
            (self.slope,) = derivatives
            self.back = np.array([2 * self.slope])
            return self.back

    layer, field = Doubled(), torch.ones(3, dtype=torch.float64, requires_grad=True)
    out = function().apply(layer, field)[0]
    slope = torch.arange(3, dtype=torch.float64)
    out.backward(slope)
    shared = ((layer.given, field), (layer.returned[0], out), (layer.slope, slope), (layer.back, field.grad))
    assert all(np.shares_memory(array, tensor.detach().numpy()) for array, tensor in shared)
    np.testing.assert_array_equal(field.grad, [0, 2, 4])


def test_wrong_tensors_are_told(torch):
    layer = craton.torch.layer(scenario())
    vp, vs, rho = layer.start()
    for fields, words in (
        ((vp, vs), "2 tensors"),
        ((vp[1:], vs, rho), "layer.vp: has the shape"),
        ((vp, vs, rho.to(torch.float32)), "dtype"),
        ((vp, vs, -rho), "densities that are not positive"),
        ((vp * float("nan"), vs, rho), "not finite"),
    ):
        refused(ScenarioError, words, layer, *fields)
