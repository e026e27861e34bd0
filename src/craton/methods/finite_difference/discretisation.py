"""The choices of one discretised problem that all builders share: grid, layout, order, step,
closure, periodic axes.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from craton.conventions import FACES
from craton.core.grid import ALIGNMENT, LEFT, Layout, rounded
from craton.methods.finite_difference import sides
from craton.methods.finite_difference.equations import relaxing, storage, vti
from craton.methods.finite_difference.equations.closure import closure, surface
from craton.methods.finite_difference.equations.scheme import ACOUSTIC, HALF, MOTION, VELOCITY, stencil
from craton.methods.protocol import remembered
from craton.methods.waves import guided
from craton.model.ground import terrain
from craton.model.media import earth, rheology

PACKED = 4  # reals, of which a thread of a GPU loads so many at once


def of_medium(find):
    """Return a property that depends on grid, medium and boundaries alone: computed once for all discretisations that share a `memo`."""
    return property(remembered(find), doc=find.__doc__)


@dataclass(frozen=True)
class Discretisation:
    """What the scenario became on the grid.

    Parameters
    ----------
    model, boundaries : table of the scenario
    grid : Grid
    order : int
        Order in space.
    weights : str
        Of the differences, ``"taylor"`` or ``"holberg"``.
    precision : str
    motion : str or None
        ``"P-SV"`` or ``"SH"`` in the (x, z) plane, None in space.
    dt, start : float
        Step and time of the first stress state, s.
    steps : int
        Those of `extra` included.
    vp_max : float
        Fastest wave, m/s: stability and CPML.
    limit : float
        Largest stable step, s.
    frequency : float
        Peak frequency of the sources, Hz: CPML.
    extra : int
        Steps past the end, from which records are corrected in time up to it.
    shots : tuple of str
        Names of the shots that are computed side by side in the plane.
    acoustic : bool
        Velocity and pressure only.
    cells : tuple of (nz, ny, nx) arrays, optional
        Density, bulk and shear modulus of the cells, or density and c11, c13, c33, c44, c66 where
        the medium is anisotropic, in place of the averages of the scenario's
        model: of inversions. What the model says of speeds (CPML, time step) stays.
    inverse_q : tuple of (nz, ny, nx) arrays, optional
        1/Qp and 1/Qs of what relaxes in place of the model's: of inversions in which they change.
    storage : str
        ``"full"`` or ``"half"``, see storage.py.
    amplitude : float
        Velocity as it is kept over velocity in m/s; 1 unless it is kept in 16 bits.
    packed : bool
        Rows of fields are multiples of `PACKED` reals, not of lines of 128 bytes.
    memo : dict
        Values of the properties `of_medium`; `replace` with another medium, grid or storage needs a new one.
    """

    model: Any
    boundaries: Any
    grid: Any
    order: int
    weights: str
    precision: str
    motion: str | None
    dt: float
    start: float
    steps: int
    vp_max: float
    frequency: float
    limit: float = np.nan
    extra: int = 0
    shots: tuple = ()
    acoustic: bool = False
    cells: tuple | None = None
    inverse_q: tuple | None = None
    storage: str = "full"
    amplitude: float = 1.0
    packed: bool = False
    memo: dict = field(default_factory=dict, repr=False, compare=False)

    def with_cells(self, cells, inverse_q=None):
        """Return the same with the medium of its cells: rho, kappa, mu, and 1/Qp, 1/Qs if these change."""
        return replace(self, cells=tuple(cells), inverse_q=inverse_q)

    def in_packed_rows(self):
        """Return the same with shorter rows; see `packed`."""
        return replace(self, packed=True, memo={k: v for k, v in self.memo.items() if k not in ("layout", "sheet")})

    @of_medium
    def relaxation(self):
        """Mechanisms of attenuation, or None."""
        return rheology.relaxation(self.model, self.grid)

    @of_medium
    def relaxing(self):
        """Their constants in kernels; empty without attenuation."""
        return relaxing.constants(self.relaxation, self.dt, self.planar)

    @property
    def memory_variables(self):
        """How many memory variables of attenuation a point has."""
        return relaxing.count(self)

    @of_medium
    def speeds(self):
        """What `earth.extremes` says of the model on the grid."""
        return earth.extremes(self.model, self.grid)

    @property
    def slowest(self):
        """Slowest wave of the model, m/s."""
        return self.speeds["slowest"]

    @of_medium
    def backward(self):
        """How far waves of an anisotropic medium run backwards, see `rheology.backwardness`; 0 in
        an isotropic one.
        """
        return rheology.backwardness(self.model, self.grid) if self.anisotropic and self.motion != "SH" else 0.0

    @of_medium
    def guiding(self):
        """How well the medium and the faces guide waves along an absorbing layer, 0 (not at all) to
        2.

        A plate between two faces that reflect: 2. Topography, anisotropy, or a fluid beside a
        solid: 1. Otherwise by how much vp or vs varies, up to 1.
        """
        reflecting = [{self.face(name) for name in FACES if FACES[name][0] == axis} for axis in self.axes]
        if any(not kinds & {"cpml", "periodic"} for kinds in reflecting):
            return guided.PLATE
        if self.ground is not None or self.anisotropic:
            return 1.0
        return guided.guiding(self.layer_speeds.vp, self.layer_speeds.vs)

    @property
    def layer_speeds(self):
        """Speeds for which the CPML layers are made."""
        return guided.speeds_of(self.boundaries.cpml, self.speeds, self.vp_max)

    @property
    def layer_ratio(self):
        """Their fastest wave over the slowest."""
        return self.layer_speeds.fastest / self.layer_speeds.slowest

    @property
    def layer_words(self):
        """These speeds in words; empty without CPML layers."""
        return self.layer_speeds.words if self.faces("cpml") else ""

    @property
    def partly_fluid(self):
        """True where fluid lies beside solid."""
        return not self.acoustic and self.speeds["vs"][1] > 0 and self.holds_fluid

    @property
    def holds_fluid(self):
        """True where some of the medium, or all of it, is fluid."""
        return self.speeds["vs"][0] == 0 or (self.ground is not None and self.ground.water is not None)

    @of_medium
    def anisotropic(self):
        """True where the medium has Thomsen's parameters."""
        return rheology.anisotropic(self.model, self.grid)

    @property
    def law(self):
        """Constants of law.h that the medium sets, as (name, value) pairs."""
        return (("VTI", 1),) if self.anisotropic else ()

    @property
    def axes(self):
        """Names of the axes that anything depends on."""
        return "xz" if self.planar else "xyz"

    @property
    def planar(self):
        """True where the (x, z) plane is computed."""
        return self.grid.planar

    @property
    def fields(self):
        """Names of the fields that are computed."""
        return (ACOUSTIC if self.acoustic else MOTION)[self.motion]

    @property
    def velocity(self):
        """Components of velocity that are computed."""
        return tuple(f for f in VELOCITY if f in self.fields)

    @property
    def stress(self):
        """Components of stress that are computed."""
        return tuple(f for f in self.fields if f not in VELOCITY)

    @property
    def normal(self):
        """Normal stresses that are computed."""
        return tuple(f for f in self.stress if not any(HALF[f]))

    def names(self, *arrays):
        """Array names of a launch, empty where a field is not computed."""
        absent = {name for name in HALF if name not in self.fields} | {*relaxing.names(self), *vti.names(self)}
        absent |= {"rmu"} if self.acoustic else set()
        return tuple("" if name in absent else name for name in arrays)

    @property
    def horizontal(self):
        """Horizontal axes that anything depends on."""
        return (0,) if self.planar else (0, 1)

    @property
    def shape(self):
        """Points of a field along (z, y, x); in the plane y counts shots."""
        nz, ny, nx = self.grid.shape
        return (nz, max(len(self.shots), 1) if self.planar else ny, nx)

    @property
    def rise(self) -> float:
        """Vertical over horizontal spacing."""
        return (self.grid.vertical or self.grid.spacing) / self.grid.spacing

    @property
    def volume(self):
        """Of a cell, m3; in the plane its area, m2."""
        return self.grid.spacing ** (2 if self.planar else 3) * self.rise

    def half(self, field):
        """Axes (x, y, z) along which a field lies half a cell after the integer point; in the plane there is no y."""
        x, y, z = HALF[field]
        return (x, 0 if self.planar else y, z)

    def cell(self, at):
        """Cells of the grid at the points (k, j, i) of fields: all shots share those of the plane."""
        return (at[0], np.zeros_like(at[1]), at[2]) if self.planar else at

    @property
    def end(self):
        """Time at which the waveforms end, s."""
        return self.start + (self.steps - self.extra) * self.dt

    @property
    def reach(self):
        """Points to each side that differences reach."""
        return self.order // 2

    @of_medium
    def stencil(self):
        """Differences along the axes."""
        closed, medium = self.free or self.floor is not None, {"acoustic": self.acoustic, "law": self.law}
        medium |= {"terrain": self.ground is not None}
        return stencil(self.order, self.weights, closed, self.motion, self.rise, **medium)

    @property
    def in_half(self):
        """True where fields and material are kept in 16 bits."""
        return self.storage == "half"

    @property
    def kept_as(self):
        """Types of fields and of material in memory."""
        return (storage.FIELD, storage.MATERIAL) if self.in_half else 2 * (self.precision,)

    @cached_property
    def codes(self):
        """Codes of material in 16 bits by name, see `storage.codes`."""
        return storage.codes(self.speeds)

    @cached_property
    def impedance(self):
        """What stress in SI units is divided by where it is kept in 16 bits; else 1."""
        return storage.impedance(self.speeds) if self.in_half else 1.0

    @property
    def alignment(self):
        """Values of which a row is a multiple: 128 bytes, unless rows are packed."""
        return PACKED if self.packed else ALIGNMENT * (2 if self.in_half else 1)

    @property
    def right(self):
        """Ghosts behind the last point of a row, at least; as many as before it in a periodic one,
        whose material is that of the other end (material.py).
        """
        is_periodic = any(axis == 0 for axis, _ in self.faces("periodic"))
        return rounded(self.reach, PACKED) if self.packed and not is_periodic else LEFT

    @of_medium
    def layout(self):
        """Memory of a field."""
        return Layout(self.shape, self.reach, self.planar, self.alignment, self.right)

    @of_medium
    def sheet(self):
        """Memory of a material parameter: of one plane for all shots."""
        return Layout(self.grid.shape, self.reach, self.planar, self.alignment, self.right)

    @property
    def free(self):
        """True where the top plane is a free surface."""
        return self.face("top") == "free" and self.ground is None

    @of_medium
    def ground(self):
        """The `Terrain`, None where the model has no topography."""
        return terrain.build(self.model)

    @of_medium
    def vacuum_planes(self):
        """First plane with an empty cell, and the plane above the highest with a filled one."""
        if self.ground is None:
            return (self.grid.shape[0],) * 2
        filled = terrain.filled(self.ground, self.grid)
        return int(filled.min()), int(filled.max())

    @of_medium
    def full_planes(self):
        """Number of planes from the bottom up that hold nothing but ground."""
        full = self.vacuum_planes[0]
        while self.ground is not None and full and not self.ground.above(self.grid, full):
            full -= 1
        return full

    @of_medium
    def whole_cells(self):
        """By plane, which cells are full, as far as they were asked for."""
        return {}

    @of_medium
    def cell_contents(self):
        """By plane, what cells hold, as far as sides.py was asked for it."""
        return {}

    @cached_property
    def tiles(self):
        """Cell averages of the tiles that points asked for last, by their box (material.py)."""
        return {}

    def whole_box(self, box):
        """Return which cells of a box (k0, k1, j0, j1, i0, i1) of a model with topography are full.

        Planes are kept: positions below the same ground ask for the same ones.

        Parameters
        ----------
        box : sequence of int
        """
        k0, k1, j0, j1, i0, i1 = box
        whole = (0, self.grid.shape[1], 0, self.grid.shape[2])
        for k in range(k0, k1):
            if k not in self.whole_cells:
                self.whole_cells[k] = terrain.whole(self.ground, self.grid, (k, k + 1, *whole))[0]
        return np.stack([self.whole_cells[k][j0:j1, i0:i1] for k in range(k0, k1)])

    @of_medium
    def closure(self):
        """Differences and norms below the free surface, or None."""
        if not self.free:
            return None
        return surface(self.boundaries.surface, 2 * len(self.stencil.vertical)).stretched(self.rise)

    @of_medium
    def floor(self):
        """Highest solid plane below a level sea floor that has a closure, else None."""
        return sides.closed_plane(self.model, self.boundaries, self.order, self.grid) if self.partly_fluid else None

    @of_medium
    def floor_closure(self):
        """Differences and norms on both sides of a level sea floor, half points in place of integer ones."""
        return closure(len(self.stencil.vertical) * 2).stretched(self.rise)

    @property
    def surface_planes(self):
        """Planes that the closure covers."""
        return self.closure.rows + 1 if self.free else 0

    @property
    def faced(self):
        """Names of the faces."""
        return [name for name, (axis, _) in FACES.items() if axis in self.axes]

    def face(self, name):
        """Kind of boundary on a face."""
        return self.boundaries.face(name)

    def faces(self, kind):
        """(axis, side) of the faces of one kind, axis 0, 1, 2 for x, y, z."""
        return [("xyz".index(FACES[name][0]), FACES[name][1]) for name in self.faced if self.face(name) == kind]

    def unstretched(self, axis):
        """First and last + 1 index along an axis outside the CPML layers: within these the medium
        is that of the nearest such point.

        A perfectly matched layer wants a medium that does not vary along its normal; where it does,
        waves can grow.
        """
        n, thickness = self.grid.shape[2 - axis], self.boundaries.cpml.thickness
        layered = [side for a, side in self.faces("cpml") if a == axis]
        return (thickness if 0 in layered else 0), (n - thickness if 1 in layered else n)

    @property
    def box(self):
        """The whole grid as a box."""
        nz, ny, nx = self.shape
        return (0, nz, 0, ny, 0, nx)

    def slab(self, axis, low, high):
        """Return the box of all points with index low .. high - 1 along an axis."""
        box = list(self.box)
        box[2 * (2 - axis)], box[2 * (2 - axis) + 1] = low, high
        return tuple(box)

    @property
    def fd_params(self):
        """Scalars of the plain step."""
        layout, top, dt_h = self.layout, self.grid.shape[0] - 1, self.dt / self.grid.spacing
        return {"row": layout.row, "plane": layout.plane, "sheet": self.sheet.plane, "top": top, "dt_h": dt_h}

    def start_of(self, name):
        """Elements from a point of the state's first field to that point of field `name`."""
        return self.fields.index(name) * self.layout.field

    def norms(self, k, half):
        """Quadrature weights along z of planes k, in units of the spacing: less than a cell's below
        a free surface and on both sides of a level sea floor (closure.py).
        """
        k, out = np.asarray(k), np.ones(len(k))
        if self.free:
            depth = self.grid.shape[0] - 1 - k - half
            near = (depth >= 0) & (depth < self.closure.rows)
            out[near] = (self.closure.hm if half else self.closure.hp)[depth[near]]
        return out * self.floor_norms(k, half)

    def floor_norms(self, k, half):
        """Return what `norms` has beside a level sea floor: on it those of both sides."""
        out = np.ones(len(k))
        if self.floor is not None:
            closed, above = self.floor_closure, k - self.floor
            rows = np.abs(above) if half else np.where(above > 0, above - 1, -above)
            near, norms = rows < closed.rows, closed.hp if half else closed.hm
            out[near] = norms[rows[near]] * np.where(half & (rows[near] == 0), 2, 1)
        return out
