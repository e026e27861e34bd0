"""Shared by the tests of Green's functions: scenarios whose stores they build, and forward runs."""

import craton

LAYERS = [{"top": 0, "vp": 2000, "vs": 1100, "rho": 2000}, {"top": -600, "vp": 3000, "vs": 1700, "rho": 2300}]
GROUND = {"kind": "homogeneous", "vp": 2000, "vs": 1100, "rho": 2000}
TENSOR = {"xx": 1e13, "yy": -2e13, "zz": 1.5e13, "xy": 0.7e13, "xz": -0.4e13, "yz": 0.9e13}
SPACE = {
    "domain": {"origin": [400, 350, -1600], "size": [1900, 1800, 1600], "spacing": 100},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.9},
    "boundaries": {"cpml": {"thickness": 4, "frequency": 2.0}},
    "receivers": [{"name": "A", "at": [1500, 1100, 0]}, {"name": "B", "at": [1433, 1331, -333]}],
    "greens": {"from": [1200, 1150, -500], "to": [1300, 1250, 0], "max_frequency": 3.5},
}
PLANE = {
    "domain": {"origin": [0, -2000], "size": [3000, 2000], "spacing": 50, "waves": "P-SV"},
    "model": GROUND | {"qp": 60, "qs": 30},
    "time": {"duration": 2.6},
    "boundaries": {"cpml": {"thickness": 6, "frequency": 2.0}},
    "receivers": [{"name": "A", "at": [2000, 0]}],
    "greens": {"from": [900, -800], "to": [1300, 0], "max_frequency": 4.5},
}
ELEMENTS = {
    "method": "sem",
    "domain": {"origin": [0, 0, -1200], "size": [1600, 1600, 1200], "element_size": 400},
    "model": {"kind": "layers", "layers": LAYERS},
    "time": {"duration": 1.8},
    "receivers": [{"name": "A", "at": [1100, 900, 0]}],
    "greens": {"from": [500, 550, -500], "to": [700, 750, 0], "max_frequency": 3.5},
}
RUN = {"device": "cpu", "threads": 1, "precision": "float64"}


def moment(at, tensor=TENSOR, **wavelet):
    """A source with a moment tensor."""
    if len(at) == 2:
        tensor = {name: value for name, value in tensor.items() if "y" not in name}
    wavelet = {"kind": "gaussian_derivative", "tau": 0.25} | wavelet
    at = at if isinstance(at, dict) else list(at)
    return {"kind": "moment_tensor", "at": at, "tensor": tensor, "wavelet": wavelet}


def scenario(base, at, tensor=TENSOR, tau=0.25, **changes):
    """A scenario with a moment tensor."""
    return craton.Scenario(**{**base, "source": [moment(at, tensor, tau=tau)], "run": RUN, **changes})
