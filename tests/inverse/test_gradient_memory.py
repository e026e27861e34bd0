"""Memory of the host that a gradient foretells, beside the peak of the arrays that it allocates."""

import numpy as np
import pytest
from test_memory import peak

import craton
from craton.errors import ResourceError
from craton.inverse import host_memory

RICKER = {"kind": "ricker", "frequency": 5, "delay": 0.05}
ROCK = {"kind": "homogeneous", "vp": 2500, "vs": 1400, "rho": 2200}
LOSSY = ROCK | {"qp": 60, "qs": 30, "attenuation": {"band": [2, 20]}}
THOMSEN = {"epsilon": 0.1, "delta": 0.05, "gamma": 0.05}
SHORT = {"model": ROCK, "time": {"duration": 0.1, "start": 0.0}, "run": {"device": "cpu"}}
PLANE = SHORT | {
    "domain": {"origin": [0, -2000], "size": [4000, 2000], "spacing": 12.5},
    "source": [{"kind": "force", "at": [2000, -600], "force": [0, 1e9], "wavelet": RICKER}],
    "receivers": [{"name": "A", "at": [1000, -200]}],
}
ELEMENTS = SHORT | {
    "method": "sem",
    "domain": {"origin": [0, 0, -1600], "size": [1600, 1600, 1600], "element_size": 200},
    "source": [{"kind": "force", "at": [800, 800, -800], "force": [0, 0, 1e9], "wavelet": RICKER}],
    "receivers": [{"name": "A", "at": [700, 800, -200]}],
}


@pytest.mark.parametrize(
    ("tables", "options"),
    [
        (PLANE, {"storage": "boundaries"}),
        (PLANE, {"storage": "increments"}),
        (PLANE | {"model": LOSSY}, {"parameters": ("vp", "vs", "inverse_qp", "inverse_qs", "rho")}),
        (PLANE | {"model": LOSSY | THOMSEN}, {"parameters": ("vp", "vs", *THOMSEN, "rho")}),
        (ELEMENTS, {}),
        (ELEMENTS, {"ranks": 2}),
    ],
    ids=["plane, reversed", "plane, increments", "plane, by Q", "plane, VTI Q", "elements", "elements of two ranks"],
)
def test_memory_of_gradients(tables, options, monkeypatch):
    scenario, options = craton.Scenario(**tables), options | {"device": "cpu"}
    problem = craton.Problem(scenario, **options)
    told = host_memory.gradient_bytes(problem.experiments[0], problem.parameters.names)
    assert f"{told / 2**20:,.1f} MiB of arrays at the peak" in problem.plan
    observed = problem.recordings[0].blank().fillna(0.0) + 1e-9
    del problem
    measured = peak(lambda: craton.gradient(scenario, observed, **options))
    assert abs(measured / told - 1) < 0.1
    monkeypatch.setattr(host_memory, "available", lambda: told - 1)
    with pytest.raises(ResourceError, match="the gradient needs .* of the host's memory"):
        craton.Problem(scenario, **options)
    planned = craton.Problem(scenario, memory=np.inf, **options)
    assert planned.shape[0] == len(planned.parameters.names)
