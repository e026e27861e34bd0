"""What a run asks to cite: works by the operators of its plan and the values of its scenario."""

import re

import pytest
from smallcase import TEXT

import craton
from craton.citations import USES, citations, library
from craton.scenario import loads

ALWAYS_FD = {"craton", "virieux1986", "graves1996", "moczo2002", "harris2020", "hoyer2017", "stork2013", "koene2018"}
CPML = {"komatitsch2007"}  # a homogeneous medium below one free surface needs no damping
RIGID, BRUNE = "boundaries.top=rigid", 'source.0.wavelet={kind="brune", corner_frequency=2}'
LOSSY = ["model.qp=60", "model.qs=30", "model.attenuation.band=[1, 10]"]


def keys(scenario, report=None):
    """Keys of the works that a scenario's run asks to cite."""
    return {work.key for work in citations(scenario, craton.plan(scenario), report)}


FINITE_DIFFERENCES = {
    "surface": ([], {"strand1994", "oreilly2017"} | CPML),
    "imaging": (["boundaries.surface=imaging"], {"levander1988"} | CPML),
    "holberg": ([RIGID, "run.weights=holberg"], {"holberg1987"} | CPML),
    "attenuation": (
        [RIGID, "boundaries.others=sponge", "boundaries.sponge={thickness = 5}", *LOSSY],
        {"cerjan1985", "emmerich1987", "moczo2005"},
    ),
    "vti": ([RIGID, "boundaries.others=rigid", "model.epsilon=0.1", BRUNE], {"thomsen1986", "brune1970"}),
}


@pytest.mark.parametrize("changes, more", FINITE_DIFFERENCES.values(), ids=FINITE_DIFFERENCES)
def test_finite_differences_cite_what_they_use(changes, more):
    assert keys(loads(TEXT, changes)) == ALWAYS_FD | more


def test_spectral_elements_and_gravity_cite_theirs():
    text = TEXT.replace("spacing = 100", "element_size = 500").replace("cpml = { thickness = 5 }", "")
    changes = ["method=sem", "boundaries.others=stacey", "boundaries.west=pml", "boundaries.pml={thickness = 1}"]
    cited = keys(loads(text, [*changes, *LOSSY]))
    assert {"komatitsch1999", "stacey1988", "xie2014", "emmerich1987"} <= cited and "virieux1986" not in cited
    prisms = {"kind": "table", "rows": [[0, 1e3, 0, 1e3, -1e3, 0, 300]]}
    points = {"kind": "scattered", "at": [[0, 0, 10]]}
    gravity = craton.Scenario(method="gravity", title="One prism", prisms=prisms, points=points)
    closed_form = {"craton", "nagy2000", "fukushima2020", "harris2020", "hoyer2017"}
    assert keys(gravity) == closed_form
    assert keys(gravity, {"method": "far"}) == closed_form | {"dehnen2014"}


def test_every_work_is_used_and_every_use_has_its_work():
    used = [key for _, _, works in USES for key in works]
    assert set(used) == set(library())
    for kind, fields in library().values():
        assert kind in ("article", "inproceedings", "software") and fields["author"]
        assert kind == "software" or re.fullmatch(r"(19|20)\d\d", fields["year"])
        assert re.fullmatch(r"10\.\d{4,5}/\S+", fields.get("doi", "10.1234/none"))


def test_a_result_gives_texts_and_bibtex():
    scenario = loads(TEXT)
    works = craton.Result(scenario, craton.plan(scenario), None, {}).citations()
    assert "Virieux, J. (1986): P-SV wave propagation in heterogeneous media" in str(works)
    assert "Nordström" in str(works) and "{" not in str(works)
    entries = re.findall(r"^@\w+\{(\w+),$", works.bibtex(), re.MULTILINE)
    assert entries == [work.key for work in works] and entries[0] == "craton"
    assert works.bibtex().count("{") == works.bibtex().count("}")
    assert "doi:10.1190/1.1442147" in works._repr_html_()
