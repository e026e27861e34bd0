// Attraction of prisms by the nodes that they share, every node once.
//   attract_nodes   partial[part][field][point] = sum over nodes first[part] .. first[part + 1] of C f(node - point), over G; fields in the
//                   order of enum Field, those in FIELDS; points[coordinate][point]
//   nodes[node][4]  x y z, C: mixed third difference of density, the sum over all prisms with a corner there of rho times 1 for their
//                   eastern, northern, upper side and -1 for their western, southern, lower one; for cells of equal density C = 0
// Corner form (Nagy et al. 2000) with x y z = node - point and A_z = asinh(z / sqrt(x2 + y2)) in place of ln(z + r): they differ by a function
// of x and y alone, which the differences along z remove; A is odd and of the order of 1, so half the digits lost to ln are kept.
//   V_xx = -sum C T_x,  V_xy = sum C A_z,  g_x = -sum C (y A_z + z A_y - x T_x),  T_x = atan(y z / (x r))
//   V = sum C (x y A_z + y z A_x + z x A_y - (x2 T_x + y2 T_y + z2 T_z) / 2)
// Squares are softened by (1e-12 m)^2: on the line of an edge the infinite parts of A cancel among the nodes of that line instead of
// becoming nan. Points on a face or an edge itself need the rules of prism.h for gradients; vertex.py keeps them away from here.
#pragma once
#include "pairs.h"

#define SOFT real(1e-24)

BODY real asinh_of(real t, real r, real across)  // asinh(t / sqrt(across)), r2 = t2 + across
{
    const real s = t < real(0) ? -t : t, sum = r + s, half = real(0.5) * log_quotient(sum * sum, across, (s + s) * sum);
    return t < real(0) ? -half : half;
}
BODY real atan_of(real uv, real h, real r)  // atan(uv / (h r))
{
    const real y = uv < real(0) ? -uv : uv, x = h < real(0) ? -h : h, turned = angle(y, x * r + real(1e-290));
    return (uv < real(0)) != (h < real(0)) ? -turned : turned;
}

BODY Values corner(real x, real y, real z)
{
    constexpr bool V = WANTS(POTENTIAL), E = WANTS(G_E), N = WANTS(G_N), Z = WANTS(G_Z);
    const real xx = x * x, yy = y * y, zz = z * z, r = root(xx + yy + zz + SOFT);
    Values out = none();
    if constexpr (V || E || N || WANTS(G_EN)) {
        const real a = asinh_of(z, r, xx + yy + SOFT);
        out.en = a, out.e -= y * a, out.n -= x * a, out.potential += x * y * a;
    }
    if constexpr (V || E || Z || WANTS(G_EZ)) {
        const real a = asinh_of(y, r, xx + zz + SOFT);
        out.ez = -a, out.e -= z * a, out.z += x * a, out.potential += x * z * a;
    }
    if constexpr (V || N || Z || WANTS(G_NZ)) {
        const real a = asinh_of(x, r, yy + zz + SOFT);
        out.nz = -a, out.n -= z * a, out.z += y * a, out.potential += y * z * a;
    }
    if constexpr (V || E || WANTS(G_EE)) {
        const real t = atan_of(y * z, x, r);
        out.ee = -t, out.e += x * t, out.potential -= real(0.5) * xx * t;
    }
    if constexpr (V || N || WANTS(G_NN)) {
        const real t = atan_of(x * z, y, r);
        out.nn = -t, out.n += y * t, out.potential -= real(0.5) * yy * t;
    }
    if constexpr (V || Z || WANTS(G_ZZ)) {
        const real t = atan_of(x * y, z, r);
        out.zz = -t, out.z -= z * t, out.potential -= real(0.5) * zz * t;
    }
    return out;
}

KERNEL attract_nodes(
    double* RESTRICT partial, const real* RESTRICT points, const real* RESTRICT nodes, const int* RESTRICT first, const Box box,
    const AttractParams p)
{
    FOR_EACH_GROUP(box)
    {
        LANE_ARRAY(real, sum, FIELD_COUNT);
        LANE_ARRAY(real, point, COORDINATES);
        for (int c = 0; c < COORDINATES; ++c) EACH_LANE AT(point, c) = points[c * p.stride + (ptrdiff_t)j * LANES + i];
        for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE AT(sum, f) = 0;
        for (int n = first[k]; n < first[k + 1]; ++n) {
            const real* q = nodes + 4 * (ptrdiff_t)n;
            const real x = q[0], y = q[1], z = q[2], weight = q[3];
            EACH_LANE add(sum LANE, corner(x - AT(point, 0), y - AT(point, 1), z - AT(point, 2)), weight, true);
        }
        for (int f = 0; f < FIELD_COUNT; ++f)
            EACH_LANE partial[((ptrdiff_t)k * FIELD_COUNT + f) * p.stride + (ptrdiff_t)j * LANES + i] = AT(sum, f);
    }
}
