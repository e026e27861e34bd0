// One prism and the points of a group: closed form or series, added to the points' sums. Shared by the direct sum and the tree.
//   point  x y z; split in two reals each (high parts, then low parts) where SPLIT: differences of nearby coordinates keep all digits in float
//   prism  x1 x2 y1 y2 z1 z2, low parts of the six where SPLIT, density, distance from the centre beyond which the series serves
//          (ORDER 0: closed form everywhere)
#pragma once
#include "series.h"

BODY constexpr int slot(int field)  // place of a field among those asked for
{
    int before = 0;
    for (int f = 0; f < field; ++f) before += ((FIELDS) >> f) & 1;
    return before;
}
constexpr int FIELD_COUNT = slot(ALL_FIELDS);
#if SPLIT
constexpr int COORDINATES = 6, RECORD = 14;
#else
constexpr int COORDINATES = 3, RECORD = 8;
#endif

BODY real offset(const real* q, int m, LANES_OF(const real, point, COORDINATES))  // face m of a prism minus point
{
    real out = q[m] - AT(point, m / 2);
    if constexpr (SPLIT) out += q[m + RECORD / 2 - 1] - AT(point, m / 2 + COORDINATES / 2);
    return out;
}
BODY real side(const real* q, int m)
{
    real out = q[m + 1] - q[m];
    if constexpr (SPLIT) out += q[m + RECORD / 2] - q[m + RECORD / 2 - 1];
    return out;
}
BODY real from_centre(const real* q, const real* at)  // low parts left out
{
    const real x = real(0.5) * (q[0] + q[1]) - at[0], y = real(0.5) * (q[2] + q[3]) - at[1], z = real(0.5) * (q[4] + q[5]) - at[2];
    return root(x * x + y * y + z * z);
}

#define ADD(field, value)                                               \
    if constexpr (WANTS(field)) {                                       \
        constexpr int place = slot(field);                              \
        AT(sum, place) += here ? weight * (value) : real(0);            \
    }
BODY void add(LANES_OF(real, sum, FIELD_COUNT), const Values& v, real weight, bool here)
{
    ADD(POTENTIAL, v.potential)
    ADD(G_E, v.e)
    ADD(G_N, v.n)
    ADD(G_Z, v.z)
    ADD(G_EE, v.ee)
    ADD(G_NN, v.nn)
    ADD(G_ZZ, v.zz)
    ADD(G_EN, v.en)
    ADD(G_EZ, v.ez)
    ADD(G_NZ, v.nz)
}

// The points of a group lie in `sphere`, centre and radius; on the GPU it is the thread's own point.
BODY void add_prism(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const real* q, const real* sphere)
{
    const real dx = side(q, 0), dy = side(q, 2), dz = side(q, 4), weight = q[RECORD - 2], from = q[RECORD - 1];
    const real distance = ORDER > 0 ? from_centre(q, sphere) : real(0), margin = sphere[3] + 16 * EPSILON * distance;
    if (ORDER == 0 || distance - margin < from) EACH_LANE
    {
        const real x1 = offset(q, 0, point LANE), x2 = offset(q, 1, point LANE), y1 = offset(q, 2, point LANE), y2 = offset(q, 3, point LANE);
        const real z1 = offset(q, 4, point LANE), z2 = offset(q, 5, point LANE), x = x1 + x2, y = y1 + y2, z = z1 + z2;
        add(sum LANE, closed_form(x1, x2, y1, y2, z1, z2, dx, dy, dz), weight, ORDER == 0 || x * x + y * y + z * z < 4 * from * from);
    }
#if ORDER > 0
    const Series series = series_of(dx, dy, dz);
    const real volume = dx * dy * dz;
    if (distance + margin >= from) EACH_LANE
    {
        const real x = offset(q, 0, point LANE) + offset(q, 1, point LANE), y = offset(q, 2, point LANE) + offset(q, 3, point LANE);
        const real z = offset(q, 4, point LANE) + offset(q, 5, point LANE);
        add(sum LANE, far_field(real(0.5) * x, real(0.5) * y, real(0.5) * z, volume, series), weight, x * x + y * y + z * z >= 4 * from * from);
    }
#endif
}
