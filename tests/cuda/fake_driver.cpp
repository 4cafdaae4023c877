#include "fake_driver.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace sectile::test {
namespace {

using namespace cuda::api;

constexpr std::size_t kMostLaunches = 16;
constexpr std::size_t kMostPush = 4096;

struct State {
  std::recursive_mutex mutex;
  int devices = 1;
  std::vector<std::string> complaints;
  std::map<std::string, std::size_t> calls;
  std::map<std::string, Status> failures;
  std::vector<std::uintptr_t> modules;
  std::uintptr_t next = 0x1000;
  std::array<FakeLaunch, kMostLaunches> launches;
  std::size_t launched = 0;
  bool capturing = false;
  std::size_t push_bytes = 24, maps = 0;  // of the kernels that are launched
  std::uint32_t static_shared = 0, most_threads = 1024, dynamic_allowed = 0;
  bool large_clusters = false;
  FakeCopy copy;
  std::map<Attribute, int> attributes;  // that a test has set
};
State g_state;
thread_local std::vector<Context> g_contexts;

template <class T>
T handle(std::uintptr_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number, and nothing is behind it
  return reinterpret_cast<T>(number);
}

// Counts a call; gives the status that a test asked for, once.
Status counted(const char* name) {
  const std::scoped_lock lock(g_state.mutex);
  ++g_state.calls[name];
  const auto failure = g_state.failures.find(name);
  if (failure == g_state.failures.end()) return kSuccess;
  const Status out = failure->second;
  g_state.failures.erase(failure);
  return out;
}

void complain(std::string what) {
  const std::scoped_lock lock(g_state.mutex);
  g_state.complaints.push_back(std::move(what));
}

void need_context(const char* name) {
  if (g_contexts.empty() || g_contexts.back() != FakeDriver::context())
    complain(std::string(name) + " without the device's context");
}

Status made(const char* name, std::uintptr_t& place) {
  need_context(name);
  if (const Status status = counted(name); status != kSuccess) return status;
  const std::scoped_lock lock(g_state.mutex);
  place = g_state.next += 0x100;
  return kSuccess;
}

// An H200's answers, but for those that a test has set.
int attribute(Attribute which) {
  if (const auto set = g_state.attributes.find(which); set != g_state.attributes.end()) return set->second;
  switch (which) {
    case kMaxThreadsPerBlock:
    case kMaxBlockDimX:
    case kMaxBlockDimY:
      return 1024;
    case kMaxBlockDimZ:
      return 64;
    case kMaxGridDimX:
      return 2147483647;
    case kMaxGridDimY:
    case kMaxGridDimZ:
      return 65535;
    case kMaxSharedMemoryPerBlock:
      return 49152;
    case kWarpSize:
      return 32;
    case kMultiprocessorCount:
      return 132;
    case kIntegrated:
      return 0;
    case kL2CacheSize:
      return 62914560;
    case kMaxThreadsPerMultiprocessor:
      return 2048;
    case kComputeCapabilityMajor:
      return 9;
    case kComputeCapabilityMinor:
      return 0;
    case kMaxSharedMemoryPerMultiprocessor:
      return 233472;
    case kMaxRegistersPerMultiprocessor:
      return 65536;
    case kMaxSharedMemoryPerBlockOptin:
      return 232448;
  }
  complain("cuDeviceGetAttribute of an unknown number");
  return 0;
}

Status remember_launch(const char* name, const LaunchConfig& config, Function function, void** parameters,
                       void** extra) {
  need_context(name);
  // No counted(): it allocates, and a launch must not.
  if (!g_state.failures.empty())
    if (const Status status = counted(name); status != kSuccess) return status;
  if (g_state.launched == kMostLaunches) {
    complain("more launches than are remembered");
    return kSuccess;
  }
  FakeLaunch& out = g_state.launches[g_state.launched++];
  std::ranges::copy(config.grid, out.grid.begin());
  std::ranges::copy(config.block, out.workgroup.begin());
  out.dynamic_shared = config.dynamic_shared;
  out.stream = config.stream;
  out.function = function;
  out.cluster = {};
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    if (config.attributes[i].kind != kLaunchCluster) complain("a launch attribute that is no cluster");
    std::ranges::copy(config.attributes[i].cluster, out.cluster.begin());
  }
  out.push.clear();
  out.maps.clear();
  // The real driver knows from the kernel how many arguments there are, and their sizes; here the tests say.
  if (extra != nullptr) complain("a launch with a block of arguments");
  if (parameters == nullptr) return kSuccess;
  const auto* from = static_cast<const std::uint8_t*>(parameters[0]);
  out.push.assign(from, from + std::min(g_state.push_bytes, kMostPush));
  for (std::size_t i = 0; i < g_state.maps; ++i) out.maps.push_back(*static_cast<const TensorMap*>(parameters[1 + i]));
  return kSuccess;
}

Status fake_launch(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream stream, void** parameters, void** extra) {
  const LaunchConfig config{{gx, gy, gz}, {bx, by, bz}, shared, stream, nullptr, 0};
  return remember_launch("cuLaunchKernel", config, function, parameters, extra);
}

Status fake_launch_ex(const LaunchConfig* config, Function function, void** parameters, void** extra) {
  return remember_launch("cuLaunchKernelEx", *config, function, parameters, extra);
}

// What was asked for, so that a test can look at it: see decoded(). Only what both kinds of maps have.
void encode_common(TensorMap* map, TensorElement element, std::uint32_t rank, void* address, const std::uint64_t* dims,
                   const std::uint64_t* strides, const std::uint32_t* element_strides, TensorInterleave interleave,
                   TensorSwizzle swizzle, TensorPromotion promotion, TensorFill fill) {
  *map = {};
  map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
  std::uint64_t place = 0;
  for (const auto number :
       {static_cast<std::uint64_t>(element), std::uint64_t{rank}, static_cast<std::uint64_t>(interleave),
        static_cast<std::uint64_t>(swizzle), static_cast<std::uint64_t>(promotion), static_cast<std::uint64_t>(fill)})
    map->opaque[1] |= number << (8 * place++);
  for (std::uint32_t i = 0; i < rank; ++i) map->opaque[2 + i] = dims[i];
  for (std::uint32_t i = 0; i + 1 < rank; ++i) map->opaque[7 + i] = strides[i];
  for (std::uint32_t i = 0; i < rank; ++i) map->opaque[11] |= std::uint64_t{element_strides[i]} << (8 * i);
}

Status of_address(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0 ? kSuccess : static_cast<Status>(1);
}

void fill_maps(Driver& d) {
  d.cuTensorMapEncodeTiled = [](TensorMap* map, TensorElement element, std::uint32_t rank, void* address,
                                const std::uint64_t* dims, const std::uint64_t* strides, const std::uint32_t* box,
                                const std::uint32_t* element_strides, TensorInterleave interleave,
                                TensorSwizzle swizzle, TensorPromotion promotion, TensorFill fill) {
    encode_common(map, element, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill);
    for (std::uint32_t i = 0; i < rank; ++i) map->opaque[12] |= std::uint64_t{box[i]} << (12 * i);
    return of_address(address);
  };
  d.cuTensorMapEncodeIm2col = [](TensorMap* map, TensorElement element, std::uint32_t rank, void* address,
                                 const std::uint64_t* dims, const std::uint64_t* strides, const int* lower,
                                 const int* upper, std::uint32_t channels, std::uint32_t pixels,
                                 const std::uint32_t* element_strides, TensorInterleave interleave,
                                 TensorSwizzle swizzle, TensorPromotion promotion, TensorFill fill) {
    encode_common(map, element, rank, address, dims, strides, element_strides, interleave, swizzle, promotion, fill);
    for (std::uint32_t i = 0; i + 2 < rank; ++i) {
      map->opaque[13] |= std::uint64_t{static_cast<std::uint16_t>(lower[i])} << (16 * i);
      map->opaque[14] |= std::uint64_t{static_cast<std::uint16_t>(upper[i])} << (16 * i);
    }
    map->opaque[15] = std::uint64_t{1} << 63 | std::uint64_t{channels} << 32 | pixels;
    return of_address(address);
  };
}

// Those of which the backend's tests want the rules.
void fill_contexts(Driver& d) {
  d.cuCtxPushCurrent_v2 = [](Context context) {
    if (!g_state.failures.empty())
      if (const Status status = counted("cuCtxPushCurrent_v2"); status != kSuccess) return status;
    g_contexts.push_back(context);
    return kSuccess;
  };
  d.cuCtxPopCurrent_v2 = [](Context* context) {
    if (g_contexts.empty()) {
      complain("cuCtxPopCurrent without a push");
      return kSuccess;
    }
    *context = g_contexts.back();
    g_contexts.pop_back();
    return kSuccess;
  };
  d.cuCtxGetCurrent = [](Context* context) {
    *context = g_contexts.empty() ? nullptr : g_contexts.back();
    return kSuccess;
  };
  d.cuCtxGetDevice = [](Ordinal* device) {
    need_context("cuCtxGetDevice");
    *device = 0;
    return counted("cuCtxGetDevice");
  };
  d.cuDevicePrimaryCtxRetain = [](Context* context, Ordinal) {
    *context = FakeDriver::context();
    return counted("cuDevicePrimaryCtxRetain");
  };
  d.cuDevicePrimaryCtxRelease_v2 = [](Ordinal) { return counted("cuDevicePrimaryCtxRelease_v2"); };
}

void fill_devices(Driver& d) {
  d.cuInit = [](unsigned) { return g_state.devices == 0 ? kNoDevice : counted("cuInit"); };
  d.cuDriverGetVersion = [](int* version) {
    *version = 13000;
    return kSuccess;
  };
  d.cuGetErrorName = [](Status, const char** name) {
    *name = "CUDA_ERROR_OF_THE_TEST";
    return kSuccess;
  };
  d.cuGetErrorString = [](Status, const char** words) {
    *words = "asked for by the test";
    return kSuccess;
  };
  d.cuDeviceGetCount = [](int* count) {
    *count = g_state.devices;
    return kSuccess;
  };
  d.cuDeviceGet = [](Ordinal* device, int index) {
    *device = index;
    return kSuccess;
  };
  d.cuDeviceGetName = [](char* name, int bytes, Ordinal device) {
    const std::string text = "Made-up GPU " + std::to_string(device);
    std::strncpy(name, text.c_str(), static_cast<std::size_t>(bytes) - 1);
    return kSuccess;
  };
  d.cuDeviceGetUuid_v2 = [](Uuid* uuid, Ordinal device) {
    std::memset(uuid->bytes, 0xA0 + device, sizeof(uuid->bytes));
    return kSuccess;
  };
  d.cuDeviceTotalMem_v2 = [](std::size_t* bytes, Ordinal) {
    *bytes = std::size_t{1} << 37;
    return kSuccess;
  };
  d.cuDeviceGetAttribute = [](int* value, Attribute which, Ordinal) {
    *value = attribute(which);
    return counted("cuDeviceGetAttribute");
  };
}

void fill_modules(Driver& d) {
  d.cuModuleLoadData = [](Module* module, const void* image) {
    constexpr unsigned char kElf[] = {0x7F, 'E', 'L', 'F'};
    if (std::memcmp(image, kElf, sizeof(kElf)) != 0) return Status{200};  // CUDA_ERROR_INVALID_IMAGE
    std::uintptr_t number = 0;
    const Status status = made("cuModuleLoadData", number);
    if (status != kSuccess) return status;
    const std::scoped_lock lock(g_state.mutex);
    g_state.modules.push_back(number);
    *module = handle<Module>(number);
    return kSuccess;
  };
  d.cuModuleUnload = [](Module module) {
    need_context("cuModuleUnload");
    const std::scoped_lock lock(g_state.mutex);
    if (std::erase(g_state.modules, reinterpret_cast<std::uintptr_t>(module)) != 1) complain("a module unloaded twice");
    return kSuccess;
  };
  d.cuModuleGetFunction = [](Function* function, Module module, const char* name) {
    need_context("cuModuleGetFunction");
    if (std::strcmp(name, "sectile_main") != 0) complain("another entry than sectile_main");
    *function = handle<Function>(reinterpret_cast<std::uintptr_t>(module) + 1);
    return counted("cuModuleGetFunction");
  };
  d.cuFuncGetAttribute = [](int* value, FunctionAttribute which, Function) {
    *value = static_cast<int>(which == kFunctionMaxThreadsPerBlock ? g_state.most_threads
                              : which == kFunctionSharedBytes      ? g_state.static_shared
                                                                   : 0);
    return counted("cuFuncGetAttribute");
  };
  d.cuFuncSetAttribute = [](Function, FunctionAttribute which, int value) {
    if (which == kFunctionNonPortableCluster && value == 1) {
      g_state.large_clusters = true;
      return counted("cuFuncSetAttribute");
    }
    if (which != kFunctionMaxDynamicSharedBytes || value < 0 ||
        static_cast<std::uint32_t>(value) + g_state.static_shared > 232448)
      complain("cuFuncSetAttribute beyond the device");
    g_state.dynamic_allowed = static_cast<std::uint32_t>(value);
    return counted("cuFuncSetAttribute");
  };
  d.cuLaunchKernel = fake_launch;
  d.cuLaunchKernelEx = fake_launch_ex;
}

template <class T>
Status give(T* place, const char* name) {
  std::uintptr_t number = 0;
  const Status status = made(name, number);
  if (status == kSuccess) *place = handle<T>(number);
  return status;
}

void fill_streams(Driver& d) {
  d.cuStreamCreate = [](Stream* stream, unsigned) { return give(stream, "cuStreamCreate"); };
  d.cuStreamDestroy_v2 = [](Stream) { return counted("cuStreamDestroy_v2"); };
  d.cuStreamSynchronize = [](Stream) {
    if (g_state.capturing) complain("cuStreamSynchronize while capturing");
    return counted("cuStreamSynchronize");
  };
  d.cuStreamBeginCapture_v2 = [](Stream, CaptureMode) {
    if (std::exchange(g_state.capturing, true)) complain("a capture within a capture");
    return counted("cuStreamBeginCapture_v2");
  };
  d.cuStreamEndCapture = [](Stream, Graph* graph) {
    if (!std::exchange(g_state.capturing, false)) complain("no capture to end");
    return give(graph, "cuStreamEndCapture");
  };
  d.cuGraphInstantiateWithFlags = [](GraphExec* graph, Graph, unsigned long long) {
    return give(graph, "cuGraphInstantiateWithFlags");
  };
  d.cuGraphLaunch = [](GraphExec, Stream) { return counted("cuGraphLaunch"); };
  d.cuGraphDestroy = [](Graph) { return counted("cuGraphDestroy"); };
  d.cuGraphExecDestroy = [](GraphExec) { return counted("cuGraphExecDestroy"); };
  d.cuEventCreate = [](Event* event, unsigned) { return give(event, "cuEventCreate"); };
  d.cuEventDestroy_v2 = [](Event) { return counted("cuEventDestroy_v2"); };
  d.cuEventRecordWithFlags = [](Event, Stream, unsigned flags) {
    if (flags != kEventRecordExternal || !g_state.capturing) complain("an event recorded outside of a graph");
    return counted("cuEventRecordWithFlags");
  };
  d.cuEventElapsedTime = [](float* milliseconds, Event, Event) {
    *milliseconds = 0.5F;
    return counted("cuEventElapsedTime");
  };
}

void fill_memory(Driver& d) {
  d.cuMemAlloc_v2 = [](Address* address, std::size_t) {
    std::uintptr_t number = 0;
    const Status status = made("cuMemAlloc_v2", number);
    *address = number;
    return status;
  };
  d.cuMemFree_v2 = [](Address) {
    need_context("cuMemFree_v2");
    return counted("cuMemFree_v2");
  };
  d.cuMemcpyHtoDAsync_v2 = [](Address to, const void* from, std::size_t bytes, Stream stream) {
    g_state.copy = {"cuMemcpyHtoDAsync_v2", to, reinterpret_cast<std::uintptr_t>(from), bytes, 0, stream};
    return counted("cuMemcpyHtoDAsync_v2");
  };
  d.cuMemcpyDtoHAsync_v2 = [](void* to, Address from, std::size_t bytes, Stream stream) {
    g_state.copy = {"cuMemcpyDtoHAsync_v2", reinterpret_cast<std::uintptr_t>(to), from, bytes, 0, stream};
    return counted("cuMemcpyDtoHAsync_v2");
  };
  d.cuMemcpyDtoDAsync_v2 = [](Address to, Address from, std::size_t bytes, Stream stream) {
    g_state.copy = {"cuMemcpyDtoDAsync_v2", to, from, bytes, 0, stream};
    return counted("cuMemcpyDtoDAsync_v2");
  };
  d.cuMemsetD32Async = [](Address to, unsigned word, std::size_t words, Stream stream) {
    g_state.copy = {"cuMemsetD32Async", to, 0, words, word, stream};
    return counted("cuMemsetD32Async");
  };
}

const Driver& fake_driver() {
  static const Driver out = [] {
    Driver d;
    fill_contexts(d);
    fill_devices(d);
    fill_modules(d);
    fill_maps(d);
    fill_streams(d);
    fill_memory(d);
    return d;
  }();
  return out;
}

}  // namespace

FakeMap decoded(const TensorMap& map) {
  const auto byte = [&](unsigned i) { return static_cast<std::uint32_t>(map.opaque[1] >> (8 * i) & 0xff); };
  FakeMap out;
  out.address = map.opaque[0];
  out.element = byte(0);
  out.rank = byte(1);
  out.interleave = byte(2);
  out.swizzle = byte(3);
  out.promotion = byte(4);
  out.fill = byte(5);
  out.im2col = map.opaque[15] != 0;
  for (std::uint32_t i = 0; i < out.rank; ++i) {
    out.dims.push_back(map.opaque[2 + i]);
    if (i + 1 < out.rank) out.strides.push_back(map.opaque[7 + i]);
    out.element_strides.push_back(static_cast<std::uint32_t>(map.opaque[11] >> (8 * i) & 0xff));
    if (!out.im2col) out.box.push_back(static_cast<std::uint32_t>(map.opaque[12] >> (12 * i) & 0xfff));
  }
  if (!out.im2col) return out;
  const auto corner = [](std::uint64_t numbers, std::uint32_t i) {
    return std::int32_t{static_cast<std::int16_t>(numbers >> (16 * i) & 0xffff)};
  };
  for (std::uint32_t i = 0; i + 2 < out.rank; ++i) {
    out.lower.push_back(corner(map.opaque[13], i));
    out.upper.push_back(corner(map.opaque[14], i));
  }
  out.channels = static_cast<std::uint32_t>(map.opaque[15] >> 32 & 0x7fffffff);
  out.pixels = static_cast<std::uint32_t>(map.opaque[15]);
  return out;
}

FakeDriver::FakeDriver(int devices) : replaced_(fake_driver()) {
  g_state.devices = devices;
  g_state.complaints.clear();
  g_state.calls.clear();
  g_state.failures.clear();
  g_state.modules.clear();
  g_state.capturing = false;
  g_state.copy = {};
  g_state.dynamic_allowed = 0;
  g_state.large_clusters = false;
  g_state.attributes.clear();
  expect_arguments(24, 0);
  set_function(0, 1024);
  clear_launches();
  g_contexts.clear();
  g_contexts.reserve(kMostLaunches);
}
FakeDriver::~FakeDriver() = default;

Context FakeDriver::context() { return handle<Context>(0xC0); }
Context FakeDriver::other_context() { return handle<Context>(0xD0); }
Context FakeDriver::current() const { return g_contexts.empty() ? nullptr : g_contexts.back(); }
std::size_t FakeDriver::context_depth() const { return g_contexts.size(); }
void FakeDriver::make_current(Context context) {
  g_contexts = {context};
  g_contexts.reserve(kMostLaunches);
}
std::size_t FakeDriver::launches() const { return g_state.launched; }
const FakeLaunch& FakeDriver::launch(std::size_t i) const { return g_state.launches.at(i); }
void FakeDriver::expect_arguments(std::size_t push_bytes, std::size_t maps) {
  g_state.push_bytes = push_bytes;
  g_state.maps = maps;
}
void FakeDriver::clear_launches() {
  g_state.launched = 0;
  for (FakeLaunch& launch : g_state.launches) launch.push.reserve(kMostPush);
}
std::size_t FakeDriver::calls(const std::string& name) const {
  const std::scoped_lock lock(g_state.mutex);
  const auto found = g_state.calls.find(name);
  return found == g_state.calls.end() ? 0 : found->second;
}
void FakeDriver::set_function(std::uint32_t static_shared, std::uint32_t most_threads) {
  g_state.static_shared = static_shared;
  g_state.most_threads = most_threads;
}
void FakeDriver::set_attribute(Attribute which, int value) { g_state.attributes[which] = value; }
std::uint32_t FakeDriver::dynamic_shared_allowed() const { return g_state.dynamic_allowed; }
bool FakeDriver::large_clusters_allowed() const { return g_state.large_clusters; }
const FakeCopy& FakeDriver::last_copy() const { return g_state.copy; }
std::size_t FakeDriver::modules_alive() const { return g_state.modules.size(); }
void FakeDriver::fail_next(const std::string& name, Status status) { g_state.failures[name] = status; }
std::vector<std::string> FakeDriver::complaints() const {
  const std::scoped_lock lock(g_state.mutex);
  return g_state.complaints;
}

}  // namespace sectile::test
