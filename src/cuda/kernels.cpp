#include "kernels.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

namespace sectile::cuda {
namespace {

constexpr std::string_view kVariantMark = "//! variant ";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return out;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t\r"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// The words of each `//! variant` line after the mark: name, then -D options.
std::vector<std::vector<std::string_view>> variants_of(std::string_view text) {
  std::vector<std::vector<std::string_view>> out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(kVariantMark)) continue;
    if (auto words = words_of(line.substr(kVariantMark.size())); !words.empty()) out.push_back(std::move(words));
  }
  return out;
}

// -DNAME=VALUE as a #define; -DNAME is 1, as on a command line.
Result<std::string> define_of(std::string_view option, const std::string& kernel) {
  constexpr std::string_view kDefine = "-D";
  if (!option.starts_with(kDefine) || option.size() == kDefine.size())
    return fail(ErrorKind::parse, kernel, std::string(option), "-DNAME or -DNAME=VALUE in a //! variant line");
  option.remove_prefix(kDefine.size());
  const auto equal = option.find('=');
  const std::string_view value = equal == std::string_view::npos ? "1" : option.substr(equal + 1);
  return fmt::format("#define {} {}\n", option.substr(0, equal), value);
}

const EmbeddedSource* find_in(std::span<const EmbeddedSource> sources, std::string_view stem) {
  const auto found = std::ranges::find(sources, stem, &EmbeddedSource::stem);
  return found == sources.end() ? nullptr : &*found;
}

std::string joined(std::string_view what, const std::vector<std::string_view>& names) {
  if (names.empty()) return "a CUDA kernel, and there is none";
  std::string out;
  for (const std::string_view name : names)
    fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : ", ", name);
  return fmt::format("{} {}", what, out);
}

std::string constants_text(std::span<const Constant> constants) {
  std::string rows;
  for (const Constant& constant : constants)
    fmt::format_to(std::back_inserter(rows), "{}{{{}u, {}u}}", rows.empty() ? "" : ", ", constant.id, constant.value);
  // An array has at least one element; this one is not used.
  if (rows.empty()) rows = "{0xffffffffu, 0u}";
  return fmt::format(
      "struct SectileConstant {{ unsigned id, value; }};\n"
      "constexpr SectileConstant sectile_constants[] = {{{}}};\n",
      rows);
}

}  // namespace

Result<KernelText> kernel_text(const Step& step, std::span<const EmbeddedSource> extra) {
  const std::string kernel = step.kernel.stem + "." + step.kernel.variant;
  const EmbeddedSource* source = find_in(extra, step.kernel.stem);
  if (source == nullptr) source = find_in(embedded_cuda_sources(), step.kernel.stem);
  if (source == nullptr) {
    std::vector<std::string_view> stems;
    for (const auto sources : {extra, embedded_cuda_sources()})
      for (const EmbeddedSource& there : sources) stems.push_back(there.stem);
    return fail(ErrorKind::missing, "CUDA kernel", kernel, joined("one of", stems));
  }
  const auto variants = variants_of(source->text);
  const auto variant =
      std::ranges::find_if(variants, [&](const auto& words) { return words.front() == step.kernel.variant; });
  if (variant == variants.end()) {
    std::vector<std::string_view> names;
    names.reserve(variants.size());
    for (const auto& words : variants) names.push_back(words.front());
    return fail(ErrorKind::missing, "CUDA kernel", kernel, joined("variant", names));
  }
  KernelText out{kernel + ".cu", {}};
  for (const std::string_view option : std::span(*variant).subspan(1)) {
    const auto define = define_of(option, kernel);
    if (!define) return std::unexpected(define.error());
    out.text += *define;
  }
  out.text += constants_text(step.constants);
  // Line numbers in the log are those of the file.
  out.text += fmt::format("#line 1 \"{}.cu\"\n", step.kernel.stem);
  out.text += source->text;
  return out;
}

std::string code_key(const KernelText& kernel, std::string_view architecture, int nvrtc_major, int nvrtc_minor) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  // Hashes lengths between the parts, so that different lists of parts differ.
  const auto add = [&](std::string_view part) {
    const std::uint64_t size = part.size();
    XXH3_128bits_update(&state, &size, sizeof(size));
    XXH3_128bits_update(&state, part.data(), part.size());
  };
  add(kernel.name);
  add(kernel.text);
  for (const EmbeddedSource& header : embedded_cuda_headers()) {
    add(header.stem);
    add(header.text);
  }
  add(architecture);
  add(fmt::format("{}.{}", nvrtc_major, nvrtc_minor));
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace sectile::cuda
