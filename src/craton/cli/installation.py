"""craton info, kernels, bench, validate: what this installation has, what it compiles, how fast and how exact it is."""

import json
import platform
import re
from enum import StrEnum
from pathlib import Path

from craton.cli.check import known, picture_file
from craton.cli.command import Where, argument, flag, option, target
from craton.errors import CratonError, refuse
from craton.integrity import writing

EXTRAS = ("seis", "asdf", "plot", "netcdf", "mpi", "compiler")  # whose packages `craton info` lists
ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)
Precision = StrEnum("Precision", ["float32", "float64"])
LINE = "{:<16}  {:<86}  {:>9}  {:>8}  {}"  # of `craton validate`


def info():
    """Show versions, compiler, memory and GPU.

    Where something is missing it says what to install.
    """
    from importlib.metadata import requires

    from craton.versions import described_version

    rows = [("craton", described_version()), ("python", f"{platform.python_version()} on {platform.platform()}")]
    of_extras = []
    for line in requires("craton") or ():
        name, extra = re.match(r"[\w.-]+", line)[0], re.search(r"extra == .(\w+)", line)
        if extra is None:
            rows.append((name, version_of(name, "not installed")))
        elif extra[1] in EXTRAS:
            of_extras.append((name, version_of(name, f"not installed: pip install 'craton[{extra[1]}]'")))
    rows += [*of_extras, *machine_rows()]
    width = max(len(label) for label, _ in rows)
    print("\n".join(f"{label:<{width}}  {text}" for label, text in rows))


def version_of(name: str, missing: str) -> str:
    """Return the version of a package, or that it is missing."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return missing


def machine_rows():
    """Return what this computer has to compute with, or what to install: rows of a label and a text. Nothing is allocated."""
    from craton.backends import gpu_in_words, nvrtc
    from craton.backends.cpu import cores, host_memory
    from craton.host import compile as host
    from craton.host.kernel_cache import folder

    def compiler():
        threads = "OpenMP threads" if host.has_openmp() else "no OpenMP: threads of a pool"
        return f"{host.compiler()[0]}, {threads}"

    def said(question):
        try:
            return question()
        except CratonError as error:
            return " ".join(str(error).split())

    free, total = host_memory()
    return [
        ("processor", f"{processor()}, {cores()} cores for this process"),
        ("memory", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"),
        ("compiler", said(compiler)),
        ("kernels", f"kept in {folder()}"),
        ("GPU", said(gpu_in_words)),
        ("NVRTC", said(lambda: "{}.{}".format(*nvrtc.version()))),
    ]


def processor():
    """Name of the processor."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def bench(
    name: argument("NAME", "What to measure: fd, sem, nakata, gravity.", show_default=True) = "fd",
    device: Where = None,
    out: target("FILE.json", "Keep the figures as JSON.") = None,
):
    """Measure the speed of this machine.

    Copy bandwidth first; then point-steps per second of plain and boundary-laden cases (fd),
    elements per second of cubes and irregular elements, isotropic, anisotropic, with attenuation
    and water (sem), or prism-point pairs per second and whole calls on the case of seven spheres
    (gravity, under a minute).
    """
    from craton import benchmark

    known("NAME", name, benchmark.BENCHES, "benchmark")
    benchmark.bench(name, device or "auto", out)


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
        arrays = " ".join(op.writes), " ".join(op.reads) or "-"
        rows.append((op.name, *arrays, str(op.reach), *cost, variants, op.file.name))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def texts(op, precision):
    """Every translation unit of an operator with its flags."""
    from craton.backends.nvrtc import units

    heads = {
        f"// {op.name}, {precision}, for {u.machine}, {u.variant} body: {' '.join(u.compiler)}": u.text
        for u in units(op, precision)
    }
    return "\n".join(f"{head}\n{text}" for head, text in heads.items())


def compiled(operators, arch):
    """Compile every unit that is not for the CPU and print what it needs; 1 where one fails."""
    from craton.backends.nvrtc import on_architecture, units

    failed = 0
    for op, precision in operators:
        for unit in (u for u in units(op, precision) if u.machine != "cpu"):
            ok, text = on_architecture(unit, arch, op.function)
            failed += not ok
            print(f"{op.name}, {unit.variant}, {arch}: {text}", flush=True)
    return 1 if failed else 0


def validate(
    name: argument("NAME", "A case, or fd: all of them.", str | None) = None,
    device: Where = None,
    out: target("FILE.json", "Keep the misfits as JSON.") = None,
    figure: option("Draw seismograms and misfits.", "--figure", metavar="FILE.png") = None,
    full: flag("full", "Larger runs, for a GPU.") = False,
):
    """Compare runs with solutions from elsewhere.

    Ends with exit code 4 where a case is not within its limit.
    """
    from craton.validation import CASES, GROUPS
    from craton.validation import validate as computed

    device = device or "auto"
    if name is not None:
        known("NAME", name, [*GROUPS, *CASES], "case")
    if figure:
        picture_file("--figure", figure)
    print(LINE.format("case", "what", "misfit", "limit", "passed"))
    rows = [printed(row) for row in computed(name, device=device, full=full)]
    if out:
        with writing(out, "\n    -> choose another file with -o"):
            keep(rows, device, out)
    if figure:
        from craton.validation.figure import save

        with writing(figure, "\n    -> choose another file with --figure"):
            save(rows, figure)
    failed = [row for row in rows if not row["passed"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} within their limits")
    return 4 if failed else 0


def printed(row):
    """Print a row, and hand it on."""
    words = (f"{row['misfit']:.3g}", f"{row['limit']:.3g}", "yes" if row["passed"] else "NO")
    print(LINE.format(row["case"], row["what"], *words), flush=True)
    return row


def keep(rows, device, out):
    """Write the rows as JSON with the machine and versions: docs/make_tables.py makes the tables of
    docs/validation.md from it.
    """
    from craton.backends import backend
    from craton.benchmark import provenance

    rows = [{key: value for key, value in row.items() if key != "curves"} for row in rows]
    text = json.dumps({"validation": rows, **provenance(backend(device))}, indent=1)
    Path(out).write_text(text + "\n", encoding="utf-8")
