// Sums of gradients by the parameters of the points, rho, mu and lambda, in place of one for each field (backward.h). With a an adjoint field,
// e the increment of the forward one, H the norm of the plane (1 but below a free surface) and n normal stresses of a point,
//   density   G_rho += sum over v of the mean of H a e over the two places of v beside the point
//   moduli    G_mu  += sum over shear stresses of the mean of H a e over the four places around the point + H/2 sum (a - tr a / n) (e - tr e / n)
//             G_lam += H tr a tr e / n            of the normal stresses at the point
// for a step n, counted from p.last downwards, that p.every divides. Increments are computed once more from the field that they come from, so that
// no product has to be kept; a place counts where it lies in the inner box. LIGHT = 1: the squared increments of velocities as well.
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
INLINE Share share(const int n, const int first, const int end, const int last)
{
    const real here = n < end ? real(1) : real(0);
    return {here, n == last ? here : here / 2, n >= first ? real(0.5) : real(0)};
}

// What lies beyond the inner box may hold anything.
INLINE real part(const real share, const real product) { return share > 0 ? share * product : real(0); }

#define SHARES                                                                                                      \
    const int depth = p.top - k;                                                                                    \
    const Share sx = share(i, p.first_i, p.i1, p.last_i), sz = share(k, p.first_k, p.k1, p.last_k);                 \
    [[maybe_unused]] const Share sy = PLANE ? Share{1, 1, 0} : share(j, p.first_j, p.j1, p.last_j);                 \
    const real inside = sx.here * sy.here * sz.here, hp = norm(depth);                                              \
    [[maybe_unused]] const real hm = half_norm(depth), hm_before = half_norm(depth + 1);                            \
    [[maybe_unused]] const ptrdiff_t BX = p.back_i * X, BY = p.back_j * Y, BZ = p.back_k * Z;                       \
    [[maybe_unused]] const ptrdiff_t MBY = p.back_j * MY, MBZ = p.back_k * MZ

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
                return p.dt_h * buoyancy(rho + m, X) * force;
            };
            const auto z = [=](const ptrdiff_t q, const ptrdiff_t m, const int depth) {
                const real force = ACOUSTIC ? fwd_z(txx + q, Z, depth) : bwd(txz + q, X) + bwd_y(tyz + q, Y) + fwd_z(tzz + q, Z, depth);
                return p.dt_h * buoyancy(rho + m, MZ) * force;
            };
            const real ex = x(q, m), ez = z(q, m, depth);
            sum += hp * (part(sx.own * sy.here * sz.here, vx[q] * ex) + part(sx.before * sy.here * sz.here, vx[q - BX] * x(q - BX, m - BX)));
            sum += hm * part(sx.here * sy.here * sz.own, vz[q] * ez);
            sum += hm_before * part(sx.here * sy.here * sz.before, vz[q - BZ] * z(q - BZ, m - MBZ, depth + 1));
            if constexpr (LIGHT) light += ex * ex + ez * ez;
        }
        if constexpr (SH) {
            const auto y = [=](const ptrdiff_t q, const ptrdiff_t m) {
                const real force = ACOUSTIC ? fwd_y(txx + q, Y) : bwd(txy + q, X) + fwd_y(tyy + q, Y) + bwd_z(tyz + q, Z, depth);
                return p.dt_h * buoyancy(rho + m, MY) * force;
            };
            const real ey = y(q, m);
            sum += hp * part(sx.here * sy.own * sz.here, vy[q] * ey);
            if constexpr (!PLANE) sum += hp * part(sx.here * sy.before * sz.here, vy[q - BY] * y(q - BY, m - MBY));
            if constexpr (LIGHT) light += ey * ey;
        }
        sums[q] += sum;
        if constexpr (LIGHT) sums[PARAMETER_LIGHT * p.field + q] += part(inside, light);
    }
}

// Sum over the places around a point of a field half-way along two axes, of shares s and t; B and C lead a point back, in the material MB and MC.
// A product is told whether its place lies before the point along the second axis.
template <class Product>
INLINE real around(const Product product, const ptrdiff_t q, const ptrdiff_t m, const Share s, const ptrdiff_t B, const ptrdiff_t MB,
                   const Share t, const ptrdiff_t C, const ptrdiff_t MC)
{
    return part(s.own * t.own, product(q, m, false)) + part(s.before * t.own, product(q - B, m - MB, false)) +
           part(s.own * t.before, product(q - C, m - MC, true)) + part(s.before * t.before, product(q - B - C, m - MB - MC, true));
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
                const real e = free ? real(0) : p.dt_h * (lam[m] * (strain.xx + strain.yy + strain.zz));
                sum_normal(&deviatoric, &trace, {sxx[q], 0, 0}, {e, 0, 0}, free);
            } else {
                const Normal e = isotropic({lam[m], 2 / rmu[m]}, strain);
                sum_normal(&deviatoric, &trace, {sxx[q], PLANE ? real(0) : syy[q], szz[q]},
                           {p.dt_h * e.xx, PLANE ? real(0) : p.dt_h * e.yy, free ? real(0) : p.dt_h * e.zz}, free);
                const auto xz = [=](const ptrdiff_t q, const ptrdiff_t m, const bool below) {
                    const int d = depth + below;
                    const real e = p.dt_h * shear_modulus(rmu + m, X, MZ) * (fwd_z(ux + q, Z, d) + fwd(uz + q, X));
                    return (below ? hm_before : hm) * sxz[q] * e;
                };
                mu += part(inside, hp * deviatoric) / 2 + part(sy.here, around(xz, q, m, sx, BX, BX, sz, BZ, MBZ));
            }
            trace = part(inside, hp * trace);
        }
        if constexpr (SH && !ACOUSTIC) {
            const auto xy = [=](const ptrdiff_t q, const ptrdiff_t m, bool) {
                return sxy[q] * (p.dt_h * shear_modulus(rmu + m, X, MY) * (fwd_y(ux + q, Y) + fwd(uy + q, X)));
            };
            const auto yz = [=](const ptrdiff_t q, const ptrdiff_t m, const bool below) {
                const int d = depth + below;
                const real e = p.dt_h * shear_modulus(rmu + m, MY, MZ) * (fwd_z(uy + q, Z, d) + fwd_y(uz + q, Y));
                return (below ? hm_before : hm) * syz[q] * e;
            };
            mu += part(sz.here * hp, around(xy, q, m, sx, BX, BX, sy, BY, MBY)) + part(sx.here, around(yz, q, m, sy, BY, MBY, sz, BZ, MBZ));
        }
        if constexpr (!ACOUSTIC) sums[PARAMETER_MU * p.field + q] += mu;
        if constexpr (PSV) sums[PARAMETER_LAMBDA * p.field + q] += trace;
    }
}
