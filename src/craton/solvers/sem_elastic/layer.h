// Absorbing layer: convolutional PML of second order in displacement, along reference directions of an element (bits of AXES: xi, eta, zeta).
//   rho u'' = sum_s 1/s_s * d_s flux_s( 1/s_t * d_t u ),   1/s = (p + alpha) / (p + alpha + d),  p = d/dt
// What derives along a direction s of the layer passes the filter 1/s_s twice: derivatives of the field before the law of flux sees them, and,
// before they are added to the points, the sums of the derivatives' transposes. Masses and laws stay what they are.
// The trapezoidal rule makes a filter of  y = x - d m,  m' = x - (alpha + d) m,  with h = dt / 2:
//   y = (1 - held) x - w,   w <- decay w + held (1 + decay) x,   held = d h / (1 + (alpha + d) h),  decay = (1 - (alpha + d) h) / (1 + (alpha + d) h)
// rates[e][2 a + m][node]                   held, decay of the a-th direction of the layer
// layer[e][(2 a + m) FIELDS + c][node]      w of component c: m = 0 of the derivative, m = 1 of the sum
#pragma once
#include "elements.h"
#ifndef AXES
#define AXES 0
#endif

constexpr int LAYERED = (AXES & 1) + (AXES >> 1 & 1) + (AXES >> 2 & 1);  // directions of the layer
INLINE constexpr bool layered(int s) { return AXES >> s & 1; }
INLINE constexpr int rank_of(int s) { return (s > 0 ? AXES & 1 : 0) + (s > 1 ? AXES >> 1 & 1 : 0); }  // among them
INLINE constexpr int sum_of(int s) { return layered(s) ? 1 + rank_of(s) : 0; }  // sums of the other directions are one, the first

#if AXES
template <int FIELDS> struct Filters { value held[LAYERED], decay[LAYERED], w[LAYERED][FIELDS]; };

template <int FIELDS> struct Layer {
    real* layer;
    const real* rates;

    template <int VISIT> MEMBER Filters<FIELDS> load(ptrdiff_t e, int node) const
    {
        Filters<FIELDS> now;
        UNROLL for (int a = 0; a < LAYERED; ++a)
        {
            now.held[a] = VALUES(rates)[(e * 2 * LAYERED + 2 * a) * NODES + node];
            now.decay[a] = VALUES(rates)[(e * 2 * LAYERED + 2 * a + 1) * NODES + node];
            UNROLL for (int c = 0; c < FIELDS; ++c) now.w[a][c] = VALUES(layer)[place<VISIT>(e, a, c, node)];
        }
        return now;
    }

    template <int VISIT> MEMBER value filtered(value x, const Filters<FIELDS>& now, int s, int c, ptrdiff_t e, int node) const
    {
        const int a = rank_of(s);
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
