// One prism and the points of a group: closed form or series, added to the points' sums. Shared by the direct sum and the tree.
//   point  x y z; split in two reals each (high parts, then low parts) where SPLIT: differences of nearby coordinates keep all digits in float
//   prism  a record of RECORD reals, see records.h: Faces (x1 x2 y1 y2 z1 z2, their low parts where SPLIT, density, sides) for the closed form;
//          where there is a series, ORDER > 0, Centre (its coordinates, the distance from which it serves, mass, coefficients of order 2) and
//          Higher (coefficients of orders 4 and 6). Order 4 serves from FROM4 times that distance on, order 2 from FROM2 times
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
constexpr int COORDINATES = 6, LOW = 6, DENSITY = 12, SIDE = 13, CENTRE = 16, FROM = 19, CENTRE_LOW = 20, MASS = 23, TWO = 24, FOUR = 28, SIX = 34;
constexpr int RECORD = ORDER > 0 ? 44 : 16;
struct alignas(16) Faces { real high[6], low[6], density, side[3]; };
struct alignas(16) Centre { real high[3], from, low[3], mass, two[3], unused; };
#else
constexpr int COORDINATES = 3, LOW = 0, DENSITY = 6, SIDE = 0, CENTRE = 8, FROM = 11, CENTRE_LOW = 0, MASS = 12, TWO = 13, FOUR = 16, SIX = 22;
constexpr int RECORD = ORDER > 0 ? 32 : 8;
struct alignas(16) Faces { real high[6], density, unused; };
struct alignas(16) Centre { real high[3], from, mass, two[3]; };
#endif
struct alignas(16) Higher { Quadratic four; Cubic six; };  // all three are read in pieces of 16 bytes, where they are needed
constexpr int HIGHER = FOUR;

#if SPLIT
#define ADD_LOW(out, q, m, axis) out += q.low[m] - AT(point, axis + 3);
#else
#define ADD_LOW(out, q, m, axis)
#endif
BODY real offset(const Faces& q, int m, LANES_OF(const real, point, COORDINATES))  // face m of a prism minus point
{
    real out = q.high[m] - AT(point, m / 2);
    ADD_LOW(out, q, m, m / 2)
    return out;
}
BODY real offset(const Centre& q, int axis, LANES_OF(const real, point, COORDINATES))
{
    real out = q.high[axis] - AT(point, axis);
    ADD_LOW(out, q, axis, axis)
    return out;
}
#if SPLIT
BODY real side(const Faces& q, int axis) { return q.side[axis]; }
#else
BODY real side(const Faces& q, int axis) { return q.high[2 * axis + 1] - q.high[2 * axis]; }
#endif

// Squares of the least and the greatest distance between a prism's centre and the points of a group; on the GPU the thread's own point.
struct Span { real least, most; };
BODY Span span(const Centre& q, GROUP_OF(const real, point, COORDINATES), const real* sphere)
{
#if THREAD_PER_POINT
    const real r2 = squares(offset(q, 0, point), offset(q, 1, point), offset(q, 2, point));
    return {r2, r2};
#else
    const real x = q.high[0] - sphere[0], y = q.high[1] - sphere[1], z = q.high[2] - sphere[2];  // low parts left out
    const real distance = root(x * x + y * y + z * z), margin = sphere[3] + 16 * EPSILON * distance;
    const real least = distance > margin ? distance - margin : real(0), most = distance + margin;
    return {least * least, most * most};
#endif
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
// The series to order TOP for the points whose squared distance is in [low, high), or for ALL; the group's own lies in `of`.
template <int TOP, bool ALL = false>
BODY void add_far(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const Centre& q, const real* record, Span of, real low, real high)
{
    if (!ALL && !((of.most >= low) & (of.least < high))) return;
    Higher more = {};
    if constexpr (TOP > 2) more = *(const Higher*)(record + HIGHER);
    EACH_LANE
    {
        const real x = offset(q, 0, point LANE), y = offset(q, 1, point LANE), z = offset(q, 2, point LANE), r2 = squares(x, y, z);
        add(sum LANE, far_field<TOP>(x, y, z, r2, q.mass, q.two[0], q.two[1], q.two[2], more.four, more.six), 1, ALL || ((r2 >= low) & (r2 < high)));
    }
}

BODY void add_near(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const Centre& centre, const real* record, Span of, real from)
{
    if (ORDER > 0 && !(of.least < from)) return;
    const Faces q = *(const Faces*)record;
    const real dx = side(q, 0), dy = side(q, 1), dz = side(q, 2);
    EACH_LANE
    {
        const real x1 = offset(q, 0, point LANE), x2 = offset(q, 1, point LANE), y1 = offset(q, 2, point LANE), y2 = offset(q, 3, point LANE);
        const real z1 = offset(q, 4, point LANE), z2 = offset(q, 5, point LANE);
        bool here = true;
        if constexpr (ORDER > 0) here = squares(offset(centre, 0, point LANE), offset(centre, 1, point LANE), offset(centre, 2, point LANE)) < from;
        add(sum LANE, closed_form(x1, x2, y1, y2, z1, z2, dx, dy, dz), q.density, here);
    }
}

// The points of a group lie in `sphere`, centre and radius. Farther off, lower orders serve.
BODY void add_prism(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(const real, point, COORDINATES), const real* record, const real* sphere)
{
    if constexpr (ORDER == 0) {
        add_near(sum, point, {}, record, {0, 0}, 0);
    } else {
        const Centre q = *(const Centre*)(record + CENTRE);
        const Span of = span(q, point, sphere);
        const real from = q.from * q.from, four = ORDER > 4 ? from * real((FROM4) * (FROM4)) : from, two = from * real((FROM2) * (FROM2));
        if (!(of.least < two)) {  // most pairs by far: nothing else is looked at
            add_far<2, true>(sum, point, q, record, of, 0, 0);
            return;
        }
        add_far<2>(sum, point, q, record, of, two, real(1e30));
        if constexpr (ORDER >= 4) add_far<4>(sum, point, q, record, of, four, two);
        if constexpr (ORDER >= 6) add_far<6>(sum, point, q, record, of, from, four);
        add_near(sum, point, q, record, of, from);
    }
}
