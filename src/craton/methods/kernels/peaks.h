// Peaks of the ground motion at the sites of a map, at every step. A site's velocity is a sum of rows (index, weight), as a receiver's is:
//   v_c(n) = sum over rows r of weight[r] state[source[r]],    c = E, N, Z;  a source below 0 is ghosts[-1 - source], of another rank
// Rows of component c of site i are first[3 i + c] .. first[3 i + c + 1]; with `together` all components share the rows first[i] ..
// first[i + 1], and component c lies c behind in the state. `axes`, where there are any, are east, north, up in the axes of the state.
//   d(n) = d(n - 1) + dt v(n)              displacement, at full steps where v is at half steps
//   a(n) = (v(n) - v(n - 1)) / dt          acceleration, at the full step before
//   u, w of an oscillator of a period: (u, w) = A (u, w) + B (a(n - 1), a(n)), exact where a changes linearly (Nigam & Jennings 1969)
// largest: maxima of |E|, |N|, |Z| and of E^2 + N^2 of each field; sums: of dt a^2, dt |a|, dt v^2; history: of dt (a_E^2 + a_N^2) every so
// many steps. Rows of the constants VELOCITY ... are -1 where nobody asks. Points: a site each; reach: none, sites are gathered.
//   gather_points  values[i] = state[source[i]], what other ranks need
#include "machine.h"
#ifndef PERIODS
#define VELOCITY 0
#define ACCELERATION 1
#define DISPLACEMENT 2
#define ARIAS 0
#define CAV 1
#define SQUARED_VELOCITY 2
#define PERIODS 1
#define HISTORY 1
#endif
#define NEEDS_ACCELERATION (ACCELERATION >= 0 || ARIAS >= 0 || CAV >= 0 || PERIODS > 0)

INLINE real magnitude(real x) { return x < 0 ? -x : x; }

// Maxima of the rows `row` of one field with components c: E, N, Z, and the square of the horizontal vector.
INLINE void enlarge(real* RESTRICT largest, const ptrdiff_t count, const ptrdiff_t i, const real* c)
{
    const real values[4] = {magnitude(c[0]), magnitude(c[1]), magnitude(c[2]), c[0] * c[0] + c[1] * c[1]};
    for (int m = 0; m < 4; ++m)
    {
        const real before = largest[m * count + i];
        largest[m * count + i] = values[m] > before ? values[m] : before;
    }
}

KERNEL peaks(
    real* RESTRICT before, double* RESTRICT displaced, real* RESTRICT largest, double* RESTRICT sums, real* RESTRICT pushed,
    double* RESTRICT oscillators, real* RESTRICT oscillators_largest, real* RESTRICT history, const real* RESTRICT state,
    const real* RESTRICT ghosts, const long long* RESTRICT source, const int* RESTRICT first, const real* RESTRICT weight,
    const real* RESTRICT axes, const double* RESTRICT recursion, const int* RESTRICT step, const Box box, const PeakParams p)
{
    const int n = step[0];
    if (n >= p.last) return;
    const ptrdiff_t count = p.count;
    FOR_EACH_POINT(box)
    {
        real v[3];
        for (int c = 0; c < 3; ++c)
        {
            const ptrdiff_t rows = p.together ? i : 3 * (ptrdiff_t)i + c;
            real sum = 0;
            for (int r = first[rows]; r < first[rows + 1]; ++r)
            {
                const long long at = source[r];
                sum += weight[r] * (at < 0 ? ghosts[-1 - at] : state[at + p.together * c]);
            }
            v[c] = sum;
        }
        if (axes)
        {
            const real x = v[0], y = v[1], z = v[2];
            for (int c = 0; c < 3; ++c) v[c] = axes[c * count + i] * x + axes[(3 + c) * count + i] * y + axes[(6 + c) * count + i] * z;
        }
        if constexpr (VELOCITY >= 0) enlarge(largest + 4 * VELOCITY * count, count, i, v);
        if constexpr (DISPLACEMENT >= 0)
        {
            real d[3];
            for (int c = 0; c < 3; ++c)
            {
                const double moved = displaced[c * count + i] + (double)p.dt * v[c];
                displaced[c * count + i] = moved;
                d[c] = (real)moved;
            }
            enlarge(largest + 4 * DISPLACEMENT * count, count, i, d);
        }
        if constexpr (SQUARED_VELOCITY >= 0)
            for (int c = 0; c < 3; ++c) sums[(3 * SQUARED_VELOCITY + c) * count + i] += (double)p.dt * v[c] * v[c];
        if constexpr (NEEDS_ACCELERATION)
        {
            real a[3];
            for (int c = 0; c < 3; ++c)
            {
                a[c] = (v[c] - before[c * count + i]) / p.dt;
                before[c * count + i] = v[c];
            }
            if constexpr (ACCELERATION >= 0) enlarge(largest + 4 * ACCELERATION * count, count, i, a);
            if constexpr (ARIAS >= 0)
                for (int c = 0; c < 3; ++c) sums[(3 * ARIAS + c) * count + i] += (double)p.dt * a[c] * a[c];
            if constexpr (CAV >= 0)
                for (int c = 0; c < 3; ++c) sums[(3 * CAV + c) * count + i] += (double)p.dt * magnitude(a[c]);
            if constexpr (HISTORY)
                if ((n + 1) % p.every == 0 || n + 1 == p.last)
                    history[n / p.every * count + i] = (real)(sums[3 * ARIAS * count + i] + sums[(3 * ARIAS + 1) * count + i]);
            for (int m = 0; m < PERIODS; ++m)
            {
                const double* const b = recursion + 8 * m;
                real u[3];
                for (int c = 0; c < 3; ++c)
                {
                    double* const at = oscillators + (6 * m + 2 * c) * count + i;
                    const double moved = at[0], rate = at[count], earlier = pushed[c * count + i];
                    at[0] = b[0] * moved + b[1] * rate + b[2] * earlier + b[3] * a[c];
                    at[count] = b[4] * moved + b[5] * rate + b[6] * earlier + b[7] * a[c];
                    u[c] = (real)at[0];
                }
                enlarge(oscillators_largest + 4 * m * count, count, i, u);
            }
            if constexpr (PERIODS > 0)
                for (int c = 0; c < 3; ++c) pushed[c * count + i] = a[c];
        }
    }
}

KERNEL gather_points(
    real* RESTRICT values, const real* RESTRICT state, const long long* RESTRICT source, const Box box, const PeakParams p)
{
    FOR_EACH_POINT(box) values[i] = state[source[i]];
}
