// Run a CUDA kernel on the host, one block at a time, one thread of the system per CUDA thread. For tests only.
// Few headers of the library: those of std::thread and std::barrier take four times as long to parse as all the rest.
#pragma once
#include <cmath>
#include <cstddef>
#include <pthread.h>
template <class T> constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
struct dim3_ {
    unsigned x = 1, y = 1, z = 1;
};
inline thread_local dim3_ threadIdx, blockIdx;
inline dim3_ blockDim, gridDim;
inline pthread_barrier_t cta_barrier;
#define __CUDACC__
#define __global__
#define __device__
#define __shared__ static
#define __constant__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __syncthreads() pthread_barrier_wait(&cta_barrier)
#define ptrdiff_t cuda_ptrdiff_t  // machine.h declares it: CUDA's own compiler has none
template <class T> T atomicAdd(T* at, T value)
{
    T before, sum;
    __atomic_load(at, &before, __ATOMIC_SEQ_CST);
    do sum = before + value;
    while (!__atomic_compare_exchange(at, &before, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}
inline float __fdividef(float a, float b) { return a / b; }
template <class F> void launch(dim3_ g, dim3_ b, F&& body)
{
    gridDim = g;
    blockDim = b;
    const unsigned n = b.x * b.y * b.z;
    pthread_barrier_init(&cta_barrier, nullptr, n);
    struct Thread {
        pthread_t handle;
        unsigned number;
        F* body;
    };
    auto of_one = [](void* at) -> void* {
        const Thread& thread = *(Thread*)at;
        const unsigned t = thread.number;
        threadIdx = {t % blockDim.x, (t / blockDim.x) % blockDim.y, t / (blockDim.x * blockDim.y)};
        for (unsigned z = 0; z < gridDim.z; z++)
            for (unsigned y = 0; y < gridDim.y; y++)
                for (unsigned x = 0; x < gridDim.x; x++) {
                    blockIdx = {x, y, z};
                    (*thread.body)();
                    __syncthreads();
                }
        return nullptr;
    };
    Thread* team = new Thread[n];
    for (unsigned t = 0; t < n; t++) {
        team[t] = {{}, t, &body};
        if (pthread_create(&team[t].handle, nullptr, of_one, &team[t])) __builtin_trap();  // the others would wait for ever
    }
    for (unsigned t = 0; t < n; t++) pthread_join(team[t].handle, nullptr);
    delete[] team;
    pthread_barrier_destroy(&cta_barrier);
}
