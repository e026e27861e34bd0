// What streamed texts share: groups of VEC points, rows and queues of planes of them, averaged moduli without IEEE division.
// layout  as in elastic.h; (0, 0, 0) and rows aligned to VEC values; whole groups of VEC are read, in the pads too
#include "differences.h"

#define KERNEL_BOUNDS(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define EACH _Pragma("unroll")

// VEC values as they are kept. Two of 16 bits share a register, from which the one or the other is widened.
template <class T> struct alignas(VEC * sizeof(T)) Pack {
    T a[VEC];
    INLINE real operator[](const int n) const { return a[n]; }
};
typedef Pack<real> Group;
#if HALF
struct alignas(2 * VEC) Words {
    unsigned words[VEC / 2];
    INLINE unsigned short of(const int n) const { return (unsigned short)(words[n / 2] >> 16 * (n & 1)); }
};
template <> struct Pack<field_t> : Words { INLINE real operator[](const int n) const; };
#if GPU_INSTRUCTIONS
INLINE real upper(const unsigned word)
{
    real value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(value) : "r"(word));
    return value;
}
INLINE real lower(const unsigned word)
{
    real value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(value) : "r"(word));
    return value;
}
INLINE unsigned both(const real low, const real high)
{
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
#else
INLINE real upper(const unsigned word) { return widened((unsigned short)(word >> 16)); }
INLINE real lower(const unsigned word) { return widened((unsigned short)word); }
INLINE unsigned both(const real low, const real high) { return narrowed(low) | (unsigned)narrowed(high) << 16; }
#endif
INLINE real Pack<field_t>::operator[](const int n) const { return n & 1 ? upper(words[n / 2]) : lower(words[n / 2]); }
#endif

template <class T> INLINE Pack<T> load(const T* p) { return *reinterpret_cast<const Pack<T>*>(p); }

INLINE void store(real* p, const Group& g) { *reinterpret_cast<Group*>(p) = g; }
#if HALF
INLINE void store(field_t* p, const Group& g)
{
    Pack<field_t> packed;
    EACH for (int n = 0; n < VEC; n += 2) packed.words[n / 2] = both(g.a[n], g.a[n + 1]);
    *reinterpret_cast<Pack<field_t>*>(p) = packed;
}
#endif

// Stores the members that lie in [i0, i1); the first one is point i.
template <class T> INLINE void store(T* p, const Group& g, const int i, const Box& box)
{
    if (i >= box.i0 && i + VEC <= box.i1) store(p, g);
    else
        EACH for (int n = 0; n < VEC; ++n) if (i + n >= box.i0 && i + n < box.i1) p[n] = g.a[n];
}

// Whether a thread's neighbours along x lie in other warps, or in none. 16 bits come from the thread beside it: loads of whole groups would
// take half as much again from L2, which is the limit. The threads of a warp lie along x, and all of them stay.
struct Ends { bool low, high; };
#if HALF && GPU_INSTRUCTIONS
INLINE Ends ends(const int i, const Box& box)
{
    const int lane = threadIdx.x & 31;
    return {lane == 0, lane == 31 || i + VEC >= box.i1};
}
INLINE unsigned word_of(const void* p) { return *reinterpret_cast<const unsigned*>(p); }
INLINE unsigned before(const Words& own, const void* p, const Ends at)
{
    const unsigned word = __shfl_up_sync(~0u, own.words[VEC / 2 - 1], 1);
    return at.low ? word_of(p) : word;
}
INLINE unsigned behind(const Words& own, const void* p, const Ends at)
{
    const unsigned word = __shfl_down_sync(~0u, own.words[0], 1);
    return at.high ? word_of(p) : word;
}
#else
INLINE Ends ends(const int, const Box&) { return {true, true}; }
#endif

// LOW neighbours, a group, HIGH neighbours along x.
template <int LOW, int HIGH> struct Row {
    real a[LOW + VEC + HIGH];

    // The row around p; `centre` are the values at p where they are at hand.
    template <class T> INLINE Row(const T* p, const Ends at = {}) : Row(p, load(p), at) {}
    template <class T> INLINE Row(const T* p, const Pack<T>& centre, const Ends = {})
    {
        EACH for (int v = -((LOW + VEC - 1) / VEC); v * VEC < VEC + HIGH; ++v) {
            const Pack<T> g = v ? load(p + v * VEC) : centre;
            EACH for (int n = 0; n < VEC; ++n) if (LOW + v * VEC + n >= 0 && v * VEC + n < VEC + HIGH) a[LOW + v * VEC + n] = g[n];
        }
    }
#if HALF && GPU_INSTRUCTIONS
    INLINE Row(const field_t* p, const Pack<field_t>& centre, const Ends at)
    {
        static_assert(LOW <= 2 && HIGH <= 2, "one word on each side");
        EACH for (int n = 0; n < VEC; ++n) a[LOW + n] = centre[n];
        if constexpr (LOW > 0) {
            const unsigned word = before(centre, p - 2, at);
            if constexpr (LOW > 1) a[LOW - 2] = lower(word);
            a[LOW - 1] = upper(word);
        }
        if constexpr (HIGH > 0) {
            const unsigned word = behind(centre, p + VEC, at);
            a[LOW + VEC] = lower(word);
            if constexpr (HIGH > 1) a[LOW + VEC + 1] = upper(word);
        }
    }
#endif
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

// A group of a material parameter, and with the neighbour behind it. Codes wait in registers: they take half of what reals would.
#if HALF
struct Medium16 : Words {
    unsigned next;
    Material from;
    INLINE real operator[](const int n) const { return from.of(n < VEC ? of(n) : (unsigned short)next); }
};
INLINE Medium16 medium(const Material from)
{
    Medium16 group;
    static_cast<Words&>(group) = *reinterpret_cast<const Words*>(from.codes);
    group.next = 0;
    group.from = from;
    return group;
}
INLINE Medium16 medium(const Material from, [[maybe_unused]] const Ends at)
{
    Medium16 row = medium(from);
#if GPU_INSTRUCTIONS
    row.next = behind(row, from.codes + VEC, at);
#else
    row.next = from.codes[VEC];
#endif
    return row;
}
typedef Medium16 MediumRow;
#else
INLINE Group medium(const Material from) { return load(from); }
INLINE Row<0, 1> medium(const Material from, const Ends) { return Row<0, 1>(from); }
typedef Row<0, 1> MediumRow;
#endif

// Members number n of groups that lie one after another.
template <class T> struct Across {
    const Pack<T>* g;
    int n;
    INLINE real operator[](const int k) const { return g[k][n]; }
};

// The taps of a difference across rows or (UP) planes, the lowest one first.
template <bool UP, class T> struct Taps {
    static constexpr int N = UP ? RZ : R;
    Pack<T> g[2 * N];

    // Rows from p on with stride S; row number `known` is at hand.
    INLINE Taps(const T* p, const ptrdiff_t S, const int known, const Pack<T>& values)
    {
        EACH for (int n = 0; n < 2 * N; ++n) g[n] = n == known ? values : load(p + n * S);
    }
    // A queue of planes: all but the newest.
    INLINE Taps(const T* p, const ptrdiff_t S)
    {
        EACH for (int n = 1; n < 2 * N; ++n) g[n] = load(p + (n - 1) * S);
    }
    INLINE void push(const T* p)
    {
        EACH for (int n = 1; n < 2 * N; ++n) g[n - 1] = g[n];
        g[2 * N - 1] = load(p);
    }
    INLINE real difference(const int n) const
    {
        const Across<T> taps = {g + N - 1, n};
        return UP ? fwd_z(taps, 1, 0) : fwd(taps, 1);
    }
};
typedef Taps<false, field_t> Rows;
typedef Taps<true, field_t> Planes;

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
