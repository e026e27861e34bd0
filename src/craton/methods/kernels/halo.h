// Halos: FIELDS fields (1 to 3) in a slab of points, packed into a contiguous buffer or taken out of one.
// layout  fields at the grid's point (0, 0, 0), strides 1, p.row, p.plane; buffer[field][slab], x fastest; the slab begins at p.k0 p.j0 p.i0
#include "machine.h"

#define PLACE                                                                                                       \
    const ptrdiff_t q = k * (ptrdiff_t)p.plane + j * (ptrdiff_t)p.row + i, slab = (ptrdiff_t)p.nk * p.nj * p.ni;    \
    const ptrdiff_t at = ((ptrdiff_t)(k - p.k0) * p.nj + (j - p.j0)) * p.ni + (i - p.i0)

KERNEL pack(real* RESTRICT buffer, const real* RESTRICT f, const real* RESTRICT g, const real* RESTRICT h, const Box box, const HaloParams p)
{
    FOR_EACH_POINT(box)
    {
        PLACE;
        buffer[at] = f[q];
        if constexpr (FIELDS > 1) buffer[at + slab] = g[q];
        if constexpr (FIELDS > 2) buffer[at + 2 * slab] = h[q];
    }
}

KERNEL unpack(real* RESTRICT f, real* RESTRICT g, real* RESTRICT h, const real* RESTRICT buffer, const Box box, const HaloParams p)
{
    FOR_EACH_POINT(box)
    {
        PLACE;
        f[q] = buffer[at];
        if constexpr (FIELDS > 1) g[q] = buffer[at + slab];
        if constexpr (FIELDS > 2) h[q] = buffer[at + 2 * slab];
    }
}
