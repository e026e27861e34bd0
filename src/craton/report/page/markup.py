"""Pieces of an HTML page as texts: tables, pictures, sections, the document itself."""

import base64
import html
import json
from importlib.resources import files

# What a browser may load for the page: what is in it, nothing from elsewhere.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def escaped(value):
    """Return a value as text of an HTML page."""
    return html.escape(str(value))


def table(rows, head=(), numbers=()):
    """Return a table with a class of page.css for its columns of numbers; without a `head` the first cell of a row is
    its heading.
    """
    look = [' class="number"' if n in numbers else "" for n in range(len(head) or 99)]
    lines = ["<table>"]
    if head:
        cells = "".join(f"<th{look[n]}>{escaped(cell)}</th>" for n, cell in enumerate(head))
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    for row in rows:
        cells = [
            f"<th>{escaped(cell)}</th>" if not head and n == 0 else f"<td{look[n]}>{escaped(cell)}</td>"
            for n, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def paragraph(text, kind=""):
    """Return a paragraph of plain text, of a class of page.css."""
    return f'<p class="{kind}">{escaped(text)}</p>' if kind else f"<p>{escaped(text)}</p>"


def image(data, caption, kind="png"):
    """Return a picture inside the page, "png" or, for a film, "webp", with what it shows in words."""
    data = base64.b64encode(data).decode()
    words = escaped(caption)
    return f'<figure><img src="data:image/{kind};base64,{data}" alt="{words}"><figcaption>{words}</figcaption></figure>'


def folded(summary, text):
    """Return preformatted text that is shown on demand."""
    return f"<details><summary>{escaped(summary)}</summary><pre>{escaped(text.strip())}</pre></details>"


def section(name, title, *parts):
    """Return a section with an anchor and a title; empty where it has no parts."""
    parts = [part for part in parts if part]
    if not parts:
        return ""
    return "\n".join([f'<section id="{name}"><h2>{escaped(title)}</h2>', *parts, "</section>"])


def asset(name):
    """Return the text of a file of this package."""
    return (files("craton.report.page") / name).read_text(encoding="utf-8")


def document(title, lead, sections, records=None):
    """Return the whole page, which needs no other file and no network, of sections (anchor, title, HTML) and the
    records of `viewer.packed`, for the canvases.
    """
    links = "".join(f'<a href="#{name}">{escaped(label)}</a>' for name, label, _ in sections)
    data = script = ""
    if records is not None:
        # "<" as an escape: no text among the data can end the element
        text = json.dumps(records, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        data = f'<script type="application/json" id="records">{text}</script>'
        script = f"<script>{asset('viewer.js')}</script>"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{escaped(title)}</title>
<style>{asset("page.css")}</style>
</head>
<body>
<header><h1>{escaped(title)}</h1><p class="lead">{escaped(lead)}</p></header>
<main>
<nav>{links}</nav>
{"".join(text for *_, text in sections)}
</main>
<footer>Written by craton report. The page holds all that it shows; nothing is loaded from elsewhere.</footer>
{data}
{script}
</body>
</html>
"""
