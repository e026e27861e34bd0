// Shapes, masses and material of batches of elements while a plan is made (mesh_statistics.py,
// material.py, time_step.py). Every sum has the order of NumPy's and is rounded term by term: results
// have the same bits. Nodes lie as [element][x y z][27], GLL points as [element][...][n^3].
#include <cmath>
#include <cstdint>
#include <limits>

using Index = std::int64_t;

namespace {

double largest(double a, double b) { return a > b ? a : b; }
double least(double a, double b) { return a < b ? a : b; }

// NumPy's pairwise sum of numbers that lie one behind the other (Higham 1993, SIAM J. Sci. Comput. 14, 783)
double sum(const double* a, Index n)
{
    if (n < 8) {
        double total = n ? -0.0 : 0.0;
        for (Index i = 0; i < n; i++) total += a[i];
        return total;
    }
    if (n > 128) {
        const Index half = n / 2 - n / 2 % 8;
        return sum(a, half) + sum(a + half, n - half);
    }
    double r[8];
    for (int j = 0; j < 8; j++) r[j] = a[j];
    Index i = 8;
    for (; i < n - n % 8; i += 8)
        for (int j = 0; j < 8; j++) r[j] += a[i + j];
    double total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) total += a[i];
    return total;
}

constexpr int CORNER[8] = {0, 2, 6, 8, 18, 20, 24, 26};

// edge lengths of a box along the axes; nan where the element is none (mesh_terms.boxes)
void box_edges(const double* local, double tolerance, double* edges)
{
    const double *x = local, *y = local + 27, *z = local + 54;
    edges[0] = x[14] - x[12];
    edges[1] = y[16] - y[10];
    edges[2] = z[22] - z[4];
    double off = 0;
    for (int c = 0; c < 3; c++)
        for (int b = 0; b < 3; b++)
            for (int a = 0; a < 3; a++) {
                const int n = (c * 3 + b) * 3 + a;
                off = largest(off, std::fabs(x[n] - (a - 1) * (edges[0] / 2)));
                off = largest(off, std::fabs(y[n] - (b - 1) * (edges[1] / 2)));
                off = largest(off, std::fabs(z[n] - (c - 1) * (edges[2] / 2)));
            }
    const double shortest = least(least(std::fabs(edges[0]), std::fabs(edges[1])), std::fabs(edges[2]));
    if (off > tolerance * shortest || edges[0] <= 0 || edges[1] <= 0 || edges[2] <= 0)
        edges[0] = edges[1] = edges[2] = std::numeric_limits<double>::quiet_NaN();
}

// whether all nodes lie midway between corners (mesh_terms.corners)
bool is_straight(const double* local, double tolerance)
{
    double away = 0, extent = std::numeric_limits<double>::infinity();
    for (int r = 0; r < 3; r++) {
        const double* at = local + 27 * r;
        double low = at[0], high = at[0];
        for (int n : CORNER) low = least(low, at[n]), high = largest(high, at[n]);
        extent = least(extent, high - low);
        for (int c = 0; c < 3; c++)
            for (int b = 0; b < 3; b++)
                for (int a = 0; a < 3; a++) {
                    double total = 0;
                    int ends = 0;
                    for (int k = c / 2 * 2; k <= (c + 1) / 2 * 2; k += 2)
                        for (int j = b / 2 * 2; j <= (b + 1) / 2 * 2; j += 2)
                            for (int i = a / 2 * 2; i <= (a + 1) / 2 * 2; i += 2, ends++)
                                total += at[(k * 3 + j) * 3 + i];
                    away = largest(away, std::fabs(at[(c * 3 + b) * 3 + a] - total / ends));
                }
    }
    return away <= tolerance * extent;
}

// shortest and longest edge, least scaled Jacobian, largest sine between edges (quality.corner_quality)
void corner_quality(const double* local, double* out)
{
    double along[3][3][8], shortest = std::numeric_limits<double>::infinity(), longest = -shortest;
    for (int axis = 0; axis < 3; axis++)
        for (int corner = 0; corner < 8; corner++) {
            if (corner >> axis & 1) continue;
            const int other = corner | 1 << axis;
            double edge[3], length;
            for (int r = 0; r < 3; r++) edge[r] = local[27 * r + CORNER[other]] - local[27 * r + CORNER[corner]];
            length = std::sqrt((edge[0] * edge[0] + edge[1] * edge[1]) + edge[2] * edge[2]);
            shortest = least(shortest, length), longest = largest(longest, length);
            for (int r = 0; r < 3; r++) along[axis][r][corner] = along[axis][r][other] = edge[r] / length;
        }
    double jacobian = std::numeric_limits<double>::infinity(), sine = 0;
    for (int n = 0; n < 8; n++) {
        double u[3], v[3], w[3], scaled = 0;
        for (int r = 0; r < 3; r++) u[r] = along[0][r][n], v[r] = along[1][r][n], w[r] = along[2][r][n];
        sine = largest(sine, std::fabs((u[0] * v[0] + u[1] * v[1]) + u[2] * v[2]));
        sine = largest(sine, std::fabs((u[0] * w[0] + u[1] * w[1]) + u[2] * w[2]));
        sine = largest(sine, std::fabs((v[0] * w[0] + v[1] * w[1]) + v[2] * w[2]));
        for (int r = 0; r < 3; r++) {
            const int a = (r + 1) % 3, b = (r + 2) % 3;
            const double term = (u[a] * v[b] - v[a] * u[b]) * w[r]; // cross: t[a] u[b] - t[b] u[a]
            scaled = r ? scaled + term : term;
        }
        jacobian = least(jacobian, scaled);
    }
    out[0] = shortest, out[1] = longest, out[2] = jacobian, out[3] = sine;
}

} // namespace

extern "C" {

// nodes of elements relative to their centres: (count, 3, 27)
void shapes(Index count, const std::int32_t* elements, const double* nodes, const double* centres, double* local)
{
    for (Index e = 0; e < count; e++)
        for (int a = 0; a < 27; a++)
            for (int r = 0; r < 3; r++)
                local[81 * e + 27 * r + a] = nodes[3 * (Index)elements[27 * e + a] + r] - centres[3 * e + r];
}

// edges (count, 3), straight (count), quality (4, count); volumes of the boxes around elements (count)
void shape_statistics(Index count, const double* local, double box_tolerance, double straight_tolerance, double* edges,
          bool* straight, double* quality, double* volume)
{
    for (Index e = 0; e < count; e++) {
        const double* at = local + 81 * e;
        double four[4], extent[3];
        box_edges(at, box_tolerance, edges + 3 * e);
        straight[e] = is_straight(at, straight_tolerance);
        corner_quality(at, four);
        for (int q = 0; q < 4; q++) quality[q * count + e] = four[q];
        for (int r = 0; r < 3; r++) {
            double low = at[27 * r], high = low;
            for (int n = 1; n < 27; n++) low = least(low, at[27 * r + n]), high = largest(high, at[27 * r + n]);
            extent[r] = high - low;
        }
        volume[e] = extent[0] * extent[1] * extent[2];
    }
}

// det J (count, size) from d x_r / d xi_s as [element][r][s][size] (mesh_terms.determinants)
void determinants(Index count, Index size, const double* jacobian, double* out)
{
    for (Index e = 0; e < count; e++) {
        const double* j = jacobian + 9 * size * e;
        for (Index p = 0; p < size; p++) {
            double total = 0;
            for (int r = 0; r < 3; r++) {
                const int a = (r + 1) % 3, b = (r + 2) % 3;
                const double first = j[(3 * a + 1) * size + p] * j[(3 * b + 2) * size + p];
                const double second = j[(3 * b + 1) * size + p] * j[(3 * a + 2) * size + p];
                total += (first - second) * j[3 * r * size + p];
            }
            out[size * e + p] = total;
        }
    }
}

// least and largest of each row of values (count, rows, nodes) and their mean, (count, rows) each; `varying`
// (count) where any row differs by more than a part of the largest of all
void extremes(Index count, Index rows, Index nodes, double uniform, const double* values, double* low,
              double* high, double* mean, bool* varying)
{
    for (Index e = 0; e < count; e++) {
        double scale = 0, differs = 0;
        for (Index row = e * rows; row < (e + 1) * rows; row++) {
            const double* at = values + nodes * row;
            double smallest = at[0], greatest = at[0];
            for (Index n = 1; n < nodes; n++) smallest = least(smallest, at[n]), greatest = largest(greatest, at[n]);
            low[row] = smallest, high[row] = greatest, mean[row] = (0.0 + sum(at, nodes)) / nodes;
            scale = largest(scale, largest(std::fabs(smallest), std::fabs(greatest)));
            differs = largest(differs, greatest - smallest);
        }
        varying[e] = varying[e] || differs > uniform * scale;
    }
}

// slowest wave of each element, (count), of an isotropic medium at its nodes (sampling.slowest)
void slowest(Index count, Index nodes, const double* vp, const double* vs, double* out)
{
    for (Index e = 0; e < count; e++) {
        double value = std::numeric_limits<double>::infinity();
        for (Index n = e * nodes; n < (e + 1) * nodes; n++) value = least(value, vs[n] > 0 ? vs[n] : vp[n]);
        out[e] = value;
    }
}

// nodes with impossible values, and elements in which some nodes are fluid and some solid (checks.sound,
// sampling.element_problems): how many; nan is at no side of anything
Index unsound(Index count, Index nodes, const double* vp, const double* vs, const double* rho, double slowest,
              double fastest, double lightest, double heaviest, double ratio)
{
    Index wrong = 0;
    for (Index e = 0; e < count; e++) {
        Index still = 0, bad = 0;
        for (Index n = e * nodes; n < (e + 1) * nodes; n++) {
            const bool fluid = vs[n] == 0;
            const bool good = (vp[n] >= slowest) & (vp[n] <= fastest) & (fluid | ((vs[n] >= slowest) & (vs[n] <= fastest)))
                              & (rho[n] >= lightest) & (rho[n] <= heaviest) & (vs[n] <= vp[n] * ratio);
            still += fluid, bad += !good;
        }
        wrong += bad + (still > 0 && still < nodes);
    }
    return wrong;
}

// add masses (count, size) of elements' nodes to those of their points, one after another
void add_masses(Index count, Index size, const std::int32_t* points, const double* mass, double* total)
{
    for (Index n = 0; n < count * size; n++) total[points[n]] += mass[n];
}

// volume * density * weight at each node; a step of 0 where an element has one number
void weigh(Index count, Index size, const double* volume, Index volume_step, const double* inertia,
            Index inertia_step, const double* weights, double* out)
{
    for (Index e = 0; e < count; e++)
        for (Index n = 0; n < size; n++) {
            const double v = volume[volume_step ? e * size + n : e], i = inertia[inertia_step ? e * size + n : e];
            out[e * size + n] = v * i * weights[n];
        }
}

// stiffness at corners (count, 8), 1/s2 times a mass: speed^2 |grad xi|^2 inertia det J weight; its largest quotient
// with the mass there of the element alone, (count), 1/s2; how compact each element is, (count): trace of the inverse
// metric over its largest eigenvalue, as axes of the element have it, mean of the corners (time_step.indicator).
// `slopes` are d x_r / d xi_s as [element][r][s][8].
void corner_stiffness(Index count, const double* slopes, const double* speed, const double* inertia,
                      const double* weights, double* stiff, double* alone, double* compact)
{
    for (Index e = 0; e < count; e++) {
        double ratio[8], quotient = 0;
        for (int p = 0; p < 8; p++) {
            double j[3][3], a[3][3], metric[3], det = 0;
            for (int s = 0; s < 3; s++)
                for (int r = 0; r < 3; r++) j[s][r] = slopes[72 * e + 24 * r + 8 * s + p];
            for (int s = 0; s < 3; s++) {
                const double *t = j[(s + 1) % 3], *u = j[(s + 2) % 3];
                for (int r = 0; r < 3; r++) a[s][r] = t[(r + 1) % 3] * u[(r + 2) % 3] - t[(r + 2) % 3] * u[(r + 1) % 3];
            }
            for (int r = 0; r < 3; r++) det = r ? det + j[0][r] * a[0][r] : j[0][r] * a[0][r];
            for (int s = 0; s < 3; s++) {
                const double x = a[s][0] / det, y = a[s][1] / det, z = a[s][2] / det;
                metric[s] = (x * x + y * y) + z * z;
            }
            const double trace = (metric[0] + metric[1]) + metric[2];
            ratio[p] = trace / largest(largest(metric[0], metric[1]), metric[2]);
            const double v = speed[8 * e + p];
            quotient = largest(quotient, v * v * trace);
            stiff[8 * e + p] = v * v * trace * inertia[8 * e + p] * det * weights[p];
        }
        alone[e] = quotient;
        compact[e] = (0.0 + sum(ratio, 8)) / 8;
    }
}

// lambda and mu, Pa, of the nodes (count, nodes) of isotropic elements, at their places in out (.., 2, nodes)
// (cells.moduli, sampling.moduli)
#define MODULI(name, real)                                                                                            \
    void name(Index count, Index nodes, const double* vp, const double* vs, const double* rho, const Index* places,   \
              real* out)                                                                                              \
    {                                                                                                                 \
        for (Index e = 0; e < count; e++)                                                                             \
            for (Index n = 0, q = e * nodes; n < nodes; n++, q++) {                                                   \
                const double mu = rho[q] * (vs[q] * vs[q]), kappa = rho[q] * (vp[q] * vp[q]) - 4.0 / 3 * mu;          \
                real* to = out + 2 * nodes * places[e] + n;                                                           \
                to[0] = (real)(kappa - 2.0 / 3 * mu), to[nodes] = (real)mu;                                           \
            }                                                                                                         \
    }
MODULI(moduli_float32, float)
MODULI(moduli_float64, double)
}
