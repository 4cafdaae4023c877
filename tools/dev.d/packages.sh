# What the contained root holds. A change here changes the hash of the recipe, and the root is brought up to date.

root_suite=trixie
root_backports=trixie-backports
root_sdk_suite=forky

# The SDK pieces that Debian 13 lacks or has too old: from the suite that has them, and nothing else from there.
sdk_packages=(
    glslang-dev glslang-tools spirv-tools spirv-tools-dev spirv-headers libspirv-reflect-dev spirv-cross
    libvulkan-dev libvulkan1 libvulkan-volk-dev libvulkan-memory-allocator-dev doctest-dev
    vulkan-validationlayers vulkan-utility-libraries-dev
)

# Mesa's drivers come from the backports (by their source package).
driver_packages=(mesa-vulkan-drivers mesa-drm-shim vulkan-tools)

debian_packages=(
    ca-certificates cmake ninja-build g++ pkg-config git ccache valgrind
    dpkg-dev file debootstrap
    clang clang-tidy clang-format libclang-rt-19-dev llvm-19 mold libmimalloc3
    libcli11-dev nlohmann-json3-dev libfmt-dev librapidcheck-dev libbenchmark-dev libstb-dev libxxhash-dev
    libzstd-dev zstd
    python3 python3-numpy python3-pytest python3-pip python3-setuptools
)

# Other compilers that must take the sources: fetched by `tools/dev compilers` alone.
compiler_packages=(g++-12 g++-13)

# Unpacked (dpkg -x) for a file or two, never installed.
swiftshader_package=chromium-common
photo_packages=(python3-sklearn python3-sklearn-lib)
