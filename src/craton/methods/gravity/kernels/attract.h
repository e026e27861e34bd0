// Attraction of prisms at points, every pair, and the sum of the parts.
//   attract   partial[part][field][point] = sum over prisms first[part] .. first[part + 1], in double, over G; fields in the order of enum
//             Field, those in FIELDS
//             points[coordinate][point] and prisms[prism][..] as in pairs.h; groups[group][4]: centre and radius around a group's points
//   collect   total += sum over parts of partial, always in the same order
// Sums of up to BATCH terms are made in real, sums of these in double.
#include "pairs.h"

#define BATCH 64

KERNEL attract(
    double* RESTRICT partial, const real* RESTRICT points, const real* RESTRICT groups, const real* RESTRICT prisms,
    const int* RESTRICT first, const Box box, const AttractParams p)
{
    FOR_EACH_GROUP(box)
    {
        LANE_ARRAY(double, total, FIELD_COUNT);
        LANE_ARRAY(real, sum, FIELD_COUNT);
        LANE_ARRAY(real, point, COORDINATES);
        for (int c = 0; c < COORDINATES; ++c) EACH_LANE AT(point, c) = points[c * p.stride + (ptrdiff_t)j * LANES + i];
        for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE AT(total, f) = 0;
        const real* sphere = groups + 4 * (ptrdiff_t)j;
        for (int begin = first[k]; begin < first[k + 1]; begin += BATCH) {
            const int end = begin + BATCH < first[k + 1] ? begin + BATCH : first[k + 1];
            for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE AT(sum, f) = 0;
            for (int n = begin; n < end; ++n) add_prism(sum, point, prisms + (ptrdiff_t)n * RECORD, sphere);
            for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE AT(total, f) += AT(sum, f);
        }
        for (int f = 0; f < FIELD_COUNT; ++f)
            EACH_LANE partial[((ptrdiff_t)k * FIELD_COUNT + f) * p.stride + (ptrdiff_t)j * LANES + i] = AT(total, f);
    }
}

KERNEL collect(double* RESTRICT total, const double* RESTRICT partial, const Box box, const AttractParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t here = (ptrdiff_t)j * LANES + i;
        double sum = 0;
        for (int part = 0; part < p.parts; ++part) sum += partial[part * (FIELD_COUNT * p.stride) + here];
        total[here] += sum;
    }
}
