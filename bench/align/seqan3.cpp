// SeqAn 3: one pair per lane, in 16 bits.
#include "peer.h"
#include <seqan3/alignment/configuration/all.hpp>
#include <seqan3/alignment/pairwise/align_pairwise.hpp>
#include <seqan3/alphabet/nucleotide/dna4.hpp>

using namespace seqan3;
typedef std::vector<dna4> Letters;

const char *variant(int index, const Setting *c, const Pairs *pairs) {
    return index == 0 && c->first > 0 && pairs->n > 1 && !c->has_path ? "one pair per lane, 16 bits" : nullptr;
}

static Letters converted(const std::string &text) {
    Letters letters;
    for (char letter : text) letters.push_back(dna4{}.assign_char(letter));
    return letters;
}

int run(int, const Setting *c, const Pairs *pairs, long long *sum) {
    static const char *known;
    static std::vector<std::pair<Letters, Letters>> all;
    if (known != pairs->queries) {
        all.clear();
        for (int i = 0; i < pairs->n; ++i) all.emplace_back(converted(pairs->query(i)), converted(pairs->subject(i)));
        known = pairs->queries;
    }
    auto common = align_cfg::scoring_scheme{nucleotide_scoring_scheme{match_score{SAME}, mismatch_score{DIFFERENT}}}
        | align_cfg::gap_cost_affine{align_cfg::open_score{-(c->first - c->next)}, align_cfg::extension_score{-c->next}}
        | align_cfg::output_score{} | align_cfg::score_type<int16_t>{} | align_cfg::vectorised{};
    long long total = 0;
    auto add = [&](auto const &config) { for (auto const &result : align_pairwise(all, config)) total += result.score(); };
    if (c->mode == 0) add(align_cfg::method_global{} | common);
    if (c->mode == 1)
        add(align_cfg::method_global{align_cfg::free_end_gaps_sequence1_leading{true}, align_cfg::free_end_gaps_sequence2_leading{true},
                                     align_cfg::free_end_gaps_sequence1_trailing{true}, align_cfg::free_end_gaps_sequence2_trailing{true}} | common);
    if (c->mode == 2) add(align_cfg::method_local{} | common);
    *sum = total;
    return 0;
}
