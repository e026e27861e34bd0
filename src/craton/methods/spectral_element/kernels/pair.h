// Two fields of one element side by side: of each global point F reals of the first, then F of the second (F = 3 in a solid, 1 in a fluid).
// Geometry, metric, points and moduli are read and computed once for both.
//   Correlated  forces of both, and for the gradient by each modulus c_r  sums[e][r][node] += weight det J (dc/dc_r grad first) : grad second
//   Scattered   forces of the first; of the second, and of the change of the moduli times the first: Born
#pragma once
#include "weak.h"

template <int F, int FIRST> BODY void half(value (&out)[F][3], const value (&both)[2 * F][3])
{
    UNROLL for (int c = 0; c < F; ++c)
        UNROLL for (int r = 0; r < 3; ++r) out[c][r] = both[FIRST + c][r];
}

template <int F, int FIRST> BODY void put(value (&both)[2 * F][3], const value (&in)[F][3])
{
    UNROLL for (int c = 0; c < F; ++c)
        UNROLL for (int r = 0; r < 3; ++r) both[FIRST + c][r] = in[c][r];
}

template <int F, int R, class Law> struct Correlated {
    static constexpr int KEEPS = R <= 2 ? R : 0;  // 21 of a column are more than there are registers
    Law law;
    real* sums;
    bool now;

    MEMBER auto load(ptrdiff_t e, int node) const { return law.load(e, node); }

    template <class Loaded>
    MEMBER void operator()(value (&flux)[2 * F][3], const value (&g)[2 * F][3], const Metric& m, const Loaded& loaded, ptrdiff_t e, int node) const
    {
        value product[R];
        both(flux, product, g, m, loaded, e, node);
        if (now) {
            value* const to = (value*)sums + e * R * NODES + node;
            UNROLL_ROWS for (int r = 0; r < R; ++r) to[r * NODES] += product[r];
        }
    }

    template <class Loaded>
    MEMBER void operator()(
        value (&flux)[2 * F][3], const value (&g)[2 * F][3], const Metric& m, const Loaded& loaded, ptrdiff_t e, int node,
        value (&kept)[R][N], int k) const
    {
        value product[R];
        both(flux, product, g, m, loaded, e, node);
        UNROLL for (int r = 0; r < R; ++r) kept[r][k] = product[r];
    }

    MEMBER void store(const value (&kept)[R][N], ptrdiff_t e, int column) const
    {
        if (!now) return;
        value* const to = (value*)sums + e * R * NODES + column;
        UNROLL for (int r = 0; r < R; ++r)
            UNROLL for (int k = 0; k < N; ++k) to[r * NODES + k * COLUMNS] += kept[r][k];
    }

    template <class Loaded>
    MEMBER void both(
        value (&flux)[2 * F][3], value (&product)[R], const value (&g)[2 * F][3], const Metric& m, const Loaded& loaded, ptrdiff_t e,
        int node) const
    {
        value first[F][3], second[F][3], out[F][3];
        half<F, 0>(first, g);
        half<F, F>(second, g);
        law(out, first, m, loaded, e, node);
        put<F, 0>(flux, out);
        law(out, second, m, loaded, e, node);
        put<F, F>(flux, out);
        products(product, first, second);
        UNROLL_ROWS for (int r = 0; r < R; ++r) product[r] = OUTER(m, INNER(m, product[r]));
    }
};

template <class Loaded> struct Both { Loaded first, second; };

template <int F, class Law> struct Scattered {
    static constexpr int KEEPS = 0;
    Law law, second_law;  // with the memory variables of each field
    const real* change;

    MEMBER auto load(ptrdiff_t e, int node) const { return Both<decltype(law.load(e, node))>{law.load(e, node), second_law.load(e, node)}; }

    template <class Loaded>
    MEMBER void operator()(value (&flux)[2 * F][3], const value (&g)[2 * F][3], const Metric& m, const Loaded& loaded, ptrdiff_t e, int node) const
    {
        value first[F][3], second[F][3], out[F][3], more[F][3];
        half<F, 0>(first, g);
        half<F, F>(second, g);
        law.scattered(out, more, change, first, m, loaded.first, e, node);
        put<F, 0>(flux, out);
        second_law(out, second, m, loaded.second, e, node);
        UNROLL for (int c = 0; c < F; ++c)
            UNROLL for (int r = 0; r < 3; ++r) flux[F + c][r] = out[c][r] + more[c][r];
    }
};
