"""Point tables of many rows, which are gathered block by block when a run begins."""

import numpy as np

from craton.core.deferred import Deferred
from craton.core.plan import Array


def deferred(values, number, count, dtype):
    """Return an array of a plan whose values are made later.

    Parameters
    ----------
    values : Deferred
    number, count : int
        Which of them, and its length.
    dtype : numpy dtype
    """
    return Array("points", (count,), dtype, values.part(number, count, dtype))


def table_arrays(name, target, count, blocks, precision):
    """Arrays of a point table whose rows are made later.

    Parameters
    ----------
    name : str
        With which the names of the arrays begin.
    target : (targets,) array of int
        Index of each point that has rows, rising.
    count : int
        Number of rows.
    blocks : callable
        As of `gathered`.
    precision : str

    Returns
    -------
    dict of str to Array
    """
    rows = Deferred(lambda: gathered(blocks, target, precision))
    arrays = {
        "target": Array("points", target.shape, np.int64, target),
        "first": deferred(rows, 0, len(target) + 1, np.int32),
        "column": deferred(rows, 1, count, np.int32),
        "weight": deferred(rows, 2, count, precision),
    }
    return {f"{name}_{part}": array for part, array in arrays.items()}


def gathered(blocks, target, precision):
    """Return the rows of a table by target, within each in the order in which they come, in little
    more memory than they take.

    Parameters
    ----------
    blocks : callable
        Yields (index, weight, column) of some rows at a time, the same ones each time.
    target : (targets,) array of int
        Index of each point that has rows, rising.
    precision : str

    Returns
    -------
    first : (targets + 1,) array of int
        Where the rows of each target begin.
    column : (rows,) array of int32
    weight : (rows,) array
    """
    counts = np.zeros(len(target), np.int64)
    for index, _, _ in blocks():
        counts += np.bincount(np.searchsorted(target, index), minlength=len(counts))
    first = np.concatenate([[0], np.cumsum(counts)])
    column, weight = np.empty(first[-1], np.int32), np.empty(first[-1], precision)
    following = first[:-1].copy()
    for index, weights, columns in blocks():
        order = np.argsort(index, kind="stable")
        number = np.searchsorted(target, index[order])
        begins = np.flatnonzero(np.diff(number, prepend=-1))
        lengths = np.diff(begins, append=len(number))
        place = following[number] + np.arange(len(number)) - np.repeat(begins, lengths)
        column[place], weight[place] = columns[order], weights[order]
        following[number[begins]] += lengths
    return first, column, weight
