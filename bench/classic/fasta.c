// Random DNA sequences.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 60

static uint32_t seed = 42;
static char *out;
static size_t used;

static double next_random(void) {
    seed = (seed * 3877 + 29573) % 139968;
    return seed * (1.0 / 139968);
}

static void put(char c) { out[used++] = c; }
static void put_text(const char *text) { for (; *text; text++) put(*text); }

static void lines(int n, char (*next)(const void *), const void *context);

struct repeat { const char *text; int len; int *at; };
static char repeat_next(const void *context) {
    const struct repeat *repeat = context;
    char c = repeat->text[*repeat->at];
    *repeat->at = *repeat->at + 1 == repeat->len ? 0 : *repeat->at + 1;
    return c;
}

// The first letter whose sum of probabilities reaches `r`. The number of letters is
// known, so the loop is unrolled.
struct table { int n; const char *letters; const double *upto; };
static inline __attribute__((always_inline)) char choose(struct table table, double r) {
#pragma clang loop unroll(full)
    for (int i = 0; i < table.n - 1; i++) if (r <= table.upto[i]) return table.letters[i];
    return table.letters[table.n - 1];
}
static char random_next(const void *context) { return choose(*(const struct table *)context, next_random()); }

static inline __attribute__((always_inline)) void lines(int n, char (*next)(const void *), const void *context) {
    for (int left = n; left > 0; left -= LINE) {
        int len = left < LINE ? left : LINE;
        for (int i = 0; i < len; i++) put(next(context));
        put('\n');
    }
}

static const char alu[] =
    "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGGGAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGACCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAATACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCAGCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGGAGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCCAGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA";

static void add_up(int n, const double *p, double *upto) {
    double sum = 0;
    for (int i = 0; i < n; i++) upto[i] = sum += p[i];
    upto[n - 1] = 1;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    static const double iub[15] = { 0.27, 0.12, 0.12, 0.27, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02 };
    static const double homo[4] = { 0.3029549426680, 0.1979883004921, 0.1975473066391, 0.3015094502008 };
    double iub_upto[15], homo_upto[4];
    add_up(15, iub, iub_upto);
    add_up(4, homo, homo_upto);
    out = malloc((size_t)n * 11 + 1000);
    int at = 0;
    struct repeat repeat = { alu, (int)strlen(alu), &at };
    put_text(">ONE Homo sapiens alu\n");
    lines(n * 2, repeat_next, &repeat);
    struct table one = { 15, "acgtBDHKMNRSVWY", iub_upto }, two = { 4, "acgt", homo_upto };
    put_text(">TWO IUB ambiguity codes\n");
    lines(n * 3, random_next, &one);
    put_text(">THREE Homo sapiens frequency\n");
    lines(n * 5, random_next, &two);
    for (size_t done = 0; done < used;) {
        ssize_t n = write(1, out + done, used - done);
        if (n <= 0) return 1;
        done += n;
    }
    return 0;
}
