"""Look at a built site: every link leads somewhere, nothing comes from the network, every public name has its place."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser fetches by itself when it opens a page, by tag and attribute
FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author"}  # values of rel


class Page(HTMLParser):
    """Links and anchors of a page.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Keep what an opening tag links to."""
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        for key, value in attrs:
            if key not in ("href", "src") or not value:
                continue
            self.links.append(value)
            if (tag, key) in FETCHED and values.get("rel") not in NOT_FETCHED:
                self.fetched.append(value)


def broken_links(site, pages):
    """Return (page, link) of links within the site that lead nowhere: list of tuple.

    Parameters
    ----------
    site : Path
    pages : dict of Page
        By path.
    """
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target.exists() and target.is_relative_to(site)
            anchor = unquote(parts.fragment)
            if known and anchor and target in pages:
                known = anchor in pages[target].anchors
            if not known:
                broken.append((path.relative_to(site).as_posix(), link))
    return broken


def network_requests(site, pages):
    """Return (file, address) of what a browser would fetch from elsewhere: list of tuple.

    Parameters
    ----------
    site : Path
    pages : dict of Page
        By path.
    """
    requests = [
        (path.relative_to(site).as_posix(), address)
        for path, page in pages.items()
        for address in page.fetched
        if urlsplit(address).netloc
    ]
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "url(http" in text or "url(//" in text or '@import "http' in text:
            requests.append((path.relative_to(site).as_posix(), "url(http...)"))
    return requests


def missing_names(pages):
    """Return public names without an entry in the reference: list of str.

    Parameters
    ----------
    pages : dict of Page
        By path.
    """
    import craton
    from craton import scenario

    anchors = set().union(*(page.anchors for page in pages.values()))
    names = [f"craton.{name}" for name in craton.__all__]
    names += [f"craton.{name}" for name in scenario.__all__ if name[0].isupper()]
    return [name for name in names if name not in anchors and f"craton.scenario.{name.split('.')[1]}" not in anchors]


def main(folder):
    """Print what is wrong with a site; the exit code.

    Parameters
    ----------
    folder : str
    """
    site = Path(folder).resolve()
    paths = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in paths}
    problems = [f"{page}: broken link {link}" for page, link in broken_links(site, pages)]
    problems += [f"{file}: fetches {address}" for file, address in network_requests(site, pages)]
    problems += [f"{name} is not in the reference" for name in missing_names(pages)]
    print("\n".join(problems) or f"{len(pages)} pages in {site}: links, requests and names are well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
