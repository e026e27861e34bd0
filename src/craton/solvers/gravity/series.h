// The same fields far from the prism: multipole series of the box about its centre, to TOP = 2, 4 or 6.
//   V = rho v sum_n H_n(x) / r^(2n+1), n = 0, 2, .. TOP, where H_n is the harmonic part (Hobson's theorem) of the operator polynomial
//   (2n-1)!! sum_{i+j+k=n/2} a^2i b^2j c^2k x^2i y^2j z^2k / ((2i+1)! (2j+1)! (2k+1)!), half sides a b c.
// H_n is a polynomial h in X Y Z = x^2 y^2 z^2; all derivatives follow from h, its gradient and its Hessian in these variables.
#pragma once
#include "prism.h"

struct Quadratic { real xx, yy, zz, xy, xz, yz; };
struct Cubic { real xxx, yyy, zzz, xxy, xxz, xyy, yyz, xzz, yzz, xyz; };
struct Series { real x, y, z; Quadratic four; Cubic six; };  // coefficients of h for n = 2, 4, 6

BODY Quadratic order_four(real a, real b, real c)  // squares of the half sides
{
    const real x = a * a * real(0.1) + a * (b + c) * real(1. / 18), y = b * b * real(0.1) + b * (a + c) * real(1. / 18);  // Laplacian
    const real z = c * c * real(0.1) + c * (a + b) * real(1. / 18), s = (x + y + z) * real(0.75);
    const real p = real(105. / 120), q = real(105. / 36), h = real(7.5);
    return {p * a * a - h * x + s, p * b * b - h * y + s, p * c * c - h * z + s,
            q * a * b - h * (x + y) + (s + s), q * a * c - h * (x + z) + (s + s), q * b * c - h * (y + z) + (s + s)};
}

BODY Cubic order_six(real a, real b, real c)
{
    const real f = real(10395), p = f / 5040, q = f / 720, t = a * b * c * real(f / 108);
    const real xx = a * a * (a * real(f / 168) + (b + c) * real(f / 360)), yy = b * b * (b * real(f / 168) + (a + c) * real(f / 360));
    const real zz = c * c * (c * real(f / 168) + (a + b) * real(f / 360));  // Laplacian
    const real xy = a * b * (a + b) * real(f / 60) + t, xz = a * c * (a + c) * real(f / 60) + t, yz = b * c * (b + c) * real(f / 60) + t;
    const real g = real(1. / 792), u = real(1. / 22);
    const real x = g * (12 * xx + 2 * (xy + xz)), y = g * (12 * yy + 2 * (xy + yz)), z = g * (12 * zz + 2 * (xz + yz));  // its Laplacian
    const real s = (x + y + z) * real(2. * 792 / 33264);
    return {p * a * a * a - u * xx + x - s, p * b * b * b - u * yy + y - s, p * c * c * c - u * zz + z - s,
            q * a * a * b - u * (xx + xy) + (2 * x + y) - 3 * s, q * a * a * c - u * (xx + xz) + (2 * x + z) - 3 * s,
            q * a * b * b - u * (yy + xy) + (x + 2 * y) - 3 * s, q * b * b * c - u * (yy + yz) + (2 * y + z) - 3 * s,
            q * a * c * c - u * (zz + xz) + (x + 2 * z) - 3 * s, q * b * c * c - u * (zz + yz) + (y + 2 * z) - 3 * s,
            f / 216 * (a * b * c) - u * (xy + xz + yz) + 2 * (x + y + z) - 6 * s};
}

template <int TOP> BODY Series series_of(real dx, real dy, real dz)
{
    const real a = real(0.25) * dx * dx, b = real(0.25) * dy * dy, c = real(0.25) * dz * dz, mean = (a + b + c) * real(1. / 3);
    Series out = {real(0.5) * (a - mean), real(0.5) * (b - mean), real(0.5) * (c - mean), {}, {}};
    if constexpr (TOP >= 4) out.four = order_four(a, b, c);
    if constexpr (TOP >= 6) out.six = order_six(a, b, c);
    return out;
}

// x y z: centre of the prism minus point.
template <int TOP> BODY Values far_field(real x, real y, real z, real volume, const Series& m)
{
    const real r2 = x * x + y * y + z * z, ir = inverse_root(r2), e = ir * ir, X = x * x * e, Y = y * y * e, Z = z * z * e;
    real f = e * (m.x * X + m.y * Y + m.z * Z), sx = e * m.x, sy = e * m.y, sz = e * m.z;       // h, its gradient
    real w = 1 + f, w1 = 1 + 5 * f, w2 = 3 + 35 * f, kx = 5 * sx, ky = 5 * sy, kz = 5 * sz;     // with weights 1, 2n+1, (2n+1)(2n+3)
    real sxx = 0, syy = 0, szz = 0, sxy = 0, sxz = 0, syz = 0;                                  // Hessian
    if constexpr (TOP >= 4) {
        const real ee = e * e;
        const Quadratic& q = m.four;
        const real hx = ee * (2 * q.xx * X + q.xy * Y + q.xz * Z), hy = ee * (q.xy * X + 2 * q.yy * Y + q.yz * Z), hz = ee * (q.xz * X + q.yz * Y + 2 * q.zz * Z);
        f = real(0.5) * (hx * X + hy * Y + hz * Z);
        w += f, w1 += 9 * f, w2 += 99 * f, sx += hx, sy += hy, sz += hz, kx += 9 * hx, ky += 9 * hy, kz += 9 * hz;
        sxx = 2 * ee * q.xx, syy = 2 * ee * q.yy, szz = 2 * ee * q.zz, sxy = ee * q.xy, sxz = ee * q.xz, syz = ee * q.yz;
    }
    if constexpr (TOP >= 6) {
        const real eee = e * e * e;
        const Cubic& q = m.six;
        const real hxx = eee * (6 * q.xxx * X + 2 * q.xxy * Y + 2 * q.xxz * Z), hyy = eee * (2 * q.xyy * X + 6 * q.yyy * Y + 2 * q.yyz * Z);
        const real hzz = eee * (2 * q.xzz * X + 2 * q.yzz * Y + 6 * q.zzz * Z), hxy = eee * (2 * q.xxy * X + 2 * q.xyy * Y + q.xyz * Z);
        const real hxz = eee * (2 * q.xxz * X + q.xyz * Y + 2 * q.xzz * Z), hyz = eee * (q.xyz * X + 2 * q.yyz * Y + 2 * q.yzz * Z);
        const real hx = real(0.5) * (hxx * X + hxy * Y + hxz * Z), hy = real(0.5) * (hxy * X + hyy * Y + hyz * Z), hz = real(0.5) * (hxz * X + hyz * Y + hzz * Z);
        f = real(1. / 3) * (hx * X + hy * Y + hz * Z);
        w += f, w1 += 13 * f, w2 += 195 * f, sx += hx, sy += hy, sz += hz, kx += 13 * hx, ky += 13 * hy, kz += 13 * hz;
        sxx += hxx, syy += hyy, szz += hzz, sxy += hxy, sxz += hxz, syz += hyz;
    }
    const real v = volume * ir, g = v * e, t = g * e;
    const real gx = w1 - 2 * sx, gy = w1 - 2 * sy, gz = w1 - 2 * sz;
    // What is not asked for is not computed: the compiler sees that nobody reads it.
    return {v * w, g * gx * x, g * gy * y, -g * gz * z,
            t * x * x * (4 * (sxx - kx) + w2) - g * gx, t * y * y * (4 * (syy - ky) + w2) - g * gy, t * z * z * (4 * (szz - kz) + w2) - g * gz,
            t * x * y * (4 * sxy - 2 * (kx + ky) + w2), -t * x * z * (4 * sxz - 2 * (kx + kz) + w2), -t * y * z * (4 * syz - 2 * (ky + kz) + w2)};
}
