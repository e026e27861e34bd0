// What fields and material are kept as: reals, or with HALF = 1 16 bits; arithmetic is in reals.
//   field_t     of fields: IEEE half precision, rounded to nearest (to even); beyond 65504 infinite
//   material_t  of material: a number n that stands for the real with the bits base + n step. Bits of positive reals grow with their
//               logarithm, a straight line in each octave: the relative error is below step / 2^24, wherever the value lies
// `base` and `step` of each parameter are scalars of the kernel; MATERIAL(rho) is what it reads `rho` through.
#pragma once
#include "machine.h"
#ifndef HALF
#define HALF 0
#endif
#if HALF
#if GPU_INSTRUCTIONS
INLINE real widened(const unsigned short bits)
{
    real value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
INLINE unsigned short narrowed(const real value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
INLINE real real_of_bits(const int bits) { return __int_as_float(bits); }
#else
// In operations that compilers turn into vectors, where the processor has none for one value.
INLINE real real_of_bits(const int bits) { return __builtin_bit_cast(real, bits); }
INLINE int bits_of_real(const real value) { return __builtin_bit_cast(int, value); }
INLINE real widened(const unsigned short bits)
{
    const int magnitude = bits & 0x7fff;
    const real normal = real_of_bits((magnitude << 13) + (112 << 23)), subnormal = real(magnitude) * real(0x1p-24);
    const real infinite = real_of_bits((magnitude << 13) + (224 << 23));
    const real value = magnitude < 0x400 ? subnormal : magnitude < 0x7c00 ? normal : infinite;
    return bits & 0x8000 ? -value : value;
}
INLINE unsigned short narrowed(const real value)
{
    const int all = bits_of_real(value), magnitude = all & 0x7fffffff;
    const int normal = (magnitude - (112 << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    const int subnormal = bits_of_real(real_of_bits(magnitude) + real(0.5)) - (126 << 23);
    const int finite = magnitude < (113 << 23) ? subnormal : normal;
    const int bits = magnitude > 0x7f800000 ? 0x7e00 : finite < 0x7c00 && magnitude < (143 << 23) ? finite : 0x7c00;
    return (unsigned short)(bits | ((all >> 16) & 0x8000));
}
#endif

struct field_t {
    unsigned short bits;
    MEMBER operator real() const { return widened(bits); }
    MEMBER field_t& operator=(const real value)
    {
        bits = narrowed(value);
        return *this;
    }
    MEMBER field_t& operator+=(const real value) { return *this = widened(bits) + value; }
    MEMBER field_t& operator-=(const real value) { return *this = widened(bits) - value; }
};

typedef unsigned short material_t;
struct Material {
    const material_t* codes;
    int base, step;
    MEMBER real of(const material_t code) const { return real_of_bits(base + step * code); }
    MEMBER real operator[](const ptrdiff_t n) const { return of(codes[n]); }
    MEMBER Material operator+(const ptrdiff_t n) const { return {codes + n, base, step}; }
    MEMBER Material operator-(const ptrdiff_t n) const { return {codes - n, base, step}; }
};
#define MATERIAL(name) {name, p.name##_base, p.name##_step}
#else
typedef real field_t;
typedef real material_t;
typedef const real* Material;
#define MATERIAL(name) name
#endif
