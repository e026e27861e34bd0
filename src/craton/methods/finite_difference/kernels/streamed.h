// What streamed texts share: groups of VEC points, rows and queues of planes of them, averaged moduli without IEEE division.
// layout  as in elastic.h; (0, 0, 0) and rows aligned to VEC reals; whole groups of VEC are read, in the pads too
#include "differences.h"

#define KERNEL_BOUNDS(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define EACH _Pragma("unroll")

struct alignas(VEC * sizeof(real)) Group { real a[VEC]; };

INLINE Group load(const real* p) { return *reinterpret_cast<const Group*>(p); }

// Stores the members that lie in [i0, i1); the first one is point i.
INLINE void store(real* p, const Group& g, const int i, const Box& box)
{
    if (i >= box.i0 && i + VEC <= box.i1) *reinterpret_cast<Group*>(p) = g;
    else
        EACH for (int n = 0; n < VEC; ++n) if (i + n >= box.i0 && i + n < box.i1) p[n] = g.a[n];
}

// LOW neighbours, a group, HIGH neighbours along x.
template <int LOW, int HIGH> struct Row {
    real a[LOW + VEC + HIGH];

    // The row around p; `centre` are the values at p where they are at hand.
    INLINE Row(const real* p) : Row(p, load(p)) {}
    INLINE Row(const real* p, const Group& centre)
    {
        EACH for (int v = -((LOW + VEC - 1) / VEC); v * VEC < VEC + HIGH; ++v) {
            const Group g = v ? load(p + v * VEC) : centre;
            EACH for (int n = 0; n < VEC; ++n) if (LOW + v * VEC + n >= 0 && v * VEC + n < VEC + HIGH) a[LOW + v * VEC + n] = g.a[n];
        }
    }
    INLINE real operator[](const int n) const { return a[LOW + n]; }
    INLINE const real* operator+(const int n) const { return a + LOW + n; }
    INLINE Group group() const
    {
        Group g;
        EACH for (int n = 0; n < VEC; ++n) g.a[n] = a[LOW + n];
        return g;
    }
};
typedef Row<R - 1, R> Forward;   // taps of the difference half a point after
typedef Row<R, R - 1> Backward;  // and half a point before

// The taps of a difference across rows or (UP) planes, the lowest one first.
template <bool UP> struct Taps {
    static constexpr int N = UP ? RZ : R;
    Group g[2 * N];

    // Rows from p on with stride S; row number `known` is at hand.
    INLINE Taps(const real* p, const ptrdiff_t S, const int known, const Group& values)
    {
        EACH for (int n = 0; n < 2 * N; ++n) g[n] = n == known ? values : load(p + n * S);
    }
    // A queue of planes: all but the newest.
    INLINE Taps(const real* p, const ptrdiff_t S)
    {
        EACH for (int n = 1; n < 2 * N; ++n) g[n] = load(p + (n - 1) * S);
    }
    INLINE void push(const real* p)
    {
        EACH for (int n = 1; n < 2 * N; ++n) g[n - 1] = g[n];
        g[2 * N - 1] = load(p);
    }
    INLINE real difference(const int n) const { return UP ? fwd_z(&g[N - 1].a[n], VEC, 0) : fwd(&g[N - 1].a[n], VEC); }
};
typedef Taps<false> Rows;
typedef Taps<true> Planes;

// a / b for b in the range of normal floats and a power of two a, error below 2 ulp; 0 where b is infinite (a fluid). Without
// the call for the rare cases of IEEE division, which makes registers spill: 27 against 32 Gpoint-steps/s on an H200.
INLINE float quotient(const float a, const float b) { return __fdividef(a, b); }
INLINE double quotient(const double a, const double b)
{
    const double r = __fdividef(1.0f, float(b)), e = fma(-b, r, 1.0);  // 1/b = r (1 + e + e^2 + ...), |e| < 2^-21
    return r > 0 ? a * fma(r, fma(e, e, e), r) : 0;
}
INLINE real buoyancy(const real a, const real b) { return quotient(real(2), a + b); }
INLINE real shear_modulus(const real a, const real b, const real c, const real d) { return quotient(real(4), (a + b) + (c + d)); }
