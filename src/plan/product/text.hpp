// The words of problem strings that operations with a product share (docs/reference/problem-string.md).
#pragma once

#include "base/text_tokens.hpp"
#include "plan/activation.hpp"
#include "product.hpp"

#include <initializer_list>

namespace sectile::detail {

inline Result<void> parse_type(std::string_view what, Token token, DType& out) {
  auto type = parse_dtype(token.text);
  if (!type) return refuse(what, token, type.error().limit);
  out = *type;
  return {};
}

inline Result<void> parse_number(std::string_view what, Token token, float& out) {
  auto number = parse_float(what, token);
  if (!number) return std::unexpected(std::move(number.error()));
  out = *number;
  return {};
}

// A step from batch to batch. Left out, it is packed: kPacked has no number in a string.
inline Result<void> parse_batch(std::string_view what, Token token, std::int64_t& out) {
  if (auto ok = parse_into(what, token, out); !ok) return ok;
  return out >= 0 ? Result<void>() : refuse(what, token, "at least 0; packed where it is left out");
}

// One of the formats, or the element type of a plain one.
inline Result<void> parse_weights(std::string_view what, Token token, std::initializer_list<WeightFormat> formats,
                                  DType& type, WeightFormat& format) {
  std::string names;
  for (const WeightFormat one : formats) {
    names.append(names.empty() ? "" : ", ").append(format_name(one));
    if (token.text != format_name(one)) continue;
    format = one;
    type = DType::i8;
    return {};
  }
  auto ok = parse_type(what, token, type);
  return ok ? ok : refuse(what, token, names + " or " + ok.error().limit);
}

// A word of a prologue or epilogue. Stages are in the order of execution; at most one word of each `place`.
template <class P>
struct Stage {
  std::string_view word;
  int place = 0;
  void (*set)(P&) = nullptr;
};

template <class P>
Result<void> parse_stages(std::string_view what, P& p, Token value,
                          std::type_identity_t<std::span<const Stage<P>>> stages, std::string_view want) {
  Split items(value, '+');
  int done = -1;
  while (const auto item = items.next()) {
    const auto stage = std::ranges::find(stages, item->text, &Stage<P>::word);
    // The words must be in the order of execution: another order would be another result.
    if (stage == stages.end() || stage->place <= done) return refuse(what, *item, want);
    stage->set(p);
    done = stage->place;
  }
  return {};
}

// An epilogue's words: those of `stages`, and an activation in one of two places. Without an activation the place is
// not there.
inline constexpr int kBeforeResidual = 2, kResidual = 3, kAfterResidual = 4;
template <class P>
Result<void> parse_epilogue(P& p, Token value, std::type_identity_t<std::span<const Stage<P>>> stages,
                            std::string_view names) {
  const std::string want = std::string(names) + ", an activation (" + activation_names(true) +
                           "), residual, joined by + in this order, the activation before or after the residual";
  Split items(value, '+');
  int done = -1;
  while (const auto item = items.next()) {
    int place = p.residual ? kAfterResidual : kBeforeResidual;
    if (const auto stage = std::ranges::find(stages, item->text, &Stage<P>::word); stage != stages.end()) {
      if (stage->place <= done) return refuse("epi", *item, want);
      stage->set(p);
      place = stage->place;
    } else {
      if (place <= done || p.activation != Activation::none) return refuse("epi", *item, want);
      ActivationWords words{.last = p.residual};
      if (auto ok = parse_activation("epi", *item, want, words); !ok) return ok;
      set_activation(p, words);
    }
    done = place;
  }
  return {};
}

// A string with options after it; what is at its default is left out.
class OptionText {
 public:
  explicit OptionText(std::string start) : text_(std::move(start)) {}
  void add(std::string_view key, std::string_view value) { text_.append(" ").append(key).append("=").append(value); }
  void add(std::string_view key, std::int64_t value, std::int64_t left_out) {
    if (value != left_out) add(key, std::to_string(value));
  }
  // The words of a list that are not empty; without any, no option.
  void add_stages(std::string_view key, std::initializer_list<std::string_view> words) {
    std::string value;
    for (const std::string_view word : words)
      if (!word.empty()) value.append(value.empty() ? "" : "+").append(word);
    if (!value.empty()) add(key, value);
  }
  struct Align {
    std::string_view key;
    std::uint32_t align = 0;
  };
  void add_alignments(std::initializer_list<Align> all, std::uint32_t left_out) {
    const std::uint32_t first = all.begin()->align;
    if (std::ranges::all_of(all, [&](const Align& one) { return one.align == first; }))
      return add("align", first, left_out);
    for (const Align& one : all) add(one.key, one.align, left_out);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace sectile::detail
