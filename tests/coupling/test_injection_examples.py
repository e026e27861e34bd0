"""The examples of injection in small forms: a mountain under a plane P wave, soil in a box of a region."""

import numpy as np
import pytest
from pointcase import example

import craton


@pytest.mark.long
def test_a_mountain_scatters_and_amplifies():
    """On flat ground the plane wave is the exact one; on the summit it is larger, and waves leave the box."""
    module = example("teleseism_mountain")
    size = {"length": 10_800, "width": 10_800, "depth": 4500, "element": 900, "stations": 25, "duration": 2.5}
    small = module.Section(**size, height=700, reach=850, stretch=1.0, frequency=0.7)
    result = craton.run(small.scenario(), progress=False)
    x, ratio = module.amplification(small, result)
    velocity = result.dataset.velocity.sel(component="Z")
    outside = np.abs(velocity.x.values) > small.box[0] + small.element
    flat = small.on_flat_ground(velocity.time.values, 0.0)
    assert 1.1 < ratio[1].max() < 2 and abs(x[ratio[1].argmax()]) < 500
    scattered = np.abs(velocity.values[outside]).max() / np.abs(flat).max()
    assert 0.02 < scattered < 0.4


@pytest.mark.long
def test_soil_in_a_box_resonates(tmp_path):
    """Between vs / 4h of a layer as thick, 0.75 Hz, and twice as much."""
    module = example("soil_box")
    size = {"length": 6000, "width": 4440, "depth": 3600, "spacing": 120, "margin": 1280}
    site = {"half": 640, "bottom": -400, "sampling": 160, "fine": 80, "radius": 480, "thickness": 200}
    small = module.Site(**size, **site, stations=9, duration=2.8, source=(-1800, -300, -1300))
    rock, soil = module.run(small, tmp_path)
    frequency, ratio = module.spectral_ratio(rock, soil)
    band = (frequency > 0.4) & (frequency < 2.0)
    middle = ratio[small.stations // 2, band]
    assert 0.75 < frequency[band][middle.argmax()] < 1.5
    assert middle.max() > 2
