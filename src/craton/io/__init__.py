"""Files of other programs: one module for each format, which reads or writes it, and the table of
all formats.

A reader turns units to SI and leaves axes, coordinates and choices to its caller. See
docs/developer/add_a_format.md.
"""

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from craton.io import limits, regular
from craton.io.contents import UnknownFormat, errors_of_libraries, warnings_of_libraries


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Parameters
    ----------
    name : str
        In the scenario (``kind`` of a source) and in messages.
    holds : str
        What callers ask for: ``"source"``, ``"station"``, ``"mesh"``, ``"raster"``, ``"gridded
        model"``, ``"radial model"``, ``"layers"``, ``"table"``, ``"wavelet"``, ``"waveform"``, ``"wavefield"``; of `craton
        convert` alone ``"seismograms"``, ``"gather"``, ``"snapshots"``, ``"peaks"``,
        ``"recording"``.
    module : str
        In this package; imported when a file is read or written.
    suffixes : tuple of str
        Ends of file names by which files are recognised; without any, `recognises` is asked.
    read : str
        Function of the module, ``read(path, **options)``: something of `craton.io.contents`, or
        arrays.
    write : str or callable
        ``write(dataset, path, network)`` of waveforms; returns False where its library is missing.
    options : tuple of str
        Keys of the scenario that the reader takes by name.
    file : str
        Name of the file in OUT, of formats that a run writes.
    recognises : str
        Function of the module, ``recognises(path)``: whether a file is in this format.
    """

    name: str
    holds: str
    module: str
    suffixes: tuple[str, ...] = ()
    read: str = "read"
    write: str | Callable = "write"
    options: tuple[str, ...] = ()
    file: str = ""
    recognises: str = "recognises"

    def function(self, name):
        """Return the function of the module that has a name.

        Parameters
        ----------
        name : str or callable
            A callable is returned as it is.

        Returns
        -------
        callable
        """
        return name if callable(name) else getattr(import_module(f"craton.io.{self.module}"), name)

    def matches(self, path):
        """Whether a file is in this format.

        Parameters
        ----------
        path : pathlib.Path
            A file or folder that exists.

        Returns
        -------
        bool
        """
        if self.suffixes:
            return path.suffix.lower() in self.suffixes
        return self.function(self.recognises)(path)


TEXT = ("source", "station", "wavelet")  # callers name the line of what is wrong in these
FOLDERS = ("mesh", "raster", "gridded model", "wavefield", "table")  # of SPECFEM3D, of zarr
LARGEST_TEXT = 1 << 30  # bytes; a million moment tensors have 300 MB
FORMATS = [
    Format("csv", "source", "source_table"),
    Format("fsp", "source", "fsp", options=("subfaults",)),
    Format("cmtsolution", "source", "cmtsolution", options=("convention",)),
    Format("forcesolution", "source", "cmtsolution", read="read_forces"),
    Format("srf", "source", "srf"),
    Format("quakeml", "source", "quakeml"),
    Format("StationXML", "station", "stationxml"),
    Format("FDSN text", "station", "stations", read="read_fdsn", recognises="is_fdsn"),
    Format("STATIONS", "station", "stations", read="read_specfem", recognises="is_specfem"),
    Format("CSV", "station", "stations", read="read_table", recognises="is_table"),
    Format("text", "wavelet", "text_table", read="read_samples"),
    Format("Gmsh", "mesh", "gmsh_vtk", (".msh",)),
    Format("VTK", "mesh", "gmsh_vtk", (".vtk", ".vtu")),
    Format("Exodus", "mesh", "exodus", (".e", ".exo", ".ex2", ".exodus", ".g", ".gen")),
    Format("mesh folders of SPECFEM3D", "mesh", "specfem_mesh"),
    Format("ESRI ASCII grid", "raster", "esri_ascii", (".asc",)),
    Format("GeoTIFF", "raster", "geotiff", (".tif", ".tiff")),
    Format("SW4 rfile", "raster", "rfile", (".rfile",), read="read_topography"),
    Format("netCDF or zarr", "raster", "netcdf", read="read_raster"),
    Format("SEG-Y", "gridded model", "segy_model", (".sgy", ".segy"), read="opened"),
    Format("SW4 rfile", "gridded model", "rfile", (".rfile",), read="opened"),
    Format("raw binary", "gridded model", "raw_model", (".bin", ".raw"), read="opened"),
    Format("SPECFEM tomography", "gridded model", "tomography_xyz", read="opened"),
    Format("netCDF or zarr", "gridded model", "netcdf", read="opened"),
    Format("H5DRM", "wavefield", "h5drm", (".h5drm",)),
    Format("netCDF or zarr", "wavefield", "wavefield"),
    Format("TauP", "radial model", "taup", (".nd", ".tvel")),
    Format("CSV", "radial model", "radial_csv", (".csv",)),
    Format("text or TauP", "layers", "layer_table"),
    Format("parquet", "table", "parquet", (".parquet",)),
    Format("netCDF or zarr", "table", "netcdf", (".nc", ".zarr"), read="read_table"),
    Format("text", "table", "text_table"),
    Format("MiniSEED", "waveform", "miniseed", file="waveforms.mseed"),
    Format("StationXML", "waveform", "stationxml", file="stations.xml"),
    Format("QuakeML", "waveform", "quakeml", write="write_event", file="event.quakeml"),
    Format("SAC", "seismograms", "sac", (".sac",)),
    Format("ASDF", "seismograms", "asdf", (".asdf", ".h5")),
    Format("SEG-Y", "gather", "segy", (".sgy", ".segy"), write="write_gathers"),
    Format("SU", "gather", "segy", (".su",), write="write_gathers"),
    Format("VTKHDF", "snapshots", "vtkhdf", (".vtkhdf",), write="write_snapshots"),
    Format("GeoTIFF", "peaks", "geotiff", (".tif", ".tiff"), write="write_map"),
    Format("H5DRM", "recording", "h5drm", (".h5drm",)),
    Format("netCDF", "peaks", "netcdf", (".nc",), write="write_map"),
]


def formats(holds):
    """Return the rows that hold a kind of data.

    Parameters
    ----------
    holds : str
        As of `Format`.

    Returns
    -------
    list of Format
    """
    return [row for row in FORMATS if row.holds == holds]


def read(path, holds, name=None, **options):
    """Read a file of another program.

    Parameters
    ----------
    path : path-like
    holds : str
        What it should hold, as of `Format`.
    name : str, optional
        Of its format, where it cannot be told from the file.
    options : dict
        For the reader.

    Returns
    -------
    What the format's reader returns.

    Raises
    ------
    FileError
        No such file, a format that is not known, or what the reader finds wrong: a message and its
        remedy.
    OSError
        The file cannot be opened.
    """
    path = Path(path)
    if name is None or path.exists():
        regular.check(path, holds in FOLDERS, LARGEST_TEXT if holds in TEXT else None)
    rows = formats(holds)
    row = next((row for row in rows if (row.name == name if name else row.matches(path))), None)
    if row is None:
        known = ", ".join(f"{row.name} ({', '.join(row.suffixes)})" if row.suffixes else row.name for row in rows)
        raise UnknownFormat(
            f"{holds} files with the suffix {path.suffix or '(none)'} are not supported", f"Supported are {known}."
        )
    # what overflows while it is read is not finite then, and refused
    with errors_of_libraries(path, says_line=holds in TEXT), warnings_of_libraries(path):
        contents = row.function(row.read)(path, **options)
    if row.read == "opened":
        return _opened(path, contents)
    limits.check(contents, holds)
    return contents


@contextmanager
def _opened(path, manager):
    """Enter a file that stays open while it is read; what is wrong with it is told as by `read`."""
    with ExitStack() as files:
        with errors_of_libraries(path), warnings_of_libraries(path):
            contents = files.enter_context(manager)
        yield contents
