// Runs loop nests element by element and compares with the reference, which shares no code with them.
#include "plan/permute/layout.hpp"
#include "plan/properties.hpp"

#include "reference/permute.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

using namespace sectile;

namespace {

PermuteProblem permute(std::string_view text) { return std::get<PermuteProblem>(parse_problem(text).value()); }

std::int64_t dot(const std::vector<std::int64_t>& coef, const std::vector<std::int64_t>& index) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < coef.size(); ++i) sum += coef[i] * index[i];
  return sum;
}

// Runs the nest. Returns the number of elements that it wrote; checks that it wrote each once.
std::size_t run_nest(const detail::LoopNest& nest, std::size_t size, std::span<const std::byte> src,
                     std::span<std::byte> dst) {
  std::set<std::int64_t> written;
  std::vector<std::int64_t> index(nest.axes.size(), 0);
  for (bool more = !nest.empty; more;) {
    bool read = true, write = true;
    for (const detail::Bound& bound : nest.bounds) {
      read = read && dot(bound.coef, index) < bound.read_limit;
      write = write && dot(bound.coef, index) < bound.write_limit;
    }
    std::int64_t from = nest.src_offset, to = nest.dst_offset;
    for (std::size_t i = 0; i < index.size(); ++i) {
      from += index[i] * nest.axes[i].src_stride;
      to += index[i] * nest.axes[i].dst_stride;
    }
    if (write) {
      REQUIRE(written.insert(to).second);
      std::byte* out = dst.data() + static_cast<std::size_t>(to) * size;
      if (read)
        std::memcpy(out, src.data() + static_cast<std::size_t>(from) * size, size);
      else
        std::memset(out, 0, size);
    }
    more = false;
    for (std::size_t i = index.size(); i-- > 0 && !more;) {
      more = ++index[i] < nest.axes[i].extent;
      if (!more) index[i] = 0;
    }
  }
  return written.size();
}

// Empty if the nest and the reference agree in result and sizes.
std::string difference(const PermuteProblem& problem) {
  const auto nest = detail::loop_nest(problem);
  if (!nest) return nest.error().message();
  const reference::PermuteDefinition definition(problem);
  const OperandBytes bytes = operand_bytes(problem).value();
  if (dst_shape(problem).value() != definition.dst_shape()) return "dst_shape";
  if (nest->empty) return definition.empty() ? "" : "empty";
  if (bytes.src != definition.src_bytes() || bytes.dst != definition.dst_bytes()) return "operand_bytes";
  std::vector<std::byte> src(bytes.src), want(bytes.dst, std::byte{0xcd}), got = want;
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(i * 131 + i / 251 + 1);
  reference::permute(definition, src, want);
  run_nest(*nest, size_bytes(problem.type), src, got);
  const auto wrong = reference::compare(definition, want, got);
  return wrong ? wrong->message() : "";
}

}  // namespace

TEST_CASE("blocked destination pads with a bound") {
  const auto nest = detail::loop_nest(permute("permute f16 1x384x512x3 layout=NHWC:NCHW4c")).value();
  const std::vector<detail::LoopAxis> axes = {
      {1, 384L * 512 * 3, 384L * 512 * 4}, {1, 0, 0}, {384, 512L * 3, 512L * 4}, {512, 3, 4}, {4, 1, 1}};
  REQUIRE(nest.axes.size() == 5);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    CHECK(nest.axes[i].extent == axes[i].extent);
    if (axes[i].extent > 1) CHECK(nest.axes[i] == axes[i]);
  }
  REQUIRE(nest.bounds.size() == 1);
  CHECK(nest.bounds[0] == detail::Bound{{0, 4, 0, 0, 1}, 3, 4});
}

TEST_CASE("bounds that cannot fail are left out") {
  CHECK(detail::loop_nest(permute("permute f16 1x8x5x6 layout=NCHW:NCHW4c"))->bounds.empty());
  CHECK(detail::loop_nest(permute("permute f16 1x2x5x6x4 layout=NCHW4c:NCHW"))->bounds.empty());
  // With a single block the loop's extent is the number of channels.
  const auto nest = detail::loop_nest(permute("permute f16 1x1x5x6x4 layout=NCHW4c:NCHW extent=C:3")).value();
  CHECK(nest.bounds.empty());
  CHECK(nest.axes[2].extent == 3);
}

TEST_CASE("blocked source stops where the destination ends") {
  const auto nest = detail::loop_nest(permute("permute f16 1x2x5x6x4 layout=NCHW4c:NHWC extent=C:5")).value();
  REQUIRE(nest.bounds.size() == 1);
  CHECK(nest.bounds[0].read_limit == 5);
  CHECK(nest.bounds[0].write_limit == 5);
  CHECK(nest.axes.size() == 5);
}

TEST_CASE("loop nests equal the reference") {
  for (const std::string_view text : {
           "permute f16 2x3x4 axes=2,0,1",
           "permute f32 2x3x4 axes=2,0,1 src.strides=0x5x1 dst.strides=10x1x3 src.offset=7 dst.offset=3",
           "permute i8 2x5x6x3 layout=NHWC:NCHW4c",
           "permute i8 2x5x6x7 layout=NHWC:NCHW4c dst.offset=5",
           "permute f16 2x2x5x6x4 layout=NCHW4c:NHWC extent=C:5",
           "permute f16 2x2x5x6x4 layout=NCHW4c:NHWC extent=C:0",
           "permute f16 2x2x5x6x4 layout=NCHW4c:NHWC extent=C:1",
           "permute f16 2x3x5x4 layout=NCH4c:NCH8c extent=C:9",
           "permute f16 2x2x5x8 layout=NCH8c:NCH4c extent=C:9",
           "permute f16 2x2x5x8 layout=NCH8c:NCH4c extent=C:3",
           "permute f16 2x2x5x8 layout=NCH8c:HNC extent=C:16",
           "permute f16 2x3x5x8 layout=NCH8c:HC2c4cN",
           "permute u8 3x2x2x5x4x2 layout=AaBC4b2c:CAB3c extent=B:5,C:3",
           "permute u8 10x9x3 layout=OIH:OIH4i8o2i",
           "permute u8 7x9 layout=AB:4bB2aA",
           "permute b128 3x5 axes=1,0 dst.strides=3x1",
           "permute c64 0x5 axes=1,0",
       }) {
    CAPTURE(text);
    const auto problem = parse_problem(text);
    REQUIRE(problem.has_value());
    if (text.find("AaBC") != std::string_view::npos) {  // invalid: a lower-case letter needs a size
      CHECK_FALSE(validate(*problem).has_value());
      continue;
    }
    CHECK(difference(std::get<PermuteProblem>(*problem)) == "");
  }
}

TEST_CASE("random layouts equal the reference") {
  CHECK(rc::check("nest == reference", [] {
    PermuteProblem p;
    p.type = DType::i8;
    const auto layout = [&](bool source) {
      std::vector<std::string> items = {"N", "C", "H"};
      for (const char lower : {'c', 'h'})
        if (*rc::gen::arbitrary<bool>()) items.push_back(std::to_string(*rc::gen::element(1, 2, 4, 8, 12)) + lower);
      for (std::size_t i = items.size(); i > 1; --i)
        std::swap(items[i - 1], items[*rc::gen::inRange<std::size_t>(0, i)]);
      std::string text;
      for (const std::string& item : items) {
        text += item;
        if (source) p.shape.push_back(item.size() > 1 ? std::stoi(item) : *rc::gen::inRange<std::int64_t>(1, 6));
      }
      return text;
    };
    p.src_layout = layout(true);
    p.dst_layout = layout(false);
    for (const char letter : {'C', 'H'}) {
      std::int64_t whole = 1;
      std::size_t axis = 0, parts = 0;
      for (const char c : p.src_layout) {
        if (c >= '0' && c <= '9') continue;
        if ((c & ~0x20) == letter) {
          whole *= p.shape[axis];
          ++parts;
        }
        ++axis;
      }
      if (parts > 1) p.extents.emplace_back(letter, *rc::gen::inRange<std::int64_t>(1, whole + 1));
    }
    const auto nest = detail::loop_nest(p);
    if (!nest) {  // neither of 8 and 12 divides the other
      RC_ASSERT(nest.error().kind == ErrorKind::unsupported);
      RC_ASSERT(nest.error().what == "layout");
      return;
    }
    RC_ASSERT(nest->bounds.size() <= 2);
    RC_ASSERT(difference(p) == "");
  }));
}

TEST_CASE("random permutes equal the reference") {
  CHECK(rc::check("nest == reference", [] {
    PermuteProblem p;
    p.type = *rc::gen::element(DType::i8, DType::f16, DType::c128);
    const int rank = *rc::gen::inRange(1, 6);
    for (int i = 0; i < rank; ++i) {
      p.shape.push_back(*rc::gen::inRange<std::int64_t>(1, 5));
      p.axes.push_back(i);
      p.src_strides.push_back(*rc::gen::inRange<std::int64_t>(0, 9));
      p.dst_strides.push_back(*rc::gen::inRange<std::int64_t>(1, 40));
    }
    for (std::size_t i = p.axes.size(); i > 1; --i)
      std::swap(p.axes[i - 1], p.axes[*rc::gen::inRange<std::size_t>(0, i)]);
    p.dst_offset = *rc::gen::inRange(0, 9);
    // There are few elements, so validate()'s search for overlaps must be exact.
    std::set<std::int64_t> seen{0};
    bool distinct = true;
    for (int i = 0; i < rank; ++i) {
      const std::set<std::int64_t> before = seen;
      for (std::int64_t k = 1; k < p.shape[static_cast<std::size_t>(p.axes[static_cast<std::size_t>(i)])]; ++k)
        for (const std::int64_t at : before)
          distinct = seen.insert(at + k * p.dst_strides[static_cast<std::size_t>(i)]).second && distinct;
    }
    const auto ok = validate(p);
    RC_ASSERT(ok.has_value() == distinct);
    if (!ok)
      RC_ASSERT(ok.error().kind == ErrorKind::overlap);
    else
      RC_ASSERT(difference(p) == "");
  }));
}
