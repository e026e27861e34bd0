"""craton compare: misfits of a run's seismograms to observed ones."""

from pathlib import Path

from craton.cli.check import picture_file, refuse, regular_file, results_of
from craton.cli.options import argument, option, target


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
    if not (path := Path(out) / "result.zarr").exists():
        refuse("OUT", f"there is no {path}", "name a folder that craton run wrote")
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
