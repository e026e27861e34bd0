"""Gradients of the elastic grid: on a GPU against the CPU, and what they cost beside the forward run.

`check` compares the gradient of random residuals, and the Born data of random changes, with the CPU's, and takes the dot product of
both on the GPU, with each storage. `speed` times steps of random fields: plain, keeping what a storage keeps, and back (transposed; with
boundaries the forward field is taken back beside); a gradient is one keeping and one run back, two keeping ones where increments are
computed again from checkpoints. `kernels` times the launches of a step back alone. `shot` takes the gradient of one shot, boundaries in
16 bits, data to gradient: 512^3 and 3,000 steps unless --size and --steps say otherwise.

usage: python3 -m bench gradient [check speed kernels shot] [--small] [--size 256 384] [--out bench/results/gradient_h200.json]
"""

import time

import numpy as np

import craton
from bench.harness import difference, merged
from craton.core.plan import STATE
from craton.inverse.experiment import march

SHARED = ("material", "back", "store", "history")  # arrays of both programs
LIMITS = {"float32": 1e-5, "float64": 1e-12}  # of the relative L2, and of the dot product
CHECKPOINTS = (120e6, 240e6)  # bytes in float64, without and with attenuation, that ask for checkpoints
# storages from which steps are taken back, with their sums
REVERSED = (("boundaries", "fields"), ("boundaries-16", "fields"), ("boundaries", "parameters"))
SIXTEEN = 1e-4  # where boundaries are kept in 16 bits
ROCK = {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300}
SOFT = {"kind": "homogeneous", "vp": 1500, "vs": 0, "rho": 1000}
LOSS = {"qp": 80, "qs": 40, "attenuation": {"band": [2, 40], "mechanisms": 3}}
THOMSEN = {"epsilon": 0.15, "delta": 0.07, "gamma": 0.1}
SEA = {
    "kind": "layers",
    "layers": [{"vp": 1500, "vs": 0, "rho": 1000, "top": 0}, {"vp": 3000, "vs": 1700, "rho": 2300, "top": -240}],
}
WAVELET = {"kind": "ricker", "frequency": 15}
TENSOR = {"xx": 1e13, "yy": -4e12, "zz": 3e12, "xy": 5e12, "xz": -2e12, "yz": 6e12}
SPACE = {
    "domain": {"origin": [0, 0, -640], "size": [800, 720, 640], "spacing": 20},
    "model": ROCK,
    "time": {"duration": 0.16, "start": 0, "step": 0.002},
    "boundaries": {"cpml": {"thickness": 8}},
    "source": [{"kind": "moment_tensor", "at": [390, 350, -310], "tensor": TENSOR}],
    "receivers": [{"name": "R", "line": {"from": [210, 210, -30], "to": [590, 510, -450], "count": 7}}],
    "output": {"waveforms": ["velocity", "pressure"]},
}
SPACE["source"][0]["wavelet"] = WAVELET
PLANE = merged(
    SPACE,
    {
        "domain": {"origin": [0, -640], "size": [800, 640], "waves": "P-SV"},
        "source": [{"kind": "explosion", "at": [390, -310], "moment": 1e9, "wavelet": WAVELET}],
        "receivers": [{"name": "R", "line": {"from": [210, -30], "to": [590, -450], "count": 7}}],
    },
)
CASES = {
    "free surface and cpml": {},
    "order 8": {"run": {"order": 8}},
    "cpml all round": {"boundaries": {"top": "cpml"}},
    "sponge": {"boundaries": {"others": "sponge", "sponge": {"thickness": 10}}},
    "rigid": {"boundaries": {"others": "rigid"}},
    "sea": {},
    "attenuation": {"model": {**ROCK, **LOSS}},
    "VTI": {"model": {**ROCK, **THOMSEN}},
    "VTI, attenuation": {"model": {**ROCK, **THOMSEN, **LOSS}},
    "topography": {
        "domain": {"origin": [0, 0, -540]},
        "boundaries": {"top": "rigid"},
        "model": {**ROCK, "topography": {"x": [0, 300, 500, 800], "z": [-90, 30, -20, -60]}},
    },
    "acoustic": {
        "domain": {"waves": "acoustic"},
        "source": [{"kind": "explosion", "at": [390, 350, -310], "moment": 1e13, "wavelet": WAVELET}],
    },
}
ANISOTROPIC = ("vp", "vs", "epsilon", "delta", "gamma", "rho")
PARAMETERS = {  # of media that have more of them
    "attenuation": ("vp", "vs", "qp", "qs", "rho"),
    "VTI": ANISOTROPIC,
    "VTI, attenuation": ANISOTROPIC,
}
NOT_REVERSED = ("topography", *PARAMETERS)


def parameters_of(name):
    """Parameters of the gradient of a case, as options of a problem."""
    case = name.rsplit(", ", 1)[0]
    return {"parameters": PARAMETERS[case]} if case in PARAMETERS else {}


def scenarios():
    """Tables of the scenarios of `check` by name."""
    cases = {name: merged(SPACE, changes) for name, changes in CASES.items()}
    cases["sea"]["model"], cases["acoustic"]["model"] = SEA, SOFT
    cases["P-SV"] = PLANE
    return {
        f"{name}, {precision}": merged(tables, {"run": {"precision": precision}})
        for name, tables in cases.items()
        for precision in LIMITS
    }


def outcome(tables, device, **options):
    """Gradient of random residuals, Born data of random changes, and how far apart the dot products are."""
    problem = craton.Problem(craton.Scenario(**tables), device=device, **options)
    random = np.random.default_rng(1)
    change = problem.m0 * 1e-2 * random.standard_normal(problem.m0.size)
    data = problem.born(change)
    residual = random.standard_normal(data.size) * np.abs(data).max()
    gradient = problem.adjoint(residual)
    pair = float(data @ residual), float(gradient @ change)
    return gradient, data, abs(pair[0] - pair[1]) / np.linalg.norm(data) / np.linalg.norm(residual)


def check(report):
    """A row for each scenario and storage."""
    for name, tables in scenarios().items():
        if not report.wants(name):
            continue
        if report.options.small:
            tables = merged(tables, {"time": {"duration": 0.012}})
        with report.guarded("check", name):
            memory = CHECKPOINTS["attenuation" in name]
            limited = memory * int(tables["run"]["precision"][5:]) / 64
            for storage, memory in (("increments", None), ("checkpoints", limited)):
                report.add("check", compared(report, name, tables, storage, memory))
            if not name.startswith(NOT_REVERSED):
                for storage, sums in REVERSED:
                    if sums == "parameters" and name.startswith("sea"):
                        continue  # the closure of a sea floor needs one sum for each field
                    report.add("check", compared(report, name, tables, storage, None, sums))


def compared(report, name, tables, storage, memory, sums="auto"):
    """A row: one scenario on the device and on the CPU, there never in 16 bits, with sums of fields."""
    precision, device = tables["run"]["precision"], report.options.device
    options = parameters_of(name)
    *values, dot = outcome(tables, device, memory=memory, storage=storage, sums=sums, **options)
    row = {"case": name, "storage": storage, "sums": sums, "dot": dot}
    if not report.options.alone:
        *reference, _ = outcome(tables, "cpu", storage=storage.removesuffix("-16"), **options)
        row |= {key: difference(a, b)["l2"] for key, a, b in zip(("gradient", "born"), values, reference)}
    worst = max(row.get(key, 0.0) for key in ("dot", "gradient", "born"))
    limit = SIXTEEN if storage == "boundaries-16" else LIMITS[precision]
    return row | {"limit": limit, "passed": bool(worst <= limit)}


def box(points, steps):
    """A cube of rock below a free surface, CPML of 10 points elsewhere, float32."""
    size = 20.0 * (points - 1)
    middle = size / 2
    return craton.Scenario(
        **merged(
            SPACE,
            {
                "domain": {"origin": [0, 0, -size], "size": [size] * 3},
                "time": {"duration": 0.002 * steps},
                "boundaries": {"cpml": {"thickness": 10}},
                "source": [{**SPACE["source"][0], "at": [middle + 3, middle + 4, -middle + 5]}],
                "receivers": [
                    {"name": "R", "line": {"from": [400, middle, 0], "to": [size - 400, middle, 0], "count": 100}}
                ],
                "output": {"waveforms": ["velocity"]},
            },
        )
    )


def randomised(program):
    """Fill the fields of a program with random numbers."""
    xp = program.backend.xp
    with program.backend.work():
        for name, spec in program.plan.arrays.items():
            if spec.data is None and not spec.part_of and spec.kind in STATE:
                values = program.arrays[name]
                values[...] = 1e-3 * xp.random.standard_normal(values.shape)
    return program


def seconds_per_step(program, steps, repeats):
    """Median over repeats of the time of a step; steps count on from 0 each time."""
    out = []
    for _ in range(repeats + 1):
        randomised(program)
        with program.backend.work():
            program.arrays["step"][...] = 0
        program.backend.finish()
        begin = time.perf_counter()
        march(program, 0, steps)
        program.backend.finish()
        out.append((time.perf_counter() - begin) / steps)
    return float(np.median(out[1:]))


def speed(report):
    """Rows for every = 1 and 4, and each storage."""
    sizes = report.options.size or ([64] if report.options.small else [256, 384])
    for points in sizes:
        for storage, sums in (("increments", "auto"), *REVERSED):
            for every in (1, 4):
                with report.guarded("speed", f"{points}^3, {storage}, {sums}, every {every}"):
                    report.add("speed", timed(report, points, every, storage, sums))


def timed(report, points, every, storage, sums):
    """A row: seconds of a step of each kind, and the gradient over the forward run."""
    slot = 9 * 4 * points**3
    steps = report.options.steps or int(min(96, 0.4 * report.machine.memory()[0] // slot * every))
    begin = time.perf_counter()
    problem = craton.Problem(box(points, steps), device=report.options.device, every=every, storage=storage, sums=sums)
    experiment = problem.experiments[0]
    experiment.run(problem.parameters.cells(problem.m0))
    prepared = time.perf_counter() - begin
    state, repeats = experiment.state, report.options.repeats
    plain = report.machine.commit(state.plain, state.fills())
    step = {"plain": seconds_per_step(plain, steps, repeats)}
    del plain
    step["keeping"] = seconds_per_step(experiment.program, steps, repeats)
    back = experiment.back()
    step["back"] = seconds_per_step(back, steps, repeats)
    forward = step["plain"]
    gradient = (step["keeping"] + step["back"]) / forward
    nbytes = experiment.program.plan.nbytes + sum(
        array.nbytes for name, array in back.plan.arrays.items() if name not in SHARED
    )
    row = {
        "case": f"{points}^3, every {every}",
        "storage": storage,
        "sums": sums,
        "steps": steps,
        **{f"{name}_ms": 1e3 * value for name, value in step.items()},
        "forward_point_steps_per_second": points**3 / forward,
        "copy_bandwidth_fraction_of_forward": 72 * points**3 / forward / report.bandwidth,
        "gradient_over_forward": gradient,
        "reals_per_point": (nbytes - experiment.storage.machine) / 4 / points**3,
        "kept_bytes_per_step": experiment.storage.machine / experiment.storage.slots,
        "prepared_s": prepared,
    }
    if storage == "increments":
        row["gradient_over_forward_replayed"] = gradient + step["keeping"] / forward
    return row


def kernels(report):
    """Rows of the launches of a step back, alone: the pass of both fields and what is beside it."""
    for points in report.options.size or ([64] if report.options.small else [256, 384]):
        with report.guarded("kernels", f"{points}^3"):
            problem = craton.Problem(box(points, 16), device=report.options.device, storage="boundaries")
            experiment = problem.experiments[0]
            experiment.run(problem.parameters.cells(problem.m0))
            program = randomised(experiment.back())
            for phase in program.plan.phases:
                for launch in phase.launches:
                    report.add("kernels", of_launch(report, points, program, launch))


def of_launch(report, points, program, launch):
    """A row: one launch by itself, its rate by its least traffic."""
    run = report.machine.single(launch, program)
    seconds = float(np.median([report.machine.timed(run) for _ in range(9)][2:]))
    moved = 4 * launch.op.reals_per_point * launch.points
    return {
        "case": f"{points}^3 {launch.op.name} {launch.box}",
        "ms": 1e3 * seconds,
        "bandwidth_fraction": moved / seconds / report.bandwidth,
    }


def shot(report):
    """A row: one shot's data and gradient, boundaries in 16 bits."""
    points = (report.options.size or [64 if report.options.small else 512])[0]
    steps = report.options.steps or (40 if report.options.small else 3000)
    with report.guarded("shot", f"{points}^3, {steps} steps"):
        clock = [time.perf_counter()]
        problem = craton.Problem(box(points, steps), device=report.options.device, storage="boundaries-16", every=4)
        experiment, cells = problem.experiments[0], problem.parameters.cells(problem.m0)
        clock.append(time.perf_counter())
        samples = experiment.run(cells)
        clock.append(time.perf_counter())
        back = experiment.adjoint(samples)
        clock.append(time.perf_counter())
        storage = experiment.storage
        names = ("set_up_s", "forward_s", "back_s")
        report.add(
            "shot",
            {
                "case": f"{points}^3, {steps} steps, every 4",
                **{name: b - a for name, a, b in zip(names, clock, clock[1:])},
                "gradient_s": clock[-1] - clock[1],
                "on_device": storage.machine,
                "on_host": storage.host,
                "finite": bool(all(np.isfinite(part).all() for part in back["cells"])),
                "passed": clock[-1] - clock[1] < 60,
            },
        )


PARTS = {"check": check, "speed": speed, "kernels": kernels, "shot": shot}
