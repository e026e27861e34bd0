# %% [markdown]
# # Strain along a fibre (DAS)
#
# A fibre records the strain rate along itself, as the mean over a gauge length. Here a cable lies below a valley with a bend in it; an explosion passes.

# %%
import matplotlib.pyplot as plt

import craton

scenario = craton.Scenario(
    title="A fibre with a bend",
    domain={"origin": [0, 0, -900], "size": [2400, 1800, 900], "spacing": 30},
    model={
        "kind": "layers",
        "layers": [{"top": 0, "vp": 1800, "vs": 1000, "rho": 1900}, {"top": -200, "vp": 3200, "vs": 1800, "rho": 2300}],
    },
    time={"duration": 1.8},
    source=[
        {"kind": "explosion", "at": [600, 900, -250], "moment": 1e13, "wavelet": {"kind": "gaussian", "tau": 0.08}}
    ],
    receivers=[
        {
            "name": "F",
            "das": {"along": [[400, 500, -20], [1800, 500, -20], [1800, 1400, -20]], "spacing": 20, "gauge": 20},
        }
    ],
    output={"sampling": 0.005},
)
result = craton.run(scenario, device="cpu", progress=False)
strain = result.fibres.strain_rate
strain.sizes

# %% [markdown]
# Where the fibre turns, at 1400 m, waves begin to come from the side: they arrive almost at once along the second part, and weakly, since a fibre does not feel
# strain across itself.

# %%
figure, (plan, axes) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(1, 2))
plan.plot(result.fibres.x, result.fibres.y, label="fibre")
plan.plot(600, 900, "r*", markersize=12, label="explosion")
plan.set(aspect="equal", xlabel="x, m", ylabel="y, m", xlim=(0, 2400), ylim=(0, 1800))
plan.legend()
limit = 1e6 * float(abs(strain).quantile(0.99))
image = axes.pcolormesh(strain.distance, strain.time, 1e6 * strain.T, vmin=-limit, vmax=limit, cmap="RdBu_r")
axes.axvline(1400, color="k", linewidth=0.6)
axes.set(xlabel="distance along the fibre, m", ylabel="time, s", ylim=(1.8, 0))
figure.colorbar(image, label="strain rate, 10⁻⁶ 1/s")
plt.show()
