# Builds everything with each compiler that must take the sources, warnings as errors. Runs at the place of the build.
# usage: compilers.sh [COMPILER...]
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
. "$repo/tools/dev.d/packages.sh"
cd "$repo"
(($#)) || set -- g++-12 g++-13 g++ clang++

missing=()
for package in "${compiler_packages[@]}"; do command -v "$package" >/dev/null || missing+=("$package"); done
if [[ ${SECTILE_INSIDE:-} == root && ${#missing[@]} != 0 ]] && ((EUID == 0)); then
    echo "dev: installing ${missing[*]}" >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y "${missing[@]}" >/dev/null
fi

failed=0
for compiler in "$@"; do
    if ! command -v "$compiler" >/dev/null; then
        echo "dev: no $compiler here: left out" >&2
        continue
    fi
    folder=build/compilers/$compiler
    if cmake --preset debug -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
            -DSECTILE_WERROR=ON >/dev/null && ninja -C "$folder" -k 0 -j "${SECTILE_JOBS:-$(nproc)}" >&2; then
        echo "$compiler: builds"
    else
        echo "$compiler: fails"
        failed=1
    fi
done
exit $failed
