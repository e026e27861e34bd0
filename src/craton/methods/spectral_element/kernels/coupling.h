// A fluid and a solid that touch: pairs of a solid and a fluid point at one place, each pair once; vectors[m][i] is the sum of area vectors
// there, x, y, z, pointing out of the fluid.
//   to_fluid  potential_force += u . vector            (the fluid's boundary moves with the solid; no dots: chi'' = -p, u = grad chi / rho)
//   to_solid  force -= chi'' vector = p vector         (after the fluid's assembly is complete, before its update)
//   to_fluid_layer, to_solid_layer   what a filter of an absorbing layer along the faces adds to these, see filtered_points.h
// i counts the pairs; p.count is their number.
#include "filtered_points.h"

#if EXACT
#define FLUID_UNIT(params) (params).fluid_unit
#else
#define FLUID_UNIT(params) 1.0
#endif

// the component of a vector along an area vector, times the area
INLINE real through_face(const real* u, const real* vectors, const ptrdiff_t i, const ptrdiff_t n)
{
    return vectors[i] * u[0] + vectors[n + i] * u[1] + vectors[2 * n + i] * u[2];
}

KERNEL to_fluid(
    force_t* RESTRICT potential_force, const real* RESTRICT displacement, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
        potential_force[fluid[i]] += to_force(through_face(displacement + 3 * (ptrdiff_t)solid[i], vectors, i, p.count), 1 / UNIT(p));
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

KERNEL to_fluid_layer(
    force_t* RESTRICT potential_force, real* RESTRICT layer, const real* RESTRICT displacement, const int* RESTRICT solid,
    const int* RESTRICT fluid, const real* RESTRICT vectors, const real* RESTRICT rates, const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const real flow = through_face(displacement + 3 * (ptrdiff_t)solid[i], vectors, i, p.count);
        potential_force[fluid[i]] += to_force(added_by_filter(flow, layer, rates, i, p.count), 1 / UNIT(p));
    }
}

KERNEL to_solid_layer(
    force_t* RESTRICT force, real* RESTRICT layer, const force_t* RESTRICT potential_force, const real* RESTRICT fluid_inverse_mass,
    const int* RESTRICT solid, const int* RESTRICT fluid, const real* RESTRICT vectors, const real* RESTRICT rates, const Box box,
    const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const real acceleration = to_real(potential_force[fluid[i]], FLUID_UNIT(p)) * fluid_inverse_mass[fluid[i]];
        const real added = added_by_filter(acceleration, layer, rates, i, p.count);
        for (int c = 0; c < 3; ++c)
            force[3 * (ptrdiff_t)solid[i] + c] -= to_force(added * vectors[c * (ptrdiff_t)p.count + i], 1 / UNIT(p));
    }
}
