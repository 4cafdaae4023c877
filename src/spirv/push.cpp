#include "push.hpp"

#include "module/spirv_words.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sectile::spirv {
namespace {

using namespace sectile::module;

constexpr std::uint32_t kAddressBytes = 8;

// Where in the push block a pointer points.
struct Place {
  std::uint32_t type = 0, offset = 0;
};

// Instructions that may take a pointer and that are not looked through.
constexpr std::uint32_t kOpaqueUses[] = {57 /*OpFunctionCall*/, 62 /*OpStore*/,      63 /*OpCopyMemory*/,
                                         67 /*OpPtrAccessChain*/, 68 /*OpArrayLength*/, 83 /*OpCopyObject*/,
                                         124 /*OpBitcast*/,     169 /*OpSelect*/,    245 /*OpPhi*/};

std::unexpected<Error> cannot(std::string value, std::string limit = {}) {
  return fail(ErrorKind::unsupported, "freezing push constants", std::move(value), std::move(limit));
}

void put(std::vector<std::uint32_t>& out, std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
  out.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  out.insert(out.end(), operands);
}

class Freezer {
 public:
  Freezer(std::span<const std::uint32_t> words, const PushFreeze& push) : words_(words), push_(push) {}

  // Rewrites the module; where `only_check`, refuses what would have to be rewritten.
  Result<std::vector<std::uint32_t>> run(bool only_check) {
    const auto instructions = read_instructions(words_);
    if (!instructions) return std::unexpected(instructions.error());
    bound_ = words_[kBoundWord];
    only_check_ = only_check;
    for (const Instruction& i : *instructions) {
      if (i.op == OpFunction) in_functions_ = true;
      auto& out = in_functions_ ? body_ : i.op == OpEntryPoint ? entry_ : entry_.empty() ? head_ : globals_;
      if (!in_functions_) learn(i);
      auto done = in_functions_ ? visit(i) : Result<bool>(false);
      if (!done) return std::unexpected(done.error());
      if (!*done) out.insert(out.end(), i.words.begin(), i.words.end());
    }
    return assemble();
  }

 private:
  void learn(const Instruction& i) {
    switch (i.op) {
      case OpTypePointer:
        types_[i[1]] = i;
        pointer_types_.try_emplace({i[2], i[3]}, i[1]);
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
        if (i[3] == StoragePushConstant) pointers_[i[2]] = {types_[i[1]][3], 0};
        break;
      default:
        break;
    }
  }

  // Whether the instruction was replaced.
  Result<bool> visit(const Instruction& i) {
    if (i.op == OpAccessChain || i.op == OpInBoundsAccessChain) {
      if (const auto at = pointers_.find(i[3]); at != pointers_.end()) return chain(i, at->second);
      if (arrays_.contains(i[3])) return cannot("a chain of access chains with an index known at run time only");
      return false;
    }
    if (i.op == OpLoad) {
      if (const auto at = pointers_.find(i[3]); at != pointers_.end()) return load(i, at->second);
      if (const auto at = arrays_.find(i[3]); at != arrays_.end() && at->second != i[1])
        return cannot("a whole array or struct read at an index known at run time only");
      return false;
    }
    if (std::ranges::find(kOpaqueUses, i.op) != std::end(kOpaqueUses))
      for (const std::uint32_t word : i.words.subspan(1))
        if (pointers_.contains(word) || arrays_.contains(word))
          return cannot("a pointer to push constants in SPIR-V instruction " + std::to_string(i.op));
    return false;
  }

  Result<bool> chain(const Instruction& i, Place place) {
    for (std::size_t at = 4; at < i.size(); ++at) {
      const auto index = constants_.find(i[at]);
      if (index == constants_.end()) return dynamic(i, at, place);
      const auto next = step(place, index->second);
      if (!next) return std::unexpected(next.error());
      place = *next;
    }
    pointers_[i[2]] = place;
    return false;
  }

  Result<Place> step(Place place, std::uint32_t index) const {
    const Instruction& type = types_.at(place.type);
    if (type.op == OpTypeStruct) {
      const auto offset = offsets_.find({place.type, index});
      if (offset == offsets_.end()) return cannot("a push member without an offset");
      return Place{type[2 + index], place.offset + offset->second};
    }
    if (type.op == OpTypeArray) {
      const std::uint32_t length = constant(type[3]);
      if (index >= length)
        return cannot("push array element " + std::to_string(index), "less than " + std::to_string(length));
      return Place{type[2], place.offset + index * stride(place.type)};
    }
    if (type.op == OpTypeVector) return Place{type[2], place.offset + index * size(type[2])};
    return cannot("a push member of SPIR-V type " + std::to_string(type.op));
  }

  // An index that is not known yet: the array (or vector) that it walks becomes a variable with the bytes as
  // its initial value, which nobody writes; drivers fold it once they have unrolled the loops.
  Result<bool> dynamic(const Instruction& i, std::size_t at, Place place) {
    const std::string bytes = "push bytes " + std::to_string(place.offset) + " to " +
                              std::to_string(place.offset + size(place.type) - 1);
    if (only_check_) return cannot(bytes + " are still read, at an index known at run time only");
    if (touches_address(place)) return cannot(bytes + " hold an address and have an index known at run time only");
    const auto array = array_for(place);
    if (!array) return std::unexpected(array.error());
    std::uint32_t type = place.type;
    for (std::size_t k = at; k < i.size(); ++k) {
      const Instruction& outer = types_.at(type);
      if (outer.op == OpTypeStruct && !constants_.contains(i[k])) return cannot("a struct with a run-time index");
      type = outer.op == OpTypeStruct ? outer[2 + constants_.at(i[k])] : outer[2];
    }
    const std::uint32_t plain = plain_type(type);
    std::vector<std::uint32_t> line = {0, pointer_to(plain), i[2], *array};
    line.insert(line.end(), i.words.begin() + static_cast<std::ptrdiff_t>(at), i.words.end());
    line[0] = static_cast<std::uint32_t>(line.size()) << 16 | i.op;
    body_.insert(body_.end(), line.begin(), line.end());
    arrays_[i[2]] = plain;
    return true;
  }

  Result<bool> load(const Instruction& i, Place place) {
    if (inside_address(place)) return false;
    const std::string bytes = "push bytes " + std::to_string(place.offset) + " to " +
                              std::to_string(place.offset + size(place.type) - 1);
    if (only_check_) return cannot(bytes + " are still read");
    if (touches_address(place)) return cannot(bytes + " are read together with an address");
    const auto value = constant_of(place.type, place);
    if (!value) return std::unexpected(value.error());
    put(body_, OpCopyObject, {i[1], i[2], *value});
    return true;
  }

  bool inside_address(Place place) const {
    const std::uint32_t end = place.offset + size(place.type);
    return std::ranges::any_of(push_.addresses, [&](const AddressSlot& slot) {
      return place.offset >= slot.push_offset && end <= slot.push_offset + kAddressBytes;
    });
  }
  bool touches_address(Place place) const {
    const std::uint32_t end = place.offset + size(place.type);
    return std::ranges::any_of(push_.addresses, [&](const AddressSlot& slot) {
      return place.offset < slot.push_offset + kAddressBytes && slot.push_offset < end;
    });
  }

  std::uint32_t constant(std::uint32_t id) const {
    const auto found = constants_.find(id);
    return found == constants_.end() ? 0 : found->second;
  }
  std::uint32_t stride(std::uint32_t type) const {
    const auto found = strides_.find(type);
    return found == strides_.end() ? size(types_.at(type)[2]) : found->second;
  }

  std::uint32_t size(std::uint32_t id) const {
    const auto found = types_.find(id);
    if (found == types_.end()) return 0;
    const Instruction& type = found->second;
    if (type.op == OpTypeInt || type.op == OpTypeFloat) return type[2] / 8;
    if (type.op == OpTypeVector) return size(type[2]) * type[3];
    if (type.op == OpTypeArray) {
      const std::uint32_t length = constant(type[3]);
      return length == 0 ? 0 : (length - 1) * stride(id) + size(type[2]);
    }
    std::uint32_t end = 0;
    if (type.op == OpTypeStruct)
      for (std::uint32_t m = 0; m + 2 < type.size(); ++m)
        if (const auto at = offsets_.find({id, m}); at != offsets_.end())
          end = std::max(end, at->second + size(type[m + 2]));
    return end;
  }

  // The push bytes at `place` as a constant of `type`, which is place.type or its layout-free twin.
  Result<std::uint32_t> constant_of(std::uint32_t type, Place place) {
    if (const auto known = made_.find({type, place.offset}); known != made_.end()) return known->second;
    const Instruction& shape = types_.at(place.type);
    std::uint32_t id = 0;
    if (shape.op == OpTypeInt || shape.op == OpTypeFloat) {
      const std::uint32_t bytes = shape[2] / 8;
      if (place.offset + bytes > push_.bytes.size())
        return fail(ErrorKind::limit_exceeded, "frozen push bytes", std::to_string(push_.bytes.size()),
                    "at least " + std::to_string(place.offset + bytes));
      std::uint64_t value = 0;
      for (std::uint32_t b = 0; b < bytes; ++b) value |= std::uint64_t{push_.bytes[place.offset + b]} << (8 * b);
      // Narrow signed integers are sign-extended in a word.
      if (shape.op == OpTypeInt && shape[3] == 1 && bytes < 4 && (value >> (8 * bytes - 1) & 1u) != 0)
        value |= ~std::uint64_t{0} << (8 * bytes);
      id = bound_++;
      const auto low = static_cast<std::uint32_t>(value), high = static_cast<std::uint32_t>(value >> 32);
      if (bytes == 8)
        put(added_, OpConstant, {type, id, low, high});
      else
        put(added_, OpConstant, {type, id, low});
    } else {
      std::vector<std::uint32_t> line = {0, type, 0};
      const std::uint32_t parts = shape.op == OpTypeArray    ? constant(shape[3])
                                  : shape.op == OpTypeVector ? shape[3]
                                                             : static_cast<std::uint32_t>(shape.size() - 2);
      for (std::uint32_t p = 0; p < parts; ++p) {
        const auto inner = step(place, p);
        if (!inner) return std::unexpected(inner.error());
        const auto part = constant_of(type == place.type ? inner->type : plain_type(inner->type), *inner);
        if (!part) return part;
        line.push_back(*part);
      }
      id = line[2] = bound_++;
      line[0] = static_cast<std::uint32_t>(line.size()) << 16 | OpConstantComposite;
      added_.insert(added_.end(), line.begin(), line.end());
    }
    made_[{type, place.offset}] = id;
    return id;
  }

  // The type without a layout, which variables of the shader's own may not have.
  std::uint32_t plain_type(std::uint32_t id) {
    const Instruction type = types_.at(id);
    if (type.op != OpTypeArray && type.op != OpTypeStruct) return id;
    if (const auto known = plain_.find(id); known != plain_.end()) return known->second;
    std::vector<std::uint32_t> line = {0, 0};
    if (type.op == OpTypeArray) {
      line.push_back(plain_type(type[2]));
      line.push_back(type[3]);
    } else {
      for (std::size_t m = 2; m < type.size(); ++m) line.push_back(plain_type(type[m]));
    }
    line[0] = static_cast<std::uint32_t>(line.size()) << 16 | type.op;
    line[1] = bound_++;
    added_.insert(added_.end(), line.begin(), line.end());
    return plain_[id] = line[1];
  }

  std::uint32_t pointer_to(std::uint32_t type) {
    const auto [found, fresh] = pointer_types_.try_emplace({StoragePrivate, type}, bound_);
    if (fresh) put(added_, OpTypePointer, {bound_++, StoragePrivate, type});
    return found->second;
  }

  Result<std::uint32_t> array_for(Place place) {
    if (const auto known = variables_.find({place.type, place.offset}); known != variables_.end())
      return known->second;
    const std::uint32_t type = plain_type(place.type);
    const auto value = constant_of(type, place);
    if (!value) return value;
    const std::uint32_t pointer = pointer_to(type), id = bound_++;
    put(added_, OpVariable, {pointer, id, StoragePrivate, *value});
    variables_[{place.type, place.offset}] = id;
    return id;
  }

  std::vector<std::uint32_t> assemble() {
    std::vector<std::uint32_t> out(words_.begin(), words_.begin() + kHeaderWords);
    out[kBoundWord] = bound_;
    out.insert(out.end(), head_.begin(), head_.end());
    const std::size_t entry = out.size();
    out.insert(out.end(), entry_.begin(), entry_.end());
    // From SPIR-V 1.4 on an entry point lists every variable that it uses.
    if (!variables_.empty() && out[kVersionWord] >= 0x10400) {
      for (const auto& [place, id] : variables_) out.push_back(id);
      out[entry] += static_cast<std::uint32_t>(variables_.size()) << 16;
    }
    out.insert(out.end(), globals_.begin(), globals_.end());
    out.insert(out.end(), added_.begin(), added_.end());
    out.insert(out.end(), body_.begin(), body_.end());
    return out;
  }

  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::span<const std::uint32_t> words_;
  const PushFreeze& push_;
  bool only_check_ = false, in_functions_ = false;
  std::uint32_t bound_ = 0;
  std::vector<std::uint32_t> head_, entry_, globals_, added_, body_;  // the module's parts, in this order
  std::unordered_map<std::uint32_t, Instruction> types_;
  std::unordered_map<std::uint32_t, std::uint32_t> constants_, strides_, plain_;
  std::unordered_map<std::uint32_t, std::uint32_t> arrays_;  // pointers into constant arrays, and to what type
  std::unordered_map<std::uint32_t, Place> pointers_;        // pointers into the push block
  std::map<Key, std::uint32_t> offsets_, pointer_types_, made_, variables_;
};

}  // namespace

Result<std::vector<std::uint32_t>> freeze_push(std::span<const std::uint32_t> words, const PushFreeze& push) {
  return Freezer(words, push).run(false);
}

Result<void> check_frozen_push(std::span<const std::uint32_t> words, const PushFreeze& push) {
  const auto checked = Freezer(words, push).run(true);
  if (!checked) return std::unexpected(checked.error());
  return {};
}

}  // namespace sectile::spirv
