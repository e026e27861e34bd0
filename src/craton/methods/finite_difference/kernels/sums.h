// Where the sums of gradients lie (increments.h, backward.h): numbers of the fields of the block of sums, and those of normal stresses.
#include "differences.h"
#include "law.h"
#ifndef LIGHT
#define LIGHT 0
#endif
#ifndef SUMS
#define SUMS 1
#endif

constexpr int VELOCITIES = PSV && SH ? 3 : PSV ? 2 : 1, SHEAR_STRESSES = ACOUSTIC ? 0 : PSV && SH ? 3 : PSV ? 1 : 2;
constexpr int NORMAL_STRESSES = ACOUSTIC ? 1 : !PSV ? 0 : PLANE ? 2 : 3;
constexpr int SUM_VY = PSV, SUM_VZ = PSV + SH, SUM_XY = VELOCITIES, SUM_XZ = VELOCITIES + SH, SUM_YZ = VELOCITIES + SHEAR_STRESSES - 1;
constexpr int SUM_DEVIATORIC = VELOCITIES + SHEAR_STRESSES, SUM_TRACE = SUM_DEVIATORIC + 1, SUM_LIGHT = SUM_TRACE + 1;

// Whether a point lies in the inner box, where the forward field is taken back.
#define INSIDE (k >= p.k0 && k < p.k1 && j >= p.j0 && j < p.j1 && i >= p.i0 && i < p.i1)

// Sums of normal stresses, n of them, of the adjoint field a and the increments e.
ALWAYS_INLINE void add_normal(real* deviatoric, real* trace, const Normal a, const Normal e, const bool free)
{
    const int n = free ? NORMAL_STRESSES - 1 : NORMAL_STRESSES;
    const real adjoint_trace = a.xx + a.yy + a.zz, forward_trace = e.xx + e.yy + e.zz;
    const real a_mean = n ? adjoint_trace / n : real(0), mean = n ? forward_trace / n : real(0);
    *trace += adjoint_trace * mean;
    if constexpr (ACOUSTIC) return;
    *deviatoric += (a.xx - a_mean) * (e.xx - mean) + (PLANE ? real(0) : (a.yy - a_mean) * (e.yy - mean)) +
                   (free ? real(0) : (a.zz - a_mean) * (e.zz - mean));
}

// The same in the kernels that also advance fields: whether a compiler inlines it there has settled their bits.
INLINE void sum_normal(real* deviatoric, real* trace, const Normal a, const Normal e, const bool free) { add_normal(deviatoric, trace, a, e, free); }
