"""Files that ObsPy reads, with its errors as ours."""
from craton.io.records import MissingLibrary


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
        ObsPy does not understand it.
    """
    try:
        import obspy
    except ImportError:
        raise MissingLibrary(f"{form} needs ObsPy; install it with: pip install 'craton[seis]'") from None
    with open(path, "rb") as file:
        file.read(1)
    try:
        return getattr(obspy, reader)(str(path), format=form.upper())
    except Exception as error:  # ObsPy raises what lxml, its plug-ins and its types raise
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise ValueError(f"ObsPy cannot read it as {form}: {text}") from None
