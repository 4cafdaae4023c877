// What the C interface's handles hold, and how its functions fail. Private to src/capi.
#pragma once

#include <sectile/sectile.h>
#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>
#include <sectile/vulkan.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

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

}  // namespace sectile::capi

struct SectileProfile {
  sectile::DeviceProfile profile;
  sectile::capi::LazyText json = {};
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
  std::unique_ptr<sectile::vulkan::Device> own;
  sectile::vulkan::Device* device = nullptr;
  SectileProfile profile;
};

struct SectileVkExecutable {
  sectile::vulkan::Executable executable;
};

struct SectileRuntime {
  sectile::vulkan::Runtime runtime;
  SectileVkDevice device;
};

struct SectileBuffer {
  sectile::vulkan::Buffer buffer;
  sectile::vulkan::Runtime* runtime = nullptr;
};

namespace sectile::capi {
// sectile_vk_record().
Result<void> record(VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                    const SectileOperandAddress* operands, uint32_t count);
}  // namespace sectile::capi
