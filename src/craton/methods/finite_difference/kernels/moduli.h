// Material where velocities and shear stresses are, averaged from the integer points (Moczo et al. 2002, eqs 17-20).
// The (x, z) plane has one for all shots: its rows, one a shot, share a row of the material, and there is nothing to average along y.
#include "storage.h"

// Strides of the fields, the point's place in them and in the material, strides of the material.
#define POINT                                                                                                       \
    [[maybe_unused]] const ptrdiff_t X = 1, Y = p.row, Z = p.plane, q = k * Z + j * Y + i;                          \
    [[maybe_unused]] const ptrdiff_t MY = PLANE ? 0 : Y, MZ = PLANE ? p.sheet : Z, m = PLANE ? k * MZ + i : q

// Of the components along the axes (A, B, C) in cyclic order, AXIS for A: which are computed.
#define ON_A (AXIS == 1 ? SH : PSV)
#define ON_B (AXIS == 0 ? SH : PSV)
#define ON_C (AXIS == 2 ? SH : PSV)

// 1 / (arithmetic mean of density) half-way along the axis of stride S. TERRAIN = 1: some cells hold nothing, rho = lam = mu = 0;
// between two of these nothing moves, and next to one there is half the mass (Takenaka et al. 2009).
INLINE real buoyancy(const Material rho, const ptrdiff_t S)
{
    const real both = rho[0] + rho[S];
    return TERRAIN && both <= 0 ? real(0) : 2 / both;
}

// Harmonic mean of mu over the four points around (1/2, 1/2) of the axes S and T; rmu = 1/mu, infinite in a fluid.
template <class Parameter> INLINE real shear_modulus(const Parameter rmu, const ptrdiff_t S, const ptrdiff_t T)
{
    return 4 / ((rmu[0] + rmu[S]) + (rmu[T] + rmu[S + T]));
}
