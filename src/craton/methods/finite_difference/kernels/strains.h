// What gradients need of a wavefield with attenuation (relax.h): strain rates of each step, read from memory variables before and after it,
//   e = (xi' - decay xi) / (1 - decay),
// whoever has measured them: the step, a CPML layer, the traction-free plane. They are stored, filtered as the law does, and correlated.
//   keep_strain       store[slot] = first variable of each stress before the step
//   increment_strain  store[slot] = dt e,  e from that and from the variable after the step
//   correlate_strain  sums += of velocities as increments.h; of each shear stress F(e^) e; of normal stresses
//                     2 (F_s(e^) : e - F_s(tr e^) tr e)  for mu and  F_p(tr e^) tr e  for lambda + 2 mu,   F(e) = e - sum_n Y_n (mean of xi_n)
//   scatter_strain    stresses += coefficient * F(e), coefficients in the order of the sums
// The adjoint strain e^ is the sum of the adjoint strain rates; with Z the sum of a variable over the steps before it is
//   e^ = dt (xi / (1 - decay) + Z),    and dt Z is the variable that e^ drives.
// SPONGE = 1: a sponge multiplies stresses by g, `damping` of a point, after each of these rates has come, so that with G = g:
//   Z' = G (Z + xi),   e^ = dt (Z' - decay Z) / (1 - decay)
// layout  store, sums: increments.h; damping as a field of them; memory: relax.h; correlate: Z lies p.past behind the variables; scatter: those of the store's
//         strain rates are `scattered`, `memory` those of the perturbed field
// BY_Q = 1: sums and coefficients of 1/Qs of each shear stress and of 1/Qs and 1/Qp of normal stresses follow, as those before them with
//         G(e) = - sum_n dY_n/d(1/Q) (mean of xi_n) in place of F(e).
// FREE = 1: the highest plane, p.top, is traction-free; there a perturbation changes the vertical strain so that szz stays zero.
#include "law.h"
#ifndef BY_Q
#define BY_Q 0
#endif
#ifndef SPONGE
#define SPONGE 0
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

constexpr int STRESSES = NORMALS + SHEARS, VELOCITIES = FIELDS - STRESSES, SUM_NORMAL = VELOCITIES + SHEARS;
constexpr int SUM_Q = SUM_NORMAL + (NORMALS > 0 ? 2 : 0), SUM_NORMAL_Q = SUM_Q + SHEARS;

#define STRAIN_POINT                                                                                                \
    POINT;                                                                                                          \
    const ptrdiff_t at = ((ptrdiff_t)k * p.nj + j) * p.ni + i;                                                      \
    [[maybe_unused]] const int row = row_class(j, k)

#define EACH_STRESS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

// The part of the store that belongs to a step.
template <typename Real> INLINE Real* stored(Real* store, const int* step, const StrainParams p)
{
    return store + (ptrdiff_t)((TRANSPOSED ? p.last - step[0] : step[0]) % p.slots) * FIELDS * p.points;
}

KERNEL keep_strain(real* RESTRICT store, const real* RESTRICT memory, const int* RESTRICT step, const Box box, const StrainParams p)
{
    real* const here = stored(store, step, p) + VELOCITIES * p.points;
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        for (int c = 0; c < STRESSES; ++c) here[c * p.points + at] = memory[slot(0, c) * p.field + q];
    }
}

KERNEL increment_strain(real* RESTRICT store, const real* RESTRICT memory, const int* RESTRICT step, const Box box, const StrainParams p)
{
    real* const here = stored(store, step, p) + VELOCITIES * p.points;
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
#define ONE(C)                                                                                                      \
    if constexpr (C < STRESSES) {                                                                                   \
        const real decay = mechanism<pattern(C)>(0, row, i).decay;                                                  \
        here[C * p.points + at] = p.dt_h * (memory[slot(0, C) * p.field + q] - decay * here[C * p.points + at]) / (1 - decay); \
    }
        EACH_STRESS(ONE)
#undef ONE
    }
}

// A strain that filters have seen: with 1/Qp and with 1/Qs, and the derivatives of both by these.
struct Filtered { real p, s, by_p, by_s; };

// Derivative of `coefficient` by 1/Q.
ALWAYS_INLINE real coefficient_slope(const Mechanism m, const real s) { return m.c0 + s * (2 * m.c1 + s * (3 * m.c2 + s * (4 * m.c3))); }

// What a mechanism takes of a strain whose variable has the mean x over a step.
ALWAYS_INLINE void lose(Filtered& f, const Mechanism m, const real x, const real qp, const real qs)
{
    f.p -= coefficient(m, qp) * x;
    f.s -= coefficient(m, qs) * x;
    if constexpr (BY_Q) {
        f.by_p -= coefficient_slope(m, qp) * x;
        f.by_s -= coefficient_slope(m, qs) * x;
    }
}

// The adjoint strain of the component C, filtered; Z is advanced.
template <int C>
ALWAYS_INLINE Filtered adjoint_strain(const real* xi, real* past, const ptrdiff_t field, const real dt_h, const real qp, const real qs, const real g,
                                      const int row, const int i)
{
    constexpr int COUNT = C < NORMALS ? NORMAL_STORED : SHEAR_STORED;
    const real first = xi[slot(0, C) * field], z = past[slot(0, C) * field], decay = mechanism<pattern(C)>(0, row, i).decay;
    const real e = dt_h * (SPONGE ? (g * (z + first) - decay * z) / (1 - decay) : first / (1 - decay) + z);
    Filtered f = {e, e, 0, 0};
    for (int n = 0; n < COUNT; ++n) {
        const Mechanism m = mechanism<pattern(C)>(n, row, i);
        const ptrdiff_t of = slot(n, C) * field;
        lose(f, m, e + m.held * (dt_h * past[of] - e), qp, qs);
        past[of] = SPONGE ? g * (past[of] + xi[of]) : past[of] + xi[of];
    }
    return f;
}

// The same of a strain rate of the forward field, whose variables z are advanced.
template <int C> ALWAYS_INLINE Filtered forward_strain(const real e, real* z, const ptrdiff_t field, const real qp, const real qs, const int row, const int i)
{
    constexpr int COUNT = C < NORMALS ? NORMAL_STORED : SHEAR_STORED;
    Filtered f = {e, e, 0, 0};
    for (int n = 0; n < COUNT; ++n) {
        const Mechanism m = mechanism<pattern(C)>(n, row, i);
        lose(f, m, advance(m, z + slot(n, C) * field, e), qp, qs);
    }
    return f;
}

// 1/Qs where a stress is.
template <int C> ALWAYS_INLINE real loss_at(const real* qs, const ptrdiff_t X, const ptrdiff_t MY, const ptrdiff_t MZ)
{
    if constexpr (C < NORMALS) return qs[0];
    else return shear_loss(qs, C == YZ ? MY : X, C == XY ? MY : MZ);
}

KERNEL correlate_strain(real* RESTRICT sums, real* RESTRICT memory, const real* RESTRICT state, const real* RESTRICT store,
                        const real* RESTRICT qp, const real* RESTRICT qs, const real* RESTRICT damping, const int* RESTRICT step, const Box box,
                        const StrainParams p)
{
    const real* const here = stored(store, step, p);
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        [[maybe_unused]] const real g = SPONGE ? damping[at] : real(1);
        real *const sum = sums + at, *const xi = memory + q, *const past = xi + p.past;
        [[maybe_unused]] real product = 0, trace = 0, trace_p = 0, trace_s = 0, product_q = 0, by_qp = 0, by_qs = 0;
        for (int f = 0; f < VELOCITIES; ++f) sum[f * p.points] += state[f * p.field + q] * here[f * p.points + at];
#define ONE(C)                                                                                                      \
    if constexpr (C < STRESSES) {                                                                                   \
        const real e = here[(VELOCITIES + C) * p.points + at];                                                      \
        const Filtered f = adjoint_strain<C>(xi, past, p.field, p.dt_h, C < NORMALS ? qp[m] : real(0), loss_at<C>(qs + m, X, MY, MZ), g, row, i); \
        if constexpr (C < NORMALS) {                                                                                \
            product += f.s * e;                                                                                     \
            trace += e;                                                                                             \
            trace_p += f.p;                                                                                         \
            trace_s += f.s;                                                                                         \
            product_q += f.by_s * e;                                                                                \
            by_qp += f.by_p;                                                                                        \
            by_qs += f.by_s;                                                                                        \
        } else {                                                                                                    \
            sum[(VELOCITIES + C - NORMALS) * p.points] += f.s * e;                                                  \
            if constexpr (BY_Q) sum[(SUM_Q + C - NORMALS) * p.points] += f.by_s * e;                                \
        }                                                                                                           \
    }
        EACH_STRESS(ONE)
#undef ONE
        if constexpr (NORMALS > 0) {
            sum[SUM_NORMAL * p.points] += 2 * (product - trace_s * trace);
            sum[(SUM_NORMAL + 1) * p.points] += trace_p * trace;
            if constexpr (BY_Q) {
                sum[SUM_NORMAL_Q * p.points] += 2 * (product_q - by_qs * trace);
                sum[(SUM_NORMAL_Q + 1) * p.points] += by_qp * trace;
            }
        }
    }
}

KERNEL scatter_strain(real* RESTRICT state, real* RESTRICT memory, real* RESTRICT scattered, const real* RESTRICT store, const real* RESTRICT coefficients,
                      const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT qp, const real* RESTRICT qs,
                      const int* RESTRICT step, const Box box, const StrainParams p)
{
    const real* const here = stored(store, step, p);
    const real *const d11 = nullptr, *const d13 = nullptr, *const r66 = nullptr;
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        real *const stress = state + VELOCITIES * p.field + q;
        [[maybe_unused]] real trace_p = 0, trace_s = 0, by_qp = 0, by_qs = 0, along[NORMALS + 1] = {}, along_q[NORMALS + 1] = {};
#define ONE(C)                                                                                                      \
    if constexpr (C < STRESSES) {                                                                                   \
        const real e = here[(VELOCITIES + C) * p.points + at];                                                      \
        const Filtered f = forward_strain<C>(e, scattered + q, p.field, C < NORMALS ? qp[m] : real(0), loss_at<C>(qs + m, X, MY, MZ), row, i); \
        if constexpr (C < NORMALS) {                                                                                \
            along[C < NORMALS ? C : 0] = f.s;                                                                       \
            trace_p += f.p;                                                                                         \
            trace_s += f.s;                                                                                         \
            along_q[C < NORMALS ? C : 0] = f.by_s;                                                                  \
            by_qp += f.by_p;                                                                                        \
            by_qs += f.by_s;                                                                                        \
        } else {                                                                                                    \
            stress[C * p.field] += coefficients[(VELOCITIES + C - NORMALS) * p.points + at] * f.s;                  \
            if constexpr (BY_Q) stress[C * p.field] += coefficients[(SUM_Q + C - NORMALS) * p.points + at] * f.by_s; \
        }                                                                                                           \
    }
        EACH_STRESS(ONE)
#undef ONE
        if constexpr (NORMALS > 0) {
            const bool free = FREE && k == p.top;
            const real by_mu = 2 * coefficients[SUM_NORMAL * p.points + at];
            real across = coefficients[(SUM_NORMAL + 1) * p.points + at] * trace_p - by_mu * trace_s, spread = 0, of_q = 0;
            if constexpr (BY_Q) {
                of_q = 2 * coefficients[SUM_NORMAL_Q * p.points + at];
                across += coefficients[(SUM_NORMAL_Q + 1) * p.points + at] * by_qp - of_q * by_qs;
            }
            if (free) {
                const Moduli c = moduli(MEDIUM, true);
                real l = c.c.lam, m2 = c.c.mu2;
                for (int n = 0; n < NORMAL_STORED; ++n) {
                    const Mechanism mech = mechanism<0>(n, row, i);
                    const Lame lost = relaxed(c.relaxing, mech);
                    l -= (1 - mech.held) * lost.lam;
                    m2 -= (1 - mech.held) * lost.mu2;
                }
                const real ezz = l + m2 > 0 ? -(across + by_mu * along[ZZ] + of_q * along_q[ZZ]) / (l + m2) : real(0);
                spread = l * ezz;
                for (int n = 0; n < NORMAL_STORED; ++n)
                    memory[slot(n, ZZ) * p.field + q] += (1 - mechanism<0>(n, row, i).decay) * ezz / p.dt_h;
            }
            for (int c = 0; c < NORMALS; ++c)
                if (!free || c != ZZ) stress[c * p.field] += across + by_mu * along[c] + of_q * along_q[c] + spread;
        }
    }
}
