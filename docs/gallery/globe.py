# %% [markdown]
# # A chunk of the Earth
#
# PREM in a chunk of the cubed sphere, coarse: periods of 80 s and longer. Seismograms over distance show the Rayleigh wave and the Love wave, which is faster;
# `examples/earth_chunk.toml` of the repository has body waves with their travel times.

# %%
import matplotlib.pyplot as plt

import craton

scenario = craton.Scenario(
    title="An earthquake at 150 km depth, PREM",
    method="sem",
    domain={"chunk": {"longitude": 21, "latitude": 38.5, "width": [24, 8], "period": 80, "bottom": "1000 km"}},
    model={"kind": "prem"},
    time={"duration": 520},
    source=[
        {
            "kind": "moment_tensor",
            "at": {"longitude": 12, "latitude": 38.4, "depth": "150 km"},
            "strike": 250,
            "dip": 40,
            "rake": -80,
            "magnitude": 6.5,
            "wavelet": {"kind": "gaussian", "tau": 24},
        }
    ],
    receivers=[
        {
            "name": "S",
            "line": {
                "from": {"longitude": 15, "latitude": 38.5},
                "to": {"longitude": 31, "latitude": 38.5},
                "count": 9,
            },
        }
    ],
    output={"waveforms": ["displacement"], "sampling": 2},
)
plan = craton.plan(scenario)
plan

# %%
result = craton.run(scenario, device="cpu", progress=False)
radial = result.rotate()
figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for axes, component, title in zip(panels, "ZT", ("up: Rayleigh wave", "transverse: Love wave")):
    for trace in radial.displacement.sel(component=component):
        distance = float(trace.longitude) - 12
        axes.plot(trace.time, distance + 0.9 * trace / abs(trace).max(), "k", linewidth=0.8)
    axes.set(title=title, xlabel="time, s", xlim=(0, 520))
panels[0].set_ylabel("degrees of longitude from the source")
plt.show()
