"""Shared by the tests of injection: runs that record and runs that inject, and how far records are apart."""

import numpy as np

import craton

RUN = {"device": "cpu", "threads": 1}
LAYERS = [
    {"top": 0, "vp": 2000, "vs": 1100, "rho": 2000},
    {"top": -430, "vp": 3000, "vs": 1700, "rho": 2300},  # cuts cells of 50 and 100 m
]


def ran(base, out=None, anomaly=None, **changes):
    """The result of a run of a case, with an anomaly if there is one."""
    tables = {**base, "run": RUN} | changes
    if out is None:
        tables["recording"] = []
    if anomaly:
        tables["model"] = tables["model"] | {"anomalies": [anomaly]}
    return craton.run(craton.Scenario(**tables), out=out, progress=False)


def injected(out, base, anomaly=None, **changes):
    """The result of a run into which the recorded field comes."""
    injection = [{"recorded": str(out), "name": "box"}]
    return ran(base, None, anomaly, **{"source": [], "injection": injection} | changes)


def off(result, reference, name, less=None):
    """Largest difference at a receiver over the largest value of the reference there; `less` a run
    whose waves are left out of the reference.
    """
    values, exact = (r.dataset.velocity.sel(receiver=name).values for r in (result, reference))
    if less is not None:
        exact = exact - less.dataset.velocity.sel(receiver=name).values
    return np.abs(values - exact).max() / np.abs(exact).max()


def leaves(result, full):
    """Largest value outside over that of the incident wave."""
    values, incident = (r.dataset.velocity.sel(receiver="out").values for r in (result, full))
    return np.abs(values).max() / np.abs(incident).max()
