"""Catalogues on elements: thousands of moments as arrays. Which nodes they act on is known when a
run is planned, the rows are made when it begins.
"""

from dataclasses import fields

import numpy as np

from craton.methods.spectral_element.couples import TOUCH
from craton.methods.spectral_element.sites import numbers, sites, vector_index
from craton.methods.waves import histories
from craton.methods.waves.ranks.gathered import table_arrays
from craton.model.mesh.locate import Located
from craton.survey.catalogues import Catalogue

NAME = "catalogue"
BLOCK = 1024  # sources whose rows are made at a time
LOCATED = 1 << 16  # positions that are found at a time


def sources(d, all_sources, rows_of, launches, integrate):
    """Return arrays, launches and bands of the catalogues among sources, whose moments remain when
    their rates have ended.

    Parameters
    ----------
    d : Discretisation
    all_sources : list
    rows_of : callable
        (index, weight) of moment tensors at sites of the solid.
    launches : callable
        Launches of a table by its name, columns and targets.
    integrate : callable
        Moments after each step of windows, of their rates.
    """
    held = [s for s in all_sources if isinstance(s, Catalogue)]
    if not held:
        return {}, [], []
    xyz, tensors = (np.concatenate([getattr(c, part) for c in held]) for part in ("points", "tensors"))
    source, located, parts = holding(d, xyz)
    bands = [float(c.highest(d.dt).max()) for c in held]
    if not len(source):
        return {}, [], bands
    column = histories.columns(held)

    def blocks():
        for low in range(0, len(source), BLOCK):
            some = np.arange(low, min(low + BLOCK, len(source)))
            n = source[some]
            index, weight = rows_of(d, sites(d, located.some(some)), tensors[n])
            weight = weight / parts[n][:, None]
            yield index.ravel(), weight.ravel(), np.repeat(column[n], index.shape[1])

    nodes = numbers(d, np.unique(located.element))
    target = np.unique(vector_index(d, "force", nodes))
    windows = [histories.limits(d, c) for c in held]
    arrays = table_arrays(NAME, target, 3 * d.element.size * len(source), blocks, d.precision)
    arrays |= histories.arrays(NAME, d, held, windows, lambda rates, at: integrate(rates, at, d.dt), later=1)
    return arrays, launches(d, NAME, len(arrays[f"{NAME}_begin"].data), len(target)), bands


def holding(d, xyz):
    """Return what `Discretisation.elements_holding` does of many positions, in bounded memory; on
    one rank it is asked only of positions on the faces of elements.

    Parameters
    ----------
    d : Discretisation
    xyz : (n, 3) array
        m.

    Returns
    -------
    which : (m,) int array
    located : Located
    parts : (n,) int array
    """
    pieces, parts, several = [], np.ones(len(xyz), int), np.arange(len(xyz))
    if d.subdomain.team.size == 1:
        located = d.locate(xyz, False)
        inside = np.abs(located.local).max(axis=1) < 1 - TOUCH
        pieces.append((several[inside], located.some(inside)))
        several = several[~inside]
    for low in range(0, len(several), LOCATED):
        block = several[low : low + LOCATED]
        which, located, count = d.elements_holding(xyz[block])
        pieces.append((block[which], located))
        parts[block] = count
    which, located = zip(*pieces)
    return (
        np.concatenate(which),
        Located(*(np.concatenate([getattr(p, f.name) for p in located]) for f in fields(Located))),
        parts,
    )
