"""Every kernel of gravity as text, by its catalogue: declared as written, compiled for two GPUs without a GPU, within a register budget.

All ten fields at once, the most that a kernel is asked for; single fields and nine are in test_gravity.py and test_gravity_methods.py.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from craton import gravity
from craton.backends import cpu, nvrtc
from craton.core.operator import declared_in_text
from craton.errors import ResourceError
from craton.methods import METHODS
from craton.methods.gravity import catalogue, raster

CASES = {
    f"{name}-{precision}": (op, precision)
    for asked in ("float32", "float64")
    for name, (op, precision) in METHODS["gravity"].operators(4, asked).items()
}
ARCHITECTURES = ("sm_80", "sm_90")

# Registers that ptxas 13.5 needed at most over both architectures, rounded up to the next multiple of 8: float32, float64.
BUDGET = {
    "attract": (104, 176),
    "attract_clusters": (136, 255),
    "records": (56, 56),
    "collect": (32, 32),
    "leaf_moments": (0, 104),
    "parent_moments": (0, 40),
    "harmonics": (0, 32),
    "attract_nodes": (0, 80),
    "gather": (0, 176),
    "outline": (0, 64),
    "scatter": (0, 40),
    "pick": (0, 32),
}
# Bytes of a thread's own memory: moments of a node are arrays. Nothing spills; a thread has no more than 255 registers.
STACK = {"leaf_moments": 312, "parent_moments": 4424}


@cache
def compiled():
    """{(case, architecture): Compiled}; each text once."""
    try:
        nvrtc.library()
    except ResourceError as reason:
        pytest.skip(str(reason))
    texts = {
        (name, arch): (op.source(precision), arch) for name, (op, precision) in CASES.items() for arch in ARCHITECTURES
    }
    jobs = sorted(set(texts.values()))
    with ThreadPoolExecutor() as pool:
        made = dict(zip(jobs, pool.map(lambda job: nvrtc.compile(*job), jobs)))
    return {case: made[text] for case, text in texts.items()}


def test_catalogue_has_every_kernel():
    """Each KERNEL of the folder's texts is there, and no two operators share a name."""
    texts = [path.read_text() for path in (Path(catalogue.__file__).parent / "kernels").glob("*.h")]
    written = {name for text in texts for name in re.findall(r"^KERNEL (\w+)\(", text, flags=re.M)}
    assert {op.function for op, _ in CASES.values()} == written
    assert {name.rsplit("-", 1)[0] for name in CASES} == set(BUDGET)


@pytest.mark.parametrize("name", CASES)
def test_declaration_is_what_the_text_says(name):
    op, _ = CASES[name]
    assert declared_in_text(op) == [
        *((array, op.c_type(array)) for array in op.arrays),
        ("box", "Box"),
        ("p", op.params.name),
    ]


@pytest.mark.parametrize("name", CASES)
def test_arrays_that_are_only_read_are_const(name):
    op, _ = CASES[name]
    text = re.sub(r"//[^\n]*", "", Path(op.file).read_text())
    arguments = re.search(rf"KERNEL\s+{op.function}\s*\((.*?)\)\s*\{{", text, flags=re.S)[1].split(",")[
        : len(op.arrays)
    ]
    assert tuple(array for array, a in zip(op.arrays, arguments) if a.strip().startswith("const ")) == op.reads


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", CASES)
def test_compiles_for_gpus_within_its_registers(name, arch):
    op, precision = CASES[name]
    made = compiled()[name, arch]
    assert made.ok, made.log
    assert made.cubin[:4] == b"\x7fELF" and made.spills_bytes[op.function] == 0, made.log
    assert made.stack_bytes[op.function] <= STACK.get(op.name, 0), made.log
    assert made.registers[op.function] <= BUDGET[op.name][precision == "float64"], made.log


def test_budgets_are_tight():
    for (name, _), made in compiled().items():
        op, precision = CASES[name]
        limit = BUDGET[op.name][precision == "float64"]
        most = max(compiled()[name, arch].registers[op.function] for arch in ARCHITECTURES)
        assert most > limit - 16, (name, made.registers)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_catalogue_is_what_runs(precision, monkeypatch):
    """The texts of the catalogue for ten fields and the default rtol are those that the methods hand to the compiler."""
    seen, real = set(), cpu.CPU.compile

    def watched(machine, found, precision):
        found = list(found)
        seen.update((op.name, op.source(precision)) for op in found)
        return real(machine, found, precision)

    monkeypatch.setattr(cpu.CPU, "compile", watched)
    edges = np.arange(7) * 100.0
    k, j, i = (n.ravel() for n in np.indices((6, 6, 6)))
    prisms = np.stack([edges[i], edges[i + 1], edges[j], edges[j + 1], edges[k] - 600, edges[k + 1] - 600], axis=1)
    density, points = np.random.default_rng(1).uniform(1, 2, 216), (np.arange(5.0) * 90, 20.0, 30.0)
    raster.nodes(prisms, density, cpu.CPU())  # only a device asks for it by itself
    for method in ("direct", "far", "vertex"):
        gravity.forward(prisms, density, points, catalogue.FIELDS, "cpu", precision, method)
    jacobian = gravity.operator(prisms, points, catalogue.FIELDS, device="cpu")
    assert (jacobian.T @ np.ones(50)).shape == (216,)
    listed = {(op.name, op.source(of)) for op, of in METHODS["gravity"].operators(4, precision).values()}
    assert listed - seen <= {
        (name, text) for name, text in listed if name == "collect"
    }  # one of them for each precision
