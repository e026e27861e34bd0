"""First arrivals of P and S in a box: direct and head waves in the profile of the model below the
source, exact where that is a stack of homogeneous layers.
"""

import numpy as np

SAMPLES = 240  # of the profile, over its depth
HALVINGS = 40  # of the interval that holds an interface, and of that of a ray parameter


def profile(speeds_at, top, bottom):
    """Return layers of constant speed: elevations of their tops, falling, m, (n,), and P and S
    speeds, m/s, (2, n).

    Gradients become layers as thin as a sample; interfaces are located by halving.

    Parameters
    ----------
    speeds_at : callable
        P and S speeds (2, m) at elevations (m,), m/s.
    top, bottom : float
        Elevations, m.
    """
    z = np.linspace(top, bottom, SAMPLES)
    speeds = np.asarray(speeds_at(z), float)
    changes = np.flatnonzero(np.any(np.abs(np.diff(speeds)) > 1e-6 * speeds[:1, 1:], axis=0))
    above, below = z[changes], z[changes + 1]
    for _ in range(HALVINGS if len(changes) else 0):
        middle = (above + below) / 2
        between = np.asarray(speeds_at(middle), float)
        is_upper = np.abs(between - speeds[:, changes]).sum(axis=0) <= np.abs(between - speeds[:, changes + 1]).sum(
            axis=0
        )
        above, below = np.where(is_upper, middle, above), np.where(is_upper, below, middle)
    tops = np.concatenate([[top], (above + below) / 2])
    return tops, speeds[:, np.concatenate([[0], changes + 1])]


def first_arrivals(tops, speeds, source, receivers, distance):
    """Travel times of the first arrival of one kind of wave, s: the earliest of the direct wave and
    of head waves along deeper interfaces; NaN where the wave cannot pass (S in a fluid).

    Parameters
    ----------
    tops : (n,) array
        Elevations of the layers' tops, falling, m.
    speeds : (n,) array
        m/s.
    source : float
        Elevation, m.
    receivers, distance : (m,) arrays
        Elevations, m, and horizontal distances from the source, m.
    """
    tops, speeds = np.asarray(tops, float), np.asarray(speeds, float)
    receivers, distance = np.asarray(receivers, float), np.asarray(distance, float)
    times = np.empty(len(receivers))
    for z in np.unique(receivers):
        level = receivers == z
        times[level] = np.minimum(
            direct(tops, speeds, source, z, distance[level]), head(tops, speeds, source, z, distance[level])
        )
    return np.where(np.isfinite(times), times, np.nan)


def thicknesses(tops, low, high):
    """Thickness of each layer between two elevations, m: (n,).

    Parameters
    ----------
    tops : (n,) array
        m, falling; the first layer goes on above its top.
    low, high : float
        m.
    """
    upper = np.concatenate([[np.inf], tops[1:]])
    lower = np.concatenate([tops[1:], [-np.inf]])
    return np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None)


def direct(tops, speeds, source, receiver, distance):
    """Travel times of the wave that goes from source to receivers without turning, s: (m,).

    The ray parameter is found by halving: the distance grows with it.

    Parameters
    ----------
    tops, speeds : (n,) arrays
        m, m/s.
    source, receiver : float
        Elevations, m.
    distance : (m,) array
        m.
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
    """Travel times of the earliest head wave, s: (m,), infinite where there is none.

    It runs along the top of a layer below source and receiver that is faster than all that its legs
    cross.

    Parameters
    ----------
    tops, speeds : (n,) arrays
        m, m/s.
    source, receiver : float
        Elevations, m.
    distance : (m,) array
        m.
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
    """Travel times from a source to receivers in the profile of a model below the source: dict of
    ``"P"`` and ``"S"`` to (n,) arrays, s; a wave that reaches none is left out.

    Parameters
    ----------
    model : model of a scenario
    source : (3,) array_like
        Position, m.
    receivers : (n, 3) array_like
        Positions, m.

    Raises
    ------
    ScenarioError
        A file of the model that cannot be read.
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
    """Return the function that gives P and S speeds (2, n) at elevations below and above a point of
    the map, water included.
    """
    from craton.model.ground import terrain
    from craton.model.media import earth

    ground, water = terrain.build(model), getattr(model, "water", None)
    floor = None if ground is None or water is None else float(ground.surface(x, y))

    def speeds(z):
        vp, vs, _ = earth.point_values(model, np.stack([np.full_like(z, x), np.full_like(z, y), z], 1))
        if floor is not None and floor < water.level:
            vp, vs = np.where(z > floor, water.vp, vp), np.where(z > floor, 0.0, vs)
        return np.stack([vp, vs])

    return speeds


def wavelet_delay(wavelet):
    """Return the time of a wavelet's centre or onset, s; 0 of none.

    Parameters
    ----------
    wavelet : wavelet of a scenario, or None
    """
    if wavelet is None:
        return 0.0
    from craton.survey import wavelets

    return float(wavelets.build(wavelet).delay)
