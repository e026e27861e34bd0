// What the steps lack where solid lies under a fluid along a flat piece of sea floor: vertical differences of the pairs (vx, sxz) and (vy, syz),
// whose tangential traction vanishes there, closed by the rows CONTACT (contact.py) in place of values beyond the contact.
// layout  fields as in elastic.h; floor[0][j][i]: the highest solid plane of the column, counted from the top plane, far below the grid where
//         nothing is to be added; floor[1], floor[2]: 1 where the column to the east, to the north has the same
// ATTENUATION = 1: what is added to a shear strain rate relaxes as the rest of it does (relax.h).
#include "differences.h"
#include "law.h"

#define CONTACT_POINT                                                                                               \
    POINT;                                                                                                          \
    const int columns = (PLANE ? 1 : p.nj) * p.ni, *column = floor + (PLANE ? 0 : j * p.ni) + i;                    \
    const int n = column[0] + p.top - k, east = column[columns], north = column[2 * columns]

// The block has a row for each of the OVER = R - 1 integer points above the contact that plain differences tie to the solid, and for each of
// the ROWS - OVER below it; columns are half points, the first on the contact.
// Sum over the half points 1, 2, ... below the contact, to the integer point n below it (-1: the one above); positive up.
INLINE real to_integer(const real* a, const ptrdiff_t Z, const int n)
{
    TABLE block[ROWS][COLUMNS] = CONTACT;
    real d = 0;
    for (int c = 1; c < COLUMNS; ++c) d -= block[n + OVER][c] * a[(n - c) * Z];
    return d;
}

// The transposed: from integer points to the half point n below the contact.
INLINE real to_half(const real* a, const ptrdiff_t Z, const int n)
{
    TABLE block[ROWS][COLUMNS] = CONTACT;
    real d = 0;
    for (int r = -OVER; r < ROWS - OVER; ++r) d += block[r + OVER][n] * a[(n - r) * Z];
    return d;
}

KERNEL contact_velocity(
    real* RESTRICT vx, real* RESTRICT vy, const real* RESTRICT sxz, const real* RESTRICT syz, const real* RESTRICT rho,
    const int* RESTRICT floor, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CONTACT_POINT;
        if (n >= -OVER && n < ROWS - OVER) {
            if constexpr (PSV) { if (east) vx[q] += p.dt_h * buoyancy(rho + m, X) * to_integer(sxz + q, Z, n); }
            if constexpr (SH) { if (north) vy[q] += p.dt_h * buoyancy(rho + m, MY) * to_integer(syz + q, Z, n); }
        }
    }
}

KERNEL contact_stress(
    real* RESTRICT sxz, real* RESTRICT syz, real* RESTRICT memory, const real* RESTRICT vx, const real* RESTRICT vy,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const int* RESTRICT floor, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CONTACT_POINT;
        const Medium medium = MEDIUM;
        if (n >= 1 && n < COLUMNS) {
            if constexpr (PSV) { if (east) sxz[q] += shear<XZ, true>(medium, p.dt_h, to_half(vx + q, Z, n), X, MZ); }
            if constexpr (SH) { if (north) syz[q] += shear<YZ, true>(medium, p.dt_h, to_half(vy + q, Z, n), MY, MZ); }
        }
    }
}
