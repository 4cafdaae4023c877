# The folder of third-party headers that SECTILE_THIRD_PARTY names. Sourced by bundle.sh and foreign.sh, which have die().
# shellcheck shell=bash

# Prints the include folder that holds a header.
include_of() {
    local folder
    for folder in /usr/include /usr/local/include ${VULKAN_SDK:+"$VULKAN_SDK/include"}; do
        [[ -e $folder/$1 ]] && { printf '%s' "$folder"; return 0; }
    done
    die "no header $1"
}

# usage: copy_headers FOLDER
copy_headers() {
    local include=$1 from item
    mkdir -p "$include/vulkan" "$include/stb"
    from=$(include_of vulkan/vulkan_core.h)
    # C headers only: the C++ ones are 20 MB and nobody here includes them.
    cp -p "$from"/vulkan/{vk_platform,vulkan,vulkan_core}.h "$include/vulkan/"
    cp -rp "$from/vk_video" "$include/"
    for item in volk.h volk.c vk_mem_alloc.h xxhash.h CLI nlohmann fmt doctest; do
        cp -rp "$(include_of "$item")/$item" "$include/"
    done
    cp -p "$(include_of stb/stb_image.h)"/stb/{stb_image,stb_image_write}.h "$include/stb/"
    # xxhash.h on some systems includes its sibling.
    from=$(include_of xxhash.h)
    [[ ! -e $from/xxh3.h ]] || cp -p "$from/xxh3.h" "$include/"
}
