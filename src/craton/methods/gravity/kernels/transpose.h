// Transpose of the attraction, prisms side by side and points one after another.
//   gather   partial[part][prism] = sum over points first[part] .. first[part + 1] and fields of data times the field of that prism of unit
//            density at that point, over G
//            faces[x1 x2 y1 y2 z1 z2][prism]; data[point][x y z, one number for each of FIELDS]
#pragma once
#include "pairs.h"

#define DOT(field, value)                           \
    if constexpr (WANTS(field)) {                   \
        constexpr int place = 3 + slot(field);      \
        sum += weight[place] * (value);             \
    }
BODY real dot(const real* weight, const Values& v)
{
    real sum = 0;
    DOT(POTENTIAL, v.potential)
    DOT(G_E, v.e)
    DOT(G_N, v.n)
    DOT(G_Z, v.z)
    DOT(G_EE, v.ee)
    DOT(G_NN, v.nn)
    DOT(G_ZZ, v.zz)
    DOT(G_EN, v.en)
    DOT(G_EZ, v.ez)
    DOT(G_NZ, v.nz)
    return sum;
}

KERNEL gather(
    double* RESTRICT partial, const real* RESTRICT faces, const real* RESTRICT data, const int* RESTRICT first, const Box box,
    const AttractParams p)
{
    FOR_EACH_GROUP(box)
    {
        LANE_ARRAY(real, face, 6);
        LANE_ARRAY(double, sum, 1);
        for (int m = 0; m < 6; ++m) EACH_LANE AT(face, m) = faces[m * p.stride + (ptrdiff_t)j * LANES + i];
        EACH_LANE AT(sum, 0) = 0;
        for (int n = first[k]; n < first[k + 1]; ++n) {
            const real* q = data + (3 + FIELD_COUNT) * (ptrdiff_t)n;
            EACH_LANE
            {
                const real x1 = AT(face, 0), x2 = AT(face, 1), y1 = AT(face, 2), y2 = AT(face, 3), z1 = AT(face, 4), z2 = AT(face, 5);
                const Values v = closed_form(x1 - q[0], x2 - q[0], y1 - q[1], y2 - q[1], z1 - q[2], z2 - q[2], x2 - x1, y2 - y1, z2 - z1);
                AT(sum, 0) += dot(q, v);
            }
        }
        EACH_LANE partial[k * p.stride + (ptrdiff_t)j * LANES + i] = AT(sum, 0);
    }
}
