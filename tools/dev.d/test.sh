# Builds what the tests need beyond the release preset, runs all of it, and counts. Runs at the place of the build.
# usage: test.sh [--quick]   (--quick: the release preset's tests alone)
set -uo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
lib=$repo/tools/dev.d
cd "$repo" || exit 1
jobs=${SECTILE_JOBS:-$(nproc)}

say() { printf 'dev: %s\n' "$*" >&2; }

presets=(release asan)
case ${1:-} in
    '') if command -v clang++ >/dev/null; then presets+=(fuzz); else say "no clang++ here: the fuzzers are left out"; fi ;;
    --quick) presets=(release) ;;
    *) say "error: test: unknown argument '$1'"; exit 2 ;;
esac

# Counts one preset's tests in ctest's log: a doctest executable counts by its cases, any other test as one.
# A test that failed without a failed case (a crash, a time-out, a leak) counts as one failed more.
# Prints "PASSED FAILED SKIPPED".
count() {
    awk '
        function close_test() {
            if (name == "") return
            if (cases) {
                passed += case_passed; failed += case_failed; skipped += case_skipped
                if (!ok && !case_failed) failed++
            } else if (ok) passed++
            else if (left_out) skipped++
            else failed++
            name = ""
        }
        /^[0-9]+\/[0-9]+ (Testing|MemCheck): / { close_test(); name = $3; cases = ok = left_out = case_passed = case_failed = case_skipped = 0 }
        /^\[doctest\] test cases:/ {
            cases = 1; gsub(/[|:]/, " ")
            for (i = 2; i <= NF; i++) {
                if ($i == "passed") case_passed += $(i - 1)
                if ($i == "failed") case_failed += $(i - 1)
                if ($i == "skipped") case_skipped += $(i - 1)
            }
        }
        /^Test Passed\./ { ok = 1 }
        /^Test Skipped/ { left_out = 1 }
        END { close_test(); print passed + 0, failed + 0, skipped + 0 }' "$1"
}

passed=0 failed=0 skipped=0
for preset in "${presets[@]}"; do
    if ! bash "$lib/build-preset.sh" "$preset" >&2; then
        say "the $preset build failed"
        failed=$((failed + 1))
        continue
    fi
    begin=$SECONDS
    say "testing $preset"
    rm -f "build/$preset/Testing/Temporary/LastTest.log"
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$jobs" >&2
    result=$?
    read -r p f s < <(count "build/$preset/Testing/Temporary/LastTest.log")
    # Whatever the log says, a run that ctest calls failed has failed.
    ((result == 0 || f > 0)) || f=1
    say "$preset: $p passed, $f failed, $s skipped in $((SECONDS - begin)) s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
((skipped == 0)) || say "$skipped skipped"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
