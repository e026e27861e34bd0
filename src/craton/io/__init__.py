"""Files of other programs: one module for each format, which reads or writes it, and the table of
all formats.

A reader turns units to SI and leaves axes, coordinates and choices to its caller. See
docs/developer/add_a_format.md.
"""

from collections.abc import Callable
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
        Function of the module, ``recognises(path)``: whether a file is in this format; without it any file is.
    """

    name: str
    holds: str
    module: str
    suffixes: tuple[str, ...] = ()
    read: str = "read"
    write: str | Callable = "write"
    options: tuple[str, ...] = ()
    file: str = ""
    recognises: str = ""

    def function(self, name: str | Callable) -> Callable:
        """Return the function of the module that has a name; a callable as it is."""
        return name if callable(name) else getattr(import_module(f"craton.io.{self.module}"), name)

    def matches(self, path: Path) -> bool:
        """Whether a file or folder that exists is in this format."""
        if self.suffixes:
            return path.suffix.lower() in self.suffixes
        return not self.recognises or self.function(self.recognises)(path)


TEXT = ("source", "station", "wavelet")  # callers name the line of what is wrong in these
FOLDERS = ("mesh", "raster", "gridded model", "wavefield", "table")  # of SPECFEM3D, of zarr
LARGEST_TEXT = 1 << 30  # bytes; a million moment tensors have 300 MB
FORMATS = [
    Format("csv", "source", "source_table"),
    Format("fsp", "source", "ruptures", read="read_fsp", options=("subfaults",)),
    Format("cmtsolution", "source", "cmtsolution", options=("convention",)),
    Format("forcesolution", "source", "cmtsolution", read="read_forces"),
    Format("srf", "source", "ruptures", read="read_srf"),
    Format("quakeml", "source", "quakeml"),
    Format("StationXML", "station", "stationxml", recognises="is_xml"),
    Format("FDSN text", "station", "stations", read="read_fdsn", recognises="is_fdsn"),
    Format("STATIONS", "station", "stations", read="read_specfem", recognises="is_specfem"),
    Format("CSV", "station", "stations", read="read_table"),
    Format("text", "wavelet", "text_table", read="read_samples"),
    Format("Gmsh", "mesh", "meshes", (".msh",), read="read_gmsh_vtk"),
    Format("VTK", "mesh", "meshes", (".vtk", ".vtu"), read="read_gmsh_vtk"),
    Format("Exodus", "mesh", "meshes", (".e", ".exo", ".ex2", ".exodus", ".g", ".gen"), read="read_exodus"),
    Format("mesh folders of SPECFEM3D", "mesh", "meshes", read="read_specfem", recognises="is_folder"),
    Format("ESRI ASCII grid", "raster", "rasters", (".asc",), read="read_esri"),
    Format("GeoTIFF", "raster", "rasters", (".tif", ".tiff"), read="read_geotiff"),
    Format("SW4 rfile", "raster", "rfile", (".rfile",), read="read_topography"),
    Format("netCDF or zarr", "raster", "netcdf", read="read_raster", recognises="recognises"),
    Format("SEG-Y", "gridded model", "segy", (".sgy", ".segy"), read="read_model", options=("depth_step",)),
    Format("SW4 rfile", "gridded model", "rfile", (".rfile",)),
    Format("raw binary", "gridded model", "gridded", (".bin", ".raw"), read="read_numbers"),
    Format("SPECFEM tomography", "gridded model", "gridded", read="read_tomography", recognises="is_tomography"),
    Format("netCDF or zarr", "gridded model", "netcdf", read="opened", recognises="recognises"),
    Format("H5DRM", "wavefield", "wavefield", (".h5drm",), read="read_h5drm"),
    Format("netCDF or zarr", "wavefield", "wavefield", recognises="recognises"),
    Format("TauP", "radial model", "depth_tables", (".nd", ".tvel"), read="read_radial"),
    Format("CSV", "radial model", "depth_tables", (".csv",), read="read_radial"),
    Format("text or TauP", "layers", "depth_tables", read="read_layers"),
    Format("parquet", "table", "text_table", (".parquet",), read="read_parquet"),
    Format("netCDF or zarr", "table", "netcdf", (".nc", ".zarr"), read="read_table"),
    Format("text", "table", "text_table"),
    Format("MiniSEED", "waveform", "seismograms", write="write_miniseed", file="waveforms.mseed"),
    Format("StationXML", "waveform", "stationxml", file="stations.xml"),
    Format("QuakeML", "waveform", "quakeml", write="write_event", file="event.quakeml"),
    Format("SAC", "seismograms", "seismograms", (".sac",), write="write_sac"),
    Format("ASDF", "seismograms", "seismograms", (".asdf", ".h5"), write="write_asdf"),
    Format("SEG-Y", "gather", "segy", (".sgy", ".segy"), write="write_gathers"),
    Format("SU", "gather", "segy", (".su",), write="write_gathers"),
    Format("VTKHDF", "snapshots", "vtkhdf", (".vtkhdf",), write="write_snapshots"),
    Format("GeoTIFF", "peaks", "rasters", (".tif", ".tiff"), write="write_geotiff"),
    Format("H5DRM", "recording", "wavefield", (".h5drm",), write="write_h5drm"),
    Format("netCDF", "peaks", "netcdf", (".nc",), write="write_map"),
]


def formats(holds: str) -> list[Format]:
    """Return the rows that hold a kind of data."""
    return [row for row in FORMATS if row.holds == holds]


def read(path, holds: str, name: str | None = None, **options):
    """Read a file of another program that holds what is asked for, as of `Format`, and return what its reader returns.

    `name` is that of its format, where it cannot be told from the file; `options` are for the reader. Raises FileError, a
    message and its remedy: no such file, a format that is not known, or what the reader finds wrong.
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
    limits.check(contents, holds)
    return contents
