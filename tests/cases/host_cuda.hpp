// Run a CUDA kernel on the host, one block at a time, one std::thread per CUDA thread. For tests only.
#pragma once
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>
using std::max;
using std::min;
struct dim3_ {
    unsigned x = 1, y = 1, z = 1;
};
inline thread_local dim3_ threadIdx, blockIdx;
inline dim3_ blockDim, gridDim;
inline std::barrier<>* cta_barrier;
#define __CUDACC__
#define __global__
#define __device__
#define __shared__ static
#define __constant__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __syncthreads() cta_barrier->arrive_and_wait()
#define ptrdiff_t cuda_ptrdiff_t  // machine.h declares it: CUDA's own compiler has none
template <class T> T atomicAdd(T* at, T value) { return std::atomic_ref<T>(*at).fetch_add(value); }
inline float __fdividef(float a, float b) { return a / b; }
template <class F> void launch(dim3_ g, dim3_ b, F&& body)
{
    gridDim = g;
    blockDim = b;
    const unsigned n = b.x * b.y * b.z;
    std::barrier<> bar(n);
    cta_barrier = &bar;
    std::vector<std::thread> team;
    for (unsigned t = 0; t < n; t++)
        team.emplace_back([&, t] {
            threadIdx = {t % b.x, (t / b.x) % b.y, t / (b.x * b.y)};
            for (unsigned z = 0; z < g.z; z++)
                for (unsigned y = 0; y < g.y; y++)
                    for (unsigned x = 0; x < g.x; x++) {
                        blockIdx = {x, y, z};
                        body();
                        bar.arrive_and_wait();
                    }
        });
    for (auto& t : team) t.join();
}
