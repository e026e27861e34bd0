"""Hash the waveforms of small scenarios over all methods, and compare the hashes with those of another version of the package.

The script runs each scenario on one thread of the CPU, or on a GPU, waves in single precision. A hash is the SHA-256 of the bytes of
all arrays that a scenario leaves: recorded samples, of gravity the fields, and what the run stores of snapshots, peaks, recordings
and Green's functions. A scenario with `after` injects what the scenario of that name has recorded. Hashes depend on device and
compiler: compare only files which the same machine has written.

usage: PYTHONPATH=src python3 bench/waveforms.py --out FILE.json         write the hashes
       PYTHONPATH=src python3 bench/waveforms.py --against FILE.json     compare, a line per scenario; exit code 1 where a hash differs
       PYTHONPATH=src python3 bench/waveforms.py --values FILE.npz       write the waveforms themselves
       PYTHONPATH=src python3 bench/waveforms.py --near FILE.npz         largest differences over the peak from those of another processor

Runs use only scenario files, `craton.load` and `craton.run`, so that the script runs unchanged before and after a change of the inside.
"""

import argparse
import hashlib
import json
import platform
import sys
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import zarr

import craton
import craton.greens

HERE = Path(__file__).parent


def tables_of(name):
    """Return the TOML texts of a scenario's tables, from waveforms.toml.

    Parameters
    ----------
    name : str

    Returns
    -------
    dict of str to str
    """
    changes = dict(DATA["scenarios"][name])
    return kind(changes.pop("kind")) | changes


def kind(name):
    """Return the texts that scenarios of a kind share: dict."""
    texts = dict(DATA["kinds"][name])
    like = texts.pop("like", None)
    return (kind(like) if like else {}) | texts


DEVICE = ["cpu"]  # that scenarios run on
DATA = tomllib.loads((HERE / "waveforms.toml").read_text())
SCENARIOS = {name: tables_of(name) for name in DATA["scenarios"]}


def arrays_of(name, folder):
    """Run a scenario, those before it included, and return all arrays that it leaves: list of ndarray.

    Parameters
    ----------
    name : str
    folder : pathlib.Path
        Folder that the scenario file is written to, and OUT.
    """
    tables, out = dict(SCENARIOS[name]), folder / "out"
    if before := tables.pop("after", None):
        (folder / "before").mkdir()
        arrays_of(before, folder / "before")
    path = folder / "scenario.toml"
    path.write_text("\n".join(tables.values()) + "\n")
    for file, text in DATA["files"].items():
        (folder / file).write_text(text)
    changes = [f"run.device={DEVICE[0]}"]
    if (
        DEVICE[0] != "cpu" and "sem" in name and "box" not in str(tables)
    ):  # atomics add in any order; boxes have no colours
        changes.append("run.assembly=colour")
    scenario = craton.load(path, changes)
    if "greens" in tables:
        craton.greens.build(scenario, out, workers=1, progress=False)
        return stored(out)
    stores = any(section in tables for section in ("snapshots", "peaks", "recording"))
    result = craton.run(scenario, out=out if stores else None, progress=False)
    return [*values(result), *(stored(out / "result.zarr") if stores else [])]


def stored(path):
    """Return the arrays of all groups of a store below its root, in the order of their names: list of ndarray."""
    arrays = []
    for metadata in sorted(path.rglob(".zarray")):
        array = np.asarray(zarr.open_array(metadata.parent, mode="r")[...])
        if metadata.parent.parent != path and array.dtype.kind in "fi":
            arrays.append(array)
    return arrays


def values(result):
    """Return the numbers that a run leaves.

    Parameters
    ----------
    result : Result

    Returns
    -------
    list of ndarray
        Recorded samples of waves, (steps, channels); each field of gravity.

    Raises
    ------
    ValueError
        An array has a value that is not finite, or zeros only: its hash would say nothing.
    """
    waves = result.scenario.method != "gravity"
    arrays = [np.asarray(result.samples)] if waves else [field.values for field in result.dataset.data_vars.values()]
    for array in arrays:
        if not (np.isfinite(array).all() and array.any()):
            raise ValueError("the run records zeros only, or values that are not finite")
    return arrays


def digest(arrays):
    """Return the SHA-256 of the bytes of arrays, as hexadecimal digits.

    Parameters
    ----------
    arrays : list of ndarray

    Returns
    -------
    str
    """
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


def hashes(report):
    """Run all scenarios.

    Parameters
    ----------
    report : callable
        Function that takes the name, the hash (None after a failure) and a text about each run, after the run.

    Returns
    -------
    dict of str to str
        Hash of each scenario that has not failed.
    """
    table = {}
    for name in SCENARIOS:
        begin = time.perf_counter()
        try:
            with TemporaryDirectory() as folder:
                arrays = arrays_of(name, Path(folder))
        except Exception as error:  # the other scenarios still run
            report(name, None, f"{type(error).__name__}: {error}")
            continue
        table[name] = digest(arrays)
        shapes = ", ".join(" x ".join(map(str, array.shape)) for array in arrays[:1])
        report(name, table[name], f"{len(arrays)} of {shapes} {arrays[0].dtype}, {time.perf_counter() - begin:.1f} s")
    return table


def printer(reference=None):
    """Return a function that prints a line for each run.

    Parameters
    ----------
    reference : dict of str to str, optional
        Hashes that each run's hash is compared with.

    Returns
    -------
    callable
    """

    def line(name, sha, text):
        verdict = "FAILED" if sha is None else sha[:12] if reference is None else verdict_of(sha, reference.get(name))
        print(f"{name:<28} {verdict:<12} {text}", flush=True)

    return line


def verdict_of(sha, expected):
    """Return the word for a comparison of two hashes, of which the second may be None.

    Parameters
    ----------
    sha : str
    expected : str or None

    Returns
    -------
    str
    """
    return "same" if sha == expected else "DIFFERENT" if expected else "NEW"


def compare(path):
    """Compare the hashes of all scenarios with those of a file, and print the result.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    int
        Exit code: 1 where a hash differs, or is missing on either side.
    """
    reference = json.loads(Path(path).read_text())
    table = hashes(printer(reference))
    for name in reference.keys() - SCENARIOS.keys():
        print(f"{name:<28} {'GONE':<12} the script has no such scenario")
    same = [name for name in table if table[name] == reference.get(name)]
    print(f"{len(same)} of {len(reference.keys() | SCENARIOS.keys())} scenarios have the same hash")
    return int(table != reference)


def write(path):
    """Write the hashes of all scenarios to a file, unless a scenario fails.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    int
        Exit code: 1 after a failure.
    """
    table = hashes(printer())
    if len(table) < len(SCENARIOS):
        print(f"{len(SCENARIOS) - len(table)} scenarios failed: {path} is not written")
        return 1
    Path(path).write_text(json.dumps(table, indent=1) + "\n")
    return 0


def waveforms():
    """Run all scenarios, a line for each.

    Returns
    -------
    dict of str to ndarray
        Arrays by the scenario's name and their number, "NAME/0".
    """
    arrays = {}
    for name in SCENARIOS:
        begin = time.perf_counter()
        with TemporaryDirectory() as folder:
            recorded = arrays_of(name, Path(folder))
        arrays |= {f"{name}/{n}": array for n, array in enumerate(recorded)}
        print(f"{name:<28} {time.perf_counter() - begin:.1f} s", flush=True)
    return arrays


def differences(path, record=None):
    """Compare the waveforms of all scenarios with those of a file, and print, for each scenario, the largest difference over the peak.

    Parameters
    ----------
    path : path-like
        Written by `--values`, on this processor or another one.
    record : path-like, optional
        JSON file for the differences, with processor, versions and commit.

    Returns
    -------
    int
        Exit code: 1 where a scenario or array of the file is missing, or has another shape.
    """
    with np.load(path) as file:
        expected = {name: file[name] for name in file.files}
    computed = waveforms()
    alike = computed.keys() == expected.keys() and all(
        computed[name].shape == expected[name].shape for name in computed
    )
    if not alike:
        print(f"{path} has other scenarios, or arrays of other shapes")
        return 1
    rows = {}
    for name in SCENARIOS:
        parts = [key for key in computed if key.rpartition("/")[0] == name]
        worst = max(
            np.abs(computed[key].astype(float) - expected[key]).max() / np.abs(expected[key]).max() for key in parts
        )
        rows[name] = {"of_the_peak": float(worst), "dtype": str(computed[parts[0]].dtype)}
        print(f"{name:<28} {worst:.1e} of the peak, {computed[parts[0]].dtype}")
    if record:
        from craton.backends import backend
        from craton.benchmark import provenance

        processor = {"processor": platform.machine()}
        table = processor | provenance(backend("cpu")) | {"scenarios": rows}
        Path(record).write_text(json.dumps(table, indent=1) + "\n")
    return 0


def main(words=None):
    """Write or compare hashes or waveforms as the command line says, and return the exit code.

    Parameters
    ----------
    words : list of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--out", metavar="FILE.json", help="write the hashes")
    task.add_argument("--against", metavar="FILE.json", help="compare with the hashes of a file")
    task.add_argument("--values", metavar="FILE.npz", help="write the waveforms themselves")
    task.add_argument("--near", metavar="FILE.npz", help="compare with the waveforms of another processor")
    parser.add_argument("--record", metavar="FILE.json", help="of --near: where differences go")
    parser.add_argument("--device", default="cpu", help="cpu, or a GPU: cuda")
    options = parser.parse_args(words)
    DEVICE[0] = options.device
    if options.values:
        np.savez(options.values, **waveforms())
        return 0
    if options.near:
        return differences(options.near, options.record)
    return write(options.out) if options.out else compare(options.against)


if __name__ == "__main__":
    sys.exit(main())
