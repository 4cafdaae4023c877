// Big matmuls' data. Where rows lie far apart, only elements' pages of an operand's image are ever touched.
#include "matmul.hpp"

#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace sectile::tools {
namespace {

// Rows, columns and batches so far apart that a, b and d in turn have elements at indices from 2^31 on, and bytes from
// 2^31 and 2^32 on, at which NVIDIA's driver wraps; and dense ones of that size.
constexpr const char* kMatmuls[] = {
    "matmul i8 nn 129x64x64 lda=16777217",
    "matmul i8 tn 64x96x129 lda=16777217",
    "matmul i8 nt 64x129x64 ldb=16777217",
    "matmul i8 nn 5x129x4099 ldb=524417",
    "matmul i8 nn 33x65x70 batch=3 b.batch=1073741827",
    "matmul f32 nn 131x96x40 ldd=4194305 epi=bias+relu",
    "matmul f32 nn 3x300x40 ldd=306783380",
    "matmul f32 nn 70x65x33 beta=0.5 ldc=8388617",
    "matmul f16 nt 129x64x4000 ldd=16777221",
    "matmul f16 nt 257x64x48 lda=8388611",
    "matmul f16 nn 1x500x3000 ldb=715829",
    "matmul f32 nn 1025x64x64 ldd=1048577",
    "matmul i8 nn 65537x5x32769",
    "matmul i8 nt 3x65537x32769",
    "matmul i8 nt 23173x23173x8",
    "matmul i8 nn 46343x46343x8",
};

constexpr std::int64_t kMostWorkedOut = std::int64_t{1} << 28;  // multiplications; beyond, elements are sampled

// Zeros that take no memory until they are written.
class Image {
 public:
  explicit Image(std::uint64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    at_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Image() { ::munmap(at_, bytes_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  std::span<std::byte> span() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_;
};

// Ranges of bytes, whole words, that hold an operand's elements: row by row, or all of it where rows are close.
std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_of(const reference::MatmulOperand& o) {
  const std::uint64_t size = reference::element_bytes(o.type);
  if (o.row_step <= 2 * o.columns && o.batches == 1) return {{0, up4(o.bytes())}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::int64_t batch = 0; batch < o.batches; ++batch)
    for (std::int64_t row = 0; row < o.rows; ++row) {
      const std::uint64_t begin = static_cast<std::uint64_t>(o.index(batch, row, 0)) * size / 4 * 4;
      const std::uint64_t end = up4(static_cast<std::uint64_t>(o.index(batch, row, o.columns - 1) + 1) * size);
      if (!ranges.empty() && begin <= ranges.back().second)
        ranges.back().second = end;
      else
        ranges.emplace_back(begin, end);
    }
  return ranges;
}

Result<void> send(Machine& machine, const Memory& memory, const reference::MatmulOperand& o,
                  std::span<const std::byte> image) {
  for (const auto& [begin, end] : ranges_of(o))
    for (std::uint64_t at = begin; at < end; at += kBigPiece)
      if (auto sent = machine.upload(memory, at, image.subspan(at, std::min(kBigPiece, end - at))); !sent) return sent;
  return {};
}

class BigMatmul final : public BigCase {
 public:
  explicit BigMatmul(const MatmulProblem& problem) : definition_(problem), sampled_(samples(problem)) {
    for (const auto& [name, operand] : definition_.operands()) {
      const auto [entry, _] = images_.try_emplace(name, up4(operand.bytes()));
      const auto image = entry->second.span();
      // Bytes between elements are compared with what they held.
      if (name == "d")
        for (std::size_t at = 0; at < image.size(); at += 4) std::memcpy(&image[at], &kBigPoison, 4);
      // Any bits are an int8, and the stream is faster than numbers for billions of them.
      if (sampled_ && name != "d")
        reference::fill_data(image, kBigSeed + images_.size());
      else
        definition_.fill(name, image, kBigSeed);
      data_[name] = image.first(static_cast<std::size_t>(operand.bytes()));
    }
    if (!sampled_) want_ = definition_.result(data_, data_.at("d"));
  }

  std::uint64_t destination_bytes() const override { return data_.at("d").size(); }
  std::size_t destination() const override {
    const auto& all = definition_.operands();
    return static_cast<std::size_t>(std::ranges::find(all, "d", [](const auto& o) { return o.first; }) - all.begin());
  }
  Result<void> fill(Machine& machine, std::span<const MemoryPtr> memories) override {
    const auto& all = definition_.operands();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].first == "d") continue;
      if (auto filled = machine.fill(*memories[i], 0, memories[i]->size(), ~kBigPoison); !filled) return filled;
      if (auto sent = send(machine, *memories[i], all[i].second, images_.at(all[i].first).span()); !sent) return sent;
    }
    return {};
  }
  Result<void> poison(Machine& machine, const Memory& memory, std::uint64_t bytes) override {
    if (auto filled = machine.fill(memory, 0, bytes, kBigPoison); !filled) return filled;
    return send(machine, memory, definition_.operand("d"), images_.at("d").span());
  }

  std::string compare(std::span<const std::byte> got) override {
    const auto bytes = data_.at("d").size();
    std::array<std::byte, 4> poison{};
    std::memcpy(poison.data(), &kBigPoison, 4);
    for (std::size_t at = bytes; at < got.size(); ++at)
      if (got[at] != poison[at % 4]) return fmt::format("byte {} behind the destination was written", at);
    if (sampled_) return compare_samples(got);
    const auto wrong = reference::compare(definition_, want_, data_.at("d"), got.first(bytes));
    return wrong ? wrong->message : std::string();
  }

 private:
  // Sums of integers are compared exactly, which needs no tolerance of the whole result's.
  static bool samples(const MatmulProblem& p) {
    return p.type == DType::i8 && p.out == DType::i32 && p.batch * p.m * p.n * p.k > kMostWorkedOut;
  }

  // Every element is written (none of these sums is the poison), and those at ends and at random places are right.
  std::string compare_samples(std::span<const std::byte> got) const {
    const MatmulProblem& p = definition_.problem();
    const reference::MatmulOperand& d = definition_.operand("d");
    const auto at = [&](std::int64_t m, std::int64_t n) {
      std::uint32_t word = 0;
      std::memcpy(&word, &got[static_cast<std::size_t>(d.index(0, m, n)) * 4], 4);
      return word;
    };
    for (std::int64_t m = 0; m < p.m; ++m)
      for (std::int64_t n = 0; n < p.n; ++n)
        if (at(m, n) == kBigPoison) return fmt::format("element {}, {} was not written", m, n);
    reference::Random random(kBigSeed);
    const std::int64_t samples = std::clamp<std::int64_t>((std::int64_t{1} << 27) / p.k, 16, 1 << 20);
    for (std::int64_t i = 0; i < samples; ++i) {
      // The four corners, then anywhere.
      const std::int64_t m =
          i < 4 ? i / 2 * (p.m - 1) : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(p.m)));
      const std::int64_t n =
          i < 4 ? i % 2 * (p.n - 1) : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(p.n)));
      const auto want = static_cast<std::int64_t>(definition_.element(data_, data_.at("d"), 0, m, n).value);
      const auto found = static_cast<std::int32_t>(at(m, n));
      if (found != want) return fmt::format("element {}, {} is {}, want {}", m, n, found, want);
    }
    return {};
  }

  reference::MatmulDefinition definition_;
  bool sampled_;
  std::map<std::string, Image, std::less<>> images_;
  reference::MatmulData data_;
  std::vector<reference::MatmulElement> want_;
};

}  // namespace

std::vector<Problem> big_matmuls() {
  std::vector<Problem> cases;
  for (const char* const text : kMatmuls) cases.push_back(parse_problem(text).value());
  return cases;
}

std::unique_ptr<BigCase> big_matmul(const MatmulProblem& problem) { return std::make_unique<BigMatmul>(problem); }

}  // namespace sectile::tools
