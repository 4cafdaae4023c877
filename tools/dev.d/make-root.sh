# Makes the contained root, or brings it up to date. Runs as root in a private mount namespace.
# usage: make-root.sh REPO RECIPE_HASH [SHIM_HASH]    (with the latter: Intel's no-op shim as well)
set -euo pipefail
repo=$1 hash=$2 shim_hash=${3:-}
lib=$repo/tools/dev.d
root=$repo/.root
log=$repo/.cache/root.log
. "$lib/packages.sh"
[[ -s $log ]] && mv "$log" "$log.1"
: >"$log"

say() { printf 'dev: %s\n' "$*" >&2; }
trap 'say "error: line $LINENO of make-root.sh failed"' ERR
fail() { say "error: $*"; tail -n 15 "$log" | sed 's/^/     | /' >&2; exit 1; }

# One line that grows on a terminal; a line every tenth of the way in a log.
progress() {
    local title=$1 tty=0
    [[ -t 2 ]] && tty=1
    awk -F: -v title="$title" -v tty="$tty" '
        $1 == "dlstatus" || $1 == "pmstatus" {
            stage = $1 == "dlstatus" ? "download" : "install"
            if (stage != last) { step = -1; last = stage }
            if (tty) printf "\rdev: %s: %s %3d %%\033[K", title, stage, $3
            else if (int($3 / 20) > step) { step = int($3 / 20); printf "dev: %s: %s %d %%\n", title, stage, $3 }
            fflush()
        }
        END { if (tty && last) printf "\r\033[K" }' >&2
}

host_mirror() {
    # The Debian archive that this host itself uses; nothing on another distribution (debootstrap knows a default).
    [[ $(. /etc/os-release; echo "${ID:-}") == debian ]] || return 0
    { awk '$1 == "URIs:" { print $2 }' /etc/apt/sources.list.d/*.sources 2>/dev/null
      awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^(https?|file|ftp):/) { print $i; break } }' \
          /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null
    } | sed 's:/*$::' | grep -E '/debian$' | head -n 1 || true
}

host_packages() {
    local missing=()
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    [[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]] || missing+=(debian-archive-keyring)
    ((${#missing[@]})) || return 0
    command -v apt-get >/dev/null || fail "this host has neither ${missing[*]} nor apt-get to install it with"
    say "installing ${missing[*]} on the host"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 && return 0
    apt-get update >>"$log" 2>&1 || fail "apt-get update failed on the host"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 \
        || fail "cannot install ${missing[*]} on the host"
}

bootstrap() {
    local mirror proxy script=() options=() keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(host_mirror)
    [[ -e /usr/share/debootstrap/scripts/$root_suite ]] || script=(/usr/share/debootstrap/scripts/sid)
    # Another checkout's root, shown here: not ours to remove.
    ! mountpoint -q "$root" || fail "$root is a mount point"
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    say "making a Debian ($root_suite) root in ${root}"
    ((${#script[@]} == 0)) || [[ -n $mirror ]] || fail "this debootstrap does not know $root_suite: install a newer one"
    # Signatures are checked; the age of the release file is not, because a mirror may be a frozen snapshot
    # (older versions of debootstrap never look at it).
    if debootstrap --help 2>&1 | grep -q check-valid-until; then options+=(--no-check-valid-until); fi
    # debootstrap fetches by wget, which does not know apt's proxy.
    proxy=$(apt-config dump 2>/dev/null | sed -n 's/^Acquire::http::Proxy "\(.*\)";$/\1/p' | head -n 1)
    [[ -z $proxy || $proxy == DIRECT ]] || export http_proxy=$proxy
    debootstrap --variant=minbase --keyring="$keyring" --force-check-gpg "${options[@]}" --include=ca-certificates,apt-utils \
        "$root_suite" "$root" ${mirror:+"$mirror"} "${script[@]}" 2>&1 | tee -a "$log" |
        awk '/^I: (Retrieving|Validating)/ { n++; if (n % 40 == 1) { print "dev: base system: " n " files so far"; fflush() } }
             /^I: (Unpacking the base|Configuring the base|Base system)/ { sub(/^I: /, ""); print "dev: " $0; fflush() }' >&2 \
        || fail "debootstrap failed"
}

# apt inside the root speaks as the host's apt does (proxy, retries, date checks), from the same mirror.
configure_apt() {
    local mirror etc=$root/etc/apt suite signed
    # debootstrap wrote it, on the first time; ours has options in brackets before it.
    mirror=$({ cat "$etc/sources.list" "$etc"/sources.list.d/*.sources 2>/dev/null || true; } |
        awk '$1 == "deb" || $1 == "URIs:" { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z+]+:/) { print $i; exit } }')
    [[ -n $mirror ]] || fail "the root has no mirror"
    signed=/usr/share/keyrings/debian-archive-keyring.gpg
    rm -f "$etc/sources.list" "$etc"/sources.list.d/*
    for suite in "$root_suite" "$root_backports" "$root_sdk_suite"; do
        printf 'deb [signed-by=%s check-valid-until=no] %s %s main\n' "$signed" "$mirror" "$suite"
    done >"$etc/sources.list"
    {
        printf 'Package: *\nPin: release n=%s\nPin-Priority: 50\n\n' "$root_sdk_suite"
        printf 'Package: %s\nPin: release n=%s\nPin-Priority: 900\n\n' "${sdk_packages[*]}" "$root_sdk_suite"
        printf 'Package: src:mesa\nPin: release n=%s\nPin-Priority: 800\n' "$root_backports"
    } >"$etc/preferences.d/sectile"
    {
        apt-config dump 2>/dev/null |
            grep -E '^Acquire::(http|https|Retries|Check-Valid-Until|Check-Date|ForceIPv4|ForceIPv6)[: ]' || true
        printf 'Acquire::Languages "none";\nAPT::Install-Recommends "false";\n'
        printf 'DPkg::Options:: "--force-unsafe-io";\nDir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n'
    } >"$etc/apt.conf.d/90sectile"
    if compgen -G '/etc/apt/auth.conf.d/*' >/dev/null; then cp /etc/apt/auth.conf.d/* "$etc/auth.conf.d/"; fi
    printf 'path-exclude=/usr/share/man/*\npath-exclude=/usr/share/locale/*\npath-exclude=/usr/share/doc/*\npath-include=/usr/share/doc/*/copyright\n' \
        >"$root/etc/dpkg/dpkg.cfg.d/sectile"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
}

mount_all() {
    mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    local file
    for file in /etc/resolv.conf /etc/hosts; do
        [[ -e $file ]] || continue
        [[ -e $root$file ]] || : >"$root$file"
        mount --bind "$(readlink -f "$file")" "$root$file" || true
    done
}

inside() {
    env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" "$@"
}

install_packages() {
    say "reading package lists"
    inside apt-get update >>"$log" 2>&1 || fail "apt-get update failed in the root"
    if ! { inside apt-get install -y -o APT::Status-Fd=3 "${sdk_packages[@]}" "${driver_packages[@]}" \
               "${debian_packages[@]}" 3>&1 >>"$log" 2>&1 | progress packages; }; then
        fail "the packages could not be installed"
    fi
    inside dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${debian_packages[@]}" "${sdk_packages[@]}" >>"$log" 2>&1 \
        || fail "a package is missing after the installation"
}

# Unpacks a package in the root without installing it.
unpack() {
    local package=$1 to=$2
    inside bash -c 'set -e; work=$(mktemp -d /var/tmp/unpack.XXXXXX); cd "$work"
        apt-get download -o APT::Sandbox::User=root "$1"; rm -rf "$2"; mkdir -p "$2"; dpkg -x ./*.deb "$2"; rm -rf "$work"' \
        unpack "$package" "$to" >>"$log" 2>&1
}

install_swiftshader() {
    [[ ! -e $root/opt/swiftshader/vk_swiftshader_icd.json ]] || return 0
    say "fetching SwiftShader"
    local to=$root/opt/swiftshader from=$root/var/tmp/swiftshader
    unpack "$swiftshader_package" /var/tmp/swiftshader || fail "$swiftshader_package could not be unpacked"
    rm -rf "$to"; mkdir -p "$to"
    mv "$from"/usr/lib/chromium/libvk_swiftshader.so "$to/"
    sed 's|"library_path" *: *"[^"]*"|"library_path": "/opt/swiftshader/libvk_swiftshader.so"|' \
        "$from"/usr/lib/chromium/vk_swiftshader_icd.json >"$to/vk_swiftshader_icd.json"
    rm -rf "$from"
}

install_photos() {
    [[ ! -e $root/opt/photos/china.jpg || ! -e $root/opt/photos/flower.jpg ]] || return 0
    say "fetching photographs"
    local to=$root/opt/photos from=$root/var/tmp/photos package name file
    mkdir -p "$to"
    for package in "${photo_packages[@]}"; do
        unpack "$package" /var/tmp/photos || continue
        for name in china.jpg flower.jpg; do
            file=$(find "$from" -name "$name" -type f -print -quit)
            [[ -z $file ]] || cp "$file" "$to/$name"
        done
        rm -rf "$from"
        [[ -e $to/china.jpg && -e $to/flower.jpg ]] && return 0
    done
    fail "no package has china.jpg and flower.jpg"
}

# What only tests need, and has to be compiled: not part of every root.
install_intel_shim() {
    local folder=/opt/drm-shim
    rm -rf "${root:?}$folder"
    cp "$lib/intel-shim.sh" "$root/var/tmp/intel-shim.sh"
    inside bash /var/tmp/intel-shim.sh "$folder" 3>&2 >>"$log" 2>&1 ||
        fail "Intel's no-op shim could not be built, which the tests of its driver need (the root is fine without it)"
    rm -f "$root/var/tmp/intel-shim.sh"
    printf '%s\n' "$shim_hash" >"$root$folder/.recipe"
}

make_root() {
    host_packages
    if [[ -e $root/.sectile-recipe ]]; then
        say "the root's recipe has changed: bringing it up to date"
        rm -f "$root/.sectile-recipe"
    else
        bootstrap
    fi
    configure_apt
    mount_all
    install_packages
    inside apt-get clean
    install_the_rest
}

# Side by side: each waits for its own downloads.
install_the_rest() {
    local drivers photos shim=""
    install_swiftshader & drivers=$!
    install_photos & photos=$!
    [[ -z $shim_hash ]] || { install_intel_shim & shim=$!; }
    wait "$drivers"
    wait "$photos"
    printf '%s\n' "$hash" >"$root/.sectile-recipe"
    [[ -z $shim ]] || wait "$shim"
}

main() {
    local begin=$SECONDS
    mkdir -p "$repo/.cache"
    if [[ -e $root/.sectile-recipe && $(<"$root/.sectile-recipe") == "$hash" ]]; then
        mount_all
        [[ -z $shim_hash ]] || install_intel_shim
    else
        make_root
    fi
    say "the root is ready ($((SECONDS - begin)) s)"
}

main
