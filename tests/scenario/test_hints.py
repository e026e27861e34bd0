"""Words of other programs lead to the right key."""

import re
from typing import get_args

import pytest

from craton.errors import ScenarioError
from craton.scenario import SCENARIOS, loads
from craton.tables.fields import Table
from craton.tables.hints import HINTS, hint_for

WAVES = """\
[domain]
origin = [0, 0, -3000]
size = [3000, 3000, 3000]
spacing = 100
#domain
[model]
kind = "layers"
#model
[[model.layers]]
top = 0
vp = 3000
vs = 1700
rho = 2300
#model.layers
[time]
duration = 1
#time
[boundaries]
top = "free"
#boundaries
[[source]]
kind = "explosion"
at = [1500, 1500, -1000]
moment = 1e14
#source
[source.wavelet]
kind = "gaussian"
tau = 0.1
#source.wavelet
[[receivers]]
name = "A"
at = [1500, 1500, 0]
#receivers
[[receivers]]
name = "L"
[receivers.line]
from = [1000, 1500, 0]
to = [2000, 1500, 0]
count = 3
#receivers.line
[[snapshots]]
name = "s"
every = 0.5
#snapshots
[output]
#output
[run]
#run
"""
GRAVITY = """\
method = "gravity"
#
[gravity]
#gravity
[[prisms]]
kind = "grid"
origin = [0, 0, -1000]
size = [1000, 1000, 1000]
shape = [2, 2, 2]
bodies = [{ shape = "sphere", center = [500, 500, -500], radius = 300, BODY }]
#prisms
[points]
kind = "grid"
x = [0, 1000, 2]
y = [0, 1000, 2]
z = 100
#points
"""
ASKED = (
    ("thickness density depth", "model.layers"),
    ("Mw magnitude half_duration", "source"),
    ("dx nx", "domain"),
    ("dt nt", "time"),
)


def with_key(table, word):
    """A scenario with an unknown key in a table."""
    if table == "":
        return f"{word} = 1\n{WAVES}"
    if table == "model.regions":
        return WAVES.replace("#model\n", f"regions.rock = {{ vp = 3000, vs = 1700, rho = 2300, {word} = 1 }}\n")
    if table == "prisms.bodies":
        return GRAVITY.replace("BODY", f"{word} = 1")
    gravity = GRAVITY.replace("BODY", "density = 100")
    text = gravity if table in ("gravity", "prisms", "points") else WAVES
    assert f"#{table}\n" in text, table
    return text.replace(f"#{table}\n", f"{word} = 1\n")


CASES = [(table, hint) for hint in HINTS for table in hint.tables]


@pytest.mark.parametrize("table", sorted({table for table, _ in CASES}))
def test_every_word_of_a_table_gets_its_hint(table):
    for hint in (hint for where, hint in CASES if where == table):
        for word in hint.words.split():
            with pytest.raises(ScenarioError) as error:
                loads(with_key(table, word), file="case.toml")
            problems = [p for p in error.value.problems if p.key.endswith(word)]
            assert len(problems) == 1, (table, word, str(error.value))
            assert problems[0].remedy == hint.remedy, (table, word, problems[0])


def test_one_hint_for_a_word():
    pairs = [(table, word) for table, hint in CASES for word in hint.words.split()]
    assert len(pairs) == len(set(pairs)) and len({word for _, word in pairs}) > 100


def test_the_words_that_were_asked_for():
    for words, table in ASKED:
        for word in words.split():
            assert hint_for((*table.split("."), word)), word
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
    for hint in HINTS:
        for key in re.findall(r"(?:write|and|or|with|\{|,) (\w+) = ", hint.remedy):
            assert key in names, (key, hint.remedy)
