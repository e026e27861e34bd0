// Flat layers at the nodes of elements (sampling.py: Sampler._in_medium; layered.py: Layered.values),
// rounded operation by operation as NumPy does.
#include <algorithm>
#include <cmath>
#include <cstdint>

using Index = std::int64_t;

namespace {

// layer of an elevation: tops fall, a point on one belongs to the layer below it
Index layer_of(double z, Index layers, const double* tops)
{
    Index n = 0;
    while (n + 1 < layers && tops[n + 1] >= z) n++;
    return n;
}

} // namespace

extern "C" {

// z (count, nodes), middle (count): elevations of nodes and centres, m. Of each layer: top, lowest and highest
// z, and of each of `names` properties its value at the top and its growth with depth, (names, layers).
// out (names, count, nodes).
void layered(Index count, Index nodes, const double* z, const double* middle, double inwards, double nearly,
             Index layers, const double* tops, const double* lowest, const double* highest, Index names,
             const double* values, const double* gradients, double* out)
{
    for (Index e = 0; e < count; e++) {
        const double* at = z + e * nodes;
        double bottom = at[0] + inwards * (middle[e] - at[0]), top = bottom;
        for (Index n = 1; n < nodes; n++) {
            const double inner = at[n] + inwards * (middle[e] - at[n]);
            bottom = std::min(bottom, inner), top = std::max(top, inner);
        }
        const double room = nearly * (top - bottom);
        const Index home = layer_of(middle[e], layers, tops);
        const double low = lowest[home], high = highest[home];
        for (Index n = 0; n < nodes; n++) {
            const double inner = at[n] + inwards * (middle[e] - at[n]);
            const double inside = std::min(std::max(inner, low), high);
            const double level = std::fabs(inside - inner) <= room ? inside : inner;
            const bool here = level >= low && level <= high;
            const Index layer = here ? home : layer_of(level, layers, tops);
            const double depth = std::max(tops[layer] - level, 0.0);
            for (Index m = 0; m < names; m++)
                out[(m * count + e) * nodes + n] = values[m * layers + layer] + gradients[m * layers + layer] * depth;
        }
    }
}
}
