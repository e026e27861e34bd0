"""What to cite for a run: works whose methods, models and formulas it used, as text and BibTeX.

A work is cited where a fact of the run matches: an operator of its plan, or a value of its scenario.
Which facts stand in citations.toml, the works in citations.bib.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).with_name("citations.bib")
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
ACCENTS = {r"{\v c}": "č", r"{\"o}": "ö", r"{\'e}": "é", "``": "“", "''": "”", "--": "–"}

USES = tomllib.loads(Path(__file__).with_name("citations.toml").read_text("utf-8"))["uses"]


@dataclass(frozen=True)
class Citation:
    """A work, and what a run used it for.

    Parameters
    ----------
    key : str
        Its key in BibTeX.
    used_for : str
    kind : str
        Kind of entry: ``"article"``.
    fields : dict of str
        Title, author, year and more, as BibTeX spells them.
    """

    key: str
    used_for: str
    kind: str
    fields: dict

    def __str__(self):
        fields = {name: plain(text) for name, text in self.fields.items()}
        names = fields["author"].split(" and ")
        authors = ", ".join(names).replace(", others", " et al.")
        year = f" ({fields['year']})" if "year" in fields else ""
        place = fields.get("journal") or fields.get("booktitle") or fields.get("version", "")
        place += f" {fields['volume']}" if "volume" in fields else ""
        place += f", {fields['pages']}" if "pages" in fields else ""
        doi = f" doi:{fields['doi']}" if "doi" in fields else ""
        return f"{authors}{year}: {fields['title']}." + (f" {place}." if place else "") + doi

    def bibtex(self):
        """Return the entry as BibTeX: str."""
        lines = [f"  {name} = {{{text}}}," for name, text in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


class Citations(tuple):
    """The works to cite for a run, in the order in which a section on methods would name them."""

    __slots__ = ()

    def __str__(self):
        return "\n".join(f"{each.used_for}: {each}" for each in self)

    __repr__ = __str__

    def _repr_html_(self):
        from craton.text import html_sections

        return html_sections("To cite", {"Works": [(each.used_for, str(each)) for each in self]})

    def bibtex(self):
        """Return all entries as BibTeX: str."""
        return "\n\n".join(each.bibtex() for each in self) + "\n"


def citations(scenario, plan, report=None):
    """Return what to cite for a run.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan or GravityPlan
        Made of it; its operators say what was computed.
    report : dict, optional
        Of the run, whose ``method`` is that of the sum over prisms.

    Returns
    -------
    Citations

    Examples
    --------
    >>> scenario = craton.load("two_layers.toml")
    >>> works = craton.citations.citations(scenario, craton.plan(scenario))
    >>> [work.key for work in works][:3]
    ['craton', 'virieux1986', 'graves1996']
    """
    facts = "\n".join(facts_of(scenario, plan, report or {}))
    works, cited = library(), {}
    for used_for, patterns, keys in USES:
        if all(re.search(f"^(?:{pattern})$", facts, re.MULTILINE) for pattern in patterns.split(" & ")):
            for key in keys:
                cited.setdefault(key, Citation(key, used_for, *works[key]))
    return Citations(cited.values())


def facts_of(scenario, plan, report):
    """Yield what holds of a run, a line each: ``operator=stress``, ``run.weights=taylor``.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan or GravityPlan
    report : dict
    """
    yield from values_of("", scenario.model_dump())
    if scenario.method == "gravity":  # its operators are chosen when it runs
        yield f"sum={report.get('method')}"
        return
    names = {launch.op.name for phase in plan.phases for launch in phase.launches}
    yield from sorted(f"operator={name}" for name in names)
    yield from (f"array={name}" for name in plan.arrays)


def values_of(path, value):
    """Yield ``dotted.key=value`` of nested tables; numbers of lists are left out of keys.

    Parameters
    ----------
    path : str
    value : Any
    """
    if isinstance(value, dict):
        for key, item in value.items():
            yield from values_of(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list | tuple):
        for item in value[:1000]:
            yield from values_of(path, item)
    elif value is not None:
        yield f"{path}={value}"


@cache
def library():
    """Return the works of citations.bib by key: dict of (kind, dict of fields)."""
    from craton.versions import described_version

    text = LIBRARY.read_text(encoding="utf-8")
    works = {key: (kind, dict(FIELD.findall(rest))) for kind, key, rest in ENTRY.findall(text)}
    if version := described_version():
        works["craton"][1]["version"] = version
    return works


def plain(text):
    """Return a text of BibTeX without braces and commands.

    Parameters
    ----------
    text : str
    """
    for written, letter in ACCENTS.items():
        text = text.replace(written, letter)
    return text.replace("{", "").replace("}", "")
