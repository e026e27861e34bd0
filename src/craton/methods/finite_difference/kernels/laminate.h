// What the stress step lacks on integer planes whose cells a horizontal interface cuts. A cell of layers thin against the wavelength is
// transversely isotropic about z (Backus 1962); the step took it as isotropic, with lambda and mu. What it has more is added, see law.h.
// sxz and syz need nothing: the harmonic mean of mu is that of Backus. An operator of its own on these planes: moduli of all points would
// be more to read than their isotropic ones.
// layout  fields as in elastic.h; planes[4 k ...] are d11, d13, d33, d66 of plane k
#include "differences.h"
#include "law.h"

KERNEL laminate(
    field_t* RESTRICT sxx, field_t* RESTRICT syy, field_t* RESTRICT szz, field_t* RESTRICT sxy,
    const field_t* RESTRICT vx, const field_t* RESTRICT vy, const field_t* RESTRICT vz,
    const real* RESTRICT planes, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        if constexpr (PSV) {
            const Normal s = transverse(excess(planes + 4 * k), {bwd(vx + q, X), bwd_y(vy + q, Y), bwd_z(vz + q, Z, p.top - k)});
            sxx[q] += p.dt_h * s.xx;
            if constexpr (!PLANE) syy[q] += p.dt_h * s.yy;
            szz[q] += p.dt_h * s.zz;
        }
        if constexpr (SH) sxy[q] += p.dt_h * excess_xy(planes + 4 * k) * (fwd_y(vx + q, Y) + fwd(vy + q, X));
    }
}
