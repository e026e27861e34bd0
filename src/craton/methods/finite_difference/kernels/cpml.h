// Unsplit convolutional PML (Komatitsch & Martin 2007, eqs 20-25) along one axis A, on top of the plain step:
//   d/da  ->  1/kappa d/da + psi,   psi <- b psi + a d/da,      a, b and 1/kappa - 1 are profiles along A
// The plain step has added the plain derivative; here the difference is added, in the layer only.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         psi[.][slab], the slab x fastest, one for each of va vb vc that is there; profile[2][3][n]: at integer and at half points;
//         a, b, 1/kappa - 1
// PLANE, PSV, SH as in elastic.h: the components along x and z are there where PSV, those along y where SH
// ACOUSTIC = 1: saa is s of acoustic.h; va, psi and it are all that is there besides the material
#include "differences.h"
#include "law.h"
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

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
    if constexpr (TRANSPOSED) return d;  // of q, see below
    *psi = profile[N] * *psi + profile[0] * d;
    return profile[2 * N] * d + *psi;
}

#define LAYER_PAIR(k, weight) if constexpr (R >= k) d += real(weight) * (value(k) - value(1 - k))

// Differences along A as fwd and bwd, of q only in the layer, N points from n = 0 on: beyond it other values lie in its memory.
template <class Values> INLINE real fwd_q(const Values a, const ptrdiff_t S, [[maybe_unused]] const int n, [[maybe_unused]] const int N)
{
    if constexpr (!TRANSPOSED) return fwd(a, S);
    const auto value = [&](const int o) { return n + o >= 0 && n + o < N ? a[o * S] : real(0); };
    real d = real(C1) * (value(1) - value(0));
    LAYER_PAIR(2, C2); LAYER_PAIR(3, C3); LAYER_PAIR(4, C4); LAYER_PAIR(5, C5); LAYER_PAIR(6, C6); LAYER_PAIR(7, C7); LAYER_PAIR(8, C8);
    return d;
}

template <class Values> INLINE real bwd_q(const Values a, const ptrdiff_t S, const int n, const int N) { return fwd_q(a - S, S, n - 1, N); }

KERNEL cpml_velocity(
    field_t* RESTRICT va, field_t* RESTRICT vb, field_t* RESTRICT vc, real* RESTRICT psi,
    const field_t* RESTRICT saa, const field_t* RESTRICT sab, const field_t* RESTRICT sca,
    const material_t* RESTRICT rho, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        const Material density = MATERIAL(rho);
        if constexpr (ON_A) va[q] += p.dt_h * buoyancy(density + m, MA) * stretched(psi + at_a, half, N, fwd_q(saa + q, A, n, N));
        if constexpr (SHEARED_B) vb[q] += p.dt_h * buoyancy(density + m, MB) * stretched(psi + at_b, at, N, bwd_q(sab + q, A, n, N));
        if constexpr (SHEARED_C) vc[q] += p.dt_h * buoyancy(density + m, MC) * stretched(psi + at_c, at, N, bwd_q(sca + q, A, n, N));
    }
}

constexpr int AB = AXIS == 0 ? XY : AXIS == 1 ? YZ : XZ, CA = AXIS == 0 ? XZ : AXIS == 1 ? XY : YZ;
KERNEL cpml_stress(
    field_t* RESTRICT saa, field_t* RESTRICT sbb, field_t* RESTRICT scc, field_t* RESTRICT sab, field_t* RESTRICT sca, real* RESTRICT psi,
    real* RESTRICT memory, const field_t* RESTRICT va, const field_t* RESTRICT vb, const field_t* RESTRICT vc,
    const material_t* RESTRICT lam, const material_t* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        const Medium medium = MEDIUM;
        [[maybe_unused]] const real before = ATTENUATION ? real(1) : p.dt_h, after = ATTENUATION ? p.dt_h : real(1);
        if constexpr (ON_A) {
            const bool free = FREE && k == p.top;
            const Column s = added<AXIS>(medium, before * stretched(psi + at_a, at, N, bwd_q(va + q, A, n, N)), free);
            saa[q] += after * s.a;
            if constexpr (SHEARED_B) sbb[q] += AXIS == 1 && free ? real(0) : after * s.b;
            if constexpr (SHEARED_C) scc[q] += AXIS == 0 && free ? real(0) : after * (VTI ? s.c : s.b);
        }
        if constexpr (SHEARED_B) sab[q] += shear<AB, true>(medium, p.dt_h, stretched(psi + at_b, half, N, fwd_q(vb + q, A, n, N)), MA, MB);
        if constexpr (SHEARED_C) sca[q] += shear<CA, true>(medium, p.dt_h, stretched(psi + at_c, half, N, fwd_q(vc + q, A, n, N)), MA, MC);
    }
}

// What `stretched` has returned, its memory variable advanced since.
INLINE real stretched_before(const real* psi, const real* profile, const int N, const real d)
{
    if constexpr (TRANSPOSED) return d;
    return profile[2 * N] * d + *psi;
}

// The same for what cut cells add to the stress step (laminate.h), in a layer along x or y: H is the other horizontal axis,
// psi is that of cpml_stress, already advanced.
KERNEL cpml_laminate(
    field_t* RESTRICT saa, field_t* RESTRICT shh, field_t* RESTRICT szz, field_t* RESTRICT sxy,
    const field_t* RESTRICT va, const field_t* RESTRICT vh, const real* RESTRICT psi, const real* RESTRICT profile,
    const real* RESTRICT planes, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        const real d66 = excess_xy(planes + 4 * k);
        if constexpr (PSV) {
            const Column s = transverse<AXIS>(excess(planes + 4 * k), p.dt_h * stretched_before(psi + at_a, at, N, bwd_q(va + q, A, n, N)));
            saa[q] += s.a;
            if constexpr (!PLANE) shh[q] += AXIS == 0 ? s.b : s.c;
            szz[q] += AXIS == 0 ? s.c : s.b;
        }
        if constexpr (SH) sxy[q] += p.dt_h * d66 * stretched_before(psi + (AXIS == 0 ? at_b : at_c), half, N, fwd_q(vh + q, A, n, N));
    }
}

// Transposes of what these layers do, for adjoint fields in energy units (transposed.py). The step differences, then remembers; its transpose
// remembers, then differences: of an adjoint field f and a memory variable psi,
//   t = psi + f,   psi <- b t,   q = (1/kappa - 1) f + a t
// and q is differentiated along A by the kernels above with TRANSPOSED = 1, whose slab is the layer and whose box reaches beyond it; they add
// the difference as it is. q lies where f does.
INLINE void remembered(real* q, real* psi, const real* profile, const int N, const real f)
{
    const real t = *psi + f;
    *q = profile[2 * N] * f + profile[0] * t;
    *psi = profile[N] * t;
}

KERNEL remember_velocity(
    real* RESTRICT qa, real* RESTRICT qb, real* RESTRICT qc, real* RESTRICT psi,
    const real* RESTRICT va, const real* RESTRICT vb, const real* RESTRICT vc, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        if constexpr (ON_A) remembered(qa + q, psi + at_a, half, N, va[q]);
        if constexpr (SHEARED_B) remembered(qb + q, psi + at_b, at, N, vb[q]);
        if constexpr (SHEARED_C) remembered(qc + q, psi + at_c, at, N, vc[q]);
    }
}

KERNEL remember_stress(
    real* RESTRICT qaa, real* RESTRICT qab, real* RESTRICT qca, real* RESTRICT psi,
    const real* RESTRICT saa, const real* RESTRICT sab, const real* RESTRICT sca, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        if constexpr (ON_A) remembered(qaa + q, psi + at_a, at, N, saa[q]);
        if constexpr (SHEARED_B) remembered(qab + q, psi + at_b, half, N, sab[q]);
        if constexpr (SHEARED_C) remembered(qca + q, psi + at_c, half, N, sca[q]);
    }
}
