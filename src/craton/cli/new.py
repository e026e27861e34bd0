"""craton new: a small scenario to start from."""

from pathlib import Path

from craton.cli.check import refuse
from craton.errors import ResourceError

TEMPLATE = Path(__file__).parent / "new.toml"


def command(name="scenario", force=False):
    """Write the template to NAME.toml."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not path.stem:
        refuse("NAME", f'"{name}" is not a name for a file', "write for example: craton new valley")
    if path.exists() and not force:
        refuse(
            "NAME", f"{path} is already there", "choose another name, or add --force to replace it"
        )
    try:
        path.write_text(
            TEMPLATE.read_text(encoding="utf-8").replace("FILE", str(path)), encoding="utf-8"
        )
    except OSError as error:
        raise ResourceError(
            f"cannot write {path}: {error.strerror or error}\n    -> choose another folder"
        ) from error
    print(f"{path} written. Next:\n  craton plan {path}\n  craton run {path}")
