// Internal forces of the transposed potential of acoustic elements, and its correlation with the forward one by 1 / rho: replay.h,
// stiffness_replayed.h.
#include "acoustic_products.h"
#include "replay.h"

struct Transposed {
    Acoustic law;

    MEMBER value load(ptrdiff_t e, int node) const { return law.load(e, node); }

    MEMBER void replayed(
        value (&flux)[1][3], value (&product)[1], const value (&first)[1][3], const value (&second)[1][3], const Metric& m, value buoyancy,
        ptrdiff_t e, int node) const
    {
        law(flux, second, m, buoyancy, e, node);
        products(product, first, second);
        product[0] = OUTER(m, INNER(m, product[0]));
    }
};

KERNEL fluid_replayed(
    force_t* RESTRICT fluid_pair_force, real* RESTRICT sums, real* RESTRICT layer, const real* RESTRICT fluid_pair,
    const int* RESTRICT points, const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT rates,
    const real* RESTRICT past, const int* RESTRICT step, const Box box, const ReplayParams p)
{
    const Past<1> then{past + past_slot(step[0], p) * LAYERED * NODES};
    replayed_form<1, 1>(
        fluid_pair_force, sums, fluid_pair, points, geometry, Transposed{{moduli}}, Layer<1>{layer, rates}, then, step[0] % p.every == 0, box,
        p.first);
}
