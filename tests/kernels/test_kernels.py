"""Every kernel as text: declared as written, in a catalogue, compiled for GPUs without a GPU, within a register budget.

In the short tier every text is translated, not optimised; registers are counted of few. Budgets are those that ptxas 13.5 needed at most,
over both architectures and all orders, rounded up to the next multiple of 8 (the hardware gives registers out so): float32, float64.
40 registers let 1536 threads of 2048 stay on a multiprocessor, 64 let 1024.
"""

import ctypes
import math
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import kernelcase
import numpy as np
import pytest
from common import refused
from kernelcase import (
    ARCHITECTURES,
    PRECISIONS,
    c_type,
    compiled_for_gpus,
    declared_in_text,
    every_operator,
    needs_nvrtc,
    shared_text,
)

from craton.backends import cpu, nvrtc
from craton.core.operator import KERNELS, Operator
from craton.errors import ResourceError
from craton.gravity import forward, operator
from craton.methods import METHODS
from craton.methods.finite_difference.adjoint import reversal
from craton.methods.finite_difference.equations import operators, relaxing
from craton.methods.finite_difference.equations.scheme import stencil
from craton.methods.gravity import lattice
from craton.methods.gravity import operators as sums
from craton.methods.gravity.fields import FIELDS
from craton.methods.spectral_element.equations import operators as sem
from craton.model.media import attenuation


class Case(NamedTuple):
    """A text to compile, and what its threads may need at most. Those of a `budget` together need nearly all of it."""

    op: Operator
    precision: str
    architectures: tuple
    registers: int
    budget: str = ""
    spills: int = 0
    stack: float = 0


# --- finite differences -----------------------------------------------------------------------------------------------------------------

# Of finite differences; long: of orders 10 to 16, plane: of both motions in the (x, z) plane. Of elements what goes point by point.
# Of gravity all ten fields at once, the most that a kernel is asked for; single fields and nine are in `attractions`.
BUDGET = """
velocity 32 48  stress 40 56  velocity_surface 48 72  stress_surface 40 64  cpml_velocity 40 48  laminate 40 40
laminate_surface 40 48  cpml_laminate 32 32  cpml_stress 40 56  sponge 16 24  rigid 16 16  wrap 16 16  inject 40 40
window 24 24  hold 24 24  sample 32 32  peaks 64 64  gather_points 16 16  sum_series 32 32  damping 32 32
advance 16 16  a1 32 40  contact_velocity 40 48  contact_stress 48 56  contact_stress_mixed 48 64
vti_contact_stress_mixed 56 72  stress_coarse 56 72  stress_mixed 56 80  stress_paired 64 80  stress_full 56 96
stress_surface_mixed 64 72  cpml_stress_x_mixed 48 64  cpml_stress_y_mixed 56 64  cpml_stress_z_mixed 48 64
vti_stress 48 72  vti_stress_surface 48 64  vti_stress_terrain 48 64  vti_stress_mixed 64 80  vti_stress_paired 64 104
vti_stress_surface_mixed 64 80  vti_cpml_stress_x_mixed 48 64  vti_cpml_stress_y_mixed 56 72
vti_cpml_stress_z_mixed 56 72  keep_velocity 24 24  keep_stress 32 32  increment_velocity 24 24
increment_stress 24 32  scatter_velocity 24 24  scatter_stress 32 40  correlate 32 48  scatter_stress_pairs 32 32
correlate_pairs 32 32  keep_strain 32 32  increment_strain 24 40  correlate_strain 48 72  scatter_strain 56 72
correlate_strain_by_q 56 80  scatter_strain_by_q 56 88  scatter_strain_sparse 64 88  vti_correlate_strain 56 88
vti_correlate_strain_sponge 64 88  vti_scatter_strain 64 72  vti_scatter_strain_sparse 56 80  remember_velocity 32 32
remember_stress 32 40  backward_velocity 40 56  backward_stress 56 72  backward_velocity_surface 56 64
backward_stress_surface 56 72  backward_laminate 56 96  laminate_increment 32 56  laminate_correlate 40 64  save 16 16
save_16 40 40  restore 16 16  restore_16 32 32  take_out 40 40  set_aside 16 16  changed 24 24  changed_normal 40 40
sum_density 56 80  sum_moduli 88 128  sum_density_surface 56 88  sum_moduli_surface 80 128  sum_forces 40 32
narrow 32 32  widen 32 32  pack 24 24  unpack 24 24  acoustic_velocity 40 48  acoustic_pressure 40 40
acoustic_velocity_surface 40 48  acoustic_pressure_surface 40 40  long-velocity 48 56  long-stress 48 64
long-velocity_surface 48 72  long-stress_surface 48 72  long-cpml_velocity 48 48  long-laminate 32 56
long-laminate_surface 40 40  long-cpml_laminate 32 40  long-cpml_stress 40 48  plane-velocity 32 40
plane-stress 32 48  plane-velocity_surface 40 48  plane-stress_surface 32 40  plane-cpml_velocity 32 48
plane-laminate 32 32  plane-laminate_surface 32 40  plane-cpml_laminate 32 32  plane-cpml_stress 32 48
plane-stress_coarse 40 56  plane-stress_paired 40 56  plane-stress_full 40 56  plane-stress_surface_paired 40 64
plane-cpml_stress_x_paired 48 64  plane-cpml_stress_z_paired 40 72  plane-vti_stress 32 48
plane-vti_stress_surface 32 40  plane-vti_stress_paired 48 64  plane-vti_stress_surface_paired 48 72
plane-vti_cpml_stress_x_paired 48 72  plane-vti_cpml_stress_z_paired 48 72  rigid_points 16 32  fluid_stacey 24 40
save_points 24 40  save_path 24 40  scatter_points 24 40  update 32 48  fluid_update 32 48  damped_points 32 48
to_fluid 32 48  to_solid 32 48  pair_back 32 48  pair_forward 32 48  restore_points 32 48  take_points 32 48
transposed_step 32 48  pair_stacey 32 48  scatter_faces 32 48  pair_to_fluid 32 48  pair_to_solid 32 48
transposed_to_solid 32 48  transposed_to_fluid 32 48  to_fluid_layer 32 48  to_solid_layer 32 48
pair_to_fluid_layer 32 48  pair_to_solid_layer 32 48  transposed_to_solid_layer 32 48  transposed_to_fluid_layer 32 48
pack_shared 32 48  add_shared 40 56  stacey 48 64  attract 104 176  attract_clusters 136 255  records 56 56
collect 32 32  leaf_moments 0 104  parent_moments 0 40  harmonics 0 32  attract_nodes 0 80  gather 0 176  outline 0 64
scatter 0 40  pick 0 32
"""
BUDGET = {name: (int(single), int(double)) for name, single, double in zip(*[iter(BUDGET.split())] * 3)}


def budget_of(op, precision):
    """The name under which an operator has its budget, and the registers."""
    defined, name = dict(op.defines), op.name.removesuffix("_half")
    kind = "plane" if defined.get("PLANE") else "long" if defined.get("R", 0) > 4 else ""
    name = next(n for n in (f"{kind}-{name}", name, f"{kind}-{op.function}", op.function) if n in BUDGET)
    registers = BUDGET[name][PRECISIONS.index(precision)]
    return f"{name} {precision} {registers}", registers


def architectures(op, precision):
    """Those to compile for, in little time; the budgets were measured with every text on both.

    `sm_90`, on which times are measured: what terrain, a sea floor or a face A1 add and acoustic waves at order 4, in float64
    a text that stands at order 8 not at 4 too. `sm_80`, where ptxas differs but not the text: in float32 at order 8, and the
    one budget of float64 that `sm_80` alone needs.
    """
    defined = dict(op.defines)
    reach, space, double = defined.get("R", 0), not defined.get("PLANE"), precision == "float64"
    if "TRANSPOSED" in defined or op.function.startswith("backward"):
        return ARCHITECTURES[1:]
    only_at_4 = op.function == "a1" or op.function.startswith("contact") or op.name.endswith("terrain")
    if only_at_4 or defined.get("ACOUSTIC"):
        return ARCHITECTURES[1:] if reach == 2 and (space or not only_at_4) else ()
    if double and space and op.name == "stress_full":
        return ARCHITECTURES
    if double and reach == 2 and space and f"{op.name}-space-8" in every_operator():
        return ()
    return ARCHITECTURES if reach == 4 and not double else ARCHITECTURES[1:]


def streamed(op):
    """Cases of what an operator declares for GPUs, built for a number of threads on a multiprocessor: that is their budget."""
    for v in (v for v in op.variants if v.file.suffix == ".cu"):
        registers = min(255, 65536 // (math.prod(v.block) * dict(v.defines).get("MIN_BLOCKS", 1)))
        for precision in v.precisions:
            case = Case(op.as_variant(v), precision, architectures(op, precision) or ARCHITECTURES[1:], registers)
            yield f"{op.name}-{2 * dict(op.defines)['R']}-streamed-{precision}", case


def differences():
    """Cases of finite differences."""
    for name, op in every_operator().items():
        for precision in PRECISIONS[: 1 if dict(op.defines).get("HALF") else 2]:
            budget, registers = budget_of(op, precision)
            yield f"{name}-{precision}", Case(op, precision, architectures(op, precision), registers, budget)
        yield from streamed(op)
    for order in (2, 6):  # which the catalogue leaves out: each has settings of its own
        for make in (operators.velocity, operators.stress):
            yield from streamed(make(stencil(order)))
        for storage in attenuation.STORAGES:
            fit = attenuation.relaxation((0.5, 5.0), 1 / 20, storage=storage, mechanisms=4)
            op = operators.stress(stencil(order), relaxing.constants(fit, 0.05))
            yield from streamed(replace(op, name=f"stress_{storage}"))
    for part in ("stress", "velocity"):
        yield from streamed(reversal.backward(stencil(2, free=True), part, light=part == "velocity"))


# --- spectral elements, gravity ---------------------------------------------------------------------------------------------------------

# Parts of other texts: of layers in fewer directions, with atomics or turns in the place of each other.
LESSER = ("_layer_y", "_layer_yz", "_layer_x_across", "_layer_z_coloured", "_layer_z_coloured_exact", "_coloured")
OFTEN = ("stiffness", "stiffness_corners", "fluid")  # compiled for both architectures and in both precisions


def elements():
    """Cases of spectral elements: all operators at degree 4, plain elements at others, some in float64; see `elements_case`."""
    for name, op in every("sem").items():
        paired = op.file.name.startswith("pair_") or "pair_force" in " ".join(op.arrays)
        lesser = (*LESSER, "_corners", "_box") if paired else LESSER
        if name.endswith(lesser) or (paired and name.startswith("fluid_pair_")):
            continue
        more = not paired and (not op.span or name in OFTEN)
        for precision in PRECISIONS[: 1 + more]:
            newer = not more or precision == "float64"
            yield f"{name}-{precision}", elements_case(op, precision, ARCHITECTURES[newer:])
    for make, degree in ((make, degree) for make in (sem.stiffness, sem.fluid) for degree in (2, 5, 7, 8)):
        op = make(sem.Kind(degree))
        for precision in PRECISIONS[: 1 + (degree in (2, 8))]:
            # of high degree, a column of float64 has more numbers than there are registers
            spills = 1024 if (op.name, degree, precision) == ("stiffness", 8, "float64") else 0
            yield f"{op.name}-{degree}-{precision}", elements_case(op, precision, ARCHITECTURES[1:], spills)


def elements_case(op, precision, architectures, spills=0):
    """Registers as listed, or as many as let the blocks that its launch bounds ask for fit a multiprocessor."""
    double = precision == "float64"
    if op.function in BUDGET:
        return Case(op, precision, architectures, BUDGET[op.function][double], "", spills, math.inf)
    blocks = int(re.search(r"\? (\d+) : (\d+)", dict(op.defines)["MIN_BLOCKS"])[1 + double])
    registers = min(255, 65536 // (op.block[0] * blocks) // 8 * 8)
    return Case(op, precision, architectures, registers, "", spills, math.inf)


STACK = {"leaf_moments": 312, "parent_moments": 4424}  # bytes of a thread's own memory: moments of a node are arrays


def attractions():
    """Cases of gravity: ten fields, then one and nine, which take fewer registers."""
    for asked in PRECISIONS:
        for name, (op, precision) in METHODS["gravity"].operators(4, asked).items():
            registers = BUDGET[op.name][precision == "float64"]
            of = ARCHITECTURES[not op.name.startswith(("attract", "outline")) :]
            case = Case(op, precision, of, registers, f"{name}-{asked}", 0, STACK.get(op.name, 0))
            yield f"{name}-{asked}", case
    nine, far = FIELDS[1:], (3.0, 10.0)
    for op, precision, registers in (
        (sums.attract(("g_z",), "float64"), "float64", 96),
        (sums.attract(nine, "float64"), "float64", 184),
        (sums.attract(("g_z",), "float32", 6, far), "float32", 64),
        (sums.attract(nine, "float32", 6, far), "float32", 112),
        (sums.attract_clusters(nine, "float64", 10, far), "float64", 255),
        (sums.attract_clusters(("g_z",), "float32", 8, far), "float32", 96),
        (sums.attract_nodes(nine), "float64", 96),
        (sums.gather(nine), "float64", 192),
    ):
        yield f"{op.name} up to {registers}", Case(op, precision, ARCHITECTURES[1:], registers)


FAMILIES = {"fd": differences, "sem": elements, "gravity": attractions}
of_each_method = pytest.mark.parametrize("method", FAMILIES)
FEW = {  # whose registers are counted in the short tier
    "fd": "velocity-space-4-float32 stress-space-4-float32 velocity-4-streamed-float32 stress-4-streamed-float32 sponge_x-float32",
    "sem": "fluid-2-float32 update-float32",
    "gravity": "records-float32 leaf_moments-float32",
}


@cache
def cases(method):
    """{name: case} of a method."""
    return dict(FAMILIES[method]())


@cache
def every(method):
    """{name: operator} of a method, whatever its precision."""
    both = METHODS[method].operators(4, "float32")
    return every_operator() if method == "fd" else {name: op for name, (op, _) in both.items()}


# --- declarations -----------------------------------------------------------------------------------------------------------------------


def declarations(op):
    """What is wrong with the declaration of an operator."""
    declared, in_text = [(name, c_type(op, name)) for name in op.arrays], declared_in_text(op)
    declared += [("box", "Box"), ("p", op.params.name)]
    if in_text != declared:
        yield f"{op.name}: the text has {in_text}"
    text = re.sub(r"//[^\n]*", "", Path(op.file).read_text())
    arguments = re.search(rf"KERNEL\s+{op.function}\s*\((.*?)\)\s*\{{", text, flags=re.S)[1].split(",")
    constant = tuple(name for name, a in zip(op.arrays, arguments) if a.strip().startswith("const "))
    if constant != op.reads:
        yield f"{op.name}: const are {constant}"
    variants = [v.name for v in op.variants if declared_in_text(op.as_variant(v)) != declared]
    yield from (f"{op.name}: {name} takes other arguments" for name in variants)


@of_each_method
def test_declarations_are_what_the_texts_say(method):
    """Arrays and their types in order, those const that are only read; variants take the same arguments."""
    listed = every(method).values()
    different = {(op.file, op.function, op.arrays, op.reads, op.types, op.variants): op for op in listed}
    wrong = [words for op in different.values() for words in declarations(op)]
    assert len(different) > 10 and not wrong


def test_catalogues_have_every_kernel():
    """Each KERNEL of the folders' texts is there; each operator of gravity has a budget."""
    files = {"sem": [*sem.HERE.glob("*.h"), KERNELS / "sharing.h"], "gravity": [*sums.HERE.glob("*.h")]}
    for method in files:
        texts = [path.read_text() for path in files[method]]
        written = {name for text in texts for name in re.findall(r"^KERNEL (\w+)\(", text, flags=re.M)}
        assert {op.function for op in every(method).values()} == written
    assert set(every("gravity")) <= set(BUDGET)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_catalogue_of_gravity_is_what_runs(precision, monkeypatch):
    """Its texts for ten fields and the default rtol are those that the methods hand to the compiler; here the dear ones do nothing."""
    compiled, nothing, seen = cpu.CPU.compile, ctypes.CFUNCTYPE(None)(int), set()

    def watched(machine, chosen, precision):
        chosen = list(chosen)
        seen.update((op.name, op.source(precision)) for op in chosen)
        cheap = [op for op in chosen if not op.function.startswith(("attract", "gather"))]
        idle = dict.fromkeys((op.name for op in chosen), ctypes.cast(nothing, ctypes.c_void_p).value)
        return idle | compiled(machine, cheap, precision)

    kernelcase.unoptimised(monkeypatch)
    monkeypatch.setattr(cpu.CPU, "compile", watched)
    edges, (k, j, i) = np.arange(7) * 100.0, np.indices((6, 6, 6)).reshape(3, -1)
    prisms = np.stack([edges[i], edges[i + 1], edges[j], edges[j + 1], edges[k] - 600, edges[k + 1] - 600], axis=1)
    density, points = np.random.default_rng(1).uniform(1, 2, 216), (np.arange(5.0) * 90, 20.0, 30.0)
    lattice.regular_nodes(prisms, density, cpu.CPU())  # only a device asks for it by itself
    for method in ("direct", "far", "vertex"):
        forward(prisms, density, points, FIELDS, "cpu", precision, method)
    jacobian = operator(prisms, points, FIELDS, device="cpu")
    assert (jacobian.T @ np.ones(50)).shape == (216,)
    listed = {(op.name, op.source(of)) for op, of in METHODS["gravity"].operators(4, precision).values()}
    assert {name for name, _ in listed - seen} <= {"collect"}  # one of them for each precision


# --- compiled for GPUs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.costly("every text that a GPU gets is parsed; without a GPU nothing else does")
@of_each_method
def test_compiles_for_gpus(method):
    """Every operator in space, order and degree 4, in float32 or in what it has, as far as NVRTC's front end finds errors."""
    texts = [(op, precision, "compute_90") for op, precision in METHODS[method].operators(4, "float32").values()]
    for op, *others in texts[:]:
        variants = [v for v in op.variants if v.file.suffix == ".cu" and "float32" in v.precisions]
        texts += [(op.as_variant(v), *others) for v in variants]
    compiled = compiled_for_gpus(texts, "--fdevice-syntax-only")
    assert len(texts) > 10 and not [result.log for result in compiled.values() if not result.ok]


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.long)])
@of_each_method
def test_compiles_for_gpus_within_its_registers(method, few):
    """Without spills, no budget of which much is left. On `sm_80` float64 and most orders are not claimed; see `architectures`."""
    chosen = {name: cases(method)[name] for name in FEW[method].split()} if few else cases(method)
    compiled = compiled_for_gpus((c.op, c.precision, arch) for c in chosen.values() for arch in c.architectures)
    wrong, used = [], {}
    for name, c in chosen.items():
        for arch in c.architectures:
            text = compiled[shared_text(c.op, c.precision), arch]
            assert text.ok and text.cubin[:4] == b"\x7fELF", text.log
            needs = [n[c.op.function] for n in (text.registers, text.spills_bytes, text.stack_bytes)]
            if any(n > most for n, most in zip(needs, (c.registers, c.spills, c.stack))):
                wrong.append(f"{name}, {arch}: {needs} registers, bytes spilled and of the stack of {c}")
            used[c.budget, c.registers] = max(used.get((c.budget, c.registers), 0), needs[0])
        if method == "sem" and (c.op.block[0] % 32 or c.op.block[0] > 256):
            wrong.append(f"{name}: blocks of {c.op.block[0]} threads")
    loose = {budget: n for (budget, most), n in used.items() if budget and n < most - 15 and not few}
    assert not wrong and not loose


def test_a_wrong_text_is_told_where_it_is_wrong():
    needs_nvrtc()
    source = operators.rigid().source("float32").replace("f[k", "g[k")
    result = nvrtc.compile(source, "sm_90")
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "g[k" in text)
    assert not result.ok and f"kernels.cu({line}): error" in result.log and '"g" is undefined' in result.log
    assert not result.cubin and not result.registers


def test_spills_are_seen():
    needs_nvrtc()
    text = 'extern "C" __global__ void __launch_bounds__(1024) f(double* a) { double b[64]; for (int n = 0; n < 64; ++n) b[n] = a[n * 99];'
    text += " __syncthreads(); for (int n = 0; n < 64; ++n) a[n * 77] = b[n] * b[63 - n]; }"
    spilling = nvrtc.compile(text.replace("for", '_Pragma("unroll") for'), "sm_90")
    assert spilling.ok and spilling.registers["f"] <= 64 and spilling.spills_bytes["f"] > 0, spilling.log


def test_missing_wheel_says_what_to_install(monkeypatch):
    def missing():
        raise RuntimeError('Failure finding "libnvrtc.so"\nhere and there')

    without = SimpleNamespace(nvrtc=SimpleNamespace(nvrtcVersion=missing))
    for bindings, reason in ((None, "cuda.bindings"), (without, '(Failure finding "libnvrtc.so")')):
        monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
        words = (reason, "pip install cuda-bindings nvidia-cuda-nvrtc")
        refused(ResourceError, words, nvrtc.library.__wrapped__)
