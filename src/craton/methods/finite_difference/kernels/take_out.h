// Takes out of the forward field what forces added in the step n = p.last - step, as inject of points.h added it:
//   state -= f        sums += adjoint velocity * f, as in backward.h, for a step that p.every divides
// The density below a force is that of the increments. With sums by parameters (parameter_sums.h), state -= f is inject of points.h, and
//   sum_forces  sums += weight * adjoint velocity * series    over the rows of a point, series last step first
#include "machine.h"

KERNEL take_out(real* RESTRICT state, real* RESTRICT sums, const real* RESTRICT adjoint, const long long* RESTRICT target,
                const int* RESTRICT first, const int* RESTRICT column, const real* RESTRICT weight, const real* RESTRICT series,
                const int* RESTRICT step, const Box box, const ForceParams p)
{
    const bool summed = (p.last - step[0]) % p.every == 0;
    const real* const now = series + (ptrdiff_t)(p.last - step[0]) * p.columns;
    FOR_EACH_POINT(box)
    {
        real added = 0;
        for (int r = first[i]; r < first[i + 1]; ++r) added += weight[r] * now[column[r]];
        state[target[i]] -= added;
        if (summed) sums[target[i]] += adjoint[target[i]] * added;
    }
}

KERNEL sum_forces(real* RESTRICT sums, const real* RESTRICT adjoint, const long long* RESTRICT target, const int* RESTRICT first,
                  const long long* RESTRICT source, const int* RESTRICT column, const real* RESTRICT weight, const real* RESTRICT series,
                  const int* RESTRICT step, const Box box, const ForceParams p)
{
    if ((p.last - step[0]) % p.every) return;
    const real* const now = series + (ptrdiff_t)step[0] * p.columns;
    FOR_EACH_POINT(box)
    {
        real sum = 0;
        for (int r = first[i]; r < first[i + 1]; ++r) sum += weight[r] * adjoint[source[r]] * now[column[r]];
        sums[target[i]] += sum;
    }
}
