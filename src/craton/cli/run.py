"""craton run: check everything, say what will be computed, compute it, say where it is."""

import signal
import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from craton.cli.check import checked, refuse, warn
from craton.errors import ComputationError, Interrupted


def command(file, out=None, device=None, ranks=None, force=False, overrides=(), quiet=False, debug=False):
    """Run a scenario file into a directory; on one rank, on those of an MPI launcher, or on new ones.

    Parameters
    ----------
    file : str
        The scenario file.
    out : str, optional
        Directory; by default the file's stem in the current directory.
    device : str, optional
        In place of ``run.device``.
    ranks : int, optional
        Processes of this host to start.
    force : bool
        Replace a finished run.
    overrides : sequence of str
        ``key.path=value`` each.
    quiet : bool
        No header, progress and summary.
    debug : bool
        Ranks that are started show tracebacks.
    """
    from craton.comm import agreed, launcher
    from craton.comm import ranks as communicator

    overrides = (*overrides, *([f"run.device={device}"] if device else ()))
    out = Path(out if out is not None else Path(file).stem)
    with ended_by_signal():
        if ranks is not None and ranks > 1 and not launcher.started():
            options = (("--force", force), ("--quiet", quiet), ("--debug", debug))
            chosen = [word for key in overrides for word in ("--set", key)]
            return together(ranks, ["run", str(file), "-o", str(out), *chosen, *(name for name, given in options if given)], out)
        comm = communicator()
        with on_all(comm):
            with agreed(comm):
                if ranks not in (None, comm.size):
                    refuse("--ranks", f"{ranks} ranks, but mpiexec started {comm.size}", "leave out --ranks")
            one(file, overrides, out, force, quiet, comm)
    return None


def together(ranks, words, out):
    """Start ranks, each of which runs this command line; their exit code."""
    from craton.comm import launcher
    from craton.driver.checkpoint import saving
    from craton.output.store import ended

    code, reason = launcher.run(ranks, words, busy=lambda: saving(out))
    if reason:
        hint = "\n    -> signal 9 that nobody sent: the system was short of memory; use fewer ranks" if "signal 9" in reason else ""
        print(f"craton: {reason}{hint}", file=sys.stderr)
    if code not in (0, 2, 3):
        ended(out, KeyboardInterrupt(reason) if code == 75 else RuntimeError(reason or "a rank failed"))
    return code


def one(file, overrides, out, force, quiet, comm):
    """What every rank does; the first one writes and prints."""
    from craton import api
    from craton.comm import agreed

    first = comm.rank == 0
    with agreed(comm):
        scenario, planned = checked(file, overrides, out if first else None, force, lambda scenario: api.plan(scenario, comm))
        api.check_ranks(scenario, comm)
        planned = api.shared(scenario, planned, comm)
    machine = api.fitting(scenario, planned, comm)
    more = {"comm": comm} if comm.size > 1 else {}
    run_into = api.runs(scenario).run_into
    told(scenario, planned, machine, out, quiet, comm, lambda show: run_into(scenario, planned, machine, out, force, show, **more))


def told(scenario, planned, machine, out, quiet, comm, work, note=""):
    """Do what a rank has to do, `work(progress)`; the first one says before what will be computed, and then what came of it."""
    from craton.comm import agreed
    from craton.driver.checkpoint import latest

    first = comm.rank == 0
    with agreed(comm):
        if first:
            warn(planned)
        if first and not quiet:
            print(words(scenario).header(scenario, planned, machine, out), flush=True)
            print(f"  ranks   {comm.size}\n" if comm.size > 1 else "", note, sep="", end="", flush=True)
    try:
        result = work(first and not quiet)
    except (ComputationError, Interrupted) as error:
        if first:
            print(f"kept: {', '.join(str(p) for p in written(out))}", file=sys.stderr)
        if first and isinstance(error, Interrupted) and latest(out):
            print(f"to go on from here: craton resume {out}", file=sys.stderr)
        raise
    if first and not quiet:
        print(words(scenario).summary(result), flush=True)


@contextmanager
def on_all(comm):
    """Inside, an error knows on which ranks it happened: `craton.cli.app` says it once and ends them all."""
    try:
        yield
    except BaseException as error:
        if comm.size > 1:
            error.comm = comm
        raise


def words(scenario):
    """The module that has the words for a method's header and summary."""
    return import_module("craton.cli.gravity" if scenario.method == "gravity" else "craton.cli.run")


@contextmanager
def ended_by_signal():
    """Inside, SIGTERM ends the program like Ctrl-C also before and after the time loop, which has a gentler way of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def header(scenario, planned, machine, out):
    """What will be computed, on what, into what."""
    (free, _), whole = machine.memory(), planned.whole or planned
    rows = [
        ("grid", f"{whole.grid.words()}{f' for each of {len(planned.shots)} shots' if planned.shots else ''}"),
        ("steps", f"{planned.steps:,} of {planned.dt:.6g} s, to t = {planned.end:.4g} s"),
        ("method", f"{planned.solver}, {sharpness(scenario.run)}, {planned.precision}"),
        ("memory", f"{size(planned.nbytes)} of {size(free)} free"),
        ("device", machine.describe()),
        ("out", f"{out}"),
    ]
    return "\n".join([planned.title or "Elastic waves", *(f"  {label:<8}{text}" for label, text in rows)])


def sharpness(run):
    """Order of the differences or degree of the elements."""
    return f"degree {run.degree}" if hasattr(run, "degree") else f"order {run.order}"


def size(nbytes):
    """Bytes in words."""
    return f"{nbytes / 2**30:,.2f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:,.1f} MiB"


def summary(result):
    """How fast it was, and where everything is."""
    from craton.driver.progress import rate

    report, out = result.report, result.out
    seconds = report["seconds"]
    lines = [f"done: {report['steps_done']:,} steps, {rate(report['point_steps_per_second'], 1)} over {seconds['steady']:.1f} s, "
             f"after {seconds['commit'] + seconds['first step']:.1f} s for kernels and the first step"]  # fmt: skip
    frames = result.plan.frames
    receivers = result.plan.receivers
    told = {
        "result.zarr": [f"{', '.join(result.scenario.output.waveforms)} at {len(receivers)} receivers"] * bool(len(receivers))
        + ([f"fibres: strain rate in {len(receivers.fibres)} channels"] if receivers.fibres is not None else [])
        + [f"snapshots/{f.name}: {len(f.steps)} of {f.quantity}" for f in frames],
        "waveforms.mseed": ["the waveforms as MiniSEED"],
        "stations.xml": ["the receivers as StationXML"],
        "mesh.vtu": ["the mesh with its media, for ParaView and PyVista"],
        "scenario.toml": ["the scenario as it was run"],
        "run.json": ["device, timings, versions"],
    }
    there = written(out)
    width = max(len(str(p)) for p in there)
    lines += [f"  {str(path):<{width}}  {'; '.join(told.get(path.name, ()))}".rstrip() for path in there]
    return "\n".join([*lines, f"next: craton plot {out}"])


def formats():
    """Names of the waveform files of other programs."""
    from craton.output import FORMATS

    return list(FORMATS)


def written(out):
    """What a run left in its directory, in the order of interest."""
    return [out / name for name in ("result.zarr", *formats(), "mesh.vtu", "scenario.toml", "run.json") if (out / name).exists()]
