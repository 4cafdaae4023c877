#include "push_types.hpp"

#include <algorithm>

namespace sectile::spirv {

using namespace sectile::module;

std::unexpected<Error> cannot_freeze(std::string value, std::string limit) {
  return fail(ErrorKind::unsupported, "freezing push constants", std::move(value), std::move(limit));
}

void PushTypes::read(const Instruction& i) {
  switch (i.op) {
    case OpTypePointer:
      types_[i[1]] = i;
      pointers_.try_emplace({i[2], i[3]}, i[1]);
      break;
    case OpTypeInt:
    case OpTypeFloat:
    case OpTypeVector:
    case OpTypeArray:
    case OpTypeStruct:
      types_[i[1]] = i;
      break;
    case OpConstant:
      constants_[i[2]] = i[3];
      break;
    case OpDecorate:
      if (i[2] == DecorationArrayStride) strides_[i[1]] = i[3];
      break;
    case OpMemberDecorate:
      if (i[3] == DecorationOffset) offsets_[{i[1], i[2]}] = i[4];
      break;
    case OpVariable:
      if (i[3] == StoragePushConstant) variables_[i[2]] = {types_[i[1]][3], 0};
      break;
    default:
      break;
  }
}

const std::uint32_t* PushTypes::constant(std::uint32_t id) const {
  const auto found = constants_.find(id);
  return found == constants_.end() ? nullptr : &found->second;
}

std::uint32_t PushTypes::length(std::uint32_t id) const {
  const std::uint32_t* value = constant(id);
  return value == nullptr ? 0 : *value;
}

std::uint32_t PushTypes::stride(std::uint32_t type) const {
  const auto found = strides_.find(type);
  return found == strides_.end() ? size(types_.at(type)[2]) : found->second;
}

std::uint32_t PushTypes::size(std::uint32_t id) const {
  const auto found = types_.find(id);
  if (found == types_.end()) return 0;
  const Instruction& type = found->second;
  if (type.op == OpTypeInt || type.op == OpTypeFloat) return type[2] / 8;
  if (type.op == OpTypeVector) return size(type[2]) * type[3];
  if (type.op == OpTypeArray) {
    const std::uint32_t count = length(type[3]);
    return count == 0 ? 0 : (count - 1) * stride(id) + size(type[2]);
  }
  std::uint32_t end = 0;
  if (type.op == OpTypeStruct)
    for (std::uint32_t m = 0; m + 2 < type.size(); ++m)
      if (const auto at = offsets_.find({id, m}); at != offsets_.end())
        end = std::max(end, at->second + size(type[m + 2]));
  return end;
}

std::uint32_t PushTypes::parts(const Instruction& type) const {
  if (type.op == OpTypeArray) return length(type[3]);
  return type.op == OpTypeVector ? type[3] : static_cast<std::uint32_t>(type.size() - 2);
}

Result<Place> PushTypes::step(Place place, std::uint32_t index) const {
  const Instruction& type = types_.at(place.type);
  if (type.op == OpTypeStruct) {
    const auto offset = offsets_.find({place.type, index});
    if (offset == offsets_.end()) return cannot_freeze("a push member without an offset");
    return Place{type[2 + index], place.offset + offset->second};
  }
  if (type.op == OpTypeArray) {
    const std::uint32_t count = length(type[3]);
    if (index >= count)
      return cannot_freeze("push array element " + std::to_string(index), "less than " + std::to_string(count));
    return Place{type[2], place.offset + index * stride(place.type)};
  }
  if (type.op == OpTypeVector) return Place{type[2], place.offset + index * size(type[2])};
  return cannot_freeze("a push member of SPIR-V type " + std::to_string(type.op));
}

}  // namespace sectile::spirv
