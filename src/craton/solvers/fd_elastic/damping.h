// Velocities damped towards their own low-pass w in the outer part of an absorbing layer across one axis A:
//   dv/dt = .. - g (v - w),   dw/dt = alpha (v - w)
// Slow motion, a static offset above all, passes undamped. Each half is exact for the other held still.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         lowpass[.][slab], the slab x fastest, one for each of va vb vc that is there;
//         profile[2][2][n]: at integer and at half points along A; 1 - exp(-g dt), 1 - exp(-alpha dt)
// where   va at half points along A, vb and vc at integer points; reach 0
#include "moduli.h"

INLINE void damp(real* v, real* lowpass, const real* profile, const int N)
{
    const real damped = *v - profile[0] * (*v - *lowpass);
    *v = damped;
    *lowpass += profile[N] * (damped - *lowpass);
}

KERNEL damping(
    real* RESTRICT va, real* RESTRICT vb, real* RESTRICT vc, real* RESTRICT lowpass, const real* RESTRICT profile, const Box box,
    const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i, slab = (ptrdiff_t)p.nk * p.nj * p.ni;
        const ptrdiff_t at_a = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0);
        [[maybe_unused]] const ptrdiff_t at_b = at_a + ON_A * slab, at_c = at_b + ON_B * slab;
        const int n = AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0, N = AXIS == 0 ? p.ni : AXIS == 1 ? p.nj : p.nk;
        [[maybe_unused]] const real *at = profile + n, *half = profile + 2 * N + n;
        if constexpr (ON_A) damp(va + q, lowpass + at_a, half, N);
        if constexpr (ON_B) damp(vb + q, lowpass + at_b, at, N);
        if constexpr (ON_C) damp(vc + q, lowpass + at_c, at, N);
    }
}
