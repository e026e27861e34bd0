"""The Earth model at the nodes of elements, the mesh of a scenario, and the quality of a mesh."""

import numpy as np
import pytest
import xarray as xr
from common import edited, refused
from elementcase import SMALL, Toy, brick

from craton.errors import ScenarioError
from craton.methods.spectral_element.mesh import mesh_statistics
from craton.methods.spectral_element.mesh.placing import Places, place_on_mesh, problems
from craton.model.media import cells, layered, sampling
from craton.model.media.cells import Region
from craton.model.mesh import meshing
from craton.scenario import Homogeneous, Layers, Material, ModelFile, Regions, Scenario, dumps
from craton.survey import receivers

SOFT, ROCK, SEA = ({"vp": vp, "vs": vs, "rho": 2000} for vp, vs in ((2000, 1000), (3000, 1700), (1500, 0)))
CUBE = (200.0, 200.0, 200.0)


def layers(upper, lower, interface=-100, **more):
    """Two layers."""
    return Layers(layers=[upper | {"top": 0}, lower | {"top": interface}], **more)


TWO = layers(SOFT, {"vp": 4000, "vs": 2300, "rho": 2500, "vp_gradient": 0.5})


def sampled(mesh, model, degree=3, **more):
    """The model at the nodes of a mesh, and these nodes' coordinates."""
    at = Toy(mesh, model, degree).coordinates(np.arange(mesh.size))
    return sampling.at_nodes(model, at, mesh.centroids(), **more), at


# --- sampling ---------------------------------------------------------------------------------------------------------------------------


def test_nodes_on_an_interface_take_their_elements_side():
    """Where it is a plane of faces, and where it goes through elements of 67 m, but for 5 % of their height."""
    mesh = brick((2, 2, 4), CUBE)
    samples, at = sampled(mesh, TWO)
    upper = mesh.centroids()[:, 2] > -100
    assert (samples["vp"][upper] == 2000).all() and (samples["rho"][~upper] == 2500).all()
    np.testing.assert_allclose(samples["vp"][~upper], 4000 + 0.5 * (-100 - at[~upper, 2]), rtol=1e-6)
    samples, at = sampled(brick((2, 2, 3), CUBE), TWO)
    clear = np.abs(at[:, 2] + 100) > 4
    assert ((samples["vs"] == 1000) == (at[:, 2] > -100))[clear].all()
    assert set(np.unique(samples["vs"][4:8])) == {1000.0, 2300.0}
    flat = layered.build(TWO)
    low, high = flat.within(np.array([0, 1]))
    assert flat.layer(low[0]) == 0 and flat.layer(high[1]) == 1 and np.isinf(low[1]) and np.isinf(high[0])


def test_layers_that_follow_the_ground_are_whole_although_faces_follow_it_nearly():
    x = np.linspace(0, 600, 61)
    table = {"x": x.tolist(), "z": (20 * np.sin(3 * x / 600)).tolist()}
    model, wide = layers(SOFT, ROCK, follow="surface", topography=table), scenario()
    domain = type(wide.domain)(origin=(0, 0, -400), size=(600, 200, 500), element_size=100)
    mesh = meshing.mesh_of(wide.model_copy(update={"model": model, "domain": domain}))
    samples, centre = sampled(mesh, model)[0], mesh.centroids()
    upper = centre[:, 2] > np.interp(centre[:, 0], table["x"], table["z"]) - 100
    assert upper.any() and not upper.all()
    assert (samples["vs"][upper] == 1000).all() and (samples["vs"][~upper] == 1700).all()


def test_anomalies_and_files_as_in_finite_differences(tmp_path):
    x = np.linspace(0, 300, 7)
    axes = {"z": np.linspace(-200, 0, 5), "y": x, "x": x}
    values = np.broadcast_to(2000 + x, (5, 7, 7))
    fields = {name: (tuple(axes), factor * values) for name, factor in (("vp", 2), ("vs", 1), ("rho", 1))}
    xr.Dataset(fields, axes).to_netcdf(tmp_path / "m.nc")
    slow = {"shape": "box", "min": [0, 0, -200], "max": [100, 300, 0], "dvp": -0.1}
    samples, at = sampled(brick(), ModelFile(file=tmp_path / "m.nc", anomalies=[slow]))
    inside = (at[:, 0] <= 100) & (np.arange(12) % 3 == 0)[:, None]  # the first of three elements along x ends at 100 m
    np.testing.assert_allclose(samples["vs"], 2000 + at[:, 0], rtol=1e-6)
    np.testing.assert_allclose(samples["vp"], 2 * (2000 + at[:, 0]) * np.where(inside, 0.9, 1), rtol=1e-6)


def test_water_lies_in_elements_above_the_ground():
    samples, _ = sampled(brick((2, 2, 4), CUBE), Homogeneous(**ROCK, topography=-100.0, water={"level": 0.0}))
    assert sampling.fluids(samples).sum() == 8 and samples["vp"].min() == 1500 and samples["rho"].min() == 1000
    mesh = brick((2, 2, 3), CUBE)
    (problem,) = sampling.element_problems(sampled(mesh, layers(SEA, ROCK))[0], mesh.centroids())
    assert "element 4 at (50, 50, -100) m is partly fluid and partly solid; 4 elements" in problem.message


def test_regions_have_media_of_their_own():
    mesh = brick((2, 2, 2), CUBE)
    numbers, names = (mesh.centroids()[:, 0] > 100).astype(int), ("rock", "sea")
    own = {"regions": numbers, "region_names": names}
    samples, _ = sampled(mesh, Regions(regions={"rock": ROCK, "sea": SEA}), **own)
    assert (samples["vs"][numbers == 0] == 1700).all() and (sampling.fluids(samples) == (numbers == 1)).all()
    samples, _ = sampled(mesh, Homogeneous(vp=5000, vs=2500, rho=2700, regions={"sea": Material(**SEA)}), **own)
    assert (samples["vs"][numbers == 0] == 2500).all() and (samples["vp"][numbers == 1] == 1500).all()
    wrong = Regions(regions={"rok": ROCK, "sea": SEA | {"vs": 1400}})
    messages = {p.key: p.message for p in sampling.problems(wrong, Region((0, 0, -200), (200, 200, 0)), names)}
    assert 'did you mean "rock"' in messages["model.regions.rok"]
    assert 'the mesh region "rock" has no medium' in messages["model.regions"]
    assert "Poisson" in messages["model.regions.sea.vs"] or "above vp" in messages["model.regions.sea.vs"]


def test_21_constants_of_thomsen_and_of_the_user():
    mesh = brick((2, 2, 4), CUBE)
    own = {f"c{i}{i}": 4e10 for i in range(1, 7)} | {"c16": 1e9}
    thomsen = {"vp": 3000, "vs": 1500, "rho": 2000, "epsilon": 0.1, "delta": 0.05, "gamma": 0.2}
    model = layers(thomsen, {"rho": 2500, "stiffness": own})
    samples, upper = sampled(mesh, model)[0], mesh.centroids()[:, 2] > -100
    c11, c13, c33, c44, c66 = cells.stiffness(3000.0, 1500.0, 2000.0, 0.1, 0.05, 0.2)
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = [[c11, c11 - 2 * c66, c13], [c11 - 2 * c66, c11, c13], [c13, c13, c33]]
    matrix[[3, 4, 5], [3, 4, 5]] = c44, c44, c66
    expected = np.tile(matrix[np.triu_indices(6)], (upper.sum(), 1))
    np.testing.assert_allclose(samples["stiffness"][upper][:, :, 7], expected, rtol=1e-12)
    np.testing.assert_allclose(samples["stiffness"][~upper][0, :, 7], model.layers[1].stiffness.constants)
    assert samples["rho"][~upper].max() == 2500


def test_attenuation_gives_unrelaxed_moduli_and_losses():
    """Complex moduli at the reference frequency have the speeds that were given: real parts of 1 / speed."""
    model = Homogeneous(**ROCK, qp=100, qs=50, attenuation={"band": [0.5, 20], "mechanisms": 3})
    samples, _ = sampled(brick(), model)
    assert (samples["loss_p"] == 0.01).all() and (samples["loss_s"] == 0.02).all()
    fitted = sampling.relaxation(model, sampling.largest_inverse_q(samples))
    moduli, losses = sampling.moduli(samples, fitted)
    kappa, mu = cells.moduli(3000, 1700, 2000)
    loss_kappa = ((kappa + 4 / 3 * mu) * 0.01 - 4 / 3 * mu * 0.02) / kappa
    np.testing.assert_allclose(losses[:, 1], loss_kappa, rtol=1e-12)
    of_mu, of_kappa = fitted.modulus(fitted.frequency, np.array([0.02, loss_kappa]))[:, 0]
    mu_c = moduli[0, 1, 0] * of_mu
    kappa_c = (moduli[0, 0, 0] + 2 / 3 * moduli[0, 1, 0]) * of_kappa
    # P: to first order in the difference of both losses
    for modulus, speed in ((mu_c, 1700), (kappa_c + 4 / 3 * mu_c, 3000)):
        assert 1 / (1 / np.sqrt(modulus / 2000)).real == pytest.approx(speed, rel=1e-4)


def test_slowest_waves():
    vti = {"vp": 3000, "vs": 1500, "rho": 2000, "epsilon": 0.0, "delta": 0.0, "gamma": 0.2}
    solid, fluid, vti = (sampled(brick(), Homogeneous(**medium))[0] for medium in (ROCK, SEA, vti))
    assert (sampling.slowest(solid) == 1700).all() and (sampling.slowest(fluid) == 1500).all()
    np.testing.assert_allclose(sampling.slowest(vti), 1500, rtol=1e-9)
    directions = np.array([[0.0, 0, 1], [1, 0, 0]])
    speeds = sampling.phase_speeds(vti["stiffness"][:1, :, 0], np.array([2000.0]), directions)
    np.testing.assert_allclose(np.sort(speeds[0]), [1500, 1500, 1500, 1500 * np.sqrt(1.4), 3000, 3000], rtol=1e-9)


# --- meshes -----------------------------------------------------------------------------------------------------------------------------


def scenario(**changes):
    """The small case with elements of 500 m."""
    return Scenario(**edited(SMALL, domain__spacing=500, **changes))


def ground(*levels, **more):
    """The small case below a ground of some levels from west to east."""
    topography = {"x": np.linspace(0, 3000, len(levels)).tolist(), "z": levels}
    return scenario(model__topography=topography, **more)


def test_box_with_layers():
    soft = scenario(model=layers(SOFT, ROCK, -700))
    mesh = meshing.mesh_of(soft)
    z = np.unique(mesh.nodes[:, 2])
    assert -700 in z and z[0] == -2500 and z[-1] == 0 and np.diff(z).max() <= 500 and mesh.order == 1
    assert set(np.unique(sampled(mesh, soft.model)[0]["vs"])) == {1000.0, 1700.0}
    # degree 4, 1000 m/s, 5 points a wavelength of 500 m: 100 m apart
    domain = {"origin": (0, 0, -2500), "size": (3000, 3000, 2500), "max_frequency": 2}
    assert meshing.element_size_of(Scenario(**SMALL | {"model": soft.model, "domain": domain})) == 400


def test_topography_bends_the_top():
    hill = ground(-300, -100, -300)
    mesh = meshing.mesh_of(hill)
    low, high = mesh.bounds()
    assert mesh.order == 2 and high[2] == pytest.approx(-100, abs=1) and low.tolist() == [0, 0, -2500]
    placed = place_on_mesh(hill, mesh)
    assert placed.mesh_top is not None and dumps(placed) == dumps(hill) and hill.mesh_top is None


def test_water_needs_a_ground_below_it():
    sea, coast = (ground(-300, east, model__water={"level": -100}) for east in (-200, -50))
    mesh = meshing.mesh_of(sea)
    samples, _ = sampled(mesh, sea.model)
    assert mesh.bounds()[1][2] == -100 and sampling.fluids(samples).any()
    assert not sampling.element_problems(samples, mesh.centroids())
    refused(ScenarioError, "rises to -50 m, above the water at -100 m", meshing.mesh_of, coast)


def test_sources_and_receivers_outside_the_mesh():
    deep, high = [SMALL["source"][0] | {"at": [1500, 1500, -2600]}], [{"name": "A", "at": [2000, 1500, 400]}]
    outside = scenario(source=deep, receivers=high)
    mesh = meshing.mesh_of(outside)
    faults = problems(place_on_mesh(outside, mesh), Places(mesh, np.zeros(mesh.size, bool)))
    assert [p.key for p in faults] == ["source.0.at", "receivers.0.at"] and "400 m from its nearest" in faults[
        1
    ].message


def test_depths_count_from_the_top_of_a_mesh():
    mesh, at = brick((6, 5, 4), (600.0, 500.0, 200.0), bump=20), {"x": 100, "y": 250, "depth": 5}
    scenario = Scenario(**SMALL | {"domain": {"mesh": "m.msh"}, "receivers": [{"name": "A", "at": at}]})
    placed = place_on_mesh(scenario, mesh)
    place = receivers.collect(placed)[0][0][1].xyz[0]
    np.testing.assert_allclose(place, [100, 250, 20 * np.sin(0.5) - 5], rtol=1e-9)
    assert placed.domain.extent == pytest.approx((600, 500, 200 + mesh.bounds()[1][2]))


# --- quality ----------------------------------------------------------------------------------------------------------------------------


def test_quality_of_a_box_and_of_a_worst_element():
    mesh = brick((3, 3, 2), (300.0, 300.0, 100.0))
    medium, slowest = Homogeneous(vp=3000, vs=1500, rho=2000), np.full(mesh.size, 1500.0)
    even = mesh_statistics.Quality(**Toy(mesh, medium).shapes, slowest=slowest, degree=4)
    np.testing.assert_allclose(even.points(5.0), 1500 * 4 / (5 * 100))
    np.testing.assert_allclose(even.aspect, 2)
    np.testing.assert_allclose(even.skewness, 0, atol=1e-12)
    rows = dict(mesh_statistics.quality_report(even, mesh, 5.0))
    assert rows["points per wavelength"].startswith("12.0 at f95 = 5 Hz (ok) in element 0")
    assert "everywhere" in rows["skewness"]
    mesh.nodes[21] += [30, 20, 10]
    bent = mesh_statistics.Quality(**Toy(mesh, medium).shapes, slowest=slowest, degree=4)
    assert bent.jacobian.min() < 0.8 and bent.skewness.max() > 0.2
    assert "element" in dict(mesh_statistics.quality_report(bent, mesh, 5.0))["skewness"]
    assert "under-resolved" in mesh_statistics.quality_warnings(bent, mesh, 50.0)[0]
    assert not mesh_statistics.quality_warnings(bent, mesh, 1.0)
