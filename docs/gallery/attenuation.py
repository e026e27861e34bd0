# %% [markdown]
# # Attenuation
#
# The same path through rock without loss and with Q = 30. Waves with attenuation are smaller, and broader: high frequencies are lost first, and travel a little faster.

# %%
import matplotlib.pyplot as plt
import numpy as np

import craton


def run(quality=None):
    """Velocity of a line of receivers, through rock of a Q, or without loss."""
    rock = {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300}
    if quality:
        rock |= {"qp": quality, "qs": quality, "attenuation": {"band": [1, 20], "frequency": 6}}
    scenario = craton.Scenario(
        title=f"Q = {quality}",
        domain={"origin": [0, -1200], "size": [4992, 1200], "spacing": 12},
        model=rock,
        time={"duration": 2},
        boundaries={"top": "cpml", "others": "cpml"},
        source=[
            {"kind": "explosion", "at": [500, -600], "moment": 1e12, "wavelet": {"kind": "ricker", "frequency": 8}}
        ],
        receivers=[{"name": "R", "line": {"from": [1000, -600], "to": [4000, -600], "count": 4}}],
        run={"order": 8},
    )
    result = craton.run(scenario, device="cpu", progress=False)
    return result.dataset.velocity.sel(component="E")


lossless, lossy = run(), run(30)

# %%
figure, (axes, spectra) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
for number in range(lossless.sizes["receiver"]):
    distance = float(lossless.x[number]) - 500
    peak = float(abs(lossless[number]).max())
    axes.plot(lossless.time, distance + 400 * lossless[number] / peak, "k", linewidth=0.8)
    axes.plot(lossy.time, distance + 400 * lossy[number] / peak, "r", linewidth=0.8)
axes.set(xlabel="time, s", ylabel="distance, m", title="without loss (black), Q = 30 (red)", xlim=(0, 2))

# The ratio of two spectra falls as exp(-pi f t / Q) with the travel time t between two stations.
step = float(lossy.time[1] - lossy.time[0])
frequency = np.fft.rfftfreq(4096, step)
near, far = (abs(np.fft.rfft(lossy[n], 4096)) for n in (0, 3))
plain = [abs(np.fft.rfft(lossless[n], 4096)) for n in (0, 3)]
ratio = (far / near) / (plain[1] / plain[0])
band = (frequency > 3) & (frequency < 16)
spectra.semilogy(frequency[band], ratio[band], "r", label="computed")
spectra.semilogy(frequency[band], np.exp(-np.pi * frequency[band] * (3000 / 3000) / 30), "k--", label="exp(-π f t / Q)")
spectra.set(xlabel="frequency, Hz", title="spectral ratio over 3 km")
spectra.legend()
plt.show()
