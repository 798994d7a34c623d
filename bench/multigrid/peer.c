// A V-cycle for the Poisson equation in the plane by hand: red-black sweeps in place, all steps of a way in one pass over memory.
//
// A step of one colour reads points of the other colour only, so it may be computed in place, with vectors: `u` is loaded, changed where the
// colour fits, and stored. Steps follow each other at a distance of one row.

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int n, stride; float h; float *u, *f, *r; } Level;

enum { MARGIN = 16, MAX_LEVELS = 16 };

static float *field(int n, int stride) { return (float *)calloc((size_t)stride * (n + 2) + MARGIN, sizeof(float)) + MARGIN - 1; }

static void relax_row(const Level *l, int y, int colour) {
    float *restrict u = l->u + (size_t)y * l->stride;
    const float *above = u - l->stride, *below = u + l->stride, *f = l->f + (size_t)y * l->stride;
    const float h2 = l->h * l->h;
#pragma clang loop vectorize(assume_safety) interleave(enable)
#pragma GCC ivdep
    for (int x = 1; x < l->n; ++x) {
        float v = 0.25f * (h2 * f[x] + (u[x - 1] + u[x + 1]) + (above[x] + below[x]));
        u[x] = ((x + y) & 1) == colour ? v : u[x];
    }
}

static void residual_row(const Level *l, int y, float *restrict r) {
    const float *u = l->u + (size_t)y * l->stride, *above = u - l->stride, *below = u + l->stride, *f = l->f + (size_t)y * l->stride;
    const float scale = 1.0f / (l->h * l->h);
    for (int x = 1; x < l->n; ++x) r[x] = f[x] - scale * (4.0f * u[x] - (u[x - 1] + u[x + 1]) - (above[x] + below[x]));
}

static void restrict_row(const float *a, const float *b, const float *c, float *restrict out, int n) {
    for (int x = 1; x < n; ++x) {
        float sides = a[2 * x - 1] + 2.0f * a[2 * x] + a[2 * x + 1] + c[2 * x - 1] + 2.0f * c[2 * x] + c[2 * x + 1];
        out[x] = (sides + 2.0f * (b[2 * x - 1] + 2.0f * b[2 * x] + b[2 * x + 1])) * 0.0625f;
    }
}

// `n_steps` half sweeps, the residual, and the restriction, while the rows are in the cache.
static void down(const Level *fine, const Level *coarse, int n_steps) {
    int n = fine->n;
    float *ring[4];
    for (int i = 0; i < 4; ++i) ring[i] = fine->r + (size_t)i * fine->stride;
    for (int t = 1; t < n + n_steps + 1; ++t) {
        for (int k = 0; k < n_steps; ++k) {
            int y = t - k;
            if (y >= 1 && y < n) relax_row(fine, y, k & 1);
        }
        // A row is final when the next one is past its last step but one.
        int y = t - n_steps;
        if (y >= 1 && y < n) {
            residual_row(fine, y, ring[y & 3]);
            if ((y & 1) && y >= 3) restrict_row(ring[(y - 2) & 3], ring[(y - 1) & 3], ring[y & 3], coarse->f + (size_t)(y / 2) * coarse->stride, coarse->n);
        }
    }
}

static void correct_row(const Level *fine, const Level *coarse, int y) {
    const float *a = coarse->u + (size_t)(y / 2) * coarse->stride, *b = coarse->u + (size_t)((y + 1) / 2) * coarse->stride;
    float *restrict u = fine->u + (size_t)y * fine->stride;
    for (int x = 0; x < coarse->n; ++x) {
        float left = 0.5f * (a[x] + b[x]), right = 0.5f * (a[x + 1] + b[x + 1]);
        u[2 * x] += left;
        u[2 * x + 1] += 0.5f * (left + right);
    }
}

static void up(const Level *fine, const Level *coarse, int n_steps) {
    int n = fine->n;
    for (int t = 1; t < n + n_steps; ++t) {
        if (t < n) correct_row(fine, coarse, t);
        for (int k = 0; k < n_steps; ++k) {
            int y = t - 1 - k;
            if (y >= 1 && y < n) relax_row(fine, y, k & 1);
        }
    }
}

static void cycle(Level *levels, int n_levels, int k) {
    Level *l = &levels[k];
    if (k == n_levels - 1) {
        memset(l->u, 0, sizeof(float) * (size_t)l->stride * (l->n + 1));
        for (int i = 0; i < 8; ++i)
            for (int colour = 0; colour < 2; ++colour)
                for (int y = 1; y < l->n; ++y) relax_row(l, y, colour);
        return;
    }
    if (k > 0) memset(l->u, 0, sizeof(float) * (size_t)l->stride * (l->n + 1));
    down(l, l + 1, 4);
    cycle(levels, n_levels, k + 1);
    up(l, l + 1, 4);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Executes `n_cycles` cycles from 0. Returns the time of the fastest one, in seconds of the processor.
double peer_cycles(int n, int n_levels, int n_cycles, const float *rhs, float *solution) {
    Level levels[MAX_LEVELS];
    for (int k = 0; k < n_levels; ++k) {
        int m = n >> k, stride = (m + 3 + 15) / 16 * 16 + 16;
        levels[k] = (Level){m, stride, (float)(1 << k) / n, field(m, stride), field(m, stride), field(8, stride)};
    }
    for (int y = 0; y <= n; ++y) memcpy(levels[0].f + (size_t)y * levels[0].stride, rhs + (size_t)y * (n + 1), sizeof(float) * (n + 1));
    double best = 1e9;
    for (int i = 0; i < n_cycles; ++i) {
        double start = seconds();
        cycle(levels, n_levels, 0);
        double time = seconds() - start;
        if (time < best) best = time;
    }
    for (int y = 0; y <= n; ++y) memcpy(solution + (size_t)y * (n + 1), levels[0].u + (size_t)y * levels[0].stride, sizeof(float) * (n + 1));
    for (int k = 0; k < n_levels; ++k) {
        free(levels[k].u - MARGIN + 1);
        free(levels[k].f - MARGIN + 1);
        free(levels[k].r - MARGIN + 1);
    }
    return best;
}
