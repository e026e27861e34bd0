// Internal forces of the transposed field of elastic elements, and its correlation with the forward field by moduli and losses: replay.h.
// positions  pair and pair_force at global points, [point][forward x y z, transposed x y z]; all else of the elements, as stiffness.h has it
// arrays     sums[e][row][node]: rows as of the moduli, then, where MECHANISMS > 0, of the losses; memory: of the transposed field
//            past[slot][e][..][node], slot = forward step % slots; layer, rates: see layer.h
// params     first: see stiffness.h; every: steps between correlations; steps of the forward run; slots, count: elements of a slot of past
#include "elastic_products.h"
#include "replay.h"

constexpr int PARAMETERS = ROWS + (MECHANISMS > 0 ? 1 + BULK : 0);

struct Transposed {
    Elastic law;

    MEMBER Memories load(ptrdiff_t e, int node) const { return law.load(e, node); }

    MEMBER void replayed(
        value (&flux)[3][3], value (&product)[PARAMETERS], const value (&first)[3][3], const value (&second)[3][3], const Metric& m,
        const Memories& before, ptrdiff_t e, int node) const
    {
        Lost<true> lost;
        law.stress(flux, lost, second, m, before, e, node);
        value elastic[ROWS];
        products(elastic, first, second);
        UNROLL_ROWS for (int r = 0; r < ROWS; ++r) product[r] = INNER(m, elastic[r]);
#if MECHANISMS
        value s[6], lambda, mu;
        strain_of(s, first);
        law.relaxing(lambda, mu, e, node);
        const value trace = s[0] + s[1] + s[2], by_shear = deviatoric(s, lost.by_loss);
        const value by_lambda = BULK ? trace * lost.of[5] : value{};
        take_products(product, by_lambda, real(2) * deviatoric(s, lost.of) + real(2.0 / 3) * by_lambda);
        product[ROWS] = real(-2) * mu * by_shear;
        if constexpr (BULK) product[ROWS + BULK] = -(lambda + real(2.0 / 3) * mu) * trace * lost.by_loss[5];
#endif
        UNROLL_ROWS for (int r = 0; r < PARAMETERS; ++r) product[r] = OUTER(m, product[r]);
    }

    // of lambda and mu of what relaxes: with 21 constants means of three each
    MEMBER void take_products(value (&product)[PARAMETERS], value by_lambda, value by_mu) const
    {
        if constexpr (FULL) {
            UNROLL for (int a = 0; a < 3; ++a)
            {
                product[row_of(a == 2, 1 + (a > 0))] -= real(1.0 / 3) * by_lambda;
                product[row_of(a + 3, a + 3)] -= real(1.0 / 3) * by_mu;
            }
        } else {
            product[0] -= by_lambda;
            product[1] -= by_mu;
        }
    }

    MEMBER value deviatoric(const value (&s)[6], const value (&lost)[6]) const  // a strain times a deviatoric one
    {
        return s[0] * lost[0] + s[1] * lost[1] - s[2] * (lost[0] + lost[1]) + s[3] * lost[2] + s[4] * lost[3] + s[5] * lost[4];
    }
};

KERNEL stiffness_replayed(
    force_t* RESTRICT pair_force, real* RESTRICT sums, real* RESTRICT memory, real* RESTRICT layer, const real* RESTRICT pair,
    const int* RESTRICT points, const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT loss,
    const real* RESTRICT rates, const real* RESTRICT past, const int* RESTRICT step, const Box box, const ReplayParams p)
{
    const Transposed law{{moduli, loss, memory}};
    const Past<3> then{past + past_slot(step[0], p) * LAYERED * 3 * NODES};
    replayed_form<3, PARAMETERS>(
        pair_force, sums, pair, points, geometry, law, Layer<3>{layer, rates}, then, step[0] % p.every == 0, box, p.first);
}
