# %% [markdown]
# # An ocean
#
# Water over a sea floor: an airgun near the surface, a streamer behind it, and sea-bottom stations. A layer with vs = 0 is a fluid.

# %%
import matplotlib.pyplot as plt

import craton

scenario = craton.Scenario(
    title="Water over sediment and rock",
    domain={"origin": [0, -2400], "size": [5000, 2400], "spacing": 10, "waves": "P-SV"},
    model={
        "kind": "layers",
        "layers": [
            {"top": 0, "vp": 1500, "vs": 0, "rho": 1025},
            {"top": -600, "vp": 1900, "vs": 800, "rho": 1900},
            {"top": -1100, "vp": 3500, "vs": 2000, "rho": 2400},
        ],
    },
    time={"duration": 2.6},
    boundaries={"top": "free", "others": "cpml"},
    source=[{"kind": "explosion", "at": [800, -10], "moment": 1e12, "wavelet": {"kind": "ricker", "frequency": 8}}],
    receivers=[
        {"name": "H", "line": {"from": [900, -10], "to": [4400, -10], "count": 71}},
        {"name": "B", "line": {"from": [900, -605], "to": [4400, -605], "count": 71}},
    ],
    output={"waveforms": ["pressure", "velocity"], "sampling": 0.005},
    snapshots=[{"name": "section", "quantity": "pressure", "every": 0.3, "stride": 2}],
)
result = craton.run(scenario, device="cpu", progress=False)

# %% [markdown]
# Pressure of the streamer shows the reflection of the sea floor, that of the rock and their multiples. The direct wave is weak: source and streamer lie just below the surface,
# whose reflection cancels it. Stations on the sea floor also see S waves that were converted there.

# %%
data = result.dataset
gathers = {
    "streamer: pressure": data.pressure[:71],
    "sea floor: horizontal velocity": data.velocity.sel(component="E")[71:],
}
figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for axes, (title, traces) in zip(panels, gathers.items()):
    scaled = traces.squeeze() * (0.1 + traces.time.clip(0)) ** 1.5
    limit = float(abs(scaled).quantile(0.98))
    axes.pcolormesh(traces.x - 800, traces.time, scaled.transpose("time", ...), vmin=-limit, vmax=limit, cmap="Greys")
    axes.set(title=title, xlabel="offset, m", ylim=(2.6, 0))
panels[0].set_ylabel("time, s")
plt.show()

# %%
frames = result.snapshots["section"].pressure.sel(time=[0.6, 1.2], method="nearest")
limit = float(abs(frames).quantile(0.995))
grid = frames.plot(col="time", x="x", y="z", vmin=-limit, vmax=limit, cmap="RdBu_r", figsize=(11, 3))
for axes in grid.axs.flat:
    axes.axhline(-600, color="k", linewidth=0.6)
    axes.axhline(-1100, color="k", linewidth=0.6)
plt.show()
