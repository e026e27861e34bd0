"""craton kernels: the operators, and the complete text that is compiled for each machine."""

import re
from enum import StrEnum

from craton.cli.check import known, refuse
from craton.cli.options import argument, option

Precision = StrEnum("Precision", ["float32", "float64"])
ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)


def kernels(
    name: argument("NAME", "An operator; all are listed without it.", str | None) = None,
    order: option("Order in space of the finite differences: 2, 4, ... 16.", kind=int) = 4,
    precision: option("Reals of the kernels.", kind=Precision) = "float32",
    arch: option(
        "Compile for a GPU architecture (needs no GPU) and show registers and spills.", metavar="sm_NN"
    ) = None,
):
    """List the operators, or show the text of one.

    With NAME: the complete C++ that is compiled for each machine, with the flags.
    """
    from craton.methods import METHODS

    if order not in ORDERS:
        refuse("--order", f"{order} is not an order in space", "write 2, 4, 6, 8, 10, 12, 14 or 16")
    if arch is not None and not re.fullmatch(r"sm_\d+[a-z]?", arch):
        refuse("--arch", f'"{arch}" is not a GPU architecture', "write for example sm_80 or sm_90")
    listed = {key: value for method in METHODS.values() for key, value in method.operators(order, precision).items()}
    if name is not None:
        known("NAME", name, listed, "operator")
        listed = {name: listed[name]}
    if arch is not None:
        return compiled(listed.values(), arch)
    print(texts(*listed[name]) if name else table(listed.values()))
    return 0


def table(operators):
    """Return a table of arrays, reach, least traffic and operations of each operator, per point
    (waves), pair or node (gravity).
    """
    rows = [("operator", "writes", "reads", "reach", "bytes/point", "flops", "variants", "text")]
    for op, precision in operators:
        size = {"float32": 4, "float64": 8}[precision]
        cost = (f"{size * op.reals_per_point:g}" if op.reals_per_point else "-", str(op.flops or "-"))
        variants = " ".join(dict.fromkeys(v.name for v in op.variants)) or "-"
        rows.append(
            (op.name, " ".join(op.writes), " ".join(op.reads) or "-", str(op.reach), *cost, variants, op.file.name)
        )
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def texts(op, precision):
    """Every translation unit of an operator with its flags."""
    from craton.backends.units import units

    heads = (
        (f"// {op.name}, {precision}, for {u.machine}, {u.variant} body: {' '.join(u.compiler)}", u.text)
        for u in units(op, precision)
    )
    return "\n".join(line for pair in heads for line in pair)


def compiled(operators, arch):
    """Compile every unit that is not for the CPU and print what it needs; 1 where one fails."""
    from craton.backends.units import on_architecture, units

    failed = 0
    for op, precision in operators:
        for unit in (u for u in units(op, precision) if u.machine != "cpu"):
            ok, text = on_architecture(unit, arch, op.function)
            failed += not ok
            print(f"{op.name}, {unit.variant}, {arch}: {text}", flush=True)
    return 1 if failed else 0
