// Parasail: vectors along one sequence, in 8, 16 or 32 bits.
#include "peer.h"
#include <parasail.h>

static const char *const MODES[] = {"nw", "sg", "sw"};
static const char *const VARIANTS[] = {"striped_16", "scan_16", "diag_16", "striped_32", "scan_32", "striped_8", "scan_8"};

const char *variant(int index, const Setting *c, const Pairs *pairs) {
    // Of long pairs, only scores in 32 bits fit, and tables of traces do not.
    bool is_long = pairs->query_starts[1] > 20000;
    if (c->first == 0) return nullptr;
    if (is_long) return !c->has_path && index < 2 ? VARIANTS[3 + index] : nullptr;
    return index < (pairs->n > 1 ? 7 : 5) ? VARIANTS[index] : nullptr;
}

int run(int index, const Setting *c, const Pairs *pairs, long long *sum) {
    static parasail_matrix_t *matrix = parasail_matrix_create("ACGT", SAME, DIFFERENT);
    std::string name = std::string(MODES[c->mode]) + (c->has_path ? "_trace_" : "_") + variant(index, c, pairs);
    auto *function = parasail_lookup_function(name.c_str());
    *sum = 0;
    for (int i = 0; i < pairs->n; ++i) {
        const char *q = pairs->queries + pairs->query_starts[i], *s = pairs->subjects + pairs->subject_starts[i];
        int n = pairs->query_starts[i + 1] - pairs->query_starts[i], m = pairs->subject_starts[i + 1] - pairs->subject_starts[i];
        auto *result = function(q, n, s, m, c->first, c->next, matrix);
        bool fits = !parasail_result_is_saturated(result);
        *sum += parasail_result_get_score(result);
        if (fits && c->has_path) parasail_cigar_free(parasail_result_get_cigar(result, q, n, s, m, matrix));
        parasail_result_free(result);
        if (!fits) return 1;
    }
    return 0;
}
