"""The operators of gravity, declared: what each writes and reads, its constants."""
from pathlib import Path

from craton.plan.operator import Operator, Struct
from craton.solvers.gravity.fields import mask

HERE = Path(__file__).parent
LANES = 64  # points of a group
ATTRACT = Struct("AttractParams", (("stride", "i64"), ("parts", "i32")))
MOMENTS = Struct("MomentParams", (("begin", "i32"), ("end", "i32")))
NAMED = ("spans", "list", "family", "links", "heads", "first")  # arrays of integers
TYPES = (("partial", "f64"), ("total", "f64"), *((name, "i32") for name in NAMED))
RECORD = {"float64": 8, "float32": 14}  # reals of a prism in pairs.h


def constants(fields, precision, order):
    """What specialises a body: the fields, coordinates split in two reals or not, order of the series (0: none)."""
    return (("FIELDS", mask(fields)), ("LANES", LANES), ("SPLIT", int(precision == "float32")), ("ORDER", order))


def attract(fields, precision, order=0):
    """Prisms at points, every pair; see attract.h."""
    return Operator("attract", HERE / "attract.h", ("partial",), ("points", "groups", "prisms", "first"), ATTRACT, flops=flops(fields),
                    defines=constants(fields, precision, order), types=TYPES, grain=(1, 1))  # fmt: skip


def attract_clusters(fields, precision, degree, order=6):
    """Prisms at points through a tree; see clusters.h."""
    return Operator("attract_clusters", HERE / "clusters.h", ("partial",),
                    ("points", "groups", "prisms", "nodes", "moments", "links", "heads", "first"), ATTRACT, flops=flops(fields),
                    defines=(*constants(fields, precision, order), ("DEGREE", degree)), types=TYPES, grain=(1, 1))  # fmt: skip


def leaf_moments(degree):
    """Moments of the leaves of a tree; see moments.h."""
    types = (*TYPES, *((name, "f64") for name in ("moments", "prisms", "centres")))
    return Operator("leaf_moments", HERE / "moments.h", ("moments",), ("prisms", "centres", "spans", "list"), MOMENTS,
                    defines=(("DEGREE", degree), ("LANES", LANES)), types=types, grain=(1, 1))  # fmt: skip


def parent_moments(degree):
    """Moments of the other nodes from their children's; see moments.h."""
    types = (*TYPES, *((name, "f64") for name in ("moments", "centres")))
    return Operator("parent_moments", HERE / "moments.h", ("moments",), ("centres", "spans", "family", "list"), MOMENTS,
                    defines=(("DEGREE", degree), ("LANES", LANES)), types=types, grain=(1, 1))  # fmt: skip


def collect(fields):
    """Sum of the parts; see attract.h."""
    return Operator("collect", HERE / "attract.h", ("total",), ("partial",), ATTRACT, defines=constants(fields, "float64", 0), types=TYPES)


def flops(fields):
    """Rough count of the closed form: roots, logarithms and arctangents by their polynomials."""
    gradients = any(len(name) == 4 for name in fields)
    return 900 if gradients or len(fields) > 1 else 450
