// Staggered first differences times the spacing, weights given by the scheme: C1 .. C8 of R pairs of points, along z D1 .. D8 of RZ.
//   fwd  at the half point after a[0];   bwd  at the half point before a[0];   S is the stride of the axis
// *_z: along z, `depth` planes below the highest plane. With SURFACE = 1 that plane is traction-free and the rows of the
// summation-by-parts closure (closure.py; positive into the depth) replace the differences that would reach above it.
#include "storage.h"

#define PAIR(PAIRS, n, weight) \
    if constexpr (PAIRS >= n) d += real(weight) * (a[n * S] - a[(1 - n) * S])

// `a` is a pointer to reals or to what stands for them.
template <class Values> INLINE real fwd(const Values a, const ptrdiff_t S)
{
    real d = real(C1) * (a[S] - a[0]);
    PAIR(R, 2, C2); PAIR(R, 3, C3); PAIR(R, 4, C4); PAIR(R, 5, C5); PAIR(R, 6, C6); PAIR(R, 7, C7); PAIR(R, 8, C8);
    return d;
}

template <class Values> INLINE real bwd(const Values a, const ptrdiff_t S) { return fwd(a - S, S); }

// Along y: nothing depends on it in the (x, z) plane.
template <class Values> INLINE real fwd_y(const Values a, const ptrdiff_t S) { return PLANE ? real(0) : fwd(a, S); }
template <class Values> INLINE real bwd_y(const Values a, const ptrdiff_t S) { return PLANE ? real(0) : bwd(a, S); }

#if SURFACE
template <class Values> INLINE real closed(const Values top, const ptrdiff_t Z, const real* row, const int first)
{
    real d = 0;
    for (int n = first; n < COLUMNS; ++n) d -= row[n] * top[-n * Z];
    return d;
}

// From integer planes to the half plane `depth - 1/2` below the surface; there is none above it.
template <class Values> INLINE real fwd_z(const Values a, const ptrdiff_t Z, const int depth)
{
    TABLE row[ROWS][COLUMNS] = CLOSURE_FWD;
    return depth < 1 ? real(0) : closed(a + depth * Z, Z, row[depth - 1], 0);
}

// From half planes to the integer plane `depth`; the highest half plane is the one below the surface.
template <class Values> INLINE real bwd_z(const Values a, const ptrdiff_t Z, const int depth)
{
    TABLE row[ROWS][COLUMNS] = CLOSURE_BWD;
    return closed(a + (depth - 1) * Z, Z, row[depth], 0);
}
#else
template <class Values> INLINE real fwd_z(const Values a, const ptrdiff_t S, const int)
{
    real d = real(D1) * (a[S] - a[0]);
    PAIR(RZ, 2, D2); PAIR(RZ, 3, D3); PAIR(RZ, 4, D4); PAIR(RZ, 5, D5); PAIR(RZ, 6, D6); PAIR(RZ, 7, D7); PAIR(RZ, 8, D8);
    return d;
}

template <class Values> INLINE real bwd_z(const Values a, const ptrdiff_t Z, const int depth) { return fwd_z(a - Z, Z, depth); }
#endif
