// Bodies that keep a few values per point while they run through a list: one thread a point on the GPU; on the CPU LANES points side
// by side, the list outside, a vectorised loop over the points inside. The box counts groups of LANES points along y and parts of the
// list along z; along x it holds the points of a group, all of them.
//   FOR_EACH_GROUP(box)          j is the group, k the part of the list
//   LANE_ARRAY(type, name, n)    n values per point; as a function's argument GROUP_OF(type, name, n)
//   EACH_LANE { ... }            the points of the group: AT(name, m) is the point's value m, i its index in the group
//   LANES_OF(type, name, n)      argument of a function for one point, which is given `name LANE`
#pragma once
#include "machine.h"
#if THREAD_PER_POINT
#define BODY INLINE
#define FOR_EACH_GROUP(box) FOR_EACH_POINT(box)
#define LANE_ARRAY(type, name, n) type name[n]
#define GROUP_OF(type, name, n) type (&name)[n]
#define LANES_OF(type, name, n) type (&name)[n]
#define LANE
#define EACH_LANE
#define AT(name, m) name[m]
#else
#if defined(__AVX512F__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")  // long arithmetic bodies: twice the rate of 256 bits, measured
#endif
#define BODY static inline __attribute__((always_inline))  // what is not inlined does not vectorise
#define FOR_EACH_GROUP(box)                       \
    for (int k = box.k0; k < box.k1; ++k)         \
        for (int j = box.j0; j < box.j1; ++j)
#define LANE_ARRAY(type, name, n) alignas(64) type name[n][LANES]
#define GROUP_OF(type, name, n) type (&name)[n][LANES]
#define LANES_OF(type, name, n) type (&name)[n][LANES], const int i
#define LANE , i
#define EACH_LANE PRAGMA(omp simd) for (int i = 0; i < LANES; ++i)
#define AT(name, m) name[m][i]
#endif
