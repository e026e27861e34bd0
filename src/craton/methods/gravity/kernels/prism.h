// Attraction of a right rectangular prism of unit density over G at a point: any subset of potential, accelerations, gradients.
//   g = grad V in Harmonica's names and signs: e east, n north, z downward, so g_z = -dV/dz, g_ez = -d2V/dxdz, g_nz = -d2V/dydz.
//   x1 x2 y1 y2 z1 z2   faces minus point; dx dy dz the sides, never formed from these differences
// Merged closed form (Nagy et al. 2000, Fukushima 2020): with F the potential of a face of unit surface density, g_x = F(x1) - F(x2), and
//   F(x_i) = y2 Lz(i,2) - y1 Lz(i,1) + z2 Ly(i,2) - z1 Ly(i,1) - x_i W(x_i),   V_xx = W(x1) - W(x2),   V_xy = Lz(1,1) - Lz(1,2) - Lz(2,1) + Lz(2,2)
//   L(edge) = ln((r1 + r2 + l) / (r1 + r2 - l)),   W(face) = its solid angle, two triangles of van Oosterom & Strackee 1983 in one arctangent.
// Two edges that enter by their difference share one logarithm: 9 logarithms, 6 arctangents, 8 roots for nine fields.
// Singular points (rules of choclo): on a face the normal gradient is the limit from outside; on an edge or a vertex V and g are finite,
// gradients that have no limit are nan: V_ab on edges along the third axis, V_aa on edges not along a.
#pragma once
#include "elementary.h"

enum Field { POTENTIAL, G_E, G_N, G_Z, G_EE, G_NN, G_ZZ, G_EN, G_EZ, G_NZ, ALL_FIELDS };
#define WANTS(f) ((((FIELDS) >> (f)) & 1) != 0)
#define EPSILON (sizeof(real) == 8 ? real(2.2e-16) : real(1.2e-7))
struct Values { real potential, e, n, z, ee, nn, zz, en, ez, nz; };

// All zero, set one by one: GCC copies an aggregate of zeros through memory, and then the loop over points does not vectorise.
BODY Values none()
{
    Values v;
    v.potential = v.e = v.n = v.z = v.ee = v.nn = v.zz = v.en = v.ez = v.nz = real(0);
    return v;
}

// L of one edge as ln(a / b), d = a - b. Beside the edge r1 + r2 - l cancels; there the form m1 m2 / rho^2, m = r + |t|, does not.
struct Ratio { real a, b, d; bool beside; };
BODY Ratio edge(real r1, real r2, real m1, real m2, real l, real rho2, real limit)
{
    const real sum = r1 + r2, rest = sum - l;
    const bool beside = rest < limit;
    const real a = beside ? m1 * m2 : sum + l, b = beside ? rho2 : rest, least = real(1e-30);
    const real top = a > least ? a : least, bottom = b > least ? b : least;
    return {top, bottom, beside ? top - bottom : l + l, beside};
}
BODY real logarithm(Ratio p) { return log_quotient(p.a, p.b, p.d); }
BODY real difference(Ratio p, Ratio q, real l)  // L(p) - L(q), two parallel edges of length l
{
    const real a = p.a * q.b, b = q.a * p.b;
    return log_quotient(a, b, p.beside | q.beside ? a - b : (l + l) * (q.b - p.b));
}

// The four edges along one axis t at the corners (a_i, b_j): what they give g_a and g_b, their mixed difference and part of V.
struct Edges { real to_a, to_b, mixed, potential, hit; };  // hit: 0 on one of the edges
template <bool WANT_V, bool WANT_A, bool WANT_B>
BODY Edges edges(real a1, real a2, real b1, real b2, real t1, real t2, real da, real l,
                   real r111, real r112, real r121, real r122, real r211, real r212, real r221, real r222)  // r of (a, b, t)
{
    const real limit = t1 * t2 <= real(0) ? l : -l;  // beside an edge: between its ends
    const real s1 = t1 < real(0) ? -t1 : t1, s2 = t2 < real(0) ? -t2 : t2;
    const real aa1 = a1 * a1, aa2 = a2 * a2, bb1 = b1 * b1, bb2 = b2 * b2;
    const Ratio p11 = edge(r111, r112, r111 + s1, r112 + s2, l, aa1 + bb1, limit), p12 = edge(r121, r122, r121 + s1, r122 + s2, l, aa1 + bb2, limit);
    const Ratio p21 = edge(r211, r212, r211 + s1, r212 + s2, l, aa2 + bb1, limit), p22 = edge(r221, r222, r221 + s1, r222 + s2, l, aa2 + bb2, limit);
    Edges out = {0, 0, 0, 0, 0};
    const real aa = aa1 < aa2 ? aa1 : aa2, bb = bb1 < bb2 ? bb1 : bb2;
    out.hit = t1 * t2 <= real(0) ? aa + bb : real(1);
    if constexpr (WANT_V || WANT_A || !WANT_B) {
        const real d1 = difference(p11, p21, l), d2 = difference(p12, p22, l);
        out.to_a = b2 * d2 - b1 * d1;
        out.mixed = d1 - d2;
        if constexpr (WANT_V || WANT_B) {
            const real e1 = difference(p11, p12, l);
            out.to_b = a2 * (e1 - out.mixed) - a1 * e1;
            if constexpr (WANT_V) {
                const real l11 = logarithm(p11);
                out.potential = da * (b2 * (l11 - e1) - b1 * l11) - a2 * out.to_a;
            }
        }
    } else {
        const real e1 = difference(p11, p12, l), e2 = difference(p21, p22, l);
        out.to_b = a2 * e2 - a1 * e1;
        out.mixed = e1 - e2;
    }
    return out;
}

// Solid angle of the rectangle at height h with corners (u1|u2, v1|v2), positive for h > 0; for h = 0 that of its outside, UPPER says where.
template <bool UPPER> BODY real solid_angle(real h, real u1, real u2, real v1, real v2, real area, real r11, real r12, real r21, real r22)
{
    const real p = u1 * u2, q = v1 * v2, hh = h * h, hp = hh + p, hq = hh + q, cross = hp + q, reach = r11 * r22;
    const real first = reach * r21 + (hp + v1 * v1) * r22 + (hq + u2 * u2) * r11 + cross * r21;
    const real second = reach * r12 + (hp + v2 * v2) * r11 + (hq + u1 * u1) * r22 + cross * r12;
    const real top = (h < real(0) ? -h : h) * area, y = top * (first + second);
    const bool over = (p < real(0)) & (q < real(0));  // the foot of the perpendicular lies inside
    const real limit = over ? 8 * EPSILON * reach * r21 : real(0), in_plane = over ? real(3.14159265358979324) : real(0);
    const real half = top <= limit ? in_plane : angle(y > real(0) ? y : real(0), first * second - top * top);
    return (UPPER ? h <= real(0) : h < real(0)) ? -(half + half) : half + half;
}

BODY Values closed_form(real x1, real x2, real y1, real y2, real z1, real z2, real dx, real dy, real dz)
{
    constexpr bool V = WANTS(POTENTIAL), E = WANTS(G_E), N = WANTS(G_N), Z = WANTS(G_Z);
    constexpr bool GRADIENT = ((FIELDS) >> G_EE) != 0;
    const real xx1 = x1 * x1, xx2 = x2 * x2, yy1 = y1 * y1, yy2 = y2 * y2, zz1 = z1 * z1, zz2 = z2 * z2;
    const real r111 = root_in_steps(xx1 + yy1 + zz1), r112 = root(xx1 + yy1 + zz2), r121 = root(xx1 + yy2 + zz1);
    const real r122 = root_in_steps(xx1 + yy2 + zz2), r211 = root(xx2 + yy1 + zz1), r212 = root_in_steps(xx2 + yy1 + zz2);
    const real r221 = root_in_steps(xx2 + yy2 + zz1), r222 = root(xx2 + yy2 + zz2);
    Values out = none();
    real hit_x = 1, hit_y = 1, hit_z = 1;
    if constexpr (V || E || N || WANTS(G_EN) || GRADIENT) {
        const Edges along = edges<V, E, N>(x1, x2, y1, y2, z1, z2, dx, dz, r111, r112, r121, r122, r211, r212, r221, r222);
        out.e += along.to_a, out.n += along.to_b, out.en = along.mixed, out.potential += along.potential, hit_z = along.hit;
    }
    if constexpr (V || E || Z || WANTS(G_EZ) || GRADIENT) {
        const Edges along = edges<V, E, Z>(x1, x2, z1, z2, y1, y2, dx, dy, r111, r121, r112, r122, r211, r221, r212, r222);
        out.e += along.to_a, out.z -= along.to_b, out.ez = -along.mixed, out.potential += along.potential, hit_y = along.hit;
    }
    if constexpr (V || N || Z || WANTS(G_NZ) || GRADIENT) {
        const Edges along = edges<V, N, Z>(y1, y2, z1, z2, x1, x2, dy, dx, r111, r211, r112, r212, r121, r221, r122, r222);
        out.n += along.to_a, out.z -= along.to_b, out.nz = -along.mixed, out.potential += along.potential, hit_x = along.hit;
    }
    if constexpr (V || E || WANTS(G_EE)) {
        const real w1 = solid_angle<false>(x1, y1, y2, z1, z2, dy * dz, r111, r112, r121, r122);
        const real w2 = solid_angle<true>(x2, y1, y2, z1, z2, dy * dz, r211, r212, r221, r222);
        out.e += x2 * w2 - x1 * w1, out.ee = w1 - w2, out.potential -= real(0.5) * (xx2 * w2 - xx1 * w1);
    }
    if constexpr (V || N || WANTS(G_NN)) {
        const real w1 = solid_angle<false>(y1, x1, x2, z1, z2, dx * dz, r111, r112, r211, r212);
        const real w2 = solid_angle<true>(y2, x1, x2, z1, z2, dx * dz, r121, r122, r221, r222);
        out.n += y2 * w2 - y1 * w1, out.nn = w1 - w2, out.potential -= real(0.5) * (yy2 * w2 - yy1 * w1);
    }
    if constexpr (V || Z || WANTS(G_ZZ)) {
        const real w1 = solid_angle<false>(z1, x1, x2, y1, y2, dx * dy, r111, r121, r211, r221);
        const real w2 = solid_angle<true>(z2, x1, x2, y1, y2, dx * dy, r112, r122, r212, r222);
        out.z -= z2 * w2 - z1 * w1, out.zz = w1 - w2, out.potential -= real(0.5) * (zz2 * w2 - zz1 * w1);
    }
    if constexpr (GRADIENT) {
        const real no_limit = quotient(real(0), real(0));
        const real none_x = hit_x == real(0) ? no_limit : real(0), none_y = hit_y == real(0) ? no_limit : real(0), none_z = hit_z == real(0) ? no_limit : real(0);
        out.ee += none_y + none_z, out.nn += none_x + none_z, out.zz += none_x + none_y;
        out.en += none_z, out.ez += none_y, out.nz += none_x;
    }
    return out;
}
