"""Commands that draw, show and pass on what a run recorded."""

from typing import Annotated

import typer

from craton.cli.commands.options import Debug, Force, call

app = typer.Typer()


@app.command()
def plot(
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Folder of a run; or a scenario, for its model.", show_default=False)
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures: overview, records, radial, gathers, section, snapshots, map, model, "
            "peaks, maps, profiles, spectra, spectrogram, motion, dispersion, kernels.",
            show_default=False,
        ),
    ] = None,
    component: Annotated[str | None, typer.Option(help="Component: section, spectrogram, dispersion.")] = None,
    station: Annotated[str | None, typer.Option(help="Receiver: spectrogram, motion.")] = None,
    by: Annotated[str | None, typer.Option(help="Section over distance, azimuth, offset or number.")] = None,
    scale: Annotated[str | None, typer.Option(help="Section by the peak of each station, trace, or all.")] = None,
    reduce: Annotated[
        float | None, typer.Option(min=0.001, metavar="KM/S", help="Section with times reduced by a velocity.")
    ] = None,
    gain: Annotated[float | None, typer.Option(min=0.001, help="Of amplitudes: section, gathers.")] = None,
    db: Annotated[float | None, typer.Option(min=1, help="Range of spectra and spectrogram, dB.")] = None,
    debug: Debug = False,
):
    """Draw a run: PNG files in its folder.

    Of a scenario file the model as it will be computed, before anything runs.
    """
    options = {"component": component, "station": station, "by": by, "scale": scale}
    options |= {"reduce": reduce, "gain": gain, "db": db}
    return call("plot", out=out, names=names or (), **options)


@app.command()
def report(
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Folder of a run, a survey or a gradient.", show_default=False)
    ],
    file: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.html", help="Page to write; by default OUT/report.html.")
    ] = None,
    debug: Debug = False,
):
    """Write a page about a run that opens in a browser, without a network.

    What was run, map, model, seismograms to zoom and pick, wavefield, gravity fields, kernels,
    time, and files with their checksums.
    """
    return call("report", out=out, file=file)


@app.command()
def film(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run.", show_default=False)],
    file: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Film: .mp4, .gif or .webp; OUT/film.mp4.")
    ] = None,
    series: Annotated[str | None, typer.Option(help="Series of snapshots; by default the first one.")] = None,
    component: Annotated[str | None, typer.Option(help="Component; by default the one with most to see.")] = None,
    rate: Annotated[float | None, typer.Option(help="Frames per second; by default the film lasts 12 s.")] = None,
    force: Force = False,
    debug: Debug = False,
):
    """Write snapshots as a film.

    All frames have one colour scale; the model, the relief or the Earth lies underneath.
    """
    how = {"series": series, "component": component, "rate": rate, "force": force}
    return call("film", out=out, file=file, **how)


@app.command()
def compare(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run.", show_default=False)],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Observed seismograms (MiniSEED, SAC, ...): a file, a folder or a pattern; or the folder of another run.",
            show_default=False,
        ),
    ],
    band: Annotated[tuple[float, float] | None, typer.Option(metavar="LOW HIGH", help="Pass band of both, Hz.")] = None,
    align: Annotated[float, typer.Option(min=0, metavar="S", help="Move observed traces by up to S seconds.")] = 0.0,
    quantity: Annotated[
        str | None, typer.Option(help="What the data are; by default the first quantity that fits.")
    ] = None,
    inventory: Annotated[
        str | None, typer.Option(metavar="FILE.xml", help="StationXML with the azimuths of components 1 and 2.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.png", help="By default OUT/compare.png.")
    ] = None,
    debug: Debug = False,
):
    """Compare the seismograms of a run with data.

    Traces of the same network, station, location and component, filtered and aligned: misfit,
    correlation, time shift and ratio of amplitudes of each, and a figure. Data are in SI units.
    """
    words = {"quantity": quantity, "inventory": inventory, "file": file}
    return call("compare", out=out, data=data, band=band, align=align, **words)


@app.command()
def convert(
    out: Annotated[str, typer.Argument(metavar="OUT", help="Folder of a run or a survey.", show_default=False)],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="File to write: .sgy, .su, .mseed, .xml, .quakeml, .sac, .asdf, .vtkhdf, .tif, .nc.",
            show_default=False,
        ),
    ],
    quantity: Annotated[
        str | None, typer.Option(help="One quantity; by default all, of gathers the first one.")
    ] = None,
    component: Annotated[str | None, typer.Option(help="One component of records; by default all.")] = None,
    shot: Annotated[str | None, typer.Option(help="One shot; by default all.")] = None,
    series: Annotated[str | None, typer.Option(help="Snapshots or map of peaks; by default the first one.")] = None,
    rotate: Annotated[bool, typer.Option("--rotate", help="Radial and transverse for east and north.")] = False,
    force: Force = False,
    debug: Debug = False,
):
    """Write what a run recorded for another program.

    Shot gathers as SEG-Y or SU, waveforms as MiniSEED, SAC (a folder) or ASDF, stations as
    StationXML, the event as QuakeML, snapshots as VTKHDF (ParaView), maps of peaks as GeoTIFF
    or netCDF.
    """
    return call(
        "convert",
        out=out,
        file=file,
        quantity=quantity,
        component=component,
        shot=shot,
        series=series,
        rotate=rotate,
        force=force,
    )
