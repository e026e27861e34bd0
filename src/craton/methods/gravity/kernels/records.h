// Prisms as pairs.h reads them, from what the user gave.
//   records   prisms[n] = record of the prism with the faces [n][west east south north bottom top] and density[n], n < count; lengths relative
//             to the origin in units of `unit` where SPLIT, `distance` half diagonals from where on the series serves
// All in double until a value is stored: the series' coefficients lose digits where their terms cancel.
#include "pairs.h"

struct QuadraticD { double xx, yy, zz, xy, xz, yz; };
struct CubicD { double xxx, yyy, zzz, xxy, xxz, xyy, yyz, xzz, yzz, xyz; };

INLINE QuadraticD order_four(double a, double b, double c)  // squares of the half sides
{
    const double x = a * a * 0.1 + a * (b + c) * (1. / 18), y = b * b * 0.1 + b * (a + c) * (1. / 18);  // Laplacian
    const double z = c * c * 0.1 + c * (a + b) * (1. / 18), s = (x + y + z) * 0.75;
    const double p = (105. / 120), q = (105. / 36), h = 7.5;
    return {p * a * a - h * x + s, p * b * b - h * y + s, p * c * c - h * z + s,
            q * a * b - h * (x + y) + (s + s), q * a * c - h * (x + z) + (s + s), q * b * c - h * (y + z) + (s + s)};
}

INLINE CubicD order_six(double a, double b, double c)
{
    const double f = 10395.0, p = f / 5040, q = f / 720, t = a * b * c * (f / 108);
    const double xx = a * a * (a * (f / 168) + (b + c) * (f / 360)), yy = b * b * (b * (f / 168) + (a + c) * (f / 360));
    const double zz = c * c * (c * (f / 168) + (a + b) * (f / 360));  // Laplacian
    const double xy = a * b * (a + b) * (f / 60) + t, xz = a * c * (a + c) * (f / 60) + t, yz = b * c * (b + c) * (f / 60) + t;
    const double g = (1. / 792), u = (1. / 22);
    const double x = g * (12 * xx + 2 * (xy + xz)), y = g * (12 * yy + 2 * (xy + yz)), z = g * (12 * zz + 2 * (xz + yz));  // its Laplacian
    const double s = (x + y + z) * (2. * 792 / 33264);
    return {p * a * a * a - u * xx + x - s, p * b * b * b - u * yy + y - s, p * c * c * c - u * zz + z - s,
            q * a * a * b - u * (xx + xy) + (2 * x + y) - 3 * s, q * a * a * c - u * (xx + xz) + (2 * x + z) - 3 * s,
            q * a * b * b - u * (yy + xy) + (x + 2 * y) - 3 * s, q * b * b * c - u * (yy + yz) + (2 * y + z) - 3 * s,
            q * a * c * c - u * (zz + xz) + (x + 2 * z) - 3 * s, q * b * c * c - u * (zz + yz) + (y + 2 * z) - 3 * s,
            f / 216 * (a * b * c) - u * (xy + xz + yz) + 2 * (x + y + z) - 6 * s};
}

KERNEL records(
    real* RESTRICT prisms, const double* RESTRICT faces, const double* RESTRICT density, const Box box, const RecordParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t n = (ptrdiff_t)j * LANES + i;
        if (n < p.count) {
            real* out = prisms + n * RECORD;
            const double origin[3] = {p.x, p.y, p.z}, weight = density[n];
            double side[3], square[3], half = 0, volume = 1;
            for (int axis = 0; axis < 3; ++axis) {
                const double low = faces[6 * n + 2 * axis], high = faces[6 * n + 2 * axis + 1];
                side[axis] = (high - low) / p.unit, square[axis] = 0.25 * side[axis] * side[axis];
                half += square[axis], volume *= side[axis];
                const double local[3] = {(low - origin[axis]) / p.unit, (high - origin[axis]) / p.unit, (low + 0.5 * (high - low) - origin[axis]) / p.unit};
                out[2 * axis] = real(local[0]), out[2 * axis + 1] = real(local[1]);
                if constexpr (SPLIT) {
                    out[LOW + 2 * axis] = real(local[0] - double(real(local[0]))), out[LOW + 2 * axis + 1] = real(local[1] - double(real(local[1])));
                    out[SIDE + axis] = real(side[axis]);
                }
                if constexpr (ORDER > 0) {
                    out[CENTRE + axis] = real(local[2]);
                    if constexpr (SPLIT) out[CENTRE_LOW + axis] = real(local[2] - double(real(local[2])));
                }
            }
            out[DENSITY] = real(weight);
            if constexpr (ORDER > 0) {
                out[FROM] = real(p.distance) * root(real(half)), out[MASS] = real(weight * volume);
                for (int axis = 0; axis < 3; ++axis) out[TWO + axis] = real(0.5 * (square[axis] - half / 3));
                const QuadraticD q = order_four(square[0], square[1], square[2]);
                const CubicD c = order_six(square[0], square[1], square[2]);
                const double four[6] = {q.xx, q.yy, q.zz, q.xy, q.xz, q.yz};
                const double six[10] = {c.xxx, c.yyy, c.zzz, c.xxy, c.xxz, c.xyy, c.yyz, c.xzz, c.yzz, c.xyz};
                for (int m = 0; m < 6; ++m) out[FOUR + m] = real(four[m]);
                for (int m = 0; m < 10; ++m) out[SIX + m] = real(six[m]);
            }
        }
    }
}
