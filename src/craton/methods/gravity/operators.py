"""The operators of gravity, declared: what each writes and reads, its constants."""

from pathlib import Path

from craton.core.operator import Operator, Struct
from craton.core.plan import Launch
from craton.methods.gravity.fields import mask

HERE = Path(__file__).parent / "kernels"
LANES = 64  # points of a group
SUM = Struct("AttractParams", (("stride", "i64"), ("parts", "i32")))
RECORDS = Struct("RecordParams", (("count", "i32"), *((name, "f64") for name in ("x", "y", "z", "unit", "distance"))))
MOMENTS = Struct("MomentParams", (("begin", "i32"), ("end", "i32")))
COUNTS, FLOATS = ("count", "threads", "nx", "ny", "nz"), ("x", "y", "z", "dx", "dy", "dz", "ulps")
RASTER = Struct("RasterParams", (*((name, "i32") for name in COUNTS), *((name, "f64") for name in FLOATS)))
KERNELS = {  # text, arrays that are written, arrays that are read, scalars
    "records": ("records.h", "prisms", "faces density", RECORDS),
    "attract": ("attract.h", "partial", "points groups prisms first", SUM),
    "attract_clusters": ("clusters.h", "partial", "points groups prisms nodes moments links heads first", SUM),
    "attract_nodes": ("vertex.h", "partial", "points nodes first", SUM),
    "gather": ("transpose.h", "partial", "faces data first", SUM),
    "collect": ("attract.h", "total", "partial", SUM),
    "leaf_moments": ("moments.h", "moments", "faces density centres spans list", MOMENTS),
    "parent_moments": ("moments.h", "moments", "centres spans family list", MOMENTS),
    "harmonics": ("moments.h", "out", "moments weights terms columns", MOMENTS),
    "outline": ("raster.h", "partial", "faces density", RASTER),
    "scatter": ("raster.h", "corners planes bad", "faces density", RASTER),
    "pick": ("raster.h", "nodes", "corners planes keys", RASTER),
}
INTEGERS = ("spans", "list", "family", "terms", "columns", "links", "heads", "first", "bad")
# arrays of doubles: everywhere, and in the texts that prepare sums
SUMS = ("partial", "total")
PREPARED = (*SUMS, "faces", "density", "centres", "weights", "moments", "out", "corners", "planes", "nodes")
PREPARING = ("records.h", "moments.h", "raster.h")


def kernel(name: str, defines: tuple = (("LANES", LANES),), flops: int = 0) -> Operator:
    """Return an operator of `KERNELS`, specialised by constants."""
    text, writes, reads, params = KERNELS[name]
    doubles = PREPARED if text in PREPARING else SUMS
    types = (*((n, "f64") for n in doubles), *((n, "i32") for n in INTEGERS), ("keys", "i64"))
    summing = writes == "partial" and params is SUM
    return Operator(
        name,
        HERE / text,
        tuple(writes.split()),
        tuple(reads.split()),
        params,
        flops=flops,
        defines=defines,
        types=types,
        pointwise=name != "scatter",
        grain=(1, 1) if summing or params in (RECORDS, MOMENTS) else (),
        # threads: long work of many registers, so that small blocks fill a multiprocessor better and end together
        block=(LANES, 1, 1) if summing else (),
    )


def launch(op, count, params, parts=1):
    """Return the launch of an operator over so many entries in groups of LANES, once for each of some parts."""
    return Launch(op, op.arrays, (0, parts, 0, -(-count // LANES), 0, LANES), params)


def constants(fields, precision="float64", order=0, starts=(1.0, 1.0)):
    """Return what specialises a body: fields, coordinates split in two reals or not, order of the series (0: none),
    distances from which orders 4 and 2 serve.
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


def attract(fields, precision, order=0, starts=(1.0, 1.0)):
    """Prisms at points, every pair; see attract.h."""
    return kernel("attract", constants(fields, precision, order, starts), flops(fields))


def attract_clusters(fields, precision, degree, starts=(1.0, 1.0)):
    """Prisms at points through a tree; see clusters.h."""
    defines = (*constants(fields, precision, 6, starts), ("DEGREE", degree))
    return kernel("attract_clusters", defines, flops(fields))


def attract_nodes(fields):
    """Nodes at points; see vertex.h."""
    return kernel("attract_nodes", constants(fields), flops(fields) // 3)


def gather(fields):
    """Points at prisms; see transpose.h."""
    return kernel("gather", constants(fields), flops(fields))


def of_nodes(name, degree):
    """One of the operators that make a tree's coefficients; see moments.h."""
    return kernel(name, (("DEGREE", degree), ("LANES", LANES)))


def flops(fields):
    """Rough count of the closed form: roots, logarithms and arctangents by their polynomials."""
    gradients = any(len(name) == 4 for name in fields)
    return 900 if gradients or len(fields) > 1 else 450
