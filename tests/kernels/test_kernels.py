"""Every kernel as text: declared as written, and compiled for GPUs in two precisions without a GPU, within a register budget."""

import dataclasses
import re
import sys
from functools import cache
from types import SimpleNamespace

import pytest
from kernelcase import PRECISIONS, compiled_for_gpus, every_operator, shared_text

from craton.backends import nvrtc
from craton.core.operator import declared_in_text
from craton.errors import ResourceError
from craton.methods.finite_difference import operators
from craton.methods.finite_difference.scheme import stencil

OPERATORS = every_operator()
ARCHITECTURES = ("sm_80", "sm_90")

# Registers of a thread that ptxas 13.5 needed at most, over both architectures and all orders, rounded up to the next multiple of 8 (the
# hardware gives them out so): float32, float64. 40 registers let 1536 threads of 2048 stay on a multiprocessor, 64 let 1024.
BUDGET = {
    "velocity": (32, 48),
    "stress": (40, 56),
    "velocity_surface": (48, 72),
    "stress_surface": (40, 64),
    "cpml_velocity": (40, 48),
    "laminate": (40, 40),
    "laminate_surface": (40, 48),
    "cpml_laminate": (32, 32),
    "cpml_stress": (40, 56),
    "sponge": (16, 24),
    "rigid": (16, 16),
    "wrap": (16, 16),
    "inject": (40, 40),
    "window": (24, 24),
    "hold": (24, 24),
    "sample": (32, 32),
    "peaks": (64, 64),
    "gather_points": (16, 16),
    "sum_series": (32, 32),
    "damping": (32, 32),
    "advance": (16, 16),
    "a1": (32, 40),
    "contact_velocity": (40, 48),
    "contact_stress": (48, 56),
    "contact_stress_mixed": (48, 64),
    "vti_contact_stress_mixed": (56, 72),
    "stress_coarse": (56, 72),
    "stress_mixed": (56, 80),
    "stress_paired": (64, 80),
    "stress_full": (56, 96),
    "stress_surface_mixed": (64, 72),
    "cpml_stress_x_mixed": (48, 64),
    "cpml_stress_y_mixed": (56, 64),
    "cpml_stress_z_mixed": (48, 64),
    "stress_surface_paired": (64, 96),
    "cpml_stress_x_paired": (40, 64),
    "cpml_stress_z_paired": (48, 56),
    "vti_stress": (48, 72),
    "vti_stress_surface": (48, 64),
    "vti_stress_terrain": (48, 64),
    "vti_stress_mixed": (64, 80),
    "vti_stress_paired": (64, 104),
    "vti_stress_surface_mixed": (64, 80),
    "vti_cpml_stress_x_mixed": (48, 64),
    "vti_cpml_stress_y_mixed": (56, 72),
    "vti_cpml_stress_z_mixed": (56, 72),
    "vti_stress_surface_paired": (48, 64),
    "vti_cpml_stress_x_paired": (48, 72),
    "vti_cpml_stress_z_paired": (48, 72),
    "keep_velocity": (24, 24),
    "keep_stress": (32, 32),
    "increment_velocity": (24, 24),
    "increment_stress": (24, 32),
    "scatter_velocity": (24, 24),
    "scatter_stress": (32, 40),
    "correlate": (32, 48),
    "scatter_stress_pairs": (32, 32),
    "correlate_pairs": (32, 32),
    "keep_strain": (32, 32),
    "increment_strain": (24, 40),
    "correlate_strain": (48, 72),
    "scatter_strain": (56, 72),
    "correlate_strain_by_q": (56, 80),
    "scatter_strain_by_q": (56, 88),
    "scatter_strain_sparse": (64, 88),
    "vti_correlate_strain": (56, 88),
    "vti_correlate_strain_sponge": (64, 88),
    "vti_scatter_strain": (64, 72),
    "vti_scatter_strain_sparse": (56, 80),
    "remember_velocity": (32, 32),
    "remember_stress": (32, 40),
    "backward_velocity": (40, 56),
    "backward_stress": (56, 72),
    "backward_velocity_surface": (56, 64),
    "backward_stress_surface": (56, 72),
    "backward_laminate": (56, 96),
    "laminate_increment": (32, 56),
    "laminate_correlate": (40, 64),
    "save": (16, 16),
    "save_16": (40, 40),
    "restore": (16, 16),
    "restore_16": (32, 32),
    "take_out": (40, 40),
    "set_aside": (16, 16),
    "changed": (24, 24),
    "changed_normal": (40, 40),
    "sum_density": (56, 80),
    "sum_moduli": (88, 128),
    "sum_density_surface": (56, 88),
    "sum_moduli_surface": (80, 128),
    "sum_forces": (40, 32),
    "narrow": (32, 32),
    "widen": (32, 32),
    "pack": (24, 24),
    "unpack": (24, 24),
    "acoustic_velocity": (40, 48),
    "acoustic_pressure": (40, 40),
    "acoustic_velocity_surface": (40, 48),
    "acoustic_pressure_surface": (40, 40),
}
LONG = {  # of orders 10 to 16
    "velocity": (48, 56),
    "stress": (48, 64),
    "velocity_surface": (48, 72),
    "stress_surface": (48, 72),
    "cpml_velocity": (48, 48),
    "laminate": (32, 56),
    "laminate_surface": (40, 40),
    "cpml_laminate": (32, 40),
    "cpml_stress": (40, 48),
}
PLANE = {  # of both motions in the (x, z) plane
    "velocity": (32, 40),
    "stress": (32, 48),
    "velocity_surface": (40, 48),
    "stress_surface": (32, 40),
    "cpml_velocity": (32, 48),
    "laminate": (32, 32),
    "laminate_surface": (32, 40),
    "cpml_laminate": (32, 32),
    "cpml_stress": (32, 48),
    "stress_coarse": (40, 56),
    "stress_paired": (40, 56),
    "stress_full": (40, 56),
    "stress_surface_paired": (40, 64),
    "cpml_stress_x_paired": (48, 64),
    "cpml_stress_z_paired": (40, 72),
    "vti_stress": (32, 48),
    "vti_stress_surface": (32, 40),
    "vti_stress_paired": (48, 64),
    "vti_stress_surface_paired": (48, 72),
    "vti_cpml_stress_x_paired": (48, 72),
    "vti_cpml_stress_z_paired": (48, 72),
}
# A streamed variant is built for a number of threads on a multiprocessor: its own launch bounds are its budget.
REGISTERS = 65536


def variants(op):
    """(precision, text, budget or None) of an operator: the plain body in both precisions, and what it declares for GPUs."""
    precisions = PRECISIONS[:1] if dict(op.defines).get("HALF") else PRECISIONS
    yield from ((precision, op, None) for precision in precisions)
    for v in op.variants:
        if v.file.suffix == ".cu":
            threads = v.block[0] * v.block[1] * v.block[2] * dict(v.defines).get("MIN_BLOCKS", 1)
            yield from ((precision, op.as_variant(v), min(255, REGISTERS // threads)) for precision in v.precisions)


CASES = {
    f"{name}-{'streamed' if budget else 'plain'}-{precision}": (op, text, precision, budget)
    for name, op in OPERATORS.items()
    for precision, text, budget in variants(op)
}


def budget_of(op):
    """The name under which an operator has its budget, and the registers."""
    name = op.name.removesuffix("_half")
    defined, name = dict(op.defines), name if name in BUDGET else op.function
    kind, table = ("plane", PLANE) if defined.get("PLANE") else ("long", LONG) if defined.get("R", 0) > 4 else ("", {})
    return (f"{kind} {name}", table[name]) if name in table else (name, BUDGET[name])


# Operators that need, of order 4 or 8, more registers (of `sm_80`, in float32) at 4; the others need as many or more at 8.
TIGHTER_AT_4 = (
    "stress_coarse",
    "stress_mixed",
    "stress_paired",
    "stress_full",
    "vti_stress_mixed",
    "vti_stress_surface_mixed",
    "cpml_stress_x_mixed",
    "cpml_stress_y_mixed",
    "remember",  # of this order alone
    "sum_density",
    "sum_moduli",
)


def architectures(op, precision):
    """Those to compile for, in little time; the budgets were measured with every text on both.

    `sm_90`, on which times are measured: the orders 2 to 8 and 16 in space, the plane; not 10, 12 and 14, whose texts are
    those of 16 with fewer terms. What terrain, a sea floor or a face A1 add, acoustic waves and what gradients need: order 4.
    `sm_80`: each operator once, see `on_the_older_too`.
    """
    defined = dict(op.defines)
    reach, plane = defined.get("R", 0), defined.get("PLANE")
    if "TRANSPOSED" in defined or op.function.startswith("backward"):
        return ARCHITECTURES[1:]
    if op.function == "a1" or op.function.startswith("contact") or op.name.endswith("terrain"):
        return ARCHITECTURES[1:] if reach == 2 and not plane else ()
    if defined.get("ACOUSTIC"):
        return ARCHITECTURES[1:] if reach == 2 else ()
    if reach in (5, 6, 7):
        return ()
    older = not plane and on_the_older_too(op, precision)
    return ARCHITECTURES if older else ARCHITECTURES[1:]


def on_the_older_too(op, precision):
    """True in float32 at the order, 4 or 8, that comes nearer to its budget there; always for a text without an order.

    And for the one budget of float64 that `sm_80` alone needs.
    """
    if op.name == "stress_full" and precision == "float64":
        return True
    tight = 2 if op.name.startswith(TIGHTER_AT_4) else 4
    return precision == "float32" and dict(op.defines).get("R", 0) in (0, tight)


def needs_nvrtc():
    """Skip where the wheel is missing; the dev extra brings it."""
    try:
        nvrtc.library()
    except ResourceError as e:
        pytest.skip(str(e))


@cache
def compiled():
    """As `compiled_for_gpus`, of all cases."""
    needs_nvrtc()
    return compiled_for_gpus(
        (text, precision, arch) for op, text, precision, _ in CASES.values() for arch in architectures(op, precision)
    )


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_declaration_is_what_the_text_says(op):
    declared = [*((name, op.c_type(name)) for name in op.arrays), ("box", "Box"), ("p", op.params.name)]
    assert declared_in_text(op) == declared


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_variants_take_the_same_arguments(op):
    for v in op.variants:
        assert declared_in_text(op.as_variant(v)) == declared_in_text(op), v.name


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_arrays_that_are_only_read_are_const(op):
    text = re.sub(r"//[^\n]*", "", op.file.read_text())
    arguments = re.search(rf"KERNEL\s+{op.function}\s*\((.*?)\)\s*\{{", text, flags=re.S)[1].split(",")[
        : len(op.arrays)
    ]
    constant = tuple(name for name, a in zip(op.arrays, arguments) if a.strip().startswith("const "))
    assert constant == op.reads


def test_the_comparison_sees_a_wrong_declaration():
    op = operators.velocity(stencil(4))
    swapped = dataclasses.replace(op, reads=(op.reads[1], op.reads[0], *op.reads[2:]))
    assert declared_in_text(swapped)[: len(op.arrays)] != [(name, "real") for name in swapped.arrays]


@pytest.mark.parametrize(
    ("case", "arch"),
    [(name, arch) for name, (op, _, precision, _) in CASES.items() for arch in architectures(op, precision)],
)
def test_compiles_for_gpus_within_its_registers(case, arch):
    """On `sm_90` every precision and order that `architectures` tells. On `sm_80`, where ptxas differs but not the text,
    float32 at the order with the tightest budget: float64 and the other orders are not claimed there.
    """
    op, text, precision, budget = CASES[case]
    result = compiled()[shared_text(text, precision), arch]
    assert result.ok, result.log
    assert result.cubin[:4] == b"\x7fELF"
    assert result.spills_bytes[op.function] == 0 and result.stack_bytes[op.function] == 0, result.log
    assert result.registers[op.function] <= (budget or budget_of(op)[1][PRECISIONS.index(precision)]), result.log


def test_budgets_are_tight():
    used = {}
    for op, text, precision, budget in CASES.values():
        if not budget:
            name, given = budget_of(op)
            key = (name, precision, given[PRECISIONS.index(precision)])
            made = [
                compiled()[shared_text(text, precision), arch].registers[op.function]
                for arch in architectures(op, precision)
            ]
            used[key] = max(used.get(key, 0), *made, 0)
    loose = {key: n for key, n in used.items() if key[2] > n + 15}
    assert not loose


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


def refused():
    """Why there is no NVRTC."""
    with pytest.raises(ResourceError, match="pip install cuda-bindings nvidia-cuda-nvrtc") as error:
        nvrtc.library.__wrapped__()
    return str(error.value)


def test_missing_wheel_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert "cuda.bindings" in refused()


def test_bindings_without_nvrtc_say_what_to_install(monkeypatch):
    def missing():
        raise RuntimeError('Failure finding "libnvrtc.so"\nhere and there')

    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(nvrtc=SimpleNamespace(nvrtcVersion=missing)))
    assert '(Failure finding "libnvrtc.so")' in refused()
