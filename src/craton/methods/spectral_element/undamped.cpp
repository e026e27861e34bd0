// Vectors of Lanczos' method on a host (undamped.py: slab, step), rounded operation by operation as NumPy does.
// Values are (points, components), masses (points).
#include <cstdint>

using Index = std::int64_t;

extern "C" {

// weighed = vector times mass, image = -force / mass
#define WEIGH(name, real)                                                                                             \
    void name(Index points, Index components, const real* vector, const real* force, const real* mass, real* weighed, \
              real* image)                                                                                            \
    {                                                                                                                 \
        for (Index p = 0; p < points; p++)                                                                            \
            for (Index c = p * components; c < (p + 1) * components; c++)                                             \
                weighed[c] = vector[c] * mass[p], image[c] = -force[c] / mass[p];                                     \
    }
WEIGH(weigh_float32, float)
WEIGH(weigh_float64, double)

// v = vector / norm becomes the previous vector, -force / mass / norm - alpha v - beta previous the next one
#define ADVANCE(name, real)                                                                                           \
    void name(Index points, Index components, const real* force, const real* mass, double norm, double alpha,         \
              double beta, real* vector, real* before)                                                                \
    {                                                                                                                 \
        const real inverse = (real)(1 / norm), minus = (real)(-1 / norm), a = (real)alpha, b = (real)beta;            \
        for (Index p = 0; p < points; p++)                                                                            \
            for (Index c = p * components; c < (p + 1) * components; c++) {                                           \
                const real v = vector[c] * inverse;                                                                   \
                real next = force[c] / mass[p] * minus;                                                               \
                if (alpha != 0) next -= a * v;                                                                        \
                if (beta != 0) next -= b * before[c];                                                                 \
                before[c] = v, vector[c] = next;                                                                      \
            }                                                                                                         \
    }
ADVANCE(advance_float32, float)
ADVANCE(advance_float64, double)
}
