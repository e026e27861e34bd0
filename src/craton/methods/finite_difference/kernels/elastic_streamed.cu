// The kernels of elastic.h for CUDA: VEC points a thread along x, PLANES planes one after another along z. What a plane
// shares with the next ones (taps along z, moduli) waits in registers, so that it leaves the memory once.
// layout  as in elastic.h; (0, 0, 0) and rows aligned to VEC reals; whole groups of VEC are read, in the pads too,
//         but only points of the box are written
// block   BX x BY threads, from the last multiple of VEC not after box.i0; MIN_BLOCKS of them on a multiprocessor
#include "differences.h"
#include "law.h"

#include "streamed.h"

// The thread's column: first element q, number of planes; strides. Fewest registers with an int Y and a count down.
#define STREAM                                                                    \
    const int i = (box.i0 & ~(VEC - 1)) + (blockIdx.x * BX + threadIdx.x) * VEC;  \
    const int j = box.j0 + blockIdx.y * BY + threadIdx.y;                         \
    const int first = box.k0 + blockIdx.z * PLANES, Y = p.row;                    \
    const int planes = box.k1 - first < PLANES ? box.k1 - first : PLANES;         \
    if (i >= box.i1 || j >= box.j1) return;                                       \
    const ptrdiff_t Z = p.plane;                                                  \
    ptrdiff_t q = first * Z + j * p.row + i

KERNEL_BOUNDS(BX * BY, MIN_BLOCKS) velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz,
    const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT sxy, const real* RESTRICT sxz, const real* RESTRICT syz,
    const real* RESTRICT rho, const Box box, const FDParams p)
{
    STREAM;
    Planes sxz_z(sxz + q - RZ * Z, Z), syz_z(syz + q - RZ * Z, Z), szz_z(szz + q - (RZ - 1) * Z, Z);
    Row<0, 1> here(rho + q);
    for (int k = planes; k > 0; --k, q += Z) {
        sxz_z.push(sxz + q + (RZ - 1) * Z);
        syz_z.push(syz + q + (RZ - 1) * Z);
        szz_z.push(szz + q + RZ * Z);
        const Row<0, 1> above(rho + q + Z);
        const Group north = load(rho + q + Y);
        Group x = load(vx + q), y = load(vy + q), z = load(vz + q);
        const Forward sxx_x(sxx + q);
        const Backward sxy_x(sxy + q), sxz_x(sxz + q, sxz_z.g[RZ]);
        const Rows sxy_y(sxy + q - R * Y, Y, R, sxy_x.group()), syy_y(syy + q - (R - 1) * Y, Y, -1, north);
        const Rows syz_y(syz + q - R * Y, Y, R, syz_z.g[RZ]);
        EACH for (int n = 0; n < VEC; ++n) {
            x.a[n] += p.dt_h * buoyancy(here[n], here[n + 1]) * (fwd(sxx_x + n, 1) + sxy_y.difference(n) + sxz_z.difference(n));
            y.a[n] += p.dt_h * buoyancy(here[n], north.a[n]) * (bwd(sxy_x + n, 1) + syy_y.difference(n) + syz_z.difference(n));
            z.a[n] += p.dt_h * buoyancy(here[n], above[n]) * (bwd(sxz_x + n, 1) + syz_y.difference(n) + szz_z.difference(n));
        }
        store(vx + q, x, i, box);
        store(vy + q, y, i, box);
        store(vz + q, z, i, box);
        here = above;
    }
}

#if ATTENUATION
// The memory variables of a group, n the stored mechanism, c the stress component; see relax.h. Members of a group have one parity each.
#define MEMORY(n, c) memory + slot(n, c) * p.field + q
#define PARITY(v) (VEC > 1 ? (v) : i)

// Takes from shear strain rates e what relaxes of them.
template <int C> INLINE void relax_shear(real* memory, Group& e, const Group& s, const int row, const int i, const ptrdiff_t q,
                                         const Box& box, const FDParams& p)
{
    Group kept = e;
    EACH for (int n = 0; n < SHEAR_STORED; ++n) {
        Group xi = load(MEMORY(n, C));
        EACH for (int v = 0; v < VEC; ++v) {
            const Mechanism one = mechanism<pattern(C)>(n, row, PARITY(v));
            kept.a[v] -= coefficient(one, s.a[v]) * advance(one, &xi.a[v], e.a[v]);
        }
        store(MEMORY(n, C), xi, i, box);
    }
    e = kept;
}

// Takes what the normal stress rates lose, stiff is lambda + 2 mu, from the changes x, y, z of these stresses.
INLINE void relax_normal(real* memory, Group& x, Group& y, Group& z, const Group& exx, const Group& eyy, const Group& ezz, const Group& stiff,
                         const Group& mu2, const Group& qp, const Group& qs, const int row, const int i, const ptrdiff_t q,
                         const Box& box, const FDParams& p)
{
    EACH for (int n = 0; n < NORMAL_STORED; ++n) {
        Group a = load(MEMORY(n, XX)), b = load(MEMORY(n, YY)), c = load(MEMORY(n, ZZ));
        EACH for (int v = 0; v < VEC; ++v) {
            const Mechanism one = mechanism<0>(n, row, PARITY(v));
            const real m2 = mu2.a[v] * coefficient(one, qs.a[v]), l = stiff.a[v] * coefficient(one, qp.a[v]) - m2;
            const real lx = advance(one, &a.a[v], exx.a[v]), ly = advance(one, &b.a[v], eyy.a[v]), lz = advance(one, &c.a[v], ezz.a[v]);
            const real t = l * (lx + ly + lz);
            x.a[v] -= p.dt_h * (t + m2 * lx);
            y.a[v] -= p.dt_h * (t + m2 * ly);
            z.a[v] -= p.dt_h * (t + m2 * lz);
        }
        store(MEMORY(n, XX), a, i, box);
        store(MEMORY(n, YY), b, i, box);
        store(MEMORY(n, ZZ), c, i, box);
    }
}

// Means of four neighbours: of two rows, two members each; of four rows.
INLINE Group mean_along(const Row<0, 1>& a, const Row<0, 1>& b)
{
    Group g;
    EACH for (int n = 0; n < VEC; ++n) g.a[n] = real(0.25) * ((a[n] + a[n + 1]) + (b[n] + b[n + 1]));
    return g;
}

INLINE Group mean_across(const Row<0, 1>& a, const Row<0, 1>& b, const Row<0, 1>& c, const Row<0, 1>& d)
{
    Group g;
    EACH for (int n = 0; n < VEC; ++n) g.a[n] = real(0.25) * ((a[n] + b[n]) + (c[n] + d[n]));
    return g;
}
#endif

KERNEL_BOUNDS(BX * BY, MIN_BLOCKS) stress(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz,
    real* RESTRICT sxy, real* RESTRICT sxz, real* RESTRICT syz, real* RESTRICT memory,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const Box box, const FDParams p)
{
    STREAM;
    Planes vx_z(vx + q - (RZ - 1) * Z, Z), vy_z(vy + q - (RZ - 1) * Z, Z), vz_z(vz + q - RZ * Z, Z);
    Row<0, 1> here(rmu + q), north(rmu + q + Y);
#if ATTENUATION
    Row<0, 1> lost(qs + q), lost_north(qs + q + Y);
#endif
    for (int k = planes; k > 0; --k, q += Z) {
        vx_z.push(vx + q + RZ * Z);
        vy_z.push(vy + q + RZ * Z);
        vz_z.push(vz + q + (RZ - 1) * Z);
        const Row<0, 1> above(rmu + q + Z), above_north(rmu + q + Y + Z);
        const Group l = load(lam + q);
        Group xx = load(sxx + q), yy = load(syy + q), zz = load(szz + q), xy = load(sxy + q), xz = load(sxz + q), yz = load(syz + q);
        const Backward vx_x(vx + q, vx_z.g[RZ - 1]);
        const Forward vy_x(vy + q, vy_z.g[RZ - 1]), vz_x(vz + q, vz_z.g[RZ]);
        const Rows vx_y(vx + q - (R - 1) * Y, Y, R - 1, vx_z.g[RZ - 1]), vy_y(vy + q - R * Y, Y, R, vy_z.g[RZ - 1]);
        const Rows vz_y(vz + q - (R - 1) * Y, Y, R - 1, vz_z.g[RZ]);
#if ATTENUATION
        const int row = row_class(j, first + planes - k);
        const Row<0, 1> lost_above(qs + q + Z), lost_above_north(qs + q + Y + Z);
        Group exx, eyy, ezz, exy, exz, eyz, mu2, stiff;
        EACH for (int n = 0; n < VEC; ++n) {
            exx.a[n] = bwd(vx_x + n, 1), eyy.a[n] = vy_y.difference(n), ezz.a[n] = vz_z.difference(n);
            exy.a[n] = vx_y.difference(n) + fwd(vy_x + n, 1);
            exz.a[n] = vx_z.difference(n) + fwd(vz_x + n, 1);
            eyz.a[n] = vy_z.difference(n) + vz_y.difference(n);
            mu2.a[n] = quotient(real(2), here[n]), stiff.a[n] = l.a[n] + mu2.a[n];
            const real t = l.a[n] * (exx.a[n] + eyy.a[n] + ezz.a[n]);
            xx.a[n] += p.dt_h * (t + mu2.a[n] * exx.a[n]);
            yy.a[n] += p.dt_h * (t + mu2.a[n] * eyy.a[n]);
            zz.a[n] += p.dt_h * (t + mu2.a[n] * ezz.a[n]);
        }
        relax_normal(memory, xx, yy, zz, exx, eyy, ezz, stiff, mu2, load(qp + q), lost.group(), row, i, q, box, p);
        relax_shear<XY>(memory, exy, mean_along(lost, lost_north), row, i, q, box, p);
        relax_shear<XZ>(memory, exz, mean_along(lost, lost_above), row, i, q, box, p);
        relax_shear<YZ>(memory, eyz, mean_across(lost, lost_north, lost_above, lost_above_north), row, i, q, box, p);
        EACH for (int n = 0; n < VEC; ++n) {
            xy.a[n] += p.dt_h * shear_modulus(here[n], here[n + 1], north[n], north[n + 1]) * exy.a[n];
            xz.a[n] += p.dt_h * shear_modulus(here[n], here[n + 1], above[n], above[n + 1]) * exz.a[n];
            yz.a[n] += p.dt_h * shear_modulus(here[n], north[n], above[n], above_north[n]) * eyz.a[n];
        }
        lost = lost_above;
        lost_north = lost_above_north;
#else
#if VTI
        const Row<0, 1> soft(r66 + q), soft_north(r66 + q + Y);
        const Group more11 = load(d11 + q), more13 = load(d13 + q);
#endif
        EACH for (int n = 0; n < VEC; ++n) {
            const Normal e = {bwd(vx_x + n, 1), vy_y.difference(n), vz_z.difference(n)};
            const real mu2 = quotient(real(2), here[n]);
            Normal s = isotropic({l.a[n], mu2}, e);
#if VTI
            s = s + transverse({more11.a[n], more13.a[n], 0, quotient(real(2), soft[n]) - mu2}, e);
#else
            const Row<0, 1>&soft = here, &soft_north = north;
#endif
            xx.a[n] += p.dt_h * s.xx;
            yy.a[n] += p.dt_h * s.yy;
            zz.a[n] += p.dt_h * s.zz;
            xy.a[n] += p.dt_h * shear_modulus(soft[n], soft[n + 1], soft_north[n], soft_north[n + 1]) * (vx_y.difference(n) + fwd(vy_x + n, 1));
            xz.a[n] += p.dt_h * shear_modulus(here[n], here[n + 1], above[n], above[n + 1]) * (vx_z.difference(n) + fwd(vz_x + n, 1));
            yz.a[n] += p.dt_h * shear_modulus(here[n], north[n], above[n], above_north[n]) * (vy_z.difference(n) + vz_y.difference(n));
        }
#endif
        store(sxx + q, xx, i, box);
        store(syy + q, yy, i, box);
        store(szz + q, zz, i, box);
        store(sxy + q, xy, i, box);
        store(sxz + q, xz, i, box);
        store(syz + q, yz, i, box);
        here = above;
        north = above_north;
    }
}
