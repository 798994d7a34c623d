// WFA2: global alignments by wavefronts of equal penalties, which are few for similar sequences. Matches score, as of WFA2 2.3.
#include "peer.h"
extern "C" {
#include <wavefront/wavefront_align.h>
}

static const char *const VARIANTS[] = {"all wavefronts", "piggyback", "both directions"};
static const wavefront_memory_t MEMORY[] = {wavefront_memory_high, wavefront_memory_med, wavefront_memory_ultralow};

const char *variant(int index, const Setting *c, const Pairs *pairs) {
    // Only wavefronts from both directions have linear memory; scores keep few wavefronts anyway.
    bool is_long = c->has_path && pairs->query_starts[1] > 20000;
    if (c->mode != 0) return nullptr;
    if (is_long || !c->has_path) return index == 0 ? VARIANTS[is_long ? 2 : 0] : nullptr;
    return index < 3 ? VARIANTS[index] : nullptr;
}

int run(int index, const Setting *c, const Pairs *pairs, long long *sum) {
    bool is_long = c->has_path && pairs->query_starts[1] > 20000;
    wavefront_aligner_attr_t options = wavefront_aligner_attr_default;
    options.heuristic.strategy = wf_heuristic_none;
    options.alignment_scope = c->has_path ? compute_alignment : compute_score;
    options.memory_mode = MEMORY[is_long ? 2 : index];
    if (c->first == 0) {
        options.distance_metric = edit;
    } else if (c->first == c->next) {
        options.distance_metric = gap_linear;
        options.linear_penalties.match = -SAME;
        options.linear_penalties.mismatch = -DIFFERENT;
        options.linear_penalties.indel = c->next;
    } else {
        options.distance_metric = gap_affine;
        options.affine_penalties.match = -SAME;
        options.affine_penalties.mismatch = -DIFFERENT;
        options.affine_penalties.gap_opening = c->first - c->next;
        options.affine_penalties.gap_extension = c->next;
    }
    wavefront_aligner_t *aligner = wavefront_aligner_new(&options);
    *sum = 0;
    for (int i = 0; i < pairs->n; ++i) {
        int n = pairs->query_starts[i + 1] - pairs->query_starts[i], m = pairs->subject_starts[i + 1] - pairs->subject_starts[i];
        wavefront_align(aligner, pairs->queries + pairs->query_starts[i], n, pairs->subjects + pairs->subject_starts[i], m);
        long long score = aligner->cigar->score;
        *sum += c->first == 0 && score > 0 ? -score : score;
    }
    wavefront_aligner_delete(aligner);
    return 0;
}
