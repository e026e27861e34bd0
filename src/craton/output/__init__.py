"""What a run leaves behind: the dataset, the OUT directory with its zarr store, and the waveform
files of other programs.
"""

from pathlib import Path

from craton.io import formats


def export(dataset, directory, network="XX"):
    """Write the dataset in every format of `craton.io.FORMATS` that holds waveforms.

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
    paths = [(Path(directory) / row.file, row.function(row.write)) for row in formats("waveform")]
    return [path for path, write in paths if write(dataset, path, network)]
