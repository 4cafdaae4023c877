#include "spirv_words.hpp"

namespace sectile::module {

Result<std::vector<Instruction>> read_instructions(std::span<const std::uint32_t> words) {
  if (words.size() < kHeaderWords) return fail(ErrorKind::parse, "SPIR-V", std::to_string(words.size()) + " words");
  if (words[0] != kSpirvMagic) return fail(ErrorKind::parse, "SPIR-V", "no SPIR-V magic number");
  std::vector<Instruction> out;
  out.reserve(words.size() / 4);
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::size_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return fail(ErrorKind::parse, "SPIR-V",
                  "an instruction of " + std::to_string(length) + " words at word " + std::to_string(at),
                  "at most " + std::to_string(words.size() - at));
    out.push_back({words[at] & 0xffffu, words.subspan(at, length)});
    at += length;
  }
  return out;
}

std::string literal_string(const Instruction& instruction, std::size_t at) {
  std::string text;
  for (; at < instruction.size(); ++at) {
    for (unsigned byte = 0; byte < 4; ++byte) {
      const char c = static_cast<char>(instruction[at] >> (8 * byte) & 0xffu);
      if (c == '\0') return text;
      text += c;
    }
  }
  return text;
}

}  // namespace sectile::module
