"""Arrivals: in a box the first P and S, direct and head waves in the profile of the model below the source, exact where
that is a stack of homogeneous layers; on the Earth travel times by TauP.
"""

import logging

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.model.ground import terrain
from craton.model.media import earth
from craton.survey import traveltimes

SAMPLES = 240  # of the profile, over its depth
HALVINGS = 40  # of the interval that holds an interface, and of that of a ray parameter
# Arrivals are marked at the centre of the wavelet; that of these kinds begins at its delay.
ONSETS = ("brune", "kuepper")
PHASES = ("p", "P", "s", "S", "PcP", "ScS")
AROUND = ("P", "S", "PP", "SS", "Pdiff", "PKP", "PKIKP", "SKS")  # where there is more than one chunk
CURVES = 40  # distances at which travel times are computed


def profile(speeds_at, top, bottom):
    """Return layers of constant speed: elevations of their tops, falling, m, (n,), and P and S speeds, m/s, (2, n);
    `speeds_at` gives them (2, m) at elevations (m,). Gradients become layers as thin as a sample; interfaces are
    located by halving.
    """
    z = np.linspace(top, bottom, SAMPLES)
    speeds = np.asarray(speeds_at(z), float)
    changes = np.flatnonzero(np.any(np.abs(np.diff(speeds)) > 1e-6 * speeds[:1, 1:], axis=0))
    above, below = z[changes], z[changes + 1]
    for _ in range(HALVINGS if len(changes) else 0):
        middle = (above + below) / 2
        between = np.asarray(speeds_at(middle), float)
        to_upper, to_lower = (np.abs(between - speeds[:, n]).sum(axis=0) for n in (changes, changes + 1))
        is_upper = to_upper <= to_lower
        above, below = np.where(is_upper, middle, above), np.where(is_upper, below, middle)
    tops = np.concatenate([[top], (above + below) / 2])
    return tops, speeds[:, np.concatenate([[0], changes + 1])]


def first_arrivals(tops, speeds, source, receivers, distance):
    """Return travel times (m,) of the first arrival of one kind of wave, s: the earliest of the direct wave and of head
    waves along deeper interfaces; NaN where the wave cannot pass (S in a fluid). `tops` are elevations of the layers'
    tops (n,), falling, m, `speeds` theirs (n,), m/s; `source` and `receivers` (m,) elevations, m, `distance` (m,)
    horizontal distances, m.
    """
    tops, speeds = np.asarray(tops, float), np.asarray(speeds, float)
    receivers, distance = np.asarray(receivers, float), np.asarray(distance, float)
    times = np.empty(len(receivers))
    for z in np.unique(receivers):
        level = receivers == z
        ray = tops, speeds, source, z, distance[level]
        times[level] = np.minimum(direct(*ray), head(*ray))
    return np.where(np.isfinite(times), times, np.nan)


def thicknesses(tops, low, high):
    """Return the thickness of each layer (n,) between two elevations, m; the first layer goes on above its top."""
    upper = np.concatenate([[np.inf], tops[1:]])
    lower = np.concatenate([tops[1:], [-np.inf]])
    return np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None)


def direct(tops, speeds, source, receiver, distance):
    """Return travel times (m,) of the wave that goes from source to receivers, at one elevation each, without turning,
    s; see `first_arrivals`. The ray parameter is found by halving: the distance grows with it.
    """
    thick = thicknesses(tops, min(source, receiver), max(source, receiver))
    crossed = thick > 0
    if not crossed.any():
        speed = speeds[max(int(np.searchsorted(-tops, -source, "right")) - 1, 0)]
        return distance / speed if speed > 0 else np.full(len(distance), np.inf)
    thick, speed = thick[crossed, None], speeds[crossed, None]
    if (speed <= 0).any():
        return np.full(len(distance), np.inf)
    # sine of the angle in the fastest layer, as 1 - e: rays may run nearly along it
    low, high = np.full(len(distance), 1e-14), np.ones(len(distance))
    for _ in range(2 * HALVINGS):
        middle = np.sqrt(low * high)
        sine = (1 - middle) * speed / speed.max()
        too_far = np.sum(thick * sine / np.sqrt(1 - sine**2), axis=0) > distance
        low, high = np.where(too_far, middle, low), np.where(too_far, high, middle)
    sine = (1 - high) * speed / speed.max()
    slowness = (1 - high) / speed.max()
    return slowness * distance + np.sum(thick * np.sqrt(1 - sine**2) / speed, axis=0)


def head(tops, speeds, source, receiver, distance):
    """Return travel times (m,) of the earliest head wave, s, infinite where there is none; see `first_arrivals`. It
    runs along the top of a layer below source and receiver that is faster than all that its legs cross.
    """
    earliest = np.full(len(distance), np.inf)
    for layer in range(1, len(tops)):
        if tops[layer] > min(source, receiver) + 1e-9:
            continue
        legs = thicknesses(tops, tops[layer], source) + thicknesses(tops, tops[layer], receiver)
        crossed, fast = legs > 1e-9, speeds[layer]
        speed, thick = speeds[crossed], legs[crossed]
        if (speed <= 0).any() or (speed >= fast).any():
            continue
        cosine = np.sqrt(1 - (speed / fast) ** 2)
        times = distance / fast + np.sum(thick * cosine / speed)
        is_reached = distance >= np.sum(thick * speed / fast / cosine)
        earliest = np.where(is_reached, np.minimum(earliest, times), earliest)
    return earliest


def of_model(model, source, receivers):
    """Return travel times from a source to receivers (n, 3), m, in the profile of a model below the source: (n,)
    arrays, s, by phase; a wave that reaches none is left out.
    """
    source, receivers = np.asarray(source, float), np.asarray(receivers, float).reshape(-1, 3)
    if model.kind == "regions" or not len(receivers):
        return {}
    x, y, z = source
    distance = np.hypot(receivers[:, 0] - x, receivers[:, 1] - y)
    top = max(z, receivers[:, 2].max())
    # a head wave that comes first turns above a few tenths of its distance, as a rule
    bottom = min(z, receivers[:, 2].min()) - max(distance.max(), 1.0)
    tops, speeds = profile(_below(model, x, y), top, bottom)
    times = {name: first_arrivals(tops, row, z, receivers[:, 2], distance) for name, row in zip("PS", speeds)}
    return {name: row for name, row in times.items() if np.isfinite(row).any()}


def _below(model, x, y):
    """Return the function that gives P and S speeds (2, n) at elevations below and above a point of the map, water
    included.
    """
    ground, water = terrain.build(model), getattr(model, "water", None)
    floor = None if ground is None or water is None else float(ground.surface(x, y))

    def speeds(z):
        vp, vs, _ = earth.point_values(model, np.stack([np.full_like(z, x), np.full_like(z, y), z], 1))
        if floor is not None and floor < water.level:
            vp, vs = np.where(z > floor, water.vp, vp), np.where(z > floor, 0.0, vs)
        return np.stack([vp, vs])

    return speeds


def at_receivers(run):
    """Return the times of first arrivals at the receivers of a run, s, by phase, at the time of its only source's
    wavelet, and how they were computed, in words; empty where they are not known.
    """
    if run.on_earth:
        return on_earth(run) if run.chunk is not None else ({}, "")
    if not run.has_waves or len(run.sources) != 1:
        return {}, ""
    try:
        times = of_model(run.scenario.model, run.origin, run.stations)
    except (OSError, CratonError) as error:
        logging.getLogger("craton").warning("no arrivals: %s", error)
        return {}, ""
    delay, name = delay_of(run)
    words = (
        "P and S mark the first arrivals, direct or head waves, in the profile of the model below "
        f"the source, at the {name} of the wavelet ({delay:g} s)."
    )
    return {phase: row + delay for phase, row in times.items()}, words if times else ""


def delay_of(run) -> tuple[float, str]:
    """Return the time of the first source's wavelet, s, and whether that is its centre, onset or centroid."""
    from craton.survey import wavelets

    source = next(iter(run.scenario.source), None)
    wavelet = getattr(source, "wavelet", None)  # ruptures in files have none
    if wavelet is None:
        return float(run.attributes.get("centroid_time", 0.0)), "centroid"
    return float(wavelets.build(wavelet).delay), "onset" if wavelet.kind in ONSETS else "centre"


def on_earth(run):
    """Return the times of the first P and S at each receiver by TauP, s, and what they are in words; empty where ObsPy
    is missing or the source is not known.
    """
    if "source_depth" not in run.waves.attrs:
        return {}, ""
    depth = float(run.waves.attrs["source_depth"])
    times = {phase: np.full(run.waves.sizes["receiver"], np.nan) for phase in "PS"}
    try:
        for row, distance in enumerate(run.waves.distance.values):
            for arrival in traveltimes.arrivals(run.chunk.model, depth, distance, ("ttbasic",)):
                name = arrival.phase[0].upper()
                if name in times and not arrival.time >= times[name][row]:
                    times[name][row] = arrival.time
    except ResourceError:
        return {}, "Arrivals need ObsPy: pip install 'craton[seis]'."
    return times, "P and S mark the first arrivals by TauP in the model's profile, that leave the source as such."


def curves(run) -> dict:
    """Return travel times by TauP over the distances of the receivers of a chunk of the Earth: distances, degrees, and
    times, s, (2, m) by phase; empty where ObsPy is missing.
    """
    distance, phases = run.waves.distance.values, PHASES if run.chunk.all_chunks == 1 else AROUND
    places = np.linspace(max(distance.min() - 1, 0.1), min(distance.max() + 1, 180.0), CURVES)
    try:
        return traveltimes.curves(run.chunk.model, float(run.waves.attrs["source_depth"]), places, phases)
    except ResourceError:
        return {}
