"""Parquet tables, through pyarrow."""

from craton.io.contents import MissingLibrary
from craton.io.libraries import library


def read(path):
    """Read a table: the names of its columns, and a function that returns the values of a name."""
    table = library("pyarrow.parquet", f"{path.name}: parquet", MissingLibrary).read_table(path)
    return table.column_names, lambda name: table[name].to_numpy()
