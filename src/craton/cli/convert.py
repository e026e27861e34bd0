"""craton convert: what a run recorded, in a file of another program."""

from pathlib import Path

from craton.cli.check import known, refuse_no_results, refuse_present, results_of, whole
from craton.cli.command import Force, argument, flag, option
from craton.conventions import in_order
from craton.errors import refuse
from craton.text import listed

# kinds of data of which a run has several by name: what a run may have none of, and what the table does
SERIES = {
    "snapshots": ("snapshots", "take"),
    "peaks": ("maps of peaks", "measure"),
    "recording": ("recordings", "make"),
}
RECORDED = ("gather", "waveform", "seismograms", *SERIES)  # kinds of data of a run


def convert(
    out: argument("OUT", "Folder of a run or a survey."),
    file: argument("FILE", "File to write: .sgy, .su, .mseed, .xml, .quakeml, .sac, .asdf, .vtkhdf, .tif, .nc."),
    quantity: option("One quantity; by default all, of gathers velocity, or what there is.") = None,
    component: option("One component of records; by default all.") = None,
    shot: option("One shot; by default all.") = None,
    series: option("Snapshots or map of peaks; by default the first one.") = None,
    rotate: flag("rotate", "Radial and transverse for east and north.") = False,
    force: Force = False,
):
    """Write what a run recorded for another program.

    Shot gathers as SEG-Y or SU, waveforms as MiniSEED, SAC (a folder) or ASDF, stations as
    StationXML, the event as QuakeML, snapshots as VTKHDF (ParaView), maps of peaks as GeoTIFF
    or netCDF.
    """
    path = Path(file)
    row = row_of(path)
    refuse_present("FILE", path, force, is_folder=row.name == "SAC")
    refuse_no_results(out)
    with results_of(out), whole(path):
        written(row, path, out, quantity, component, shot, series, rotate)
    print(path)


def written(row, path, out, quantity, component, shot, series, rotate):
    """Write the file in the format of a row; see `convert`."""
    write, of_series = row.function(row.write), row.holds in SERIES
    of_waveforms = {"--quantity": quantity, "--component": component, "--shot": shot, "--rotate": rotate}
    for word, value in (of_waveforms if of_series else {"--series": series}).items():
        if value:
            refuse(word, f"{row.name} files of {row.holds} do not take it", f"leave {word} out")
    if of_series:
        write(series_of(out, row.holds, series), path)
    elif row.holds == "gather":
        dataset = along_fibres(out, quantity, shot)
        dataset = waveforms(out, shot, rotate) if dataset is None else dataset
        quantity = quantity or next(iter(quantities_of(dataset)))
        write(selected(dataset, quantity, component), path)
    else:
        dataset = selected(waveforms(out, shot, rotate), quantity, component)
        if "shot" in dataset.dims:
            names = ", ".join(map(str, dataset.shot.values[:4]))
            message = f"{row.name} cannot tell the {dataset.sizes['shot']} shots of {out} apart"
            refuse("FILE", message, f"add --shot NAME ({names}, ...), or write SEG-Y")
        if not write(dataset, path):
            reason = "its library is missing (see the message above), or the run has no such thing"
            refuse("FILE", f"{path} was not written", reason)


def row_of(path):
    """Return the row of `craton.io.FORMATS` that writes files of this name.

    Parameters
    ----------
    path : pathlib.Path
    """
    from craton.io import FORMATS

    rows = [row for row in FORMATS if row.holds in RECORDED]
    endings = {ending: row for row in rows for ending in row.suffixes or (Path(row.file).suffix,)}
    if path.suffix.lower() not in endings:
        known = ", ".join(f"{ending} ({row.name})" for ending, row in endings.items())
        refuse("FILE", f"{path.name}: no format ends in {path.suffix or 'nothing'}", f"use {known}")
    return endings[path.suffix.lower()]


def waveforms(out, shot=None, rotate=False):
    """Return the recorded waveforms of all shots, or of one: xarray.Dataset.

    Parameters
    ----------
    out : path-like
    shot : str, optional
        Its name.
    rotate : bool
        Radial and transverse components in place of east and north.
    """
    from craton.output.arrays import open_dataset

    dataset = open_dataset(Path(out) / "result.zarr")
    if not dataset.data_vars or not dataset.sizes.get("receiver"):
        remedy = "runs with [[receivers]] record them; what fibres recorded becomes SEG-Y or SU"
        refuse("OUT", f"{out} has no waveforms", remedy)
    if shot is not None:
        dataset = of_shot(dataset, shot)
    if rotate:
        from craton.output.ground_motion import rotated

        dataset = rotated(dataset)
    return dataset


def along_fibres(out, quantity=None, shot=None):
    """Return what fibres recorded, each channel as a receiver, where it is asked for or there is
    nothing else: xarray.Dataset, or None.

    Parameters
    ----------
    out : path-like
    quantity : str, optional
        ``"fibre_strain_rate"`` asks for it.
    shot : str, optional
        Its name.
    """
    from craton.output.arrays import open_dataset
    from craton.survey.receivers import ALONG_FIBRE

    store = Path(out) / "result.zarr"
    if not (store / "fibres").is_dir():
        return None
    others = open_dataset(store)
    if quantity not in (None, ALONG_FIBRE) or quantity is None and others.sizes.get("receiver"):
        return None
    dataset = open_dataset(store, "fibres")
    names = [f"{name}.{n}" for n, name in enumerate(map(str, dataset.fibre.values), 1)]
    dataset = dataset.rename({"channel": "receiver", "strain_rate": ALONG_FIBRE})
    dataset = dataset.assign_coords(receiver=("receiver", names))
    return dataset if shot is None else of_shot(dataset, shot)


def quantities_of(dataset):
    """Return the names of the components of each quantity that receivers recorded: dict of str to list of str."""
    dims = {
        name: next((d for d in ("component", "tensor") if d in dataset[name].dims), None)
        for name in in_order(dataset.data_vars)
        if "receiver" in dataset[name].dims
    }
    return {name: [] if d is None else [*map(str, dataset[d].values)] for name, d in dims.items()}


def selected(dataset, quantity=None, component=None):
    """Return one quantity, one component, or all, of waveforms: xarray.Dataset.

    Parameters
    ----------
    dataset : xarray.Dataset
    quantity, component : str, optional
        A component alone is that of every quantity that has it.
    """
    recorded = quantities_of(dataset)
    if quantity is not None:
        known("--quantity", quantity, recorded, "quantity")
        dataset = dataset[[quantity]]
    if component is None:
        return dataset
    having = [name for name, parts in recorded.items() if component in parts]
    chosen = [name for name in having if quantity in (None, name)]
    if not chosen:
        parts = recorded.get(quantity, [])
        words = f"{quantity} has no components"
        if parts:
            words = f"{quantity} has no component {component}; its are {listed(parts, 'and')}"
        words = words if quantity else f"no quantity has a component {component}"
        others = [f"--quantity {name} --component {component}" for name in having]
        others = others or [f"--quantity {name}: {listed(names)}" for name, names in recorded.items() if names]
        refuse("--component", words, f"write {' or '.join(others)}" if others else "leave it out")
    dataset = dataset[chosen]
    dims = [dim for dim in ("component", "tensor") if dim in dataset.dims]
    return dataset.sel({dim: [component] for dim in dims})


def of_shot(dataset, shot):
    """Return the waveforms of one shot.

    Parameters
    ----------
    dataset : xarray.Dataset
    shot : str
        Its name.
    """
    names = [str(name) for name in dataset.shot.values] if "shot" in dataset.dims else []
    if shot not in names:
        remedy = f"there are {listed(names, 'and')}" if names else "the run has no shots"
        refuse("--shot", f"there is no shot {shot}", remedy)
    return dataset.sel(shot=shot)


def series_of(out, holds, name=None):
    """Return a series of snapshots, a map of peaks, or a recording at points as nodes of the domain reduction method:
    xarray.Dataset.

    Parameters
    ----------
    out : path-like
    holds : str
        Kind of data: a key of `SERIES`.
    name : str, optional
        By default the first one.
    """
    from craton.output import peaks, recordings
    from craton.report.runs import read_snapshots

    readers = {"snapshots": read_snapshots, "peaks": peaks.read, "recording": recordings.names}
    named = readers[holds](out)
    if not named:
        noun, verb = SERIES[holds]
        refuse("OUT", f"{out} has no {noun}", f"runs with [[{holds}]] {verb} them")
    if name is not None and name not in named:
        refuse("--series", f"there is no series {name}", f"there are {', '.join(named)}")
    name = name or next(iter(named))
    return recordings.waves(out, name) if holds == "recording" else named[name]
