// Points of absorbing layers between assembly and update: inertia that grows with frequency, which takes energy from waves whose energy goes
// the other way than their phase; PML alone would amplify them.
//   M (1 + share d / (p + beta)) a = F,   beta = alpha + d,  p = d/dt;  with h = dt / 2 and the trapezoidal rule
//   F <- (F - k w) / (1 + k h),   w <- decay w + h (1 + decay) F,   k = share d / (1 + beta h),  decay = (1 - beta h) / (1 + beta h)
// i counts the entries of `points`; p.count is their number. terms[m][i]: k, decay; kept[c][i]: w of component c.
#include "machine.h"

KERNEL layer_points(
    force_t* RESTRICT force, real* RESTRICT kept, const int* RESTRICT points, const real* RESTRICT terms, const Box box,
    const LayerParams p)
{
    FOR_EACH_POINT(box)
    {
        const real k = terms[i], decay = terms[(ptrdiff_t)p.count + i], h = p.half_step, all = 1 / (1 + k * h);
        for (int c = 0; c < FIELDS; ++c)
        {
            const ptrdiff_t at = (ptrdiff_t)FIELDS * points[i] + c, own = (ptrdiff_t)c * p.count + i;
            const real w = kept[own], f = (to_real(force[at], UNIT(p)) - k * w) * all;
            kept[own] = decay * w + h * (1 + decay) * f;
            force[at] = to_force(f, 1 / UNIT(p));
        }
    }
}
