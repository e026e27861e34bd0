"""What a store of Green's functions says of itself, checked, and folders that are none."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from craton.errors import Problem, ScenarioError
from craton.integrity import Damaged, read_json
from craton.methods import METHODS
from craton.output.inspection import inspect_run
from craton.output.store import FINISHED, KINDS, RESULT, kind_of, refuse_changed
from craton.survey import wavelets
from craton.tables.fields import choice

WAVES = [name for name, method in METHODS.items() if method.drive == "march"]


class About(BaseModel):
    """What a store says of itself; numbers are finite.

    Parameters
    ----------
    method : str
        ``"fd"`` or ``"sem"``.
    field : dict
        See `craton.methods.waves.greens.Volume`.
    dt, start : float
        Of the runs, s.
    every : int
        Steps from one stored sample to the next.
    max_frequency : float
        Hz.
    duration : float
        Of the scenario, s.
    volume : (2, axes) list
        Its corners, m.
    """

    model_config = ConfigDict(allow_inf_nan=False, strict=True)

    method: choice(*WAVES)
    field: dict
    dt: Annotated[float, Field(gt=0)]
    start: float
    every: Annotated[int, Field(gt=0)]
    max_frequency: Annotated[float, Field(gt=0)]
    duration: float
    volume: Annotated[
        list[Annotated[list[float], Field(min_length=2, max_length=3)]], Field(min_length=2, max_length=2)
    ]

    @classmethod
    def read(cls, path, attributes):
        """Return what the attributes of a file say.

        Raises
        ------
        Damaged
            Some are missing, of another type or beyond limits.
        ScenarioError
            An earlier version began runs at the scenario's time.start.
        """
        try:
            about = cls.model_validate(attributes)
        except ValidationError as error:
            wrong = ", ".join(dict.fromkeys(str(row["loc"][0]) for row in error.errors()))
            raise Damaged(path, f"its {wrong} cannot be right") from error
        begins = -wavelets.LOWPASS_SPAN / about.max_frequency
        if about.start > begins + about.dt:
            words = (
                f"the runs of {path.parent.parent} begin at {about.start:.4g} s, their impulse at "
                f"{begins:.4g} s: an earlier version of craton cut it off"
            )
            raise ScenarioError([Problem("greens", words, "build it anew")])
        return about


def refuse_others(path):
    """Refuse what is no store, one some of whose forces are not there, and metadata that are not as
    they were written.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ScenarioError, Damaged
    """
    words, remedy = "", "give the folder of craton greens build"
    if not (path / "run.json").exists():
        words = f"{path} holds no Green's functions: it has no run.json"
    elif read_json(path / "run.json") and kind_of(path) != "greens":
        words = f"{path} holds no Green's functions but {KINDS.get(kind_of(path), 'other files')}"
    elif (state := read_json(path / "run.json").get("state")) != FINISHED:
        words = f"{path} is not complete: its state is {state}"
        remedy = "run craton greens build again"
    if words:
        raise ScenarioError([Problem("greens", words, remedy)])
    inspect_run(path)
    refuse_changed(path, RESULT, "scenario.toml")


def refuse_layout(stored, volume):
    """Refuse a store whose fields, of which it says `stored`, are laid out otherwise than those of a `Volume`."""
    if stored.get("layout") != volume.about.get("layout"):
        words = "the store was built by an earlier version of craton"
        raise ScenarioError([Problem("greens", words, "run craton greens build again")])
