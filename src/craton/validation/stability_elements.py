"""Long runs of spectral elements, as data: small meshes, absorbing faces on all sides but the top."""

from dataclasses import dataclass, field, replace

import numpy as np

from craton.scenario import SpectralScenario
from craton.validation.stability_cases import DATA, MOMENT, SHEAR, rows_of

ABSORBING = ("stacey", "pml")  # kinds of absorbing faces that are tried in every row


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
    source : dict, optional
        Kind and strength of the source in place of a double couple beside a moment.
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
    source: dict | None = None
    absorbing: str = "stacey"
    trapped: bool = False
    shapes: tuple = ("space",)
    ranks: int = 1
    method = length = "sem"
    kept = False

    @property
    def layer(self):
        """Width along the sides, m, that waves in a wide box are compared without: three elements."""
        return 3 * self.edge

    def scenario(self, folder=None, shape="space", wide=1):
        """Return the SpectralScenario of the row, its box so many times as wide; its duration means
        nothing.
        """
        size = self.edge * np.array(self.elements) * (wide, wide, 1)
        domain = self.domain or {"origin": [*(-size[:2] / 2), -size[2]], "size": size.tolist(), "spacing": self.edge}
        kind = self.source or {"kind": "moment_tensor", "tensor": MOMENT | SHEAR}
        source = kind | {"at": self.at or [0.3 * self.edge, -0.2 * self.edge, -self.depth]}
        boundaries = {"top": "free", "others": self.absorbing, **self.boundaries}
        return SpectralScenario(
            method="sem",
            title=self.what,
            domain=domain,
            model=dict(self.model),
            time={"duration": self.edge},
            boundaries=boundaries,
            run=dict(self.run),
            source=[source | {"wavelet": self.wavelet}],
        )

    @property
    def wavelet(self):
        """Table of the wavelet."""
        return {"kind": "ricker", "frequency": self.frequency}


TABLE = rows_of(SpectralRun, DATA["elements"])
ROWS = {f"sem-{name}-{kind}": replace(row, absorbing=kind) for kind in ABSORBING for name, row in TABLE.items()}
