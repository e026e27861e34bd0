// What the stress step lacks in a medium that is transversely isotropic about z. The step took it as isotropic with c33 = lambda + 2 mu and
// c44 = mu; the difference, with d11 = c11 - c33, d13 = c13 - (c33 - 2 c44), d66 = c66 - c44:
//   d sxx/dt += d11 exx + d12 eyy + d13 ezz    d szz/dt += d13 (exx + eyy)    d sxy/dt += 2 d66 exy,    d12 = d11 - 2 d66
// and as sxx with x and y exchanged. sxz and syz need nothing. On a traction-free plane d11 is the difference of the plane-stress moduli
// and d13 is 0: the strain ezz is not asked for there.
// layout  fields and material as in elastic.h; d11, d13, r66 = 1/c66 (i, j, k)
#include "differences.h"
#include "moduli.h"

KERNEL vti(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        if constexpr (PSV) {
            const real exx = bwd(vx + q, X), eyy = bwd_y(vy + q, Y), ezz = bwd_z(vz + q, Z, p.top - k);
            const real t = d11[m] * (exx + eyy) + d13[m] * ezz, across = PLANE ? real(0) : 2 / r66[m] - 2 / rmu[m];
            sxx[q] += p.dt_h * (t - across * eyy);
            if constexpr (!PLANE) syy[q] += p.dt_h * (t - across * exx);
            szz[q] += p.dt_h * d13[m] * (exx + eyy);
        }
        if constexpr (SH)
            sxy[q] += p.dt_h * (shear_modulus(r66 + m, X, MY) - shear_modulus(rmu + m, X, MY)) * (fwd_y(vx + q, Y) + fwd(vy + q, X));
    }
}
