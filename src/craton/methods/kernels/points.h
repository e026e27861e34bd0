// Point tables: sources and receivers reach the wavefield only as (index, weight, column) rows, sorted by what they add to.
//   inject  state[target[i]] += sum of weight[r] * series[step, column[r]]    over the rows r of target i; state as force_t;
//           series has the rows of all steps, or with slots > 1 is a ring: [step % slots, column[r]]
//   window  now[i] = column i of short series at this step; inject reads it with columns = 0
//   hold    the same of series that keep their last value
//   sample  ring[step % slots, i] = sum of weight[r] * state[source[r]]       over the rows r of channel i
// Rows of one target or channel are contiguous, first[i] .. first[i + 1]: no two threads add to one place, so sums are reproducible.
// `step` lives on the machine, so that a captured graph of one step can be replayed.
#include "storage.h"

KERNEL inject(
    force_t* RESTRICT state, const long long* RESTRICT target, const int* RESTRICT first, const int* RESTRICT column,
    const real* RESTRICT weight, const real* RESTRICT series, const int* RESTRICT step, const Box box, const PointParams p)
{
    FOR_EACH_POINT(box)
    {
        const real* now = series + (ptrdiff_t)(p.slots > 1 ? step[0] % p.slots : step[0]) * p.columns;
        force_t sum = 0;
        for (int r = first[i]; r < first[i + 1]; ++r) sum += to_force(weight[r] * now[column[r]], 1 / UNIT(p));
        state[target[i]] += sum;
    }
}

KERNEL sample(
    real* RESTRICT ring, const field_t* RESTRICT state, const long long* RESTRICT source, const int* RESTRICT first,
    const real* RESTRICT weight, const int* RESTRICT step, const Box box, const PointParams p)
{
    FOR_EACH_POINT(box)
    {
        real sum = 0;
        for (int r = first[i]; r < first[i + 1]; ++r) sum += weight[r] * state[source[r]];
        ring[(ptrdiff_t)(step[0] % p.slots) * p.columns + i] = sum;
    }
}

// Series that are short beside the run: column i has the values series[at[i]] .. series[at[i + 1] - 1] from step begin[i] on, zero elsewhere.
KERNEL window(
    real* RESTRICT now, const int* RESTRICT begin, const long long* RESTRICT at, const real* RESTRICT series, const int* RESTRICT step,
    const Box box, const PointParams p)
{
    FOR_EACH_POINT(box)
    {
        const int n = step[0] - begin[i];
        now[i] = n >= 0 && n < at[i + 1] - at[i] ? series[at[i] + n] : real(0);
    }
}

// The same of series that end and stay: behind its last value column i keeps it, as the moment of a fault does when slip has ended.
KERNEL hold(
    real* RESTRICT now, const int* RESTRICT begin, const long long* RESTRICT at, const real* RESTRICT series, const int* RESTRICT step,
    const Box box, const PointParams p)
{
    FOR_EACH_POINT(box)
    {
        const long long count = at[i + 1] - at[i];
        const long long n = step[0] - begin[i];
        now[i] = n < 0 || count == 0 ? real(0) : series[at[i] + (n < count ? n : count - 1)];
    }
}

KERNEL advance(int* RESTRICT step, const Box box, const PointParams p)
{
    FOR_EACH_POINT(box) step[i] += 1;
}
