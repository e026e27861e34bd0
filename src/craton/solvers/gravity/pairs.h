// One prism and the points of a group: closed form or series, added to the points' sums. Shared by the direct sum and the tree.
//   point  x y z; split in two reals each (high parts, then low parts) where SPLIT: differences of nearby coordinates keep all digits in float
//   prism  x1 x2 y1 y2 z1 z2, low parts of the six where SPLIT, density, distance from the centre beyond which the series of
//          ORDER serves (0: closed form everywhere), padding to 64 bytes; order 4 serves from FROM4 times that distance on, order 2 from FROM2 times
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
constexpr int COORDINATES = 6, RECORD = 16, LOW = 6, DENSITY = 12, FROM = 13;
#else
constexpr int COORDINATES = 3, RECORD = 8, LOW = 0, DENSITY = 6, FROM = 7;
#endif
struct alignas(16) Prism { real values[RECORD]; };  // read in pieces of 16 bytes

BODY real offset(const real* q, int m, LANES_OF(const real, point, COORDINATES))  // face m of a prism minus point
{
    real out = q[m] - AT(point, m / 2);
    if constexpr (SPLIT) out += q[m + LOW] - AT(point, m / 2 + COORDINATES / 2);
    return out;
}
BODY real side(const real* q, int m)
{
    real out = q[m + 1] - q[m];
    if constexpr (SPLIT) out += q[m + 1 + LOW] - q[m + LOW];
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

// Every point of a pair is in one range exactly: all of them compare the same bits with the same limits.
// The series to order TOP for the points whose distance is in [low, high); the group's own lies in [least, most].
template <int TOP>
BODY void add_far(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const real* q, real least, real most, real low, real high)
{
    if (most < low || least >= high) return;
    const real dx = side(q, 0), dy = side(q, 2), dz = side(q, 4), weight = q[DENSITY], volume = dx * dy * dz;
    const Series series = series_of<TOP>(dx, dy, dz);
    EACH_LANE
    {
        const real x = real(0.5) * (offset(q, 0, point LANE) + offset(q, 1, point LANE)), y = real(0.5) * (offset(q, 2, point LANE) + offset(q, 3, point LANE));
        const real z = real(0.5) * (offset(q, 4, point LANE) + offset(q, 5, point LANE)), r2 = squares(x, y, z);
        add(sum LANE, far_field<TOP>(x, y, z, volume, series), weight, (r2 >= low * low) & (r2 < high * high));
    }
}

// The points of a group lie in `sphere`, centre and radius; on the GPU it is the thread's own point. Farther off, lower orders serve.
BODY void add_prism(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const real* q, const real* sphere)
{
    const real dx = side(q, 0), dy = side(q, 2), dz = side(q, 4), weight = q[DENSITY], from = q[FROM];
    const real distance = ORDER > 0 ? from_centre(q, sphere) : real(0), margin = sphere[3] + 16 * EPSILON * distance;
    const real least = distance - margin, most = distance + margin, four = ORDER > 4 ? from * real(FROM4) : from, two = from * real(FROM2);
    if (ORDER == 0 || least < from) EACH_LANE
    {
        const real x1 = offset(q, 0, point LANE), x2 = offset(q, 1, point LANE), y1 = offset(q, 2, point LANE), y2 = offset(q, 3, point LANE);
        const real z1 = offset(q, 4, point LANE), z2 = offset(q, 5, point LANE);
        const real x = real(0.5) * (x1 + x2), y = real(0.5) * (y1 + y2), z = real(0.5) * (z1 + z2);
        add(sum LANE, closed_form(x1, x2, y1, y2, z1, z2, dx, dy, dz), weight, ORDER == 0 || squares(x, y, z) < from * from);
    }
    if constexpr (ORDER > 0) {
        if constexpr (ORDER >= 6) add_far<6>(sum, point, q, least, most, from, four);
        if constexpr (ORDER >= 4) add_far<4>(sum, point, q, least, most, four, two);
        add_far<2>(sum, point, q, least, most, two, real(1e30));
    }
}
