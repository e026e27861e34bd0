// Velocities damped towards their own low-pass w in the outer part of an absorbing layer across one axis A:
//   dv/dt = .. - g (v - w),   dw/dt = alpha (v - w)
// Slow motion, a static offset above all, passes undamped. Each half is exact for the other held still.
// TRANSPOSED = 1: the transpose of the same, of adjoint velocities and what belongs to w.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         lowpass[.][slab], the slab x fastest, one for each of va vb vc that is there;
//         profile[2][2][n]: at integer and at half points along A; 1 - exp(-g dt), 1 - exp(-alpha dt)
// where   va at half points along A, vb and vc at integer points; reach 0
#include "moduli.h"
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

template <class Field> INLINE void damp_transposed(Field* v, real* lowpass, const real* profile, const int N)
{
    const real whole = *v + profile[N] * *lowpass;
    *lowpass += profile[0] * whole - profile[N] * *lowpass;
    *v = whole - profile[0] * whole;
}

template <class Field> INLINE void damp(Field* v, real* lowpass, const real* profile, const int N)
{
    if constexpr (TRANSPOSED) return damp_transposed(v, lowpass, profile, N);
    const real damped = *v - profile[0] * (*v - *lowpass);
    *v = damped;
    *lowpass += profile[N] * (damped - *lowpass);
}

KERNEL damping(
    field_t* RESTRICT va, field_t* RESTRICT vb, field_t* RESTRICT vc, real* RESTRICT lowpass,
    const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const ptrdiff_t slab = (ptrdiff_t)p.nk * p.nj * p.ni, at_a = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0);
        [[maybe_unused]] const ptrdiff_t at_b = at_a + ON_A * slab, at_c = at_b + ON_B * slab;
        const int n = AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0, N = AXIS == 0 ? p.ni : AXIS == 1 ? p.nj : p.nk;
        [[maybe_unused]] const real *at = profile + n, *half = profile + 2 * N + n;
        if constexpr (ON_A) damp(va + q, lowpass + at_a, half, N);
        if constexpr (ON_B) damp(vb + q, lowpass + at_b, at, N);
        if constexpr (ON_C) damp(vc + q, lowpass + at_c, at, N);
    }
}
