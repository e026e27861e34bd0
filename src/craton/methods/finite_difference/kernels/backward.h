// One step backwards of the forward field and of its adjoint, and the sums of gradients: by the operators of elastic.h and acoustic.h,
//   adjoint field += increment of the step        forward field -= its own increment, in the inner box
//   sums += advanced adjoint field * increment of the forward field, as in increments.h
// for a step n, counted from p.last downwards, that p.every divides.
// layout  vx .. syz the adjoint field, ux .. tyz the forward one, as in elastic.h (acoustic waves have sxx alone, s of acoustic.h);
//         sums[.], p.field reals apart, each as a field: velocities, shear stresses, deviatoric part and trace of normal stresses,
//         with LIGHT = 1 the squared increments of velocities
// Beyond the inner box, where absorbing layers are, only the adjoint field changes. SUMS = 0: no sums here, see parameter_sums.h.
#include "sums.h"

// One field of both, d and e the increments of the adjoint and of the forward one; `light` of velocities.
INLINE void back(real* v, real* u, real* sum, [[maybe_unused]] real* light, const real d, const real e, const bool inside, const bool summed)
{
    const real a = *v + d;
    *v = a;
    if (inside) {
        *u -= e;
        if (summed) {
            *sum += a * e;
            if constexpr (LIGHT) if (light) *light += e * e;
        }
    }
}

KERNEL backward_velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz, real* RESTRICT ux, real* RESTRICT uy, real* RESTRICT uz, real* RESTRICT sums,
    const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT sxy, const real* RESTRICT sxz, const real* RESTRICT syz,
    const real* RESTRICT txx, const real* RESTRICT tyy, const real* RESTRICT tzz,
    const real* RESTRICT txy, const real* RESTRICT txz, const real* RESTRICT tyz,
    const real* RESTRICT rho, const int* RESTRICT step, const Box box, const BackParams p)
{
    const bool summed = SUMS && (p.last - step[0]) % p.every == 0;
    FOR_EACH_POINT(box)
    {
        POINT;
        const int depth = p.top - k;
        const bool inside = INSIDE;
        real* const light = sums + SUM_LIGHT * p.field + q;
        if constexpr (ACOUSTIC) {
            const real bx = p.dt_h * buoyancy(rho + m, X), bz = p.dt_h * buoyancy(rho + m, MZ);
            back(vx + q, ux + q, sums + q, light, bx * fwd(sxx + q, X), bx * fwd(txx + q, X), inside, summed);
            if constexpr (!PLANE) {
                const real by = p.dt_h * buoyancy(rho + m, MY);
                back(vy + q, uy + q, sums + SUM_VY * p.field + q, light, by * fwd(sxx + q, Y), by * fwd(txx + q, Y), inside, summed);
            }
            back(vz + q, uz + q, sums + SUM_VZ * p.field + q, light, bz * fwd_z(sxx + q, Z, depth), bz * fwd_z(txx + q, Z, depth), inside, summed);
        }
        if constexpr (PSV && !ACOUSTIC) {
            const real bx = p.dt_h * buoyancy(rho + m, X), bz = p.dt_h * buoyancy(rho + m, MZ);
            back(vx + q, ux + q, sums + q, light, bx * (fwd(sxx + q, X) + bwd_y(sxy + q, Y) + bwd_z(sxz + q, Z, depth)),
                 bx * (fwd(txx + q, X) + bwd_y(txy + q, Y) + bwd_z(txz + q, Z, depth)), inside, summed);
            back(vz + q, uz + q, sums + SUM_VZ * p.field + q, light, bz * (bwd(sxz + q, X) + bwd_y(syz + q, Y) + fwd_z(szz + q, Z, depth)),
                 bz * (bwd(txz + q, X) + bwd_y(tyz + q, Y) + fwd_z(tzz + q, Z, depth)), inside, summed);
        }
        if constexpr (SH && !ACOUSTIC) {
            const real by = p.dt_h * buoyancy(rho + m, MY);
            back(vy + q, uy + q, sums + SUM_VY * p.field + q, light, by * (bwd(sxy + q, X) + fwd_y(syy + q, Y) + bwd_z(syz + q, Z, depth)),
                 by * (bwd(txy + q, X) + fwd_y(tyy + q, Y) + bwd_z(tyz + q, Z, depth)), inside, summed);
        }
    }
}

KERNEL backward_stress(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy, real* RESTRICT sxz, real* RESTRICT syz,
    real* RESTRICT txx, real* RESTRICT tyy, real* RESTRICT tzz, real* RESTRICT txy, real* RESTRICT txz, real* RESTRICT tyz, real* RESTRICT sums,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT ux, const real* RESTRICT uy, const real* RESTRICT uz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const int* RESTRICT step, const Box box, const BackParams p)
{
    const bool summed = SUMS && (p.last - step[0]) % p.every == 0;
    FOR_EACH_POINT(box)
    {
        POINT;
        const int depth = p.top - k;
        const bool inside = INSIDE, free = SURFACE && depth == 0;
        real* const deviatoric = sums + SUM_DEVIATORIC * p.field + q;
        real* const trace = sums + SUM_TRACE * p.field + q;
        if constexpr (ACOUSTIC) {
            const real c = free ? real(0) : p.dt_h * lam[m];
            const real d = c * (bwd(vx + q, X) + bwd_y(vy + q, Y) + (free ? real(0) : bwd_z(vz + q, Z, depth)));
            const real e = c * (bwd(ux + q, X) + bwd_y(uy + q, Y) + (free ? real(0) : bwd_z(uz + q, Z, depth)));
            const real a = free ? real(0) : sxx[q] + d;
            sxx[q] = a;
            if (inside) {
                if (summed) sum_normal(deviatoric, trace, {a, 0, 0}, {e, 0, 0}, free);
                txx[q] = free ? real(0) : txx[q] - e;
            }
        }
        if constexpr (PSV && !ACOUSTIC) {
            const Lame c = {lam[m], 2 / rmu[m]};
            const Normal d = isotropic(c, {bwd(vx + q, X), bwd_y(vy + q, Y), free ? real(0) : bwd_z(vz + q, Z, depth)});
            const Normal e = isotropic(c, {bwd(ux + q, X), bwd_y(uy + q, Y), free ? real(0) : bwd_z(uz + q, Z, depth)});
            const real exx = p.dt_h * e.xx, eyy = PLANE ? real(0) : p.dt_h * e.yy, ezz = free ? real(0) : p.dt_h * e.zz;
            const real xx = sxx[q] + p.dt_h * d.xx, yy = PLANE ? real(0) : syy[q] + p.dt_h * d.yy, zz = free ? real(0) : szz[q] + p.dt_h * d.zz;
            sxx[q] = xx;
            if constexpr (!PLANE) syy[q] = yy;
            szz[q] = zz;
            if (inside) {
                if (summed) sum_normal(deviatoric, trace, {xx, yy, zz}, {exx, eyy, ezz}, free);
                txx[q] -= exx;
                if constexpr (!PLANE) tyy[q] -= eyy;
                tzz[q] = free ? real(0) : tzz[q] - ezz;
            }
            const real mu = p.dt_h * shear_modulus(rmu + m, X, MZ);
            back(sxz + q, txz + q, sums + SUM_XZ * p.field + q, nullptr, mu * (fwd_z(vx + q, Z, depth) + fwd(vz + q, X)),
                 mu * (fwd_z(ux + q, Z, depth) + fwd(uz + q, X)), inside, summed);
        }
        if constexpr (SH && !ACOUSTIC) {
            const real xy = p.dt_h * shear_modulus(rmu + m, X, MY), yz = p.dt_h * shear_modulus(rmu + m, MY, MZ);
            back(sxy + q, txy + q, sums + SUM_XY * p.field + q, nullptr, xy * (fwd_y(vx + q, Y) + fwd(vy + q, X)),
                 xy * (fwd_y(ux + q, Y) + fwd(uy + q, X)), inside, summed);
            back(syz + q, tyz + q, sums + SUM_YZ * p.field + q, nullptr, yz * (fwd_z(vy + q, Z, depth) + fwd_y(vz + q, Y)),
                 yz * (fwd_z(uy + q, Z, depth) + fwd_y(uz + q, Y)), inside, summed);
        }
    }
}
