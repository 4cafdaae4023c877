# Configures (once) and builds presets, at the place where it runs. Quiet where there is nothing to do.
# usage: build-preset.sh PRESET...
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"

build_one() {
    local preset=$1 folder=build/$1 mark output fresh=()
    # A build made elsewhere (host instead of root, another root) has another compiler behind the same cache.
    mark="${SECTILE_INSIDE:-host} $(cat /.sectile-recipe 2>/dev/null || true)"
    [[ -e $folder/.place && $(<"$folder/.place") == "$mark" ]] || fresh=(--fresh)
    if [[ ${#fresh[@]} != 0 || ! -e $folder/build.ninja ]]; then
        echo "dev: configuring $preset"
        output=$(cmake --preset "$preset" "${fresh[@]}" 2>&1) || { printf '%s\n' "$output"; return 1; }
        printf '%s\n' "$mark" >"$folder/.place"
    fi
    # Verify globs and dependencies first: where nothing is to do, ninja says so and we say nothing.
    output=$(cmake --build "$folder" -- -n 2>&1) || true
    [[ $output == *"no work to do"* ]] && return 0
    echo "dev: building $preset"
    NINJA_STATUS='[%f/%t %es] ' cmake --build "$folder" --parallel "${SECTILE_JOBS:-$(nproc)}"
}

for preset in "$@"; do build_one "$preset"; done
