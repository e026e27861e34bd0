"""The whole Earth as six chunks: what meets what, volume and mass, places all around, modes of spheres, sources on any chunk."""

from collections import namedtuple

import numpy as np
import pytest
from common import misfit, refused, tiers
from earthcase import PREM, RADIUS, volume
from scipy.optimize import brentq, minimize_scalar
from scipy.special import spherical_jn, spherical_yn

import craton
from craton.backends.cpu import CPU
from craton.methods.protocol import Reuse
from craton.methods.spectral_element.build import discretise
from craton.methods.spectral_element.mesh import placing
from craton.methods.spectral_element.space import ElementSpace
from craton.methods.waves.exchange import SingleRank
from craton.methods.waves.problem import Setup, assemble
from craton.model.globe import cubed_sphere, earth_chunk, emc, planet
from craton.model.globe.chunk import chunk
from craton.model.ground import relief
from craton.model.mesh import hexmesh, numbering, shape
from craton.model.mesh.doubling import Layer
from craton.scenario import Scenario
from craton.survey import channels as survey_channels
from craton.survey import receivers as survey_receivers
from craton.validation import spectral
from craton.validation.exact.modes import Waves


@pytest.fixture(scope="module")
def earth():
    """PREM down to the centre, elements growing once, turned so that no edge is on a meridian."""
    globe = chunk(PREM, (30, 20), chunks=6, azimuth=25, bottom="centre", elements=(16, 16), growth=(100e3,))
    return globe, globe.part()


# --- elements ---------------------------------------------------------------------------------------------------------------------------


GROWING = {"elements": (16, 16), "growth": (100e3,)}
MESHES = [  # what is asked for, how often elements grow, least quality
    ({"bottom": "cmb", "elements": (8, 8)}, 0, 0.85),
    ({"bottom": "centre", "elements": (6, 6)}, 0, 0.69),
    ({"bottom": 3500e3, "elliptic": True} | GROWING, 1, 0.4),
    ({"bottom": 4000e3, "chunks": 3} | GROWING, 1, 0.4),
]
LARGE = [
    ({"bottom": "cmb", "chunks": 2} | GROWING, 1, 0.4),
    ({"bottom": "centre", "elements": (32, 32), "growth": (60e3, 700e3)}, 2, 0.4),
    ({"bottom": "centre", "period": 200}, 1, 0.4),
]


@pytest.mark.parametrize("cases", [MESHES, pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"])
def test_all_elements_meet(cases):
    """No node hangs and no Jacobian is negative, on any chunk and across all edges, growing or not; counts are those of the mesh."""
    for asked, growths, least in cases:
        globe = chunk(PREM, **{"chunks": 6} | asked)
        mesh = globe.part().mesh
        assert hexmesh.problems(mesh) == [] and globe.stack.coarsest == (2**growths,) * 2, asked
        assert mesh.size == globe.size and mesh.quality().min() > least, asked
        assert all(numbering.number(mesh.elements, degree).count == globe.stack.points(degree) for degree in (2, 3))
        named = [tuple(row) for rows in mesh.faces.values() for row in rows]
        assert len(named) == len(set(named)) and set(named) == set(
            map(tuple, numbering.boundary_faces(mesh.elements))
        ), asked
        sides = set() if globe.all_chunks == 6 else {"west", "east", "south", "north"}
        assert set(mesh.faces) == {"top"} | sides | ({"bottom"} if globe.radii[0] > 0 else set()), asked
        assert len(mesh.faces["top"]) == globe.all_chunks * globe.stack.edge**2, asked


def test_an_odd_number_of_bricks_is_refused():
    widths = ((2, 2, 2), 2), ((2, 2, 1), 1), ((2, 1, 1), 0)
    layers = tuple(Layer((n, n + 0.5, n + 1), *width, 0, axis, 2) for n, (*width, axis) in enumerate(widths))
    refused(ValueError, "odd", cubed_sphere.CubeStacks, (6, 6), layers)


def test_volume_and_mass(earth):
    """Of the mesh at its GLL points; PREM has 5.974e24 kg and a moment of inertia of 0.3308 of M a^2 (Dziewonski & Anderson 1981)."""
    globe, part = earth  # quadratic faces about a sphere, 7.5 degrees wide
    assert volume(part.mesh) == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=1e-6)
    points = shape.gll_points(4)
    weights = 2 / (20 * np.polynomial.legendre.legval(points, [0, 0, 0, 0, 1]) ** 2)
    xyz = shape.positions(part.mesh.nodes, part.mesh.elements, points)
    rho = earth_chunk.ChunkSampler(globe).at(xyz.swapaxes(1, 2))["rho"]
    mass = rho * shape.determinants(part.mesh.nodes, part.mesh.elements, points)
    mass *= np.einsum("i,j,k->kji", weights, weights, weights).ravel()
    r = np.linspace(0, RADIUS, 200001)
    shells = PREM.parameters((r[1:] + r[:-1]) / 2)[0]
    total, inertia = (f * np.pi * (shells * np.diff(r**n)).sum() for f, n in ((4 / 3, 3), (8 / 15, 5)))
    assert mass.sum() == pytest.approx(total, rel=3e-5) == pytest.approx(5.974e24, rel=1e-3)
    moment = 2 / 3 * (mass * (xyz**2).sum(axis=2)).sum()
    assert moment == pytest.approx(inertia, rel=3e-5)
    assert moment / (mass.sum() * RADIUS**2) == pytest.approx(0.3308, abs=2e-4)
    centre = np.einsum("ep,epx->x", mass, xyz) / mass.sum()
    assert np.allclose(centre, 0, atol=1.0)  # m; the mesh is its own mirror image


def test_elements_lie_on_discontinuities_and_around_the_centre(earth):
    globe, part = earth
    assert globe.radii[0] == 0 and np.allclose(globe.radii[1:], [*PREM.jumps(), RADIUS])
    distance = np.linalg.norm(part.mesh.nodes, axis=1)
    assert distance.min() < 1e-3 and np.allclose(distance, part.radius)
    inner, others = (np.unique(part.mesh.elements[(part.sections > 0) == outer]) for outer in (False, True))
    assert np.allclose(distance[np.intersect1d(inner, others)], globe.radii[1]) and distance[inner].max() < 1221.6e3
    assert part.mesh.region_names[part.mesh.regions[-1]] == "inner_core"


# --- places, figure, what is laid over ---------------------------------------------------------------------------------------------------


def test_places_all_around(earth):
    globe, _ = earth
    rng = np.random.default_rng(3)
    xyz = rng.normal(size=(200, 3))
    xyz *= (rng.uniform(0, RADIUS, 200) / np.linalg.norm(xyz, axis=1))[:, None]
    assert globe.inside(xyz).all() and globe.inside(np.zeros((1, 3))).all()
    assert not globe.inside(np.array([[0, 0, 1.001 * RADIUS]])).any()
    assert np.allclose(globe.place(*globe.whereabouts(xyz)), xyz, atol=1e-3)
    assert np.allclose(globe.place(30, 20), [0, 0, RADIUS], atol=1e-3)
    assert np.allclose(globe.place(-150, -20), [0, 0, -RADIUS], atol=1e-3)
    assert np.allclose(globe.axes(-150, -20)[:, 2], [0, 0, -1], atol=1e-9)
    for chart in globe.charts:  # each chunk's sides meet those of others
        assert globe.inside(0.9 * RADIUS * chart(np.array([0.0, np.pi / 4]), np.array([0.0, np.pi / 4]))).all()
    xi, eta = np.array([[-1, 1, 1], [1, 1, -1]]) * np.pi / 4
    corners = np.concatenate([chart(xi, eta) for chart in globe.charts])
    assert len(np.unique(np.round(corners, 9), axis=0)) <= 8


def test_three_chunks_are_what_they_say():
    chunks = chunk(PREM, (10, 0), chunks=3, elements=(4, 4), bottom=600e3, azimuth=0, geographic=False)
    longitude, latitude = [10, 100, 10, 100, -80, 10, -170], [0, 0, 80, 60, 0, -60, 0]
    assert chunks.inside(chunks.place(longitude, latitude, 1e3)).tolist() == 4 * [True] + 3 * [False]
    part = chunks.part()
    centroids, mesh = part.mesh.centroids(), part.mesh
    assert chunks.inside(0.99 * centroids[part.sections == part.sections.max()]).all()
    west = chunks.frame.degrees(mesh.nodes[mesh.elements[mesh.faces["west"][:, 0], 12]])[0]
    assert np.allclose(west[np.abs(west + 35) < 5], -35) and chunks.frame.degrees(centroids)[1].max() > 70
    globe = placing.geography.Globe(chunks)
    assert "none of the 3 chunks" in globe.outside(chunks.place(-80, 0, 1e3))[0][1]
    assert globe.outside(chunks.place(100, 0, 1e3)) == []


def test_flattened_with_topography_and_perturbation():
    """The figure's poles and equator; elevations of a grid of cells, up to the poles; a model laid over all around."""
    lon, lat = np.arange(-175.0, 180, 10), np.arange(-85.0, 90, 10)
    ground = relief.Relief(lon, lat, 1000 + 10 * lat[:, None] + 300 * np.cos(np.radians(lon)))
    globe = chunk(PREM, chunks=6, bottom="centre", elements=(8, 8), elliptic=True, topography=ground)
    part = globe.part()
    mesh, top = part.mesh, part.radius == RADIUS
    assert shape.determinants(mesh.nodes, mesh.elements, shape.gll_points(4)).min() > 0
    longitude, latitude = globe.frame.degrees(mesh.nodes[top])
    height = np.linalg.norm(mesh.nodes[top], axis=1) - ground(longitude, latitude)
    square = np.sin(np.radians(planet.geocentric(latitude))) ** 2
    assert np.allclose(height, RADIUS * (1 - planet.FLATTENING * (square - 1 / 3)), atol=1e-3) and latitude.max() > 89.9
    assert ground(np.array([0.0]), np.array([90.0]))[0] == pytest.approx(ground(0.0, 85.0))
    over = emc.Geographic(lon, lat, np.array([0.0, 3000e3]), {"vs": np.full((2, len(lat), len(lon)), 0.02)}, {})
    coordinates = shape.positions(mesh.nodes, mesh.elements, shape.gll_points(2)).swapaxes(1, 2)
    plain, changed = (earth_chunk.ChunkSampler(globe, laid).at(coordinates)["vs"] for laid in (None, over))
    depth = RADIUS - globe.undone(np.moveaxis(coordinates, 1, -1))
    mantle = (plain > 0) & (np.abs(depth - 3000e3) > 2e3)
    assert np.allclose(changed[mantle], (plain * np.where(depth > 3001e3, 1.0, 1.02))[mantle], rtol=1e-12)


# --- waves ------------------------------------------------------------------------------------------------------------------------------

AXIS = np.array([0.3, -0.5, 0.8])


Shell = namedtuple("Shell", "low high vp vs rho")  # uniform, between two radii
SOLID = (Shell(0, RADIUS, 9000.0, 5000.0, 4500.0),)
CORES = (
    Shell(0, 1500e3, 11000.0, 3500.0, 12000.0),
    Shell(1500e3, 3500e3, 9000.0, 0.0, 10000.0),
    Shell(3500e3, RADIUS, 11500.0, 6300.0, 4800.0),
)


class Breathing:
    """1S0, radial, of shells, fluid or solid: u_r = -k (A j1(k r) + B y1(k r)) in each, k = omega / vp, a root of a determinant."""

    def __init__(self, shells):
        self.shells = shells
        trial = np.linspace(1e-3, 1.2e-2, 500)
        at = np.flatnonzero(np.diff(np.sign([np.linalg.det(self.matrix(w)[0]) for w in trial])))[1]
        self.omega = brentq(lambda w: np.linalg.det(self.matrix(w)[0]), trial[at], trial[at + 1])
        matrix, scale = self.matrix(self.omega)
        self.weights = np.linalg.svd(matrix)[2][-1] / scale
        self.weights = self.weights / self.weights[0]
        if shells == SOLID:  # Lamb 1882
            x, ratio = self.omega * RADIUS / SOLID[0].vp, SOLID[0].vp / SOLID[0].vs
            assert x / np.tan(x) == pytest.approx(1 - (x * ratio / 2) ** 2)

    def terms(self, omega, n, r):
        """u_r and radial stress of both functions of a shell at r (the centre has one): (2, 2 or 1)."""
        s = self.shells[n]
        k, mu, rows = omega / s.vp, s.rho * s.vs**2, []
        lam = s.rho * s.vp**2 - 2 * mu
        for f in (spherical_jn, spherical_yn)[: 2 if n else 1]:
            u = -k * f(1, k * r)
            solid = -(lam + 2 * mu) * k**2 * f(1, k * r, derivative=True) + 2 * lam * u / r
            rows.append((u, solid if s.vs else -s.rho * omega**2 * f(0, k * r)))
        return np.array(rows).T

    def matrix(self, omega):
        """Continuity between shells and no stress at the surface, rows and columns scaled; and the columns' scale."""
        count = 2 * len(self.shells) - 1
        out = np.zeros((count, count))
        for n, s in enumerate(self.shells[:-1]):
            out[2 * n : 2 * n + 2, max(2 * n - 1, 0) : 2 * n + 1] = self.terms(omega, n, s.high)
            out[2 * n : 2 * n + 2, 2 * n + 1 : 2 * n + 3] = -self.terms(omega, n + 1, s.high)
        out[-1, -2 if count > 1 else -1 :] = self.terms(omega, len(self.shells) - 1, RADIUS)[1]
        out /= np.abs(out).max(axis=1, keepdims=True)
        scale = np.abs(out).max(axis=0)
        return out / scale, scale

    def function(self, n, order, r):
        """Of a shell's two functions, with their weights."""
        k, weights = self.omega / self.shells[n].vp, self.weights[max(2 * n - 1, 0) : 2 * n + 1]
        return sum(w * f(order, k * r) for w, f in zip(weights, (spherical_jn, spherical_yn)))

    def displacement(self, xyz):
        """In the solid shells, of which a fluid one may part two: elements of 27 nodes reach some km beyond their planet."""
        r = np.maximum(np.linalg.norm(xyz, axis=1), 1.0)
        out, last = np.zeros_like(r), len(self.shells) - 1
        core = r < (self.shells[-1].low + self.shells[0].high) / 2 if last else r < 0
        for n, here in ((0, core), (last, ~core)):
            out[here] = -self.omega / self.shells[n].vp * self.function(n, 1, r[here])
        return (out / r)[:, None] * xyz

    def potential(self, xyz):
        """rho phi in the fluid shell."""
        return self.shells[1].rho * self.function(1, 0, np.maximum(np.linalg.norm(xyz, axis=1), 1.0))


class Mantle:
    """The lowest mode of degree 2 of PREM's mantle and crust, free at the core and the surface, by `validation.modes`."""

    def __init__(self, kind):
        waves = Waves(PREM, kind, 2891e3)
        omega, _, shapes = waves.lowest(2.0)
        self.omega, self.radii, self.shapes = omega[0], waves.radii, shapes[:, :, 0].T

    def displacement(self, xyz):
        """W C, or U P + V B, of the harmonic Y = (a r)^2 - 1/3 (Dahlen & Tromp 1998, eq. 8.36)."""
        axis, r = AXIS / 0.98**0.5, np.linalg.norm(xyz, axis=1)
        radial = xyz / r[:, None]
        cosine = (radial @ axis)[:, None]
        slope = 2 * cosine * (axis - cosine * radial) / 6**0.5
        *u, w = (np.interp(r, self.radii, row)[:, None] for row in self.shapes)
        return u[0] * (cosine**2 - 1 / 3) * radial + w * slope if u else w * np.cross(slope, radial)


def scenario_of(shells, folder, domain, **more):
    """A run on the whole of some shells; on PREM where there are none."""
    rows = [f"{RADIUS - r},{s.vp},{s.vs},{s.rho}\n" for s in shells[::-1] for r in (s.high, s.low)]
    (folder / "shells.csv").write_text("depth,vp,vs,rho\n" + "".join(rows))
    model = {"kind": "radial", "file": str(folder / "shells.csv")} if shells else {"kind": "prem"}
    places = [(12, 25, 4e5), (50, 30, 0), (-60, 10, 0), (110, -70, 1e6), (-168, -25, 0), (-150, -10, 0)]
    focus, *stations = ({"at": dict(zip(("longitude", "latitude", "depth"), place))} for place in places)
    source = focus | {"kind": "moment_tensor", "strike": 30, "dip": 60, "rake": 70, "moment": 1e20}
    source["wavelet"] = {"kind": "gaussian", "tau": 120}
    receivers = [{"name": f"R{n}"} | station for n, station in enumerate(stations)]
    domain = {"chunk": {"chunks": 6, "bottom": "centre", "geographic": False, **domain}}
    return Scenario(method="sem", domain=domain, model=model, source=[source], receivers=receivers, **more)


def mounted(scenario):
    """The scenario on its mesh, discretised, its plan without sources, its receivers."""
    scenario, own = placing.place_on_earth(scenario, SingleRank())
    d, receivers = discretise(scenario, own, [], SingleRank(), CPU(threads=1)), survey_receivers.build(scenario)
    channels = survey_channels.channels(len(receivers), ("velocity",))
    return (
        scenario,
        d,
        assemble(Setup(ElementSpace(d), scenario, [], receivers, channels, []), Reuse(keep=False)),
        receivers,
    )


RINGING = {  # shells, periods, domain; greatest error of the frequency and of velocity (relative L2)
    "fluid core, 630 s": (CORES, 1.0, {"elements": (6, 6)}, 1e-4, 1e-2),
    "growing": (SOLID, 0.4, {"elements": (12, 12), "growth": [100e3]}, 5e-4, 5e-3),
}


@pytest.mark.parametrize("name", tiers(RINGING, "fluid core, 630 s"))
def test_spheres_ring(tmp_path, name):
    """1S0 from its own shape: its frequency, of which 0.01 % would be seen, and its motion. With a fluid core both fluid boundaries and
    the cube about the centre take part; growing elements stand in three layers, across all edges between chunks.
    """
    shells, length, domain, most, strayed = RINGING[name]
    mode = Breathing(shells)
    time = {"start": 0, "duration": length * 2 * np.pi / mode.omega}
    more = {"time": time, "output": {"waveforms": ["velocity"]}, "run": {"precision": "float64"}}
    scenario, d, planned, receivers = mounted(scenario_of(shells, tmp_path, domain, **more))
    dt = planned.dt
    before = (1 - np.cos(2 * np.arcsin(mode.omega * dt / 2))) / dt  # leapfrog: velocity half a step before 0, over u_0
    start = mode.displacement(spectral.positions(d))
    fields = {"displacement": start, "velocity": before * start}
    if d.state.fluid:
        potential = mode.potential(spectral.positions(d, True))
        fields |= {"potential": potential, "potential_rate": before * potential}
    for values in fields.values():
        values[-1] = 0  # the dummy point
    records = spectral.recorded(scenario, planned, "cpu", fields)

    def series(factor):
        return np.diff(np.cos(2 * np.arcsin(factor * mode.omega * dt / 2) * np.arange(len(records) + 1))) / dt

    def off(factor):
        times = series(factor)
        return np.linalg.norm(records - np.outer(times, times @ records / (times @ times)))

    error = minimize_scalar(off, bounds=(0.98, 1.02), method="bounded", options={"xatol": 1e-8}).x - 1
    assert abs(error) < most and misfit(records, np.outer(series(1.0), mode.displacement(receivers.xyz))) < strayed


@pytest.mark.parametrize(("kind", "period"), [("love", 2614), ("rayleigh", 3230)])
def test_modes_of_the_mantle(tmp_path, kind, period):
    """The gravest toroidal and spheroidal mode of PREM's mantle with all its discontinuities, without gravity: Rayleigh's quotient of their
    shapes, u K u / u M u, from the first step. Faces lie where gradients change, too: without them 0T2 is 0.1 % too low."""
    mode = Mantle(kind)
    assert 2 * np.pi / mode.omega == pytest.approx(period, abs=1)  # 0T2 observed, with dispersion: 2640 s
    domain = {"elements": (4, 4), "bottom": "cmb", "honour": (80e3, 600e3, 771e3, 2741e3)}
    scenario = scenario_of((), tmp_path, domain, time={"start": 0, "duration": 10}, run={"precision": "float64"})
    _, d, planned, _ = mounted(scenario)
    u = mode.displacement(spectral.positions(d)[:-1])
    program = spectral.begun(planned, "cpu", {"displacement": np.concatenate([u, np.zeros((1, 3))])})
    program.step(0)
    rate = program.host("velocity").reshape(-1, 3)[:-1] / planned.dt
    mass = 1 / program.host("inverse_mass")[: len(u), None]
    assert np.sqrt(-(u * mass * rate).sum() / (u * mass * u).sum()) == pytest.approx(mode.omega, rel=1e-4)


def test_a_mesh_turned_by_a_right_angle_is_the_same(tmp_path):
    """To rounding, at five stations up to the antipode."""
    more = {"time": {"start": -360, "duration": 60}, "output": {"waveforms": ["displacement"], "sampling": 5}}
    domains = ({"elements": (4, 4)} | turn for turn in ({}, {"longitude": 90, "latitude": 0}))
    runs = (craton.run(scenario_of(CORES, tmp_path, domain, **more), "cpu", progress=False) for domain in domains)
    first, turned = (run.dataset for run in runs)
    assert first.distance[3] == pytest.approx(180, abs=1e-3) and np.allclose(first.distance, turned.distance, atol=1e-6)
    assert misfit(turned.displacement, first.displacement) < 2e-5
