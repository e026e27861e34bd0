// A spherical Earth model at the nodes of elements (earth_chunk.py: radii; radial.py: _of_elements).
#include <algorithm>
#include <cmath>
#include <cstdint>

using Index = std::int64_t;

extern "C" {

// move radii (count, nodes) into the section, of `sections` between rising limits, in which the middle of their
// lowest and highest is, a little away from its ends
void settle(Index count, Index nodes, Index sections, const double* limits, double away, double* r)
{
    for (Index e = 0; e < count; e++) {
        double* at = r + e * nodes;
        const double low = *std::min_element(at, at + nodes), high = *std::max_element(at, at + nodes);
        const double middle = (low + high) / 2;
        const Index place = std::upper_bound(limits, limits + sections + 1, middle) - limits - 1;
        const Index section = std::min(std::max<Index>(place, 0), sections - 1);
        const double least = limits[section] + away, most = limits[section + 1] - away;
        for (Index n = 0; n < nodes; n++) at[n] = std::min(std::max(at[n], least), most);
    }
}

// polynomials in r / radius of the pieces between knots, coefficients (pieces, rows, powers) with the lowest power
// first, at radii (count, nodes): out (rows, count, nodes). A radius on a knot takes the piece below, or above.
// Radii outside by more than `fuzz`: how many.
Index polynomials(Index count, Index nodes, const double* r, Index below, double fuzz, double radius, Index pieces,
                  const double* knots, Index rows, Index powers, const double* coefficients, double* out)
{
    Index outside = 0;
    for (Index e = 0; e < count; e++) {
        const double* at = r + e * nodes;
        const double least = *std::min_element(at, at + nodes);
        const double* above = below ? std::lower_bound(knots, knots + pieces + 1, least)
                                    : std::upper_bound(knots, knots + pieces + 1, least);
        const Index first = std::min(std::max<Index>(above - knots - 1, 0), pieces - 1);
        const double next = first + 1 < pieces ? knots[first + 1] : INFINITY;
        bool single = true;
        for (Index n = 0; n < nodes; n++) {
            outside += !(at[n] >= knots[0] - fuzz && at[n] <= knots[pieces] + fuzz);
            single &= below ? !(at[n] > next) : !(at[n] >= next);
        }
        for (Index row = 0; row < rows; row++) {
            double* to = out + (row * count + e) * nodes;
            const double* own = coefficients + (first * rows + row) * powers;
            for (Index n = 0; n < nodes; n++) {
                const double x = at[n] / radius;
                double value = own[powers - 1];
                for (Index power = powers - 2; power >= 0; power--) value = value * x + own[power];
                to[n] = value;
            }
            for (Index n = 0; !single && n < nodes; n++) {
                Index piece = first;
                while (piece + 1 < pieces && (below ? at[n] > knots[piece + 1] : at[n] >= knots[piece + 1])) piece++;
                if (piece == first) continue;
                const double x = at[n] / radius, *other = coefficients + (piece * rows + row) * powers;
                double value = other[powers - 1];
                for (Index power = powers - 2; power >= 0; power--) value = value * x + other[power];
                to[n] = value;
            }
        }
    }
    return outside;
}
}
