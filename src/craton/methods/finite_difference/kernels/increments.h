// What gradients need of the wavefield: the increments that the law of motion gives velocities and the law of the medium gives stresses
// in a step. They are stored, correlated with the adjoint fields, and scattered where the medium is perturbed (Born).
//   keep       store[slot] = fields before the half step        increment   store[slot] = fields after it - store[slot]
//   correlate  sums += adjoint field * increment: of each velocity, each shear stress; of normal stresses n the deviatoric part,
//              sum (s - tr/n) (e - tr/n), and the trace, tr tr / n
//   scatter    fields += coefficient * increment, coefficients in the order of the sums
// PRODUCTS = 1, of an anisotropic medium: of normal stresses the products of each pair, s_a e_b, and coefficients of each pair.
// PART = 0 is the half step of velocities, 1 that of stresses; correlate takes both.
// layout  state: all fields, p.field reals apart, as in elastic.h; FIELDS of them, VELOCITIES, then NORMALS normal and the shear stresses;
//         store[slots][FIELDS][points], sums[VELOCITIES + shear stresses + 2][points], x fastest, without padding; the grid is the box
// A store holds every p.every-th step, step n in slot n / every % slots; TRANSPOSED = 1: steps are counted from p.last downwards.
// FREE = 1: the highest plane, p.top, is traction-free: there szz is zero, and n one less. SPREAD = number of the field szz.
#include "machine.h"
#ifndef PRODUCTS
#define PRODUCTS 0
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

constexpr int SHEARS = FIELDS - VELOCITIES - NORMALS, FIRST = PART ? VELOCITIES : 0, LAST = PART ? FIELDS : VELOCITIES;

#define INCREMENT_POINT                                                                                             \
    const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i, at = ((ptrdiff_t)k * p.nj + j) * p.ni + i

// The part of the store that belongs to a step; null where it is not stored.
template <typename R> INLINE R* stored(R* store, const int* step, const StoreParams p)
{
    const int n = TRANSPOSED ? p.last - step[0] : step[0];
    return n % p.every ? nullptr : store + (ptrdiff_t)(n / p.every % p.slots) * FIELDS * p.points;
}

KERNEL keep(real* RESTRICT store, const real* RESTRICT state, const int* RESTRICT step, const Box box, const StoreParams p)
{
    real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        INCREMENT_POINT;
        for (int f = FIRST; f < LAST; ++f) here[f * p.points + at] = state[f * p.field + q];
    }
}

KERNEL increment(real* RESTRICT store, const real* RESTRICT state, const int* RESTRICT step, const Box box, const StoreParams p)
{
    real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        INCREMENT_POINT;
        for (int f = FIRST; f < LAST; ++f) here[f * p.points + at] = state[f * p.field + q] - here[f * p.points + at];
    }
}

KERNEL correlate(
    real* RESTRICT sums, const real* RESTRICT state, const real* RESTRICT store, const int* RESTRICT step, const Box box, const StoreParams p)
{
    const real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        INCREMENT_POINT;
        for (int f = 0; f < VELOCITIES; ++f) sums[f * p.points + at] += state[f * p.field + q] * here[f * p.points + at];
        for (int f = VELOCITIES + NORMALS; f < FIELDS; ++f)
            sums[(f - NORMALS) * p.points + at] += state[f * p.field + q] * here[f * p.points + at];
        if constexpr (PRODUCTS) {
            for (int a = 0; a < NORMALS; ++a)
                for (int b = 0; b < NORMALS; ++b)
                    sums[(VELOCITIES + SHEARS + a * NORMALS + b) * p.points + at] +=
                        state[(VELOCITIES + a) * p.field + q] * here[(VELOCITIES + b) * p.points + at];
        } else if constexpr (NORMALS > 0) {
            const int n = FREE && k == p.top ? NORMALS - 1 : NORMALS;
            real adjoint_trace = 0, trace = 0, product = 0;
            for (int f = VELOCITIES; f < VELOCITIES + NORMALS; ++f) {
                const real a = state[f * p.field + q], e = here[f * p.points + at];
                adjoint_trace += a;
                trace += e;
            }
            const real a_mean = n ? adjoint_trace / n : real(0), mean = n ? trace / n : real(0);
            for (int f = VELOCITIES; f < VELOCITIES + NORMALS; ++f)
                if (NORMALS == n || f != SPREAD) product += (state[f * p.field + q] - a_mean) * (here[f * p.points + at] - mean);
            sums[(VELOCITIES + SHEARS) * p.points + at] += product;
            sums[(VELOCITIES + SHEARS + 1) * p.points + at] += adjoint_trace * mean;
        }
    }
}

KERNEL scatter(
    real* RESTRICT state, const real* RESTRICT store, const real* RESTRICT coefficients, const int* RESTRICT step, const Box box, const StoreParams p)
{
    const real* const here = stored(store, step, p);
    if (!here) return;
    FOR_EACH_POINT(box)
    {
        INCREMENT_POINT;
        if constexpr (PART == 0)
            for (int f = 0; f < VELOCITIES; ++f) state[f * p.field + q] += coefficients[f * p.points + at] * here[f * p.points + at];
        else {
            for (int f = VELOCITIES + NORMALS; f < FIELDS; ++f)
                state[f * p.field + q] += coefficients[(f - NORMALS) * p.points + at] * here[f * p.points + at];
            if constexpr (PRODUCTS) {
                for (int a = 0; a < NORMALS; ++a)
                    for (int b = 0; b < NORMALS; ++b)
                        if (!(FREE && k == p.top) || VELOCITIES + a != SPREAD)
                            state[(VELOCITIES + a) * p.field + q] +=
                                coefficients[(VELOCITIES + SHEARS + a * NORMALS + b) * p.points + at] * here[(VELOCITIES + b) * p.points + at];
            } else if constexpr (NORMALS > 0) {
                const int n = FREE && k == p.top ? NORMALS - 1 : NORMALS;
                const real c = coefficients[(VELOCITIES + SHEARS) * p.points + at], c_trace = coefficients[(VELOCITIES + SHEARS + 1) * p.points + at];
                real trace = 0;
                for (int f = VELOCITIES; f < VELOCITIES + NORMALS; ++f) trace += here[f * p.points + at];
                const real mean = n ? trace / n : real(0);
                for (int f = VELOCITIES; f < VELOCITIES + NORMALS; ++f)
                    if (NORMALS == n || f != SPREAD)
                        state[f * p.field + q] += c * (here[f * p.points + at] - mean) + c_trace * mean;
            }
        }
    }
}
