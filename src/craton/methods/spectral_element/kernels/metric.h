// Metric terms of an element at its nodes. A gradient is  du/dx_r = inner * g_r,  g_r = sum_s du/dxi_s a[s][r];  a flux goes back by
// sum_r (outer flux_r) a[s][r], outer with the quadrature weight. Laws of flux apply both factors.
//   GEOMETRY = STORED   geometry[e][10][node]: a[s][r] = dxi_s/dx_r, then det J;  inner = 1, outer = weight * det J
//   GEOMETRY = SHAPE    geometry[e][3][27]: coordinates x, y, z of 27 nodes relative to the centre, node (c * 3 + b) * 3 + a;  here a are the
//                       cofactors of J = dx/dxi, inner = 1 / det J, outer = weight. A column sums over the nodes along xi and eta once.
//   GEOMETRY = CORNERS  geometry[e][3][8]: the same with the 8 corners, node (c * 2 + b) * 2 + a, where edges are straight
//   GEOMETRY = BOX      geometry[e][3]: edges of a box along x, y, z; cofactors, as above
#pragma once
#include "elements.h"
#define STORED 0
#define SHAPE 1
#define BOX 2
#define CORNERS 3
#define SHAPED (GEOMETRY == SHAPE || GEOMETRY == CORNERS)

constexpr int POWERS = GEOMETRY == CORNERS ? 2 : 3, TERMS = GEOMETRY == STORED ? 10 * NODES : SHAPED ? 3 * POWERS * POWERS * POWERS : 3;

#if GEOMETRY == STORED
struct Metric { value a[3][3], outer; };
#define INNER(m, x) (x)
#define OUTER(m, x) ((m).outer * (x))
#else
struct Metric { value a[3][3], inner; real outer; };
#define INNER(m, x) ((m).inner * (x))
#define OUTER(m, x) ((m).outer * (x))
#endif

// Polynomials along zeta of a column: dx/dxi, dx/deta [x y z][power], dx/dzeta.
struct Column { value xi[3][POWERS], eta[3][POWERS], zeta[3][POWERS - 1]; };

#if SHAPED
template <int STEP> BODY value along(const value* x, const real (&w)[POWERS])  // sum over the nodes of a line
{
    value sum = w[0] * x[0];
    UNROLL for (int a = 1; a < POWERS; ++a) sum += w[a] * x[a * STEP];
    return sum;
}

BODY void powers(value (&out)[POWERS], const value (&at)[POWERS])  // from values at -1, 1 or -1, 0, 1
{
    out[1] = real(0.5) * (at[POWERS - 1] - at[0]);
    out[0] = POWERS == 3 ? at[1] : real(0.5) * (at[1] + at[0]);
    if constexpr (POWERS == 3) out[2] = real(0.5) * (at[2] + at[0]) - at[1];
}

struct Weights { real of[POWERS], slope[POWERS]; };
BODY Weights weights_at(real x)
{
#if GEOMETRY == SHAPE
    return {{real(0.5) * x * (x - 1), 1 - x * x, real(0.5) * x * (x + 1)}, {x - real(0.5), -2 * x, x + real(0.5)}};
#else
    return {{real(0.5) - real(0.5) * x, real(0.5) + real(0.5) * x}, {real(-0.5), real(0.5)}};
#endif
}

BODY Column column_of(const value* nodes, real xi, real eta)
{
    const Weights x = weights_at(xi), y = weights_at(eta);
    Column out;
    UNROLL for (int r = 0; r < 3; ++r)
    {
        value along_xi[POWERS], along_eta[POWERS], place[POWERS], of_zeta[POWERS];
        UNROLL for (int c = 0; c < POWERS; ++c)
        {
            value v[POWERS], d[POWERS];
            UNROLL for (int b = 0; b < POWERS; ++b)
            {
                const value* line = nodes + POWERS * (POWERS * (POWERS * r + c) + b);
                v[b] = along<1>(line, x.of);
                d[b] = along<1>(line, x.slope);
            }
            along_xi[c] = along<1>(d, y.of);
            along_eta[c] = along<1>(v, y.slope);
            place[c] = along<1>(v, y.of);
        }
        powers(out.xi[r], along_xi);
        powers(out.eta[r], along_eta);
        powers(of_zeta, place);
        UNROLL for (int m = 1; m < POWERS; ++m) out.zeta[r][m - 1] = real(m) * of_zeta[m];
    }
    return out;
}

template <int COUNT> BODY value polynomial(const value (&c)[COUNT], real z)
{
    value sum = c[COUNT - 1];
    UNROLL for (int m = COUNT - 2; m >= 0; --m) sum = c[m] + z * sum;
    return sum;
}
#endif

BODY Metric metric_of(const Column& column, const value* terms, int node, real z, real weight)
{
    Metric m;
#if GEOMETRY == STORED
    UNROLL for (int s = 0; s < 3; ++s)
        UNROLL for (int r = 0; r < 3; ++r) m.a[s][r] = terms[(3 * s + r) * NODES + node];
    m.outer = weight * terms[9 * NODES + node];
#elif SHAPED
    value j[3][3];
    UNROLL for (int r = 0; r < 3; ++r)
    {
        j[0][r] = polynomial(column.xi[r], z);
        j[1][r] = polynomial(column.eta[r], z);
        j[2][r] = polynomial(column.zeta[r], z);
    }
    m.outer = weight;
    UNROLL for (int s = 0; s < 3; ++s)
        UNROLL for (int r = 0; r < 3; ++r)
    {
        const int s1 = (s + 1) % 3, s2 = (s + 2) % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3;
        m.a[s][r] = j[s1][r1] * j[s2][r2] - j[s1][r2] * j[s2][r1];
    }
    m.inner = reciprocal(j[0][0] * m.a[0][0] + j[0][1] * m.a[0][1] + j[0][2] * m.a[0][2]);
#else
    const value x = real(0.5) * terms[0], y = real(0.5) * terms[1], h = real(0.5) * terms[2];
    m.a[0][0] = y * h;
    m.a[1][1] = x * h;
    m.a[2][2] = x * y;
    m.inner = reciprocal(x * m.a[0][0]);
    m.outer = weight;
#endif
    return m;
}

// g[c][r] from d[c][s] = du_c/dxi_s.
template <int FIELDS> BODY void to_gradient(value (&g)[FIELDS][3], const value (&d)[FIELDS][3], const Metric& m)
{
    UNROLL for (int c = 0; c < FIELDS; ++c)
        UNROLL for (int r = 0; r < 3; ++r)
            g[c][r] = GEOMETRY == BOX ? d[c][r] * m.a[r][r] : d[c][0] * m.a[0][r] + d[c][1] * m.a[1][r] + d[c][2] * m.a[2][r];
}

// f[c][s]: flux through the reference element, times the quadrature weight.
template <int FIELDS> BODY void to_reference(value (&f)[FIELDS][3], const value (&flux)[FIELDS][3], const Metric& m)
{
    UNROLL for (int c = 0; c < FIELDS; ++c)
        UNROLL for (int s = 0; s < 3; ++s)
            f[c][s] = GEOMETRY == BOX ? flux[c][s] * m.a[s][s] : flux[c][0] * m.a[s][0] + flux[c][1] * m.a[s][1] + flux[c][2] * m.a[s][2];
}
