// Internal forces of acoustic elements of two potentials, the second scattered by changes of 1 / rho: pair.h, stiffness_born.h.
#include "acoustic_law.h"
#include "pair.h"

struct Scattering : Acoustic {
    MEMBER void scattered(
        value (&flux)[1][3], value (&more)[1][3], const real* change, const value (&g)[1][3], const Metric& m, value buoyancy, ptrdiff_t e,
        int node) const
    {
        const Acoustic changed{change};
        (*this)(flux, g, m, buoyancy, e, node);
        changed(more, g, m, changed.load(e, node), e, node);
    }
};

KERNEL fluid_born(
    force_t* RESTRICT fluid_pair_force, real* RESTRICT layer, const real* RESTRICT fluid_pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const real* RESTRICT change, const real* RESTRICT rates, const Box box, const ElementParams p)
{
    const Scattered<1, Scattering> law{{{moduli}}, {{moduli}}, change};
    weak_form<2>(fluid_pair_force, fluid_pair, points, geometry, (const int*)nullptr, law, Layer<2>{layer, rates}, box, p.first, 1.0);
}
