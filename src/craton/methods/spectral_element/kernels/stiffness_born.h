// Internal forces of elastic elements of two fields, the second scattered by changes of the moduli: pair.h; arrays as stiffness_correlated.h
// has them, change[e][row][node] as the moduli.
#include "elastic_law.h"
#include "pair.h"

KERNEL stiffness_born(
    force_t* RESTRICT pair_force, const real* RESTRICT pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const real* RESTRICT change, const Box box, const ElementParams p)
{
    const Scattered<3, Elastic> law{{moduli, nullptr, nullptr}, {change, nullptr, nullptr}};
    weak_form<6>(pair_force, pair, points, geometry, (const int*)nullptr, law, Layer<6>{}, box, p.first, 1.0);
}
