// Metric terms of an element at its nodes. A gradient is  du/dx_r = inner * sum_s du/dxi_s a[s][r]  and a flux goes back by
// outer * sum_r flux_r a[s][r], quadrature weight included.
//   GEOMETRY = STORED   geometry[e][10][node]: a[s][r] = dxi_s/dx_r, then det J;  inner = 1, outer = weight * det J
//   GEOMETRY = SHAPE    geometry[e][3][27]: coordinates x, y, z of 27 nodes relative to the centre, node (c * 3 + b) * 3 + a;  here a are the
//                       cofactors of J = dx/dxi, inner = 1 / det J, outer = weight. A column sums over the nodes along xi and eta once.
//   GEOMETRY = BOX      geometry[e][3]: edges of a box along x, y, z; cofactors, as above
#pragma once
#include "elements.h"
#define STORED 0
#define SHAPE 1
#define BOX 2

struct Metric { value a[3][3], inner, outer; };

// Quadratic polynomials along zeta of a column: dx/dxi, dx/deta [x y z][power], and of dx/dzeta the two coefficients.
struct Column { value xi[3][3], eta[3][3], zeta[3][2]; };

#if GEOMETRY == SHAPE
BODY value quadratic(const value* x, const real (&w)[3], int step) { return w[0] * x[0] + w[1] * x[step] + w[2] * x[2 * step]; }

BODY void powers(value (&out)[3], const value (&at)[3])  // from values at -1, 0, 1
{
    out[0] = at[1];
    out[1] = real(0.5) * (at[2] - at[0]);
    out[2] = real(0.5) * (at[2] + at[0]) - at[1];
}

BODY Column column_of(const value* nodes, real x, real y)
{
    const real vx[3] = {real(0.5) * x * (x - 1), 1 - x * x, real(0.5) * x * (x + 1)}, dx[3] = {x - real(0.5), -2 * x, x + real(0.5)};
    const real vy[3] = {real(0.5) * y * (y - 1), 1 - y * y, real(0.5) * y * (y + 1)}, dy[3] = {y - real(0.5), -2 * y, y + real(0.5)};
    Column out;
    UNROLL for (int r = 0; r < 3; ++r)
    {
        value along_xi[3], along_eta[3], place[3], of_zeta[3];
        UNROLL for (int c = 0; c < 3; ++c)
        {
            value v[3], d[3];
            UNROLL for (int b = 0; b < 3; ++b)
            {
                const value* line = nodes + 27 * r + 9 * c + 3 * b;
                v[b] = quadratic(line, vx, 1);
                d[b] = quadratic(line, dx, 1);
            }
            along_xi[c] = quadratic(d, vy, 1);
            along_eta[c] = quadratic(v, dy, 1);
            place[c] = quadratic(v, vy, 1);
        }
        powers(out.xi[r], along_xi);
        powers(out.eta[r], along_eta);
        powers(of_zeta, place);
        out.zeta[r][0] = of_zeta[1];
        out.zeta[r][1] = 2 * of_zeta[2];
    }
    return out;
}
#endif

BODY Metric metric_of(const Column& column, const value* terms, int node, real z, real weight)
{
    Metric m;
#if GEOMETRY == STORED
    UNROLL for (int s = 0; s < 3; ++s)
        UNROLL for (int r = 0; r < 3; ++r) m.a[s][r] = terms[(3 * s + r) * NODES + node];
    m.outer = weight * terms[9 * NODES + node];
#elif GEOMETRY == SHAPE
    value j[3][3];
    UNROLL for (int r = 0; r < 3; ++r)
    {
        j[0][r] = column.xi[r][0] + z * (column.xi[r][1] + z * column.xi[r][2]);
        j[1][r] = column.eta[r][0] + z * (column.eta[r][1] + z * column.eta[r][2]);
        j[2][r] = column.zeta[r][0] + z * column.zeta[r][1];
    }
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
#endif
    return m;
}

// g[c][r] = du_c/dx_r from d[c][s] = du_c/dxi_s.
template <int FIELDS> BODY void to_gradient(value (&g)[FIELDS][3], const value (&d)[FIELDS][3], const Metric& m)
{
    UNROLL for (int c = 0; c < FIELDS; ++c)
        UNROLL for (int r = 0; r < 3; ++r)
    {
#if GEOMETRY == STORED
        g[c][r] = d[c][0] * m.a[0][r] + d[c][1] * m.a[1][r] + d[c][2] * m.a[2][r];
#elif GEOMETRY == SHAPE
        g[c][r] = m.inner * (d[c][0] * m.a[0][r] + d[c][1] * m.a[1][r] + d[c][2] * m.a[2][r]);
#else
        g[c][r] = d[c][r] * (m.inner * m.a[r][r]);
#endif
    }
}

// f[c][s]: flux through the reference element, times the quadrature weight.
template <int FIELDS> BODY void to_reference(value (&f)[FIELDS][3], const value (&flux)[FIELDS][3], const Metric& m, real weight)
{
    UNROLL for (int c = 0; c < FIELDS; ++c)
        UNROLL for (int s = 0; s < 3; ++s)
    {
#if GEOMETRY == STORED
        f[c][s] = m.outer * (flux[c][0] * m.a[s][0] + flux[c][1] * m.a[s][1] + flux[c][2] * m.a[s][2]);
#elif GEOMETRY == SHAPE
        f[c][s] = weight * (flux[c][0] * m.a[s][0] + flux[c][1] * m.a[s][1] + flux[c][2] * m.a[s][2]);
#else
        f[c][s] = flux[c][s] * (weight * m.a[s][s]);
#endif
    }
}
