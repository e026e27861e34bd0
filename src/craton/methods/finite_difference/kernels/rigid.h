// A field held at zero on a box: the velocities on a rigid face.
// layout  as in elastic.h
#include "storage.h"

KERNEL rigid(field_t* RESTRICT f, const Box box, const FDParams p)
{
    FOR_EACH_POINT(box) f[k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i] = 0;
}
