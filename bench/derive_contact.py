"""Derives the tables of craton/methods/finite_difference/contact.py: a fit to the modes of a layer (setting: docstring of contact.py).

    python bench/derive_contact.py            prints how well the tables of the module do
    python bench/derive_contact.py --fit 4    fits an order anew (a minute for 4, some for 8) and compares with the module

The layer has a traction-free surface on its first half point and a plane of symmetry on its last. Both pairs of fields are fitted at
once, (vz, szz) by a block N and (sxz, vx) by a block S; a sea floor uses S alone, since vertical motion and normal traction go on across
it. Along x the modes are exact. Reference: the closure of order 8 of a free surface (closure.py) on a four times finer grid. The search
ends within 0.002 of the tables.
"""
import argparse

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import least_squares

from craton.methods.finite_difference import contact
from craton.methods.finite_difference.closure import closure, taylor

ROWS = {4: 3, 8: 5}
CELLS = 22
FINER = 4
# Vp / Vs, points per wavelength along x.
CASES = [(ratio, points) for ratio in (1.5, 1.732, 3.0) for points in (7.0, 10.0, 15.0, 25.0, 50.0)]
SHORTEST = 6.5  # points per S wavelength of the highest mode that is fitted
FADED = 60.0  # points per wavelength beyond which errors weigh no more


def plain(order, n):
    """Differences from n + 1 half points to n integer points (norms 1), odd about the last half point, zeros before the first."""
    b = np.zeros((n, n + 1))
    for i in range(n):
        for k, c in enumerate(taylor(order), 1):
            for j, sign in ((i + k, 1), (i - k + 1, -1)):
                if 0 <= j <= n:
                    b[i, j] += sign * c
                elif j > n:
                    b[i, 2 * n - j] -= sign * c
    return b


def frequencies(strain, shear, k, lam, half, integer):
    """Modes of a layer, rising, in units of Vs over the spacing: strain (n, n + 1) makes ezz of vz, shear (n + 1, n) makes exz of vx."""
    n = len(strain)
    exx = np.hstack([-k * np.eye(n), np.zeros((n, n + 1))])
    ezz = np.hstack([np.zeros((n, n)), strain])
    exz = np.hstack([shear, k * np.eye(n + 1)])[1:n]
    weight = integer[:, None]
    stiffness = (lam + 2) * (exx.T @ (weight * exx) + ezz.T @ (weight * ezz)) + lam * (exx.T @ (weight * ezz) + ezz.T @ (weight * exx))
    stiffness += exz.T @ (half[1:n, None] * exz)
    mass = np.sqrt(np.concatenate([integer, half]))[: 2 * n]  # without vz on the plane of symmetry
    return np.sqrt(np.maximum(np.linalg.eigvalsh(stiffness[: 2 * n, : 2 * n] / mass[:, None] / mass), 0))


def reference():
    """{case: frequencies} on the fine grid, in units of the coarse one."""
    c, n = closure(8), CELLS * FINER
    b, integer, half = plain(8, n), np.ones(n), np.ones(n + 1)
    half[-1] = 0.5
    integer[: c.rows], half[: c.rows] = c.hm, c.hp
    b[: c.rows], b[:, : c.rows] = 0, 0
    b[: c.cols, : c.rows] = -(c.d2 * c.hp[:, None]).T
    b[: c.rows, : c.cols] = c.d1 * c.hm[:, None]
    out = {}
    for ratio, points in CASES:
        k = 2 * np.pi / points / FINER
        found = frequencies(b / integer[:, None], -b.T / half[:, None], k, ratio**2 - 2, half, integer) * FINER
        out[ratio, points] = found[found < 2 * np.pi / SHORTEST]
    return out


def errors(order, block_n, block_s, exact):
    """Relative errors of all modes times the square of their points per wavelength."""
    normal, shear = plain(order, CELLS), plain(order, CELLS)
    rows = len(block_n)
    normal[:rows, :rows], shear[:rows, :rows] = block_n, block_s
    shear[:, 0] = 0
    half = np.ones(CELLS + 1)
    half[0] = half[-1] = 0.5
    out = []
    for (ratio, points), wanted in exact.items():
        found = frequencies(normal, -shear.T / half[:, None], 2 * np.pi / points, ratio**2 - 2, half, np.ones(CELLS))
        out.append((found[: len(wanted)] / wanted - 1) * np.minimum(2 * np.pi / wanted, FADED) ** 2)
    return out


def start(order, rows):
    """Blocks that mirror vz evenly and sxz oddly about the surface: where the fit begins."""
    block = plain(order, 60)[:rows, :rows]
    normal, shear = block.copy(), block.copy()
    for i in range(rows):
        for k, c in enumerate(taylor(order), 1):
            j = i - k + 1
            if -rows < j < 0:
                normal[i, -j] -= c
                shear[i, -j] += c
    shear[:, 0] = 0
    return normal, shear


def freedom(rows):
    """Changes of N that keep the sums of its rows and columns, and of S that keep those of its columns and leave the first zero."""
    one = [np.eye(rows)[:, [i]] for i in range(rows)]
    across, down = [(e @ np.ones((1, rows))).ravel() for e in one], [(np.ones((rows, 1)) @ e.T).ravel() for e in one]
    first = [(e @ one[0].T).ravel() for e in one]
    return null_space(np.array(across + down)), null_space(np.array(down + first))


def excess(order, block):
    """By how much the spectral radius of a block in a long line exceeds that of the plain difference, relatively."""
    b = plain(order, 30)
    b[: len(block), : len(block)] = block
    half = np.ones(31)
    half[0] = 0.5
    return max(0.0, np.linalg.norm(b / np.sqrt(half), 2) / (2 * np.abs(taylor(order)).sum()) - 1)


def fit(order, exact):
    """Blocks N and S of an order, the best of three starts."""
    rows = ROWS[order]
    first, spaces = start(order, rows), freedom(rows)
    cut = spaces[0].shape[1]

    def blocks(free):
        return [b + (space @ part).reshape(rows, rows) for b, space, part in zip(first, spaces, np.split(free, [cut]))]

    def residuals(free):
        found = blocks(free)
        return np.concatenate([*errors(order, *found, exact), 0.02 * free, [300 * max(excess(order, b) for b in found)]])

    rng, best = np.random.default_rng(0), None
    for trial in range(3):
        found = least_squares(residuals, rng.normal(0, 0.05 * trial, cut + spaces[1].shape[1]), max_nfev=30)
        best = found if best is None or found.cost < best.cost else best
    return blocks(best.x)


def report(name, order, normal, shear, exact):
    """One line: errors of all modes, of the lowest at three wavelengths, excess of the radius."""
    found = errors(order, normal, shear, exact)
    every = np.concatenate(found)
    lowest = {case[1]: round(float(100 * e[0] / min(2 * np.pi / exact[case][0], FADED) ** 2), 3)
              for case, e in zip(exact, found) if case[0] == 1.732 and case[1] < 20}  # fmt: skip
    beyond = max(excess(order, normal), excess(order, shear))
    print(f"{name}: errors times squared points per wavelength rms {np.sqrt((every**2).mean()):.3f}, largest {abs(every).max():.3f}; "
          f"lowest mode by points {lowest} %; radius + {beyond:.4f}", flush=True)  # fmt: skip


def main():
    """Report, or fit and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=int, choices=sorted(ROWS))
    order = parser.parse_args().fit
    exact = reference()
    for each in [order] if order else sorted(ROWS):
        rows = ROWS[each]
        zeros = plain(each, 60)[:rows, :rows]
        report(f"order {each}, zeros beyond the surface", each, zeros, zeros, exact)
        table = np.hstack([np.zeros((rows, 1)), contact.BLOCKS[each]])
        report(f"order {each}, S of the module, N zeros", each, zeros, table, exact)
        if order:
            normal, shear = fit(order, exact)
            report(f"order {each}, fitted", each, normal, shear, exact)
            print("N", np.round(normal, 4).tolist(), "\nS", np.round(shear[:, 1:], 4).tolist())
            print("largest difference from the module:", abs(shear[:, 1:] - contact.BLOCKS[each]).max())


if __name__ == "__main__":
    main()
