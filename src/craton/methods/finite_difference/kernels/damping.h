// Velocities damped towards their own low-pass w in the outer part of an absorbing layer across one axis A:
//   dv/dt = .. - g (v - w),   dw/dt = alpha (v - w)
// Slow motion, a static offset above all, passes undamped. Each half is exact for the other held still.
// TRANSPOSED = 1: the transpose of the same, of adjoint velocities and what belongs to w.
// FRICTION > 0: slow motion of a fluid along a wall, up to FRICTION points from it, is damped itself, dv/dt = .. - f w: eddies, not waves.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         lowpass[.][slab], the slab x fastest, one for each of va vb vc that is there;
//         profile[2][2 or 3][n]: at integer and at half points along A; 1 - exp(-g dt), 1 - exp(-alpha dt), 1 - exp(-f dt)
// where   va at half points along A, vb and vc at integer points; reach 0 of the fields, FRICTION of rmu
#include "moduli.h"
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

constexpr int RATES = FRICTION ? 3 : 2;

INLINE bool fluid(const Material rmu, const ptrdiff_t S) { return 1 / rmu[0] + 1 / rmu[S] <= 0; }

// True for a velocity along the axis of stride S between fluid points, with solid near along the axis of stride T.
INLINE bool along_wall(const Material rmu, const ptrdiff_t S, const ptrdiff_t T)
{
    if (!fluid(rmu, S)) return false;
    bool wall = false;
    for (int n = 1; n <= FRICTION; ++n) wall = wall || !fluid(rmu + n * T, S) || !fluid(rmu - n * T, S);
    return wall;
}

template <class Field> INLINE void damp_transposed(Field* v, real* lowpass, const real* profile, const int N, const bool wall)
{
    const real whole = *v + profile[N] * *lowpass;
    *lowpass += profile[0] * whole - profile[N] * *lowpass;
    *v = whole - profile[0] * whole;
    if (FRICTION && wall) *lowpass -= profile[2 * N] * *v;
}

template <class Field> INLINE void damp(Field* v, real* lowpass, const real* profile, const int N, const bool wall)
{
    if constexpr (TRANSPOSED) return damp_transposed(v, lowpass, profile, N, wall);
    if (FRICTION && wall) *v -= profile[2 * N] * *lowpass;
    const real damped = *v - profile[0] * (*v - *lowpass);
    *v = damped;
    *lowpass += profile[N] * (damped - *lowpass);
}

KERNEL damping(
    field_t* RESTRICT va, field_t* RESTRICT vb, field_t* RESTRICT vc, real* RESTRICT lowpass, const material_t* RESTRICT rmu,
    const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const ptrdiff_t slab = (ptrdiff_t)p.nk * p.nj * p.ni, at_a = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0);
        [[maybe_unused]] const ptrdiff_t at_b = at_a + ON_A * slab, at_c = at_b + ON_B * slab;
        const int n = AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0, N = AXIS == 0 ? p.ni : AXIS == 1 ? p.nj : p.nk;
        [[maybe_unused]] const real *at = profile + n, *half = profile + RATES * N + n;
        [[maybe_unused]] const ptrdiff_t A = AXIS == 0 ? X : AXIS == 1 ? MY : MZ, B = AXIS == 0 ? MY : AXIS == 1 ? MZ : X,
                                         C = AXIS == 0 ? MZ : AXIS == 1 ? X : MY;
        [[maybe_unused]] const Material soft = MATERIAL(rmu);
        const auto wall = [=](const ptrdiff_t S, const ptrdiff_t T, const ptrdiff_t U) {
            return FRICTION && (along_wall(soft + m, S, T) || along_wall(soft + m, S, U));
        };
        if constexpr (ON_A) damp(va + q, lowpass + at_a, half, N, wall(A, B, C));
        if constexpr (ON_B) damp(vb + q, lowpass + at_b, at, N, wall(B, C, A));
        if constexpr (ON_C) damp(vc + q, lowpass + at_c, at, N, wall(C, A, B));
    }
}
