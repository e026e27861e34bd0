// One kernel body, two machines. A loop macro is a guarded thread on the GPU and a nest of vectorised loops on the CPU;
// there, threads are the business of the caller, which hands every thread boxes of its own.
#pragma once
#if defined(__CUDACC__)
#define THREAD_PER_POINT 1
typedef decltype((char*)0 - (char*)0) ptrdiff_t;  // NVRTC 13 has this very type by itself, older ones have none
#define KERNEL extern "C" __global__ void
#define RESTRICT __restrict__
#define INLINE __device__ __forceinline__
#define ALWAYS_INLINE INLINE
#define TABLE static __constant__ const real  // within a function: else each thread has a copy in its memory
#define MEMBER INLINE
#define FOR_EACH_POINT(box)                                        \
    const int i = box.i0 + blockIdx.x * blockDim.x + threadIdx.x;  \
    const int j = box.j0 + blockIdx.y * blockDim.y + threadIdx.y;  \
    const int k = box.k0 + blockIdx.z * blockDim.z + threadIdx.z;  \
    if (i < box.i1 && j < box.j1 && k < box.k1)
#else
#define THREAD_PER_POINT 0
#include <stddef.h>
#define KERNEL static void
#define RESTRICT __restrict
#define INLINE static inline
#define TABLE constexpr real
#define ALWAYS_INLINE __attribute__((always_inline)) INLINE  // what takes structs: else loops with them are not vectorised
#define MEMBER __attribute__((always_inline)) inline
#define PRAGMA(text) _Pragma(#text)
#define FOR_EACH_POINT(box)                                        \
    for (int k = box.k0; k < box.k1; ++k)                          \
        for (int j = box.j0; j < box.j1; ++j)                      \
            PRAGMA(omp simd)                                       \
            for (int i = box.i0; i < box.i1; ++i)
#endif
#if defined(__CUDA_ARCH__)
#define GPU_INSTRUCTIONS 1  // not where a test runs the text for a GPU on the host
#else
#define GPU_INSTRUCTIONS 0
#endif

// Forces, which many add: reals, or whole units where sums shall not depend on their order.
#ifndef EXACT
#define EXACT 0
#endif
#if EXACT
typedef long long force_t;
#define UNIT(params) (params).unit
#if GPU_INSTRUCTIONS
INLINE force_t to_force(real x, double per_unit) { return __double2ll_rn((double)x * per_unit); }
#else
INLINE force_t to_force(real x, double per_unit) { return (force_t)__builtin_rint((double)x * per_unit); }
#endif
INLINE real to_real(force_t f, double unit) { return (real)((double)f * unit); }
#else
typedef real force_t;
#define UNIT(params) 1.0
INLINE force_t to_force(real x, double) { return x; }
INLINE real to_real(force_t f, double) { return f; }
#endif
