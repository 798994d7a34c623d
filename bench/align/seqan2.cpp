// SeqAn 2: one pair per lane for batches; a wavefront of blocks with 16-bit offsets for long pairs; paths with whole matrices.
#include "peer.h"
#include <seqan/align.h>
#include <seqan/align_parallel.h>
#include <seqan/sequence.h>

using namespace seqan;
typedef String<Dna> Letters;
typedef AlignConfig<true, true, true, true> AllFree;

static const char *const BLOCKS[] = {"wavefront of blocks of 128", "wavefront of blocks of 256", "wavefront of blocks of 512", "wavefront of blocks of 1024"};

const char *variant(int index, const Setting *c, const Pairs *pairs) {
    bool is_long = pairs->query_starts[1] > 20000;
    if (c->first == 0) return nullptr;
    if (c->has_path) return pairs->n == 1 && !is_long && index == 0 ? "whole matrix" : nullptr;
    if (pairs->n > 1) return index == 0 ? "one pair per lane, 16 bits" : nullptr;
    int first = is_long ? 2 : 0;
    return first + index < 4 ? BLOCKS[first + index] : nullptr;
}

template <class Policy, class Value>
static long long scores(const Setting &c, const Policy &policy, const StringSet<Letters> &a, const StringSet<Letters> &b, const Score<Value, Simple> &scoring) {
    long long sum = 0;
    if (c.mode == 0) for (auto score : globalAlignmentScore(policy, a, b, scoring)) sum += score;
    if (c.mode == 1) for (auto score : globalAlignmentScore(policy, a, b, scoring, AllFree())) sum += score;
    if (c.mode == 2) for (auto score : localAlignmentScore(policy, a, b, scoring)) sum += score;
    return sum;
}

template <class Kind>
static long long path(const Setting &c, const Letters &a, const Letters &b, Kind kind) {
    Score<int, Simple> scoring(SAME, DIFFERENT, -c.next, -c.first);
    Align<Letters, ArrayGaps> result;
    resize(rows(result), 2);
    assignSource(row(result, 0), a);
    assignSource(row(result, 1), b);
    if (c.mode == 0) return globalAlignment(result, scoring, kind);
    if (c.mode == 1) return globalAlignment(result, scoring, AllFree(), kind);
    return localAlignment(result, scoring, kind);
}

int run(int index, const Setting *c, const Pairs *pairs, long long *sum) {
    static const char *known;
    static StringSet<Letters> a, b;
    if (known != pairs->queries) {
        clear(a);
        clear(b);
        for (int i = 0; i < pairs->n; ++i) {
            appendValue(a, Letters(pairs->query(i)));
            appendValue(b, Letters(pairs->subject(i)));
        }
        known = pairs->queries;
    }
    if (c->has_path) {
        *sum = c->first == c->next ? path(*c, a[0], b[0], LinearGaps()) : path(*c, a[0], b[0], AffineGaps());
    } else if (pairs->n > 1) {
        ExecutionPolicy<Parallel, Vectorial> policy;
        setNumThreads(policy, 1);
        *sum = scores(*c, policy, a, b, Score<short, Simple>(SAME, DIFFERENT, -c->next, -c->first));
    } else {
        ExecutionPolicy<WavefrontAlignment<BlockOffsetOptimization>, Vectorial> policy;
        setNumThreads(policy, 1);
        setParallelAlignments(policy, 1);
        setBlockSize(policy, 128 << (index + (pairs->query_starts[1] > 20000 ? 2 : 0)));
        *sum = scores(*c, policy, a, b, Score<int, Simple>(SAME, DIFFERENT, -c->next, -c->first));
    }
    return 0;
}
