"""What figures read in the folder of a run, each part when it is asked for: scenario, waveforms, snapshots, fields, gradient."""

import logging
from functools import cached_property
from pathlib import Path

import numpy as np

from craton.conventions import GRAVITY
from craton.errors import CratonError, ScenarioError
from craton.model.globe.earth_chunk import chunk_of
from craton.model.ground import terrain
from craton.model.media import layered
from craton.output.arrays import open_dataset, open_datasets
from craton.scenario import load
from craton.survey.sources import positions

GRADIENT = "gradient.zarr"
FIRST = ("velocity", "displacement")  # quantities that are shown where there are several


class Run:
    """The folder of a run, a survey or a gradient."""

    def __init__(self, out):
        self.out = Path(out)

    @cached_property
    def scenario(self):
        """The scenario; None, with a word in the log, where it cannot be read."""
        try:
            return load(self.out / "scenario.toml")
        except (OSError, CratonError) as error:
            message = "%s/scenario.toml cannot be read, the figure is drawn without it: %s"
            logging.getLogger("craton").warning(message, self.out, error)
            return None

    @property
    def has_waves(self) -> bool:
        """True where the scenario is one of waves."""
        return self.scenario is not None and self.scenario.method != "gravity"

    @cached_property
    def chunk(self):
        """The chunk of the Earth; None in a box."""
        is_chunk = self.has_waves and getattr(self.scenario.domain, "chunk", None) is not None
        return chunk_of(self.scenario) if is_chunk else None

    @cached_property
    def box(self):
        """Lower and upper corner of the domain, m: two arrays (3,); None where it is no box."""
        return limits_of(self.scenario) if self.has_waves and self.scenario.domain.size else None

    @cached_property
    def ground(self):
        """The ground of the model; None where it is flat or not known."""
        try:
            return terrain.build(self.scenario.model) if self.has_waves else None
        except (OSError, ScenarioError):
            return None

    @cached_property
    def every_shot(self):
        """Waveforms of all shots, not read yet; None where there are none."""
        return read_waveforms(self.out, every_shot=True)

    @cached_property
    def waves(self):
        """Waveforms of the first shot, in memory; None where there are none."""
        return None if self.every_shot is None else _first_shot(self.every_shot).load()

    @property
    def quantity(self):
        """Name of the quantity that is shown."""
        names = list(self.every_shot.data_vars)
        return next((name for name in FIRST if name in names), names[0])

    @cached_property
    def waveforms(self):
        """Waveforms of the first shot that are shown: xarray.DataArray."""
        if self.waves is None:
            raise CratonError(f"{self.out} has no waveforms to plot")
        return self.waves[self.quantity]

    @cached_property
    def snapshots(self):
        """Series of snapshots that have frames: dict of xarray.Dataset."""
        return {name: dataset for name, dataset in read_snapshots(self.out).items() if dataset.sizes.get("time")}

    @cached_property
    def gravity(self):
        """Fields of a gravity run, in memory, or None."""
        store = self.out / "result.zarr"
        return open_dataset(store).load() if any((store / name).exists() for name in GRAVITY) else None

    @cached_property
    def gradient(self):
        """Gradient of `craton gradient`, in memory, or None."""
        store = self.out / GRADIENT
        return open_dataset(store).load() if store.is_dir() else None

    @cached_property
    def attributes(self) -> dict:
        """Attributes of the results."""
        datasets = (self.gradient, self.gravity, self.every_shot)
        return next((dataset.attrs for dataset in datasets if dataset is not None), {})

    @property
    def title(self) -> str:
        """Title of the run, or the name of its folder."""
        stated = "" if self.scenario is None else self.scenario.title
        return str(self.attributes.get("title") or stated or self.out.resolve().name)

    @property
    def on_earth(self) -> bool:
        """True where distances of the receivers are degrees."""
        return self.every_shot is not None and has_degrees(self.every_shot)

    @cached_property
    def sources(self):
        """Positions of the sources of the first shot, m: list of (x, y, z). Where the scenario does not say them, as
        where a file of its sources is gone, they are those in the attributes of the waveforms.
        """
        stated = source_places(self.scenario, every_shot=False) if self.has_waves and self.chunk is None else []
        return stated or ([] if self.every_shot is None else recorded_source(_first_shot(self.every_shot)))

    @property
    def origin(self):
        """Position of the first source, or None."""
        return self.sources[0] if self.sources else None

    @cached_property
    def stations(self):
        """Positions of the receivers, m: (n, 3)."""
        if self.every_shot is None:
            return np.empty((0, 3))
        return np.column_stack([self.every_shot[axis].values for axis in "xyz"])

    @cached_property
    def interfaces(self):
        """Elevations of the ground and of interfaces, see `interfaces_of`."""
        return interfaces_of(self.scenario.model, self.ground) if self.has_waves else []


def limits_of(scenario):
    """Return the lower and upper corner of a box, m: two arrays (3,); y of a plane is 0."""
    low = np.asarray(scenario.domain.corner, float)
    return low, low + np.asarray(scenario.domain.extent, float)


def source_places(scenario, every_shot=True):
    """Return the positions of the sources, or of the first shot of each, m: list of (x, y, z); those in files and
    plane waves have none.
    """
    entries = [source for source in scenario.source if source.at is not None or source.shots is not None]
    rows = [positions(scenario, source) for source in entries]
    return [place for row in rows for place in (row if every_shot else row[:1])]


def recorded_source(waves):
    """Return the position of the source by the dataset, as a list; empty where it does not say it."""
    places = [waves.coords.get(f"source_{axis}", waves.attrs.get(f"source_{axis}")) for axis in "xyz"]
    places = [None if np.ndim(place) else place for place in places]  # many shots, many places
    return [] if any(place is None for place in places) else [tuple(map(float, places))]


def interfaces_of(model, ground):
    """Return the elevations of the interfaces of a model, m: numbers, or functions of x and y where they follow the
    ground; before them that of the ground.
    """
    tops = [layer.top for layer in (getattr(model, "layers", None) or [])[1:]]
    if ground is None:
        return tops
    follow = layered.follows(model)
    return [ground.surface, *((lambda x, y, top=top: top + ground.surface(x, y)) if follow else top for top in tops)]


def has_degrees(waves) -> bool:
    """Return True where the distances of receivers are degrees at the Earth's centre."""
    return "distance" in waves.coords and waves.distance.attrs.get("units") == "degree"


def read_waveforms(out, every_shot=False):
    """Open the waveforms of a run; return None where there are none yet; of several shots the first, or all."""
    store = Path(out) / "result.zarr"
    if not (store / "time").exists():
        return None
    dataset = open_dataset(store) if every_shot else _first_shot(open_dataset(store))
    return dataset if dataset.data_vars and dataset.sizes.get("receiver") and dataset.sizes.get("time") else None


def read_snapshots(out) -> dict:
    """Open the series of snapshots by name, without the frames that a killed run never wrote; of a survey those of its
    first shot, which has a folder of its own.
    """
    folder = next(Path(out).glob(f"shots/{0:05d}-*/result.zarr/snapshots"), Path(out) / "result.zarr/snapshots")
    series = {name: _first_shot(dataset) for name, dataset in open_datasets(folder.parent, folder.name).items()}
    return {name: s.isel(time=slice(0, _written(folder / name, s))) for name, s in series.items()}


def _first_shot(dataset):
    return dataset.isel(shot=0) if "shot" in dataset.dims else dataset


def _written(folder, dataset):
    """Return the number of frames on disk: a frame that was never written has no chunk file."""
    frames = dataset.sizes.get("time", 0)
    for name in dataset.data_vars:
        numbers = [int(p.name.split(".")[0]) for p in (folder / name).iterdir() if p.name[:1].isdigit()]
        frames = min(frames, max(numbers, default=-1) + 1)
    return frames
