"""Accuracy on the case of Couder-Castaneda et al. 2013, as its L2 tables (eq. 12) state it, for every method, in double and single.

usage: python3 -m bench gravity_l2 --device cpu [--threads N] [--set direct=1] [--out bench/results/gravity_l2.json]

Two references. `exact`: sums of corner terms (Nagy et al. 2000; Li & Chouteau 1998) in extended precision (64 bits of mantissa, NumPy's
longdouble), which share no formula with craton's kernels, at some of the 15,000 points. `direct`: craton's direct sum in double at all of
them (with direct=1; minutes on two cores). The norm: "L2" = sqrt(sum of squared differences), as the tables of the paper were made,
and "rms" = the same over sqrt(N), which is its eq. 12. From the points of `exact` the L2 of all points is rms sqrt(15000). Points are those
of the example; for `fft` as many in the middle of equal parts of the region, 14/3 and 7 cells apart.
"""

import numpy as np

from bench.harness import ROOT
from bench.harness import tables as scenarios_of

G = 6.6743e-11
UNITS = {"potential": ("J/kg", 1.0)} | {name: ("mGal", 1e5) for name in ("g_e", "g_n", "g_z")}
UNITS |= {name: ("Eotvos", 1e9) for name in ("g_ee", "g_nn", "g_zz", "g_en", "g_ez", "g_nz")}
CASE = ROOT / "examples" / "seven_spheres.toml"
RUNS = scenarios_of("gravity")["l2"]  # precision, method, rtol
EXACT, SLICE = 24, 20_000  # points of the exact reference, prisms at a time


def exact(prisms, density, points, names, real=np.longdouble):
    """Fields (names, points) of prisms (M, 6) at points (3, N) outside, from corner terms: mu (x ln(y + r) + ...), mu atan(y z / (x r)).

    Prism minus point, z up; g_z, g_ez, g_nz for z downward. The logarithm is taken as asinh of a quotient, which does not cancel.
    """
    out = np.zeros((len(names), points.shape[1]), real)
    for n in range(points.shape[1]):
        for begin in range(0, len(prisms), SLICE):
            some = slice(begin, begin + SLICE)
            offsets = prisms[some].astype(real).reshape(-1, 3, 2) - points[:, n].astype(real)[:, None]
            weights = density[some].astype(real)
            for corner in np.ndindex(2, 2, 2):
                mu = 1 if sum(corner) % 2 else -1  # +1 for the upper corner of all three axes
                terms = corner_terms(*(offsets[:, axis, side] for axis, side in enumerate(corner)))
                out[:, n] += [mu * (weights * terms(name)).sum() for name in names]
    return out * np.array([real(G) * real(UNITS[name][1]) for name in names])[:, None]


def corner_terms(x, y, z):
    """Function of a field's name: the primitive of that field at a corner."""
    r = np.sqrt(x * x + y * y + z * z)
    log = {
        "x": np.arcsinh(x / np.hypot(y, z)),
        "y": np.arcsinh(y / np.hypot(x, z)),
        "z": np.arcsinh(z / np.hypot(x, y)),
    }
    with np.errstate(
        divide="ignore"
    ):  # in the plane of a face: pi / 2, times 0 or with the other sign at the corner across
        angle = {"x": np.arctan(y * z / (x * r)), "y": np.arctan(x * z / (y * r)), "z": np.arctan(x * y / (z * r))}
    terms = {
        "potential": lambda: (
            x * y * log["z"]
            + y * z * log["x"]
            + z * x * log["y"]
            - (x * x * angle["x"] + y * y * angle["y"] + z * z * angle["z"]) / 2
        ),
        "g_e": lambda: -(y * log["z"] + z * log["y"] - x * angle["x"]),
        "g_n": lambda: -(x * log["z"] + z * log["x"] - y * angle["y"]),
        "g_z": lambda: x * log["y"] + y * log["x"] - z * angle["z"],
        "g_ee": lambda: -angle["x"],
        "g_nn": lambda: -angle["y"],
        "g_zz": lambda: -angle["z"],
        "g_en": lambda: log["z"],
        "g_ez": lambda: -log["y"],
        "g_nz": lambda: -log["x"],
    }
    return lambda name: terms[name]()


def compared(values, reference, names, total):
    """L2 over `total` points, rms and greatest difference of each field."""
    rows = {}
    for name, row, wanted in zip(names, values, reference):
        difference = (row - wanted).astype(np.float64)
        rms = float(np.sqrt(np.mean(difference**2)))
        rows[name] = {
            "unit": UNITS[name][0],
            "L2": rms * np.sqrt(total),
            "rms": rms,
            "greatest": float(np.abs(difference).max()),
        }
    return rows


def case():
    """Prisms and density of the example; its points (3, N), and for `fft` as many that are commensurate with the cells."""
    import craton

    planned = craton.plan(craton.load(CASE)).problem
    x, y = np.meshgrid((np.arange(150) + 0.5) * 22e3 / 150, (np.arange(100) + 0.5) * 22e3 / 100)
    over_cells = np.stack([x.ravel(), y.ravel(), np.full(x.size, planned.points[2, 0])])
    return planned.prisms, planned.density, {"far": planned.points, "fft": over_cells}


class Survey:
    """Points with what is known there: `exact` at some, and the direct sum in double at all where that is wanted."""

    def __init__(self, ensemble, points, names, direct=None):
        self.points, self.chosen = points, np.linspace(0, points.shape[1] - 1, EXACT).astype(int)
        self.exact = exact(*ensemble, points[:, self.chosen], names)
        self.direct = direct and direct(points)

    def judge(self, values, names):
        """Rows of a table from values (names, N), or at the chosen points only."""
        total, whole = self.points.shape[1], values.shape[1] == self.points.shape[1]
        found = {"against exact": compared(values[:, self.chosen] if whole else values, self.exact, names, total)}
        if whole and self.direct is not None:
            found["against direct"] = compared(values, self.direct, names, total)
        return found


def tables(report):
    """Every method and precision; with --set direct=1 direct sums at all points, and all methods against these too."""
    import craton.gravity

    names, (*ensemble, points) = tuple(UNITS), case()
    every, options = bool(report.setting("direct", "")), report.options

    def run(at, precision, method, rtol=None):
        settings = {"device": options.device, "precision": precision, "method": method, "rtol": rtol}
        return craton.gravity.forward(*ensemble, at, names, threads=options.threads, **settings)

    def rows(out):
        return np.array([out[name] for name in names])

    truth = (lambda at: rows(run(at, "float64", "direct"))) if every else None
    surveys = {name: Survey(ensemble, at, names, truth) for name, at in points.items()}
    counts = {"prisms": len(ensemble[0]), "points": points["far"].shape[1], "exact points": EXACT}
    for key, value in counts.items():
        report.keep(key, value)
    kept = {}
    for precision, method, *rest in RUNS:
        rtol = rest[0] if rest else None
        survey = surveys["fft" if method == "fft" else "far"]
        at = survey.points[:, survey.chosen] if method == "direct" and not every else survey.points
        out = run(at, precision, method, rtol)
        row = {"precision": precision, "method": out.method, "rtol": rtol, "stated": out.error}
        row |= survey.judge(rows(out), names)
        kept[f"{out.method}{f', rtol {rtol:g}' if rtol else ''}, {precision}"] = row
        report.keep("gravity_l2", kept)
        norms = {name: f"{norm['L2']:.1e} {norm['unit']}" for name, norm in row["against exact"].items()}
        report.say(f"{out.method:8s} {precision}  L2 {norms['g_z']}  {norms['g_zz']}")


PARTS = {"tables": tables}
