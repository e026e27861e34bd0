"""Green's functions of one place as SAC files that MTUQ reads: displacements of six unit couples."""

from craton.io import sac

# MTUQ's couples, in up, south, east: our components and signs (Aki & Richards 2002, box 4.4)
COUPLES = {
    "Mrr": ("zz", 1.0),
    "Mtt": ("yy", 1.0),
    "Mpp": ("xx", 1.0),
    "Mrt": ("yz", -1.0),
    "Mrp": ("xz", 1.0),
    "Mtp": ("xy", -1.0),
}


def write_mtuq(store, at, path, wavelet=None, network="XX", sampling=None):
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
    from craton.output.rotation import rotated

    if store.scenario.domain.planar:
        words = "MTUQ's couples are those of space, and this is a store of the plane"
        raise ScenarioError([Problem("greens", words, "build a store in space")])
    wavelet = wavelet or {"kind": "lowpass", "frequency": store.max_frequency}
    written = True
    for couple, (name, sign) in COUPLES.items():
        source = {"kind": "moment_tensor", "at": at, "tensor": {name: sign}, "wavelet": wavelet}
        dataset = store.seismograms([source], None, sampling, None, ("displacement",))
        written &= sac.write(rotated(dataset), path, network, f"{{channel}}.{couple}")
    return written
