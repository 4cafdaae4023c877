# The place where things are built (the root, or the host itself) and the build. Sourced by tools/dev.
# shellcheck shell=bash disable=SC2154

place=""

place_ready() {
    [[ -z $place ]] || return 0
    if [[ -n ${SECTILE_INSIDE:-} ]]; then place=$SECTILE_INSIDE; return 0; fi
    if use_root; then
        root_ready
        place=root
    else
        place=host
    fi
}

tool_path() { printf '%s' "$repo/build/release/sectile"; }

# Replaces this process by a command that runs in the root or on the host.
inside_exec() {
    if [[ $place == root && ${SECTILE_INSIDE:-} != root ]]; then root_exec "$@"; fi
    export SECTILE_INSIDE=$place PATH=$repo/build/release:$PATH CCACHE_DIR=${CCACHE_DIR:-$SECTILE_CACHE/ccache}
    exec "$@"
}

inside() { (inside_exec "$@"); }

# build_setup [TARGET...]: the release preset, all of it where no target is named.
build_setup() {
    place_ready
    inside bash "$lib/build-preset.sh" release "$@" >&2 || die "the build failed"
}
