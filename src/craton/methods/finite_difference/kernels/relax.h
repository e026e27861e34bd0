// Attenuation: memory variables of a generalised Maxwell body in the stress step (model/media/attenuation.py; Kristek & Moczo 2003).
//   d sigma/dt = M (e - sum_n Y_n xi_n),    d xi_n/dt = w_n (e - xi_n)
// with e held over a step the solution is exact: xi <- e + decay (xi - e), its mean over the step e + held (xi - e),
//   decay = exp(-w dt),  held = (1 - decay) / (w dt).
// M are the unrelaxed moduli. Y_n = s (c0 + s (c1 + s (c2 + s c3))) with s = 1/Qp for lambda + 2 mu, 1/Qs for mu; at shear points s is the
// mean of four integer points. A normal stress has NORMAL_STORED variables (xi times the
// spacing), a shear stress SHEAR_STORED; the class of a point, by whether its
// indices are odd, says which mechanisms they are; normal stresses and each shear stress have a pattern of their own.
// The step is linear in the strain rate: a layer adds a strain rate to the one that the step has seen, and the variables take it as well.
// Variables that did not would leave stress rates in the layer that grow beyond the stretched elastic ones: unstable.
// layout  memory[slot(n, c)]: fields `field` apart; of the stresses c that are computed first the normal ones, mechanism after mechanism
#include "machine.h"

constexpr int NORMALS = !PLANE ? 3 : PSV ? 2 : 0, SHEARS = !PLANE ? 3 : PSV ? 1 : 2;
constexpr int XX = 0, YY = 1, ZZ = PLANE ? 1 : 2, XY = PLANE ? 0 : 3, XZ = PLANE ? 2 : 4, YZ = PLANE ? 1 : 5;

struct Normal { real xx, yy, zz; };
struct Lame { real lam, mu2; };  // lambda and 2 mu

// Rows that differ in their classes.
ALWAYS_INLINE int row_class(const int j, const int k) { return PLANE ? k & 1 : (j & 1) + 2 * (k & 1); }

#if ATTENUATION
// Memory variables of the point (i, j, k), and what relaxes there: part of the stiffness, 1/Qp, 1/Qs.
struct Relaxing {
    real* xi;
    ptrdiff_t field;
    int row, i;
    Lame part;
    real qp, qs;
};

// Of pattern, row, odd or even point, stored mechanism: decay, held, c0 .. c3. CLASSES = 0: all points are the same.
constexpr real CONSTANTS[CLASSES ? 4 : 1][CLASSES ? PLANE ? 2 : 4 : 1][CLASSES ? 2 : 1][STORED][6] = RELAXATION;

ALWAYS_INLINE constexpr int slot(const int n, const int c)
{
    return c < NORMALS ? n * NORMALS + c : NORMAL_STORED * NORMALS + n * SHEARS + c - NORMALS;
}

// 0 for normal stresses, 1, 2, 3 for sxy, sxz, syz.
ALWAYS_INLINE constexpr int pattern(const int c) { return !PLANE ? (c > ZZ ? c - ZZ : 0) : PSV ? (c == XZ ? 2 : 0) : c == XY ? 1 : 3; }

struct Mechanism { real decay, held, c0, c1, c2, c3; };

// Both sets are loaded, then one is chosen: else the loop along a row is not vectorised.
template <int PATTERN> ALWAYS_INLINE Mechanism mechanism(const int n, const int row, const int i)
{
    constexpr int P = CLASSES ? PATTERN : 0;
    const real *a = CONSTANTS[P][CLASSES ? row : 0][0][n], *b = CONSTANTS[P][CLASSES ? row : 0][CLASSES ? 1 : 0][n];
    const real a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5];
    const real b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5];
    const bool odd = CLASSES && i & 1;
    return {odd ? b0 : a0, odd ? b1 : a1, odd ? b2 : a2, odd ? b3 : a3, odd ? b4 : a4, odd ? b5 : a5};
}

ALWAYS_INLINE real coefficient(const Mechanism m, const real s) { return s * (m.c0 + s * (m.c1 + s * (m.c2 + s * m.c3))); }

// Mean of a variable over the step that starts with it and has the strain rate e; the variable is advanced.
ALWAYS_INLINE real advance(const Mechanism m, real* xi, const real e)
{
    const real before = *xi - e;
    *xi = e + m.decay * before;
    return e + m.held * before;
}

// 1/Qs half-way along two axes.
ALWAYS_INLINE real shear_loss(const real* qs, const ptrdiff_t S, const ptrdiff_t T)
{
    return real(0.25) * ((qs[0] + qs[S]) + (qs[T] + qs[S + T]));
}

// What a shear strain rate e loses, s = 1/Qs there; ADDED: e comes on top of what the step has seen.
template <int C, bool ADDED> ALWAYS_INLINE real lost_shear(const Relaxing at, const real s, const real e)
{
    real lost = 0;
    for (int n = 0; n < SHEAR_STORED; ++n) {
        const Mechanism m = mechanism<pattern(C)>(n, at.row, at.i);
        real* const xi = at.xi + slot(n, C) * at.field;
        if constexpr (ADDED) {
            *xi += (1 - m.decay) * e;
            lost += coefficient(m, s) * (1 - m.held) * e;
        } else lost += coefficient(m, s) * advance(m, xi, e);
    }
    return lost;
}

// Moduli of a mechanism, lambda and 2 mu, of what relaxes.
ALWAYS_INLINE Lame relaxed(const Relaxing at, const Mechanism m)
{
    const real mu2 = at.part.mu2 * coefficient(m, at.qs);
    return {(at.part.lam + at.part.mu2) * coefficient(m, at.qp) - mu2, mu2};
}

// What the normal stress rates lose.
ALWAYS_INLINE Normal lost_normal(const Relaxing at, const Normal e)
{
    Normal lost = {0, 0, 0};
    for (int n = 0; n < NORMAL_STORED; ++n) {
        const Mechanism m = mechanism<0>(n, at.row, at.i);
        const Lame c = relaxed(at, m);
        real* const xi = at.xi + n * NORMALS * at.field;
        const real x = advance(m, xi + XX * at.field, e.xx), z = advance(m, xi + ZZ * at.field, e.zz);
        const real y = PLANE ? real(0) : advance(m, xi + YY * at.field, e.yy), t = c.lam * (x + y + z);
        lost.xx += t + c.mu2 * x;
        lost.yy += t + c.mu2 * y;
        lost.zz += t + c.mu2 * z;
    }
    return lost;
}

// dezz/dt that keeps szz zero; xi are the variables of exx, `flat` is exx + eyy; d13 as in law.h. Scalars in place of a `Relaxing`: else
// compilers contract products differently, and sums round differently than they always did.
INLINE real free_strain(const real* xi, const ptrdiff_t field, const real lam, const real mu2, const real d13, const Lame part,
                        const real qp, const real qs, const real flat, const int row, const int i)
{
    real l = lam, m2 = mu2, held = 0;
    for (int n = 0; n < NORMAL_STORED; ++n, xi += NORMALS * field) {
        const Mechanism m = mechanism<0>(n, row, i);
        const real lost2 = part.mu2 * coefficient(m, qs), lost = (part.lam + part.mu2) * coefficient(m, qp) - lost2;
        l -= (1 - m.held) * lost;
        m2 -= (1 - m.held) * lost2;
        const real zz = xi[ZZ * field];
        held += m.held * (lost * (xi[XX * field] + (PLANE ? real(0) : xi[YY * field]) + zz) + lost2 * zz);
    }
    return l + m2 > 0 ? (held - (VTI ? l + d13 : l) * flat) / (l + m2) : real(0);
}

// What a layer adds to normal stress rates along the axis of the stress AA and across it by a strain rate e there, with the vertical one, ezz,
// that keeps szz zero at a free surface.
struct Added { real along, across, ezz; };
template <int AA>
INLINE Added added_normal(real* xi, const ptrdiff_t field, const real e, const bool free, const real lam, const real mu2, const real d13,
                          const Lame part, const real qp, const real qs, const int row, const int i)
{
    real l = lam, m2 = mu2;
    const real stiff = part.lam + part.mu2;
    for (int n = 0; n < NORMAL_STORED; ++n) {
        const Mechanism m = mechanism<0>(n, row, i);
        const real lost2 = part.mu2 * coefficient(m, qs);
        l -= (1 - m.held) * (stiff * coefficient(m, qp) - lost2);
        m2 -= (1 - m.held) * lost2;
        xi[(n * NORMALS + AA) * field] += (1 - m.decay) * e;
    }
    if (!free) return {(l + m2) * e, l * e, 0};
    const real ezz = l + m2 > 0 ? -(VTI ? l + d13 : l) * e / (l + m2) : real(0);
    for (int n = 0; n < NORMAL_STORED; ++n) xi[(n * NORMALS + ZZ) * field] += (1 - mechanism<0>(n, row, i).decay) * ezz;
    return {(l + m2) * e + l * ezz, l * (e + ezz), ezz};
}
#endif
