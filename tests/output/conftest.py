"""Two runs that figures, pages and converted files are made of."""

import filecase
import pytest
import smallcase

LAYERS = """kind = "layers"
layers = [{ top = 0, vp = 3000, vs = 1700, rho = 2300 }, { top = -1400, vp = 4500, vs = 2600, rho = 2600 }]
"""
PLANE = '[[snapshots]]\nname = "upper"\nquantity = "pressure"\nplane = { z = -100 }\nevery = 0.25\n\n[output]\n'


@pytest.fixture(scope="session")
def box(tmp_path_factory):
    """OUT of a force in two layers, with snapshots of a section and of a plane at depth."""
    force = ('kind = "explosion"', 'kind = "force"'), ("moment = 1e14", "force = [0, 0, 1e12]")
    model = 'kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300\n'
    changes = *force, (model, LAYERS), ("every = 0.25", "every = 0.08"), ("[output]\n", PLANE)
    return filecase.run_of(smallcase.changed(*changes), tmp_path_factory.mktemp("box"))


@pytest.fixture(scope="session")
def line(tmp_path_factory):
    """OUT of twelve receivers along a line in a plane."""
    return filecase.run_of(filecase.LINE, tmp_path_factory.mktemp("line"))
