// The same fields far from the prism: multipole series of the box about its centre, orders 2, 4, 6 (ORDER).
//   V = rho v sum_n H_n(x) / r^(2n+1), n = 0, 2, .. ORDER, where H_n is the harmonic part (Hobson's theorem) of the operator polynomial
//   (2n-1)!! sum_{i+j+k=n/2} a^2i b^2j c^2k x^2i y^2j z^2k / ((2i+1)! (2j+1)! (2k+1)!), half sides a b c.
// H_n is a polynomial h in X Y Z = x^2 y^2 z^2; all derivatives follow from h, its gradient and its Hessian in these variables.
#pragma once
#include "prism.h"

struct Quadratic { real xx, yy, zz, xy, xz, yz; };
struct Cubic { real xxx, yyy, zzz, xxy, xxz, xyy, yyz, xzz, yzz, xyz; };
struct Series { real x, y, z; Quadratic four; Cubic six; };  // coefficients of h for n = 2, 4, 6

BODY Quadratic order_four(real a, real b, real c)  // squares of the half sides
{
    const real lx = a * a * real(0.1) + a * (b + c) * real(1. / 18), ly = b * b * real(0.1) + b * (a + c) * real(1. / 18);
    const real lz = c * c * real(0.1) + c * (a + b) * real(1. / 18), s = (lx + ly + lz) * real(0.75);  // 105 / 140
    const real h = real(7.5), d = real(0.5) * s;  // 105 / 14
    return {a * a * real(0.875) - h * lx + d, b * b * real(0.875) - h * ly + d, c * c * real(0.875) - h * lz + d,
            a * b * real(105. / 36) - h * (lx + ly) + s + d - d + s - s + real(0), a * c * real(105. / 36) - h * (lx + lz) + s, b * c * real(105. / 36) - h * (ly + lz) + s};
}
