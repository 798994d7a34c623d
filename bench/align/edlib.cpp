// Edlib: edit distances, by bits of words and in a band. `first` is 0 for this scoring: a difference and a letter of a gap cost 1.
#include "peer.h"
#include <edlib.h>

const char *variant(int index, const Setting *c, const Pairs *) { return index == 0 && c->first == 0 ? "banded bits" : nullptr; }

int run(int, const Setting *c, const Pairs *pairs, long long *sum) {
    *sum = 0;
    for (int i = 0; i < pairs->n; ++i) {
        int n = pairs->query_starts[i + 1] - pairs->query_starts[i], m = pairs->subject_starts[i + 1] - pairs->subject_starts[i];
        auto config = edlibNewAlignConfig(-1, EDLIB_MODE_NW, c->has_path ? EDLIB_TASK_PATH : EDLIB_TASK_DISTANCE, nullptr, 0);
        auto result = edlibAlign(pairs->queries + pairs->query_starts[i], n, pairs->subjects + pairs->subject_starts[i], m, config);
        *sum -= result.editDistance;
        edlibFreeAlignResult(result);
    }
    return 0;
}
