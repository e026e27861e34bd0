// Product of two gradients of a potential, by which displacement times gradient changes with 1 / rho.
#pragma once
#include "acoustic_law.h"

BODY void products(value (&out)[1], const value (&a)[1][3], const value (&b)[1][3])
{
    out[0] = a[0][0] * b[0][0] + a[0][1] * b[0][1] + a[0][2] * b[0][2];
}
