/* Sectile's C interface (C99): plans as opaque handles, problems in as text, plans and profiles out as JSON, and
 * commands written into the app's own command buffers. libsectile.so exports these names and nothing else.
 *
 * Rules that hold for every function:
 * - A handle is made by a _create or _open function and destroyed by the _destroy function of its type, which takes
 *   NULL. What one side allocates the other side never frees.
 * - Text that is returned belongs to the handle that it was asked of, ends with 0, and stays until that handle is
 *   destroyed. Text that is passed is UTF-8, ends with 0, and is copied.
 * - A function that can fail returns a SectileStatus, and writes its results only where that is SECTILE_OK.
 *   sectile_last_error() then has the sentence, for the calling thread.
 * - A struct that can grow begins with its size, as sizeof has it in the caller's version of this header; fields that a
 *   caller does not know are taken as 0. Initialize it with SECTILE_INIT and set what you need. A struct without a size
 *   never changes.
 * - Functions are safe from several threads for different handles, and for the same handle where they take it as const.
 * - No C++ exception leaves the library. The callbacks that you pass throw none, and call no function of the library.
 * - Host memory is the C++ runtime's. Vulkan's objects are made with the VkAllocationCallbacks that you pass.
 *
 * Vulkan's handles are named by their tags (struct VkDevice_T*), which is what vulkan_core.h declares: pass what you
 * have. This header includes neither Vulkan's nor CUDA's.
 */
#ifndef SECTILE_SECTILE_H
#define SECTILE_SECTILE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(SECTILE_EXPORTS)
#define SECTILE_API __declspec(dllexport)
#else
#define SECTILE_API
#endif
#else
#define SECTILE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
template <class T>
inline T SectileInitialized() {
  T out = T();
  out.size = sizeof(T);
  return out;
}
#define SECTILE_INIT(type) SectileInitialized<type>()
extern "C" {
#else
#define SECTILE_INIT(type) {.size = sizeof(type)}
#endif

/* Grows with every change that an old program would notice; the shared library's SONAME ends with it. */
#define SECTILE_API_VERSION 1

/* ------------------------------------------------------------------------------------------------ versions, errors */

typedef enum SectileStatus {
  SECTILE_OK = 0,
  SECTILE_PARSE = 1,           /* text or JSON that does not follow its grammar */
  SECTILE_INVALID_PROBLEM = 2, /* axes repeated, missing or out of range; a layout that does not fit the shape */
  SECTILE_OVERFLOW = 3,        /* a product of sizes or an address does not fit 64 bits */
  SECTILE_OVERLAP = 4,         /* operands share bytes that are written */
  SECTILE_UNSUPPORTED = 5,     /* the device lacks something; the sentence names it */
  SECTILE_LIMIT_EXCEEDED = 6,  /* a plan asks for more than the device allows */
  SECTILE_INVALID_PLAN = 7,    /* the plan checker refuses the plan, or it was made for another device */
  SECTILE_MISALIGNED = 8,      /* an address is not aligned as the problem promises */
  SECTILE_TOO_SMALL = 9,       /* a buffer holds fewer bytes than are needed */
  SECTILE_MISSING = 10,        /* an address, file, device, argument or kernel does not exist */
  SECTILE_IO = 11,             /* reading or writing a file failed */
  SECTILE_DEVICE = 12,         /* the driver reported an error */
  SECTILE_COMPILE = 13,        /* the kernel compiler refused a kernel */
  SECTILE_NO_MEMORY = 14,      /* host memory ran out */
  SECTILE_STATUS_MAX = 0x7fffffff
} SectileStatus;

SECTILE_API uint32_t sectile_api_version(void);              /* SECTILE_API_VERSION of the library */
SECTILE_API const char* sectile_planner_version(void);       /* plans of another version are not read back */
SECTILE_API const char* sectile_status_name(SectileStatus status); /* "invalid_problem"; "unknown" */
/* Of the calling thread's last call that failed, until the next one that fails: "invalid_problem: axes: 0,0,1 (want a
 * permutation of 0..2)". "" before the first. */
SECTILE_API const char* sectile_last_error(void);

/* ------------------------------------------------------------------------------------------------------------ log */

typedef enum SectileLogLevel {
  SECTILE_LOG_WARNING = 0, /* something is lost: a feature was not enabled, a file was ignored */
  SECTILE_LOG_INFO = 1,    /* what was compiled, and what a plan leaves unused */
  SECTILE_LOG_MAX = 0x7fffffff
} SectileLogLevel;

/* One line of text, which lives during the call; in the thread of the function that has something to tell. */
typedef void (*SectileLogFunction)(void* user, SectileLogLevel level, const char* text);

typedef struct SectileLog {
  SectileLogFunction function; /* NULL: nothing is told */
  void* user;
} SectileLog;

/* ------------------------------------------------------------------------------------------------------- profiles */

/* What a device can do. */
typedef struct SectileProfile SectileProfile;

/* A device that need not be there, by name: "nvidia-hopper", "cuda:sm_90a". Errors: missing, which lists the names. */
SECTILE_API SectileStatus sectile_profile_target(const char* name, SectileProfile** profile);
/* What sectile_profile_json() or `sectile devices --record` wrote. Errors: parse. */
SECTILE_API SectileStatus sectile_profile_from_json(const char* json, SectileProfile** profile);
SECTILE_API void sectile_profile_destroy(SectileProfile* profile);
SECTILE_API const char* sectile_profile_name(const SectileProfile* profile); /* "NVIDIA H200" */
SECTILE_API const char* sectile_profile_json(const SectileProfile* profile); /* canonical */

/* The same device with what work costs on it (`sectile calibrate`, docs/reference/device-class.md): plans for it choose
 * by that. Errors: parse; unsupported (the class is of other devices). */
SECTILE_API SectileStatus sectile_profile_with_class(const SectileProfile* profile, const char* device_class_json,
                                                     SectileProfile** with);
/* The class whose costs plans for this profile are chosen by, one line; "": nothing was measured on such devices. */
SECTILE_API const char* sectile_profile_class(const SectileProfile* profile);
/* The same device with a stored outcome of the canary: sectile_vk_canary_json(). Errors: parse. */
SECTILE_API SectileStatus sectile_profile_with_canary(const SectileProfile* profile, const char* canary_json,
                                                      SectileProfile** with);

/* ---------------------------------------------------------------------------------------------------------- packs */

/* Kernels that were compiled offline (`sectile pack`, docs/guide/offline.md), for Vulkan. */
typedef struct SectilePack SectilePack;

/* From a file, or from bytes, which are copied. Errors: missing, io (the file); parse (no pack, damaged, or of another
 * version of the planner). */
SECTILE_API SectileStatus sectile_pack_read(const char* path, SectilePack** pack);
SECTILE_API SectileStatus sectile_pack_open(const void* data, size_t bytes, SectilePack** pack);
SECTILE_API void sectile_pack_destroy(SectilePack* pack); /* plans and devices that were made with it stay valid */
SECTILE_API const char* sectile_pack_id(const SectilePack* pack);        /* 32 hex digits, a hash of its content */
SECTILE_API uint64_t sectile_pack_modules(const SectilePack* pack);      /* how many kernels it has */

/* ---------------------------------------------------------------------------------------------------------- plans */

typedef struct SectilePlan SectilePlan;

typedef struct SectilePlanOptions {
  size_t size;
  const char* force;           /* NULL, or the candidate to use (docs/reference/candidates.md) */
  uint32_t explain;            /* 1: sectile_plan_explanation() lists all candidates */
  uint32_t few_pipelines;      /* 1: matmuls and convolutions by few kernels that serve all sizes */
  uint32_t limit_scratch;      /* 1: max_scratch_bytes is a limit */
  uint64_t max_scratch_bytes;
  const SectilePack* pack;     /* NULL, or the pack whose kernels alone may be used */
} SectilePlanOptions;

/* Plans a problem for a device: "permute f16 2x3x64 axes=0,2,1", "matmul f16 nn 512x512x512",
 * docs/reference/problem-string.md. Costs some ten microseconds to a hundred, and compiles nothing. `options` may be
 * NULL. Errors: parse, invalid_problem, overflow, unsupported, limit_exceeded. */
SECTILE_API SectileStatus sectile_plan_create(const SectileProfile* profile, const char* problem,
                                              const SectilePlanOptions* options, SectilePlan** plan);
/* What sectile_plan_json() wrote, for the same device and planner version, and with the same pack (NULL: none). Errors:
 * parse; missing (it was made with a pack); invalid_plan, which names what differs. */
SECTILE_API SectileStatus sectile_plan_from_json(const SectileProfile* profile, const char* json,
                                                 const SectilePack* pack, SectilePlan** plan);
SECTILE_API void sectile_plan_destroy(SectilePlan* plan);

SECTILE_API const char* sectile_plan_json(const SectilePlan* plan);        /* canonical */
SECTILE_API const char* sectile_plan_id(const SectilePlan* plan);          /* 32 hex digits */
SECTILE_API const char* sectile_plan_text(const SectilePlan* plan);        /* one line for people */
SECTILE_API const char* sectile_plan_explanation(const SectilePlan* plan); /* SectilePlanOptions::explain */
/* What the plan leaves unused on its device, and why; "": nothing. */
SECTILE_API const char* sectile_plan_remark(const SectilePlan* plan);

typedef enum SectileRole {
  SECTILE_SOURCE = 0,
  SECTILE_DESTINATION = 1,
  SECTILE_SCRATCH = 2, /* written and read by the plan alone; its contents do not matter before and after */
  SECTILE_ROLE_MAX = 0x7fffffff
} SectileRole;

typedef struct SectileOperandInfo {
  size_t size;
  const char* name; /* "src", "dst", "A", "scratch"; belongs to the plan */
  SectileRole role;
  uint32_t align;  /* its address is a multiple of this */
  uint64_t bytes;  /* from its address to the end of the last byte that is accessed */
} SectileOperandInfo;

/* Operands, in the order in which a launch takes their addresses. Errors: missing (no such operand). */
SECTILE_API uint32_t sectile_plan_operand_count(const SectilePlan* plan);
SECTILE_API SectileStatus sectile_plan_operand(const SectilePlan* plan, uint32_t index, SectileOperandInfo* info);
/* The index of an operand by name. Errors: missing, which lists the names. */
SECTILE_API SectileStatus sectile_plan_find_operand(const SectilePlan* plan, const char* name, uint32_t* index);
SECTILE_API uint64_t sectile_plan_scratch_bytes(const SectilePlan* plan); /* 0: none */

/* Where an operand is: a VkDeviceAddress or a CUdeviceptr. `bytes`: to the end of the memory that the operand may use;
 * 0: unknown, and not checked. */
typedef struct SectileOperandAddress {
  uint64_t address;
  uint64_t bytes;
} SectileOperandAddress;

/* --------------------------------------------------------------------------------------------- Vulkan, your device */

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkCommandBuffer_T;
struct VkPhysicalDeviceFeatures2;
struct VkAllocationCallbacks;

/* vkGetInstanceProcAddr: PFN_vkGetInstanceProcAddr. The library links no loader. */
typedef void (*(*SectileGetInstanceProcAddr)(struct VkInstance_T* instance, const char* name))(void);

/* The features and extensions that Sectile uses, of those that a device offers. */
typedef struct SectileVkWants SectileVkWants;

/* Before the device is made. The instance is for Vulkan 1.3 or later. Errors: unsupported, naming what the device
 * lacks; missing (NULL). */
SECTILE_API SectileStatus sectile_vk_wants_create(SectileGetInstanceProcAddr get_instance_proc_addr,
                                                  struct VkInstance_T* instance,
                                                  struct VkPhysicalDevice_T* physical_device, SectileVkWants** wants);
SECTILE_API void sectile_vk_wants_destroy(SectileVkWants* wants);
/* For VkDeviceCreateInfo::pNext, with pEnabledFeatures NULL. */
SECTILE_API const struct VkPhysicalDeviceFeatures2* sectile_vk_wants_chain(const SectileVkWants* wants);
/* For ppEnabledExtensionNames. The names are static, the array belongs to `wants`. */
SECTILE_API const char* const* sectile_vk_wants_extensions(const SectileVkWants* wants, uint32_t* count);
/* For an app with a chain of its own: switches features on in its structs and links others to its end, which live as
 * long as `wants`. */
SECTILE_API SectileStatus sectile_vk_wants_enable_in(SectileVkWants* wants, struct VkPhysicalDeviceFeatures2* chain);

/* The app's device, as Sectile uses it: it makes compute pipelines, and nothing else. */
typedef struct SectileVkDevice SectileVkDevice;

/* VkBufferUsageFlags that the buffers of operands and scratch need: VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and
 * VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. Their memory needs VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. */
#define SECTILE_VK_BUFFER_USAGE 0x00020020u

typedef struct SectileVkAdoption {
  size_t size;
  SectileGetInstanceProcAddr get_instance_proc_addr;
  struct VkInstance_T* instance;
  struct VkPhysicalDevice_T* physical_device;
  struct VkDevice_T* device;
  uint32_t queue_family; /* of the queues that run the commands */
  /* 1: the device was made with all that sectile_vk_wants_create() lists. 0: with enabled_features and
   * enabled_extensions, which say all that VkDeviceCreateInfo enabled. */
  uint32_t everything_wanted;
  const struct VkPhysicalDeviceFeatures2* enabled_features;
  const char* const* enabled_extensions;
  uint32_t enabled_extension_count;
  /* 1: VK_EXT_debug_utils is enabled on the instance; pipelines get names, and recorded plans labels. */
  uint32_t debug_names;
  uint64_t pipeline_cache; /* VkPipelineCache, or 0 */
  const struct VkAllocationCallbacks* allocation_callbacks;
  /* 1: a cache of the library's own, made of cache_data (what sectile_vk_device_cache() gave; NULL: empty), in place of
   * pipeline_cache. Damaged bytes, and another driver's, are ignored, and the log is told. */
  uint32_t own_cache;
  uint32_t reserved;
  const void* cache_data;
  size_t cache_bytes;
  const SectilePack* pack;  /* kernels from it alone; NULL: those that the library has */
  const char* device_class; /* what work costs on the device, as for sectile_profile_with_class(); or NULL */
  SectileLog log;
} SectileVkAdoption;

/* The app's objects outlive the handle. Errors: missing (a NULL; neither everything_wanted nor enabled_features; an
 * entry point that the driver lacks); unsupported; parse (the class). */
SECTILE_API SectileStatus sectile_vk_device_create(const SectileVkAdoption* adoption, SectileVkDevice** device);
/* Destroys its pipelines: their commands have finished. */
SECTILE_API void sectile_vk_device_destroy(SectileVkDevice* device);
/* What plans are made for. Belongs to the device. */
SECTILE_API const SectileProfile* sectile_vk_device_profile(const SectileVkDevice* device);
SECTILE_API uint64_t sectile_vk_device_pipelines(const SectileVkDevice* device);
/* Destroys the pipelines that no executable uses; their number. */
SECTILE_API uint64_t sectile_vk_device_trim(SectileVkDevice* device);

typedef struct SectileMissingFeature {
  size_t size;
  const char* name;      /* Vulkan's: "cooperativeMatrix" */
  const char* extension; /* "VK_KHR_cooperative_matrix"; "": Vulkan 1.3 has it */
  const char* cost;      /* "f16, bf16 and int8 products do not use the matrix unit" */
  uint32_t offered;      /* 1: the device has it, and it was not enabled */
  uint32_t reserved;
} SectileMissingFeature;

/* The features that Sectile can use and the device was made without. The texts belong to the device. Errors: missing
 * (no such index). */
SECTILE_API uint32_t sectile_vk_device_missing_count(const SectileVkDevice* device);
SECTILE_API SectileStatus sectile_vk_device_missing(const SectileVkDevice* device, uint32_t index,
                                                    SectileMissingFeature* missing);

/* What the cache of own_cache holds now, for cache_data. As Vulkan does it: with data NULL writes the size to `bytes`;
 * otherwise `bytes` says how many fit, and gets how many were written. It grows while pipelines are made. Errors:
 * missing (no own cache), too_small, device. */
SECTILE_API SectileStatus sectile_vk_device_cache(const SectileVkDevice* device, void* data, size_t* bytes);

/* A plan's pipelines and the bytes to push. */
typedef struct SectileVkExecutable SectileVkExecutable;

/* Compiles `count` plans on `threads` threads (0: one a processor), and writes as many executables; on an error none.
 * Safe from several threads for one device. any_profile: 1 takes plans of another device's profile. Errors:
 * invalid_plan, missing, unsupported, limit_exceeded, device. */
SECTILE_API SectileStatus sectile_vk_prepare(SectileVkDevice* device, const SectilePlan* const* plans, uint32_t count,
                                             uint32_t threads, uint32_t any_profile,
                                             SectileVkExecutable** executables);
SECTILE_API void sectile_vk_executable_destroy(SectileVkExecutable* executable);

/* Writes the plan's commands into the app's command buffer. Allocates nothing, locks nothing, submits nothing, waits
 * for nothing. Sources are visible to the compute shader stage before (VK_ACCESS_SHADER_READ_BIT and WRITE_BIT), and
 * results are written by it (VK_ACCESS_SHADER_WRITE_BIT). Errors, before any command is written: missing,
 * invalid_problem (too many operands), misaligned, too_small, overlap. */
SECTILE_API SectileStatus sectile_vk_record(struct VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                                            const SectileOperandAddress* operands, uint32_t count);

typedef struct SectileVkRecording {
  const SectileVkExecutable* executable;
  const SectileOperandAddress* operands;
  uint32_t operand_count;
  uint32_t reserved;
} SectileVkRecording;

/* Records plans of one device in order, with a barrier before each that has to wait for an earlier one: their operands
 * are compared by the addresses that the plans access, and a scratch that two share orders them. `barriers`: NULL, or
 * gets the number of these. Otherwise as sectile_vk_record(); errors name the plan. */
SECTILE_API SectileStatus sectile_vk_record_many(struct VkCommandBuffer_T* commands,
                                                 const SectileVkRecording* recordings, uint32_t count,
                                                 uint32_t* barriers);

/* The canary: a test of what a driver computes, on the app's memory and by its submission. Once for each driver version
 * is enough. record compiles and writes the commands; the app submits them, waits, and passes the scratch's bytes to
 * read. A plan says which parts it rests on; NULL: all. The small runtime runs the canary by itself.
 * docs/guide/embedding.md. */
typedef struct SectileVkCanary SectileVkCanary;
/* At a multiple of 256; 0: nothing to test. */
SECTILE_API uint64_t sectile_vk_canary_scratch_bytes(const SectileVkDevice* device, const SectilePlan* plan);
/* Errors: missing (address 0), misaligned. */
SECTILE_API SectileStatus sectile_vk_canary_record(SectileVkDevice* device, struct VkCommandBuffer_T* commands,
                                                   uint64_t scratch, const SectilePlan* plan, SectileVkCanary** canary);
/* Writes the profile to make plans for. Errors: too_small. */
SECTILE_API SectileStatus sectile_vk_canary_read(SectileVkCanary* canary, const void* scratch, size_t bytes,
                                                 SectileProfile** profile);
/* The outcome, to store; "" before it was read. */
SECTILE_API const char* sectile_vk_canary_json(const SectileVkCanary* canary);
SECTILE_API void sectile_vk_canary_destroy(SectileVkCanary* canary); /* its commands have finished */

/* ----------------------------------------------------------------------------------------------- CUDA, your context */

struct CUctx_st;
struct CUstream_st;

/* The driver and NVRTC are loaded on first use: every function below fails with missing where they are not there, and
 * with unsupported where the library was built without CUDA. */
typedef struct SectileCudaDevice SectileCudaDevice;
typedef struct SectileCudaExecutable SectileCudaExecutable;

/* Of the driver's device `ordinal`. Errors: missing (no such device). */
SECTILE_API SectileStatus sectile_cuda_profile(int ordinal, SectileProfile** profile);

typedef struct SectileCudaAdoption {
  size_t size;
  struct CUctx_st* context; /* CUcontext; outlives the handle */
  const char* cubin_folder; /* stores compiled kernels; NULL: none are stored */
  const char* device_class; /* what work costs on the device, as for sectile_profile_with_class(); or NULL */
  SectileLog log;
} SectileCudaAdoption;

/* Errors: missing, unsupported, parse (the class), device. */
SECTILE_API SectileStatus sectile_cuda_device_create(const SectileCudaAdoption* adoption, SectileCudaDevice** device);
SECTILE_API void sectile_cuda_device_destroy(SectileCudaDevice* device); /* its launches have finished */
SECTILE_API const SectileProfile* sectile_cuda_device_profile(const SectileCudaDevice* device);
/* As sectile_vk_prepare(). Errors also: compile, with NVRTC's log. */
SECTILE_API SectileStatus sectile_cuda_prepare(SectileCudaDevice* device, const SectilePlan* const* plans,
                                               uint32_t count, uint32_t threads, uint32_t any_profile,
                                               SectileCudaExecutable** executables);
SECTILE_API void sectile_cuda_executable_destroy(SectileCudaExecutable* executable);
/* Launches the plan's kernels into the stream (CUstream; NULL: the default one), in order. May be captured into a
 * graph. Allocates nothing, synchronizes nothing. Errors, before anything is launched: as sectile_vk_record(). Also
 * device. */
SECTILE_API SectileStatus sectile_cuda_launch(struct CUstream_st* stream, const SectileCudaExecutable* executable,
                                              const SectileOperandAddress* operands, uint32_t count);

/* ------------------------------------------------------------------- a small runtime, for programs without a device */

/* A Vulkan device of the library's own, with memory and a queue. Not for several threads at once. */
typedef struct SectileRuntime SectileRuntime;
typedef struct SectileBuffer SectileBuffer;

typedef struct SectileRuntimeOptions {
  size_t size;
  const char* selector; /* "vulkan:0", a UUID, or part of a device's or driver's name; NULL: a GPU before a CPU */
  uint32_t validation;  /* 1: loads the validation layer, whose messages go to the log */
  uint32_t canary;      /* 0: all of it when it is opened; 1: by sectile_runtime_test(); 2: never */
  const char* pipeline_cache; /* NULL, or the path of a file that keeps compiled pipelines and the canary's outcome */
  SectileLog log;
  /* Called before and after each use of the queue, for a program that uses it as well (sectile_runtime_vk()). */
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* queue_user;
} SectileRuntimeOptions;

/* `options`: NULL, or as above. Errors: missing (no loader, no such device; no layer), unsupported, parse, device. */
SECTILE_API SectileStatus sectile_runtime_open(const SectileRuntimeOptions* options, SectileRuntime** runtime);
/* Waits, and saves the pipeline cache; after its buffers and executables. */
SECTILE_API void sectile_runtime_destroy(SectileRuntime* runtime);
SECTILE_API const SectileProfile* sectile_runtime_profile(const SectileRuntime* runtime); /* belongs to the runtime */
/* With SectileRuntimeOptions::canary = 1: tests what the plan rests on and was not tested yet; compiles, submits and
 * waits. `changed`: 1, the runtime has another profile now (a test failed), and the plan is to be made again. Errors:
 * device. */
SECTILE_API SectileStatus sectile_runtime_test(SectileRuntime* runtime, const SectilePlan* plan, uint32_t* changed);
/* For sectile_vk_prepare(). Belongs to the runtime. */
SECTILE_API SectileVkDevice* sectile_runtime_device(SectileRuntime* runtime);

typedef struct SectileVkHandles {
  size_t size;
  SectileGetInstanceProcAddr get_instance_proc_addr;
  struct VkInstance_T* instance;
  struct VkPhysicalDevice_T* physical_device;
  struct VkDevice_T* device;
  struct VkQueue_T* queue;
  uint32_t queue_family;
  uint32_t reserved;
} SectileVkHandles;
/* The runtime's own, for what this interface does not offer. The runtime keeps them. */
SECTILE_API SectileStatus sectile_runtime_vk(SectileRuntime* runtime, SectileVkHandles* handles);

/* Device memory with an address. host: 1, memory that the host has mapped as well. Errors: device, limit_exceeded. */
SECTILE_API SectileStatus sectile_buffer_create(SectileRuntime* runtime, uint64_t bytes, uint32_t host,
                                                SectileBuffer** buffer);
SECTILE_API void sectile_buffer_destroy(SectileBuffer* buffer);
SECTILE_API uint64_t sectile_buffer_address(const SectileBuffer* buffer); /* a multiple of 256 */
SECTILE_API uint64_t sectile_buffer_size(const SectileBuffer* buffer);
SECTILE_API void* sectile_buffer_mapped(const SectileBuffer* buffer); /* NULL if host was 0 */
/* Finished when they return. Errors: too_small (past the buffer's end), device. */
SECTILE_API SectileStatus sectile_buffer_upload(SectileBuffer* buffer, uint64_t offset, const void* data, size_t bytes);
SECTILE_API SectileStatus sectile_buffer_download(SectileBuffer* buffer, uint64_t offset, void* data, size_t bytes);

/* Records as sectile_vk_record_many(), submits and waits. Errors: its own; device. */
SECTILE_API SectileStatus sectile_runtime_run(SectileRuntime* runtime, const SectileVkRecording* recordings,
                                              uint32_t count);

/* -------------------------------------------------------------------------------------------------------- devices */

/* The devices that are here, including those that Sectile cannot use. */
typedef struct SectileDeviceList SectileDeviceList;

/* Texts that belong to the list. */
typedef struct SectileDeviceInfo {
  size_t size;
  const char* selector; /* "vulkan:0", for sectile_runtime_open() */
  const char* name;     /* "NVIDIA H200" */
  const char* uuid;     /* 32 hex digits */
  const char* kind;     /* "cpu", "integrated", "discrete", "virtual", "other" */
  const char* api;      /* "1.4.303" */
  const char* driver;   /* name and version */
  const char* unusable; /* why Sectile cannot use it; "" where it can */
} SectileDeviceInfo;

/* Errors: missing (no Vulkan loader; no driver), device. */
SECTILE_API SectileStatus sectile_device_list_create(SectileDeviceList** list);
SECTILE_API void sectile_device_list_destroy(SectileDeviceList* list);
SECTILE_API uint32_t sectile_device_list_count(const SectileDeviceList* list);
/* Errors: missing (no such device). */
SECTILE_API SectileStatus sectile_device_list_device(const SectileDeviceList* list, uint32_t index,
                                                     SectileDeviceInfo* info);
/* {"devices": [...]}: what `sectile devices --json` prints of each, but for "canary" and "same_card". */
SECTILE_API const char* sectile_device_list_json(const SectileDeviceList* list);

#ifdef __cplusplus
}
#endif
#endif
