// Whatever text comes in through the C interface: a status and a sentence, or a handle whose own text is read back.
#include <sectile/sectile.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void fail() { std::abort(); }

// Returns whether the call succeeded. One that fails says why, and writes no handle.
template <class Handle>
bool made(SectileStatus status, const Handle* handle) {
  if ((status == SECTILE_OK) != (handle != nullptr)) fail();
  if (status != SECTILE_OK && std::strlen(sectile_last_error()) == 0) fail();
  if (std::strcmp(sectile_status_name(status), "unknown") == 0) fail();
  return status == SECTILE_OK;
}

const SectileProfile* target(std::uint8_t which) {
  static const SectileProfile* const profiles[] = {
      [] {
        SectileProfile* p = nullptr;
        sectile_profile_target("nvidia-hopper", &p);
        return p;
      }(),
      [] {
        SectileProfile* p = nullptr;
        sectile_profile_target("amd-rdna3", &p);
        return p;
      }(),
      [] {
        SectileProfile* p = nullptr;
        sectile_profile_target("lavapipe", &p);
        return p;
      }(),
      [] {
        SectileProfile* p = nullptr;
        sectile_profile_target("cuda:sm_90a", &p);
        return p;
      }(),
  };
  return profiles[which % 4];
}

void use_plan(const SectileProfile* profile, SectilePlan* plan) {
  SectileOperandInfo info = SECTILE_INIT(SectileOperandInfo);
  for (std::uint32_t i = 0; i < sectile_plan_operand_count(plan); ++i)
    if (sectile_plan_operand(plan, i, &info) != SECTILE_OK || std::strlen(info.name) == 0 || info.align == 0) fail();
  if (sectile_plan_operand(plan, sectile_plan_operand_count(plan), &info) != SECTILE_MISSING) fail();
  sectile_plan_text(plan);
  sectile_plan_explanation(plan);
  sectile_plan_remark(plan);
  sectile_plan_scratch_bytes(plan);
  SectilePlan* again = nullptr;
  if (!made(sectile_plan_from_json(profile, sectile_plan_json(plan), nullptr, &again), again)) fail();
  if (std::strcmp(sectile_plan_json(plan), sectile_plan_json(again)) != 0) fail();
  sectile_plan_destroy(again);
}

void use_profile(SectileProfile* profile) {
  sectile_profile_name(profile);
  sectile_profile_class(profile);
  SectileProfile* again = nullptr;
  if (!made(sectile_profile_from_json(sectile_profile_json(profile), &again), again)) fail();
  if (std::strcmp(sectile_profile_json(profile), sectile_profile_json(again)) != 0) fail();
  sectile_profile_destroy(again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t what = data[0] % 8, which = data[1];
  const std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string first = text.substr(0, text.find('\n'));
  const std::string second = text.find('\n') == std::string::npos ? "" : text.substr(text.find('\n') + 1);
  SectileProfile* profile = nullptr;
  SectilePlan* plan = nullptr;
  switch (what) {
    case 0:
      if (made(sectile_profile_target(text.c_str(), &profile), profile)) use_profile(profile);
      break;
    case 1:
      if (made(sectile_profile_from_json(text.c_str(), &profile), profile)) use_profile(profile);
      break;
    case 2: {
      SectilePlanOptions options = SECTILE_INIT(SectilePlanOptions);
      options.force = second.empty() ? nullptr : second.c_str();
      options.explain = which >> 2 & 1;
      options.few_pipelines = which >> 3 & 1;
      options.limit_scratch = which >> 4 & 1;
      if (made(sectile_plan_create(target(which), first.c_str(), &options, &plan), plan)) use_plan(target(which), plan);
      break;
    }
    case 3:
      if (made(sectile_plan_from_json(target(which), text.c_str(), nullptr, &plan), plan))
        use_plan(target(which), plan);
      break;
    case 4:
      if (made(sectile_profile_with_class(target(which), text.c_str(), &profile), profile)) use_profile(profile);
      break;
    case 5:
      if (made(sectile_profile_with_canary(target(which), text.c_str(), &profile), profile)) use_profile(profile);
      break;
    case 6: {
      SectilePack* pack = nullptr;
      if (made(sectile_pack_open(text.data(), text.size(), &pack), pack) && std::strlen(sectile_pack_id(pack)) != 32)
        fail();
      sectile_pack_destroy(pack);
      break;
    }
    default:  // a profile of the text's own, and a problem for it
      if (made(sectile_profile_from_json(second.c_str(), &profile), profile) &&
          made(sectile_plan_create(profile, first.c_str(), nullptr, &plan), plan))
        use_plan(profile, plan);
  }
  sectile_plan_destroy(plan);
  sectile_profile_destroy(profile);
  return 0;
}
