// What the steps lack where solid lies under a fluid: vertical differences of the pair (vz, szz), which are continuous there with a kink, closed
// on both sides by the tables `normal` (contact.py), and along flat pieces of sea floor those of the pairs (vx, sxz) and (vy, syz), whose tangential
// traction vanishes, closed by the tables `tangential`. No difference then reaches across the contact.
// layout  fields as in elastic.h; floor[0][j][i]: the highest solid plane of the column, counted from the top plane, far below the grid where
//         nothing is to be added; floor[1], floor[2]: 1 where the column to the east, to the north has the same; floor[3]: number of the
//         table, -1 for none of `normal` and the first of `tangential`; norms: inverse weights of the integer planes, then of the half planes
// ATTENUATION = 1: what is added to a strain rate relaxes as the rest of it does (relax.h).
#include "differences.h"
#include "law.h"

#define CONTACT_POINT                                                                                               \
    POINT;                                                                                                          \
    const int columns = (PLANE ? 1 : p.nj) * p.ni, *column = floor + (PLANE ? 0 : j * p.ni) + i;                    \
    const int n = column[0] + p.top - k, east = column[columns], north = column[2 * columns], kind = column[3 * columns];                       \
    const real of_integer = norms[k], of_half = norms[p.nk + k]

// A table has a row for each of the SIZE integer points on either side of the contact, from above, and a column for each of the 2 SIZE - 1 half
// points, the middle one on the contact. Half points n below the contact (negative: above) take from integer points, integer points from half ones.
#define SPAN (2 * SIZE - 1)
#define OF_KIND(tables) (tables + (kind < 0 ? 0 : kind) * 2 * SIZE * SPAN)

INLINE real to_half(const real* a, const real* table, const ptrdiff_t Z, const int n)
{
    real d = 0;
    for (int r = -SIZE; r < SIZE; ++r) d -= table[(r + SIZE) * SPAN + n + SIZE - 1] * a[(n - r) * Z];
    return d;
}

INLINE real to_integer(const real* a, const real* table, const ptrdiff_t Z, const int n)
{
    real d = 0;
    for (int c = 1 - SIZE; c < SIZE; ++c) d += table[(n + SIZE) * SPAN + c + SIZE - 1] * a[(n - c) * Z];
    return d;
}

KERNEL contact_velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz, const real* RESTRICT sxz, const real* RESTRICT syz, const real* RESTRICT szz,
    const real* RESTRICT rho, const int* RESTRICT floor, const real* RESTRICT norms, const real* RESTRICT normal, const real* RESTRICT tangential,
    const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CONTACT_POINT;
        if constexpr (PSV) {
            if (kind >= 0 && n > -SIZE && n < SIZE)
                vz[q] += of_half * p.dt_h * buoyancy(rho + m, MZ) * to_half(szz + q, OF_KIND(normal), Z, n);
        }
        if (n >= -SIZE && n < SIZE) {
            if constexpr (PSV) { if (east) vx[q] += of_integer * p.dt_h * buoyancy(rho + m, X) * to_integer(sxz + q, OF_KIND(tangential), Z, n); }
            if constexpr (SH) { if (north) vy[q] += of_integer * p.dt_h * buoyancy(rho + m, MY) * to_integer(syz + q, OF_KIND(tangential), Z, n); }
        }
    }
}

KERNEL contact_stress(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxz, real* RESTRICT syz, real* RESTRICT memory,
    const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz, const real* RESTRICT lam, const real* RESTRICT rmu,
    const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66, const real* RESTRICT qp, const real* RESTRICT qs,
    const int* RESTRICT floor, const real* RESTRICT norms, const real* RESTRICT normal, const real* RESTRICT tangential,
    const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        CONTACT_POINT;
        const Medium medium = MEDIUM;
        if constexpr (PSV) {
            if (kind >= 0 && n >= -SIZE && n < SIZE) {
                // Memory variables take the strain rate; without them moduli come first, so that one product is added to each stress: of two,
                // compilers fuse the one or the other with the sum, as the size of the box has it.
                const real e = of_integer * to_integer(vz + q, OF_KIND(normal), Z, n), after = ATTENUATION ? p.dt_h : p.dt_h * e;
                const Column s = added<2>(medium, ATTENUATION ? e : real(1), false);
                szz[q] += after * s.a;
                sxx[q] += after * s.b;
                if constexpr (!PLANE) syy[q] += after * (VTI ? s.c : s.b);
            }
        }
        if (n >= 1 && n < SIZE) {
            if constexpr (PSV) { if (east) sxz[q] += shear<XZ, true>(medium, p.dt_h, of_half * to_half(vx + q, OF_KIND(tangential), Z, n), X, MZ); }
            if constexpr (SH) { if (north) syz[q] += shear<YZ, true>(medium, p.dt_h, of_half * to_half(vy + q, OF_KIND(tangential), Z, n), MY, MZ); }
        }
    }
}
