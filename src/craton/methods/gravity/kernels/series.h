// The same fields far from the prism: multipole series of the box about its centre, to TOP = 2, 4 or 6.
//   V = rho v sum_n H_n(x) / r^(2n+1), n = 0, 2, .. TOP, where H_n is the harmonic part (Hobson's theorem) of the operator polynomial
//   (2n-1)!! sum_{i+j+k=n/2} a^2i b^2j c^2k x^2i y^2j z^2k / ((2i+1)! (2j+1)! (2k+1)!), half sides a b c.
// H_n is a polynomial h in X Y Z = x^2 y^2 z^2; all derivatives follow from h, its gradient and its Hessian in these variables.
#pragma once
#include "prism.h"

struct Quadratic { real xx, yy, zz, xy, xz, yz; };
struct Cubic { real xxx, yyy, zzz, xxy, xxz, xyy, yyz, xzz, yzz, xyz; };

// x y z: centre of the prism minus point, r2 their squares; mass: density times volume; (mx, my, mz), q, c: coefficients of h for n = 2, 4, 6.
template <int TOP>
BODY Values far_field(real x, real y, real z, real r2, real mass, real mx, real my, real mz, const Quadratic& q, const Cubic& c)
{
    const real ir = inverse_root(r2), e = ir * ir, xx = x * x, yy = y * y, zz = z * z;
    real sx = e * mx, sy = e * my, sz = e * mz, f = e * (sx * xx + sy * yy + sz * zz);                     // gradient of h, h
    real w = 1 + f, w1 = 1 + 5 * f, w2 = real(1.5) + real(17.5) * f, kx = 10 * sx, ky = 10 * sy, kz = 10 * sz;  // 1, 2n+1, (2n+1)(2n+3)/2; 2(2n+1)
    real sxx = 0, syy = 0, szz = 0, sxy = 0, sxz = 0, syz = 0;                                             // Hessian
    if constexpr (TOP >= 4) {
        const real ee = e * e, X = xx * e, Y = yy * e, Z = zz * e;
        const real hx = ee * (2 * q.xx * X + q.xy * Y + q.xz * Z), hy = ee * (q.xy * X + 2 * q.yy * Y + q.yz * Z), hz = ee * (q.xz * X + q.yz * Y + 2 * q.zz * Z);
        f = real(0.5) * (hx * X + hy * Y + hz * Z);
        w += f, w1 += 9 * f, w2 += real(49.5) * f, sx += hx, sy += hy, sz += hz, kx += 18 * hx, ky += 18 * hy, kz += 18 * hz;
        sxx = 2 * ee * q.xx, syy = 2 * ee * q.yy, szz = 2 * ee * q.zz, sxy = ee * q.xy, sxz = ee * q.xz, syz = ee * q.yz;
    }
    if constexpr (TOP >= 6) {
        const real eee = e * e * e, X = xx * e, Y = yy * e, Z = zz * e;
        const real hxx = eee * (6 * c.xxx * X + 2 * c.xxy * Y + 2 * c.xxz * Z), hyy = eee * (2 * c.xyy * X + 6 * c.yyy * Y + 2 * c.yyz * Z);
        const real hzz = eee * (2 * c.xzz * X + 2 * c.yzz * Y + 6 * c.zzz * Z), hxy = eee * (2 * c.xxy * X + 2 * c.xyy * Y + c.xyz * Z);
        const real hxz = eee * (2 * c.xxz * X + c.xyz * Y + 2 * c.xzz * Z), hyz = eee * (c.xyz * X + 2 * c.yyz * Y + 2 * c.yzz * Z);
        const real hx = real(0.5) * (hxx * X + hxy * Y + hxz * Z), hy = real(0.5) * (hxy * X + hyy * Y + hyz * Z), hz = real(0.5) * (hxz * X + hyz * Y + hzz * Z);
        f = real(1. / 3) * (hx * X + hy * Y + hz * Z);
        w += f, w1 += 13 * f, w2 += real(97.5) * f, sx += hx, sy += hy, sz += hz, kx += 26 * hx, ky += 26 * hy, kz += 26 * hz;
        sxx += hxx, syy += hyy, szz += hzz, sxy += hxy, sxz += hxz, syz += hyz;
    }
    const real v = mass * ir, g = v * e, t = g * e, tx = t * x, ty = t * y, tz = t * z;
    const real gx = g * (w1 - 2 * sx), gy = g * (w1 - 2 * sy), gz = g * (w1 - 2 * sz), hx = w2 - kx, hy = w2 - ky, hz = w2 - kz;
    // What is not asked for is not computed: the compiler sees that nobody reads it.
    Values out = {v * w, gx * x, gy * y, -gz * z, tx * x * (hx + hx) - gx, ty * y * (hy + hy) - gy, tz * z * (hz + hz) - gz,
                  tx * y * (hx + hy), -tx * z * (hx + hz), -ty * z * (hy + hz)};
    if constexpr (TOP >= 4) {
        out.ee += 4 * sxx * (tx * x), out.nn += 4 * syy * (ty * y), out.zz += 4 * szz * (tz * z);
        out.en += 4 * sxy * (tx * y), out.ez -= 4 * sxz * (tx * z), out.nz -= 4 * syz * (ty * z);
    }
    return out;
}
