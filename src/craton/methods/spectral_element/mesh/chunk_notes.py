"""Description of a chunk of the Earth for `craton plan`: place, layers, resolution."""

from dataclasses import replace
from pathlib import Path

from craton.model.globe import earth_chunk
from craton.survey import sources as survey_sources


def describe_chunk(scenario, chunk, over):
    """Return (name, text) rows of a chunk, what is laid over its model, its layers and its shortest
    period.
    """
    options, model = scenario.domain.chunk, chunk.model
    single, count, inner = (chunk.all_chunks == 1, chunk.stack.count, getattr(chunk.stack, "inner", 0))
    width = f"{options.width[0]:g} x {options.width[1]:g} degrees" if single else "90 x 90 degrees each"
    about = f"{'' if single else 'the first '}about {options.centre[0]:g} E, {options.centre[1]:g} N"
    deep = (
        f"{(model.radius - chunk.radii[0]) / 1e3:,.4g} km deep"
        if not inner
        else f"down to {inner} x {inner} x {inner} about the centre"
    )
    shortest = earth_chunk.shortest_period(chunk, scenario.run.degree, options.points_per_wavelength)
    figure = "flattened (WGS84)" if chunk.figure is not None else "a sphere"
    ground = "" if chunk.topography is None else ", with topography"
    return [
        (
            "chunk" if single else f"{chunk.all_chunks} chunks",
            f"{about}, {width}, azimuth {options.azimuth:g}, {deep}; {figure}{ground}",
        ),
        ("model", f"{model.name}; faces of elements on {len(chunk.radii) - 2} discontinuities or depths"),
        *laid_over(scenario, chunk, over),
        (
            "surface",
            f"{count[0]} x {count[1]} elements{'' if single else ' on each chunk'}, {chunk.size:,} in all, "
            f"{chunk.stack.coarsest[0]} times wider at the bottom",
        ),
        ("layers", "; ".join(earth_chunk.layers_in_words(chunk))),
        (
            "shortest period",
            f"{shortest:.4g} s with {options.points_per_wavelength:g} GLL points per wavelength at their average distance",
        ),
    ]


def laid_over(scenario, chunk, over):
    """Return a (name, text) row on the file of perturbations, an `emc.Geographic`; none without."""
    if over is None:
        return []
    name, share = (Path(scenario.model.perturbation.file).name, earth_chunk.share_covered(over, chunk))
    taken = "; ".join(over.taken)
    return [("perturbation", f"{name} covers {share:.1%} of the domain; {over.extremes()}; {taken}")]


def sources(globe, all_sources):
    """Return (name, text) rows of sources: longitude, latitude and depth, mechanisms in local east,
    north, up.
    """
    rows = []
    for s in all_sources:
        if not hasattr(s, "force") or hasattr(s, "histories"):  # many places
            rows.append((s.name, survey_sources.describe(s).removeprefix(f"{s.name} ")))
            continue
        longitude, latitude, depth = (float(v[0]) for v in globe.chunk.whereabouts(s.points))
        axes = globe.axes(s.points)[0]
        moment, force = (
            None if s.moment is None else axes.T @ s.moment @ axes,
            None if s.force is None else axes.T @ s.force,
        )
        turned = replace(s, moment=moment, force=force)
        where = f"at longitude {longitude:.6g}, latitude {latitude:.6g}, depth {depth / 1e3:.6g} km"
        rows.append((s.name, f"{where}: {turned.describe()}; {s.wavelet.describe()}"))
    return rows
