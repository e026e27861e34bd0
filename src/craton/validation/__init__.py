"""Runs against solutions that were not made with craton, and against what physics conserves; `craton validate` shows the rows.

A case is a function of the device that gives rows, dicts with the keys case, what, misfit, limit and passed. Misfit is the relative L2 norm
over components and time, sqrt(sum (a - b)^2 / sum b^2) with b the reference, unless `what` says otherwise.
"""
from functools import partial

from craton.validation.absorbing import cpml_slice
from craton.validation.conserved import energy, reciprocity
from craton.validation.homogeneous import full_space
from craton.validation.surface import lamb, two_layers

CASES = {
    "double-couple-4": partial(full_space, "double couple", 4),
    "double-couple-8": partial(full_space, "double couple", 8),
    "force-4": partial(full_space, "single force", 4),
    "force-8": partial(full_space, "single force", 8),
    "lamb": lamb,
    "two-layers": two_layers,
    "cpml-slice": cpml_slice,
    "energy": energy,
    "reciprocity": reciprocity,
}


def validate(names=None, device="auto"):
    """Rows of some cases.

    Parameters
    ----------
    names : str or sequence of str, optional
        Keys of `CASES`; all by default.
    device : str
        ``"auto"``, ``"cpu"`` or the name of another machine.

    Returns
    -------
    list of dict
    """
    names = [names] if isinstance(names, str) else (names or CASES)
    return [{"case": name, **row} for name in names for row in CASES[name](device)]
