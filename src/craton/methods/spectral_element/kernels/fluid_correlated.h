// Internal forces of acoustic elements of two potentials, and their correlation by 1 / rho: pair.h, stiffness_correlated.h.
#include "acoustic_products.h"
#include "pair.h"

KERNEL fluid_correlated(
    force_t* RESTRICT fluid_pair_force, real* RESTRICT sums, const real* RESTRICT fluid_pair, const int* RESTRICT points,
    const real* RESTRICT geometry, const real* RESTRICT moduli, const int* RESTRICT step, const Box box, const PairElementParams p)
{
    const Correlated<1, 1, Acoustic> law{{moduli}, sums, step[0] % p.every == 0};
    weak_form<2>(fluid_pair_force, fluid_pair, points, geometry, (const int*)nullptr, law, Layer<2>{}, box, p.first, 1.0);
}
