// Attenuation: memory variables of a generalised Maxwell body in the stress step (model/media/attenuation.py; Kristek & Moczo 2003).
//   d sigma/dt = M (e - sum_n Y_n xi_n),    d xi_n/dt = w_n (e - xi_n)
// with e held over a step the solution is exact: xi <- e + decay (xi - e), its mean over the step e + held (xi - e),
//   decay = exp(-w dt),  held = (1 - decay) / (w dt).
// M are the unrelaxed moduli. Y_n = s (c0 + s (c1 + s (c2 + s c3))) with s = 1/Qp for lambda + 2 mu, 1/Qs for mu; at shear points s is the
// mean of four integer points. A normal stress has NORMAL_STORED variables (xi times the
// spacing), a shear stress SHEAR_STORED; the class of a point, by whether its
// indices are odd, says which mechanisms they are; normal stresses and each shear stress have a pattern of their own.
// layout  memory[slot(n, c)]: fields p.field apart; of the stresses c that are computed first the normal ones, mechanism after mechanism
#include "machine.h"

constexpr int NORMALS = !PLANE ? 3 : PSV ? 2 : 0, SHEARS = !PLANE ? 3 : PSV ? 1 : 2;
constexpr int XX = 0, YY = 1, ZZ = PLANE ? 1 : 2, XY = PLANE ? 0 : 3, XZ = PLANE ? 2 : 4, YZ = PLANE ? 1 : 5;

// Rows that differ in their classes.
INLINE int row_class(const int j, const int k) { return PLANE ? k & 1 : (j & 1) + 2 * (k & 1); }

#if !ATTENUATION
#define NOT_LOST(C, E, S, T) (E)
#else
#define NOT_LOST(C, E, S, T) not_lost<pattern(C)>(memory + slot(0, C) * p.field + q, p.field, E, shear_loss(qs + m, S, T), row, i)

// Of pattern, row, odd or even point, stored mechanism: decay, held, c0 .. c3. CLASSES = 0: all points are the same.
constexpr real CONSTANTS[CLASSES ? 4 : 1][CLASSES ? PLANE ? 2 : 4 : 1][CLASSES ? 2 : 1][STORED][6] = RELAXATION;

INLINE constexpr int slot(const int n, const int c)
{
    return c < NORMALS ? n * NORMALS + c : NORMAL_STORED * NORMALS + n * SHEARS + c - NORMALS;
}

// 0 for normal stresses, 1, 2, 3 for sxy, sxz, syz.
INLINE constexpr int pattern(const int c) { return !PLANE ? (c > ZZ ? c - ZZ : 0) : PSV ? (c == XZ ? 2 : 0) : c == XY ? 1 : 3; }

struct Mechanism { real decay, held, c0, c1, c2, c3; };

// Both sets are loaded, then one is chosen: else the loop along a row is not vectorised.
template <int PATTERN> INLINE Mechanism mechanism(const int n, const int row, const int i)
{
    constexpr int P = CLASSES ? PATTERN : 0;
    const real *a = CONSTANTS[P][CLASSES ? row : 0][0][n], *b = CONSTANTS[P][CLASSES ? row : 0][CLASSES ? 1 : 0][n];
    const real a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5];
    const real b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5];
    const bool odd = CLASSES && i & 1;
    return {odd ? b0 : a0, odd ? b1 : a1, odd ? b2 : a2, odd ? b3 : a3, odd ? b4 : a4, odd ? b5 : a5};
}

INLINE real coefficient(const Mechanism& one, const real s) { return s * (one.c0 + s * (one.c1 + s * (one.c2 + s * one.c3))); }

// Mean of a variable over the step that starts with it and has the strain rate e; the variable is advanced.
INLINE real advance(const Mechanism& one, real* xi, const real e)
{
    const real before = *xi - e;
    *xi = e + one.decay * before;
    return e + one.held * before;
}

// 1/Qs half-way along two axes.
INLINE real shear_loss(const real* qs, const ptrdiff_t S, const ptrdiff_t T)
{
    return real(0.25) * ((qs[0] + qs[S]) + (qs[T] + qs[S + T]));
}

// A shear strain rate e without what relaxes of it.
template <int PATTERN> INLINE real not_lost(real* xi, const ptrdiff_t field, const real e, const real s, const int row, const int i)
{
    real lost = 0;
    for (int n = 0; n < SHEAR_STORED; ++n) {
        const Mechanism one = mechanism<PATTERN>(n, row, i);
        lost += coefficient(one, s) * advance(one, xi + n * SHEARS * field, e);
    }
    return e - lost;
}

// What the normal stress rates lose; stiff is lambda + 2 mu.
struct Normal { real xx, yy, zz; };
INLINE Normal lost_normal(real* xi, const ptrdiff_t field, const real exx, const real eyy, const real ezz, const real stiff,
                          const real mu2, const real qp, const real qs, const int row, const int i)
{
    Normal lost = {0, 0, 0};
    for (int n = 0; n < NORMAL_STORED; ++n, xi += NORMALS * field) {
        const Mechanism one = mechanism<0>(n, row, i);
        const real m2 = mu2 * coefficient(one, qs), l = stiff * coefficient(one, qp) - m2;
        const real x = advance(one, xi + XX * field, exx), z = advance(one, xi + ZZ * field, ezz);
        const real y = PLANE ? real(0) : advance(one, xi + YY * field, eyy), t = l * (x + y + z);
        lost.xx += t + m2 * x;
        lost.yy += t + m2 * y;
        lost.zz += t + m2 * z;
    }
    return lost;
}

// lambda where 2 mu lambda / (lambda + 2 mu) is stored; nothing in a fluid.
INLINE real from_plane_stress(const real lam, const real mu2) { return mu2 > 0 ? mu2 * lam / (mu2 - lam) : real(0); }

// dezz/dt that keeps szz zero; xi are the variables of exx, next ones `apart` on; eyy is 0 and absent in the plane.
INLINE real free_strain(const real* xi, const ptrdiff_t field, const real lam, const real mu2, const real qp, const real qs,
                        const real flat, const int row, const int i)
{
    real l = lam, m2 = mu2, held = 0;
    for (int n = 0; n < NORMAL_STORED; ++n, xi += NORMALS * field) {
        const Mechanism one = mechanism<0>(n, row, i);
        const real lost2 = mu2 * coefficient(one, qs), lost = (lam + mu2) * coefficient(one, qp) - lost2;
        l -= (1 - one.held) * lost;
        m2 -= (1 - one.held) * lost2;
        const real zz = xi[ZZ * field];
        held += one.held * (lost * (xi[XX * field] + (PLANE ? real(0) : xi[YY * field]) + zz) + lost2 * zz);
    }
    return l + m2 > 0 ? (held - l * flat) / (l + m2) : real(0);
}
#endif
