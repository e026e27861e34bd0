"""The Plan: the discretised problem as inert data.

Arrays, scalars, an ordered list of phases; no method computes physics.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from craton.core.deferred import Rolling
from craton.core.grid import Layout
from craton.core.operator import Operator
from craton.core.peaks import KIND as PEAKS
from craton.core.subdomain import Subdomain, Totals
from craton.memory import array_bytes
from craton.text import html_sections, megabytes, text_sections

LANES = 8  # elements side by side where the CPU computes on vectors of them
RECORD_IN_MEMORY = 1 << 28  # bytes of a record on the host; larger ones wait in a file of OUT
RECORD_BLOCK = 8 << 20  # bytes of samples that are corrected, filtered and laid out at a time
RECORD_RECEIVER = 2560  # bytes of the objects that name and place a receiver, and of its files
# bytes of memory for a byte of such a block: transforms in double precision; where there are several
RECORD_WORK, RECORD_WORK_OF_SEVERAL = 4.8, 5.8
# frames of snapshots in memory: those that wait for the disk and the one that is written; and what
# making one takes, in frames
FRAMES_WAITING, FRAME_WORK = 4, 1.5
# kinds of arrays that change in time, where nothing fills them
STATE = ("wavefield", "boundary", "boundary points", "memory variables", "memory", PEAKS)


@dataclass(frozen=True)
class Array:
    """An array of a plan, allocated by the backend.

    Parameters
    ----------
    kind : str
        Purpose, by which `craton plan` groups memory: wavefield, material, boundary, points,
        record.
    shape : tuple of int
        Shape in memory, padding included.
    dtype : numpy dtype
        Element type.
    data : ndarray or None
        Initial values; None means zeros.
    first : int
        Elements from the start of the array to where kernels count from.
    part_of : str
        Name of the array that it is a part of, from element `start` on; empty if it stands alone.
    window : tuple of slice or None
        The grid's points in a padded array.
    defined : tuple of slice or None
        The part that holds defined values; the hostile backend fills the rest with nan.
    over : Layout, tuple or None
        Relation to the grid, where it has one: the memory of one field or of several, or for each
        dimension (axis, index of its first element along that axis of the grid) or None.
        `craton.core.localise` cuts it for a rank by this.
    filled : bool
        True where the method fills it when the plan is committed: its values are no part of the
        plan.
    lanes : bool
        True where the first axis counts elements, a multiple of LANES; the CPU interleaves LANES of
        them: (n / LANES, ..., LANES).
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
    filled: bool = False

    @property
    def nbytes(self):
        """Bytes in memory; 0 for a part of another array, of `Rolling` series those of the ring."""
        if isinstance(self.data, Rolling):
            return self.data.nbytes
        return 0 if self.part_of else math.prod(map(int, self.shape)) * np.dtype(self.dtype).itemsize

    def of(self, values):
        """Return the array with other values, and their shape."""
        return replace(self, shape=np.shape(values), data=np.asarray(values, self.dtype))

    def on_host(self):
        """Return the initial values as a host array."""
        return np.zeros(self.shape, self.dtype) if self.data is None else np.ascontiguousarray(self.data, self.dtype)


def fields_in_block(block, names, kind, layout, dtype, **more):
    """Return an array called `block` that holds fields one behind another, and each field as a part of it; `more` is what else `Array` has
    of a field.
    """
    whole = Array(kind, (layout.block(len(names)),), dtype, first=layout.start(0) + layout.first, over=more.get("over"))
    more = {"first": layout.first, "part_of": block, "window": layout.window()} | more
    fields = {name: Array(kind, layout.padded, dtype, start=layout.start(n), **more) for n, name in enumerate(names)}
    return {block: whole} | fields


@dataclass(frozen=True)
class ColourBoundaries:
    """Colour boundaries: elements of one colour share no GLL point and may be assembled
    concurrently.

    Limits rise and count elements along x.

    Parameters
    ----------
    runs : tuple of int
        Limits of the colours of chunks: between two limits, chunks of `Operator.grain` elements,
        counted from the lower limit, share no point. For threads of a CPU.
    order : tuple of int
        Limits of the colours of single elements, in the order of the operator's array `order`. For
        a GPU that adds without atomics. Empty: one launch for all elements.
    """

    runs: tuple
    order: tuple = ()

    @staticmethod
    def cut(box, limits):
        """Return the parts of a box between limits; limits outside the box do not cut.

        Parameters
        ----------
        box : tuple of int
        limits : iterable of int
            Along x.
        """
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
        True where neighbours wait for it; None where that depends on the points, whose box is then
        cut.
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
        return bool(self.op.params.of_role("plane"))

    def cut(self, limits):
        """Return a launch for each part of the box between limits along x."""
        return [replace(self, box=box) for box in ColourBoundaries.cut(self.box, limits)]

    @property
    def points(self):
        """Number of points in the box."""
        k0, k1, j0, j1, i0, i1 = self.box
        return max(k1 - k0, 0) * max(j1 - j0, 0) * max(i1 - i0, 0)


@dataclass(frozen=True)
class Halo:
    """Points of a field that neighbours along an axis ("x", "y", "z") send: `low` from the one
    before, `high` from the one behind.
    """

    field: str
    axis: str
    low: int
    high: int


@dataclass(frozen=True)
class Message:
    """Messages to a neighbour and from it after a phase: names of the contiguous buffers `out` and `into`."""

    rank: int
    out: str
    into: str


@dataclass(frozen=True)
class Phase:
    """Launches in order, and what neighbours exchange behind them.

    Parameters
    ----------
    name : str
    launches : tuple of Launch
    halos : tuple of Halo
        Of a grid, the halos that the next phase reads.
    messages : tuple of Message
        Of a rank's plan, one for each neighbour.
    packing, unpacking : tuple of Launch
        Fill the buffers; add what has come, or write it to ghosts.
    """

    name: str
    launches: tuple
    halos: tuple = ()
    messages: tuple = ()
    packing: tuple = ()
    unpacking: tuple = ()


@dataclass(frozen=True, eq=False)
class ElementIdentity:
    """What tells the elements of a rank from all others of a mesh, by the names of a plan's arrays.

    Parameters
    ----------
    numbers : dict of str to (n,) int array
        By family, the number in the whole mesh of each element of the arrays ``FAMILY_...``; -1 for
        padding. The array ``FAMILY_points`` has their points.
    centres : dict of str to (n, 3) float32 array
        By family, the centres of these elements, m.
    fields : dict of str to tuple of str
        By family, the fields whose rows these points count.
    tables : dict of str to (str, str)
        By array of values at some points, the array of these points and a field whose rows they
        count.
    """

    numbers: dict
    centres: dict
    fields: dict
    tables: dict


@dataclass(kw_only=True)
class StepPlan:
    """What a machine commits: arrays, and the phases of launches on them.

    Parameters
    ----------
    precision : str
        ``"float32"`` or ``"float64"``: the type `real` of the kernels.
    layout : Layout
        Memory of a field: ghosts, rows, planes.
    arrays : dict of str to Array
        All arrays by name.
    phases : tuple of Phase
        One step: launches in order, and the messages that neighbours exchange after a phase.
    partition : tuple of Subdomain
        Subdomains of all ranks; empty on one rank.
    rank : int
    gatherings : dict of str to Gathering
        What makes whole records of those of all ranks, by array; empty on one rank.
    """

    precision: str
    layout: Layout
    arrays: dict
    phases: tuple
    partition: tuple = ()
    rank: int = 0
    gatherings: dict = field(default_factory=dict)

    @property
    def subdomain(self):
        """The `Subdomain` of this rank."""
        return self.partition[self.rank] if self.partition else Subdomain.whole(self.layout.shape)

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        return sum(a.nbytes for a in self.arrays.values())

    @property
    def operators(self):
        """Every operator that it launches, once, by name."""
        return {
            launch.op.name: launch.op
            for phase in self.phases
            for launch in (*phase.launches, *phase.packing, *phase.unpacking)
        }

    @property
    def traffic(self):
        """Least bytes moved per step, by operator."""
        size = np.dtype(self.precision).itemsize
        out: dict[str, float] = {}
        for launch in (phase_launch for phase in self.phases for phase_launch in phase.launches):
            out[launch.op.name] = out.get(launch.op.name, 0) + launch.points * launch.op.reals_per_point * size
        return out


@dataclass(kw_only=True)
class Plan(StepPlan):
    """All data of a run of waves; see `StepPlan` for what is not named here.

    A plan is data alone: no builder, mesh, medium or scenario is reachable from it, and it can be
    pickled. The values of arrays that are `filled` are no part of it.

    Parameters
    ----------
    title : str
        Title of the scenario.
    solver : str
        Name of the solver that built it.
    grid : Grid or ElementGrid
        The points of this rank, for messages.
    steps, dt, start : int, float, float
        Number of steps (those of `extra` included), step in s, time of the first state in s.
    channels : list
        Quantity and receiver of each column of the record.
    receivers : craton.survey.receivers.Receivers
    slots : int
        Steps that the record holds before it is drained.
    limit : float
        Value of a watched field above which the wavefield has diverged.
    watched : tuple of str
        Fields that the divergence guard watches.
    unit : str
        Unit of `limit` and of the watched fields.
    scale : float
        Values of the watched fields as they are kept over values in that unit.
    kinetic : tuple of (str, str)
        Fields whose squares make the kinetic energy, and the arrays of their inverse masses; empty
        where these are nearly equal.
    quiet : float
        Time after which no source acts, s; infinite where waves are injected to the end.
    snapshots : tuple of SnapshotSeries
    peaks : tuple of PeakSeries
        Maps of ground motion that are measured at every step.
    recordings : tuple of Recording
        Of the wavefield around boxes, for other runs.
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
    weights : GridWeights or ElementWeights or None
        Costs by which the whole is divided among ranks; None where that has been done.
    gathering : Gathering or None
        Makes all channels of what the ranks record; None on one rank, and where nothing is
        recorded.
    all_ranks : Totals or None
        Sums over the plans of all ranks; None on one rank.
    cells : Cells or None
        Elements with their medium, where the scenario asks for a file of the mesh.
    elements : ElementIdentity or None
        Of a mesh, how its elements are found again on other ranks.
    planning : int
        Most bytes of arrays that were held on the host while it was made; 0 where these are few.
    """

    title: str
    solver: str
    grid: Any
    steps: int
    dt: float
    start: float
    channels: list
    receivers: Any
    slots: int
    limit: float
    watched: tuple = ()
    unit: str = "m/s"
    scale: float = 1.0
    kinetic: tuple = ()
    quiet: float = np.inf
    snapshots: tuple = ()
    peaks: tuple = ()
    recordings: tuple = ()
    extra: int = 0
    band: float = np.inf
    notes: dict = field(default_factory=dict)
    warnings: list = field(default_factory=list)
    shots: tuple = ()
    weights: Any = None
    gathering: Any = None
    all_ranks: Totals | None = None
    cells: Any = None
    elements: ElementIdentity | None = None
    planning: int = 0

    @property
    def totals(self):
        """Sums over all ranks: `Totals`."""
        return self.all_ranks or Totals(self.grid, self.points, self.traffic, self.state_bytes, self.nbytes)

    @property
    def points(self):
        """Points of the grid, of all shots."""
        return self.grid.size * max(len(self.shots), 1)

    @property
    def end(self):
        """Time at which the waveforms end, s."""
        return self.start + (self.steps - self.extra) * self.dt

    @property
    def record_bytes(self):
        """Bytes of all samples of all channels."""
        return self.steps * len(self.channels) * np.dtype(self.precision).itemsize

    @property
    def held_memory(self):
        """Bytes of the host that the plan itself takes beside the machine's arrays: the values from
        which these are filled, and what is known of a mesh.
        """
        return array_bytes(self.held)

    @property
    def held(self):
        """What of the plan has arrays on the host: values, tables of elements, weights."""
        values = [array.data for array in self.arrays.values()]
        tables = (self.grid, self.cells, self.elements, self.weights, self.gathering)
        return (values, *tables, self.partition)

    @property
    def host_memory(self):
        """Bytes of the host that a run with a folder takes on a CPU, and on any other machine:
        (int, int); the larger of what making the plan and what the run take.
        """
        beside = self.held_memory + self.snapshot_memory
        beside += self.record_memory if self.rank == 0 else 0
        return max(self.planning, self.nbytes + beside), max(self.planning, beside)

    @property
    def snapshot_memory(self):
        """Bytes of the host that the snapshots of a run with a folder take on this rank, where the
        time loop is faster than the disk.
        """
        if not self.snapshots:
            return 0
        count = sum(len(series.steps) for series in self.snapshots)
        largest = max(series.nbytes // max(len(series.steps), 1) for series in self.snapshots)
        frames = min(count + 1, FRAMES_WAITING) + FRAME_WORK
        return int(frames * largest / max(len(self.partition), 1))

    @property
    def record_memory(self):
        """Bytes of the host that the record of a run with a folder takes on rank 0, beside the
        arrays: the samples, where they stay in memory, and the work on a block of them.
        """
        nbytes = self.record_bytes
        waiting = nbytes if nbytes <= RECORD_IN_MEMORY else 0
        named = RECORD_RECEIVER * len(self.receivers.names)
        work = RECORD_WORK * nbytes if nbytes <= RECORD_BLOCK else RECORD_WORK_OF_SEVERAL * RECORD_BLOCK
        return waiting + named + int(work)

    @property
    def changing(self):
        """Names of the arrays that a restart needs: those that change in time, and the step counter."""
        allocated = {
            name: a for name, a in self.arrays.items() if a.data is None and not a.part_of and 0 not in a.shape
        }
        return tuple(name for name, a in allocated.items() if a.kind in STATE or name == "step")

    @property
    def state_bytes(self):
        """Bytes of the arrays that a restart needs."""
        return sum(self.arrays[name].nbytes for name in self.changing)

    @property
    def bytes_by_kind(self):
        """Bytes of the arrays of each kind."""
        kinds: dict[str, int] = {}
        for a in self.arrays.values():
            kinds[a.kind] = kinds.get(a.kind, 0) + a.nbytes
        return kinds

    def __repr__(self):
        return (
            f"<Plan of {self.title!r}: {self.solver}, {self.totals.points:,} points, {self.steps:,} steps of "
            f"{self.dt:.6g} s, {len(self.channels):,} channels, {megabytes(self.nbytes)}; print it for all>"
        )

    def _repr_html_(self):
        sections = dict(self.notes)
        sections |= {"Warnings": [("", text) for text in self.warnings]} if self.warnings else {}
        return html_sections(repr(self).strip("<>"), sections)

    def __str__(self):
        return text_sections(self.notes)


@dataclass(frozen=True)
class Tile:
    """One pass of the phases.

    Parameters
    ----------
    load : callable
        No arguments; host arrays by name that replace the first rows of the plan's arrays before
        the pass.
    work : int
        Interactions of the pass, for progress.
    store : ndarray or slice, optional
        Points to which the totals of this pass belong; None while sources of these points are still
        to come.
    """

    load: Any
    work: int
    store: Any = None


@dataclass(kw_only=True)
class SweepPlan(StepPlan):
    """A sum over sources at points; its layout has the shape (parts of the source list, groups of
    points, points of a group).

    Parameters
    ----------
    tiles : list of Tile
        All passes, in order.
    count : tuple of int
        Fields and points of the result.
    total : str
        The array that holds the sums in double, (fields, points of a tile or more).
    scale : ndarray
        Factor of each field from sums over G in the kernels' length unit to the result's units.
    """

    tiles: list
    count: tuple
    scale: Any
    total: str = "total"

    @property
    def work(self):
        """Interactions of all passes."""
        return sum(tile.work for tile in self.tiles)
