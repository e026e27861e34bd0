"""What people look at after a run: figures of datasets, and pictures of an OUT directory."""

from craton.report.fieldmaps import maps, profiles
from craton.report.gradient_pictures import kernels
from craton.report.model_figures import model
from craton.report.pictures import gathers, overview, radial, records, snapshots
from craton.report.record_sections import section
from craton.report.shaking import peaks
from craton.report.signals import dispersion, fk, motion, spectra, spectrogram
from craton.report.station_maps import station_map

# Name for `craton plot OUT NAME` -> function(out_dir, path=None, **options) that writes a PNG and
# returns its path; its options are those of the command.
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
    "fk": fk,
    "dispersion": dispersion,
    "kernels": kernels,
}
