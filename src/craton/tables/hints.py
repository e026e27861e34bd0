"""Words of other programs that are no keys here, and the key that says the same: SPECFEM, SW4,
deepwave, Devito, Harmonica and everyday seismology.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hint:
    """Words that users of other programs write, and what to write instead.

    Parameters
    ----------
    words : str
        Separated by blanks, in small letters.
    tables : tuple of str
        Tables in which the hint holds, without numbers of lists: ``"model.layers"``, ``""`` outside
        of all tables.
    remedy : str
    """

    words: str
    tables: tuple[str, ...]
    remedy: str


LAYER = ("model.layers",)
WAVELET = ("source.wavelet",)
HINTS = (
    # --- layers and media -------------------------------------------------------------------------
    Hint(
        "thickness thick dz h",
        LAYER,
        "a layer is given by the elevation of its top: top = -1400 (m, z up); it ends at the next layer's top",
    ),
    Hint(
        "depth depth_top top_depth ztop z_top z1 z_min zmin",
        LAYER,
        "write top = minus the depth of the layer's top (m, z is up): 1400 m deep is top = -1400",
    ),
    Hint(
        "bottom depth_bottom z2 z_max zmax",
        LAYER,
        "a layer ends at the next layer's top; the last one goes down to the bottom of the domain",
    ),
    Hint("density dens r", (*LAYER, "model", "model.regions"), "write rho = 2300 (kg/m3)"),
    Hint(
        "v velocity p_velocity vel c max_vel", (*LAYER, "model"), "write vp = 3000, vs = 1700 (m/s); vs = 0 in a fluid"
    ),
    Hint("alpha", (*LAYER, "model"), "write vp (m/s)"),
    Hint("beta s_velocity", (*LAYER, "model"), "write vs (m/s); vs = 0 in a fluid"),
    Hint(
        "lambda lam mu kappa bulk_modulus shear_modulus",
        (*LAYER, "model"),
        "write vp, vs (m/s) and rho (kg/m3): vp = sqrt((lambda + 2 mu) / rho), vs = sqrt(mu / rho)",
    ),
    Hint(
        "q qkappa q_kappa qmu q_mu q_alpha q_beta qalpha qbeta",
        (*LAYER, "model"),
        "write qp and qs, with attenuation = { band = [0.1, 10] } (Hz) in [model]",
    ),
    Hint(
        "attenuation_f0_reference f0_attenuation",
        ("", "model"),
        "write attenuation = { band = [0.1, 10], frequency = 1 } in [model]: Hz",
    ),
    Hint("nlayers num_layers", ("", "model"), "leave it out: the list of layers says how many"),
    Hint(
        "rfile pfile ifile vfile tomography_file tomography",
        ("", "model"),
        'write kind = "file" and file = "model.nc" in [model]',
    ),
    # --- domain and grid --------------------------------------------------------------------------
    Hint(
        "dx dh h grid_spacing deltax ds",
        ("", "domain"),
        "write spacing = 100 in [domain] (m, along all axes); spectral elements: element_size",
    ),
    Hint("dy dz", ("", "domain"), "the grid has one spacing along all axes: write spacing = 100 in [domain] (m)"),
    Hint(
        "nx ny nz nex nex_xi nex_eta npoints",
        ("", "domain"),
        "numbers of points follow from size and spacing in [domain]: write size = [18_000, 16_000, 12_000] (m)",
    ),
    Hint(
        "xmin ymin zmin x_min y_min z_min x0 y0 z0 latitude_min longitude_min",
        ("", "domain"),
        "write origin = [x, y, z] in [domain]: the lower south-west corner, m, z is up",
    ),
    Hint(
        "xmax ymax zmax x_max y_max z_max lx ly lz latitude_max longitude_max extent",
        ("", "domain"),
        "write size = [x, y, z] in [domain]: the lengths of the sides, m",
    ),
    Hint(
        "max_depth depth_block_km",
        ("", "domain"),
        "write origin = [x, y, -12_000] and size = [.., .., 12_000] in [domain]: m, z is up",
    ),
    Hint(
        "ppw points_per_min_wavelength",
        ("", "domain", "run"),
        "write points_per_wavelength with max_frequency in [domain]; spacing then follows",
    ),
    Hint(
        "utm_projection_zone utm_zone suppress_utm_projection proj lon0 lat0",
        ("", "domain"),
        "write geographic = { longitude = -118.2, latitude = 34.1 } in [domain]: where x = y = 0 lies",
    ),
    # --- time -------------------------------------------------------------------------------------
    Hint(
        "dt deltat time_step timestep",
        ("", "time", "run", "domain"),
        "write step in [time] (s), or leave it out to use the largest stable step",
    ),
    Hint(
        "nt nstep nsteps n_steps steps num_steps tn",
        ("", "time", "run", "domain"),
        "write duration in [time] (s): the number of steps follows from it",
    ),
    Hint(
        "record_length_in_minutes record_length t_end tmax end stop length",
        ("", "time"),
        "write duration in [time] (s after the origin time)",
    ),
    Hint(
        "cfl courant", ("", "time", "run"), "the step is 0.95 of the stability limit; step in [time] sets another (s)"
    ),
    Hint("utcstart origin_time date", ("", "time"), "write origin = 2020-01-01T12:00:00 in [time]"),
    # --- sources ----------------------------------------------------------------------------------
    Hint(
        "mw moment_magnitude mag",
        ("source",),
        'write magnitude = 5.9 with kind = "moment_tensor", or moment = 10^(1.5 Mw + 9.1) (N m)',
    ),
    Hint("magnitude", ("source",), "write moment = 10^(1.5 Mw + 9.1) (N m): 1e18 is Mw 5.93"),
    Hint("m0 seismic_moment scalar_moment", ("source",), "write moment = 1e18 (N m; 1 dyn cm is 1e-7 N m)"),
    Hint(
        "mxx myy mzz mxy mxz myz mrr mtt mpp mrt mrp mtp moment_tensor",
        ("source",),
        "write tensor = { xx =, yy =, zz =, xy =, xz =, yz = } (N m; x east, y north, z up), or rr =, tt =, ... as in a CMT",
    ),
    Hint(
        "half_duration hdur halfduration half_width risetime rise_time",
        ("source", *WAVELET),
        'write wavelet = { kind = "gaussian", tau = 0.434 times the half duration } (s), as SPECFEM has it',
    ),
    Hint(
        "f0 freq fc peak_frequency dominant_frequency central_frequency",
        ("source", *WAVELET, ""),
        'write wavelet = { kind = "ricker", frequency = 2 } (Hz) in [[source]]',
    ),
    Hint("frequency", ("source",), 'write wavelet = { kind = "ricker", frequency = 2 } (Hz) in [[source]]'),
    Hint("sigma t0 half_length", WAVELET, "write tau (s), the standard deviation of the Gaussian; delay (s) shifts it"),
    Hint("t0 time_shift tshift onset", ("source",), "write delay in the wavelet (s): its centre after the origin time"),
    Hint("shift time_shift tshift onset", WAVELET, "write delay (s): the centre of the wavelet after the origin time"),
    Hint(
        "stf source_time_function source_wavelet source_amplitudes",
        ("", "source"),
        'write wavelet = { kind = "ricker", frequency = 2 } in [[source]]',
    ),
    Hint(
        "type",
        ("source", *WAVELET),
        'write kind = "ricker" in the wavelet; kind of the source is "moment_tensor", "explosion" or "force"',
    ),
    Hint(
        "x y z depth position location xyz coordinates latitude longitude lat lon",
        ("source",),
        "write at = [2000, 4000, -2500] (m, z up), { x =, y =, depth = } or { longitude =, latitude =, depth = }",
    ),
    Hint("fx fy fz f amplitude force_z", ("source",), 'write kind = "force" and force = [0, 0, -1e12] (N)'),
    Hint("source_locations source_location", ("",), "write [[source]] with at = [x, y, z] (m, z up) for each source"),
    # --- receivers --------------------------------------------------------------------------------
    Hint(
        "x y z depth position location xyz latitude longitude lat lon",
        ("receivers",),
        "write at = [10_000, 10_000, 0] (m, z up), { x =, y =, depth = } or { longitude =, latitude = }",
    ),
    Hint("sta station code", ("receivers",), 'write name = "R1"'),
    Hint("stations rec receiver", ("",), 'write [[receivers]] with name and at, or file = "STATIONS"'),
    Hint("receiver_locations receiver_location", ("",), "write [[receivers]] with at, line or grid"),
    Hint("spacing dx step increment", ("receivers.line",), "write count: the number of receivers, both ends included"),
    # --- boundaries -------------------------------------------------------------------------------
    Hint(
        "pml_width nbl pml_thickness n_pml npml nbc nabsorb",
        ("", "domain", "boundaries", "run"),
        'write others = "cpml" and cpml = { thickness = 10 } (points) in [boundaries]',
    ),
    Hint(
        "pml_freq pml_frequency",
        ("", "boundaries"),
        "write cpml = { frequency = 2 } in [boundaries] (Hz), or leave it out",
    ),
    Hint(
        "supergrid stacey_absorbing_conditions absorbing_conditions pml_conditions absorbing abc",
        ("", "boundaries"),
        'write others = "cpml" in [boundaries] (spectral elements: "stacey" or "pml")',
    ),
    Hint("free_surface freesurface fs", ("", "boundaries", "run", "model"), 'write top = "free" in [boundaries]'),
    # --- run and output ---------------------------------------------------------------------------
    Hint(
        "accuracy space_order spatial_order",
        ("", "domain", "run"),
        "write order = 4 in [run]: of the differences in space",
    ),
    Hint(
        "ngll polynomial_degree poly_order p",
        ("", "run", "domain"),
        'write degree = 4 in [run] (5 GLL points), method = "sem"',
    ),
    Hint(
        "nproc nproc_xi nproc_eta ncores n_jobs",
        ("", "run"),
        "start it with craton run --ranks N; threads of a process: threads in [run]",
    ),
    Hint("gpu_mode gpu use_gpu", ("", "run"), 'write device = "auto" in [run]: a GPU where there is one'),
    Hint("dtype double double_precision", ("", "run"), 'write precision = "float64" in [run]'),
    Hint(
        "ntstep_between_output_seismos nsamp sampling_rate sample_rate delta",
        ("", "output", "time"),
        "write sampling = 0.01 in [output] (s between samples)",
    ),
    Hint(
        "movie_surface create_movie_files image movie",
        ("", "output"),
        'write [[snapshots]] with quantity = "velocity", plane = { z = 0 }, every = 0.5 (s)',
    ),
    Hint(
        "cycle timeinterval interval ntstep_between_frames", ("snapshots",), "write every = 0.5 (s between snapshots)"
    ),
    Hint("mode variable field", ("snapshots",), 'write quantity = "velocity"'),
    Hint(
        "path outdir out output_dir output_files_path",
        ("", "output", "run"),
        "say it when it is run: craton run FILE.toml -o OUT",
    ),
    # --- gravity ----------------------------------------------------------------------------------
    Hint("field component components", ("gravity",), 'write fields = ["g_z"] in [gravity], or fields = "all"'),
    Hint(
        "parallel disable_checks engine",
        ("gravity", "prisms"),
        "leave it out: all cores are used; threads in [run] sets another number",
    ),
    Hint(
        "coordinates easting northing upward observation_points",
        ("", "points", "gravity"),
        'write [points] with kind = "grid", x = [first, last, count], y = [...], z = 100 (m, up)',
    ),
    Hint(
        "region",
        ("points", "prisms", "domain"),
        "write origin = [x, y, z] and size = [x, y, z] (m); of points: x = [first, last, count], y = [...]",
    ),
    Hint("rho", ("prisms", "prisms.bodies"), "write density (kg/m3)"),
    Hint("extra_coords elevation", ("points",), "write z = 100 (m, up)"),
)


def hint_for(path):
    """Return what to write instead of an unknown key, or None.

    Parameters
    ----------
    path : sequence of str and int
        The key in the scenario: ``("model", "layers", 0, "thickness")``.
    """
    *tables, word = [step for step in path if not isinstance(step, int)]
    tables = tables[:2] if tables[:2] == ["model", "regions"] else tables  # names are the user's
    word, table = str(word).lower().replace("-", "_"), ".".join(tables)
    matches = (hint.remedy for hint in HINTS if word in hint.words.split() and table in hint.tables)
    return next(matches, None)
