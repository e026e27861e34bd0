"""craton compare: misfits of a run's seismograms to observed ones."""

from pathlib import Path

from craton.cli.check import picture_file, refuse, regular_file, results_of


def command(out, data, band=None, align=0.0, quantity=None, inventory=None, file=None):
    """Print misfits by trace and draw the traces.

    Parameters
    ----------
    out : str
        Folder of a run.
    data : str
        File of seismograms, folder or pattern of such files, or folder of another run.
    band : (float, float), optional
        Hz.
    align : float
        Largest shift, s.
    quantity : str, optional
        What is compared.
    inventory : str, optional
        StationXML with the directions of channels.
    file : str, optional
        PNG to write; ``OUT/compare.png`` when absent.
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
