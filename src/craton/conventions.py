"""Names, units and axes that every layer shares: x east, y north, z up, metres, SI inside."""

import math

AXES = ("x", "y", "z")
# machines that a user chooses: "auto" and rows of craton.backends.BACKENDS
DEVICES = ("auto", "cpu", "cuda")
FACES = {"west": ("x", 0), "east": ("x", 1), "south": ("y", 0), "north": ("y", 1), "bottom": ("z", 0), "top": ("z", 1)}

# Parameters that describe the same medium; any of a set may be inverted for, the others stay.
PARAMETER_SETS = (
    ("vp", "vs", "rho"),
    ("kappa", "mu", "rho"),
    ("lambda", "mu", "rho"),
    ("ip", "is", "rho"),
    ("vp", "vs", "epsilon", "delta", "gamma", "rho"),
    ("c11", "c13", "c33", "c44", "c66", "rho"),
    ("vp", "vs", "qp", "qs", "rho"),
    ("vp", "vs", "inverse_qp", "inverse_qs", "rho"),
)
OF_Q = ("qp", "qs", "inverse_qp", "inverse_qs")  # parameters of attenuation
# What a gradient keeps of the forward run.
GRADIENT_STORAGES = ("auto", "increments", "checkpoints", "boundaries", "boundaries-16")
GRADIENT_SUMS = ("auto", "fields", "parameters")

MAGNITUDES = (-10.0, 10.5)  # moment magnitudes that earthquakes have, with room to spare

# What a receiver or a snapshot can record: components, unit, long name.
VECTOR = ("E", "N", "Z")
TENSOR = ("EE", "NN", "ZZ", "EN", "EZ", "NZ")
TENSOR_AXES = tuple((VECTOR.index(a), VECTOR.index(b)) for a, b in TENSOR)
COMPONENT_AXES = dict(zip(TENSOR, TENSOR_AXES))
# Fields of the wavefield along x, y, z, in the order of VECTOR and TENSOR.
VELOCITY, STRESS = ("vx", "vy", "vz"), ("sxx", "syy", "szz", "sxy", "sxz", "syz")
QUANTITIES = {
    "velocity": (VECTOR, "m/s", "particle velocity"),
    "displacement": (VECTOR, "m", "displacement"),
    "acceleration": (VECTOR, "m/s2", "particle acceleration"),
    "pressure": (("P",), "Pa", "pressure, minus a third of the trace of stress"),
    "strain_rate": (TENSOR, "1/s", "strain rate"),
    "strain": (TENSOR, "1", "strain"),
    "rotation_rate": (VECTOR, "rad/s", "rotation rate, half the curl of velocity"),
}
# Quantities of snapshots beside those of receivers.
DERIVED = {"divergence": ((), "1/s", "divergence of velocity"), "curl": (VECTOR, "1/s", "curl of velocity")}
# What the wavefield in the (x, z) plane has of these: motion in the plane, or across it.
IN_PLANE = {
    "P-SV": {
        "velocity": ("E", "Z"),
        "pressure": ("P",),
        "strain_rate": ("EE", "ZZ", "EZ"),
        "rotation_rate": ("N",),
        "divergence": (),
        "curl": ("N",),
    },
    "SH": {"velocity": ("N",), "strain_rate": ("EN", "NZ"), "rotation_rate": ("E", "Z"), "curl": ("E", "Z")},
}
# Integrated in time, after the run, from the quantity that the wavefield gives directly.
INTEGRATED = {"displacement": "velocity", "strain": "strain_rate"}
# Differentiated in time in the same way.
DIFFERENTIATED = {"acceleration": "velocity"}
ORIGIN_TIME = "2000-01-01T00:00:00"  # UTC, where the scenario states none

# Gravity fields, as Harmonica names and signs them (z of accelerations and gradients downward):
# unit, long name.
GRAVITY = {
    "potential": ("J/kg", "gravitational potential"),
    "g_e": ("mGal", "gravity, east component"),
    "g_n": ("mGal", "gravity, north component"),
    "g_z": ("mGal", "gravity, downward component"),
    "g_ee": ("Eotvos", "gravity gradient, east-east"),
    "g_nn": ("Eotvos", "gravity gradient, north-north"),
    "g_zz": ("Eotvos", "gravity gradient, down-down"),
    "g_en": ("Eotvos", "gravity gradient, east-north"),
    "g_ez": ("Eotvos", "gravity gradient, east-down"),
    "g_nz": ("Eotvos", "gravity gradient, north-down"),
}


def in_order(names):
    """Return names of quantities, velocity first: a store sorts them by name."""
    return [name for name in dict.fromkeys((*QUANTITIES, *names)) if name in names]


def recorded_as(quantity):
    """Return the quantity that a run records for one: the rate of what is integrated after the run,
    the integral of what is differentiated, else the quantity itself.

    Parameters
    ----------
    quantity : str
        A key of `QUANTITIES`.
    """
    return (INTEGRATED | DIFFERENTIATED).get(quantity, quantity)


def components(quantity, motion=None):
    """Components of a quantity of a receiver or snapshot, of `motion` in a plane; None where that
    has no such quantity.
    """
    named = recorded_as(quantity)
    return (QUANTITIES | DERIVED)[named][0] if motion is None else IN_PLANE[motion].get(named)


def velocity_slopes(quantity, component):
    """Return the derivatives of velocity whose sum is a component of a strain rate, a rotation rate (half the curl), a curl
    or a divergence: list of (component of velocity, axis, factor), 0, 1, 2 for x, y, z.
    """
    if quantity == "divergence":
        return [(a, a, 1.0) for a in range(3)]
    if quantity == "strain_rate":
        a, b = COMPONENT_AXES[component]
        return [(a, b, 0.5), (b, a, 0.5)]
    a, factor = VECTOR.index(component), {"rotation_rate": 0.5, "curl": 1.0}[quantity]
    b, c = (a + 1) % 3, (a + 2) % 3
    return [(c, b, factor), (b, c, -factor)]


def moment_to_magnitude(moment):
    """Moment magnitude Mw of a scalar moment in N m: the inverse of `magnitude_to_moment`.

    Parameters
    ----------
    moment : float
        N m.

    Returns
    -------
    float
    """
    return 2.0 / 3.0 * (math.log10(moment) - 9.1)


def magnitude_to_moment(magnitude):
    """Scalar moment, N m, of a moment magnitude Mw = 2/3 (log10 M0 - 9.1) (IASPEI 2013, after Hanks
    & Kanamori 1979).

    Parameters
    ----------
    magnitude : float

    Returns
    -------
    float

    Raises
    ------
    ValueError
        No earthquake has it.
    """
    least, most = MAGNITUDES
    if not least <= magnitude <= most:
        raise ValueError(f"a magnitude of {magnitude:g} is out of range: must be from {least:g} to {most:g}")
    return 10.0 ** (1.5 * magnitude + 9.1)
