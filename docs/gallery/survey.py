# %% [markdown]
# # A survey on a cluster
#
# Many shots of one model, one for each worker. Workers are those of a Dask cluster: here two processes of this computer; with `dask_jobqueue.SLURMCluster` in place of `LocalCluster` the
# same lines run on a batch system.

# %%
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

import craton

survey = craton.Scenario(
    title="Six shots over a soft body",
    domain={"origin": [0, -800], "size": [2400, 800], "spacing": 8},
    model={
        "kind": "layers",
        "layers": [{"top": 0, "vp": 1800, "vs": 1000, "rho": 2000}, {"top": -250, "vp": 2600, "vs": 1500, "rho": 2200}],
        "anomalies": [{"shape": "sphere", "center": [1200, 0, -450], "radius": 120, "dvp": -0.2, "dvs": -0.2}],
    },
    time={"duration": 1.1},
    source=[
        {
            "kind": "force",
            "name": "S",
            "shots": {"from": [400, -8], "to": [2000, -8], "count": 6},
            "force": [0, -1e6],
            "wavelet": {"kind": "ricker", "frequency": 14},
        }
    ],
    receivers=[{"name": "G", "line": {"from": [200, 0], "to": [2200, 0], "count": 81}}],
    output={"sampling": 0.004},
)

# %%
workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
with workers, Client(workers) as client:
    outcome = craton.run_survey(survey, "survey", client=client, progress=False)
outcome.ran

# %% [markdown]
# All shots are in one dataset, with the dimension `shot`. A shot that failed, or was interrupted, is run again by the same call.

# %%
vertical = outcome.dataset.velocity.sel(component="Z")
figure, panels = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for axes, name in zip(panels, vertical.shot.values[::2]):
    gather = vertical.sel(shot=name) * (0.05 + vertical.time.clip(0)) ** 1.2
    limit = float(abs(gather).quantile(0.98))
    axes.pcolormesh(gather.x, gather.time, gather.transpose("time", "receiver"), vmin=-limit, vmax=limit, cmap="Greys")
    axes.set(title=f"shot {name}", xlabel="x, m", ylim=(1.1, 0))
panels[0].set_ylabel("time, s")
plt.show()
