# %% [markdown]
# # A mountain and a lake
#
# Topography is an elevation over x; below a water level it is filled. Waves climb the mountain, and the lake rings.

# %%
import matplotlib.pyplot as plt
import numpy as np

import craton


def ground(x):
    """Elevation of the ground, m: a mountain, and a basin that the lake fills."""
    return 250 + 900 * np.exp(-(((x - 5500) / 900) ** 2)) - 330 * np.exp(-(((x - 2500) / 700) ** 2))


scenario = craton.Scenario(
    title="A mountain and a lake",
    domain={"origin": [0, -2000], "size": [8000, 3400], "spacing": 20},
    model={
        "kind": "layers",
        "layers": [
            {"top": 1400, "vp": 3600, "vs": 2000, "rho": 2300},
            {"top": -1200, "vp": 5200, "vs": 3000, "rho": 2600},
        ],
        "topography": ground,
        "water": {"level": 150},
    },
    time={"duration": 2.4},
    boundaries={"top": "rigid", "others": "cpml"},  # in the air: nothing arrives there
    source=[
        {
            "kind": "explosion",
            "at": {"x": 4000, "depth": 700},
            "moment": 1e13,
            "wavelet": {"kind": "gaussian", "tau": 0.05},
        }
    ],
    receivers=[{"name": "G", "line": {"from": {"x": 1000, "depth": 0}, "to": {"x": 7500, "depth": 0}, "count": 27}}],
    snapshots=[{"name": "section", "quantity": "velocity", "every": 0.6, "stride": 2}],
)
result = craton.run(scenario, device="cpu", progress=False)

# %%
frames = result.snapshots["section"].velocity.sel(component="Z")
figure, panels = plt.subplots(1, 3, figsize=(11, 2.6), sharey=True, layout="constrained")
x = np.linspace(0, 8000, 400)
for axes, time in zip(panels, (0.6, 1.2, 1.8)):
    frame = frames.sel(time=time, method="nearest")
    limit = 0.4 * float(abs(frame).max())
    axes.pcolormesh(frame.x, frame.z, frame, vmin=-limit, vmax=limit, cmap="RdBu_r")
    axes.plot(x, ground(x), "k", linewidth=1)
    axes.plot([1500, 3500], [150, 150], color="tab:blue", linewidth=1)
    axes.set(title=f"{float(frame.time):.1f} s", aspect="equal", xlabel="x, m", ylim=(-2000, 1400))
panels[0].set_ylabel("elevation, m")
plt.show()

# %% [markdown]
# The largest velocity along the ground: most above the source, at 4000 m, and more on the summit, at 5500 m, than on its flanks.

# %%
peak = (result.dataset.velocity**2).sum("component").max("time") ** 0.5
figure, axes = plt.subplots(figsize=(9, 2.6), layout="constrained")
axes.plot(peak.x, 100 * peak, "o-")
axes.set(xlabel="x, m", ylabel="peak velocity, cm/s", ylim=(0, None))
plt.show()
