#include "permute.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sectile::reference {
namespace {

// "NCHW4c" as written: N C H W, then c with a block of 4.
struct LayoutItem {
  char letter = 0;         // upper case
  std::int64_t block = 0;  // 0 for the axis itself
};

std::vector<LayoutItem> parse_layout(const std::string& text) {
  std::vector<LayoutItem> items;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isupper(c) != 0) {
      items.push_back({text[i], 0});
      continue;
    }
    std::int64_t block = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0) {
      block = block * 10 + (text[i++] - '0');
    }
    if (block < 1 || i == text.size() || std::islower(static_cast<unsigned char>(text[i])) == 0) {
      throw std::invalid_argument("layout: " + text);
    }
    items.push_back({static_cast<char>(std::toupper(static_cast<unsigned char>(text[i]))), block});
  }
  return items;
}

// What one step along item i means for its axis: the product of the blocks inside it. The axis itself
// is outside of all its blocks, wherever it is written; blocks nest in the order written.
std::int64_t weight_of(const std::vector<LayoutItem>& items, std::size_t i) {
  std::int64_t weight = 1;
  for (std::size_t j = 0; j < items.size(); ++j) {
    const bool inside = items[j].block != 0 && (items[i].block == 0 ? true : j > i);
    if (items[j].letter == items[i].letter && inside) weight *= items[j].block;
  }
  return weight;
}

std::size_t logical_of(const std::vector<char>& letters, char letter) {
  const auto found = std::find(letters.begin(), letters.end(), letter);
  if (found == letters.end()) throw std::invalid_argument(std::string("layout: letter ") + letter);
  return static_cast<std::size_t>(found - letters.begin());
}

void set_strides(std::vector<LayoutAxis>& axes, const std::vector<std::int64_t>& given) {
  if (!given.empty()) {
    if (given.size() != axes.size()) throw std::invalid_argument("strides");
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i].stride = given[i];
    return;
  }
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    axes[i].stride = stride;
    stride *= std::max<std::int64_t>(axes[i].size, 1);
  }
}

bool has_zero(const std::vector<LayoutAxis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const LayoutAxis& axis) { return axis.size == 0; });
}

std::uint64_t bytes_of(const std::vector<LayoutAxis>& axes, std::int64_t offset, std::size_t element) {
  std::int64_t last = offset;
  for (const LayoutAxis& axis : axes) last += (axis.size - 1) * axis.stride;
  return static_cast<std::uint64_t>(last + 1) * element;
}

// Steps a coordinate to the next one, the last axis fastest; false after the last one.
bool advance(std::vector<std::int64_t>& coordinate, const std::vector<LayoutAxis>& axes, std::size_t rank) {
  for (std::size_t i = rank; i-- > 0;) {
    if (++coordinate[i] < axes[i].size) return true;
    coordinate[i] = 0;
  }
  return false;
}

template <std::size_t Size>
void move_run(std::span<const std::byte> src, std::span<std::byte> dst, std::int64_t src_at, std::int64_t src_step,
              std::int64_t count, std::int64_t dst_base, std::span<const std::int64_t> table, std::int64_t logical,
              std::int64_t weight) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t to = dst_base + table[static_cast<std::size_t>(logical + i * weight)];
    std::memcpy(dst.data() + static_cast<std::size_t>(to) * Size,
                src.data() + static_cast<std::size_t>(src_at + i * src_step) * Size, Size);
  }
}

using MoveRun = decltype(&move_run<1>);

MoveRun mover(std::size_t size) {
  switch (size) {
    case 1:
      return &move_run<1>;
    case 2:
      return &move_run<2>;
    case 4:
      return &move_run<4>;
    case 8:
      return &move_run<8>;
    default:
      return &move_run<16>;
  }
}

// table[logical axis][index]: how far that index moves the destination, in elements.
std::vector<std::vector<std::int64_t>> destination_tables(const PermuteDefinition& definition) {
  std::vector<std::vector<std::int64_t>> tables;
  for (std::size_t axis = 0; axis < definition.logical_sizes().size(); ++axis) {
    auto& table = tables.emplace_back(static_cast<std::size_t>(definition.logical_sizes()[axis]));
    for (std::size_t index = 0; index < table.size(); ++index) {
      for (const LayoutAxis& part : definition.dst_axes()) {
        if (part.logical != axis) continue;
        table[index] += static_cast<std::int64_t>(index) / part.weight % part.size * part.stride;
      }
    }
  }
  return tables;
}

bool pads(const PermuteDefinition& definition) {
  std::vector<std::int64_t> covered(definition.logical_sizes().size(), 1);
  for (const LayoutAxis& part : definition.dst_axes()) covered[part.logical] *= part.size;
  return covered != definition.logical_sizes();
}

void zero_destination(const PermuteDefinition& definition, std::span<std::byte> dst) {
  const auto& axes = definition.dst_axes();
  const std::size_t size = definition.element_bytes();
  std::vector<std::int64_t> coordinate(axes.size(), 0);
  do {
    const std::int64_t at = definition.destination_at(coordinate);
    std::memset(dst.data() + static_cast<std::size_t>(at) * size, 0, size);
  } while (advance(coordinate, axes, axes.size()));
}

std::optional<std::vector<std::int64_t>> coordinate_at(const PermuteDefinition& definition, std::int64_t element) {
  const auto& axes = definition.dst_axes();
  std::vector<std::int64_t> coordinate(axes.size(), 0);
  do {
    if (definition.destination_at(coordinate) == element) return coordinate;
  } while (advance(coordinate, axes, axes.size()));
  return std::nullopt;
}

}  // namespace

std::string hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15u];
  }
  return text;
}

PermuteDefinition::PermuteDefinition(const PermuteProblem& problem)
    : element_bytes_(size_bytes(problem.type)), src_offset_(problem.src_offset), dst_offset_(problem.dst_offset) {
  if (problem.src_layout.empty()) {
    if (problem.axes.size() != problem.shape.size()) throw std::invalid_argument("axes");
    logical_ = problem.shape;
    for (std::size_t i = 0; i < problem.shape.size(); ++i) {
      src_.push_back({i, 1, problem.shape[i], 0});
      const auto from = static_cast<std::size_t>(problem.axes[i]);
      dst_.push_back({from, 1, problem.shape.at(from), 0});
    }
  } else {
    const auto src_items = parse_layout(problem.src_layout);
    const auto dst_items = parse_layout(problem.dst_layout);
    if (src_items.size() != problem.shape.size()) throw std::invalid_argument("shape");
    std::vector<char> letters;
    for (std::size_t i = 0; i < src_items.size(); ++i) {
      if (src_items[i].block != 0) continue;
      letters.push_back(src_items[i].letter);
      logical_.push_back(problem.shape[i] * weight_of(src_items, i));
    }
    for (const auto& [letter, size] : problem.extents) logical_[logical_of(letters, letter)] = size;
    for (std::size_t i = 0; i < src_items.size(); ++i) {
      const auto logical = logical_of(letters, src_items[i].letter);
      src_.push_back({logical, weight_of(src_items, i), problem.shape[i], 0});
    }
    for (std::size_t i = 0; i < dst_items.size(); ++i) {
      const auto logical = logical_of(letters, dst_items[i].letter);
      const std::int64_t weight = weight_of(dst_items, i);
      const std::int64_t outside = (logical_[logical] + weight - 1) / weight;
      dst_.push_back({logical, weight, dst_items[i].block != 0 ? dst_items[i].block : outside, 0});
    }
  }
  set_strides(src_, problem.src_strides);
  set_strides(dst_, problem.dst_strides);
}

std::vector<std::int64_t> PermuteDefinition::dst_shape() const {
  std::vector<std::int64_t> shape;
  shape.reserve(dst_.size());
  for (const LayoutAxis& axis : dst_) shape.push_back(axis.size);
  return shape;
}

bool PermuteDefinition::empty() const noexcept { return has_zero(src_) || has_zero(dst_); }

std::uint64_t PermuteDefinition::src_bytes() const noexcept {
  return empty() ? 0 : bytes_of(src_, src_offset_, element_bytes_);
}

std::uint64_t PermuteDefinition::dst_bytes() const noexcept {
  return empty() ? 0 : bytes_of(dst_, dst_offset_, element_bytes_);
}

std::int64_t PermuteDefinition::destination_at(std::span<const std::int64_t> dst_coordinate) const {
  std::int64_t at = dst_offset_;
  for (std::size_t i = 0; i < dst_.size(); ++i) at += dst_coordinate[i] * dst_[i].stride;
  return at;
}

std::optional<std::int64_t> PermuteDefinition::source_of(std::span<const std::int64_t> dst_coordinate) const {
  std::array<std::int64_t, std::size_t{2} * kMaxRank> index{};
  for (std::size_t i = 0; i < dst_.size(); ++i) index.at(dst_[i].logical) += dst_coordinate[i] * dst_[i].weight;
  for (std::size_t axis = 0; axis < logical_.size(); ++axis) {
    if (index.at(axis) >= logical_[axis]) return std::nullopt;
  }
  std::int64_t at = src_offset_;
  for (const LayoutAxis& part : src_) at += index.at(part.logical) / part.weight % part.size * part.stride;
  return at;
}

void permute(const PermuteDefinition& definition, std::span<const std::byte> src, std::span<std::byte> dst) {
  if (definition.empty()) return;
  if (src.size() < definition.src_bytes() || dst.size() < definition.dst_bytes()) {
    throw std::invalid_argument("permute: a span is shorter than its operand");
  }
  if (pads(definition)) zero_destination(definition, dst);
  const auto tables = destination_tables(definition);
  const auto& axes = definition.src_axes();
  const auto& sizes = definition.logical_sizes();
  const LayoutAxis& inner = axes.back();
  const MoveRun move = mover(definition.element_bytes());
  std::vector<std::int64_t> coordinate(axes.size(), 0);
  std::vector<std::int64_t> index(sizes.size());
  do {
    std::fill(index.begin(), index.end(), 0);
    std::int64_t from = definition.src_offset();
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
      index[axes[i].logical] += coordinate[i] * axes[i].weight;
      from += coordinate[i] * axes[i].stride;
    }
    std::int64_t to = definition.dst_offset();
    bool surplus = false;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      surplus = surplus || index[axis] >= sizes[axis];
      if (!surplus && axis != inner.logical) to += tables[axis][static_cast<std::size_t>(index[axis])];
    }
    if (surplus) continue;
    const std::int64_t first = index[inner.logical];
    const std::int64_t count = std::min(inner.size, (sizes[inner.logical] - first + inner.weight - 1) / inner.weight);
    move(src, dst, from, inner.stride, count, to, tables[inner.logical], first, inner.weight);
  } while (advance(coordinate, axes, axes.size() - 1));
}

std::string Mismatch::message() const {
  std::string text = "destination byte " + std::to_string(dst_byte);
  if (coordinate.empty()) {
    text += " (of no element)";
  } else {
    text += " at (";
    for (std::size_t i = 0; i < coordinate.size(); ++i) text += (i ? "," : "") + std::to_string(coordinate[i]);
    text += ")";
  }
  return text + ": got " + got + ", want " + want;
}

std::optional<Mismatch> compare(const PermuteDefinition& definition, std::span<const std::byte> expected,
                                std::span<const std::byte> actual) {
  if (expected.size() != actual.size()) throw std::invalid_argument("compare: sizes differ");
  if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0) return std::nullopt;
  const auto wrong = std::mismatch(expected.begin(), expected.end(), actual.begin());
  const auto at = static_cast<std::size_t>(wrong.first - expected.begin());
  const std::size_t size = definition.element_bytes();
  const std::size_t begin = at / size * size;
  const std::size_t length = std::min(size, expected.size() - begin);
  Mismatch mismatch{at, {}, hex(expected.subspan(begin, length)), hex(actual.subspan(begin, length))};
  if (auto coordinate = coordinate_at(definition, static_cast<std::int64_t>(at / size))) {
    mismatch.coordinate = std::move(*coordinate);
  }
  return mismatch;
}

void SourceData::read(std::uint64_t offset, std::span<std::byte> out) const noexcept {
  if (!bytes.empty()) {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t at = offset + i;
    out[i] = static_cast<std::byte>(data_word(stream_seed, at / 8) >> (at % 8 * 8));
  }
}

std::optional<Mismatch> check_samples(const PermuteDefinition& definition, const SourceData& src,
                                      std::span<const std::byte> dst, std::uint64_t seed, std::size_t count) {
  if (definition.empty()) return std::nullopt;
  const auto& axes = definition.dst_axes();
  const std::size_t size = definition.element_bytes();
  std::vector<std::int64_t> coordinate(axes.size());
  std::array<std::byte, 16> wanted{};
  Random random(seed);
  for (std::size_t sample = 0; sample < count; ++sample) {
    // Every third sample lies on corners and edges, where tiles end.
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool edge = sample % 3 == 0 && !random.one_in(3);
      coordinate[i] = edge ? (random.one_in(2) ? 0 : axes[i].size - 1) : random.between(0, axes[i].size - 1);
    }
    const std::span<std::byte> want(wanted.data(), size);
    std::fill(want.begin(), want.end(), std::byte{0});
    if (const auto from = definition.source_of(coordinate)) src.read(static_cast<std::uint64_t>(*from) * size, want);
    const std::uint64_t at = static_cast<std::uint64_t>(definition.destination_at(coordinate)) * size;
    const auto got = dst.subspan(at, size);
    if (!std::equal(want.begin(), want.end(), got.begin())) return Mismatch{at, coordinate, hex(want), hex(got)};
  }
  return std::nullopt;
}

}  // namespace sectile::reference
