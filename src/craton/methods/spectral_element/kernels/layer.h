// Absorbing layer: convolutional PML of second order in displacement, along reference directions of an element (bits of AXES: xi, eta, zeta).
//   rho u'' = sum_s 1/s_s * d_s flux_s( 1/s_t * d_t u ),   1/s = (p + alpha) / (p + alpha + d),  p = d/dt
// What derives along a direction s of the layer passes the filter 1/s_s twice: derivatives of the field before the law of flux sees them, and,
// before they are added to the points, the sums of the derivatives' transposes. Masses and laws stay what they are.
// The trapezoidal rule makes a filter of  y = x - d m,  m' = x - (alpha + d) m,  with h = dt / 2:
//   y = (1 - held) x - w,   w <- decay w + held (1 + decay) x,   held = d h / (1 + (alpha + d) h),  decay = (1 - (alpha + d) h) / (1 + (alpha + d) h)
// rates[e][RATES a + m][node]                held, decay of the a-th direction of the layer
// layer[e][(2 a + m) FIELDS + c][node]      w of component c: m = 0 of the derivative, m = 1 of the sum
// GENERAL = 1: the layer's depth q_a does not follow lines of the mesh. Then LAYERED depths have at each node the slopes c_s = dq_a/dxi_s, rows
// 2 .. 4 of rates, and the direction v_s = dxi_s/dq_a across the layer, rows 5 .. 7: the filter acts on sum_s v_s d_s u, and on the forces of
// the flux across the layer, sum_s d_s^T v_s phi, phi = sum_s c_s flux_s.
#pragma once
#include "elements.h"
#ifndef AXES
#define AXES 0
#define GENERAL 0
#endif

constexpr int LAYERED = (AXES & 1) + (AXES >> 1 & 1) + (AXES >> 2 & 1);  // directions of the layer
INLINE constexpr bool layered(int s) { return !GENERAL && (AXES >> s & 1); }
INLINE constexpr int rank_of(int s) { return (s > 0 ? AXES & 1 : 0) + (s > 1 ? AXES >> 1 & 1 : 0); }  // among them
INLINE constexpr int sum_of(int s) { return layered(s) ? 1 + rank_of(s) : 0; }  // sums of the other directions are one, the first

#if AXES
constexpr int RATES = GENERAL ? 8 : 2;
template <int FIELDS> struct Filters { value held[LAYERED], decay[LAYERED], w[LAYERED][FIELDS]; };

template <int FIELDS> struct Layer {
    real* layer;
    const real* rates;

    template <int VISIT> MEMBER Filters<FIELDS> load(ptrdiff_t e, int node) const
    {
        Filters<FIELDS> now;
        UNROLL for (int a = 0; a < LAYERED; ++a)
        {
            now.held[a] = VALUES(rates)[(e * LAYERED + a) * RATES * NODES + node];
            now.decay[a] = VALUES(rates)[((e * LAYERED + a) * RATES + 1) * NODES + node];
            UNROLL for (int c = 0; c < FIELDS; ++c) now.w[a][c] = VALUES(layer)[place<VISIT>(e, a, c, node)];
        }
        return now;
    }

    MEMBER value held(ptrdiff_t e, int a, int node) const { return VALUES(rates)[(e * LAYERED + a) * RATES * NODES + node]; }
    MEMBER value slope(ptrdiff_t e, int a, int s, int node) const { return VALUES(rates)[((e * LAYERED + a) * RATES + 2 + s) * NODES + node]; }
    MEMBER value across(ptrdiff_t e, int a, int s, int node) const { return VALUES(rates)[((e * LAYERED + a) * RATES + 5 + s) * NODES + node]; }

    template <int VISIT> MEMBER value filtered(value x, const Filters<FIELDS>& now, int a, int c, ptrdiff_t e, int node) const
    {
        const value passed = now.held[a] * x;
        ((value*)layer)[place<VISIT>(e, a, c, node)] = now.decay[a] * (now.w[a][c] + passed) + passed;
        return x - passed - now.w[a][c];
    }

    template <int VISIT> MEMBER ptrdiff_t place(ptrdiff_t e, int a, int c, int node) const
    {
        return ((e * LAYERED + a) * 2 * FIELDS + VISIT * FIELDS + c) * NODES + node;
    }
};
#else
template <int FIELDS> struct Filters {};
template <int FIELDS> struct Layer {
    real* layer;
    const real* rates;
    template <int VISIT> MEMBER Filters<FIELDS> load(ptrdiff_t, int) const { return {}; }
    template <int VISIT> MEMBER value filtered(value x, const Filters<FIELDS>&, int, int, ptrdiff_t, int) const { return x; }
};
#endif
