"""P, S, PcP and ScS in a chunk of PREM against modes: arrivals picked as on any seismogram, on the
run's and on the exact one.

Waves of tens of seconds arrive when rays do only to a few seconds: from a source at 600 km, S
between 24 and 30 degrees is picked 7 s later than its ray on the exact seismogram, 1.4 % (with
sigma = 5 s: 0.2 % or less). So what a run does to travel times shows against modes. Their core is
empty, and so is that of a chunk down to the core-mantle boundary.
"""

import numpy as np

from craton.model.globe.prem import prem
from craton.survey.traveltimes import delay
from craton.validation import earth
from craton.validation.compare import at_times, row
from craton.validation.exact.modes_sum import velocity

DEPTH, SIGMA = 600e3, 20.0  # m; s, standard deviation of the Gaussian moment rate
# up, south, east: P waves leave strongly to the east, S waves across the path
TENSOR = (1e20, 0.0, 0.0, 1e20, -1e20, -1e20)
DISTANCES = (18.0, 24.0, 28.0)  # degrees along the equator
# Of rays at these, s (TauP), of the phases that are picked there. Weak ScS would be moved at 18
# degrees by what the sides send back.
TIMES = {"P": (None, 269.1, 304.1), "S": (None, 486.6, 548.5), "PcP": (456.6, None, None), "ScS": (None, 859.4, None)}
COMPONENTS = {"P": 0, "PcP": 0, "S": 2, "ScS": 2}  # up, across the path
LIMIT = 0.005  # of the travel time


def body(device, period=56.0, width=(48.0, 36.0), until=950.0):
    """Arrivals at three stations; what the sides along the path send back comes after ScS."""
    area = earth.chunk((DISTANCES[-1] / 2, 0.0), 0, "cmb", period) | {"width": width}
    source = earth.moment((0.0, 0.0), DEPTH, TENSOR) | {"wavelet": {"kind": "gaussian", "tau": SIGMA}}
    places = [(d, 0.0) for d in DISTANCES]
    data, size = earth.run(area, source, places, until, device, start=-6 * SIGMA, quantity="velocity")
    t = np.arange(6 * SIGMA, until - 2)
    computed = [earth.turned(at_times(data.time.values, record, t), 270.0) for record in data.velocity.values]
    expected = velocity(prem(), TENSOR, DEPTH, SIGMA, DISTANCES, [90.0] * len(DISTANCES), t)
    return [
        record
        for phase in TIMES
        for record in rows(phase, t, computed, expected, f"PREM, chunk of {size} elements: {phase}")
    ]


def rows(phase, t, computed, expected, text):
    """Of one phase: how much later than on the exact seismograms it is picked."""
    late = [
        (picked(record[COMPONENTS[phase]], t, time) - picked(exact_record[COMPONENTS[phase]], t, time), time)
        for record, exact_record, time in zip(computed, expected, TIMES[phase])
        if time
    ]
    words = ", ".join(f"{off:+.2f} of {time:.0f}" for off, time in late)
    return [row(f"{text} late by {words} s", max(abs(off) / time for off, time in late), LIMIT)]


def picked(trace, t, time):
    """Arrival by correlation with the derivative of the moment rate, s."""
    return delay(
        trace,
        lambda lag: -lag * np.exp(-((lag / SIGMA) ** 2) / 2),
        t[1] - t[0],
        t[0],
        (time - 2 * SIGMA, time + 2 * SIGMA),
    )[0]
