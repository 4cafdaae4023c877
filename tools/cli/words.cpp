#include "words.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace sectile::tools {
namespace {

// By the enumerations' order.
constexpr std::string_view kFormats[] = {"plain", "q8", "q4"}, kAxes[] = {"none", "row", "column"},
                           kImageLayouts[] = {"nchw", "nhwc", "nchw4c", "nchw8c"},
                           kFilterLayouts[] = {"kcrs", "krsc", "rsck"};

template <class E>
Result<E> parse(std::string_view what, std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<E>(found - words.begin());
  std::string want;
  for (std::size_t i = 0; i < words.size(); ++i)
    want += std::string(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return fail(ErrorKind::invalid_problem, std::string(what), std::string(text), want);
}

}  // namespace

std::string word_of(const detail::ActivationWords& activation) {
  if (activation.which == Activation::none) return "none";
  return detail::activation_text(activation) + (activation.last ? " last" : "");
}
std::string_view word_of(WeightFormat format) noexcept { return kFormats[std::to_underlying(format)]; }
std::string_view word_of(PerAxis axis) noexcept { return kAxes[std::to_underlying(axis)]; }
std::string_view word_of(ImageLayout layout) noexcept { return kImageLayouts[std::to_underlying(layout)]; }
std::string_view word_of(FilterLayout layout) noexcept { return kFilterLayouts[std::to_underlying(layout)]; }

Result<detail::ActivationWords> parse_activation(std::string_view text, bool last) {
  detail::ActivationWords words{.last = last};
  const std::string want = "none, " + detail::activation_names(true);
  if (text == "none") return words;
  if (!detail::names_activation({text})) return fail(ErrorKind::invalid_problem, "activation", std::string(text), want);
  if (auto ok = detail::parse_activation("activation", {text}, want, words); !ok) return std::unexpected(ok.error());
  return words;
}
Result<ImageLayout> parse_image_layout(std::string_view text) {
  return parse<ImageLayout>("layout", text, kImageLayouts);
}
Result<FilterLayout> parse_filter_layout(std::string_view text) {
  return parse<FilterLayout>("weights", text, kFilterLayouts);
}

}  // namespace sectile::tools
