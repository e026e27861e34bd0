// Internal forces of acoustic elements in absorbing layers, AXES > 0: those of fluid.h with the filters of layer.h.
// arrays     layer, rates: see layer.h; all else: see fluid.h
#include "acoustic_law.h"

KERNEL fluid_layer(
    force_t* RESTRICT potential_force, real* RESTRICT layer, const real* RESTRICT potential, const int* RESTRICT points,
    const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT rates, const int* RESTRICT order, const Box box,
    const ElementParams p)
{
    weak_form<1>(potential_force, potential, points, geometry, order, Acoustic{moduli}, Layer<1>{layer, rates}, box, p.first, 1 / UNIT(p));
}
