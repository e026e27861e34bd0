"""PNG picture of a run on a chunk of the Earth, from its OUT directory: record section with
travel-time curves, and a map.
"""

from contextlib import suppress
from pathlib import Path

import numpy as np

from craton.errors import CratonError, ResourceError
from craton.model.globe.earth_chunk import chunk_of
from craton.report import earth
from craton.report.pictures import read_waveforms
from craton.scenario import load
from craton.survey import traveltimes

PHASES = ("p", "P", "s", "S", "PcP", "ScS")
# where there is more than one chunk
AROUND = ("P", "S", "PP", "SS", "Pdiff", "PKP", "PKIKP", "SKS")
CURVES = 40  # distances at which travel times are computed


def section(out_dir, path=None):
    """Vertical seismograms over distance with travel times by TauP, ``OUT/section.png``, and a map
    of the chunk, ``OUT/map.png``.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG of the record section.

    Returns
    -------
    pathlib.Path
        Of the record section.

    Raises
    ------
    CratonError
        There are no waveforms, or they are not of a chunk of the Earth with a source.
    """
    out_dir = Path(out_dir)
    waves, chunk = read_earth(out_dir)
    places = np.stack([waves.longitude.values, waves.latitude.values], axis=1)
    source_position = float(waves.attrs["source_longitude"]), float(waves.attrs["source_latitude"])
    drawn = earth.chunk_map(chunk, source_position, places, [str(n) for n in waves.receiver.values])
    drawn.savefig(out_dir / "map.png", dpi=150)
    return section_figure(out_dir, path or out_dir / "section.png")


def section_figure(out_dir, path):
    """Draw the record section of `section` alone.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like
        PNG to write.

    Raises
    ------
    CratonError
        As `section`.
    """
    waves, chunk = read_earth(out_dir)
    name = next(
        n
        for n in ("displacement", "velocity", *waves.data_vars)
        if n in waves.data_vars and "component" in waves[n].dims
    )
    array = waves[name].sel(component="Z").transpose("receiver", "time")
    source = float(waves.attrs["source_depth"])
    distance, curves = waves.distance.values, {}
    with suppress(ResourceError):  # without ObsPy the seismograms alone
        places = np.linspace(max(distance.min() - 1, 0.1), min(distance.max() + 1, 180.0), CURVES)
        curves = traveltimes.curves(chunk.model, source, places, PHASES if chunk.all_chunks == 1 else AROUND)
    page = earth.travel_time_section(waves.time.values, array.values, distance, curves, "Z")
    page.savefig(path, dpi=150)
    return Path(path)


def read_earth(out_dir):
    """Waveforms of a run on a chunk of the Earth, and the chunk.

    Parameters
    ----------
    out_dir : path-like

    Raises
    ------
    CratonError
        There are no waveforms, or they are not of a chunk of the Earth.
    """
    waves = read_waveforms(out_dir)
    if waves is None or "distance" not in waves.coords or waves.distance.attrs.get("units") != "degree":
        raise CratonError(f"{out_dir} has no waveforms of a chunk of the Earth (domain.chunk)")
    return waves, chunk_of(load(Path(out_dir) / "scenario.toml"))


def first_arrivals(waves, model):
    """Return times of the first P and S wave at each receiver by TauP, and in words what they are.

    Parameters
    ----------
    waves : xarray.Dataset
        Of a chunk of the Earth, with one source.
    model : RadialModel

    Returns
    -------
    times : dict of str to (n,) array
        s; NaN where there is none. Empty where ObsPy is missing or the source is not known.
    words : str
    """
    if "source_depth" not in waves.attrs:
        return {}, ""
    depth = float(waves.attrs["source_depth"])
    times = {"P": np.full(waves.sizes["receiver"], np.nan)}
    times["S"] = times["P"].copy()
    try:
        for row, distance in enumerate(waves.distance.values):
            for arrival in traveltimes.arrivals(model, depth, distance, ("ttbasic",)):
                name = arrival.phase[0].upper()
                if name in times and not arrival.time >= times[name][row]:
                    times[name][row] = arrival.time
    except ResourceError:
        return {}, "Arrivals need ObsPy: pip install 'craton[seis]'."
    words = "P and S mark the first arrivals by TauP in the model's profile, that leave the source as such."
    return times, words
