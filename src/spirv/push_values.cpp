#include "push_values.hpp"

#include <string>

namespace sectile::spirv {

using namespace sectile::module;

void put(std::vector<std::uint32_t>& out, std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
  out.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  out.insert(out.end(), operands);
}

void finish_line(std::vector<std::uint32_t>& line, std::uint32_t op) {
  line[0] = static_cast<std::uint32_t>(line.size()) << 16 | op;
}

Result<std::uint32_t> PushValues::constant_of(std::uint32_t type, Place place) {
  if (const auto known = constants_.find({type, place.offset}); known != constants_.end()) return known->second;
  const Instruction& shape = types_.type(place.type);
  const bool scalar = shape.op == OpTypeInt || shape.op == OpTypeFloat;
  const auto id = scalar ? number(type, shape, place) : composite(type, shape, place);
  if (id) constants_[{type, place.offset}] = *id;
  return id;
}

Result<std::uint32_t> PushValues::number(std::uint32_t type, const Instruction& shape, Place place) {
  const std::uint32_t bytes = shape[2] / 8;
  if (place.offset + bytes > bytes_.size())
    return fail(ErrorKind::limit_exceeded, "frozen push bytes", std::to_string(bytes_.size()),
                "at least " + std::to_string(place.offset + bytes));
  std::uint64_t value = 0;
  for (std::uint32_t b = 0; b < bytes; ++b) value |= std::uint64_t{bytes_[place.offset + b]} << (8 * b);
  // Narrow signed integers are sign-extended in a word.
  // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): no number of SPIR-V has less than 8 bits
  if (shape.op == OpTypeInt && shape[3] == 1 && bytes < 4 && (value >> (8 * bytes - 1) & 1u) != 0)
    value |= ~std::uint64_t{0} << (8 * bytes);
  const std::uint32_t id = bound_++;
  const auto low = static_cast<std::uint32_t>(value), high = static_cast<std::uint32_t>(value >> 32);
  if (bytes == 8)
    put(added_, OpConstant, {type, id, low, high});
  else
    put(added_, OpConstant, {type, id, low});
  return id;
}

Result<std::uint32_t> PushValues::composite(std::uint32_t type, const Instruction& shape, Place place) {
  std::vector<std::uint32_t> line = {0, type, 0};
  const std::uint32_t parts = types_.parts(shape);
  for (std::uint32_t p = 0; p < parts; ++p) {
    const auto inner = types_.step(place, p);
    if (!inner) return std::unexpected(inner.error());
    const auto part = constant_of(type == place.type ? inner->type : plain_type(inner->type), *inner);
    if (!part) return part;
    line.push_back(*part);
  }
  const std::uint32_t id = line[2] = bound_++;
  finish_line(line, OpConstantComposite);
  added_.insert(added_.end(), line.begin(), line.end());
  return id;
}

std::uint32_t PushValues::plain_type(std::uint32_t id) {
  const Instruction& type = types_.type(id);
  if (type.op != OpTypeArray && type.op != OpTypeStruct) return id;
  if (const auto known = plain_.find(id); known != plain_.end()) return known->second;
  std::vector<std::uint32_t> line = {0, 0};
  if (type.op == OpTypeArray) {
    line.push_back(plain_type(type[2]));
    line.push_back(type[3]);
  } else {
    for (std::size_t m = 2; m < type.size(); ++m) line.push_back(plain_type(type[m]));
  }
  line[1] = bound_++;
  finish_line(line, type.op);
  added_.insert(added_.end(), line.begin(), line.end());
  return plain_[id] = line[1];
}

std::uint32_t PushValues::pointer_to(std::uint32_t type) {
  const Key key{StoragePrivate, type};
  if (const auto known = types_.pointers().find(key); known != types_.pointers().end()) return known->second;
  const auto [found, fresh] = pointers_.try_emplace(key, bound_);
  if (fresh) put(added_, OpTypePointer, {bound_++, StoragePrivate, type});
  return found->second;
}

Result<std::uint32_t> PushValues::variable_at(Place place) {
  if (const auto known = variables_.find({place.type, place.offset}); known != variables_.end()) return known->second;
  const std::uint32_t type = plain_type(place.type);
  const auto value = constant_of(type, place);
  if (!value) return value;
  const std::uint32_t pointer = pointer_to(type), id = bound_++;
  put(added_, OpVariable, {pointer, id, StoragePrivate, *value});
  variables_[{place.type, place.offset}] = id;
  return id;
}

}  // namespace sectile::spirv
