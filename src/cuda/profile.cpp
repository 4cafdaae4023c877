#include "profile.hpp"

#include "device/quirks.hpp"

#include <sectile/cuda.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sectile::cuda {
namespace {

constexpr std::string_view kTable =
    "table: NVIDIA CUDA C++ Programming Guide, compute capabilities 5.x to 10.x "
    "(32-byte sectors, 128-byte lines, 32 banks of 4 bytes)";
// Newer than those: the table's lines are not known to hold.
constexpr std::string_view kPractices =
    "table: NVIDIA CUDA C++ Best Practices Guide "
    "(32-byte transactions from compute capability 6.0 on, 32 banks of 4 bytes from 5.x on)";
constexpr std::uint32_t kNvidia = 0x10DE;  // PCI vendor id

// Reads attributes until one fails; the first error is kept.
class Attributes {
 public:
  Attributes(const api::Driver& driver, api::Ordinal device) noexcept : driver_(driver), device_(device) {}

  std::uint32_t get(api::Attribute attribute) {
    int value = 0;
    if (status_ == api::kSuccess) status_ = driver_.cuDeviceGetAttribute(&value, attribute, device_);
    return value < 0 ? 0u : static_cast<std::uint32_t>(value);
  }
  Result<void> result() const {
    if (status_ != api::kSuccess) return std::unexpected(driver_error(driver_, "cuDeviceGetAttribute", status_));
    return {};
  }

 private:
  const api::Driver& driver_;
  api::Ordinal device_;
  api::Status status_ = api::kSuccess;
};

template <class T, class V>
void put(DeviceProfile& profile, std::optional<T>& field, const char* name, V value, std::string_view source) {
  field = value;
  profile.sources[name] = source;
}

void put_limits(DeviceProfile& out, Attributes& a) {
  constexpr std::string_view source = "driver: cuDeviceGetAttribute";
  put(out, out.max_workgroup_invocations, "max_workgroup_invocations", a.get(api::kMaxThreadsPerBlock), source);
  put(out, out.max_workgroup_size, "max_workgroup_size",
      std::array{a.get(api::kMaxBlockDimX), a.get(api::kMaxBlockDimY), a.get(api::kMaxBlockDimZ)}, source);
  put(out, out.max_grid, "max_grid",
      std::array{a.get(api::kMaxGridDimX), a.get(api::kMaxGridDimY), a.get(api::kMaxGridDimZ)}, source);
  put(out, out.workgroup_memory_bytes, "workgroup_memory_bytes", a.get(api::kMaxSharedMemoryPerBlock), source);
  put(out, out.max_push_bytes, "max_push_bytes", 4096u,
      "table: CUDA C++ Programming Guide, kernel arguments on every architecture");
  put(out, out.multiprocessors, "multiprocessors", a.get(api::kMultiprocessorCount), source);
  put(out, out.l2_bytes, "l2_bytes", a.get(api::kL2CacheSize), source);
  put(out, out.max_dynamic_workgroup_memory_bytes, "max_dynamic_workgroup_memory_bytes",
      a.get(api::kMaxSharedMemoryPerBlockOptin), source);
  put(out, out.workgroup_memory_per_multiprocessor_bytes, "workgroup_memory_per_multiprocessor_bytes",
      a.get(api::kMaxSharedMemoryPerMultiprocessor), source);
  put(out, out.registers_per_multiprocessor, "registers_per_multiprocessor", a.get(api::kMaxRegistersPerMultiprocessor),
      source);
  put(out, out.max_invocations_per_multiprocessor, "max_invocations_per_multiprocessor",
      a.get(api::kMaxThreadsPerMultiprocessor), source);
  const std::uint32_t warp = a.get(api::kWarpSize);
  put(out, out.subgroup_size, "subgroup_size", warp, source);
  put(out, out.min_subgroup_size, "min_subgroup_size", warp, source);
  put(out, out.max_subgroup_size, "max_subgroup_size", warp, source);
}

// Features by compute capability, the only thing that the driver reports about instructions.
void put_features(DeviceProfile& out, std::uint32_t major, std::uint32_t minor) {
  constexpr std::string_view source = "table: PTX ISA, by compute capability";
  put(out, out.buffer_device_address, "buffer_device_address", true, "CUDA: operands are addresses");
  put(out, out.storage8, "storage8", true, source);
  put(out, out.storage16, "storage16", true, source);
  put(out, out.int8, "int8", true, source);
  put(out, out.int16, "int16", true, source);
  put(out, out.int64, "int64", true, source);
  put(out, out.float16, "float16", true, source);
  put(out, out.bfloat16, "bfloat16", major >= 8, source);
  put(out, out.integer_dot_product, "integer_dot_product", true, source);
  put(out, out.cuda_architecture, "cuda_architecture", 10 * major + minor, "driver: cuDeviceGetAttribute");
  // Code for 9.0 alone (sm_90a) has wgmma, which is in no other architecture. Others are compiled for as they are
  // named, sm_103 or sm_120: tcgen05 is sm_100a's and sm_103a's.
  const bool alone = major == 9 && minor == 0;
  put(out, out.cuda_architecture_features, "cuda_architecture_features", alone, source);
  put(out, out.async_copy, "async_copy", major >= 8, source);
  put(out, out.tensor_maps, "tensor_maps", major >= 9, source);
  out.matrix_units = {"mma.sync"};
  if (alone) out.matrix_units.emplace_back("wgmma");
  out.sources["matrix_units"] = source;
  const std::string_view memory = major <= 10 ? kTable : kPractices;
  put(out, out.transaction_bytes, "transaction_bytes", 32u, memory);
  if (major <= 10) put(out, out.cache_line_bytes, "cache_line_bytes", 128u, memory);
  put(out, out.banks, "banks", 32u, memory);
  put(out, out.bank_bytes, "bank_bytes", 4u, memory);
}

}  // namespace

Result<std::string> uuid_of(const api::Driver& driver, api::Ordinal device) {
  api::Uuid uuid{};
  if (auto got = SECTILE_CUDA_CALL(driver, cuDeviceGetUuid_v2, &uuid, device); !got)
    return std::unexpected(got.error());
  std::string out;
  for (const char byte : uuid.bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

Result<std::string> name_of(const api::Driver& driver, api::Ordinal device) {
  std::array<char, 256> name{};
  if (auto got = SECTILE_CUDA_CALL(driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()), device); !got)
    return std::unexpected(got.error());
  return std::string(name.data());
}

Result<std::string> driver_text(const api::Driver& driver) {
  int version = 0;
  if (auto got = SECTILE_CUDA_CALL(driver, cuDriverGetVersion, &version); !got) return std::unexpected(got.error());
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

Result<DeviceProfile> describe_device(const api::Driver& driver, api::Ordinal device) {
  DeviceProfile out;
  auto name = name_of(driver, device);
  auto uuid = uuid_of(driver, device);
  auto text = driver_text(driver);
  for (const auto* part : {&name, &uuid, &text})
    if (!*part) return std::unexpected(part->error());
  int version = 0;
  if (auto got = SECTILE_CUDA_CALL(driver, cuDriverGetVersion, &version); !got) return std::unexpected(got.error());
  std::size_t memory = 0;
  if (auto got = SECTILE_CUDA_CALL(driver, cuDeviceTotalMem_v2, &memory, device); !got)
    return std::unexpected(got.error());
  out.api = Api::cuda;
  out.api_version = static_cast<std::uint32_t>(version / 1000 * 1000 + version % 1000 / 10);
  out.name = std::move(*name);
  out.uuid = std::move(*uuid);
  out.driver = std::move(*text);
  out.driver_version = static_cast<std::uint32_t>(version);
  out.vendor = "nvidia";
  out.vendor_id = kNvidia;
  put(out, out.max_buffer_bytes, "max_buffer_bytes", memory, "driver: cuDeviceTotalMem");
  put(out, out.max_allocation_bytes, "max_allocation_bytes", memory, "driver: cuDeviceTotalMem");
  Attributes attributes(driver, device);
  out.kind = attributes.get(api::kIntegrated) != 0 ? DeviceKind::integrated : DeviceKind::discrete;
  put_limits(out, attributes);
  put_features(out, attributes.get(api::kComputeCapabilityMajor), attributes.get(api::kComputeCapabilityMinor));
  if (auto fine = attributes.result(); !fine) return std::unexpected(fine.error());
  detail::apply_quirks(out);
  return out;
}

Result<DeviceProfile> profile(int ordinal) {
  const auto started = started_driver();
  if (!started) return std::unexpected(started.error());
  if (ordinal < 0 || ordinal >= started->devices)
    return fail(ErrorKind::missing, "device", fmt::format("cuda:{}", ordinal),
                fmt::format("one of {}", started->devices));
  api::Ordinal device = 0;
  if (auto got = SECTILE_CUDA_CALL(*started->driver, cuDeviceGet, &device, ordinal); !got)
    return std::unexpected(got.error());
  return describe_device(*started->driver, device);
}

}  // namespace sectile::cuda
