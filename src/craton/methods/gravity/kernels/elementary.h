// Elementary functions that vectorise: no table, no branch, no library. Errors measured in tests/gravity/test_gravity.py against NumPy's long
// double: the logarithm errs by at most 2.5 ulp, the angle by 3.
//   root(a)             square root, 0 at 0; root_in_steps(a) the same where that saves a busy divider
//   quotient(a, b)      a / b
//   log_quotient(a, b, d)   ln(a / b) for a, b > 0 with d = a - b given to full precision: no digits lost where a is close to b
//   angle(y, x)         atan2(y, x) in [0, pi] for y >= 0
//   squares(x, y, z)    x^2 + y^2 + z^2, the same bits wherever it stands: no freedom to fuse
// Polynomials: Chebyshev fits (mpmath, 50 digits) of (2 atanh(s) - 2 s) / s^3 for |s| <= 1/5 and (atan(t) - t) / t^3 for |t| <= tan(pi/16),
// relative errors 6e-17 and 4e-17 with seven terms, 1e-8 with three.
#pragma once
#include "lanes.h"

#define DOUBLE (sizeof(real) == 8)

#if GPU_INSTRUCTIONS
BODY unsigned long long bits_of(double a) { return __double_as_longlong(a); }
BODY unsigned bits_of(float a) { return __float_as_uint(a); }
BODY double from_bits(unsigned long long a) { return __longlong_as_double(a); }
BODY float from_bits(unsigned a) { return __uint_as_float(a); }
BODY float root(float a)
{
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
BODY float quotient(float a, float b) { return __fdividef(a, b); }
BODY float inverse_root(float a) { return rsqrtf(a); }
// Seeds of 20 bits, one step of third order and a correction: less than 1 ulp, without the slow path for denormals.
BODY double inverse_root(double a)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    const double e = fma(-a * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}
BODY double root(double a)
{
    const double b = a > 1e-290 ? a : 1e-290, y = inverse_root(b), r = b * y;
    return a > 1e-290 ? fma(0.5 * y, fma(-r, r, b), r) : 0.0;
}
BODY double root_in_steps(double a) { return root(a); }
BODY float root_in_steps(float a) { return root(a); }
BODY double quotient(double a, double b)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    double e = fma(-b, y, 1.0);
    y = fma(y, fma(e, e, e), y);
    const double q = a * y;
    return fma(y, fma(-b, q, a), q);
}
#else
BODY unsigned long long bits_of(double a)
{
    unsigned long long b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}
BODY unsigned bits_of(float a)
{
    unsigned b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}
BODY double from_bits(unsigned long long a)
{
    double b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}
BODY float from_bits(unsigned a)
{
    float b;
    __builtin_memcpy(&b, &a, sizeof b);
    return b;
}
BODY double root(double a) { return __builtin_sqrt(a); }
BODY float root(float a) { return __builtin_sqrtf(a); }
// A guess from the bits, a step of fourth order, one of third, a correction: multiplications only. A CPU's divider is the slowest part
// of the closed form; sharing the roots out between both ways makes g_z 24 % quicker (AVX-512).
BODY double root_in_steps(double a)
{
    double y = from_bits(0x5fe6eb50c7b537a9ull - (bits_of(a) >> 1)), e = 1.0 - a * y * y;
    y += y * e * (0.5 + e * (0.375 + e * 0.3125));
    e = 1.0 - a * y * y;
    y += y * e * (0.5 + e * 0.375);
    const double r = a * y;
    return r + 0.5 * y * (a - r * r);
}
BODY float root_in_steps(float a) { return __builtin_sqrtf(a); }
BODY double quotient(double a, double b) { return a / b; }
BODY float quotient(float a, float b) { return a / b; }
BODY double inverse_root(double a) { return 1.0 / __builtin_sqrt(a); }
BODY float inverse_root(float a) { return 1.0f / __builtin_sqrtf(a); }
#endif

// a and b brought to a quotient in [2/3, 3/2] by 2^-k: the difference of the bit patterns is nearly the difference of logarithms.
struct Scaled64 { double a, k; };
struct Scaled32 { float a, k; };
BODY Scaled64 brought_near(double a, double b)
{
    const unsigned long long biased = (bits_of(a) - bits_of(b) + 0x8008000000000000ull) >> 52;  // k + 2048
    return {from_bits(bits_of(a) - (biased << 52) + 0x8000000000000000ull), from_bits(biased | 0x4330000000000000ull) - 4503599627372544.0};
}
BODY Scaled32 brought_near(float a, float b)
{
    const unsigned biased = (bits_of(a) - bits_of(b) + 0x80400000u) >> 23;  // k + 256
    return {from_bits(bits_of(a) - (biased << 23) + 0x80000000u), from_bits(biased | 0x4b000000u) - 8388864.0f};
}

BODY double atanh_tail(double w)
{
    return 0.666666666666669386 + w * (0.399999999993355553 + w * (0.285714288360455504 + w * (0.222221827766744816
         + w * (0.181846102462940646 + w * (0.152837037524031468 + w * 0.151184871087245714)))));
}
BODY float atanh_tail(float w) { return 0.666667137362013534f + w * (0.399789101079223194f + w * 0.299591967341648297f); }
BODY double atan_tail(double w)
{
    return -0.333333333333332346 + w * (0.199999999997561946 + w * (-0.142857141872728863 + w * (0.111110961782806664
         + w * (-0.0908982738683345293 + w * (0.0765187180322230223 + w * -0.059074814707369257)))));
}
BODY float atan_tail(float w) { return -0.333333126272702709f + w * (0.199905949470084887f + w * -0.136474258684196361f); }

#if GPU_INSTRUCTIONS
BODY real squares(real x, real y, real z) { return fma(x, x, fma(y, y, z * z)); }
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
BODY double squares(double x, double y, double z) { return __builtin_fma(x, x, __builtin_fma(y, y, z * z)); }
BODY float squares(float x, float y, float z) { return __builtin_fmaf(x, x, __builtin_fmaf(y, y, z * z)); }
#else
BODY real squares(real x, real y, real z) { return x * x + y * y + z * z; }
#endif

BODY real log_quotient(real a, real b, real d)
{
    const auto near = brought_near(a, b);
    const real exact = near.k == real(0) ? d : near.a - b, s = quotient(exact, near.a + b), w = s * s;
    return near.k * real(0.693147180559945309) + (s + s + s * w * atanh_tail(w));
}

BODY real angle(real y, real x)
{
    const real width = x < real(0) ? -x : x, high = y > width ? y : width, low = y > width ? width : y;
    const bool third = low > real(0.668178637919298920) * high, second = low > real(0.198912367379658007) * high;  // tan(3 pi/16), tan(pi/16)
    const real turn = third ? real(1) : second ? real(0.414213562373095049) : real(0);  // tan(pi/4), tan(pi/8)
    const real base = third ? real(0.785398163397448310) : second ? real(0.392699081698724155) : real(0);
    const real t = quotient(low - turn * high, high + turn * low), w = t * t;
    const real octant = base + (t + t * w * atan_tail(w));
    const real quadrant = y > width ? real(1.57079632679489662) - octant : octant;
    return x < real(0) ? real(3.14159265358979324) - quadrant : quadrant;
}
