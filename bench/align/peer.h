// The interface of peers: a shared library with two functions.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

static const int SAME = 2, DIFFERENT = -1;

// Pairs of sequences; that with number i has the letters starts[i] to starts[i + 1].
struct Pairs {
    int n;
    const char *queries, *subjects;
    const int *query_starts, *subject_starts;

    std::string query(int i) const { return std::string(queries + query_starts[i], queries + query_starts[i + 1]); }
    std::string subject(int i) const { return std::string(subjects + subject_starts[i], subjects + subject_starts[i + 1]); }
};

// What is measured. Modes: 0 global, 1 semi-global, 2 local. A gap costs `first` for its first letter and `next` for each other one; `first` is 0 for edit distances.
struct Setting { int mode, first, next, has_path; };

extern "C" {
// The name of a variant for this case; null after the last one.
const char *variant(int index, const Setting *c, const Pairs *pairs);
// Computes all pairs with a variant, and stores the sum of the scores. Returns 0, or 1 if scores do not fit.
int run(int index, const Setting *c, const Pairs *pairs, long long *sum);
}
