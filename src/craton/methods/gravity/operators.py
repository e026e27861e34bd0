"""The operators of gravity, declared: what each writes and reads, its constants."""

from pathlib import Path

from craton.core.operator import Operator, Struct
from craton.methods.gravity.fields import mask

HERE = Path(__file__).parent / "kernels"
LANES = 64  # points of a group
ATTRACT = Struct("AttractParams", (("stride", "i64"), ("parts", "i32")))
RECORDS = Struct("RecordParams", (("count", "i32"), *((name, "f64") for name in ("x", "y", "z", "unit", "distance"))))
MOMENTS = Struct("MomentParams", (("begin", "i32"), ("end", "i32")))
# arrays of integers
NAMED = ("spans", "list", "family", "terms", "columns", "links", "heads", "first")
TYPES = (*((name, "f64") for name in ("partial", "total")), *((name, "i32") for name in NAMED))
# threads: long work of many registers, so that small blocks fill a multiprocessor better and end
# together
BLOCK = (LANES, 1, 1)


def constants(fields, precision, order, starts=(1.0, 1.0)):
    """Return what specialises a body: fields, coordinates split in two reals or not, order of the
    series (0: none), where lower orders serve.
    """
    return (
        ("FIELDS", mask(fields)),
        ("LANES", LANES),
        ("SPLIT", int(precision == "float32")),
        ("ORDER", order),
        *((name, repr(float(value))) for name, value in zip(("FROM4", "FROM2"), starts)),
    )


def record(precision, order):
    """Reals of a prism as pairs.h reads it."""
    return {"float64": (8, 32), "float32": (16, 44)}[precision][order > 0]


def records(like):
    """Prisms as another operator reads them; see records.h."""
    types = (("faces", "f64"), ("density", "f64"))
    return Operator(
        "records",
        HERE / "records.h",
        ("prisms",),
        ("faces", "density"),
        RECORDS,
        defines=like.defines,
        types=types,
        grain=(1, 1),
    )


def attract(fields, precision, order=0, starts=(1.0, 1.0)):
    """Prisms at points, every pair; see attract.h."""
    return Operator(
        "attract",
        HERE / "attract.h",
        ("partial",),
        ("points", "groups", "prisms", "first"),
        ATTRACT,
        flops=flops(fields),
        defines=constants(fields, precision, order, starts),
        types=TYPES,
        grain=(1, 1),
        block=BLOCK,
    )


def attract_clusters(fields, precision, degree, starts=(1.0, 1.0)):
    """Prisms at points through a tree; see clusters.h."""
    return Operator(
        "attract_clusters",
        HERE / "clusters.h",
        ("partial",),
        ("points", "groups", "prisms", "nodes", "moments", "links", "heads", "first"),
        ATTRACT,
        flops=flops(fields),
        defines=(*constants(fields, precision, 6, starts), ("DEGREE", degree)),
        types=TYPES,
        grain=(1, 1),
        block=BLOCK,
    )


def of_nodes(name, degree, reads):
    """One of the operators that make a tree's coefficients; see moments.h."""
    writes = ("out",) if name == "harmonics" else ("moments",)
    types = (*TYPES, *((array, "f64") for array in ("out", "moments", "faces", "density", "centres", "weights")))
    defines = (("DEGREE", degree), ("LANES", LANES))
    return Operator(name, HERE / "moments.h", writes, reads, MOMENTS, defines=defines, types=types, grain=(1, 1))


def leaf_moments(degree):
    """Moments of the leaves of a tree."""
    return of_nodes("leaf_moments", degree, ("faces", "density", "centres", "spans", "list"))


def parent_moments(degree):
    """Moments of the other nodes from their children's."""
    return of_nodes("parent_moments", degree, ("centres", "spans", "family", "list"))


def harmonics(degree):
    """Coefficients of the multipole expansions from moments."""
    return of_nodes("harmonics", degree, ("moments", "weights", "terms", "columns"))


def collect(fields):
    """Sum of the parts; see attract.h."""
    return Operator(
        "collect",
        HERE / "attract.h",
        ("total",),
        ("partial",),
        ATTRACT,
        defines=constants(fields, "float64", 0),
        types=TYPES,
    )


def flops(fields):
    """Rough count of the closed form: roots, logarithms and arctangents by their polynomials."""
    gradients = any(len(name) == 4 for name in fields)
    return 900 if gradients or len(fields) > 1 else 450
