// FIELDS fields (1 to 3) damped towards an edge of the grid, along one axis (Cerjan et al. 1985):
//   f <- profile[n] f,   n along x, y, z for AXIS = 0, 1, 2
// layout  fields as in elastic.h; profile over the slab
#include "machine.h"

KERNEL sponge(real* RESTRICT f, real* RESTRICT g, real* RESTRICT h, const real* RESTRICT profile, const Box box, const SlabParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i;
        const real factor = profile[AXIS == 0 ? i - p.i0 : AXIS == 1 ? j - p.j0 : k - p.k0];
        f[q] *= factor;
        if constexpr (FIELDS > 1) g[q] *= factor;
        if constexpr (FIELDS > 2) h[q] *= factor;
    }
}
