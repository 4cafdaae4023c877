// The Runtime's canary: runs once for each driver version, and stores the outcome in a file.
#include "runtime_canary.hpp"
#include "canary.hpp"
#include "runtime.hpp"

#include "backend/framed_file.hpp"
#include "backend/platform.hpp"

#include <sectile/shaders.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

namespace sectile::vulkan {
namespace {

constexpr std::string_view kStem = "canary_";

// The device, driver and kernels of a test; part of the file's header.
struct TestedDevice {
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t driver_version = 0;
  std::array<std::uint8_t, VK_UUID_SIZE> device_uuid{};
  std::uint32_t kernels = 0;
};
static_assert(sizeof(TestedDevice) == 32, "written as it stands, so without gaps");

std::uint32_t hash_of_kernels(std::span<const Module> own) {
  XXH64_hash_t hash = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
  };
  for (const EmbeddedModule& module : embedded_modules())
    if (module.stem.starts_with(kStem)) add(module.stored);
  for (const Module& module : own)
    if (module.stem.starts_with(kStem)) add(std::as_bytes(module.words));
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

TestedDevice tested_device_of(const Snapshot& snapshot, std::span<const Module> own) {
  const VkPhysicalDeviceProperties& p = snapshot.offer.properties;
  TestedDevice out{p.vendorID, p.deviceID, p.driverVersion, {}, hash_of_kernels(own)};
  std::memcpy(out.device_uuid.data(), snapshot.v11.deviceUUID, VK_UUID_SIZE);
  return out;
}

backend::Frame outcome_frame_of(const TestedDevice& identity) {
  return {"canary's outcome",
          {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'M'},
          1,
          std::as_bytes(std::span(&identity, 1)),
          std::uint64_t{1} << 20};
}

std::string outcome_objection(const TestedDevice& ours, std::span<const std::byte> found) {
  TestedDevice theirs;
  std::memcpy(&theirs, found.data(), sizeof(theirs));
  if (theirs.vendor_id != ours.vendor_id || theirs.device_id != ours.device_id ||
      theirs.device_uuid != ours.device_uuid)
    return "of another device";
  if (theirs.driver_version != ours.driver_version) return "of another driver version";
  return theirs.kernels == ours.kernels ? "" : "of other kernels";
}

// Whether an outcome has one for every test. One that was made with fewer features enabled, or of other parts, does
// not.
bool covers(const CanaryResult& kept, const CanaryTests& tests) {
  return std::ranges::all_of(tests.tests,
                             [&](const CanaryTest& test) {
                               return std::ranges::any_of(kept.rows, [&](const CanaryRow& row) {
                                 return row.shape == test.shape && row.verdict != Canary::untested;
                               });
                             }) &&
         std::ranges::all_of(tests.numbers, [&](const NumbersTest& test) {
           return std::ranges::any_of(kept.kinds, [&](const CanaryKind& kind) {
             return kind.kind == test.kind && kind.verdict != Canary::untested;
           });
         });
}

CanaryScope covered(const CanaryResult& kept, const DeviceProfile& profile) {
  return {covers(kept, canary_tests(profile, {true, false})), covers(kept, canary_tests(profile, {false, true}))};
}

std::string path_in(std::string_view folder, const TestedDevice& identity) {
  std::string name;
  for (const std::uint8_t byte : identity.device_uuid) name += fmt::format("{:02x}", byte);
  return fmt::format("{}/{}-{:08x}.canary", folder, name, identity.driver_version);
}

struct Kept {
  CanaryResult result;
  std::string warning;
};
Kept read_kept(const std::string& path, const TestedDevice& identity) {
  auto file = backend::read_framed(path, outcome_frame_of(identity),
                                   [&](auto found) { return outcome_objection(identity, found); });
  auto result = canary_from_json({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  return {result ? std::move(*result) : CanaryResult(), std::move(file.warning)};
}

// Outcomes of this process, for devices without a file.
std::mutex outcomes_mutex;
std::map<std::string, CanaryResult>& outcomes() {
  static std::map<std::string, CanaryResult> kept;
  return kept;
}

}  // namespace

namespace {

// If the device is lost during the canary, what was not finished has failed.
CanaryResult lost(const CanaryTests& tests, const Error& error) {
  CanaryResult out;
  for (const CanaryTest& test : tests.tests) out.rows.push_back({test.shape, Canary::failed, error.message()});
  for (const NumbersTest& test : tests.numbers) out.kinds.push_back({test.kind, Canary::failed, error.message()});
  return out;
}

Result<CanaryResult> run_canary(Runtime& runtime, Device& device, CanaryScope scope, std::uint64_t bytes) {
  auto scratch = runtime.make_buffer(bytes);
  if (!scratch) return std::unexpected(scratch.error());
  // A value that no kernel writes.
  if (auto filled = runtime.fill(*scratch, 0, bytes, 0x7E01FFFFu); !filled) return std::unexpected(filled.error());
  Result<CanaryRun> run = CanaryRun();
  auto done = runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
    run = record_canary(device, commands, scratch->address(), scope);
    return run ? Result<void>() : std::unexpected(run.error());
  });
  if (!done) return std::unexpected(done.error());
  std::vector<std::byte> held(bytes);
  if (auto read = runtime.download(*scratch, 0, held); !read) return std::unexpected(read.error());
  return read_canary(*run, held);
}

}  // namespace

DeviceProfile with_kept_canary(DeviceProfile profile, const Snapshot& snapshot, std::string_view folder) {
  if (folder.empty()) return profile;
  const TestedDevice identity = tested_device_of(snapshot, {});
  return with_canary(std::move(profile), read_kept(path_in(folder, identity), identity).result);
}

std::string Runtime::Impl::canary_path() const {
  if (!options.canary_folder.empty())
    return path_in(options.canary_folder, tested_device_of(chosen.snapshot, options.modules));
  return options.pipeline_cache.empty() ? "" : options.pipeline_cache + ".canary";
}

Result<void> Runtime::Impl::start_canary(Runtime& owner) {
  profile = device->profile();
  if (!options.canary) return {};
  const TestedDevice identity = tested_device_of(chosen.snapshot, options.modules);
  if (const std::string path = canary_path(); !path.empty()) {
    Kept kept = read_kept(path, identity);
    canary = std::move(kept.result);
    canary_warning = std::move(kept.warning);
  } else {
    const std::string key(reinterpret_cast<const char*>(&identity), sizeof(identity));
    const std::scoped_lock lock(outcomes_mutex);
    if (const auto kept = outcomes().find(key); kept != outcomes().end()) canary = kept->second;
  }
  tested = covered(canary, profile);
  profile = with_canary(std::move(profile), canary);
  return options.canary_at_open ? test(owner, {}) : Result<void>();
}

Result<void> Runtime::Impl::test(Runtime& owner, CanaryScope scope) {
  scope = {scope.matrices && !tested.matrices, scope.numbers && !tested.numbers};
  const CanaryTests tests = canary_tests(device->profile(), scope);
  if (tests.tests.empty() && tests.numbers.empty()) return {};
  // Uses a Device of its own, so that the Runtime's counts have no pipelines of the canary.
  auto tester = adopted(VK_NULL_HANDLE);
  if (!tester) return std::unexpected(tester.error());
  auto result = run_canary(owner, *tester, scope, tests.scratch_bytes);
  std::optional<Error> fatal;
  if (!result) fatal = result.error();
  // Only a driver's error is an outcome.
  if (fatal && fatal->kind != ErrorKind::device) return std::unexpected(*fatal);
  CanaryResult found = fatal ? lost(tests, *fatal) : std::move(*result);
  // What was not tested now keeps its outcome.
  if (!scope.matrices) found.rows = canary.rows;
  if (!scope.numbers) found.kinds = canary.kinds;
  const TestedDevice identity = tested_device_of(chosen.snapshot, options.modules);
  const std::string text = to_json(found);
  if (const std::string path = canary_path(); !path.empty()) {
    std::error_code ignored;  // writing the file reports it
    if (!options.canary_folder.empty())
      std::filesystem::create_directories(backend::native_path(options.canary_folder), ignored);
    if (auto saved = backend::write_framed(path, outcome_frame_of(identity), std::as_bytes(std::span(text))); !saved)
      canary_warning = saved.error().message();
  } else {
    const std::string key(reinterpret_cast<const char*>(&identity), sizeof(identity));
    const std::scoped_lock lock(outcomes_mutex);
    outcomes().insert_or_assign(key, found);
  }
  // The next start reads the outcome and does not use what has failed. This device may be lost.
  if (fatal) return fail(ErrorKind::device, "canary on " + profile.name, fatal->message());
  canary = std::move(found);
  tested = {tested.matrices || scope.matrices, tested.numbers || scope.numbers};
  profile = with_canary(device->profile(), canary);
  return {};
}

bool Runtime::wants_test(const Plan& plan) const {
  const CanaryScope scope = canary_scope(plan);
  return impl_->options.canary &&
         ((scope.matrices && !impl_->tested.matrices) || (scope.numbers && !impl_->tested.numbers));
}

Result<bool> Runtime::test_for(const Plan& plan) {
  if (!wants_test(plan)) return false;
  const DeviceProfile before = impl_->profile;
  if (auto done = impl_->test(*this, canary_scope(plan)); !done) return std::unexpected(done.error());
  return impl_->profile != before;
}

}  // namespace sectile::vulkan
