"""Derives the tables BLOCKS of craton/methods/finite_difference/contact.py: a fit to the modes of water over rock (setting: docstring there).

    python bench/derive_contact.py            prints how well the tables of the module do
    python bench/derive_contact.py --fit 4    fits an order anew (two minutes for 4, five for 8) and compares with the module

A column of water over rock, its floor half-way between two planes, both ends traction-free; along x the modes are exact. Reference: Lagrange
elements of degree 12, tangential motion apart on the floor, rotation of the water held by a penalty. What is minimised: the product over four rocks
of the rms error of all modes below 1/8 and 1/15 of the slowest wave's frequency per spacing, with a spectral radius within 0.05 % of the plain one.
"""
import argparse

import numpy as np
from scipy.optimize import minimize

from craton.methods.finite_difference import contact
from craton.methods.finite_difference.closure import operators, taylor

WATER = (1500.0, 0.0, 1020.0)  # vp, vs, rho
ROCKS = ((5000.0, 2887.0, 2500.0), (2000.0, 900.0, 2000.0), (1700.0, 300.0, 1700.0), (3000.0, 1700.0, 2200.0))
CELLS, SOLID = 61, 46  # half points in all; highest solid integer point
SPACING = 100.0
PENALTY = 400.0  # of rotation, times the bulk modulus
DEGREE = 12


def quadrature():
    """Points, weights and derivatives of Gauss, Lobatto and Legendre on [-1, 1]."""
    legendre = np.polynomial.legendre.Legendre.basis(DEGREE)
    x = np.concatenate([[-1], np.sort(legendre.deriv().roots().real), [1]])
    values = legendre(x)
    with np.errstate(divide="ignore"):
        slopes = values[:, None] / values / (x[:, None] - x)
    np.fill_diagonal(slopes, 0)
    slopes[0, 0], slopes[-1, -1] = -DEGREE * (DEGREE + 1) / 4, DEGREE * (DEGREE + 1) / 4
    return 2 / (DEGREE * (DEGREE + 1) * values**2), slopes


def exact(rock, k):
    """Angular frequencies of ux ~ sin kx, uz ~ cos kx, rising."""
    floor, below, above = (SOLID + 0.5) * SPACING, 10, 4
    edges = np.concatenate([np.linspace(0, floor, below + 1), np.linspace(floor, CELLS * SPACING, above + 1)[1:]])
    weights, slopes = quadrature()
    nodes = np.arange(DEGREE + 1)
    heights = (below + above) * DEGREE + 1
    count = 2 * heights + 1
    stiffness, mass = np.zeros((count, count)), np.zeros(count)
    for n, (low, high) in enumerate(zip(edges[:-1], edges[1:])):
        vp, vs, rho = rock if n < below else WATER
        mu, uz, ux = rho * vs**2, n * DEGREE + nodes, heights + n * DEGREE + nodes + (n >= below)
        lam, jacobian = rho * vp**2 - 2 * mu, (high - low) / 2
        exx, ezz, rate, curl = np.zeros((4, DEGREE + 1, count))
        exx[:, ux], ezz[:, uz] = k * np.eye(DEGREE + 1), slopes / jacobian
        rate[:, ux], rate[:, uz] = slopes / jacobian, -k * np.eye(DEGREE + 1)
        curl[:, ux], curl[:, uz] = slopes / jacobian, k * np.eye(DEGREE + 1)
        w = (weights * jacobian)[:, None]
        both = exx.T @ (w * ezz)
        stiffness += (lam + 2 * mu) * (exx.T @ (w * exx) + ezz.T @ (w * ezz)) + lam * (both + both.T) + mu * rate.T @ (w * rate)
        stiffness += PENALTY * lam * (n >= below) * curl.T @ (w * curl)
        mass[uz] += rho * w[:, 0]
        mass[ux] += rho * w[:, 0]
    root = 1 / np.sqrt(mass)
    return np.sqrt(np.maximum(np.linalg.eigvalsh(root[:, None] * stiffness * root), 0))


class Column:
    """The scheme along z: upward differences half -> integer, times the norms, both ends closed."""

    def __init__(self, order):
        self.order, weights = order, tuple(taylor(order))
        plain, self.half, self.integer = operators(order, CELLS)
        rows = order if order > 2 else 1
        plain[-rows:, -rows:] = -plain[:rows, :rows][::-1, ::-1]
        self.half[-rows:], self.integer[-rows:] = self.half[:rows][::-1], self.integer[:rows][::-1]
        self.plain = -plain.T
        self.normal, self.tangential = (self.plain + self.beside(contact.Line(weights, order // 2, normal)) for normal in (True, False))

    def beside(self, line):
        """What differences have more that end at the floor."""
        floor, out = np.arange(CELLS + 1) == SOLID, np.zeros_like(self.plain)
        for n, code in enumerate(line.codes(floor, (floor, np.zeros_like(floor)))):
            if code:
                out[n, n - line.size : n + line.size] = line.row(code)
        return out

    def with_block(self, table):
        """Differences of tangential traction with another table in place of the module's."""
        kept, contact.BLOCKS[self.order] = contact.BLOCKS[self.order], table
        try:
            return Column(self.order).tangential
        finally:
            contact.BLOCKS[self.order] = kept

    def frequencies(self, rock, k, tangential):
        """Angular frequencies of the scheme, rising."""
        solid = np.arange(CELLS + 1) <= SOLID
        vp, vs, rho = (np.where(solid, a, b) for a, b in zip(rock, WATER))
        mu = rho * vs**2
        lam, stiff = rho * vp**2 - 2 * mu, rho * vp**2
        across = np.where(solid[1:] & solid[:-1], mu[0], 0.0)
        count = 2 * CELLS + 1
        exx, ezz, rate = np.zeros((CELLS + 1, count)), np.zeros((CELLS + 1, count)), np.zeros((CELLS, count))
        exx[:, : CELLS + 1] = k * np.eye(CELLS + 1)
        ezz[:, CELLS + 1 :] = self.normal / self.integer[:, None] / SPACING
        rate[:, : CELLS + 1], rate[:, CELLS + 1 :] = -tangential.T / self.half[:, None] / SPACING, -k * np.eye(CELLS)
        c11, c13, c33 = stiff.copy(), lam.copy(), stiff.copy()
        for end in (0, CELLS):  # plane stress
            c11[end], c13[end], c33[end] = 4 * mu[end] * (lam[end] + mu[end]) / stiff[end], 0, 0
        weigh = [(self.integer * c)[:, None] for c in (c11, c13, c33)]
        both = exx.T @ (weigh[1] * ezz)
        stiffness = exx.T @ (weigh[0] * exx) + ezz.T @ (weigh[2] * ezz) + both + both.T
        stiffness += rate.T @ ((self.half * across)[:, None] * rate)
        root = 1 / np.sqrt(np.concatenate([rho * self.integer, (rho[1:] + rho[:-1]) / 2 * self.half]))
        return np.sqrt(np.maximum(np.linalg.eigvalsh(root[:, None] * stiffness * root), 0))

    def errors(self, tangential, wanted):
        """Relative errors of modes by rock."""
        out = {}
        for (rock, k), modes in wanted.items():
            found = self.frequencies(rock, k, tangential)
            found = found[found > 0.02]
            out.setdefault(rock, []).extend(min(found / mode - 1, key=abs) for mode in modes)
        return {rock: np.array(some) for rock, some in out.items()}

    def excess(self, tangential):
        """By how much the spectral radius in the solid exceeds the plain one, relatively."""
        part = tangential[: SOLID + 1] / np.sqrt(self.integer[: SOLID + 1, None]) / np.sqrt(self.half)
        part[:, SOLID] = 0  # no traction on the contact
        return np.linalg.norm(part, 2) / (2 * np.abs(taylor(self.order)).sum()) - 1


def reference(points):
    """Exact modes of all rocks at wavelengths of the slowest wave down to some numbers of points."""
    wanted = {}
    for rock in ROCKS:
        slow = min(WATER[0], rock[1])
        for most in points:
            highest = 2 * np.pi * slow / SPACING / most
            for part in (0.2, 0.5, 0.8, 0.99):
                k = part * highest / slow
                modes = exact(rock, k)
                wanted[rock, k] = modes[(modes > 0.8 * k * slow) & (modes < highest)]
    return wanted


def report(name, column, tangential):
    """One line: rms and largest error of modes by rock, 15 points per wavelength."""
    found = column.errors(tangential, reference((15,)))
    words = "; ".join(f"vs {rock[1]:g}: {np.sqrt((e**2).mean()):.1e} {np.abs(e).max():.1e}" for rock, e in found.items())
    print(f"order {column.order}, {name}: {words}; radius {column.excess(tangential):+.4f}", flush=True)


def fit(column):
    """The table that is best of those near the module's; its last row makes constants exact."""
    start, wanted = np.array(contact.BLOCKS[column.order]), reference((8, 15))

    def table(free):
        return tuple(map(tuple, np.vstack([free.reshape(-1, start.shape[1]), start[-1:]])))

    def cost(free):
        tangential = column.with_block(table(free))
        found = column.errors(tangential, wanted).values()
        return sum(0.5 * np.log((e**2).mean()) for e in found) + 1e3 * max(0, column.excess(tangential) - 5e-4)

    best = minimize(cost, start[:-1].ravel(), method="Powell", options={"maxiter": 6, "ftol": 1e-3})
    return table(best.x)


def main():
    """Report, or fit and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=int, choices=sorted(contact.BLOCKS))
    order = parser.parse_args().fit
    for each in [order] if order else (4, 6, 8):
        column = Column(each)
        report("module", column, column.tangential)
        if order:
            found = fit(column)
            report("fitted", column, column.with_block(found))
            print(np.round(found, 4).tolist())


if __name__ == "__main__":
    main()
