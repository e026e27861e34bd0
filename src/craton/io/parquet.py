"""Parquet tables, through pyarrow."""

from craton.io.contents import FileError


def read(path):
    """Read a table.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    names : list of str
    column : callable
        Values of a name.

    Raises
    ------
    FileError
        pyarrow is missing.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise FileError(f"{path.name}: parquet needs pyarrow (pip install pyarrow); csv and netCDF do not") from None
    table = pyarrow.parquet.read_table(path)
    return table.column_names, lambda name: table[name].to_numpy()
