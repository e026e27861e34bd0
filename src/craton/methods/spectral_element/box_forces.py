"""Forces that stand for an incident field in the elements around a box: the stiffness of these
elements times the incident displacement, or in a fluid the potential, and in media with attenuation
what their mechanisms take of it.

A memory variable follows the strain by constants that belong to its mechanism alone, not to the
place (kernels/memory.h), and strength and moduli are constant in time. The force of mechanism l is
therefore a stiffness of the moduli Y_l kappa, Y_l mu times the displacement that a filter has
passed through, the same filter for all nodes: no memory variables are needed.
"""

import numpy as np

from craton.methods.spectral_element.equations import material
from craton.methods.spectral_element.equations.operators import relaxation_constants
from craton.methods.spectral_element.mesh import mesh_terms
from craton.methods.spectral_element.mesh.element import lagrange_slopes
from craton.methods.spectral_element.sites import VOIGT
from craton.model.media import sampling

STEPS = 256  # whose forces are computed at a time
ROW = {pair: n for n, pair in enumerate((a, b) for a in range(6) for b in range(a, 6))}


def forces(d, around, moved):
    """Return the forces that stand for an incident field around a box, by the places of
    `box_layer.places_around`: dict of str to (steps, m fields) array, N, of the potential m3.

    Parameters
    ----------
    d : Discretisation
    around : Surroundings
    moved : dict of str to (steps, m fields) array
        Displacements, m, potentials, kg/m, pressures, Pa, at these places.
    """
    of_kind = {"solid": solid_forces, "fluid": fluid_forces, "pairs": pair_forces}
    return {kind: of_kind[kind](d, getattr(around, kind), series) for kind, series in moved.items()}


def solid_forces(d, layer, moved):
    """Return the forces at the points of a layer of the solid, (steps, 3 m), N.

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
        filters = [Filter(constants) for constants in mechanisms(d)]
        add_element(out, moved, columns, np.repeat(total, 3), blocks, filters)
    return out


def fluid_forces(d, layer, moved):
    """Return the forces of the potential at the points of a layer of the fluid, (steps, m), m3.

    Parameters
    ----------
    d : Discretisation
    layer : Layer
    moved : (steps, m) array
        Potentials, kg/m.
    """
    out = np.zeros(moved.shape)
    for number, total in enumerate(layer.total):
        block = fluid_coupling(d, layer.elements[number], total)
        add_element(out, moved, layer.local[number], total, [block], [])
    return out


def pair_forces(d, pairs, moved):
    """Return the forces where fluid and solid touch and the box has one side only, (steps, 4 p): of
    the solid, N, then of the potential, m3.

    The run takes there the total field of the one side for the scattered field that the other side
    needs, or the scattered field for the total field.

    Parameters
    ----------
    d : Discretisation
    pairs : Pairs
    moved : (steps, 4 p) array
        Displacements of the solid, m, then pressure of the fluid, Pa.
    """
    series = np.asarray(moved, float).reshape(len(moved), len(pairs.solid), 4)
    signed = np.where(pairs.solid_inside, -1.0, 1.0)[:, None] * pairs.vectors
    out = np.empty(series.shape)
    out[:, :, :3] = -series[:, :, 3:] * signed
    out[:, :, 3] = (series[:, :, :3] * signed).sum(axis=2)
    return out.reshape(moved.shape)


def add_element(out, moved, columns, of_box, blocks, filters):
    """Add the forces of one element.

    Parameters
    ----------
    out, moved : (steps, n) array
        Forces, and the incident field, of all points.
    columns : (m,) int array
        Those of the element.
    of_box : (m,) bool array
        Which of these belong to nodes that the box has.
    blocks : list of (e, b) array
        Stiffness between the element's other nodes and these: the first one times the field, the
        others times what the filters make of it.
    filters : list of Filter
    """
    b, e = columns[of_box], columns[~of_box]
    for first in range(0, len(moved), STEPS):
        steps = slice(first, first + STEPS)
        series = moved[steps][:, columns].astype(float)
        for block, part in zip(blocks, [series, *(passed(series) for passed in filters)]):
            out[steps, e] += part[:, of_box] @ block.T
            out[steps, b] -= part[:, ~of_box] @ block


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
    slopes, measure = slopes_at_nodes(d, number)
    rows, blocks = slopes[:, :, ~total].reshape(-1, (~total).sum()), []
    for law in laws(d, number):
        stress = np.einsum("irjsq,qsb->qribj", tensor(law), slopes[:, :, total])
        stress *= measure[:, None, None, None, None]
        block = rows.T @ stress.reshape(len(rows), -1)
        blocks.append(block.reshape(3 * (~total).sum(), -1))
    return blocks


def fluid_coupling(d, number, total):
    """Return the stiffness of a fluid element between its nodes of the scattered field (rows) and
    of the total field (columns), (ne, nb), m4/kg: the sum over nodes of weight x det J x d_r l_a
    d_r l_b / rho; see `couplings`.
    """
    slopes, measure = slopes_at_nodes(d, number)
    measure = measure / d.material([number])["rho"][0]
    size = len(measure) * 3
    weighed = (slopes[:, :, total] * measure[:, None, None]).reshape(size, -1)
    return slopes[:, :, ~total].reshape(size, -1).T @ weighed


def slopes_at_nodes(d, number):
    """Return the derivatives of an element's polynomials along x, y, z at its nodes, (n^3, 3, n^3),
    1/m, and weight times det J there, (n^3,), m3.
    """
    terms = mesh_terms.metric(d.element, d.shapes([number]))[0]
    inverse, measure = terms[:9].reshape(3, 3, -1), terms[9] * d.element.volume_weights
    return np.einsum("srq,sqa->qra", inverse, reference_slopes(d.element)), measure


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
