"""Fields and material in 16 bits, run.storage = "half": what it is refused for, the scales of the
fields, the codes of the material, the steps on them.

Velocity is kept times a power of two A, stress times A / Z, Z a power of two near the impedance of
the medium: a wave has one magnitude in all fields then, and its arithmetic is that of the wave
itself, bit for bit. Half precision holds 6e-5 to 65504 with 11 bits.
"""

import math
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from craton.core.operator import Struct
from craton.core.plan import Launch
from craton.errors import Problem, ScenarioError
from craton.methods.finite_difference.equations import operators
from craton.methods.finite_difference.equations.scheme import VELOCITY
from craton.methods.waves import tables
from craton.model.media import earth, rheology
from craton.survey.source_arrays import Catalogue, FiniteFault
from craton.survey.sources import PlaneWave, largest_moment

ORDER = 4  # of the differences that it was validated for
HIGHEST = 65504.0  # of half precision
PEAK = 4096.0  # of velocity as it is kept, where waves leave the boxes around sources: HIGHEST / 16
NUMBERS = (1 << 16) - 1  # of a code
MARGIN = 2.0  # of moduli beyond those of the model's points: averages over cells of several media
FIELD, MATERIAL = "float16", "uint16"
# Relative L2 difference from float32 of waveforms (median of receivers) within 20 wavelengths, and
# in the coda after 3,000 steps: in the band of the source, of all frequencies (bench/NOTES.md).
EXPECTED = {"within 20 wavelengths": (3e-4, 3e-3), "after 3,000 steps of coda": (5e-4, 4e-3)}
# reals per point of what stays in float32: memory variables of layers
REALS = {"cpml_velocity": 6, "cpml_stress": 6, "damping": 6, "cpml_laminate": 2}
# of the streamed steps, see `operators.STREAMED`; measured best on an H200
STREAMED = {"velocity": (8, 32, 4, 16, 3), "stress": (4, 32, 4, 32, 4)}
# scalars of steps, with the codes of the material
CODES = tuple((f"{name}_{part}", "i32") for name in ("rho", "lam", "rmu") for part in ("base", "step"))
PARAMS = {s.name: Struct(s.name, (*s.fields, *CODES)) for s in (operators.FD, operators.SLAB)}
BOX_FIELD = re.compile(r"box\d+_vx")  # of boxes in float32, see source_boxes.py
SAMPLE = tables.SAMPLE.specialised("sample_half", HALF=1)
REMEDY = "leave run.storage out"


class Code(NamedTuple):
    """Bits of a positive float32 as base + n step, n from 0 to 65535; see storage.h."""

    base: int
    step: int

    @classmethod
    def between(cls, low, high):
        """Return the code that reaches from `low` to `high`, both above 0."""
        first, last = (int(np.float32(value).view(np.int32)) for value in (low, high))
        return cls(first, max(-(-(last - first) // NUMBERS), 1))

    def encoded(self, values):
        """Return the numbers of values, uint16 array; ValueError where one is out of reach."""
        bits = np.asarray(values, np.float32).view(np.int32).astype(np.int64)
        numbers = (bits - self.base + self.step // 2) // self.step
        if numbers.size and (numbers.min() < 0 or numbers.max() > NUMBERS):
            low, high = self.decoded(np.array([0, NUMBERS], MATERIAL))
            worst = np.asarray(values).ravel()[np.argmax(np.abs(numbers - NUMBERS / 2))]
            raise ValueError(f"a parameter of {worst:g} is outside {low:g} to {high:g}, which 16 bits span")
        return numbers.astype(MATERIAL)

    def decoded(self, numbers):
        """Return what numbers stand for, float32 array."""
        return (self.base + self.step * np.asarray(numbers, np.int32)).view(np.float32)


def codes(speeds):
    """Codes of rho, lam and rmu by name, for the extremes of a model: dict of str to Code."""
    rho, vs = (np.array(speeds[name]) for name in ("rho", "vs"))
    mu, lam = rho * vs**2, np.array(speeds["lam"])
    spans = {"rho": rho, "lam": lam * [1 / MARGIN, MARGIN], "rmu": 1 / mu[::-1]}
    return {name: Code.between(low / (1 + 1e-6), high * (1 + 1e-6)) for name, (low, high) in spans.items()}


def encoded(codes, parameters):
    """Return material parameters as numbers of their codes: dict of str to uint16 array.

    Parameters
    ----------
    codes : dict of str to Code
    parameters : dict of str to array
        In SI units.

    Raises
    ------
    ScenarioError
        A value lies outside of its code: extremes of a model with anomalies are those of samples.
    """
    out = {}
    for name, values in parameters.items():
        try:
            out[name] = codes[name].encoded(values)
        except ValueError as e:
            raise ScenarioError.of("run.storage", f'"half" does not hold the model\'s {name}: {e}', REMEDY) from e
    return out


def impedance(speeds):
    """Power of two near the impedance of a model, kg/(m2 s)."""
    (rho0, rho1), (vs0, _), (_, vp1) = (speeds[name] for name in ("rho", "vs", "vp"))
    return 2.0 ** round(np.log2(np.sqrt(rho0 * rho1 * vs0 * vp1)))


def amplitude(d, sources, distances):
    """Power of two that makes `PEAK` of the largest velocity at some distance from each source.

    That of a homogeneous medium with the properties at the source: far field of a force and of a
    moment, and the intermediate field of the latter (Aki & Richards 2002, eqs 4.23 and 4.29).

    Parameters
    ----------
    d : Discretisation
    sources : list of PointSource
    distances : list of float
        Of each source, m.
    """
    times, peak = d.start + np.arange(d.steps) * d.dt, 0.0
    for source, distance in zip(sources, distances):
        vp, vs, rho = (v[0] for v in earth.point_values(d.model, [source.xyz]))
        series = source.wavelet(times)
        value, rate = np.abs(series).max(), np.abs(np.gradient(series, d.dt)).max()
        spread = 4 * np.pi * rho * vs**2 * distance
        if source.force is not None:
            peak = max(peak, np.abs(source.force).max() * rate / spread)
        else:
            peak = max(peak, largest_moment(source) * (rate / vs + value / distance) / spread)
    return 2.0 ** np.floor(np.log2(PEAK / peak)) if peak > 0 else 1.0


def problems(scenario, grid):
    """Return what a scenario asks for that 16 bits were not validated for: list of Problem."""
    if scenario.run.storage == "full":
        return []
    return [
        Problem("run.storage", f'"half" was not validated {words}', remedy)
        for words, remedy in (*of_run(scenario), *of_medium(scenario, grid), *of_tables(scenario))
    ]


def of_run(scenario):
    """Yield (words, remedy) of precision, waves and differences."""
    run = scenario.run
    if run.precision != "float32":
        yield f"with precision = {run.precision}", "leave precision out, or storage"
    if scenario.domain.planar:
        yield "in 2-D", REMEDY
    if run.order != ORDER or run.weights != "taylor":
        yield (f"for order {run.order} with {run.weights} weights", f"use order = {ORDER}, Taylor weights")
    if run.grid is not None:
        yield "on several ranks", f"{REMEDY}, or run.grid"


def of_medium(scenario, grid):
    """Yield (words, remedy) of the model and the boundaries."""
    model, boundaries = scenario.model, scenario.boundaries
    if getattr(model, "attenuation", None) is not None:
        yield "with attenuation", REMEDY
    if model.topography is not None:
        yield "with topography", REMEDY
    if rheology.anisotropic(model, grid):
        yield "in an anisotropic medium", REMEDY
    elif not earth.problems(model, grid):
        speeds = earth.extremes(model, grid)
        if scenario.domain.waves == "acoustic" or speeds["vs"][0] <= 0:
            yield "in a fluid (vs = 0)", REMEDY
        elif speeds["lam"][0] <= 0:
            yield "where lambda <= 0", f"use vp > sqrt(2) vs everywhere, or {REMEDY}"
    kinds = {boundaries.face(face) for face in ("top", "bottom", "west", "east", "south", "north")}
    for kind in sorted(kinds - {"free", "cpml", "rigid"}):
        yield f'with "{kind}" boundaries', 'use "cpml"'
    if boundaries.surface != "sbp":
        yield f'with surface = "{boundaries.surface}"', "leave boundaries.surface out"


def of_tables(scenario):
    """Yield (words, remedy) of what a run does besides its waves."""
    asked = {
        "for gradients": scenario.gradient,
        "for Green's functions": scenario.greens,
        "for maps of peaks": scenario.peaks,
        "for recordings around a box": scenario.recording,
        "for injected wavefields": scenario.injection,
    }
    for words, table in asked.items():
        if table:
            yield words, REMEDY


def source_problems(scenario, sources):
    """Return sources that 16 bits were not validated for: list of Problem."""
    if scenario.run.storage == "full":
        return []
    extended = [s.name for s in sources if isinstance(s, FiniteFault | Catalogue | PlaneWave)]
    return [Problem("run.storage", f'{name}: "half" was validated for point sources only', REMEDY) for name in extended]


def refuse(scenario, words, remedy=REMEDY):
    """Refuse what was not validated for a scenario whose fields are kept in 16 bits."""
    if scenario.run.storage == "half":
        raise ScenarioError.of("run.storage", f'"half" was not validated {words}', remedy)


def converted(d, launch, phase):
    """Return a launch of a phase on fields and material in 16 bits; one of records on fields.

    The spacing of the scheme takes up the impedance: dt / h times Z for velocity, over Z for
    stress.
    """
    if launch.op is tables.SAMPLE:
        return replace(launch, op=SAMPLE)
    if not launch.on_grid:
        return launch
    op = on_16_bits(launch.op, d.stencil, d.free)
    numbers = {f"{name}_{part}": value for name, code in d.codes.items() for part, value in code._asdict().items()}
    params = launch.params | numbers | {"dt_h": scaled_step(d, launch.params["dt_h"], phase)}
    return Launch(op, launch.arrays, launch.box, params)


def on_16_bits(op, stencil, free):
    """Return an operator of the grid on fields and material in 16 bits, see storage.h; `free`: the
    top is traction-free.
    """
    setting = STREAMED.get(op.name) if op.variants and 2 * stencil.reach == ORDER else None
    surface = {"FREE": int(free)} if op.function == "cpml_stress" else {}
    return replace(
        op.specialised(f"{op.name}_half", HALF=1, **surface),
        params=PARAMS[op.params.name],
        variants=(operators.variant("float32", setting),) if setting else (),
        reals_per_point=(op.reals_per_point + REALS.get(op.function, 0)) / 2,
    )


def scaled_step(d, dt_h, phase):
    """Return dt / h as it acts on the fields of a phase where they are scaled."""
    return dt_h * d.impedance if phase == "velocity" else dt_h / d.impedance


def scale(d, field):
    """Value of a field as it is kept over its value in SI units."""
    return d.amplitude if field in VELOCITY else d.amplitude / d.impedance


def scales(d, index):
    """Scale of the fields to which indices of the state belong, (n,)."""
    table = np.array([scale(d, field) for field in d.fields])
    return table[(np.asarray(index) + d.layout.first) // d.layout.field]


def notes(d, plan):
    """Rows of `craton plan`: what is kept in 16 bits, and the error to expect of it."""
    if not d.in_half:
        return []
    boxes = [array.window for name, array in plan.arrays.items() if BOX_FIELD.fullmatch(name)]
    points = sum(math.prod(part.stop - part.start for part in window) for window in boxes)
    step = max(code.step for code in d.codes.values()) / 2**24
    errors = "; ".join(
        f"{band:.0e} in the band of the source and {raw:.0e} at all frequencies {where}"
        for where, (band, raw) in EXPECTED.items()
    )
    boxed = f"float32 in {len(boxes)} box(es) around sources, {points:,} points"
    kept = f"fields and material in 16 bits, arithmetic in float32; material to {step:.0e}; {boxed}"
    expected = f"of waveforms, relative L2 against float32, median of receivers: {errors}"
    rows = [("storage", kept), ("expected error", expected)]
    if plan.snapshots:
        velocity, stress = (HIGHEST / scale(d, field) for field in ("vx", "sxx"))
        rows.append(("snapshots", f"of 16 bits: beside a source cut off at {velocity:.2g} m/s and {stress:.2g} Pa"))
    return rows
