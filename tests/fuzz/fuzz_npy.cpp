// Whatever bytes a .npy file holds: no crash, no allocation beyond its size, and what is accepted
// means the same when it is written again.
#include "cli/npy.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  const auto array = sectile::tools::parse_npy(file);
  if (!array) {
    if (array.error().message().empty()) std::abort();
    return 0;
  }
  if (array->data.size() != array->header.data_bytes) std::abort();
  if (array->header.data_bytes > 0 && array->header.strides().size() != array->header.shape.size()) std::abort();

  // Written again (in C order whatever it was), the header must say the same.
  std::string again = sectile::tools::npy_header_text(array->header.descr, array->header.shape);
  const std::uint64_t begin = again.size();
  const auto reread =
      sectile::tools::parse_npy_header(std::as_bytes(std::span(again)), begin + array->header.data_bytes);
  if (!reread || reread->shape != array->header.shape || reread->descr != array->header.descr || begin % 64 != 0)
    std::abort();
  return 0;
}
