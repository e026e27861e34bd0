// A box of fields in reals within fields of 16 bits, around a source: where waves are strongest, most of the error of rounding is made.
//   narrow   fields of 16 bits, at the points of the box  <-  those of the box, at most 65504
//   widen    ghost points around the box  <-  fields of 16 bits
// layout  x fastest; fields first .. first + count - 1; strides 1, box_row, box_plane, box_field and 1, grid_row, grid_plane, grid_field;
//         the box's point (0, 0, 0) is the grid's point (k0, j0, i0), and it has nk x nj x ni points
#include "storage.h"

constexpr real HIGHEST = real(65504);

#define IN_BOX const ptrdiff_t q = k * (ptrdiff_t)p.box_plane + j * (ptrdiff_t)p.box_row + i
#define IN_GRID const ptrdiff_t Q = (k + p.k0) * (ptrdiff_t)p.grid_plane + (j + p.j0) * (ptrdiff_t)p.grid_row + i + p.i0

KERNEL narrow(field_t* RESTRICT state, const real* RESTRICT box_state, const Box box, const SourceBoxParams p)
{
    FOR_EACH_POINT(box)
    {
        IN_BOX;
        IN_GRID;
        for (int n = p.first; n < p.first + p.count; ++n) {
            const real value = box_state[n * p.box_field + q], low = value < -HIGHEST ? -HIGHEST : value;
            state[n * p.grid_field + Q] = low > HIGHEST ? HIGHEST : low;
        }
    }
}

KERNEL widen(real* RESTRICT box_state, const field_t* RESTRICT state, const Box box, const SourceBoxParams p)
{
    FOR_EACH_POINT(box)
    {
        IN_BOX;
        IN_GRID;
        const bool within = k >= 0 && k < p.nk && j >= 0 && j < p.nj && i >= 0 && i < p.ni;
        for (int n = p.first; n < p.first + p.count; ++n)
            if (!within) box_state[n * p.box_field + q] = state[n * p.grid_field + Q];
    }
}
