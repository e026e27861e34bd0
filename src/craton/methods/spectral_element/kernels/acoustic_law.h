// The law of acoustic elements: displacement from the gradient of the potential; moduli as fluid.h has them.
#pragma once
#include "weak.h"

struct Acoustic {
    static constexpr int KEEPS = 0;
    const real* moduli;

    MEMBER value load(ptrdiff_t e, int node) const { return VALUES(moduli)[PER_NODE ? e * NODES + node : e]; }

    MEMBER void operator()(value (&flux)[1][3], const value (&g)[1][3], const Metric& m, value buoyancy, ptrdiff_t, int) const
    {
        const value scaled = OUTER(m, INNER(m, buoyancy));
        UNROLL for (int r = 0; r < 3; ++r) flux[0][r] = scaled * g[0][r];
    }
};
