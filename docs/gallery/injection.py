# %% [markdown]
# # Soil in a box of a region
#
# A region is computed once, on a grid for rock; it records its waves at points around a box. The box, on a grid four times as fine, takes them in: with
# soil and without, as often as wanted. [More about injection](../injection.md).

# %%
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import craton

rock = {
    "kind": "layers",
    "layers": [{"top": 0, "vp": 3000, "vs": 1700, "rho": 2200}, {"top": -1500, "vp": 4500, "vs": 2600, "rho": 2500}],
}
region = craton.Scenario(
    title="A region",
    domain={"origin": [-6000, -4000], "size": [8960, 4000], "spacing": 80, "waves": "P-SV"},
    model=rock,
    time={"duration": 5.5},
    boundaries={"cpml": {"thickness": 10}},
    source=[
        {
            "kind": "moment_tensor",
            "at": [-4000, -2400],
            "tensor": {"xx": 1e13, "zz": -1e13, "xz": 0.4e13},
            "wavelet": {"kind": "ricker", "frequency": 1.2},
        }
    ],
    recording=[{"name": "site", "from": [-900, -400], "to": [900, 0], "sampling": 100}],
    run={"order": 8},
)
folder = tempfile.TemporaryDirectory()
craton.run(region, out=folder.name, device="cpu", progress=False)

# %%
soil = {"shape": "box", "min": [-600, -1000, -160], "max": [600, 1000, 0], "vp": 1100, "vs": 500, "rho": 1800}


def site(anomalies):
    """The box with bodies in it, and some ground around it for what they scatter."""
    return craton.Scenario(
        title="The site",
        domain={"origin": [-1500, -1000], "size": [3000, 1000], "spacing": 20, "waves": "P-SV"},
        model=rock | {"anomalies": anomalies},
        time={"duration": 5.5},
        boundaries={"cpml": {"thickness": 10, "frequency": 1.2}},
        injection=[{"recorded": folder.name, "name": "site"}],
        receivers=[{"name": "S", "line": {"from": [-780, 0], "to": [780, 0], "count": 27}}],
    )


records = {
    title: craton.run(site(bodies), device="cpu", progress=False).dataset.velocity.sel(component="E")
    for title, bodies in (("rock", []), ("soil", [soil]))
}
folder.cleanup()

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
scale = 150 / float(abs(records["soil"]).max())
for axes, (title, velocity) in zip(panels, records.items()):
    for trace in velocity.transpose("receiver", "time"):
        axes.plot(float(trace.x) + scale * trace, trace.time, "k", linewidth=0.7)
    axes.set(title=f"{title}, velocity to the east", xlabel="x, m")
panels[0].set(ylabel="time, s", ylim=(5.5, 0.5))
plt.show()

# %% [markdown]
# A layer of 160 m with 500 m/s resonates at vs / 4h = 0.78 Hz (dashed): there is the first peak of the ratio of spectra in the middle. The others are not its odd
# multiples only, as in one dimension: surface waves run to and fro between the ends of the soil.

# %%
figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
spectra = {}
for title, velocity in records.items():
    trace = velocity.sel(receiver="S14").values
    step = float(velocity.time[1] - velocity.time[0])
    count = int(40 / step)
    power = np.abs(np.fft.rfft(trace, count)) ** 2
    frequency = np.fft.rfftfreq(count, step)
    spectra[title] = np.sqrt(np.convolve(power, np.ones(9) / 9, "same"))
shown = (frequency > 0.3) & (frequency < 2.8)
axes.plot(frequency[shown], (spectra["soil"] / spectra["rock"])[shown])
axes.axvline(500 / 4 / 160, color="0.5", linestyle="--")
axes.set(xlabel="frequency, Hz", ylabel="soil / rock", ylim=(0, None))
plt.show()
