"""Gravity of prisms on arrays, xarray and pandas: names, signs and units of Harmonica (z downward in
fields; mGal, Eotvos, J/kg).
"""

from os import PathLike


class Fields(dict):
    """Fields by name, each of the points' shape; and how they were found.

    Attributes
    ----------
    method : str
        What computed them.
    error : dict of str to float
        Estimated greatest error of each field over the points, in its unit; empty where there is
        nothing to compute. ``direct`` in double precision: the bound of each prism's rounding at
        the points, added up in quadrature, 1.3 to 200 times the error in tests. ``vertex`` and
        ``fft`` (which always work in double): what the rounding of their terms adds up to, 2 to 200
        times the error. ``far`` in double: twenty times the greatest difference from the direct sum at up to 64
        sample points, where that takes less than a tenth of the walk; else its bound, rtol times
        the greatest sum of magnitudes, 100 times the error or more. Single precision by ``direct``
        and ``far``: twenty times the greatest difference from double at the sample points. In
        all tests, with densities of one sign and of both, the true error was less than what is
        stated.
    report : dict
        Device, seconds, pairs, why the method was chosen.
    """

    def __init__(self, values, method, error, report):
        super().__init__(values)
        self.method, self.error, self.report = method, error, report


def forward(
    prisms,
    density=None,
    points=None,
    fields=("g_z",),
    device="auto",
    precision="float64",
    method="auto",
    rtol=None,
    threads=None,
    progress=False,
    comm=None,
    devices=None,
):
    """Attraction of rectangular prisms.

    Parameters
    ----------
    prisms : array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        (M, 6) west, east, south, north, bottom, top, m, z up; a layer of `harmonica.prism_layer`
        (top and bottom over northing and easting); a density over x, y, z (or easting, northing,
        upward), each value that of a cell around its point; a table with these six columns. Labelled
        data are in the units of their attributes; unknown ones are refused.
    density : array_like, float or str, optional
        (M,) or a number, kg/m3, or in the unit of its attributes; or the name of a variable or
        column of `prisms`, by default ``density`` or ``rho``. Prisms without volume or density attract nothing.
    points : tuple of array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        (x, y, z), m, of one shape, as `verde.grid_coordinates` gives them; or a grid or a table with
        easting, northing and upward. Points on and in prisms are legal. On a face of a prism its
        normal gradient is the limit from outside, as in choclo and Harmonica, and prisms add up: on
        a face that two prisms share the normal gradient is that within an open slit between them,
        so the trace of the tensor is 0 there, not - 4 pi G rho. On an edge or a vertex gradients
        without limit are nan, as in Harmonica; a warning says how many and where.
    fields : sequence of str
        Of potential (J/kg), g_e, g_n, g_z (mGal, g_z downward), g_ee, g_nn, g_zz, g_en, g_ez, g_nz
        (Eotvos).
    device : str
        ``"auto"``, ``"cpu"`` or a GPU's name as in a scenario.
    precision : str
        ``"float64"``, or ``"float32"``: ``direct`` and ``far`` take terms in single, coordinates
        split, sums in double, far pairs by series; ``vertex`` and ``fft`` work in double.
    method : str
        ``"auto"`` takes the quickest that applies. ``"direct"``: every pair by the closed form.
        ``"far"``: clusters by multipoles. ``"vertex"``: nodes shared by prisms once, none within a
        body of one density. ``"fft"``: regular cells, points on a regular horizontal grid whose
        spacing is a simple multiple of theirs.
    rtol : float, optional
        Error that approximate methods may make at a point, relative to the sum of the magnitudes of
        all prisms' attractions there; by default 1e-8 in double, 1e-6 in single precision.
    threads : int, optional
        Of the CPU.
    progress : bool
        Show progress on standard error.
    comm : mpi4py communicator or craton.comm.Comm, optional
        Ranks that share the work. All must call with the same arguments; all get the whole result.
    devices : int, optional
        GPUs of this computer that share the work (with ``device="cpu"``: groups of threads),
        without MPI.

    Returns
    -------
    Fields, xarray.Dataset or pandas.DataFrame
        A dict of float64 arrays where the points are arrays. A dataset on the coordinates of the
        points, or the table of the points with a column for each field, where they are labelled:
        their attributes say method, device, units and estimated errors.

    Raises
    ------
    ValueError
        Bad input, with the index of the first offending prism or point.
    ResourceError
        No such device, or no compiler.
    craton.comm.Elsewhere
        What only another rank has found.

    Examples
    --------
    >>> prism = [[-500, 500, -500, 500, -2000, -1000]]
    >>> fields = craton.gravity.forward(prism, 300, ([0.0], [0.0], [0.0]), device="cpu")
    >>> print(f"{fields['g_z'][0]:.4f} mGal")
    0.8782 mGal
    """
    from warnings import warn

    from craton.comm import agreed, of_caller
    from craton.comm.local import spawn
    from craton.comm.placement import machine as on
    from craton.comm.placement import place
    from craton.driver.sums import solve
    from craton.errors import own_errors
    from craton.methods.gravity.fields import undefined
    from craton.methods.gravity.problem import problem
    from craton.model.prisms.labelled import arrays_of
    from craton.output.dataset import labelled
    from craton.survey.points import coordinates_of

    if points is None:
        raise ValueError("points are missing: (x, y, z), a grid of xarray or a DataFrame")
    comm = of_caller(comm, devices)
    with own_errors(), agreed(comm):
        machine = None if devices is not None else device
        if isinstance(machine, str):
            machine = on(device, comm, place(comm), threads)
        at, dims = coordinates_of(points)
        arrays = arrays_of(prisms, density)
        asked = problem(*arrays, at, fields, precision, rtol, machine=machine)
    with own_errors():
        if devices is None:
            values, report = solve(asked, machine, method, threads, progress, comm)
        else:
            values, report = spawn(devices, lambda one: solve(asked, device, method, threads, progress, one))[0]
    if (comm.rank == 0) and (words := undefined(asked.fields, asked.points, values)):
        warn(words, stacklevel=2)
    named = {name: row.reshape(asked.shape) for name, row in zip(asked.fields, values)}
    values = {name: named[name] for name in ((fields,) if isinstance(fields, str) else fields)}
    errors = report.pop("error")
    if hasattr(points, "columns") or dims is not None:
        about = {name: report[name] for name in ("method", "device", "precision")}
        return labelled(values, points, dims, about, errors)
    return Fields(values, report["method"], errors, report)


def operator(prisms, points, fields=("g_z",), device="auto", threads=None):
    """Return the attraction of prisms as a linear operator on their density, computed anew at each
    product: the matrix is never stored.

    Parameters
    ----------
    prisms, points, fields, device, threads
        As in `forward`; in double precision.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        J of shape (fields * points, M): ``J @ density`` has one field after another, in the order
        asked for, each in its unit and in the points' order; ``J.T @ data`` is its transpose.
        Columns of prisms without volume are zero. Gradients at points on edges are nan, and so is
        what they are multiplied with: a warning says where; leave such points out.

    Raises
    ------
    ValueError
        Bad input, with the index of the first offending prism or point.
    """
    from craton.backends import backend
    from craton.methods.gravity import linear

    return linear.operator(prisms, points, fields, backend(device, threads=threads))


def from_model(
    model,
    points,
    fields=("g_z",),
    region=None,
    shape=None,
    spacing=None,
    reference=0.0,
    device="auto",
    precision="float64",
    method="auto",
    rtol=None,
    threads=None,
    progress=False,
    comm=None,
    devices=None,
):
    """Gravity of an Earth model: its density becomes prisms.

    Parameters
    ----------
    model : Scenario, model of a scenario, xarray.Dataset, or path of any of these
        The model of a wave scenario (homogeneous, layers, file; with anomalies), averaged over the
        prisms as the wave methods average it over their cells; or a dataset with ``rho`` (or
        ``density``) over x, y, z, linear between its points.
    points : tuple of array_like, xarray.Dataset, xarray.DataArray or pandas.DataFrame
        (x, y, z), m, z up, of one shape; or labelled, as in `craton.gravity.forward`.
    fields : sequence of str
        As in `craton.gravity.forward`.
    region : tuple of float, optional
        West, east, south, north, bottom, top of the prisms, m; by default the scenario's domain, or
        the dataset's extent.
    shape : tuple of int, optional
        Prisms along x, y, z.
    spacing : float or tuple of float, optional
        Their greatest width (along x, y, z), m. By default that of the wave scenario, or wider, so
        that there are at most two million; from point to point of a dataset.
    reference : float or str
        Density to subtract, kg/m3; ``"background"``: the model without its anomalies; ``"mean"``:
        the mean of each horizontal layer of prisms. Without one the box's own edges dominate the
        field.
    device, precision, method, rtol, threads, progress, comm, devices
        As in `craton.gravity.forward`.

    Returns
    -------
    craton.gravity.Fields, xarray.Dataset or pandas.DataFrame
        As of `craton.gravity.forward`.

    Raises
    ------
    ScenarioError
        The model is wrong or does not cover the region.
    ValueError
        Anything else that is wrong, with the index of the first offending point.
    """
    from warnings import warn

    from craton.methods.gravity.options import opened
    from craton.model.prisms.ensembles import doubtful
    from craton.model.prisms.from_model import of_anything

    model = opened(model) if isinstance(model, str | PathLike) else model
    cells = of_anything(model, region, shape, spacing, reference)
    if doubt := doubtful(cells.density):
        warn(doubt, stacklevel=2)
    return forward(
        cells.prisms, cells.density, points, fields, device, precision, method, rtol, threads, progress, comm, devices
    )
