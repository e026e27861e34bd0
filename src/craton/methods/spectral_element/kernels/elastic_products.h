// Products of two gradients of displacement, by which stress times strain changes with each modulus.
#pragma once
#include "elastic_law.h"

BODY void products(value (&out)[ROWS], const value (&a)[3][3], const value (&b)[3][3])
{
    value s[6], t[6];
    strain_of(s, a);
    strain_of(t, b);
    if constexpr (FULL) {
        UNROLL for (int i = 0; i < 6; ++i)
            UNROLL for (int j = i; j < 6; ++j) out[row_of(i, j)] = i == j ? s[i] * t[i] : s[i] * t[j] + s[j] * t[i];
    } else {
        out[0] = (s[0] + s[1] + s[2]) * (t[0] + t[1] + t[2]);
        out[ROWS - 1] = real(2) * (s[0] * t[0] + s[1] * t[1] + s[2] * t[2]) + (s[3] * t[3] + s[4] * t[4] + s[5] * t[5]);
    }
}
