"""What a run leaves behind: the dataset, the OUT directory with its zarr store, and the waveform files of other programs."""
from pathlib import Path

from craton.output.waveforms import write_mseed, write_stationxml

# File name in OUT -> function(dataset, path, network) that returns False where its library is missing.
FORMATS = {"waveforms.mseed": write_mseed, "stations.xml": write_stationxml}


def export(dataset, directory, network="XX"):
    """Write the dataset in every format of `FORMATS`.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.
    directory : path-like
        Where to write.
    network : str
        FDSN network code.

    Returns
    -------
    list of pathlib.Path
        The files written; formats whose library is missing are left out (and said so in the log).
    """
    paths = {Path(directory) / name: write for name, write in FORMATS.items()}
    return [path for path, write in paths.items() if write(dataset, path, network)]
