// Attenuation of an element's nodes: memory variables of a generalised Maxwell body (model/media/attenuation.py).
//   stress = M (e - sum_l Y_l xi_l),  d xi_l/dt = w_l (e - xi_l),  e linear between steps. With S_l = xi_l - held e at a step,
//   stress uses  S_l + held e,  then  S_l <- decay S_l + carried e;
//   decay = exp(-w dt),  held = 1 - (1 - decay) / (w dt),  carried = decay held + (1 - decay) / (w dt) - decay
// for the deviatoric strain with 2 mu and, where BULK = 1, its trace with kappa. Y_l = s (c0 + s (c1 + s (c2 + s c3))), s = 1/Q.
//   memory[e][node][l * MEMORIES + m]   m: deviatoric xx, yy, yz, xz, xy (tensor strains), then the trace; STORE of them, a multiple of 4: a node's
//                                       variables are fetched and written in pieces of 16 bytes, no two nodes share one
//   loss[e][m][node]                    1/Q_mu, then 1/Q_kappa where BULK = 1; loss[e][m] where PER_NODE = 0
// RELAXATION: for each mechanism decay, held, carried, c0 .. c3.
#pragma once
#include "elements.h"

#if MECHANISMS
constexpr int MEMORIES = 5 + BULK, LOSSES = 1 + BULK;
constexpr real MECHANISM[MECHANISMS][7] = RELAXATION;

constexpr int STORE = (MECHANISMS * MEMORIES + 3) / 4 * 4;

struct alignas(16) Memories { value of[STORE]; };

BODY Memories memories(const real* memory, ptrdiff_t e, int node)  // all at once: one after another each would be waited for
{
    const Memories* const from = (const Memories*)memory + e * NODES + node;
#if GPU_INSTRUCTIONS
    if constexpr (IN_TURN) __syncwarp(__activemask());  // loads of a node come after the stores of the one before
    if constexpr (PAST_L1) {
        Memories out;
        UNROLL for (int n = 0; n < (int)(sizeof(Memories) / 16); ++n) ((float4*)&out)[n] = __ldcg((const float4*)from + n);
        return out;
    }
#endif
    return *from;
}

BODY void keep(real* memory, const Memories& now, ptrdiff_t e, int node)
{
    Memories* const to = (Memories*)memory + e * NODES + node;
#if GPU_INSTRUCTIONS
    if constexpr (PAST_L1) {
        UNROLL for (int n = 0; n < (int)(sizeof(Memories) / 16); ++n) __stcg((float4*)to + n, ((const float4*)&now)[n]);
        return;
    }
#endif
    *to = now;
}

BODY value coefficient(int l, value s)
{
    return s * (MECHANISM[l][3] + s * (MECHANISM[l][4] + s * (MECHANISM[l][5] + s * MECHANISM[l][6])));
}

BODY value slope_of_coefficient(int l, value s)  // by s
{
    return MECHANISM[l][3] + s * (real(2) * MECHANISM[l][4] + s * (real(3) * MECHANISM[l][5] + s * (real(4) * MECHANISM[l][6])));
}

// What mechanisms take of the deviatoric strain, and of its trace: sum_l Y_l xi_l; with SLOPES its derivative by 1/Q, too.
template <bool SLOPES> struct Lost { value of[6], by_loss[SLOPES ? 6 : 1]; };

BODY void take_lost(value (&stress)[6], const value (&lost)[6], value lambda, value mu)  // stress -= what these moduli make of it
{
    const value mu2 = real(2) * mu, bulk = BULK ? (lambda + mu2 * real(1.0 / 3)) * lost[5] : value{};
    stress[0] -= mu2 * lost[0] + bulk;
    stress[1] -= mu2 * lost[1] + bulk;
    stress[2] -= bulk - mu2 * (lost[0] + lost[1]);
    UNROLL for (int m = 2; m < 5; ++m) stress[m + 1] -= mu2 * lost[m];
}

template <bool SLOPES>
BODY void relax(
    value (&stress)[6], Lost<SLOPES>& lost, real* memory, const Memories& before, const real* loss, value lambda, value mu, const value (&strain)[6],
    ptrdiff_t e, int node)
{
    const value trace = strain[0] + strain[1] + strain[2], third = trace * real(1.0 / 3);
    const value part[6] = {strain[0] - third, strain[1] - third, real(0.5) * strain[3], real(0.5) * strain[4], real(0.5) * strain[5], trace};
    const value* const s = VALUES(loss) + (PER_NODE ? e * LOSSES * NODES + node : e * LOSSES);
    lost = {};
    Memories now = {};
    UNROLL for (int l = 0; l < MECHANISMS; ++l)
    {
        const value of_shear = s[0], bulk_loss = s[BULK * (PER_NODE ? NODES : 1)];
        const value y = coefficient(l, of_shear), of_bulk = BULK ? coefficient(l, bulk_loss) : y;
        UNROLL for (int m = 0; m < MEMORIES; ++m)
        {
            const value s_l = before.of[l * MEMORIES + m];
            const value xi = s_l + MECHANISM[l][1] * part[m];
            lost.of[m] += (m < 5 ? y : of_bulk) * xi;
            if constexpr (SLOPES) lost.by_loss[m] += slope_of_coefficient(l, m < 5 ? of_shear : bulk_loss) * xi;
            now.of[l * MEMORIES + m] = MECHANISM[l][0] * s_l + MECHANISM[l][2] * part[m];
        }
    }
    keep(memory, now, e, node);
    take_lost(stress, lost.of, lambda, mu);
}
#else
struct Memories {};
BODY Memories memories(const real*, ptrdiff_t, int) { return {}; }
template <bool SLOPES> struct Lost {};
template <bool SLOPES>
BODY void relax(value (&)[6], Lost<SLOPES>&, real*, const Memories&, const real*, value, value, const value (&)[6], ptrdiff_t, int) {}
#endif
