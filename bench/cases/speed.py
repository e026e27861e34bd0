"""Rates of whole time steps on random data, and of sums over prisms, by the engine of `craton bench`.

usage: python3 -m bench speed [PART ...] [--out FILE.json] [--size 384 512]

Each part is a JSON of its own form: fd: fd_h200; nakata, terrain, rheology, layers: the files of that name; layers_sem: layers_sem_h200;
sem: sem_bench_h200; gravity: the table of `craton bench gravity`. In `terrain` and `rheology` a row also has its seconds over those of the
first row of its group: of a free surface, of an elastic medium. `--size` has the points of terrain and rheology. With several parts
the JSON has each under its name.
"""

from bench.cases import builders
from bench.harness import scenarios
from craton import benchmark
from craton.methods.finite_difference import bench as differences
from craton.scenario import Scenario

FACES = (("rigid", "rigid"), ("free", "cpml"))
SHAKEN = ["pgv", "pga", "pgd"]
ALL = [*SHAKEN, "arias", "cav", "squared_velocity", "duration", "sa"]
PERIODS = [0.1, 0.3, 1.0]  # s, of sa


def nakata(sizes):
    """The cases of Nakata et al. (2011), and three of ours."""
    more = ((1920, 1, "cpml"), (1920, 64, "cpml"), (960, 256, "sponge"))
    large = [differences.half_space(2, *case) for case in more]
    return [*differences.nakata(""), *large]


def layers(sizes):
    """Finite differences with and without layers."""
    cubes = [differences.cube(512, *faces) for faces in FACES]
    return [Scenario(**differences.tables("two_layers")), *cubes]


def layers_sem(sizes):
    """96 x 96 x 36 elements between absorbing faces and between absorbing layers."""
    return [make() for make in scenarios("layers_large").values()]


def terrain(sizes):
    """Grounds in a cube of 512^3 points."""
    return [builders.terrain(n, ground) for n in sizes or (512,) for ground in builders.GROUNDS]


def rheology(sizes):
    """Attenuation in all storages and VTI beside the elastic step."""
    return [
        builders.rheology(kind, n, faces)
        for n in sizes or (384, 512)
        for faces in FACES
        for kind in builders.RHEOLOGIES
    ]


def peaks(sizes):
    """A cube with a free top and CPML, without maps of peaks, with three, and with all."""
    maps = (
        {},
        {"maps of pgv, pga, pgd": {"quantities": SHAKEN}},
        {"maps of all peaks": {"quantities": ALL, "periods": PERIODS}},
    )
    cubes = [differences.cube(n, *FACES[1]) for n in sizes or (512,)]
    return [
        builders.changed(
            scenario,
            title=": ".join([*kind, scenario.title]),
            peaks=[{"name": "ground", **table} for table in kind.values()],
        )
        for scenario in cubes
        for kind in maps
    ]


# Part: benchmark whose engine measures, scenarios (those of the benchmark without), rows of a group.
GROUPS = {
    "fd": ("fd", None, 0),
    "nakata": ("nakata", nakata, 0),
    "sem": ("sem", None, 0),
    "gravity": ("gravity", None, 0),
    "layers": ("fd", layers, 0),
    "layers_sem": ("sem", layers_sem, 0),
    "terrain": ("fd", terrain, len(builders.GROUNDS)),
    "rheology": ("fd", rheology, len(builders.RHEOLOGIES)),
    "peaks": ("fd", peaks, 3),
}


def rates(part):
    """A function of the report that measures a part."""
    name, cases, size = GROUPS[part]

    def measure(report):
        options = report.options
        given = cases(options.size) if cases else None
        if options.small and given:
            given = [case for case in given if case.domain.size[0] < 1e4][:2]
        result = benchmark.bench(name, options.device, threads=options.threads, show=report.say, cases=given)
        rows = result["cases"]
        for n, row in enumerate(rows if size else ()):
            first = rows[n - n % size]
            if "skipped" not in row and "skipped" not in first:
                row["ratio"] = row["seconds_per_step"] / first["seconds_per_step"]
                report.say(f"{row['case']:<60} {row['ratio']:.3f} of the first of its group")
        alone = len(report.options.parts) == 1
        for key, value in (result if alone else {part: result}).items():
            report.keep(key, value)

    return measure


PARTS = {part: rates(part) for part in GROUPS}
