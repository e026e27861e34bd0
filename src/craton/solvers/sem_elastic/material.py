"""Moduli of the elements as kernels take them: lambda and mu, or 21 constants, or 1 / rho of a fluid; and what attenuation takes away."""
from dataclasses import dataclass

import numpy as np

from craton.model import sampling
from craton.solvers.sem_elastic import mesh_terms

SAME = 1e-6  # relative: differences between the nodes of an element below are rounding of positions


@dataclass(frozen=True)
class Material:
    """Moduli and losses, for each node where they vary in the element.

    Parameters
    ----------
    constant : dict of (ne, rows) arrays
        Values of each element, the mean of its nodes: moduli, loss.
    varying : (ne,) bool array
        Elements whose values differ between nodes.
    place : (ne,) int array
        Of varying elements: where they are in `nodes`.
    nodes : dict of (nv, rows, n^3) arrays
    fluid : (ne,) bool array
    mass : (solid, fluid) arrays
        Diagonal masses of the points.
    """

    constant: dict
    varying: np.ndarray
    place: np.ndarray
    nodes: dict
    mass: tuple

    def of(self, order, own, name):
        """Values of a family in its order, padding with zeros: (n, rows), or (n, rows, n^3) for each node."""
        rows = (1 if own.fluid else None) if name == "moduli" else 1 + own.kind.bulk
        values = order.arranged(self.constant[name][:, :rows], 0)
        if not own.kind.per_node:
            return values
        size = self.nodes[name].shape[2]
        out = np.repeat(values[:, :, None], size, axis=2)
        there = (order.elements >= 0) & self.varying[np.maximum(order.elements, 0)]
        out[there] = self.nodes[name][self.place[order.elements[there]]][:, :rows]
        return out


def build(d):
    """The `Material` of a discretised problem, sampled batch by batch."""
    constant, nodes, flags = {"moduli": [], "loss": []}, {"moduli": [], "loss": []}, []
    mass = [np.zeros(n) for n in (d.state.solid, d.state.fluid)]
    for part in mesh_terms.batches(len(d.points)):
        elements = np.arange(part.start, part.stop)
        found = d.material(elements)
        values = of_nodes(d, found, d.fluid[elements])
        varies = np.any([different(v) for v in values.values()], axis=0)
        flags.append(varies)
        for name, v in values.items():
            constant[name].append(v.mean(axis=2).astype(d.precision))
            nodes[name].append(v[varies].astype(d.precision))
        add_mass(d, elements, found, mass)
    varying = np.concatenate(flags)
    joined = [{name: np.concatenate(parts) for name, parts in table.items()} for table in (constant, nodes)]
    return Material(joined[0], varying, np.cumsum(varying) - 1, joined[1], tuple(mass))


def different(values):
    """Elements whose values (n, rows, nodes) are not the same at all nodes."""
    scale = np.abs(values).max(axis=(1, 2), initial=0)
    return (np.ptp(values, axis=2) > SAME * scale[:, None]).any(axis=1)


def of_nodes(d, found, fluid):
    """Unrelaxed moduli (n, rows, nodes), Pa, in fluid elements 1 / rho, m3/kg, in the first row; 1/Q of shear and bulk modulus."""
    if d.anisotropic:
        rows, losses = np.array(found["stiffness"]), None
    else:
        rows, losses = sampling.moduli(found, d.relaxation)
    rows[fluid] = 0
    rows[fluid, 0] = 1 / found["rho"][fluid]
    return {"moduli": rows, "loss": np.zeros((len(rows), 2, rows.shape[2])) if losses is None else losses}


def add_mass(d, elements, found, mass):
    """Add the masses of some elements: density, of a fluid 1 / kappa, integrated by the nodes' quadrature."""
    with np.errstate(divide="ignore"):
        weights = found["rho"], 1 / (found["rho"] * found["vp"] ** 2)
    for fluid, (total, weight) in enumerate(zip(mass, weights)):
        own = d.fluid[elements] == bool(fluid)
        if own.any():
            some = elements[own]
            total += mesh_terms.mass(d.element, d.local[some], d.points[some], len(total), weight[own])
