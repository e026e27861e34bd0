// Internal forces of acoustic elements of two potentials, the second scattered by changes of 1 / rho: pair.h, stiffness_born.h.
#include "acoustic_law.h"
#include "pair.h"

KERNEL fluid_born(
    force_t* RESTRICT fluid_pair_force, const real* RESTRICT fluid_pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const real* RESTRICT change, const Box box, const ElementParams p)
{
    const Scattered<1, Acoustic> law{{moduli}, {change}};
    weak_form<2>(fluid_pair_force, fluid_pair, points, geometry, (const int*)nullptr, law, Layer<2>{}, box, p.first, 1.0);
}
