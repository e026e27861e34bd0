// The step of the global points, leapfrog (Newmark with beta = 0, gamma = 1/2), corrector and next predictor in one pass:
//   v(n + 1/2) = v(n - 1/2) + dt F(n) / M,   u(n + 1) = u(n) + dt v(n + 1/2),   F <- 0
//   update        of the solid; the box counts reals along x: component c of point g is real 3 g + c
//   fluid_update  of the fluid's potential, one real a point, and pressure(n) = -F(n) / M
// A thread of a GPU takes WORDS reals, a block's width apart.
#include "machine.h"

#if THREAD_PER_POINT
#define FOR_EACH_WORD(box)                                                                             \
    const int begin = box.i0 + blockIdx.x * (blockDim.x * WORDS) + threadIdx.x;                        \
    _Pragma("unroll") for (int word = 0; word < WORDS; ++word)                                         \
        if (const int i = begin + word * blockDim.x; i < box.i1)
#else
#define FOR_EACH_WORD(box) PRAGMA(omp simd) for (int i = box.i0; i < box.i1; ++i)
#endif

#if THREAD_PER_POINT && WIDE
// Four reals of a thread side by side, where the arrays lie on 16 bytes; a block takes WORDS * blockDim.x reals.
template <class T> struct alignas(16) Four { T of[4]; };

INLINE void four(Four<real>* u, Four<real>* v, Four<force_t>* f, const real* inverse_mass, const int i, const real dt, const double unit)
{
    Four<real> a = *u, b = *v;
    const Four<force_t> c = *f;
    _Pragma("unroll") for (int m = 0; m < 4; ++m)
    {
        b.of[m] += dt * inverse_mass[(unsigned)(i + m) / 3] * to_real(c.of[m], unit);
        a.of[m] += dt * b.of[m];
    }
    *v = b;
    *u = a;
    *f = Four<force_t>{};
}
#endif

KERNEL update(
    real* RESTRICT displacement, real* RESTRICT velocity, force_t* RESTRICT force, const real* RESTRICT inverse_mass, const Box box,
    const UpdateParams p)
{
#if THREAD_PER_POINT && WIDE
    const int start = box.i0 + blockIdx.x * (blockDim.x * WORDS);
    if ((((size_t)(displacement + start) | (size_t)(velocity + start) | (size_t)(force + start)) & 15) == 0
        && start + blockDim.x * WORDS <= box.i1) {
        _Pragma("unroll") for (int n = 0; n < WORDS / 4; ++n)
        {
            const int i = start + 4 * (n * blockDim.x + threadIdx.x);
            four((Four<real>*)(displacement + i), (Four<real>*)(velocity + i), (Four<force_t>*)(force + i), inverse_mass, i, p.dt, UNIT(p));
        }
        return;
    }
#endif
    FOR_EACH_WORD(box)
    {
        const real v = velocity[i] + p.dt * inverse_mass[(unsigned)i / 3] * to_real(force[i], UNIT(p));
        velocity[i] = v;
        displacement[i] += p.dt * v;
        force[i] = 0;
    }
}

KERNEL fluid_update(
    real* RESTRICT potential, real* RESTRICT potential_rate, force_t* RESTRICT potential_force, real* RESTRICT pressure,
    const real* RESTRICT fluid_inverse_mass, const Box box, const UpdateParams p)
{
    FOR_EACH_WORD(box)
    {
        const real acceleration = fluid_inverse_mass[i] * to_real(potential_force[i], UNIT(p)), v = potential_rate[i] + p.dt * acceleration;
        pressure[i] = -acceleration;
        potential_rate[i] = v;
        potential[i] += p.dt * v;
        potential_force[i] = 0;
    }
}
