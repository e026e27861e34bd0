"""What a compiler is given for an operator on each machine: the whole text and the flags, to be
printed or compiled.
"""

from dataclasses import dataclass

from craton.backends import nvrtc
from craton.host import compile as host


@dataclass(frozen=True)
class Unit:
    """A translation unit.

    Parameters
    ----------
    machine : str
        Key of `craton.backends.BACKENDS`.
    variant : str
        ``"plain"``, or the name of the variant.
    compiler : tuple of str
        Command or compiler, and flags.
    text : str
        All that it sees.
    """

    machine: str
    variant: str
    compiler: tuple
    text: str


def units(op, precision):
    """Return the translation units of an operator: its body on each machine, then its variants for
    this precision.

    Parameters
    ----------
    op : Operator
    precision : str

    Returns
    -------
    list of Unit
    """
    plain = op.source(precision)
    plain_units = [
        Unit("cpu", "plain", (*host.compiler(), *host.FLAGS), host.with_entries(plain)),
        Unit("cuda", "plain", ("nvrtc", *nvrtc.ALWAYS, *nvrtc.OPTIONS), plain),
    ]
    compilers = {unit.machine: unit.compiler for unit in plain_units}
    chosen = [v for v in op.variants if precision in v.precisions]
    machines = {".cu": "cuda", ".cpp": "cpu"}
    made_for = [(machines[v.file.suffix], v) for v in chosen]
    return plain_units + [Unit(m, v.name, compilers[m], op.as_variant(v).source(precision)) for m, v in made_for]


def on_architecture(unit, arch, function):
    """Whether a unit compiles for a GPU architecture, and in words what its kernel `function` needs
    there, or why it does not.
    """
    compiled = nvrtc.compile(unit.text, arch)
    if not compiled.ok:
        return False, f"does not compile\n{compiled.log}"
    used = (compiled.registers[function], compiled.spills_bytes[function], compiled.stack_bytes[function])
    return True, "{} registers, {} bytes spilled, {} bytes of stack".format(*used)
