// Bodies that work on elements of N^3 nodes: on a GPU a block of threads for ELEMENTS elements, one thread a column of nodes along zeta; on the
// CPU LANES elements side by side, one in each lane of a vector, and loops over their columns. The box counts elements along x.
//   value                          a real of one element (GPU), LANES reals of as many elements (CPU); arithmetic is written once for both
//   FOR_EACH_ELEMENT(box, order) { ... }   e is the element (GPU), the group of LANES elements (CPU); order: elements in another order, or null
//   SHARED(name, count)            values that all columns of an element see
//   EACH_COLUMN { ... }            column = j * N + i; its nodes are k * COLUMNS + column
//   BARRIER                        between two of these, where one reads what another column wrote
//   RULE_HERE(rule)                N * N derivatives l_b'(xi_a) [a][b], then the N points, then their weights
// Arrays of elements are [e][row][node] on both machines, of `value` (VALUES) or of int: the CPU's interleave LANES elements.
// On a GPU a thread keeps its column of the field in registers (KEEP = 1, low degrees) or reads it from shared memory; LATE = 1: shared memory
// is too small for all of an element, so that some of it waits in registers; SPREAD = 1: threads add reals side by side in memory, not the nodes
// of their columns. THREADS of a block, MIN_BLOCKS that fit a multiprocessor.
#pragma once
#include "machine.h"

constexpr int N = DEGREE + 1, COLUMNS = N * N, NODES = N * N * N, POINTS = N * N, WEIGHTS = POINTS + N, RULES = WEIGHTS + N;

#if THREAD_PER_POINT
#undef KERNEL
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
#define BODY INLINE
#define MEMBER INLINE
#define UNROLL _Pragma("unroll")
#define UNROLL_COLUMN _Pragma("unroll")
#define UNROLL_ROWS _Pragma("unroll")
typedef real value;
__device__ constexpr real RULE[RULES] = RULE_VALUES;
#define RULE_HERE(name)                                                                       \
    __shared__ real name[RULES];                                                              \
    for (int m = threadIdx.x; m < RULES; m += blockDim.x) name[m] = RULE[m];
#define FOR_EACH_ELEMENT(box, order)                                                          \
    const int slot = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS;                   \
    const int place = box.i0 + blockIdx.x * ELEMENTS + slot;                                  \
    const bool here = slot < ELEMENTS && place < box.i1;                                      \
    const ptrdiff_t e = !here ? 0 : COLOURED ? order[place] : place;
#define SHARED(name, count)                                                                   \
    __shared__ value name##_of_all[ELEMENTS * (count)];                                       \
    value* const name = name##_of_all + slot * (count);
#define EACH_COLUMN if (here)
#define BARRIER __syncthreads();

INLINE float reciprocal(float x) { return __fdividef(1.0f, x); }
INLINE double reciprocal(double x) { return 1 / x; }

struct Points {  // global points of an element's nodes
    const int* of;
    MEMBER Points(const int* points, ptrdiff_t e, int first) : of(points + (e + first) * NODES) {}
    MEMBER int operator[](int node) const { return of[node]; }
};
typedef int Place;
template <int FIELDS> INLINE void gather(value* out, int stride, const real* field, Place g)
{
    UNROLL for (int c = 0; c < FIELDS; ++c) out[c * stride] = field[(ptrdiff_t)FIELDS * g + c];
}
INLINE void add_one(force_t* to, value more, double per_unit)
{
#if COLOURED
    *to += to_force(more, per_unit);
#elif EXACT
    atomicAdd((unsigned long long*)to, (unsigned long long)to_force(more, per_unit));
#else
    atomicAdd(to, more);
#endif
}
template <int FIELDS, int STRIDE = FIELDS> INLINE void add(force_t* field, Place g, const value (&sum)[FIELDS], double per_unit)
{
    UNROLL for (int c = 0; c < FIELDS; ++c) add_one(field + (ptrdiff_t)STRIDE * g + c, sum[c], per_unit);
}
template <int FIELDS> INLINE void add_spread(force_t* field, const Points& point, const value* sum, int column, double per_unit)
{
    UNROLL for (int r = 0; r < FIELDS; ++r)  // reals r * COLUMNS + column and so on, FIELDS * COLUMNS apart
    {
        const int m = r * COLUMNS + column, node = m / FIELDS;
        force_t* const to = field + m % FIELDS;
        UNROLL for (int k = 0; k < N; ++k) add_one(to + (ptrdiff_t)FIELDS * point[node + k * COLUMNS], sum[m + k * FIELDS * COLUMNS], per_unit);
    }
}
#else
#define BODY static inline __attribute__((always_inline))
#define MEMBER inline __attribute__((always_inline))
#define UNROLL PRAGMA(GCC unroll 9)
#define UNROLL_COLUMN
#define UNROLL_ROWS PRAGMA(GCC unroll 21)
#if defined(__AVX512F__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")
#endif
typedef real value __attribute__((vector_size(LANES * sizeof(real)), may_alias));
static constexpr real RULE[RULES] = RULE_VALUES;
#define RULE_HERE(name) const real* const name = RULE;
#define FOR_EACH_ELEMENT(box, order) for (ptrdiff_t e = box.i0 / LANES; e < box.i1 / LANES; ++e)
#define SHARED(name, count) alignas(64) value name[count];
#define EACH_COLUMN for (int column = 0; column < COLUMNS; ++column)
#define BARRIER

BODY value reciprocal(value x) { return real(1) / x; }

typedef const int* Place;  // LANES points
struct Points {
    const int* of;
    MEMBER Points(const int* points, ptrdiff_t e, int first) : of(points + (e * LANES + first) * NODES) {}
    MEMBER Place operator[](int node) const { return of + node * LANES; }
};
template <int FIELDS> BODY void gather(value* out, int stride, const real* field, Place g)
{
    for (int lane = 0; lane < LANES; ++lane)
        for (int c = 0; c < FIELDS; ++c) ((real*)(out + c * stride))[lane] = field[(ptrdiff_t)FIELDS * g[lane] + c];
}
template <int FIELDS, int STRIDE = FIELDS> BODY void add(force_t* field, Place g, const value (&sum)[FIELDS], double per_unit)
{
    for (int lane = 0; lane < LANES; ++lane)  // one after another: they may share points
        for (int c = 0; c < FIELDS; ++c) field[(ptrdiff_t)STRIDE * g[lane] + c] += to_force(sum[c][lane], per_unit);
}
template <int FIELDS> BODY void add_spread(force_t*, const Points&, const value*, int, double) {}  // for a GPU
#endif
#define VALUES(array) ((const value*)(array))
