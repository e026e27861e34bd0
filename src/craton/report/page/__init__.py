"""One HTML page about a run, which needs no other file and no network."""

from pathlib import Path

from craton.errors import CratonError, ResourceError
from craton.integrity import replace_file
from craton.report.page import markup
from craton.report.page.contents import Contents
from craton.report.page.drawings import Drawings


def report(out_dir, path=None, bandwidth=None, processes=1):
    """Write a page about a run: what was run, map, model, seismograms to zoom and pick, wavefield,
    fields, kernels, shots, time, files with checksums.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run, a survey or a gradient.
    path : path-like, optional
        HTML to write; ``OUT/report.html`` when absent.
    bandwidth : float, optional
        Copy bandwidth of this machine, bytes/s, to compare the run's traffic with.
    processes : int
        Copies of this process that draw pictures at the same time, see
        `craton.report.page.drawings.Drawings`.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    CratonError
        OUT holds nothing to show, or is damaged.
    ResourceError
        matplotlib is missing, or the page cannot be written.
    """
    with Drawings(processes) as drawings:
        return write(Contents(Path(out_dir), bandwidth, drawings), path)


def write(contents, path=None):
    """Write the page of contents and return its path.

    Parameters
    ----------
    contents : Contents
    path : path-like, optional
        ``OUT/report.html`` when absent.
    """
    if not contents.run and not contents.attributes:
        raise CratonError(f"{contents.out} holds no run to report on")
    path = Path(path or contents.out / "report.html")
    lead = f"{contents.kind}, {contents.attributes.get('source', 'craton')}, folder {contents.out.resolve().name}"
    sections = contents.sections
    text = markup.document(contents.title, lead, sections, contents.records)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise ResourceError(f"cannot write {path}: {error.strerror or error}") from error
    return path
