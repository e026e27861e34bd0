"""craton plot, report, film, compare: figures of a run, one page about it, snapshots as a film, seismograms beside data."""

import inspect
import os
import sys
from pathlib import Path

from craton.cli.check import known, picture_file, refuse_no_results, refuse_present, regular_file, results_of
from craton.cli.command import Force, argument, option, target
from craton.errors import refuse

# Options of the command -> those figures that take them have a parameter of this name.
OPTIONS = ("component", "station", "by", "scale", "reduce", "gain", "db")
Positive = {"kind": float | None, "min": 0.001}


def plot(
    out: argument("OUT", "Folder of a run; or a scenario, for its model."),
    names: argument(
        "[NAME]...",
        "Figures: overview, records, radial, gathers, section, snapshots, map, model, "
        "peaks, maps, profiles, spectra, spectrogram, motion, dispersion, kernels.",
        list[str] | None,
    ) = None,
    component: option("Component: section, spectrogram, dispersion.") = None,
    station: option("Receiver: spectrogram, motion.") = None,
    by: option("Section over distance, azimuth, offset or number.") = None,
    scale: option("Section by the peak of each station, trace, or all.") = None,
    reduce: option("Section with times reduced by a velocity.", **Positive, metavar="KM/S") = None,
    gain: option("Of amplitudes: section, gathers.", **Positive) = None,
    db: option("Range of spectra and spectrogram, dB.", kind=float | None, min=1) = None,
):
    """Draw a run: PNG files in its folder.

    Of a scenario file the model as it will be computed, before anything runs.
    """
    from craton.report import FIGURES
    from craton.report import plot as drawn
    from craton.report.runs import Run

    given = zip(OPTIONS, (component, station, by, scale, reduce, gain, db))
    asked = {name: value for name, value in given if value is not None}
    if Path(out).is_file():
        return model_of(out, names or (), asked)
    names = names or ("overview",)
    for name in names:
        known("NAME", name, FIGURES, "figure")
    check_options(FIGURES, names, asked)
    refuse_no_results(out)
    run = Run(out)
    for name in names:
        with results_of(out):
            print(drawn(run, name, **{key: asked[key] for key in options_of(FIGURES[name]) if key in asked}))
    return None


def options_of(figure) -> list[str]:
    """Return the names of the options that a figure takes."""
    return [name for name in inspect.signature(figure).parameters if name in OPTIONS]


def check_options(figures: dict, names, asked: dict) -> None:
    """Refuse options that none of the figures of some names takes, or whose values are not known."""
    from craton.report import traces

    for key in asked:
        if not any(key in options_of(figures[name]) for name in names):
            able = [name for name in figures if key in options_of(figures[name])]
            refuse(f"--{key}", f"{', '.join(names)} does not take it", f"it is an option of {', '.join(able)}")
    for key, values in (("by", traces.BY), ("scale", traces.SCALES)):
        if key in asked:
            known(f"--{key}", asked[key], values, "value")


def model_of(file, names, asked: dict) -> None:
    """Draw the model of a scenario file; other figures and options are refused."""
    from craton.report.models import figure_of
    from craton.scenario import load

    if tuple(names) not in ((), ("model",)):
        remedy = "run the scenario first, then name the folder"
        refuse("NAME", f"{file} is a scenario: only its model can be drawn", remedy)
    if asked:
        refuse(f"--{next(iter(asked))}", "the model does not take it", "leave it out")
    path = Path(f"{Path(file).stem}-model.png")
    figure_of(load(file)).savefig(path, dpi=160)
    print(path)


def film(
    out: argument("OUT", "Folder of a run."),
    file: target("FILE", "Film: .mp4, .gif or .webp; OUT/film.mp4.") = None,
    series: option("Series of snapshots; by default the first one.") = None,
    component: option("Component; by default the one with most to see.") = None,
    rate: option("Frames per second; by default the film lasts 12 s.", kind=float | None) = None,
    force: Force = False,
):
    """Write snapshots as a film.

    All frames have one colour scale; the model, the relief or the Earth lies underneath.
    """
    from craton.report import films
    from craton.report.runs import Run

    path = Path(file or Path(out) / f"{series or 'film'}.mp4")
    if path.suffix.lower() not in films.ENDINGS:
        refuse("-o", f"{path.name}: a film ends in {films.NAMED}", "name it film.mp4")
    refuse_no_results(out)
    refuse_present("-o", path, force or not file)
    if rate is not None and not 0 < rate <= 120:
        refuse("--rate", f"{rate:g} frames per second", "give a number above 0, at most 120")
    with results_of(out):
        print(films.film(Run(out), path, series, component, rate))


def compare(
    out: argument("OUT", "Folder of a run."),
    data: argument(
        "DATA",
        "Observed seismograms (MiniSEED, SAC, ...): a file, a folder or a pattern; or the folder of another run.",
    ),
    band: option("Pass band of both, Hz.", kind=tuple[float, float] | None, metavar="LOW HIGH") = None,
    align: option("Move observed traces by up to S seconds.", kind=float, min=0, metavar="S") = 0.0,
    quantity: option("What the data are; by default the first quantity that fits.") = None,
    inventory: option("StationXML with the azimuths of components 1 and 2.", metavar="FILE.xml") = None,
    file: target("FILE.png", "By default OUT/compare.png.") = None,
):
    """Compare the seismograms of a run with data.

    Traces of the same network, station, location and component, filtered and aligned: misfit,
    correlation, time shift and ratio of amplitudes of each, and a figure. Data are in SI units.
    """
    from craton.report import comparison
    from craton.report.runs import read_waveforms

    file = Path(file or Path(out) / "compare.png")
    picture_file("-o", file)
    refuse_no_results(out)
    if Path(data).exists():  # else a pattern, or words of the reader
        regular_file("DATA", data, folders=True)
    with results_of(out):
        pairs = comparison.compare(out, data, band, align, quantity, inventory)
        waves = read_waveforms(out)
    print(comparison.table(pairs))
    words = f"{Path(out).resolve().name} and {Path(data).name}"
    words += f", {band[0]:g} to {band[1]:g} Hz" if band else ""
    unit = waves[pairs[0].quantity].attrs.get("units", "")
    comparison.draw(pairs, unit, words).savefig(file, dpi=160)
    print(file)


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
