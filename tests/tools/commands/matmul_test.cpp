// The reference of matmul, its random problems, and the command that multiplies files.
#include "by_numpy.hpp"
#include "reference/extra_rows.hpp"

#include "bench/operation.hpp"

#include "reference/generate.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::reference;

namespace {

MatmulProblem matmul(std::string_view text) { return std::get<MatmulProblem>(parse_problem(text).value()); }

// Operands' bytes, filled as a check fills them.
struct Filled {
  std::map<std::string, std::vector<std::byte>> bytes;
  MatmulData data;
  Filled(const MatmulDefinition& definition, std::uint64_t seed) {
    for (const auto& [name, operand] : definition.operands()) {
      auto& own = bytes[name];
      own.resize(operand.bytes());
      fill_data(own, mix(seed ^ own.size()));
      definition.fill(name, own, seed);
      data[name] = own;
    }
  }
};

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<double> values(std::string_view problem, const MatmulData& data, std::span<const std::byte> d_before = {}) {
  std::vector<double> out;
  for (const auto& element : MatmulDefinition(matmul(problem)).result(data, d_before)) out.push_back(element.value);
  return out;
}

}  // namespace

TEST_CASE("halves read and write as their definition") {
  const auto half = [](double value) {
    std::byte bytes[2];
    encode(DType::f16, value, bytes);
    return std::bit_cast<std::uint16_t>(bytes);
  };
  CHECK(half(0) == 0);
  CHECK(half(-0.0) == 0x8000);
  CHECK(half(1) == 0x3c00);
  CHECK(half(65504) == 0x7bff);
  CHECK(half(65519.99) == 0x7bff);
  CHECK(half(65520) == 0x7c00);
  CHECK(half(std::ldexp(1, -24)) == 1);
  CHECK(half(std::ldexp(1, -25)) == 0);  // a tie, to even
  CHECK(half(std::ldexp(1.001, -25)) == 1);
  CHECK(half(std::ldexp(1, -14)) == 0x0400);
  CHECK(half(1 + std::ldexp(1, -11)) == 0x3c00);  // ties to even
  CHECK(half(1 + std::ldexp(3, -11)) == 0x3c02);
  CHECK(half(2 - std::ldexp(1, -12)) == 0x4000);  // the carry is the next exponent
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const auto exact = static_cast<std::uint16_t>(bits);
    std::byte bytes[2];
    std::memcpy(bytes, &exact, 2);
    REQUIRE(half(decode(DType::f16, bytes)) == exact);
  }
  CHECK(rounded(DType::bf16, 1 + std::ldexp(1, -8)) == 1);
  CHECK(rounded(DType::bf16, 1 + std::ldexp(1.01, -8)) == 1 + std::ldexp(1, -7));
  // Through an f32 this one would be a tie first, and then the lower one.
  CHECK(rounded(DType::bf16, 1 + std::ldexp(1, -8) + std::ldexp(1, -40)) == 1 + std::ldexp(1, -7));
}

TEST_CASE("matmul reference known answers") {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 0, 1, -1};
  const MatmulData data = {{"a", bytes_of(a)}, {"b", bytes_of(b)}};
  // A is 2x3: 1 2 3 / 4 5 6. B as 3x2: 1 0 / 2 0 / 1 -1.
  CHECK(values("matmul f32 nn 2x2x3", data) == std::vector<double>{8, -3, 20, -6});
  // B as 2x3, transposed: 1 0 2 / 0 1 -1.
  CHECK(values("matmul f32 nt 2x2x3", data) == std::vector<double>{7, -1, 16, -1});
  // A as 3x2, transposed: 1 3 5 / 2 4 6.
  CHECK(values("matmul f32 tn 2x2x3", data) == std::vector<double>{12, -5, 16, -6});
  CHECK(values("matmul f32 nn 2x2x3 alpha=-0.5", data) == std::vector<double>{-4, 1.5, -10, 3});
  CHECK(values("matmul f32 nn 1x1x2 batch=2 a.batch=1 b.batch=0", data) == std::vector<double>{1, 2});
  CHECK(values("matmul f32 nn 0x2x3", data).empty());

  const std::vector<float> c = {1, 1, 1, 1}, bias = {10, 20}, residual = {100, 200, 300, 400};
  MatmulData all = data;
  all["c"] = bytes_of(c);
  all["bias"] = bytes_of(bias);
  all["scale"] = bytes_of(bias);
  all["residual"] = bytes_of(residual);
  CHECK(values("matmul f32 nn 2x2x3 beta=2 epi=bias", all) == std::vector<double>{20, 19, 32, 16});
  CHECK(values("matmul f32 nn 2x2x3 epi=bias.m", all) == std::vector<double>{18, 7, 40, 14});
  CHECK(values("matmul f32 nn 2x2x3 epi=scale+relu+residual", all) == std::vector<double>{180, 200, 500, 400});
  CHECK(values("matmul f32 nn 2x2x0 epi=bias+residual", all) == std::vector<double>{110, 220, 310, 420});
  CHECK(values("matmul f32 nn 2x2x3 beta=2 c=d", data, bytes_of(c)) == std::vector<double>{10, -1, 22, -4});

  const auto gelu = values("matmul f32 nn 2x2x3 alpha=0.125 epi=gelu", data);
  CHECK(gelu[0] == doctest::Approx(0.8413447460685429));  // 1: half of 1 + erf(1 / sqrt 2)
  CHECK(gelu[1] == doctest::Approx(-0.375 * 0.35383023332727631));
  CHECK(values("matmul f32 nn 2x2x3 alpha=0.125 epi=silu", data)[0] == doctest::Approx(1 / (1 + std::exp(-1.0))));
}

TEST_CASE("quantized weights are what their words say") {
  std::vector<float> ones(64, 1), a_scale(64, 2);
  std::vector<std::uint8_t> nibbles(64, 0x98);                           // low nibble first: 0, 1, 0, 1 ...
  std::vector<std::uint16_t> halves = {0x3c00, 0x4000, 0x4200, 0x4400};  // 1 2 / 3 4
  MatmulData data = {
      {"a", bytes_of(ones)}, {"b", bytes_of(nibbles)}, {"b.scale", bytes_of(halves)}, {"a.scale", bytes_of(a_scale)}};
  CHECK(values("matmul f32 nt 1x2x64 b=q4", data) == std::vector<double>{16 + 32, 48 + 64});
  CHECK(values("matmul f32 nt 1x2x64 b=q4 pro=scale", data) == std::vector<double>{2 * 48, 2 * 112});
  CHECK(values("matmul f32 nt 1x2x1 b=q4 ldb=64", data) == std::vector<double>{0, 0});
  CHECK(values("matmul f32 nt 1x2x34 b=q4 ldb=64", data) == std::vector<double>{16 + 2, 48 + 4});
  const std::vector<std::int8_t> bytes = {-128, 127, 1, 2};
  const std::vector<float> scales = {0.5, 2};
  data["b"] = bytes_of(bytes);
  data["b.scale"] = bytes_of(scales);
  CHECK(values("matmul f32 nn 1x2x2 b=q8", data) == std::vector<double>{-63.5, 258});
  CHECK(values("matmul f32 nt 1x2x2 b=q8", data) == std::vector<double>{-0.5, 6});
}

TEST_CASE("sums of integers are exact, and additions to them saturate") {
  const std::vector<std::int8_t> most(4, -128);
  const std::vector<std::int32_t> bias = {std::numeric_limits<std::int32_t>::max(), -5};
  const MatmulData data = {{"a", bytes_of(most)}, {"b", bytes_of(most)}, {"bias", bytes_of(bias)}};
  const MatmulDefinition definition(matmul("matmul i8 nn 1x2x2 epi=bias"));
  const auto result = definition.result(data, {});
  CHECK(result[0].value == 2147483647.0);
  CHECK(result[1].value == 32763);
  CHECK(result[0].tolerance == 0);
}

TEST_CASE("matmul reference agrees with itself and sees every change") {
  for (std::uint64_t i = 0; i < 400; ++i) {
    const MatmulProblem problem = generate_matmul(5, i);
    CAPTURE(print(Problem(problem)));
    const MatmulDefinition definition(problem);
    if (definition.empty() || problem.m * problem.n * problem.k * problem.batch > 200'000) continue;
    const Filled filled(definition, i);
    const auto& before = filled.bytes.at("d");
    const auto want = definition.result(filled.data, before);
    // The device that rounds once, as it should.
    std::vector<std::byte> got = before;
    const MatmulOperand& d = definition.operand("d");
    const std::size_t size = element_bytes(d.type);
    Random random(i);
    for (std::size_t e = 0; e < want.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      const std::int64_t b = at / (problem.m * problem.n), m = at / problem.n % problem.m, n = at % problem.n;
      REQUIRE((std::isfinite(want[e].value) || ProductDataSet(i).kind == DataKind::ends));
      encode(d.type, want[e].value, got.data() + static_cast<std::size_t>(d.index(b, m, n)) * size);
      if (!random.one_in(10)) continue;
      const MatmulElement again = definition.element(filled.data, before, b, m, n);
      REQUIRE(again.open == want[e].open);
      if (std::isfinite(want[e].value))
        REQUIRE(again.value == doctest::Approx(want[e].value));
      else
        REQUIRE((again.value == want[e].value || (std::isnan(again.value) && std::isnan(want[e].value))));
    }
    REQUIRE_FALSE(compare(definition, want, before, got).has_value());
    REQUIRE_FALSE(compare_devices(definition, want, got, got).has_value());
    if (want[0].open) continue;
    // One element never written, one with its sign turned, one byte between elements.
    const std::size_t first = static_cast<std::size_t>(d.index(0, 0, 0)) * size;
    auto wrong = got;
    for (std::size_t k = 0; k < size; ++k) wrong[first + k] = ~wrong[first + k];
    const auto seen = compare(definition, want, before, wrong);
    REQUIRE(seen.has_value());
    CHECK(seen->byte == first);
    CHECK(compare_devices(definition, want, got, wrong).has_value());
    if (d.type != DType::i32 && !(problem.c_is_d && problem.beta != 0)) {
      wrong = got;
      std::memcpy(wrong.data() + first, before.data() + first, size);
      REQUIRE(compare(definition, want, before, wrong).has_value());
      CHECK(compare(definition, want, before, wrong)->message.find("never written") != std::string::npos);
    }
    if (d.row_step > d.columns && d.rows > 1 && (d.batches == 1 || d.batch_step >= d.rows * d.row_step)) {
      wrong = got;
      wrong[static_cast<std::size_t>(d.columns) * size] ^= std::byte{1};
      CHECK(compare(definition, want, before, wrong).has_value());
    }
  }
}

// What a tolerance must still see: a term of the sum left out, or one too many.
TEST_CASE("two devices may round a tie to either neighbour, and to nothing further") {
  const ProductPlaces places{.type = DType::bf16,
                             .index = [](std::size_t i) { return static_cast<std::int64_t>(i); },
                             .name = [](std::size_t) { return std::string("d[0]"); },
                             .zeros = {}};
  const double step = 0x1p-7;  // between bf16s from 1 to 2
  const ProductElement tie{.value = 1.5 - step / 2, .tolerance = step / 16},
      no_tie{.value = 1.5, .tolerance = step / 16};
  const auto differ = [&](const ProductElement& want, double one, double other) {
    std::array<std::byte, 2> a{}, b{};
    encode(DType::bf16, one, a.data());
    encode(DType::bf16, other, b.data());
    return compare_devices(places, std::array{want}, a, b).has_value();
  };
  CHECK_FALSE(differ(tie, 1.5, 1.5 - step));
  CHECK_FALSE(differ(tie, 1.5 - step, 1.5));
  CHECK(differ(tie, 1.5 + step, 1.5 - step));
  CHECK(differ(tie, 1.5 + step, 1.5));
  CHECK(differ(no_tie, 1.5, 1.5 - step));
}

TEST_CASE("tolerances see a missing term") {
  for (const char* text : {"matmul f32 nn 8x8x1000", "matmul f16 nn 8x8x300 out=f32", "matmul bf16 nn 8x8x300 out=f32",
                           "matmul f16 nn 8x8x64 acc=f16 out=f32"}) {
    CAPTURE(text);
    const MatmulDefinition definition(matmul(text));
    const Filled filled(definition, 3);
    MatmulProblem shorter = definition.problem();
    --shorter.k;
    shorter.lda = definition.problem().k;
    const auto want = definition.result(filled.data, {}), less = MatmulDefinition(shorter).result(filled.data, {});
    std::size_t seen = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      seen += std::fabs(want[i].value - less[i].value) > want[i].tolerance ? 1 : 0;
    CHECK(seen >= want.size() / 2);
  }
}

TEST_CASE("generated matmuls are valid and of every kind") {
  std::map<std::string, int> kinds;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    const MatmulProblem p = generate_matmul(1, i);
    const Problem problem(p);
    const auto operands = operands_of(problem);
    REQUIRE_MESSAGE(operands.has_value(), print(problem) << ": " << operands.error().message());
    REQUIRE(parse_problem(print(problem)).value() == problem);
    REQUIRE(problem_from_json(to_json(problem)).value() == problem);
    REQUIRE(generate_matmul(1, i) == p);
    const MatmulDefinition definition(p);
    REQUIRE(operands->size() == definition.operands().size());
    for (std::size_t o = 0; o < operands->size(); ++o) {
      CHECK((*operands)[o].name == definition.operands()[o].first);
      CHECK((*operands)[o].bytes == definition.operands()[o].second.bytes());
      ++kinds[(*operands)[o].name];
    }
    CHECK(p.m * p.n * p.k * p.batch < 60'000'000);
    ++kinds[std::string(name(p.type))];
    ++kinds["out " + std::string(name(p.out))];
    ++kinds["a " + std::string(name(p.a_type))];
    if (p.acc == DType::f16) ++kinds["acc f16"];
    ++kinds[p.transpose_a ? p.transpose_b ? "tt" : "tn" : p.transpose_b ? "nt" : "nn"];
    ++kinds["b " + (p.b_format == WeightFormat::q4   ? "q4"
                    : p.b_format == WeightFormat::q8 ? "q8"
                                                     : std::string(name(p.b_type)))];
    if (p.batch > 1 && p.a_batch == 0) ++kinds["one for all"];
    if (p.batch > 1 && p.d_batch >= 0 && p.d_batch < p.m * p.n) ++kinds["interleaved"];
    if (p.lda != 0) ++kinds["lda"];
    if (p.c_is_d && p.beta == 0) ++kinds["D of NaNs"];
    ++kinds["activation " + std::to_string(static_cast<int>(p.activation))];
    if (p.activation_last) ++kinds["activation last"];
    if (definition.empty()) ++kinds["empty"];
    if (!definition.empty() && p.k == 0) ++kinds["no sum"];
    if (p.m == 1 || p.n == 1) ++kinds["vector"];
    if (p.k > 5000) ++kinds["long sum"];
    if (p.d_align != 16) ++kinds["align"];
  }
  for (int activation = 5; activation < kActivations; ++activation)
    CHECK(kinds["activation " + std::to_string(activation)] >= 10);
  for (const char* kind : {"activation last",
                           "c",
                           "bias",
                           "scale",
                           "residual",
                           "b.scale",
                           "a.scale",
                           "f32",
                           "f16",
                           "bf16",
                           "i8",
                           "out i32",
                           "out f32",
                           "out f16",
                           "out bf16",
                           "a f32",
                           "a f16",
                           "a bf16",
                           "acc f16",
                           "nn",
                           "nt",
                           "tn",
                           "tt",
                           "b q4",
                           "b q8",
                           "b f16",
                           "one for all",
                           "interleaved",
                           "lda",
                           "D of NaNs",
                           "activation 0",
                           "activation 1",
                           "activation 2",
                           "activation 3",
                           "activation 4",
                           "empty",
                           "no sum",
                           "vector",
                           "long sum",
                           "align"}) {
    CAPTURE(kind);
    CHECK(kinds[kind] >= 10);
  }
}

TEST_CASE("benchmarks name candidates that there are") {
  const auto profile = builtin_target("nvidia-hopper");
  REQUIRE(profile);
  std::size_t named = 0;
  const auto planned = [&](const std::vector<tools::Contender>& contenders) {
    for (const auto& contender : contenders) {
      CAPTURE(print(contender.problem));
      const auto plan =
          reference::plan_with_extra_rows(contender.problem, *profile, {.explain = false, .force = contender.force});
      CHECK_MESSAGE(plan.has_value(), contender.force);
      ++named;
    }
  };
  for (const char* preset : {"matmul", "matmul-units", "gemm-ladder", "dietcode"}) {
    const auto rows = tools::preset_rows(preset);
    REQUIRE(rows);
    for (const auto& row : *rows) {
      planned(row.contenders);
      const auto chosen = reference::plan_with_extra_rows(row.problem, *profile, {.explain = true});
      REQUIRE(chosen);
      if (row.more) planned(row.more(*chosen, *profile));
    }
  }
  CHECK(named >= 10 + 6 * 2);  // the ladder's rungs, and at least two a row of dietcode
}

TEST_CASE("matmul agrees with NumPy") {
  check_by_numpy(R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
# type, A, B, transposed, options; what is right, by NumPy in double precision
cases = [
  ('f8', (5, 7), (7, 3), '', ['--bias', '0.5'], lambda a, b, c, v: a @ b + 0.5),
  ('f4', (7, 5), (3, 7), 'ab', ['--bias', 'v', '--activation', 'relu'],
   lambda a, b, c, v: np.maximum(a.T @ b.T + v, 0)),
  ('f2', (16, 40), (24, 40), 'b', ['--acc', 'f32', '--out-type', 'f32', '--alpha', '0.5'],
   lambda a, b, c, v: 0.5 * (a @ b.T)),
  ('f2', (9, 8), (8, 6), '', ['--c', 'c', '--beta', '-2', '--activation', 'leaky_relu:0.1'],
   lambda a, b, c, v: np.maximum(a @ b - 2 * c, 0.1 * (a @ b - 2 * c))),
  ('i1', (6, 33), (33, 4), '', [], lambda a, b, c, v: a @ b),
  ('f4', (3, 5, 7), (7, 2), '', [], lambda a, b, c, v: a @ b),
  ('i8', (3, 5, 7), (3, 7, 2), '', ['--c', 'c'], lambda a, b, c, v: a @ b + c),
  ('f4', (5, 0), (0, 3), '', ['--bias', 'v'], lambda a, b, c, v: np.zeros((5, 3)) + v),
  ('f4', (5, 7), (7, 3), '', ['--bias', 'column'], lambda a, b, c, v: a @ b + np.arange(5).reshape(5, 1)),
  ('f2', (4, 8), (8, 3), '', [], lambda a, b, c, v: a @ b),
]
for n, (t, sa, sb, turned, options, right) in enumerate(cases):
    rng = np.random.default_rng(n)
    make = lambda shape: (rng.integers(-128, 128, shape) if t[0] == 'i' else rng.uniform(-1, 1, shape)).astype(t)
    a, b = make(sa), make(sb)
    if n == 1: a = np.asfortranarray(a)
    if n == 9: a, b = np.ones(sa, 'f2'), np.full(sb, 70000, 'f4')  # more than f16 has
    wide = [x.astype('f8') for x in (a, b)]
    N = sb[-2] if 'b' in turned else sb[-1]
    M = sa[-1] if 'a' in turned else sa[-2]
    batch = max(x.shape[0] if x.ndim == 3 else 1 for x in (a, b))
    shape = (batch,) * (a.ndim == 3 or b.ndim == 3) + (M, N)
    c, v, column = make(shape), make((N,)), np.arange(M).reshape(M, 1).astype(t)
    if step == 'write':
        for name, array in (('a', a), ('b', b), ('c', c), ('v', v), ('column', column)):
            np.save(f'{folder}/{n}{name}.npy', array)
        words = ['--transpose-a'] * ('a' in turned) + ['--transpose-b'] * ('b' in turned)
        print(' '.join(words + [f'{folder}/{n}{o}.npy' if o in ('c', 'v', 'column') else o for o in options]))
        continue
    want = right(wide[0], wide[1], c.astype('f8'), v.astype('f8'))
    got = np.load(f'{folder}/{n}.out.npy')
    # f64 is rounded to f32, integers that fit are taken as f32, and the wider type is the result's.
    single = '--out-type' in options or t[1] == '8' or b.dtype == 'f4'
    assert got.dtype == ('i4' if t == 'i1' else 'f4' if single else t), (n, got.dtype)
    assert got.shape == want.shape, (n, got.shape, want.shape)
    error = np.abs(got - want).max()
    assert error <= (0 if t == 'i1' else 4e-3 if got.dtype == 'f2' else 1e-5), (n, error)
)",
                 "matmul", {"a", "b"}, 10);
}

TEST_CASE("what follows an i8 sum in bf16 takes it as f32 has it") {
  check_by_numpy(R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
# 2^24 + 1 and 257 * 2^16 + 1, which bf16 and f32 round differently; a term that cancels the sum.
cases = [('--bias -16777216', 0, 16777217), ('--c c --beta 1', 0, 16777217),
         ('--c c --beta 0.5 --alpha 0.5', 0, 16777217), ('--alpha 2', 2 * 16777216, 16777217),
         ('--bias 0', 16777216, 16842753), ('', 16908288, 16842753),
         ('--activation relu', 16908288, 16842753), ('--activation leaky_relu:1', 16777216, 16842753)]
for n, (options, right, total) in enumerate(cases):
    count, left = divmod(total, 127 * 127)
    row = [127] * count + [left // 127, left % 127]
    if step == 'write':
        np.save(f'{folder}/{n}a.npy', np.array([row] * 3, 'i1'))
        np.save(f'{folder}/{n}b.npy', np.array([[127] * 5] * (len(row) - 1) + [[1] * 5], 'i1'))
        np.save(f'{folder}/{n}c.npy', np.full((3, 5), 0xcb80, '<u2').view('V2'))
        print('--out-type bf16 ' + ' '.join(f'{folder}/{n}c.npy' if o == 'c' else o for o in options.split()))
        continue
    got = np.load(f'{folder}/{n}.out.npy').view('<u2').astype('u4')
    got = (got << 16).view('f4')
    assert got.shape == (3, 5) and (got == right).all(), (n, options, got)
)",
                 "matmul", {"a", "b"}, 8);
}
