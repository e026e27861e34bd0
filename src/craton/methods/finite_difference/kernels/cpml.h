// Unsplit convolutional PML (Komatitsch & Martin 2007, eqs 20-25) along one axis A, on top of the plain step:
//   d/da  ->  1/kappa d/da + psi,   psi <- b psi + a d/da,      a, b and 1/kappa - 1 are profiles along A
// The plain step has added the plain derivative; here the difference is added, in the layer only.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         psi[.][slab], the slab x fastest, one for each of va vb vc that is there; profile[2][3][n]: at integer and at half points;
//         a, b, 1/kappa - 1
// PLANE, PSV, SH as in elastic.h: the components along x and z are there where PSV, those along y where SH
// ACOUSTIC = 1: saa is s of acoustic.h; va, psi and it are all that is there besides the material
#include "differences.h"
#include "moduli.h"
#include "relax.h"

// Components along B and C that differ from those along A, and shear stresses with A: there are none in acoustic waves.
#define SHEARED_B (ON_B && !ACOUSTIC)
#define SHEARED_C (ON_C && !ACOUSTIC)

#define CPML_POINT                                                                                                  \
    POINT;                                                                                                          \
    [[maybe_unused]] const ptrdiff_t A = AXIS == 0 ? X : AXIS == 1 ? Y : Z;                                         \
    [[maybe_unused]] const ptrdiff_t MA = AXIS == 0 ? X : AXIS == 1 ? MY : MZ, MB = AXIS == 0 ? MY : AXIS == 1 ? MZ : X, MC = AXIS == 0 ? MZ : AXIS == 1 ? X : MY; \
    const ptrdiff_t at_a = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0), slab = (ptrdiff_t)p.nk * p.nj * p.ni; \
    [[maybe_unused]] const ptrdiff_t at_b = at_a + ON_A * slab, at_c = at_b + ON_B * slab;                          \
    const int n = AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0, N = AXIS == 0 ? p.ni : AXIS == 1 ? p.nj : p.nk; \
    [[maybe_unused]] const real *at = profile + n, *half = profile + 3 * N + n

// What the layer adds to the derivative d, its memory variable advanced.
INLINE real stretched(real* psi, const real* profile, const int N, const real d)
{
    *psi = profile[N] * *psi + profile[0] * d;
    return profile[2 * N] * d + *psi;
}

KERNEL cpml_velocity(
    real* RESTRICT va, real* RESTRICT vb, real* RESTRICT vc, real* RESTRICT psi,
    const real* RESTRICT saa, const real* RESTRICT sab, const real* RESTRICT sca,
    const real* RESTRICT rho, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        if constexpr (ON_A) va[q] += p.dt_h * buoyancy(rho + m, MA) * stretched(psi + at_a, half, N, fwd(saa + q, A));
        if constexpr (SHEARED_B) vb[q] += p.dt_h * buoyancy(rho + m, MB) * stretched(psi + at_b, at, N, bwd(sab + q, A));
        if constexpr (SHEARED_C) vc[q] += p.dt_h * buoyancy(rho + m, MC) * stretched(psi + at_c, at, N, bwd(sca + q, A));
    }
}

constexpr int AA = AXIS == 0 ? XX : AXIS == 1 ? YY : ZZ, AB = AXIS == 0 ? XY : AXIS == 1 ? YZ : XZ, CA = AXIS == 0 ? XZ : AXIS == 1 ? XY : YZ;
#if ATTENUATION
#define REMAINING(C, E, S, T) remaining<pattern(C)>(memory + slot(0, C) * p.field + q, p.field, E, shear_loss(qs + m, S, T), row, i)

// The step is linear in the strain rate: what a layer adds to it, e, goes the same way. Variables that did not see it would leave stress
// rates in the layer that grow beyond the stretched elastic ones: unstable. The plain step has come before and advanced them.
template <int PATTERN> INLINE real remaining(real* xi, const ptrdiff_t field, const real e, const real s, const int row, const int i)
{
    real lost = 0;
    for (int n = 0; n < SHEAR_STORED; ++n) {
        const Mechanism one = mechanism<PATTERN>(n, row, i);
        xi[n * SHEARS * field] += (1 - one.decay) * e;
        lost += coefficient(one, s) * (1 - one.held) * e;
    }
    return e - lost;
}

// The same of the normal stresses along the axis and across it; at a free surface with the vertical strain rate that keeps szz zero.
struct Added { real along, across; };
INLINE Added added_normal(real* xi, const ptrdiff_t field, const real e, const bool free, const real lam, const real mu2,
                          const real qp, const real qs, const int row, const int i)
{
    real l = free ? from_plane_stress(lam, mu2) : lam, m2 = mu2;
    const real stiff = l + mu2;
    for (int n = 0; n < NORMAL_STORED; ++n) {
        const Mechanism one = mechanism<0>(n, row, i);
        const real lost2 = mu2 * coefficient(one, qs);
        l -= (1 - one.held) * (stiff * coefficient(one, qp) - lost2);
        m2 -= (1 - one.held) * lost2;
        xi[(n * NORMALS + AA) * field] += (1 - one.decay) * e;
    }
    if (!free) return {(l + m2) * e, l * e};
    const real ezz = l + m2 > 0 ? -l * e / (l + m2) : real(0);
    for (int n = 0; n < NORMAL_STORED; ++n) xi[(n * NORMALS + ZZ) * field] += (1 - mechanism<0>(n, row, i).decay) * ezz;
    return {(l + m2) * e + l * ezz, l * (e + ezz)};
}
#else
#define REMAINING(C, E, S, T) (E)
#endif

KERNEL cpml_stress(
    real* RESTRICT saa, real* RESTRICT sbb, real* RESTRICT scc, real* RESTRICT sab, real* RESTRICT sca, real* RESTRICT psi,
    real* RESTRICT memory, const real* RESTRICT va, const real* RESTRICT vb, const real* RESTRICT vc,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT profile,
    const real* RESTRICT qp, const real* RESTRICT qs, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        [[maybe_unused]] const int row = row_class(j, k);
        if constexpr (ON_A) {
#if ATTENUATION
            const real e = stretched(psi + at_a, at, N, bwd(va + q, A)), mu2 = 2 / rmu[m];
            const bool free = FREE && k == p.top;
            const Added s = added_normal(memory + q, p.field, e, free, lam[m], mu2, qp[m], qs[m], row, i);
            saa[q] += p.dt_h * s.along;
            if constexpr (ON_B) sbb[q] += AXIS == 1 && free ? real(0) : p.dt_h * s.across;
            if constexpr (ON_C) scc[q] += AXIS == 0 && free ? real(0) : p.dt_h * s.across;
#else
            const real e = p.dt_h * stretched(psi + at_a, at, N, bwd(va + q, A)), t = lam[m] * e;
            saa[q] += ACOUSTIC ? t : t + 2 / rmu[m] * e;
            if constexpr (SHEARED_B) sbb[q] += t;
            if constexpr (SHEARED_C) scc[q] += t;
#endif
        }
        if constexpr (SHEARED_B) sab[q] += p.dt_h * shear_modulus(rmu + m, MA, MB) * REMAINING(AB, stretched(psi + at_b, half, N, fwd(vb + q, A)), MA, MB);
        if constexpr (SHEARED_C) sca[q] += p.dt_h * shear_modulus(rmu + m, MA, MC) * REMAINING(CA, stretched(psi + at_c, half, N, fwd(vc + q, A)), MA, MC);
    }
}

// The same for what horizontal interfaces add to the stress step (laminate.h), in a layer along x or y: H is the other horizontal axis,
// psi is that of cpml_stress, already advanced.
KERNEL cpml_laminate(
    real* RESTRICT saa, real* RESTRICT shh, real* RESTRICT szz, real* RESTRICT sxy,
    const real* RESTRICT va, const real* RESTRICT vh, const real* RESTRICT psi, const real* RESTRICT profile,
    const real* RESTRICT planes, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        const real *dc = planes + 4 * k, d11 = dc[0], d13 = dc[1], d66 = dc[3];
        if constexpr (PSV) {
            const real e = p.dt_h * (at[2 * N] * bwd(va + q, A) + psi[at_a]);
            saa[q] += d11 * e;
            if constexpr (!PLANE) shh[q] += (d11 - 2 * d66) * e;
            szz[q] += d13 * e;
        }
        if constexpr (SH) sxy[q] += p.dt_h * d66 * (half[2 * N] * fwd(vh + q, A) + psi[AXIS == 0 ? at_b : at_c]);
    }
}

// The same for what anisotropy adds (vti.h), in a layer along any axis; along z, saa and shh are sxx and syy.
KERNEL cpml_vti(
    real* RESTRICT saa, real* RESTRICT shh, real* RESTRICT szz, real* RESTRICT sxy,
    const real* RESTRICT va, const real* RESTRICT vh, const real* RESTRICT psi, const real* RESTRICT profile,
    const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        if constexpr (PSV) {
            const real e = p.dt_h * (at[2 * N] * bwd(va + q, A) + psi[at_a]), along = AXIS == 2 ? d13[m] : d11[m];
            const real across = AXIS == 2 || PLANE ? real(0) : 2 / r66[m] - 2 / rmu[m];
            saa[q] += along * e;
            if constexpr (!PLANE) shh[q] += (along - across) * e;
            if constexpr (AXIS < 2) szz[q] += d13[m] * e;
        }
        if constexpr (SH && AXIS < 2) {
            const real dmu = shear_modulus(r66 + m, X, MY) - shear_modulus(rmu + m, X, MY);
            sxy[q] += p.dt_h * dmu * (half[2 * N] * fwd(vh + q, A) + psi[AXIS == 0 ? at_b : at_c]);
        }
    }
}
