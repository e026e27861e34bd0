"""What people look at after a run: figures of datasets, and pictures of an OUT directory."""

from craton.report.earth_pictures import section
from craton.report.fieldmaps import maps
from craton.report.pictures import gathers, overview, radial, records, snapshots
from craton.report.shaking import peaks

# Name for `craton plot OUT NAME` -> function(out_dir, path=None) that writes a PNG and returns its
# path.
FIGURES = {
    "overview": overview,
    "records": records,
    "radial": radial,
    "gathers": gathers,
    "snapshots": snapshots,
    "peaks": peaks,
    "maps": maps,
    "section": section,
}
