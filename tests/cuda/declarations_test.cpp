// What src/cuda declares of CUDA by itself, compared with cuda.h and nvrtc.h. Nothing runs: it compiles or it does not.
#include "cuda/libraries.hpp"

#include <doctest/doctest.h>

#ifdef SECTILE_CUDA_HEADERS
#include <cuda.h>
#include <nvrtc.h>

#include <cstddef>
#include <type_traits>

namespace {

namespace api = sectile::cuda::api;

// A type as the calling convention sees it: an enumeration is an int, and so behind a pointer; handles are pointers to
// tags, which both have from one name. CUuuid is ours by size.
template <class T>
struct Plain {
  using Type = T;
};
template <class T>
  requires std::is_enum_v<T>
struct Plain<T> {
  static_assert(sizeof(T) == sizeof(int));
  using Type = int;
};
template <class T>
struct Plain<T*> {
  using Type = typename Plain<T>::Type*;
};
template <>
struct Plain<CUuuid> {
  static_assert(sizeof(CUuuid) == sizeof(api::Uuid) && alignof(CUuuid) == alignof(api::Uuid));
  using Type = api::Uuid;
};
template <>
struct Plain<CUtensorMap> {
  static_assert(sizeof(CUtensorMap) == sizeof(api::TensorMap) && alignof(CUtensorMap) <= alignof(api::TensorMap));
  using Type = api::TensorMap;
};
template <>
struct Plain<const CUlaunchConfig> {
  static_assert(sizeof(CUlaunchConfig) == sizeof(api::LaunchConfig));
  static_assert(offsetof(CUlaunchConfig, gridDimX) == offsetof(api::LaunchConfig, grid));
  static_assert(offsetof(CUlaunchConfig, gridDimZ) == offsetof(api::LaunchConfig, grid) + 2 * sizeof(unsigned));
  static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(api::LaunchConfig, block));
  static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(api::LaunchConfig, dynamic_shared));
  static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(api::LaunchConfig, stream));
  static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(api::LaunchConfig, attributes));
  static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(api::LaunchConfig, attribute_count));
  static_assert(sizeof(CUlaunchAttribute) == sizeof(api::LaunchAttribute));
  static_assert(alignof(CUlaunchAttribute) == alignof(api::LaunchAttribute));
  static_assert(offsetof(CUlaunchAttribute, id) == offsetof(api::LaunchAttribute, kind));
  static_assert(offsetof(CUlaunchAttribute, value) == offsetof(api::LaunchAttribute, cluster));
  static_assert(offsetof(CUlaunchAttributeValue, clusterDim.x) == 0);
  static_assert(offsetof(CUlaunchAttributeValue, clusterDim.z) == 2 * sizeof(unsigned));
  using Type = const api::LaunchConfig;
};
template <class R, class... A>
struct Plain<R(A...)> {
  using Type = typename Plain<R>::Type(typename Plain<A>::Type...);
};
// The same, declared noexcept or not.
template <class R, class... A>
struct Plain<R(A...) noexcept> : Plain<R(A...)> {};

template <class T>
using PlainOf = typename Plain<std::remove_pointer_t<T>>::Type;

}  // namespace

// In there the table's own words are known. A name may be a macro for its newest version, which takes the same.
namespace sectile::cuda::api {
#define SECTILE_COMPARE(name, result, arguments)                                             \
  static_assert(std::is_same_v<PlainOf<result arguments>, PlainOf<decltype(&::name)>>, #name \
                " is declared "                                                              \
                "otherwise");
SECTILE_CUDA_DRIVER_FUNCTIONS(SECTILE_COMPARE)
SECTILE_NVRTC_FUNCTIONS(SECTILE_COMPARE)
#undef SECTILE_COMPARE
}  // namespace sectile::cuda::api

namespace {

constexpr bool same(long long ours, long long theirs) { return ours == theirs; }
static_assert(same(api::kSuccess, CUDA_SUCCESS));
static_assert(same(api::kNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(same(api::kTensorUint8, CU_TENSOR_MAP_DATA_TYPE_UINT8));
static_assert(same(api::kTensorUint16, CU_TENSOR_MAP_DATA_TYPE_UINT16));
static_assert(same(api::kTensorUint32, CU_TENSOR_MAP_DATA_TYPE_UINT32));
static_assert(same(api::kTensorUint64, CU_TENSOR_MAP_DATA_TYPE_UINT64));
static_assert(same(api::kTensorFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
static_assert(same(api::kTensorFloat32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
static_assert(same(api::kTensorBfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
static_assert(same(api::kSwizzleNone, CU_TENSOR_MAP_SWIZZLE_NONE));
static_assert(same(api::kSwizzle32, CU_TENSOR_MAP_SWIZZLE_32B));
static_assert(same(api::kSwizzle64, CU_TENSOR_MAP_SWIZZLE_64B));
static_assert(same(api::kSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B));
static_assert(same(api::kInterleaveNone, CU_TENSOR_MAP_INTERLEAVE_NONE));
static_assert(same(api::kPromotionL2Of256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
static_assert(same(api::kFillZeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
static_assert(same(api::kFillNan, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
static_assert(same(api::kLaunchCluster, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
static_assert(same(api::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(api::kMaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
static_assert(same(api::kMaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
static_assert(same(api::kMaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
static_assert(same(api::kMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(same(api::kMaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
static_assert(same(api::kMaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(same(api::kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(same(api::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(same(api::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(api::kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED));
static_assert(same(api::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(api::kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(same(api::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(api::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(api::kMaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
static_assert(same(api::kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(same(api::kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(api::kFunctionMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(api::kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(same(api::kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same(api::kFunctionNonPortableCluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
static_assert(same(api::kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(same(api::kEventDefault, CU_EVENT_DEFAULT));
static_assert(same(api::kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL));
static_assert(same(api::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(same(api::kNvrtcSuccess, NVRTC_SUCCESS));
static_assert(same(api::kNvrtcErrorInvalidOption, NVRTC_ERROR_INVALID_OPTION));
static_assert(same(api::kNvrtcErrorCompilation, NVRTC_ERROR_COMPILATION));
static_assert(std::is_same_v<api::Ordinal, CUdevice> && std::is_same_v<api::Address, CUdeviceptr>);
static_assert(std::is_same_v<api::Context, CUcontext> && std::is_same_v<api::Stream, CUstream>);

}  // namespace

TEST_CASE("CUDA's declarations are those of its headers") {
  // Nearly all of it is static_assert above; what an argument takes is looked at once more where a test can count it.
  CHECK(sizeof(api::TensorMap) == sizeof(CUtensorMap));
  CHECK(sizeof(api::Uuid) == sizeof(CUuuid));
}
#else
TEST_CASE("CUDA's declarations are those of its headers" * doctest::description("skipped: no cuda.h here")) {
  MESSAGE("skipped: no cuda.h and nvrtc.h when this was built");
}
#endif
