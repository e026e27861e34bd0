// Runs launches on the CPU tile by tile: within a tile all of them, in order, so that what one leaves in the cache the next
// finds there. Allowed because the launches of one call are pointwise in what they write.
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num() { return 0; }
static int omp_get_num_threads() { return 1; }
#endif

struct Box { int k0, k1, j0, j1, i0, i1; };
typedef void (*Kernel)(void**, const Box*, const void*);
struct Item { Kernel kernel; void** arrays; const void* params; Box box; };

// Denormals are flushed while kernels run, as on a GPU: at the foot of a wave front they would cost a hundred times a normal number.
// The caller's mode comes back afterwards; the process is never left changed.
#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
struct Flushed {
    unsigned before = _mm_getcsr();
    Flushed() { _mm_setcsr(before | 0x8040); }
    ~Flushed() { _mm_setcsr(before); }
};
#elif defined(__aarch64__)
struct Flushed {
    unsigned long before;
    Flushed() { asm volatile("mrs %0, fpcr" : "=r"(before)); asm volatile("msr fpcr, %0" : : "r"(before | (1ul << 24))); }
    ~Flushed() { asm volatile("msr fpcr, %0" : : "r"(before)); }
};
#else
struct Flushed {};
#endif

static inline int max(int a, int b) { return a > b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }

static void run_tile(const Item* items, int count, const Box& tile)
{
    Flushed flushed;
    for (int n = 0; n < count; ++n) {
        const Box& b = items[n].box;
        const Box common = {max(b.k0, tile.k0), min(b.k1, tile.k1), max(b.j0, tile.j0), min(b.j1, tile.j1), max(b.i0, tile.i0), min(b.i1, tile.i1)};
        if (common.k0 < common.k1 && common.j0 < common.j1 && common.i0 < common.i1) items[n].kernel(items[n].arrays, &common, items[n].params);
    }
}

static inline int tiles(int from, int to, int size) { return (int)(((long long)to - from + size - 1) / size); }
static inline int upto(int from, int size, int end) { return end - from > size ? from + size : end; }

// `hull` holds all boxes; tiles of tile_k planes by tile_j rows by tile_i points, dealt to `threads` threads.
extern "C" void run_tiles(const Item* items, int count, const Box* hull, int tile_k, int tile_j, int tile_i, int threads)
{
    const Box h = *hull;
    const int nk = tiles(h.k0, h.k1, tile_k), nj = tiles(h.j0, h.j1, tile_j), ni = tiles(h.i0, h.i1, tile_i);
#pragma omp parallel for collapse(3) schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int c = 0; c < ni; ++c)
        for (int b = 0; b < nj; ++b)
            for (int a = 0; a < nk; ++a) {
                const int k = h.k0 + a * tile_k, j = h.j0 + b * tile_j, i = h.i0 + c * tile_i;
                run_tile(items, count, Box{k, upto(k, tile_k, h.k1), j, upto(j, tile_j, h.j1), i, upto(i, tile_i, h.i1)});
            }
}

// Two lists of launches in one pass through memory: the second reads what the first wrote, the first what the second will overwrite,
// both within `reach` points. In blocks of tile_j rows, the second follows the first `reach` planes behind and `reach` rows aside. Every
// thread has planes of its own. What the first list may still need comes last: the `reach` planes on each side of a border between
// threads, and the planes from `late` on, which a launch with a longer reach reads.
extern "C" void run_skewed(
    const Item* first, int firsts, const Item* second, int seconds, const Box* hull, int reach, int late, int tile_j, int threads)
{
    const int planes = hull->k1 - hull->k0, rows = hull->j1 - hull->j0;
    threads = max(1, min(threads, planes / (4 * reach)));
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const int t = omp_get_thread_num(), of = omp_get_num_threads();
        const int ka = hull->k0 + (long long)planes * t / of, kb = hull->k0 + (long long)planes * (t + 1) / of;
        const int low = t > 0 ? ka + reach : ka, high = min(t < of - 1 ? kb - reach : kb, late);
        for (int j = hull->j0; j < hull->j1; j += tile_j) {
            const bool final = j + tile_j >= hull->j1;
            const int end = final ? hull->j1 : j + tile_j, aside = j == hull->j0 ? j : j - reach, aside_end = final ? end : end - reach;
            for (int k = ka; k < kb + reach; ++k) {
                if (k < kb) run_tile(first, firsts, Box{k, k + 1, j, end, hull->i0, hull->i1});
                if (k - reach >= low && k - reach < high) run_tile(second, seconds, Box{k - reach, k - reach + 1, aside, aside_end, hull->i0, hull->i1});
            }
        }
#pragma omp barrier
        if (t < of - 1) run_tile(second, seconds, Box{kb - reach, min(kb + reach, late), hull->j0, hull->j1, hull->i0, hull->i1});
        const int ja = hull->j0 + (long long)rows * t / of, jb = hull->j0 + (long long)rows * (t + 1) / of;
        run_tile(second, seconds, Box{late, hull->k1, ja, jb, hull->i0, hull->i1});
    }
}
