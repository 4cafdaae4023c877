// What products and convolutions must do whatever their numbers are, without a reference, as FFTW tests transforms
// (libbench2/verify-lib.c): they are linear in each factor, an impulse in one factor brings out the other one's
// elements, and what is moved comes out moved. Numbers are small integers, so that no sum is rounded and all of this
// holds to the last bit. Each kernel is forced.
#include "helpers.hpp"
#include "support/scope.hpp"

#include "reference/conv2d.hpp"
#include "reference/extra_rows.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

using Values = std::vector<double>;  // an operand's elements as they lie in memory, which has no gaps
using Numbers = std::mt19937;        // the same on every machine, unlike the standard's distributions

// A problem's two factors and its result on a device, by one plan.
class Function {
 public:
  struct Names {
    const char *left, *right, *result;
  };

  Function(vulkan::Runtime& runtime, const Problem& problem, const Plan& plan, Names names)
      : runtime_(runtime), executable_(must(runtime.device().prepare(plan, {.any_profile = true}))) {
    for (const PlanOperand& operand : plan.operands) {
      buffers_.push_back(must(runtime.make_buffer((operand.bytes + 3) / 4 * 4)));
      addresses_.push_back({buffers_.back().address(), operand.bytes});
    }
    const auto specs = must(operands_of(problem));
    const auto side = [&](const char* name, DType type) {
      const auto found = std::ranges::find(specs, std::string(name), &OperandSpec::name);
      REQUIRE(found != specs.end());
      return Side{static_cast<std::size_t>(found - specs.begin()), type, found->bytes / size_bytes(type)};
    };
    std::visit(
        [&](const auto& p) {
          if constexpr (requires { p.a_type; }) {
            left_ = side(names.left, p.a_type);
            right_ = side(names.right, p.b_type);
            result_ = side(names.result, p.out);
          } else if constexpr (requires { p.x_type; }) {
            left_ = side(names.left, p.x_type);
            right_ = side(names.right, p.w_type);
            result_ = side(names.result, p.out);
          }
        },
        problem);
  }
  std::size_t left_size() const { return left_.elements; }
  std::size_t right_size() const { return right_.elements; }

  Values operator()(const Values& left, const Values& right) {
    put(left_, left);
    put(right_, right);
    for (std::size_t i = 0; i < buffers_.size(); ++i)  // NaNs, where results and scratch are floats
      if (i != left_.operand && i != right_.operand)
        must(runtime_.fill(buffers_[i], 0, buffers_[i].size(), 0xFFFFFFFF));
    must(runtime_.submit_and_wait(
        [&](VkCommandBuffer commands) { return vulkan::record(commands, executable_, addresses_); }));
    const auto bytes = read_back(runtime_, buffers_[result_.operand]);
    Values values(result_.elements);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = reference::decode(result_.type, bytes.data() + i * size_bytes(result_.type));
    return values;
  }

 private:
  struct Side {
    std::size_t operand = 0;
    DType type = DType::f32;
    std::size_t elements = 0;
  };
  void put(const Side& side, const Values& values) {
    REQUIRE(values.size() == side.elements);
    std::vector<std::byte> bytes(buffers_[side.operand].size());
    for (std::size_t i = 0; i < values.size(); ++i)
      reference::encode(side.type, values[i], bytes.data() + i * size_bytes(side.type));
    must(runtime_.upload(buffers_[side.operand], 0, bytes));
  }

  vulkan::Runtime& runtime_;
  vulkan::Executable executable_;
  std::vector<vulkan::Buffer> buffers_;
  std::vector<vulkan::OperandAddress> addresses_;
  Side left_, right_, result_;
};

// From -3 to 3.
Values small_integers(std::size_t size, std::uint32_t seed) {
  Numbers numbers(seed);
  Values values(size);
  for (double& value : values) value = static_cast<double>(numbers() % 7) - 3;
  return values;
}
// Neighbours differ, along any axis of a small operand, and none is zero.
Values marked(std::size_t size) {
  Values values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = 1 + static_cast<double>(i % 113);
  return values;
}
Values combined(double a, const Values& x, double b, const Values& y) {
  Values sum(x.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a * x[i] + b * y[i];
  return sum;
}

// The first difference, as text. What is not a number differs from all.
std::string difference(const char* what, const Values& got, const Values& want) {
  if (got.size() != want.size()) return fmt::format("{}: {} elements for {}", what, got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(got[i] == want[i])) return fmt::format("{}: element {} is {} for {}", what, i, got[i], want[i]);
  return {};
}

// f(a x + b y) = a f(x) + b f(y), in each factor.
std::string linear(Function& f) {
  constexpr double kA = 2, kB = -3;
  const Values left = small_integers(f.left_size(), 1), right = small_integers(f.right_size(), 2),
               other_left = small_integers(f.left_size(), 3), other_right = small_integers(f.right_size(), 4);
  const Values both = f(left, right);
  auto wrong = difference("linear in the first factor", f(combined(kA, left, kB, other_left), right),
                          combined(kA, both, kB, f(other_left, right)));
  if (wrong.empty())
    wrong = difference("linear in the second factor", f(left, combined(kA, right, kB, other_right)),
                       combined(kA, both, kB, f(left, other_right)));
  return wrong;
}

// ---- matmul

struct Matrices {
  explicit Matrices(const MatmulProblem& problem) : p(problem), definition(problem) {}
  std::size_t a(std::int64_t batch, std::int64_t m, std::int64_t k) const {
    return at("a", batch, p.transpose_a ? k : m, p.transpose_a ? m : k);
  }
  std::size_t b(std::int64_t batch, std::int64_t k, std::int64_t n) const {
    return at("b", batch, p.transpose_b ? n : k, p.transpose_b ? k : n);
  }
  std::size_t d(std::int64_t batch, std::int64_t m, std::int64_t n) const { return at("d", batch, m, n); }
  std::size_t at(const char* name, std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(definition.operand(name).index(batch, row, column));
  }
  // The result whose elements are these.
  Values result(const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& element) const {
    Values values(definition.size());
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
      for (std::int64_t m = 0; m < p.m; ++m)
        for (std::int64_t n = 0; n < p.n; ++n) values[d(batch, m, n)] = element(batch, m, n);
    return values;
  }

  MatmulProblem p;
  reference::MatmulDefinition definition;
};

// A row of A has a one alone, so the result's row is a row of B; the same of B's columns. Each place has its turn.
std::string impulses(Function& f, const Matrices& at) {
  const MatmulProblem& p = at.p;
  const Values full_a = marked(f.left_size()), full_b = marked(f.right_size());
  std::string wrong;
  for (std::int64_t turn = 0; turn < p.k && wrong.empty(); ++turn) {
    Values a(f.left_size()), b(f.right_size());
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t m = 0; m < p.m; ++m) a[at.a(batch, m, (m + turn) % p.k)] = 1;
      for (std::int64_t n = 0; n < p.n; ++n) b[at.b(batch, (n + turn) % p.k, n)] = 1;
    }
    wrong = difference("impulses in A", f(a, full_b),
                       at.result([&](auto batch, auto m, auto n) { return full_b[at.b(batch, (m + turn) % p.k, n)]; }));
    if (wrong.empty())
      wrong =
          difference("impulses in B", f(full_a, b),
                     at.result([&](auto batch, auto m, auto n) { return full_a[at.a(batch, m, (n + turn) % p.k)]; }));
  }
  return wrong;
}

// Rows of A moved on are rows of the result moved on; K of both moved on changes nothing.
std::string moved(Function& f, const Matrices& at) {
  const MatmulProblem& p = at.p;
  const Values a = small_integers(f.left_size(), 5), b = small_integers(f.right_size(), 6), before = f(a, b);
  Values rows(a.size()), a_along(a.size()), b_along(b.size());
  for (std::int64_t batch = 0; batch < p.batch; ++batch)
    for (std::int64_t k = 0; k < p.k; ++k) {
      for (std::int64_t m = 0; m < p.m; ++m) {
        rows[at.a(batch, (m + 1) % p.m, k)] = a[at.a(batch, m, k)];
        a_along[at.a(batch, m, (k + 1) % p.k)] = a[at.a(batch, m, k)];
      }
      for (std::int64_t n = 0; n < p.n; ++n) b_along[at.b(batch, (k + 1) % p.k, n)] = b[at.b(batch, k, n)];
    }
  auto wrong =
      difference("rows moved", f(rows, b),
                 at.result([&](auto batch, auto m, auto n) { return before[at.d(batch, (m + p.m - 1) % p.m, n)]; }));
  if (wrong.empty()) wrong = difference("K moved", f(a_along, b_along), before);
  return wrong;
}

std::string properties_of(vulkan::Runtime& runtime, const MatmulProblem& problem, const Plan& plan) {
  Function f(runtime, problem, plan, {"a", "b", "d"});
  const Matrices at(problem);
  auto wrong = linear(f);
  if (wrong.empty()) wrong = impulses(f, at);
  if (wrong.empty()) wrong = moved(f, at);
  return wrong;
}

// ---- convolution

struct Images {
  explicit Images(const Conv2dProblem& problem)
      : p(problem), definition(problem), group_channels(p.c / p.groups), taps(group_channels * p.r * p.s) {}
  std::size_t x(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t column) const {
    return static_cast<std::size_t>(definition.operand("x").index(n, c, y, column));
  }
  // Of an output channel: an input channel of its group and an element of the filter, by one number.
  std::size_t w(std::int64_t k, std::int64_t tap) const {
    return static_cast<std::size_t>(definition.operand("w").index(k, tap / (p.r * p.s), tap / p.s % p.r, tap % p.s));
  }
  std::size_t y(std::int64_t n, std::int64_t k, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(definition.operand("y").index(n, k, row, column));
  }
  // The input that an output multiplies by a tap, or nothing.
  std::int64_t input(std::int64_t n, std::int64_t k, std::int64_t row, std::int64_t column, std::int64_t tap) const {
    const std::int64_t c = k / (p.k / p.groups) * group_channels + tap / (p.r * p.s);
    const std::int64_t at_y = row * p.stride_h - p.pad_top + tap / p.s % p.r * p.dilation_h,
                       at_x = column * p.stride_w - p.pad_left + tap % p.s * p.dilation_w;
    if (at_y < 0 || at_x < 0 || at_y >= p.h || at_x >= p.w) return -1;
    return static_cast<std::int64_t>(x(n, c, at_y, at_x));
  }
  Values result(const std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& element) const {
    Values values(definition.size());
    for (std::int64_t n = 0; n < p.n; ++n)
      for (std::int64_t k = 0; k < p.k; ++k)
        for (std::int64_t row = 0; row < definition.height(); ++row)
          for (std::int64_t column = 0; column < definition.width(); ++column)
            values[y(n, k, row, column)] = element(n, k, row, column);
    return values;
  }

  Conv2dProblem p;
  reference::Conv2dDefinition definition;
  std::int64_t group_channels, taps;
};

// Filters with a one alone bring out the image, moved by what the one's place says, zeros around it.
std::string filter_impulses(Function& f, const Images& at) {
  const Values x = marked(f.left_size());
  std::string wrong;
  for (std::int64_t turn = 0; turn < at.taps && wrong.empty(); ++turn) {
    Values w(f.right_size());
    for (std::int64_t k = 0; k < at.p.k; ++k) w[at.w(k, (k + turn) % at.taps)] = 1;
    wrong = difference("impulses in W", f(x, w), at.result([&](auto n, auto k, auto row, auto column) {
      const std::int64_t input = at.input(n, k, row, column, (k + turn) % at.taps);
      return input < 0 ? 0 : x[static_cast<std::size_t>(input)];
    }));
  }
  return wrong;
}

// Ones in the image so far apart that no output sees two: each brings out one weight. Each place has its turn, in one
// channel.
std::string image_impulses(Function& f, const Images& at) {
  const Conv2dProblem& p = at.p;
  const std::int64_t reach_y = (p.r - 1) * p.dilation_h + 1, reach_x = (p.s - 1) * p.dilation_w + 1;
  const Values w = marked(f.right_size());
  std::string wrong;
  for (std::int64_t turn = 0; turn < reach_y * reach_x && wrong.empty(); ++turn) {
    Values x(f.left_size());
    for (std::int64_t n = 0; n < p.n; ++n)
      for (std::int64_t row = turn / reach_x; row < p.h; row += reach_y)
        for (std::int64_t column = turn % reach_x; column < p.w; column += reach_x)
          for (std::int64_t group = 0; group < p.groups; ++group)
            x[at.x(n, group * at.group_channels + (n + row + 3 * column + turn) % at.group_channels, row, column)] = 1;
    wrong = difference("impulses in X", f(x, w), at.result([&](auto n, auto k, auto row, auto column) {
      for (std::int64_t tap = 0; tap < at.taps; ++tap) {
        const std::int64_t input = at.input(n, k, row, column, tap);
        if (input >= 0 && x[static_cast<std::size_t>(input)] != 0) return w[at.w(k, tap)];
      }
      return 0.0;
    }));
  }
  return wrong;
}

// An image moved by as many rows and columns as a stride has comes out moved by one.
std::string image_moved(Function& f, const Images& at) {
  const Conv2dProblem& p = at.p;
  const Values numbers = small_integers(f.left_size(), 5), w = small_integers(f.right_size(), 6);
  Values x(numbers.size()), further(numbers.size());
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t c = 0; c < p.c; ++c)
      for (std::int64_t row = 0; row + p.stride_h < p.h; ++row)
        for (std::int64_t column = 0; column + p.stride_w < p.w; ++column)
          x[at.x(n, c, row, column)] = further[at.x(n, c, row + p.stride_h, column + p.stride_w)] =
              numbers[at.x(n, c, row, column)];
  const Values before = f(x, w), after = f(further, w);
  return difference("the image moved", after, at.result([&](auto n, auto k, auto row, auto column) {
    const bool first = row == 0 || column == 0;
    return first ? after[at.y(n, k, row, column)] : before[at.y(n, k, row - 1, column - 1)];
  }));
}

std::string properties_of(vulkan::Runtime& runtime, const Conv2dProblem& problem, const Plan& plan) {
  Function f(runtime, problem, plan, {"x", "w", "y"});
  const Images at(problem);
  auto wrong = linear(f);
  if (wrong.empty()) wrong = filter_impulses(f, at);
  if (wrong.empty()) wrong = image_impulses(f, at);
  if (wrong.empty()) wrong = image_moved(f, at);
  return wrong;
}

// ---- what runs

struct Forced {
  const char *problem, *force;
};

// Sides that no tile divides, all transpositions, images as A and as B, along channels and along pixels, every kind of
// pad, a stride, a dilation, groups, several images. Results of f16 are f32: they hold all sums.
constexpr Forced kForced[] = {
    {"conv2d f32 nhwc 2x8x7x9 k=8 r=3x3 p=1 g=8 weights=rsck", "conv2d_depthwise"},
    {"conv2d f32 nhwc 2x6x7x9 k=4 r=2x3 s=2,1 d=1,2 p=1 g=2", "conv2d_direct"},
    {"matmul f32 nt 3x70x101", "matvec"},
    {"matmul f32 nt 37x45x29", "matmul_simt"},
    {"matmul f32 tn 41x35x27 batch=2", "matmul_simt"},
    {"matmul i8 nt 37x45x29", "matmul_simt"},
    {"matmul f16 tn 70x3x37 out=f32", "matvec"},
    {"matmul f32 nn 19x21x23", "matmul_direct"},
    {"matmul f16 nt 40x45x33 out=f32", "matmul_coopmat"},
    {"matmul f16 tn 40x45x35 out=f32", "matmul_coopmat 16x16x16 8x16 pipelined"},
    {"matmul i8 nn 40x45x35", "matmul_coopmat"},
    {"conv2d f32 nhwc 2x5x9x10 k=7 r=3x3 p=1 weights=krsc", "conv2d_simt"},
    {"conv2d f32 nchw 2x5x9x10 k=7 r=3x2 s=1,2 d=2,1 p=1,0,2,1", "conv2d_simt"},
    {"conv2d f32 nhwc 2x6x7x9 k=5 r=3x3 p=1", "conv2d_winograd"},
    {"conv2d f32 nchw 2x5x8x7 k=6 r=3x3 p=0,1,1,2 weights=rsck", "conv2d_winograd"},
    {"conv2d f32 nchw 2x3x9x8 k=6 r=3x2 s=2 p=1 g=3", "conv2d_depthwise"},
    {"conv2d f32 nchw 2x6x7x9 k=8 r=3x3 p=1 g=2", "conv2d_lanes"},
    {"conv2d f16 nhwc 1x8x7x9 k=16 r=3x3 p=1 weights=krsc out=f32", "conv2d_coopmat"},
    {"conv2d f16 nchw 2x6x6x16 k=16 r=3x3 p=1 out=f32", "conv2d_coopmat"},
};

}  // namespace

TEST_CASE("products and convolutions are linear, and bring out impulses and moves") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    // SwiftShader runs a tile of a product for a tenth of a second: kernels without barriers alone.
    const bool slow = runtime.entry().name.starts_with("SwiftShader");
    const std::size_t rows = scope(std::size(kForced), slow ? std::size_t{2} : std::size(kForced), std::size_t{2});
    std::size_t ran = 0;
    for (const Forced& row : std::span(kForced).first(rows)) {
      CAPTURE(std::string(row.problem));
      CAPTURE(std::string(row.force));
      const Problem problem = must(parse_problem(row.problem));
      const auto plan = reference::plan_with_extra_rows(problem, runtime.profile(), {.force = row.force});
      if (!plan.has_value()) {  // matrix units and narrow accesses, not every device has
        REQUIRE_MESSAGE(plan.error().kind == ErrorKind::unsupported, plan.error().message());
        continue;
      }
      const auto* const matmul = std::get_if<MatmulProblem>(&problem);
      const std::string wrong = matmul != nullptr ? properties_of(runtime, *matmul, *plan)
                                                  : properties_of(runtime, std::get<Conv2dProblem>(problem), *plan);
      CHECK_MESSAGE(wrong.empty(), wrong);
      ++ran;
    }
    const bool all =
        runtime.profile().cooperative_matrix.value_or(false) && runtime.entry().name.starts_with("llvmpipe");
    CHECK(ran >= (all ? rows : 1));
    MESSAGE(ran << " problems on " << runtime.entry().name);
  });
}
