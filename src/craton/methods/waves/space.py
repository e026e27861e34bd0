"""What a method of waves gives for sources, receivers, pictures and couplings to be written once: its `Space`."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from craton.methods.waves.coupling.boxes import Boxes


class Places(Protocol):
    """Positions in one medium of a space, as many as are handled together.

    Attributes
    ----------
    rows : (n,) int array
        Which of the positions that were asked for.
    pressure_at : float
        Time of samples of pressure within a step, nan: as the quantity says.
    """

    rows: np.ndarray
    pressure_at: float


class Space(Protocol):
    """The discretised space of a wave method. Rows are sums over points of the state (`craton.methods.waves.tables.Rows`).

    Attributes
    ----------
    d : Discretisation
        With dt, start, steps, extra, precision.
    team : Together or SingleRank
        Ranks that share the space.
    motion : str or None
        ``"P-SV"`` or ``"SH"`` in the plane.
    shots : tuple of str
        Shots that are computed side by side.
    integrates : bool
        True where moments act, False where their rates do.
    injected : str
        Array to which sources add.
    carried : float
        Highest frequency of slip rates, Hz.
    medium_key : tuple
        What tables depend on beside positions, among plans of one medium.
    smallest : (rho, vs, volume, scale)
        Of the smallest cell or element, and what velocity is multiplied by in the field that is watched.
    """

    d: Any
    team: Any
    motion: str | None
    shots: tuple
    integrates: bool
    injected: str
    carried: float
    medium_key: tuple
    smallest: tuple

    # --- positions --------------------------------------------------------------------------------

    def locate(self, xyz, shots=0, fluid_first=False) -> Iterator[Places]:
        """Yield the `Places` of positions (n, 3), m, that this rank takes, on a contact in the fluid or the solid; all ranks must call."""

    def read(self, quantity, component, places, rows) -> Iterator:
        """Yield the rows of one component of a quantity at some places, (m,) rows of these, numbered as they are.

        ``"velocity"`` E, N, Z, ``"stress"`` and ``"strain_rate"`` EE, NN, ZZ, EN, EZ, NZ, ``"rotation_rate"`` E, N, Z, ``"pressure"``.
        """

    def medium(self, places) -> dict:
        """Return vp, vs (m/s), rho (kg/m3), and where the method knows them qp and qs, at places: arrays by name."""

    def stacked(self, count, parts) -> tuple:
        """Return the rows of channels as the record takes them."""

    # --- sources: the transpose of reading, in the norm of the scheme -------------------------------

    def point_rows(self, sources) -> tuple:
        """Return index, weight and source of what point sources add in a step."""

    def tables(self, sources, index, column) -> Iterator:
        """Yield the name of a table of point sources, which rows it has, and its sources."""

    def placed(self, launch, target):
        """Return the launch of a table of sources as the scheme takes it."""

    def moment_blocks(self, xyz, tensors) -> Iterator:
        """Yield index, weight and source of the rows of thousands of moments, some at a time."""

    def moment_table(self, xyz, tensors) -> tuple:
        """Return the targets of thousands of moments, their number of rows, and the function that yields these as `moment_blocks` does."""

    # --- pictures and maps ------------------------------------------------------------------------

    def raster(self, spec) -> tuple:
        """Return coordinates, what of fields to read, and the sampling of a table of snapshots; all ranks must call."""

    def sites(self, spec):
        """Return the `craton.methods.waves.peaks.Sites` of a map of peaks; all ranks must call."""

    def rows_of_sites(self, sites) -> tuple:
        """Return whether the components of a site share rows, and the rows of E, N, Z of all sites."""

    # --- boxes ------------------------------------------------------------------------------------

    def boxes(self, domain) -> Boxes:
        """Return what is to be known of boxes through whose sides waves are recorded and injected; `domain` is that of the scenario."""

    # --- the plan ---------------------------------------------------------------------------------

    def problems(self, scenario, sources) -> list:
        """Return what is wrong with sources and receivers on this space: list of Problem; all ranks must call."""

    def equations(self, arrays, launches, tables, reuse) -> tuple:
        """Return all arrays, and the phases of a step with launches (a list of dicts by where in a step they run)."""

    def described(self, scenario, arrays) -> dict:
        """Return what the plan says of the space: solver, grid, layout, watched and kinetic fields, ..."""

    def warnings(self, setup) -> list:
        """Return warnings about a valid scenario that is probably not what was meant."""

    def completed(self, plan, setup):
        """Return the plan with its notes, of several ranks with all subdomains."""
