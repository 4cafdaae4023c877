#include "facts.hpp"

#include "capabilities.hpp"
#include "spirv_words.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace sectile::module {
namespace {

struct Size {
  std::uint64_t bytes = 0, align = 1;
};

// Sizes of types and values of integer constants, for variables of workgroup memory.
class Reader {
 public:
  void take(const Instruction& i) {
    switch (i.op) {
      case OpTypeInt:
      case OpTypeFloat:
        sizes_[i[1]] = {i[2] / 8, std::max(i[2] / 8, 1u)};
        break;
      case OpTypeBool:
        sizes_[i[1]] = {4, 4};
        break;
      case OpTypeVector: {
        const Size part = size(i[2]);
        sizes_[i[1]] = {part.bytes * i[3], std::max<std::uint64_t>(part.bytes * (i[3] == 3 ? 4 : i[3]), 1)};
        break;
      }
      case OpTypeArray: {
        const Size part = size(i[2]);
        sizes_[i[1]] = {part.bytes * constants_[i[3]], part.align};
        break;
      }
      case OpTypeStruct:
        add_struct(i);
        break;
      case OpTypePointer:
        pointees_[i[1]] = i[3];
        break;
      case OpConstant:
      case OpSpecConstant:
        constants_[i[2]] = i[3];
        break;
      case OpConstantComposite:
        if (i.size() > 3) composites_[i[2]] = std::vector(i.words.begin() + 3, i.words.end());
        break;
      case OpVariable:
        if (i[3] == StorageWorkgroup) place(size(pointees_[i[1]]));
        break;
      default:
        break;
    }
  }

  std::uint64_t workgroup_bytes() const noexcept { return workgroup_bytes_; }
  std::uint32_t constant(std::uint32_t id) const {
    const auto found = constants_.find(id);
    return found == constants_.end() ? 0 : found->second;
  }
  std::vector<std::uint32_t> composite(std::uint32_t id) const {
    const auto found = composites_.find(id);
    return found == composites_.end() ? std::vector<std::uint32_t>{} : found->second;
  }

 private:
  Size size(std::uint32_t type) const {
    const auto found = sizes_.find(type);
    return found == sizes_.end() ? Size{} : found->second;
  }
  void add_struct(const Instruction& i) {
    Size all;
    for (std::size_t m = 2; m < i.size(); ++m) {
      const Size part = size(i[m]);
      all.bytes = (all.bytes + part.align - 1) / part.align * part.align + part.bytes;
      all.align = std::max(all.align, part.align);
    }
    all.bytes = (all.bytes + all.align - 1) / all.align * all.align;
    sizes_[i[1]] = all;
  }
  void place(Size what) {
    const std::uint64_t align = std::max<std::uint64_t>(what.align, 1);
    workgroup_bytes_ = (workgroup_bytes_ + align - 1) / align * align + what.bytes;
  }

  std::unordered_map<std::uint32_t, Size> sizes_;
  std::unordered_map<std::uint32_t, std::uint32_t> pointees_, constants_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> composites_;
  std::uint64_t workgroup_bytes_ = 0;
};

Result<void> add_needs(ModuleFacts& facts, std::span<const std::uint32_t> words) {
  const auto numbers = read_capabilities(words);
  if (!numbers) return std::unexpected(numbers.error());
  std::set<std::string> features, extensions;
  for (const std::uint32_t number : *numbers) {
    const Capability* row = find_capability(number);
    if (row == nullptr)
      return fail(ErrorKind::unsupported, "SPIR-V", capability_name(number), "a capability that Sectile knows");
    facts.capabilities.emplace_back(row->name);
    if (!row->feature.empty()) features.emplace(row->feature);
    if (!row->extension.empty()) extensions.emplace(row->extension);
    if (!row->operations.empty()) facts.subgroup_operations.emplace_back(row->operations);
  }
  facts.features.assign(features.begin(), features.end());
  facts.device_extensions.assign(extensions.begin(), extensions.end());
  return {};
}

bool is_spec_constant(std::uint32_t op) noexcept { return op >= OpSpecConstantTrue && op <= OpSpecConstantOp; }

}  // namespace

Result<ModuleFacts> read_facts(std::span<const std::uint32_t> words) {
  const auto instructions = read_instructions(words);
  if (!instructions) return std::unexpected(instructions.error());
  ModuleFacts facts;
  facts.version = (words[kVersionWord] >> 16 & 0xffu) * 1000 + (words[kVersionWord] >> 8 & 0xffu);
  if (auto added = add_needs(facts, words); !added) return std::unexpected(added.error());

  Reader reader;
  std::uint32_t entry_points = 0, size_constant = 0;
  for (const Instruction& i : *instructions) {
    reader.take(i);
    facts.specialized += is_spec_constant(i.op) ? 1 : 0;
    if (i.op == OpExtension) facts.spirv_extensions.push_back(literal_string(i, 1));
    if (i.op == OpEntryPoint && i.size() > 3 && i[1] == kModelGLCompute) {
      ++entry_points;
      facts.entry_point = literal_string(i, 3);
    }
    if (i.op == OpExecutionMode && i.size() == 6 && i[2] == ModeLocalSize) facts.workgroup = {i[3], i[4], i[5]};
    if (i.op == OpDecorate && i.size() == 4 && i[2] == DecorationSpecId) facts.specialization_ids.push_back(i[3]);
    if (i.op == OpDecorate && i.size() == 4 && i[2] == DecorationBuiltIn && i[3] == kBuiltInWorkgroupSize)
      size_constant = i[1];
  }
  if (entry_points != 1)
    return fail(ErrorKind::parse, "SPIR-V", std::to_string(entry_points) + " compute entry points", "1");
  // The built-in constant, where there is one, overrides the execution mode.
  if (const auto parts = reader.composite(size_constant); parts.size() == 3)
    facts.workgroup = {reader.constant(parts[0]), reader.constant(parts[1]), reader.constant(parts[2])};
  facts.workgroup_memory_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(reader.workgroup_bytes(), ~0u));
  std::ranges::sort(facts.specialization_ids);
  return facts;
}

}  // namespace sectile::module
