// A fluid and a solid that touch, of two fields side by side (pair.h), one `half` of which is coupled: coupling.h and its transpose.
//   pair_to_fluid        fluid_pair_force += u . vector              pair_to_solid        pair_force -= chi'' vector, chi'' = fluid force / mass
//   transposed_to_solid  pair_force += eta vector                    transposed_to_fluid  fluid_pair_force -= lam'' . vector, lam'' = force / mass
//   ..._layer            what a filter of an absorbing layer along the faces adds to these, see filtered_points.h; layer[half][i], of
//                        transposed fields layer[i]
// i counts the pairs of points; p.count is their number.
#include "filtered_points.h"
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

// the component of a vector along an area vector, times the area
INLINE real through_face(const real* u, const real* vectors, const ptrdiff_t i, const ptrdiff_t n)
{
    return vectors[i] * u[0] + vectors[n + i] * u[1] + vectors[2 * n + i] * u[2];
}

KERNEL pair_to_fluid_layer(
    real* RESTRICT fluid_pair_force, real* RESTRICT layer, const real* RESTRICT pair, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const real* RESTRICT rates, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real flow = through_face(pair + SOLID_POINT, vectors, i, p.count);
        fluid_pair_force[FLUID_POINT] += added_by_filter(flow, layer + p.half * (ptrdiff_t)p.count, rates, i, p.count);
    }
}

KERNEL pair_to_solid_layer(
    real* RESTRICT pair_force, real* RESTRICT layer, const real* RESTRICT fluid_pair_force, const real* RESTRICT fluid_inverse_mass,
    const int* RESTRICT solid, const int* RESTRICT fluid, const real* RESTRICT vectors, const real* RESTRICT rates, const Box box,
    const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real acceleration = fluid_pair_force[FLUID_POINT] * fluid_inverse_mass[fluid[i]];
        const real added = added_by_filter(acceleration, layer + p.half * (ptrdiff_t)p.count, rates, i, p.count);
        for (int c = 0; c < 3; ++c) pair_force[SOLID_POINT + c] -= added * vectors[c * (ptrdiff_t)p.count + i];
    }
}

KERNEL transposed_to_solid_layer(
    real* RESTRICT pair_force, real* RESTRICT layer, const real* RESTRICT fluid_pair, const int* RESTRICT solid, const int* RESTRICT fluid,
    const real* RESTRICT vectors, const real* RESTRICT rates, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real added = added_by_filter(fluid_pair[FLUID_POINT], layer, rates, i, p.count);
        for (int c = 0; c < 3; ++c) pair_force[SOLID_POINT + c] += added * vectors[c * (ptrdiff_t)p.count + i];
    }
}

KERNEL transposed_to_fluid_layer(
    real* RESTRICT fluid_pair_force, real* RESTRICT layer, const real* RESTRICT pair_force, const real* RESTRICT inverse_mass,
    const int* RESTRICT solid, const int* RESTRICT fluid, const real* RESTRICT vectors, const real* RESTRICT rates, const Box box,
    const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const real flow = inverse_mass[solid[i]] * through_face(pair_force + SOLID_POINT, vectors, i, p.count);
        fluid_pair_force[FLUID_POINT] -= added_by_filter(flow, layer, rates, i, p.count);
    }
}
