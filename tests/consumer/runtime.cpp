// An application with a volk and a device of its own, and Sectile's runtime beside it: neither sees the other's
// functions.
#include <sectile/vulkan_runtime.hpp>

#include <array>
#include <cstdio>

extern "C" {
int own_device_opens();
int own_device_works();
void own_device_closes();
std::size_t own_table_bytes();
}

int main() {
  if (!own_device_opens()) return std::puts("the application's volk opens no device"), 1;
  auto runtime = sectile::vulkan::Runtime::open();
  if (!runtime) return std::puts(runtime.error().message().c_str()), 1;
  if (!own_device_works()) return std::puts("the application's device fails beside Sectile's"), 1;
  std::array<int, 4> in{1, 2, 3, 4}, out{};
  auto buffer = runtime->make_buffer(sizeof in);
  if (!buffer || !runtime->upload(*buffer, 0, std::as_bytes(std::span(in))) ||
      !runtime->download(*buffer, 0, std::as_writable_bytes(std::span(out))) || in != out)
    return std::puts("what was uploaded is not what is there"), 1;
  own_device_closes();
  std::printf("own volk of %zu bytes, and %s\n", own_table_bytes(), runtime->entry().name.c_str());
}
