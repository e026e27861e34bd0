"""What a compiler is given for an operator on each machine: the whole text and the flags, to be printed or compiled."""
from dataclasses import dataclass

from craton.backends import compile as host
from craton.backends import nvrtc


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
    """The translation units of an operator: its body on each machine, then its variants for this precision.

    Parameters
    ----------
    op : Operator
    precision : str

    Returns
    -------
    list of Unit
    """
    plain = op.source(precision)
    found = [
        Unit("cpu", "plain", (*host.compiler(), *host.FLAGS), host.with_entries(plain)),
        Unit("cuda", "plain", ("nvrtc", *nvrtc.ALWAYS, *nvrtc.OPTIONS), plain),
    ]
    chosen = [v for v in op.variants if precision in v.precisions]
    return found + [Unit(v.machine, v.name, found[1].compiler if v.machine == "cuda" else found[0].compiler, op.as_variant(v).source(precision)) for v in chosen]


def on_architecture(unit, arch):
    """What a unit needs on a GPU architecture, in one line: registers and spills of each kernel, or why it does not compile."""
    made = nvrtc.compile(unit.text, arch)
    if not made.ok:
        return made.ok, f"does not compile\n{made.log}"
    return made.ok, "; ".join(
        f"{name}: {made.registers[name]} registers, {made.spills_bytes[name]} bytes spilled, {made.stack_bytes[name]} bytes of stack" for name in made.registers
    )
