"""Oblique plane waves in layers with a free surface: the response against closed forms, runs against the response."""

import numpy as np
import pytest
from common import misfit
from injectioncase import BOX, ROCK, RUN, STACK, WAVELET, exact, flat, problems, section, untold

import craton
from craton.driver.run import plan
from craton.methods.waves.coupling.oblique import plane_incident, stack_of
from craton.survey.layered_response import Stack, response

HALF = Stack(*(np.array([v], float) for v in (0, 3000, 1700, 2400)))
SLOW = WAVELET | {"frequency": 1.0}
OMEGA = 2 * np.pi * np.linspace(0.1, 20, 50)


def test_a_layer_amplifies_sh_as_haskell_says():
    """Haskell (1960): 2 / sqrt(cos^2 + (Z1 / Z0)^2 sin^2), Z = mu q."""
    p = np.sin(0.5) / 1800
    above, below = (np.sqrt(1 / c**2 - p**2) for c in (1100, 1800))
    ratio, phase = 2000 * 1100**2 * above / (2300 * 1800**2 * below), OMEGA * above * 400
    expected = 2 / np.sqrt(np.cos(phase) ** 2 + (ratio * np.sin(phase)) ** 2)
    assert np.allclose(abs(response(STACK, "SH", p, OMEGA).at(0.0, "t")), expected, rtol=1e-12)


def test_the_free_surface_moves_as_its_coefficients_say():
    """Of P and SV on a half-space (Kennett 1991, Geophys. J. Int. 104, 153)."""
    for wave, speed in (("P", 3000), ("SV", 1700)):
        p = np.sin(0.4) / speed
        qa, qb = (np.sqrt(1 / c**2 - p**2) for c in (3000, 1700))
        shear = 1 / 1700**2 - 2 * p**2
        c = 2 / 1700**2 / (shear**2 + 4 * p**2 * qa * qb)
        expected = {
            "P": (2 * c * 3000 * p * qa * qb, c * 3000 * qa * shear),
            "SV": (c * 1700 * qb * shear, -2 * c * 1700 * p * qa * qb),
        }[wave]
        motion = response(HALF, wave, p, OMEGA[:1])
        assert np.allclose([motion.at(0.0, name)[0] for name in "rz"], expected, rtol=1e-12)


def test_tractions_are_continuous_and_vanish_at_the_surface_also_beyond_the_critical_angle():
    for wave, p in (("P", 1 / 5000), ("SV", 1 / 2500), ("SV", 1 / 5000), ("SH", 1 / 2500), ("SH", 1 / 5000)):
        motion = response(STACK, wave, p, OMEGA)
        for name in ("rz", "zz", "tz"):
            size = max(np.abs(motion.at(z, name)).max() for z in (-100.0, -300.0))
            assert np.abs(motion.at(0.0, name)).max() <= 1e-9 * size, (wave, p, name)
            jump = motion.at(-400.0, name) - motion.at(-400.0 - 1e-9, name)
            assert np.abs(jump).max() <= 1e-6 * max(size, 1e-30), (wave, p, name)


def layers(*rocks, **more):
    """A model of layers."""
    return {"model": {"kind": "layers", "layers": [*rocks]} | more}


def errors(wave, incidence, stack=STACK, **changes):
    """Of a run of the section: misfits (relative L2) at its receivers inside, and what leaves, over the largest value inside."""
    velocity, misfits = craton.run(flat(wave, incidence, **changes), progress=False).dataset.velocity, []
    names = {"E": ("r", 1), "N": ("t", -1), "Z": ("z", 1)}  # SH moves to the right of +x
    components, signs = zip(*(names[str(c)] for c in velocity.component.values))
    for name, along, z in (("in", 220, 0.0), ("deep", -200, -700.0)):
        expected = exact(velocity.time.values, along, z, components, wave, incidence, stack)[..., 0]
        expected *= np.array(signs)[:, None]
        misfits.append(misfit(velocity.sel(receiver=name).values, expected))
    return misfits, np.abs(velocity.sel(receiver="out").values).max() / np.abs(expected).max()


def test_the_ground_is_that_of_the_layer_at_the_surface():
    """With layers above it, or where the first one begins below it: waves were those of the first layer."""
    soft = {"top": 500, "vp": 900, "vs": 400, "rho": 1500}
    for above, top in (([soft], 100), ([soft, soft | {"top": 300}], 0), ([], -50)):
        stack, problems = stack_of(flat("P", 25, **layers(*above, ROCK[0] | {"top": top}, ROCK[1])), "", BOX["from"])
        assert not problems and all(np.array_equal(getattr(stack, name), v) for name, v in vars(STACK).items()), top


@pytest.mark.parametrize("wave, incidence", [pytest.param("P", 25, marks=pytest.mark.long), ("SV", -20), ("SH", 30)])
def test_finite_differences_have_the_exact_response(wave, incidence):
    misfits, out = errors(wave, incidence, run=RUN)
    assert max(misfits) < 0.012
    assert out < 0.01


@pytest.mark.long
def test_a_half_space_is_right_on_a_coarse_grid():
    """On 40 m to 0.14 %: what else misses is an interface of the grid, halfway between points."""
    stack = Stack(np.zeros(1), *(getattr(STACK, name)[:1] for name in ("vp", "vs", "rho")))
    domain = {"origin": [0, -1520], "size": [3000, 1520], "spacing": 40, "waves": "P-SV"}
    boundaries = {"cpml": {"thickness": 8, "frequency": 2.0}}
    misfits, _ = errors("SV", -20, stack, domain=domain, boundaries=boundaries, **layers(ROCK[1] | {"top": 0}))
    assert max(misfits) < 2e-3


def space(**changes):
    """Tables of the layers in spectral elements, a wave that travels to the north-east, as long as five elements or more."""
    entry = {"wave": "SV", "azimuth": 60, "incidence": 20, "at": [1500, 800, -1000], "wavelet": SLOW}
    return {
        "method": "sem",
        "domain": {"origin": [0, 0, -1600], "size": [2400, 2000, 1600], "element_size": 400},
        "model": {"kind": "layers", "layers": ROCK},
        "time": {"duration": 1.3},
        "injection": [entry | {"from": [800, 800, -1200], "to": [1600, 1600, 0]}],
        "receivers": [{"name": "in", "at": [1320, 1050, 0]}, {"name": "out", "at": [2200, 900, 0]}],
        "boundaries": {"top": "free", "others": "stacey"},
        "run": RUN | {"degree": 4},
    } | changes


def test_elements_have_the_exact_response_in_space():
    velocity = craton.run(craton.Scenario(**space()), progress=False).dataset.velocity
    travel = np.array([np.sin(np.pi / 3), np.cos(np.pi / 3)])
    along = travel @ [1320 - 1500, 1050 - 800]
    radial, up = exact(velocity.time.values, along, 0.0, "rz", "SV", 20, frequency=1.0)[..., 0]
    expected = np.array([*np.outer(travel, radial), up])
    assert misfit(velocity.sel(receiver="in").values, expected) < 5e-3
    assert np.abs(velocity.sel(receiver="out").values).max() < 2e-3 * np.abs(expected).max()


def test_the_azimuth_of_the_model_is_taken_off():
    turned = space()
    turned["domain"] |= {"geographic": {"longitude": 11, "latitude": 48, "azimuth": 25}}
    turned["injection"][0] |= {"azimuth": 60 + 25}
    cases = [craton.Scenario(**tables) for tables in (space(), turned)]
    assert np.allclose(*(plane_incident(case, "", case.injection[0])[0].travel for case in cases))


def test_a_box_of_elements_may_end_at_an_interface():
    """Where the layers around it are those above or below, and no mean of both."""
    tables = space()
    tables["injection"][0] |= {"from": [800, 800, -400]}
    assert plan(craton.Scenario(**tables | {"receivers": [{"name": "in", "at": [1320, 1050, -170]}]})).steps


BLOCK = {"shape": "box", "min": [500, -10, -300], "max": [900, 10, -100], "dvs": -0.2}
SPACED = {"origin": [0, -1500], "size": [3000, 1500], "spacing": 20, "waves": "SH"}
IN_SPACE = {"wave": "P", "from": [600, 0, -1000], "to": [2400, 1, 0], "wavelet": WAVELET}
LATE = {"time": {"duration": 1.6, "start": 0.2}}


WRONG = [  # changes of the section, the key that is told, words of the message
    (layers(ROCK[0] | {"vp_gradient": 0.1}, ROCK[1]), "injection.0", "gradients"),
    (layers(ROCK[0] | {"vs": 0}, ROCK[1]), "injection.0", "fluid"),
    ({"boundaries": {"top": "cpml"}}, "injection.0", 'not "free"'),
    (layers(*ROCK, anomalies=[BLOCK]), "injection.0", "touches the sides"),
    (LATE, "time.start", "reaches the box at"),
    ({"domain": SPACED}, "injection.0.wave", "P waves do not move as SH"),
    ({"injection": [IN_SPACE]}, "injection.0.to", "has 3 numbers"),
]


def test_what_does_not_fit_is_told_before_anything_runs():
    assert untold(*((section("P", 25, **changes), key, words) for changes, key, words in WRONG)) == []


def test_both_remedies_of_a_run_that_begins_too_late_help():
    """A run without start begins before the wave, and so does a wave with a later delay."""
    coarse = {"domain": SPACED | {"spacing": 25, "waves": "P-SV"}}
    assert plan(flat("P", 25, **coarse)).steps
    remedy = problems(section("P", 25, **coarse, **LATE), "remedy")["time.start"]
    more = float(remedy.rpartition("by ")[2].partition(" s")[0])
    wave = {"wave": "P", **BOX, "incidence": 25, "at": [1500, -1000], "wavelet": WAVELET | {"delay": more}}
    assert plan(flat("P", 25, **coarse, **LATE, injection=[wave])).steps


def test_the_ground_is_flat_around_the_box():
    axis = [0, 900, 1200, 1500, 2400]
    height = np.full((5, 5), -80.0)
    height[2, 2] = 0.0
    hill = {"x": axis, "y": [0, 900, 1200, 1500, 2000], "z": height.tolist()}
    ridge = {"x": axis, "z": [-80, -80, 0, -80, -80]}
    under = {"receivers": [{"name": "in", "at": [1320, 1050, -200]}]}
    assert untold((space(**layers(*ROCK, topography=ridge), **under), "", "not flat")) == []
    planned = plan(craton.Scenario(**space(**layers(*ROCK, topography=hill), **under)))
    assert "plane SV wave, 20 degrees" in dict(planned.notes["Sources"])["injection"]
