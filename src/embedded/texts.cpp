#include "texts.hpp"

#include "frame.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace sectile::detail {
namespace {

// Up to the next `end`, which is taken too.
std::string_view take(std::string_view& rest, char end) {
  const std::size_t length = rest.find(end);
  const std::string_view word = rest.substr(0, length);
  rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
  return word;
}

}  // namespace

CudaTexts::CudaTexts(std::span<const std::byte> stored) {
  const std::uint64_t bytes = opened_bytes(stored);
  if (bytes > kMostOpened) return;
  all_.resize(static_cast<std::size_t>(bytes));
  if (open_into(std::as_writable_bytes(std::span(all_)), stored, {}) != nullptr) return;
  for (std::string_view rest = all_; !rest.empty();) {
    const std::string_view kind = take(rest, ' '), name = take(rest, ' '), size = take(rest, '\n');
    std::size_t length = 0;
    std::from_chars(size.data(), size.data() + size.size(), length);
    (kind == "source" ? sources_ : headers_).push_back({name, rest.substr(0, length)});
    rest.remove_prefix(length < rest.size() ? length : rest.size());
  }
}

}  // namespace sectile::detail
