# %% [markdown]
# # Full-waveform inversion
#
# A lens in rock, shots on the surface, receivers there and in two wells: vp and vs from the waveforms by L-BFGS with craton's exact gradients. A few iterations on a coarse grid already show
# the lens; `examples/fwi.py` of the repository does it in full.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import craton

LAYER = {"kind": "layers", "layers": [{"top": 0, "vp": 1600, "vs": 900, "rho": 2000}]}
LENS = {"shape": "sphere", "center": [300, 0, -130], "radius": 45, "dvp": 0.1, "dvs": 0.1}


def section(model):
    """The section with a model: shots on the surface, receivers there and along both sides."""
    return craton.Scenario(
        title="A lens",
        domain={"origin": [0, -260], "size": [600, 260], "spacing": 10, "waves": "P-SV"},
        model=model,
        time={"duration": 0.7, "start": -0.18, "step": 0.0025},
        boundaries={"cpml": {"thickness": 6}},
        source=[
            {
                "kind": "force",
                "shots": {"from": [110, 0], "to": [490, 0], "count": 6},
                "force": [0, -1e8],
                "wavelet": {"kind": "ricker", "frequency": 9},
            }
        ],
        receivers=[
            {"name": "T", "line": {"from": [80, 0], "to": [520, 0], "count": 23}},
            {"name": "W", "line": {"from": [80, -20], "to": [80, -190], "count": 9}},
            {"name": "E", "line": {"from": [520, -20], "to": [520, -190], "count": 9}},
        ],
    )


observed = craton.run(section(LAYER | {"anomalies": [LENS]}), device="cpu", progress=False).dataset
problem = craton.Problem(section(LAYER), observed, parameters=("vp", "vs"))
shape, start = problem.shape, problem.m0

# %% [markdown]
# The change of the model is kept smooth and away from the absorbing layers and the receivers on the surface.

# %%
z, x = (problem.grid.axis(axis) for axis in "zx")
inside = np.clip(np.minimum(x - 60, 540 - x) / 30, 0, 1)
below = np.clip(np.minimum(-z - 20, z + 200) / 30, 0, 1)
window = np.broadcast_to((below[:, None] * inside)[:, None, :], shape[1:])
before = problem.fun(start)


def model(v):
    """The model of a vector of changes."""
    smooth = gaussian_filter(np.reshape(v, shape), (0, 1.5, 0, 1.5), mode="constant")
    return start + (0.1 * start.reshape(shape) * window * smooth).ravel()


def misfit(v):
    """The misfit and its gradient by the changes: the transpose of `model` on craton's."""
    value, slope = problem.fun_and_jac(model(v))
    slope = 0.1 * start.reshape(shape) * window * slope.reshape(shape)
    return value / before, gaussian_filter(slope, (0, 1.5, 0, 1.5), mode="constant").ravel() / before


values = [1.0]
best = minimize(
    misfit,
    np.zeros(start.size),
    jac=True,
    method="L-BFGS-B",
    options={"maxiter": 12},
    callback=lambda intermediate_result: values.append(intermediate_result.fun),
)
print(f"misfit after {len(values) - 1} iterations: {values[-1]:.3f} of the first")

# %%
truth = craton.Problem(section(LAYER | {"anomalies": [LENS]}), parameters=("vp", "vs")).m0
changes = {
    "true": 100 * (truth / start - 1).reshape(shape)[1, :, 0],
    "inverted": 100 * (model(best.x) / start - 1).reshape(shape)[1, :, 0],
}
figure, panels = plt.subplots(1, 3, figsize=(12, 2.8), layout="constrained")
for axes, (title, change) in zip(panels, changes.items()):
    image = axes.pcolormesh(x, z, change, cmap="RdBu", vmin=-10, vmax=10)
    axes.set(title=f"vs, {title}", xlabel="x, m", ylabel="z, m", aspect="equal")
figure.colorbar(image, ax=panels[:2], label="change, %", shrink=0.8)
panels[2].semilogy(values, "o-")
panels[2].set(xlabel="iteration", ylabel="misfit over the first")
plt.show()
