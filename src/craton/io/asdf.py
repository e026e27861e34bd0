"""ASDF (Krischer et al. 2016): event, stations and waveforms in one HDF5 file, through pyasdf."""

from pathlib import Path

from craton.io.fdsn import source_place
from craton.io.libraries import library, written
from craton.io.miniseed import stream
from craton.io.quakeml import event
from craton.io.stationxml import inventory

TAG = "synthetic"  # of the waveforms in the file


def write(dataset, path, network: str = "XX") -> bool:
    """Write event, StationXML of every station and waveforms with the tag ``synthetic`` of one shot; return True."""
    pyasdf = library("pyasdf", f"writing {Path(path).name}")
    with written(path) as partial:
        partial.unlink(missing_ok=True)
        with pyasdf.ASDFDataSet(str(partial), mode="w", mpi=False) as file:
            quake = event(dataset) if source_place(dataset) is not None else None
            if quake is not None:
                file.add_quakeml(quake)
            file.add_stationxml(inventory(dataset, network))
            about = {} if quake is None else {"event_id": quake}
            file.add_waveforms(stream(dataset, network), tag=TAG, **about)
    return True
