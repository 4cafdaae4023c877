// The words of the kernels that are no GEMM, read back by name from planned steps.
#include "plan/conv2d/kernel_words.hpp"
#include "plan/helpers.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::detail;
using test::constant_of;
using test::planned;

namespace {

// A step's words, those that are specialization constants too.
std::vector<std::uint32_t> words_of(const Step& step) {
  GemmPush push;
  REQUIRE(step.push.size() == sizeof push);
  std::memcpy(&push, step.push.data(), sizeof push);
  std::vector<std::uint32_t> words(std::begin(push.words), std::end(push.words));
  for (const Constant& constant : step.constants)
    if (constant.id >= GEMM_SPEC_WORD0) words.push_back(constant.value);
  return words;
}

// A kernel's own words, and how many of any words come before them.
struct OwnWords {
  GemmConstants constants;
  std::vector<std::uint32_t> words;
  std::uint32_t before;

  explicit OwnWords(const Step& step, std::uint32_t activation = 0)
      : constants{.kEpilogue = constant_of(step, GEMM_SPEC_EPILOGUE), .kBType = constant_of(step, GEMM_SPEC_B_TYPE)},
        words(words_of(step)),
        before(size_of<GemmAddressWords>(constants) +
               size_of<Conv2dPrologueWords>({.kPrologue = constant_of(step, CONV2D_SPEC_PROLOGUE)}) + activation) {}
  std::span<const std::uint32_t> own() const { return std::span(words).subspan(before); }
};

// The name of the operand whose address is word `at`; "" for none.
std::string operand_at(const Plan& plan, const Step& step, std::uint32_t at) {
  const auto slot = std::ranges::find(step.addresses, offsetof(GemmPush, words) + 4 * std::size_t{at},
                                      [](const AddressSlot& s) { return std::size_t{s.push_offset}; });
  return slot == step.addresses.end() ? "" : plan.operands.at(slot->operand).name;
}

}  // namespace

TEST_CASE("a direct kernel is handed the convolution by name") {
  const DeviceProfile lavapipe = test::profile_of_target("lavapipe");
  for (const char* kernel : {"conv2d_direct", "conv2d_lanes"}) {
    CAPTURE(kernel);
    const Plan plan = planned(
        "conv2d f32 nhwc 2x6x9x10 k=4 r=3x2 s=2,1 p=1,0 d=1,2 g=2 x.pitch=7 y.pitch=5 alpha=0.5 beta=2 "
        "pro=scale+bias epi=bias+clamp:-1:3+residual",
        lavapipe, {.force = kernel});
    const Step& step = plan.steps.at(0);
    const OwnWords own(step, 2);
    const Conv2dDirectWordsReader w{own.constants, own.own()};
    CHECK(w.size_p() == 5);
    CHECK(w.size_q() == 8);
    CHECK(w.output_channels() == 4);
    CHECK(w.group_inputs() == 3);
    CHECK(w.group_outputs() == 2);
    CHECK(w.alpha() == 0.5f);
    CHECK(w.beta() == 2.0f);
    CHECK(w.x_pitch() == 7);
    CHECK(w.y_pitch() == 5);
    CHECK(w.residual_pitch() == 4);
    CHECK(w.images() == 2);
    CHECK(w.x_image() == 9 * 10 * 7);
    CHECK(w.y_image() == 5 * 8 * 5);
    CHECK(w.residual_image() == 5 * 8 * 4);
    CHECK(w.size_h() == 9);
    CHECK(w.size_w() == 10);
    CHECK(w.padding().x == 1);
    CHECK(w.padding().y == 0);
    CHECK(w.filter_stride().x == 2);
    CHECK(w.filter_stride().y == 1);
    CHECK(w.dilation().x == 1);
    CHECK(w.dilation().y == 2);
    const std::uint32_t bias = place_of<GemmAddressWords>("bias_address", own.constants);
    CHECK(operand_at(plan, step, bias) == "bias");
    CHECK(operand_at(plan, step, size_of<GemmAddressWords>(own.constants)) == "x.scale");
    CHECK(operand_at(plan, step, size_of<GemmAddressWords>(own.constants) + 2) == "x.bias");
  }
}

TEST_CASE("Winograd's transforms are handed the convolution by name") {
  const DeviceProfile lavapipe = test::profile_of_target("lavapipe");
  const Plan plan = planned("conv2d f32 nhwc 2x6x9x10 k=7 r=3x3 p=1,0 alpha=0.5 epi=residual", lavapipe,
                            {.force = "conv2d_winograd"});
  REQUIRE(plan.steps.front().kernel.stem == "conv2d_winograd_filter");
  REQUIRE(plan.steps.back().kernel.stem == "conv2d_winograd_output");
  const OwnWords filter_words(plan.steps[0]), input_words(plan.steps[1]), output_words(plan.steps.back());
  const Conv2dWinogradFilterWordsReader filter{filter_words.constants, filter_words.own()};
  CHECK(filter.filter_rows() == 7);
  CHECK(filter.filter_columns() == 6);
  CHECK(filter.row_step() == 9 * 6);
  CHECK(filter.column_step() == 9);
  CHECK(filter.element_step() == 1);
  CHECK(filter.u_pitch() == 8);
  const Conv2dWinogradInputWordsReader input{input_words.constants, input_words.own()};
  CHECK(input.tile_rows() == 5);
  CHECK(input.tile_columns() == 4);
  CHECK(input.input_channels() == 6);
  CHECK(input.x_pitch() == 6);
  CHECK(input.channel_step() == 1);
  CHECK(input.v_pitch() == 8);
  CHECK(input.images() == 2);
  CHECK(input.x_image() == 9 * 10 * 6);
  CHECK(input.size_h() == 9);
  CHECK(input.size_w() == 10);
  CHECK(input.padding().x == 1);
  CHECK(input.padding().y == 0);
  const Conv2dWinogradOutputWordsReader output{output_words.constants, output_words.own()};
  CHECK(output.result_rows() == 9 * 8);
  CHECK(output.result_columns() == 7);
  CHECK(output.alpha() == 0.5f);
  CHECK(output.s_pitch() == 8);
  CHECK(output.y_pitch() == 7);
  CHECK(output.residual_pitch() == 7);
  CHECK(output.images() == 2);
  CHECK(output.y_image() == 9 * 8 * 7);
  CHECK(output.residual_image() == 9 * 8 * 7);
  CHECK(output.size_p() == 9);
  CHECK(output.size_q() == 8);
}
