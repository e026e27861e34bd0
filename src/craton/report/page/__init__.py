"""One HTML page about a run, which needs no other file and no network."""

from pathlib import Path

from craton.errors import CratonError, ResourceError
from craton.integrity import replace_file
from craton.report.page import markup
from craton.report.page.contents import Contents
from craton.report.page.drawings import Drawings


def report(out_dir, path=None, bandwidth=None, processes=1):
    """Write a page about a run, a survey or a gradient and return its path, by default ``OUT/report.html``.

    `bandwidth` is the copy bandwidth of this machine, bytes/s, with which the run's traffic is compared; `processes`
    copies of this process draw pictures at the same time, see `craton.report.page.drawings.Drawings`.
    """
    path = Path(path or Path(out_dir) / "report.html")
    with Drawings(processes) as drawings:
        contents = Contents(out_dir, bandwidth, drawings)
        run = contents.run
        if not contents.state and not run.attributes:
            raise CratonError(f"{out_dir} holds no run to report on")
        source = run.attributes.get("source", "craton")
        lead = f"{contents.kind}, {source}, folder {run.out.resolve().name}"
        text = markup.document(run.title, lead, contents.sections, contents.records)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise ResourceError(f"cannot write {path}: {error.strerror or error}") from error
    return path
