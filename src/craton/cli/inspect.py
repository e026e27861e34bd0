"""craton check: whether what lies in a folder of results is as it was written."""

from pathlib import Path

from craton.cli.command import argument
from craton.errors import CratonError, ScenarioError, refuse

DAMAGED = 3  # exit code


def check(out: argument("OUT", "Folder of a run or a survey.")):
    """Check that the files of a run are whole.

    Compares checkpoints, records and the copies of inputs with their checksums, and reads every
    chunk of the results. Ends with exit code 3 where something is damaged.
    """
    from craton.output.store import check_alone

    out = Path(out)
    if not (out / "run.json").exists():
        refuse("OUT", f"there is no run in {out}", "name the folder of a run")
    check_alone(out)
    damages = 0
    for name, damaged, words in inspected(out):
        damages += damaged
        print(f"{name:<34} {words}", flush=True)
    if damages:
        print(f"{damages} part{'s are' if damages > 1 else ' is'} damaged")
    return DAMAGED if damages else 0


def inspected(out: Path):
    """Yield name, True if it is damaged, and state in words of each part of a folder."""
    for name, state, *arguments in parts(out):
        try:
            yield name, False, f"ok, {state(*arguments)}"
        except (CratonError, OSError) as error:
            reason = getattr(error, "reason", None) or str(error)
            file = getattr(error, "path", None)
            where = f" {file}:" if file is not None and not str(file).endswith(str(name)) else ""
            yield name, True, f"DAMAGED:{where} {reason}"


def parts(out: Path):
    """Yield each part of a folder: its name, and the function that says in words how it is, or raises what is wrong with
    it, with its arguments.
    """
    from craton.driver.saved import folders
    from craton.output.inspection import SCENARIOS, inspect_run, rows_of, stores_of
    from craton.output.store import read_run

    run = read_run(out)
    files, chunks = rows_of(run)
    yield "run.json", inspect_run, out
    for name in ("scenario.toml", *sorted(f"scenarios/{p.name}" for p in out.glob("scenarios/*"))):
        if (out / name).exists() or name == "scenario.toml" and not (out / "scenarios").exists():
            yield name, scenario_state, out, name, files
    for entry in inputs(run):
        yield entry.get("file") or entry.get("from"), input_state, out, entry
    for folder in folders(out):
        yield str(folder.relative_to(out)), checkpoint_state, out, folder
    groups: dict = {}  # neither scenarios nor in a store, by the name of the file or of its folder
    for name, row in files.items():
        if name.split("/")[0] not in SCENARIOS and ".zarr/" not in name:
            groups.setdefault(name.split("/")[0], {})[name] = row
    for name, rows in groups.items():
        yield name, files_state, out, rows
    for path in sorted(out.glob("*.png")):
        yield path.name, picture_state, path
    shots = sorted(path.parent for path in out.glob("shots/*/run.json"))
    for store in stores_of(out):
        if not any(shot in store.parents for shot in shots):
            yield str(store.relative_to(out)), store_state, out, store, files, chunks
    for shot in shots:
        yield str(shot.relative_to(out)), run_of_shot_state, shot


def within(name: str, rows: dict) -> dict:
    """Return the rows of a file, or of what lies in a folder."""
    return {file: row for file, row in rows.items() if f"{file}/".startswith(f"{name}/")}


def scenario_state(out, name, files):
    """Return in words that a scenario can be read and is as it was written."""
    from craton.output.inspection import check_files
    from craton.scenario import load

    check_files(out, within(name, files))
    try:
        return load(out / name).method
    except ScenarioError as error:
        raise CratonError(" ".join(str(error).split())[:300]) from error


def inputs(run: dict) -> list[dict]:
    """Return what run.json says of the files that the scenario names, as far as it is sound."""
    entries = run.get("inputs")
    keys = ("file", "from", "key", "sha256")
    return [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and all(isinstance(entry.get(key, ""), str | None) for key in keys)
    ]


def input_state(out, entry):
    """Return in words that a file of the scenario is what it was."""
    from craton.output.inputs import changed

    for message in changed(out, [entry]):
        raise CratonError(message)
    return entry["key"]


def checkpoint_state(out, folder):
    """Return step and ranks of a checkpoint all of whose files are whole."""
    from craton.driver.saved import Saved, counted, read_manifest

    saved = Saved(out, folder, read_manifest(folder))
    if damage := saved.damage():
        raise damage
    return f"step {saved.step:,} of {counted(saved.ranks)}"


def files_state(out, files):
    """Return in words that files are as they were written."""
    from craton.output.inspection import check_files

    check_files(out, files)
    return f"{len(files):,} file{'s' if len(files) > 1 else ''}"


def picture_state(path):
    """Return in words that a picture is whole."""
    from craton.output.inspection import check_picture

    check_picture(path)
    return "PNG"


def run_of_shot_state(shot):
    """Return the state of a shot's run whose folder is whole."""
    from craton.output.inspection import inspect_run

    for name, damaged, words in inspected(shot):
        if damaged:
            raise CratonError(f"{name}: {words}")
    return inspect_run(shot)


def store_state(out, store, files, chunks):
    """Return the number of files of a store, all of which can be read."""
    from craton.output.inspection import check_chunks, check_files, inspect_store

    name = str(store.relative_to(out))
    damages, count = inspect_store(store)
    for damage in damages:
        damage.reason += f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        raise damage
    check_files(out, within(name, files))
    check_chunks(out, within(name, chunks))
    return f"{count:,} files"
