# %% [markdown]
# # A moment tensor from waveforms
#
# Waveforms are linear in the moment tensor: with one run for each of its three components in the plane, the tensor of an event with noise follows by least squares. A
# `Simulation` plans and compiles once for all runs.

# %%
import matplotlib.pyplot as plt
import numpy as np

import craton

NAMES = ("xx", "zz", "xz")
TRUE = {"xx": 0.4e12, "zz": -0.9e12, "xz": 0.7e12}


def event(tensor):
    """A source with a moment tensor, N m."""
    return {"kind": "moment_tensor", "at": [900, -550], "tensor": tensor, "wavelet": {"kind": "gaussian", "tau": 0.05}}


scenario = craton.Scenario(
    title="A small event in two layers",
    domain={"origin": [0, -1000], "size": [2000, 1000], "spacing": 15, "waves": "P-SV"},
    model={
        "kind": "layers",
        "layers": [{"top": 0, "vp": 2000, "vs": 1000, "rho": 2000}, {"top": -300, "vp": 3000, "vs": 1700, "rho": 2300}],
    },
    time={"duration": 1.2, "start": -0.2},
    boundaries={"cpml": {"thickness": 8}},
    source=[event(TRUE)],
    receivers=[{"name": "S", "line": {"from": [300, 0], "to": [1700, 0], "count": 9}}],
)
simulation = craton.Simulation(scenario, device="cpu")

# %%
observed = simulation.run().dataset.velocity
noise = np.random.default_rng(0).standard_normal(observed.shape)
data = observed + 0.1 * float(observed.std()) * noise

elementary = [
    simulation.run(source=event({**dict.fromkeys(NAMES, 0.0), name: 1e12})).dataset.velocity for name in NAMES
]
matrix = np.column_stack([run.values.ravel() for run in elementary])
amounts, *_ = np.linalg.lstsq(matrix, data.values.ravel(), rcond=None)
for name, amount in zip(NAMES, amounts):
    print(f"M{name}: true {TRUE[name]:9.2e}, inverted {1e12 * amount:9.2e} N m")

# %%
fit = (matrix @ amounts).reshape(data.shape)
figure, panels = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for axes, component in zip(panels, (0, 1)):
    for number in range(data.sizes["receiver"]):
        peak = float(abs(data[number]).max())
        axes.plot(data.time, number + 0.6 * data[number, component] / peak, "k", linewidth=0.7)
        axes.plot(data.time, number + 0.6 * fit[number, component] / peak, "r", linewidth=0.9)
    axes.set(title=str(data.component.values[component]), xlabel="time, s", xlim=(-0.1, 1.2))
panels[0].set_ylabel("station; data with noise (black), fit (red)")
plt.show()
