"""Links of pages to files beside the folder of pages: the site has a page for some, for others only the path."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parent
LINK = re.compile(r"\[([^\]]*)\]\((\.\.?/[^)#\s]*)(#[^)]*)?\)")
PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
}


def turned(page, text):
    """Return the text of a page with links that stay within the site.

    Parameters
    ----------
    page : str
        Name as Sphinx has it: path below docs, without its ending.
    text : str
        Markdown.
    """
    folder = (DOCS / page).parent

    def link(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        path = Path(os.path.normpath(folder / target))
        if path.is_relative_to(DOCS):
            return match[0]
        name = path.relative_to(DOCS.parent).as_posix()
        if name in PAGES:
            return f"[{words}]({os.path.relpath(DOCS / PAGES[name], folder)}{anchor})"
        return words if words.startswith("`") else f"`{words}`"

    return LINK.sub(link, text)


def read(app, page, source):
    """Turn the links of a page that Sphinx has read.

    Parameters
    ----------
    app : sphinx.application.Sphinx
    page : str
    source : list of str
        Of one text, which is replaced.
    """
    source[0] = turned(page, source[0])
