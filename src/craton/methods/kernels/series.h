// Weighted sums of stored series: what sources see of a field that is kept by place.
//   sums[k][column][i] = sum over rows r of weight[r] scale[row[r]] values[row[r]][i],    first[k] <= r < first[k + 1]
// values: (places, samples) of one column, samples fastest, in float32 or (STORED_16) 16 bits, whose unit at a place is `scale`; sums:
// (sums, columns, samples), in double precision: what follows integrates them over time. Points: k counts sums, i samples; reach: none, rows are gathered. A CPU takes ROWS rows at a time, whole, as
// they stream from memory; a GPU has a thread for each sample of a sum.
#include "machine.h"
#ifndef STORED_16
#define STORED_16 0
#endif
#if STORED_16
typedef short stored_t;
#else
typedef float stored_t;
#endif
#define ROWS 16

KERNEL sum_series(
    double* RESTRICT sums, const stored_t* RESTRICT values, const real* RESTRICT scale, const long long* RESTRICT row, const int* RESTRICT first,
    const real* RESTRICT weight, const Box box, const SeriesParams p)
{
#if THREAD_PER_POINT
    FOR_EACH_POINT(box)
    {
        double sum = 0;
        for (int r = first[k]; r < first[k + 1]; ++r)
            sum += (double)(scale ? weight[r] * scale[row[r]] : weight[r]) * (double)values[row[r] * p.samples + i];
        sums[((ptrdiff_t)k * p.columns + p.column) * p.samples + i] = sum;
    }
#else
    for (int k = box.k0; k < box.k1; ++k)
    {
        double* RESTRICT const sum = sums + ((ptrdiff_t)k * p.columns + p.column) * p.samples;
        for (int i = box.i0; i < box.i1; ++i) sum[i] = 0;
        for (int r = first[k]; r < first[k + 1]; r += ROWS)
        {
            const stored_t* v[ROWS];
            double w[ROWS];
            for (int m = 0; m < ROWS; ++m)
            {
                const bool is_row = r + m < first[k + 1];
                const long long at = row[is_row ? r + m : r];
                v[m] = values + at * p.samples;
                w[m] = is_row ? (scale ? weight[r + m] * scale[at] : weight[r + m]) : 0;
            }
            PRAGMA(omp simd)
            for (int i = box.i0; i < box.i1; ++i)
            {
                double total = 0;
                for (int m = 0; m < ROWS; ++m) total += w[m] * (double)v[m][i];
                sum[i] += total;
            }
        }
    }
#endif
}
