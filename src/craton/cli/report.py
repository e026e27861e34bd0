"""craton report: one HTML page about a run."""

import os
import sys
from pathlib import Path

from craton.cli.check import refuse, refuse_no_results, refuse_present, results_of
from craton.cli.options import argument, target

COPIED = 1 << 26  # bytes; larger than caches


def report(
    out: argument("OUT", "Folder of a run, a survey or a gradient."),
    file: target("FILE.html", "Page to write; by default OUT/report.html.") = None,
):
    """Write a page about a run that opens in a browser, without a network.

    What was run, map, model, seismograms to zoom and pick, wavefield, gravity fields, kernels,
    time, and files with their checksums.
    """
    from craton.report.page import report as page

    refuse_no_results(out)
    if file is not None:
        if Path(file).suffix.lower() not in (".html", ".htm"):
            refuse("-o", f"{file} does not end in .html", "name it report.html")
        refuse_present("-o", Path(file), force=True)
    with results_of(out):
        print(page(out, file, bandwidth(out), processes()))


def processes():
    """Return how many pictures are drawn at the same time: on Linux as many as there are cores,
    elsewhere one, since copies of processes are not safe there.
    """
    if not sys.platform.startswith("linux"):
        return 1
    return len(os.sched_getaffinity(0))


def bandwidth(out):
    """Return the copy bandwidth of this computer's memory, bytes/s, measured now; None where the
    run was made elsewhere or on a GPU.

    Parameters
    ----------
    out : path-like
    """
    import socket

    from craton.backends import backend
    from craton.output.store import read_run

    run = read_run(out)
    device = str(run.get("device", ""))
    if run.get("host") != socket.gethostname() or not device.startswith("CPU"):
        return None
    threads = device.split(",")[1].split()[0] if "thread" in device else "1"
    return backend("cpu", threads=int(threads)).copy_bandwidth(COPIED)
