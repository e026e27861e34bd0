"""Moment tensor of a small event in a layered section, from surface waves and body waves of nine stations.

    python examples/moment_tensor.py

The data are linear in the tensor, so that conjugate gradients end after as many iterations as it has components, three in the plane
(six in space). Each iteration takes one forward run and one transposed run, whatever the number of stations: the transposed run is
sampled at the source, and gives the derivatives by all components at once, and by position, origin time and wavelet.
"""

import numpy as np

import craton

LAYERS = [
    {"top": 0, "vp": 2000, "vs": 1000, "rho": 2000},
    {"top": -300, "vp": 3000, "vs": 1700, "rho": 2300},
]
NAMES = ("xx", "zz", "xz")
COMPONENTS = ("EE", "ZZ", "EZ")  # the same in the data
TRUE = {"xx": 0.4e12, "zz": -0.9e12, "xz": 0.7e12}
UNIT = 1e12


def scenario(tensor, width=2000, depth=1000, spacing=20, duration=0.9):
    """Return the event with a moment tensor, N m."""
    return craton.Scenario(
        domain={"origin": [0, -depth], "size": [width, depth], "spacing": spacing, "waves": "P-SV"},
        model={"kind": "layers", "layers": LAYERS},
        time={"duration": duration, "start": -0.2},
        boundaries={"cpml": {"thickness": 8}},
        source=[
            {
                "kind": "moment_tensor",
                "at": [0.45 * width, -0.55 * depth],
                "tensor": tensor,
                "wavelet": {"kind": "gaussian", "tau": 0.05},
            }
        ],
        receivers=[
            {"name": "S", "line": {"from": [0.15 * width, 0], "to": [0.85 * width, 0], "count": 9}}
        ],
        run={"precision": "float64"},
    )


def invert(observed, iterations=3, report=print, **size):
    """Return the moment tensor that fits the data, by conjugate gradients, N m.

    Parameters
    ----------
    observed : xarray.Dataset
    iterations : int
    report : callable
    size : float by name
        Of `scenario`.
    """

    def run(values, data):
        """Misfit with the data, and its gradient by the components: one run forward, one back."""
        tensor = {name: UNIT * float(v) for name, v in zip(NAMES, values)}
        problem = craton.Problem(scenario(tensor, **size), data)
        slope = problem.by_sources().moment.sel(tensor=list(COMPONENTS)).values[0]
        return problem.fun(problem.m0), UNIT * slope

    values = np.eye(len(NAMES))[0]  # any but nothing
    misfit, slope = run(values, observed)
    first, direction, silent = misfit, -slope, 0 * observed
    for n in range(iterations):
        # the misfit of the direction with silence is half the squared norm of its data
        curvature, bent = run(direction / np.linalg.norm(direction), silent)
        scale = np.linalg.norm(direction)
        step = (slope @ slope) / (2 * curvature * scale**2)
        values = values + step * direction
        before, slope = slope @ slope, slope + step * scale * bent
        misfit -= 0.5 * step * before
        direction = -slope + (slope @ slope) / before * direction
        report(
            f"iteration {n + 1}: misfit {misfit / first:.3g} of the first, tensor {UNIT * values}"
        )
    return {name: UNIT * float(v) for name, v in zip(NAMES, values)}


def main():
    """Invert data of a tensor with 2 % of noise."""
    observed = craton.Problem(scenario(TRUE)).data()
    noise = np.random.default_rng(0).standard_normal(observed.velocity.shape)
    observed["velocity"] += 0.02 * float(observed.velocity.std()) * noise
    inverted = invert(observed)
    for name, value in TRUE.items():
        print(f"M{name} {value:9.3g} N m, inverted {inverted[name]:9.3g}")


if __name__ == "__main__":
    main()
