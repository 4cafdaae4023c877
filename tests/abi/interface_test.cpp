// The kernels' SPIR-V against the headers that C++ reads: push structs, specialization constants.
#include <sectile/shaders.hpp>

#include "canary/canary.abi.h"
#include "canary/canary_numbers.abi.h"
#include "conv2d/conv2d_coopmat.abi.h"
#include "conv2d/conv2d_depthwise.abi.h"
#include "conv2d/conv2d_direct.abi.h"
#include "conv2d/conv2d_lanes.abi.h"
#include "conv2d/conv2d_simt.abi.h"
#include "conv2d/conv2d_winograd.abi.h"
#include "gemm/gemm.abi.h"
#include "gemm/matmul_coopmat.abi.h"
#include "gemm/matmul_coopmat2.abi.h"
#include "gemm/matmul_direct.abi.h"
#include "gemm/matmul_simt.abi.h"
#include "gemm/matvec.abi.h"
#include "permute/permute.abi.h"
#include "permute/permute_box.abi.h"
#include "permute/permute_copy.abi.h"
#include "permute/permute_elements.abi.h"
#include "permute/permute_fused.abi.h"
#include "permute/permute_fused_ragged.abi.h"
#include "permute/permute_gather.abi.h"
#include "permute/permute_interleave.abi.h"
#include "permute/permute_ragged.abi.h"
#include "permute/permute_realign.abi.h"
#include "permute/permute_rows.abi.h"
#include "permute/permute_runs.abi.h"
#include "permute/permute_table.abi.h"
#include "permute/permute_tile.abi.h"
#include "permute/permute_words.abi.h"

#include <doctest/doctest.h>
#include <spirv_reflect.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace sectile;

namespace {

struct Field {
  const char* name;
  std::size_t offset, size;
};
#define FIELD(Struct, name) {#name, offsetof(Struct, name), sizeof(Struct::name)}

struct Interface {
  std::string_view stem;
  std::size_t push_bytes;  // up to the end of the last field
  std::vector<Field> fields;
  std::set<std::uint32_t> constants;  // without the words
  bool words;                         // reads the stream of words
  std::set<std::uint32_t> may = {};   // constants that not every variant reads
};

constexpr std::size_t kPermutePush = sizeof(PermutePush);
const std::vector<Field> kPermuteFields = {FIELD(PermutePush, src), FIELD(PermutePush, dst), FIELD(PermutePush, words)};
const std::set<std::uint32_t> kCommon = {SECTILE_SPEC_WORKGROUP, PERMUTE_SPEC_AXES, PERMUTE_SPEC_READ_BOUNDS,
                                         PERMUTE_SPEC_WRITE_BOUNDS};

std::set<std::uint32_t> with(std::set<std::uint32_t> base, const std::set<std::uint32_t>& more) {
  base.insert(more.begin(), more.end());
  return base;
}

const std::set<std::uint32_t> kFused =
    with(kCommon, {PERMUTE_FUSED_SPEC_TYPE, PERMUTE_FUSED_SPEC_OUT, PERMUTE_FUSED_SPEC_STAGE, PERMUTE_FUSED_SPEC_LOAD,
                   PERMUTE_FUSED_SPEC_STORE, PERMUTE_FUSED_SPEC_ADD});

const std::vector<Field> kCanaryFields = {
    FIELD(CanaryPush, a_rows),    FIELD(CanaryPush, a_columns), FIELD(CanaryPush, b_rows),
    FIELD(CanaryPush, b_columns), FIELD(CanaryPush, c_rows),    FIELD(CanaryPush, c_columns),
    FIELD(CanaryPush, d),         FIELD(CanaryPush, d_bytes),   FIELD(CanaryPush, seed)};
const std::set<std::uint32_t> kCanaryConstants = {SECTILE_SPEC_WORKGROUP, CANARY_SPEC_M, CANARY_SPEC_N, CANARY_SPEC_K};

// A matmul's words are pushed, and those beyond the push bytes are constants.
std::set<std::uint32_t> matmul_constants(std::set<std::uint32_t> out) {
  for (std::uint32_t id = GEMM_SPEC_TYPE; id <= GEMM_SPEC_TILE_K; ++id) out.insert(id);
  for (std::uint32_t word = GEMM_PUSH_WORDS; word < GEMM_MAX_WORDS; ++word)
    out.insert(GEMM_SPEC_WORD0 + word - GEMM_PUSH_WORDS);
  return out;
}
const std::vector<Field> kMatmulFields = {FIELD(GemmPush, a), FIELD(GemmPush, b), FIELD(GemmPush, d),
                                          FIELD(GemmPush, words)};
Interface matmul_interface(std::string_view stem, const std::set<std::uint32_t>& own) {
  return {stem, sizeof(GemmPush), kMatmulFields, {SECTILE_SPEC_WORKGROUP}, false, matmul_constants(own)};
}

// A convolution's are a matmul's and more: an image adds words and constants.
Interface conv2d_interface(std::string_view stem, const std::set<std::uint32_t>& own) {
  Interface out = matmul_interface(stem, own);
  for (std::uint32_t word = GEMM_MAX_WORDS; word < GEMM_MOST_WORDS; ++word)
    out.constants.insert(GEMM_SPEC_WORD0 + word - GEMM_PUSH_WORDS);
  out.constants.insert({CONV2D_SPEC_R, CONV2D_SPEC_S, CONV2D_SPEC_BLOCK, CONV2D_SPEC_PROLOGUE});
  return out;
}

const std::set<std::uint32_t> kCoopmat = {
    MATMUL_COOPMAT_SPEC_SUBGROUP, MATMUL_COOPMAT_SPEC_SUB_M,   MATMUL_COOPMAT_SPEC_SUB_N, MATMUL_COOPMAT_SPEC_FRAG_M,
    MATMUL_COOPMAT_SPEC_FRAG_N,   MATMUL_COOPMAT_SPEC_FRAG_K,  MATMUL_COOPMAT_SPEC_PAD,   MATMUL_COOPMAT_SPEC_SLICE_K,
    MATMUL_COOPMAT_SPEC_STORE_M,  MATMUL_COOPMAT_SPEC_STORE_N, MATMUL_COOPMAT_SPEC_STAGED};
const std::set<std::uint32_t> kSimt = {
    MATMUL_SIMT_SPEC_ROWS,     MATMUL_SIMT_SPEC_COLUMNS,     MATMUL_SIMT_SPEC_LANES_M, MATMUL_SIMT_SPEC_LANES_N,
    MATMUL_SIMT_SPEC_VECTOR,   MATMUL_SIMT_SPEC_STRIDED,     MATMUL_SIMT_SPEC_STAGES,  MATMUL_SIMT_SPEC_PREFETCH,
    MATMUL_SIMT_SPEC_FETCHERS, MATMUL_SIMT_SPEC_INTERLEAVED, MATMUL_SIMT_SPEC_PAD_A,   MATMUL_SIMT_SPEC_PAD_B,
    MATMUL_SIMT_SPEC_GROUP_A,  MATMUL_SIMT_SPEC_GROUP_B,     MATMUL_SIMT_SPEC_CHECKED, MATMUL_SIMT_SPEC_PAIRED};
const std::set<std::uint32_t> kGathered = {CONV2D_SPEC_ORDER, CONV2D_SPEC_UNIFORM, CONV2D_SPEC_FLATTENED_BATCH};

const std::vector<Interface> kInterfaces = {
    conv2d_interface("conv2d_coopmat", with(with(kCoopmat, kGathered), {CONV2D_SPEC_PAD_LEFT, CONV2D_SPEC_DILATION_W})),
    conv2d_interface("conv2d_simt", with(with(kSimt, kGathered), {CONV2D_SPEC_IMAGE_SIDE})),
    conv2d_interface("conv2d_depthwise",
                     {CONV2D_DEPTHWISE_SPEC_STRIP, CONV2D_DEPTHWISE_SPEC_WEIGHTS, CONV2D_DEPTHWISE_SPEC_CHANNELS}),
    conv2d_interface("conv2d_direct",
                     {CONV2D_DIRECT_SPEC_OUT_BLOCK, CONV2D_DIRECT_SPEC_WEIGHTS, CONV2D_DIRECT_SPEC_OFFSET64}),
    conv2d_interface("conv2d_lanes", {CONV2D_LANES_SPEC_OUT_BLOCK, CONV2D_LANES_SPEC_WEIGHTS, CONV2D_LANES_SPEC_STRIP,
                                      CONV2D_LANES_SPEC_CHANNELS, CONV2D_LANES_SPEC_STEP}),
    matmul_interface("conv2d_winograd_filter", {CONV2D_WINOGRAD_SPEC_CHANNELS_LAST}),
    conv2d_interface("conv2d_winograd_input", {CONV2D_WINOGRAD_SPEC_CHANNELS_LAST}),
    matmul_interface("conv2d_winograd_output", {CONV2D_WINOGRAD_SPEC_CHANNELS_LAST}),
    matmul_interface("matmul_coopmat", kCoopmat),
    matmul_interface("matmul_coopmat2", {MATMUL_COOPMAT2_SPEC_RAGGED, MATMUL_COOPMAT2_SPEC_UNROLL}),
    matmul_interface("matmul_direct",
                     {MATMUL_DIRECT_SPEC_ROWS, MATMUL_DIRECT_SPEC_COLUMNS, MATMUL_DIRECT_SPEC_OFFSET64}),
    matmul_interface("matmul_reduce", {}),
    matmul_interface("matmul_simt", kSimt),
    matmul_interface("matvec", {MATVEC_SPEC_SIDE, MATVEC_SPEC_ROWS, MATVEC_SPEC_LANES, MATVEC_SPEC_ROUNDS}),
    {"canary_coopmat", sizeof(CanaryPush), kCanaryFields, kCanaryConstants, false},
    {"canary_coopmat2", sizeof(CanaryPush), kCanaryFields, kCanaryConstants, false},
    {"canary_numbers",
     offsetof(CanaryNumbersPush, seed) + 4,
     {FIELD(CanaryNumbersPush, words), FIELD(CanaryNumbersPush, seed)},
     {SECTILE_SPEC_WORKGROUP},
     false},
    {"permute_copy",
     offsetof(PermuteCopyPush, words) + sizeof(PermuteCopyPush::words),
     {FIELD(PermuteCopyPush, src), FIELD(PermuteCopyPush, dst), FIELD(PermuteCopyPush, words)},
     {SECTILE_SPEC_WORKGROUP, PERMUTE_COPY_SPEC_WIDTH, PERMUTE_COPY_SPEC_UNROLL},
     false},
    {"permute_rows", kPermutePush, kPermuteFields, with(kCommon, {PERMUTE_ROWS_SPEC_UNROLL}), true},
    {"permute_tile", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_TILE_SPEC_TILE_S, PERMUTE_TILE_SPEC_TILE_D, PERMUTE_TILE_SPEC_VECTOR_S,
                    PERMUTE_TILE_SPEC_VECTOR_D, PERMUTE_TILE_SPEC_STORE_BYTES, PERMUTE_TILE_SPEC_SKEW}),
     true},
    {"permute_block", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_TILE_SPEC_TILE_S, PERMUTE_TILE_SPEC_TILE_D, PERMUTE_TILE_SPEC_VECTOR_S,
                    PERMUTE_TILE_SPEC_VECTOR_D, PERMUTE_TILE_SPEC_STORE_BYTES, PERMUTE_BLOCK_SPEC_LANES_D}),
     true},
    {"permute_box", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_BOX_SPEC_LOAD_VECTOR, PERMUTE_BOX_SPEC_STORE_VECTOR, PERMUTE_BOX_SPEC_SHARED_WORDS,
                    PERMUTE_BOX_SPEC_UNROLL}),
     true},
    {"permute_elements", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_ELEMENTS_SPEC_UNROLL, PERMUTE_ELEMENTS_SPEC_PITCH}), true},
    {"permute_gather", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_GATHER_SPEC_TILE_D, PERMUTE_GATHER_SPEC_WORDS, PERMUTE_GATHER_SPEC_LANES_D,
                    PERMUTE_GATHER_SPEC_INNER}),
     false},
    {"permute_realign", kPermutePush, kPermuteFields, with(kCommon, {PERMUTE_REALIGN_SPEC_EARLY}), true},
    {"permute_ragged", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_RAGGED_SPEC_TILE_D, PERMUTE_RAGGED_SPEC_RUN_BYTES, PERMUTE_RAGGED_SPEC_LANES_D,
                    PERMUTE_RAGGED_SPEC_PACKED, PERMUTE_RAGGED_SPEC_INNER}),
     true},
    {"permute_table", kPermutePush, kPermuteFields,
     with(kCommon,
          {PERMUTE_TABLE_SPEC_LOADS, PERMUTE_TABLE_SPEC_STORES, PERMUTE_TABLE_SPEC_INNER, PERMUTE_TABLE_SPEC_AHEAD}),
     true},
    {"permute_interleave", kPermutePush, kPermuteFields,
     with(kCommon,
          {PERMUTE_INTERLEAVE_SPEC_STEPS, PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES, PERMUTE_INTERLEAVE_SPEC_STORE_BYTES,
           PERMUTE_INTERLEAVE_SPEC_SOURCES, PERMUTE_INTERLEAVE_SPEC_SRC_RUN, PERMUTE_INTERLEAVE_SPEC_TARGETS,
           PERMUTE_INTERLEAVE_SPEC_DST_RUN, PERMUTE_INTERLEAVE_SPEC_SWAP}),
     true},
    {"permute_runs", kPermutePush, kPermuteFields,
     with(kCommon, {PERMUTE_RUNS_SPEC_RUN, PERMUTE_RUNS_SPEC_TILE_S, PERMUTE_RUNS_SPEC_TILE_D,
                    PERMUTE_RUNS_SPEC_BLOCK_S, PERMUTE_RUNS_SPEC_BLOCK_D, PERMUTE_RUNS_SPEC_LOAD_BYTES,
                    PERMUTE_RUNS_SPEC_STORE_BYTES, PERMUTE_RUNS_SPEC_SHIFT, PERMUTE_RUNS_SPEC_HALO,
                    PERMUTE_RUNS_SPEC_STAGED, PERMUTE_RUNS_SPEC_SKEW, PERMUTE_RUNS_SPEC_SWAP}),
     true},
    {"permute_words", kPermutePush, kPermuteFields, kCommon, true},
    {"permute_fused", kPermutePush, kPermuteFields, with(kFused, {PERMUTE_FUSED_SPEC_VECTOR}), true},
    {"permute_fused_block", kPermutePush, kPermuteFields,
     with(kFused, {PERMUTE_FUSED_SPEC_VECTOR_S, PERMUTE_FUSED_SPEC_VECTOR_D, PERMUTE_FUSED_SPEC_TILE_S,
                   PERMUTE_FUSED_SPEC_TILE_D, PERMUTE_FUSED_SPEC_SWAP, PERMUTE_FUSED_SPEC_LANES_D,
                   PERMUTE_FUSED_SPEC_JOINED_S, PERMUTE_FUSED_SPEC_JOINED_D}),
     true},
    {"permute_fused_ragged", kPermutePush, kPermuteFields,
     with(kFused,
          {PERMUTE_FUSED_RAGGED_SPEC_TILE_D, PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES, PERMUTE_FUSED_RAGGED_SPEC_LANES_D,
           PERMUTE_FUSED_RAGGED_SPEC_INNER, PERMUTE_FUSED_RAGGED_SPEC_PACKED}),
     true},
};

// SPIRV-Reflect knows no tensor layouts and views, and gives up at a pointer to one: it is shown empty types instead.
// Neither is part of any interface.
std::vector<std::uint32_t> without_tensor_types(std::span<const std::uint32_t> module) {
  constexpr std::uint32_t kTensorLayout = 5370, kTensorView = 5371, kTypeVoid = 19, kNop = 0, kHeaderWords = 5;
  std::vector<std::uint32_t> words(module.begin(), module.end());
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::uint32_t count = words[at] >> 16, opcode = words[at] & 0xFFFF;
    REQUIRE(count > 0);
    if (opcode == kTensorLayout || opcode == kTensorView) {
      words[at] = 2u << 16 | kTypeVoid;
      for (std::uint32_t rest = 2; rest < count; ++rest) words[at + rest] = 1u << 16 | kNop;
    }
    at += count;
  }
  return words;
}

struct Reflected {
  SpvReflectShaderModule module{};
  explicit Reflected(const EmbeddedModule& m) {
    CAPTURE(m.stem);
    const auto opened = m.words();
    REQUIRE(opened.has_value());
    const auto words = without_tensor_types(*opened);
    REQUIRE(spvReflectCreateShaderModule(words.size() * 4, words.data(), &module) == SPV_REFLECT_RESULT_SUCCESS);
  }
  ~Reflected() { spvReflectDestroyShaderModule(&module); }
  Reflected(const Reflected&) = delete;
  Reflected& operator=(const Reflected&) = delete;
};

// The block's members; a block that holds one struct is that struct.
const SpvReflectBlockVariable& push_block(const SpvReflectShaderModule& module) {
  REQUIRE(module.push_constant_block_count == 1);
  const SpvReflectBlockVariable* block = &module.push_constant_blocks[0];
  while (block->member_count == 1 && block->members[0].member_count > 0) block = &block->members[0];
  return *block;
}

}  // namespace

TEST_CASE("every module has an interface") {
  for (const auto& m : embedded_modules()) {
    bool known = false;
    for (const auto& i : kInterfaces) known = known || i.stem == m.stem;
    CHECK_MESSAGE(known, m.stem);
  }
  CHECK(embedded_modules().size() > 60);
}

TEST_CASE("push structs agree") {
  for (const auto& m : embedded_modules()) {
    CAPTURE(std::string(m.stem) + "." + std::string(m.variant));
    const Reflected reflected(m);
    for (const auto& i : kInterfaces) {
      if (i.stem != m.stem) continue;
      const auto& block = push_block(reflected.module);
      REQUIRE(block.member_count == i.fields.size());
      std::size_t end = 0;
      for (std::uint32_t f = 0; f < block.member_count; ++f) {
        CHECK(std::string(block.members[f].name) == i.fields[f].name);
        CHECK(block.members[f].absolute_offset == i.fields[f].offset);
        CHECK(block.members[f].size == i.fields[f].size);
        end = block.members[f].absolute_offset + block.members[f].size;
      }
      CHECK(end == i.push_bytes);
      CHECK(end <= 128);
    }
  }
}

TEST_CASE("specialization constants agree") {
  for (const auto& m : embedded_modules()) {
    CAPTURE(std::string(m.stem) + "." + std::string(m.variant));
    const Reflected reflected(m);
    const bool longer = m.variant.ends_with(".long") || m.variant.ends_with(".wide");
    for (const auto& i : kInterfaces) {
      if (i.stem != m.stem) continue;
      auto wanted = i.constants;
      if (longer && i.words) {
        wanted.insert(PERMUTE_SPEC_PUSHED);
        const std::uint32_t most = m.stem.starts_with("permute_fused") ? PERMUTE_FUSED_MAX_WORDS : PERMUTE_MAX_WORDS;
        for (std::uint32_t w = 0; w < most; ++w) wanted.insert(PERMUTE_SPEC_WORD0 + w);
      }
      std::set<std::uint32_t> found;
      for (std::uint32_t c = 0; c < reflected.module.spec_constant_count; ++c)
        found.insert(reflected.module.spec_constants[c].constant_id);
      // What a kernel does not read it need not have; what it has must have a name in the header.
      // Every kernel that includes lib/numbers.glsl may have the bits of what it does by integers.
      for (const auto id : found)
        CHECK_MESSAGE((wanted.contains(id) || i.may.contains(id) || id == SECTILE_SPEC_NUMBERS), "constant " << id);
      for (const auto id : i.constants) CHECK_MESSAGE(found.contains(id), "constant " << id);
    }
  }
}

TEST_CASE("kernels bind nothing") {
  for (const auto& m : embedded_modules()) {
    const Reflected reflected(m);
    CHECK_MESSAGE(reflected.module.descriptor_binding_count == 0, m.stem);
  }
}
