// Isotropic elastic wave on the staggered grid (Madariaga 1976, Virieux 1986, Graves 1996), one leapfrog half step each:
//   rho dv/dt = div(sigma)        d sigma/dt = lambda tr(e) I + 2 mu e,   e = sym grad v
// layout  field_t, x fastest, strides 1, p.row, p.plane; pointers at the grid's point (0, 0, 0); reach R
// where   vx (i+1/2, j, k)  vy (i, j+1/2, k)  vz (i, j, k+1/2);  sxx syy szz and rho, lam, rmu = 1/mu (i, j, k);
//         sxy sxz syz half-way in their two axes
//         syz ------- +        z          half the cell of the point (i, j, k), at its corner sii: sxx syy szz, rho, lam, rmu;
//        /|          /|        |  y       each edge is half a spacing
//      vz ------- sxz |        | /
//      |  |        |  |        |/
//      | vy -------| sxy       +--- x
//      |/          |/
//     sii ------- vx
// Density is averaged arithmetically, mu harmonically, to where v and shear stress are (Moczo et al. 2002), on the fly.
// PLANE = 1: nothing depends on y, and j counts shots. PSV: vx vz sxx szz sxz are computed (P-SV), SH: vy sxy syz (SH); in space both.
// Stresses follow from strain rates by the law of the medium, law.h: isotropic, VTI = 1, ATTENUATION = 1.
// HALF = 1: fields and material are kept in 16 bits, storage.h.
// SURFACE = 1: the highest plane, p.top, is traction-free. szz is zero there and lam holds 2 mu lam / (lam + 2 mu), so that
// the horizontal normal stresses see the vertical strain that keeps szz zero.
#include "differences.h"
#include "law.h"

KERNEL velocity(
    field_t* RESTRICT vx, field_t* RESTRICT vy, field_t* RESTRICT vz,
    const field_t* RESTRICT sxx, const field_t* RESTRICT syy, const field_t* RESTRICT szz,
    const field_t* RESTRICT sxy, const field_t* RESTRICT sxz, const field_t* RESTRICT syz,
    const material_t* RESTRICT rho, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const int depth = p.top - k;
        const Material density = MATERIAL(rho);
        if constexpr (SH)  // before the others: up to 12 registers fewer on a GPU
            vy[q] += p.dt_h * buoyancy(density + m, MY) * (bwd(sxy + q, X) + fwd_y(syy + q, Y) + bwd_z(syz + q, Z, depth));
        if constexpr (PSV) {
            vx[q] += p.dt_h * buoyancy(density + m, X) * (fwd(sxx + q, X) + bwd_y(sxy + q, Y) + bwd_z(sxz + q, Z, depth));
            vz[q] += p.dt_h * buoyancy(density + m, MZ) * (bwd(sxz + q, X) + bwd_y(syz + q, Y) + fwd_z(szz + q, Z, depth));
        }
    }
}

KERNEL stress(
    field_t* RESTRICT sxx, field_t* RESTRICT syy, field_t* RESTRICT szz,
    field_t* RESTRICT sxy, field_t* RESTRICT sxz, field_t* RESTRICT syz, real* RESTRICT memory,
    const field_t* RESTRICT vx, const field_t* RESTRICT vy, const field_t* RESTRICT vz,
    const material_t* RESTRICT lam, const material_t* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box)
    {
        POINT;
        const int depth = p.top - k;
        const Medium medium = MEDIUM;
        if constexpr (PSV) {
            const bool free = SURFACE && depth == 0;
            const real exx = bwd(vx + q, X), eyy = bwd_y(vy + q, Y);
            const real ezz = free ? free_strain(medium, exx + eyy) : bwd_z(vz + q, Z, depth);
            const Normal s = normal_rates(moduli(medium, free), {exx, eyy, ezz});
            sxx[q] += p.dt_h * s.xx;
            if constexpr (!PLANE) syy[q] += p.dt_h * s.yy;
            szz[q] = free ? real(0) : szz[q] + p.dt_h * s.zz;
            sxz[q] += shear<XZ, false>(medium, p.dt_h, fwd_z(vx + q, Z, depth) + fwd(vz + q, X), X, MZ);
        }
        if constexpr (SH) {
            sxy[q] += shear<XY, false>(medium, p.dt_h, fwd_y(vx + q, Y) + fwd(vy + q, X), X, MY);
            syz[q] += shear<YZ, false>(medium, p.dt_h, fwd_z(vy + q, Z, depth) + fwd_y(vz + q, Y), MY, MZ);
        }
    }
}
