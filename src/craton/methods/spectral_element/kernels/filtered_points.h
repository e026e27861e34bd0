// The filter of layer.h on a number x of each of a list of points: what it adds to x, y - x.
//   y - x = -(held x + w),   w <- decay w + held (1 + decay) x
// layer[i]: w; rates[m][i]: held, decay; count: length of the list
#pragma once
#include "machine.h"

INLINE real added_by_filter(const real x, real* layer, const real* rates, const ptrdiff_t i, const ptrdiff_t count)
{
    const real passed = rates[i] * x, lost = passed + layer[i];
    layer[i] = rates[count + i] * lost + passed;
    return -lost;
}
