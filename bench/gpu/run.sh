#!/bin/bash
# Tests and measures this machine's GPU with the programs of this folder.
#
#   ./run.sh tests      every program prints the expected output, on CUDA and on OpenCL (about 30 s)
#   ./run.sh sanitizer  the programs for CUDA under each tool of compute-sanitizer (about 50 s)
#   ./run.sh bench      kernels against CUDA C++, which nvcc compiles here (about 60 s)
#   ./run.sh plain      a dozen kernels as they are written first, against CUDA C++ (about 60 s)
#   ./run.sh align      alignment of long sequences against CUDA C++ (about 30 s)
#   ./run.sh images     filters of pictures against CUDA C++ (about 30 s)
#   ./run.sh rays       traversal of diffuse rays against CUDA C++ and against the host (about 60 s)
#   ./run.sh filters    all filters of pictures against the host, on CUDA and on OpenCL, up to 4096 x 4096 pixels
#
# A program may run for LIMIT seconds, all of them together for TOTAL seconds. Results are written
# to results/; the exit status is 0 if all programs succeed.
cd "$(dirname "$0")" || exit 99
mode=${1:-tests}
jobs=${JOBS:-8}
export NYALA_CACHE=${NYALA_CACHE:-$PWD/results/cache}
mkdir -p results
for tools in /usr/local/cuda/bin /opt/cuda/bin; do [ -d "$tools" ] && PATH=$PATH:$tools; done

# check KIND PROGRAM: runs a program, and writes its result to results/KIND.NAME.
check() {
    kind=$1 program=$2 name=${2##*/} result=results/$1.${2##*/}
    out=$result.out err=$result.err
    : > "$err"
    case $kind in
        tests | errors) timeout -k 2 "$LIMIT" "$program" > "$out" 2> "$err"; status=$? ;;
        *)
            timeout -k 2 "$LIMIT" compute-sanitizer --tool "$kind" --error-exitcode 9 --log-file "$err" "$program" > "$out" 2>&1
            status=$?
            ;;
    esac
    verdict=ok
    expected=expected/${name%.*}
    case $kind in
        errors)
            [ $status = 1 ] || verdict="FAILED (status $status)"
            while read -r part; do grep -qF -- "$part" "$err" || verdict="FAILED (no '$part')"; done < "$expected.error"
            ;;
        *)
            [ "$(cat "$out")" = "$(cat "$expected")" ] || verdict="FAILED (output)"
            [ $status = 0 ] || verdict="FAILED (status $status)"
            ;;
    esac
    [ $status = 124 ] && verdict="FAILED (longer than $LIMIT s)"
    # A missing feature of the machine is not a failure.
    grep -qE 'there is no driver|there is no support for|there are no devices|has no memory that the host can use' "$err" && verdict=skipped
    echo "$verdict" > "$result"
    [ "$verdict" = ok ] || [ "$verdict" = skipped ] || printf '%-34s %s\n' "$kind $name" "$verdict: $(grep -v '^$' "$err" | head -4 | cut -c1-300 | tr '\n' '|')"
}
export -f check

# all TOTAL LIMIT: checks every `KIND PROGRAM` of standard input, and prints the results.
all() {
    export LIMIT=$2
    list=$(cat)
    rm -f results/tests.* results/errors.* results/memcheck.* results/racecheck.* results/initcheck.* results/synccheck.*
    echo "$list" | timeout -k 3 "$1" xargs -P "$jobs" -L 1 bash -c 'check "$0" "$1"'
    bad=0 good=0 skipped=0
    while read -r kind program; do
        result=results/$kind.${program##*/}
        [ -f "$result" ] || { printf '%-34s %s\n' "$kind ${program##*/}" "NOT RUN"; bad=$((bad + 1)); continue; }
        case $(cat "$result") in
            ok) good=$((good + 1)) ;;
            skipped) skipped=$((skipped + 1)) why=$(cat "$result.err") ;;
            *) bad=$((bad + 1)) ;;
        esac
    done <<< "$list"
    [ "$skipped" = 0 ] || echo "skipped for reasons such as: $why" | cut -c1-300
    echo "$mode: $good ok, $bad failed, $skipped skipped, $SECONDS s"
    [ "$bad" = 0 ] && [ "$good" -gt 0 ]
}

# both OURS THEIRS FLAG..: runs our program and the one in CUDA C++ alternately. Their output is in results/ours and
# results/theirs.
both() {
    ours=bench/$1 source=bench/$2.cu theirs=results/$2.peer
    shift 2
    rm -f results/ours results/theirs
    touch results/theirs
    nvcc=$(command -v nvcc) || { echo "there is no nvcc: ours only"; }
    if [ "$nvcc" ]; then
        timeout -k 2 45 nvcc -O3 -arch=native "$@" -o "$theirs" "$source" -ldl 2> results/nvcc.err \
            || { echo "nvcc fails: $(head -3 results/nvcc.err)"; nvcc=; }
    fi
    for round in 1 2; do
        timeout -k 2 "${LIMIT:-20}" "$ours" >> results/ours 2> results/ours.err || { echo "$ours: status $?: $(head -3 results/ours.err)"; }
        [ "$nvcc" ] && { timeout -k 2 "${LIMIT:-20}" "$theirs" >> results/theirs 2> results/theirs.err || echo "$theirs: status $?: $(head -3 results/theirs.err)"; }
    done
}

# Compares results/ours with results/theirs: lines with a name, microseconds, bytes and a value.
compare() {
    # The better one of two runs counts. The copy rate is that of the driver's copies.
    awk '
        function better(all, name, time) { return !(name in all) || time < all[name] }
        FILENAME == "results/ours" { if (!($1 in ours)) order[++n] = $1; if (better(ours, $1, $2)) ours[$1] = $2; value[$1] = $4; bytes[$1] = $3; next }
        { if (better(theirs, $1, $2)) theirs[$1] = $2; expected[$1] = $4; if ($1 == "copy") moved = $3 }
        END {
            printf "%-12s %12s %12s %8s %8s %8s  %s\n", "kernel", "ours us", "CUDA us", "ratio", "GB/s", "of copy", "result"
            if ("copy" in theirs) rate = moved / theirs["copy"]
            for (i = 1; i <= n; ++i) {
                name = order[i]
                gb = bytes[name] ? sprintf("%.0f", bytes[name] / ours[name] / 1000) : "-"
                share = bytes[name] && rate ? sprintf("%.1f%%", 100 * bytes[name] / ours[name] / rate) : "-"
                if (name in theirs) {
                    difference = value[name] - expected[name]
                    scale = expected[name] < 0 ? -expected[name] : expected[name]
                    same = difference * difference <= 1e-8 * scale * scale ? "same" : "DIFFERS: " value[name] " " expected[name]
                    printf "%-12s %12.2f %12.2f %8.3f %8s %8s  %s\n", name, ours[name], theirs[name], theirs[name] / ours[name], gb, share, same
                } else printf "%-12s %12.2f %12s %8s %8s %8s  %s\n", name, ours[name], "-", "-", gb, share, value[name]
            }
            if (rate) printf "%-12s %12s %12.2f %8s %8.0f\n", "copy", "-", theirs["copy"], "-", rate / 1000
        }' results/ours results/theirs | tee results/table
    echo "bench: $SECONDS s"
    grep -q . results/ours && ! grep -q DIFFERS results/table
}

case $mode in
    tests)
        {
            for program in tests/*; do echo "tests $program"; done
            for program in errors/*; do echo "errors $program"; done
        } | all "${TOTAL:-55}" "${LIMIT:-25}"
        ;;
    sanitizer)
        command -v compute-sanitizer > /dev/null || { echo "there is no compute-sanitizer"; exit 98; }
        for tool in memcheck racecheck initcheck synccheck; do
            for program in tests/*.cuda; do echo "$tool $program"; done
        done | all "${TOTAL:-57}" "${LIMIT:-30}"
        ;;
    bench)
        both kernels peers
        compare
        ;;
    plain)
        both plain plain
        compare
        ;;
    align)
        both align align
        compare
        ;;
    images)
        both images images -use_fast_math
        # Our schedules and theirs: all results of a filter are the same.
        awk '
            function better(all, name, time) { return !(name in all) || time < all[name] }
            {
                who = FILENAME == "results/ours" ? "ours" : "CUDA"
                name = who " " $1
                if (!(name in times)) order[++n] = name
                if (better(times, name, $2)) times[name] = $2
                split($1, parts, "/")
                filter[name] = parts[1]
                pixels[name] = $3 / 8
                value[name] = $4
                if (parts[1] == "copy" && better(times, "copy", $2)) times["copy"] = $2
                if (better(times, who " best " parts[1], $2)) times[who " best " parts[1]] = $2
                if (!(parts[1] in expected)) expected[parts[1]] = $4
            }
            END {
                printf "%-28s %10s %10s %8s  %s\n", "filter", "us", "Gpixel/s", "of copy", "result"
                for (i = 1; i <= n; ++i) {
                    name = order[i]
                    share = "copy" in times ? sprintf("%.1f%%", 100 * times["copy"] / times[name]) : "-"
                    difference = value[name] - expected[filter[name]]
                    same = difference * difference <= 1e-8 * expected[filter[name]] ^ 2 ? "same" : "DIFFERS: " value[name] " " expected[filter[name]]
                    printf "%-28s %10.2f %10.1f %8s  %s\n", name, times[name], pixels[name] / times[name] / 1000, share, same
                }
                for (name in expected)
                    if (("ours best " name) in times && ("CUDA best " name) in times)
                        printf "%-28s %10.3f\n", name ": best ratio", times["CUDA best " name] / times["ours best " name]
            }' results/ours results/theirs | tee results/images
        echo "images: $SECONDS s"
        grep -q . results/ours && ! grep -q DIFFERS results/images
        ;;
    rays)
        # One program measures both sides with the same rays.
        timeout -k 2 60 nvcc -O3 -arch=native -o results/rays bench/rays.cu bench/librays.so -Xlinker -rpath,"$PWD/bench" -ldl && timeout -k 2 "${LIMIT:-115}" results/rays
        ;;
    filters)
        # Each program reports each filter; arguments go to the programs.
        shift
        bad=0
        for program in filters/*; do
            out=results/${program##*/} start=$SECONDS
            timeout -k 2 "${LIMIT:-200}" "$program" "$@" > "$out" 2> "$out.err"
            status=$? good=$(grep -c ': as expected$' "$out")
            if grep -qE 'there is no driver|there are no devices' "$out.err"; then
                echo "$program: skipped: $(head -1 "$out.err")"
                continue
            fi
            grep -v ': as expected$' "$out"
            [ $status = 0 ] && [ "$good" = "$(cat expected/filters)" ] || { bad=$((bad + 1)); head -3 "$out.err"; }
            echo "$program: $good of $(cat expected/filters) filters as expected, status $status, $((SECONDS - start)) s"
        done
        [ $bad = 0 ]
        ;;
    *)
        sed -n '2,13p' "$0"
        exit 98
        ;;
esac
