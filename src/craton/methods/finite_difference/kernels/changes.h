// Sums of gradients where several launches take a half step of the forward field u back, each of which is not told what the others do:
//   set_aside  held = u before them
//   changed    with e = held - u, for a step n, counted from p.last downwards, that p.every divides
//              sum += p.sign a e, with the adjoint field a,   light += p.sign e^2
//   changed_normal  the same of all normal stresses: their deviatoric part and their trace over their number, as in sums.h; yy absent in the plane,
//              szz zero on a free surface, the plane p.top (-1: none)
// With the sign -1 behind the first launch, which has added its own products (backward.h), and 1 behind the last one, what all took out is in the sums.
// layout  fields as in elastic.h; held over the slab; light absent: nothing there
#include "machine.h"

#define SLAB_POINT                                                                                                  \
    const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i;                                          \
    const ptrdiff_t at = ((k - p.k0) * (ptrdiff_t)p.nj + j - p.j0) * p.ni + i - p.i0

KERNEL set_aside(real* RESTRICT held, const real* RESTRICT forward, const Box box, const ChangeParams p)
{
    FOR_EACH_POINT(box)
    {
        SLAB_POINT;
        held[at] = forward[q];
    }
}

KERNEL changed(real* RESTRICT sum, real* RESTRICT light, const real* RESTRICT adjoint, const real* RESTRICT forward, const real* RESTRICT held,
               const int* RESTRICT step, const Box box, const ChangeParams p)
{
    if ((p.last - step[0]) % p.every) return;
    FOR_EACH_POINT(box)
    {
        SLAB_POINT;
        const real e = held[at] - forward[q];
        sum[q] += p.sign * adjoint[q] * e;
        if (light) light[q] += p.sign * e * e;
    }
}

KERNEL changed_normal(
    real* RESTRICT deviatoric, real* RESTRICT trace, const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT txx, const real* RESTRICT tyy, const real* RESTRICT tzz, const real* RESTRICT held_xx, const real* RESTRICT held_yy,
    const real* RESTRICT held_zz, const int* RESTRICT step, const Box box, const ChangeParams p)
{
    if ((p.last - step[0]) % p.every) return;
    FOR_EACH_POINT(box)
    {
        SLAB_POINT;
        const real exx = held_xx[at] - txx[q], ezz = held_zz[at] - tzz[q], eyy = syy ? held_yy[at] - tyy[q] : real(0), ayy = syy ? syy[q] : real(0);
        const real mean = (sxx[q] + ayy + szz[q]) * (exx + eyy + ezz) / ((syy ? 3 : 2) - (k == p.top));
        trace[q] += p.sign * mean;
        deviatoric[q] += p.sign * (sxx[q] * exx + ayy * eyy + szz[q] * ezz - mean);
    }
}
