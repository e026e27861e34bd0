// A fluid and a solid that touch: pairs of a solid and a fluid point at one place, each pair once; vectors[m][i] is the sum of area vectors
// there, x, y, z, pointing out of the fluid.
//   to_fluid  potential_force += u . vector            (the fluid's boundary moves with the solid; no dots: chi'' = -p, u = grad chi / rho)
//   to_solid  force -= chi'' vector = p vector         (after the fluid's assembly is complete, before its update)
// i counts the pairs; p.count is their number.
#include "machine.h"

#if EXACT
#define FLUID_UNIT(params) (params).fluid_unit
#else
#define FLUID_UNIT(params) 1.0
#endif

KERNEL to_fluid(
    force_t* RESTRICT potential_force, const real* RESTRICT displacement, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t s = 3 * (ptrdiff_t)solid[i], n = p.count;
        const real flow = vectors[i] * displacement[s] + vectors[n + i] * displacement[s + 1] + vectors[2 * n + i] * displacement[s + 2];
        potential_force[fluid[i]] += to_force(flow, 1 / UNIT(p));
    }
}

KERNEL to_solid(
    force_t* RESTRICT force, const force_t* RESTRICT potential_force, const real* RESTRICT fluid_inverse_mass, const int* RESTRICT solid,
    const int* RESTRICT fluid, const real* RESTRICT vectors, const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const real acceleration = to_real(potential_force[fluid[i]], FLUID_UNIT(p)) * fluid_inverse_mass[fluid[i]];
        for (int c = 0; c < 3; ++c)
            force[3 * (ptrdiff_t)solid[i] + c] -= to_force(acceleration * vectors[c * (ptrdiff_t)p.count + i], 1 / UNIT(p));
    }
}
