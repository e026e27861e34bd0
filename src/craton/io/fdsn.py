"""Channel and station codes of the FDSN for waveforms, and the way through a dataset in their
order.
"""

import re

import numpy as np

from craton.conventions import ORIGIN_TIME

# Band letters of the FDSN table by the lowest sampling rate, Hz (broad-band letters: synthetics
# have no corner period).
BANDS = (
    (1000, "F"),
    (250, "C"),
    (80, "H"),
    (10, "B"),
    (1.000001, "M"),
    (0.999, "L"),
    (0.1, "V"),
    (0.01, "U"),
    (0, "R"),
)
# Quantity -> (source letter, location code, unit in StationXML). X = synthetic, as SPECFEM and
# Instaseis write it. None: the tensor component is the location code, since a channel code has one
# letter for it only.
CODES = {
    "velocity": ("X", "", "M/S"),
    "displacement": ("X", "DI", "M"),
    "pressure": ("D", "", "PA"),
    "strain": ("S", None, "M/M"),
    "strain_rate": ("X", None, "1/S"),
    "rotation_rate": ("J", "", "RAD/S"),
}


def band_code(interval):
    """Letter of the FDSN band code.

    Parameters
    ----------
    interval : float
        Sampling interval, s.

    Returns
    -------
    str
    """
    rate = 1.0 / interval
    return next(letter for lowest, letter in BANDS if rate >= lowest * (1 - 1e-9))


def channel_code(quantity, component, interval):
    """Location and channel code of one component, as ``("", "HXE")``.

    Parameters
    ----------
    quantity : str
        A key of `CODES`.
    component : str or None
        None for pressure.
    interval : float
        Sampling interval, s.

    Returns
    -------
    tuple of str
    """
    source, location, _ = CODES[quantity]
    letter = component[0] if component else "H"
    return (component if location is None else location), band_code(interval) + source + letter


def station_codes(names):
    """Station codes that MiniSEED can hold: the names themselves where they fit, else a letter and
    a number.

    Parameters
    ----------
    names : sequence of str
        Receiver names.

    Returns
    -------
    list of str
        Unique codes of one to five capital letters and digits, in the order of `names`.
    """
    codes = [re.sub(r"[^A-Z0-9]", "", str(name).upper()) for name in names]
    if len(set(codes)) == len(codes) and all(1 <= len(code) <= 5 for code in codes):
        return codes
    letter = codes[0][:1] if codes[0][:1].isalpha() else "R"
    return [f"{letter}{np.base_repr(n + 1, 36):0>4}" for n in range(len(codes))]


def components(dataset):
    """Everything in a dataset by quantity and component.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `craton.output.dataset.waveforms`.

    Yields
    ------
    quantity : str
    component : str or None
    values : ndarray, shape (receivers, times)
    """
    for quantity in (name for name in dataset.data_vars if name in CODES):
        array = dataset[quantity]
        dim = next((d for d in ("component", "tensor") if d in array.dims), None)
        for component in array[dim].values if dim else [None]:
            yield quantity, component, (array.sel({dim: component}) if dim else array).values


def origin_time(dataset):
    """Origin time of a dataset.

    Parameters
    ----------
    dataset : xarray.Dataset

    Returns
    -------
    obspy.UTCDateTime
    """
    import obspy

    return obspy.UTCDateTime(dataset.attrs.get("origin_time", ORIGIN_TIME))
