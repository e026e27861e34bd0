"""What ranks share: small scenarios of grids, meshes and chunks of the Earth; what several ranks have, put together, beside one rank."""

from functools import cache

import numpy as np
from common import misfit
from layeredcase import text as layered

import craton
from craton.backends import backend
from craton.backends.cpu import CPU
from craton.comm import Together
from craton.comm.halos import connect
from craton.comm.local import spawn
from craton.driver import waves
from craton.driver.march import march
from craton.methods import METHODS
from craton.methods.waves.ranks import plan_of_rank
from craton.scenario import loads

STEPS = 10

# --- grids ------------------------------------------------------------------------------------------------------------------------------

PLANE = """
domain = {{ origin = [0, -2300], size = [4000, 2300], spacing = 100, waves = "{waves}" }}
receivers = [{{ name = "R", line = {{ from = [1200, 0], to = [2400, -350], count = 5 }} }}]
output = {{ waveforms = ["velocity"] }}
boundaries = {{ top = "free", others = "cpml", cpml = {{ thickness = 5 }} }}
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1700, rho = 2100 }}, {{ top = -450, vp = 4200, vs = 2400, rho = 2500 }}]
[time]
duration = 1.0
[[source]]
kind = "force"
shots = {{ from = [1430, -520], to = [2210, -520], count = 2 }}
force = {force}
wavelet = {{ kind = "ricker", frequency = 6 }}
"""


def plane(waves):
    """Two shots in the (x, z) plane."""
    return PLANE.format(waves=waves, force="[0, 1e8, 0]" if waves == "SH" else "[1e8, 0, 2e8]")


def fluid(scenario):
    """The same with vs = 0, as acoustic waves."""
    scenario = scenario.replace('waves = "P-SV"', 'waves = "acoustic"')
    scenario = scenario.replace("spacing = 100\n", 'spacing = 100\nwaves = "acoustic"\n', 1)
    return scenario.replace("vs = 1700", "vs = 0").replace("vs = 2400", "vs = 0")


def hilly(water="", order=4, scenario=""):
    """A trough between two plains 200 m below the top, around which is air or water; in space, or in a plane."""
    scenario = scenario or layered(order=order, x=3300)
    for above, below in (
        ("-2300]", "-2100]"),
        ('top = "free"', 'top = "rigid"'),
        ("from = [1200, 0], to = [2400, -350]", "from = [1200, -600], to = [2400, -950]"),
        ("from = [600, 700, 0]", "from = [600, 700, -600]"),
        ("at = [900, 1500, 0]", "at = [900, 1500, -500]"),
        ("1180, -310]", "1180, -710]"),
    ):
        scenario = scenario.replace(above, below)
    ground = "x = [0, 900, 1200, 1800, 2100, 4000]\nz = [-200, -200, -460, -480, -200, -200]"
    model = f'[model]\nkind = "homogeneous"\nvp = 3000\nvs = 1700\nrho = 2100\n{water}[model.topography]\n{ground}\n'
    return scenario[: scenario.index("[model]")] + model + scenario[scenario.index("[time]") :]


def fields_of(program):
    """Every field that is computed, at the grid's points."""
    return {name: program.host(name) for name, array in program.plan.arrays.items() if array.part_of == "state"}


def planned(scenario, team=None):
    """The plan of a scenario by its method."""
    return METHODS[scenario.method].plan(scenario, team, CPU(threads=1))


@cache
def alone(scenario):
    """The plan of one rank, fields and record after a few steps."""
    plan = planned(loads(scenario))
    program = waves.commit(loads(scenario), plan, CPU(threads=1))
    march(program, (), STEPS)
    assert plan.slots >= STEPS
    return plan, fields_of(program), program.host("record")[:STEPS]


def same_bits(text, grid, device="hostile", threads=1):
    """The parts of several ranks, whose fields and record, put together, have every bit of one rank's, and something happened."""
    (plan, expected, record), scenario = alone(text), loads(text)

    def rank(comm):
        local = plan_of_rank(plan, comm.rank, comm.size, grid)
        program = waves.commit(scenario, local, backend(device, threads=threads))
        connect(program, comm)
        march(program, (), STEPS)
        own = program.host("record")[:STEPS] if "record" in program.arrays else np.empty((STEPS, 0), plan.precision)
        blocks = comm.collect(own)
        joined = local.gathering.join_columns(blocks, program.backend) if blocks else None
        return local.subdomain, fields_of(program), joined

    parts, fields, records = zip(*spawn(int(np.prod(grid)), rank))
    whole = {name: np.full(plan.layout.shape, np.nan, plan.precision) for name in expected}
    for part, own in zip(parts, fields):
        assert part.neighbours and own.keys() == expected.keys()
        for name, values in own.items():
            whole[name][tuple(slice(a, b) for a, b in zip(part.box[::2], part.box[1::2]))] = values
    assert [name for name in expected if whole[name].tobytes() != expected[name].tobytes()] == []
    assert records[0].tobytes() == record.tobytes()
    assert all(np.abs(values).max() > 0 for values in expected.values())
    assert (np.abs(record).max(axis=0) > 0).mean() > 0.5
    return parts


# --- elements ---------------------------------------------------------------------------------------------------------------------------

OF_ELEMENTS = """
method = "sem"
domain = {{ origin = [0, 0, -1500], size = [2000, 1500, 1500], element_size = 500 }}
model = {{ kind = "layers", layers = [{layers}] {model} }}
time = {{ duration = 0.5, step = 0.006 }}
boundaries = {{ {boundaries} }}
source = [{source}]
receivers = [{{ name = "R", line = {{ from = [500, 700, 0], to = [1750, 1000, -1250], count = 6 }} }}]
run = {{ device = "cpu", threads = 1, degree = 3, assembly = "colour", precision = "{precision}" }}
output = {{ waveforms = ["velocity", "pressure", "strain_rate"] }}
"""
TENSOR = "tensor = { xx = 1e12, zz = -2e12, xy = 5e11, yz = 3e11 }"
PULSE, RICKER = (f"wavelet = {{ kind = {kind} }}" for kind in ('"gaussian", tau = 0.05', '"ricker", frequency = 4'))
FORCE = f'{{ kind = "force", at = [1400, 500, -1000], force = [1e8, 2e8, -1e8], {RICKER} }}'
MOMENT = f'{{ kind = "moment_tensor", at = [1000, 760, -800], {TENSOR}, {PULSE} }}, {FORCE}'
BLAST = f'{{ kind = "explosion", at = [1000, 500, -250], moment = 1e12, {PULSE} }}'
ROCK = """
    { top = 0, vp = 3000, vs = 1700, rho = 2100 },
    { top = -500, vp = 4200, vs = 2400, rho = 2500, vp_gradient = 0.3 }"""
SEA = "{ top = 0, vp = 1500, vs = 0, rho = 1000 }, { top = -500, vp = 3400, vs = 1900, rho = 2300 }"
LOSSY = ROCK.replace("rho = 2100", "rho = 2100, qp = 60, qs = 30")
GROUND = (
    "x = [0, 500, 900, 1300, 2000], y = [0, 700, 1500], z = [[0, 0, 0, 0, 0], [0, 90, 200, 90, 0], [0, 0, 0, 0, 0]]"
)
HILL = {"layers": ROCK.replace("top = 0", "top = 200"), "model": f", topography = {{ {GROUND} }}"}
SOLID = {"layers": ROCK, "source": MOMENT, "boundaries": "", "model": ""}
WATER = {"layers": SEA, "source": BLAST, "model": ""}
ELEMENTS = {
    "solid": SOLID,
    "rigid sides": SOLID | {"boundaries": 'west = "rigid", east = "free", others = "stacey"'},
    "hill": SOLID | HILL,
    "attenuation": SOLID | {"layers": LOSSY, "model": ", attenuation = { band = [0.5, 10], mechanisms = 2 }"},
    "sea": WATER | {"source": f"{BLAST}, {MOMENT}", "boundaries": ""},
    "sea layers": WATER | {"boundaries": 'others = "pml", pml = { thickness = 1 }'},
    "floor in a layer": WATER | {"boundaries": 'top = "pml", pml = { width = 750 }, others = "stacey"'},
}

# --- chunks of the Earth ----------------------------------------------------------------------------------------------------------------

OF_CHUNK = """
method = "sem"
model = {{ kind = "prem" }}
time = {{ duration = 12, start = -20 }}
output = {{ waveforms = ["velocity", "pressure"] }}
run = {{ device = "cpu", threads = 1, degree = 3, assembly = "colour", precision = "{precision}", partition = "slices" }}
domain.chunk = {{ longitude = 10, latitude = 20, azimuth = 30, bottom = "{bottom}", {design} }}
[[source]]
kind = "moment_tensor"
at = {{ longitude = 10, latitude = 20, depth = "{depth}" }}
tensor = {{ rr = 1e20, tt = -1e20, rp = 2e19 }}
wavelet = {{ kind = "gaussian", tau = 5 }}
[[receivers]]
name = "L"
line = {{ from = {{ longitude = 10, latitude = 20 }}, to = {{ longitude = 10.5, latitude = 20.5, depth = "{reach}" }}, count = 4 }}
"""
# The source lies in the middle: with 2 and 4 ranks on the cut. Elements of the outer core are fluid.
MANTLE = {"design": "width = [24, 6], elements = [24, 6]", "bottom": "600 km", "reach": "200 km", "depth": "150 km"}
CORE = {"bottom": "3100 km", "reach": "3000 km", "depth": "2700 km"}
CORE["design"] = 'width = [36, 18], elements = [16, 8], growth = ["80 km"]'
CHUNKS = {"mantle": MANTLE, "core": CORE}


def elements(case, precision="float32"):
    """The text of a scenario of 4 x 3 x 3 elements, or of a chunk of some hundred."""
    if case in CHUNKS:
        return OF_CHUNK.format(precision=precision, **CHUNKS[case])
    return OF_ELEMENTS.format(precision=precision, **ELEMENTS[case])


def shared(case, precision="float32", partition="slices"):
    """The scenario, its elements shared in one way."""
    return loads(elements(case, precision), [f"run.partition={partition}"])


@cache
def run_alone(case, precision="float32"):
    """The run of one rank."""
    return craton.run(shared(case, precision), progress=False)


def plans(case, ranks, partition="slices"):
    """The plans of all ranks."""
    return spawn(ranks, lambda comm: planned(shared(case, partition=partition), Together(comm)))


def points_of(plan, phase, message):
    """Own numbers of the points of a message of a phase."""
    sent, (packing,) = plan.arrays[message.out], next(p.packing for p in plan.phases if p.name == phase)
    fields = dict(packing.op.defines)["FIELDS"]
    return plan.arrays[packing.arrays[2]].data[sent.start // fields : (sent.start + sent.shape[0]) // fields]


def misfits(result, expected):
    """Misfit of the displacements, and the largest of velocity, pressure and strain rate, all channels of a quantity together."""
    quantities = np.array([channel.quantity for channel in expected.plan.channels])
    samples = {name: [run.samples[:, quantities == name] for run in (result, expected)] for name in set(quantities)}
    displacements = (np.cumsum(velocity.astype(float), axis=0) for velocity in samples["velocity"])
    return misfit(*displacements), max(misfit(*pair) for pair in samples.values())
