# %% [markdown]
# # Gravity of a basin
#
# A sedimentary basin as a layer of prisms: its attraction and vertical gradient at the surface, with a statement of the error of each.

# %%
import matplotlib.pyplot as plt
import numpy as np

import craton.gravity

easting, northing = np.arange(0.0, 40_000, 500), np.arange(0.0, 30_000, 500)
x, y = np.meshgrid(easting, northing)
depth = 3200 * np.exp(-(((x - 19e3) / 8e3) ** 2) - ((y - 14e3 - 0.2 * (x - 19e3)) / 5e3) ** 2)
contrast = -550 + 70 * depth / 1000  # kg/m3: the fill gets denser with depth

half = 250.0
prisms = np.column_stack([v.ravel() for v in (x - half, x + half, y - half, y + half, -depth, 0 * depth)])
points = (x, y, np.full(x.shape, 2.0))
fields = craton.gravity.forward(prisms, contrast.ravel(), points, fields=("g_z", "g_zz"), device="cpu")
for name in fields:
    print(f"{name}: by {fields.method}, error at most {fields.error[name]:.1e}")

# %%
figure, panels = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
pictures = (
    ("depth of the basement, m", depth, "viridis"),
    ("g_z, mGal", fields["g_z"], "RdBu_r"),
    ("g_zz, Eotvos", fields["g_zz"], "RdBu_r"),
)
for axes, (title, values, colours) in zip(panels, pictures):
    limit = abs(values).max()
    limits = {"vmin": -limit, "vmax": limit} if colours == "RdBu_r" else {}
    image = axes.pcolormesh(x / 1000, y / 1000, values, cmap=colours, **limits)
    axes.set(title=title, xlabel="easting, km", aspect="equal")
    figure.colorbar(image, ax=axes, shrink=0.8)
panels[0].set_ylabel("northing, km")
plt.show()

# %% [markdown]
# A slab of the greatest depth bounds the anomaly: 2 π G Δρ h. The basin is narrower than a slab, so its anomaly is smaller.

# %%
deepest = np.unravel_index(depth.argmax(), depth.shape)
slab = 2e5 * np.pi * 6.674e-11 * contrast[deepest] * depth[deepest]
print(f"lowest {fields['g_z'].min():.1f} mGal, slab {slab:.1f} mGal")
