"""ASDF (Krischer et al. 2016): event, stations and waveforms in one HDF5 file, through pyasdf."""

from pathlib import Path

from craton.errors import ResourceError
from craton.io.fdsn import source_place
from craton.io.miniseed import stream
from craton.io.quakeml import event
from craton.io.stationxml import inventory

TAG = "synthetic"  # of the waveforms in the file


def write(dataset, path, network="XX"):
    """Write event, StationXML of every station and waveforms with the tag ``synthetic``.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`; of one shot.
    path : path-like
        A file that is there is replaced.
    network : str
        Network code of receivers without one.

    Returns
    -------
    bool
        True.

    Raises
    ------
    ResourceError
        pyasdf is not installed, or the file cannot be written.
    """
    try:
        import pyasdf
    except ImportError as error:
        remedy = "install it with: pip install 'craton[asdf]'"
        raise ResourceError(f"writing {Path(path).name} needs pyasdf; {remedy}") from error
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with pyasdf.ASDFDataSet(str(partial), mode="w", mpi=False) as file:
            _fill(file, dataset, network)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ResourceError(f"cannot write {path}: {error.strerror or error}") from error
    return True


def _fill(file, dataset, network):
    quake = event(dataset) if source_place(dataset) is not None else None
    if quake is not None:
        file.add_quakeml(quake)
    file.add_stationxml(inventory(dataset, network))
    about = {} if quake is None else {"event_id": quake}
    file.add_waveforms(stream(dataset, network), tag=TAG, **about)
