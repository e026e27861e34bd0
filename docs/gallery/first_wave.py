# %% [markdown]
# # A first wave
#
# An explosion in a homogeneous block below a free surface: scenario, plan, run, picture. Nothing is written to disk.

# %%
import matplotlib.pyplot as plt

import craton

scenario = craton.Scenario(
    title="A first wave",
    domain=craton.Domain(origin=[0, -1500], size=[3000, 1500], spacing=10),  # the (x, z) plane, m
    model=craton.Homogeneous(vp=2500, vs=1400, rho=2100),
    time=craton.TimeSpan(duration=0.9),
    source=[craton.Explosion(at=[1500, -500], moment=1e12, wavelet=craton.Gaussian(tau=0.03))],
    receivers=[{"name": "R", "line": {"from": [1500, 0], "to": [2700, 0], "count": 13}}],
    snapshots=[craton.Snapshot(name="section", quantity="velocity", every=0.15)],
)

# %% [markdown]
# The plan says what will be computed before anything is: grid, step, resolution, memory.

# %%
plan = craton.plan(scenario)
print(plan)

# %% [markdown]
# The P wave leaves the source as a circle. At the free surface it is reflected, with its sign turned, and makes an S wave, slower and steeper.

# %%
result = craton.run(scenario, device="cpu", progress=False)
vertical = result.snapshots["section"].velocity.sel(component="Z")
frames = vertical.sel(time=[0.3, 0.45, 0.6], method="nearest")
limit = float(abs(frames).quantile(0.999))
grid = frames.plot(col="time", x="x", y="z", vmin=-limit, vmax=limit, cmap="RdBu_r", figsize=(11, 2.8))
for axes in grid.axs.flat:
    axes.set_aspect("equal")
plt.show()
