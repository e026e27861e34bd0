// Nodes of prisms whose faces lie on a regular lattice, found by scattering every prism to its eight corners. In double.
//   outline  partial[row][thread]: least lower side of x y z, greatest upper one, least length, sum of |density| volume, greatest |density|
//   scatter  corners[(kz ny + ky) nx + kx] += density times the signs of a prism's corner there (see vertex.h); planes: the coordinates of the
//            faces as given, nx of x, then ny of y, nz of z; bad[0] = 1 where a face lies off the lattice, or two faces on one plane
//   pick     nodes[n] = x y z and value of the corner keys[n]
#include "machine.h"

#if THREAD_PER_POINT
#define EACH_PRISM(box) FOR_EACH_POINT(box)
#define ADD_TO(target, value) atomicAdd(&(target), value)
#else  // prisms share corners: one after another
#define EACH_PRISM(box)                               \
    for (int j = box.j0; j < box.j1; ++j)             \
        for (int i = box.i0; i < box.i1; ++i)
#define ADD_TO(target, value) (target) += (value)
#endif
INLINE double least_of(double a, double b) { return a < b ? a : b; }
INLINE double greatest_of(double a, double b) { return a > b ? a : b; }

KERNEL outline(double* RESTRICT partial, const double* RESTRICT faces, const double* RESTRICT density, const Box box, const RasterParams p)
{
    FOR_EACH_POINT(box)
    {
        const int thread = j * LANES + i;
        double row[11] = {1e300, 1e300, 1e300, -1e300, -1e300, -1e300, 1e300, 1e300, 1e300, 0, 0};
        for (ptrdiff_t n = thread; n < p.count; n += p.threads) {
            const double weight = density[n] < 0 ? -density[n] : density[n];
            double volume = 1;
            for (int axis = 0; axis < 3; ++axis) {
                const double low = faces[6 * n + 2 * axis], high = faces[6 * n + 2 * axis + 1];
                row[axis] = least_of(row[axis], low), row[3 + axis] = greatest_of(row[3 + axis], high);
                row[6 + axis] = least_of(row[6 + axis], high - low), volume *= high - low;
            }
            row[9] += weight * volume, row[10] = greatest_of(row[10], weight);
        }
        for (int m = 0; m < 11; ++m) partial[(ptrdiff_t)m * p.threads + thread] = row[m];
    }
}

KERNEL scatter(
    double* RESTRICT corners, double* RESTRICT planes, int* RESTRICT bad, const double* RESTRICT faces, const double* RESTRICT density,
    const Box box, const RasterParams p)
{
    EACH_PRISM(box)
    {
        const ptrdiff_t n = (ptrdiff_t)j * LANES + i;
        if (n < p.count) {
            const double begin[3] = {p.x, p.y, p.z}, step[3] = {p.dx, p.dy, p.dz};
            const int size[3] = {p.nx, p.ny, p.nz};
            int at[3][2];
            bool good = true;
            for (int axis = 0, first = 0; axis < 3; first += size[axis++])
                for (int side = 0; side < 2; ++side) {
                    const double face = faces[6 * n + 2 * axis + side];
                    const int place = int((face - begin[axis]) / step[axis] + 0.5);
                    const double off = begin[axis] + step[axis] * place - face, magnitude = greatest_of(begin[axis] + step[axis] * (size[axis] - 1), -begin[axis]);
                    good = good && place >= 0 && place < size[axis] && (off < 0 ? -off : off) <= p.ulps * magnitude;
                    if (good) planes[first + place] = face;
                    at[axis][side] = place;
                }
            if (!good || at[0][0] >= at[0][1] || at[1][0] >= at[1][1] || at[2][0] >= at[2][1]) bad[0] = 1;
            else
                for (int corner = 0; corner < 8; ++corner) {
                    const int a = corner & 1, b = corner >> 1 & 1, c = corner >> 2;
                    const double value = (a + b + c) & 1 ? density[n] : -density[n];
                    ADD_TO(corners[((ptrdiff_t)at[2][c] * p.ny + at[1][b]) * p.nx + at[0][a]], value);
                }
        }
    }
}

KERNEL pick(
    double* RESTRICT nodes, const double* RESTRICT corners, const double* RESTRICT planes, const long long* RESTRICT keys, const Box box,
    const RasterParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t n = (ptrdiff_t)j * LANES + i;
        if (n < p.count) {
            const long long key = keys[n], row = key / p.nx;
            double* out = nodes + 4 * n;
            out[0] = planes[key % p.nx], out[1] = planes[p.nx + row % p.ny], out[2] = planes[p.nx + p.ny + row / p.ny], out[3] = corners[key];
        }
    }
}
