// Chunks of elements and their colours (ordering.py: _incidence, _greedy).
#include <algorithm>
#include <cstdint>

using Index = std::int64_t;

extern "C" {

// different nodes of each chunk, rising, one chunk behind the other: chunk c has those from before[c] to
// before[c + 1] in `nodes`, which change their order, and starts[c] to starts[c + 1] of them stay in front.
// How many stay.
Index incidence(Index chunks, const Index* before, Index* nodes, Index* starts)
{
    Index total = 0;
    for (Index c = 0; c < chunks; c++) {
        std::sort(nodes + before[c], nodes + before[c + 1]);
        starts[c] = total;
        for (Index n = before[c]; n < before[c + 1]; n++)
            if (n == before[c] || nodes[n] != nodes[total - 1]) nodes[total++] = nodes[n];
    }
    starts[chunks] = total;
    return total;
}

// lowest colour free at the nodes of each chunk, taken in a sequence; bits of `used` are colours at a node, at
// first none. Whether 64 colours were enough.
Index greedy(Index chunks, const Index* sequence, const Index* starts, const Index* nodes, std::uint64_t* used,
             std::int32_t* colours)
{
    for (Index place = 0; place < chunks; place++) {
        const Index c = sequence[place];
        std::uint64_t taken = 0;
        std::int32_t colour = 0;
        for (Index n = starts[c]; n < starts[c + 1]; n++) taken |= used[nodes[n]];
        if (taken == ~std::uint64_t(0)) return 0;
        while (taken >> colour & 1) colour++;
        for (Index n = starts[c]; n < starts[c + 1]; n++) used[nodes[n]] |= std::uint64_t(1) << colour;
        colours[c] = colour;
    }
    return 1;
}
}
