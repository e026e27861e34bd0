"""The scenario: what a run is, in the words of the field; read from TOML or built in Python,
checked, in SI units.

Which class of tables a scenario is, is said by its method: `SCENARIOS` has the class of each. All tables are named here.
"""

# ruff: noqa: F401, F403, F405 (tables, which `__all__` finds)

from pydantic_core import PydanticCustomError

from craton.errors import Problem, refuse_all
from craton.methods import METHODS
from craton.methods.finite_difference.options import Boundaries, Cpml, Domain, FiniteDifferenceScenario, Run, Sponge
from craton.methods.gravity.options import (
    BoreholePoints,
    DensityBox,
    DensitySphere,
    DrapePoints,
    FilePrisms,
    Gravity,
    GravityRun,
    GravityScenario,
    GridPoints,
    GridPrisms,
    LayerPrisms,
    ModelPrisms,
    ProfilePoints,
    RectilinearPrisms,
    ScatteredPoints,
    SurfaceFile,
    TablePrisms,
)
from craton.methods.spectral_element.mesh.chunk_options import Chunk, Relief
from craton.methods.spectral_element.options import (
    ElementDomain,
    ElementOutput,
    ElementRun,
    Faces,
    Pml,
    Refinement,
    SpectralScenario,
)
from craton.tables import document, problems
from craton.tables.document import Reading, checked, dumps, format_problems
from craton.tables.fields import Place, Position, Table, one_of
from craton.tables.ground import GroundFile, GroundTable, Water
from craton.tables.medium import *
from craton.tables.receivers import *
from craton.tables.schema import Geographic, Gradient, Greens, Output, TimeSpan
from craton.tables.sources import *

SCENARIOS = {name: method.scenario() for name, method in METHODS.items()}
DEFAULT = next(iter(SCENARIOS))  # method of a file that names none


def _synonyms():
    """Other names of a key, which an override of it replaces, by the key."""
    names = {}
    for row in (row for kind in SCENARIOS.values() for row in kind.FOREIGN if row.renamed):
        table, _, name = row.key.rpartition(".")
        names.setdefault(row.key, []).append(row.renamed)
        names.setdefault(f"{table}.{row.renamed}", []).append(name)
    return names


SYNONYMS = _synonyms()


def diagnose(values):
    """Build a scenario from its tables and find as many problems at once as can be found.

    Parameters
    ----------
    values : dict
        The tables; the class is that of their ``method``, or of the nearest one where it is
        misspelt.

    Returns
    -------
    scenario : craton.tables.schema.Document or None
        See `craton.tables.problems.diagnose`.
    problems : list of craton.errors.Problem
    """
    method, wrong = _method_of(values)
    tables = values | {"method": method} if "method" in values else values
    scenario, others = problems.diagnose(tables, SCENARIOS[method], SCENARIOS)
    return scenario, [*wrong, *others]


def _method_of(values):
    """Return the method of a dict of tables, or what it probably is, and the problems of its name."""
    name = values.get("method")
    if name is None:
        method = max(SCENARIOS, key=lambda name: len(set(values) & set(SCENARIOS[name].model_fields)))
        message, remedy = 'missing: "method" is required', f'write method = "{method}"'
        return method, [Problem("method", message, remedy)] * (method != DEFAULT)
    try:
        return one_of(tuple(SCENARIOS))(name), []
    except PydanticCustomError as error:
        ((_, message, remedy),) = error.context["items"]
        return error.context["nearest"] or DEFAULT, [Problem("method", message, remedy)]


def Scenario(**values):  # noqa: N802 (it stands for the classes of all methods)
    """Return a scenario of the class of its method: finite differences, or ``method="sem"``,
    ``"gravity"``; equal scenarios give equal runs.

    Parameters
    ----------
    values : dict, list, table or object by name
        Keys and values are those of the TOML file (docs/scenario.md): numbers in SI units, or
        strings with a unit. In place of a file, and of the table that has nothing else, an object:
        ``model`` an xarray.Dataset, ``receivers`` an Inventory of ObsPy or a pandas.DataFrame,
        ``source`` an Event or Catalog of ObsPy or a pandas.DataFrame.

    Returns
    -------
    FiniteDifferenceScenario, SpectralScenario or GravityScenario

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found.
    """
    scenario, wrong = diagnose(values)
    refuse_all(wrong)
    return scenario


def load(path, overrides=(), **tables):
    """Return a scenario from a TOML file.

    Parameters
    ----------
    path : str or os.PathLike
        The file; relative paths inside it are relative to its folder.
    overrides : sequence of str
        ``"key.path=value"`` each, applied before checking: ``"source.0.wavelet.tau=0.2"``,
        ``"domain.spacing=200 m"``.
    tables : dict, list, table or object by name
        In place of those of the file, as of `Scenario`: ``receivers=inventory, model=dataset``.

    Returns
    -------
    Scenario

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found.

    Examples
    --------
    >>> scenario = craton.load("two_layers.toml", ["time.duration=0.5"])
    >>> scenario.time.duration
    0.5
    """
    return checked(read(path, overrides, **tables))


def loads(text, overrides=(), file="scenario", **tables):
    """Return a scenario from TOML text: Scenario; see `load`.

    Parameters
    ----------
    text : str
    overrides : sequence of str
        As of `load`.
    file : str or os.PathLike
        Name in messages; relative paths in the text are relative to its folder.
    tables : dict, list, table or object by name
        As of `load`.
    """
    return checked(reads(text, overrides, file, **tables))


def read(path, overrides=(), **tables):
    """Like `load`, but the problems are returned beside the scenario, so that further checks can
    add theirs: Reading.

    Parameters
    ----------
    path : str or os.PathLike
    overrides : sequence of str
        As of `load`.
    tables : dict, list, table or object by name
        As of `load`.
    """
    return document.read(path, _diagnosed_with(tables), overrides, SYNONYMS)


def reads(text, overrides=(), file="scenario", **tables):
    """Like `loads`, but the problems are returned beside the scenario: Reading.

    Parameters
    ----------
    text : str
    overrides : sequence of str
    file : str or os.PathLike
        As of `loads`.
    tables : dict, list, table or object by name
        As of `load`.
    """
    return document.reads(text, _diagnosed_with(tables), overrides, file, SYNONYMS)


def _diagnosed_with(tables):
    """`diagnose` of the tables of a file with others in their place."""
    return lambda values: diagnose(values | tables)


def with_overrides(scenario, overrides):
    """Return the scenario with values changed by ``"key.path=value"`` texts, checked again:
    Scenario.

    Parameters
    ----------
    scenario : Scenario
    overrides : sequence of str
        As of `load`.

    Raises
    ------
    craton.errors.ScenarioError
        With every problem found.

    Examples
    --------
    >>> finer = craton.scenario.with_overrides(craton.load("two_layers.toml"), ["run.order=8"])
    >>> finer.run.order
    8
    """
    return loads(dumps(scenario), overrides)


__all__ = [
    "Reading",
    "Scenario",
    "diagnose",
    "dumps",
    "format_problems",
    "load",
    "loads",
    "read",
    "reads",
    "with_overrides",
]
__all__ += [
    name for name, kind in vars().items() if isinstance(kind, type) and issubclass(kind, Table) and kind is not Table
]
