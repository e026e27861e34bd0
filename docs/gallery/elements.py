# %% [markdown]
# # A box of spectral elements
#
# The same scenario by both methods: finite differences on a grid, spectral elements on a mesh whose faces follow the interface. Only the size of the grid or mesh and
# the absorbing sides are named differently.

# %%
import matplotlib.pyplot as plt

import craton

tables = {
    "title": "Two methods",
    "model": {
        "kind": "layers",
        "layers": [{"top": 0, "vp": 3000, "vs": 1700, "rho": 2200}, {"top": -800, "vp": 4500, "vs": 2600, "rho": 2500}],
    },
    "time": {"duration": 2.6},
    "source": [
        {"kind": "force", "at": [1500, 2000, -400], "force": [0, 0, 1e12], "wavelet": {"kind": "gaussian", "tau": 0.12}}
    ],
    "receivers": [{"name": "S", "line": {"from": [1900, 2000, 0], "to": [3500, 2000, 0], "count": 5}}],
    "output": {"sampling": 0.01},
}
box = {"origin": [0, 0, -3200], "size": [4800, 4000, 3200]}
grid = craton.Scenario(domain=box | {"spacing": 80}, **tables)
mesh = craton.Scenario(method="sem", domain=box | {"element_size": 400}, boundaries={"others": "pml"}, **tables)
print(craton.plan(mesh))

# %%
by_grid = craton.run(grid, device="cpu", progress=False).dataset.velocity
by_mesh = craton.run(mesh, device="cpu", progress=False).dataset.velocity

# %%
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for number, name in enumerate(by_grid.receiver.values):
    pair = [v.sel(receiver=name, component="Z") for v in (by_grid, by_mesh)]
    peak = float(abs(pair[1]).max())
    for trace, style, label in zip(pair, ("k-", "r--"), ("finite differences", "spectral elements")):
        axes.plot(trace.time, number + 0.45 * trace / peak, style, linewidth=1, label=label * (number == 0))
axes.set(xlabel="time, s", ylabel="station", xlim=(0, 2.6), title="vertical velocity, scaled")
axes.legend(loc="upper left")
plt.show()

# %%
common = by_grid.time.values[by_grid.time.values > 0]
first, second = (v.interp(time=common) for v in (by_grid, by_mesh))
misfit = float((((first - second) ** 2).sum() / (second**2).sum()) ** 0.5)
print(f"relative difference {100 * misfit:.1f} %")
