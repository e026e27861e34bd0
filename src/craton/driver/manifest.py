"""Manifests of checkpoints: read back with their checksum, format and the limits of every value."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from craton.driver.checkpoint import FORMAT, MANIFEST, RECORD
from craton.errors import Problem, ScenarioError
from craton.integrity import KEY, Damaged, read_json, unsealed

MOST_STEPS = 10**10
MOST_RANKS = 10**6
Positive = Annotated[int, Field(ge=1, le=1 << 60)]
Place = Annotated[list[Annotated[int, Field(ge=0, le=1 << 50)]], Field(min_length=2, max_length=3)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^(record|rank_\d{1,7}/\w{1,100})\.npy$")]


class File(BaseModel):
    """Size and checksum of a file."""

    model_config = ConfigDict(strict=True)
    bytes: Positive
    sha256: Sha256


class Manifest(BaseModel):
    """What a manifest holds, with the limits of its values."""

    model_config = ConfigDict(strict=True)
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)]
    step: Positive
    dt: Annotated[float, Field(gt=0, lt=1e300)]
    start: Annotated[float, Field(gt=-1e300, lt=1e300)]
    precision: Annotated[str, StringConstraints(pattern=r"^float(32|64)$")]
    ranks: Annotated[int, Field(ge=1, le=MOST_RANKS)]
    subdomains: list[Annotated[list[int], Field(min_length=8, max_length=8)]]
    fields_: Annotated[list[dict[str, Place] | None], Field(alias="fields")]
    scenario: Sha256
    versions: dict[str, str]
    files: dict[FileName, File]

    @field_validator("step")
    @classmethod
    def _no_later_than_the_last(cls, step, info):
        if step > info.data.get("steps", 0):
            raise ValueError
        return step

    @field_validator("subdomains", "fields_")
    @classmethod
    def _one_for_each_rank(cls, rows, info):
        if len(rows) != info.data.get("ranks"):
            raise ValueError
        return rows

    @field_validator("files")
    @classmethod
    def _of_these_ranks(cls, files, info):
        ranks = (int(name[5:].split("/")[0]) for name in files if name != RECORD)
        if RECORD not in files or max(ranks, default=0) >= info.data.get("ranks", 0):
            raise ValueError
        return files


def read_manifest(folder):
    """Return the manifest of a checkpoint: checksum, format and limits of its values are checked.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict

    Raises
    ------
    Damaged
        It is not as it was written.
    ScenarioError
        Another version of craton wrote it.
    """
    path = folder / MANIFEST
    try:
        fields = read_json(path)
    except FileNotFoundError as error:
        raise Damaged(path, "it is missing") from error
    sealed_fields = unsealed(path) if KEY in fields else fields
    number = sealed_fields.get("format", 1 if KEY not in fields and "step" in fields else None)
    if isinstance(number, int) and number != FORMAT:
        raise ScenarioError(
            [
                Problem(
                    "OUT",
                    f"the checkpoint has format {number}, this version of craton reads format {FORMAT}",
                    "go on with the version that wrote it, or run scenario.toml anew",
                )
            ]
        )
    if KEY not in fields:
        raise Damaged(path, "it has no checksum")
    try:
        Manifest.model_validate(sealed_fields)
    except ValidationError as error:
        wrong = dict.fromkeys(str(one["loc"][0]) for one in error.errors())
        raise Damaged(path, f"its {', '.join(wrong)} cannot be right") from error
    if f"step_{sealed_fields['step']:09d}" != folder.name:
        raise Damaged(path, f"it is of step {sealed_fields['step']}, its folder is {folder.name}")
    return sealed_fields
