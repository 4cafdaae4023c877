// The types of a module's push block and where their members lie, as the module itself declares them.
#pragma once

#include "module/spirv_words.hpp"

#include <sectile/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace sectile::spirv {

std::unexpected<Error> cannot_freeze(std::string value, std::string limit = {});

// Where in the push block a pointer points.
struct Place {
  std::uint32_t type = 0, offset = 0;
};

class PushTypes {
 public:
  using Instruction = module::Instruction;
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  // An instruction in front of the functions.
  void read(const Instruction& i);

  const Instruction& type(std::uint32_t id) const { return types_.at(id); }
  // Of push constants: variables and what they point at.
  const std::unordered_map<std::uint32_t, Place>& variables() const { return variables_; }
  // By storage class and type.
  const std::map<Key, std::uint32_t>& pointers() const { return pointers_; }
  // The value of a constant of one word; no value where the id is none.
  const std::uint32_t* constant(std::uint32_t id) const;
  // Bytes of a type; of an array's or vector's elements, how many there are; 0 where that is not known.
  std::uint32_t size(std::uint32_t id) const;
  std::uint32_t parts(const Instruction& type) const;
  // The member (element) `index` of what is at `place`.
  Result<Place> step(Place place, std::uint32_t index) const;

 private:
  std::uint32_t length(std::uint32_t id) const;
  std::uint32_t stride(std::uint32_t type) const;

  std::unordered_map<std::uint32_t, Instruction> types_;
  std::unordered_map<std::uint32_t, std::uint32_t> constants_, strides_;
  std::unordered_map<std::uint32_t, Place> variables_;
  std::map<Key, std::uint32_t> offsets_, pointers_;
};

}  // namespace sectile::spirv
