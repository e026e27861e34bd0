"""What a run leaves behind: the dataset, the OUT directory with its zarr store, and the waveform
files of other programs.
"""

import errno
import os
import shutil
from pathlib import Path

from craton.errors import ResourceError
from craton.io import formats

FULL_BYTES = 1 << 16  # free on a disk that is full


def export(dataset, directory, network="XX", tell=None):
    """Write the dataset in every format of `craton.io.FORMATS` that holds waveforms.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.
    directory : path-like
        Where to write.
    network : str
        FDSN network code.
    tell : callable, optional
        Called with the name of each file before it is written.

    Returns
    -------
    list of pathlib.Path
        The files written; formats whose library is missing are left out (and said so in the log).

    Raises
    ------
    ResourceError
        The disk is full.
    """
    written = []
    for row in formats("waveform"):
        path = Path(directory) / row.file
        if tell:
            tell(path.name)
        try:
            if row.function(row.write)(dataset, path, network):
                written.append(path)
        except Exception as error:  # libraries have errors of their own for a full disk
            if shutil.disk_usage(path.parent).free > FULL_BYTES and not isinstance(error, OSError):
                raise
            path.unlink(missing_ok=True)
            reason = getattr(error, "strerror", None) or os.strerror(errno.ENOSPC)
            raise ResourceError(f"could not write {path}: {reason}") from error
    return written
