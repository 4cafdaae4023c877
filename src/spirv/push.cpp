#include "push.hpp"

#include "push_types.hpp"
#include "push_values.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sectile::spirv {
namespace {

using namespace sectile::module;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kAddressBytes = 8;

// Instructions that may use a pointer and are not analyzed.
constexpr std::uint32_t kOpaqueUses[] = {57 /*OpFunctionCall*/,   62 /*OpStore*/,       63 /*OpCopyMemory*/,
                                         67 /*OpPtrAccessChain*/, 68 /*OpArrayLength*/, 83 /*OpCopyObject*/,
                                         124 /*OpBitcast*/,       169 /*OpSelect*/,     245 /*OpPhi*/};

// Which push bytes hold addresses: they stay pushed.
class Addresses {
 public:
  explicit Addresses(std::span<const AddressSlot> slots) : slots_(slots) {}

  bool contain(std::uint32_t begin, std::uint32_t end) const {
    return std::ranges::any_of(slots_, [&](const AddressSlot& slot) {
      return begin >= slot.push_offset && end <= slot.push_offset + kAddressBytes;
    });
  }
  bool overlap(std::uint32_t begin, std::uint32_t end) const {
    return std::ranges::any_of(slots_, [&](const AddressSlot& slot) {
      return begin < slot.push_offset + kAddressBytes && slot.push_offset < end;
    });
  }

 private:
  std::span<const AddressSlot> slots_;
};

// A module as far as it is rewritten, in the order in which its parts stand; what is added to the globals stands
// between them and the functions.
struct Sections {
  Words head, entry, globals, functions;

  Words& before_functions(const Instruction& i) {
    return i.op == OpEntryPoint ? entry : entry.empty() ? head : globals;
  }
};

// Rewrites the reads of push bytes in the module's functions, or, where there are no values, refuses each.
class PushReads {
 public:
  PushReads(const PushTypes& types, Addresses addresses, PushValues* values, Words& out)
      : types_(types), addresses_(addresses), values_(values), out_(out), pointers_(types.variables()) {}

  // Whether the instruction was replaced.
  Result<bool> visit(const Instruction& i) {
    if (i.op == OpAccessChain || i.op == OpInBoundsAccessChain) {
      if (const auto at = pointers_.find(i[3]); at != pointers_.end()) return chain(i, at->second);
      if (arrays_.contains(i[3])) return cannot_freeze("a chain of access chains with an index known at run time only");
      return false;
    }
    if (i.op == OpLoad) {
      if (const auto at = pointers_.find(i[3]); at != pointers_.end()) return load(i, at->second);
      if (const auto at = arrays_.find(i[3]); at != arrays_.end() && at->second != i[1])
        return cannot_freeze("a whole array or struct read at an index known at run time only");
      return false;
    }
    if (std::ranges::find(kOpaqueUses, i.op) != std::end(kOpaqueUses))
      for (const std::uint32_t word : i.words.subspan(1))
        if (pointers_.contains(word) || arrays_.contains(word))
          return cannot_freeze("a pointer to push constants in SPIR-V instruction " + std::to_string(i.op));
    return false;
  }

 private:
  Result<bool> chain(const Instruction& i, Place place) {
    for (std::size_t at = 4; at < i.size(); ++at) {
      const std::uint32_t* index = types_.constant(i[at]);
      if (index == nullptr) return dynamic(i, at, place);
      const auto next = types_.step(place, *index);
      if (!next) return std::unexpected(next.error());
      place = *next;
    }
    pointers_[i[2]] = place;
    return false;
  }

  // An index that is not a constant: its array (or vector) becomes a variable that is initialized with the bytes and
  // never written. Drivers fold it after they unroll the loops.
  Result<bool> dynamic(const Instruction& i, std::size_t at, Place place) {
    if (values_ == nullptr)
      return cannot_freeze(bytes_of(place) + " are still read, at an index known at run time only");
    if (addresses_.overlap(place.offset, end_of(place)))
      return cannot_freeze(bytes_of(place) + " hold an address and have an index known at run time only");
    const auto array = values_->variable_at(place);
    if (!array) return std::unexpected(array.error());
    std::uint32_t type = place.type;
    for (std::size_t k = at; k < i.size(); ++k) {
      const Instruction& outer = types_.type(type);
      const std::uint32_t* index = types_.constant(i[k]);
      if (outer.op == OpTypeStruct && index == nullptr) return cannot_freeze("a struct with a run-time index");
      type = outer.op == OpTypeStruct ? outer[2 + *index] : outer[2];
    }
    const std::uint32_t plain = values_->plain_type(type);
    Words line = {0, values_->pointer_to(plain), i[2], *array};
    line.insert(line.end(), i.words.begin() + static_cast<std::ptrdiff_t>(at), i.words.end());
    finish_line(line, i.op);
    out_.insert(out_.end(), line.begin(), line.end());
    arrays_[i[2]] = plain;
    return true;
  }

  Result<bool> load(const Instruction& i, Place place) {
    if (addresses_.contain(place.offset, end_of(place))) return false;
    if (values_ == nullptr) return cannot_freeze(bytes_of(place) + " are still read");
    if (addresses_.overlap(place.offset, end_of(place)))
      return cannot_freeze(bytes_of(place) + " are read together with an address");
    const auto value = values_->constant_at(place);
    if (!value) return std::unexpected(value.error());
    put(out_, OpCopyObject, {i[1], i[2], *value});
    return true;
  }

  std::uint32_t end_of(Place place) const { return place.offset + types_.size(place.type); }
  std::string bytes_of(Place place) const {
    return "push bytes " + std::to_string(place.offset) + " to " + std::to_string(end_of(place) - 1);
  }

  const PushTypes& types_;
  Addresses addresses_;
  PushValues* values_;
  Words& out_;
  std::unordered_map<std::uint32_t, Place> pointers_;        // into the push block
  std::unordered_map<std::uint32_t, std::uint32_t> arrays_;  // pointers into constant arrays, and to what type
};

Words assemble(std::span<const std::uint32_t> header, const Sections& sections, const PushValues& values) {
  Words out(header.begin(), header.end());
  out[kBoundWord] = values.bound();
  out.insert(out.end(), sections.head.begin(), sections.head.end());
  const std::size_t entry = out.size();
  out.insert(out.end(), sections.entry.begin(), sections.entry.end());
  // From SPIR-V 1.4 on an entry point lists every variable that it uses.
  if (!values.variables().empty() && out[kVersionWord] >= 0x10400) {
    for (const auto& [place, id] : values.variables()) out.push_back(id);
    out[entry] += static_cast<std::uint32_t>(values.variables().size()) << 16;
  }
  for (const Words* part : {&sections.globals, &values.instructions(), &sections.functions})
    out.insert(out.end(), part->begin(), part->end());
  return out;
}

// The module rewritten; where `only_check`, as it was, or the refusal of what would have to be rewritten.
Result<Words> rewrite(std::span<const std::uint32_t> words, const PushFreeze& push, bool only_check) {
  const auto instructions = read_instructions(words);
  if (!instructions) return std::unexpected(instructions.error());
  const auto functions = std::ranges::find(*instructions, std::uint32_t{OpFunction}, &Instruction::op);
  PushTypes types;
  Sections sections;
  for (auto i = instructions->begin(); i != functions; ++i) {
    Words& out = sections.before_functions(*i);
    types.read(*i);
    out.insert(out.end(), i->words.begin(), i->words.end());
  }
  PushValues values(types, push.bytes, words[kBoundWord]);
  PushReads reads(types, Addresses(push.addresses), only_check ? nullptr : &values, sections.functions);
  for (auto i = functions; i != instructions->end(); ++i) {
    const auto replaced = reads.visit(*i);
    if (!replaced) return std::unexpected(replaced.error());
    if (!*replaced) sections.functions.insert(sections.functions.end(), i->words.begin(), i->words.end());
  }
  return assemble(words.first(kHeaderWords), sections, values);
}

}  // namespace

Result<std::vector<std::uint32_t>> freeze_push(std::span<const std::uint32_t> words, const PushFreeze& push) {
  return rewrite(words, push, false);
}

Result<void> check_frozen_push(std::span<const std::uint32_t> words, const PushFreeze& push) {
  const auto checked = rewrite(words, push, true);
  if (!checked) return std::unexpected(checked.error());
  return {};
}

}  // namespace sectile::spirv
