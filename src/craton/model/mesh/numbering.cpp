// Numbers of the GLL points of hexahedra in the order in which elements touch them (numbering.py: number).
//
// Points lie at corners, on edges, on faces and inside. An edge is its two ends, in the list of the lower one; a
// face is its lowest edge and the one opposite, in the list of the former. Corners have numbers in the order of
// their first touch, so that what follows one another in a list lies near in memory.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using Index = std::int64_t;
using Number = std::int32_t;

namespace {

// lists of what belongs to an owner and is told by a second number; each entry has room for its points
struct Lists {
    Index points; // of an entry
    std::vector<Number> head, other, next, slots;

    explicit Lists(Index points) : points(points) {}

    // entry of (owner, second), and whether it is new
    std::pair<Number, bool> find(Number owner, Number second)
    {
        if ((std::size_t)owner >= head.size()) head.resize(std::max<std::size_t>(owner + 1, 2 * head.size()), -1);
        for (Number n = head[owner]; n >= 0; n = next[n])
            if (other[n] == second) return {n, false};
        const Number entry = (Number)other.size();
        other.push_back(second), next.push_back(head[owner]), head[owner] = entry;
        slots.resize(slots.size() + points);
        return {entry, true};
    }
};

} // namespace

extern "C" {

// corners (count, 8) of elements, rising from 0 below `span`. Tables: `ends` (12, 2) corners of the edges,
// `face_edges` (6, 4) two pairs of opposite edges, `face_corners` (6, 4), `parts` (n^3) entity of each point (8
// corners, 12 edges, 6 faces, inside), `places` (n^3) its place in the entity, `turned` (8, m^2) places on a face
// by its orientation. points (count, n^3). How many points there are.
Index number_points(Index count, Index degree, Index span, const Number* corners, const Index* ends,
                    const Index* face_edges, const Index* face_corners, const Index* parts, const Index* places,
                    const Index* turned, Number* points)
{
    const Index m = degree - 1, size = (degree + 1) * (degree + 1) * (degree + 1);
    std::vector<Number> touched(span, -1), corner_points;
    Lists edges(m), faces(m * m);
    std::vector<std::pair<Number, Number>> both; // ends of each edge, the lower one first
    Number nodes = 0, total = 0;
    for (Index e = 0; e < count; e++) {
        Number at[8], edge[12];
        Number* slot[27];
        const Index* turn[27];
        bool fresh[27], backward[27] = {};
        Index face[6];
        for (int c = 0; c < 8; c++) {
            Number& name = touched[corners[8 * e + c]];
            fresh[c] = name < 0;
            if (fresh[c]) name = nodes++, corner_points.push_back(0);
            at[c] = name;
        }
        for (int n = 0; n < 12; n++) {
            const Number a = at[ends[2 * n]], b = at[ends[2 * n + 1]];
            const auto [entry, is_new] = edges.find(std::min(a, b), std::max(a, b));
            if (is_new) both.push_back({std::min(a, b), std::max(a, b)});
            edge[n] = entry, fresh[8 + n] = is_new, backward[8 + n] = a > b;
        }
        for (int n = 0; n < 6; n++) {
            std::pair<Number, Number> pair[2];
            for (int p = 0; p < 2; p++) {
                const Number a = edge[face_edges[4 * n + 2 * p]], b = edge[face_edges[4 * n + 2 * p + 1]];
                pair[p] = both[a] < both[b] ? std::make_pair(a, b) : std::make_pair(b, a);
            }
            const auto& lowest = both[pair[0].first] < both[pair[1].first] ? pair[0] : pair[1];
            const auto [entry, is_new] = faces.find(lowest.first, lowest.second);
            face[n] = entry, fresh[20 + n] = is_new;
            const Index* quad = face_corners + 4 * n;
            int origin = 0;
            for (int q = 1; q < 4; q++)
                if (at[quad[q]] < at[quad[origin]]) origin = q;
            turn[20 + n] = turned + m * m * (2 * origin + (at[quad[origin ^ 2]] < at[quad[origin ^ 1]]));
        }
        for (int c = 0; c < 8; c++) slot[c] = &corner_points[at[c]];
        for (int n = 0; n < 12; n++) slot[8 + n] = edges.slots.data() + m * edge[n];
        for (int n = 0; n < 6; n++) slot[20 + n] = faces.slots.data() + m * m * face[n];
        Number* own = points + size * e;
        const auto of = [&](Index p) -> Number& {
            const Index part = parts[p], place = places[p];
            if (part < 8) return *slot[part];
            if (part < 20) return slot[part][backward[part] ? m - 1 - place : place];
            return slot[part][turn[part][place]];
        };
        for (Index p = 0; p < size; p++) // an entity that is new has new points, in the order of this element
            if (parts[p] == 26) own[p] = total++;
            else if (fresh[parts[p]]) of(p) = total++;
        for (Index p = 0; p < size; p++)
            if (parts[p] != 26) own[p] = of(p);
    }
    return total;
}

// set flags of the points (.., nodes) of some rows
void mark(Index count, Index nodes, const Index* rows, const Number* points, bool* flags)
{
    for (Index e = 0; e < count; e++)
        for (Index n = 0; n < nodes; n++) flags[points[rows[e] * nodes + n]] = true;
}

// new numbers of the points (.., nodes) of some rows, at other rows of out (.., nodes)
void renumber(Index count, Index nodes, const Index* rows, const Number* points, const Number* number,
              const Index* places, Number* out)
{
    for (Index e = 0; e < count; e++)
        for (Index n = 0; n < nodes; n++) out[places[e] * nodes + n] = number[points[rows[e] * nodes + n]];
}
}
