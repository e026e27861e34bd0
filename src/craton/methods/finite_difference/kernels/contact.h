// What the steps lack beside contacts of fluid and solid, where differences end (contact.py): each derivative d f/d x of the plain step gets the
// rest of the closed one, sum_n c_n f_n.
// layout  fields as in elastic.h; situations[slab], the slab x fastest: the row of each point, 0 where nothing is to be added;
//         closed_rows[.][18]: numbers of patterns, of the derivatives along x, y, z of stresses for vx, for vy, for vz, then of vx, of vy, of vz for
//         stresses, 0 for none; closed_patterns[.][2 SIZE]: c_n, the plain weights and the inverse norm of the point in them
// reach   SIZE points to each side
// ATTENUATION = 1: what is added to a strain rate relaxes as the rest of it does (relax.h). FREE = 1: the top plane is traction-free.
#include "differences.h"
#include "law.h"

constexpr int VELOCITIES = 0, STRESSES = 9;

// Number of the point's situation.
#define SITUATION situations[((ptrdiff_t)(k - p.k0) * (PLANE ? 1 : p.nj) + (PLANE ? 0 : j - p.j0)) * p.ni + (i - p.i0)]
#define CLOSED {closed_rows + 18 * SITUATION, closed_patterns}

// The patterns of a point.
struct Closed {
    const int* row;
    const real* patterns;

    // Of the 2 SIZE points from `a` on, S apart.
    MEMBER real sum(const int number, const real* a, const ptrdiff_t S) const
    {
        real d = 0;
        if (row[number] == 0) return d;
        const real* c = patterns + (ptrdiff_t)row[number] * 2 * SIZE;
        for (int n = 0; n < 2 * SIZE; ++n)
            if (c[n] != 0) d += c[n] * a[n * S];  // others may lie outside the grid
        return d;
    }

    MEMBER real to_integer(const int number, const real* a, const ptrdiff_t S) const { return sum(number, a - SIZE * S, S); }
    MEMBER real to_half(const int number, const real* a, const ptrdiff_t S) const { return sum(number, a - (SIZE - 1) * S, S); }
    MEMBER bool none(const int a, const int b, const int c) const { return row[a] == 0 && row[b] == 0 && row[c] == 0; }
};

KERNEL contact_velocity(
    real* RESTRICT vx, real* RESTRICT vy, real* RESTRICT vz, const real* RESTRICT sxx, const real* RESTRICT syy, const real* RESTRICT szz,
    const real* RESTRICT sxy, const real* RESTRICT sxz, const real* RESTRICT syz, const real* RESTRICT rho, const int* RESTRICT situations,
    const int* RESTRICT closed_rows, const real* RESTRICT closed_patterns, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box) if (SITUATION != 0)
    {
        POINT;
        const Closed closed = CLOSED;
        constexpr int VX = VELOCITIES, VY = VELOCITIES + 3, VZ = VELOCITIES + 6;
        if constexpr (PSV) {
            real d = closed.to_half(VX, sxx + q, X) + closed.to_integer(VX + 2, sxz + q, Z);
            if constexpr (!PLANE) d += closed.to_integer(VX + 1, sxy + q, Y);
            if (!closed.none(VX, VX + 1, VX + 2)) vx[q] += p.dt_h * buoyancy(rho + m, X) * d;
            d = closed.to_integer(VZ, sxz + q, X) + closed.to_half(VZ + 2, szz + q, Z);
            if constexpr (!PLANE) d += closed.to_integer(VZ + 1, syz + q, Y);
            if (!closed.none(VZ, VZ + 1, VZ + 2)) vz[q] += p.dt_h * buoyancy(rho + m, MZ) * d;
        }
        if constexpr (SH) {
            real d = closed.to_integer(VY, sxy + q, X) + closed.to_integer(VY + 2, syz + q, Z);
            if constexpr (!PLANE) d += closed.to_half(VY + 1, syy + q, Y);
            if (!closed.none(VY, VY + 1, VY + 2)) vy[q] += p.dt_h * buoyancy(rho + m, MY) * d;
        }
    }
}

KERNEL contact_stress(
    real* RESTRICT sxx, real* RESTRICT syy, real* RESTRICT szz, real* RESTRICT sxy, real* RESTRICT sxz, real* RESTRICT syz,
    real* RESTRICT memory, const real* RESTRICT vx, const real* RESTRICT vy, const real* RESTRICT vz,
    const real* RESTRICT lam, const real* RESTRICT rmu, const real* RESTRICT d11, const real* RESTRICT d13, const real* RESTRICT r66,
    const real* RESTRICT qp, const real* RESTRICT qs, const int* RESTRICT situations, const int* RESTRICT closed_rows,
    const real* RESTRICT closed_patterns, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box) if (SITUATION != 0)
    {
        POINT;
        const Closed closed = CLOSED;
        const Medium medium = MEDIUM;
        constexpr int VX = STRESSES, VY = STRESSES + 3, VZ = STRESSES + 6;
        if constexpr (PSV) {
            const bool free = FREE && k == p.top;
            // Memory variables take the strain rate; without them moduli come first, so that one product is added to each stress: of two,
            // compilers fuse the one or the other with the sum, as the size of the box has it.
            const auto along = [&](const auto stress, const real e) {
                const real after = ATTENUATION ? p.dt_h : p.dt_h * e;
                const Column s = stress(ATTENUATION ? e : real(1));
                return Column{after * s.a, after * s.b, after * (VTI ? s.c : s.b)};
            };
            if (closed.row[VX]) {
                const Column s = along([&](const real e) { return added<0>(medium, e, free); }, closed.to_integer(VX, vx + q, X));
                sxx[q] += s.a;
                if constexpr (!PLANE) syy[q] += s.b;
                if (!free) szz[q] += s.c;
            }
            if (!PLANE && closed.row[VY + 1]) {
                const Column s = along([&](const real e) { return added<1>(medium, e, free); }, closed.to_integer(VY + 1, vy + q, Y));
                if constexpr (!PLANE) syy[q] += s.a;
                if (!free) szz[q] += s.b;
                sxx[q] += s.c;
            }
            if (closed.row[VZ + 2]) {
                const Column s = along([&](const real e) { return added<2>(medium, e, false); }, closed.to_integer(VZ + 2, vz + q, Z));
                szz[q] += s.a;
                sxx[q] += s.b;
                if constexpr (!PLANE) syy[q] += s.c;
            }
            if (!closed.none(VX + 2, VZ, VZ))
                sxz[q] += shear<XZ, true>(medium, p.dt_h, closed.to_half(VX + 2, vx + q, Z) + closed.to_half(VZ, vz + q, X), X, MZ);
        }
        if constexpr (SH) {
            const real across_x = closed.to_half(VY, vy + q, X), across_z = closed.to_half(VY + 2, vy + q, Z);
            const real along_x = PLANE ? real(0) : closed.to_half(VX + 1, vx + q, Y);
            const real along_z = PLANE ? real(0) : closed.to_half(VZ + 1, vz + q, Y);
            if (!closed.none(VX + 1, VY, VY)) sxy[q] += shear<XY, true>(medium, p.dt_h, across_x + along_x, X, MY);
            if (!closed.none(VY + 2, VZ + 1, VZ + 1)) syz[q] += shear<YZ, true>(medium, p.dt_h, across_z + along_z, MY, MZ);
        }
    }
}
