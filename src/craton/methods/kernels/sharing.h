// Points that ranks share: every rank packs its own part of the sums there, and adds what all of them have.
//   pack_shared  buffer[i] = f[points[i]], FIELDS reals a point, component fastest: one run of i for each neighbour
//   add_shared   f[points[i]] = sum over the rows r of point i, first[i] .. first[i + 1], of entry source[r] of the buffer; -1 is f itself
// Rows of a point are in the order of the ranks that hold it, so that all of them get the same bits.
#include "machine.h"

KERNEL pack_shared(
    force_t* RESTRICT buffer, const force_t* RESTRICT f, const int* RESTRICT points, const Box box, const SharedParams p)
{
    FOR_EACH_POINT(box)
    {
        for (int c = 0; c < FIELDS; ++c) buffer[FIELDS * (ptrdiff_t)i + c] = f[FIELDS * (ptrdiff_t)points[i] + c];
    }
}

KERNEL add_shared(
    force_t* RESTRICT f, const force_t* RESTRICT buffer, const int* RESTRICT points, const int* RESTRICT first, const int* RESTRICT source,
    const Box box, const SharedParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t at = FIELDS * (ptrdiff_t)points[i];
        for (int c = 0; c < FIELDS; ++c) {
            force_t total = 0;
            for (int r = first[i]; r < first[i + 1]; ++r) total += source[r] < 0 ? f[at + c] : buffer[FIELDS * (ptrdiff_t)source[r] + c];
            f[at + c] = total;
        }
    }
}
