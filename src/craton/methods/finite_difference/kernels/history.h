// The field beside absorbing layers at each step, kept so that the steps can be taken back: a row of values per step, or of groups of GROUP
// values in 16 bits and their scale.
//   save     history[step % slots] = state[source[.]]
//   restore  state[source[.]] = history[n % slots], n = p.last - step
// GROUP values share a scale; 1 in save and restore, which have none.
// layout  save, restore: history[slots][p.columns] reals, one a point of the box; save_16, restore_16: p.columns groups of WORDS ints, one
//         group a point of the box: two values in each, and the bits of the scale, a float; source[p.columns * GROUP]
#include "machine.h"

constexpr int WORDS = GROUP / 2 + 1;
constexpr float UNITS = 32767;  // of the largest value of a group

union Bits { float f; int i; };

KERNEL save(real* RESTRICT history, const real* RESTRICT state, const long long* RESTRICT source, const int* RESTRICT step,
            const Box box, const HistoryParams p)
{
    real* const row = history + (ptrdiff_t)(step[0] % p.slots) * p.columns;
    FOR_EACH_POINT(box) row[i] = state[source[i]];
}

KERNEL restore(real* RESTRICT state, const real* RESTRICT history, const long long* RESTRICT source, const int* RESTRICT step,
               const Box box, const HistoryParams p)
{
    const int n = p.last - step[0];
    const real* const row = history + (ptrdiff_t)(n % p.slots) * p.columns;
    FOR_EACH_POINT(box) state[source[i]] = row[i];
}

INLINE int nearest(const float x) { return (int)(x + (x < 0 ? -0.5f : 0.5f)); }

KERNEL save_16(int* RESTRICT history, const real* RESTRICT state, const long long* RESTRICT source, const int* RESTRICT step,
               const Box box, const HistoryParams p)
{
    int* const row = history + (ptrdiff_t)(step[0] % p.slots) * p.columns * WORDS;
    FOR_EACH_POINT(box)
    {
        const long long* const at = source + (ptrdiff_t)i * GROUP;
        int* const words = row + (ptrdiff_t)i * WORDS;
        float values[GROUP], largest = 0;
        for (int n = 0; n < GROUP; ++n) {
            values[n] = (float)state[at[n]];
            const float size = values[n] < 0 ? -values[n] : values[n];
            largest = size > largest ? size : largest;
        }
        // an inverse of what is smaller overflows
        const float inverse = largest > 1e-33f ? UNITS / largest : 0.0f;
        for (int n = 0; n < GROUP / 2; ++n)
            words[n] = (nearest(values[2 * n] * inverse) & 0xffff) | (int)((unsigned)nearest(values[2 * n + 1] * inverse) << 16);
        Bits scale;
        scale.f = largest / UNITS;
        words[GROUP / 2] = scale.i;
    }
}

KERNEL restore_16(real* RESTRICT state, const int* RESTRICT history, const long long* RESTRICT source, const int* RESTRICT step,
                  const Box box, const HistoryParams p)
{
    const int n = p.last - step[0];
    const int* const row = history + (ptrdiff_t)(n % p.slots) * p.columns * WORDS;
    FOR_EACH_POINT(box)
    {
        const long long* const at = source + (ptrdiff_t)i * GROUP;
        const int* const words = row + (ptrdiff_t)i * WORDS;
        Bits scale;
        scale.i = words[GROUP / 2];
        for (int v = 0; v < GROUP / 2; ++v) {
            state[at[2 * v]] = (real)(scale.f * (short)(words[v] & 0xffff));
            state[at[2 * v + 1]] = (real)(scale.f * (short)((unsigned)words[v] >> 16));
        }
    }
}
