"""1/Q among the parameters of an inversion: what is refused."""

from craton.conventions import OF_Q
from craton.errors import Problem, ScenarioError

BEYOND = 1.25  # 1/Q over the largest for which mechanisms were fitted: their Q is then a little off


def largest(relaxation):
    """Return the largest 1/Q for which mechanisms are good; None without attenuation."""
    return relaxation and BEYOND * relaxation.largest


def refuse(names, inverse_q, relaxation, anisotropic, places):
    """Refuse parameters of Q of a medium that has none, or an infinite one.

    Parameters
    ----------
    names : sequence of str
        Parameters.
    inverse_q : callable
        Returns 1/Qp and 1/Qs of the medium, arrays.
    relaxation : Relaxation or None
    anisotropic : bool
    places : str
        What the arrays have values of: "cells", "nodes".

    Returns
    -------
    list of arrays
        1/Qp and 1/Qs.

    Raises
    ------
    ScenarioError
    """
    if relaxation is None or anisotropic:
        kind = "anisotropic" if anisotropic else "elastic"
        remedy = "give the model qp, qs and [model.attenuation], or leave them out"
        raise ScenarioError.of("parameters", f"Q of an {kind} medium", remedy)
    values = dict(zip(OF_Q, inverse_q()))
    lossless = {name: int((v == 0).sum()) for name, v in values.items() if name in names}
    problems = [
        Problem("parameters", f"{name} is infinite in {count:,} {places}", f"use inverse_{name}")
        for name, count in lossless.items()
        if count
    ]
    if problems:
        raise ScenarioError(problems)
    return list(values.values())
