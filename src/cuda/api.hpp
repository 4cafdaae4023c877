// The types, numbers and functions of CUDA's driver API and NVRTC that Sectile uses, declared here so that building
// needs no CUDA header. tests/cuda/declarations_test.cpp compares them with cuda.h and nvrtc.h.
#pragma once

#include <cstddef>
#include <cstdint>

// cuda.h's own tags: handles are pointers to them.
struct CUctx_st;
struct CUstream_st;
struct CUmod_st;
struct CUfunc_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct _nvrtcProgram;  // NOLINT(bugprone-reserved-identifier): NVRTC's name

namespace sectile::cuda::api {

using Ordinal = int;                 // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using Context = ::CUctx_st*;
using Stream = ::CUstream_st*;
using Module = ::CUmod_st*;
using Function = ::CUfunc_st*;
using Event = ::CUevent_st*;
using Graph = ::CUgraph_st*;
using GraphExec = ::CUgraphExec_st*;
using Program = ::_nvrtcProgram*;
struct Uuid {
  char bytes[16];
};

// CUresult. Only the values that are handled differently; the driver names all others.
enum Status : int {
  kSuccess = 0,
  kNoDevice = 100,
};

// CUdevice_attribute.
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kMaxSharedMemoryPerBlockOptin = 97,
};

// CUfunction_attribute.
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionNonPortableCluster = 14,
};

// CUlaunchConfig with its attributes (CUlaunchAttributeID: only the one that is used).
enum LaunchAttributeKind : int { kLaunchCluster = 4 };
struct LaunchAttribute {
  LaunchAttributeKind kind = kLaunchCluster;
  char pad[4] = {};
  alignas(8) unsigned cluster[3] = {};
  char rest[52] = {};  // other attributes' values have up to 64 bytes
};
struct LaunchConfig {
  unsigned grid[3] = {}, block[3] = {};
  unsigned dynamic_shared = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// CUtensorMap: a kernel's argument, opaque. At a multiple of 128 since CUDA 13, of 64 before.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16];
};

// CUtensorMapDataType, by size, and the floats that a map may be filled with; CUtensorMapSwizzle; further arguments of
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
enum TensorElement : int {
  kTensorUint8 = 0,
  kTensorUint16 = 1,
  kTensorUint32 = 2,
  kTensorUint64 = 4,
  kTensorFloat16 = 6,
  kTensorFloat32 = 7,
  kTensorBfloat16 = 9
};
enum TensorSwizzle : int { kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };
enum TensorInterleave : int { kInterleaveNone = 0 };
enum TensorPromotion : int { kPromotionL2Of256 = 3 };
enum TensorFill : int { kFillZeros = 0, kFillNan = 1 };

// CUstream_flags, CUevent_flags, CUevent_record_flags, CUstreamCaptureMode.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;
constexpr unsigned kEventRecordExternal = 1;
enum CaptureMode : int { kCaptureThreadLocal = 1 };

// nvrtcResult. Only the values that are handled differently.
enum NvrtcStatus : int {
  kNvrtcSuccess = 0,
  kNvrtcErrorInvalidOption = 5,
  kNvrtcErrorCompilation = 6,
};

}  // namespace sectile::cuda::api

// Every function, by its name for dlsym: F(name, result, (arguments)). Where a name has versions, the newest of CUDA
// 12.0.
#define SECTILE_CUDA_DRIVER_FUNCTIONS(F)                                                                               \
  F(cuInit, Status, (unsigned))                                                                                        \
  F(cuDriverGetVersion, Status, (int*))                                                                                \
  F(cuGetErrorName, Status, (Status, const char**))                                                                    \
  F(cuGetErrorString, Status, (Status, const char**))                                                                  \
  F(cuDeviceGetCount, Status, (int*))                                                                                  \
  F(cuDeviceGet, Status, (Ordinal*, int))                                                                              \
  F(cuDeviceGetName, Status, (char*, int, Ordinal))                                                                    \
  F(cuDeviceGetUuid_v2, Status, (Uuid*, Ordinal))                                                                      \
  F(cuDeviceTotalMem_v2, Status, (std::size_t*, Ordinal))                                                              \
  F(cuDeviceGetAttribute, Status, (int*, Attribute, Ordinal))                                                          \
  F(cuDevicePrimaryCtxRetain, Status, (Context*, Ordinal))                                                             \
  F(cuDevicePrimaryCtxRelease_v2, Status, (Ordinal))                                                                   \
  F(cuCtxPushCurrent_v2, Status, (Context))                                                                            \
  F(cuCtxPopCurrent_v2, Status, (Context*))                                                                            \
  F(cuCtxGetCurrent, Status, (Context*))                                                                               \
  F(cuCtxGetDevice, Status, (Ordinal*))                                                                                \
  F(cuModuleLoadData, Status, (Module*, const void*))                                                                  \
  F(cuModuleUnload, Status, (Module))                                                                                  \
  F(cuModuleGetFunction, Status, (Function*, Module, const char*))                                                     \
  F(cuFuncGetAttribute, Status, (int*, FunctionAttribute, Function))                                                   \
  F(cuFuncSetAttribute, Status, (Function, FunctionAttribute, int))                                                    \
  F(cuLaunchKernel, Status,                                                                                            \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))          \
  F(cuLaunchKernelEx, Status, (const LaunchConfig*, Function, void**, void**))                                         \
  F(cuTensorMapEncodeTiled, Status,                                                                                    \
    (TensorMap*, TensorElement, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,                      \
     const std::uint32_t*, const std::uint32_t*, TensorInterleave, TensorSwizzle, TensorPromotion, TensorFill))        \
  F(cuTensorMapEncodeIm2col, Status,                                                                                   \
    (TensorMap*, TensorElement, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*, const int*,          \
     const int*, std::uint32_t, std::uint32_t, const std::uint32_t*, TensorInterleave, TensorSwizzle, TensorPromotion, \
     TensorFill))                                                                                                      \
  F(cuStreamCreate, Status, (Stream*, unsigned))                                                                       \
  F(cuStreamDestroy_v2, Status, (Stream))                                                                              \
  F(cuStreamSynchronize, Status, (Stream))                                                                             \
  F(cuStreamBeginCapture_v2, Status, (Stream, CaptureMode))                                                            \
  F(cuStreamEndCapture, Status, (Stream, Graph*))                                                                      \
  F(cuGraphInstantiateWithFlags, Status, (GraphExec*, Graph, unsigned long long))                                      \
  F(cuGraphLaunch, Status, (GraphExec, Stream))                                                                        \
  F(cuGraphDestroy, Status, (Graph))                                                                                   \
  F(cuGraphExecDestroy, Status, (GraphExec))                                                                           \
  F(cuEventCreate, Status, (Event*, unsigned))                                                                         \
  F(cuEventDestroy_v2, Status, (Event))                                                                                \
  F(cuEventRecordWithFlags, Status, (Event, Stream, unsigned))                                                         \
  F(cuEventElapsedTime, Status, (float*, Event, Event))                                                                \
  F(cuMemAlloc_v2, Status, (Address*, std::size_t))                                                                    \
  F(cuMemFree_v2, Status, (Address))                                                                                   \
  F(cuMemcpyHtoDAsync_v2, Status, (Address, const void*, std::size_t, Stream))                                         \
  F(cuMemcpyDtoHAsync_v2, Status, (void*, Address, std::size_t, Stream))                                               \
  F(cuMemcpyDtoDAsync_v2, Status, (Address, Address, std::size_t, Stream))                                             \
  F(cuMemsetD32Async, Status, (Address, unsigned, std::size_t, Stream))

#define SECTILE_NVRTC_FUNCTIONS(F)                                                     \
  F(nvrtcVersion, NvrtcStatus, (int*, int*))                                           \
  F(nvrtcGetErrorString, const char*, (NvrtcStatus))                                   \
  F(nvrtcCreateProgram, NvrtcStatus,                                                   \
    (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  F(nvrtcDestroyProgram, NvrtcStatus, (Program*))                                      \
  F(nvrtcCompileProgram, NvrtcStatus, (Program, int, const char* const*))              \
  F(nvrtcGetCUBINSize, NvrtcStatus, (Program, std::size_t*))                           \
  F(nvrtcGetCUBIN, NvrtcStatus, (Program, char*))                                      \
  F(nvrtcGetPTXSize, NvrtcStatus, (Program, std::size_t*))                             \
  F(nvrtcGetPTX, NvrtcStatus, (Program, char*))                                        \
  F(nvrtcGetProgramLogSize, NvrtcStatus, (Program, std::size_t*))                      \
  F(nvrtcGetProgramLog, NvrtcStatus, (Program, char*))
