"""What people look at after a run: figures, films, a page, comparisons with data, all from its folder."""

from pathlib import Path

from craton.report.gravity import maps, profiles
from craton.report.models import model
from craton.report.shaking import peaks
from craton.report.signals import dispersion, motion, spectra, spectrogram
from craton.report.station_maps import station_map
from craton.report.traces import gathers, radial, records, section
from craton.report.wavefield import kernels, overview, snapshots

# Name for `craton plot OUT NAME` -> function(run, **options) that returns a figure; its options are those of the command.
FIGURES = {
    "overview": overview,
    "records": records,
    "radial": radial,
    "gathers": gathers,
    "section": section,
    "snapshots": snapshots,
    "map": station_map,
    "model": model,
    "peaks": peaks,
    "maps": maps,
    "profiles": profiles,
    "spectra": spectra,
    "spectrogram": spectrogram,
    "motion": motion,
    "dispersion": dispersion,
    "kernels": kernels,
}


def plot(run, name, path=None, **options) -> Path:
    """Draw a figure of `FIGURES` of a `Run` as PNG, by default OUT/NAME.png, and return its path."""
    path = Path(path or run.out / f"{name}.png")
    FIGURES[name](run, **options).savefig(path, format="png", dpi=160)
    return path
