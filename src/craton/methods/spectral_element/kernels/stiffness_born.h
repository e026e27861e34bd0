// Internal forces of elastic elements of two fields, the second scattered by changes of the medium: pair.h; arrays as stiffness_correlated.h
// has them, change[e][row][node] as the sums of stiffness_replayed.h; memory and second_memory are those of the two fields, layer has rows of
// six components: layer.h.
#include "elastic_law.h"
#include "pair.h"

struct Scattering : Elastic {
    MEMBER void scattered(
        value (&flux)[3][3], value (&more)[3][3], const real* change, const value (&g)[3][3], const Metric& m, const Memories& before,
        ptrdiff_t e, int node) const
    {
#if MECHANISMS
        Lost<true> lost;
        stress(flux, lost, g, m, before, e, node);
        value strain[6], s[6], by[ROWS], by_loss[2], lambda, mu;
        strain_of(strain, g);
        UNROLL for (int a = 0; a < 6; ++a) strain[a] = INNER(m, strain[a]);
        const value* const at = VALUES(change) + e * (ROWS + 2) * NODES + node;
        UNROLL_ROWS for (int r = 0; r < ROWS; ++r) by[r] = at[r * NODES];
        UNROLL for (int r = 0; r < 2; ++r) by_loss[r] = at[(ROWS + r) * NODES];
        relaxing(lambda, mu, e, node);
        if constexpr (FULL) hooke(s, by, strain);
        else {
            const value trace = by[0] * (strain[0] + strain[1] + strain[2]);
            UNROLL for (int a = 0; a < 3; ++a)
            {
                s[a] = trace + real(2) * by[ROWS - 1] * strain[a];
                s[a + 3] = by[ROWS - 1] * strain[a + 3];
            }
        }
        take_lost(s, lost.of, FULL ? relaxing_lambda(by) : by[0], FULL ? relaxing_mu(by) : by[ROWS - 1]);
        value of_losses[6];
        UNROLL for (int c = 0; c < 6; ++c) of_losses[c] = by_loss[c == 5] * lost.by_loss[c];
        take_lost(s, of_losses, lambda, mu);
        UNROLL for (int a = 0; a < 6; ++a) s[a] = OUTER(m, s[a]);
        as_matrix(more, s);
#else
        (*this)(flux, g, m, before, e, node);
        Elastic{change, nullptr, nullptr}(more, g, m, before, e, node);
#endif
    }
};

KERNEL stiffness_born(
    force_t* RESTRICT pair_force, real* RESTRICT memory, real* RESTRICT second_memory, real* RESTRICT layer, const real* RESTRICT pair, const int* RESTRICT points, const real* RESTRICT geometry,
    const real* RESTRICT moduli, const real* RESTRICT change, const real* RESTRICT loss, const real* RESTRICT rates, const Box box,
    const ElementParams p)
{
    const Scattered<3, Scattering> law{{{moduli, loss, memory}}, {{moduli, loss, second_memory}}, change};
    weak_form<6>(pair_force, pair, points, geometry, (const int*)nullptr, law, Layer<6>{layer, rates}, box, p.first, 1.0);
}
