"""The traction-free closures: summation by parts, accuracy, spectral radius, standing waves, energy, reciprocity, Rayleigh's speed."""

from math import factorial, pi, sqrt

import numpy as np
import pytest

from craton.methods.finite_difference.closure import closure, operators, taylor

ORDERS = (2, 4, 6, 8)
RAYLEIGH_PER_VS = 0.9194016867619662  # Vp / Vs = sqrt 3: sqrt(2 - 2 / sqrt 3)


@pytest.mark.parametrize("order", ORDERS)
def test_interior_stencil_is_exact_to_its_order(order):
    c, x = taylor(order), np.arange(order // 2) + 0.5
    moments = [2 * np.sum(c * x**n) for n in range(1, order, 2)]
    assert np.allclose(moments, np.eye(order // 2)[0], atol=1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_rows_hold_the_stencil_reach_and_the_adjoint(order):
    c = closure(order)
    b, hm, hp = operators(order, 40)
    d1, d2 = b / hm[:, None], -b.T / hp[:, None]
    plain = np.concatenate([-taylor(order)[::-1], taylor(order)])
    m = order // 2
    for row in range(c.rows, 30):
        assert np.array_equal(d1[row, row + 1 - m : row + 1 + m], plain) and np.count_nonzero(d1[row]) == order
        assert np.array_equal(d2[row, row - m : row + m], plain) and np.count_nonzero(d2[row]) == order
    assert np.array_equal(c.d1, d1[: c.rows, : c.cols]) and np.array_equal(c.d2, d2[: c.rows, : c.cols])
    assert not d1[: c.rows, c.cols :].any() and not d2[: c.rows, c.cols :].any()
    assert np.allclose(
        c.hp[:, None] * c.d2[:, : c.rows], -(c.hm[:, None] * c.d1[:, : c.rows]).T, rtol=1e-15, atol=1e-16
    )


@pytest.mark.parametrize("order", ORDERS)
def test_boundary_rows_are_exact_for_polynomials(order):
    c = closure(order)
    x, half = np.arange(c.cols), np.arange(c.cols) + 0.5
    for n in range(2 if order == 2 else 3):
        slope_half, slope = (n * p[: c.rows].astype(float) ** max(n - 1, 0) for p in (half, x))
        assert np.allclose(c.d1 @ x**n, slope_half, atol=1e-12)
        got = c.d2 @ half**n - (n == 0) * np.eye(c.rows)[0] / c.hp  # the weak condition pulls towards zero traction
        assert np.allclose(got, slope, atol=1e-12)
        surface = c.surface @ half[: c.rows] ** n - (n == 1) * c.hp[0]
        assert surface == pytest.approx(float(n == 0), abs=1e-12)


def test_norms_are_positive_and_order_two_is_stress_imaging():
    assert all(min(closure(o).hp.min(), closure(o).hm.min()) > 0.25 for o in ORDERS)
    c = closure(2)
    assert (
        c.hp.tolist() == [0.5]
        and c.hm.tolist() == [1.0]
        and c.d1.tolist() == [[-1.0, 1.0]]
        and c.d2.tolist() == [[2.0, 0.0]]
    )
    with pytest.raises(ValueError, match="2, 4, 6, 8"):
        closure(3)


@pytest.mark.parametrize("order", ORDERS)
def test_time_step_is_not_reduced(order):
    b, hm, hp = operators(order, 120)
    scaled = b / np.sqrt(hm)[:, None] / np.sqrt(hp)
    radius, interior = closure(order).spectral_radius, 2 * np.abs(taylor(order)).sum()
    assert interior <= radius < 1.0005 * interior
    assert np.linalg.norm(scaled, 2) <= radius * (1 + 1e-12) and np.linalg.norm(scaled[:, 1:], 2) <= radius * (
        1 + 1e-12
    )


def bar(order, cells):
    """Frequencies of a bar with two surfaces, for (vx, sxz) and (szz, vz), rising, without the rigid motion."""
    b, hm, hp = operators(order, cells)
    rows = closure(order).rows
    b[-rows:, -rows:] = -b[rows - 1 :: -1, rows - 1 :: -1]
    hm[-rows:], hp[-rows:] = hm[rows - 1 :: -1], hp[rows - 1 :: -1]
    scaled = b / np.sqrt(hm)[:, None] / np.sqrt(hp)
    return [np.sort(np.linalg.svd(s, compute_uv=False))[: cells - 1] for s in (scaled, scaled[:, 1:-1])]


@pytest.mark.parametrize("order, limit", [(2, 2e-2), (4, 1.5e-3), (6, 5e-4), (8, 3e-4)])
def test_standing_waves_at_ten_points_per_wavelength(order, limit):
    for found in bar(order, 60):
        exact = np.arange(1, 60) * pi / 60
        assert np.abs(found / exact - 1)[:12].max() < limit


def test_standing_waves_converge_at_third_order_with_order_four():
    errors = [
        max(np.abs(f[: n // 10] / (np.arange(1, n // 10 + 1) * pi / n) - 1).max() for f in bar(4, n)) for n in (40, 80)
    ]
    fixed = [max(abs(f[3] / (4 * pi / n) - 1) for f in bar(4, n)) for n in (40, 80)]
    assert errors[1] < errors[0] and fixed[1] < fixed[0] / 6


def rayleigh_speed(order, per_wavelength, ratio=3**0.5):
    """Discrete Rayleigh speed over Vs at `per_wavelength` points per S wavelength, only the vertical being discretised."""
    k, lam, cells = (2 * pi / per_wavelength / RAYLEIGH_PER_VS, ratio**2 - 2, int(3 * per_wavelength) + 8)
    b, hm, hp = operators(order, cells)
    n = cells + 1
    exx, ezz = np.eye(n, n + cells) * -k, np.hstack([np.zeros((n, n)), -b.T / hp[:, None]])
    ezz[0] = -lam / (lam + 2) * exx[0]
    shear = np.hstack([b / hm[:, None], k * np.eye(cells)])
    matrix = exx.T @ (hp[:, None] * ((lam + 2) * exx + lam * ezz)) + ezz.T @ (
        hp[:, None] * (lam * exx + (lam + 2) * ezz)
    )
    root = np.sqrt(np.concatenate([hp, hm]))
    matrix = (matrix + shear.T @ (hm[:, None] * shear)) / root[:, None] / root
    return sqrt(np.linalg.eigvalsh(matrix)[0]) / k


@pytest.mark.parametrize("order, limit", [(2, 1.1e-2), (4, 8e-4), (6, 4e-4), (8, 5e-4)])
def test_rayleigh_speed_at_ten_points_per_wavelength(order, limit):
    assert abs(rayleigh_speed(order, 10) / RAYLEIGH_PER_VS - 1) < limit
    assert abs(rayleigh_speed(order, 20) / RAYLEIGH_PER_VS - 1) < limit / 3


class Slice:
    """2-D P-SV in a random medium: surface at row 0, periodic along x, the grid's end at the bottom; unit spacing; symplectic leapfrog."""

    def __init__(self, order, nz=40, nx=24, dt=0.12):
        rng = np.random.default_rng(7)
        b, self.hm, self.hp = (a if a.ndim == 2 else a[:, None] for a in operators(order, nz - 1))
        self.d1, self.d2, self.c, self.dt = b / self.hm, -b.T / self.hp, taylor(order), dt
        rho, mu = (rng.uniform(1, 3, (nz, nx)) for _ in range(2))
        self.lam, self.modulus, self.mu = (lam := rng.uniform(0, 4, (nz, nx))), lam + 2 * mu, mu
        self.rho_x, self.rho_z = (rho + np.roll(rho, -1, 1)) / 2, (rho[1:] + rho[:-1]) / 2
        inverse = 1 / mu + np.roll(1 / mu, -1, 1)
        self.mu_xz = 4 / (inverse[1:] + inverse[:-1])
        self.vx, self.sxx, self.szz = (np.zeros((nz, nx)) for _ in range(3))
        self.vz, self.sxz = (np.zeros((nz - 1, nx)) for _ in range(2))

    def ahead(self, f):
        return sum(c * (np.roll(f, -k, 1) - np.roll(f, k - 1, 1)) for k, c in enumerate(self.c, 1))

    def behind(self, f):
        return np.roll(self.ahead(f), 1, 1)

    def step(self, traction=0.0, at=0):
        """One step with a force of `traction` along depth on the surface."""
        ratio = self.lam[0] / self.modulus[0]
        szz, sxx = self.szz.copy(), self.sxx.copy()
        szz[0, at] -= traction
        sxx[0, at] -= ratio[at] * traction
        self.vx += self.dt * (self.ahead(sxx) + self.d2 @ self.sxz) / self.rho_x
        self.vz += self.dt * (self.behind(self.sxz) + self.d1 @ szz) / self.rho_z
        exx, ezz = self.behind(self.vx), self.d2 @ self.vz
        ezz[0] = -ratio * exx[0]
        self.sxx += self.dt * (self.modulus * exx + self.lam * ezz)
        self.szz += self.dt * (self.lam * exx + self.modulus * ezz)
        self.szz[0] = 0
        self.sxz += self.dt * self.mu_xz * (self.d1 @ self.vx + self.ahead(self.vz))

    def surface_vz(self, order, at):
        c = closure(order)
        return (
            c.surface @ self.vz[: c.rows, at]
            + c.hp[0] * self.lam[0, at] / self.modulus[0, at] * self.behind(self.vx)[0, at]
        )

    def energy(self):
        """Strain energy of the stresses plus kinetic energy from velocities half a step before and after: conserved by leapfrog."""
        vx = self.vx + self.dt * (self.ahead(self.sxx) + self.d2 @ self.sxz) / self.rho_x
        vz = self.vz + self.dt * (self.behind(self.sxz) + self.d1 @ self.szz) / self.rho_z
        kinetic = (self.hp * self.rho_x * self.vx * vx).sum() + (self.hm * self.rho_z * self.vz * vz).sum()
        normal = self.modulus * (self.sxx**2 + self.szz**2) - 2 * self.lam * self.sxx * self.szz
        strain = (self.hp * normal / (4 * self.mu * (self.lam + self.mu))).sum() + (
            self.hm * self.sxz**2 / self.mu_xz
        ).sum()
        return (kinetic + strain) / 2


@pytest.mark.parametrize("order", ORDERS)
def test_energy_is_conserved_in_a_random_medium(order):
    slab, rng = Slice(order), np.random.default_rng(1)
    slab.vx[:8], slab.vz[:8] = (rng.normal(size=slab.vx[:8].shape), rng.normal(size=slab.vz[:8].shape))
    values = []
    slab.step()
    for _ in range(300):
        values.append(slab.energy())
        slab.step()
    assert values[0] > 0 and np.ptp(values) < 1e-11 * values[0]


@pytest.mark.parametrize("order", ORDERS)
def test_surface_forces_and_receivers_are_reciprocal(order):
    traces = []
    for source, receiver in ((4, 15), (15, 4)):
        slab = Slice(order)
        traces.append([])
        for n in range(300):
            slab.step(np.exp(-(((n - 60) / 20) ** 2)), source)
            traces[-1].append(slab.surface_vz(order, receiver))
    assert np.abs(traces[0]).max() > 1e-3
    assert np.abs(np.subtract(*traces)).max() < 1e-11 * np.abs(traces[0]).max()


@pytest.mark.parametrize("order", (4, 6, 8))
def test_truncation_at_the_boundary_is_bounded(order):
    c = closure(order)
    x, half = np.arange(c.cols), np.arange(c.cols) + 0.5
    for points, at, d in ((x, half, c.d1), (half, x, c.d2)):
        residual = d @ points**3.0 - 3 * at[: c.rows] ** 2
        assert np.abs(residual).max() / factorial(3) < 0.6
