"""Gradients of spectral elements: on a GPU against the CPU, and what they cost beside the forward run.

`check` compares the gradient of random residuals, and the Born data of random changes, with the CPU's, and takes the dot product of both
on the GPU; once with all velocities of absorbing points on the machine, once with those of some steps at a time. Layers and attenuation,
whose steps are computed again from checkpoints, are checked once. `speed` times steps of
random fields: plain, saving the velocities of absorbing points, and back (the field reversed, its transposed field marched, both
correlated, in one pass over the elements); a gradient is one saving and one reversed run. The medium is given at each node in all of them.

usage: python3 -m bench sem_gradient [check speed] [--small] [--size 48 64] [--out bench/results/sem_gradient_h200.json]
"""

from bench.cases.gradient import LIMITS, LOSS, WAVELET, compared, seconds_per_step
from bench.harness import merged
from craton.comm.placement import planner
from craton.inverse.elements import ElementExperiment
from craton.methods.spectral_element.adjoint.linearised import Linearised
from craton.methods.spectral_element.bench import Box, irregular

ROCK = {"kind": "homogeneous", "vp": 3000, "vs": 1700, "rho": 2300}
TENSOR = {"xx": 1e13, "yy": -4e12, "zz": 3e12, "xy": 5e12, "xz": -2e12, "yz": 6e12}
SEA = {
    "kind": "layers",
    "layers": [{"vp": 1500, "vs": 0, "rho": 1000, "top": 0}, {"vp": 3000, "vs": 1700, "rho": 2300, "top": -240}],
}
SPACE = {
    "method": "sem",
    "domain": {"origin": [0, 0, -720], "size": [840, 720, 720], "element_size": 120},
    "model": ROCK,
    "time": {"duration": 0.2, "start": 0},
    "boundaries": {"top": "free", "others": "stacey"},
    "source": [{"kind": "moment_tensor", "at": [390, 350, -410], "tensor": TENSOR, "wavelet": WAVELET}],
    "receivers": [{"name": "R", "line": {"from": [210, 210, -260], "to": [590, 510, -450], "count": 7}}],
    "output": {"waveforms": ["velocity", "pressure"]},
}
CASES = {
    "free surface and stacey": {},
    "degree 6": {"run": {"degree": 6}},
    "rigid": {"boundaries": {"west": "rigid"}},
    "sea": {},
    "pml": {"boundaries": {"others": "pml", "pml": {"thickness": 1}}},
    "attenuation": {"model": {**ROCK, **LOSS}},
}
CHECKPOINTED = ("pml", "attenuation")  # not taken back: they need more than a few velocities
MOST = 2.8  # forward runs that a gradient may take
MEMORY = 4e6  # bytes of velocities of absorbing points, in float64: some steps
TIMED = {  # case of `craton bench sem`: medium, irregular, water
    "irregular": ({"vp_gradient": 0.02, "vs_gradient": 0.01}, True, False),
    "cubes": ({"vp_gradient": 0.02, "vs_gradient": 0.01}, False, False),
    "irregular, water over rock": ({}, True, True),
}


def scenarios():
    """Tables of the scenarios of `check` by name."""
    cases = {name: merged(SPACE, changes) for name, changes in CASES.items()}
    cases["sea"]["model"] = SEA
    return {
        f"{name}, {precision}": merged(tables, {"run": {"precision": precision}})
        for name, tables in cases.items()
        for precision in LIMITS
    }


def check(report):
    """Two rows for each scenario."""
    for name, tables in scenarios().items():
        if not report.wants(name):
            continue
        if report.options.small:
            tables = merged(tables, {"time": {"duration": 0.02}})
        with report.guarded("check", name):
            limited = MEMORY * int(tables["run"]["precision"][5:]) / 64
            for memory in (None,) if name.startswith(CHECKPOINTED) else (None, limited):
                report.add("check", compared(report, name, tables, "auto", memory))


def speed(report):
    """Rows for every = 1 and 4."""
    sizes = report.options.size or ([6] if report.options.small else [48, 64])
    for size in sizes:
        for name in TIMED:
            if report.wants(name):
                with report.guarded("speed", f"{size}^3 {name}"):
                    for row in timed(report, size, name):
                        report.add("speed", row)


def timed(report, size, name):
    """Rows: seconds of a step of each kind, and the gradient over the forward run."""
    box = Box(name, (size, size, size), *TIMED[name])
    scenario = box.scenario(time={"duration": 0.4}, run={"precision": "float32"})
    linear = Linearised(scenario, planner(), irregular(scenario) if box.irregular else None)
    steps = min(report.options.steps or 60, linear.d.steps)
    repeats, elements = report.options.repeats, linear.d.mesh.size
    for every in (1, 4):
        experiment = ElementExperiment(linear, report.machine, every)
        experiment.run(linear.cells)
        state = experiment.state
        step = {"saving": seconds_per_step(experiment.program, steps, repeats)}
        step["back"] = seconds_per_step(experiment.back(), steps, repeats)
        memory = sum(array.nbytes for n, array in experiment.back().plan.arrays.items() if "store" not in n)
        experiment.forget()
        plain = report.machine.commit(state.forward(0))
        step["plain"] = seconds_per_step(plain, steps, repeats)
        traffic = sum(plain.plan.traffic.values())
        del plain
        ratio = (step["saving"] + step["back"]) / step["plain"]
        yield {
            "case": f"{size}^3 {name}, every {every}",
            "elements": elements,
            **{f"{kind}_ms": 1e3 * seconds for kind, seconds in step.items()},
            "forward_elements_per_second": elements / step["plain"],
            "copy_bandwidth_fraction_of_forward": traffic / step["plain"] / report.bandwidth,
            "bytes_per_element_of_the_reversal": memory / elements,
            "back_over_forward": step["back"] / step["plain"],
            "gradient_over_forward": ratio,
            "limit": MOST,
            "passed": bool(report.options.small or ratio <= MOST),
        }


PARTS = {"check": check, "speed": speed}
