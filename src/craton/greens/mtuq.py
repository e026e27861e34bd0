"""Green's functions of one place as SAC files that MTUQ reads: displacements of six unit couples."""

import numpy as np

from craton.io import seismograms

# MTUQ's couples, in up, south, east: our components and signs (Aki & Richards 2002, box 4.4)
COUPLES = {
    "Mrr": ("zz", 1.0),
    "Mtt": ("yy", 1.0),
    "Mpp": ("xx", 1.0),
    "Mrt": ("yz", -1.0),
    "Mrp": ("xz", 1.0),
    "Mtp": ("xy", -1.0),
}


def write_mtuq(store, at, path, wavelet=None, network="XX", sampling=None, stations=None):
    """Write the Green's functions of a place into a folder for MTUQ's client SPECFEM3D_SAC:
    NETWORK.STATION.LOCATION.{Z,R,T}.{Mrr, Mtt, ...}.sac, displacement in m for 1 N m.

    Parameters
    ----------
    store : Database
        In space.
    at : sequence of float or dict
        Place of the source, as in a scenario.
    path : path-like
        Folder; files of the same names are replaced.
    wavelet : dict, optional
        Moment rate; by default an impulse up to the store's highest frequency.
    network : str
        Of stations without one.
    sampling : float, optional
        s, see `Database.seismograms`.
    stations : list of str, optional
        By default all.

    Returns
    -------
    bool
        False, with a warning in the log, where ObsPy is missing.

    Raises
    ------
    ScenarioError
        The place is outside of the volume; the store is one of the plane.
    ResourceError
        A file cannot be written.
    """
    from craton.errors import Problem, ScenarioError
    from craton.output.ground_motion import rotated

    if store.scenario.domain.planar:
        words = "MTUQ's couples are those of space, and this is a store of the plane"
        raise ScenarioError([Problem("greens", words, "build a store in space")])
    wavelet = wavelet or {"kind": "lowpass", "frequency": store.max_frequency}
    written = True
    for couple, (name, sign) in COUPLES.items():
        source = {"kind": "moment_tensor", "at": at, "tensor": {name: sign}, "wavelet": wavelet}
        dataset = store.seismograms([source], stations, sampling, None, ("displacement",))
        written &= seismograms.write_sac(rotated(dataset), path, network, f"{{channel}}.{couple}")
    return written


def place_of(store, source=None):
    """Return the place of a source as a scenario has it, for `write_mtuq`.

    Parameters
    ----------
    store : Database
    source : table, dict, object, or list of these, optional
        As of `Database.seismograms`; one source.

    Returns
    -------
    list of float or dict
        x, y, z, m; in a chunk of the Earth longitude, latitude (degrees) and depth (m).

    Raises
    ------
    ScenarioError
        There are several, or the place is outside of the volume.
    """
    from craton.survey.globe import in_corners

    xyz = np.array(store.single_source(source).xyz, float)
    globe = getattr(store.scenario_on_grid.domain, "globe", None)
    if globe is None:
        return [float(v) for v in xyz]
    longitude, latitude, height = in_corners(globe, xyz[None], store.volume[0])[0].tolist()
    longitude = (longitude + 180) % 360 - 180
    return {"longitude": longitude, "latitude": latitude, "depth": -height}
