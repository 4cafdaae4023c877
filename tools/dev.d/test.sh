# Builds what the tests need beyond the release preset, runs all of it, and counts. Runs at the place of the build.
# usage: test.sh [--quick]   (--quick: the release preset's tests alone, without generated problems on SwiftShader)
set -uo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
lib=$repo/tools/dev.d
cd "$repo" || exit 1
jobs=${SECTILE_JOBS:-$(nproc)}
# The root has every driver and shim that the tests know: one that is missing there is a failure and no skip.
[[ ${SECTILE_INSIDE:-} != root ]] || export SECTILE_REQUIRE="${SECTILE_REQUIRE:+$SECTILE_REQUIRE,}noop"

# Kernels that a compiler has passed are known by their content, as the compiler cache knows objects.
export SECTILE_PASSED_KERNELS=${SECTILE_PASSED_KERNELS-${SECTILE_CACHE:-$repo/.cache}/tests}
# lavapipe keeps what it has compiled there as well.
export MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR:-${SECTILE_CACHE:-$repo/.cache}/mesa} MESA_SHADER_CACHE_MAX_SIZE=512M
mkdir -p "$MESA_SHADER_CACHE_DIR"

say() { printf 'dev: %s\n' "$*" >&2; }

presets=(release asan)
only=()
case ${1:-} in
    '') command -v clang++ >/dev/null || say "no clang++ here: the fuzzers are left out" ;;
    # SwiftShader compiles for a minute what lavapipe runs as well. `modules` asks for what both have run.
    --quick) presets=(release) only=(--exclude-regex '^(modules|check_(.*_)?swiftshader|check_both.*)$') ;;
    *) say "error: test: unknown argument '$1'"; exit 2 ;;
esac

# Counts one preset's tests: ctest's verdicts (JUnit), and in its log the cases of each doctest executable. Such
# an executable counts by its cases, any other test as one. One that failed without a failed case (a crash, a
# time-out, a leak) counts as one failed more; one that did not run has failed. Prints "PASSED FAILED SKIPPED".
# usage: count JUNIT LOG
count() {
    awk '
        FNR == 1 { file++ }
        file == 1 && match($0, /<testcase name="[^"]*"/) {
            name = substr($0, RSTART + 16, RLENGTH - 17)
            verdict[name] = $0 ~ /status="run"/ ? "passed" : "failed"
        }
        # A test that cannot run here (a CPU without AVX-512) has a special exit code.
        file == 1 && /<skipped message="SKIP_RETURN_CODE=/ { verdict[name] = "skipped"; skipped++ }
        file == 2 && /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
        # A case that reports a skip (no GPU here) does not count as passed.
        file == 2 && /MESSAGE: skipped: / { skipped++; case_passed[name]-- }
        file == 2 && /^\[doctest\] test cases:/ {
            gsub(/[|:]/, " ")
            for (i = 2; i <= NF; i++) {
                if ($i == "passed") case_passed[name] += $(i - 1)
                if ($i == "failed") case_failed[name] += $(i - 1)
                if ($i == "skipped") skipped += $(i - 1)
            }
        }
        END {
            for (name in verdict) {
                passed += name in case_passed ? case_passed[name] : verdict[name] == "passed"
                failed += case_failed[name] + (verdict[name] == "failed" && !case_failed[name])
            }
            print passed + 0, failed + 0, skipped + 0
        }' "$1" "$2"
}

passed=0 failed=0 skipped=0
# The next preset is built while this one's tests run, and gives way to them: it has the CPU where a test waits.
building=""
build_next() {
    building=""
    [[ -z ${1:-} ]] || { nice -n 19 bash "$lib/build-preset.sh" "$1" >"$repo/build/$1.log" 2>&1 & building=$!; }
}

for ((i = 0; i < ${#presets[@]}; i++)); do
    preset=${presets[i]}
    if [[ -n $building ]]; then
        wait "$building"
        built=$?
        cat "$repo/build/$preset.log" >&2
    else
        bash "$lib/build-preset.sh" "$preset" >&2
        built=$?
    fi
    build_next "${presets[i + 1]:-}"
    if ((built != 0)); then
        say "the $preset build failed"
        failed=$((failed + 1))
        continue
    fi
    begin=$SECONDS
    say "testing $preset"
    junit=$repo/build/$preset/junit.xml log=$repo/build/$preset/Testing/Temporary/LastTest.log
    rm -f "$junit" "$log"
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error "${only[@]}" --parallel "$jobs" --output-junit "$junit" >&2
    result=$?
    read -r p f s < <(count "$junit" "$log")
    # If ctest failed, the run failed, whatever the log has.
    ((result == 0 || f > 0)) || f=1
    say "$preset: $p passed, $f failed, $s skipped in $((SECONDS - begin)) s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
((skipped == 0)) || say "$skipped skipped"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
