"""Moduli of the elements as kernels take them: lambda and mu, or 21 constants, or 1 / rho of a
fluid; and losses of attenuation.
"""

import numpy as np

from craton.methods.spectral_element import batched, mesh_terms
from craton.model.media import cells, sampling

BATCH = 1 << 14  # elements per batch where one value per element is needed


def arrays(d, family, order):
    """Return moduli and losses of a family in its order, padded with zeros.

    Parameters
    ----------
    d : Medium
    family : families.Family
    order : assembly.Order

    Returns
    -------
    dict of str to array
        "moduli" (n, rows), or (n, rows, n^3) for each node; "loss" too where elements relax.
    """
    rows = {
        "moduli": 1 if family.fluid else 21 if family.kind.full else 2,
        "loss": 1 + family.kind.bulk,
    }
    if not family.kind.relaxation:
        del rows["loss"]
    nodes = (d.element.size,) if family.kind.per_node else ()
    out = {name: np.zeros((len(order), count, *nodes), d.precision) for name, count in rows.items()}

    plain = not family.fluid and not family.kind.full and not family.kind.relaxation

    def fill(part):
        places = part.start + np.flatnonzero(order.elements[part] >= 0)
        elements = order.elements[places]
        samples = (
            d.material(elements)
            if nodes
            else {name: v[elements][..., None] for name, v in d.statistics.constant.items()}
        )
        if plain and (compiled := batched.compiled()) is not None:
            compiled.moduli(samples, places, out["moduli"])
            return
        values = unrelaxed_moduli(d, samples, family.fluid)
        for name, array in out.items():
            array[places] = values[name][:, : rows[name]].reshape(len(places), *array.shape[1:])

    cells.in_parallel(fill, mesh_terms.batches(len(order), mesh_terms.BATCH if nodes else BATCH))
    return out


def unrelaxed_moduli(d, samples, fluid):
    """Return unrelaxed moduli (n, 2 or 21, nodes), Pa, of a fluid 1 / rho, m3/kg; 1/Q of shear and
    bulk modulus, or None.
    """
    if fluid:
        return {"moduli": 1 / samples["rho"][:, None], "loss": None}
    return dict(zip(("moduli", "loss"), sampling.moduli(samples, d.relaxation)))


def inertia(samples, fluid):
    """Return the integrand of the mass: density, of a fluid 1 / kappa."""
    return 1 / cells.moduli(samples["vp"], 0.0, samples["rho"])[0] if fluid else samples["rho"]
