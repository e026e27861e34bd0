// Internal forces of elastic elements in absorbing layers, AXES > 0: those of stiffness.h with the filters of layer.h.
// arrays     layer, rates: see layer.h; all else: see stiffness.h
#include "elastic_law.h"

KERNEL stiffness_layer(
    force_t* RESTRICT force, real* RESTRICT memory, real* RESTRICT layer, const real* RESTRICT displacement, const int* RESTRICT points,
    const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT loss, const real* RESTRICT rates,
    const int* RESTRICT order, const Box box, const ElementParams p)
{
    weak_form<3>(force, displacement, points, geometry, order, Elastic{moduli, loss, memory}, Layer<3>{layer, rates}, box, p.first, 1 / UNIT(p));
}
