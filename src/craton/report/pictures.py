"""PNG pictures of a finished or stopped run, made from its OUT directory alone."""

from pathlib import Path

import numpy as np

from craton.errors import CratonError, ScenarioError
from craton.report import fieldmaps, figures, gradient_pictures, scales, underlays
from craton.report.shot_gathers import NOTE, draw_gather, draw_shots

_FRAMES_LOOKED_AT = 48
_FRAMES_SHOWN = 6
TAKEN = "runs with [[snapshots]] take them, surveys with --snapshots too"
_SEEN = 1 / scales.KNEE  # of the largest amplitude of all frames: what is worth a panel


def overview(out_dir, path=None):
    """One picture of a run: the wavefield on a vertical section, and the record of the three
    components at the first station.

    The section shows the frame and the component with most to see. With more than a few receivers a
    record section takes the place of the single record. Of a gravity run the maps of all fields, of
    a gradient its sections.

    Parameters
    ----------
    out_dir : path-like
        OUT directory of a run.
    path : path-like, optional
        PNG to write; ``OUT/overview.png`` when absent.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    CratonError
        If OUT holds neither waveforms nor snapshots.
    ResourceError
        If matplotlib is missing.
    """
    out_dir = Path(out_dir)
    if fieldmaps.read_fields(out_dir) is not None:
        return fieldmaps.maps(out_dir, path or out_dir / "overview.png")
    if (out_dir / gradient_pictures.RESULT).is_dir():
        return gradient_pictures.kernels(out_dir, path or out_dir / "overview.png")
    waves = read_waveforms(out_dir)
    scene = scene_of(out_dir, waves)
    series = [(name, ds) for name, ds in read_snapshots(out_dir).items() if ds.sizes.get("time")]
    frame = _section(series, scene["sources"])
    if waves is None and frame is None:
        raise CratonError(f"{out_dir} has neither waveforms nor snapshots to plot")
    n = _record_panels(waves)
    tall = 0.0 if frame is None else float(np.clip(8.2 * _aspect(frame), 2.2, 6.5)) + 1.0
    with figures.figure(10, 0.5 + tall + (0.75 + 1.25 * n if n else 0)) as page:
        shot = f", shot {waves.shot.item()}" if waves is not None and "shot" in waves.coords else ""
        title = (scene["title"] or out_dir.name) + shot
        page.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
        parts = (
            page.subfigures(2, 1, height_ratios=[tall, 0.75 + 1.25 * n]) if n and frame is not None else [page, page]
        )
        if frame is not None:
            _draw_frame(parts[0], frame, waves, scene)
        if n:
            _draw_waves(parts[1], waves, scene, None if frame is None else float(frame.time))
    return _save(page, path or out_dir / "overview.png")


def records(out_dir, path=None):
    """All receivers of the first recorded quantity, as in `figures.record_section`;
    ``OUT/records.png``.
    """
    out_dir = Path(out_dir)
    waves = read_waveforms(out_dir)
    scene = scene_of(out_dir, waves)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to plot")
    origin = scene["sources"][0] if scene["sources"] else None
    return _save(figures.record_section(waves, origin=origin), path or out_dir / "records.png")


def radial(out_dir, path=None):
    """All receivers as `records` has them, with radial and transverse components in place of east
    and north; ``OUT/radial.png``.
    """
    from craton.output.rotation import rotated

    out_dir = Path(out_dir)
    waves = read_waveforms(out_dir)
    if waves is None:
        raise CratonError(f"{out_dir} has no waveforms to plot")
    sources = scene_of(out_dir, waves)["sources"][:1]
    if not _recorded_source(waves):  # the scenario knows it
        named = (f"source_{axis}" for axis in "xyz")
        waves = waves.assign_attrs(zip(named, map(float, *sources))) if sources else waves
    page = figures.record_section(rotated(waves), origin=sources[0] if sources else None)
    return _save(page, path or out_dir / "radial.png")


def gathers(out_dir, path=None, gain=1.0):
    """Shot gathers over signed offset, time downwards; ``OUT/gathers.png``.

    Several shots stand side by side, up to four from the first to the last, with the component that
    has most to see; one shot has a panel for each component.
    """
    out_dir = Path(out_dir)
    waves = read_waveforms(out_dir, every_shot=True)
    if waves is None or waves.sizes["receiver"] < 2:
        raise CratonError(f"{out_dir} has no gather to plot: it needs waveforms of many receivers")
    scene = scene_of(out_dir, waves)
    array = waves[next(iter(waves.data_vars))]
    with figures.figure(11, 6.5) as page:
        title = figures.label(array)
        if "shot" in array.dims:
            name = draw_shots(page, array, gain)
            title += f", {figures.COMPONENT_NAMES.get(name, name).lower()} component, {NOTE}"
        else:
            names = figures.components(array.isel(time=slice(0, 1)))
            axes = page.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
            draw_gather(axes, array, scene["sources"][0] if scene["sources"] else None, gain)
        page.suptitle(f"{scene['title'] or out_dir.name}: {title}", x=0.012, ha="left", fontsize=12, fontweight="bold")
    return _save(page, path or out_dir / "gathers.png")


def snapshots(out_dir, path=None):
    """Six frames of the first series of snapshots on one colour scale; ``OUT/snapshots.png``."""
    out_dir = Path(out_dir)
    scene = scene_of(out_dir)
    series = [(name, ds) for name, ds in read_snapshots(out_dir).items() if ds.sizes.get("time")]
    if not series:
        raise CratonError(f"{out_dir} has no snapshots to plot: {TAKEN}")
    array = _plane(series[0][1], scene["sources"])
    dim, numbers, scores, peaks = _sampled(array)
    best = _strongest(scores)[1]
    if dim:
        array = array.isel({dim: best})
    last = numbers[np.flatnonzero(peaks[:, best] >= _SEEN * peaks[:, best].max())[-1]]
    # The first frame of a run is empty as a rule: spread the others over the rest.
    shown = np.unique(np.linspace(0, last, _FRAMES_SHOWN + 1).round().astype(int))[-_FRAMES_SHOWN:]
    frames = [array.isel(time=int(i)).load() for i in shown]
    limit = max(scales.robust_limit(frame.values) for frame in frames)
    rows = -(-len(frames) // 2)
    with figures.figure(11, 0.8 + rows * float(np.clip(4.75 * _aspect(frames[0]) + 0.3, 1.4, 5.5))) as page:
        page.suptitle(
            f"{scene['title'] or out_dir.name}: {figures.heading(frames[0])}",
            x=0.012,
            ha="left",
            fontsize=12,
            fontweight="bold",
        )
        axes = page.subplots(rows, 2, sharex=True, sharey=True).ravel()
        for axis, frame in zip(axes, frames):
            image = figures.draw_snapshot(axis, frame, scene["sources"], (), scene["interfaces"], limit)
            image.set_norm(scales.shared_norm(image.norm.vmax))
            underlays.draw_ground(axis, frame, out_dir)
            axis.set_title(f"t = {float(frame.time):.4g} s", loc="left")
            axis.set_title("", loc="right")
            axis.label_outer()
        for axis in axes[len(frames) :]:
            axis.set_axis_off()
        scales.mark_shared(scales.colour_bar(image, list(axes)), image.norm.vmax)
    return _save(page, path or out_dir / "snapshots.png")


def read_waveforms(out_dir, every_shot=False):
    """Waveforms of a run, or None where there are none yet; of several shots the first, or all."""
    import xarray as xr

    store = Path(out_dir) / "result.zarr"
    if not (store / "time").exists():
        return None
    dataset = xr.open_zarr(store, chunks=None)
    dataset = dataset if every_shot else _first_shot(dataset)
    return dataset if dataset.data_vars and dataset.sizes.get("receiver") and dataset.sizes.get("time") else None


def read_snapshots(out_dir):
    """Series of snapshots: name -> xarray.Dataset, without the frames that a killed run never
    wrote; of a survey those of its first shot, which has a folder of its own.
    """
    import xarray as xr

    stored = Path("result.zarr", "snapshots")
    first = next(Path(out_dir).glob(f"shots/{0:05d}-*/{stored}"), None)
    folder = first or Path(out_dir) / stored
    names = sorted(p.name for p in folder.iterdir() if (p / ".zgroup").exists()) if folder.is_dir() else []
    series = {}
    for name in names:
        dataset = _first_shot(xr.open_zarr(folder.parent, group=f"snapshots/{name}", chunks=None))
        series[name] = dataset.isel(time=slice(0, _written(folder / name, dataset)))
    return series


def _first_shot(dataset):
    """Return the first shot of a run with several."""
    return dataset.isel(shot=0) if "shot" in dataset.dims else dataset


def _written(folder, dataset):
    """Frames written: a frame that was never written has no chunk file."""
    frames = dataset.sizes.get("time", 0)
    for name in dataset.data_vars:
        numbers = [int(p.name.split(".")[0]) for p in (folder / name).iterdir() if p.name[:1].isdigit()]
        frames = min(frames, max(numbers, default=-1) + 1)
    return frames


def scene_of(out_dir, waves=None):
    """Title, source positions, layer tops and ground of the run's scenario.

    What cannot be read of it, as where a file of its sources is gone, is taken from the attributes
    of the waveforms.
    """
    from craton.scenario import load

    recorded = [] if waves is None else _recorded_source(waves)
    title = "" if waves is None else str(waves.attrs.get("title", ""))
    try:
        scenario = load(Path(out_dir) / "scenario.toml")
    except (OSError, ScenarioError) as error:
        fieldmaps.warn_unread(out_dir, error)
        return {"title": title, "sources": recorded, "interfaces": []}
    if not hasattr(scenario, "source"):
        return {"title": scenario.title, "sources": [], "interfaces": []}
    sources = [at for source in scenario.source for at in _at(scenario, source)]
    return {"title": scenario.title or "", "sources": sources or recorded, "interfaces": _interfaces(scenario.model)}


def _recorded_source(waves):
    """Position of the source by the dataset, as a list; empty where it does not say it."""
    places = [waves.coords.get(f"source_{axis}", waves.attrs.get(f"source_{axis}")) for axis in "xyz"]
    places = [None if np.ndim(place) else place for place in places]  # many shots, many places
    return [] if any(place is None for place in places) else [tuple(map(float, places))]


def _interfaces(model):
    """Elevations of the interfaces of a model, m: numbers, or functions of x and y where they
    follow the ground; and the ground.
    """
    from craton.model.ground import terrain
    from craton.model.media import followed

    tops = [layer.top for layer in (getattr(model, "layers", None) or [])[1:]]
    try:
        ground = terrain.build(model)
    except (OSError, ScenarioError):
        ground = None
    if ground is None:
        return tops
    follow = followed.asked(model)
    return [ground.surface, *((lambda x, y, top=top: top + ground.surface(x, y)) if follow else top for top in tops)]


def _at(scenario, source):
    """Position of the first shot of a source as a list; empty where it stands in a file or is a
    plane wave.
    """
    from craton.survey.sources import positions
    from craton.tables.fields import Place

    ends = (source.at, getattr(source.shots, "from_", None))
    # figures of boxes do not show a chunk of the Earth
    is_chunk = getattr(scenario.domain, "chunk", None) is not None
    if is_chunk and any(isinstance(at, Place) for at in ends):
        return []
    return positions(scenario, source)[:1] if source.at is not None or source.shots is not None else []


def _section(series, sources):
    """Return the frame to show: of a vertical plane, else a cut of a volume, else any plane; None
    without snapshots.
    """
    planes = [_plane(dataset, sources) for _, dataset in series]
    planes.sort(key=lambda array: "z" not in array.dims)  # stable: the first vertical one
    if not planes:
        return None
    index, dim, best = _liveliest(planes[0])
    frame = planes[0].isel(time=index)
    return (frame.isel({dim: best}) if dim else frame).load()


def _plane(dataset, sources):
    """Return the first quantity of a series; of a volume, its west-east section through the first
    source (or the middle).
    """
    array = dataset[next(iter(dataset.data_vars))]
    if all(axis in array.dims for axis in "xyz"):
        y = sources[0][1] if sources else float(array.y.mean())
        array = array.sel(y=y, method="nearest")
    return array


def _liveliest(array):
    """(frame, dimension, component) with the largest mean cube root of amplitude: strong waves, and all
    over the plane.
    """
    dim, numbers, scores, _ = _sampled(array)
    frame, component = _strongest(scores)
    return int(numbers[frame]), dim, component


def _strongest(scores):
    """Frame and component of the largest score."""
    frame, component = np.unravel_index(np.argmax(scores), scores.shape)
    return int(frame), int(component)


def _sampled(array):
    """Amplitudes of some frames, spread over all: the dimension of components or None, numbers of
    the frames (n,), their mean cube root of amplitude and their peak by component (n, components).
    """
    dim = next((d for d in array.dims if d not in ("time", "x", "y", "z")), None)
    space = [d for d in array.dims if d in ("x", "y", "z")]
    thin = tuple(slice(None, None, max(1, array.sizes[d] // 200)) for d in space)
    numbers = np.unique(np.linspace(0, array.sizes["time"] - 1, _FRAMES_LOOKED_AT).astype(int))
    scores, peaks = [], []
    for number in numbers:
        frame = array.isel(time=int(number)).transpose(..., *space).values
        size = np.nan_to_num(np.abs(frame.reshape(-1, *frame.shape[-len(space) :])))
        peaks.append(size.max(axis=tuple(range(1, size.ndim)), initial=0))
        scores.append(np.cbrt(size[:, *thin]).mean(axis=tuple(range(1, size.ndim))))
    return dim, numbers, np.array(scores), np.array(peaks)


def _record_panels(waves):
    """Panels of waveforms in the overview: one per component, three rows' worth for a section, none
    without waveforms.
    """
    if waves is None:
        return 0
    array = waves[next(iter(waves.data_vars))]
    return 3 if array.sizes["receiver"] > figures.FEW else len(figures.components(array.isel(time=slice(0, 1))))


def _draw_frame(part, frame, waves, scene):
    axis = part.subplots()
    receivers = () if waves is None else np.column_stack([waves[c].values for c in "xyz"])
    image = figures.draw_snapshot(axis, frame, scene["sources"], receivers, scene["interfaces"])
    scales.colour_bar(image, [axis])


def _draw_waves(part, waves, scene, mark):
    array = waves[next(iter(waves.data_vars))]
    names = figures.components(array)
    if array.sizes["receiver"] > figures.FEW:
        axes = part.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
        draw = draw_gather if "shot" in array.coords else figures.draw_section
        draw(axes, array, scene["sources"][0] if scene["sources"] else None)
    else:
        figures.draw_record(
            part.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0], array, mark=mark
        )


def _aspect(frame):
    """Height over width of a plane."""
    spans = [max(float(np.ptp(frame[dim].values)), 1e-9) for dim in frame.dims]
    return spans[0] / spans[1]


def _save(page, path):
    """Write a figure as PNG and say where."""
    page.savefig(path, format="png", dpi=160)
    return Path(path)
