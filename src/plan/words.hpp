// Packs a kernel's words: the host's side of shaders/lib/words.abi.h, from the same list.
//
// SECTILE_WORDS(StemWords, Constants, STEM_WORDS) makes a struct with a field for each word of the list. It is filled
// by name, as in StemWords{.rows = m, .beta = 0.5f}. A field takes a value of its own type alone, so no number is cut
// or converted unseen. The compiler refuses a field that is left out, since it has no default, and one that is named
// twice. Words that are there on a condition are given as well: pack() drops them where the condition does not hold.
//
// StemWordsReader{constants, words} reads them again: .rows(), .pitch(i), as the kernel does.
//
// `Constants` has the specialization constants that conditions and counts name (NoConstants: they name none).
#pragma once

#include "strategy.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace sectile::detail {

struct U16x2 {
  std::uint32_t x = 0, y = 0;  // 16 bits each
};
struct U8x2U16 {
  std::uint32_t x = 0, y = 0, z = 0;  // 8, 8 and 16 bits
};
// An operand's address, known when the step is recorded.
struct WordAddress {
  std::uint32_t operand = 0;
  std::uint64_t byte_offset = 0;
};
struct NoConstants {};

// What packed words go to: add(word) and, for a list with addresses, add_address(address).
template <class Sink>
concept WordSink = requires(Sink& sink) {
  sink.add(std::uint32_t{});
  { sink.offset64 } -> std::convertible_to<bool>;  // strides take two words
};

// A sink for a list without addresses.
template <std::size_t kMost>
struct WordList {
  FixedList<std::uint32_t, kMost> list;
  bool offset64 = false;
  void add(std::uint32_t word) { list.add(word); }
};

struct UintWord {
  using Value = std::uint32_t;
  static constexpr std::uint32_t size(bool) { return 1; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add(v); }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) { return word[0]; }
};
struct IntWord {
  using Value = std::int32_t;
  static constexpr std::uint32_t size(bool) { return 1; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add(static_cast<std::uint32_t>(v)); }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) { return static_cast<Value>(word[0]); }
};
struct FloatWord {
  using Value = float;
  static constexpr std::uint32_t size(bool) { return 1; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add(std::bit_cast<std::uint32_t>(v)); }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) { return std::bit_cast<float>(word[0]); }
};
struct U16x2Word {
  using Value = U16x2;
  static constexpr std::uint32_t size(bool) { return 1; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add(v.x | v.y << 16); }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) { return {word[0] & 0xffff, word[0] >> 16}; }
};
struct U8x2U16Word {
  using Value = U8x2U16;
  static constexpr std::uint32_t size(bool) { return 1; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add(v.x | v.y << 8 | v.z << 16); }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) {
    return {word[0] & 0xff, word[0] >> 8 & 0xff, word[0] >> 16};
  }
};
struct Uint64Word {
  using Value = std::uint64_t;
  static constexpr std::uint32_t size(bool) { return 2; }
  static constexpr void put(WordSink auto& sink, Value v) {
    sink.add(static_cast<std::uint32_t>(v));
    sink.add(static_cast<std::uint32_t>(v >> 32));
  }
  static constexpr Value get(std::span<const std::uint32_t> word, bool) { return word[0] | Value{word[1]} << 32; }
};
struct StrideWord {
  using Value = std::int64_t;
  static constexpr std::uint32_t size(bool offset64) { return offset64 ? 2 : 1; }
  static constexpr void put(WordSink auto& sink, Value v) {
    sink.add(static_cast<std::uint32_t>(v));
    if (sink.offset64) sink.add(static_cast<std::uint32_t>(static_cast<std::uint64_t>(v) >> 32));
  }
  static constexpr Value get(std::span<const std::uint32_t> word, bool offset64) {
    return static_cast<Value>(word[0] | (offset64 ? std::uint64_t{word[1]} << 32 : 0));
  }
};
struct AddressWord {
  using Value = WordAddress;
  static constexpr std::uint32_t size(bool) { return 2; }
  static constexpr void put(WordSink auto& sink, Value v) { sink.add_address(v); }
  static constexpr std::uint64_t get(std::span<const std::uint32_t> word, bool offset64) {
    return Uint64Word::get(word, offset64);
  }
};

// A field that has to be given, as its own type.
template <class T>
struct Given {
  constexpr Given(std::same_as<T> auto given) : value(given) {}
  T value;
};
// One of several words. What it refers to is packed in the same expression.
template <class T>
struct GivenAll {
  template <class Range>
    requires std::constructible_from<std::span<const T>, const Range&>
  constexpr GivenAll(const Range& range) : values(range) {}
  std::span<const T> values;
};

// Where a word begins, counted from the list's first one.
template <class Words>
constexpr std::uint32_t place_of(std::string_view name, const typename Words::Constants& constants = {},
                                 bool offset64 = false) {
  std::uint32_t place = 0, found = ~0u;
  Words::each(constants, [&](std::string_view word, std::string_view, auto type, std::uint32_t count) {
    if (word == name) found = place;
    place += count * type.size(offset64);
  });
  return found;
}

template <class Words>
constexpr std::uint32_t size_of(const typename Words::Constants& constants = {}, bool offset64 = false) {
  std::uint32_t size = 0;
  Words::each(constants, [&](std::string_view, std::string_view, auto type, std::uint32_t count) {
    size += count * type.size(offset64);
  });
  return size;
}

// Each word names the one before it.
template <class Words>
constexpr bool in_order() {
  std::string_view last;
  bool good = true;
  Words::each({}, [&](std::string_view word, std::string_view after, auto, std::uint32_t) {
    good = good && (last.empty() || after == last);
    last = word;
  });
  return good;
}

}  // namespace sectile::detail

#define SECTILE_HOST_uint UintWord
#define SECTILE_HOST_int IntWord
#define SECTILE_HOST_float FloatWord
#define SECTILE_HOST_u16x2 U16x2Word
#define SECTILE_HOST_u8x2u16 U8x2U16Word
#define SECTILE_HOST_stride StrideWord
#define SECTILE_HOST_uint64 Uint64Word
#define SECTILE_HOST_address AddressWord

// clang-format off
#define SECTILE_FIELD_WORD(type, name, after) Given<SECTILE_HOST_##type::Value> name;
#define SECTILE_FIELD_WORD_IF(type, name, after, when, otherwise) Given<SECTILE_HOST_##type::Value> name;
#define SECTILE_FIELD_WORDS(type, name, after, count) GivenAll<SECTILE_HOST_##type::Value> name;
#define SECTILE_FIELD_WORDS_IF(type, name, after, when, count) GivenAll<SECTILE_HOST_##type::Value> name;

#define SECTILE_EACH_WORD(type, name, after) visit(#name, #after, SECTILE_HOST_##type{}, 1u);
#define SECTILE_EACH_WORD_IF(type, name, after, when, otherwise) \
  visit(#name, #after, SECTILE_HOST_##type{}, (when) ? 1u : 0u);
#define SECTILE_EACH_WORDS(type, name, after, count) visit(#name, #after, SECTILE_HOST_##type{}, (count));
#define SECTILE_EACH_WORDS_IF(type, name, after, when, count) \
  visit(#name, #after, SECTILE_HOST_##type{}, (when) ? (count) : 0u);

#define SECTILE_PUT_WORD(type, name, after) SECTILE_HOST_##type::put(sink, words.name.value);
#define SECTILE_PUT_WORD_IF(type, name, after, when, otherwise) \
  if (when) SECTILE_HOST_##type::put(sink, words.name.value);
#define SECTILE_PUT_WORDS(type, name, after, count) \
  for (const auto& value : words.name.values.first(count)) SECTILE_HOST_##type::put(sink, value);
#define SECTILE_PUT_WORDS_IF(type, name, after, when, count) \
  if (when) SECTILE_PUT_WORDS(type, name, after, count)

// Words are packed once a plan and read seldom: a place is looked up by its name.
#define SECTILE_GET(type, name, i) \
  SECTILE_HOST_##type::get(        \
      word.subspan(place_of<Words>(#name, *this, offset64) + (i)*SECTILE_HOST_##type::size(offset64)), offset64)
#define SECTILE_GET_WORD(type, name, after) \
  constexpr auto name() const { return SECTILE_GET(type, name, 0); }
#define SECTILE_GET_WORD_IF(type, name, after, when, otherwise) \
  constexpr auto name() const {                                   \
    using T = decltype(SECTILE_GET(type, name, 0));               \
    return (when) ? SECTILE_GET(type, name, 0) : T(otherwise);    \
  }
#define SECTILE_GET_WORDS(type, name, after, count) \
  constexpr auto name(std::uint32_t i) const { return SECTILE_GET(type, name, i); }
#define SECTILE_GET_WORDS_IF(type, name, after, when, count) \
  constexpr auto name(std::uint32_t i) const {            \
    using T = decltype(SECTILE_GET(type, name, i));       \
    return (when) ? SECTILE_GET(type, name, i) : T(0);    \
  }

// Constants' members are in scope where the list's conditions and counts are, which is why these are members.
#define SECTILE_WORDS(Name, Constants_, LIST)                                                                       \
  struct Name##Walk : Constants_ {                                                                                  \
    template <class Visit>                                                                                          \
    constexpr void each([[maybe_unused]] Visit& visit) const {                                                      \
      LIST(SECTILE_EACH_WORD, SECTILE_EACH_WORD_IF, SECTILE_EACH_WORDS, SECTILE_EACH_WORDS_IF)                      \
    }                                                                                                               \
    template <class Words, WordSink Sink>                                                                           \
    constexpr void pack(const Words& words, Sink& sink) const {                                                     \
      LIST(SECTILE_PUT_WORD, SECTILE_PUT_WORD_IF, SECTILE_PUT_WORDS, SECTILE_PUT_WORDS_IF)                          \
    }                                                                                                               \
  };                                                                                                                \
  struct Name {                                                                                                     \
    using Constants = Constants_;                                                                                   \
    LIST(SECTILE_FIELD_WORD, SECTILE_FIELD_WORD_IF, SECTILE_FIELD_WORDS, SECTILE_FIELD_WORDS_IF)                    \
    template <class Visit>                                                                                          \
    static constexpr void each(const Constants& constants, Visit visit) {                                           \
      Name##Walk{constants}.each(visit);                                                                            \
    }                                                                                                               \
    template <WordSink Sink>                                                                                        \
    constexpr void pack(Sink& sink, const Constants& constants = {}) const {                                        \
      Name##Walk{constants}.pack(*this, sink);                                                                      \
    }                                                                                                               \
  };                                                                                                                \
  struct Name##Reader : Constants_ {                                                                                \
    using Words = Name;                                                                                             \
    std::span<const std::uint32_t> word;                                                                            \
    bool offset64 = false;                                                                                              \
    LIST(SECTILE_GET_WORD, SECTILE_GET_WORD_IF, SECTILE_GET_WORDS, SECTILE_GET_WORDS_IF)                            \
  };                                                                                                                \
  static_assert(in_order<Name>(), #LIST ": a word names another than the one before it")
// clang-format on
