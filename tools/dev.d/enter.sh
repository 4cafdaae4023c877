# Runs in a private mount namespace: mounts the root's file systems, enters the root, and runs the command in place of
# this process. usage: enter.sh REPO CWD NAMES CMD...   (NAMES: variables to hand in, comma-separated)
# SECTILE_TREE: another folder to show at the repository's path (tools/dev mutants), with the repository's own cache and
# results of mutants in it.
set -euo pipefail
repo=$1 cwd=$2 names=$3
shift 3
root=$repo/.root

mount_all() {
    mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount --bind /tmp "$root/tmp"
    # The repository at its own path. A plain bind, so that .root inside it shows no mounts of its own.
    if [[ $repo/ != /tmp/* || -n ${SECTILE_TREE:-} ]]; then
        mkdir -p "$root$repo"
        mount --bind "${SECTILE_TREE:-$repo}" "$root$repo"
    fi
    if [[ -n ${SECTILE_TREE:-} ]]; then
        mkdir -p "$SECTILE_TREE/.cache" "$SECTILE_TREE/build/mutants"
        mount --bind "$repo/.cache" "$root$repo/.cache"
        mount --bind "$repo/build/mutants" "$root$repo/build/mutants"
    fi
    mkdir -p "$root/var/cache/sectile" "$SECTILE_CACHE"
    mount --bind "$SECTILE_CACHE" "$root/var/cache/sectile"
    local file
    for file in /etc/resolv.conf /etc/hosts; do
        [[ -e $file ]] || continue
        [[ -e $root$file ]] || : >"$root$file"
        mount --bind "$(readlink -f "$file")" "$root$file" 2>/dev/null || true
    done
    if [[ -d /usr/local/cuda/ ]]; then
        mkdir -p "$root/usr/local/cuda"
        mount --bind "$(readlink -f /usr/local/cuda)" "$root/usr/local/cuda"
        mount -o remount,bind,ro "$root/usr/local/cuda"
    fi
}

# The user who called sudo owns what is built, where the repository is theirs.
uid=0 gid=0
if [[ ${SUDO_UID:-0} != 0 && $(stat -c %u "$repo") == "$SUDO_UID" ]]; then
    uid=$SUDO_UID gid=${SUDO_GID:-$SUDO_UID}
fi

mount_all

runtime=/tmp/sectile-runtime-$uid
home=$repo/.cache/home
mkdir -p -m 700 "$runtime"
mkdir -p "$home"
((uid == 0)) || chown "$uid:$gid" "$runtime" "$repo/.cache" "$home"

drivers=()
for file in "$root"/usr/share/vulkan/icd.d/lvp_icd*.json "$root"/opt/swiftshader/*_icd.json; do
    [[ -e $file ]] && drivers+=("${file#"$root"}")
done
driver_files=$(IFS=:; printf '%s' "${drivers[*]}")

environment=(
    HOME="$home" USER="$(id -un "$uid" 2>/dev/null || echo user)" LANG=C.UTF-8 TZ=UTC TERM="${TERM:-dumb}"
    PATH="$repo/build/release:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    XDG_RUNTIME_DIR="$runtime"
    CCACHE_DIR=/var/cache/sectile/ccache
    VK_DRIVER_FILES="$driver_files"
    SECTILE_INSIDE=root SECTILE_CACHE=/var/cache/sectile
)
if [[ -d $root/usr/local/cuda/lib64 ]]; then
    environment+=(CUDA_HOME=/usr/local/cuda LD_LIBRARY_PATH=/usr/local/cuda/lib64)
fi
IFS=, read -ra handed <<<"$names"
for name in "${handed[@]}"; do
    case $name in SUDO_*|CUDA_HOME|SECTILE_CACHE) ;; *) environment+=("$name=${!name}") ;; esac
done

# The root may have a folder of the same name, but it is a different one.
case $cwd/ in
    "$repo"/*|/tmp/*) ;;
    *) echo "dev: $cwd is not visible inside the root; going on in $repo" >&2; cwd=$repo ;;
esac
drop=()
((uid == 0)) || drop=(setpriv --reuid "$uid" --regid "$gid" --clear-groups)
exec env -i "${environment[@]}" chroot "$root" "${drop[@]}" \
    /usr/bin/env --chdir="$cwd" -- "$@"
