// Points of two fields side by side (pair.h), FIELDS = F reals of each at a point: 3 in a solid, 1 in a fluid. `half` is the first (0) or the
// second (1); the box counts points, or the entries of a list. A step of the first is  v(n) = v(n - 1) + dt F(n) / M, u(n + 1) = u(n) + dt v(n).
//   save_points     store[step % slots][i] = v(n - 1) of one field at absorbing points, before a step forward
//   pair_back       a step back of the first, and one of the second, the transposed field, which the first's forces meet at their step:
//                   v(n - 1) = v(n) - dt F / M, u(n - 1) = u(n) - dt v(n - 1);  q += dt G / M, lam += dt q;  sums += lam . dt F / M of before;
//                   light, where there is one, sums (dt F / M)^2. Step 0 has no force of the first: v(n - 1) is what the run ended with.
//   restore_points  F of the first at absorbing points such that v(n - 1) is what was saved, n = steps - step; sums of
//                   lam_a (v_b(n) + v_b(n - 1)) / 2, symmetric: xx, yy, zz, yz, xz, xy
//   save_path       path[step % slots][i] = u(n) of one field at all points, before a step forward
//   take_points     the first at step n = steps - step as it was saved, and v(n) = (u(n + 1) - u(n)) / dt; light as above
//   transposed_step a step of the second; sums += dt q . v(n), over all steps the same as lam . (v(n) - v(n - 1))
//   pair_forward    a step of both; pressure = -dv/dt of the second
//   pair_stacey     stacey.h of one half
//   scatter_points  F of the second -= change F / M of the first;   scatter_faces  -= change (v + dt/2 F / M) of the first at absorbing points
// Steps of points: a GPU's block takes its points through shared memory, so that threads fetch and write reals side by side.
#include "machine.h"

template <class Step> INLINE void at_points(const Box& box, real* pair, real* pair_rate, real* pair_force, const Step& step_of)
{
#if THREAD_PER_POINT
    constexpr int REALS = 2 * FIELDS;
    __shared__ real tile[3][BLOCK * REALS];
    real* const arrays[3] = {pair, pair_rate, pair_force};
    const int begin = box.i0 + blockIdx.x * BLOCK, count = box.i1 - begin < BLOCK ? box.i1 - begin : BLOCK, thread = threadIdx.x;
    const ptrdiff_t at = (ptrdiff_t)REALS * begin;
    const auto each_real = [&](auto copy) {
        _Pragma("unroll") for (int a = 0; a < 3; ++a)
            if (count == BLOCK)
                _Pragma("unroll") for (int r = 0; r < REALS; ++r) copy(tile[a][r * BLOCK + thread], arrays[a][at + r * BLOCK + thread]);
            else
                for (int m = thread; m < REALS * count; m += BLOCK) copy(tile[a][m], arrays[a][at + m]);
    };
    each_real([](real& here, const real& there) { here = there; });
    __syncthreads();
    if (thread < count) step_of(tile[0] + REALS * thread, tile[1] + REALS * thread, tile[2] + REALS * thread, begin + thread);
    __syncthreads();
    each_real([](const real& here, real& there) { there = here; });
#else
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 2 * FIELDS * (ptrdiff_t)i;
        step_of(pair + g, pair_rate + g, pair_force + g, i);
    }
#endif
}

KERNEL save_points(
    real* RESTRICT store, const real* RESTRICT velocity, const int* RESTRICT points, const int* RESTRICT step, const Box box,
    const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        real* const to = store + ((ptrdiff_t)(step[0] % p.slots) * p.count + i) * FIELDS;
        for (int c = 0; c < FIELDS; ++c) to[c] = velocity[(ptrdiff_t)FIELDS * points[i] + c];
    }
}

KERNEL pair_back(
    real* RESTRICT pair, real* RESTRICT pair_rate, real* RESTRICT pair_force, real* RESTRICT sums, real* RESTRICT light,
    const real* RESTRICT inverse_mass, const int* RESTRICT step, const Box box, const PairParams p)
{
    const bool moves = step[0] > 0, now = step[0] % p.every == 0;
    at_points(box, pair, pair_rate, pair_force, [&](real* u, real* v, real* force, int i) {
        const real scale = p.dt * inverse_mass[i];
        real product = 0, energy = 0;
        for (int c = 0; c < FIELDS; ++c)
        {
            const real gained = moves ? scale * force[c] : real(0), before = v[c] - gained;
            const real lam = u[FIELDS + c], rate = v[FIELDS + c] + scale * force[FIELDS + c];
            product += lam * gained;
            energy += gained * gained;
            v[c] = before;
            u[c] -= p.dt * before;
            v[FIELDS + c] = rate;
            u[FIELDS + c] = lam + p.dt * rate;
            force[c] = force[FIELDS + c] = 0;
        }
        if (now) sums[i] += product;
        if (light) light[i] += energy;
    });
}

KERNEL save_path(real* RESTRICT path, const real* RESTRICT field, const int* RESTRICT step, const Box box, const PairParams p)
{
    const ptrdiff_t slot = (ptrdiff_t)(step[0] % p.slots) * p.count;
    FOR_EACH_POINT(box)
    {
        for (int c = 0; c < FIELDS; ++c) path[(slot + i) * FIELDS + c] = field[(ptrdiff_t)FIELDS * i + c];
    }
}

KERNEL take_points(
    real* RESTRICT pair, real* RESTRICT pair_rate, real* RESTRICT light, const real* RESTRICT path, const int* RESTRICT step, const Box box,
    const PairParams p)
{
    if (step[0] == 0) return;
    const ptrdiff_t slot = (ptrdiff_t)((p.steps - step[0]) % p.slots) * p.count;
    const real per_step = 1 / p.dt, follows = step[0] > 1, begins = step[0] == p.steps;
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 2 * FIELDS * (ptrdiff_t)i;
        real energy = 0;
        for (int c = 0; c < FIELDS; ++c)
        {
            const real now = path[(slot + i) * FIELDS + c], rate = per_step * (pair[g + c] - now), gained = follows * (pair_rate[g + c] - rate);
            energy += gained * gained + begins * rate * rate;
            pair_rate[g + c] = rate;
            pair[g + c] = now;
        }
        if (light) light[i] += energy;
    }
}

KERNEL transposed_step(
    real* RESTRICT pair, real* RESTRICT pair_rate, real* RESTRICT pair_force, real* RESTRICT sums, const real* RESTRICT inverse_mass,
    const int* RESTRICT step, const Box box, const PairParams p)
{
    const bool now = step[0] % p.every == 0;
    at_points(box, pair, pair_rate, pair_force, [&](real* u, real* v, real* force, int i) {
        const real scale = p.dt * inverse_mass[i];
        real product = 0;
        for (int c = 0; c < FIELDS; ++c)
        {
            const real before = v[FIELDS + c], rate = before + scale * force[FIELDS + c];
            product += before * v[c];
            v[FIELDS + c] = rate;
            u[FIELDS + c] += p.dt * rate;
            force[c] = force[FIELDS + c] = 0;
        }
        if (now) sums[i] += p.dt * product;
    });
}

KERNEL restore_points(
    real* RESTRICT pair_force, real* RESTRICT sums, const real* RESTRICT pair, const real* RESTRICT pair_rate,
    const real* RESTRICT inverse_mass, const real* RESTRICT store, const int* RESTRICT points, const int* RESTRICT step, const Box box,
    const PairParams p)
{
    const real now = step[0] % p.every == 0;
    if (step[0] == 0) return;
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 2 * FIELDS * (ptrdiff_t)points[i], count = p.count;
        const real* const before = store + ((p.steps - step[0]) % p.slots * count + i) * FIELDS;
        const real mass = 1 / (p.dt * inverse_mass[points[i]]);
        real lam[FIELDS], mean[FIELDS];
        for (int c = 0; c < FIELDS; ++c)
        {
            const real v = pair_rate[g + c];
            pair_force[g + c] = mass * (v - before[c]);
            lam[c] = pair[g + FIELDS + c];
            mean[c] = now * real(0.5) * (v + before[c]);
        }
        for (int c = 0; c < FIELDS; ++c) sums[c * count + i] += lam[c] * mean[c];
#if FIELDS == 3
        for (int c = 0; c < 3; ++c)
        {
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            sums[(3 + c) * count + i] += lam[a] * mean[b] + lam[b] * mean[a];
        }
#endif
    }
}

KERNEL pair_forward(
    real* RESTRICT pair, real* RESTRICT pair_rate, real* RESTRICT pair_force, real* RESTRICT pressure, const real* RESTRICT inverse_mass,
    const Box box, const PairParams p)
{
    at_points(box, pair, pair_rate, pair_force, [&](real* u, real* v, real* force, int i) {
        for (int c = 0; c < 2 * FIELDS; ++c)
        {
            const real acceleration = inverse_mass[i] * force[c], rate = v[c] + p.dt * acceleration;
            if (pressure && c == FIELDS) pressure[i] = -acceleration;
            v[c] = rate;
            u[c] += p.dt * rate;
            force[c] = 0;
        }
    });
}

KERNEL pair_stacey(
    real* RESTRICT pair_force, const real* RESTRICT pair_rate, const int* RESTRICT points, const real* RESTRICT terms, const Box box,
    const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = (2 * (ptrdiff_t)points[i] + p.half) * FIELDS, count = p.count;
#if FIELDS == 1
        pair_force[g] = terms[i] * (pair_force[g] - terms[count + i] * pair_rate[g]);
#else
        real t[12], f[3];
        for (int m = 0; m < 12; ++m) t[m] = terms[m * count + i];
        const real x = pair_rate[g], y = pair_rate[g + 1], z = pair_rate[g + 2];
        f[0] = pair_force[g] - (t[6] * x + t[11] * y + t[10] * z);
        f[1] = pair_force[g + 1] - (t[11] * x + t[7] * y + t[9] * z);
        f[2] = pair_force[g + 2] - (t[10] * x + t[9] * y + t[8] * z);
        pair_force[g] = t[0] * f[0] + t[5] * f[1] + t[4] * f[2];
        pair_force[g + 1] = t[5] * f[0] + t[1] * f[1] + t[3] * f[2];
        pair_force[g + 2] = t[4] * f[0] + t[3] * f[1] + t[2] * f[2];
#endif
    }
}

KERNEL scatter_points(
    real* RESTRICT pair_force, const real* RESTRICT inverse_mass, const real* RESTRICT change, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 2 * FIELDS * (ptrdiff_t)i;
        for (int c = 0; c < FIELDS; ++c) pair_force[g + FIELDS + c] -= change[i] * inverse_mass[i] * pair_force[g + c];
    }
}

KERNEL scatter_faces(
    real* RESTRICT pair_force, const real* RESTRICT pair_rate, const real* RESTRICT inverse_mass, const int* RESTRICT points,
    const real* RESTRICT change, const Box box, const PairParams p)
{
    FOR_EACH_POINT(box)
    {
        const ptrdiff_t g = 2 * FIELDS * (ptrdiff_t)points[i], count = p.count;
        const real scale = real(0.5) * p.dt * inverse_mass[points[i]];
        real mean[FIELDS];
        for (int c = 0; c < FIELDS; ++c) mean[c] = pair_rate[g + c] + scale * pair_force[g + c];
        for (int c = 0; c < FIELDS; ++c)
        {
            real sum = change[c * count + i] * mean[c];
#if FIELDS == 3
            const int a = (c + 1) % 3, b = (c + 2) % 3;
            sum += change[(3 + b) * count + i] * mean[a] + change[(3 + a) * count + i] * mean[b];
#endif
            pair_force[g + FIELDS + c] -= sum;
        }
    }
}
