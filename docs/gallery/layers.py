# %% [markdown]
# # Layers and a record section
#
# A strike-slip earthquake of magnitude 4 at 2.5 km depth, below a layer. Stations stand along a line at the surface; traces are drawn over distance, with the travel
# time of the direct S wave. Far from a source velocity is the derivative of the moment rate, and so crosses zero at that time.

# %%
import matplotlib.pyplot as plt
import numpy as np

import craton

scenario = craton.Scenario(
    title="A layer over a half-space",
    domain=craton.Domain(origin=[0, 0, -5000], size=[12_000, 5000, 5000], spacing=125),
    model=craton.Layers(
        layers=[craton.Layer(top=0, vp=3000, vs=1700, rho=2200), craton.Layer(top=-1000, vp=5200, vs=3000, rho=2600)]
    ),
    time=craton.TimeSpan(duration=6),
    source=[
        craton.MomentTensor(
            at=[2000, 2500, -2500], strike=20, dip=80, rake=0, magnitude=4, wavelet=craton.Gaussian(tau=0.2)
        )
    ],
    receivers=[{"name": "L", "line": {"from": [2500, 2500, 0], "to": [10_500, 2500, 0], "count": 17}}],
    output={"sampling": 0.02},
)
result = craton.run(scenario, device="cpu", progress=False)
velocity = result.dataset.velocity
velocity.sizes

# %%
offset = (velocity.x.values - 2000) / 1000
figure, panels = plt.subplots(1, 3, figsize=(11, 5), sharey=True, layout="constrained")
for axes, component in zip(panels, "ENZ"):
    traces = velocity.sel(component=component)
    for distance, trace in zip(offset, traces):
        axes.plot(trace.time, distance + 0.35 * trace / abs(trace).max(), "k", linewidth=0.8)
    axes.set(title=component, xlabel="time, s", xlim=(0, 6))
panels[0].set_ylabel("distance, km; traces scaled one by one")

# A straight ray through both media, by Fermat's principle: the quickest point on the interface.
crossing = np.linspace(0, 12, 2401)[:, None]
times = np.hypot(crossing, 1.5) / 3.0 + np.hypot(offset - crossing, 1.0) / 1.7
panels[1].plot(times.min(axis=0), offset, "r--", label="direct S")
panels[1].legend(loc="lower right")
plt.show()
