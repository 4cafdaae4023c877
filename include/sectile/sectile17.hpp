// Sectile's C interface (sectile.h) for C++17: handles that destroy themselves, and errors as exceptions. Header-only;
// a program links libsectile. A C++23 program that links the static libraries uses sectile.hpp instead, whose functions
// return std::expected; a program may have both headers.
//
//   sectile17::Runtime runtime;                                     // or your own device: sectile17::VkDevice
//   sectile17::Plan plan(runtime.profile(), "permute f16 2x300x500 axes=0,2,1");
//   auto ready = runtime.device().prepare(plan);
//   auto src = runtime.buffer(plan.operand("src").bytes), dst = runtime.buffer(plan.operand("dst").bytes);
//   runtime.run(ready, {src.operand(), dst.operand()});
//
// Functions throw sectile17::Error where sectile.h's return a status, std::bad_alloc where host memory ran out, and
// nothing else. An object that was moved from holds nothing, and may only be destroyed or assigned to. Threads,
// lifetimes, sizes and what a function costs are as in sectile.h.
#pragma once

#include <sectile/sectile.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sectile17 {

// A status that is not SECTILE_OK, and the library's sentence.
class Error : public std::runtime_error {
 public:
  Error(SectileStatus status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
  SectileStatus status() const noexcept { return status_; }
  const char* name() const noexcept { return sectile_status_name(status_); }  // "invalid_problem"

 private:
  SectileStatus status_;
};

namespace detail {

inline void check(SectileStatus status) {
  if (status == SECTILE_OK) return;
  if (status == SECTILE_NO_MEMORY) throw std::bad_alloc();
  throw Error(status, sectile_last_error());
}

// The text of a member function, as the C interface has it: NULL for none.
inline const char* text_or_null(const std::string& text) noexcept { return text.empty() ? nullptr : text.c_str(); }

// Keeps a handle and destroys it.
template <class Handle, void (*destroy)(Handle*)>
class Owner {
 public:
  Handle* get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 protected:
  Owner() noexcept = default;
  explicit Owner(Handle* handle) noexcept : handle_(handle) {}

 private:
  struct Destroy {
    void operator()(Handle* handle) const noexcept { destroy(handle); }
  };
  std::unique_ptr<Handle, Destroy> handle_;
};

// Calls make(&handle) and gives the handle.
template <class Handle, class Make>
Handle* made(Make&& make) {
  Handle* handle = nullptr;
  check(make(&handle));
  return handle;
}

}  // namespace detail

// ---- profiles, packs, plans

// A profile that a device or a runtime has: valid as long as that.
class ProfileView {
 public:
  ProfileView(const SectileProfile* profile) noexcept : profile_(profile) {}
  const SectileProfile* get() const noexcept { return profile_; }
  std::string name() const { return sectile_profile_name(profile_); }
  std::string json() const { return sectile_profile_json(profile_); }
  std::string device_class() const { return sectile_profile_class(profile_); }

 private:
  const SectileProfile* profile_;
};

class Profile : public detail::Owner<SectileProfile, sectile_profile_destroy> {
 public:
  explicit Profile(SectileProfile* adopted) noexcept : Owner(adopted) {}
  static Profile target(const std::string& name) {
    return Profile(detail::made<SectileProfile>([&](auto** out) { return sectile_profile_target(name.c_str(), out); }));
  }
  static Profile from_json(const std::string& json) {
    return Profile(
        detail::made<SectileProfile>([&](auto** out) { return sectile_profile_from_json(json.c_str(), out); }));
  }
  static Profile cuda(int ordinal) {
    return Profile(detail::made<SectileProfile>([&](auto** out) { return sectile_cuda_profile(ordinal, out); }));
  }
  operator ProfileView() const noexcept { return ProfileView(get()); }
  std::string name() const { return ProfileView(get()).name(); }
  std::string json() const { return ProfileView(get()).json(); }
  std::string device_class() const { return ProfileView(get()).device_class(); }
};

inline Profile with_class(ProfileView profile, const std::string& device_class_json) {
  return Profile(detail::made<SectileProfile>(
      [&](auto** out) { return sectile_profile_with_class(profile.get(), device_class_json.c_str(), out); }));
}
inline Profile with_canary(ProfileView profile, const std::string& canary_json) {
  return Profile(detail::made<SectileProfile>(
      [&](auto** out) { return sectile_profile_with_canary(profile.get(), canary_json.c_str(), out); }));
}

class Pack : public detail::Owner<SectilePack, sectile_pack_destroy> {
 public:
  static Pack read(const std::string& path) {
    return Pack(detail::made<SectilePack>([&](auto** out) { return sectile_pack_read(path.c_str(), out); }));
  }
  static Pack open(const void* data, std::size_t bytes) {
    return Pack(detail::made<SectilePack>([&](auto** out) { return sectile_pack_open(data, bytes, out); }));
  }
  std::string id() const { return sectile_pack_id(get()); }
  std::uint64_t modules() const noexcept { return sectile_pack_modules(get()); }

 private:
  explicit Pack(SectilePack* pack) noexcept : Owner(pack) {}
};

struct PlanOptions {
  std::string force = {};  // empty: by the estimate
  bool explain = false;
  bool few_pipelines = false;
  bool limit_scratch = false;  // max_scratch_bytes counts
  std::uint64_t max_scratch_bytes = 0;
  const Pack* pack = nullptr;
};

struct Operand {
  std::string name;
  SectileRole role = SECTILE_SOURCE;
  std::uint32_t align = 16;
  std::uint64_t bytes = 0;
};

class Plan : public detail::Owner<SectilePlan, sectile_plan_destroy> {
 public:
  Plan(ProfileView profile, const std::string& problem, const PlanOptions& options = {})
      : Owner(detail::made<SectilePlan>([&](auto** out) {
          SectilePlanOptions c = SECTILE_INIT(SectilePlanOptions);
          c.force = detail::text_or_null(options.force);
          c.explain = options.explain;
          c.few_pipelines = options.few_pipelines;
          c.limit_scratch = options.limit_scratch;
          c.max_scratch_bytes = options.max_scratch_bytes;
          c.pack = options.pack == nullptr ? nullptr : options.pack->get();
          return sectile_plan_create(profile.get(), problem.c_str(), &c, out);
        })) {}
  static Plan from_json(ProfileView profile, const std::string& json, const Pack* pack = nullptr) {
    return Plan(detail::made<SectilePlan>([&](auto** out) {
      return sectile_plan_from_json(profile.get(), json.c_str(), pack == nullptr ? nullptr : pack->get(), out);
    }));
  }

  std::string json() const { return sectile_plan_json(get()); }
  std::string id() const { return sectile_plan_id(get()); }
  std::string text() const { return sectile_plan_text(get()); }
  std::string explanation() const { return sectile_plan_explanation(get()); }
  std::string remark() const { return sectile_plan_remark(get()); }
  std::uint64_t scratch_bytes() const noexcept { return sectile_plan_scratch_bytes(get()); }

  // In the order in which addresses are passed.
  std::vector<Operand> operands() const {
    std::vector<Operand> out;
    for (std::uint32_t i = 0; i < sectile_plan_operand_count(get()); ++i) out.push_back(operand(i));
    return out;
  }
  Operand operand(std::uint32_t index) const {
    SectileOperandInfo info = SECTILE_INIT(SectileOperandInfo);
    detail::check(sectile_plan_operand(get(), index, &info));
    return {info.name, info.role, info.align, info.bytes};
  }
  Operand operand(const std::string& name) const {
    std::uint32_t index = 0;
    detail::check(sectile_plan_find_operand(get(), name.c_str(), &index));
    return operand(index);
  }

 private:
  explicit Plan(SectilePlan* plan) noexcept : Owner(plan) {}
};

// ---- Vulkan

// What wanted features a device was made without.
struct MissingFeature {
  std::string name, extension, cost;
  bool offered = false;
};

class VkWants : public detail::Owner<SectileVkWants, sectile_vk_wants_destroy> {
 public:
  VkWants(SectileGetInstanceProcAddr get, VkInstance_T* instance, VkPhysicalDevice_T* physical_device)
      : Owner(detail::made<SectileVkWants>(
            [&](auto** out) { return sectile_vk_wants_create(get, instance, physical_device, out); })) {}
  const VkPhysicalDeviceFeatures2* chain() const noexcept { return sectile_vk_wants_chain(get()); }
  std::vector<const char*> extensions() const {
    std::uint32_t count = 0;
    const char* const* names = sectile_vk_wants_extensions(get(), &count);
    return {names, names + count};
  }
  void enable_in(VkPhysicalDeviceFeatures2& chain) { detail::check(sectile_vk_wants_enable_in(get(), &chain)); }
};

class VkExecutable : public detail::Owner<SectileVkExecutable, sectile_vk_executable_destroy> {
 public:
  explicit VkExecutable(SectileVkExecutable* adopted) noexcept : Owner(adopted) {}
  void record(VkCommandBuffer_T* commands, const std::vector<SectileOperandAddress>& operands) const {
    record(commands, operands.data(), operands.size());
  }
  // Allocates nothing.
  void record(VkCommandBuffer_T* commands, const SectileOperandAddress* operands, std::size_t count) const {
    detail::check(sectile_vk_record(commands, get(), operands, static_cast<std::uint32_t>(count)));
  }
};

// Records in order, with the barriers that the plans' addresses ask for; the number of these.
inline std::uint32_t record_many(VkCommandBuffer_T* commands, const SectileVkRecording* recordings, std::size_t count) {
  std::uint32_t barriers = 0;
  detail::check(sectile_vk_record_many(commands, recordings, static_cast<std::uint32_t>(count), &barriers));
  return barriers;
}
inline SectileVkRecording recording(const VkExecutable& executable, const SectileOperandAddress* operands,
                                    std::size_t count) noexcept {
  return {executable.get(), operands, static_cast<std::uint32_t>(count), 0};
}

// A device of a runtime, or the app's own: what both can do.
class VkDeviceView {
 public:
  explicit VkDeviceView(SectileVkDevice* device) noexcept : device_(device) {}
  SectileVkDevice* get() const noexcept { return device_; }
  VkExecutable prepare(const Plan& plan, bool any_profile = false) const {
    const SectilePlan* const plans[] = {plan.get()};
    return VkExecutable(detail::made<SectileVkExecutable>(
        [&](auto** out) { return sectile_vk_prepare(device_, plans, 1, 1, any_profile, out); }));
  }
  // Compiles on `threads` threads; 0: one for each processor.
  std::vector<VkExecutable> prepare(const std::vector<const Plan*>& plans, std::uint32_t threads = 0,
                                    bool any_profile = false) const {
    std::vector<const SectilePlan*> handles;
    for (const Plan* plan : plans) handles.push_back(plan->get());
    std::vector<SectileVkExecutable*> made(plans.size());
    std::vector<VkExecutable> out;
    out.reserve(plans.size());
    detail::check(sectile_vk_prepare(device_, handles.data(), static_cast<std::uint32_t>(handles.size()), threads,
                                     any_profile, made.data()));
    for (SectileVkExecutable* each : made) out.emplace_back(each);
    return out;
  }
  std::vector<MissingFeature> missing() const {
    std::vector<MissingFeature> out;
    for (std::uint32_t i = 0; i < sectile_vk_device_missing_count(device_); ++i) {
      SectileMissingFeature c = SECTILE_INIT(SectileMissingFeature);
      detail::check(sectile_vk_device_missing(device_, i, &c));
      out.push_back({c.name, c.extension, c.cost, c.offered != 0});
    }
    return out;
  }
  std::uint64_t pipelines() const noexcept { return sectile_vk_device_pipelines(device_); }
  std::uint64_t trim() const noexcept { return sectile_vk_device_trim(device_); }

 private:
  SectileVkDevice* device_;
};

// The app's own device: fill in SectileVkAdoption (sectile.h has what each field means).
class VkDevice : public detail::Owner<SectileVkDevice, sectile_vk_device_destroy> {
 public:
  explicit VkDevice(const SectileVkAdoption& adoption)
      : Owner(detail::made<SectileVkDevice>([&](auto** out) { return sectile_vk_device_create(&adoption, out); })) {}
  ProfileView profile() const noexcept { return sectile_vk_device_profile(get()); }
  VkDeviceView view() const noexcept { return VkDeviceView(get()); }
  VkExecutable prepare(const Plan& plan, bool any_profile = false) const { return view().prepare(plan, any_profile); }
  std::vector<VkExecutable> prepare(const std::vector<const Plan*>& plans, std::uint32_t threads = 0,
                                    bool any_profile = false) const {
    return view().prepare(plans, threads, any_profile);
  }
  std::vector<MissingFeature> missing() const { return view().missing(); }
  // What own_cache holds now, to store and pass as cache_data.
  std::vector<unsigned char> cache() const {
    std::vector<unsigned char> out;
    for (;;) {  // it may grow between the two calls
      std::size_t bytes = 0;
      detail::check(sectile_vk_device_cache(get(), nullptr, &bytes));
      out.resize(bytes);
      const SectileStatus status = sectile_vk_device_cache(get(), out.data(), &bytes);
      if (status == SECTILE_TOO_SMALL) continue;
      detail::check(status);
      out.resize(bytes);
      return out;
    }
  }
};

class VkCanary : public detail::Owner<SectileVkCanary, sectile_vk_canary_destroy> {
 public:
  // Scratch that it needs, at a multiple of 256; 0: nothing to test. plan: null for all parts.
  static std::uint64_t scratch_bytes(VkDeviceView device, const Plan* plan = nullptr) noexcept {
    return sectile_vk_canary_scratch_bytes(device.get(), plan == nullptr ? nullptr : plan->get());
  }
  VkCanary(VkDeviceView device, VkCommandBuffer_T* commands, std::uint64_t scratch, const Plan* plan = nullptr)
      : Owner(detail::made<SectileVkCanary>([&](auto** out) {
          return sectile_vk_canary_record(device.get(), commands, scratch, plan == nullptr ? nullptr : plan->get(),
                                          out);
        })) {}
  Profile read(const void* scratch, std::size_t bytes) {
    return Profile(
        detail::made<SectileProfile>([&](auto** out) { return sectile_vk_canary_read(get(), scratch, bytes, out); }));
  }
  std::string json() const { return sectile_vk_canary_json(get()); }
};

// ---- CUDA

class CudaExecutable : public detail::Owner<SectileCudaExecutable, sectile_cuda_executable_destroy> {
 public:
  explicit CudaExecutable(SectileCudaExecutable* adopted) noexcept : Owner(adopted) {}
  void launch(CUstream_st* stream, const std::vector<SectileOperandAddress>& operands) const {
    launch(stream, operands.data(), operands.size());
  }
  // Allocates nothing.
  void launch(CUstream_st* stream, const SectileOperandAddress* operands, std::size_t count) const {
    detail::check(sectile_cuda_launch(stream, get(), operands, static_cast<std::uint32_t>(count)));
  }
};

class CudaDevice : public detail::Owner<SectileCudaDevice, sectile_cuda_device_destroy> {
 public:
  explicit CudaDevice(const SectileCudaAdoption& adoption)
      : Owner(detail::made<SectileCudaDevice>([&](auto** out) { return sectile_cuda_device_create(&adoption, out); })) {
  }
  ProfileView profile() const noexcept { return sectile_cuda_device_profile(get()); }
  CudaExecutable prepare(const Plan& plan, bool any_profile = false) const {
    const SectilePlan* const plans[] = {plan.get()};
    return CudaExecutable(detail::made<SectileCudaExecutable>(
        [&](auto** out) { return sectile_cuda_prepare(get(), plans, 1, 1, any_profile, out); }));
  }
};

// ---- the small runtime

class Buffer : public detail::Owner<SectileBuffer, sectile_buffer_destroy> {
 public:
  explicit Buffer(SectileBuffer* adopted) noexcept : Owner(adopted) {}
  std::uint64_t address() const noexcept { return sectile_buffer_address(get()); }
  std::uint64_t size() const noexcept { return sectile_buffer_size(get()); }
  void* mapped() const noexcept { return sectile_buffer_mapped(get()); }
  SectileOperandAddress operand(std::uint64_t offset = 0) const noexcept {
    return {address() + offset, size() - offset};
  }
  void upload(const void* data, std::size_t bytes, std::uint64_t offset = 0) {
    detail::check(sectile_buffer_upload(get(), offset, data, bytes));
  }
  void download(void* data, std::size_t bytes, std::uint64_t offset = 0) const {
    detail::check(sectile_buffer_download(get(), offset, data, bytes));
  }
};

struct RuntimeOptions {
  std::string selector = {};
  bool validation = false;
  enum class Canary : std::uint32_t { at_open = 0, later = 1, never = 2 } canary = Canary::at_open;
  std::string pipeline_cache = {};  // a file's path; empty: none
  std::function<void(SectileLogLevel, const char*)> log = {};
  std::function<void()> lock_queue = {}, unlock_queue = {};
};

class Runtime {
 public:
  explicit Runtime(const std::string& selector = {}) : Runtime(of(selector)) {}
  explicit Runtime(const RuntimeOptions& options) : callbacks_(std::make_unique<RuntimeOptions>(options)) {
    SectileRuntimeOptions c = SECTILE_INIT(SectileRuntimeOptions);
    c.selector = detail::text_or_null(options.selector);
    c.validation = options.validation;
    c.canary = static_cast<std::uint32_t>(options.canary);
    c.pipeline_cache = detail::text_or_null(options.pipeline_cache);
    if (options.log) c.log = {told, callbacks_.get()};
    if (options.lock_queue) c.lock_queue = [](void* user) { static_cast<RuntimeOptions*>(user)->lock_queue(); };
    if (options.unlock_queue) c.unlock_queue = [](void* user) { static_cast<RuntimeOptions*>(user)->unlock_queue(); };
    c.queue_user = callbacks_.get();
    runtime_.reset(detail::made<SectileRuntime>([&](auto** out) { return sectile_runtime_open(&c, out); }));
  }
  SectileRuntime* get() const noexcept { return runtime_.get(); }
  ProfileView profile() const noexcept { return sectile_runtime_profile(get()); }
  VkDeviceView device() const noexcept { return VkDeviceView(sectile_runtime_device(get())); }
  SectileVkHandles handles() const {
    SectileVkHandles out = SECTILE_INIT(SectileVkHandles);
    detail::check(sectile_runtime_vk(get(), &out));
    return out;
  }
  // With Canary::later. True: the profile has changed, and the plan is to be made again.
  bool test(const Plan& plan) {
    std::uint32_t changed = 0;
    detail::check(sectile_runtime_test(get(), plan.get(), &changed));
    return changed != 0;
  }
  Buffer buffer(std::uint64_t bytes, bool host = false) {
    return Buffer(
        detail::made<SectileBuffer>([&](auto** out) { return sectile_buffer_create(get(), bytes, host, out); }));
  }
  void run(const std::vector<SectileVkRecording>& recordings) {
    detail::check(sectile_runtime_run(get(), recordings.data(), static_cast<std::uint32_t>(recordings.size())));
  }
  void run(const VkExecutable& executable, std::initializer_list<SectileOperandAddress> operands) {
    const SectileVkRecording one = recording(executable, operands.begin(), operands.size());
    detail::check(sectile_runtime_run(get(), &one, 1));
  }

 private:
  static RuntimeOptions of(const std::string& selector) {
    RuntimeOptions out;
    out.selector = selector;
    return out;
  }
  static void told(void* user, SectileLogLevel level, const char* text) {
    static_cast<RuntimeOptions*>(user)->log(level, text);
  }
  struct Destroy {
    void operator()(SectileRuntime* runtime) const noexcept { sectile_runtime_destroy(runtime); }
  };
  std::unique_ptr<RuntimeOptions> callbacks_;  // outlives the runtime, and does not move with it
  std::unique_ptr<SectileRuntime, Destroy> runtime_;
};

}  // namespace sectile17
