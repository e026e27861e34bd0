// Internal forces of acoustic elements: potential_force -= integral of grad l . grad chi / rho; u = grad chi / rho, p = -chi''.
// positions  chi and its force at global points of the fluid; all else of the elements, as elements.h has it
// arrays     points[e][node]; geometry: see metric.h; moduli[e][0][node], or moduli[e][0] where PER_NODE = 0: 1 / rho; order: see stiffness.h
// params     first: row of `points` that element 0 of the other arrays has
#include "acoustic_law.h"

KERNEL fluid(
    force_t* RESTRICT potential_force, const real* RESTRICT potential, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const int* RESTRICT order, const Box box, const ElementParams p)
{
    weak_form<1>(potential_force, potential, points, geometry, order, Acoustic{moduli}, Layer<1>{}, box, p.first, 1 / UNIT(p));
}
