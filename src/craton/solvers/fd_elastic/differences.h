// Staggered first differences of order 2 R times the spacing, weights C1 .. C4 (Fornberg 1988) given by the scheme.
//   fwd  at the half point after a[0];   bwd  at the half point before a[0];   S is the stride of the axis
// *_z: along z, `depth` planes below the highest plane. With SURFACE = 1 that plane is traction-free and the rows of the
// summation-by-parts closure (closure.py; positive into the depth) replace the differences that would reach above it.
#include "machine.h"

INLINE real fwd(const real* a, const ptrdiff_t S)
{
    real d = real(C1) * (a[S] - a[0]);
    if constexpr (R > 1) d += real(C2) * (a[2 * S] - a[-S]);
    if constexpr (R > 2) d += real(C3) * (a[3 * S] - a[-2 * S]);
    if constexpr (R > 3) d += real(C4) * (a[4 * S] - a[-3 * S]);
    return d;
}

INLINE real bwd(const real* a, const ptrdiff_t S) { return fwd(a - S, S); }

#if SURFACE
INLINE real closed(const real* top, const ptrdiff_t Z, const real* row, const int first)
{
    real d = 0;
    for (int n = first; n < COLUMNS; ++n) d -= row[n] * top[-n * Z];
    return d;
}

// From integer planes to the half plane `depth - 1/2` below the surface; there is none above it.
INLINE real fwd_z(const real* a, const ptrdiff_t Z, const int depth)
{
    constexpr real row[ROWS][COLUMNS] = CLOSURE_FWD;
    return depth < 1 ? real(0) : closed(a + depth * Z, Z, row[depth - 1], 0);
}

// From half planes to the integer plane `depth`; the highest half plane is the one below the surface.
INLINE real bwd_z(const real* a, const ptrdiff_t Z, const int depth)
{
    constexpr real row[ROWS][COLUMNS] = CLOSURE_BWD;
    return closed(a + (depth - 1) * Z, Z, row[depth], 0);
}
#else
INLINE real fwd_z(const real* a, const ptrdiff_t Z, const int) { return fwd(a, Z); }
INLINE real bwd_z(const real* a, const ptrdiff_t Z, const int) { return bwd(a, Z); }
#endif
