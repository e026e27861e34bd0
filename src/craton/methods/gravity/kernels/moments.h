// Cartesian moments of clusters of prisms about their centres, in units of their radii a: sum of rho integral (x/a)^i (y/a)^j (z/a)^k,
// i + j + k <= DEGREE, ordered as the triple loop over i, j, k runs. In double.
//   leaf_moments    of the leaves list[begin ..], from their prisms: faces [west east south north bottom top] and density
//   parent_moments  of the nodes list[begin ..], from their children (shift of the centre by the binomial theorem, axis by axis)
//   harmonics       out[node][2 t], out[node][2 t + 1] = sum of weights[2 e], weights[2 e + 1] times moment columns[e], e = terms[t] .. terms[t + 1]:
//                   coefficients of the multipole expansion, see tree.py
//   spans   [node][2]: prisms of a leaf, or children of another node as a range of `family`
#include "machine.h"

constexpr int N = DEGREE + 1, MOMENTS = (DEGREE + 1) * (DEGREE + 2) * (DEGREE + 3) / 6;

KERNEL leaf_moments(
    double* RESTRICT moments, const double* RESTRICT faces, const double* RESTRICT density, const double* RESTRICT centres, const int* RESTRICT spans, const int* RESTRICT list,
    const Box box, const MomentParams p)
{
    FOR_EACH_POINT(box)
    {
        const int entry = p.begin + j * LANES + i;
        if (entry < p.end) {
            const int node = list[entry];
            const double* c = centres + 4 * (ptrdiff_t)node;
            double* out = moments + (ptrdiff_t)node * MOMENTS;
            for (int m = 0; m < MOMENTS; ++m) out[m] = 0;
            for (int n = spans[2 * (ptrdiff_t)node]; n < spans[2 * (ptrdiff_t)node + 1]; ++n) {
                const double* q = faces + (ptrdiff_t)n * 6;
                double power[3][N];  // (t2^(i+1) - t1^(i+1)) / ((i + 1) (t2 - t1)), by a recurrence without cancellation
                for (int axis = 0; axis < 3; ++axis) {
                    const double t1 = (q[2 * axis] - c[axis]) / c[3], t2 = (q[2 * axis + 1] - c[axis]) / c[3];
                    double mean = 1, low = 1;
                    for (int m = 0; m < N; ++m) {
                        power[axis][m] = mean / (m + 1);
                        low *= t1;
                        mean = t2 * mean + low;
                    }
                }
                const double mass = density[n] * (q[1] - q[0]) * (q[3] - q[2]) * (q[5] - q[4]);
                int m = 0;
                for (int a = 0; a < N; ++a)
                    for (int b = 0; b < N - a; ++b) {
                        const double xy = mass * power[0][a] * power[1][b];
                        for (int d = 0; d < N - a - b; ++d) out[m++] += xy * power[2][d];
                    }
            }
        }
    }
}

INLINE int place(int a, int b, int d)  // index of the moment (a, b, d)
{
    int m = d;
    for (int i = 0; i < a; ++i) m += (N - i) * (N - i + 1) / 2;
    for (int i = 0; i < b; ++i) m += N - a - i;
    return m;
}

KERNEL parent_moments(
    double* RESTRICT moments, const double* RESTRICT centres, const int* RESTRICT spans, const int* RESTRICT family, const int* RESTRICT list,
    const Box box, const MomentParams p)
{
    FOR_EACH_POINT(box)
    {
        const int entry = p.begin + j * LANES + i;
        if (entry < p.end) {
            const int node = list[entry];
            const double* c = centres + 4 * (ptrdiff_t)node;
            double* out = moments + (ptrdiff_t)node * MOMENTS;
            for (int m = 0; m < MOMENTS; ++m) out[m] = 0;
            for (int n = spans[2 * (ptrdiff_t)node]; n < spans[2 * (ptrdiff_t)node + 1]; ++n) {
                const double* from = centres + 4 * (ptrdiff_t)family[n];
                double now[MOMENTS];
                for (int m = 0; m < MOMENTS; ++m) now[m] = moments[(ptrdiff_t)family[n] * MOMENTS + m];
                const double ratio = from[3] / c[3];
                int at[N][N];
                for (int a = 0; a < N; ++a)
                    for (int b = 0; b < N - a; ++b) at[a][b] = place(a, b, 0);
                double scale[N];
                scale[0] = 1;
                for (int m = 1; m < N; ++m) scale[m] = scale[m - 1] * ratio;
                for (int a = 0; a < N; ++a)
                    for (int b = 0; b < N - a; ++b)
                        for (int d = 0; d < N - a - b; ++d) now[at[a][b] + d] *= scale[a + b + d];
                for (int axis = 0; axis < 3; ++axis) {
                    const double shift = (from[axis] - c[axis]) / c[3];
                    for (int a = 0; a < N; ++a)
                        for (int b = 0; b < N - a; ++b)
                            // along one line of moments: (x + s)^n by repeated multiplication with (x + s), highest power last
                            for (int top = N - 1 - a - b; top >= 1; --top)
                                for (int d = N - 1 - a - b; d >= N - a - b - top; --d) {
                                    const int here = axis == 0 ? at[d][a] + b : axis == 1 ? at[a][d] + b : at[a][b] + d;
                                    const int below = axis == 0 ? at[d - 1][a] + b : axis == 1 ? at[a][d - 1] + b : at[a][b] + d - 1;
                                    now[here] += shift * now[below];
                                }
                }
                for (int m = 0; m < MOMENTS; ++m) out[m] += now[m];
            }
        }
    }
}

KERNEL harmonics(
    double* RESTRICT out, const double* RESTRICT moments, const double* RESTRICT weights, const int* RESTRICT terms, const int* RESTRICT columns,
    const Box box, const MomentParams p)
{
    constexpr int COUNT = (DEGREE + 1) * (DEGREE + 2) / 2;
    FOR_EACH_POINT(box)
    {
        const int node = p.begin + j * LANES + i;
        if (node < p.end)
            for (int t = 0; t < COUNT; ++t) {
                double re = 0, im = 0;
                for (int e = terms[t]; e < terms[t + 1]; ++e) {
                    const double value = moments[(ptrdiff_t)node * MOMENTS + columns[e]];
                    re += weights[2 * (ptrdiff_t)e] * value;
                    im += weights[2 * (ptrdiff_t)e + 1] * value;
                }
                out[((ptrdiff_t)node * COUNT + t) * 2] = re;
                out[((ptrdiff_t)node * COUNT + t) * 2 + 1] = im;
            }
    }
}
