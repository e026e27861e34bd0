// Internal forces of elastic elements: force -= integral of grad l : stress, added to the global points.
//   stress = lambda tr(e) I + 2 mu e,  or C e with 21 constants,  e = sym grad displacement
// positions  displacement and force at global points, [point][x y z]; all else of the elements, as elements.h has it
// arrays     points[e][node]; geometry: see metric.h
//            moduli[e][row][node], or moduli[e][row] where PER_NODE = 0; rows lambda, mu; FULL = 1: the upper triangle of C in rows,
//            c11 c12 .. c16 c22 .. c66, of xx yy zz yz xz xy with engineering shear strains
//            memory[e][node][l * MEMORIES + m], loss[e][m][node] (or [e][m]): see memory.h; only where MECHANISMS > 0
//            order[place]: elements by colour, where COLOURED = 1 (plain adds; a launch is one colour); without, adds are atomic on a GPU
// params     first: row of `points` that element 0 of the other arrays has; unit of forces, where EXACT = 1
#include "elastic_law.h"

KERNEL stiffness(
    force_t* RESTRICT force, real* RESTRICT memory, const real* RESTRICT displacement, const int* RESTRICT points,
    const real* RESTRICT geometry, const real* RESTRICT moduli, const real* RESTRICT loss, const int* RESTRICT order,
    const Box box, const ElementParams p)
{
    weak_form<3>(force, displacement, points, geometry, order, Elastic{moduli, loss, memory}, Layer<3>{}, box, p.first, 1 / UNIT(p));
}
