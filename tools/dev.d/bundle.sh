# Gathers sources, third-party headers and compiled SPIR-V into a folder that builds with cmake and a compiler alone.
# Runs at the place of the build. usage: bundle.sh DIR [BUILD]   (BUILD: a build folder with the SPIR-V; build/release)
set -euo pipefail
repo=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
to=$1
build=${2:-$repo/build/release}
limit=$((64 << 20))

die() { printf 'dev: error: bundle: %s\n' "$*" >&2; exit 1; }

# Prints the include folder that holds a header.
include_of() {
    local folder
    for folder in /usr/include /usr/local/include ${VULKAN_SDK:+"$VULKAN_SDK/include"}; do
        [[ -e $folder/$1 ]] && { printf '%s' "$folder"; return 0; }
    done
    die "no header $1"
}

copy_sources() {
    local item
    for item in CMakeLists.txt CMakePresets.json LICENSE THIRD-PARTY.txt cmake include src shaders; do cp -r "$repo/$item" "$to/"; done
    [[ ! -e $repo/README.md ]] || cp "$repo/README.md" "$to/"
    cp -r "$repo/tests" "$to/tests"
    mkdir -p "$to/tools"
    (cd "$repo/tools" && find . \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.py' \) -print0 |
        xargs -0 cp --parents -t "$to/tools")
}

copy_headers() {
    local include=$to/third_party/include from item
    mkdir -p "$include/vulkan" "$include/stb"
    from=$(include_of vulkan/vulkan_core.h)
    # C headers only: the C++ ones are 20 MB and nobody here includes them.
    cp "$from"/vulkan/{vk_platform,vulkan,vulkan_core}.h "$include/vulkan/"
    cp -r "$from/vk_video" "$include/"
    for item in volk.h volk.c vk_mem_alloc.h xxhash.h CLI nlohmann fmt doctest; do
        cp -r "$(include_of "$item")/$item" "$include/"
    done
    cp "$(include_of stb/stb_image.h)"/stb/{stb_image,stb_image_write}.h "$include/stb/"
    # xxhash.h on some systems includes its sibling.
    from=$(include_of xxhash.h)
    [[ ! -e $from/xxh3.h ]] || cp "$from/xxh3.h" "$include/"
    mkdir -p "$to/third_party/licenses"
    for item in libvulkan-dev libvulkan-volk-dev libvulkan-memory-allocator-dev libxxhash-dev libcli11-dev \
        nlohmann-json3-dev libfmt-dev doctest-dev libstb-dev; do
        [[ ! -r /usr/share/doc/$item/copyright ]] || cp "/usr/share/doc/$item/copyright" "$to/third_party/licenses/$item"
    done
}

copy_spirv() {
    local name
    mkdir -p "$to/spirv"
    while read -r name; do
        [[ -e $build/spirv/$name ]] || die "$build has no $name: build the target sectile_spirv_modules first"
        cp "$build/spirv/$name" "$to/spirv/"
    done <"$build/spirv/modules.txt"
}

rm -rf "$to"
mkdir -p "$to"
copy_sources
copy_headers
copy_spirv
cat >"$to/BUILD" <<'TEXT'
This folder builds with cmake (3.25) and g++ (12 or later) alone, without network and without glslang:

    cmake -S . -B build && cmake --build build --parallel

Third-party headers stand in third_party/include, compiled kernels in spirv/; CMake finds both by itself. The kernels are
embedded as they are: with libzstd and the zstd command here, -DSECTILE_COMPRESS=ON makes programs 6 MB smaller.
The command is build/sectile. It loads Vulkan (libvulkan.so.1) when it starts, and CUDA (libcuda.so.1, libnvrtc.so)
when it is first asked for a CUDA device.

Tests that need no package but doctest are here too; on a machine with a GPU (SECTILE_REQUIRE turns skips into failures):

    cmake -S . -B build -DSECTILE_BUILD_TESTS=ON && cmake --build build --parallel --target test_cuda test_vulkan
    SECTILE_REQUIRE=cuda,nvrtc build/test_cuda
TEXT
size=$(du -sb "$to" | cut -f1)
((size < limit)) || die "$size bytes are more than $limit"
printf 'dev: bundle: %d files, %d MiB\n' "$(find "$to" -type f | wc -l)" $(((size + (1 << 20) - 1) >> 20)) >&2
