# Builds Mesa's no-op shim for Intel's kernel drivers, which no package has, from Debian's source of Mesa: with it
# Intel's Vulkan driver (of whatever Mesa is installed) opens without its hardware and compiles. Runs inside the root.
# usage: intel-shim.sh FOLDER    (leaves FOLDER/libintel_noop_drm_shim.so; what it does stands on descriptor 3)
#
# Of Mesa's 16000 files the shim is these 27, compiled by hand: meson and its packages would be installed for nothing
# else, and its target would build 240 objects for it (70 s; this is 4 s of compiling).
set -euo pipefail
folder=$1
work=$(mktemp -d /var/tmp/intel-shim.XXXXXX)
stage=""
finish() {
    local status=$?
    rm -rf "$work"
    ((status == 0)) || echo "Intel's no-op shim: failed at $stage"
}
trap finish EXIT
cd "$work"
at() { stage=$1; printf 'dev: Intel'"'"'s no-op shim: %s\n' "$stage" >&3; }

# Source indices are fetched here alone: no other set-up reads their 10 MB.
fetch_source() {
    local options=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=-
        -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root)
    sed -n '1s/^deb /deb-src /p' /etc/apt/sources.list >sources.list
    at "fetching Mesa's source package (47 MB; $(sed 's/\[[^]]*\] //' sources.list))"
    apt-get update "${options[@]}"
    # Its newest in the release that the root is of; the later releases' sources are not on every mirror.
    apt-get source --download-only --tar-only "${options[@]}" mesa
    # Its generators are Python with a template package; none of these is installed.
    apt-get download -o APT::Sandbox::User=root python3-mako python3-markupsafe libdrm-dev xz-utils
    local package
    for package in ./*.deb; do dpkg -x "$package" tools; done
}

unpack_source() {
    PATH=$work/tools/usr/bin:$PATH tar -xf mesa_*.orig.tar.* --strip-components=1 --wildcards \
        '*/include/*' '*/src/c11/*' '*/src/compiler/*.h' '*/src/drm-shim/*' '*/src/util/*' '*/src/vulkan/*.h' \
        '*/src/intel/common/*' '*/src/intel/dev/*' '*/src/intel/isl/*.h' '*/src/intel/tools/*'
}

generate() {
    local dev=src/intel/dev
    export PYTHONPATH=$work/tools/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
    mkdir -p made/intel/dev made/util/format
    python3 $dev/intel_device_info_serialize_gen_c.py made/intel/dev/intel_device_info_serialize_gen.c
    python3 $dev/intel_device_info_gen_h.py made/intel/dev/intel_device_info_gen.h
    python3 $dev/gen_wa_helpers.py $dev/mesa_defs.json made/intel/dev/intel_wa.h made/intel/dev/intel_wa.c
    python3 src/util/format/u_format_table.py src/util/format/u_format.yaml --enums >made/util/format/u_format_gen.h
}

compile() {
    local sources=(
        src/intel/tools/intel_noop_drm_shim.c src/drm-shim/{device,drm_shim}.c src/c11/impl/threads_posix.c
        made/intel/dev/{intel_device_info_serialize_gen,intel_wa}.c
        src/intel/dev/{i915/intel_device_info,xe/intel_device_info,intel_device_info,intel_hwconfig,intel_kmd}.c
        src/util/{anon_file,blob,futex,hash_table,log,os_file,os_misc,parson,ralloc,set,u_debug,u_printf,u_process,vma}.c
    )
    local flags=(
        -O0 -std=gnu11 -w -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -pthread
        -DNDEBUG -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
        -DHAVE_{PTHREAD,STRUCT_TIMESPEC,MEMFD_CREATE,PROGRAM_INVOCATION_NAME,SECURE_GETENV,DIRENT_D_TYPE,POSIX_MEMALIGN}
        -DHAVE_{LINUX_FUTEX_H,DLFCN_H,ENDIAN_H,LIBDRM} -DMAJOR_IN_SYSMACROS -DUSE_GCC_ATOMIC_BUILTINS
        -DHAVE___BUILTIN_{BSWAP32,BSWAP64,CLZ,CLZLL,CTZ,EXPECT,FFS,FFSLL,POPCOUNT,POPCOUNTLL,UNREACHABLE}
        -DHAVE_FUNC_ATTRIBUTE_{PACKED,NORETURN,VISIBILITY} -DSUPPORT_INTEL_INTEGRATED_GPUS
        -Imade -Isrc -Iinclude -Imade/intel -Isrc/intel -Imade/intel/dev -Isrc/intel/dev -Isrc/util -Isrc/drm-shim
        -Isrc/intel/tools -Itools/usr/include/libdrm -Itools/usr/include
    )
    local libdrm
    libdrm=$(ldconfig -p | awk '$1 == "libdrm.so.2" { print $NF; exit }')
    mkdir objects
    # shellcheck disable=SC2016
    printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I {} \
        sh -c 'from=$1; shift; exec cc "$@" -c "$from" -o "objects/$(printf %s "$from" | tr / _).o"' compile {} "${flags[@]}"
    cc -shared -Wl,--gc-sections -Wl,--no-undefined -Wl,-soname,libintel_noop_drm_shim.so -o shim.so objects/*.o \
        -pthread -ldl -lm "$libdrm"
}

fetch_source
at "unpacking"
unpack_source
at "compiling"
generate
compile
mkdir -p "$folder"
mv shim.so "$folder/libintel_noop_drm_shim.so"
