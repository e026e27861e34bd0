// The law of elastic elements: stress from the gradient of displacement; moduli, loss and memory as stiffness.h has them.
#pragma once
#include "weak.h"
#include "memory.h"

constexpr int ROWS = FULL ? 21 : 2;

INLINE constexpr int row_of(int a, int b) { return a * 6 - a * (a - 1) / 2 + b - a; }  // of c_ab, a <= b

BODY void as_matrix(value (&flux)[3][3], const value (&s)[6])  // from xx yy zz yz xz xy
{
    UNROLL for (int a = 0; a < 3; ++a) flux[a][a] = s[a];
    flux[1][2] = flux[2][1] = s[3];
    flux[0][2] = flux[2][0] = s[4];
    flux[0][1] = flux[1][0] = s[5];
}

BODY void strain_of(value (&out)[6], const value (&g)[3][3])  // with engineering shear strains
{
    UNROLL for (int a = 0; a < 3; ++a) out[a] = g[a][a];
    out[3] = g[1][2] + g[2][1];
    out[4] = g[0][2] + g[2][0];
    out[5] = g[0][1] + g[1][0];
}

// Stress of a strain by the upper triangle of 21 constants.
BODY void hooke(value (&s)[6], const value (&c)[ROWS], const value (&strain)[6])
{
    UNROLL for (int a = 0; a < 6; ++a)
    {
        s[a] = c[row_of(0, a)] * strain[0];
        UNROLL for (int b = 1; b < 6; ++b) s[a] += c[a < b ? row_of(a, b) : row_of(b, a)] * strain[b];
    }
}

// Moduli of the isotropic part, which relaxes, of 21 constants.
BODY value relaxing_mu(const value* c) { return (c[row_of(3, 3)] + c[row_of(4, 4)] + c[row_of(5, 5)]) * real(1.0 / 3); }
BODY value relaxing_lambda(const value* c) { return (c[row_of(0, 1)] + c[row_of(0, 2)] + c[row_of(1, 2)]) * real(1.0 / 3); }

struct Elastic {
    static constexpr int KEEPS = 0;
    const real* moduli;
    const real* loss;
    real* memory;

    MEMBER value modulus(int row, ptrdiff_t e, int node) const
    {
        return VALUES(moduli)[PER_NODE ? (e * ROWS + row) * NODES + node : e * ROWS + row];
    }

    MEMBER void relaxing(value& lambda, value& mu, ptrdiff_t e, int node) const  // moduli of what relaxes
    {
        if constexpr (FULL) {
            value c[ROWS];
            UNROLL_ROWS for (int r = 0; r < ROWS; ++r) c[r] = modulus(r, e, node);
            mu = relaxing_mu(c);
            lambda = relaxing_lambda(c);
        } else {
            lambda = modulus(0, e, node);
            mu = modulus(1, e, node);
        }
    }

    MEMBER Memories load(ptrdiff_t e, int node) const { return memories(memory, e, node); }

    MEMBER void operator()(value (&flux)[3][3], const value (&g)[3][3], const Metric& m, const Memories& before, ptrdiff_t e, int node) const
    {
        Lost<false> lost;
        stress(flux, lost, g, m, before, e, node);
    }

    template <bool SLOPES>
    MEMBER void stress(
        value (&flux)[3][3], Lost<SLOPES>& lost, const value (&g)[3][3], const Metric& m, const Memories& before, ptrdiff_t e, int node) const
    {
        value strain[6], s[6], lambda, mu;
        strain_of(strain, g);
        if constexpr (MECHANISMS > 0) UNROLL for (int a = 0; a < 6; ++a) strain[a] = INNER(m, strain[a]);
        if constexpr (FULL) {
            value c[ROWS];
            UNROLL_ROWS for (int r = 0; r < ROWS; ++r) c[r] = modulus(r, e, node);
            hooke(s, c, strain);
            if constexpr (MECHANISMS > 0) {
                mu = relaxing_mu(c);
                lambda = relaxing_lambda(c);
            }
        } else {
            lambda = modulus(0, e, node);
            mu = modulus(1, e, node);
            if constexpr (MECHANISMS == 0) {  // two products in place of twelve
                lambda = OUTER(m, INNER(m, lambda));
                mu = OUTER(m, INNER(m, mu));
            }
            const value trace = lambda * (strain[0] + strain[1] + strain[2]), mu2 = real(2) * mu;
            UNROLL for (int a = 0; a < 3; ++a)
            {
                s[a] = trace + mu2 * strain[a];
                s[a + 3] = mu * strain[a + 3];
            }
        }
        if constexpr (MECHANISMS > 0) relax<SLOPES>(s, lost, memory, before, loss, lambda, mu, strain, e, node);
        if constexpr (MECHANISMS > 0) UNROLL for (int a = 0; a < 6; ++a) s[a] = OUTER(m, s[a]);
        else if constexpr (FULL) UNROLL for (int a = 0; a < 6; ++a) s[a] = OUTER(m, INNER(m, s[a]));
        as_matrix(flux, s);
    }
};
