"""Moduli of the elements as kernels take them: lambda and mu, or 21 constants, or 1 / rho of a
fluid; and losses of attenuation.
"""

import numpy as np

from craton.memory import available
from craton.methods.spectral_element.mesh import mesh_terms
from craton.model.media import cells, sampling

BATCH = 1 << 14  # elements per batch where one value per element is needed
# of the free memory, that moduli of all ranks take at most between two passes of a mesh: where they
# are large, memory touched for the first time costs as much as sampling again
KEPT = 0.02


class SampledModuli:
    """Lambda and mu at the nodes of isotropic elements, kept from the pass over the mesh that
    collects its statistics until the arrays of the families hold them: the medium is sampled once.

    Parameters
    ----------
    elements, nodes : int
        Elements of the mesh and nodes of each; rows in which nothing is stored take no memory.
    precision : str
        Of the run.
    """

    def __init__(self, elements, nodes, precision):
        self.values = np.empty((elements, 2, nodes), precision)

    def store(self, samples, elements):
        """Store the moduli, Pa, of solid elements (n,) from samples (n, nodes) at their nodes."""
        store_moduli(samples, elements, self.values)

    def release(self):
        """Let go of the memory; `arrays` sample the medium again from here on."""
        self.values = None


def moduli_to_keep(scenario, sampler, elements, nodes, ranks):
    """Return the `SampledModuli` of a mesh, or None where its medium needs more than two moduli or
    too little memory is free.

    Parameters
    ----------
    scenario : craton.SpectralScenario
    sampler : sampling.Sampler, or one used as that
    elements, nodes, ranks : int
        Elements of this rank, nodes of each, and ranks.
    """
    if sampler.anisotropic or sampler.lossy:
        return None
    needed = 2 * nodes * elements * ranks * np.dtype(scenario.run.precision).itemsize
    if needed > KEPT * (available() or 0):
        return None
    return SampledModuli(elements, nodes, scenario.run.precision)


def store_moduli(samples, places, out):
    """Store lambda and mu, Pa, of isotropic samples (n, nodes) at their places (n,) in out (..., 2, nodes)."""
    values = [np.ascontiguousarray(samples[name]) for name in ("vp", "vs", "rho")]
    mesh_terms.compiled(f"moduli_{out.dtype}", *values[0].shape, *values, np.ascontiguousarray(places, np.int64), out)


def arrays(d, family, order):
    """Return moduli and losses of a family in its order, padded with zeros.

    Parameters
    ----------
    d : Medium
    family : families.Family
    order : families.Order

    Returns
    -------
    dict of str to array
        "moduli" (n, rows), or (n, rows, n^3) for each node; "loss" too where elements relax.
    """
    rows = {"moduli": 1 if family.fluid else 21 if family.kind.full else 2, "loss": 1 + family.kind.bulk}
    if not family.kind.relaxation:
        del rows["loss"]
    nodes = (d.element.size,) if family.kind.per_node else ()
    out = {name: np.zeros((len(order), count, *nodes), d.precision) for name, count in rows.items()}

    plain = not family.fluid and not family.kind.full and not family.kind.relaxation
    sampled = d.statistics.moduli.values if plain and nodes and d.statistics.moduli else None

    def fill(part):
        places = part.start + np.flatnonzero(order.elements[part] >= 0)
        elements = order.elements[places]
        if sampled is not None and d.statistics.varying[elements].all():
            out["moduli"][places] = sampled[elements]
            return
        if nodes:
            samples = d.material(elements)
        else:
            samples = {name: v[elements][..., None] for name, v in d.statistics.constant.items()}
        if plain:
            store_moduli(samples, places, out["moduli"])
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
