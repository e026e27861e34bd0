// Ghost points of a periodic axis: FIELDS fields (1 to 3) copied from `shift` elements further on.
// layout  as in elastic.h; the box lies outside the grid
#include "machine.h"

KERNEL wrap(real* f, real* g, real* h, const Box box, const WrapParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i;
        f[q] = f[q + p.shift];
        if constexpr (FIELDS > 1) g[q] = g[q + p.shift];
        if constexpr (FIELDS > 2) h[q] = h[q + p.shift];
    }
}
