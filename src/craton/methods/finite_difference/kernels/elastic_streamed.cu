// The kernels of elastic.h for CUDA: VEC points a thread along x, PLANES planes one after another along z. What a plane
// shares with the next ones (taps along z, moduli) waits in registers, so that it leaves the memory once.
// layout  as in elastic.h; (0, 0, 0) and rows aligned to VEC values; whole groups of VEC are read, in the pads too,
//         but only points of the box are written
// block   BX x BY threads, from the last multiple of VEC not after box.i0; MIN_BLOCKS of them on a multiprocessor
#include "differences.h"
#include "law.h"

#include "streamed.h"

// The thread's column: first element q, number of planes; strides. Fewest registers with an int Y and a count down. Of 16-bit fields a thread
// beyond the box stays for those of its warp, at the last group of the row, and stores nothing.
#if HALF
#define BEYOND (i - int(threadIdx.x & 31) * VEC >= box.i1 || j >= box.j1)
#define COLUMN (i < box.i1 ? i : (box.i1 - 1) & ~(VEC - 1))
#else
#define BEYOND (i >= box.i1 || j >= box.j1)
#define COLUMN i
#endif
#define STREAM                                                                    \
    const int i = (box.i0 & ~(VEC - 1)) + (blockIdx.x * BX + threadIdx.x) * VEC;  \
    const int j = box.j0 + blockIdx.y * BY + threadIdx.y;                         \
    const int first = box.k0 + blockIdx.z * PLANES, Y = p.row;                    \
    const int planes = box.k1 - first < PLANES ? box.k1 - first : PLANES;         \
    if (BEYOND) return;                                                           \
    [[maybe_unused]] const Ends at = ends(i, box);                                \
    const ptrdiff_t Z = p.plane;                                                  \
    ptrdiff_t q = first * Z + j * p.row + COLUMN

KERNEL_BOUNDS(BX * BY, MIN_BLOCKS) velocity(
    field_t* RESTRICT vx, field_t* RESTRICT vy, field_t* RESTRICT vz,
    const field_t* RESTRICT sxx, const field_t* RESTRICT syy, const field_t* RESTRICT szz,
    const field_t* RESTRICT sxy, const field_t* RESTRICT sxz, const field_t* RESTRICT syz,
    const material_t* RESTRICT rho, const Box box, const FDParams p)
{
    STREAM;
    Planes sxz_z(sxz + q - RZ * Z, Z), syz_z(syz + q - RZ * Z, Z), szz_z(szz + q - (RZ - 1) * Z, Z);
    const Material density = MATERIAL(rho);
    MediumRow here = medium(density + q, at);
    for (int k = planes; k > 0; --k, q += Z) {
        sxz_z.push(sxz + q + (RZ - 1) * Z);
        syz_z.push(syz + q + (RZ - 1) * Z);
        szz_z.push(szz + q + RZ * Z);
        const MediumRow above = medium(density + q + Z, at);
        const auto north = medium(density + q + Y);
        const auto own_x = load(vx + q), own_y = load(vy + q), own_z = load(vz + q);
        const Forward sxx_x(sxx + q, at);
        const auto sxy_here = load(sxy + q);
        const Backward sxy_x(sxy + q, sxy_here, at), sxz_x(sxz + q, sxz_z.g[RZ], at);
        const Rows sxy_y(sxy + q - R * Y, Y, R, sxy_here), syy_y(syy + q - (R - 1) * Y, Y, -1, sxy_here);
        const Rows syz_y(syz + q - R * Y, Y, R, syz_z.g[RZ]);
        Group x, y, z;
        EACH for (int n = 0; n < VEC; ++n) {
            x.a[n] = own_x[n] + p.dt_h * buoyancy(here[n], here[n + 1]) * (fwd(sxx_x + n, 1) + sxy_y.difference(n) + sxz_z.difference(n));
            y.a[n] = own_y[n] + p.dt_h * buoyancy(here[n], north[n]) * (bwd(sxy_x + n, 1) + syy_y.difference(n) + syz_z.difference(n));
            z.a[n] = own_z[n] + p.dt_h * buoyancy(here[n], above[n]) * (bwd(sxz_x + n, 1) + syz_y.difference(n) + szz_z.difference(n));
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
    field_t* RESTRICT sxx, field_t* RESTRICT syy, field_t* RESTRICT szz,
    field_t* RESTRICT sxy, field_t* RESTRICT sxz, field_t* RESTRICT syz, real* RESTRICT memory,
    const field_t* RESTRICT vx, const field_t* RESTRICT vy, const field_t* RESTRICT vz,
    const material_t* RESTRICT lam, const material_t* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const Box box, const FDParams p)
{
    STREAM;
    Planes vx_z(vx + q - (RZ - 1) * Z, Z), vy_z(vy + q - (RZ - 1) * Z, Z), vz_z(vz + q - RZ * Z, Z);
    const Material stiffness = MATERIAL(lam), softness = MATERIAL(rmu);
    MediumRow here = medium(softness + q, at), north = medium(softness + q + Y, at);
#if ATTENUATION
    Row<0, 1> lost(qs + q), lost_north(qs + q + Y);
#endif
    for (int k = planes; k > 0; --k, q += Z) {
        vx_z.push(vx + q + RZ * Z);
        vy_z.push(vy + q + RZ * Z);
        vz_z.push(vz + q + (RZ - 1) * Z);
        const MediumRow above = medium(softness + q + Z, at), above_north = medium(softness + q + Y + Z, at);
        const auto l = medium(stiffness + q);
        const auto own_xx = load(sxx + q), own_yy = load(syy + q), own_zz = load(szz + q);
        const auto own_xy = load(sxy + q), own_xz = load(sxz + q), own_yz = load(syz + q);
        Group xx, yy, zz, xy, xz, yz;
        const Backward vx_x(vx + q, vx_z.g[RZ - 1], at);
        const Forward vy_x(vy + q, vy_z.g[RZ - 1], at), vz_x(vz + q, vz_z.g[RZ], at);
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
            mu2.a[n] = quotient(real(2), here[n]), stiff.a[n] = l[n] + mu2.a[n];
            const real t = l[n] * (exx.a[n] + eyy.a[n] + ezz.a[n]);
            xx.a[n] = own_xx[n] + p.dt_h * (t + mu2.a[n] * exx.a[n]);
            yy.a[n] = own_yy[n] + p.dt_h * (t + mu2.a[n] * eyy.a[n]);
            zz.a[n] = own_zz[n] + p.dt_h * (t + mu2.a[n] * ezz.a[n]);
        }
        relax_normal(memory, xx, yy, zz, exx, eyy, ezz, stiff, mu2, load(qp + q), lost.group(), row, i, q, box, p);
        relax_shear<XY>(memory, exy, mean_along(lost, lost_north), row, i, q, box, p);
        relax_shear<XZ>(memory, exz, mean_along(lost, lost_above), row, i, q, box, p);
        relax_shear<YZ>(memory, eyz, mean_across(lost, lost_north, lost_above, lost_above_north), row, i, q, box, p);
        EACH for (int n = 0; n < VEC; ++n) {
            xy.a[n] = own_xy[n] + p.dt_h * shear_modulus(here[n], here[n + 1], north[n], north[n + 1]) * exy.a[n];
            xz.a[n] = own_xz[n] + p.dt_h * shear_modulus(here[n], here[n + 1], above[n], above[n + 1]) * exz.a[n];
            yz.a[n] = own_yz[n] + p.dt_h * shear_modulus(here[n], north[n], above[n], above_north[n]) * eyz.a[n];
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
            Normal s = isotropic({l[n], mu2}, e);
#if VTI
            s = s + transverse({more11.a[n], more13.a[n], 0, quotient(real(2), soft[n]) - mu2}, e);
#else
            const MediumRow &soft = here, &soft_north = north;
#endif
            xx.a[n] = own_xx[n] + p.dt_h * s.xx;
            yy.a[n] = own_yy[n] + p.dt_h * s.yy;
            zz.a[n] = own_zz[n] + p.dt_h * s.zz;
            xy.a[n] = own_xy[n] + p.dt_h * shear_modulus(soft[n], soft[n + 1], soft_north[n], soft_north[n + 1]) * (vx_y.difference(n) + fwd(vy_x + n, 1));
            xz.a[n] = own_xz[n] + p.dt_h * shear_modulus(here[n], here[n + 1], above[n], above[n + 1]) * (vx_z.difference(n) + fwd(vz_x + n, 1));
            yz.a[n] = own_yz[n] + p.dt_h * shear_modulus(here[n], north[n], above[n], above_north[n]) * (vy_z.difference(n) + vz_y.difference(n));
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
