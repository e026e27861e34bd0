// Attraction of prisms at points through a tree of clusters: a cluster that is far from a whole group of points acts by its multipole
// expansion, the prisms of a near leaf one by one. The walk is the same for all points of a group.
//   partial, points, groups, prisms   as in attract.h
//   nodes    [node][NODE]       centre, radius a, then the distances from which the expansion to degree 2, 4, .. DEGREE serves
//   moments  [node][TERMS]      b(n, m) / a^n, real and imaginary parts, n(n+1)/2 + m: V = Re sum w_m b(n,m) S(n,m), w_0 = 1, else 2
//   links    [node][3]          first prism, prism behind the last, next node outside this subtree (nodes in preorder); a leaf's next is
//                               the node that follows it
//   heads    subtrees; those of part k are first[k] .. first[k + 1]
// S(n,m) = (n-m)! P(n,m)(cos t) exp(i m f) / r^(n+1) of centre minus point, with S(n,-m) = (-1)^m conj S(n,m), b likewise. Derivatives act on
// the coefficients (Dehnen 2014, appendix): d/dz: -b(m);  d/dx: (b(m+1) - b(m-1)) / 2;  d/dy: i (b(m+1) + b(m-1)) / 2;  all at degree n + 1.
#include "pairs.h"

#define BATCH 64
constexpr int ORDERS = DEGREE / 2, NODE = 4 + ORDERS, TERMS = (DEGREE + 1) * (DEGREE + 2);

struct Complex { real re, im; };
BODY Complex coefficient(const real* b, int n, int m, int degree)
{
    const int k = m < 0 ? -m : m;
    if (n < 0 || k > n || n > degree) return {0, 0};
    const real re = b[n * (n + 1) + 2 * k], im = b[n * (n + 1) + 2 * k + 1];
    return m >= 0 ? Complex{re, im} : k & 1 ? Complex{-re, im} : Complex{re, -im};
}

// Coefficients of the potential and its derivatives at one (n, m), weight of m included.
struct Row { Complex v, x, y, z, xx, zz, xy, xz, yz; };
BODY Row row(const real* b, int n, int m, int degree)
{
    const real w = m == 0 ? 1 : 2, h = real(0.5) * w, q = real(0.25) * w;
    Row out = {};
    const Complex v = coefficient(b, n, m, degree);
    out.v = {w * v.re, w * v.im};
    if constexpr (WANTS(G_E) || WANTS(G_N) || WANTS(G_Z)) {
        const Complex up = coefficient(b, n - 1, m + 1, degree), at = coefficient(b, n - 1, m, degree), down = coefficient(b, n - 1, m - 1, degree);
        out.x = {h * (up.re - down.re), h * (up.im - down.im)}, out.y = {-h * (up.im + down.im), h * (up.re + down.re)}, out.z = {-w * at.re, -w * at.im};
    }
    if constexpr (((FIELDS) >> G_EE) != 0) {
        const Complex up = coefficient(b, n - 2, m + 1, degree), at = coefficient(b, n - 2, m, degree), down = coefficient(b, n - 2, m - 1, degree);
        const Complex top = coefficient(b, n - 2, m + 2, degree), low = coefficient(b, n - 2, m - 2, degree);
        out.xx = {q * (top.re + low.re) - h * at.re, q * (top.im + low.im) - h * at.im}, out.zz = {w * at.re, w * at.im};
        out.xy = {-q * (top.im - low.im), q * (top.re - low.re)};
        out.xz = {-h * (up.re - down.re), -h * (up.im - down.im)}, out.yz = {h * (up.im + down.im), -h * (up.re + down.re)};
    }
    return out;
}

#define RE(c) ((c).re * re - (c).im * im)
BODY void add_cluster(GROUP_OF(real, sum, FIELD_COUNT), GROUP_OF(real, point, COORDINATES), const real* node, const real* b, int degree)
{
    constexpr int EXTRA = ((FIELDS) >> G_EE) != 0 ? 2 : ((FIELDS) >> G_E) != 0 ? 1 : 0;
    LANE_ARRAY(real, at, 4);      // x y z times a / r^2, (a / r)^2
    LANE_ARRAY(real, column, 6);  // S(m, m), S(n-1, m), S(n-2, m), scaled by a^n
    LANE_ARRAY(real, field, 9);
    const real a = node[3];
    EACH_LANE
    {
        real x = node[0] - AT(point, 0), y = node[1] - AT(point, 1), z = node[2] - AT(point, 2);
        if constexpr (SPLIT) x -= AT(point, COORDINATES - 3), y -= AT(point, COORDINATES - 2), z -= AT(point, COORDINATES - 1);
        const real ir = inverse_root(x * x + y * y + z * z), s = a * ir * ir;
        AT(at, 0) = x * s, AT(at, 1) = y * s, AT(at, 2) = z * s, AT(at, 3) = a * s;
        AT(column, 0) = ir, AT(column, 1) = 0;
        AT(field, 0) = AT(field, 1) = AT(field, 2) = AT(field, 3) = AT(field, 4) = AT(field, 5) = AT(field, 6) = AT(field, 7) = AT(field, 8) = 0;
    }
    for (int m = 0; m <= degree + EXTRA; ++m) {
        const real odd = 2 * m - 1;
        EACH_LANE
        {
            const real re = AT(column, 0), im = AT(column, 1), x = odd * AT(at, 0), y = odd * AT(at, 1);
            AT(column, 0) = m > 0 ? x * re - y * im : re, AT(column, 1) = m > 0 ? x * im + y * re : im;
            AT(column, 2) = AT(column, 3) = AT(column, 4) = AT(column, 5) = 0;
        }
        for (int n = m; n <= degree + EXTRA; ++n) {
            const Row c = row(b, n, m, degree);
            const real up = 2 * n - 1, back = (n - 1) * (n - 1) - m * m;
            EACH_LANE
            {
                const real before = AT(column, 2), before_im = AT(column, 3), factor = up * AT(at, 2), damp = back * AT(at, 3);
                const real re = n > m ? factor * before - damp * AT(column, 4) : AT(column, 0);
                const real im = n > m ? factor * before_im - damp * AT(column, 5) : AT(column, 1);
                AT(column, 4) = before, AT(column, 5) = before_im, AT(column, 2) = re, AT(column, 3) = im;
                if constexpr (WANTS(POTENTIAL)) AT(field, 0) += RE(c.v);
                if constexpr (WANTS(G_E)) AT(field, 1) -= RE(c.x);
                if constexpr (WANTS(G_N)) AT(field, 2) -= RE(c.y);
                if constexpr (WANTS(G_Z)) AT(field, 3) += RE(c.z);
                if constexpr (WANTS(G_EE) || WANTS(G_NN)) AT(field, 4) += RE(c.xx);
                if constexpr (WANTS(G_NN) || WANTS(G_ZZ)) AT(field, 5) += RE(c.zz);
                if constexpr (WANTS(G_EN)) AT(field, 6) += RE(c.xy);
                if constexpr (WANTS(G_EZ)) AT(field, 7) -= RE(c.xz);
                if constexpr (WANTS(G_NZ)) AT(field, 8) -= RE(c.yz);
            }
        }
    }
    const real first = quotient(real(1), a), second = first * first;
    EACH_LANE
    {
        const real xx = second * AT(field, 4), zz = second * AT(field, 5);
        add(sum LANE, {AT(field, 0), first * AT(field, 1), first * AT(field, 2), first * AT(field, 3), xx, -xx - zz, zz, second * AT(field, 6),
                       second * AT(field, 7), second * AT(field, 8)}, 1, true);
    }
}

KERNEL attract_clusters(
    double* RESTRICT partial, const real* RESTRICT points, const real* RESTRICT groups, const real* RESTRICT prisms, const real* RESTRICT nodes,
    const real* RESTRICT moments, const int* RESTRICT links, const int* RESTRICT heads, const int* RESTRICT first, const Box box,
    const AttractParams p)
{
    FOR_EACH_GROUP(box)
    {
        LANE_ARRAY(double, total, FIELD_COUNT);
        LANE_ARRAY(real, sum, FIELD_COUNT);
        LANE_ARRAY(real, point, COORDINATES);
        for (int c = 0; c < COORDINATES; ++c) EACH_LANE AT(point, c) = points[c * p.stride + (ptrdiff_t)j * LANES + i];
        for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE AT(total, f) = AT(sum, f) = 0;
        const real* sphere = groups + 4 * (ptrdiff_t)j;
        int held = 0;
        for (int h = first[k]; h < first[k + 1]; ++h) {
            int node = heads[h];
            const int stop = links[3 * (ptrdiff_t)node + 2];
            while (node < stop) {
                const int* link = links + 3 * (ptrdiff_t)node;
                const real* q = nodes + (ptrdiff_t)node * NODE;
                const real x = q[0] - sphere[0], y = q[1] - sphere[1], z = q[2] - sphere[2];
                const real gap = root(x * x + y * y + z * z) * (1 - 8 * EPSILON) - sphere[3];
                const bool leaf = link[2] == node + 1;
                if (gap >= q[4 + ORDERS - 1] && link[1] - link[0] > 2) {
                    int order = 0;
                    while (gap < q[4 + order]) ++order;
                    add_cluster(sum, point, q, moments + (ptrdiff_t)node * TERMS, 2 * order + 2);
                    held += 1;
                    node = link[2];
                } else {
                    if (leaf) {
                        for (int n = link[0]; n < link[1]; ++n) add_prism(sum, point, prisms + (ptrdiff_t)n * RECORD, sphere);
                        held += link[1] - link[0];
                    }
                    node += 1;
                }
                if (held >= BATCH || node >= stop) {
                    for (int f = 0; f < FIELD_COUNT; ++f) EACH_LANE { AT(total, f) += AT(sum, f); AT(sum, f) = 0; }
                    held = 0;
                }
            }
        }
        for (int f = 0; f < FIELD_COUNT; ++f)
            EACH_LANE partial[((ptrdiff_t)k * FIELD_COUNT + f) * p.stride + (ptrdiff_t)j * LANES + i] = AT(total, f);
    }
}
