#!/usr/bin/env bash
# The packages that CPack makes of a build. usage: packages.sh deb|source BUILD WORK
#   deb      .deb packages, unpacked: what is in them, what they depend on; the command runs and a C program is built
#   source   the archive: it configures with cmake and a compiler alone
# With SECTILE_THOROUGH in the environment both go through a clean Debian 13 (debootstrap, from the network; needs root):
# apt installs the .deb packages there, and the archive is built there, with cmake, g++ and make.
set -euo pipefail
part=$1 build=$(realpath -- "$2") work=$3
source=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
die() { echo "packages.sh: $*" >&2; exit 1; }

rm -rf "$work"
mkdir -p "$work"
work=$(realpath -- "$work")

# A clean root, without what the tests' root has. Its packages come from where debootstrap finds them.
clean_root() {
    ((EUID == 0)) || die "SECTILE_THOROUGH: a clean root needs root"
    debootstrap --variant=minbase trixie "$work/clean" >"$work/debootstrap.log" 2>&1 ||
        { tail -20 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
    cp /etc/resolv.conf "$work/clean/etc/resolv.conf"
    [[ -z $(find "$work/clean/usr" -name '*sectile*' -o -name 'libfmt*' -o -name 'vulkan*') ]] || die "the root is not clean"
}
in_clean() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$work/clean" "$@"
}
apt_in_clean() {
    in_clean apt-get install -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
        { tail -20 "$work/apt.log" >&2; die "apt-get install $* failed"; }
}

try_command='set -e
sectile --version
sectile plan "permute f16 2x300x500 axes=0,2,1" --target nvidia-hopper | grep -q permute_
sectile plan "matmul f16 nn 512x512x512" --target lavapipe | grep -q matmul_'
program=$source/tests/capi/program.c

deb() {
    local compression=none package
    [[ ! ${SECTILE_THOROUGH:-} ]] || compression=xz
    cpack --config "$build/CPackConfig.cmake" -B "$work/packages" -D "CPACK_DEBIAN_COMPRESSION_TYPE=$compression" \
        >"$work/cpack.log" 2>&1 || { tail -20 "$work/cpack.log" >&2; die "cpack failed"; }
    local library
    library=$(echo "$work"/packages/libsectile[0-9]*.deb)
    [[ -e $library ]] || die "no libsectileN: $(ls "$work/packages")"
    # The number in the name is that of the SONAME.
    dpkg-deb --fsys-tarfile "$library" | tar t >"$work/list"
    grep -q "/libsectile.so.$(basename "$library" | sed -E 's/libsectile([0-9]+)_.*/\1/')\$" "$work/list" || die "another SONAME"
    for package in "$work"/packages/*.deb; do
        dpkg-deb -x "$package" "$work/all"
        dpkg-deb -f "$package" Depends >"$work/depends"
        ! grep -qE 'fmt|vulkan|spirv' "$work/depends" || die "$package depends on $(<"$work/depends")"
        package=$(dpkg-deb -f "$package" Package)
        [[ $package == *-dev ]] || grep -qE 'libc6 .*libstdc\+\+6 ' "$work/depends" || die "$package: no dependences"
        grep -q 'Victor Zverovich' "$work/all/usr/share/doc/$package/copyright" || die "$package: no notices"
        [[ -s $work/all/usr/share/doc/$package/LICENSE ]] || die "$package: no licence"
    done
    if [[ ! ${SECTILE_THOROUGH:-} ]]; then
        PATH=$work/all/usr/bin:$PATH bash -c "$try_command"
        local flags pc
        pc=$(dirname -- "$(find "$work/all" -name sectile.pc)")
        flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs sectile)
        # shellcheck disable=SC2086
        cc "$program" -o "$work/program" $flags
        LD_LIBRARY_PATH=$(dirname -- "$pc") "$work/program"
        return
    fi
    clean_root
    cp "$work"/packages/*.deb "$program" "$work/clean/tmp/"
    in_clean apt-get update >/dev/null
    in_clean sh -c 'cd /tmp && apt-get install -y --no-install-recommends ./*.deb' >"$work/apt.log" 2>&1 ||
        { tail -20 "$work/apt.log" >&2; die "apt does not install the packages"; }
    in_clean sh -c "$try_command"
    apt_in_clean gcc libc6-dev pkg-config
    in_clean sh -c 'set -e; cd /tmp
        cc program.c -o shared $(pkg-config --cflags --libs sectile) && ./shared'
    # The archive wants the C++ library, which the package recommends.
    apt_in_clean g++
    in_clean sh -c 'set -e; cd /tmp
        cc program.c -o archive $(pkg-config --cflags --libs sectile-static) && ./archive'
    in_clean sh -c 'apt-get remove -y sectile "libsectile*"' >/dev/null
    [[ -z $(find "$work/clean/usr" -name '*sectile*') ]] || die "something is left after apt-get remove"
}

source_archive() {
    cpack --config "$build/CPackSourceConfig.cmake" -B "$work/packages" >"$work/cpack.log" 2>&1 ||
        { tail -20 "$work/cpack.log" >&2; die "cpack failed"; }
    local archive
    archive=$(echo "$work"/packages/sectile-*.tar.gz)
    mkdir "$work/unpacked"
    tar xf "$archive" -C "$work/unpacked" --strip-components=1
    [[ -s $work/unpacked/LICENSE && -s $work/unpacked/THIRD-PARTY.txt ]] || die "no licences"
    if [[ ! ${SECTILE_THOROUGH:-} ]]; then
        # Whatever package it asked for would be missing.
        cmake -S "$work/unpacked" -B "$work/configured" \
            -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON \
            -DCMAKE_DISABLE_FIND_PACKAGE_volk=ON -DCMAKE_DISABLE_FIND_PACKAGE_Glslang=ON -DCMAKE_DISABLE_FIND_PACKAGE_Zstd=ON \
            >"$work/configure.log" 2>&1 || { tail -20 "$work/configure.log" >&2; die "it does not configure"; }
        ! grep -rhoE '[^ ]*/usr/(local/)?include/(fmt|nlohmann|CLI|vulkan)[^ ]*' "$work/configured/CMakeCache.txt" ||
            die "it takes headers of the system"
        return
    fi
    clean_root
    in_clean apt-get update >/dev/null
    apt_in_clean cmake g++ make
    cp -r "$work/unpacked" "$work/clean/tmp/sectile"
    in_clean sh -c "cd /tmp/sectile && cmake -S . -B build -DSECTILE_UNITY=ON && nice cmake --build build --parallel ${SECTILE_JOBS:-$(nproc)} &&
        cmake --install build" >"$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; die "it does not build"; }
    in_clean sh -c "$try_command"
    in_clean sh -c 'cd /tmp && cc -I/usr/local/include sectile/tests/capi/program.c -o program -L/usr/local/lib -lsectile && ldconfig && ./program'
}

case $part in
    deb) deb ;;
    source) source_archive ;;
    *) die "which part?" ;;
esac
# A clean root is large.
rm -rf "$work/clean" "$work/all"
