"""Long runs of spectral elements, as data: small meshes, absorbing faces on all sides but the top."""
from dataclasses import dataclass, field, replace

import numpy as np

from craton.scenario import SpectralScenario
from craton.validation.stability_cases import LOSSY, MOMENT, ROCK, SHEAR, WATER, layers, medium, uniform

ABSORBING = ("stacey", "pml")  # kinds of absorbing faces that are tried in every row
LAMB = {"vp": 2450.0, "vs": 980.0, "rho": 2000.0}


@dataclass(frozen=True)
class SpectralRun:
    """A row: a medium in a mesh, and how it is run.

    Parameters
    ----------
    what : str
        In words.
    model : dict
        Table of the scenario.
    edge : float
        Edge of an element, m.
    frequency, depth : float
        Peak frequency of the Ricker wavelet, Hz; depth of the source, m.
    elements : tuple of int
        Elements along x, y and z.
    boundaries, run : dict
        Tables of the scenario, where they are not the default.
    domain : dict, optional
        Table of the scenario in place of a box about x = y = 0.
    at : optional
        Place of the source in place of one below the middle.
    absorbing : str
        Kind of the faces that are not named.
    trapped : bool
        The structure keeps waves: they are compared with those in a wide box.
    """

    what: str
    model: dict
    edge: float
    frequency: float
    depth: float
    elements: tuple = (10, 10, 8)
    boundaries: dict = field(default_factory=dict)
    run: dict = field(default_factory=dict)
    domain: dict | None = None
    at: object = None
    absorbing: str = "stacey"
    trapped: bool = False
    shapes: tuple = ("space",)
    ranks: int = 1
    method = "sem"

    @property
    def layer(self):
        """Width along the sides, m, that waves in a wide box are compared without: three elements."""
        return 3 * self.edge

    def scenario(self, folder=None, shape="space", wide=1):
        """The SpectralScenario of the row, its box so many times as wide; its duration means nothing."""
        size = self.edge * np.array(self.elements) * (wide, wide, 1)
        domain = self.domain or {"origin": [*(-size[:2] / 2), -size[2]], "size": size.tolist(), "spacing": self.edge}
        source = {"kind": "moment_tensor", "tensor": MOMENT | SHEAR, "at": self.at or [0.3 * self.edge, -0.2 * self.edge, -self.depth]}
        boundaries = {"top": "free", "others": self.absorbing, **self.boundaries}
        return SpectralScenario(method="sem", title=self.what, domain=domain, model=dict(self.model), time={"duration": self.edge},
                                boundaries=boundaries, run=dict(self.run), source=[source | {"wavelet": self.wavelet}])  # fmt: skip

    @property
    def wavelet(self):
        """Table of the wavelet."""
        return {"kind": "ricker", "frequency": self.frequency}


SOFT_OCEAN = layers((0, WATER), (-300, medium(300.0, 5.0, 1700.0)), (-450, ROCK))
TWO_LAYERS = layers((0, {"vp": 4200.0, "vs": 2422.0, "rho": 2300.0}), (-1400, {"vp": 6000.0, "vs": 3460.0, "rho": 2700.0}))
LOSSY_ROCK = uniform(**ROCK, qp=100.0, qs=50.0, **LOSSY)
SMALL_CHUNK = {"chunk": {"longitude": 20.0, "latitude": 40.0, "width": [12, 12], "period": 120, "bottom": "900 km"}}
BELOW = {"longitude": 20.4, "latitude": 40.3, "depth": "150 km"}

TABLE = {
    "cubes": SpectralRun("cubes of 20 m, vp/vs 2.5", uniform(**LAMB), 20.0, 12.0, 70.0),
    "cubes-8": SpectralRun("cubes of 40 m, vp/vs 2.5, degree 8", uniform(**LAMB), 40.0, 12.0, 70.0, (9, 9, 6), run={"degree": 8}),
    "two-layers": SpectralRun("two layers", TWO_LAYERS, 350.0, 2.0, 1700.0, (12, 12, 8)),
    "ocean": SpectralRun("300 m of water, 150 m of Vs 300, rock", SOFT_OCEAN, 75.0, 1.5, 480.0, (12, 12, 10), trapped=True),
    "plate": SpectralRun("homogeneous, free top and rigid bottom", uniform(**ROCK), 100.0, 5.0, 310.0, boundaries={"bottom": "rigid"}),
    "ratio-10": SpectralRun("homogeneous, vp/vs 10", uniform(**medium(300.0, 10.0)), 50.0, 2.0, 130.0),
    "slow-over-fast": SpectralRun("slow over fast, Vs 350 over 3500", layers((0, medium(350.0, 2.0)), (-200, medium(3500.0, 1.72))), 50.0,
                                  2.5, 260.0, (14, 14, 10), trapped=True),
    "fast-over-slow": SpectralRun("fast layer over slow, Vs 3500 over 600", layers((0, medium(3500.0)), (-300, medium(600.0))), 75.0, 3.0,
                                  160.0),
    "lossy": SpectralRun("homogeneous, Qs 50", LOSSY_ROCK, 100.0, 5.0, 310.0),
    "chunk": SpectralRun("PREM in a chunk of 12 x 12 degrees", {"kind": "prem"}, 100e3, 1 / 150, 150e3, domain=SMALL_CHUNK, at=BELOW,
                         boundaries={"pml": {"width": 300e3}}),
}  # fmt: skip
ROWS = {f"sem-{name}-{kind}": replace(row, absorbing=kind) for kind in ABSORBING for name, row in TABLE.items()}
