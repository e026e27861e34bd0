"""Attenuation and anisotropy of a scenario's model: what is wrong with their values, the largest
loss, and the mechanisms fitted to it.
"""

import numpy as np

from craton.errors import Problem, ScenarioError
from craton.model.media import attenuation, cells, checks, earth

COARSE = 1 / 60  # largest 1/Q for which it is taken where the scenario leaves the storage open
EXACT = 1e-9  # of 1/Q: rounding where bulk loss is zero
PIECE = 4096  # samples at a time, each in many directions: temporaries stay in the cache


def problems(model, region, key="model"):
    """Problems of Q and Thomsen's parameters, in a model whose vp, vs and density are valid: list of Problem.

    Q that is not above zero, a bulk modulus that would gain energy, a stiffness that is not positive, attenuation asked
    for and no Q given, losses too large for the mechanisms.

    `key`: of the model in the scenario, for messages.
    """
    problems, worst, has_q = [], 0.0, False
    try:
        for where, xyz, values in earth.samples(model, region):
            at = ".".join(part for part in (key, where) if part)
            for (sentence, remedy), mask in _wrong(*np.broadcast_arrays(*values)).items():

                def words(first, where, sentence=sentence, remedy=remedy):
                    return sentence + where, remedy

                problems += checks.located(at, xyz, mask, "sampled points", words)
            worst, has_q = (max(worst, _largest(values)), has_q or any(np.any(v) for v in values[3:5]))
    except ScenarioError as error:
        return list(error.problems)
    attenuation = getattr(model, "attenuation", None)
    if attenuation is None or problems:
        return problems
    if not has_q:
        return [Problem(f"{key}.attenuation", "the model gives no Q", "Give qp and qs, or leave attenuation out.")]
    try:
        _fit(attenuation, worst)
    except ValueError as error:
        return [
            Problem(
                f"{key}.attenuation",
                str(error),
                'Raise Q, narrow the band, or write storage = "full" and mechanisms = 4.',
            )
        ]
    return []


def _wrong(vp, vs, rho, qp, qs, epsilon, delta, gamma):
    """Find impossible values: dict of (message, remedy) -> boolean array."""
    with np.errstate(invalid="ignore"):
        q = {
            (f"{n} is not a finite number above 0", f"Give {n} above 0, or leave it out."): ~np.isfinite(v) | (v < 0)
            for n, v in (("qp", qp), ("qs", np.where(vs > 0, qs, 0)))
        }
        bulk = (vp**2 * qp < 4 / 3 * vs**2 * qs * (1 - EXACT)) & (vs > 0)
        ratio = vs**2 / vp**2
        c11, c66, square = (1 + 2 * epsilon, ratio * (1 + 2 * gamma), 2 * (1 - ratio) * delta + (1 - ratio) ** 2)
        c13 = np.sqrt(np.maximum(square, 0)) - ratio
        stiff = (square >= 0) & (c11 > 0) & (c66 >= 0) & (c11 > c66) & (c11 - c66 >= c13**2 * (1 - EXACT))
    return q | {
        ("1/Qp is less than 4/3 (vs/vp)^2 / Qs: bulk attenuation would be negative", "Lower qp or raise qs."): bulk,
        ("epsilon, delta, gamma give a stiffness that is not positive definite", "Make them smaller."): ~stiff,
    }


def _largest(values):
    qp, qs = (np.broadcast_to(v, np.broadcast_shapes(*map(np.shape, values))) for v in values[3:5])
    return float(max(qp.max(), np.where(values[1] > 0, qs, 0).max()))


def _fit(table, largest):
    """Mechanisms of an attenuation table for losses up to `largest`, or to that of its lowest Q."""
    largest = max(largest, table.largest_inverse_q)
    return fitted(table, largest, table.storage or _storage(table.mechanisms, largest * (1 - EXACT)))


def fitted(table, largest, storage):
    """Return the `Relaxation` of an attenuation table for losses up to `largest`, 1/Q."""
    return attenuation.relaxation(table.band, largest, table.mechanisms, table.frequency, table.power, storage)


def _storage(mechanisms, largest):
    """Return the least that keeps a full space within 2 % in amplitude and phase
    (docs/numerics.md).
    """
    if largest <= COARSE:
        return "coarse"
    return "full" if mechanisms < 4 else "paired"


def relaxation(model, region):
    """Return the `Relaxation` of a model in a grid or `Region`; None where no attenuation is wanted."""
    table = getattr(model, "attenuation", None)
    if table is None:
        return None
    return _fit(table, max(_largest(values) for *_, values in earth.samples(model, region)))


def fastest(model, region, relaxation, speed="vp"):
    """Largest unrelaxed P or S speed, m/s: it limits the time step.

    `speed`: ``"vp"`` or ``"vs"``.
    """
    n = checks.NAMES.index(speed)  # Qp and Qs stand three places further on
    return float(
        max(
            (values[n] * np.sqrt(relaxation.unrelaxed(values[n + 3]))).max()
            for *_, values in earth.samples(model, region)
        )
    )


def relaxing_part(c11, c13, c33, c44, c66, qp, qs):
    """Return the isotropic part of a stiffness about z, which relaxes: bulk and shear modulus, Pa, and 1/Qp that fits
    them.

    lambda = (c12 + c13 + c23) / 3 and mu = (c44 + c55 + c66) / 3, as in spectral elements (`sampling.moduli`). 1/Qp and
    1/Qs are those of waves along z: the losses of bulk and shear modulus are those of an isotropic medium with c33 and
    c44.

    `c11`, `c13`, `c33`, `c44`, `c66`: stiffnesses, Pa; `qp`, `qs`: 1/Qp and 1/Qs along z.
    """
    mu = (2 * c44 + c66) / 3
    kappa = (c11 - 2 * c66 + 2 * c13) / 3 + 2 / 3 * mu
    with np.errstate(invalid="ignore"):  # 0 / 0 where there is nothing
        bulk = np.maximum(c33 * qp - 4 / 3 * c44 * qs, 0) / (c33 - 4 / 3 * c44)
        return kappa, mu, np.nan_to_num((kappa * bulk + 4 / 3 * mu * qs) / (kappa + 4 / 3 * mu))


def stiffened(c11, c13, c33, c44, c66, of_p, of_s):
    """Return the stiffness, Pa, whose isotropic part has P and S moduli of_p and of_s times those of another's.

    `c11`, `c13`, `c33`, `c44`, `c66`: stiffnesses of the other medium, Pa; `of_p`, `of_s`: ratios of moduli.
    """
    kappa, mu, _ = relaxing_part(c11, c13, c33, c44, c66, 0.0, 0.0)
    shear = mu * (of_s - 1)
    along = (kappa + 4 / 3 * mu) * (of_p - 1)
    return c11 + along, c13 + along - 2 * shear, c33 + along, c44 + shear, c66 + shear


def _quasi(c11, c13, c33, c44, s, c, sign):
    """Density times squared phase speed, Pa, of quasi-P (sign 1) and quasi-SV waves (-1) with squared sine and cosine
    s and c of their angle from z (Musgrave 1970).
    """
    root = np.sqrt(((c11 - c44) * s - (c33 - c44) * c) ** 2 + 4 * (c13 + c44) ** 2 * s * c)
    return ((c11 + c44) * s + (c33 + c44) * c + sign * root) / 2


def fastest_anisotropic(model, region, speed="vp", relaxation=None):
    """Return the largest phase speed in any direction, m/s: of quasi-P waves (Musgrave 1970), or with "vs" of SH waves;
    unrelaxed.

    `speed`: ``"vp"`` or ``"vs"``; `relaxation`: of a medium with attenuation.
    """
    angle = np.linspace(0, np.pi / 2, 46)
    s, c = np.sin(angle) ** 2, np.cos(angle) ** 2

    def fastest(vp, vs, rho, qp, qs, *thomsen):
        stiffness = cells.stiffness(vp, vs, rho, *thomsen)
        if relaxation is not None:
            losses = relaxing_part(*stiffness, qp, qs)[2], qs
            stiffness = stiffened(*stiffness, *map(relaxation.unrelaxed, losses))
        c11, c13, c33, c44, c66 = (modulus[:, None] for modulus in stiffness)
        if speed == "vs":
            squares = c66 * s + c44 * c
        else:
            squares = np.maximum(_quasi(c11, c13, c33, c44, s, c, 1), c66 * s)
        return float(np.sqrt(squares / rho[:, None]).max())

    return largest(fastest, model, region)


def largest(value, model, region):
    """Return the largest of what `value` gives for the samples of a model, some of them at a time on the cores of this
    process; not below 0.

    `value` callable: takes the values of `properties.NAMES`, (n,) each.
    """
    most = 0.0
    for *_, values in earth.samples(model, region):
        flat = [np.ravel(v) for v in np.broadcast_arrays(*values)]
        pieces = [[v[start : start + PIECE] for v in flat] for start in range(0, flat[0].size, PIECE)]
        most = max(most, *cells.in_order(lambda piece: value(*piece), pieces))
    return most


def backwardness(model, region):
    """Extent to which quasi-P and quasi-SV waves run backwards, 0 where none does.

    The greatest -s_i c_i over axes i (x, z) and directions, with slowness s and group velocity c; s . c = 1. Where it
    is above zero a perfectly matched layer across that axis is unstable (Becache, Fauqueux & Joly 2003, J. Comput.
    Phys. 188, 399).
    """
    angle = np.linspace(0, np.pi / 2, 91)
    s, c = np.sin(angle) ** 2, np.cos(angle) ** 2

    def most_backward(vp, vs, rho, qp, qs, *thomsen):
        stiffness = cells.stiffness(vp, vs, rho, *thomsen)
        c11, c13, c33, c44, _ = (modulus[:, None] for modulus in stiffness)
        most = 0.0
        for sign in (1, -1):
            square = _quasi(c11, c13, c33, c44, s, c, sign)
            if sign < 0:
                square = np.where(c44 > 0, square, c33)  # a fluid has no such wave
            # of log phase speed with the angle from z
            change = np.gradient(square, angle, axis=-1) / np.maximum(2 * square, 1e-300)
            along = s + np.sqrt(s * c) * change, c - np.sqrt(s * c) * change  # s_i c_i of x and z
            most = max(most, *(float(-value.min()) for value in along))
        return most

    return largest(most_backward, model, region)


def anisotropic(model, region):
    """Whether a model gives Thomsen's parameters other than zero."""
    return any(np.any(v) for *_, values in earth.samples(model, region) for v in values[5:])
