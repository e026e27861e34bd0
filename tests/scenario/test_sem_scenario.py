"""Scenarios of spectral elements: the tables of finite differences with elements in place of a grid; problems in words."""

import numpy as np
import pytest
import smallcase

import craton
from craton.conventions import FACES
from craton.errors import ScenarioError
from craton.scenario import (
    FiniteDifferenceScenario,
    Homogeneous,
    Scenario,
    SpectralScenario,
    Stiffness,
    dumps,
    loads,
    reads,
)

SEM = smallcase.changed(('method = "fd"', 'method = "sem"'), ("spacing = 100", "element_size = 400"))
MESH = SEM.replace("origin = [0, 0, -2500]\nsize = [3000, 3000, 2500]\nelement_size = 400", 'mesh = "valley.msh"')
CONSTANTS = "c11 = 3e10, c22 = 3e10, c33 = 3e10, c12 = 1e10, c13 = 1e10, c23 = 1e10, c44 = 1e10, c55 = 1e10, c66 = 1e10"


def changed(*pairs, text=SEM):
    """The scenario with texts replaced."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_the_same_file_by_both_methods():
    fd, sem = loads(smallcase.TEXT), loads(SEM)
    assert type(fd) is FiniteDifferenceScenario and type(sem) is SpectralScenario
    assert (
        sem.source == fd.source
        and sem.receivers == fd.receivers
        and sem.snapshots == fd.snapshots
        and sem.model == fd.model
    )
    assert sem.face("top") == "free" and sem.face("west") == sem.face("bottom") == "pml"
    assert any("boundaries.others" in text and '"pml", in boxes' in text for text in sem.warnings)
    assert sem.domain.points_per_wavelength == 5 and sem.run.degree == 4 and sem.run.assembly == "fast"


@pytest.mark.parametrize(
    "text",
    [
        SEM,
        MESH,
        changed(
            ("element_size = 400", "max_frequency = 2\nrefine = [{ below = -1500, factor = 2 }]"),
            ('device = "cpu"', "degree = 6"),
        ),
        changed(("vp = 3000\nvs = 1700\n", f"stiffness = {{ {CONSTANTS} }}\n")),
        changed(
            ("vp = 3000\n", 'vp = 3000\nregions = { "soft rock" = { vp = 2000, vs = 1000, rho = 2000, qp = 50 } }\n'),
            text=MESH,
        ),
        changed(('others = "cpml"', 'others = "rigid"\nfaces = { "side 1.a" = "free" }'), text=MESH),
        changed(("plane = { y = 1500 }", "plane = { surface = true }")),
    ],
)
def test_written_and_read_again(text):
    scenario = loads(text)
    assert loads(dumps(scenario)) == scenario


def test_built_in_python():
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    assert Scenario(**tables) == SpectralScenario(**tables) == loads(SEM)
    with pytest.raises(ScenarioError, match="degree"):
        Scenario(**tables | {"run": {"degree": 12}})


def test_mesh_is_found_beside_the_scenario(tmp_path):
    assert reads(MESH, file=tmp_path / "a.toml").scenario.domain.mesh == str(tmp_path / "valley.msh")


def test_old_key_of_the_element_size_is_read_with_a_note():
    old = changed(("element_size = 400", "spacing = 400"))
    scenario = loads(old)
    assert scenario == loads(SEM) and scenario.domain.element_size == 400
    assert "element_size = 400" in dumps(scenario) and "spacing" not in dumps(scenario).split("[model]")[0]
    note = 'domain.spacing: with method = "sem" this key is now called element_size; read as element_size = 400 m.'
    assert any(text.startswith(note) for text in scenario.warnings)
    assert sum(text.startswith(note) for text in craton.plan(scenario).warnings) == 1
    assert not any("domain.spacing" in text for text in loads(SEM).warnings)
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    tables["domain"]["spacing"] = tables["domain"].pop("element_size")
    assert SpectralScenario(**tables) == loads(SEM)
    mesh = changed(("origin = [0, 0, -2500]\nsize = [3000, 3000, 2500]\nelement_size = 400", "spacing = 400"))
    assert [p.key for p in reads(mesh).problems] == ["domain.origin", "domain.size"]


def test_element_size_and_its_old_key_exclude_each_other():
    (problem,) = reads(changed(("element_size = 400", "element_size = 400\nspacing = 500"))).problems
    assert problem.key == "domain.spacing" and problem.message.startswith("element_size and spacing are both given")
    assert problem.remedy == "leave spacing out"


@pytest.mark.parametrize("key", ["spacing", "element_size"])
def test_an_override_of_either_key_replaces_the_other(key):
    assert loads(SEM, [f"domain.{key}=250"]).domain.element_size == 250
    assert loads(smallcase.TEXT, ["method=sem", f"domain.{key}=250"]).domain.element_size == 250


BAD = [
    ([("size = [3000, 3000, 2500]", "size = [3000, 2500]")], "domain.size", 'available only with method = "fd"'),
    ([("element_size = 400", 'element_size = 400\nwaves = "SH"')], "domain.waves", "only in 2-D"),
    ([("element_size = 400", "")], "domain.element_size", "neither element_size nor max_frequency"),
    (
        [("element_size = 400", "element_size = 400\nrefine = [{ below = -3000 }]")],
        "domain.refine.0.below",
        "outside the domain, -2500 to 0 m",
    ),
    (
        [("element_size = 400", "element_size = 400\nrefine = [{ below = -1000, factor = 4 }]")],
        "domain.refine.0.factor",
        "4 is not 2 or 3",
    ),
    ([("element_size = 400", "element_size = 400\nrefin = []")], "domain.refin", 'did you mean "refine"'),
    ([('others = "cpml"', 'others = "periodic"')], "boundaries.others", "periodic faces are available only with"),
    ([('others = "cpml"', 'others = "staecy"')], "boundaries.others", 'did you mean "stacey"'),
    ([('top = "free"', 'faces = { tpo = "free" }')], "boundaries.faces.tpo", "top"),
    ([('device = "cpu"', "degree = 9")], "run.degree", "at most 8"),
    ([('device = "cpu"', 'assembly = "atomics"')], "run.assembly", 'did you mean "fast"'),
    (
        [("vp = 3000\nvs = 1700\n", "stiffness = { c11 = 3e10, c22 = 3e10, c33 = 3e10, c44 = 1e10, c55 = 1e10 }\n")],
        "model.stiffness",
        "smallest eigenvalue is 0 Pa",
    ),
    (
        [("vp = 3000\nvs = 1700\n", f"stiffness = {{ {CONSTANTS} }}\nepsilon = 0.1\n")],
        "model.epsilon",
        "stiffness are mutually exclusive",
    ),
    (
        [("vp = 3000\n", "vp = 3000\nregions = { a = { vp = 1, vs = 0, rho = 1 } }\n")],
        "model.regions",
        "no named regions",
    ),
    (
        [('kind = "explosion"\nat = [1500, 1500, -1000]\nmoment = 1e14', 'kind = "plane_wave"\nwave = "P"\nz = -2000')],
        "source.0.kind",
        "needs periodic sides",
    ),
]


@pytest.mark.parametrize("pairs, key, part", BAD, ids=[f"{b[1]}-{i}" for i, b in enumerate(BAD)])
def test_problems_in_words(pairs, key, part):
    problems = reads(changed(*pairs)).problems
    assert [p.key for p in problems] == [key] and part in f"{problems[0].message} / {problems[0].remedy}"


@pytest.mark.parametrize(
    "pair, key, part",
    [
        (('mesh = "valley.msh"', 'mesh = "valley.msh"\nelement_size = 2'), "domain.element_size", "mutually exclusive"),
        (
            ("vp = 3000\n", "vp = 3000\nregions = { a = { vp = 1000, vs = 0, roh = 1000 } }\n"),
            "model.regions.a.roh",
            'did you mean "rho"',
        ),
        (("vp = 3000\n", "vp = 3000\ntopography = 20\n"), "model.topography", "the mesh file defines the surface"),
    ],
)
def test_problems_of_scenarios_with_a_mesh(pair, key, part):
    problems = reads(changed(pair, text=MESH)).problems
    assert problems[0].key == key and part in f"{problems[0].message} / {problems[0].remedy}"


@pytest.mark.parametrize(
    "pair, key",
    [
        (('device = "cpu"', "degree = 4"), "run.degree"),
        (("spacing = 100", "spacing = 100\nelement_size = 200"), "domain.element_size"),
        (("spacing = 100", 'spacing = 100\nmesh = "a.msh"'), "domain.mesh"),
        (("vp = 3000\nvs = 1700\n", f"stiffness = {{ {CONSTANTS} }}\n"), "model.stiffness"),
        (("plane = { y = 1500 }", "plane = { surface = true }"), "snapshots.0.plane"),
    ],
)
def test_finite_differences_say_what_belongs_to_elements(pair, key):
    problem = reads(changed(pair, text=smallcase.TEXT)).problems[0]
    assert problem.key == key and 'method = "sem"' in f"{problem.message} / {problem.remedy}"


def test_isotropic_mean_of_an_isotropic_stiffness():
    lam, mu, rho = 1e10, 1e10, 2300.0
    same = Stiffness(c11=3e10, c22=3e10, c33=3e10, c12=lam, c13=lam, c23=lam, c44=mu, c55=mu, c66=mu)
    np.testing.assert_allclose(same.speeds(rho), (np.sqrt(3e10 / rho), np.sqrt(mu / rho)), rtol=1e-14)
    assert same.constants[[0, 1, 2, 3, 6, 15, 20]].tolist() == [3e10, lam, lam, 0, 3e10, mu, mu]


def test_a_ground_above_which_nothing_is():
    scenario = loads(changed(('top = "free"', 'top = "rigid"'), ("vp = 3000\n", "vp = 3000\ntopography = -100\n")))
    assert scenario.face("top") == "free"
    assert any(text.startswith("boundaries.top") for text in scenario.warnings)


def test_orders_of_differences_are_not_used():
    scenario = loads(changed(('device = "cpu"', "order = 8\ngrid = [2, 1, 1]")))
    told = {text.partition(":")[0] for text in scenario.warnings}
    assert told == {"boundaries.others", "run.order", "run.grid"}


def test_keys_of_finite_differences_are_read_in_one_way():
    """Tables without meaning here are left out; faces absorb as elements do; what is refused names its method."""
    many = ('top = "free"', 'top = "sponge"\nwest = "a1"\nsurface = "imaging"\nfaces = { east = "cpml" }')
    lossy = ("rho = 2300", 'rho = 2300\nqp = 90\nqs = 50\nattenuation = { band = [0.1, 9], storage = "full" }')
    scenario = loads(changed(many, lossy, ("element_size = 400", 'spacing = "0.4 km"')))
    kinds = {name: scenario.boundaries.face(name) for name in FACES}
    assert kinds == dict.fromkeys(FACES) | {"top": "pml", "west": "stacey", "east": "pml"}
    assert scenario.face("south") == "pml" and scenario.domain.element_size == 400
    keys = {text.partition(":")[0] for text in scenario.warnings}
    faces = {f"boundaries.{name}" for name in ("top", "west", "others", "faces.east")}
    assert keys == {"domain.spacing", "model.attenuation.storage"} | faces
    again = loads(dumps(scenario))
    assert again == scenario and again.warnings == [] and scenario.model_copy().warnings == scenario.warnings
    assert not [name for name in ("surface", "cpml", "sponge") if hasattr(scenario.boundaries, name)]


def test_a_key_of_another_method_is_noted_in_a_table_built_before():
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    model = Homogeneous(vp=3000, vs=1700, rho=2300, qp=90, qs=50, attenuation={"band": [0.1, 9], "storage": "full"})
    warnings = SpectralScenario(**tables | {"model": model}).warnings
    assert [text.partition(":")[0] for text in warnings] == ["model.attenuation.storage"]
