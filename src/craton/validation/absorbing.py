"""CPML at grazing incidence: energy left in the thin slice of Komatitsch & Martin (2007), to which
SEISMIC_CPML gives published figures.
"""

import numpy as np

from craton import api
from craton.backends import backend
from craton.driver import waves
from craton.scenario import Scenario
from craton.validation.compare import row

STRESS = ("sxx", "syy", "szz", "sxy", "sxz", "syz")


def cpml_slice(case, device):
    """Run the published set-up, x across and z along, y periodic, and return the rows of its energy inside the layers."""
    return decay(case["what"], *energies(Scenario(**case["scenario"]), device))


def decay(what, times, left):
    """Rows: the ratio at 2.8 s and 4 s, and the most that it rises after 3 s."""
    late = left[times >= 3]
    rise = f"{what}: largest energy after 3 s / energy at 3 s, until {times[-1]:.3g} s"
    return [
        *(
            row(f"{what}: energy / peak at {t:g} s", np.interp(t, times, left), m)
            for t, m in ((2.8, 1e-5), (4.0, 1e-6))
        ),
        row(rise, late.max() / late[0], 1.0),
    ]


def energies(scenario, device, every=0.05):
    """Return times and the energy inside the layers over its largest value."""
    planned, model = api.plan(scenario), scenario.model
    program = waves.commit(scenario, planned, backend(device))
    thickness = scenario.boundaries.cpml.thickness
    inside = tuple(
        slice(thickness, -thickness) if points > 1 and scenario.boundaries.face(low) == "cpml" else slice(None)
        for points, low in zip(program.grid("vx").shape, ("bottom", "south", "west"))
    )
    gap, times, values = round(every / planned.dt), [], []
    for step in range(planned.steps):
        program.step(step)
        if (step + 1) % gap == 0:
            times.append((step + 1) * planned.dt)
            values.append(energy_of(program, inside, model.vp, model.vs, model.rho))
    return np.array(times), np.array(values) / max(values)


def energy_of(program, inside, vp, vs, rho):
    """Kinetic and elastic energy of the points inside, per volume of a cell; velocity and stress
    half a step apart. In the plane nothing strains along y: syy = nu (sxx + szz).
    """
    xp, mu, lam = program.backend.xp, rho * vs**2, rho * (vp**2 - 2 * vs**2)
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
    return rho / 2 * moving + normal / (4 * mu) + shear / (2 * mu)
