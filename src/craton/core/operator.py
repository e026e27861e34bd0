"""An operator is declared once, as data; its body is one C++ text for every machine.

`source` is all that a compiler sees.
"""

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

C_TYPES = {
    "real": "real",
    "force": "force_t",
    "stored": "stored_t",
    "field": "field_t",
    "material": "material_t",
    "f64": "double",
    "i32": "int",
    "i64": "long long",
}
REALS = {"float32": "float", "float64": "double"}
# A kernel and the comment right above it, from the first column to the brace in the first column.
KERNEL = re.compile(r"^(?://[^\n]*\n)*KERNEL(?:_BOUNDS\([^)]*\))?\s+(\w+)\s*\(.*?^\}\n", re.S | re.M)
KERNELS = Path(__file__).parent.parent / "methods" / "kernels"  # that every method shares


class Scalar(NamedTuple):
    """A scalar of a kernel.

    Parameters
    ----------
    name : str
    type : str
        ``"i32"``, ``"i64"``, ``"f64"`` or ``"real"``.
    role : str
        What it is on the grid, by which it changes where a rank has a part of the grid; empty where it is the same there:

        - ``"row"``, ``"plane"``, ``"field"``: stride of a field's memory; ``"sheet"``: plane of an array that may have one
          row a plane; ``"fields"``: distance of whole fields; ``"shift"``: distance of a whole axis
        - ``"k"``, ``"j"``, ``"i"``: place along z, y, x; ``"begin k"`` and ``"count k"``: places from one on, of which a part has some
        - ``"points"``, ``"size j"``, ``"size i"``: number of all points, of those along an axis
        - ``"element"``: number of an element
    """

    name: str
    type: str
    role: str = ""


@dataclass(frozen=True)
class Struct:
    """Scalars of a kernel, declared once: a NumPy dtype for the host, a C struct for the machine.

    Parameters
    ----------
    name : str
        Name of the C struct.
    fields : tuple of (str, str) or (str, str, str)
        Name, type and perhaps role of each member, see `Scalar`.
    """

    name: str
    fields: tuple

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """The members."""
        return tuple(Scalar(*field) for field in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members, in order."""
        return tuple(scalar.name for scalar in self.scalars)

    def of_role(self, role: str) -> tuple[str, ...]:
        """Return the names of the members of a role."""
        return tuple(scalar.name for scalar in self.scalars if scalar.role == role)

    def dtype(self, precision):
        """Return the aligned NumPy dtype with the layout of the C struct.

        Parameters
        ----------
        precision : str
            ``"float32"`` or ``"float64"``: what ``"real"`` is.
        """
        types = {"i32": np.int32, "i64": np.int64, "f64": np.float64, "real": np.dtype(precision)}
        return np.dtype([(scalar.name, types[scalar.type]) for scalar in self.scalars], align=True)

    def text(self):
        """Return the C declaration."""
        return f"struct {self.name} {{ " + " ".join(f"{C_TYPES[s.type]} {s.name};" for s in self.scalars) + " };"

    def value(self, precision, **values):
        """Return one value as a size-1 structured array; raise TypeError on a missing or an unknown
        name.

        Parameters
        ----------
        precision : str
        **values
            A number for each field of the struct.
        """
        names = set(self.names)
        if names != set(values):
            raise TypeError(
                f"{self.name}: missing {sorted(names - set(values))}, unknown {sorted(set(values) - names)}"
            )
        out = np.zeros(1, self.dtype(precision))
        for name, scalar in values.items():
            out[name] = scalar
        return out


BOX = Struct("Box", tuple((n, "i32") for n in ("k0", "k1", "j0", "j1", "i0", "i1")))


@dataclass(frozen=True)
class Variant:
    """Another text for the same operator on one machine; the plain body stays as referee.

    The machine is the one that takes files of that suffix: ``.cu`` a GPU, ``.cpp`` the CPU.

    Parameters
    ----------
    name : str
        Name of the variant: ``"streamed"``.
    file : Path
        The text; the function keeps its name and arguments.
    block : tuple of int
        Threads of a block along (x, y, z).
    span : tuple of int
        Points that a block covers along (x, y, z).
    defines : tuple of (str, value)
        Constants besides the operator's own.
    precisions : tuple of str
        Precisions it is meant for; the plain body serves the others.
    """

    name: str
    file: Path
    block: tuple
    span: tuple
    defines: tuple = ()
    precisions: tuple = ("float32",)


@dataclass(frozen=True)
class Operator:
    """A kernel: what it writes and reads, its scalars, its least memory traffic. Holds no array and
    no machine.

    Parameters
    ----------
    name : str
        Name in plans, timings and reports.
    file : Path
        The text that holds the body.
    writes, reads : tuple of str
        Names of the arrays in the order of the kernel's arguments; written arrays (also where they
        are updated) come first.
    params : Struct
        Scalars, passed by value.
    reach : int
        Points that it reads beyond the box on each side.
    reals_per_point : float
        Least memory traffic: reals read plus reals written per point.
    flops : int
        Floating-point operations per point.
    kernel : str
        Name of the function in the text, where it differs from `name`.
    defines : tuple of (str, value)
        Constants by which the body is specialised.
    types : tuple of (str, str)
        Element type of the arrays that do not hold reals.
    pointwise : bool
        True where an output at a point is read at no other point: then the operators of a phase may
        run tile after tile.
    grain : tuple of int
        Planes and rows that a thread takes at a time, where the machine's own tile is too much
        work, and how much along x, where there is a third number (what is not pointwise then runs
        on threads too); empty: the machine's.
    block : tuple of int
        Threads of a block along x, y, z on a GPU, where the machine's own is too many; empty: the
        machine's.
    span : tuple of int
        Points or elements that a block covers along x, y, z; empty: as many as it has threads.
    variants : tuple of Variant
        Faster texts for one machine.
    """

    name: str
    file: Path
    writes: tuple
    reads: tuple
    params: Struct
    reach: int = 0
    reals_per_point: float = 0
    flops: int = 0
    kernel: str = ""
    defines: tuple = ()
    types: tuple = ()
    pointwise: bool = True
    grain: tuple = ()
    block: tuple = ()
    span: tuple = ()
    variants: tuple = ()

    @property
    def function(self):
        """Name of the C function."""
        return self.kernel or self.name

    @property
    def arrays(self):
        """Names of all array arguments, in order."""
        return (*self.writes, *self.reads)

    def source(self, precision, kernels=None):
        """Return the whole translation unit: constants, real type, structs, headers inlined once,
        the kernel. Compilers spend their time on every kernel in a text, launched or not: the
        others of the file are left out.

        Parameters
        ----------
        precision : str
            ``"float32"`` or ``"float64"``: the C type `real`.
        kernels : iterable of str, optional
            Functions that stay in place of the operator's own.
        """
        stay = frozenset([self.function] if kernels is None else kernels)
        head = [f"typedef {REALS[precision]} real;", *(f"#define {name} {value}" for name, value in self.defines)]
        text = with_kernels(self.file, stay)
        return "\n".join([*head, BOX.text(), self.params.text(), text]) + "\n"

    def variant(self, suffix, precision):
        """Return the variant in a file of that suffix for a precision, or None where the plain body
        serves.

        Parameters
        ----------
        suffix : str
            ``".cu"`` or ``".cpp"``.
        precision : str
        """
        return next((v for v in self.variants if v.file.suffix == suffix and precision in v.precisions), None)

    def as_variant(self, variant):
        """Return the operator with the text of a variant.

        Parameters
        ----------
        variant : Variant
            One of `variants`.
        """
        return replace(self, file=variant.file, defines=(*self.defines, *variant.defines), variants=())

    def exact(self, units=("unit",), moved=0):
        """Return the operator with fixed-point accumulation of forces: sums are equal in whatever
        order they are added.

        Parameters
        ----------
        units : tuple of str
            Scalars that it gets besides its own.
        moved : float
            Forces that it moves per point; 64 bits each, they count as two reals then.
        """
        params = Struct(self.params.name, (*self.params.fields, *((name, "f64") for name in units)))
        return replace(
            self.specialised(f"{self.name}_exact", EXACT=1), params=params, reals_per_point=self.reals_per_point + moved
        )

    def specialised(self, name, **defines):
        """Return the operator under another name, with constants added or replaced.

        Parameters
        ----------
        name : str
            In plans and timings; the C function keeps its name.
        **defines
            Constants by name.
        """
        return replace(
            self, name=name, kernel=self.function, variants=(), defines=tuple({**dict(self.defines), **defines}.items())
        )


def initialiser(values):
    """Return an array, or a number, as a C initialiser of reals."""
    return "{" + ",".join(map(initialiser, values)) + "}" if np.ndim(values) else f"real({float(values)!r})"


@cache
def inlined(file):
    """Return the text of a kernel file with every ``#include "..."`` replaced by that file's text,
    each one once.

    One text per kernel: CuPy's cache does not look into files that are reached with -I.

    Parameters
    ----------
    file : path-like
    """
    seen = set()

    def text_of(path):
        def include(match):
            included = next((d / match[1] for d in (path.parent, KERNELS) if (d / match[1]).exists()), None)
            if included is None:
                raise FileNotFoundError(f"{path}: cannot find {match[1]!r} beside it or in {KERNELS}")
            if included in seen:
                return ""
            seen.add(included)
            return text_of(included)

        text = path.read_text().replace("#pragma once\n", "")
        return re.sub(r'#include "([^"]+)"\n', include, text)

    return text_of(Path(file))


@cache
def with_kernels(file, functions):
    """Return the text of a kernel file, headers inlined, with some of its kernels.

    Parameters
    ----------
    file : path-like
    functions : frozenset of str
        Names of the kernels that stay.
    """
    return KERNEL.sub(lambda kernel: kernel[0] if kernel[1] in functions else "", inlined(file))
