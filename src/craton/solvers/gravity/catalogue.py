"""Every operator of gravity, for those who want to see or compile them all."""

from craton.solvers.gravity import far, linear, vertex
from craton.solvers.gravity import operators as sums
from craton.solvers.gravity.direct import FAR, NEAR
from craton.solvers.gravity.fields import FIELDS, kinds
from craton.solvers.gravity.groups import Far
from craton.solvers.gravity.problem import RTOL

DOUBLE = ("leaf_moments", "parent_moments", "harmonics", "attract_nodes", "gather")  # in double whatever is asked for


def operators(precision, fields=FIELDS):
    """All operators by name, as they run for some fields and the default rtol: direct sum, tree and its moments, nodes, transpose."""
    single, rtol = precision == "float32", RTOL[precision]
    series = Far.within(6, NEAR, FAR, kinds(fields)) if single else Far(0)
    begins = series.starts if single else Far.within(6, rtol, rtol, kinds(fields)).starts
    degree = far.degree_for(rtol)
    found = [
        sums.attract(fields, precision, series.order, series.starts), sums.attract_clusters(fields, precision, degree, begins),
        sums.leaf_moments(degree + 2), sums.parent_moments(degree + 2), sums.harmonics(degree + 2), vertex.attract_nodes(fields),
        linear.gather(fields), sums.collect(fields),
    ]  # fmt: skip
    return {op.name: op for op in found}
