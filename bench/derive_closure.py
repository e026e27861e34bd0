"""Derives the tables of finite_difference/equations/closure.py: accuracy conditions in rational arithmetic, free numbers, and their fit.

    python bench/derive_closure.py            prints the tables, checks them against the module, prints their accuracy
    python bench/derive_closure.py --fit 4    searches the free numbers of an order anew (minutes for orders 6 and 8)

Unknowns, in this order: B (rows x rows, row by row), Hm (rows), Hp (rows). Method and sources: docstring of closure.py.
"""

import argparse
import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, least_squares

from craton.methods.finite_difference.equations import closure

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
NAMES = ("degree", "chosen", "fit", "rayleigh", "modes")
DEGREE, CHOSEN, FIT, RAYLEIGH, MODES = ({int(k): v for k, v in TABLES[n].items()} for n in NAMES)
SHAPES = (8, 10, 13)
LENGTH = 40  # cells of the bar whose standing waves are fitted
RATIOS = (3**0.5, 3.5)  # Vp / Vs


def reduced(rows):
    """Reduced row echelon form of a list of rows of Fractions, and its pivot columns."""
    rows, pivots, n = [r[:] for r in rows], [], 0
    for c in range(len(rows[0])):
        pivot = next((i for i in range(n, len(rows)) if rows[i][c]), None)
        if pivot is None:
            continue
        rows[n], rows[pivot] = rows[pivot], rows[n]
        rows[n] = [v / rows[n][c] for v in rows[n]]
        for i, row in enumerate(rows):
            if i != n and row[c]:
                rows[i] = [a - row[c] * b for a, b in zip(row, rows[n])]
        pivots.append(c)
        n += 1
    return rows[:n], pivots


def taylor(order):
    """Exact coefficients of the interior stencil."""
    m = order // 2
    system = [[2 * Fraction(2 * k - 1, 2) ** (2 * j + 1) for k in range(1, m + 1)] + [Fraction(j == 0)] for j in range(m)]
    return [row[-1] for row in reduced(system)[0]]


def interior(order, size):
    """B of the plain stencil, (size, size) Fractions: half points by integer points."""
    b = [[Fraction(0)] * size for _ in range(size)]
    for r in range(size):
        for k, c in enumerate(taylor(order), 1):
            if r + k < size:
                b[r][r + k] += c
            if r + 1 - k >= 0:
                b[r][r + 1 - k] -= c
    return b


def conditions(order, rows):
    """Accuracy conditions as augmented rows: B p = Hm p' at the first half points, -B^T q - e0 q(0) = Hp q' at the first integer points."""
    block, size = rows * rows, rows + order
    plain = interior(order, size)
    for n in range(rows):
        for degree in range(DEGREE[order] + 1):
            d1, d2 = ([Fraction(0)] * (block + 2 * rows + 1) for _ in range(2))
            for m in range(size):
                at_integer, at_half = Fraction(m) ** degree, Fraction(2 * m + 1, 2) ** degree
                d1[n * rows + m if m < rows else -1] += at_integer if m < rows else -plain[n][m] * at_integer
                d2[m * rows + n if m < rows else -1] += at_half if m < rows else -plain[m][n] * at_half
            if degree:
                d1[block + n] -= degree * Fraction(2 * n + 1, 2) ** (degree - 1)
                d2[block + rows + n] += degree * Fraction(n) ** (degree - 1)
            d2[-1] -= Fraction(n == 0 and degree == 0)
            yield d1
            yield d2


def solve(order, rows):
    """Exact general solution: reduced rows, pivots, indices of the free unknowns."""
    system, pivots = reduced(list(conditions(order, rows)))
    unknowns = rows * rows + 2 * rows
    if unknowns in pivots:
        raise ValueError(f"order {order} has no closure of {rows} rows exact to degree {DEGREE[order]}")
    return system, pivots, [j for j in range(unknowns) if j not in pivots]


def complete(solution, free_values):
    """All unknowns for given free ones (Fractions stay Fractions)."""
    system, pivots, free = solution
    values = dict(zip(free, free_values))
    values |= {p: row[-1] - sum(row[j] * values[j] for j in free) for row, p in zip(system, pivots)}
    return [values[j] for j in sorted(values)]


def table(order):
    """(denominator, hm, hp, B) as in the module."""
    rows, denominator, numerators = CHOSEN[order]
    values = complete(solve(order, rows), [Fraction(n, denominator) for n in numerators])
    common = math.lcm(*(v.denominator for v in values))
    whole = [int(v * common) for v in values]
    block = rows * rows
    return common, whole[block : block + rows], whole[block + rows :], [whole[r : r + rows] for r in range(0, block, rows)]


def grid(order, rows, values, cells, mirrored=False):
    """(B, hm, hp) of a long grid from floating-point unknowns; `mirrored` closes the other end too."""
    b, hm, hp = np.zeros((cells, cells + 1)), np.ones(cells), np.ones(cells + 1)
    for k, c in enumerate(closure.taylor(order), 1):
        b += c * (np.eye(cells, cells + 1, k) - np.eye(cells, cells + 1, 1 - k))
    block, m, p = np.split(np.asarray(values, float), [rows * rows, rows * rows + rows])
    block = block.reshape(rows, rows)
    b[:rows, :rows], hm[:rows], hp[:rows] = block, m, p
    if mirrored:
        b[-rows:, -rows:], hm[-rows:], hp[-rows:] = -block[::-1, ::-1], m[::-1], p[::-1]
    return b, hm, hp


def symmetric(b, hm, hp):
    """Matrix whose singular values are the frequencies."""
    return b / np.sqrt(hm)[:, None] / np.sqrt(hp)


def rayleigh_error(order, rows, values, per_wavelength, ratio):
    """Relative error of the discrete Rayleigh speed, only the vertical being discretised; `per_wavelength` points per S wavelength."""
    speed = brentq(lambda c: (2 - c * c) ** 2 - 4 * math.sqrt((1 - c * c / ratio**2) * (1 - c * c)), 0.3, 0.9999)
    omega = 2 * math.pi / per_wavelength
    k, lam, cells = omega / speed, ratio**2 - 2, int(3 * per_wavelength) + 8
    b, hm, hp = grid(order, rows, values, cells)
    exx = np.hstack([-k * np.eye(cells + 1), np.zeros((cells + 1, cells))])  # ux is i times the first unknowns
    ezz = np.hstack([np.zeros((cells + 1, cells + 1)), -b.T / hp[:, None]])
    ezz[0] = -lam / (lam + 2) * exx[0]  # plane stress
    exz = np.hstack([b / hm[:, None], k * np.eye(cells)])
    stiffness = exx.T @ (hp[:, None] * ((lam + 2) * exx + lam * ezz)) + ezz.T @ (hp[:, None] * (lam * exx + (lam + 2) * ezz))
    stiffness += exz.T @ (hm[:, None] * exz)
    root = np.sqrt(np.concatenate([hp, hm]))
    return math.sqrt(eigh(stiffness / root[:, None] / root, eigvals_only=True, subset_by_index=[0, 0])[0]) / omega - 1


def standing_waves(order, rows, values):
    """Relative frequency errors beyond the interior stencil's and shape errors near the surface, both pairs, on a bar with two surfaces."""
    b, hm, hp = grid(order, rows, values, LENGTH, True)
    n = np.array(MODES[order])
    k = n * np.pi / LENGTH
    stencil = 2 * sum(c * np.sin((j + 0.5) * k) for j, c in enumerate(closure.taylor(order)))
    frequency, shape = [], []
    for columns, integer, half in ((slice(None), np.cos, np.sin), (slice(1, -1), np.sin, np.cos)):
        u, s, v = np.linalg.svd(symmetric(b, hm, hp)[:, columns], full_matrices=False)
        rising = np.argsort(s)
        frequency.append((s[rising][n - 1] - stencil) / k)
        x = np.arange(LENGTH + 1.0)[columns]
        for mode in SHAPES:
            for vector, weight, at, exact in ((v, hp[columns], x, integer), (u.T, hm, np.arange(LENGTH) + 0.5, half)):
                found, wanted = vector[rising[mode - 1]] / np.sqrt(weight), exact(mode * np.pi * at / LENGTH)
                shape.append((found / (weight @ (found * wanted) / (weight @ wanted**2)) - wanted)[:10] / (mode / 8))
    return np.array(frequency), np.array(shape)


def residuals(order, rows, values):
    """What the fit makes small: Rayleigh and standing waves, truncation, and breaches of the bounds on norms and spectral radius."""
    shape_weight, power = FIT[order]
    b, hm, hp = grid(order, rows, values, 30)
    if min(hm.min(), hp.min()) <= 0.02:
        return np.full(2 * len(RAYLEIGH[order]) + 2 * len(MODES[order]) + 120 + 8 * rows + 1, 1e2)
    rayleigh = [rayleigh_error(order, rows, values, p, ratio) * p**power / 2 for p in RAYLEIGH[order] for ratio in RATIOS]
    frequency, shape = standing_waves(order, rows, values)
    frequency = frequency * (2 * LENGTH / np.array(MODES[order])) ** power / 2
    x, half = np.arange(31.0), np.arange(30) + 0.5
    cut = [0.03 * np.sqrt(hm) * (b @ x**d / hm - d * half ** (d - 1)) / math.factorial(d) for d in (3, 4, 5)]
    cut += [0.03 * np.sqrt(hp) * (-b.T @ half**d / hp - d * x ** (d - 1)) / math.factorial(d) for d in (3, 4, 5)]
    radius = np.linalg.norm(symmetric(b, hm, hp), 2) / (2 * np.abs(closure.taylor(order)).sum())
    bounds = 5 * np.minimum(np.concatenate([hm[:rows], hp[:rows]]) - 0.26, 0)
    excess = [60 * max(0, radius - 1)]
    return np.concatenate([rayleigh, frequency.ravel(), shape_weight * shape.ravel(), *(c[:rows] for c in cut), bounds, excess])


def fit(order):
    """Free numbers from the chosen ones by nonlinear least squares."""
    rows, denominator, numerators = CHOSEN[order]
    system, pivots, free = solve(order, rows)
    plain = ([[float(v) for v in row] for row in system], pivots, free)
    start = np.array(numerators) / denominator
    found = least_squares(lambda f: residuals(order, rows, complete(plain, f)), start, x_scale=0.1, max_nfev=60)
    print(f"order {order}: cost {0.5 * (residuals(order, rows, complete(plain, start)) ** 2).sum():.4f} -> {found.cost:.4f}")
    print("free unknowns", free, "\nvalues * 2048", np.round(found.x * 2048, 2).tolist())


def report(order):
    """Prints one table and its accuracy."""
    derived = table(order)
    print(f"order {order}: denominator {derived[0]}\n  hm {derived[1]}\n  hp {derived[2]}\n  B {derived[3]}")
    print("  the module's table is", "the same" if tuple(closure._TABLES[order]) == derived else "DIFFERENT")
    values = np.concatenate([np.ravel(derived[3]), derived[1], derived[2]]) / derived[0]
    rows = CHOSEN[order][0]
    for ratio in RATIOS:
        errors = {p: round(100 * rayleigh_error(order, rows, values, p, ratio), 4) for p in (5, 6, 8, 10, 15, 20)}
        print(f"  Rayleigh speed error in %, by points per S wavelength, Vp/Vs {ratio:.2f}: {errors}")
    if order in MODES:
        frequency, shape = standing_waves(order, rows, values)
        print(f"  standing waves {MODES[order]} of {LENGTH} cells: (vx, sxz), (szz, vz) error in %", np.round(100 * frequency, 3).tolist())
    print(f"  spectral radius / interior {closure.closure(order).spectral_radius / (2 * np.abs(closure.taylor(order)).sum()):.5f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=int, choices=sorted(FIT), help="order whose free numbers to search")
    chosen = parser.parse_args().fit
    if chosen:
        fit(chosen)
    else:
        for order in CHOSEN:
            report(order)
