// First one-way equation of Clayton & Engquist (1977), A1, at a face across the axis A (x, y, z for AXIS = 0, 1, 2):
//   dv/dt + c dv/dn = 0,   n outward, c = vp for the velocity across the face, vs along it (vp in a fluid)
// by the box scheme, centred between two planes and two steps (second order; Mur 1981, eq. 15; stable at any step):
//   v'[s] = v[s-1] + (g - 1) / (g + 1) (v'[s-1] - v[s]),   g = c dt / h,   ' the new step, s counts planes outward
// on the PLANES - R outermost planes of the grid, where differences of stress would look beyond it, and on R planes of ghosts, so
// that strain rates are whole up to the face.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z); the box is the plane before the first one, s = 0;
//         past[.][PLANES + 1][box]: the step before of each of va, vb, vc that is there, s = 0 .. PLANES; SIDE = 1 where A grows outward
#include "moduli.h"
#if !THREAD_PER_POINT
#include <math.h>
#endif

// One component on the planes after p[0]; N values of `past` a plane.
INLINE void outward(real* p, real* past, const ptrdiff_t S, const ptrdiff_t N, const real g)
{
    const real factor = (g - 1) / (g + 1);
    real inner = p[0], inner_past = past[0];
    past[0] = inner;
    for (int s = 1; s <= PLANES; ++s) {
        const real here_past = past[s * N];
        inner = inner_past + factor * (inner - here_past);
        inner_past = here_past;
        p[s * S] = past[s * N] = inner;
    }
}

KERNEL a1(
    real* va, real* vb, real* vc, real* past,
    const real* RESTRICT rho, const real* RESTRICT lam, const real* RESTRICT rmu, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const ptrdiff_t at = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0), N = (ptrdiff_t)p.nk * p.nj * p.ni;
        const ptrdiff_t S = (SIDE ? 1 : -1) * (AXIS == 0 ? X : AXIS == 1 ? Y : Z), field = (PLANES + 1) * N;
        const real mu = ACOUSTIC ? real(0) : 1 / rmu[m], across = p.dt_h * sqrt((lam[m] + 2 * mu) / rho[m]), along = mu > 0 ? p.dt_h * sqrt(mu / rho[m]) : across;
        if constexpr (ON_A) outward(va + q, past + at, S, N, across);
        if constexpr (ON_B) outward(vb + q, past + ON_A * field + at, S, N, along);
        if constexpr (ON_C) outward(vc + q, past + (ON_A + ON_B) * field + at, S, N, along);
    }
}
