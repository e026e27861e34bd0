"""Files beside the folder of pages: the site copies some as pages, of others it shows the path."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+)(#[^)]*)?\)")
PAGES = {
    "CHANGELOG.md": DOCS / "generated" / "changelog.md",
    "CONTRIBUTING.md": DOCS / "generated" / "contributing.md",
    "CODE_OF_CONDUCT.md": DOCS / "generated" / "conduct.md",
}


def turned(text, source, page):
    """Return a text with links that stay within the site.

    Parameters
    ----------
    text : str
        Markdown.
    source : Path
        Folder to which its links are relative.
    page : Path
        Folder of the page that shows it.
    """

    def link(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        path = Path(os.path.normpath(source / target))
        path = PAGES.get(path.relative_to(DOCS.parent).as_posix(), path)
        if path.is_relative_to(DOCS):
            return f"[{words}]({Path(os.path.relpath(path, page)).as_posix()}{anchor})"
        return words if words.startswith("`") else f"`{words}`"

    return LINK.sub(link, text)


def copy():
    """Copy the files of `PAGES` into the folder of generated pages."""
    for name, page in PAGES.items():
        text = (DOCS.parent / name).read_text(encoding="utf-8")
        page.write_text(turned(text, DOCS.parent, page.parent), encoding="utf-8")


def read(app, page, source):
    """Turn the links of a page that Sphinx has read.

    Parameters
    ----------
    app : sphinx.application.Sphinx
    page : str
    source : list of str
        Of one text, which is replaced.
    """
    folder = (DOCS / page).parent
    source[0] = turned(source[0], folder, folder)
