// What the C interface's handles hold, and how its functions fail. Private to src/capi.
#pragma once

#include <sectile/sectile.h>
#include <sectile/device_class.hpp>
#include <sectile/error.hpp>
#include <sectile/pack.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>
#include <sectile/vulkan.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sectile::capi {

// Keeps the sentence for sectile_last_error(). Throws nothing: without memory the sentence is a fixed one.
SectileStatus failed(const Error& error) noexcept;
SectileStatus out_of_memory() noexcept;

// Runs a function that returns Result<void>.
template <class Function>
SectileStatus guarded(Function&& function) noexcept {
  try {
    if (const Result<void> result = function(); !result) return failed(result.error());
    return SECTILE_OK;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

// Text that is made when it is asked for first. From any thread.
class LazyText {
 public:
  template <class Make>
  const char* get(Make&& make) const noexcept {
    try {
      std::call_once(once_, [&] { text_ = make(); });
    } catch (const std::bad_alloc&) {
      out_of_memory();  // the next call tries again
      return "";
    }
    return text_.c_str();
  }

 private:
  mutable std::once_flag once_;
  mutable std::string text_;
};

inline Result<void> given(const void* pointer, const char* name) {
  if (pointer == nullptr) return fail(ErrorKind::missing, name, "NULL");
  return {};
}

// A caller's struct as this version of the library knows it. Fields that the caller's version lacks are 0; of fields
// that this one lacks all bytes must be 0. Errors: missing (NULL, or no size); unsupported.
template <class T>
Result<T> read(const T* in, const char* name) {
  if (auto r = given(in, name); !r) return std::unexpected(r.error());
  if (in->size < sizeof in->size) return fail(ErrorKind::missing, std::string(name) + ".size", "0");
  T out{};
  std::memcpy(&out, in, std::min(in->size, sizeof out));
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  for (std::size_t i = sizeof out; i < in->size; ++i)
    if (bytes[i] != 0)
      return fail(ErrorKind::unsupported, name, "a field of a newer version of Sectile",
                  "a library of API version " + std::to_string(SECTILE_API_VERSION) + " has none");
  return out;
}

// Writes a struct to the caller's, as much of it as the caller knows. Errors: missing (NULL, or no size).
template <class T>
Result<void> write(T out, T* to, const char* name) {
  if (auto r = given(to, name); !r) return r;
  if (to->size < sizeof to->size) return fail(ErrorKind::missing, std::string(name) + ".size", "0");
  out.size = to->size;
  std::memcpy(to, &out, std::min(to->size, sizeof out));
  return {};
}

inline void tell(const SectileLog& log, SectileLogLevel level, const std::string& text) {
  if (log.function != nullptr && !text.empty()) log.function(log.user, level, text.c_str());
}

// The class in a caller's JSON; none where there is no text.
inline Result<DeviceClassPtr> class_of(const char* json) {
  if (json == nullptr) return DeviceClassPtr();
  return device_class_from_json(json);
}

// The caller's operands, on the stack: recording and launching allocate nothing.
class Addresses {
 public:
  static constexpr uint32_t kMost = 16;
  // Errors: missing; invalid_problem (too many).
  Result<std::span<const OperandAddress>> read(const SectileOperandAddress* operands, uint32_t count) {
    if (count != 0 && operands == nullptr) return std::unexpected(given(nullptr, "operands").error());
    if (count > kMost) return fail(ErrorKind::invalid_problem, "operands", std::to_string(count), "at most 16");
    for (uint32_t i = 0; i < count; ++i) addresses_[i] = {operands[i].address, operands[i].bytes};
    return std::span<const OperandAddress>(addresses_).first(count);
  }

 private:
  std::array<OperandAddress, kMost> addresses_;
};

}  // namespace sectile::capi

struct SectileProfile {
  sectile::DeviceProfile profile;
  sectile::capi::LazyText json = {}, class_text = {};
};

struct SectilePack {
  sectile::Pack pack;
  std::string id;
};

struct SectilePlan {
  sectile::Plan plan;
  std::string remark;
  sectile::capi::LazyText json = {}, text = {}, explanation = {};
};

struct SectileVkWants {
  sectile::vulkan::WantedFeatures wanted;
};

// One of the app's, or a runtime's.
struct SectileVkDevice {
  std::unique_ptr<sectile::vulkan::PipelineCacheFile> cache;  // null: none of the library's own
  std::unique_ptr<sectile::vulkan::Device> own;
  sectile::vulkan::Device* device = nullptr;
  std::unique_ptr<SectileProfile> profile;  // null: the runtime has it
  std::vector<sectile::vulkan::MissingFeature> missing;
  SectileLog log = {};
};

struct SectileVkExecutable {
  sectile::vulkan::Executable executable;
};

struct SectileVkCanary {
  sectile::vulkan::CanaryRun run;
  const sectile::vulkan::Device* device = nullptr;
  std::string json;
};

struct SectileRuntime {
  sectile::vulkan::Runtime runtime;
  SectileVkDevice device = {};
  // The newest is the runtime's. Older ones stay: the caller may have them.
  std::deque<SectileProfile> profiles = {};
  std::size_t told = 0;  // messages of the validation layer that went to the log
};

struct SectileBuffer {
  sectile::vulkan::Buffer buffer;
  sectile::vulkan::Runtime* runtime = nullptr;
};

namespace sectile::capi {

// sectile_vk_record_many(): the number of barriers.
Result<uint32_t> record_many(VkCommandBuffer_T* commands, const SectileVkRecording* recordings, uint32_t count);

// Prepares plans for either API: `prepare` takes one plan, `prepare_all` a span of them.
template <class Handle, class PrepareOne, class PrepareAll>
Result<void> prepare(const SectilePlan* const* plans, uint32_t count, Handle** executables, const SectileLog& log,
                     PrepareOne&& prepare_one, PrepareAll&& prepare_all) {
  if (count == 0) return {};
  if (auto r = given(plans, "plans"); !r) return r;
  if (auto r = given(executables, "executables"); !r) return r;
  for (uint32_t i = 0; i < count; ++i)
    if (auto r = given(plans[i], "plans[i]"); !r) return r;
  std::vector<std::unique_ptr<Handle>> made;
  made.reserve(count);
  if (count == 1) {  // no copy of the plan
    auto ready = prepare_one(plans[0]->plan);
    if (!ready) return std::unexpected(ready.error());
    made.push_back(std::make_unique<Handle>(std::move(*ready)));
  } else {
    std::vector<Plan> all;
    all.reserve(count);
    for (uint32_t i = 0; i < count; ++i) all.push_back(plans[i]->plan);
    auto ready = prepare_all(std::span<const Plan>(all));
    if (!ready) return std::unexpected(ready.error());
    for (auto& one : *ready) made.push_back(std::make_unique<Handle>(std::move(one)));
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (log.function != nullptr && !plans[i]->remark.empty())
      tell(log, SECTILE_LOG_INFO, print(plans[i]->plan.problem) + ": " + plans[i]->remark);
    executables[i] = made[i].release();
  }
  return {};
}

}  // namespace sectile::capi
