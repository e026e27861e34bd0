"""Rates of the streamed elastic kernels on a CUDA device: copy bandwidth, plain body, and a sweep of launch settings.

Every setting is compared with the plain body before it is timed. Needs NumPy and CuPy:
PYTHONPATH=src python bench/tune_streamed.py --out tune.json
"""
import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import cupy as cp
import numpy as np

from craton.core.operator import BOX, Variant
from craton.methods.finite_difference.equations import operators
from craton.methods.finite_difference.equations.scheme import stencil

STREAMED = operators.HERE / "elastic_streamed.cu"
PLAIN_BLOCK = (32, 4, 4)
CASES = (("float32", 4, (512, 512, 512)), ("float32", 4, (189, 484, 540)), ("float32", 8, (512, 512, 512)),
         ("float32", 8, (189, 484, 540)), ("float64", 4, (512, 512, 512)), ("float64", 4, (189, 484, 540)))  # fmt: skip
BLOCKS = ((32, 2), (32, 4), (64, 2), (64, 4))
PLANES = (16, 32, 64)
THREADS = (256, 384, 512)  # least threads on a multiprocessor: 255, 168, 128 registers
KERNELS = (operators.velocity, operators.stress)


@dataclass(frozen=True)
class Fields:
    """Random fields with ghost points; `address` are those of point (0, 0, 0), `row` and `plane` are strides."""

    arrays: dict
    grid: tuple
    row: int
    plane: int
    first: int

    @staticmethod
    def random(shape, precision, order, left=None):
        """Positive moduli, small velocities and stresses, ghost points filled as well."""
        nz, ny, nx = shape
        reach, left = order // 2, left or 128 // np.dtype(precision).itemsize
        row = -(-(left + nx + 4) // 32) * 32
        padded, grid = (nz + 2 * reach, ny + 2 * reach, row), (slice(reach, reach + nz), slice(reach, reach + ny), slice(left, left + nx))
        cp.random.seed(1)
        names = {n for kernel in KERNELS for n in kernel(stencil(order)).arrays}
        lowest = dict.fromkeys(names, -0.5) | dict.fromkeys(("rho", "lam", "rmu"), 1)
        arrays = {n: cp.random.random_sample(padded, np.dtype(precision)) + lowest[n] for n in sorted(names)}
        plane = padded[1] * row
        return Fields(arrays, grid, row, plane, reach * plane + reach * row + left)

    def address(self, name):
        """Device address of point (0, 0, 0)."""
        array = self.arrays[name]
        return np.intp(array.data.ptr + self.first * array.itemsize)

    def copy(self):
        """The same values elsewhere."""
        return Fields({n: a.copy() for n, a in self.arrays.items()}, self.grid, self.row, self.plane, self.first)


def settings(args, precision):
    """All settings of the sweep: dicts of the constants of elastic_streamed.cu."""
    whole = 16 // np.dtype(precision).itemsize
    for vec, (bx, by), planes, threads in product(args.vec or (whole, whole // 2), args.blocks, args.planes, args.threads):
        least = max(1, threads // (bx * by))
        if least * bx * by == threads or threads == 0:
            for extra in product(*args.vary.values()):
                yield {"VEC": vec, "BX": bx, "BY": by, "PLANES": planes, "MIN_BLOCKS": least, **dict(zip(args.vary, extra))}


def variant(setting, file=STREAMED):
    """The declaration that belongs to a setting."""
    bx, by, planes = setting["BX"], setting["BY"], setting["PLANES"]
    return Variant("streamed", file, (bx, by, 1), (bx * setting["VEC"], by, planes), tuple(setting.items()))


def compiled(ops, precision):
    """CuPy module that holds the text of the operators; velocity and stress share one."""
    module = cp.RawModule(code=ops[0].source(precision, [op.function for op in ops]), options=("-std=c++17",))
    module.compile()
    return module


def launcher(module, op, fields, box, precision, dt_h, block, span, align):
    """A function that runs one kernel on a box (k0, k1, j0, j1, i0, i1)."""
    kernel = module.get_function(op.function)
    k0, k1, j0, j1, i0, i1 = box
    grid = tuple(-(-n // s) for n, s in zip((i1 - i0 // align * align, j1 - j0, k1 - k0), span))
    params = op.params.value(precision, row=fields.row, plane=fields.plane, sheet=fields.plane, top=0, dt_h=dt_h)
    bounds = BOX.value(precision, **dict(zip(("k0", "k1", "j0", "j1", "i0", "i1"), box)))
    arguments = (*(fields.address(n) for n in op.arrays), bounds, params)
    return lambda: kernel(grid, block, arguments)


def plain(order, precision, fields, box, dt_h=0.05):
    """Launchers of the plain body, {name: function}."""
    ops = [kernel(stencil(order)) for kernel in KERNELS]
    module = compiled(ops, precision)
    return {op.name: launcher(module, op, fields, box, precision, dt_h, PLAIN_BLOCK, PLAIN_BLOCK, 1) for op in ops}


def streamed(module, setting, order, precision, fields, box, dt_h=0.05):
    """Launchers of the streamed body, {name: function}."""
    v = variant(setting)
    return {op.name: launcher(module, op, fields, box, precision, dt_h, v.block, v.span, setting["VEC"])
            for op in (kernel(stencil(order)) for kernel in KERNELS)}  # fmt: skip


def difference(ours, theirs):
    """Largest difference over all fields relative to each field's peak, ghost points included."""
    return max(float(abs(ours.arrays[n] - a).max() / abs(a).max()) for n, a in theirs.arrays.items())


def median_ms(function, repeats=7):
    """Median time of a launch in ms from events, one launch before."""
    function()
    events = [cp.cuda.Event() for _ in range(repeats + 1)]
    events[0].record()
    for event in events[1:]:
        function()
        event.record()
    events[-1].synchronize()
    return float(np.median([cp.cuda.get_elapsed_time(a, b) for a, b in zip(events, events[1:])]))


def copy_rate():
    """Bytes per second read plus written by a copy of 4 GiB."""
    a = cp.random.random_sample(1 << 30, cp.float32)
    b = cp.empty_like(a)
    return 2 * a.nbytes / median_ms(lambda: cp.copyto(b, a)) * 1e3


class Referee:
    """Three steps of the plain body on a small odd box; `check` holds another body to them."""

    def __init__(self, order, precision):
        self.order, self.precision, self.box = order, precision, (1, 37, 0, 43, 3, 74)
        self.before = Fields.random((38, 43, 77), precision, order)
        self.before.arrays["rmu"][:, ::5] = cp.inf  # fluid
        self.after = self.before.copy()
        self.run(plain(order, precision, self.after, self.box))

    def run(self, kernels):
        """Three leapfrog steps."""
        for _ in range(3):
            kernels["velocity"]()
            kernels["stress"]()

    def check(self, module, setting):
        """Difference from the plain body; raises AssertionError above 32 roundings of the peak."""
        ours = self.before.copy()
        self.run(streamed(module, setting, self.order, self.precision, ours, self.box))
        worst = difference(ours, self.after)
        assert worst < 32 * np.finfo(self.precision).eps, (setting, worst)
        return worst


def modules(args, precision, order, wanted):
    """Compile all settings on the host's cores, [(setting, module)]."""
    def build(setting):
        v = variant(setting, args.file)
        return compiled([kernel(stencil(order)).as_variant(v) for kernel in KERNELS], precision)

    with ThreadPoolExecutor(args.jobs) as pool:
        return list(zip(wanted, pool.map(build, wanted)))


def measure(launchers, box, order, precision):
    """Time of each kernel and its rate by the declared traffic."""
    k0, k1, j0, j1, i0, i1 = box
    points, size = (k1 - k0) * (j1 - j0) * (i1 - i0), np.dtype(precision).itemsize
    out = {"points": points}
    for kernel in KERNELS:
        op = kernel(stencil(order))
        out[op.name] = median_ms(launchers[op.name])
        out[f"{op.name}_GB/s"] = points * op.reals_per_point * size / out[op.name] / 1e6
    out["Gpoint-steps/s"] = points / (out["velocity"] + out["stress"]) / 1e6
    return out


def sweep(args, precision, order, shapes):
    """Check and time every setting for one order and precision on all shapes."""
    wanted, referee, results = list(settings(args, precision)), Referee(order, precision), []
    built = modules(args, precision, order, wanted)
    worst = max(referee.check(module, setting) for setting, module in built)
    print(f"{precision} order {order}: {len(built)} settings, within {worst:.1e} of the peak of the plain body after 3 steps", flush=True)
    if args.check:
        return results
    for shape in shapes:
        fields, box = Fields.random(shape, precision, order, args.left), tuple(b for n in shape for b in (0, n))
        case = {"precision": precision, "order": order, "shape": shape}
        results.append({**case, "body": "plain", **measure(plain(order, precision, fields, box), box, order, precision)})
        for setting, module in built:
            launchers = streamed(module, setting, order, precision, fields, box)
            registers = {f"{n}_registers": module.get_function(n).num_regs for n in launchers}
            spills = {f"{n}_local": module.get_function(n).local_size_bytes for n in launchers}
            results.append({**case, "body": "streamed", **setting, **registers, **spills, **measure(launchers, box, order, precision)})
        del fields
        cp.get_default_memory_pool().free_all_blocks()
    return results


def table(results, copy, rows=6):
    """Print the plain body and the best settings of each case, for both kernels by themselves."""
    cases = {}
    for r in results:
        cases.setdefault((r["precision"], r["order"], tuple(r["shape"])), []).append(r)
    for case, these in cases.items():
        base, *streamed = sorted(these, key=lambda r: r["body"])
        print(f"\n{case}: plain {base['Gpoint-steps/s']:.1f} Gpoint-steps/s")
        for name in ("velocity", "stress"):
            for r in sorted(streamed, key=lambda r: r[name])[:rows]:
                shown = {key: value for key, value in r.items() if key.isupper()}
                share = r[f"{name}_GB/s"] * 1e9 / copy
                registers = r[name + "_registers"], r[name + "_local"]
                print(f"  {name:8} {r[name]:7.3f} ms  {share:4.0%} of copy  registers, local {registers}  {shown}")


def arguments():
    """Command line."""
    def integers(text):
        return tuple(int(t) for t in text.split(","))

    def pairs(text):
        return tuple(integers(t.replace("x", ",")) for t in text.split(","))

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file for all numbers")
    parser.add_argument("--file", type=Path, default=STREAMED)
    parser.add_argument("--check", action="store_true", help="parity only, every array in an allocation of its own (for memcheck)")
    parser.add_argument("--cases", nargs="*", default=[f"{p}:{o}" for p, o, _ in CASES], help="precision:order")
    parser.add_argument("--shape", type=integers, help="(nz,ny,nx) instead of the two standard ones")
    parser.add_argument("--vec", type=integers)
    parser.add_argument("--blocks", type=pairs, default=BLOCKS, help="BXxBY,...")
    parser.add_argument("--planes", type=integers, default=PLANES)
    parser.add_argument("--threads", type=integers, default=THREADS)
    parser.add_argument("--left", type=int, help="ghost points before a row, in reals (default 128 bytes: aligned lines)")
    parser.add_argument("--vary", nargs="*", default=[], help="further constants: NAME=1,2")
    parser.add_argument("--jobs", type=int, default=16)
    args = parser.parse_args()
    args.vary = {name: integers(values) for name, values in (v.split("=") for v in args.vary)}
    return args


def main():
    """Copy bandwidth, then every case."""
    args, results = arguments(), []
    if args.check:
        cp.cuda.set_allocator(None)
    copy = 0 if args.check else copy_rate()
    print(f"copy {copy / 1e12:.2f} TB/s", flush=True)
    for case in dict.fromkeys(args.cases):
        precision, order = case.split(":")
        shapes = [args.shape] if args.shape else [s for p, o, s in CASES if (p, o) == (precision, int(order))] or [(512, 512, 512)]
        results += sweep(args, precision, int(order), shapes)
    table(results, copy)
    if args.out:
        device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
        args.out.write_text(json.dumps({"device": device, "cupy": cp.__version__, "copy": copy, "results": results}))


if __name__ == "__main__":
    main()
