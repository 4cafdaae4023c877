# Builds for other systems and runs what needs no device there: Windows under Wine, aarch64 under qemu-user. The release
# build of this system is there already: plans and packs are compared with its own. Runs at the place of the build.
# usage: foreign.sh [--known] [windows|arm]...
# --known: what passed with the same inputs before is not run again; what did not is run with SECTILE_THOROUGH alone,
# and otherwise ends with 77.
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
. "$repo/tools/dev.d/packages.sh"
. "$repo/tools/dev.d/headers.sh"
cd "$repo"
native=build/release foreign=build/foreign
results=${SECTILE_CACHE:-$repo/.cache}/foreign
jobs=${SECTILE_JOBS:-$(nproc)}
export CCACHE_DEPEND=1 CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1
[[ -z ${SECTILE_CACHE:-} ]] || export CCACHE_DIR=${CCACHE_DIR:-$SECTILE_CACHE/ccache}

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "error: foreign: $*"; exit 1; }

# ---- inputs

packages_of() {
    case $1 in
        windows) printf '%s\n' "${windows_packages[@]}" ;;
        arm) printf '%s\n' "${arm_packages[@]}" ;;
    esac
}

# Versions that are installed, or would be.
versions_of() {
    local packages
    mapfile -t packages < <(packages_of "$1")
    apt-cache policy "${packages[@]}" 2>/dev/null | awk '/^[^ ]/ { name = $1 } /Candidate:/ { print name, $2 }'
}

# All that the result depends on: sources, tests, this script, third-party headers, compiled kernels, the toolchain.
inputs_of() {
    {
        versions_of "$1"
        find CMakeLists.txt cmake examples include shaders src tests/{abi,capi,data,device,plan,platform,reference,support,tune} tools \
            "$foreign/third_party" -type f -not -name '*.py' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
        (cd "$native/spirv" && xargs sha256sum <modules.txt)
    } | sha256sum | cut -c1-32
}

# ---- building

install_for() {
    local package packages missing=()
    mapfile -t packages < <(packages_of "$1")
    for package in "${packages[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    [[ ${SECTILE_INSIDE:-} == root ]] && ((EUID == 0)) || die "$1 needs these packages: ${missing[*]}"
    say "installing ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null
}

targets=(sectile_no_shaders sectile_c sectile_command test_plan test_device test_tune test_platform platform_counter
    platform_plans capi_program)

build() {
    local folder=$foreign/$1 mark
    # No sanitizer, no compression, no generator of SPIR-V: nothing but headers is there for the other system.
    local options=(-DCMAKE_TOOLCHAIN_FILE="$repo/cmake/toolchain/$1.cmake" -DCMAKE_BUILD_TYPE=Release
        -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DSECTILE_THIRD_PARTY="$repo/$foreign/third_party"
        -DSECTILE_PREBUILT_SPIRV="$repo/$native/spirv" -DSECTILE_OFFLINE=OFF -DSECTILE_COMPRESS=OFF -DSECTILE_UNITY=ON
        -DSECTILE_BUILD_TESTS=ON -DSECTILE_WERROR=ON)
    # Windows' build does without the compiler's own integers: its plans show that those of base/arithmetic.hpp are alike.
    [[ $1 != windows ]] || options+=(-DCMAKE_CXX_FLAGS=-DSECTILE_STANDARD_ONLY)
    mark="$(versions_of "$1") ${options[*]} $(cksum <"cmake/toolchain/$1.cmake")"
    if [[ ! -e $folder/build.ninja || ! -e $folder/.mark || $(<"$folder/.mark") != "$mark" ]]; then
        cmake -G Ninja -S . -B "$folder" --fresh "${options[@]}" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; return 1; }
        printf '%s' "$mark" >"$folder/.mark"
    fi
    NINJA_STATUS="[$1 %f/%t %es] " ninja -C "$folder" -k 0 -j "$jobs" "${targets[@]}" >&2
}

# What Windows alone compiles has no extension of a compiler; the sanitizer build's clang reads the rest of src/.
check_standard() {
    local file
    command -v clang++ >/dev/null || { say "no clang++ here: Windows' own files are not searched for extensions"; return 0; }
    for file in src/backend/{platform,whole_file_windows}.cpp src/cuda/libraries.cpp; do
        tests=$((tests + 1))
        clang++ --target=x86_64-w64-mingw32 -std=c++23 -fsyntax-only -Wall -Wextra -Wconversion -Wgnu -Wpedantic \
            -Wlanguage-extension-token -Werror -DFMT_HEADER_ONLY -Iinclude -Isrc -isystem "$foreign/third_party/include" \
            "$file" >&2 || wrong "$file is no standard C++"
    done
}

# ---- running

run=() suffix=""
enter() {
    run=() suffix=""
    case $1 in
        windows)
            suffix=.exe
            run=(wine)
            # A Windows of its own, without the browser and .NET that Wine would offer to fetch.
            export WINEPREFIX=$repo/$foreign/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=' HOME=$repo/$foreign
            unset DISPLAY
            [[ -e $WINEPREFIX/system.reg ]] || wineboot --init >/dev/null 2>&1
            export SECTILE_TEST_LIBRARY=$folder/sectile-1.dll ;;
        arm) run=(qemu-aarch64 -L /usr/aarch64-linux-gnu) ;;
    esac
}
leave() { [[ $1 != windows ]] || wineserver --kill 2>/dev/null || true; }

tests=0 failed=0
wrong() { say "$system: FAILED: $*"; failed=$((failed + 1)); }

# A doctest executable; its cases are counted, of which there are at least as many as said.
doctest() {
    local name=$1 least=$2 output cases
    shift 2
    output=$("${run[@]}" "$folder/$name$suffix" --no-colors "$@" 2>&1 | tr -d '\r') || { printf '%s\n' "$output" >&2; wrong "$name"; }
    cases=$(sed -nE 's/^\[doctest\] test cases: +[0-9]+ \| +([0-9]+) passed.*/\1/p' <<<"$output")
    say "$system: $name: ${cases:-no} cases passed"
    tests=$((tests + ${cases:-0}))
    ((${cases:-0} >= least)) || wrong "$name: ${cases:-no} cases passed, at least $least were expected"
}

# usage: told FILE COMMAND...: its output, behind it its errors and its exit code
told() {
    local to=$1 code=0
    shift
    "$@" >"$to" 2>"$to.err" || code=$?
    { cat "$to.err"; echo "exit code $code"; } >>"$to"
}
# The command's output and exit code are those of this system, byte for byte.
same() {
    told "$work/here" "$native/sectile" "$@"
    told "$work/there" "${run[@]}" "$folder/sectile$suffix" "$@"
    tests=$((tests + 1))
    cmp -s "$work/here" "$work/there" || { diff "$work/here" "$work/there" | head -5 >&2; wrong "sectile $*"; }
}

compare_plans() {
    local problems=tests/plan/golden/problems.txt picked names i=0
    "$native/platform_plans" "$problems" "$work/here" >/dev/null
    say "$system: $("${run[@]}" "$folder/platform_plans$suffix" "$problems" "$work/there" | tr -d '\r')"
    tests=$((tests + 1))
    cmp "$work/here" "$work/there" >&2 || wrong "plans as JSON differ"
    (($(wc -l <"$work/here") > 7000)) || wrong "few plans were compared"
    mapfile -t names < <("$native/sectile" targets --json | python3 -c 'import json, sys
for target in json.load(sys.stdin)["targets"]: print(target["name"])')
    ((${#names[@]} > 20)) || wrong "few targets were found"
    # By the command: a problem on each target in turn, each operation among them.
    mapfile -t picked < <(awk 'NR % 12 == 1' "$problems"; printf '%s\n' "permute f32 0x3 axes=1,0" "permute f32 3x3 axes=0,0")
    for problem in "${picked[@]}"; do
        same plan "$problem" --target "${names[i % ${#names[@]}]}" --explain
        same plan "$problem" --target "${names[(i + 7) % ${#names[@]}]}" --json
        i=$((i + 1))
    done
    same targets
    same plan "permute f32 3x4" --target no-such-target --json
}

# A folder of emit's, made here, is packed there: the same bytes. A pack of here is read there.
compare_packs() {
    "$native/sectile" emit "permute f32 512x512 axes=1,0" "permute i8 1023x77x3 axes=2,0,1" --target nvidia-hopper \
        -o "$work/emitted" >/dev/null
    "$native/sectile" pack "$work/emitted" -o "$work/here.pack" >/dev/null
    "${run[@]}" "$folder/sectile$suffix" pack "$work/emitted" -o "$work/there.pack" >/dev/null || wrong "pack"
    tests=$((tests + 1))
    cmp "$work/here.pack" "$work/there.pack" >&2 || wrong "packs differ"
    same pack --list "$work/here.pack" --json
    same plan "permute f32 512x512 axes=1,0" --target nvidia-hopper --pack "$work/here.pack" --json
    same plan "permute f32 5x7x9 axes=2,1,0" --target nvidia-hopper --pack "$work/here.pack"
    head -c 3000 "$work/here.pack" >"$work/cut.pack"
    same pack --list "$work/cut.pack"
}

# Processes that change a file at once lose nothing, and leave nothing else.
compare_locks() {
    local each=25 processes=() p
    mkdir "$work/locked"
    for p in 1 2 3 4; do
        "${run[@]}" "$folder/platform_counter$suffix" "$work/locked/number" $each & processes+=($!)
    done
    for p in "${processes[@]}"; do wait "$p" || wrong "platform_counter"; done
    tests=$((tests + 1))
    [[ $(<"$work/locked/number") == $((4 * each)) && $(ls "$work/locked") == number ]] ||
        wrong "locks: $(<"$work/locked/number") of $((4 * each)), and $(ls "$work/locked" | xargs)"
}

run_c_program() {
    local list exported declared
    "${run[@]}" "$folder/capi_program$suffix" >&2 || wrong "capi_program"
    tests=$((tests + 2))
    declared=$(grep -oE '\bsectile_[a-z0-9_]+\(' include/sectile/sectile.h | tr -d '(' | sort -u)
    if [[ $system == windows ]]; then
        list=$(x86_64-w64-mingw32-objdump -p "$folder/sectile-1.dll")
        exported=$(awk '/\+base\[/ && $NF != "RVA" { print $NF }' <<<"$list" | sort -u)
        # Windows' own libraries alone: none of the compiler's.
        ! grep -iE 'DLL Name: *(lib|.*(stdc|gcc|pthread))' <<<"$list" >&2 || wrong "sectile-1.dll needs the compiler's libraries"
    else
        exported=$(aarch64-linux-gnu-nm -D --defined-only "$folder/libsectile.so" |
            awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
    fi
    diff <(echo "$declared") <(echo "$exported") >&2 || wrong "the shared library exports other names than sectile.h declares"
}

# What Windows lacks is said in a sentence.
say_what_lacks() {
    local output code=0
    output=$("${run[@]}" "$folder/sectile$suffix" check --cases 1 2>&1) || code=$?
    tests=$((tests + 1))
    [[ $code == [12] && $output == *"child processes on Windows"*--in-process* ]] || wrong "check: exit code $code: $output"
}

# Wine's Vulkan leads to this system's lavapipe: generated problems run there and are compared with the reference.
check_on_lavapipe() {
    local icd=/usr/share/vulkan/icd.d/lvp_icd.json operation output
    if [[ ! -e $icd ]]; then say "$system: no lavapipe here: nothing runs on a device"; return 0; fi
    for operation in permute:60 matmul:6 conv2d:4; do
        output=$(VK_DRIVER_FILES=$icd GALLIVM_PERF=nopt LP_NATIVE_VECTOR_WIDTH=128 timeout 600 "${run[@]}" \
            "$folder/sectile$suffix" check --in-process --device llvmpipe --op "${operation%:*}" --cases "${operation#*:}" \
            2>&1 | tr -d '\r') || true
        say "$system: check ${operation%:*}: $(tail -1 <<<"$output")"
        tests=$((tests + 1))
        [[ $(tail -1 <<<"$output") == "${operation#*:} passed, 0 failed" ]] || wrong "check --op ${operation%:*}: $output"
    done
    tests=$((tests + 1))
    VK_DRIVER_FILES=$icd GALLIVM_PERF=nopt timeout 600 "${run[@]}" "$folder/capi_program$suffix" llvmpipe >&2 ||
        wrong "capi_program llvmpipe"
}

# The programs of examples/ that need no package of the other system: built as their CMake projects would, and run on
# lavapipe. cuda_stream ends with 77 where there is no driver of NVIDIA's.
run_examples() {
    local headers=$repo/$foreign/third_party/include cc=x86_64-w64-mingw32-gcc-posix cxx=x86_64-w64-mingw32-g++-posix
    local to=$folder/examples name code flags=(-O1 -Wall -Wextra -Wno-missing-field-initializers -Iinclude -isystem "$headers")
    local library=("$folder/libsectile.dll.a") static=(-static -Wl,--allow-multiple-definition) all=(-Wl,--start-group)
    for name in vulkan shaders embedded module tune cuda backend plan device base; do all+=("$folder/libsectile_$name.a"); done
    all+=(-Wl,--end-group "${static[@]}")
    mkdir -p "$to"
    cp "$folder/sectile-1.dll" "$to/"
    "$cc" -O1 -w -I"$headers" -DVK_NO_PROTOTYPES -c "$headers/volk.c" -o "$to/volk.o" &&
        "$cc" -std=c99 "${flags[@]}" examples/c/runtime.c "${library[@]}" -static -o "$to/c_runtime.exe" &&
        "$cxx" -std=c++17 "${flags[@]}" examples/cpp17/main.cpp "${library[@]}" "${static[@]}" -o "$to/cpp17.exe" &&
        "$cxx" -std=c++23 "${flags[@]}" -DVK_NO_PROTOTYPES examples/vulkan_app/*.cpp "$to/volk.o" "${all[@]}" \
            -o "$to/vulkan_app.exe" &&
        "$cxx" -std=c++23 "${flags[@]}" examples/cuda_stream/main.cpp "${all[@]}" -o "$to/cuda_stream.exe" ||
        { wrong "the examples do not build"; return 0; }
    for name in c_runtime cpp17 vulkan_app cuda_stream; do
        code=0
        VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json GALLIVM_PERF=nopt timeout 600 \
            "${run[@]}" "$to/$name.exe" >"$work/example" 2>&1 || code=$?
        tests=$((tests + 1))
        [[ $code == 0 || $name == cuda_stream && $code == 77 ]] || { cat "$work/example" >&2; wrong "$name: exit code $code"; }
    done
    say "$system: examples: c_runtime, cpp17, vulkan_app and cuda_stream built and run"
}

run_all() {
    # tests/plan without rapidcheck's properties, which is a library that this system's packages have alone.
    doctest test_plan 180
    doctest test_device 40
    doctest test_tune 8
    doctest test_platform 8
    compare_plans
    compare_packs
    compare_locks
    run_c_program
    [[ $system != windows ]] || { say_what_lacks; check_on_lavapipe; run_examples; check_standard; }
}

# ---- all of it

check_system() {
    local known stamp begin=$SECONDS
    system=$1 folder=$repo/$foreign/$1
    known=$(inputs_of "$system")
    stamp=$results/$system-$known
    if ((only_known)); then
        if [[ -e $stamp ]]; then
            printf '%s: known: %s\n' "$system" "$(<"$stamp")"
            return 0
        fi
        if [[ -z ${SECTILE_THOROUGH:-} ]]; then
            echo "skipped: $system: not run with these sources; \`tools/dev foreign $system\` runs it"
            [[ ,${SECTILE_REQUIRE:-}, != *,foreign,* ]] || return 1
            return 77
        fi
    fi
    install_for "$system"
    build "$system" || die "$system does not build"
    say "$system: built in $((SECONDS - begin)) s"
    begin=$SECONDS
    tests=0 failed=0
    work=$(mktemp -d "$repo/$foreign/work.XXXXXX")
    enter "$system"
    run_all
    leave "$system"
    rm -rf "$work"
    say "$system: $tests passed, $failed failed in $((SECONDS - begin)) s"
    ((failed == 0)) || return 1
    mkdir -p "$results"
    find "$results" -name "$system-*" -mtime +30 -delete
    echo "$tests tests passed on $(date -u +%Y-%m-%d)" >"$stamp"
    cat "$stamp"
}

main() {
    local each code result=0
    only_known=0
    [[ ${1:-} != --known ]] || { only_known=1; shift; }
    (($#)) || set -- windows arm
    for each in "$@"; do [[ $each == windows || $each == arm ]] || die "unknown system '$each': windows or arm"; done
    mkdir -p "$foreign"
    # Old times are kept, so that nothing is compiled again.
    copy_headers "$foreign/third_party/include"
    for each in "$@"; do
        code=0
        (check_system "$each") || code=$?
        ((code == 0)) || result=$code
    done
    exit $result
}

main "$@"
