# The contained Debian root under .root/: made, checked, entered. Sourced by tools/dev.
# shellcheck shell=bash disable=SC2154
. "$lib/packages.sh"

root_stamp=$root/.sectile-recipe

# The recipe is these two files. A root of another recipe is made again.
recipe_hash() { cat "$lib/packages.sh" "$lib/make-root.sh" | sha256sum | cut -c1-32; }

shim_hash() { sha256sum <"$lib/intel-shim.sh" | cut -c1-32; }

stamp_is() { [[ -r $1 && $(<"$1") == "$2" ]]; }

# Intel's no-op shim is made only for commands that run the tests (want_shim=1).
shim_is_ready() { ((!${want_shim:-0})) || stamp_is "$root/opt/drm-shim/.recipe" "$(shim_hash)"; }

root_is_ready() { stamp_is "$root_stamp" "$(recipe_hash)" && shim_is_ready; }

# Runs a command as root, by sudo where need be.
as_root() {
    if ((EUID == 0)); then "$@"; return; fi
    command -v sudo >/dev/null || die "the contained root needs root rights: run as root, or install sudo"
    sudo --preserve-env="$(pass_names)" -- "$@"
}

root_ready() {
    root_is_ready && return 0
    mkdir -p "$cache"
    local lock
    exec {lock}>"$cache/root.lock"
    flock --nonblock "$lock" || { say "another tools/dev is making the root: waiting"; flock "$lock"; }
    if ! root_is_ready; then
        # shellcheck disable=SC2046  # no argument at all where the shim is not wanted, or is there
        as_root unshare --mount --propagation private bash "$lib/make-root.sh" "$repo" "$(recipe_hash)" \
            $(shim_is_ready || shim_hash) {lock}>&- || die "the root is not ready (log: ${cache#"$PWD"/}/root.log)"
    fi
    exec {lock}>&-
}

# Names of environment variables that are passed into the root.
pass_names() {
    local name names=""
    while IFS= read -r name; do
        case $name in
            TERM|COLORTERM|NO_COLOR|SUDO_UID|SUDO_GID|VK_*|LP_*|CCACHE_BASEDIR|CCACHE_NOHASHDIR|CCACHE_MAXSIZE|MESA_*|GALLIUM_*|ACO_*|RADV_*|NV50_*|SECTILE_*|AMDGPU_*|\
            NOUVEAU_*|FD_*|INTEL_*|CTEST_*|ASAN_*|UBSAN_*|LSAN_*|TSAN_*|DOCTEST_*|RC_*|CMAKE_BUILD_*|CUDA_*|NVIDIA_*|\
            http_proxy|https_proxy|no_proxy|SOURCE_DATE_EPOCH|VERBOSE|CC|CXX|CXXFLAGS|LDFLAGS)
                names+=${names:+,}$name ;;
        esac
    done < <(compgen -e)
    printf '%s' "$names"
}

# Replaces this process by a command inside the root; mounts live in a namespace of their own and die with it.
root_exec() {
    local enter=(unshare --mount --propagation private bash "$lib/enter.sh" "$repo" "$PWD" "$(pass_names)" "$@")
    if ((EUID == 0)); then exec "${enter[@]}"; fi
    command -v sudo >/dev/null || die "the contained root needs root rights: run as root, or install sudo"
    exec sudo --preserve-env="$(pass_names)" -- "${enter[@]}"
}
