// check_plan at its limits: what lies on a limit is taken, what lies one beyond is refused.
#include "made_up.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <functional>
#include <string>

using namespace sectile;

namespace {

std::string refused(const Plan& plan) {
  const auto ok = check_plan(plan);
  return ok ? "" : ok.error().what;
}
std::string refused(const Plan& plan, const DeviceProfile& profile) {
  const auto ok = check_plan(plan, profile);
  return ok ? "" : ok.error().what;
}

// `set` makes a plan of a number: `limit` is taken, and the next one is refused for `what`.
void at_limit(const std::function<Plan(std::uint64_t)>& set, std::uint64_t limit, std::int64_t beyond,
              std::string_view what, const DeviceProfile* profile = nullptr) {
  const auto said = [&](std::uint64_t n) { return profile ? refused(set(n), *profile) : refused(set(n)); };
  CAPTURE(std::string(what));
  CAPTURE(limit);
  CHECK(said(limit) == "");
  CHECK(said(limit + static_cast<std::uint64_t>(beyond)) == what);
}

Plan changed(const std::function<void(Plan&)>& change) {
  Plan plan = made_up::two_steps();
  change(plan);
  return plan;
}

// Steps on one byte each of a destination of so many bytes, without barriers.
Plan many_steps(std::size_t steps) {
  Plan plan;
  plan.operands = {{.name = "dst", .role = OperandRole::destination, .bytes = 1024, .align = 16}};
  Step step = made_up::two_steps().steps[0];
  for (std::size_t i = 0; i < steps; ++i) {
    step.addresses = {{.push_offset = 0, .operand = 0, .byte_offset = i}};
    step.accesses = {{.operand = 0, .begin = i, .end = i + 1, .write = true}};
    plan.steps.push_back(step);
  }
  return plan;
}

}  // namespace

// Every pair of steps without a barrier between them, however far apart.
TEST_CASE("a step is compared with each one that may still run") {
  for (const std::size_t first : {0u, 1u, 2u, 3u}) {
    for (std::size_t second = first + 1; second < 5; ++second) {
      CAPTURE(first);
      CAPTURE(second);
      Plan plan = many_steps(5);
      CHECK(refused(plan) == "");
      plan.steps[second].accesses[0] = plan.steps[first].accesses[0];
      CHECK(refused(plan) == "step " + std::to_string(second) + " ordering");
      // Before the first of them a barrier orders nothing; from after it to the second, any does.
      for (std::size_t at = 0; at < 5; ++at) {
        Plan ordered = plan;
        ordered.steps[at].barrier_before = true;
        CHECK((refused(ordered) == "") == (at > first && at <= second));
      }
      // Two reads are in no order.
      Plan reads = plan;
      for (Step& step : reads.steps) step.accesses[0].write = false;
      CHECK(refused(reads) == "");
      // One of the two is enough.
      reads.steps[first].accesses[0].write = true;
      CHECK(refused(reads) == "step " + std::to_string(second) + " ordering");
      reads.steps[first].accesses[0].write = false;
      reads.steps[second].accesses[0].write = true;
      CHECK(refused(reads) == "step " + std::to_string(second) + " ordering");
    }
  }
}

TEST_CASE("ranges that touch do not conflict, those that share a byte do") {
  const auto second = [](std::uint64_t begin, std::uint64_t end, bool other_step) {
    Plan plan = many_steps(other_step ? 2 : 1);
    plan.steps[0].accesses[0] = {0, 100, 200, true};
    if (other_step)
      plan.steps[1].accesses[0] = {0, begin, end, true};
    else
      plan.steps[0].accesses.push_back({0, begin, end, true});
    return refused(plan);
  };
  for (const bool other_step : {false, true}) {
    const std::string what = other_step ? "step 1 ordering" : "step 0 ranges";
    CHECK(second(200, 300, other_step) == "");
    CHECK(second(199, 300, other_step) == what);
    CHECK(second(1, 100, other_step) == "");
    CHECK(second(1, 101, other_step) == what);
    CHECK(second(120, 130, other_step) == what);
    CHECK(second(1, 300, other_step) == what);
  }
  // Of each pair of ranges, not of neighbours alone.
  Plan three = many_steps(1);
  three.steps[0].accesses = {{0, 0, 10, true}, {0, 10, 20, true}, {0, 9, 10, true}};
  CHECK(refused(three) == "step 0 ranges");
  three.steps[0].accesses[2] = {0, 20, 30, true};
  CHECK(refused(three) == "");
  // Bytes of different operands are different bytes.
  CHECK(refused(changed([](Plan& p) {
          p.operands[0].role = OperandRole::scratch;
          p.steps[0].accesses[0] = {0, 16, 4096, true};
        })) == "");
}

TEST_CASE("a plan has at most so much of everything") {
  at_limit([](std::uint64_t n) { return many_steps(n); }, 64, 1, "steps");
  at_limit(
      [](std::uint64_t n) {
        Plan plan = many_steps(1);
        for (std::uint64_t i = 1; i < n; ++i) plan.steps[0].accesses.push_back({0, i, i + 1, true});
        return plan;
      },
      64, 1, "step 0 ranges");
  at_limit(
      [](std::uint64_t n) {
        Plan plan = many_steps(1);
        plan.steps[0].push.assign(8 * n, 0);
        for (std::uint32_t i = 1; i < n; ++i) plan.steps[0].addresses.push_back({8 * i, 0, 0});
        return plan;
      },
      64, 1, "step 0 addresses");
  at_limit(
      [](std::uint64_t n) {
        return changed([&](Plan& p) { p.steps[0].tensor_maps.assign(n, {0, 0, 4, {32, 32}, {128}, {32, 8}, 128}); });
      },
      8, 1, "step 0 tensor maps");
}

TEST_CASE("addresses and ranges end where their operand ends") {
  const auto first = [](auto set) {
    return [set](std::uint64_t n) { return changed([&](Plan& p) { set(p.steps[0], n); }); };
  };
  at_limit(first([](Step& s, std::uint64_t n) { s.accesses[0].end = n; }), 4096, 1, "step 0 range");
  at_limit(first([](Step& s, std::uint64_t n) { s.accesses[0].begin = n; }), 4095, 1, "step 0 range");
  at_limit(first([](Step& s, std::uint64_t n) { s.addresses[0].byte_offset = n; }), 4096, 1, "step 0 address");
  at_limit(first([](Step& s, std::uint64_t n) {
             s.push.assign(32, 0);
             s.addresses[0].push_offset = static_cast<std::uint32_t>(n);
           }),
           24, 8, "step 0 address");
  for (const std::uint32_t odd : {1u, 2u, 4u, 12u, 23u, 25u, 28u})
    CHECK(refused(changed([&](Plan& p) {
            p.steps[0].push.assign(32, 0);
            p.steps[0].addresses[0].push_offset = odd;
          })) == "step 0 address");
  const auto operand = [](std::uint64_t n) {
    return changed([&](Plan& p) {
      p.steps[0].addresses[0].operand = p.steps[0].accesses[0].operand = static_cast<std::uint32_t>(n);
    });
  };
  CHECK(refused(operand(1)) == "");
  CHECK(refused(operand(3)) == "step 0 address");
  CHECK(refused(changed([](Plan& p) { p.steps[0].accesses[0].operand = 3; })) == "step 0 address");
  CHECK(refused(changed([](Plan& p) { p.steps[0].accesses.push_back({3, 0, 16, false}); })) == "step 0 range");
  // Each of the eight bytes of an address is zero until it is recorded, and none beside them needs to be.
  for (std::size_t byte = 0; byte < 32; ++byte)
    CHECK((refused(changed([&](Plan& p) { p.steps[0].push[byte] = 1; })) == "") == (byte >= 16));
  CHECK(refused(changed([](Plan& p) { p.steps[0].push.resize(4); })) == "step 0 address");
  for (std::uint32_t more = 1; more < 4; ++more)
    CHECK(refused(changed([&](Plan& p) { p.steps[0].push.resize(32 + more); })) == "step 0 push bytes");
  CHECK(refused(changed([](Plan& p) { p.steps[0].push.resize(36); })) == "");
}

TEST_CASE("a grid is whole clusters, of at most sixteen workgroups") {
  using Sizes = std::array<std::uint32_t, 3>;
  const auto launched = [](Sizes cluster, Sizes grid) {
    return changed([&](Plan& p) {
      p.steps[0].cluster = cluster;
      p.steps[0].grid = grid;
    });
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    const auto along = [&](std::uint64_t n) {
      Sizes cluster{1, 1, 1}, grid{5, 5, 5};
      cluster[axis] = static_cast<std::uint32_t>(n);
      grid[axis] = 3 * cluster[axis];
      return launched(cluster, n == 0 ? Sizes{5, 5, 5} : grid);
    };
    at_limit(along, 16, 1, "step 0 cluster");
    at_limit(along, 1, -1, "step 0 cluster");
    at_limit(
        [&](std::uint64_t n) {
          Sizes cluster{1, 1, 1}, grid{5, 5, 5};
          cluster[axis] = 4;
          grid[axis] = static_cast<std::uint32_t>(n);
          return launched(cluster, grid);
        },
        12, 1, "step 0 grid");
  }
  CHECK(refused(launched({2, 4, 2}, {2, 4, 2})) == "");
  CHECK(refused(launched({2, 4, 3}, {2, 4, 3})) == "step 0 cluster");
  CHECK(refused(launched({4, 5, 1}, {4, 5, 1})) == "step 0 cluster");
  // The sides' product is 0 in 32 bits.
  CHECK(refused(launched({1u << 16, 1u << 16, 1}, {1u << 16, 1u << 16, 1})) == "step 0 cluster");
  // Only CUDA has clusters, from sm_90 on.
  const Plan two = launched({2, 1, 1}, {8, 1, 1});
  DeviceProfile profile;
  CHECK(refused(two, profile) == "cluster");
  profile.cuda_architecture = 89;
  CHECK(refused(two, profile) == "cluster");
  CHECK(refused(launched({1, 1, 1}, {8, 1, 1}), profile) == "");
  profile.cuda_architecture = 90;
  CHECK(refused(two, profile) == "");
}

TEST_CASE("constants ascend, each once") {
  const auto second = [](std::uint32_t id) {
    return refused(changed([&](Plan& p) { p.steps[1].constants[1].id = id; }));
  };
  CHECK(second(1) == "");
  CHECK(second(8) == "");
  CHECK(second(0) == "step 1 constants");
  CHECK(second(9) == "step 1 constants");  // the next one's
}

namespace {

using MapChange = std::function<void(TensorMap&, std::uint64_t)>;

// A plan with that map and a change, made of a number; its operand and range are large enough for any map.
std::function<Plan(std::uint64_t)> with_map(const TensorMap& map, const MapChange& change) {
  return [map, change](std::uint64_t n) {
    Plan plan = many_steps(1);
    plan.operands[0].bytes = std::uint64_t{1} << 62;
    plan.steps[0].tensor_maps = {map};
    change(plan.steps[0].tensor_maps[0], n);
    plan.steps[0].accesses = {{0, 0, std::uint64_t{1} << 62, true}};
    return plan;
  };
}

// An im2col map of a large image with that many dimensions.
TensorMap image_map(std::size_t rank) {
  TensorMap map{0, 0, 4, std::vector<std::uint64_t>(rank, 1 << 20), std::vector<std::uint64_t>(rank - 1, 128), {}, 128};
  map.dims[0] = 32;
  map.im2col = Im2col{std::vector<std::int32_t>(rank - 2, 0), std::vector<std::int32_t>(rank - 2, 0), 32, 8};
  return map;
}

}  // namespace

TEST_CASE("a tensor map is what the encoder takes") {
  using Change = MapChange;
  const auto with = [](const Change& change) { return with_map({0, 0, 4, {32, 32}, {128}, {32, 8}, 128}, change); };
  const auto limit = [&](std::uint64_t n, std::int64_t beyond, const Change& change) {
    at_limit(with(change), n, beyond, "step 0 tensor map");
  };
  limit(5, 1, [](TensorMap& m, std::uint64_t n) {
    m.dims.assign(n, 4);
    m.dims[0] = 32;
    m.box.assign(n, 1);
    m.box[0] = 32;
    m.strides.assign(n - 1, 128);
  });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) {
    m.dims.assign(n, 32);
    m.box.assign(n, 32);
    m.strides.clear();
  });
  limit(2, 1, [](TensorMap& m, std::uint64_t n) { m.box.resize(n, 1); });
  limit(2, -1, [](TensorMap& m, std::uint64_t n) { m.box.resize(n, 1); });
  limit(1, 1, [](TensorMap& m, std::uint64_t n) { m.strides.resize(n, 128); });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) { m.strides.resize(n, 128); });
  const auto element = [](TensorMap& m, std::uint64_t n) {
    m.element_bytes = static_cast<std::uint32_t>(n);
    m.swizzle_bytes = 0;
  };
  for (const std::uint64_t bytes : {1u, 2u, 4u}) CHECK(refused(with(element)(bytes)) == "");
  limit(8, 8, element);
  limit(1, -1, element);
  CHECK(refused(with(element)(3)) == "step 0 tensor map");
  limit(16, 8, [](TensorMap& m, std::uint64_t n) { m.byte_offset = n; });
  const auto swizzle = [](TensorMap& m, std::uint64_t n) {
    m.swizzle_bytes = static_cast<std::uint32_t>(n);
    m.box[0] = 4;
  };
  for (const std::uint64_t bytes : {0u, 64u}) CHECK(refused(with(swizzle)(bytes)) == "");
  limit(128, 128, swizzle);
  limit(32, -16, swizzle);
  CHECK(refused(with(swizzle)(48)) == "step 0 tensor map");
  limit(std::uint64_t{1} << 32, 1, [](TensorMap& m, std::uint64_t n) {
    m.dims[0] = n;
    m.strides[0] = std::uint64_t{1} << 35;
  });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) { m.dims[1] = n; });
  const auto none = check_plan(with([](TensorMap& m, std::uint64_t n) { m.dims[1] = n; })(0));
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().value == "dimension 1");
  limit(256, 1, [](TensorMap& m, std::uint64_t n) { m.box[1] = static_cast<std::uint32_t>(n); });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) { m.box[1] = static_cast<std::uint32_t>(n); });
  limit((std::uint64_t{1} << 40) - 16, 16, [](TensorMap& m, std::uint64_t n) { m.strides[0] = n; });
  limit(144, 8, [](TensorMap& m, std::uint64_t n) { m.strides[0] = n; });
  // Rows of a box: whole units of 16 bytes, and no longer than the swizzle.
  limit(32, 4, [](TensorMap& m, std::uint64_t n) { m.box[0] = static_cast<std::uint32_t>(n); });
  limit(4, 1, [](TensorMap& m, std::uint64_t n) { m.box[0] = static_cast<std::uint32_t>(n); });
  limit(36, 1, [](TensorMap& m, std::uint64_t n) {
    m.box[0] = static_cast<std::uint32_t>(n);
    m.swizzle_bytes = 0;
  });
}

TEST_CASE("a tensor map's element strides are 1 to 8, of the innermost dimension 1") {
  const auto limit = [&](std::uint64_t n, std::int64_t beyond, const MapChange& change) {
    TensorMap map{0, 0, 4, {32, 32}, {128}, {32, 8}, 128};
    map.element_strides = {1, 1};
    at_limit(with_map(map, change), n, beyond, "step 0 tensor map");
  };
  limit(8, 1, [](TensorMap& m, std::uint64_t n) { m.element_strides[1] = static_cast<std::uint32_t>(n); });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) { m.element_strides[1] = static_cast<std::uint32_t>(n); });
  limit(1, 1, [](TensorMap& m, std::uint64_t n) { m.element_strides[0] = static_cast<std::uint32_t>(n); });
  limit(1, -1, [](TensorMap& m, std::uint64_t n) { m.element_strides[0] = static_cast<std::uint32_t>(n); });
  limit(2, 1, [](TensorMap& m, std::uint64_t n) { m.element_strides.resize(n, 1); });
  limit(2, -1, [](TensorMap& m, std::uint64_t n) { m.element_strides.resize(n, 1); });
  limit(0, 1, [](TensorMap& m, std::uint64_t n) { m.element_strides.resize(n, 1); });
}

TEST_CASE("a tensor map is filled with NaNs of its elements' size") {
  const auto filled = [](TensorFill fill) {
    TensorMap map{0, 0, 4, {32, 32}, {128}, {32, 8}, 0};
    map.fill = fill;
    return with_map(map, [](TensorMap& m, std::uint64_t n) { m.element_bytes = static_cast<std::uint32_t>(n); });
  };
  for (const std::uint64_t bytes : {1u, 2u, 4u, 8u}) {
    CHECK(refused(filled(TensorFill::zeros)(bytes)) == "");
    CHECK((refused(filled(TensorFill::nan_f16)(bytes)) == "") == (bytes == 2));
    CHECK((refused(filled(TensorFill::nan_bf16)(bytes)) == "") == (bytes == 2));
    CHECK((refused(filled(TensorFill::nan_f32)(bytes)) == "") == (bytes == 4));
  }
}

TEST_CASE("an im2col map is what the encoder takes") {
  const auto limit_of = [](std::size_t rank, std::uint64_t n, std::int64_t beyond, const MapChange& change) {
    at_limit(with_map(image_map(rank), change), n, beyond, "step 0 tensor map");
  };
  const auto limit = [&](std::uint64_t n, std::int64_t beyond, const MapChange& change) {
    limit_of(4, n, beyond, change);
  };
  const auto resized = [](TensorMap& m, std::uint64_t n) { m = image_map(n); };
  at_limit(with_map({}, resized), 5, 1, "step 0 tensor map");
  at_limit(with_map({}, resized), 3, -1, "step 0 tensor map");
  // A corner's numbers share sixteen bits.
  for (const auto& [rank, end] : {std::pair{3u, 32768}, std::pair{4u, 128}, std::pair{5u, 16}})
    for (std::size_t axis = 0; axis < rank - 2; ++axis) {
      CAPTURE(rank);
      CAPTURE(axis);
      for (const auto corner : {&Im2col::lower, &Im2col::upper}) {
        const auto set = [&](TensorMap& m, std::uint64_t n) {
          ((*m.im2col).*corner)[axis] = static_cast<std::int32_t>(static_cast<std::int64_t>(n));
        };
        limit_of(rank, static_cast<std::uint64_t>(end) - 1, 1, set);
        limit_of(rank, -static_cast<std::uint64_t>(end), -1, set);
      }
      // A pixel is left in the box.
      limit_of(rank, 6, -1, [&](TensorMap& m, std::uint64_t n) {
        m.dims[axis + 1] = n;
        m.im2col->lower[axis] = 2;
        m.im2col->upper[axis] = -3;
      });
    }
  for (const auto corner : {&Im2col::lower, &Im2col::upper})
    for (const std::int64_t beyond : {1, -1})
      limit(2, beyond, [&](TensorMap& m, std::uint64_t n) { ((*m.im2col).*corner).resize(n); });
  limit(0, 4, [](TensorMap& m, std::uint64_t n) { m.box.resize(n, 8); });
  const auto channels = [](TensorMap& m, std::uint64_t n) {
    m.im2col->channels_per_pixel = static_cast<std::uint32_t>(n);
  };
  const auto unswizzled = [&](TensorMap& m, std::uint64_t n) {
    channels(m, n);
    m.swizzle_bytes = 0;
  };
  limit(256, 4, unswizzled);
  limit(4, -4, unswizzled);
  limit(4, 1, unswizzled);
  limit(32, 4, channels);  // 128 bytes, the swizzle
  const auto pixels = [](TensorMap& m, std::uint64_t n) {
    m.im2col->pixels_per_column = static_cast<std::uint32_t>(n);
  };
  limit(1024, 1, pixels);
  limit(1, -1, pixels);
  // 227 KiB.
  limit(908, 1, [&](TensorMap& m, std::uint64_t n) {
    unswizzled(m, 64);
    pixels(m, n);
  });
}

TEST_CASE("a copy is no larger than a workgroup's memory") {
  const auto box_of = [](std::vector<std::uint32_t> strides) {
    return [strides](TensorMap& m, std::uint64_t n) {
      m = {0, 0, 4, {4, 4, 4}, {16, 64}, {64, 256, static_cast<std::uint32_t>(n)}, 0, strides};
    };
  };
  at_limit(with_map({}, box_of({})), 3, 1, "step 0 tensor map");
  at_limit(with_map({}, box_of({1, 1, 8})), 24, 1, "step 0 tensor map");
  at_limit(with_map({}, box_of({1, 2, 1})), 7, 1, "step 0 tensor map");
}

TEST_CASE("a tensor map lies in its operand, and in a range of its step") {
  // 31 rows of 128 bytes and one of 128: 4096 bytes.
  const auto mapped = [](auto change) {
    return refused(changed([&](Plan& p) {
      p.steps[0].tensor_maps = {{0, 0, 4, {32, 32}, {128}, {32, 8}, 128}};
      change(p);
    }));
  };
  CHECK(mapped([](Plan&) {}) == "");
  CHECK(mapped([](Plan& p) { p.steps[0].tensor_maps[0].dims[1] = 33; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].tensor_maps[0].dims[0] = 33; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].tensor_maps[0].byte_offset = 16; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].accesses[0].end = 4095; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].accesses[0].begin = 1; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].tensor_maps[0].operand = 1; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.steps[0].tensor_maps[0].operand = 3; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.operands[0].align = 8; }) == "step 0 tensor map");
  CHECK(mapped([](Plan& p) { p.operands[0].align = 32; }) == "");
  // At an offset, with a range that begins there.
  const auto offset = [&](std::uint64_t begin, std::uint64_t end) {
    return mapped([&](Plan& p) {
      p.steps[0].tensor_maps[0].byte_offset = 32;
      p.steps[0].tensor_maps[0].dims[1] = 16;
      p.steps[0].accesses[0].begin = begin;
      p.steps[0].accesses[0].end = end;
    });
  };
  CHECK(offset(32, 32 + 2048) == "");
  CHECK(offset(33, 32 + 2048) == "step 0 tensor map");
  CHECK(offset(32, 32 + 2047) == "step 0 tensor map");
}

TEST_CASE("each limit of a device, with the profile's number and without one") {
  const auto step = [](auto set) {
    return [set](std::uint64_t n) { return changed([&](Plan& p) { set(p.steps[1], static_cast<std::uint32_t>(n)); }); };
  };
  const auto workgroup = [](Step& s, std::uint32_t n) { s.workgroup[0] = s.constants[0].value = n; };
  const auto grid = [](std::size_t axis) { return [axis](Step& s, std::uint32_t n) { s.grid[axis] = n; }; };
  const auto memory = [](Step& s, std::uint32_t n) { s.workgroup_memory_bytes = n; };
  const auto push = [](Step& s, std::uint32_t n) { s.push.resize(n); };
  const DeviceProfile none;
  for (std::size_t axis = 1; axis < 3; ++axis)
    at_limit(step([axis](Step& s, std::uint32_t n) { s.workgroup[axis] = n; }), 1, 1,
             std::string("step 1 workgroup size ") + "xyz"[axis], &none);
  at_limit(step(memory), 16384, 1, "workgroup memory", &none);
  at_limit(step(workgroup), 128, 1, "workgroup size x", &none);
  at_limit(step(push), 128, 4, "push bytes", &none);
  for (std::size_t axis = 0; axis < 3; ++axis)
    at_limit(step(grid(axis)), 65535, 1, std::string("grid ") + "xyz"[axis], &none);
  DeviceProfile some;
  some.workgroup_memory_bytes = 30000;
  some.max_workgroup_size = {65, 37, 41};
  some.max_workgroup_invocations = 68;
  some.max_grid = {50, 60, 70};
  some.max_push_bytes = 200;
  at_limit(step(memory), 30000, 1, "workgroup memory", &some);
  at_limit(step(workgroup), 65, 1, "workgroup size x", &some);
  at_limit(step(push), 200, 4, "push bytes", &some);
  at_limit(step(grid(0)), 50, 1, "grid x", &some);
  at_limit(step(grid(1)), 60, 1, "grid y", &some);
  at_limit(step(grid(2)), 70, 1, "grid z", &some);
  some.max_workgroup_size = {100, 37, 41};
  at_limit(step(workgroup), 68, 1, "workgroup invocations", &some);
  some.max_dynamic_workgroup_memory_bytes = 40000;
  at_limit(step(memory), 40000, 1, "workgroup memory", &some);
  some.max_dynamic_workgroup_memory_bytes = 20000;  // less than may be declared
  at_limit(step(memory), 30000, 1, "workgroup memory", &some);
  Plan maps = made_up::two_steps();
  maps.steps[0].tensor_maps = {{0, 0, 4, {32, 32}, {128}, {32, 8}, 128}};
  CHECK(refused(maps, none) == "tensor maps");
  some.tensor_maps = true;
  CHECK(refused(maps, some) != "tensor maps");
}

TEST_CASE("a required subgroup size is one that the device has") {
  DeviceProfile profile;
  profile.max_workgroup_invocations = 1024;
  profile.max_workgroup_size = {1024, 1, 1};
  profile.min_subgroup_size = 8;
  profile.max_subgroup_size = 32;
  profile.required_subgroup_size = true;
  const auto said = [&](std::uint32_t size, std::uint32_t workgroup) {
    Plan plan = made_up::two_steps();
    plan.steps[0].workgroup[0] = plan.steps[0].constants[0].value = workgroup;
    plan.steps[0].required_subgroup_size = size;
    return refused(plan, profile);
  };
  for (const std::uint32_t size : {0u, 8u, 16u, 32u}) CHECK(said(size, 64) == "");
  for (const std::uint32_t size : {1u, 2u, 4u, 64u, 128u, 12u, 24u}) CHECK(said(size, 128) == "required subgroup size");
  CHECK(said(32, 32) == "");
  for (const std::uint32_t workgroup : {16u, 31u, 33u, 48u, 63u}) CHECK(said(32, workgroup) == "workgroup size x");
  profile.max_subgroup_size.reset();
  CHECK(said(8, 64) == "required subgroup size");
  profile.max_subgroup_size = 32;
  profile.min_subgroup_size.reset();
  CHECK(said(8, 64) == "required subgroup size");
}
