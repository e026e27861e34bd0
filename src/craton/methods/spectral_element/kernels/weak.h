// The weak form of an element: out -= sum over its nodes of grad l : flux(grad in), for any law of flux. Law::load fetches early what is
// slow to come; law(flux, g, metric, loaded, e, node) makes  outer * flux(inner * g). Three visits of the element's columns:
//   gather the field; derivatives along xi, eta, zeta, gradient in space, flux by the law, back to the reference element; sum of the
//   derivatives' transposes, added to the global points. A law that KEEPS products of a column has them stored behind its nodes, all at once: a
//   store between the nodes would keep a GPU from fetching what the next node needs. In absorbing layers some derivatives and sums pass filters: layer.h.
#pragma once
#include "layer.h"
#include "metric.h"

template <int FIELDS, class Law>
BODY void weak_form(
    force_t* RESTRICT out, const real* RESTRICT in, const int* RESTRICT points, const real* RESTRICT geometry, const int* RESTRICT order,
    const Law& law, const Layer<FIELDS>& layer, const Box& box, const int first, const double per_unit)
{
    RULE_HERE(rule)
    FOR_EACH_ELEMENT(box, order)
    {
        SHARED(u, FIELDS * NODES)
        SHARED(fx, FIELDS * NODES)
        SHARED(fy_apart, LATE ? 1 : FIELDS * NODES)
        SHARED(fz, THREAD_PER_POINT ? 1 : FIELDS * NODES)
#if GENERAL
        SHARED(through, LAYERED * FIELDS * NODES)
#endif
        value* const fy = LATE ? u : fy_apart;
        value mine[KEEP ? FIELDS : 1][N], late[LATE ? FIELDS : 1][N];
        [[maybe_unused]] value sum[FIELDS][N];  // on a GPU
        const Points point(points, e, first);
#if SHAPED && THREAD_PER_POINT
        SHARED(terms, TERMS)
        EACH_COLUMN for (int m = column; m < TERMS; m += COLUMNS) terms[m] = geometry[e * TERMS + m];
#else
        const value* const terms = VALUES(geometry) + e * TERMS;
#endif
        EACH_COLUMN UNROLL_COLUMN for (int k = 0; k < N; ++k)
        {
            const int node = k * COLUMNS + column;
            gather<FIELDS>(u + node, NODES, in, point[node]);
            UNROLL for (int c = 0; c < FIELDS; ++c)
            {
                if constexpr (KEEP) mine[c][k] = u[c * NODES + node];
                if constexpr (THREAD_PER_POINT) sum[c][k] = value{};
            }
        }
        BARRIER
        EACH_COLUMN
        {
            const int i = column % N, j = column / N;
            Column shape;
#if SHAPED
            shape = column_of(terms, rule[POINTS + i], rule[POINTS + j]);
#endif
            const real area = rule[WEIGHTS + i] * rule[WEIGHTS + j];
            value kept[Law::KEEPS ? Law::KEEPS : 1][N];
            UNROLL_COLUMN for (int k = 0; k < N; ++k)
            {
                const int node = k * COLUMNS + column;
                const auto loaded = law.load(e, node);
                const auto filters = layer.template load<0>(e, node);
                value d[FIELDS][3], g[FIELDS][3], flux[FIELDS][3], f[FIELDS][3];
                UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    const value *row = u + c * NODES + k * COLUMNS + j * N, *line = u + c * NODES + k * COLUMNS + i, *own = u + c * NODES + column;
                    value x = rule[i * N] * row[0], y = rule[j * N] * line[0], z = RULE[k * N] * (KEEP ? mine[KEEP ? c : 0][0] : own[0]);
                    UNROLL for (int l = 1; l < N; ++l)
                    {
                        x += rule[i * N + l] * row[l];
                        y += rule[j * N + l] * line[l * N];
                        z += RULE[k * N + l] * (KEEP ? mine[KEEP ? c : 0][l] : own[l * COLUMNS]);
                    }
                    d[c][0] = x;
                    d[c][1] = y;
                    d[c][2] = z;
                }
                UNROLL for (int s = 0; s < 3; ++s)
                    if (layered(s)) UNROLL for (int c = 0; c < FIELDS; ++c) d[c][s] = layer.template filtered<0>(d[c][s], filters, rank_of(s), c, e, node);
#if GENERAL
                UNROLL for (int a = 0; a < LAYERED; ++a)
                    UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    value x = layer.across(e, a, 0, node) * d[c][0];
                    UNROLL for (int s = 1; s < 3; ++s) x += layer.across(e, a, s, node) * d[c][s];
                    x -= layer.template filtered<0>(x, filters, a, c, e, node);
                    UNROLL for (int s = 0; s < 3; ++s) d[c][s] -= layer.slope(e, a, s, node) * x;
                }
#endif
                const real weight = area * RULE[WEIGHTS + k];
                const Metric m = metric_of(shape, terms, node, RULE[POINTS + k], weight);
                to_gradient<FIELDS>(g, d, m);
                if constexpr (Law::KEEPS > 0) law(flux, g, m, loaded, e, node, kept, k);
                else law(flux, g, m, loaded, e, node);
                to_reference<FIELDS>(f, flux, m);
#if GENERAL
                UNROLL for (int a = 0; a < LAYERED; ++a)
                    UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    value x = layer.slope(e, a, 0, node) * f[c][0];
                    UNROLL for (int s = 1; s < 3; ++s) x += layer.slope(e, a, s, node) * f[c][s];
                    through[(a * FIELDS + c) * NODES + node] = x;
                }
#endif
                UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    fx[c * NODES + node] = f[c][0];
                    if constexpr (LATE) late[c][k] = f[c][1];
                    else fy[c * NODES + node] = f[c][1];
                    if constexpr (THREAD_PER_POINT) UNROLL for (int l = 0; l < N; ++l) sum[c][l] -= RULE[k * N + l] * f[c][2];
                    else fz[c * NODES + node] = f[c][2];
                }
            }
            if constexpr (Law::KEEPS > 0) law.store(kept, e, column);
        }
        BARRIER
        if constexpr (LATE) {  // u has been read
            EACH_COLUMN UNROLL for (int k = 0; k < N; ++k)
                UNROLL for (int c = 0; c < FIELDS; ++c) fy[c * NODES + k * COLUMNS + column] = late[c][k];
            BARRIER
        }
        EACH_COLUMN
        {
            const int i = column % N, j = column / N;
            UNROLL_COLUMN for (int k = 0; k < N; ++k)
            {
                const int node = k * COLUMNS + column;
                const auto filters = layer.template load<1>(e, node);
                value total[FIELDS];
                UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    const value *row = fx + c * NODES + k * COLUMNS + j * N, *line = fy + c * NODES + k * COLUMNS + i, *own = fz + c * NODES + column;
                    value t[1 + LAYERED] = {};
                    if constexpr (THREAD_PER_POINT) t[sum_of(2)] = sum[c][k];
                    UNROLL for (int l = 0; l < N; ++l)
                    {
                        t[sum_of(0)] -= rule[l * N + i] * row[l];
                        t[sum_of(1)] -= rule[l * N + j] * line[l * N];
                        if constexpr (!THREAD_PER_POINT) t[sum_of(2)] -= RULE[l * N + k] * own[l * COLUMNS];
                    }
                    total[c] = t[0];
                    UNROLL for (int s = 0; s < 3; ++s)
                        if (layered(s)) total[c] += layer.template filtered<1>(t[sum_of(s)], filters, rank_of(s), c, e, node);
                }
                if constexpr (SPREAD) UNROLL for (int c = 0; c < FIELDS; ++c) u[node * FIELDS + c] = total[c];
                else add<FIELDS>(out, point[node], total, per_unit);
            }
        }
        if constexpr (SPREAD) {
            BARRIER
            EACH_COLUMN add_spread<FIELDS>(out, point, u, column, per_unit);
        }
#if GENERAL
        for (int a = 0; a < LAYERED; ++a)  // what the filter takes away from the forces of the flux across the layer
        {
            BARRIER
            EACH_COLUMN for (int k = 0; k < N; ++k)
            {
                const int node = k * COLUMNS + column;
                UNROLL for (int c = 0; c < FIELDS; ++c)
                {
                    const value flow = through[(a * FIELDS + c) * NODES + node];
                    fx[c * NODES + node] = layer.across(e, a, 0, node) * flow;
                    fy[c * NODES + node] = layer.across(e, a, 1, node) * flow;
                }
            }
            BARRIER
            EACH_COLUMN
            {
                const int i = column % N, j = column / N;
                for (int k = 0; k < N; ++k)
                {
                    const int node = k * COLUMNS + column;
                    const auto filters = layer.template load<1>(e, node);
                    value less[FIELDS];
                    UNROLL for (int c = 0; c < FIELDS; ++c)
                    {
                        const value *row = fx + c * NODES + k * COLUMNS + j * N, *line = fy + c * NODES + k * COLUMNS + i;
                        value t = {};
                        UNROLL for (int l = 0; l < N; ++l)
                        {
                            const int above = l * COLUMNS + column;
                            t -= rule[l * N + i] * row[l];
                            t -= rule[l * N + j] * line[l * N];
                            t -= rule[l * N + k] * (layer.across(e, a, 2, above) * through[(a * FIELDS + c) * NODES + above]);
                        }
                        less[c] = layer.template filtered<1>(t, filters, a, c, e, node) - t;
                    }
                    add<FIELDS>(out, point[node], less, per_unit);
                }
            }
        }
#endif
    }
}
