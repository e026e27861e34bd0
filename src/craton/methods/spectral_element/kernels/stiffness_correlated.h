// Internal forces of elastic elements of two fields, and their correlation by moduli: pair.h.
// positions  pair and pair_force at global points, [point][first x y z, second x y z]; all else of the elements, as stiffness.h has it
// arrays     sums[e][row][node]: rows as of the moduli
// params     first: see stiffness.h; every: steps between correlations, at those that are multiples of it
#include "elastic_products.h"
#include "pair.h"

KERNEL stiffness_correlated(
    force_t* RESTRICT pair_force, real* RESTRICT sums, const real* RESTRICT pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const int* RESTRICT step, const Box box, const PairElementParams p)
{
    const Correlated<3, ROWS, Elastic> law{{moduli, nullptr, nullptr}, sums, step[0] % p.every == 0};
    weak_form<6>(pair_force, pair, points, geometry, (const int*)nullptr, law, Layer<6>{}, box, p.first, 1.0);
}
