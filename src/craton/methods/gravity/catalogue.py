"""Every operator of gravity, for those who want to see or compile them all."""

from craton.methods.gravity import far, linear, raster, vertex
from craton.methods.gravity import operators as sums
from craton.methods.gravity.direct import FAR, NEAR
from craton.methods.gravity.fields import FIELDS, kinds
from craton.methods.gravity.groups import Far
from craton.methods.gravity.problem import RTOL

DOUBLE = (
    "leaf_moments",
    "parent_moments",
    "harmonics",
    "attract_nodes",
    "gather",
    "outline",
    "scatter",
    "pick",
)  # in double whatever is asked for


def operators(precision, fields=FIELDS):
    """All operators by name, as they run for some fields and the default rtol.

    Direct sum, tree and its moments, records of prisms for both (as the tree has them: always with
    the series), nodes and how a device finds them, transpose.
    """
    single, rtol = precision == "float32", RTOL[precision]
    series = Far.within(6, NEAR, FAR, kinds(fields)) if single else Far(0)
    begins = series.starts if single else Far.within(6, rtol, rtol, kinds(fields)).starts
    degree = far.degree_for(rtol)
    walk = sums.attract_clusters(fields, precision, degree, begins)
    launches = [
        sums.attract(fields, precision, series.order, series.starts),
        walk,
        sums.records(walk),
        sums.leaf_moments(degree + 2),
        sums.parent_moments(degree + 2),
        sums.harmonics(degree + 2),
        vertex.attract_nodes(fields),
        linear.gather(fields),
        raster.outline(),
        raster.scatter(),
        raster.pick(),
        sums.collect(fields),
    ]
    return {op.name: op for op in launches}
