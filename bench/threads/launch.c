// As `launch.impala`, with OpenMP: loops with a static schedule, if that is best, and tasks.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 100, INSTANCES = 16 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static int *p;
static int n;

static void busy(int i, int steps) {
    int x = i;
    for (int k = 0; k < steps; k++) {
        x = (x ^ k) & 65535;
        x = x * 3;
    }
    p[i * 64] = x;
}

static void best(const char *name, void (*body)(void)) {
    double best = 1e9;
    for (int repeat = 0; repeat < 9; repeat++) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++) body();
        double took = now() - start;
        if (took < best) best = took;
    }
    printf("%s %f\n", name, best / ROUNDS);
    fflush(stdout);
}

static void empty_16(void) {
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < INSTANCES; i++) __asm__ volatile("");
}

static void empty_16_pool(void) {
#pragma omp parallel for
    for (int i = 0; i < INSTANCES; i++) __asm__ volatile("");
}

static void busy_16(void) {
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < INSTANCES; i++) busy(i, 3000);
}

static void empty_1000(void) {
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < 1000; i++) __asm__ volatile("");
}

static void busy_1000(void) {
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < 1000; i++) busy(i, 100);
}

// Better than the static schedule, and than smaller chunks.
static void uneven_1000(void) {
#pragma omp parallel for num_threads(n) schedule(dynamic, 8)
    for (int i = 0; i < 1000; i++) busy(i, i < 100 ? 1000 : 10);
}

static void nested(void) {
#pragma omp parallel for num_threads(n)
    for (int i = 0; i < INSTANCES; i++) {
#pragma omp parallel for num_threads(n)
        for (int k = 0; k < INSTANCES; k++) busy(i * INSTANCES + k, 100);
    }
}

static void after_pause(void) {
    busy(0, 200000);
    busy_16();
}

static void spawn_empty(void) {
#pragma omp parallel num_threads(n)
#pragma omp single
    for (int k = 0; k < n; k++) {
#pragma omp task
        __asm__ volatile("");
    }
}

static void spawn_busy(void) {
#pragma omp parallel num_threads(n)
#pragma omp single
    for (int k = 0; k < n; k++) {
#pragma omp task firstprivate(k)
        busy(k, 3000);
    }
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 2;
    p = calloc(1024 * 64, sizeof *p);
    best("empty-16", empty_16);
    best("empty-16-pool", empty_16_pool);
    best("busy-16", busy_16);
    best("empty-1000", empty_1000);
    best("busy-1000", busy_1000);
    best("uneven-1000", uneven_1000);
    best("nested-16x16", nested);
    best("busy-16-after-200us", after_pause);
    best("spawn-empty", spawn_empty);
    best("spawn-busy", spawn_busy);
    return 0;
}
