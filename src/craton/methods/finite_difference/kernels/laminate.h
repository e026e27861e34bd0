// What the stress step lacks on integer planes whose cells a horizontal interface cuts. A cell of layers thin against the wavelength is
// transversely isotropic about z (Backus 1962); the step took it as isotropic, with lambda and mu. The difference, d11 d13 d33 d66 = dc:
//   d sxx/dt += d11 exx + d12 eyy + d13 ezz    d szz/dt += d13 (exx + eyy) + d33 ezz    d sxy/dt += 2 d66 exy,    d12 = d11 - 2 d66
// and as sxx with x and y exchanged. sxz and syz need nothing: the harmonic mean of mu is that of Backus.
// layout  fields as in elastic.h; planes[4 k ...] are the differences of plane k
#include "differences.h"
#include "moduli.h"

KERNEL laminate(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT planes, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const real *dc = planes + 4 * k, d11 = dc[0], d13 = dc[1], d33 = dc[2], d66 = dc[3];
        if constexpr (PSV) {
            const real exx = bwd(vx + q, X), eyy = bwd_y(vy + q, Y), ezz = bwd_z(vz + q, Z, p.top - k), across = 2 * d66;
            const real t = d11 * (exx + eyy) + d13 * ezz;
            sxx[q] += p.dt_h * (t - across * eyy);
            if constexpr (!PLANE) syy[q] += p.dt_h * (t - across * exx);
            szz[q] += p.dt_h * (d13 * (exx + eyy) + d33 * ezz);
        }
        if constexpr (SH) sxy[q] += p.dt_h * d66 * (fwd_y(vx + q, Y) + fwd(vy + q, X));
    }
}
