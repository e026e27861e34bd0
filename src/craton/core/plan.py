"""The Plan: the discretised problem as inert data. Arrays, scalars, an ordered list of phases; no method computes physics."""
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from craton.core.layout import Layout
from craton.core.operator import Operator

LANES = 8  # elements side by side where the CPU computes on vectors of them
STATE = ("wavefield", "boundary", "memory variables", "memory")  # kinds of arrays that change in time, where nothing fills them


@dataclass(frozen=True)
class Array:
    """An array of a plan, allocated by the backend.

    Parameters
    ----------
    kind : str
        Purpose, by which `craton plan` groups memory: wavefield, material, boundary, points, record.
    shape : tuple of int
        Shape in memory, padding included.
    dtype : numpy dtype
        Element type.
    data : ndarray, callable or None
        Initial values; a callable is given the zeroed host array to fill; None means zeros.
    first : int
        Elements from the start of the array to where kernels count from.
    part_of : str
        Name of the array that it is a part of, from element `start` on; empty if it stands alone.
    window : tuple of slice or None
        The grid's points in a padded array.
    defined : tuple of slice or None
        The part that holds defined values; the hostile backend fills the rest with nan.
    over : Layout, tuple or None
        Relation to the grid, where it has one: the memory of one field or of several, or for each dimension (axis, index of its first
        element along that axis of the grid) or None. `craton.core.share` cuts it for a rank by this.
    lanes : bool
        True where the first axis counts elements, a multiple of LANES; the CPU interleaves LANES of them: (n / LANES, ..., LANES).
    """

    kind: str
    shape: tuple
    dtype: Any
    data: Any = None
    first: int = 0
    part_of: str = ""
    start: int = 0
    window: tuple | None = None
    defined: tuple | None = None
    over: Any = None
    lanes: bool = False

    @property
    def nbytes(self):
        """Bytes in memory; 0 for a part of another array."""
        return 0 if self.part_of else int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize

    def on_host(self):
        """Return the initial values as a host array."""
        if isinstance(self.data, np.ndarray):
            return np.ascontiguousarray(self.data, self.dtype)
        out = np.zeros(self.shape, self.dtype)
        if self.data is not None:
            self.data(out)
        return out


@dataclass(frozen=True)
class ColourBoundaries:
    """Colour boundaries: elements of one colour share no GLL point and may be assembled concurrently.

    Limits rise and count elements along x.

    Parameters
    ----------
    runs : tuple of int
        Limits of the colours of chunks: between two limits, chunks of `Operator.grain` elements, counted from the lower limit, share no
        point. For threads of a CPU.
    order : tuple of int
        Limits of the colours of single elements, in the order of the operator's array `order`. For a GPU that adds without atomics.
        Empty: one launch for all elements.
    """

    runs: tuple
    order: tuple = ()

    @staticmethod
    def cut(box, limits):
        """Return the parts of a box between limits; limits outside the box do not cut."""
        inner = sorted({box[4], box[5], *(n for n in limits if box[4] < n < box[5])})
        return [(*box[:4], a, b) for a, b in zip(inner, inner[1:])]


@dataclass(frozen=True)
class Launch:
    """An operator on a box of points or elements.

    Parameters
    ----------
    op : Operator
    arrays : tuple of str
        Names of the operator's arrays, in order; "" for an optional array that is absent.
    box : tuple of int
        (k0, k1, j0, j1, i0, i1), upper bounds excluded. A point table runs over i.
    params : dict of str to number
        Scalars of the operator.
    places : tuple of arrays or None
        Grid points (k, j, i) that the entries of a point table write to.
    colours : ColourBoundaries or None
        Limits of colours, where work that runs concurrently must not add to one point.
    outer : bool or None
        True where neighbours wait for it; None where that depends on the points, whose box is then cut.
    """

    op: Operator
    arrays: tuple
    box: tuple
    params: dict
    places: tuple | None = None
    colours: ColourBoundaries | None = None
    outer: bool | None = None

    @property
    def on_grid(self):
        """True where the box counts points of the grid."""
        return "plane" in self.params

    @property
    def points(self):
        """Number of points in the box."""
        k0, k1, j0, j1, i0, i1 = self.box
        return max(k1 - k0, 0) * max(j1 - j0, 0) * max(i1 - i0, 0)


@dataclass(frozen=True)
class Halo:
    """Points of a field that neighbours along an axis ("x", "y", "z") send: `low` from the one before, `high` from the one behind."""

    field: str
    axis: str
    low: int
    high: int


@dataclass(frozen=True)
class Message:
    """Message to a neighbour and from it.

    Parameters
    ----------
    rank : int
        The neighbour.
    face : (str, int) or None
        Axis and side behind which it is; None where messages add at shared points, one to a neighbour.
    out, into : str
        Names of the contiguous buffers.
    pack, unpack : Launch
        Fill the one, empty the other into the ghosts; may be the same launches for all messages of a phase.
    """

    rank: int
    face: tuple | None
    out: str
    into: str
    pack: Launch
    unpack: Launch


@dataclass(frozen=True)
class Phase:
    """Launches in order, the halos that the next phase reads (tuple of Halo) and, of a rank's plan, their messages (tuple of Message)."""

    name: str
    launches: tuple
    shared: tuple = ()
    messages: tuple = ()

    @property
    def packing(self):
        """Launches that fill the buffers of its messages."""
        return tuple({id(message.pack): message.pack for message in self.messages}.values())

    @property
    def unpacking(self):
        """Launches that add the received buffers or write them to ghosts."""
        return tuple({id(message.unpack): message.unpack for message in self.messages}.values())


@dataclass(frozen=True)
class Frames:
    """A series of snapshots of the wavefield.

    Parameters
    ----------
    name, quantity : str
        Name of the series and its quantity.
    components : tuple of str
        Components of the quantity.
    coords : dict
        Coordinates in memory order (z, y, x), a number for the axis that a plane cuts.
    steps : ndarray of int
        Steps after which a snapshot is taken.
    times : ndarray
        Times of the snapshots, s.
    reads : dict of str to tuple of slice
        Fields that it needs and where.
    combine : callable
        Makes the snapshot, ([component,] z, y, x), from a dict of host arrays; runs concurrently with the time loop.
    within : callable
        Frames of a part of the snapshot, given as a dict of (first, last + 1) point of the grid along each of its axes.
    lattice : dict
        Points of the grid along z, y, x that it shows: (0, last + 1, stride), or the number of the plane along the axis that is cut.
        Empty where it shows no points of a grid.
    where : ndarray of int or None
        Places of the snapshot, counted through its space, that `combine` knows on this rank; None: all.
    """

    name: str
    quantity: str
    components: tuple
    coords: dict
    steps: np.ndarray
    times: np.ndarray
    reads: dict
    combine: Any
    within: Any = None
    lattice: dict = field(default_factory=dict)
    where: np.ndarray | None = None

    @property
    def shape(self):
        """Shape of one snapshot."""
        axes = tuple(np.size(c) for c in self.coords.values() if np.ndim(c))
        return ((len(self.components),) if len(self.components) > 1 else ()) + axes

    @property
    def nbytes(self):
        """Bytes of all snapshots in float32."""
        return 4 * int(np.prod(self.shape, dtype=np.int64)) * len(self.steps)


@dataclass
class Plan:
    """All data of a run.

    Parameters
    ----------
    title : str
        Title of the scenario.
    solver : str
        Name of the solver that built it.
    precision : str
        ``"float32"`` or ``"float64"``.
    layout : Layout
        Memory of a field.
    arrays : dict of str to Array
        All arrays by name.
    phases : tuple of Phase
        One time step.
    steps, dt, start : int, float, float
        Number of steps (those of `extra` included), step in s, time of the first state in s.
    channels : list
        Quantity and receiver of each column of the record.
    slots : int
        Steps that the record holds before it is drained.
    limit : float
        Particle velocity, m/s, above which the wavefield has diverged.
    watched : tuple of str
        Fields that the divergence guard watches.
    frames : tuple of Frames
        Snapshots of the wavefield.
    extra : int
        Padding steps after the end, for the time-dispersion correction of the record.
    band : float
        Highest frequency that the sources carry, Hz.
    notes : dict of str to list of (str, str)
        Text of `craton plan`, by section.
    warnings : list of str
        Settings that are valid but probably not intended.
    shots : tuple of str
        Names of the shots that are computed side by side; empty for a run of one.
    sharing : dict
        Input of `craton.core.partition.split`: least number and weights of planes, periodic axes.
    whole : Plan, Total or None
        On a rank, the plan of all ranks.
    part : Part, Share or None
        On a rank, its box of the grid or its share of the elements.
    """

    title: str
    solver: str
    precision: str
    grid: Any
    layout: Layout
    arrays: dict
    phases: tuple
    steps: int
    dt: float
    start: float
    channels: list
    receivers: Any
    slots: int
    limit: float
    watched: tuple = ()
    frames: tuple = ()
    extra: int = 0
    band: float = np.inf
    notes: dict = field(default_factory=dict)
    warnings: list = field(default_factory=list)
    shots: tuple = ()
    sharing: dict = field(default_factory=dict)
    whole: Any = None
    part: Any = None

    @property
    def points(self):
        """Points of the grid, of all shots."""
        return self.grid.size * max(len(self.shots), 1)

    @property
    def end(self):
        """Time at which the waveforms end, s."""
        return self.start + (self.steps - self.extra) * self.dt

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        return sum(a.nbytes for a in self.arrays.values())

    @property
    def changing(self):
        """Names of the arrays that a restart needs: those that change in time, and the step counter."""
        allocated = {name: a for name, a in self.arrays.items() if a.data is None and not a.part_of and 0 not in a.shape}
        return tuple(name for name, a in allocated.items() if a.kind in STATE or name == "step")

    @property
    def state_bytes(self):
        """Bytes of the arrays that a restart needs."""
        return sum(self.arrays[name].nbytes for name in self.changing)

    @property
    def bytes_by_kind(self):
        """Bytes of the arrays of each kind."""
        kinds = {}
        for a in self.arrays.values():
            kinds[a.kind] = kinds.get(a.kind, 0) + a.nbytes
        return kinds

    @property
    def operators(self):
        """Every operator that it launches, once, by name."""
        return {launch.op.name: launch.op for phase in self.phases for launch in (*phase.launches, *phase.packing, *phase.unpacking)}

    @property
    def traffic(self):
        """Least bytes moved per step, by operator."""
        size = np.dtype(self.precision).itemsize
        out = {}
        for launch in (phase_launch for phase in self.phases for phase_launch in phase.launches):
            out[launch.op.name] = out.get(launch.op.name, 0) + launch.points * launch.op.reals_per_point * size
        return out

    def __str__(self):
        width = max((len(label) for rows in self.notes.values() for label, _ in rows), default=0)
        sections = ([f"{title}", *(f"  {label:<{width}}  {text}" for label, text in rows)] for title, rows in self.notes.items())
        return "\n".join(line for section in sections for line in section)
