// The transposed field of an element beside the forward one, which is known: forces of the transposed field alone, and its correlation with
// the forward field by the law. Of each global point F reals of the forward field, then F of the transposed one (F = 3 in a solid, 1 in a fluid).
// In absorbing layers the order of layer.h turns round, as the transpose of a product does:
//   forward     derivatives, filter, flux, filter of the flux's sums:   out = -sum_s  Q_s D_s^T flux_s( Q_t D_t in ),  Q_s = 1/s_s
//   transposed  filter, derivatives, flux, filter of the flux:          out = -sum_s  D_s^T Q_s flux_s( D_t Q_t in ),  backwards in time
// and where the depth does not follow lines of the mesh, likewise, layer after layer in the reverse order.
// layer[e][(2 a + m) F + c][node]   w of layer.h of the transposed field: m = 0 at the nodes, m = 1 of the flux
// past[e][a F + c][node]            w of the forward field's derivatives before its step, which save_layer keeps
// Law::replayed(flux, product, first, second, metric, loaded, e, node) makes the flux of the second, and what it makes with the first by each
// parameter; sums[e][row][node] += product.
#pragma once
#include "weak.h"

// reals of one row of one node, of all elements of the slots before that of the forward step that a step back belongs to
INLINE ptrdiff_t past_slot(int step, const ReplayParams& p) { return step > 0 ? (ptrdiff_t)((p.steps - step) % p.slots) * p.count : 0; }

template <int F> struct Past {
    const real* of;
    MEMBER value operator()(ptrdiff_t e, int a, int c, int node) const { return VALUES(of)[((e * LAYERED + a) * F + c) * NODES + node]; }
};

// what the filters of the forward run leave of the derivatives d of its field
template <int F> BODY void filter_as_then(value (&d)[F][3], const Layer<F>& layer, const Past<F>& past, ptrdiff_t e, int node)
{
#if AXES
    UNROLL for (int a = 0; a < LAYERED; ++a)
    {
        const value held = layer.held(e, a, node);
        UNROLL for (int c = 0; c < F; ++c)
        {
            const value w = past(e, a, c, node);
            if constexpr (GENERAL) {
                value x = layer.across(e, a, 0, node) * d[c][0];
                UNROLL for (int s = 1; s < 3; ++s) x += layer.across(e, a, s, node) * d[c][s];
                UNROLL for (int s = 0; s < 3; ++s) d[c][s] -= layer.slope(e, a, s, node) * (held * x + w);
            } else {
                UNROLL for (int s = 0; s < 3; ++s)
                    if (layered(s) && rank_of(s) == a) d[c][s] -= held * d[c][s] + w;
            }
        }
    }
#endif
}

// the flux f through the reference element behind the filters
template <int F> BODY void filter_flux(value (&f)[F][3], const Layer<F>& layer, ptrdiff_t e, int node)
{
#if AXES
    const auto filters = layer.template load<1>(e, node);
    UNROLL for (int a = LAYERED - 1; a >= 0; --a)
        UNROLL for (int c = 0; c < F; ++c)
    {
        if constexpr (GENERAL) {
            value x = layer.slope(e, a, 0, node) * f[c][0];
            UNROLL for (int s = 1; s < 3; ++s) x += layer.slope(e, a, s, node) * f[c][s];
            x -= layer.template filtered<1>(x, filters, a, c, e, node);
            UNROLL for (int s = 0; s < 3; ++s) f[c][s] -= layer.across(e, a, s, node) * x;
        } else {
            UNROLL for (int s = 0; s < 3; ++s)
                if (layered(s) && rank_of(s) == a) f[c][s] = layer.template filtered<1>(f[c][s], filters, a, c, e, node);
        }
    }
#endif
}

// derivatives along the three reference directions of a field of an element, one component of which lies at `of`
BODY void slopes(value (&d)[3], const value* of, const real* rule, int i, int j, int k)
{
    const value *row = of + k * COLUMNS + j * N, *line = of + k * COLUMNS + i, *own = of + j * N + i;
    d[0] = rule[i * N] * row[0];
    d[1] = rule[j * N] * line[0];
    d[2] = RULE[k * N] * own[0];
    UNROLL for (int l = 1; l < N; ++l)
    {
        d[0] += rule[i * N + l] * row[l];
        d[1] += rule[j * N + l] * line[l * N];
        d[2] += RULE[k * N + l] * own[l * COLUMNS];
    }
}

template <int F, int R, class Law>
BODY void replayed_form(
    force_t* RESTRICT out, real* RESTRICT sums, const real* RESTRICT both, const int* RESTRICT points, const real* RESTRICT geometry,
    const Law& law, const Layer<F>& layer, const Past<F>& past, const bool now, const Box& box, const int first)
{
    RULE_HERE(rule)
    [[maybe_unused]] const int* const order = nullptr;
    FOR_EACH_ELEMENT(box, order)
    {
        SHARED(u, 2 * F * NODES)
        SHARED(passed, LAYERED ? LAYERED * F * NODES : 1)  // the transposed field behind the filter of each direction; GENERAL: what that changes
        SHARED(fx, F * NODES)
        SHARED(fy, F * NODES)
        SHARED(fz, F * NODES)
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
            gather<2 * F>(u + node, NODES, both, point[node]);
#if AXES
            const auto filters = layer.template load<0>(e, node);
            UNROLL for (int a = 0; a < LAYERED; ++a)
                UNROLL for (int c = 0; c < F; ++c)
            {
                const value x = u[(F + c) * NODES + node];
                const value y = layer.template filtered<0>(x, filters, a, c, e, node);
                passed[(a * F + c) * NODES + node] = GENERAL ? y - x : y;
            }
#endif
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
            for (int k = 0; k < N; ++k)
            {
                const int node = k * COLUMNS + column;
                const auto loaded = law.load(e, node);
                value d[F][3], g[2][F][3], flux[F][3], f[F][3], product[R];
                UNROLL for (int c = 0; c < F; ++c) slopes(d[c], u + c * NODES, rule, i, j, k);
                filter_as_then<F>(d, layer, past, e, node);
                const Metric m = metric_of(shape, terms, node, RULE[POINTS + k], area * RULE[WEIGHTS + k]);
                to_gradient<F>(g[0], d, m);
                UNROLL for (int c = 0; c < F; ++c)
                {
                    slopes(d[c], u + (F + c) * NODES, rule, i, j, k);
#if AXES
                    UNROLL for (int a = 0; a < LAYERED; ++a)
                    {
                        value behind[3];
                        slopes(behind, passed + (a * F + c) * NODES, rule, i, j, k);
                        if constexpr (GENERAL) {
                            value x = layer.across(e, a, 0, node) * behind[0];
                            UNROLL for (int s = 1; s < 3; ++s) x += layer.across(e, a, s, node) * behind[s];
                            UNROLL for (int s = 0; s < 3; ++s) d[c][s] += layer.slope(e, a, s, node) * x;
                        } else {
                            UNROLL for (int s = 0; s < 3; ++s)
                                if (layered(s) && rank_of(s) == a) d[c][s] = behind[s];
                        }
                    }
#endif
                }
                to_gradient<F>(g[1], d, m);
                law.replayed(flux, product, g[0], g[1], m, loaded, e, node);
                to_reference<F>(f, flux, m);
                filter_flux<F>(f, layer, e, node);
                UNROLL for (int c = 0; c < F; ++c)
                {
                    fx[c * NODES + node] = f[c][0];
                    fy[c * NODES + node] = f[c][1];
                    fz[c * NODES + node] = f[c][2];
                }
                if (now) {
                    value* const to = (value*)sums + e * R * NODES + node;
                    UNROLL_ROWS for (int r = 0; r < R; ++r) to[r * NODES] += product[r];
                }
            }
        }
        BARRIER
        EACH_COLUMN
        {
            const int i = column % N, j = column / N;
            for (int k = 0; k < N; ++k)
            {
                value total[F];
                UNROLL for (int c = 0; c < F; ++c)
                {
                    const value *row = fx + c * NODES + k * COLUMNS + j * N, *line = fy + c * NODES + k * COLUMNS + i, *own = fz + c * NODES + column;
                    value sum = {};
                    UNROLL for (int l = 0; l < N; ++l)
                    {
                        sum -= rule[l * N + i] * row[l];
                        sum -= rule[l * N + j] * line[l * N];
                        sum -= RULE[l * N + k] * own[l * COLUMNS];
                    }
                    total[c] = sum;
                }
                add<F, 2 * F>(out + F, point[k * COLUMNS + column], total, 1.0);
            }
        }
    }
}
