#!/bin/sh
# Runs `nyala`, `libgomp` and `rayon` of this folder alternately, on 1 to 16 threads or as many as there are processors,
# and prints the best of all rounds for each case: threads, case, our microseconds, and for each peer its microseconds and the
# ratio. The argument is the number of rounds.
set -eu
cd "$(dirname "$0")"
export LC_ALL=C
processors=$(nproc)
for n in 1 2 4 8 16; do
    [ "$n" -le "$processors" ] || continue
    round=0
    while [ "$round" -lt "${1:-5}" ]; do
        for who in nyala libgomp rayon; do
            OMP_NUM_THREADS=$n NYALA_THREADS=$n "./$who" "$n" | sed "s/^/$n $who /"
        done
        round=$((round + 1))
    done
done | awk '
    { key = $1 " " $3 }
    !(key in seen) { seen[key] = 1; order[++count] = key }
    !((key, $2) in best) || $4 + 0 < best[key, $2] { best[key, $2] = $4 + 0 }
    END {
        for (at = 1; at <= count; at++) {
            key = order[at]; ours = best[key, "nyala"]
            split(key, part, " ")
            printf "%2d %-20s %10.3f", part[1], part[2], ours
            for (k = split("libgomp rayon", peers, " "); k > 0; k--) {
                peer = peers[3 - k]
                printf "   %s %10.3f %7.2f", peer, best[key, peer], best[key, peer] / ours
            }
            printf "\n"
        }
    }'
