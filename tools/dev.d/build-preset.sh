# Configures (once) and builds a preset, at the place where it runs. Quiet where there is nothing to do.
# usage: build-preset.sh PRESET [TARGET...]
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
preset=$1 folder=build/$1
shift

configure() {
    local mark output
    # A build made elsewhere (host instead of root, another root) has another compiler behind the same cache.
    # A preset of other settings is another build too.
    mark="${SECTILE_INSIDE:-host} $(cat /.sectile-recipe 2>/dev/null || true) $(cksum CMakePresets.json "${BASH_SOURCE[0]}" | cksum)"
    [[ -e $folder/.place && $(<"$folder/.place") == "$mark" && -e $folder/build.ninja ]] && return 0
    echo "dev: configuring $preset"
    rm -f "$folder/.place"   # a configuration that is broken off is made again
    # The sanitizer build is clang's where there is one: so every source, the tests' too, goes through two compilers.
    # It has the fuzzers too: libFuzzer needs clang. Its kernels are the release build's.
    options=()
    if [[ $preset == asan ]]; then
        options=(-DSECTILE_PREBUILT_SPIRV="$repo/build/release/spirv")
        ! command -v clang++ >/dev/null || options+=(-DCMAKE_CXX_COMPILER=clang++ -DSECTILE_BUILD_FUZZERS=ON)
    fi
    output=$(cmake --preset "$preset" --fresh -DSECTILE_WERROR="${SECTILE_WERROR:-ON}" "${options[@]}" 2>&1) ||
        { printf '%s\n' "$output"; return 1; }
    printf '%s\n' "$mark" >"$folder/.place"
}

[[ $preset != asan ]] || bash "${BASH_SOURCE[0]}" release sectile_spirv_modules
mkdir -p "$folder"
# One build of a folder at a time: ninja does not look out for another.
exec 9>"$folder/.lock"
flock --nonblock 9 || { echo "dev: another build of $preset runs: waiting"; flock 9; }
configure
# New or removed files first, then a dry run: where ninja has nothing to do, nothing is said.
[[ ! -e $folder/CMakeFiles/VerifyGlobs.cmake ]] || cmake -P "$folder/CMakeFiles/VerifyGlobs.cmake" >/dev/null
[[ $(ninja -C "$folder" -n "$@" 2>&1) == *"no work to do"* ]] && exit 0
echo "dev: building $preset${*:+ ($*)}"
# ccache takes the headers from the compiler's dependency file: nothing is preprocessed a second time for it.
export CCACHE_DEPEND=1
# clang takes 7 % less processor time with this malloc. Only what builds runs with it, and nothing that is tested.
allocator=/usr/lib/x86_64-linux-gnu/libmimalloc.so.3
[[ ${SECTILE_INSIDE:-} != root || ! -e $allocator ]] || export LD_PRELOAD=$allocator
NINJA_STATUS='[%f/%t %es] ' exec ninja -C "$folder" -j "${SECTILE_JOBS:-$(nproc)}" "$@"
