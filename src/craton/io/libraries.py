"""Libraries that read and write files, asked for when they are needed; and files that libraries write, moved into place
when they are whole.
"""

import logging
import warnings
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from craton.errors import ResourceError
from craton.io.contents import MissingLibrary

# What pip installs where a library is missing.
EXTRAS = {"h5py": "netcdf", "h5netcdf": "netcdf", "rasterio": "geo", "rioxarray": "geo", "obspy": "seis"}
EXTRAS |= {"pyasdf": "asdf", "segyio": "segy", "matplotlib": "plot", "imageio_ffmpeg": "film", "anywidget": "notebook"}
# Where ObsPy leaves a value out and only warns of it.
LEFT_OUT = ("could not convert", "could not be converted", "value of nan")


def library(name: str, purpose: str, error=ResourceError):
    """Return a module; where it is not installed, raise an error that says what needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError:
        spelt = {"obspy": "ObsPy", "pyarrow.parquet": "pyarrow"}.get(name, name)
        package = f"'craton[{EXTRAS[name]}]'" if name in EXTRAS else name.partition(".")[0]
        raise error(f"{purpose} needs {spelt}; install it with: pip install {package}") from None


@contextmanager
def written(path, *failures):
    """Yield the path of a file beside another one, whose place it takes when it is whole.

    Raises ResourceError, and leaves nothing, where the system refuses it or one of a library's own `failures` comes.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    except (OSError, *failures) as error:
        reason = isinstance(error, OSError) and error.strerror or error
        raise ResourceError(f"cannot write {path}: {reason}") from error
    finally:
        partial.unlink(missing_ok=True)


def read_with_obspy(path, form: str, reader: str):
    """Read a file with a function of ObsPy by name; `form`, in capitals, is ObsPy's name of the format.

    Raises ValueError where ObsPy does not understand the file, or leaves out a value that it does not understand.
    """
    obspy = library("obspy", form, MissingLibrary)
    with open(path, "rb") as file:
        file.read(1)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            contents = getattr(obspy, reader)(str(path), format=form.upper())
    except Exception as error:  # ObsPy raises what lxml, its plug-ins and its types raise
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise ValueError(f"ObsPy cannot read it as {form}: {text}") from None
    for message in (str(warning.message) for warning in told):
        if any(words in message.lower() for words in LEFT_OUT):
            raise ValueError(f"ObsPy cannot read it as {form}: {message}")
    return contents


def has_obspy(path) -> bool:
    """Whether ObsPy is installed; where it is not, the log says which file is not written."""
    if not find_spec("obspy"):
        message = "ObsPy is not installed, so %s was not written; install it with: pip install 'craton[seis]'"
        logging.getLogger("craton").warning(message, path)
    return find_spec("obspy") is not None
