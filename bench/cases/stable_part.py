"""The stable step from a part of a large mesh: how far the part's eigenvalue, and its bound, are from the whole's.

Random meshes of 3,000 to 50,000 elements: all that tests/cases/stepcase.py draws (moved, curved, sheared, graded elements, layers that cut
them, 21 constants, attenuation, water, vp / vs to 10, degrees 2 to 8), boxes with a mountain, a sea, interfaces and doubled elements,
cubes between rigid faces, media that differ from element to element or within elements, corners moved until elements are all but folded,
chunks of the Earth and the whole Earth. Lanczos' method on the whole mesh runs until its bound is within 0.25 % (`CLOSE`), on a part as a
plan runs it.

usage: python3 -m bench stable_part --device cpu [--only random box ...] [--set most=4096,8192] [--out bench/results/stable_part_cpu.json]

"value_over_whole" is the largest eigenvalue of the part over the whole's; "bound_over_whole" that of the bound, of which the step is
taken: the step is stable where it is not below 1.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.cases.start_up import THOMSEN
from bench.harness import ROOT
from craton.methods.spectral_element import bench, build
from craton.methods.spectral_element.equations import time_step
from craton.methods.spectral_element.equations.undamped import Undamped
from craton.methods.spectral_element.mesh import families
from craton.methods.waves.exchange import SingleRank
from craton.model.blas import one_thread
from craton.model.media.cells import Region
from craton.model.media.sampling import sampler
from craton.model.mesh import hexmesh
from craton.model.mesh.hexmesh import Prepared
from craton.scenario import SpectralScenario
from craton.tables.medium import Regions
from craton.validation.spectral import with_model

sys.path.insert(0, str(ROOT / "tests" / "cases"))

import stepcase  # noqa: E402

CLOSE = 2.5e-3  # of the whole's eigenvalue, by which its bound may be above it
PARTS_OF = "2048,4096,8192"  # elements at most
RANDOM = 30  # meshes of stepcase
BOX_EDGE = 100.0  # m
DEGREE = 8  # at whose points no element is folded


# --- meshes -----------------------------------------------------------------------------------


def random_meshes():
    """Yield name, scenario and `Prepared` mesh of random cases, whose degrees fall as they grow."""
    rng = np.random.default_rng(17)
    for seed in range(RANDOM):
        degree = int(rng.choice((2, 3, 4, 5, 6, 7, 8)))
        most = {2: 40_000, 3: 26_000, 4: 16_000, 5: 10_000, 6: 7_000, 7: 5_000, 8: 4_000}[degree]
        total = 3_000 * (most / 3_000) ** rng.uniform()
        sides = rng.uniform(0.6, 1.6, 3)
        counts = tuple(int(n) for n in np.rint(sides * (total / sides.prod()) ** (1 / 3)))
        case = stepcase.case_of(1000 + seed, counts)
        case.tables["run"] = {"degree": degree, "precision": "float32"}
        shape = {n: round(getattr(case, n), 3) for n in ("graded", "sheared", "moved", "curved")}
        name = f"random {seed}, {case.kind}, {' '.join(f'{n} {v}' for n, v in shape.items() if v)}"
        yield name, lambda case=case: (case.scenario, with_model(case.scenario, stepcase.mesh(case)))


def box(counts, layers, degree=4, boundaries="stacey", top="free", **model):
    """Tables of a box of elements of `BOX_EDGE` below z = 0."""
    x, y, z = (BOX_EDGE * n for n in counts)
    return {
        "method": "sem",
        "title": "box",
        "domain": {"origin": [0, 0, -z], "size": [x, y, z], "element_size": BOX_EDGE},
        "model": {"kind": "layers", "layers": layers} | model,
        "time": {"duration": 1.0, "start": 0.0},
        "boundaries": {"top": top, "others": boundaries},
        "source": [
            {
                "kind": "force",
                "at": [x / 2, y / 2, -z / 2],
                "force": [0, 0, 1.0],
                "wavelet": {"kind": "ricker", "frequency": 1.0},
            }
        ],
        "run": {"degree": degree},
    }


def hill(extent, height, seed):
    """Table of a rough ground below `height` and zero, sampled every one and a half elements."""
    rng, x = np.random.default_rng(seed), np.arange(0.0, extent + 1, 1.5 * BOX_EDGE)
    x[-1] = max(x[-1], extent)
    return {"x": x.tolist(), "z": (-height * rng.uniform(0, 1, len(x))).tolist()}


def moved_box(scenario, moved, seed):
    """The `Prepared` box of a scenario with corners moved by as much of an edge, or a tenth less as
    long as an element is folded.
    """
    while hexmesh.problems((prepared := bench.irregular(scenario, moved, seed)).mesh, DEGREE):
        moved *= 0.9
    return prepared


def boxes():
    """Yield boxes with interfaces, topography, water, doubled elements, moved corners, cubes."""
    soft, rock = bench.TOP | {"top": 0}, bench.BOTTOM | {"top": -730.0}
    water = bench.WATER | {"top": 0}
    two = [soft, rock]
    slow = [{"top": 0, "vp": 1600, "vs": 200, "rho": 1800}, rock]
    tables = {
        "cubes": box((30, 28, 18), two[:1]),
        "rigid cubes": box((26, 26, 26), two[:1], boundaries="rigid", top="rigid"),
        "cubes of degree 7": box((16, 16, 16), two[:1], 7),
        "cubes with a cut layer": box((30, 28, 18), two),
        "soil over rock": box((30, 28, 18), slow),
        "mountain": box((30, 28, 18), two, topography=hill(3000, 500, 1)),
        "rough mountain, degree 6": box((22, 22, 16), two, 6, topography=hill(2200, 400, 2)),
        "mountain of soil": box((30, 28, 18), slow, topography=hill(3000, 300, 3)),
        "sea": box((30, 28, 18), [water, rock | {"top": -600.0}]),
        "sea over a rough floor": box(
            (30, 30, 15),
            [soft | {"top": 0}, rock | {"top": -1200.0}],
            topography=hill(3000, 500, 4),
            water={"level": 150.0},
        ),
        "21 constants": box((26, 26, 18), [layer | THOMSEN for layer in two]),
        "gradient": box((30, 28, 18), [soft | {"vp_gradient": 1.5, "vs_gradient": 0.8}]),
    }
    for name, factor in (("doubled", 2), ("tripled", 3)):
        of_box = box((36, 36, 36), two)
        of_box["domain"]["refine"] = [{"below": -900.0, "factor": factor}]
        tables[name] = of_box
    for name, of_box in tables.items():
        yield f"box, {name}", lambda of_box=of_box: (SpectralScenario(**of_box), None)
    for shape, moved, degree, seed in (
        ((36, 36, 36), 0.15, 4, 1),
        ((26, 26, 26), 0.25, 4, 2),
        ((26, 26, 26), 0.3, 3, 3),
        ((36, 36, 30), 0.05, 2, 4),
        ((18, 18, 16), 0.2, 6, 5),
        ((16, 16, 16), 0.2, 8, 6),
    ):
        of_box = box(shape, two, degree)

        def made(of_box=of_box, moved=moved, seed=seed):
            scenario = SpectralScenario(**of_box)
            return scenario, moved_box(scenario, moved, seed)

        yield f"box, corners moved to {moved}, degree {degree}", made


def regional():
    """Yield meshes of twelve regions, to one of which each element belongs at random."""
    for moved, degree, counts, seed in (
        (0.0, 4, (26, 26, 18), 11),
        (0.2, 4, (26, 26, 18), 11),
        (0.2, 3, (30, 28, 18), 11),
        (0.1, 6, (16, 16, 16), 11),
        (0.15, 2, (36, 36, 36), 12),
        (0.25, 3, (30, 30, 24), 13),
        (0.2, 2, (30, 30, 30), 14),
        (0.0, 5, (22, 22, 20), 15),
        (0.3, 4, (24, 24, 20), 16),
    ):

        def made(moved=moved, degree=degree, counts=counts, seed=seed):
            rng = np.random.default_rng(seed)
            of_box = box(counts, [bench.TOP | {"top": 0}], degree)
            plain = SpectralScenario(**of_box)
            mesh = moved_box(plain, moved, 7).mesh
            names = tuple(f"r{n}" for n in range(12))
            media = {}
            for name in names:
                vp = float(rng.uniform(1500, 6000))
                ratio = stepcase.ratio(rng)
                media[name] = {"vp": vp, "vs": vp / ratio, "rho": float(rng.uniform(1500, 3000))}
            mesh = replace(mesh, regions=rng.integers(0, 12, mesh.size), region_names=names)
            region = Region(*map(tuple, mesh.bounds()))
            return plain, Prepared(mesh, sampler(Regions(regions=media), region, names))

        yield f"regions, moved {moved}, degree {degree}", made


def fields():
    """Yield boxes with files of random media, rougher than elements or smoother."""
    import xarray

    folder = Path(tempfile.mkdtemp())
    for step, degree, counts, spread in (
        (25.0, 4, (26, 26, 18), 0.1),
        (60.0, 4, (26, 26, 18), 0.3),
        (150.0, 4, (30, 28, 18), 0.3),
        (20.0, 2, (40, 40, 25), 0.3),
        (30.0, 6, (15, 15, 15), 0.25),
        (800.0, 5, (24, 24, 20), 0.4),
    ):

        def made(step=step, degree=degree, counts=counts, spread=spread):
            rng, of_box = (np.random.default_rng(int(step)), box(counts, [bench.TOP | {"top": 0}], degree))
            axes = [np.arange(0, BOX_EDGE * n + step, step) for n in counts]
            z = -axes[2][::-1]
            vp = 3500 * (1 + spread * rng.uniform(-1, 1, (len(z), len(axes[1]), len(axes[0]))))
            values = {"vp": vp, "vs": vp / 1.9, "rho": 1500 + 0.2 * vp}
            path = folder / f"{step}.nc"
            xarray.Dataset(
                {n: (("z", "y", "x"), v.astype(np.float32)) for n, v in values.items()},
                {"x": axes[0], "y": axes[1], "z": z},
            ).to_netcdf(path)
            of_box["model"] = {"kind": "file", "file": str(path)}
            scenario = SpectralScenario(**of_box)
            return scenario, moved_box(scenario, 0.1, 3)

        yield f"field of {step:g} m, spread {spread}, degree {degree}", made


def chunks():
    """Yield chunks of the Earth of several models, and the whole Earth."""
    middle = {"longitude": 21.0, "latitude": 38.5}
    crustless = str(ROOT / "examples" / "files" / "prem_no_crust.nd")
    cases = {
        "PREM, 24": ({"width": [30, 30], "elements": [24, 24], "bottom": "cmb"}, {"kind": "prem"}),
        "PREM, 40": ({"width": [60, 60], "elements": [40, 40], "bottom": "cmb"}, {"kind": "prem"}),
        "PREM, 60, shallow": ({"width": [10, 10], "elements": [60, 60], "bottom": "700 km"}, {"kind": "prem"}),
        "no crust, elliptic": (
            {"width": [40, 40], "elements": [40, 40], "bottom": "cmb", "elliptic": True},
            {"kind": "radial", "file": crustless},
        ),
        "AK135": ({"width": [20, 30], "elements": [24, 36], "bottom": "1500 km"}, {"kind": "ak135"}),
    }
    for name, (chunk, model) in cases.items():
        yield f"chunk, {name}", lambda c=chunk, m=model: (earth(middle | c, m), None)
    whole = {"chunks": 6, "elements": [16, 16], "bottom": "centre", "growth": ["700 km"]}
    model = {"kind": "radial", "file": crustless}
    yield "whole Earth", lambda: (earth(whole, model), None)
    outer = {"chunks": 6, "elements": [16, 16], "bottom": "cmb"}
    yield "whole mantle, PREM", lambda: (earth(outer, {"kind": "prem"}), None)


def earth(chunk, model):
    """Scenario of a chunk."""
    at = {"longitude": 21.0, "latitude": 38.5, "depth": "100 km"}
    source = {"kind": "explosion", "at": at, "moment": 1e18}
    return SpectralScenario(
        method="sem",
        title="chunk",
        domain={"chunk": chunk},
        model=model,
        time={"duration": 10.0, "start": 0.0},
        source=[source | {"wavelet": {"kind": "gaussian", "tau": 20}}],
    )


GROUPS = {"box": boxes, "chunk": chunks, "field": fields, "region": regional, "random": random_meshes}


# --- measurements -----------------------------------------------------------------------------


def medium_of(scenario, prepared):
    """The `Medium` of a scenario on one rank."""
    team = SingleRank()
    tables, prepared, top = build.mesh_and_tables(scenario, prepared, team)
    scenario = scenario.model_copy(update=tables).on_mesh(*prepared.bounds, top)
    return build.build_medium(scenario, prepared, team)


def whole_eigenvalue(medium, machine):
    """The `undamped.Largest` of all elements, and the element of the mode."""
    operator = Undamped(medium, families.arrange_families(medium), machine)
    eigenvalue, energy, _ = time_step.largest_eigenvalue(operator, close=CLOSE)
    return eigenvalue, int(energy.argmax())


def part_eigenvalue(medium, machine, most):
    """The `undamped.Largest` of at most so many elements, and which these are."""
    part_size, time_step.part_size = time_step.part_size, lambda medium: most
    try:
        selected = time_step.likely_elements(medium)
    finally:
        time_step.part_size = part_size
    part = time_step.restrict_to(medium, selected)
    operator = Undamped(part, families.arrange_families(part), machine)
    return time_step.largest_eigenvalue(operator)[0], selected


def row(name, scenario, prepared, machine, sizes):
    """What a mesh shows."""
    medium, begin = medium_of(scenario, prepared), time.process_time()
    whole, worst = whole_eigenvalue(medium, machine)
    quotients, kinds = time_step.indicator(medium, time_step.corners_by_medium(medium))
    out = {
        "mesh": name,
        "elements": medium.mesh.size,
        "degree": medium.element.degree,
        "whole_lacking": whole.lacking,
        "kinds": len(np.unique(kinds[0][quotients[0] > time_step.LEAST * quotients[0].max()])),
        "worst": [places_of(worst, *pair) for pair in zip(quotients, kinds)],
        "rough": time_step.is_rough(medium),
        "parts": [],
    }
    for most in sizes:
        if medium.mesh.size > 1.25 * most:
            part, selected = part_eigenvalue(medium, machine, most)
            out["parts"].append(
                {
                    "most": most,
                    "elements": len(selected),
                    "value_over_whole": part.value / whole.value,
                    "bound_over_whole": part.bound / whole.value,
                    "has_worst": bool(worst in selected),
                    "steps": len(part.weights),
                }
            )
    return out | {"cpu": time.process_time() - begin}


def places_of(worst, quotients, kinds):
    """Where the element of the worst mode is in the order of one indicator: its quotient over the
    largest, its place among all, and in its kind.
    """
    above = quotients > quotients[worst]
    relative = float(quotients[worst] / quotients.max())
    return [relative, int(above.sum()), int((above & (kinds == kinds[worst])).sum())]


def short(out):
    """A line for a row."""
    parts = "  ".join(
        f"{p['most']}: {p['elements']} {p['value_over_whole']:.5f} {p['bound_over_whole']:.5f}" for p in out["parts"]
    )
    place = " or ".join(f"{q:.2f} {n} {m}" for q, n, m in out["worst"])
    return f"{out['mesh']}: {out['elements']} deg {out['degree']} kinds {out['kinds']} place {place} | {parts} | {out['cpu']:.1f} s"


@one_thread()
def meshes(report):
    """All meshes, --set most=4096,8192 elements of the part at most; rows of earlier calls stay."""
    sizes, out = [int(n) for n in report.setting("most", PARTS_OF).split(",")], report.options.out
    report.parts["meshes"] = []
    if out and out.exists():
        report.parts["meshes"] = json.loads(out.read_text()).get("meshes", [])
    for meshes_of in GROUPS.values():
        for name, made in meshes_of():
            if report.wants(name):
                report.say(name)
                if report.options.list or name in [r["mesh"] for r in report.parts["meshes"]]:
                    continue
                out = row(name, *made(), report.machine, sizes)
                report.add("meshes", out, short(out))
    for rough in (False, True):
        meshes = [out for out in report.parts["meshes"] if out["rough"] == rough]
        for most in sizes:
            parts = [part for out in meshes for part in out["parts"] if part["most"] == most]
            bounds = [part["bound_over_whole"] for part in parts]
            if bounds:
                least = {"meshes": len(bounds), "least_bound_over_whole": min(bounds)}
                report.keep(f"{'rough media, ' if rough else ''}part of {most}", least)


PARTS = {"meshes": meshes}
