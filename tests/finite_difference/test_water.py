"""Water and solids: position of the floor, sources and receivers of either side, differences along every axis that end at contacts."""

import numpy as np
import pytest
from common import misfit, refused
from fdcase import box, cases, explosion, moment_tensor, ran, ricker
from fdstepcase import SILENT, Step
from scipy.interpolate import CubicSpline

import craton
from craton.errors import ScenarioError
from craton.methods.finite_difference import build, sides
from craton.methods.finite_difference.equations.contact import Line, Sparse
from craton.methods.finite_difference.equations.scheme import taylor

WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1020.0}
ROCK = {"vp": 4000.0, "vs": 2200.0, "rho": 2400.0}
SLOW = {"vp": 2500.0, "vs": 1300.0, "rho": 2200.0}
SEA = {"water": {"level": 0.0, "vp": 1500.0, "rho": 1020.0}}
HIGHER = {"origin": [0, -1000], "size": [1600, 1040], "spacing": 20.0, "waves": "P-SV"}
NOISE = {"kind": "gaussian", "tau": 0.05}


def layers(floor, rock=ROCK):
    """Water from z = 0 to the floor."""
    return {"kind": "layers", "layers": [{"top": 0.0, **WATER}, {"top": floor, **rock}]}


def plane(floor, source, spacing=20.0, duration=2.0, places=([1000.0, -100.0],), **more):
    """Water over rock in the plane."""
    return box([1600, 1000], spacing, layers(floor, SLOW), source, duration, places, waves="P-SV", **more)


def moment(at, wavelet=NOISE, **tensor):
    """A moment tensor in the plane."""
    return moment_tensor(at, tensor or {"xx": 1e12, "zz": -5e11, "xz": 7e11}, wavelet)


# --- the floor -------------------------------------------------------------------------------------------------------------------------

TENSOR = {"xx": 3e16, "yy": -8e16, "zz": 5e16, "xy": 1e17, "xz": 2e16, "yz": -5e16}
TIMES = np.arange(0.1, 4.0, 0.01)


def recorded(floor, method, **fine):
    """Velocity and pressure in the water, on the floor, 1 m above it and below, at TIMES."""
    at = {"up": floor + 300.3, "above": floor + 1, "floor": floor, "below": floor - 150}
    source = moment_tensor([0.0, 0.0, -2500.0], TENSOR, {"kind": "gaussian", "tau": 0.25, "delay": 1.0})
    tables = {"method": method, "origin": [-3000.0, -3500.0, -5000.0], "time": {"duration": 4.05, "start": 0.0}}
    tables["receivers"] = [{"name": name, "at": [1200.0, -600.0, z]} for name, z in at.items()]
    tables |= {"boundaries": {"others": "pml" if method == "sem" else "cpml"}}
    tables |= {"output": {"waveforms": ["velocity", "pressure"]}}
    data = ran(box([7000.0, 6500.0, 5000.0], fine, layers(floor), source, 1, **tables))
    rows = {(what, name): data[what].sel(receiver=name).values for what in ("velocity", "pressure") for name in at}
    return {key: CubicSpline(data.time.values, values, axis=-1)(TIMES) for key, values in rows.items()}


@pytest.mark.long
def test_finite_differences_agree_with_elements():
    """The floor lies between planes of the spacing asked for; 15 points per wavelength of the water at f95.

    A floor moved by half a cell, as it was, gave 8 to 18 %. Hydrophones beside the floor hear the water; motion is that of either side.
    """
    elements, grid = recorded(-730.0, "sem", element_size=500.0), recorded(-730.0, "fd", spacing=100.0)
    errors = {key: misfit(grid[key], elements[key]) for key in elements}
    for key in (("velocity", "up"), ("velocity", "below"), ("pressure", "up")):
        assert errors[key] < 0.008, (key, errors)
    for name in ("above", "floor"):
        assert errors["pressure", name] < 0.01 and errors["velocity", name] < 0.012, (name, errors)


@pytest.mark.parametrize(("tensor", "fine"), cases([("xz", 10.0)], ("xx", 5.0), ("zz", 5.0)))
def test_sources_just_below_the_floor_radiate_what_they_do_on_a_fine_grid(tensor, fine):
    """Three quarters of a cell below it, 12 points per wavelength of the water at f95; shear was off by 75 %."""
    records, source = [], moment([800.0, -415.0], ricker(3.16), **{tensor: 1e12})
    for spacing in (20.0, fine):
        faces = {"boundaries": {"cpml": {"thickness": int(240 / spacing)}}}
        places, time = ([1050.0, -340.0], [1050.0, -460.0]), {"start": -0.5, "duration": 1.5}
        data = ran(plane(-400.0, source, spacing, places=places, time=time, **faces)).velocity
        times = np.linspace(-0.45, 0.95, 500)
        records.append([np.interp(times, data.time.values, trace) for row in data.values for trace in row])
    assert misfit(*records) < 0.025


def test_planes_lie_on_both_sides_of_the_floor():
    for floor in (-200.0, -210.0, -203.7, -80.0):
        z = craton.plan(plane(floor, moment([600.0, -600.0]))).grid.axis("z")
        step = z[1] - z[0]
        assert z[-1] == 0.0 and step <= 20.0 + 1e-9 and z[0] <= -1000.0
        assert ((floor - z) / step) % 1 == pytest.approx(0.5, abs=1e-6), floor
    domain = {"origin": [0, -1000], "size": [1600, 1000], "spacing": 20.0, "waves": "P-SV", "vertical_spacing": 20.0}
    planned = craton.plan(plane(-200.0, moment([600.0, -600.0]), domain=domain))  # vertical spacing may be given
    assert planned.grid.vertical is None and "represented 10 m" in str(planned.notes)


@pytest.mark.parametrize(("order", "floor"), cases([(4, -30)], (4, -50), (8, -80)))
def test_water_comes_to_rest_above_a_source_beside_the_floor(order, floor):
    """Static stress of the rock leaves water at rest that is 1.5 to 4 cells deep. It grew without end."""
    asked = plane(floor, moment([800.0, floor - 14.0]), duration=6.0, run={"threads": 1, "order": order})
    velocity = np.abs(ran(asked).velocity.values)
    late = velocity.shape[-1] * 2 // 3
    assert velocity[..., late:].max() < 6e-3 * velocity.max()  # of layers; eddies were 0.2 and more


@pytest.mark.parametrize(("order", "beside"), cases([(4, 13.0)], (4, 55.0), (8, 13.0)))
def test_a_cavity_comes_to_rest_beside_a_source(order, beside):
    """Static stress of rock does not move water behind walls and corners: eddies have no stiffness."""
    cavity = {"shape": "sphere", "center": [800, 0, -500], "radius": 120, **WATER}
    model = {"kind": "homogeneous", "vp": 2500, "vs": 1300, "rho": 2200, "anomalies": [cavity]}
    source = moment([800.0 - 0.8 * (120 + beside), -500.0 + 0.6 * (120 + beside)], xz=1e12, xx=1e12)
    places = [[x, -500.0 + 0.3 * (800 - x)] for x in (720.0, 780.0, 850.0)]
    velocity = np.abs(ran(plane(-200.0, source, 20, 8.0, places, model=model, run={"order": order})).velocity.values)
    *_, third, last = (part.max() for part in np.array_split(velocity, 4, axis=-1))
    assert last < 1e-2 * velocity.max() and last < 0.8 * third


@pytest.mark.parametrize(("level", "at", "quantity"), [(-80, [800, -85], "pressure"), (-60, [800, -65], "strain_rate")])
def test_water_too_thin_for_a_receiver_is_refused(level, at, quantity):
    """Less than a cell has no points; one cell has no derivative along z."""
    ground = {"x": [0, 500, 1100, 1600], "z": [-300, -90, -90, -300]}
    model = {"kind": "homogeneous", **SLOW, "topography": ground, "water": {"level": level, "vp": 1500, "rho": 1000}}
    source, waveforms = moment([400, -700]), {"waveforms": [quantity]}
    tables = box([1600, 1000], 40.0, model, source, 0.1, [at], waves="P-SV", output=waveforms)
    refused(ScenarioError, f"in the fluid around a source or receiver at x = {at[0]}, z = {at[1]} m", ran, tables)


def test_shear_in_the_water_is_refused():
    on_the_floor = craton.plan(plane(-210.0, moment([800.0, -210.0])))  # there it acts on the rock
    assert "in the solid" in str(on_the_floor.notes["Sources"])
    for dz in (1.0, 14.0, 35.0):
        asked = plane(-210.0, moment([800.0, -210.0 + dz]))
        refused(ScenarioError, "shear is not possible in a fluid", craton.plan, asked)


@pytest.mark.parametrize("step", cases([3], 1))
def test_weights_reach_points_of_their_own_side_only(step):
    """Sources and receivers within three cells of the floor, by the places of their tables."""
    floor, output = -210.0, {"output": {"waveforms": ["pressure", "velocity"]}}
    for z in np.arange(-6, 7, step) * 9.7:
        source = moment([800.0, floor + z], xx=1e12, zz=1e12)
        planned = craton.plan(plane(floor, source, places=[[707.0, floor + z]], **output))
        water = floor + z >= floor  # an explosion and a hydrophone on the floor are the water's
        for name in ("stress_target", "sample_source"):
            index = planned.arrays[name].data
            field = (index + planned.layout.first) // planned.layout.field
            heights = planned.grid.axis("z")[planned.layout.place(index)[0]]
            normal = np.isin(field, [2, 3])  # sxx, szz
            assert normal.any() and ((heights[normal] > floor) == water).all(), (z, name)
        assert ((heights[field == 0] > floor) == (z > 0)).all(), z  # vx; on the floor that of the rock


@pytest.mark.parametrize("count", cases([4], 12))
def test_no_shear_is_put_where_a_fluid_touches(count):
    """Sources beside a slope, by the places of their tables: it would stay and drive the water for ever."""
    ground = {"x": [0.0, 600.0, 1000.0, 1600.0], "z": [-150.0, -150.0, -400.0, -400.0]}
    model = {"kind": "homogeneous", **SLOW, "topography": ground, **SEA}
    rng, seen = np.random.default_rng(0), 0
    for x in rng.uniform(560, 1040, count):
        z = float(np.interp(x, ground["x"], ground["z"])) - rng.uniform(2, 60)
        asked = plane(-200.0, moment([x, z], xz=1e12), domain=HIGHER, model=model)
        planned = craton.plan(asked)
        d = build.discretise(asked, planned.grid, [])
        index = planned.arrays["stress_target"].data
        field = (index + planned.layout.first) // planned.layout.field
        k, _, i = (n[field == d.fields.index("sxz")] for n in planned.layout.place(index))
        contents = sides.contents(d, (0, d.grid.shape[0], 0, 1, 0, d.grid.shape[2]))[:, 0]
        assert all((contents[k + n, i + m] == sides.SOLID).all() for n in (0, 1) for m in (0, 1)), (x, z)
        seen += len(k)
    assert seen > 4 * count


def test_explosion_and_hydrophone_exchange_at_the_floor():
    """Reciprocity of pressure: 0.6 of it was missing where the floor counted as rock."""
    places, records = [[500.0, -60.0], [900.0, -210.0]], []
    for here, there in (places, places[::-1]):
        tables = {"output": {"waveforms": ["pressure"]}, "run": {"precision": "float64", "threads": 1}}
        asked = plane(-210.0, explosion(here, ricker(8), 1e9), duration=0.8, places=[there], **tables)
        records.append(ran(asked).pressure.values)
    assert np.abs(records[0] - records[1]).max() < 1e-11 * np.abs(records[0]).max()


@pytest.mark.parametrize("method", cases(["fd"], "sem"))
def test_side_says_where_a_position_on_the_floor_belongs(method):
    """Both methods alike: shear and velocity to the rock, explosions and pressure to the water, unless `side` says otherwise."""
    fine, angles = {"fd": 100, "sem": {"element_size": 200}}[method], {"strike": 10, "dip": 40, "rake": 50}

    def sides(kind, side=None):
        stated = {} if side is None else {"side": side}
        source = explosion([500.0, 500.0, -200.0], {"kind": "gaussian", "tau": 0.1}, **stated) | {"kind": kind}
        source |= angles if kind == "moment_tensor" else {}
        tables = {"method": method, "receivers": [{"name": "A", "at": [400.0, 300.0, -200.0]} | stated]}
        asked = box([1000] * 3, fine, layers(-200.0), source, 0.2, boundaries={"others": "rigid"}, **tables)
        notes = craton.plan(asked).notes
        words = dict(notes["Sources"])["source 1"], dict(notes["Receivers"])["medium"]
        return ["fluid" if "in the fluid" in text else "solid" for text in words]

    assert sides("moment_tensor") == ["solid", "solid"]
    assert sides("explosion") == ["fluid", "solid"]
    assert sides("explosion", "solid") == ["solid", "solid"]
    assert sides("explosion", "fluid") == ["fluid", "fluid"]
    refused(ScenarioError, "shear is not possible in a fluid", sides, "moment_tensor", "fluid")


def test_the_plan_states_the_error_beside_the_floor():
    """And warns of a moment tensor beside a floor in steps."""
    source = moment([800.0, -430.0], ricker(3.16))
    level, thin = (craton.plan(plane(floor, source)) for floor in (-400.0, -90.0))
    assert "off by at most about 4 %" in str(level.notes) and "steps" not in str(level.warnings)
    assert "off by at most about 7.9 %" in str(thin.notes)
    ground = {"topography": {"x": [0.0, 1600.0], "z": [-380.0, -420.0]}}
    model = {"kind": "homogeneous", "vp": 3200.0, "vs": 1800.0, "rho": 2200.0} | ground | SEA
    near, far = (
        craton.plan(plane(-400.0, each, domain=HIGHER, model=model))
        for each in (source, source | {"at": [800.0, -600.0]})
    )
    assert "in steps of whole cells" in str(near.notes) and "about 75 %" in str(near.notes)
    assert any("has steps" in text for text in near.warnings) and not any("has steps" in text for text in far.warnings)


# --- contacts of any shape ---------------------------------------------------------------------------------------------------------------

COUNT = 60  # points of a line
HARD = {"vp": 3000.0, "vs": 1700.0, "rho": 2300.0}


def lines_with_cuts(line):
    """Cuts of random lines, the differences of each and their numbers, (integer points, half points)."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        cuts, out = np.zeros(COUNT, bool), np.zeros((COUNT, COUNT))
        cuts[rng.choice(np.arange(20, 40), rng.integers(1, 8), replace=False)] = True
        codes = line.codes(cuts)
        for n in range(line.size, COUNT - line.size):
            out[n, n - line.size : n + line.size] = line.row(codes[n]) if codes[n] else line.plain()
        yield cuts, out, codes


@pytest.mark.parametrize("normal", [True, False])
def test_no_difference_of_a_line_crosses_a_cut(normal):
    """Its largest singular value is that of the plain scheme; linear motion is differentiated exactly, constant traction too."""
    for order in (4, 6, 8, 16):
        weights, inner = tuple(taylor(order)), slice(order, -order)
        for cuts, matrix, codes in lines_with_cuts(Line(weights, order // 2, normal)):
            part_of_half = 2 * np.cumsum(cuts) - cuts  # a cut lies between two parts
            part_of_integer = 2 * np.append(0, np.cumsum(cuts)[:-1])
            apart = np.abs(part_of_integer[:, None] - part_of_half) > 1
            assert np.abs(matrix[apart & (codes > 0)[:, None]]).max(initial=0) < 1e-12, order
            if normal:
                assert np.allclose((matrix @ np.arange(COUNT))[inner], 1, atol=1e-12), order
            else:
                matrix[:, cuts] = 0
                assert np.abs(matrix.sum(0)[inner][~cuts[inner]]).max() < 1e-12, order
            assert np.linalg.norm(matrix, 2) < 2 * np.abs(weights).sum() * (1 + 1e-9), order


LOSS = {"qp": 60.0, "qs": 30.0, "attenuation": {"band": [0.5, 10]}}
FLAT, CUBE = [800, 800], [400, 400, 400]
MEDIA = {  # size, waves, order, elevation of a level floor in place of cavities, what the rock has besides
    "plane": (FLAT, None, 4, None, {}),
    "plane, order 8": (FLAT, None, 8, None, {}),
    "SH": (FLAT, "SH", 4, None, {}),
    "space": (CUBE, None, 4, None, {}),
    "space, order 6": (CUBE, None, 6, None, {}),
    "Q": (CUBE, None, 4, None, LOSS),
    "level": (FLAT, None, 4, -405.0, {}),
    "level, SH": (FLAT, "SH", 4, -405.0, {}),
    "level in space, order 6": ([400, 400, 800], None, 6, -405.0, {}),
    "level, thin water": (FLAT, None, 4, -45.0, {}),
}
SHORT = [("plane", "free"), ("SH", "rigid"), ("space", "free"), ("level", "free")]
REST = [
    ("level, thin water", "free"),
    *((name, "rigid") for name in ("plane", "level", "level, SH", "level, thin water")),
]
REST += [(name, "free") for name in ("plane, order 8", "space, order 6", "Q", "level in space, order 6")]


def closed(name, top):
    """Rock below a level floor, or with cavities, one of them up to the top, in a rigid box."""
    size, waves, order, floor, more = MEDIA[name]
    half = np.divide(size, 2)
    x, y, z = half[0], 0.0 if len(size) == 2 else half[1], -half[-1]
    cavities = [
        {"shape": "sphere", "center": [x, y, z], "radius": 75.0, **WATER},
        {"shape": "box", "min": [x - 130, y - 90, z + 90], "max": [x - 50, y + 70, 1.0], **WATER},
        {"shape": "box", "min": [x + 50, y - 30, z + 30], "max": [x + 110, y + 50, z + 51], **WATER},
    ]
    model = layers(floor, HARD) if floor else {"kind": "homogeneous", **HARD, **more, "anomalies": cavities}
    corner = [*(0.1 * n for n in size[:-1]), -0.9 * size[-1]]
    source = {"kind": "force", "at": corner, "force": [1, 1, 1], **SILENT}
    faces, run = {"top": top, "others": "rigid"}, {"precision": "float64", "order": order}
    return box(size, 20, model, source, 0.1, waves=waves, boundaries=faces, run=run)


def after(values, axis):
    """Values of the next points along an axis; the last ones repeated."""
    return np.concatenate([np.take(values, range(1, values.shape[axis]), axis), np.take(values, [-1], axis)], axis)


def asymmetry(step, asked, top):
    """Of the step of velocities, with their masses, away from rigid faces: energy is conserved where it is none."""
    rng, d = np.random.default_rng(2), build.discretise(asked, step.plan.grid, [])
    rho, inner, masses = step.program.grid("rho"), np.zeros(step.shape, bool), []
    sides = [slice(9, None if top == "free" else -9), slice(9, -9), slice(9, -9)]
    inner[tuple(side if n > 1 else slice(None) for n, side in zip(step.shape, sides))] = True
    for field in step.velocities:
        mass = (rho + after(rho, 2 - "xyz".index(field[1]))) / 2
        norms = d.norms(np.arange(len(mass)), d.half(field)[2])
        masses.append(np.broadcast_to(mass * norms[:, None, None], step.shape) * inner)
        if top == "free" and field == "vz":
            masses[-1][-1] = 0  # above the surface
    mass = np.concatenate([each.ravel() for each in masses])
    x, y = (rng.standard_normal(len(mass)) * (mass > 0) for _ in range(2))
    off = (mass * x) @ step.twice(y) - (mass * y) @ step.twice(x)
    return abs(off) / (np.linalg.norm(mass * x) * np.linalg.norm(y)), d.floor


@pytest.mark.parametrize(("name", "top"), cases(SHORT, *REST))
def test_contacts_keep_eddies_and_energy(name, top):
    """Stress of the solid moves no point within the fluid, and these strain no solid; the step of velocities is symmetric."""
    asked = closed(name, top)
    step, rng = Step(asked), np.random.default_rng(1)
    fluid = np.isinf(step.program.grid("rmu"))  # cells; and the points of each velocity that lie in the fluid alone:
    inside = {field: fluid & after(fluid, 2 - "xyz".index(field[1])) for field in step.velocities}
    assert fluid.any() and not fluid.all()
    step.clear((*step.velocities, *step.stresses))
    for field in step.stresses:
        solid = ~fluid
        for axis in {2 - "xyz".index(a) for a in field[1:]} if field[1] != field[2] else ():
            solid &= after(solid, axis)
        step.program.grid(field)[...] = rng.standard_normal(fluid.shape) * solid
    step.run("velocity")
    moved = max(np.abs(step.program.grid(field)).max() for field in step.velocities)
    for field, where in inside.items():
        assert np.abs(step.program.grid(field)[where]).max(initial=0) < 1e-12 * max(moved, 1e-300)
    step.clear((*step.velocities, *step.stresses))
    for field, where in inside.items():
        values = step.program.grid(field)
        values[...] = rng.standard_normal(values.shape) * where
    step.run("stress")
    largest = max(np.abs(step.program.grid(field)).max() for field in step.stresses)
    for field in step.stresses:
        normal, stress = field[1] == field[2], np.abs(step.program.grid(field))
        assert (stress[~fluid] if normal else stress).max() < 1e-12 * (largest if normal else max(largest, 1e5))
    if name != "Q":
        off, floor = asymmetry(step, asked, top)
        assert off < 1e-12 and (floor is not None) == (name.startswith("level") and "thin" not in name)


def test_numbers_at_some_points_are_an_array_where_one_is_asked_for():
    whole = np.where(np.random.default_rng(0).random((5, 4, 7)) < 0.3, 3, 0).astype(np.int32)
    places = np.flatnonzero(whole)
    some = Sparse(whole.shape, places, whole.ravel()[places])
    assert np.array_equal(np.ascontiguousarray(some, np.int32), whole)
    for part in (np.s_[1:4, 0:3, 2:7], np.s_[0:5, 2:2, 0:7], np.s_[4:5, 3:4, 6:7]):
        assert np.array_equal(np.asarray(some[part]), whole[part]), part
    assert np.array_equal(some.at(*np.indices(whole.shape)), whole)
