// Gradients in cells that a horizontal interface cuts (laminate.h): stresses follow from C + D, C the isotropic stiffness of the cell and D what thin
// layers add, which is held. By C a gradient is that of e^ = (C + D)^-1 s^ and e = (C + D)^-1 ds, so that the sums for isotropic cells
// (increments.h, backward.h) are right with
//   T s = C (C + D)^-1 s = s - D e
// in place of the adjoint stress s^ and of the increment ds. Of sxy, C is the harmonic mean of mu and D is d66.
//   laminate_increment   store[slot] = T store[slot]
//   laminate_correlate   sums += (T s^ - s^) store[slot], on top of `correlate`
//   backward_laminate    what backward_stress lacks: s^ += D dt e^,  sums += (T s^) C dt e - (what it has added),  s -= D dt e in the inner box
// layout  fields, planes: laminate.h; store, steps that it holds: increments.h; two fields, sums a field apart, inner box: backward.h
// where   as in elastic.h; reach R in backward_laminate, else 0
#include "sums.h"
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

constexpr int FIELDS = VELOCITIES + NORMAL_STRESSES + SHEAR_STRESSES, FIRST_NORMAL = VELOCITIES, FIRST_SHEAR = VELOCITIES + NORMAL_STRESSES;

// Strains e of normal stresses s = (C + D) e: along x and y by their sum and difference.
ALWAYS_INLINE Normal strain(const Lame c, const Excess d, const Normal s)
{
    constexpr int N = PLANE ? 1 : 2;
    const real flat = s.xx + s.yy, across = c.mu2 + d.across;
    const real a = N * (c.lam + d.d11) + c.mu2 - (PLANE ? real(0) : d.across), b = c.lam + d.d13, c33 = c.lam + c.mu2 + d.d33;
    const real det = a * c33 - N * b * b, sum = (c33 * flat - N * b * s.zz) / det, ezz = (a * s.zz - b * flat) / det;
    if constexpr (PLANE) return {sum, 0, ezz};
    const real difference = (s.xx - s.yy) / across;
    return {(sum + difference) / 2, (sum - difference) / 2, ezz};
}

// Of the plane: syy is not computed.
ALWAYS_INLINE Normal computed(const Normal s) { return {s.xx, PLANE ? real(0) : s.yy, s.zz}; }
ALWAYS_INLINE Normal times(const real f, const Normal s) { return {f * s.xx, f * s.yy, f * s.zz}; }

// T s
ALWAYS_INLINE Normal isotropic_part(const Lame c, const Excess d, const Normal s) { return computed(isotropic(c, strain(c, d, s))); }

// Of sxy, T; c is the harmonic mean of mu.
ALWAYS_INLINE real isotropic_share(const real c, const real* d) { return c / (c + excess_xy(d)); }

#define CUT_POINT                                                                                                   \
    POINT;                                                                                                          \
    const ptrdiff_t at = ((ptrdiff_t)k * p.nj + j) * p.ni + i

// The part of the store that belongs to a step; null where it is not stored.
template <typename Real, typename Params> INLINE Real* stored(Real* store, const int* step, const Params p)
{
    const int n = TRANSPOSED ? p.last - step[0] : step[0];
    return n % p.every ? nullptr : store + (ptrdiff_t)(n / p.every % p.slots) * FIELDS * p.points;
}

KERNEL laminate_increment(real* RESTRICT store, const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT planes,
                          const int* RESTRICT step, const Box box, const CutParams p)
{
    real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        CUT_POINT;
        if constexpr (PSV) {
            real *const xx = here + FIRST_NORMAL * p.points + at, *const yy = xx + p.points, *const zz = xx + (NORMAL_STRESSES - 1) * p.points;
            const Normal s = isotropic_part({lam[m], 2 / rmu[m]}, excess(planes + 4 * k), {*xx, PLANE ? real(0) : *yy, *zz});
            *xx = s.xx;
            if constexpr (!PLANE) *yy = s.yy;
            *zz = s.zz;
        }
        if constexpr (SH) here[FIRST_SHEAR * p.points + at] *= isotropic_share(shear_modulus(rmu + m, X, MY), planes + 4 * k);
    }
}

KERNEL laminate_correlate(real* RESTRICT sums, const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz, const real* RESTRICT sxy,
                          const real* RESTRICT store, const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT planes,
                          const int* RESTRICT step, const Box box, const CutParams p)
{
    const real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        CUT_POINT;
        if constexpr (PSV) {
            const real *const xx = here + FIRST_NORMAL * p.points + at, *const yy = xx + p.points, *const zz = xx + (NORMAL_STRESSES - 1) * p.points;
            const Normal s = {sxx[q], PLANE ? real(0) : syy[q], szz[q]};
            const Normal less = isotropic_part({lam[m], 2 / rmu[m]}, excess(planes + 4 * k), s) - s;
            sum_normal(sums + SUM_DEVIATORIC * p.points + at, sums + SUM_TRACE * p.points + at, less, {*xx, PLANE ? real(0) : *yy, *zz}, false);
        }
        if constexpr (SH)
            sums[SUM_XY * p.points + at] += (isotropic_share(shear_modulus(rmu + m, X, MY), planes + 4 * k) - 1) * sxy[q] * here[FIRST_SHEAR * p.points + at];
    }
}

KERNEL backward_laminate(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy,
    real* RESTRICT txx, real* RESTRICT tyy, real* RESTRICT tzz, real* RESTRICT txy, real* RESTRICT sums,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT ux, const real* RESTRICT uy, const real* RESTRICT uz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT planes, const int* RESTRICT step, const Box box, const BackParams p)
{
    const bool summed = (p.last - step[0]) % p.every == 0;
    FOR_EACH_POINT(box)
    {
        POINT;
        const bool inside = INSIDE;
        if constexpr (PSV) {
            const Lame c = {lam[m], 2 / rmu[m]};
            const Excess d = excess(planes + 4 * k);
            const Normal before = {sxx[q], PLANE ? real(0) : syy[q], szz[q]};
            const Normal s = before + times(p.dt_h, computed(transverse(d, {bwd(vx + q, X), bwd_y(vy + q, Y), bwd_z(vz + q, Z, p.top - k)})));
            sxx[q] = s.xx;
            if constexpr (!PLANE) syy[q] = s.yy;
            szz[q] = s.zz;
            if (inside) {
                const Normal e = times(p.dt_h, {bwd(ux + q, X), bwd_y(uy + q, Y), bwd_z(uz + q, Z, p.top - k)});
                const Normal taken = transverse(d, e);
                if (summed)
                    sum_normal(sums + SUM_DEVIATORIC * p.field + q, sums + SUM_TRACE * p.field + q, isotropic_part(c, d, s) - before,
                               computed(isotropic(c, e)), false);
                txx[q] -= taken.xx;
                if constexpr (!PLANE) tyy[q] -= taken.yy;
                tzz[q] -= taken.zz;
            }
        }
        if constexpr (SH) {
            const real c = shear_modulus(rmu + m, X, MY), d = p.dt_h * excess_xy(planes + 4 * k), before = sxy[q];
            const real s = before + d * (fwd_y(vx + q, Y) + fwd(vy + q, X)), e = fwd_y(ux + q, Y) + fwd(uy + q, X);
            sxy[q] = s;
            if (inside) {
                if (summed) sums[SUM_XY * p.field + q] += (isotropic_share(c, planes + 4 * k) * s - before) * p.dt_h * c * e;
                txy[q] -= d * e;
            }
        }
    }
}
