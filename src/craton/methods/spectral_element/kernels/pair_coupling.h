// A fluid and a solid that touch, of two fields side by side (pair.h), one `half` of which is coupled: coupling.h and its transpose.
//   pair_to_fluid        fluid_pair_force += u . vector              pair_to_solid        pair_force -= chi'' vector, chi'' = fluid force / mass
//   transposed_to_solid  pair_force += eta vector                    transposed_to_fluid  fluid_pair_force -= lam'' . vector, lam'' = force / mass
// i counts the pairs of points; p.count is their number.
#include "machine.h"
#define SOLID_POINT (3 * (2 * (ptrdiff_t)solid[i] + p.half))
#define FLUID_POINT (2 * (ptrdiff_t)fluid[i] + p.half)

KERNEL pair_to_fluid(
    real* RESTRICT fluid_pair_force, const real* RESTRICT pair, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t s = SOLID_POINT, n = p.count;
        fluid_pair_force[FLUID_POINT] += vectors[i] * pair[s] + vectors[n + i] * pair[s + 1] + vectors[2 * n + i] * pair[s + 2];
    }
}

KERNEL pair_to_solid(
    real* RESTRICT pair_force, const real* RESTRICT fluid_pair_force, const real* RESTRICT fluid_inverse_mass, const int* RESTRICT solid,
    const int* RESTRICT fluid, const real* RESTRICT vectors, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real acceleration = fluid_pair_force[FLUID_POINT] * fluid_inverse_mass[fluid[i]];
        for (int c = 0; c < 3; ++c) pair_force[SOLID_POINT + c] -= acceleration * vectors[c * (ptrdiff_t)p.count + i];
    }
}

KERNEL transposed_to_solid(
    real* RESTRICT pair_force, const real* RESTRICT fluid_pair, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real eta = fluid_pair[FLUID_POINT];
        for (int c = 0; c < 3; ++c) pair_force[SOLID_POINT + c] += eta * vectors[c * (ptrdiff_t)p.count + i];
    }
}

KERNEL transposed_to_fluid(
    real* RESTRICT fluid_pair_force, const real* RESTRICT pair_force, const real* RESTRICT inverse_mass, const int* RESTRICT solid,
    const int* RESTRICT fluid, const real* RESTRICT vectors, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t s = SOLID_POINT, n = p.count;
        const real flow = vectors[i] * pair_force[s] + vectors[n + i] * pair_force[s + 1] + vectors[2 * n + i] * pair_force[s + 2];
        fluid_pair_force[FLUID_POINT] -= inverse_mass[solid[i]] * flow;
    }
}
