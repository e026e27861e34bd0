// Internal forces of elastic elements: force -= integral of grad l : stress, added to the global points.
//   stress = lambda tr(e) I + 2 mu e,  or C e with 21 constants,  e = sym grad displacement
// positions  displacement and force at global points, [point][x y z]; all else of the elements, as elements.h has it
// arrays     points[e][node]; geometry: see metric.h
//            moduli[e][row][node], or moduli[e][row] where PER_NODE = 0; rows lambda, mu; FULL = 1: the upper triangle of C in rows,
//            c11 c12 .. c16 c22 .. c66, of xx yy zz yz xz xy with engineering shear strains
//            memory[e][l * MEMORIES + m][node], loss[e][m][node] (or [e][m]): see memory.h; only where MECHANISMS > 0
//            order[place]: elements by colour, where COLOURED = 1 (plain adds; a launch is one colour); without, adds are atomic on a GPU
// params     first: row of `points` that element 0 of the other arrays has
#include "weak.h"
#include "memory.h"

constexpr int ROWS = FULL ? 21 : 2;

INLINE constexpr int row_of(int a, int b) { return a * 6 - a * (a - 1) / 2 + b - a; }  // of c_ab, a <= b

struct Elastic {
    const real* moduli;
    const real* loss;
    real* memory;

    MEMBER value modulus(int row, ptrdiff_t e, int node) const
    {
        return VALUES(moduli)[PER_NODE ? (e * ROWS + row) * NODES + node : e * ROWS + row];
    }

    MEMBER void operator()(value (&flux)[3][3], const value (&g)[3][3], ptrdiff_t e, int node) const
    {
        const value xx = g[0][0], yy = g[1][1], zz = g[2][2], yz = g[1][2] + g[2][1], xz = g[0][2] + g[2][0], xy = g[0][1] + g[1][0];
        value s[6], lambda, mu;
        if constexpr (FULL) {
            const value strain[6] = {xx, yy, zz, yz, xz, xy};
            value c[ROWS];
            UNROLL_ROWS for (int r = 0; r < ROWS; ++r) c[r] = modulus(r, e, node);
            UNROLL for (int a = 0; a < 6; ++a)
            {
                s[a] = c[row_of(0 < a ? 0 : a, a)] * strain[0];
                UNROLL for (int b = 1; b < 6; ++b) s[a] += c[a < b ? row_of(a, b) : row_of(b, a)] * strain[b];
            }
            if constexpr (MECHANISMS > 0) {  // the isotropic part relaxes
                mu = (c[row_of(3, 3)] + c[row_of(4, 4)] + c[row_of(5, 5)]) * real(1.0 / 3);
                lambda = (c[row_of(0, 1)] + c[row_of(0, 2)] + c[row_of(1, 2)]) * real(1.0 / 3);
            }
        } else {
            lambda = modulus(0, e, node);
            mu = modulus(1, e, node);
            const value trace = lambda * (xx + yy + zz), mu2 = 2 * mu;
            s[0] = trace + mu2 * xx;
            s[1] = trace + mu2 * yy;
            s[2] = trace + mu2 * zz;
            s[3] = mu * yz;
            s[4] = mu * xz;
            s[5] = mu * xy;
        }
#if MECHANISMS
        relax(s, memory, loss, lambda, mu, xx, yy, zz, yz, xz, xy, e, node);
#endif
        flux[0][0] = s[0];
        flux[1][1] = s[1];
        flux[2][2] = s[2];
        flux[1][2] = flux[2][1] = s[3];
        flux[0][2] = flux[2][0] = s[4];
        flux[0][1] = flux[1][0] = s[5];
    }
};

KERNEL stiffness(
    real* RESTRICT force, real* RESTRICT memory, const real* RESTRICT displacement, const int* RESTRICT points,
    const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT loss, const int* RESTRICT order,
    const Box box, const ElementParams p)
{
    weak_form<3>(force, displacement, points, geometry, order, Elastic{moduli, loss, memory}, box, p.first);
}
