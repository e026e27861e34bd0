// Sums of gradients by the parameters of the points, rho, mu and lambda, in place of one for each field (backward.h). With a an adjoint field,
// e the increment of the forward one, H the norm of the plane (1 but below a free surface) and n normal stresses of a point,
//   density   G_rho += sum over v of the mean of H a e over the two places of v beside the point
//   moduli    G_mu  += sum over shear stresses of the mean of H a e over the four places around the point + H/2 sum (a - tr a / n) (e - tr e / n)
//             G_lam += H tr a tr e / n            of the normal stresses at the point
// for a step n, counted from p.last downwards, that p.every divides. Increments are computed once more from the field that they come from, so that
// no product has to be kept; a place counts where it lies in the inner box (elsewhere the forward field is as its last state was). LIGHT = 1: the squared increments of velocities as well.
// layout  vx .. syz the adjoint field, ux .. tyz the forward one, as in elastic.h (acoustic waves have sxx alone, s of acoustic.h); sums[.],
//         p.field reals apart, each as a field: of rho, mu (none in acoustic waves) and lambda, squares
// where   sums at integer points; a place of a field half-way along an axis lies between this point and the next one; reach R beyond the point
//         and the point before it, p.back_. points back: 1, or to the other end of a periodic axis
#include "sums.h"

constexpr int PARAMETER_MU = 1, PARAMETER_LAMBDA = ACOUSTIC ? 1 : 2, PARAMETER_LIGHT = PARAMETER_LAMBDA + 1;

#if SURFACE
// Norms of the integer plane `depth` and of the half plane above the integer plane `depth` (closure.py).
INLINE real norm(const int depth) { TABLE hp[ROWS] = NORM_WHOLE; return depth < ROWS ? hp[depth] : real(1); }
INLINE real half_norm(const int depth) { TABLE hm[ROWS] = NORM_HALF; return depth > 0 && depth <= ROWS ? hm[depth - 1] : real(1); }
#else
INLINE real norm(const int) { return 1; }
INLINE real half_norm(const int) { return 1; }
#endif

// Of a point along an axis: 1 where its own place counts, else 0; what the point has of its own place and of the place before it.
struct Share { real here, own, before; };

// n a point, from `first` on a place before it counts, places before `end` do; the place behind the last point of an axis is of that point alone.
ALWAYS_INLINE Share share(const int n, const int first, const int end, const int last)
{
    const real here = n < end;  // numbers, no branches: else the CPU's loop is not vectorised
    return {here, here * (1 + (n == last)) / 2, real(n >= first) / 2};
}

// Along y: nothing depends on it in the (x, z) plane.
ALWAYS_INLINE Share share_y(const int n, const int first, const int end, const int last)
{
    if constexpr (PLANE) return {1, 1, 0};
    return share(n, first, end, last);
}

// sz of integer planes, hz of half planes with their norms. Functions of places hold little: else the CPU's loop is not vectorised.
#define SHARES                                                                                                      \
    const int depth = p.top - k;                                                                                    \
    const Share sx = share(i, p.first_i, p.i1, p.last_i), sz = share(k, p.first_k, p.k1, p.last_k);                 \
    [[maybe_unused]] const Share sy = share_y(j, p.first_j, p.j1, p.last_j);                                        \
    [[maybe_unused]] const Share hz = {sz.here, half_norm(depth) * sz.own, half_norm(depth + 1) * sz.before};       \
    [[maybe_unused]] const real flat = norm(depth) * sz.here, inside = sx.here * sy.here * sz.here;                 \
    [[maybe_unused]] const ptrdiff_t BX = p.back_i * X, BZ = p.back_k * Z, MBZ = p.back_k * MZ;                     \
    /* the plane has no place before it along y: what has no share is read there all the same */                    \
    [[maybe_unused]] const ptrdiff_t BY = PLANE ? 0 : p.back_j * Y, MBY = PLANE ? 0 : p.back_j * MY

KERNEL sum_density(
    real* RESTRICT sums, const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT txx, const real* RESTRICT tyy, const real* RESTRICT tzz,
    const real* RESTRICT txy, const real* RESTRICT txz, const real* RESTRICT tyz,
    const real* RESTRICT rho, const int* RESTRICT step, const Box box, const SumParams p)
{
    if ((p.last - step[0]) % p.every) return;
    FOR_EACH_POINT(box)
    {
        POINT;
        SHARES;
        real sum = 0;
        [[maybe_unused]] real light = 0;
        if constexpr (PSV) {
            const auto x = [=](const ptrdiff_t q, const ptrdiff_t m) {
                const real force = ACOUSTIC ? fwd(txx + q, X) : fwd(txx + q, X) + bwd_y(txy + q, Y) + bwd_z(txz + q, Z, depth);
                return buoyancy(rho + m, X) * force;
            };
            const auto z = [=](const ptrdiff_t q, const ptrdiff_t m, const int depth) {
                const real force = ACOUSTIC ? fwd_z(txx + q, Z, depth) : bwd(txz + q, X) + bwd_y(tyz + q, Y) + fwd_z(tzz + q, Z, depth);
                return buoyancy(rho + m, MZ) * force;
            };
            const real ex = x(q, m), ez = z(q, m, depth);
            sum += flat * sy.here * (sx.own * vx[q] * ex + sx.before * vx[q - BX] * x(q - BX, m - BX));
            sum += sx.here * sy.here * (hz.own * vz[q] * ez + hz.before * vz[q - BZ] * z(q - BZ, m - MBZ, depth + 1));
            if constexpr (LIGHT) light += ex * ex + ez * ez;
        }
        if constexpr (SH) {
            const auto y = [=](const ptrdiff_t q, const ptrdiff_t m) {
                const real force = ACOUSTIC ? fwd_y(txx + q, Y) : bwd(txy + q, X) + fwd_y(tyy + q, Y) + bwd_z(tyz + q, Z, depth);
                return buoyancy(rho + m, MY) * force;
            };
            const real ey = y(q, m);
            sum += flat * sx.here * sy.own * vy[q] * ey;
            if constexpr (!PLANE) sum += flat * sx.here * sy.before * vy[q - BY] * y(q - BY, m - MBY);
            if constexpr (LIGHT) light += ey * ey;
        }
        sums[q] += p.dt_h * sum;
        if constexpr (LIGHT) sums[PARAMETER_LIGHT * p.field + q] += inside * p.dt_h * p.dt_h * light;
    }
}

// Sum over the places around a point of a field half-way along two axes, of shares s and t; B and C lead a point back, in the material MB and MC.
// A product is told by how many points its place lies before the point along the second axis.
template <class Product>
ALWAYS_INLINE real around(const Product product, const ptrdiff_t q, const ptrdiff_t m, const Share s, const ptrdiff_t B, const ptrdiff_t MB,
                          const Share t, const ptrdiff_t C, const ptrdiff_t MC)
{
    return t.own * (s.own * product(q, m, 0) + s.before * product(q - B, m - MB, 0)) +
           t.before * (s.own * product(q - C, m - MC, 1) + s.before * product(q - B - C, m - MB - MC, 1));
}

KERNEL sum_moduli(
    real* RESTRICT sums, const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT sxy, const real* RESTRICT sxz, const real* RESTRICT syz,
    const real* RESTRICT ux, const real* RESTRICT uy, const real* RESTRICT uz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const int* RESTRICT step, const Box box, const SumParams p)
{
    if ((p.last - step[0]) % p.every) return;
    FOR_EACH_POINT(box)
    {
        POINT;
        SHARES;
        real mu = 0, trace = 0;
        if constexpr (PSV) {
            const bool free = SURFACE && depth == 0;
            const Normal strain = {bwd(ux + q, X), bwd_y(uy + q, Y), free ? real(0) : bwd_z(uz + q, Z, depth)};
            real deviatoric = 0;
            if constexpr (ACOUSTIC) {
                const real e = free ? real(0) : lam[m] * (strain.xx + strain.yy + strain.zz);
                add_normal(&deviatoric, &trace, {sxx[q], 0, 0}, {e, 0, 0}, free);
            } else {
                const Normal e = isotropic({lam[m], 2 / rmu[m]}, strain), s = {sxx[q], PLANE ? real(0) : syy[q], szz[q]};
                add_normal(&deviatoric, &trace, s, {e.xx, PLANE ? real(0) : e.yy, free ? real(0) : e.zz}, free);
                const auto xz = [=](const ptrdiff_t q, const ptrdiff_t m, const int below) {
                    return sxz[q] * (shear_modulus(rmu + m, X, MZ) * (fwd_z(ux + q, Z, depth + below) + fwd(uz + q, X)));
                };
                mu += flat * sx.here * sy.here * deviatoric / 2 + sy.here * around(xz, q, m, sx, BX, BX, hz, BZ, MBZ);
            }
            trace *= flat * sx.here * sy.here;
        }
        if constexpr (SH && !ACOUSTIC) {
            const auto xy = [=](const ptrdiff_t q, const ptrdiff_t m, int) {
                return sxy[q] * (shear_modulus(rmu + m, X, MY) * (fwd_y(ux + q, Y) + fwd(uy + q, X)));
            };
            const auto yz = [=](const ptrdiff_t q, const ptrdiff_t m, const int below) {
                return syz[q] * (shear_modulus(rmu + m, MY, MZ) * (fwd_z(uy + q, Z, depth + below) + fwd_y(uz + q, Y)));
            };
            mu += flat * around(xy, q, m, sx, BX, BX, sy, BY, MBY) + sx.here * around(yz, q, m, sy, BY, MBY, hz, BZ, MBZ);
        }
        if constexpr (!ACOUSTIC) sums[PARAMETER_MU * p.field + q] += p.dt_h * mu;
        if constexpr (PSV) sums[PARAMETER_LAMBDA * p.field + q] += p.dt_h * trace;
    }
}
