"""craton bench: speed of this machine."""

from craton.cli.check import known
from craton.cli.options import Where, argument, target


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
