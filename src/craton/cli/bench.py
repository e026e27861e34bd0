"""craton bench: speed of this machine."""

from craton.cli.check import known


def command(name, device="auto", out=None):
    """Run a benchmark of `craton.benchmark.BENCHES`, print its table, keep its figures."""
    from craton.benchmark import BENCHES, bench

    known("NAME", name, BENCHES, "benchmark")
    bench(name, device, out)
