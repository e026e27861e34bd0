"""What a scenario asks of maps of ground motion: peaks, integrals, durations, response spectra."""

from typing import Annotated

from pydantic import AfterValidator, Field

from craton.tables.fields import Duration, Table, choice, key, many, quantity, repeated, whole, wrong
from craton.tables.receivers import Plane, SnapshotName

PEAK_QUANTITIES = ("pgv", "pga", "pgd", "arias", "cav", "squared_velocity", "duration", "sa")


class Peaks(Table):
    """A map of ground motion, measured at every step: peaks of velocity, acceleration and
    displacement, Arias intensity, cumulative absolute velocity, significant duration, spectral
    acceleration at ``periods`` (s) with ``damping``; on the ground or a plane.
    """

    name: SnapshotName = key('"ground"')
    quantities: many(choice(*PEAK_QUANTITIES)) = ("pgv", "pga", "pgd")
    plane: Plane | None = None
    stride: whole(least=1) = Field(1)
    periods: many(Duration) = ()
    damping: quantity("ratio", least=0, below=1) = 0.05
    resolution: Duration | None = None

    def _problems(self):
        yield from repeated(self.quantities, "quantities.{}", "leave one of them out")
        yield from repeated(self.periods, "periods.{}", "leave one of them out")
        if not self.quantities:
            yield "quantities", "no quantity is listed", 'write quantities = ["pgv"]'
        if ("sa" in self.quantities) != bool(self.periods):
            message = "spectral acceleration and periods belong together"
            yield "periods", message, 'write quantities = ["sa"] and periods = [0.3, 1.0, 3.0]  # s'
        if self.resolution is not None and "duration" not in self.quantities:
            message = "a resolution is of the significant duration, which is not listed"
            yield "resolution", message, 'add "duration" to quantities, or leave resolution out'

    @property
    def on_ground(self):
        """Whether it lies on the ground rather than on a plane."""
        return self.plane is None or bool(self.plane.surface)


def _names_differ(maps):
    message, remedy = "the name {} of a map of peaks is used twice", "give each map a unique name"
    items = repeated([spec.name for spec in maps], "{}.name", remedy, message)
    if items:
        raise wrong(*items)
    return maps


PeakMaps = Annotated[many(Peaks, "peaks"), AfterValidator(_names_differ)]


def peak_problems(scenario):
    """Problems of maps of peaks of a 2-D domain, of planes that do not cut the domain, of chunks,
    and of several shots.

    Parameters
    ----------
    scenario : WaveScenario

    Yields
    ------
    tuple
        (key, message, remedy)
    """
    chunk = getattr(scenario.domain, "chunk", None)
    shots = any(entry.shot or entry.shots for entry in scenario.source)
    for n, spec in enumerate(getattr(scenario, "peaks", ())):
        if scenario.domain.planar:
            message = "a map of peaks needs a 3-D domain"
            yield f"peaks.{n}", message, "leave [[peaks]] out, or give the domain three dimensions"
        elif chunk is not None and not spec.on_ground:
            message = "in a chunk of the Earth a map of peaks lies on the ground"
            yield f"peaks.{n}.plane", message, "leave plane out"
        elif shots:
            message = "a survey of shots keeps no maps of peaks"
            yield f"peaks.{n}", message, "leave [[peaks]] out, or run one shot without its name"
