// Rheology as a law: stresses from strain rates at a point, whoever has measured these: the step, its planes below a free surface or among
// air, a CPML layer, the streamed step, planes of cut cells. A new rheology is a law here.
//   isotropic        d sigma/dt = lam tr(e) I + 2 mu e
//   VTI = 1          transversely isotropic about z, c33 = lam + 2 mu, c44 = mu. Added, with d11 = c11 - c33, d13 = c13 - (c33 - 2 c44):
//                      d11 exx + d12 eyy + d13 ezz  to xx,  d13 (exx + eyy)  to zz,  d12 = d11 - 2 (c66 - c44);  yy as xx;  c66 for xy
//   ATTENUATION = 1  less what memory variables hold (relax.h). Moduli are unrelaxed; of a VTI medium the isotropic part relaxes, as in
//                    spectral elements: lambda = (c12 + c13 + c23) / 3, mu = (c44 + c55 + c66) / 3
// At a traction-free plane (FREE there) the vertical strain rate is the one that keeps szz zero. Without attenuation it is left out instead, and
// lam and d11 stored are those of plane stress, d13 is 0.
// HALF = 1: lam holds lambda at the traction-free plane too, so that its 16 bits have less to span.
// layout  lam, rmu = 1/mu, d11, d13, r66 = 1/c66, qp = 1/Qp, qs = 1/Qs (i, j, k); what a law does not have is absent
// Constants that a medium sets, 0 in the others.
#ifndef VTI
#define VTI 0
#endif
#include "moduli.h"
#include "relax.h"

// What a medium that is transversely isotropic about z has more than an isotropic one; across = d11 - d12 = 2 d66.
struct Excess { real d11, d13, d33, across; };

// Of d11, d13, d33, d66.
ALWAYS_INLINE Excess excess(const real* d) { return {d[0], d[1], d[2], 2 * d[3]}; }

ALWAYS_INLINE Normal isotropic(const Lame c, const Normal e)
{
    const real t = c.lam * (e.xx + e.yy + e.zz);
    return {t + c.mu2 * e.xx, t + c.mu2 * e.yy, t + c.mu2 * e.zz};
}

ALWAYS_INLINE Normal transverse(const Excess d, const Normal e)
{
    const real t = d.d11 * (e.xx + e.yy) + d.d13 * e.zz;
    return {t - d.across * e.yy, t - d.across * e.xx, d.d13 * (e.xx + e.yy) + d.d33 * e.zz};
}

ALWAYS_INLINE Normal operator+(const Normal a, const Normal b) { return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz}; }
ALWAYS_INLINE Normal operator-(const Normal a, const Normal b) { return {a.xx - b.xx, a.yy - b.yy, a.zz - b.zz}; }

// Arrays of the material and of memory variables, the point's place in them.
struct Medium {
    Material lam, rmu;
    const real *d11, *d13, *r66, *qp, *qs;
    real* memory;
    ptrdiff_t m, q, field;
    int row, i;
};
#define MEDIUM {MATERIAL(lam), MATERIAL(rmu), d11, d13, r66, qp, qs, memory, m, q, FIELD, row_class(j, k), i}
#if ATTENUATION
#define FIELD p.field
#else
#define FIELD 0
#endif

// lambda where 2 mu lambda / (lambda + 2 mu) is stored; nothing in a fluid.
ALWAYS_INLINE real from_plane_stress(const real lam, const real mu2) { return mu2 > 0 ? mu2 * lam / (mu2 - lam) : real(0); }

// lambda of the step; of plane stress at a traction-free plane, unless memory variables need the other one.
ALWAYS_INLINE real lambda(const Medium at, const real mu2, [[maybe_unused]] const bool free)
{
    const real lam = at.lam[at.m];
    if constexpr (HALF) return free ? mu2 * lam / (lam + mu2) : lam;
    return ATTENUATION && free ? from_plane_stress(lam, mu2) : lam;
}

// Moduli of normal stresses at an integer point.
struct Moduli {
    Lame c;
    Excess more;
#if ATTENUATION
    Relaxing relaxing;
#endif
};

ALWAYS_INLINE Moduli moduli(const Medium at, [[maybe_unused]] const bool free)
{
    const ptrdiff_t m = at.m;
    const real mu2 = 2 / at.rmu[m], lam = lambda(at, mu2, free);
    const real d11 = VTI ? at.d11[m] : real(0), d13 = VTI ? at.d13[m] : real(0);
    const real across = VTI && (!PLANE || ATTENUATION) ? 2 / at.r66[m] - mu2 : real(0);
#if ATTENUATION
    const real third = VTI ? real(1.0 / 3) : real(0), part_lam = VTI ? lam + third * (d11 - across + 2 * d13) : lam, part_mu2 = VTI ? mu2 + third * across : mu2;
    return {{lam, mu2}, {d11, d13, 0, across}, {at.memory + at.q, at.field, at.row, at.i, {part_lam, part_mu2}, at.qp[m], at.qs[m]}};
#else
    return {{lam, mu2}, {d11, d13, 0, across}};
#endif
}

// Normal stress rates of the step; memory variables are advanced.
ALWAYS_INLINE Normal normal_rates(const Moduli c, const Normal e)
{
#if ATTENUATION
    const Normal lost = lost_normal(c.relaxing, e);
#else
    constexpr Normal lost = {0, 0, 0};
#endif
    const Normal s = isotropic(c.c, e);
    return (VTI ? s + transverse(c.more, e) : s) - lost;
}

// dezz/dt at a traction-free plane where horizontal strain rates have the sum `flat`; 0 stands for none.
ALWAYS_INLINE real free_strain([[maybe_unused]] const Medium at, [[maybe_unused]] const real flat)
{
#if ATTENUATION
    const Moduli c = moduli(at, true);
    const Relaxing r = c.relaxing;
    return free_strain(r.xi, r.field, c.c.lam, c.c.mu2, c.more.d13, r.part, r.qp, r.qs, flat, r.row, r.i);
#else
    return 0;
#endif
}

// Modulus of the shear stress C half-way along the axes of strides S and T; soft = 1/c44, of sxy in a VTI medium 1/c66.
template <int C, class Parameter> ALWAYS_INLINE real modulus(const Parameter soft, const ptrdiff_t S, const ptrdiff_t T) { return shear_modulus(soft, S, T); }

// What a cell of thin layers has more than the harmonic mean of mu, for sxy.
ALWAYS_INLINE real excess_xy(const real* d) { return d[3]; }

// Increment over dt of the shear stress C half-way along the axes of strides S and T; ADDED: e comes on top of what the step has seen.
template <int C, bool ADDED>
ALWAYS_INLINE real shear(const Medium at, const real dt, const real e, const ptrdiff_t S, const ptrdiff_t T)
{
    const real c44 = modulus<C>(at.rmu + at.m, S, T);
    [[maybe_unused]] real lost = 0, c66 = c44;
    if constexpr (VTI && (C == XY || ATTENUATION)) c66 = modulus<C>(at.r66 + at.m, S, T);
#if ATTENUATION
    const Relaxing relaxing = {at.memory + at.q, at.field, at.row, at.i};
    lost = lost_shear<C, ADDED>(relaxing, shear_loss(at.qs + at.m, S, T), e);
#endif
    if constexpr (!VTI) return dt * c44 * (e - lost);
    return dt * ((C == XY ? c66 : c44) * e - real(1.0 / 3) * (2 * c44 + c66) * lost);
}

// Stresses in cyclic order of a strain along the axis A alone: a column of the stiffness.
struct Column { real a, b, c; };

ALWAYS_INLINE Column operator+(const Column s, const Column t) { return {s.a + t.a, s.b + t.b, s.c + t.c}; }

template <int A> ALWAYS_INLINE Column transverse(const Excess d, const real e)
{
    const real h = (d.d11 - d.across) * e, v = d.d13 * e;
    return A == 0 ? Column{d.d11 * e, h, v} : A == 1 ? Column{d.d11 * e, v, h} : Column{d.d33 * e, v, v};
}

// Of a strain (rate, where memory variables take it) that comes on top of what the step has seen.
template <int A> ALWAYS_INLINE Column added(const Medium at, const real e, [[maybe_unused]] const bool free)
{
#if ATTENUATION
    const Moduli c = moduli(at, free);
    const Relaxing r = c.relaxing;
    constexpr int AA = A == 0 ? XX : A == 1 ? YY : ZZ;
    const Added of = added_normal<AA>(r.xi, r.field, e, free, c.c.lam, c.c.mu2, c.more.d13, r.part, r.qp, r.qs, r.row, r.i);
    const Column s = {of.along, of.across, of.across};
    if constexpr (!VTI) return s;
    const real rest = c.more.d13 * of.ezz;
    return s + transverse<A>(c.more, e) + Column{rest, rest, rest};
#else
    real t = at.lam[at.m] * e;
    if constexpr (ACOUSTIC) return {t, t, t};
    const Moduli c = moduli(at, false);
    if (HALF && free) t *= c.c.mu2 / (c.c.lam + c.c.mu2);
    const Column s = {t + c.c.mu2 * e, t, t};
    return VTI ? s + transverse<A>(c.more, e) : s;
#endif
}
