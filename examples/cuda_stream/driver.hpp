// The functions of CUDA's driver that this example uses, loaded by hand, so that it builds without CUDA's headers. A
// program that has cuda.h includes that instead: the handles are the same types.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

struct Driver {
  int (*cuInit)(unsigned flags);
  int (*cuDeviceGet)(CUdevice* device, int ordinal);
  int (*cuDeviceGetName)(char* name, int length, CUdevice device);
  int (*cuCtxCreate)(CUcontext* context, unsigned flags, CUdevice device);
  int (*cuCtxDestroy)(CUcontext context);
  int (*cuMemAlloc)(CUdeviceptr* address, std::size_t bytes);
  int (*cuMemFree)(CUdeviceptr address);
  int (*cuMemcpyHtoDAsync)(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream);
  int (*cuMemcpyDtoHAsync)(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
  int (*cuMemsetD8Async)(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream);
  int (*cuStreamCreate)(CUstream* stream, unsigned flags);
  int (*cuStreamDestroy)(CUstream stream);
  int (*cuStreamSynchronize)(CUstream stream);
  int (*cuStreamBeginCapture)(CUstream stream, int mode);
  int (*cuStreamEndCapture)(CUstream stream, CUgraph* graph);
  int (*cuGraphInstantiateWithFlags)(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
  int (*cuGraphLaunch)(CUgraphExec exec, CUstream stream);
  int (*cuGraphExecDestroy)(CUgraphExec exec);
  int (*cuGraphDestroy)(CUgraph graph);

  Driver() {
#if defined(_WIN32)
    const HMODULE library = LoadLibraryA("nvcuda.dll");
#else
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
#endif
    const auto load = [&](auto& function, const char* name) {
#if defined(_WIN32)
      void* const found = library == nullptr ? nullptr : reinterpret_cast<void*>(GetProcAddress(library, name));
#else
      void* const found = library == nullptr ? nullptr : dlsym(library, name);
#endif
      if (found == nullptr) std::fprintf(stderr, "CUDA's driver has no %s\n", name), std::exit(1);
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    // Names with a suffix are those that cuda.h gives the functions of today.
    load(cuInit, "cuInit");
    load(cuDeviceGet, "cuDeviceGet");
    load(cuDeviceGetName, "cuDeviceGetName");
    load(cuCtxCreate, "cuCtxCreate_v2");
    load(cuCtxDestroy, "cuCtxDestroy_v2");
    load(cuMemAlloc, "cuMemAlloc_v2");
    load(cuMemFree, "cuMemFree_v2");
    load(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
    load(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
    load(cuMemsetD8Async, "cuMemsetD8Async");
    load(cuStreamCreate, "cuStreamCreate");
    load(cuStreamDestroy, "cuStreamDestroy_v2");
    load(cuStreamSynchronize, "cuStreamSynchronize");
    load(cuStreamBeginCapture, "cuStreamBeginCapture_v2");
    load(cuStreamEndCapture, "cuStreamEndCapture");
    load(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
    load(cuGraphLaunch, "cuGraphLaunch");
    load(cuGraphExecDestroy, "cuGraphExecDestroy");
    load(cuGraphDestroy, "cuGraphDestroy");
  }
};

// An example ends at the first error.
inline void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: CUresult %d\n", what, result);
  std::exit(1);
}
