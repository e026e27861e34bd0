"""Words of other programs lead to the right key."""

import re
from typing import get_args

import refusals
from smallcase import TEXT

from craton.scenario import SCENARIOS, reads
from craton.tables.fields import Table
from craton.tables.problems import hint_for, hints

LAYERED = TEXT.replace(refusals.MEDIUM, refusals.layers(0))
TABLES = ("domain", "model", "time", "boundaries", "output", "run")
GRAVITY = 'method = "gravity"\n'
BODY = 'bodies = [{ shape = "sphere", center = [500, 500, -500], radius = 300, WORD = 1 }]'
# where a word that is no key is written into a table: a scenario, a text of it, what that becomes
PLACES = {
    "": (TEXT, "method = ", "WORD = 1\nmethod = "),
    "model.layers": (LAYERED, "{ top = 0", "{ WORD = 1, top = 0"),
    "model.regions": (TEXT, "rho = 2300\n", "rho = 2300\nregions.rock = { vp = 3000, WORD = 1 }\n"),
    "source": (TEXT, "moment = ", "WORD = 1\nmoment = "),
    "source.wavelet": (TEXT, "tau = ", "WORD = 1, tau = "),
    "receivers": (TEXT, 'name = "A"', 'WORD = 1\nname = "A"'),
    "receivers.line": (TEXT, "count = ", "WORD = 1, count = "),
    "snapshots": (TEXT, "every = ", "WORD = 1\nevery = "),
    "gravity": (f"{GRAVITY}[gravity]", "[gravity]", "[gravity]\nWORD = 1"),
    "prisms": (f"{GRAVITY}[[prisms]]\nkind", "kind", 'WORD = 1\nkind = "grid"'),
    "prisms.bodies": (f"{GRAVITY}[[prisms]]\nkind", "kind", f'{BODY}\nkind = "grid"'),
    "points": (f"{GRAVITY}[points]\nkind", "kind", 'WORD = 1\nkind = "grid"'),
}
PLACES |= {n: (TEXT, f"[{n}]\n", f"[{n}]\nWORD = 1\n") for n in TABLES}


def with_key(table, word):
    """A scenario with an unknown key in a table."""
    text, old, new = PLACES[table]
    assert text.count(old) == 1, (table, old)
    return text.replace(old, new.replace("WORD", word))


def test_every_word_of_a_table_gets_its_hint():
    for (table, word), remedy in hints().items():
        problems = [p for p in reads(with_key(table, word)).problems if p.key.endswith(word)]
        assert [p.remedy for p in problems] == [remedy], (table, word, problems)
    assert len({word for _, word in hints()}) > 100
    assert hint_for(("model", "layers", 0, "Thickness")) == hint_for(("model", "layers", "thickness"))
    assert hint_for(("model", "layers", 0, "thicknes")) is None


def test_keys_in_remedies_exist():
    def keys_in(annotation, names):
        if isinstance(annotation, type) and issubclass(annotation, Table):
            for name, field in annotation.model_fields.items():
                names.add(field.alias or name)
                keys_in(field.annotation, names)
        for part in get_args(annotation):
            keys_in(part, names)
        return names

    names = {"rr", "xx"}.union(*(keys_in(kind, set()) for kind in SCENARIOS.values()))
    for remedy in hints().values():
        for key in re.findall(r"(?:write|and|or|with|\{|,) (\w+) = ", remedy):
            assert key in names, (key, remedy)
