// Push bytes as constants, types and variables that are added to a module.
#pragma once

#include "push_types.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace sectile::spirv {

// Appends an instruction.
void put(std::vector<std::uint32_t>& out, std::uint32_t op, std::initializer_list<std::uint32_t> operands);
// Writes the first word of the instruction that `line` is, which has a place for it.
void finish_line(std::vector<std::uint32_t>& line, std::uint32_t op);

class PushValues {
 public:
  // `bound`: the first id that the module does not use.
  PushValues(const PushTypes& types, std::span<const std::uint8_t> bytes, std::uint32_t bound)
      : types_(types), bytes_(bytes), bound_(bound) {}

  // The bytes at `place` as a constant of its type.
  Result<std::uint32_t> constant_at(Place place) { return constant_of(place.type, place); }
  // The same as a variable of the shader's own: for an index that is not known yet.
  Result<std::uint32_t> variable_at(Place place);
  // The type without a layout, which such variables may not have, and a pointer to it.
  std::uint32_t plain_type(std::uint32_t id);
  std::uint32_t pointer_to(std::uint32_t type);

  std::uint32_t bound() const { return bound_; }
  const std::vector<std::uint32_t>& instructions() const { return added_; }
  // Ids of the variables, which an entry point may have to list.
  const std::map<PushTypes::Key, std::uint32_t>& variables() const { return variables_; }

 private:
  using Key = PushTypes::Key;

  // `type`: place.type or its layout-free twin.
  Result<std::uint32_t> constant_of(std::uint32_t type, Place place);
  Result<std::uint32_t> number(std::uint32_t type, const module::Instruction& shape, Place place);
  Result<std::uint32_t> composite(std::uint32_t type, const module::Instruction& shape, Place place);

  const PushTypes& types_;
  std::span<const std::uint8_t> bytes_;
  std::uint32_t bound_;
  std::vector<std::uint32_t> added_;
  std::unordered_map<std::uint32_t, std::uint32_t> plain_;
  std::map<Key, std::uint32_t> pointers_, constants_, variables_;
};

}  // namespace sectile::spirv
