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
// VTI = 1: that is of the part that relaxes (law.h). Of what is left, the medium less that part, the strains are not filtered; sums and
//         coefficients behind the others: e^ e of each shear stress, and of normal stresses for c11, c13, c33 and, in space, c66.
// A store holds every p.every-th step, as in increments.h. Filters work at each, on all adjoint strains, and with SPARSE = 1 on zero in place of
//         what is not stored: so correlate and scatter remain transposes of each other.
// layout  store, sums: increments.h; damping as a field of them; memory: relax.h; correlate: Z lies p.past behind the variables; scatter: those of the store's
//         strain rates are `scattered`, `memory` those of the perturbed field
// BY_QS = 1: sums and coefficients of 1/Qs of each shear stress and of normal stresses follow, BY_QP = 1: that of 1/Qp of normal stresses, as those
//         before them with G(e) = - sum_n dY_n/d(1/Q) (mean of xi_n) in place of F(e).
// FREE = 1: the highest plane, p.top, is traction-free; there a perturbation changes the vertical strain so that szz stays zero.
#include "law.h"
#ifndef BY_QP
#define BY_QP 0
#endif
#ifndef BY_QS
#define BY_QS 0
#endif
#ifndef SPONGE
#define SPONGE 0
#endif
#ifndef SPARSE
#define SPARSE 0
#endif
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif

constexpr int STRESSES = NORMALS + SHEARS, VELOCITIES = FIELDS - STRESSES, SUM_NORMAL = VELOCITIES + SHEARS;
constexpr int SUM_Q = SUM_NORMAL + (NORMALS > 0 ? 2 : 0), SUM_NORMAL_Q = SUM_Q + (BY_QS ? SHEARS : 0), SUM_TRACE_Q = SUM_NORMAL_Q + BY_QS;
constexpr int VARIABLES = NORMAL_STORED * NORMALS + SHEAR_STORED * SHEARS;
constexpr int SUM_REST = NORMALS > 0 ? SUM_TRACE_Q + BY_QP : SUM_NORMAL_Q, SUM_NORMAL_REST = SUM_REST + SHEARS;  // VTI

#define STRAIN_POINT                                                                                                \
    POINT;                                                                                                          \
    const ptrdiff_t at = ((ptrdiff_t)k * p.nj + j) * p.ni + i;                                                      \
    [[maybe_unused]] const int row = row_class(j, k)

#define EACH_STRESS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

// The part of the store that belongs to a step; null where it is not stored.
template <typename Real> INLINE Real* stored(Real* store, const int* step, const StrainParams p)
{
    const int n = TRANSPOSED ? p.last - step[0] : step[0];
    return n % p.every ? nullptr : store + (ptrdiff_t)(n / p.every % p.slots) * FIELDS * p.points;
}

KERNEL keep_strain(real* RESTRICT store, const real* RESTRICT memory, const int* RESTRICT step, const Box box, const StrainParams p)
{
    real* const whole = stored(store, step, p);
    if (!whole) return;
    real* const here = whole + VELOCITIES * p.points;
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        for (int c = 0; c < STRESSES; ++c) here[c * p.points + at] = memory[slot(0, c) * p.field + q];
    }
}

KERNEL increment_strain(real* RESTRICT store, const real* RESTRICT memory, const int* RESTRICT step, const Box box, const StrainParams p)
{
    real* const whole = stored(store, step, p);
    if (!whole) return;
    real* const here = whole + VELOCITIES * p.points;
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

// A strain that filters have seen: with 1/Qp and with 1/Qs, the derivatives of both by these, and the strain itself.
struct Filtered { real p, s, by_p, by_s, whole; };

// Derivative of `coefficient` by 1/Q.
ALWAYS_INLINE real coefficient_slope(const Mechanism m, const real s) { return m.c0 + s * (2 * m.c1 + s * (3 * m.c2 + s * (4 * m.c3))); }

// What a mechanism takes of a strain whose variable has the mean x over a step.
ALWAYS_INLINE void lose(Filtered& f, const Mechanism m, const real x, const real qp, const real qs)
{
    f.p -= coefficient(m, qp) * x;
    f.s -= coefficient(m, qs) * x;
    if constexpr (BY_QP) f.by_p -= coefficient_slope(m, qp) * x;
    if constexpr (BY_QS) f.by_s -= coefficient_slope(m, qs) * x;
}

// Z for the step before.
ALWAYS_INLINE real advanced(const real past, const real xi, [[maybe_unused]] const real g) { return SPONGE ? g * (past + xi) : past + xi; }

// The adjoint strain of the component C, filtered; Z is advanced.
template <int C>
ALWAYS_INLINE Filtered adjoint_strain(const real* xi, real* past, const ptrdiff_t field, const real dt_h, const real qp, const real qs, const real g,
                                      const int row, const int i)
{
    constexpr int COUNT = C < NORMALS ? NORMAL_STORED : SHEAR_STORED;
    const real first = xi[slot(0, C) * field], z = past[slot(0, C) * field], decay = mechanism<pattern(C)>(0, row, i).decay;
    const real e = dt_h * (SPONGE ? (g * (z + first) - decay * z) / (1 - decay) : first / (1 - decay) + z);
    Filtered f = {e, e, 0, 0, e};
    for (int n = 0; n < COUNT; ++n) {
        const Mechanism m = mechanism<pattern(C)>(n, row, i);
        const ptrdiff_t of = slot(n, C) * field;
        lose(f, m, e + m.held * (dt_h * past[of] - e), qp, qs);
        past[of] = advanced(past[of], xi[of], g);
    }
    return f;
}

// The same of a strain rate of the forward field, whose variables z are advanced.
template <int C> ALWAYS_INLINE Filtered forward_strain(const real e, real* z, const ptrdiff_t field, const real qp, const real qs, const int row, const int i)
{
    constexpr int COUNT = C < NORMALS ? NORMAL_STORED : SHEAR_STORED;
    Filtered f = {e, e, 0, 0, e};
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

// Strains of the axes among those of normal stresses.
ALWAYS_INLINE Normal along_axes(const real* e) { return {e[XX], PLANE ? real(0) : e[YY], e[ZZ]}; }

// Adds a^ e of normal stresses to the sums for c11, c13, c33 and, in space, c66.
INLINE void sum_constants(real* sum, const ptrdiff_t points, const Normal a, const Normal e)
{
    const real a_flat = a.xx + a.yy, flat = e.xx + e.yy;
    sum[0] += a_flat * flat;
    sum[points] += a_flat * e.zz + a.zz * flat;
    sum[2 * points] += a.zz * e.zz;
    if constexpr (!PLANE) sum[3 * points] -= 2 * (a.xx * e.yy + a.yy * e.xx);
}

// All Z, in a step of which nothing is stored.
INLINE void advance_all(real* RESTRICT memory, [[maybe_unused]] const real* RESTRICT damping, const Box box, const StrainParams p)
{
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        [[maybe_unused]] const real g = SPONGE ? damping[at] : real(1);
        real *const xi = memory + q, *const past = xi + p.past;
        for (int n = 0; n < VARIABLES; ++n) past[n * p.field] = advanced(past[n * p.field], xi[n * p.field], g);
    }
}

KERNEL correlate_strain(real* RESTRICT sums, real* RESTRICT memory, const real* RESTRICT state, const real* RESTRICT store,
                        const real* RESTRICT qp, const real* RESTRICT qs, const real* RESTRICT damping, const int* RESTRICT step, const Box box,
                        const StrainParams p)
{
    const real* const here = stored(store, step, p);
    if (!here) return advance_all(memory, damping, box, p);
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        [[maybe_unused]] const real g = SPONGE ? damping[at] : real(1);
        real *const sum = sums + at, *const xi = memory + q, *const past = xi + p.past;
        [[maybe_unused]] real product = 0, trace = 0, trace_p = 0, trace_s = 0, product_q = 0, by_qp = 0, by_qs = 0;
        [[maybe_unused]] real adjoint[NORMALS + 1] = {}, along[NORMALS + 1] = {};
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
            adjoint[C < NORMALS ? C : 0] = f.whole;                                                                 \
            along[C < NORMALS ? C : 0] = e;                                                                         \
            product_q += f.by_s * e;                                                                                \
            by_qp += f.by_p;                                                                                        \
            by_qs += f.by_s;                                                                                        \
        } else {                                                                                                    \
            sum[(VELOCITIES + C - NORMALS) * p.points] += f.s * e;                                                  \
            if constexpr (BY_QS) sum[(SUM_Q + C - NORMALS) * p.points] += f.by_s * e;                               \
            if constexpr (VTI) sum[(SUM_REST + C - NORMALS) * p.points] += f.whole * e;                             \
        }                                                                                                           \
    }
        EACH_STRESS(ONE)
#undef ONE
        if constexpr (NORMALS > 0) {
            sum[SUM_NORMAL * p.points] += 2 * (product - trace_s * trace);
            sum[(SUM_NORMAL + 1) * p.points] += trace_p * trace;
            if constexpr (BY_QS) sum[SUM_NORMAL_Q * p.points] += 2 * (product_q - by_qs * trace);
            if constexpr (BY_QP) sum[SUM_TRACE_Q * p.points] += by_qp * trace;
            if constexpr (VTI) sum_constants(sum + SUM_NORMAL_REST * p.points, p.points, along_axes(adjoint), along_axes(along));
        }
    }
}

KERNEL scatter_strain(real* RESTRICT state, real* RESTRICT memory, real* RESTRICT scattered, const real* RESTRICT store, const real* RESTRICT coefficients,
                      const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13,
                      const real* RESTRICT r66, const real* RESTRICT qp, const real* RESTRICT qs,
                      const int* RESTRICT step, const Box box, const StrainParams p)
{
    const real* const here = stored(store, step, p);
    FOR_EACH_POINT(box)
    {
        STRAIN_POINT;
        real *const stress = state + VELOCITIES * p.field + q;
        [[maybe_unused]] real trace_p = 0, trace_s = 0, by_qp = 0, by_qs = 0, along[NORMALS + 1] = {}, along_q[NORMALS + 1] = {}, whole[NORMALS + 1] = {};
#define ONE(C)                                                                                                      \
    if constexpr (C < STRESSES) {                                                                                   \
        const real e = !SPARSE || here ? here[(VELOCITIES + C) * p.points + at] : real(0);                          \
        const Filtered f = forward_strain<C>(e, scattered + q, p.field, C < NORMALS ? qp[m] : real(0), loss_at<C>(qs + m, X, MY, MZ), row, i); \
        if constexpr (C < NORMALS) {                                                                                \
            along[C < NORMALS ? C : 0] = f.s;                                                                       \
            whole[C < NORMALS ? C : 0] = e;                                                                         \
            trace_p += f.p;                                                                                         \
            trace_s += f.s;                                                                                         \
            along_q[C < NORMALS ? C : 0] = f.by_s;                                                                  \
            by_qp += f.by_p;                                                                                        \
            by_qs += f.by_s;                                                                                        \
        } else {                                                                                                    \
            stress[C * p.field] += coefficients[(VELOCITIES + C - NORMALS) * p.points + at] * f.s;                  \
            if constexpr (BY_QS) stress[C * p.field] += coefficients[(SUM_Q + C - NORMALS) * p.points + at] * f.by_s; \
            if constexpr (VTI) stress[C * p.field] += coefficients[(SUM_REST + C - NORMALS) * p.points + at] * e;   \
        }                                                                                                           \
    }
        EACH_STRESS(ONE)
#undef ONE
        if constexpr (NORMALS > 0) {
            const bool free = FREE && k == p.top;
            const real by_mu = 2 * coefficients[SUM_NORMAL * p.points + at];
            real across = coefficients[(SUM_NORMAL + 1) * p.points + at] * trace_p - by_mu * trace_s, spread = 0, of_q = 0;
            if constexpr (BY_QS) {
                of_q = 2 * coefficients[SUM_NORMAL_Q * p.points + at];
                across -= of_q * by_qs;
            }
            if constexpr (BY_QP) across += coefficients[SUM_TRACE_Q * p.points + at] * by_qp;
            [[maybe_unused]] real rest[NORMALS] = {};
            if constexpr (VTI) {
                const real* const d = coefficients + SUM_NORMAL_REST * p.points + at;
                const Normal s = transverse({d[0], d[p.points], d[2 * p.points], PLANE ? real(0) : 2 * d[3 * p.points]}, along_axes(whole));
                rest[XX] = s.xx;
                if constexpr (!PLANE) rest[YY] = s.yy;
                rest[ZZ] = s.zz;
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
                const real ezz = l + m2 > 0 ? -(across + by_mu * along[ZZ] + of_q * along_q[ZZ] + (VTI ? rest[ZZ] : 0)) / (l + m2) : real(0);
                spread = (VTI ? l + c.more.d13 : l) * ezz;
                for (int n = 0; n < NORMAL_STORED; ++n)
                    memory[slot(n, ZZ) * p.field + q] += (1 - mechanism<0>(n, row, i).decay) * ezz / p.dt_h;
            }
            for (int c = 0; c < NORMALS; ++c)
                if (!free || c != ZZ) stress[c * p.field] += across + by_mu * along[c] + of_q * along_q[c] + spread + (VTI ? rest[c] : 0);
        }
    }
}
