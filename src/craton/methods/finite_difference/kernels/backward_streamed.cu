// The kernels of backward.h for CUDA: a block's threads with z = 0 take the forward field back, those with z = 1 the adjoint one on, as in
// elastic_streamed.cu; both read the same material at the same time. What gradients need goes through shared memory, plane by plane.
// layout  as in backward.h and streamed.h
// block   BX x BY x 2 threads, from the last multiple of VEC not after box.i0; MIN_BLOCKS of them on a multiprocessor
#include "sums.h"
#include "streamed.h"

#define HERE [threadIdx.y][threadIdx.x]

// The thread's column, and whether it has work: one of the forward field only where the inner box is. A thread without it stays, for the
// others wait for it; its first loads are those of the corner of the box.
#define BACKWARD_STREAM                                                                                          \
    const bool adjoint = threadIdx.z, summed = SUMS && (p.last - step[0]) % p.every == 0;                                \
    const int i = (box.i0 & ~(VEC - 1)) + (blockIdx.x * BX + threadIdx.x) * VEC;                                 \
    const int j = box.j0 + blockIdx.y * BY + threadIdx.y;                                                        \
    const int first = box.k0 + blockIdx.z * PLANES, Y = p.row;                                                   \
    const int planes = box.k1 - first < PLANES ? box.k1 - first : PLANES;                                        \
    const bool live = i < box.i1 && j < box.j1;                                                                  \
    const bool inner = live && i + VEC > p.i0 && i < p.i1 && j >= p.j0 && j < p.j1;                              \
    const bool works = adjoint ? live : inner && first < p.k1 && first + planes > p.k0;                          \
    const Box within = {0, 0, 0, 0, p.i0, p.i1}, limits = {0, 0, 0, 0, adjoint ? box.i0 : p.i0, adjoint ? box.i1 : p.i1}; \
    const ptrdiff_t Z = p.plane;                                                                                 \
    ptrdiff_t q = works ? first * Z + j * p.row + i : first * Z + box.j0 * p.row + (box.i0 & ~(VEC - 1))

#define PLANE_IS_INNER (inner && first + planes - k >= p.k0 && first + planes - k < p.k1)

// sum += values, in the inner box.
INLINE void add(real* sum, const Group& values, const int i, const Box& within)
{
    Group g = load(sum);
    EACH for (int n = 0; n < VEC; ++n) g.a[n] += values.a[n];
    store(sum, g, i, within);
}

// Advances the adjoint field, or takes the forward one back where it is inner and shows its increments.
template <int COUNT>
INLINE void advance(real* const* at, const ptrdiff_t q, Group* own, const Group* change, Group (*shown)[BY][BX], const bool adjoint,
                    const bool shows, const int i, const Box& limits)
{
    EACH for (int c = 0; c < COUNT; ++c) {
        EACH for (int n = 0; n < VEC; ++n) own[c].a[n] += adjoint ? change[c].a[n] : -change[c].a[n];
        store(at[c] + q, own[c], i, limits);
        if (shows) shown[c] HERE = change[c];
    }
}

KERNEL_BOUNDS(BX * BY * 2, MIN_BLOCKS) backward_velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz, real* RESTRICT ux, real* RESTRICT uy, real* RESTRICT uz, real* RESTRICT sums,
    const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT sxy, const real* RESTRICT sxz, const real* RESTRICT syz,
    const real* RESTRICT txx, const real* RESTRICT tyy, const real* RESTRICT tzz,
    const real* RESTRICT txy, const real* RESTRICT txz, const real* RESTRICT tyz,
    const real* RESTRICT rho, const int* RESTRICT step, const Box box, const BackParams p)
{
    __shared__ Group shared[2][3][BY][BX];
    BACKWARD_STREAM;
    real* const to[3] = {adjoint ? vx : ux, adjoint ? vy : uy, adjoint ? vz : uz};
    const real *xx = adjoint ? sxx : txx, *yy = adjoint ? syy : tyy, *zz = adjoint ? szz : tzz;
    const real *xy = adjoint ? sxy : txy, *xz = adjoint ? sxz : txz, *yz = adjoint ? syz : tyz;
    Planes xz_z(xz + q - RZ * Z, Z), yz_z(yz + q - RZ * Z, Z), zz_z(zz + q - (RZ - 1) * Z, Z);
    Row<0, 1> here(rho + q);
    for (int k = planes; k > 0; --k, q += Z) {
        const bool in = PLANE_IS_INNER;
        Group own[3];
        if (works) {
            xz_z.push(xz + q + (RZ - 1) * Z);
            yz_z.push(yz + q + (RZ - 1) * Z);
            zz_z.push(zz + q + RZ * Z);
            const Row<0, 1> above(rho + q + Z);
            const Group north = load(rho + q + Y);
            EACH for (int c = 0; c < 3; ++c) own[c] = load(to[c] + q);
            const Forward xx_x(xx + q);
            const Backward xy_x(xy + q), xz_x(xz + q, xz_z.g[RZ]);
            const Rows xy_y(xy + q - R * Y, Y, R, xy_x.group()), yy_y(yy + q - (R - 1) * Y, Y, -1, north);
            const Rows yz_y(yz + q - R * Y, Y, R, yz_z.g[RZ]);
            Group change[3];
            EACH for (int n = 0; n < VEC; ++n) {
                change[0].a[n] = p.dt_h * buoyancy(here[n], here[n + 1]) * (fwd(xx_x + n, 1) + xy_y.difference(n) + xz_z.difference(n));
                change[1].a[n] = p.dt_h * buoyancy(here[n], north.a[n]) * (bwd(xy_x + n, 1) + yy_y.difference(n) + yz_z.difference(n));
                change[2].a[n] = p.dt_h * buoyancy(here[n], above[n]) * (bwd(xz_x + n, 1) + yz_y.difference(n) + zz_z.difference(n));
            }
            here = above;
            if (adjoint || in) advance<3>(to, q, own, change, shared[k & 1], adjoint, !adjoint && summed, i, limits);
        }
        if (summed) {
            Group so_far[3];  // loaded while the others of the block are waited for
            if (adjoint && in)
                EACH for (int c = 0; c < 3; ++c) so_far[c] = load(sums + c * p.field + q);
            __syncthreads();
            if (adjoint && in) {
                Group light = {};
                EACH for (int c = 0; c < 3; ++c) {
                    const Group e = shared[k & 1][c] HERE;
                    EACH for (int n = 0; n < VEC; ++n) {
                        if (LIGHT) light.a[n] += e.a[n] * e.a[n];
                        so_far[c].a[n] += own[c].a[n] * e.a[n];
                    }
                    store(sums + c * p.field + q, so_far[c], i, within);
                }
                if constexpr (LIGHT) add(sums + SUM_LIGHT * p.field + q, light, i, within);
            }
        }
    }
}

KERNEL_BOUNDS(BX * BY * 2, MIN_BLOCKS) backward_stress(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy, real* RESTRICT sxz, real* RESTRICT syz,
    real* RESTRICT txx, real* RESTRICT tyy, real* RESTRICT tzz, real* RESTRICT txy, real* RESTRICT txz, real* RESTRICT tyz, real* RESTRICT sums,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT ux, const real* RESTRICT uy, const real* RESTRICT uz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const int* RESTRICT step, const Box box, const BackParams p)
{
    __shared__ Group shared[2][6][BY][BX];
    BACKWARD_STREAM;
    real* const to[6] = {adjoint ? sxx : txx, adjoint ? syy : tyy, adjoint ? szz : tzz, adjoint ? sxy : txy, adjoint ? sxz : txz, adjoint ? syz : tyz};
    const real *x = adjoint ? vx : ux, *y = adjoint ? vy : uy, *z = adjoint ? vz : uz;
    Planes x_z(x + q - (RZ - 1) * Z, Z), y_z(y + q - (RZ - 1) * Z, Z), z_z(z + q - RZ * Z, Z);
    Row<0, 1> here(rmu + q), north(rmu + q + Y);
    for (int k = planes; k > 0; --k, q += Z) {
        const bool in = PLANE_IS_INNER;
        Group own[6];
        if (works) {
            x_z.push(x + q + RZ * Z);
            y_z.push(y + q + RZ * Z);
            z_z.push(z + q + (RZ - 1) * Z);
            const Row<0, 1> above(rmu + q + Z), above_north(rmu + q + Y + Z);
            const Group l = load(lam + q);
            EACH for (int c = 0; c < 6; ++c) own[c] = load(to[c] + q);
            const Backward x_x(x + q, x_z.g[RZ - 1]);
            const Forward y_x(y + q, y_z.g[RZ - 1]), z_x(z + q, z_z.g[RZ]);
            const Rows x_y(x + q - (R - 1) * Y, Y, R - 1, x_z.g[RZ - 1]), y_y(y + q - R * Y, Y, R, y_z.g[RZ - 1]);
            const Rows z_y(z + q - (R - 1) * Y, Y, R - 1, z_z.g[RZ]);
            Group change[6];
            EACH for (int n = 0; n < VEC; ++n) {
                const Normal s = isotropic({l.a[n], quotient(real(2), here[n])}, {bwd(x_x + n, 1), y_y.difference(n), z_z.difference(n)});
                change[0].a[n] = p.dt_h * s.xx;
                change[1].a[n] = p.dt_h * s.yy;
                change[2].a[n] = p.dt_h * s.zz;
                change[3].a[n] = p.dt_h * shear_modulus(here[n], here[n + 1], north[n], north[n + 1]) * (x_y.difference(n) + fwd(y_x + n, 1));
                change[4].a[n] = p.dt_h * shear_modulus(here[n], here[n + 1], above[n], above[n + 1]) * (x_z.difference(n) + fwd(z_x + n, 1));
                change[5].a[n] = p.dt_h * shear_modulus(here[n], north[n], above[n], above_north[n]) * (y_z.difference(n) + z_y.difference(n));
            }
            here = above;
            north = above_north;
            if (adjoint || in) advance<6>(to, q, own, change, shared[k & 1], adjoint, !adjoint && summed, i, limits);
        }
        if (summed) {
            __syncthreads();
            if (adjoint && in) {
                // loads at once: each would wait for the stores before it
                Group so_far[3], deviatoric = load(sums + SUM_DEVIATORIC * p.field + q), trace = load(sums + SUM_TRACE * p.field + q);
                EACH for (int c = 0; c < 3; ++c) so_far[c] = load(sums + (VELOCITIES + c) * p.field + q);
                const Group exx = shared[k & 1][0] HERE, eyy = shared[k & 1][1] HERE, ezz = shared[k & 1][2] HERE;
                EACH for (int n = 0; n < VEC; ++n)
                    sum_normal(&deviatoric.a[n], &trace.a[n], {own[0].a[n], own[1].a[n], own[2].a[n]}, {exx.a[n], eyy.a[n], ezz.a[n]}, false);
                store(sums + SUM_DEVIATORIC * p.field + q, deviatoric, i, within);
                store(sums + SUM_TRACE * p.field + q, trace, i, within);
                EACH for (int c = 0; c < 3; ++c) {
                    const Group e = shared[k & 1][3 + c] HERE;
                    EACH for (int n = 0; n < VEC; ++n) so_far[c].a[n] += own[3 + c].a[n] * e.a[n];
                    store(sums + (VELOCITIES + c) * p.field + q, so_far[c], i, within);
                }
            }
        }
    }
}
