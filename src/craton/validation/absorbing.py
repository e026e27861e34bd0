"""CPML at grazing incidence: energy left in the thin slice of Komatitsch & Martin (2007), to which
SEISMIC_CPML gives published figures.
"""

import math

import numpy as np

from craton import api
from craton.backends import backend
from craton.driver import waves
from craton.scenario import Scenario
from craton.validation.compare import row

VP, RHO, SPACING, THICKNESS = 3300.0, 2800.0, 10.0, 10
VS = VP / 1.732
LENGTHS = (1000.0, 6400.0)  # 101 x 641 points
FREQUENCY = 7.0  # Hz, of the Ricker whose integral the force's history is
STRESS = ("sxx", "syy", "szz", "sxy", "sxz", "syz")


def cpml_slice(device):
    """Return the published set-up, x across and z along, y periodic: energy over its peak, inside
    the layers.
    """
    times, left = energies(slice_scenario(4.2), device)
    return limits("CPML slice", times, left)


def limits(case, times, left):
    """Rows: the ratio at 2.8 s and 4 s, and what is the most that it rises after 3 s."""
    rows = [
        row(f"{case}: energy / peak at {t:g} s", np.interp(t, times, left), limit)
        for t, limit in ((2.8, 1e-5), (4.0, 1e-6))
    ]
    late = left[times >= 3]
    return [
        *rows,
        row(f"{case}: largest energy after 3 s / energy at 3 s, until {times[-1]:.3g} s", late.max() / late[0], 1.0),
    ]


def slice_scenario(duration, planes=5):
    """Return the slice with a line force along y: one point force in each of its planes."""
    sources = [force(SPACING * n) for n in range(planes)]
    boundaries = {"top": "cpml", "others": "cpml", "south": "periodic", "north": "periodic"}
    return scenario(duration, SPACING * (planes - 1), boundaries, sources)


def plane_scenario(duration):
    """Return the slice as a computation in the (x, z) plane: force per metre along y."""
    line, tables = force(0.0), slice_scenario(duration).model_dump(exclude_unset=True)
    line["at"], line["force"] = line["at"][::2], [f / SPACING for f in line["force"][::2]]
    domain = {"origin": [0, 0], "size": list(LENGTHS), "spacing": SPACING, "waves": "P-SV"}
    faces = {"top": "cpml", "others": "cpml", "cpml": {"thickness": THICKNESS}}
    return Scenario(**tables | {"domain": domain, "boundaries": faces, "source": [line]})


def bar_scenario(duration):
    """Return the same in three dimensions: a bar of 101 x 101 x 641 points with a point force."""
    return scenario(duration, LENGTHS[0], {"top": "cpml", "others": "cpml"}, [force(LENGTHS[0] / 2)])


def force(y):
    """Return a force at 135 degrees, 79 cells from west and 427 from below."""
    angle, tau = math.radians(135), 1 / (math.sqrt(2) * math.pi * FREQUENCY)
    wavelet = {"kind": "gaussian_derivative", "tau": tau, "delay": 1.2 / FREQUENCY}
    return {
        "kind": "force",
        "at": [790, y, 4270],
        "force": [1e10 * math.sin(angle), 0, 1e10 * math.cos(angle)],
        "wavelet": wavelet,
    }


def scenario(duration, width, boundaries, sources):
    """Return the medium and the box."""
    return Scenario(
        domain={"origin": [0, 0, 0], "size": [LENGTHS[0], width, LENGTHS[1]], "spacing": SPACING},
        model={"kind": "homogeneous", "vp": VP, "vs": VS, "rho": RHO},
        time={"duration": duration, "start": 0},
        boundaries={**boundaries, "cpml": {"thickness": THICKNESS}},
        source=sources,
    )


def energies(scenario, device, every=0.05):
    """Return times and the energy inside the layers over its largest value."""
    planned = api.plan(scenario)
    program = waves.commit(scenario, planned, backend(device))
    layered = [
        points > 1 and scenario.boundaries.face(low) == "cpml"
        for points, low in zip(program.grid("vx").shape, ("bottom", "south", "west"))
    ]
    inside = tuple(slice(THICKNESS, -THICKNESS) if cpml else slice(None) for cpml in layered)
    gap, times, values = round(every / planned.dt), [], []
    for step in range(planned.steps):
        program.step(step)
        if (step + 1) % gap == 0:
            times.append((step + 1) * planned.dt)
            values.append(energy_of(program, inside))
    return np.array(times), np.array(values) / max(values)


def energy_of(program, inside):
    """Kinetic and elastic energy of the points inside, per volume of a cell; velocity and stress
    half a step apart. In the plane nothing strains along y: syy = nu (sxx + szz).
    """
    xp, mu, lam = program.backend.xp, RHO * VS**2, RHO * (VP**2 - 2 * VS**2)
    with program.backend.work():
        fields = {
            name: program.grid(name)[inside].astype("float64")
            for name in ("vx", "vy", "vz", *STRESS)
            if name in program.arrays
        }
        if "syy" not in fields:
            fields["syy"] = lam / (2 * (lam + mu)) * (fields["sxx"] + fields["szz"])
        square = {name: float(xp.sum(values**2)) for name, values in fields.items()}
        trace = float(xp.sum(sum(fields[name] for name in STRESS[:3]) ** 2))
    normal = sum(square[name] for name in STRESS[:3]) - lam / (3 * lam + 2 * mu) * trace
    shear = sum(square.get(name, 0.0) for name in STRESS[3:])
    moving = sum(square.get(name, 0.0) for name in ("vx", "vy", "vz"))
    return RHO / 2 * moving + normal / (4 * mu) + shear / (2 * mu)
