// Internal forces of elastic elements of two fields, and their correlation by moduli: pair.h.
// positions  pair and pair_force at global points, [point][first x y z, second x y z]; all else of the elements, as stiffness.h has it
// arrays     sums[e][row][node]: rows as of the moduli
// params     first: see stiffness.h; every: steps between correlations, at those that are multiples of it
#include "elastic_law.h"

BODY void products(value (&out)[ROWS], const value (&a)[3][3], const value (&b)[3][3])
{
    const value s[6] = {a[0][0], a[1][1], a[2][2], a[1][2] + a[2][1], a[0][2] + a[2][0], a[0][1] + a[1][0]};
    const value t[6] = {b[0][0], b[1][1], b[2][2], b[1][2] + b[2][1], b[0][2] + b[2][0], b[0][1] + b[1][0]};
    if constexpr (FULL) {
        UNROLL for (int i = 0; i < 6; ++i)
            UNROLL for (int j = i; j < 6; ++j) out[row_of(i, j)] = i == j ? s[i] * t[i] : s[i] * t[j] + s[j] * t[i];
    } else {
        out[0] = (s[0] + s[1] + s[2]) * (t[0] + t[1] + t[2]);
        out[ROWS - 1] = real(2) * (s[0] * t[0] + s[1] * t[1] + s[2] * t[2]) + (s[3] * t[3] + s[4] * t[4] + s[5] * t[5]);
    }
}

// asks for products
#include "pair.h"

KERNEL stiffness_correlated(
    force_t* RESTRICT pair_force, real* RESTRICT sums, const real* RESTRICT pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const int* RESTRICT step, const Box box, const PairElementParams p)
{
    const Correlated<3, ROWS, Elastic> law{{moduli, nullptr, nullptr}, sums, step[0] % p.every == 0};
    weak_form<6>(pair_force, pair, points, geometry, (const int*)nullptr, law, Layer<6>{}, box, p.first, 1.0);
}
