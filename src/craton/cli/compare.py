"""craton compare: misfits of a run's seismograms to observed ones."""

from pathlib import Path

from craton.cli.check import refuse, results_of


def command(out, data, band=None, align=0.0, file=None):
    """Print misfits by trace and draw the traces.

    Parameters
    ----------
    out : str
        Folder of a run.
    data : str
        File of seismograms, or folder of another run.
    band : (float, float), optional
        Hz.
    align : float
        Largest shift, s.
    file : str, optional
        PNG to write; ``OUT/compare.png`` when absent.
    """
    from craton.report import comparison
    from craton.report.pictures import read_waveforms

    for key, path in (("OUT", Path(out) / "result.zarr"), ("DATA", Path(data))):
        if not path.exists():
            refuse(key, f"there is no {path}", "name a folder that craton run wrote, and the data")
    with results_of(out):
        pairs = comparison.compare(out, data, band, align)
        waves = read_waveforms(out)
    print(comparison.table(pairs))
    words = f"{Path(out).resolve().name} and {Path(data).name}"
    words += f", {band[0]:g} to {band[1]:g} Hz" if band else ""
    unit = waves[next(iter(waves.data_vars))].attrs.get("units", "")
    file = Path(file or Path(out) / "compare.png")
    comparison.draw(pairs, unit, words).savefig(file, dpi=160)
    print(file)
