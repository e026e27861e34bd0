// Attraction of prisms at points, every pair: sums over the prisms first[k] .. first[k + 1] of part k, for every point of a group.
//   partial  [part][field][point]  sums in double over G; fields in the order of enum Field, those in FIELDS
//   points   [coordinate][point]   x y z; split in two reals each (high parts, then low parts) where SPLIT: differences of nearby
//                                  coordinates keep all digits in float
//   groups   [group][4]            centre and radius of the sphere around a group's points
//   prisms   [prism][RECORD]       x1 x2 y1 y2 z1 z2, low parts of the six where SPLIT, density, distance from the centre beyond which
//                                  the series of ORDER serves (ORDER 0: closed form everywhere)
// Sums of up to BATCH terms are made in real, sums of these in double.
#include "series.h"

#define BATCH 64
#define LOW 6
constexpr int slot(int field) { return field == 0 ? 0 : slot(field - 1) + (((FIELDS) >> (field - 1)) & 1); }
constexpr int FIELD_COUNT = slot(ALL_FIELDS);

#if SPLIT
#define COORDINATES 6
#define RECORD 14
#define OFFSET(q, m, at, c) ((q[m] - AT(at, c)) + (q[m + LOW] - AT(at, c + 3)))
#define SIDE(q, m) ((q[m + 1] - q[m]) + (q[m + 1 + LOW] - q[m + LOW]))
#else
#define COORDINATES 3
#define RECORD 8
#define OFFSET(q, m, at, c) (q[m] - AT(at, c))
#define SIDE(q, m) (q[m + 1] - q[m])
#endif
#define DENSITY (RECORD - 2)
#define SERIES_FROM (RECORD - 1)

#define ADD(field, value) \
    if constexpr (WANTS(field)) AT(sum, slot(field)) += here ? weight * (value) : real(0)
#define ADD_ALL(v)                                                                                                            \
    {                                                                                                                         \
        ADD(POTENTIAL, v.potential); ADD(G_E, v.e); ADD(G_N, v.n); ADD(G_Z, v.z); ADD(G_EE, v.ee); ADD(G_NN, v.nn);           \
        ADD(G_ZZ, v.zz); ADD(G_EN, v.en); ADD(G_EZ, v.ez); ADD(G_NZ, v.nz);                                                   \
    }

// Which of the two forms some point of the group needs; on the GPU a group is a thread's own point.
struct Needs { bool near, far; };
BODY Needs needs(const real* q, const real* group)
{
    const real x = real(0.5) * (q[0] + q[1]) - group[0], y = real(0.5) * (q[2] + q[3]) - group[1], z = real(0.5) * (q[4] + q[5]) - group[2];
    const real distance = root(x * x + y * y + z * z), margin = group[3] + real(16) * EPSILON * distance;
    return {ORDER == 0 || distance - margin < q[SERIES_FROM], ORDER > 0 && distance + margin >= q[SERIES_FROM]};
}

#define NEAR_AND_FAR(q, group)                                                                                                 \
    const real dx = SIDE(q, 0), dy = SIDE(q, 2), dz = SIDE(q, 4), weight = q[DENSITY], from = q[SERIES_FROM] * q[SERIES_FROM]; \
    const Needs form = needs(q, group);                                                                                        \
    if (form.near) EACH_LANE                                                                                                   \
    {                                                                                                                          \
        const real x1 = OFFSET(q, 0, at, 0), x2 = OFFSET(q, 1, at, 0), y1 = OFFSET(q, 2, at, 1), y2 = OFFSET(q, 3, at, 1);     \
        const real z1 = OFFSET(q, 4, at, 2), z2 = OFFSET(q, 5, at, 2);                                                         \
        const real x = x1 + x2, y = y1 + y2, z = z1 + z2;                                                                      \
        const bool here = ORDER == 0 || real(0.25) * (x * x + y * y + z * z) < from;                                           \
        const Values v = closed_form(x1, x2, y1, y2, z1, z2, dx, dy, dz);                                                      \
        ADD_ALL(v)                                                                                                             \
    }
