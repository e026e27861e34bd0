// Unsplit convolutional PML (Komatitsch & Martin 2007, eqs 20-25) along one axis A, on top of the plain step:
//   d/da  ->  1/kappa d/da + psi,   psi <- b psi + a d/da,      a, b and 1/kappa - 1 are profiles along A
// The plain step has added the plain derivative; here the difference is added, in the layer only.
// layout  fields as in elastic.h, axes (A, B, C) in cyclic order of (x, y, z), AXIS = 0, 1, 2 for A;
//         psi[3][slab], the slab x fastest; profile[2][3][n]: at integer and at half points; a, b, 1/kappa - 1
#include "differences.h"
#include "moduli.h"

#define CPML_POINT                                                                                                  \
    const ptrdiff_t X = 1, Y = p.row, Z = p.plane, q = k * Z + j * Y + i;                                           \
    const ptrdiff_t A = AXIS == 0 ? X : AXIS == 1 ? Y : Z, B = AXIS == 0 ? Y : AXIS == 1 ? Z : X, C = AXIS == 0 ? Z : AXIS == 1 ? X : Y; \
    const ptrdiff_t m = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0), slab = (ptrdiff_t)p.nk * p.nj * p.ni; \
    const int n = AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0, N = AXIS == 0 ? p.ni : AXIS == 1 ? p.nj : p.nk; \
    const real *at = profile + n, *half = profile + 3 * N + n

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
        va[q] += p.dt_h * buoyancy(rho + q, A) * stretched(psi + m, half, N, fwd(saa + q, A));
        vb[q] += p.dt_h * buoyancy(rho + q, B) * stretched(psi + slab + m, at, N, bwd(sab + q, A));
        vc[q] += p.dt_h * buoyancy(rho + q, C) * stretched(psi + 2 * slab + m, at, N, bwd(sca + q, A));
    }
}

KERNEL cpml_stress(
    real* RESTRICT saa, real* RESTRICT sbb, real* RESTRICT scc, real* RESTRICT sab, real* RESTRICT sca, real* RESTRICT psi,
    const real* RESTRICT va, const real* RESTRICT vb, const real* RESTRICT vc,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CPML_POINT;
        const real e = p.dt_h * stretched(psi + m, at, N, bwd(va + q, A)), t = lam[q] * e;
        saa[q] += t + 2 / rmu[q] * e;
        sbb[q] += t;
        scc[q] += t;
        sab[q] += p.dt_h * shear_modulus(rmu + q, A, B) * stretched(psi + slab + m, half, N, fwd(vb + q, A));
        sca[q] += p.dt_h * shear_modulus(rmu + q, A, C) * stretched(psi + 2 * slab + m, half, N, fwd(vc + q, A));
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
        const real e = p.dt_h * (at[2 * N] * bwd(va + q, A) + psi[m]);
        saa[q] += d11 * e;
        shh[q] += (d11 - 2 * d66) * e;
        szz[q] += d13 * e;
        sxy[q] += p.dt_h * d66 * (half[2 * N] * fwd(vh + q, A) + psi[(1 + AXIS) * slab + m]);
    }
}
