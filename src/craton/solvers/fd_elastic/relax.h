// Attenuation: memory variables of a generalised Maxwell body in the stress step (model/attenuation.py; Kristek & Moczo 2003).
//   d sigma/dt = M (e - sum_n Y_n xi_n),    d xi_n/dt = w_n (e - xi_n)
// with e held over a step the solution is exact: xi <- e + decay (xi - e), its mean over the step e + held (xi - e),
//   decay = exp(-w dt),  held = (1 - decay) / (w dt).
// M are the unrelaxed moduli. Y_n = s (c0 + s (c1 + s (c2 + s c3))) with s = 1/Qp for lambda + 2 mu, 1/Qs for mu; at shear points s is the
// mean of four integer points. Each stress component has STORED variables (xi times the spacing); the class of a point, by its indices,
// says which mechanisms they are: ((i + j + k) & 1) + 2 ((i + j) & 1), so that along a row two classes alternate.
// layout  memory[n COMPONENTS + c]: fields p.field apart, c counts the stresses that are computed
#include "machine.h"

constexpr int COMPONENTS = !PLANE ? 6 : PSV ? 3 : 2;
constexpr int XX = 0, YY = 1, ZZ = PLANE ? 1 : 2, XY = PLANE ? 0 : 3, XZ = PLANE ? 2 : 4, YZ = PLANE ? 1 : 5;

// The class of even points of a row; odd ones have 3 minus it.
INLINE int even_class(const int j, const int k) { return PLANE ? k & 1 : ((j + k) & 1) + 2 * (j & 1); }

#if !ATTENUATION
#define NOT_LOST(C, E, S, T) (E)
#else
#define NOT_LOST(C, E, S, T) not_lost(memory + C * p.field + q, p.field, E, shear_loss(qs + m, S, T), even, i)

constexpr real CONSTANTS[4][STORED][6] = RELAXATION;  // decay, held, c0 .. c3 of each class and stored mechanism

struct Mechanism { real decay, held, c0, c1, c2, c3; };

// Both sets are loaded, then one is chosen: else the loop along a row is not vectorised.
INLINE Mechanism mechanism(const int n, const int even, const int i)
{
    const real *a = CONSTANTS[even][n], *b = CONSTANTS[3 - even][n];
    const real a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5];
    const real b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3], b4 = b[4], b5 = b[5];
    const bool odd = i & 1;
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
INLINE real not_lost(real* xi, const ptrdiff_t field, const real e, const real s, const int even, const int i)
{
    real lost = 0;
    for (int n = 0; n < STORED; ++n) {
        const Mechanism one = mechanism(n, even, i);
        lost += coefficient(one, s) * advance(one, xi + n * COMPONENTS * field, e);
    }
    return e - lost;
}

// What the normal stress rates lose; stiff is lambda + 2 mu.
struct Normal { real xx, yy, zz; };
INLINE Normal lost_normal(real* xi, const ptrdiff_t field, const real exx, const real eyy, const real ezz, const real stiff,
                          const real mu2, const real qp, const real qs, const int even, const int i)
{
    Normal lost = {0, 0, 0};
    for (int n = 0; n < STORED; ++n, xi += COMPONENTS * field) {
        const Mechanism one = mechanism(n, even, i);
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
                        const real flat, const int even, const int i)
{
    real l = lam, m2 = mu2, held = 0;
    for (int n = 0; n < STORED; ++n, xi += COMPONENTS * field) {
        const Mechanism one = mechanism(n, even, i);
        const real lost2 = mu2 * coefficient(one, qs), lost = (lam + mu2) * coefficient(one, qp) - lost2;
        l -= (1 - one.held) * lost;
        m2 -= (1 - one.held) * lost2;
        const real zz = xi[ZZ * field];
        held += one.held * (lost * (xi[XX * field] + (PLANE ? real(0) : xi[YY * field]) + zz) + lost2 * zz);
    }
    return l + m2 > 0 ? (held - l * flat) / (l + m2) : real(0);
}
#endif
