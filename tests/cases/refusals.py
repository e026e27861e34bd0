"""Wrong inputs: what is changed in a sound scenario, the key that is named, words of the message or of its remedy."""

import smallcase

AT = "at = [1500, 1500, -1000]"
MEDIUM = 'kind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2300'
WAVELET = '"gaussian", tau = 0.12, delay = 0.6'
STATION = "at = [2000, 1500, 0]"
LINE = "line = { from = [1000, 1500, 0], to = [1400, 1500, 0], count = 3 }"
PLANE = "plane = { y = 1500 }"
SIZE = "size = [3000, 3000, 2500]"
BURST = f'kind = "explosion"\n{AT}\nmoment = 1e14'
SOURCE = f"{BURST}\nwavelet = {{ kind = {WAVELET} }}"
COUPLE = 'kind = "moment_tensor"\nstrike = 0\nrake = 0\ndip = '
WAVE = 'kind = "plane_wave"\nwave = "P"\ndepth = '
KINDS = '"homogeneous", "layers", "file", "regions", "prem", "ak135" or "radial"'
CONSTANTS = "c11=3e10, c22=3e10, c33=3e10, c12=1e10, c13=1e10, c23=1e10, c44=1e10, c55=1e10, c66=1e10"
SINGULAR = "c11=3e10, c22=3e10, c33=3e10, c44=1e10, c55=1e10"
REGION = "regions = { a = { vp = 1000, vs = 0, rho = 1000 } }"
OFF_THE_GLOBE = "geographic = { longitude = 400, latitude = 0 }"
PERIODIC = 'is "periodic" (from others)'
CMT = 'kind = "cmtsolution"\nfile = "small.toml"'
FIBRE = "das = { along = [[0, 0, 0], [5, 0, 0]], spacing = 1, gauge = 10 }"
LAYER = "vp = 3000, vs = 1700, rho = 2300"


def layers(*tops):
    """A table of the model with alike layers."""
    return f'kind = "layers"\nlayers = [{", ".join(f"{{ top = {top}, {LAYER} }}" for top in tops)}]'


# of finite differences, on the small case; each is the only problem: (text, what it becomes, key, words ...)
SMALL = [
    ("spacing = 100", "spcing = 100", "domain.spcing", '"spcing"', 'did you mean "spacing"'),
    ("spacing = 100", "spacing = 100\nthreads = 4", "domain.threads", '"threads" belongs in [run]'),
    ("spacing = 100", "spacing = true", "domain.spacing", "true is not a number"),
    ("spacing = 100", 'spacing = "5 s"', "domain.spacing", "5 s", "a length"),
    ("spacing = 100", "spacing = 0", "domain.spacing", "must be greater than 0 m"),
    ("spacing = 100", "spacing = 100\nmax_frequency = 5", "domain.max_frequency", "are mutually exclusive"),
    ("spacing = 100\n", "", "domain.spacing", "neither spacing nor max_frequency", "max_frequency = 5"),
    ("spacing = 100", "spacing = 100 m", "", "not valid TOML", '"100 m"'),
    ("spacing = 100", "spacing = 100\nelement_size = 200", "domain.element_size", 'method = "sem"'),
    ("spacing = 100", 'spacing = 100\nmesh = "a.msh"', "domain.mesh", 'method = "sem"'),
    ("spacing = 100", f"spacing = 100\n{OFF_THE_GLOBE}", "domain.geographic.longitude", "400 deg", "360 deg"),
    ("origin = [0, 0, -2500]", 'origin = "here"', "domain.origin", '"here"'),
    (SIZE, "size = [3000]", "domain.size", "3"),
    (SIZE, "size = 3000", "domain.size", "3000 is not a list of three numbers"),
    (SIZE, 'size = ["3e9 km", 3000, 2500]', "domain.size", "points along x", "larger spacing"),
    (f"[model]\n{MEDIUM}\n", "", "model", "missing"),
    ("rho = 2300", "rho = 2300\nporosity = 0.1", "model.porosity", '"porosity"', "vp, vs, rho"),
    ('kind = "homogeneous"', 'kind = "homogenous"', "model.kind", 'did you mean "homogeneous"'),
    ('kind = "homogeneous"', 'kind = "zzz"', "model.kind", KINDS),
    ('kind = "homogeneous"\n', "", "model.kind", f"write kind = {KINDS}"),
    ("rho = 2300\n", "", "model.rho", "missing"),
    ("rho = 2300", "rho = -2300", "model.rho", "-2300 kg/m3 is out of range", "greater than 0"),
    ("vp = 3000\nvs = 1700\n", f"stiffness = {{ {CONSTANTS} }}\n", "model.stiffness", 'method = "sem"'),
    (MEDIUM, layers(-500), "model.layers.0.top", "-500"),
    (MEDIUM, layers(0, 1400), "model.layers.1.top", "not below the top of the previous layer, 0 m"),
    (MEDIUM, layers(-500, 0), "model.layers.1.top", "-500"),
    (MEDIUM, layers(0).replace("rho = 2300", "rho = -1"), "model.layers.0.rho", "-1 kg/m3 is out of range"),
    (MEDIUM, layers(0).replace(", rho = 2300", ""), "model.layers.0.rho", "missing"),
    (MEDIUM, 'kind = "file"\nfile = "nowhere.nc"', "model.file", "nowhere.nc"),
    (MEDIUM, 'kind = "file"\nfile = "small.toml"', "model.file", "small.toml", "netCDF"),
    ("duration = 1.0\n", "", "time.duration", "missing"),
    ("duration = 1.0", "duration = 0", "time.duration", "greater than 0 s"),
    ("duration = 1.0", "duration = 1.0\nstep = 5", "time.step", "5 s", "longer than the run, 1 s"),
    ("duration = 1.0", "duration = 1.0\nstart = 1", "time.start", "1 s", "not before the end"),
    ("duration = 1.0", "duration = 1.0\nfrequency = 2", "time.frequency", "valid keys here: duration, step, start"),
    ('others = "cpml"', 'others = "cpml"\nbottom = "free"', "boundaries.bottom", "only at the top", '"cpml", "sponge"'),
    ('others = "cpml"', 'others = "cpml"\neast = "free"', "boundaries.east", "only at the top"),
    ('others = "cpml"', 'others = "free"', "boundaries.others", "only at the top"),
    ('others = "cpml"', 'others = "stacey"', "boundaries.others", 'did you mean "a1"'),
    ('others = "cpml"', 'others = "pml"', "boundaries.others", 'did you mean "cpml"?'),
    (
        'others = "cpml"',
        'others = "cpml"\nwest = "periodic"',
        "boundaries.west",
        'east is "cpml"',
        "both faces periodic",
    ),
    ('others = "cpml"', 'others = "periodic"', "boundaries.others", f'bottom {PERIODIC} but top is "free"'),
    ("{ thickness = 5 }", "10", "boundaries.cpml", "it has the keys vp, vs, thickness"),
    ("{ thickness = 5 }", "{ thickness = 0 }", "boundaries.cpml.thickness", "at least 1"),
    ("thickness = 5", "thickness = 5, reflection = 2", "boundaries.cpml.reflection", "2", "less than 1"),
    (f"[[source]]\n{SOURCE}\n", "", "source", "missing"),
    (f"[[source]]\n{SOURCE}", f"[source]\n{SOURCE}", "source", "write [[source]] with double brackets"),
    (AT, "at = [1500, 1500, 1000]", "source.0.at", "z = 1000 m", "in the air", "depth"),
    (AT, "at = { x = 1, y = 1, z = 1, depth = 1 }", "source.0.at", "are mutually exclusive"),
    ('kind = "explosion"', 'kind = "explosoin"', "source.0.kind", 'did you mean "explosion"'),
    ("moment = 1e14\n", "", "source.0.moment", "missing", "write moment = 1e15"),
    ("moment = 1e14", "moment = -1e14", "source.0.moment", "-1e+14 N m is out of range"),
    ('kind = "explosion"', f"{COUPLE}20\nmagnitude = 4", "source.0.magnitude", "moment", "are mutually exclusive"),
    (f"{{ kind = {WAVELET} }}", "5", "source.0.wavelet", "5 is not a table"),
    (WAVELET, '"ricker"', "source.0.wavelet.frequency", "missing", "write frequency = 5"),
    (WAVELET, '"samples", file = "nothing.txt"', "source.0.wavelet.file", "nothing.txt"),
    (WAVELET, '"samples", values = [0, 1, 2]', "source.0.wavelet", "only values is given"),
    (WAVELET, '"samples", times = [0, 1, 2], values = [0, 1]', "source.0.wavelet.values", "2 values are given for 3"),
    (WAVELET, '"samples", times = [0, 1, 1, 2], values = [0, 1, 2, 3]', "source.0.wavelet.times.2", "not after"),
    (BURST, f'kind = "force"\n{AT}\nforce = [0, 0, 0]', "source.0.force", "zero"),
    (SOURCE, 'kind = "srf"\nfile = "none.srf"', "source.0.file", "cannot read", "none.srf", "relative to the scenario"),
    (SOURCE, CMT, "source.0.file", "small.toml:1:", "is not a line of a CMTSOLUTION", "docs/sources.md"),
    (BURST, f"{WAVE}1000", "source.0.wave", "periodic", 'west is "cpml"'),
    (BURST, f"{WAVE}1000\nincidence = 30", "source.0.incidence", "30 deg", "only vertical incidence"),
    (STATION, "at = [2000, -1500, 0]", "receivers.0.at", "y = -1500 m", "0 to 3000 m"),
    (STATION, f"{STATION}\nfile = 'a.csv'", "receivers.0", "at and file are mutually exclusive"),
    (f'name = "A"\n{STATION}', 'file = "stations.csv"', "receivers.0.file", "stations.csv"),
    ('name = "A"', 'name = "L2"', "receivers.1.name", '"L2"'),
    ('name = "A"', 'name = ""', "receivers.0.name", "empty"),
    ("to = [1400, 1500, 0]", "to = [1000, 4500, 0]", "receivers.1.line", '"L3"', "y = 4500 m"),
    ("count = 3", "count = 1", "receivers.1.line.count", "at least 2"),
    ("count = 3", "count = 2.5", "receivers.1.line.count", "whole number"),
    (LINE, "grid = { x = [0, 1, 2], y = [0, 1], z = 0 }", "receivers.1.grid.y", "[first, last, count]"),
    (LINE, "grid = { x = [0, 1, 2], y = [0, 1, 2] }", "receivers.1.grid", "neither z nor depth"),
    (LINE, FIBRE, "receivers.1.das.gauge", "10 m", "5 m"),
    (PLANE, "plane = { y = 9500 }", "snapshots.0.plane", "9500", "3000"),
    (PLANE, "plane = { surface = true }", "snapshots.0.plane", 'method = "sem"'),
    ("every = 0.25", "", "snapshots.0.every", "missing"),
    ("every = 0.25", "every = 0", "snapshots.0.every", "0 s", "greater than 0"),
    ("[output]", '[[snapshots]]\nname = "section"\nevery = 1\n[output]', "snapshots.1.name", "is used twice"),
    ("[output]", "[outputs]", "outputs", 'did you mean "output"'),
    ("[output]", "[frequency]\n[output]", "frequency", "valid keys here: title"),
    ("[output]", "[output]\nsampling = 1e-8", "output.sampling", "1e-08 s", "shorter than one microsecond"),
    ("[output]", '[output]\nnetwork = "far too long"', "output.network", "not a network code"),
    ('["velocity"]', '["velocty"]', "output.waveforms.0", '"velocty"', 'did you mean "velocity"'),
    ('["velocity"]', '["velocity", "velocity"]', "output.waveforms.1", "listed twice"),
    ('["velocity"]', '"velocity"', "output.waveforms", 'write ["velocity"]'),
    ('device = "cpu"', 'precision = "float16"', "run.precision", '"float16"', '"float32" or "float64"'),
    ('device = "cpu"', 'precision = "double"', "run.precision", 'did you mean "float64"?'),
    ('device = "cpu"', 'device = "gpu"', "run.device", '"gpu"', 'did you mean "cuda"'),
    ('device = "cpu"', "degree = 4", "run.degree", 'method = "sem"'),
    ('method = "fd"', 'method = "fdtd"', "method", '"fdtd"', '"fd"', '"sem"', '"gravity"', 'did you mean "fd"?'),
]
# several changes, several problems: ([(text, what it becomes), ...], [(key, words ...), ...])
MANY = [
    (
        [(SIZE, "size = [3, 3, 2.5]")],
        [("domain.size.0", "3 m, is less than spacing = 100 m", "8 km"), ("domain.size.1",), ("domain.size.2",)],
    ),
    (
        [(SIZE, "size = [3000, 1000, 2500]"), (AT, "at = [1500, 500, -1000]"), (STATION, "at = [2000, 500, 0]")]
        + [(LINE, "at = [1000, 500, 0]"), (PLANE, "plane = { y = 500 }")],
        [("domain.size", "11 points along y", "13", "longer along y")],
    ),
    (
        [(SOURCE, 'kind = "cmtsolutions"\nfile = "small.toml"')],
        [("source.0.kind", 'did you mean "cmtsolution"'), ("source.0.file", "small.toml:1:")],
    ),
    (
        [(BURST, f"{WAVE}9000"), ('others = "cpml"', 'others = "periodic"\nbottom = "cpml"')],
        [("source.0.depth", "z = -9000 m", "-2500 to 0 m")],
    ),
    (
        [('kind = "explosion"', 'kind = "moment_tensor"'), ("moment = 1e14", "tensor = { xx = 0 }")],
        [("source.0.tensor", "zero", "xy = 1e18")],
    ),
    (
        [('kind = "explosion"', 'kind = "moment_tensor"\nrake = 0'), ("moment = 1e14", "tensor = { xy = 1e18 }")],
        [("source.0.rake", "rake and tensor are mutually exclusive")],
    ),
    (
        [('kind = "explosion"', 'kind = "moment_tensor"'), ("moment = 1e14", "tensor = { xq = 1e18 }")],
        [("source.0.tensor.xq", "unknown key"), ("source.0.tensor", "zero")],
    ),
    ([('kind = "explosion"', f"{COUPLE}20"), ("moment = 1e14\n", "")], [("source.0.moment", "the size of the source")]),
    (
        [("duration = 1.0", "duration = 1.0\nstep = 0.01"), ("[output]", "[output]\nsampling = 0.005")],
        [("output.sampling", "shorter than the time step, 0.01 s")],
    ),
    # a wrong model and a wrong survey; the model tells the spacing
    (
        [("vs = 1700", "vs = 2200"), (AT, "at = [9500, 1500, -1000]"), ("spacing = 100", "max_frequency = 5")],
        [("model.vs", "2200 m/s", "2121.32", "vp / sqrt(2)")]
        + [("source.0.at", "x = 9500 m", "0 to 3000 m", "move it inside")],
    ),
    # misspelt keys do not hide what only the model, the survey and the solver can see
    (
        [("duration = 1.0", "duration = 1.0\nstep = 0.05"), ("title = ", "titel = "), (AT, "at = [9500, 1500, -1000]")]
        + [(STATION, "at = [2000, 1500, 10]"), (PLANE, "plane = { x = -1 }"), ('others = "cpml"', 'others = "cmpl"')],
        [("titel", "title"), ("time.step", "0.05 s", "unstable", "limit", "leave step out"), ("source.0.at", "9500")]
        + [("boundaries.others", '"cmpl"', 'did you mean "cpml"'), ("receivers.0.at", "z = 10 m", "in the air")]
        + [("snapshots.0.plane", "x = -1 m")],
    ),
    # the value behind a misspelt key or kind is looked at as well
    (
        [("duration = 1.0", 'duraton = "8 km"'), (WAVELET, '"gausian", taw = -1')],
        [("source.0.wavelet.kind", '"gausian"', 'did you mean "gaussian"'), ("source.0.wavelet.taw", "did you mean")]
        + [("time.duraton", "did you mean"), ("source.0.wavelet.taw", "-1 s is out of range")]
        + [("time.duraton", '"8 km" is a length, but a time is required')],
    ),
    # what makes no scenario, so that only the tables are looked at
    (
        [("spacing = 100", "spacing = -100"), (MEDIUM, layers(0, -500).replace("vp = 3000", 'vp = "3 kg"'))]
        + [('kind = "explosion"', f"{COUPLE}99"), (STATION, 'at = "there"'), (PLANE, "plane = { x = 1, y = 2 }")]
        + [('name = "section"', 'name = "a/b"'), ('quantity = "velocity"', 'quantity = "presure"'), (LINE, "")],
        [("domain.spacing", "-100 m", "greater than 0"), ("model.layers.0.vp",), ("model.layers.1.vp",)]
        + [("source.0.dip", "99 deg", "90 deg"), ("receivers.0.at",), ("receivers.1",), ("snapshots.0.name",)]
        + [("snapshots.0.quantity", '"presure"', '"velocity"'), ("snapshots.0.plane",)],
    ),
]

SEM = smallcase.changed(('method = "fd"', 'method = "sem"'), ("spacing = 100", "element_size = 400"))
BOX = "origin = [0, 0, -2500]\nsize = [3000, 3000, 2500]\nelement_size = 400"
MESH = SEM.replace(BOX, 'mesh = "valley.msh"')
EDGE = "element_size = 400"
SPEEDS = "vp = 3000\nvs = 1700\n"
OF_SEM = [
    (SIZE, "size = [3000, 2500]", "domain.size", 'available only with method = "fd"'),
    (EDGE, f'{EDGE}\nwaves = "SH"', "domain.waves", "only in 2-D"),
    (EDGE, "", "domain.element_size", "neither element_size nor max_frequency"),
    (EDGE, f"{EDGE}\nspacing = 500", "domain.spacing", "element_size and spacing are both given", "leave spacing out"),
    (EDGE, f"{EDGE}\nrefine = [{{ below = -3000 }}]", "domain.refine.0.below", "outside the domain, -2500 to 0 m"),
    (EDGE, f"{EDGE}\nrefine = [{{ below = -1000, factor = 4 }}]", "domain.refine.0.factor", "4 is not 2 or 3"),
    (EDGE, f"{EDGE}\nrefin = []", "domain.refin", 'did you mean "refine"'),
    ('others = "cpml"', 'others = "periodic"', "boundaries.others", "periodic faces are available only with"),
    ('others = "cpml"', 'others = "staecy"', "boundaries.others", 'did you mean "stacey"'),
    ('top = "free"', 'faces = { tpo = "free" }', "boundaries.faces.tpo", "top"),
    ('device = "cpu"', "degree = 9", "run.degree", "at most 8"),
    ('device = "cpu"', 'assembly = "atomics"', "run.assembly", 'did you mean "fast"'),
    (SPEEDS, f"stiffness = {{ {SINGULAR} }}\n", "model.stiffness", "smallest eigenvalue is 0 Pa"),
    (SPEEDS, f"stiffness = {{ {CONSTANTS} }}\nepsilon = 0.1\n", "model.epsilon", "stiffness are mutually exclusive"),
    ("vs = 1700", f"vs = 1700\n{REGION}", "model.regions", "no named regions"),
    (BURST, 'kind = "plane_wave"\nwave = "P"\nz = -2000', "source.0.kind", "needs periodic sides"),
]
ASIDE = 'device = "cpu"\n[model.regions.a]\nvp = 1000\nvs = 0\nrho = 1000\n[[receivers]]\nname = "F"\nat = [9, 9, 0]\nside = "fluid"'
OF_MESH = [
    ('"valley.msh"', '"valley.msh"\nelement_size = 2', "domain.element_size", "mutually exclusive"),
    ("vs = 1700", f"vs = 1700\n{REGION.replace('rho', 'roh')}", "model.regions.a.roh", 'did you mean "rho"'),
    ("vs = 1700", "vs = 1700\ntopography = 20", "model.topography", "the mesh file defines the surface"),
    ('device = "cpu"', ASIDE, "receivers.2.side", "only the mesh knows which side is fluid", "leave side out"),
]
# numbers and texts beyond all sense, on the small case: refused before anything is allocated; the key, or a word if there is none
HUGE = [
    (SIZE, "size = [1e18, 3000, 2500]", "domain.size.0"),
    ("spacing = 100", "spacing = 1e-3", "domain.size"),
    ("duration = 1.0", "duration = 1e18", "time.duration"),
    ("duration = 1.0", "duration = 1e9", "time.duration"),
    ("vp = 3000", "vp = 1e18", "model.vp"),
    ("vp = 3000", "vp = 1" + 400 * "0", "model.vp"),
    ("vp = 3000", "vp = " + 3000 * "[" + 3000 * "]", "nested hundreds deep"),
    ("vp = 3000", "vp = " + 5000 * "9", "thousands of digits"),
    ("vs = 1700", "vs = 1e-300", "model.vs"),
    ("rho = 2300", "rho = 1e300", "model.rho"),
    ("moment = 1e14", "moment = 1e45", "source.0.moment"),
    ("moment = 1e14", "moment = 1e-300", "source.0.moment"),
    ("tau = 0.12", "tau = 1e-300", "source.0.wavelet.tau"),
    (AT, f"shots = {LINE[7:].replace('= 3', '= 200_000')}", "source.0.shots.count"),
    ("count = 3 }", "count = 2_000_000 }", "receivers.1.line"),
    ("count = 3 }", "count = 1_000_000_000 }", "receivers.1.line.count"),
    ("count = 3 }", "count = 1" + 400 * "0" + " }", "receivers.1.line.count"),
    (LINE, "grid = { depth = 0, x = [0, 9, 10_000], y = [0, 9, 10_000] }", "receivers.1.grid.x"),
]
