"""Forces that stand for an incident field in the elements around a box: the stiffness of these
elements times the incident displacement, and in media with attenuation what their mechanisms take
of it.

A memory variable follows the strain by constants that belong to its mechanism alone, not to the
place (kernels/memory.h), and strength and moduli are constant in time. The force of mechanism l is
therefore a stiffness of the moduli Y_l kappa, Y_l mu times the displacement that a filter has
passed through, the same filter for all nodes: no memory variables are needed.
"""

import numpy as np

from craton.methods.spectral_element import material, mesh_terms
from craton.methods.spectral_element.element import lagrange_slopes
from craton.methods.spectral_element.operators import relaxation_constants
from craton.methods.spectral_element.sites import VOIGT
from craton.model.media import sampling

STEPS = 256  # whose forces are computed at a time
ROW = {pair: n for n, pair in enumerate((a, b) for a in range(6) for b in range(a, 6))}


def forces(d, layer, moved):
    """Return the forces that stand for an incident field at the points of a layer, (steps, 3 m), N.

    Parameters
    ----------
    d : Discretisation
    layer : Layer
    moved : (steps, 3 m) array
        Displacements, m.
    """
    out = np.zeros(moved.shape)
    for number, total in enumerate(layer.total):
        blocks = couplings(d, layer.elements[number], total)
        columns = (3 * layer.local[number][:, None] + np.arange(3)).ravel()
        of_box = np.repeat(total, 3)
        b, e = columns[of_box], columns[~of_box]
        filters = [Filter(constants) for constants in mechanisms(d)]
        for first in range(0, len(moved), STEPS):
            steps = slice(first, first + STEPS)
            series = moved[steps][:, columns].astype(float)
            for block, part in zip(blocks, [series, *(passed(series) for passed in filters)]):
                out[steps, e] += part[:, of_box] @ block.T
                out[steps, b] -= part[:, ~of_box] @ block
    return out


def mechanisms(d):
    """Return (decay, held, carried) of each mechanism of attenuation, see kernels/memory.h: list.

    Parameters
    ----------
    d : Discretisation
    """
    if d.relaxation is None:
        return []
    return [constants[:3] for constants in relaxation_constants(d.relaxation, d.dt)]


class Filter:
    """What a mechanism makes of displacements: xi = S + held u, then S <- decay S + carried u; S
    begins with zero and is kept from one block of steps to the next.

    Parameters
    ----------
    constants : (float, float, float)
        decay, held, carried.
    """

    def __init__(self, constants):
        decay, self.held, self.carried = constants
        self.decay, self.state = decay, None

    def __call__(self, series):
        """Return xi of the next steps, (steps, n)."""
        from scipy.signal import lfilter

        state = np.zeros((1, series.shape[1])) if self.state is None else self.state
        above = [self.held, self.carried - self.decay * self.held]
        out, self.state = lfilter(above, [1.0, -self.decay], series, axis=0, zi=state)
        return out


def couplings(d, number, total):
    """Return the stiffness of an element between its nodes of the scattered field (rows) and of the
    total field (columns), (3 ne, 3 nb), N/m, then minus that of each mechanism of attenuation: list.

    K[a i, b j] is the sum over nodes of weight x det J x d_r l_a C_irjs d_s l_b.

    Parameters
    ----------
    d : Medium
    number : int
    total : (n^3,) bool array
    """
    terms = mesh_terms.metric(d.element, d.shapes([number]))[0]
    inverse, measure = terms[:9].reshape(3, 3, -1), terms[9] * d.element.volume_weights
    slopes = np.einsum("srq,sqa->qra", inverse, reference_slopes(d.element))
    rows, blocks = slopes[:, :, ~total].reshape(-1, (~total).sum()), []
    for law in laws(d, number):
        stress = np.einsum("irjsq,qsb->qribj", tensor(law), slopes[:, :, total])
        stress *= measure[:, None, None, None, None]
        block = rows.T @ stress.reshape(len(rows), -1)
        blocks.append(block.reshape(3 * (~total).sum(), -1))
    return blocks


def reference_slopes(element):
    """Return the derivatives of the nodes' polynomials at the nodes, (3, n^3, n^3): along which
    axis, where, of which node.
    """
    slope, unit = lagrange_slopes(element.points, element.points), np.eye(element.n)
    lines = [[slope if axis == s else unit for axis in (2, 1, 0)] for s in range(3)]
    return np.stack([np.kron(np.kron(*line[:2]), line[2]) for line in lines])


def laws(d, number):
    """Return the unrelaxed moduli at the nodes of an element, (2 or 21, n^3), Pa, then minus those
    that each mechanism of attenuation takes, lambda and mu: list.
    """
    values = material.unrelaxed_moduli(d, d.material([number]), False)
    law = values["moduli"][0]
    if d.relaxation is None:
        return [law]
    lam, mu = law if len(law) == 2 else (law[sampling.CROSS].mean(0), law[sampling.SHEAR].mean(0))
    of_shear, of_bulk = (d.relaxation.coefficients(loss).T for loss in values["loss"][0])
    if not d.statistics.bulk_loss:
        of_bulk = np.zeros_like(of_bulk)
    taken = [np.stack([y * mu, z * (lam + 2 / 3 * mu)]) for y, z in zip(of_shear, of_bulk)]
    return [law, *(-np.stack([kappa - 2 / 3 * shear, shear]) for shear, kappa in taken)]


def tensor(law):
    """Return the stiffness tensor (3, 3, 3, 3, n), Pa, of lambda and mu (2, n) or 21 constants (21,
    n).
    """
    rows = np.zeros((6, 6, law.shape[1]))
    if len(law) == 2:
        lam, mu = law
        rows[:3, :3] = lam
        rows[range(3), range(3)] += 2 * mu
        rows[range(3, 6), range(3, 6)] = mu
    else:
        for (a, b), n in ROW.items():
            rows[a, b] = rows[b, a] = law[n]
    return rows[VOIGT[:, :, None, None], VOIGT[None, None]]
