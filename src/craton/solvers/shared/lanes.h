// Bodies that keep a few values per point while they run through a list: one thread a point on the GPU; on the CPU LANES points side
// by side, the list outside, a vectorised loop over the points inside. The box counts groups of LANES points along y and parts of the
// list along z; along x it holds the points of a group, all of them.
//   FOR_EACH_GROUP(box)           j is the group, k the part of the list
//   LANE_ARRAY(type, name, n)     n values per point
//   EACH_LANE { ... }             i is the point in its group; AT(name, m) the point's value m
#pragma once
#include "machine.h"
#if defined(__CUDACC__)
#define BODY INLINE
#define FOR_EACH_GROUP(box) FOR_EACH_POINT(box)
#define LANE_ARRAY(type, name, n) type name[(n) > 0 ? (n) : 1]
#define EACH_LANE
#define AT(name, m) name[m]
#else
#define BODY static inline __attribute__((always_inline))  // what is not inlined does not vectorise
#define FOR_EACH_GROUP(box)                       \
    for (int k = box.k0; k < box.k1; ++k)         \
        for (int j = box.j0; j < box.j1; ++j)
#define LANE_ARRAY(type, name, n) alignas(64) type name[(n) > 0 ? (n) : 1][LANES]
#define EACH_LANE PRAGMA(omp simd) for (int i = 0; i < LANES; ++i)
#define AT(name, m) name[m][i]
#endif
