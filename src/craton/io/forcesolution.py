"""FORCESOLUTION: point forces of SPECFEM3D Cartesian."""

import numpy as np

from craton.io.contents import FileSource
from craton.io.keyed import FUNCTION, blocks_of

DIRECTION = ("component dir vect source e", "component dir vect source n", "component dir vect source z_up")
KEYS = ("time shift", "hdurorf0", "latitude", "longitude", "depth", "factor force source", *DIRECTION)
# by their number
FUNCTIONS = ("gaussian", "ricker", "2, a step", "3, monochromatic", "4, the Gaussian of Meschede et al.")


def read(path):
    """Read every source of a file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    list of FileSource

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is wrong or missing: says which.
    """
    return [_source(block) for block in blocks_of(path, KEYS, "FORCESOLUTION")]


def _source(block):
    v = block.values
    vector = np.array([v[k] for k in DIRECTION])
    size = np.linalg.norm(vector)
    if not size or not v["factor force source"]:
        raise ValueError(f"line {block.line}: the force is zero")
    # Files of before this key existed mean a Ricker wavelet of peak frequency f0.
    function = v.get(FUNCTION, 1)
    if function not in range(len(FUNCTIONS)):
        raise ValueError(f"line {block.lines[FUNCTION]}: source time function {function:g} is unknown, it is 0 to 4")
    place, force = ((v["longitude"], v["latitude"], 1e3 * v["depth"]), v["factor force source"] * vector / size)
    return FileSource(
        *place, v["time shift"], v["hdurorf0"], force=force, wavelet=FUNCTIONS[int(function)], name=block.title
    )
