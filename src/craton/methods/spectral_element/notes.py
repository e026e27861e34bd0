"""Sections of `craton plan` for spectral elements: algorithm, chunk of the Earth, mesh, step, resolution, sources,
memory, phases.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from craton.methods.spectral_element.equations import absorbing_layer
from craton.methods.spectral_element.mesh.mesh_statistics import quality_report, quality_warnings
from craton.methods.waves import notes
from craton.methods.waves.guided import guiding
from craton.methods.waves.notes import highest
from craton.model.globe import earth_chunk
from craton.model.media import earth
from craton.survey import sources as survey_sources

# What first-order faces leave: `craton validate sem` and bench/NOTES.md
FIRST_ORDER = (
    "absorb waves at a right angle to 0.3 %, others less: errors of 2 % (full space) to 10 % "
    "(surface waves, sides 250 m away), of static offsets up to 43 %; layers (pml) leave 0.1 %"
)
LITTLE = 5e-4  # error of which nothing more is said
GUIDING = 0.1  # see `guiding`: more is told
GUIDED = 0.009  # measured in two layers, sides 2.2 km away


def sections(d, plan, setup):
    """Return all sections, in the order in which they are printed."""
    scenario, sources, contact = setup.scenario, setup.sources, ()
    # fluid and solid meet in a box whose model, not its mesh, says where
    if d.globe is None and not scenario.model.regions and d.fluid.any() and not d.fluid.all():
        in_fluid = partial(earth.in_fluid, scenario.model)
        contact = (lambda source: in_fluid(source.points)[0]), in_fluid
    shared = notes.shared(plan, setup, *contact)
    if d.globe and sources:
        shared["Sources"] = sources_on_earth(d.globe, sources)
    shared["Memory"].append(("per element", f"{plan.nbytes / d.mesh.size:,.0f} bytes"))
    return {
        plan.title or "Elastic waves": algorithm(d, plan, scenario.boundaries.pml.reflection),
        **({"Chunk": describe_chunk(scenario, d.globe.chunk, d.sampler.over)} if d.globe else {}),
        "Mesh": mesh(d, plan, sources),
        "Time": time(d),
        "Model": model(d),
        **shared,
    }


def describe_chunk(scenario, chunk, over):
    """Return (name, text) rows of a chunk, what is laid over its model, its layers and its shortest period."""
    options, model = scenario.domain.chunk, chunk.model
    single, count, inner = chunk.all_chunks == 1, chunk.stack.count, chunk.stack.inner
    width = f"{options.width[0]:g} x {options.width[1]:g} degrees" if single else "90 x 90 degrees each"
    about = f"{'' if single else 'the first '}about {options.centre[0]:g} E, {options.centre[1]:g} N"
    deep = f"{(model.radius - chunk.radii[0]) / 1e3:,.4g} km deep"
    if inner:
        deep = f"down to {inner} x {inner} x {inner} about the centre"
    shortest = earth_chunk.shortest_period(chunk, scenario.run.degree, options.points_per_wavelength)
    figure = "flattened (WGS84)" if chunk.figure is not None else "a sphere"
    ground = "" if chunk.topography is None else ", with topography"
    noun = "chunk" if single else f"{chunk.all_chunks} chunks"
    on_each = f"{count[0]} x {count[1]} elements{'' if single else ' on each chunk'}"
    points = f"{options.points_per_wavelength:g} GLL points per wavelength at their average distance"
    return [
        (noun, f"{about}, {width}, azimuth {options.azimuth:g}, {deep}; {figure}{ground}"),
        ("model", f"{model.name}; faces of elements on {len(chunk.radii) - 2} discontinuities or depths"),
        *laid_over(scenario, chunk, over),
        ("surface", f"{on_each}, {chunk.size:,} in all, {chunk.stack.coarsest[0]} times wider at the bottom"),
        ("layers", "; ".join(earth_chunk.layers_in_words(chunk))),
        ("shortest period", f"{shortest:.4g} s with {points}"),
    ]


def laid_over(scenario, chunk, over):
    """Return a (name, text) row on the file of perturbations, an `emc.Geographic`; none without."""
    if over is None:
        return []
    name, share = (Path(scenario.model.perturbation.file).name, earth_chunk.share_covered(over, chunk))
    taken = "; ".join(over.taken)
    return [("perturbation", f"{name} covers {share:.1%} of the domain; {over.extremes()}; {taken}")]


def sources_on_earth(globe, all_sources):
    """Return (name, text) rows of sources: longitude, latitude and depth, mechanisms in local east, north, up."""
    rows = []
    for s in all_sources:
        if not hasattr(s, "force") or hasattr(s, "histories"):  # many places
            rows.append((s.name, survey_sources.describe(s).removeprefix(f"{s.name} ")))
            continue
        longitude, latitude, depth = (float(v[0]) for v in globe.chunk.whereabouts(s.points))
        axes = globe.axes(s.points)[0]
        moment = None if s.moment is None else axes.T @ s.moment @ axes
        turned = replace(s, moment=moment, force=None if s.force is None else axes.T @ s.force)
        where = f"at longitude {longitude:.6g}, latitude {latitude:.6g}, depth {depth / 1e3:.6g} km"
        rows.append((s.name, f"{where}: {turned.describe()}; {s.wavelet.describe()}"))
    return rows


def algorithm(d, plan, reflection):
    """Return rows on method, faces, assembly."""
    kinds = {}
    for name, rows in d.mesh.faces.items():
        if len(rows):
            kinds.setdefault(d.face_kinds[name], []).append(name)
    waves = "acoustic" if d.fluid.all() else "elastic and acoustic" if d.fluid.any() else "elastic"
    law = "21 constants" if d.anisotropic else "isotropic"
    how = "atomic additions on a GPU, coloured chunks on a CPU"
    if d.deterministic:
        how = "deterministic, by coloured elements: equal bits in every run" + " and for any partition" * d.exact
    kernels = {op.name for op in plan.operators.values() if op.kernel}
    families = ", ".join(sorted(name for name in kernels if name.startswith(("solid_", "fluid_"))))
    return [
        ("method", f"{waves} waves, spectral elements of degree {d.element.degree}, order 2 in time, {d.precision}"),
        ("faces", "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())),
        *layers(d, reflection),
        *first_order(d, kinds.get("stacey", ())),
        ("material", f"{law}, at the GLL points; for each element once where it is the same at all of them"),
        ("assembly", how),
        ("families", families),
    ]


def first_order(d, names):
    """Return rows on faces with first-order conditions, what they cost and why layers are not there; none without."""
    if not names:
        return []
    why = [("no layers", d.not_layered)] if d.not_layered else []
    return [("first-order faces", FIRST_ORDER), *why]


def layers(d, reflection):
    """Return rows on absorbing layers: width, elements, frequency, what they leave; none without layers."""
    if d.layers is None:
        return []
    sides, inside = d.layers.sides, (d.layers.axes > 0).sum()
    width = ", ".join(f"{side.name} {side.width:,.4g} m" for side in sides)
    frequency = sides[0].shift / np.pi
    words = f"convolutional PML, {width}; {inside:,} elements ({inside / d.mesh.size:.0%})"
    words += f"; reflection {reflection:g} at a right angle, frequency {frequency:.3g} Hz"
    rows = [("layers", f"{words}; made for {d.layers.speeds.words}")]
    if d.globe is None:
        speeds = d.statistics.speeds
        left = max(absorbing_layer.left_behind(d, s.edge, s.width, frequency) for s in sides)
        if guiding(speeds["vp"], speeds["vs"]) > GUIDING and left < GUIDED:
            words = f"about {GUIDED:.1%}, for contrasts guide waves along them"
        else:
            words = f"about {left:.2%}" if left > LITTLE else f"less than {LITTLE:.2%}"
        rows.append(("expected error", f"of velocity, from the layers: {words}"))
    return rows


def mesh(d, plan, sources):
    """Return rows on elements, extent, shape, and points per wavelength at the sources' f95 with the worst elements."""
    low, high = d.mesh.bounds()
    extent = "  ".join(f"{a} {x:,.0f} .. {y:,.0f}" for a, x, y in zip("xyz", low, high))
    rows = [("elements", plan.grid.words()), ("extent", f"{extent}  m")]
    if d.fluid.any():
        heights = np.ptp(d.mesh.nodes[d.mesh.corners[d.fluid]][..., 2], axis=1)
        thinnest = "" if d.globe else f", the thinnest {heights.min():.3g} m high"
        rows.append(("fluid", f"{d.fluid.sum():,} elements{thinnest}"))
    return rows + quality_report(d.statistics.quality, d.mesh, highest(sources))


def time(d):
    """Return rows on the step and its stability limit."""
    stable = d.stable
    place = "({:.0f}, {:.0f}, {:.0f}) m".format(*d.centres[stable.element])
    limited_by = f"element {stable.element} at {place}, Courant number {stable.courant * d.dt / stable.limit:.3f}"
    return notes.time(d, stable.limit, ("limited by", limited_by))


def model(d):
    """Return rows on speeds, density and attenuation."""
    rows, loss = [notes.speeds(d.statistics.speeds)], d.statistics.loss
    if d.relaxation:
        low, high = d.relaxation.band
        words = f"{len(d.relaxation.omega)} mechanisms, Q from {1 / loss:.4g}, within {d.relaxation.error(loss):.1%}"
        rows.append(("attenuation", f"{words} over {low:g} to {high:g} Hz"))
    return rows


def warnings(d, sources):
    """Warn where the mesh, on any rank, does not resolve the sources' frequencies: the warning of
    the worst rank; all ranks must call.
    """
    of_mesh, fallback = d.statistics.quality, []
    if d.not_layered:
        fallback = [f'boundaries: "stacey" in place of absorbing layers: {d.not_layered}; {FIRST_ORDER}']

    def worst_and_warnings():
        worst = float((of_mesh.slowest / of_mesh.longest).min())
        return worst, quality_warnings(of_mesh, d.mesh, highest(sources))

    return fallback + min(d.subdomain.team.every(worst_and_warnings))[1]
