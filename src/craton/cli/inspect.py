"""craton check: whether what lies in a folder of results is as it was written."""

from pathlib import Path

from craton.errors import CratonError, ScenarioError

DAMAGED = 3  # exit code


def command(out):
    """Print the state of each part of a folder; the exit code is 3 where one is damaged.

    Parameters
    ----------
    out : str
        The directory of a run or a survey.
    """
    from craton.cli.check import refuse
    from craton.output.store import check_alone

    out = Path(out)
    if not (out / "run.json").exists():
        refuse("OUT", f"there is no run in {out}", "name the folder of a run")
    check_alone(out)
    damages = 0
    for name, damaged, words in parts(out):
        damages += damaged
        print(f"{name:<34} {words}", flush=True)
    if damages:
        print(f"{damages} part{'s are' if damages > 1 else ' is'} damaged")
    return DAMAGED if damages else 0


def parts(out):
    """Yield name, True if it is damaged, and state in words of each part of a folder."""
    yield told("run.json", lambda: run_state(out))
    for name in ("scenario.toml", *sorted(f"scenarios/{p.name}" for p in out.glob("scenarios/*"))):
        if (out / name).exists() or name == "scenario.toml" and not (out / "scenarios").exists():
            yield told(name, lambda name=name: scenario_state(out / name))
    for entry in inputs(out):
        yield told(entry.get("file") or entry.get("from"), lambda entry=entry: input_state(out, entry))
    for folder in checkpoints(out):
        name = str(folder.relative_to(out))
        yield told(name, lambda folder=folder: checkpoint_state(out, folder))
    for name, files in others(out).items():
        yield told(name, lambda files=files: files_state(out, files))
    for path in sorted(out.glob("*.png")):
        yield told(path.name, lambda path=path: picture_state(path))
    for store in stores(out):
        name = str(store.relative_to(out))
        yield told(name, lambda store=store: store_state(out, store))
    for run in runs_of_shots(out):
        name = str(run.relative_to(out))
        yield told(name, lambda run=run: run_of_shot_state(run))


def told(name, state):
    """Return name, True if it is damaged, and state of a part."""
    try:
        return name, False, f"ok, {state()}"
    except (CratonError, OSError) as error:
        reason = getattr(error, "reason", None) or str(error)
        file = getattr(error, "path", None)
        where = f" {file}:" if file is not None and not str(file).endswith(str(name)) else ""
        return name, True, f"DAMAGED:{where} {reason}"


def run_state(out):
    """State that run.json tells."""
    from craton.output.inspection import inspect_run

    return inspect_run(out)


def scenario_state(path):
    """Return in words that a scenario can be read and is as it was written."""
    from craton.output.digests import check_files
    from craton.scenario import load

    out = path.parent.parent if path.parent.name == "scenarios" else path.parent
    check_files(out, files_of(out, str(path.relative_to(out))))

    try:
        return load(path).method
    except ScenarioError as error:
        raise CratonError(" ".join(str(error).split())[:300]) from error


def inputs(out):
    """Return what run.json says of the files that the scenario names: list of dict."""
    from craton.output.store import read_run

    entries = read_run(out).get("inputs")
    if not isinstance(entries, list):
        return []
    keys = ("file", "from", "key", "sha256")
    return [
        entry
        for entry in entries
        if isinstance(entry, dict) and all(isinstance(entry.get(key, ""), str | None) for key in keys)
    ]


def input_state(out, entry):
    """Return in words that a file of the scenario is what it was."""
    from craton.output.inputs import changed

    for message in changed(out, [entry]):
        raise CratonError(message)
    return entry["key"]


def checkpoints(out):
    """Return the folders of checkpoints, the last one first."""
    from craton.driver.saved import folders

    return folders(out)


def checkpoint_state(out, folder):
    """Return step and ranks of a checkpoint all of whose files are whole."""
    from craton.driver.manifest import read_manifest
    from craton.driver.saved import Saved, counted

    saved = Saved(out, folder, read_manifest(folder))
    damage = saved.damage()
    if damage:
        raise damage
    return f"step {saved.step:,} of {counted(saved.ranks)}"


def files_of(out, name):
    """Return the checksums that run.json has of a file, or of the files of a folder: dict."""
    from craton.output.digests import rows_of
    from craton.output.store import read_run

    files, _ = rows_of(read_run(out))
    return {file: row for file, row in files.items() if file == name or file.startswith(f"{name}/")}


def others(out):
    """Return the checksums of files that are neither scenarios nor in a store, by the name of the
    file or of its folder in OUT: dict of dict.
    """
    from craton.output.digests import SCENARIOS, rows_of
    from craton.output.store import read_run

    groups: dict = {}
    for name, row in rows_of(read_run(out))[0].items():
        first = name.split("/")[0]
        if first not in SCENARIOS and ".zarr/" not in name:
            groups.setdefault(first, {})[name] = row
    return groups


def files_state(out, files):
    """Return in words that files are as they were written."""
    from craton.output.digests import check_files

    check_files(out, files)
    return f"{len(files):,} file{'s' if len(files) > 1 else ''}"


def picture_state(path):
    """Return in words that a picture is whole."""
    from craton.output.digests import check_picture

    check_picture(path)
    return "PNG"


def runs_of_shots(out):
    """Return the folders of shots of a survey that kept them, each one of a run."""
    return sorted(path.parent for path in out.glob("shots/*/run.json"))


def run_of_shot_state(out):
    """Return in words that the folder of a shot is whole."""
    for name, damaged, words in parts(out):
        if damaged:
            raise CratonError(f"{name}: {words}")
    return run_state(out)


def stores(out):
    """Return the zarr stores of a folder, without those of runs inside it."""
    from craton.output.inspection import stores_of

    inside = runs_of_shots(out)
    return [path for path in stores_of(out) if not any(run in path.parents for run in inside)]


def store_state(out, store):
    """Return the number of files of a store, all of which can be read."""
    from craton.output.digests import check_chunks, check_files, rows_of
    from craton.output.inspection import inspect_store
    from craton.output.store import read_run

    run, name = read_run(out), str(store.relative_to(out))
    damages, count = inspect_store(store)
    for damage in damages:
        others = f" (and {len(damages) - 1} more)" if len(damages) > 1 else ""
        damage.reason += others
        raise damage
    check_files(out, files_of(out, name))
    check_chunks(out, {a: n for a, n in rows_of(run)[1].items() if a.startswith(f"{name}/")})
    return f"{count:,} files"
