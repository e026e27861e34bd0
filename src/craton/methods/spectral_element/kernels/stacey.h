// Points of faces, each once, between assembly and update.
//   stacey        F <- G (F - C v), G = M (M + dt/2 C)^-1: absorbing faces, implicit in v, so that v(n) = (v(n + 1/2) + v(n - 1/2)) / 2
//                 terms[m][i]: G as xx, yy, zz, yz, xz, xy, then C likewise
//   fluid_stacey  the same for the potential; terms[m][i]: G, C
//   damped_points F <- g (F - c (v - w)), g = 1 / (1 + rate dt/2), c = rate M, then w <- w + b (v - w), b = 1 - exp(-alpha dt): friction in
//                 absorbing layers, of motion that is faster than alpha; terms[m][i]: g, c, b; lowpass[m][i]: w of component m
//                 of fields side by side STRIDE reals a point, of which FIELDS from FIRST on
//   rigid_points  F <- 0: points that do not move (of a fluid: pressure 0)
// i counts the entries of `points`; p.count is their number.
#include "machine.h"
#ifndef STRIDE
#define STRIDE FIELDS
#define FIRST 0
#endif

KERNEL stacey(
    force_t* RESTRICT force, const real* RESTRICT velocity, const int* RESTRICT points, const real* RESTRICT terms, const Box box,
    const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 3 * (ptrdiff_t)points[i];
        real t[12];
        for (int m = 0; m < 12; ++m) t[m] = terms[m * (ptrdiff_t)p.count + i];
        const real x = velocity[g], y = velocity[g + 1], z = velocity[g + 2];
        const real fx = to_real(force[g], UNIT(p)) - (t[6] * x + t[11] * y + t[10] * z);
        const real fy = to_real(force[g + 1], UNIT(p)) - (t[11] * x + t[7] * y + t[9] * z);
        const real fz = to_real(force[g + 2], UNIT(p)) - (t[10] * x + t[9] * y + t[8] * z);
        force[g] = to_force(t[0] * fx + t[5] * fy + t[4] * fz, 1 / UNIT(p));
        force[g + 1] = to_force(t[5] * fx + t[1] * fy + t[3] * fz, 1 / UNIT(p));
        force[g + 2] = to_force(t[4] * fx + t[3] * fy + t[2] * fz, 1 / UNIT(p));
    }
}

KERNEL fluid_stacey(
    force_t* RESTRICT potential_force, const real* RESTRICT potential_rate, const int* RESTRICT points, const real* RESTRICT terms,
    const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const int g = points[i];
        const real f = to_real(potential_force[g], UNIT(p)) - terms[(ptrdiff_t)p.count + i] * potential_rate[g];
        potential_force[g] = to_force(terms[i] * f, 1 / UNIT(p));
    }
}

KERNEL damped_points(
    force_t* RESTRICT force, real* RESTRICT lowpass, const real* RESTRICT velocity, const int* RESTRICT points, const real* RESTRICT terms,
    const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t count = p.count;
        for (int c = 0; c < FIELDS; ++c)
        {
            const ptrdiff_t g = (ptrdiff_t)STRIDE * points[i] + FIRST + c;
            const real fast = velocity[g] - lowpass[c * count + i];
            force[g] = to_force(terms[i] * (to_real(force[g], UNIT(p)) - terms[count + i] * fast), 1 / UNIT(p));
            lowpass[c * count + i] += terms[2 * count + i] * fast;
        }
    }
}

KERNEL rigid_points(force_t* RESTRICT force, const int* RESTRICT points, const Box box, const FaceParams p)
{
    FOR_EACH_POINT(box)
    {
        for (int c = 0; c < FIELDS; ++c) force[(ptrdiff_t)FIELDS * points[i] + c] = 0;
    }
}
