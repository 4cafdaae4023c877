// The C interface: profiles and plans.
#include "handles.hpp"

#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <algorithm>

using namespace sectile;
using capi::given;
using capi::guarded;

// A role is passed on as its number.
static_assert(static_cast<int>(OperandRole::source) == SECTILE_SOURCE &&
              static_cast<int>(OperandRole::destination) == SECTILE_DESTINATION &&
              static_cast<int>(OperandRole::scratch) == SECTILE_SCRATCH);

namespace {

Result<void> give(Result<DeviceProfile> made, SectileProfile** profile) {
  if (!made) return std::unexpected(made.error());
  *profile = new SectileProfile{.profile = std::move(*made)};
  return {};
}

Result<void> give(Result<Plan> made, const SectileProfile& profile, SectilePlan** plan) {
  if (!made) return std::unexpected(made.error());
  std::string remark = plan_remark(*made, profile.profile);
  *plan = new SectilePlan{.plan = std::move(*made), .remark = std::move(remark)};
  return {};
}

Result<PlanOptions> options_of(const SectilePlanOptions* given_options) {
  PlanOptions options;
  if (given_options == nullptr) return options;
  const auto read = capi::read(given_options, "options");
  if (!read) return std::unexpected(read.error());
  if (read->force != nullptr) options.force = read->force;
  options.explain = read->explain != 0;
  options.few_pipelines = read->few_pipelines != 0;
  if (read->limit_scratch != 0) options.max_scratch_bytes = read->max_scratch_bytes;
  if (read->pack != nullptr) options.kernels = &read->pack->pack;
  return options;
}

}  // namespace

SectileStatus sectile_profile_target(const char* name, SectileProfile** profile) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(name, "name"); !r) return r;
    if (auto r = given(profile, "profile"); !r) return r;
    return give(builtin_target(name), profile);
  });
}

SectileStatus sectile_profile_from_json(const char* json, SectileProfile** profile) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(json, "json"); !r) return r;
    if (auto r = given(profile, "profile"); !r) return r;
    return give(profile_from_json(json), profile);
  });
}

void sectile_profile_destroy(SectileProfile* profile) { delete profile; }

const char* sectile_profile_name(const SectileProfile* profile) { return profile->profile.name.c_str(); }

const char* sectile_profile_json(const SectileProfile* profile) {
  return profile->json.get([&] { return to_json(profile->profile); });
}

SectileStatus sectile_profile_with_class(const SectileProfile* profile, const char* device_class_json,
                                         SectileProfile** with) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(profile, "profile"); !r) return r;
    if (auto r = given(device_class_json, "device_class_json"); !r) return r;
    if (auto r = given(with, "with"); !r) return r;
    auto device_class = device_class_from_json(device_class_json);
    if (!device_class) return std::unexpected(device_class.error());
    DeviceProfile made = profile->profile;
    if (auto used = use_device_class(made, std::move(*device_class)); !used) return std::unexpected(used.error());
    return give(std::move(made), with);
  });
}

const char* sectile_profile_class(const SectileProfile* profile) {
  return profile->class_text.get([&] {
    const DeviceClass* device_class = device_class_of(profile->profile);
    return device_class == nullptr ? std::string() : print(*device_class);
  });
}

SectileStatus sectile_profile_with_canary(const SectileProfile* profile, const char* canary_json,
                                          SectileProfile** with) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(profile, "profile"); !r) return r;
    if (auto r = given(canary_json, "canary_json"); !r) return r;
    if (auto r = given(with, "with"); !r) return r;
    const auto result = canary_from_json(canary_json);
    if (!result) return std::unexpected(result.error());
    return give(with_canary(profile->profile, *result), with);
  });
}

namespace {

Result<void> give(Result<Pack> made, SectilePack** pack) {
  if (!made) return std::unexpected(made.error());
  std::string id(made->id());
  *pack = new SectilePack{std::move(*made), std::move(id)};
  return {};
}

}  // namespace

SectileStatus sectile_pack_read(const char* path, SectilePack** pack) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(path, "path"); !r) return r;
    if (auto r = given(pack, "pack"); !r) return r;
    return give(Pack::read(path), pack);
  });
}

SectileStatus sectile_pack_open(const void* data, size_t bytes, SectilePack** pack) {
  return guarded([&]() -> Result<void> {
    if (bytes != 0)
      if (auto r = given(data, "data"); !r) return r;
    if (auto r = given(pack, "pack"); !r) return r;
    return give(Pack::open({static_cast<const std::byte*>(data), bytes}), pack);
  });
}

void sectile_pack_destroy(SectilePack* pack) { delete pack; }
const char* sectile_pack_id(const SectilePack* pack) { return pack->id.c_str(); }
uint64_t sectile_pack_modules(const SectilePack* pack) { return pack->pack.modules().size(); }

SectileStatus sectile_plan_create(const SectileProfile* profile, const char* problem, const SectilePlanOptions* options,
                                  SectilePlan** plan) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(profile, "profile"); !r) return r;
    if (auto r = given(problem, "problem"); !r) return r;
    if (auto r = given(plan, "plan"); !r) return r;
    const auto parsed = parse_problem(problem);
    if (!parsed) return std::unexpected(parsed.error());
    const auto read = options_of(options);
    if (!read) return std::unexpected(read.error());
    return give(make_plan(*parsed, profile->profile, *read), *profile, plan);
  });
}

SectileStatus sectile_plan_from_json(const SectileProfile* profile, const char* json, const SectilePack* pack,
                                     SectilePlan** plan) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(profile, "profile"); !r) return r;
    if (auto r = given(json, "json"); !r) return r;
    if (auto r = given(plan, "plan"); !r) return r;
    PlanReading reading;
    if (pack != nullptr) reading.kernels = &pack->pack;
    return give(plan_from_json(json, profile->profile, reading), *profile, plan);
  });
}

void sectile_plan_destroy(SectilePlan* plan) { delete plan; }

const char* sectile_plan_json(const SectilePlan* plan) {
  return plan->json.get([&] { return to_json(plan->plan); });
}
const char* sectile_plan_id(const SectilePlan* plan) { return plan->plan.id.c_str(); }
const char* sectile_plan_text(const SectilePlan* plan) {
  return plan->text.get([&] { return print(plan->plan); });
}
const char* sectile_plan_explanation(const SectilePlan* plan) {
  return plan->explanation.get([&] { return explain(plan->plan); });
}
const char* sectile_plan_remark(const SectilePlan* plan) { return plan->remark.c_str(); }

uint32_t sectile_plan_operand_count(const SectilePlan* plan) {
  return static_cast<uint32_t>(plan->plan.operands.size());
}

SectileStatus sectile_plan_operand(const SectilePlan* plan, uint32_t index, SectileOperandInfo* info) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(plan, "plan"); !r) return r;
    if (auto r = given(info, "info"); !r) return r;
    const auto& operands = plan->plan.operands;
    if (index >= operands.size())
      return fail(ErrorKind::missing, "operand", std::to_string(index),
                  "fewer than " + std::to_string(operands.size()));
    const PlanOperand& operand = operands[index];
    SectileOperandInfo out{};
    out.name = operand.name.c_str();
    out.role = static_cast<SectileRole>(operand.role);
    out.align = operand.align;
    out.bytes = operand.bytes;
    return capi::write(out, info, "info");
  });
}

SectileStatus sectile_plan_find_operand(const SectilePlan* plan, const char* name, uint32_t* index) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(plan, "plan"); !r) return r;
    if (auto r = given(name, "name"); !r) return r;
    if (auto r = given(index, "index"); !r) return r;
    std::string names;
    const auto& operands = plan->plan.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].name == name) {
        *index = static_cast<uint32_t>(i);
        return {};
      }
      names += (names.empty() ? "" : ", ") + operands[i].name;
    }
    return fail(ErrorKind::missing, "operand", name, names);
  });
}

uint64_t sectile_plan_scratch_bytes(const SectilePlan* plan) {
  uint64_t bytes = 0;
  for (const PlanOperand& operand : plan->plan.operands)
    if (operand.role == OperandRole::scratch) bytes = std::max(bytes, operand.bytes);
  return bytes;
}
