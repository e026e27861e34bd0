"""Scenarios of spectral elements: the tables of finite differences with elements in place of a grid; notes in words."""

import numpy as np
import refusals
import smallcase
from common import refused
from refusals import CONSTANTS, MESH, SEM

import craton
from craton.conventions import FACES
from craton.errors import ScenarioError
from craton.scenario import SCENARIOS, Homogeneous, Scenario, Stiffness, dumps, loads, reads


def changed(*pairs, text=SEM):
    return smallcase.changed(*pairs, text=text)


def warned(scenario):
    """Keys of its warnings."""
    return {text.partition(":")[0] for text in scenario.warnings}


def test_the_same_file_by_both_methods():
    fd, sem = loads(smallcase.TEXT), loads(SEM)
    assert type(fd) is SCENARIOS["fd"] and type(sem) is SCENARIOS["sem"]
    assert all(getattr(sem, name) == getattr(fd, name) for name in ("source", "receivers", "snapshots", "model"))
    assert sem.face("top") == "free" and sem.face("west") == sem.face("bottom") == "pml"
    assert any("boundaries.others" in text and '"pml", in boxes' in text for text in sem.warnings)
    assert sem.domain.points_per_wavelength == 5 and sem.run.degree == 4 and sem.run.assembly == "fast"


def test_written_and_read_again(tmp_path):
    finer = ("element_size = 400", "max_frequency = 2\nrefine = [{ below = -1500, factor = 2 }]")
    regions = 'regions = { "soft rock" = { vp = 2000, vs = 1000, rho = 2000, qp = 50 } }'
    for text in (
        SEM,
        MESH,
        changed(finer, ('device = "cpu"', "degree = 6")),
        changed(("vp = 3000\nvs = 1700\n", f"stiffness = {{ {CONSTANTS} }}\n")),
        changed(("vp = 3000\n", f"vp = 3000\n{regions}\n"), text=MESH),
        changed(('others = "cpml"', 'others = "rigid"\nfaces = { "side 1.a" = "free" }'), text=MESH),
        changed(("plane = { y = 1500 }", "plane = { surface = true }")),
    ):
        scenario = loads(text)
        assert loads(dumps(scenario)) == scenario
    assert reads(MESH, file=tmp_path / "a.toml").scenario.domain.mesh == str(tmp_path / "valley.msh")


def test_built_in_python():
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    assert Scenario(**tables) == SCENARIOS["sem"](**tables) == loads(SEM)
    refused(ScenarioError, "degree", Scenario, **tables | {"run": {"degree": 12}})
    # a key of another method in a table built before
    model = Homogeneous(vp=3000, vs=1700, rho=2300, qp=90, qs=50, attenuation={"band": [0.1, 9], "storage": "full"})
    assert warned(SCENARIOS["sem"](**tables | {"model": model})) == {"model.attenuation.storage"}


def test_old_key_of_the_element_size_is_read_with_a_note():
    """An override of either key replaces the other."""
    scenario = loads(changed(("element_size = 400", "spacing = 400")))
    assert scenario == loads(SEM) and scenario.domain.element_size == 400
    assert "element_size = 400" in dumps(scenario) and "spacing" not in dumps(scenario).split("[model]")[0]
    note = 'domain.spacing: with method = "sem" this key is now called element_size; read as element_size = 400 m.'
    assert any(text.startswith(note) for text in scenario.warnings)
    assert sum(text.startswith(note) for text in craton.plan(scenario).warnings) == 1
    assert "domain.spacing" not in warned(loads(SEM))
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    tables["domain"]["spacing"] = tables["domain"].pop("element_size")
    assert SCENARIOS["sem"](**tables) == loads(SEM)
    missing = reads(changed((refusals.BOX, "spacing = 400"))).problems
    assert [p.key for p in missing] == ["domain.origin", "domain.size"]
    for key in ("spacing", "element_size"):
        assert loads(SEM, [f"domain.{key}=250"]).domain.element_size == 250
        assert loads(smallcase.TEXT, ["method=sem", f"domain.{key}=250"]).domain.element_size == 250


def test_isotropic_mean_of_an_isotropic_stiffness():
    lam, mu, rho = 1e10, 1e10, 2300.0
    same = Stiffness(c11=3e10, c22=3e10, c33=3e10, c12=lam, c13=lam, c23=lam, c44=mu, c55=mu, c66=mu)
    np.testing.assert_allclose(same.speeds(rho), (np.sqrt(3e10 / rho), np.sqrt(mu / rho)), rtol=1e-14)
    assert same.constants[[0, 1, 2, 3, 6, 15, 20]].tolist() == [3e10, lam, lam, 0, 3e10, mu, mu]


def test_a_ground_above_which_nothing_is():
    scenario = loads(changed(('top = "free"', 'top = "rigid"'), ("vp = 3000\n", "vp = 3000\ntopography = -100\n")))
    assert scenario.face("top") == "free" and "boundaries.top" in warned(scenario)


def test_what_is_said_of_a_top_that_is_ground_is_told_as_it_was_said():
    tables = loads(SEM).model_dump(by_alias=True, exclude_none=True)
    tables["model"] |= {"topography": -200.0}
    for boundaries, kind in (({"top": "rigid"}, "rigid"), ({"faces": {"top": "stacey"}}, "stacey"), ({}, "")):
        told = [text for text in Scenario(**tables | {"boundaries": boundaries}).warnings if "boundaries.top" in text]
        assert [f'"{kind}" is ignored' in text for text in told] == [True] * bool(kind)


def test_keys_of_finite_differences_are_read_in_one_way():
    """Tables without meaning here are left out; faces absorb as elements do; what is refused names its method."""
    many = ('top = "free"', 'top = "sponge"\nwest = "a1"\nsurface = "imaging"\nfaces = { east = "cpml" }')
    lossy = ("rho = 2300", 'rho = 2300\nqp = 90\nqs = 50\nattenuation = { band = [0.1, 9], storage = "full" }')
    scenario = loads(changed(many, lossy, ("element_size = 400", 'spacing = "0.4 km"')))
    kinds = {name: scenario.boundaries.face(name) for name in FACES}
    assert kinds == dict.fromkeys(FACES) | {"top": "pml", "west": "stacey", "east": "pml"}
    assert scenario.face("south") == "pml" and scenario.domain.element_size == 400
    faces = {f"boundaries.{name}" for name in ("top", "west", "others", "faces.east")}
    assert warned(scenario) == {"domain.spacing", "model.attenuation.storage"} | faces
    again = loads(dumps(scenario))
    assert again == scenario and again.warnings == [] and scenario.model_copy().warnings == scenario.warnings
    assert not [name for name in ("surface", "cpml", "sponge") if hasattr(scenario.boundaries, name)]
    ordered = loads(changed(('device = "cpu"', "order = 8\ngrid = [2, 1, 1]")))
    assert warned(ordered) == {"boundaries.others", "run.order", "run.grid"}
