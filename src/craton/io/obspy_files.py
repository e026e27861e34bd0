"""Files through ObsPy: its errors as ours, and whether it is installed."""

import logging
import warnings

from craton.io.contents import MissingLibrary

# Where ObsPy leaves a value out and only warns of it.
LEFT_OUT = ("could not convert", "could not be converted", "value of nan")


def read_with_obspy(path, form, reader):
    """Read a file with a function of ObsPy.

    Parameters
    ----------
    path : path-like
    form : str
        Name of the format; in capitals it is ObsPy's.
    reader : str
        Name of the function.

    Returns
    -------
    Catalog or Inventory of ObsPy

    Raises
    ------
    MissingLibrary
        ObsPy is not installed.
    OSError
        The file cannot be read.
    ValueError
        ObsPy does not understand it, or leaves out a value that it does not understand.
    """
    try:
        import obspy
    except ImportError:
        raise MissingLibrary(f"{form} needs ObsPy; install it with: pip install 'craton[seis]'") from None
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


def has_obspy(path):
    """Whether ObsPy is installed; where it is not, the log says which file is not written.

    Parameters
    ----------
    path : path-like
    """
    try:
        import obspy  # noqa: F401
    except ImportError:
        message = "ObsPy is not installed, so %s was not written; install it with: pip install 'craton[seis]'"
        logging.getLogger("craton").warning(message, path)
        return False
    return True
