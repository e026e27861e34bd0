// Acoustic waves on the grid of elastic.h, where mu = 0 everywhere: one stress s = -p in place of sxx, syy and szz, no shear stress.
//   rho dv/dt = grad s        ds/dt = lambda div v
// layout  as in elastic.h, s where the normal stresses are; PLANE = 1: nothing depends on y, vy is absent, and j counts shots
// SURFACE = 1: the highest plane, p.top, is at zero pressure, and vertical differences below it are those below a traction-free plane.
#include "differences.h"
#include "moduli.h"

KERNEL acoustic_velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz, const real* RESTRICT s, const real* RESTRICT rho, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        vx[q] += p.dt_h * buoyancy(rho + m, X) * fwd(s + q, X);
        if constexpr (!PLANE) vy[q] += p.dt_h * buoyancy(rho + m, MY) * fwd(s + q, Y);
        vz[q] += p.dt_h * buoyancy(rho + m, MZ) * fwd_z(s + q, Z, p.top - k);
    }
}

KERNEL acoustic_pressure(
    real* RESTRICT s, const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz, const real* RESTRICT lam,
    const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const bool free = SURFACE && k == p.top;
        const real divergence = free ? real(0) : bwd(vx + q, X) + bwd_y(vy + q, Y) + bwd_z(vz + q, Z, p.top - k);
        s[q] = free ? real(0) : s[q] + p.dt_h * (lam[m] * divergence);
    }
}
