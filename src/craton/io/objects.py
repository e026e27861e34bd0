"""Objects of xarray, pandas and ObsPy as files of their standard formats, so that they can stand
where a scenario names a file.

A file lies in a folder of this process, named by its contents: equal objects give equal paths. A
run copies it to OUT/inputs.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from craton.io.contents import FileError

# Module, class and suffix of the objects that can be written, by what they hold.
OBJECTS = {
    "dataset": ("xarray", ("Dataset", "DataArray"), ".nc"),
    "table": ("pandas", ("DataFrame",), ".csv"),
    "event": ("obspy", ("Event", "Catalog"), ".xml"),
    "inventory": ("obspy", ("Inventory",), ".xml"),
}


def kind_of(value):
    """Return what an object holds, a key of `OBJECTS`, without importing a library for the question; None of anything else."""
    for base in type(value).__mro__:
        library = base.__module__.partition(".")[0]
        for kind, (module, names, _) in OBJECTS.items():
            if library == module and base.__name__ in names:
                return kind
    return None


def write(value, stem: str) -> str:
    """Write an object of xarray, pandas or ObsPy to a netCDF, CSV, QuakeML or StationXML file in the folder of this process,
    with a stem for its name, and return its path; raise FileError where it cannot be written in its format.
    """
    kind = kind_of(value)
    suffix = OBJECTS[kind][2]
    handle, name = tempfile.mkstemp(suffix, "new-", folder())
    os.close(handle)
    try:
        WRITERS[kind](value, name)
    except Exception as error:  # each library has its own kinds of failure
        os.unlink(name)
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(
            f"this {type(value).__name__} cannot be written as {suffix}: {text[:200]}",
            "write it to a file and give its path",
        ) from error
    with open(name, "rb") as file:
        path = folder() / hashlib.file_digest(file, "sha256").hexdigest()[:16] / f"{stem}{suffix}"
    path.parent.mkdir(exist_ok=True)
    if path.exists():  # equal contents: whoever has read it need not read it again
        os.unlink(name)
    else:
        os.replace(name, path)
    return str(path)


def is_temporary(path) -> bool:
    """Whether a file is one that `write` made, which goes with the process."""
    return folder.cache_info().currsize > 0 and folder() in Path(path).parents


@cache
def folder() -> Path:
    """Return the folder of the files, which is removed when this process ends."""
    path, owner = tempfile.mkdtemp(prefix="craton-objects-"), os.getpid()

    def remove():
        if os.getpid() == owner:  # a forked child has the same folder
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return Path(path)


def _write_dataset(dataset, path):
    engine = "h5netcdf" if find_spec("h5netcdf") else "scipy"
    dataset.to_netcdf(path, engine=engine)


def _write_table(table, path):
    # an index that has a name, or holds the codes of stations, is a column
    labelled = table.index.name is not None or table.index.inferred_type == "string"
    table.to_csv(path, index=labelled, index_label=table.index.name or "name")


def _write_event(event, path):
    from obspy.core.event import Catalog

    catalogue = event if isinstance(event, Catalog) else Catalog([event])
    catalogue.write(path, format="QUAKEML")


def _write_inventory(inventory, path):
    inventory.write(path, format="STATIONXML")


WRITERS = {"dataset": _write_dataset, "table": _write_table, "event": _write_event, "inventory": _write_inventory}
