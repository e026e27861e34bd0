"""Texts for people: rates, times and sizes in words, the nearest valid name, lists of choices,
values as in TOML.
"""

import difflib
import html
import json
import math
import re
import unicodedata
from datetime import UTC, datetime
from numbers import Real

# What steers a terminal or turns the direction of a text, and what no XML holds.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def rate(point_steps, seconds):
    """Points times steps per second, in words."""
    value = point_steps / max(seconds, 1e-9)
    return f"{value / 1e9:.2f} Gpoint-steps/s" if value >= 1e9 else f"{value / 1e6:.1f} Mpoint-steps/s"


def interactions(pairs, seconds):
    """Interactions of prisms and points per second, in words."""
    value = pairs / max(seconds, 1e-9)
    return f"{value / 1e9:.2f} G interactions/s" if value >= 1e9 else f"{value / 1e6:.1f} M interactions/s"


def now():
    """Return the time in UTC, as files have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def duration(seconds):
    """Return a time in words."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def megabytes(nbytes):
    """Bytes in words."""
    return f"{nbytes / 2**30:,.2f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:,.1f} MiB"


def nearest(word, names):
    """Return the valid name that a misspelt one was probably meant to be, or None.

    Parameters
    ----------
    word : object
        What was written.
    names : iterable
        Valid names.
    """
    names = [str(n) for n in names]
    folded = {n.lower().replace("-", "_"): n for n in names}
    word = str(word).lower().replace("-", "_").replace(" ", "_")
    close = difflib.get_close_matches(word, folded, n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    # "freq" for "frequency", "sampling_rate" for "sampling".
    starts = [
        n for f, n in folded.items() if min(len(word), len(f)) >= 3 and (f.startswith(word) or word.startswith(f))
    ]
    return starts[0] if len(starts) == 1 else None


def choice(word, names):
    """Return what to say to a word that is none of some names."""
    close = nearest(word, names)
    return (f'did you mean "{close}"? ' if close else "") + f"choose one of {', '.join(names)}"


def listed(names, last="or"):
    """Return ``"a, b or c"``.

    Parameters
    ----------
    names : iterable
    last : str, optional
        The word before the last name.
    """
    names = [str(n) for n in names]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" {last} {names[-1]}"


def first_of(names, most=5):
    """Return the first of many names, and how many more there are: str.

    Parameters
    ----------
    names : sequence of str
    most : int
        How many are listed.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shown(value, most=60):
    """Return a value as one would write it in TOML, cut to a readable length.

    Parameters
    ----------
    value : object
    most : int, optional
        Characters.
    """
    text = toml(value, lambda item: number(item) if isinstance(item, Real) else str(item))
    return text if len(text) <= most else text[: most - 4] + " ..."


def number(value):
    """Return a number without needless digits: ``100`` for 100.0, ``0.0075``, ``1e+18``.

    Parameters
    ----------
    value : float
    """
    return f"{value:.10g}"


def rounded_up(value):
    """Return a positive number rounded up to three digits.

    Parameters
    ----------
    value : float
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / step - 1e-9) * step:.3g}")


def toml(value, plain=repr, wide=False):
    """Return a value in TOML.

    Parameters
    ----------
    value : object
    plain : callable, optional
        Text of what is no boolean, string, table or list.
    wide : bool, optional
        The tables of a list are on lines of their own.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(toml_pairs(value, plain)) + " }" if value else "{}"
    if not isinstance(value, (list, tuple)):
        return plain(value)
    items = [toml(item, plain) for item in value]
    if wide and any(isinstance(item, dict) for item in value):
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return "[" + ", ".join(items) + "]"


def toml_pairs(values, plain=repr, wide=False):
    """Return the lines ``key = value`` of a table (dict), what it is first: list of str.

    Keys are in quotes where they need them: names of regions and faces are the user's.

    Parameters
    ----------
    values : dict
    plain : callable, optional
    wide : bool, optional
        As of `toml`.
    """
    ordered = sorted(values.items(), key=lambda item: item[0] not in ("name", "kind", "shape"))
    names = [name if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else toml(str(name)) for name, _ in ordered]
    return [f"{name} = {toml(value, plain, wide)}" for name, (_, value) in zip(names, ordered)]


def control(text, spared=""):
    """Return the first control character of a text as it is escaped; empty without one.

    Parameters
    ----------
    text : str
    spared : str
        Characters that do no harm.
    """
    found = next((c for c in CONTROLS.findall(text) if c not in spared), "")
    return ascii(found)[1:-1]


def printable(text):
    """Return a text whose control characters, but ends of lines and tabulators, are escaped.

    Parameters
    ----------
    text : str
    """
    return CONTROLS.sub(lambda c: c[0] if c[0] in "\n\t" else ascii(c[0])[1:-1], text)


def in_ascii(text):
    """Return a text for a format that is ASCII: letters without their accents, "?" for others.

    Parameters
    ----------
    text : str
    """
    parts = unicodedata.normalize("NFKD", text)
    letters = "".join(c for c in parts if not unicodedata.combining(c))
    return letters.encode("ascii", "replace").decode()


def text_sections(sections):
    """Return titled tables of labels and texts in lines; `sections` as of `html_sections`."""
    width, lines = max((len(label) for rows in sections.values() for label, _ in rows), default=0), []
    for title, rows in sections.items():
        lines += [title, *(f"  {label:<{width}}  {text}" for label, text in rows)]
    return "\n".join(lines)


def html_sections(title, sections, shown=1):
    """Return titled tables of labels and texts as HTML for a notebook, folded but for the first.

    Parameters
    ----------
    title : str
    sections : dict of str to list of (str, str)
    shown : int, optional
        Sections that are open.
    """
    parts = [f"<strong>{html.escape(title)}</strong>"]
    cell = '<td style="text-align: left; vertical-align: top">'
    for number, (name, rows) in enumerate(sections.items()):
        lines = "".join(
            f"<tr>{cell}{html.escape(str(label))}</td>{cell}{html.escape(str(text))}</td></tr>" for label, text in rows
        )
        is_open = " open" * (number < shown)
        parts.append(f"<details{is_open}><summary>{html.escape(name)}</summary><table>{lines}</table></details>")
    return f"<div>{''.join(parts)}</div>"
