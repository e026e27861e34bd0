"""A full space of constant Q: amplitude and phase at every frequency, by both methods."""

import numpy as np

from craton import api
from craton.scenario import Scenario
from craton.validation.compare import misfit, row
from craton.validation.exact.constant_q import DELAY, FORCE, FREQUENCY, REFERENCE, RHO, VP, VS, constant_q
from craton.validation.spectral import by_elements, grown, ran

BAND = (0.5, 30.0)  # Hz, over which Q is constant in the runs
# Q and storage of finite differences (by default "paired" below Q = 60, else "coarse"), or number
# of mechanisms of spectral elements.
RUNS = {"fd": ((20, "full"), (20, None), (100, None)), "sem": ((20, 3), (100, 4))}
PLACES = {  # of the receivers from the source, m: 3 to 4 S wavelengths at 5 Hz
    "fd": ((1800.0, 210.0, -90.0), (1220.0, 700.0, 310.0)),
    "sem": ((610.0, 75.0, -40.0), (440.0, 390.0, 150.0)),
}
AFTER = {"fd": 2.2, "sem": 1.9}  # delays of the wavelet until the end, after the S wave
EDGE, BORDER = (130.0, 1000.0)  # of elements: 5.2 points per S wavelength where the Ricker's spectrum is 1 %; m
# of the amplitude; of pi, as phases are counted by Kristekova, Kristek & Moczo (2009, Geophys. J.
# Int. 178, 813-825)
LIMIT = 0.02
STRONG = 0.2  # of the largest amplitude: spectra are compared where they are larger


def attenuating(device, method="fd", runs=None, spacing=30.0, order=8, border=22, share=1.0):
    """Spectral amplitude and phase, and velocity, of runs with Q = Qp = Qs, the worst of the
    receivers.

    Parameters
    ----------
    device : str
    method : str
    runs : sequence, optional
        In place of `RUNS`.
    spacing, order, border : float, int, int
        Of finite differences; points between the faces and what is inside.
    share : float
        Of the way to the receivers, and of the limit, which grows with it.
    """
    rows, places = [], [tuple(share * x for x in place) for place in PLACES[method]]
    for quality, kind in runs or RUNS[method]:
        if method == "fd":
            of_run = f"{kind or 'default'} storage, h = {spacing:g} m, order {order}"
            case = scenario(quality, spacing, order, method, places, border, storage=kind)
            data = api.run(case, device=device, progress=False).dataset
        else:
            of_run, corners = f"{kind} mechanisms, edge {EDGE:g} m", [(0, 0, 0), *places]
            case = scenario(quality, spacing, 4, method, places, storage="full", mechanisms=kind)
            box = grown(np.min(corners, axis=0), np.max(corners, axis=0), BORDER, EDGE)
            data = ran(by_elements(case, EDGE, box=box), device)
        rows += compared(f"Q = {quality}, {of_run}:", data, places, quality, share * LIMIT)
    return rows


def compared(label, data, places, quality, limit):
    """Rows of a run."""
    t, runs = data.time.values, data.velocity.values
    expected = [constant_q(x, t, quality) for x in places]
    ratios = np.concatenate([ratio(computed, exact, t) for computed, exact in zip(runs, expected)])
    amplitude, phase = np.abs(np.abs(ratios) - 1).max(), np.abs(np.angle(ratios)).max() / np.pi
    worst, curves = max(map(misfit, runs, expected)), (t, runs[0, 2], expected[0][2])
    return [
        row(f"{label} spectral amplitude, worst of both receivers", amplitude, limit, curves),
        row(f"{label} spectral phase / pi, worst of both receivers", phase, limit),
        row(f"{label} velocity", worst, limit),
    ]


def ratio(computed, expected, t):
    """Spectra of `computed` over those of `expected` where these are strong: complex, all components
    together.
    """
    spectrum, exact_spectrum = (np.fft.rfft(values, 4 * len(t)) for values in (computed, expected))
    strong = np.abs(exact_spectrum) > STRONG * np.abs(exact_spectrum).max()
    return spectrum[strong] / exact_spectrum[strong]


def scenario(quality, spacing, order, method, places, border=22, **attenuation):
    """Source and receivers in a box with CPML."""
    corners, border = [(0, 0, 0), *places], border * spacing
    low = np.floor(np.min(corners, axis=0) - border)
    size = np.ceil((np.max(corners, axis=0) + border - low) / spacing) * spacing
    ricker = {"kind": "ricker", "frequency": FREQUENCY, "delay": DELAY}
    medium = {"vp": VP, "vs": VS, "rho": RHO, "qp": quality, "qs": quality}
    loss = {"band": list(BAND), "frequency": REFERENCE, **attenuation}
    farthest = max(map(np.linalg.norm, places))
    return Scenario(
        domain={"origin": low.tolist(), "size": size.tolist(), "spacing": spacing},
        model={"kind": "homogeneous", **medium, "attenuation": loss},
        time={"duration": farthest / VS + AFTER[method] * DELAY, "start": 0},
        boundaries={"top": "cpml"},
        source=[{"kind": "force", "at": [0, 0, 0], "force": list(FORCE), "wavelet": ricker}],
        receivers=[{"name": f"R{n}", "at": list(x)} for n, x in enumerate(places)],
        run={"order": order},
    )
