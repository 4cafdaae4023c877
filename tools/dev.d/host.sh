# Checks whether the host has what CMake requires. Sourced by tools/dev.
# shellcheck shell=bash disable=SC2154

host_header() {
    local name=$1 folder
    for folder in /usr/include /usr/local/include ${VULKAN_SDK:+"$VULKAN_SDK/include"}; do
        [[ -e $folder/$name ]] && { printf '%s' "$folder/$name"; return 0; }
    done
    return 1
}

host_glslang() { command -v glslang || command -v glslangValidator; }

# Prints the first missing thing, or nothing. An old system is recognized by the first checks.
host_missing() {
    local header version tool name
    header=$(host_header vulkan/vulkan_core.h) || { echo "Vulkan headers"; return; }
    version=$(awk '$2 == "VK_HEADER_VERSION" { print $3; exit }' "$header")
    grep -q VK_VERSION_1_4 "$header" && ((version >= 311)) || { echo "Vulkan headers 1.4.311 (has $version)"; return; }
    for tool in cmake ninja spirv-val spirv-opt zstd c++ python3; do
        command -v "$tool" >/dev/null || { echo "$tool"; return; }
    done
    host_glslang >/dev/null || { echo "glslang"; return; }
    for name in volk.h vk_mem_alloc.h CLI/CLI.hpp nlohmann/json.hpp fmt/format.h xxhash.h zstd.h \
        doctest/doctest.h rapidcheck.h benchmark/benchmark.h; do
        host_header "$name" >/dev/null || { echo "$name"; return; }
    done
    host_header stb/stb_image.h >/dev/null || { echo "stb/stb_image.h"; return; }
    host_header spirv_reflect/spirv_reflect.h >/dev/null || host_header spirv_reflect.h >/dev/null ||
        { echo "spirv_reflect.h"; return; }
    printf '#version 460\n#extension GL_EXT_bfloat16 : require\nlayout(local_size_x=1) in;\nvoid main() { bfloat16_t x = bfloat16_t(1.0); }\n' |
        "$(host_glslang)" --stdin -S comp -V --target-env vulkan1.3 -o /dev/null >/dev/null 2>&1 ||
        { echo "glslang with GL_EXT_bfloat16"; return; }
}

use_root() {
    case ${SECTILE_ROOT:-auto} in
        always) return 0 ;;
        never)  return 1 ;;
        auto)   [[ -n $(host_missing) ]] ;;
        *)      die "SECTILE_ROOT is auto, always or never, not '$SECTILE_ROOT'" ;;
    esac
}
