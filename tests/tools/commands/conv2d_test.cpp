// The command that convolves files, and what benchmarks make of convolutions.
#include "bench/operation.hpp"
#include "by_numpy.hpp"
#include "cli/npy.hpp"
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

using Shape = std::vector<std::int64_t>;

template <class T>
void write_array(const std::string& path, DType type, const Shape& shape, const std::vector<T>& values) {
  REQUIRE(tools::write_npy(path, tools::npy_descr(type), shape, std::as_bytes(std::span(values))).has_value());
}
void write_floats(const std::string& path, const Shape& shape, const std::vector<float>& values) {
  write_array(path, DType::f32, shape, values);
}

std::vector<float> counted(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

// `more`: files that the options name, one shape and its values each.
struct Known {
  const char* name;
  Shape x;
  std::vector<float> x_values;
  Shape w;
  std::vector<float> w_values;
  std::vector<std::string> options;
  Shape y;
  std::vector<float> y_values;
};

// One channel, 1 2 3 / 4 5 6 / 7 8 9, and the filter 1 0 / 0 1: a result adds an element and the one diagonally below
// it.
Known diagonal(const char* name, std::vector<std::string> options, Shape y, std::vector<float> y_values) {
  return {name,         {1, 1, 3, 3},       counted(9),   {1, 1, 2, 2},
          {1, 0, 0, 1}, std::move(options), std::move(y), std::move(y_values)};
}

// Worked out by hand from the definition in include/sectile/problem.hpp.
std::vector<Known> known() {
  const std::vector<float> four = counted(4), tens = {1, 10, 100, 1000};
  // clang-format off
  return {
      diagonal("plain", {}, {1, 1, 2, 2}, {6, 8, 12, 14}),
      diagonal("exact", {"--exact"}, {1, 1, 2, 2}, {6, 8, 12, 14}),
      diagonal("padding and stride", {"--pad", "1", "--stride", "2"}, {1, 1, 2, 2}, {1, 3, 7, 14}),
      diagonal("four paddings", {"--pad", "1,0,0,2"}, {1, 1, 3, 4}, {2, 3, 0, 0, 6, 8, 3, 0, 12, 14, 6, 0}),
      diagonal("two paddings", {"--pad", "1,0"}, {1, 1, 4, 2}, {2, 3, 6, 8, 12, 14, 7, 8}),
      diagonal("a stride for each axis", {"--stride", "2,1"}, {1, 1, 1, 2}, {6, 8}),
      diagonal("dilation", {"--dilation", "2"}, {1, 1, 1, 1}, {10}),
      diagonal("bias and leaky relu", {"--bias", "BIAS1", "--activation", "leaky_relu:0.5"}, {1, 1, 2, 2},
               {-2, -1, 2, 4}),
      diagonal("scale, residual and alpha, then a clamp",
               {"--scale", "SCALE1", "--residual", "SQUARE", "--alpha", "0.5", "--activation", "clamp:20:50",
                "--activation-last"}, {1, 1, 2, 2}, {20, 28, 48, 50}),
      diagonal("C", {"--c", "SQUARE", "--beta", "-2"}, {1, 1, 2, 2}, {-14, -24, -48, -66}),
      diagonal("C alone", {"--c", "SQUARE"}, {1, 1, 2, 2}, {16, 24, 42, 54}),
      // Two pixels, 1 2 and 3 4, whose two channels lie side by side; filters 1 10 and 100 1000 over the channels.
      {"channels last", {1, 1, 2, 2}, four, {2, 1, 1, 2}, tens, {"--layout", "nhwc", "--weights", "krsc"},
       {1, 1, 2, 2}, {21, 2100, 43, 4300}},
      {"weights with K last", {1, 1, 2, 2}, four, {1, 1, 2, 2}, {1, 100, 10, 1000},
       {"--layout", "nhwc", "--weights", "rsck"}, {1, 1, 2, 2}, {21, 2100, 43, 4300}},
      {"groups", {1, 4, 1, 1}, four, {2, 2, 1, 1}, tens, {"--groups", "2"}, {1, 2, 1, 1}, {21, 4300}},
      {"two filters a channel", {1, 2, 1, 2}, four, {4, 1, 1, 2}, {1, 0, 0, 1, 1, 1, 1, -1}, {"--groups", "2"},
       {1, 4, 1, 1}, {1, 2, 7, -1}},
      {"no channels", {1, 0, 2, 2}, {}, {1, 0, 1, 1}, {}, {"--bias", "BIAS1"}, {1, 1, 2, 2}, {-10, -10, -10, -10}},
      {"no images", {0, 1, 3, 3}, {}, {1, 1, 2, 2}, {1, 0, 0, 1}, {}, {0, 1, 2, 2}, {}},
  };
  // clang-format on
}

void write_operands(const Folder& folder) {
  write_floats(folder.path("BIAS1"), {1}, {-10});
  write_floats(folder.path("SCALE1"), {1}, {3});
  write_floats(folder.path("SQUARE"), {1, 1, 2, 2}, {10, 16, 30, 40});
}

// Words in capitals are files of the folder.
std::vector<std::string> in_folder(const std::vector<std::string>& words, const Folder& folder) {
  std::vector<std::string> out;
  out.reserve(words.size());
  for (const std::string& word : words) out.push_back(word[0] >= 'A' && word[0] <= 'Z' ? folder.path(word) : word);
  return out;
}

}  // namespace

TEST_CASE("conv2d known answers") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  for (const Known& one : known()) {
    CAPTURE(std::string(one.name));
    const Folder folder;
    write_operands(folder);
    write_floats(folder.path("X"), one.x, one.x_values);
    write_floats(folder.path("W"), one.w, one.w_values);
    std::vector<std::string> arguments = {"conv2d", "X", "W", "-o", "Y", "--device", cpu_device()};
    arguments.insert(arguments.end(), one.options.begin(), one.options.end());
    const Ran ran = run_sectile(in_folder(arguments, folder));
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK(ran.err.find("conv2d f32") != std::string::npos);
    CHECK((ran.err.find("exact=1") != std::string::npos) == (one.name == std::string("exact")));
    const auto y = tools::read_npy(folder.path("Y"));
    REQUIRE(y.has_value());
    CHECK(y->header.shape == one.y);
    REQUIRE(y->data.size() == one.y_values.size() * sizeof(float));
    std::vector<float> got(one.y_values.size());
    if (!got.empty()) std::memcpy(got.data(), y->data.data(), y->data.size());
    CHECK(got == one.y_values);  // of small integers: exact
  }
}

TEST_CASE("conv2d refuses what does not fit and writes nothing") {
  const Folder folder;
  write_operands(folder);
  write_floats(folder.path("X"), {2, 4, 5, 6}, counted(240));
  write_floats(folder.path("W"), {6, 4, 3, 2}, counted(144));
  write_floats(folder.path("MATRIX"), {3, 3}, counted(9));
  write_floats(folder.path("BIAS"), {6}, counted(6));
  write_floats(folder.path("BIAS4"), {1, 6, 1, 1}, counted(6));
  write_array<std::int32_t>(folder.path("INTEGERS"), DType::i32, {6}, {1, 2, 3, 4, 5, 6});
  write_array<std::int32_t>(folder.path("LARGE"), DType::i32, {6}, {1, 16777217, 3, 4, 5, 16777219});
  write_array<std::int32_t>(folder.path("LARGE4"), DType::i32, {1, 4, 1, 2}, {1, 16777217, 3, 4, 5, 6, 7, 8});
  const std::size_t before = folder.files();
  struct Refused {
    std::vector<std::string> options;
    const char* says;
  };
  // clang-format off
  const std::vector<Refused> all = {
      {{"MATRIX", "W"}, "MATRIX: shape: (3, 3) (want 4 axes, nchw)"},
      {{"X", "MATRIX"}, "MATRIX: shape: (3, 3) (want 4 axes, kcrs)"},
      {{"X", "NONE"}, "NONE"},
      {{"X", "W", "--weights", "krsc"},
       "W: shape: (6, 4, 3, 2) (want (6, 4, 3, 4) as krsc: 4 input channels in 1 group)"},
      {{"X", "W", "--groups", "2"}, "W: shape: (6, 4, 3, 2) (want (6, 2, 3, 2) as kcrs: 4 input channels in 2 groups)"},
      {{"X", "W", "--groups", "3"}, "groups: 3 (want a divisor of the 4 channels of "},
      {{"X", "W", "--groups", "0"}, "groups: 0"},
      {{"X", "W", "--layout", "nchw4c"}, "layout: nchw4c (want nchw or nhwc"},
      {{"X", "W", "--layout", "chwn"}, "layout: chwn (want nchw or nhwc;"},
      {{"X", "W", "--weights", "crsk"}, "weights: crsk (want kcrs, krsc or rsck)"},
      {{"X", "W", "--stride", "1,2,3"}, "stride: 1,2,3 (want one number, or two (height, width), each at least 1)"},
      {{"X", "W", "--stride", "0"}, "stride: 0"},
      {{"X", "W", "--dilation", "a"}, "dilation: a"},
      {{"X", "W", "--dilation", "1,1,1,1"}, "dilation: 1,1,1,1"},
      {{"X", "W", "--pad", "1,1,1"},
       "pad: 1,1,1 (want one number, two (vertical, horizontal) or four (top, left, bottom, right), each at least 0)"},
      {{"X", "W", "--pad=-1,0"}, "pad: -1,0"},
      {{"X", "W", "--dilation", "3"}, "output height: not positive"},  // a filter of 7 rows on an image of 5
      {{"X", "W", "--activation", "elu"},
       "activation: elu (want none, relu, gelu, gelu_tanh, silu, leaky_relu:SLOPE, clamp:LOW:HIGH, relu6, sigmoid, "
       "hard_swish, hard_sigmoid or tanh)"},
      {{"X", "W", "--activation", "relu", "--activation-last"}, "epi: relu last (want a residual that it follows)"},
      {{"X", "W", "--type", "f31"}, "f31"},
      {{"X", "W", "--type", "i8"}, "x: f32"},
      {{"X", "W", "--acc", "f16"}, "acc: f16"},
      {{"X", "W", "--beta", "2"}, "--c"},
      {{"X", "W", "--c", "X"}, "X: shape: (2, 4, 5, 6) (want (2, 6, 3, 5), the result's)"},
      {{"X", "W", "--residual", "SQUARE"}, "SQUARE: shape: (1, 1, 2, 2) (want (2, 6, 3, 5), the result's)"},
      {{"X", "W", "--bias", "BIAS1"}, "BIAS1: shape: (1) (want (6,), a value for each output channel)"},
      {{"X", "W", "--bias", "LARGE"},
       "LARGE: 16777217 at (1) (want values of f32; in NumPy a.astype('float32') rounds)"},
      {{"X", "W", "--scale", "LARGE"}, "LARGE: 16777217 at (1) (want values of f32"},
      {{"X", "W", "--out-type", "f16", "--bias", "BIAS"},
       "BIAS: type: <f4 (want the result's: <f2; in NumPy a.astype('float16'))"},
      {{"LARGE4", "W"}, "LARGE4: 16777217 at (0, 0, 0, 1) (want values of f32"},
      {{"X", "W", "--bias", "nan"}, "nan"},
      {{"X", "W", "--scale", "MATRIX"}, "MATRIX: shape"},
      // Nothing is wrong with integers that f32 holds, with a number, nor with layouts in the other case.
      {{"X", "W", "--bias", "INTEGERS", "--scale", "INTEGERS", "--device", "no such device"}, "no such device"},
      {{"X", "W", "--bias", "0.5", "--scale", "2", "--device", "no such device"}, "no such device"},
      {{"X", "W", "--layout", "nCHW", "--weights", "kCRS", "--device", "no such device"}, "no such device"},
      // Nothing is wrong with a bias of as many values in four axes: the device's name is.
      {{"X", "W", "--bias", "BIAS4", "--device", "no such device"}, "no such device"},
      {{"X", "W", "--bias", "BIAS", "--device", "no such device"}, "no such device"},
  };
  // clang-format on
  for (const Refused& one : all) {
    std::vector<std::string> arguments = {"conv2d", "-o", "Y"};
    arguments.insert(arguments.end(), one.options.begin(), one.options.end());
    const Ran ran = run_sectile(in_folder(arguments, folder));
    CAPTURE(std::string(one.says));
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK_MESSAGE(ran.err.find(one.says) != std::string::npos, ran.err);
    CHECK(folder.files() == before);
  }
}

TEST_CASE("conv2d agrees with NumPy") {
  check_by_numpy(R"(
import sys, numpy as np
folder, step = sys.argv[1], sys.argv[2]
# type, N, C, H, W, K, R, S, stride, pad, dilation, groups, layout, weights, options
cases = [
  ('f4', 2, 5, 9, 8, 7, 3, 3, (1, 1), (1, 1, 1, 1), (1, 1), 1, 'nchw', 'kcrs', ['--bias', 'v', '--activation', 'relu']),
  ('f4', 1, 6, 8, 9, 4, 3, 2, (2, 1), (0, 2, 1, 0), (1, 2), 2, 'nhwc', 'rsck', ['--residual', 'c']),
  ('f2', 2, 16, 6, 6, 24, 3, 3, (1, 1), (1, 1, 1, 1), (1, 1), 1, 'nhwc', 'krsc', ['--out-type', 'f32', '--scale', 's']),
  ('f2', 1, 8, 7, 7, 8, 5, 5, (2, 2), (2, 2, 2, 2), (1, 1), 8, 'nchw', 'kcrs', ['--c', 'c', '--beta', '-2']),
  ('f2', 3, 12, 5, 4, 10, 1, 1, (1, 1), (0, 0, 0, 0), (1, 1), 1, 'nchw', 'krsc', []),
  ('i1', 1, 4, 6, 5, 3, 3, 3, (1, 1), (1, 0, 0, 1), (1, 1), 1, 'nhwc', 'krsc', []),
  ('f8', 1, 3, 5, 6, 4, 3, 3, (1, 1), (1, 1, 1, 1), (1, 1), 1, 'nchw', 'kcrs', ['--bias', 'v']),
  ('V2', 1, 4, 5, 5, 3, 3, 3, (1, 1), (0, 0, 0, 0), (1, 1), 1, 'nhwc', 'krsc', ['--out-type', 'f32']),
  ('f2', 1, 2, 4, 4, 3, 2, 2, (1, 1), (0, 0, 0, 0), (1, 1), 1, 'nchw', 'kcrs', []),
]
for i, (t, N, C, H, W, K, R, S, stride, pad, dilation, groups, layout, weights, options) in enumerate(cases):
    rng = np.random.default_rng(i)
    # V2: bf16, which NumPy has not; made as f32, of which the upper half is stored.
    drawn = lambda shape: rng.integers(-128, 128, shape) if t == 'i1' else rng.uniform(-1, 1, shape)
    make = lambda shape: drawn(shape).astype('f4' if t == 'V2' else t)
    stored = lambda a: (a.view('u4') >> 16).astype('u2').view('V2') if t == 'V2' else a
    x, w, v, s = make((N, C, H, W)), make((K, C // groups, R, S)), make((K,)), rng.uniform(-1, 1, (K,)).astype('f4')
    if t == 'V2': x, w = ((a.view('u4') & 0xffff0000).view('f4') for a in (x, w))
    if i == 8: x, w = np.ones_like(x), np.full(w.shape, 70000, 'f4')  # more than f16 has
    (dh, dw), (sh, sw), (top, left, bottom, right) = dilation, stride, pad
    wide = np.pad(x.astype('f8'), ((0, 0), (0, 0), (top, bottom), (left, right)))
    P, Q = (wide.shape[2] - dh * (R - 1) - 1) // sh + 1, (wide.shape[3] - dw * (S - 1) - 1) // sw + 1
    c = make((N, K, P, Q))
    turned = lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1) if layout == 'nhwc' else a)
    if step == 'write':
        order = ['kcrs'.index(letter) for letter in weights]
        ordered = np.ascontiguousarray(w.transpose(order))
        for name, array in (('x', turned(x)), ('w', ordered), ('c', turned(c)), ('v', v), ('s', s)):
            np.save(f'{folder}/{i}{name}.npy', stored(array))
        words = ['--layout', layout, '--weights', weights, '--groups', str(groups)]
        for name, numbers in (('stride', stride), ('pad', pad), ('dilation', dilation)):
            words += [f'--{name}', ','.join(map(str, numbers))]
        print(' '.join(words + [f'{folder}/{i}{o}.npy' if o in ('c', 'v', 's') else o for o in options]))
        continue
    want = np.zeros((N, K, P, Q))
    for k in range(K):
        first = k // (K // groups) * (C // groups)
        for r in range(R):
            for q in range(S):
                rows = slice(r * dh, r * dh + sh * (P - 1) + 1, sh)
                columns = slice(q * dw, q * dw + sw * (Q - 1) + 1, sw)
                part = wide[:, first:first + C // groups, rows, columns]
                want[:, k] += np.einsum('nchw,c->nhw', part, w[k, :, r, q].astype('f8'))
    channel = lambda a: a.astype('f8').reshape(1, K, 1, 1)
    if '--scale' in options: want *= channel(s)
    if '--c' in options: want -= 2 * c.astype('f8')
    if '--bias' in options: want += channel(v)
    if '--activation' in options: want = np.maximum(want, 0)
    if '--residual' in options: want += c.astype('f8')
    want = turned(want)
    got = np.load(f'{folder}/{i}.out.npy')
    single = '--out-type' in options or t == 'f8' or w.dtype == 'f4'
    assert got.dtype == ('i4' if t == 'i1' else 'f4' if single else t), (i, got.dtype)
    assert got.shape == want.shape, (i, got.shape, want.shape)
    error = np.abs(got - want).max()
    assert error <= (0 if t == 'i1' else 8e-3 if got.dtype == 'f2' else 1e-4), (i, error)
)",
                 "conv2d", {"x", "w"}, 9);
}

// The notes stand before the device is opened.
TEST_CASE("conv2d says what became of the types of X and W") {
  const Folder folder;
  const auto file = [&](const char* name, DType type) {
    write_array(folder.path(name), type, {1, 1, 1, 1}, std::vector<std::byte>(size_bytes(type)));
    return folder.path(name);
  };
  const std::string half = file("HALF", DType::f16), wide = file("WIDE", DType::f32),
                    brain = file("BRAIN", DType::bf16), doubles = file("DOUBLES", DType::f64);
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "conv2d");
    arguments.insert(arguments.end(), {"-o", folder.path("Y"), "--device", "no such device"});
    const Ran ran = run_sectile(arguments);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find("no such device") != std::string::npos, ran.err);
    return ran.err;
  };
  const auto has = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const std::string err = said(arguments);
    CHECK_MESSAGE(err.find(text) != std::string::npos, err);
  };
  has({half, wide}, "note: multiplied in f32: " + half + " has f16, " + wide + " has f32");
  has({brain, half}, "note: multiplied in f32: " + brain + " has bf16, " + half + " has f16");
  CHECK(said({half, wide, "--type", "f16"}).find("note:") == std::string::npos);
  CHECK(said({brain, brain}).find("note:") == std::string::npos);
  has({doubles, doubles}, "note: " + doubles + ": f64 is rounded to f32");
  has({half, doubles, "--type", "f16"}, "note: " + doubles + ": f64 is rounded to f16");
}

// Each row of the table is the same work in one plan and in several passes, on GPUs and on CPUs.
TEST_CASE("what is fused into a convolution has passes to compare it with") {
  const auto rows = tools::preset_rows("conv2d-fusion");
  REQUIRE(rows);
  std::set<std::string> labels;
  for (const char* target : {"nvidia-hopper", "cuda:sm_90a", "lavapipe"})
    for (const auto& row : *rows) {
      CAPTURE(row.name);
      const auto profile = builtin_target(target).value();
      const auto fused = make_plan(row.problem, profile, {});
      REQUIRE_MESSAGE(fused.has_value(), fused.error().message());
      REQUIRE(row.more);
      const auto contenders = row.more(*fused, profile);
      REQUIRE(contenders.size() == 1);
      labels.insert(contenders[0].label);
      REQUIRE_MESSAGE(contenders[0].plan.has_value(), contenders[0].label);
      const Plan& passes = *contenders[0].plan;
      CHECK(check_plan(passes, profile).has_value());
      CHECK(passes.problem == contenders[0].problem);
      CHECK(passes.steps.size() >= 2);
      CHECK(passes.steps.back().barrier_before);
      // Operands of the problem, and then what passes leave each other.
      const auto operands = operands_of(contenders[0].problem).value();
      REQUIRE(passes.operands.size() > operands.size());
      for (std::size_t i = 0; i < passes.operands.size(); ++i) {
        CHECK((passes.operands[i].role == OperandRole::scratch) == (i >= operands.size()));
        if (i >= operands.size()) continue;
        CHECK(passes.operands[i].name == operands[i].name);
        CHECK(passes.operands[i].bytes == operands[i].bytes);
      }
    }
  CHECK(labels.size() == 5);
}
