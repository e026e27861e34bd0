// Vectors of Lanczos' method on a host (undamped.py: products, advance), rounded operation by operation as NumPy does.
// Values are (points, components), masses (points).
#include <cstdint>

using Index = std::int64_t;

constexpr int LANES = 16; // as in undamped.py

extern "C" {

// sums (2) of r_w r and r_w t, in double: r the vector, t = -force / mass its image, r_w = mass r, or -stiffness where it is
// given. Value n of a block of LANES points is added to sum n of the block's, and these one after another.
#define PRODUCTS(name, real, components)                                                                              \
    void name(Index points, const real* vector, const real* force, const real* mass, const real* stiffness,           \
              double* sums)                                                                                           \
    {                                                                                                                 \
        constexpr int WIDTH = LANES * components;                                                                     \
        double norm[WIDTH] = {}, energy[WIDTH] = {};                                                                  \
        for (Index p = 0; p < points; p += LANES) {                                                                   \
            const int width = (int)(points - p < LANES ? points - p : LANES) * components;                            \
            const real *v = vector + p * components, *f = force + p * components, *m = mass + p;                      \
            const real* k = stiffness ? stiffness + p * components : nullptr;                                         \
            real weighed[WIDTH], image[WIDTH], inertia[WIDTH];                                                        \
            for (int n = 0; n < width; n++) inertia[n] = m[n / components];                                           \
            for (int n = 0; n < width; n++) image[n] = -f[n] / inertia[n];                                            \
            if (k)                                                                                                    \
                for (int n = 0; n < width; n++) weighed[n] = -k[n];                                                   \
            else                                                                                                      \
                for (int n = 0; n < width; n++) weighed[n] = v[n] * inertia[n];                                       \
            for (int n = 0; n < width; n++) norm[n] += (double)weighed[n] * (double)v[n];                             \
            for (int n = 0; n < width; n++) energy[n] += (double)weighed[n] * (double)image[n];                       \
        }                                                                                                             \
        sums[0] = sums[1] = 0;                                                                                        \
        for (int n = 0; n < WIDTH; n++) sums[0] += norm[n], sums[1] += energy[n];                                     \
    }
PRODUCTS(products_float32_1, float, 1)
PRODUCTS(products_float32_3, float, 3)
PRODUCTS(products_float64_1, double, 1)
PRODUCTS(products_float64_3, double, 3)

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
