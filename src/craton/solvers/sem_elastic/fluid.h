// Internal forces of acoustic elements: potential_force -= integral of grad l . grad chi / rho; u = grad chi / rho, p = -chi''.
// positions  chi and its force at global points of the fluid; all else of the elements, as elements.h has it
// arrays     points[e][node]; geometry: see metric.h; moduli[e][0][node], or moduli[e][0] where PER_NODE = 0: 1 / rho; order: see stiffness.h
// params     first: row of `points` that element 0 of the other arrays has
#include "weak.h"

struct Acoustic {
    const real* moduli;

    MEMBER value load(ptrdiff_t e, int node) const { return VALUES(moduli)[PER_NODE ? e * NODES + node : e]; }

    MEMBER void operator()(value (&flux)[1][3], const value (&g)[1][3], const Metric& m, value buoyancy, ptrdiff_t, int) const
    {
        const value scaled = OUTER(m, INNER(m, buoyancy));
        UNROLL for (int r = 0; r < 3; ++r) flux[0][r] = scaled * g[0][r];
    }
};

KERNEL fluid(
    force_t* RESTRICT potential_force, const real* RESTRICT potential, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const int* RESTRICT order, const Box box, const ElementParams p)
{
    weak_form<1>(potential_force, potential, points, geometry, order, Acoustic{moduli}, box, p.first, 1 / UNIT(p));
}
