"""Transposes of random combinations: medium and sources of a case, faces of another one, what a third one records, by dot products.

`COMBINATIONS=500 pytest tests/inverse/test_gradient_combinations.py` draws so many, others each time.
"""

import os
from random import Random

import pytest
from inversecase import EXACT, GRID, PARAMETERS, SPEEDS, Case, scenario

from craton.errors import ScenarioError

COUNT = int(os.environ.get("COMBINATIONS", 0))
ORDERS = (2, 4) if COUNT else (4,)  # in the suite texts that other tests have compiled
FACES, RECORDED = ([tables[key] for tables in GRID.values() if key in tables] for key in ("boundaries", "output"))
FACES += [{"top": top} | faces for top in ("sponge", "rigid") for faces in FACES if "top" not in faces]
# what is refused, by words of the message; docs/gradients.md has them, or the forward run has
REFUSED = (
    "a force on points of a CPML layer, or next to one",
    "a moment with shear on points of a fluid, or next to one",
)
REFUSED += (
    "SH waves have no pressure",
    "points along z are too few",
    "layer of the top",
    "a sea floor whose closed differences",
)


@pytest.mark.long
@pytest.mark.parametrize("number", range(COUNT or 12))
def test_transposes_of_combinations(number):
    rng = Random() if COUNT else Random(number)
    name = rng.choice(list(GRID))
    by = PARAMETERS.get(name, rng.choice((SPEEDS, ("kappa", "mu", "rho"))))
    tables = {"boundaries": rng.choice(FACES), "output": rng.choice(RECORDED), "run": {"order": rng.choice(ORDERS)}}
    try:
        case = Case(scenario(**GRID[name] | tables), by, every=rng.choice((1, 3)))
        mismatches = case.of_medium(), case.of_sources()
    except ScenarioError as error:
        assert any(words in str(error) for words in REFUSED), (name, tables, str(error))
    else:
        assert max(mismatches) < EXACT, (name, by, tables)
