"""A few steps of a small run with everything in it, for compute-sanitizer: python bench/gpu_small.py [order] [precision] [P-SV | SH]."""
import sys

import craton
from craton.scenario import Scenario, loads

SCENARIO = """
title = "small"
[domain]
origin = [0, 0, -{depth}]
size = [2050, 1850, {depth}]
spacing = 50
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1600, rho = 2100 }}, {{ top = -820, vp = 4500, vs = 2500, rho = 2500 }}]
[time]
duration = 0.06
start = 0
[boundaries]
top = "{top}"
others = "{others}"
bottom = "{bottom}"
sponge = {{ thickness = 10 }}
[[source]]
kind = "moment_tensor"
at = [1033, 911, -641]
strike = 20
dip = 60
rake = 30
moment = 1e15
wavelet = {{ kind = "ricker", frequency = 3, delay = 0.03 }}
[[source]]
kind = "force"
at = [1011, 900, 0]
force = [1e11, 2e11, -1e11]
wavelet = {{ kind = "gaussian", tau = 0.1 }}
[[receivers]]
name = "L"
line = {{ from = [600, 600, 0], to = [1400, 1300, -700], count = 3 }}
[output]
waveforms = ["velocity", "pressure", "strain_rate", "rotation_rate"]
[run]
order = {order}
precision = "{precision}"
"""
FACES = (("free", "cpml", "cpml"), ("cpml", "sponge", "rigid"), ("free", "periodic", "cpml"), ("rigid", "rigid", "sponge"))



def in_plane(scenario, waves):
    """The same in the (x, z) plane, with three shots."""
    values = scenario.model_dump(by_alias=True, exclude_none=True)
    domain = values["domain"]
    values["domain"] = {**domain, "origin": domain["origin"][::2], "size": domain["size"][::2], "waves": waves}
    values["source"] = [{**source, "shot": name} for source in values["source"] for name in "abc"]
    values["output"]["waveforms"] = ["velocity", "strain_rate"]
    return Scenario(**values)


if __name__ == "__main__":
    order, precision, waves = (*sys.argv[1:], *("4", "float32", "")[len(sys.argv) - 1 :])
    for top, others, bottom in FACES:
        scenario = loads(SCENARIO.format(depth=2000, top=top, others=others, bottom=bottom, order=order, precision=precision))
        scenario = in_plane(scenario, waves) if waves else scenario
        result = craton.run(scenario, device="cuda", progress=False)
        print(top, others, bottom, result.dataset.velocity.shape, float(abs(result.dataset.velocity).max()))
