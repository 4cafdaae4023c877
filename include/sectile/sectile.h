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
 * - A struct begins with its size, as sizeof has it in the caller's version of this header; fields that a caller does
 *   not know are taken as 0. Initialize it with SECTILE_INIT and set what you need.
 * - Functions are safe from several threads for different handles, and for the same handle where they take it as const.
 * - No C++ exception leaves the library.
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
extern "C" {
#define SECTILE_INIT(type) {sizeof(type)}
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

/* ------------------------------------------------------------------------------------------------------- profiles */

/* What a device can do. */
typedef struct SectileProfile SectileProfile;

/* A device that need not be there, by name: "nvidia-hopper", "cuda:sm_90a". Errors: missing, which lists the names. */
SECTILE_API SectileStatus sectile_profile_target(const char* name, SectileProfile** profile);
/* What sectile_profile_json() or `sectile profile --json` wrote. Errors: parse. */
SECTILE_API SectileStatus sectile_profile_from_json(const char* json, SectileProfile** profile);
SECTILE_API void sectile_profile_destroy(SectileProfile* profile);
SECTILE_API const char* sectile_profile_name(const SectileProfile* profile); /* "NVIDIA H200" */
SECTILE_API const char* sectile_profile_json(const SectileProfile* profile); /* canonical */

/* ---------------------------------------------------------------------------------------------------------- plans */

typedef struct SectilePlan SectilePlan;

typedef struct SectilePlanOptions {
  size_t size;
  const char* force;           /* NULL, or the candidate to use (docs/reference/candidates.md) */
  uint32_t explain;            /* 1: sectile_plan_explanation() lists all candidates */
  uint32_t few_pipelines;      /* 1: matmuls and convolutions by few kernels that serve all sizes */
  uint32_t limit_scratch;      /* 1: max_scratch_bytes is a limit */
  uint64_t max_scratch_bytes;
} SectilePlanOptions;

/* Plans a problem for a device: "permute f16 2x3x64 axes=0,2,1", "matmul f16 nn 512x512x512",
 * docs/reference/problem-string.md. Costs some 10 us and compiles nothing. `options` may be NULL. Errors: parse,
 * invalid_problem, overflow, unsupported, limit_exceeded. */
SECTILE_API SectileStatus sectile_plan_create(const SectileProfile* profile, const char* problem,
                                              const SectilePlanOptions* options, SectilePlan** plan);
/* What sectile_plan_json() wrote, for the same device and planner version. Errors: parse; invalid_plan, which names
 * what differs. */
SECTILE_API SectileStatus sectile_plan_from_json(const SectileProfile* profile, const char* json, SectilePlan** plan);
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
  uint32_t reserved;
  uint64_t pipeline_cache; /* VkPipelineCache, or 0 */
  const struct VkAllocationCallbacks* allocation_callbacks;
} SectileVkAdoption;

/* The app's objects outlive the handle. Errors: missing (a NULL; neither everything_wanted nor enabled_features; an
 * entry point that the driver lacks); unsupported. */
SECTILE_API SectileStatus sectile_vk_device_create(const SectileVkAdoption* adoption, SectileVkDevice** device);
/* Destroys its pipelines: their commands have finished. */
SECTILE_API void sectile_vk_device_destroy(SectileVkDevice* device);
/* What plans are made for. Belongs to the device. */
SECTILE_API const SectileProfile* sectile_vk_device_profile(const SectileVkDevice* device);
SECTILE_API uint64_t sectile_vk_device_pipelines(const SectileVkDevice* device);
/* Destroys the pipelines that no executable uses; their number. */
SECTILE_API uint64_t sectile_vk_device_trim(SectileVkDevice* device);

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
 * for nothing. Operands lie in buffers with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. Sources are visible to the
 * compute shader stage before, and results are written by it (VK_ACCESS_SHADER_WRITE_BIT). Errors, before any command
 * is written: missing, invalid_problem (too many operands), misaligned, too_small, overlap. */
SECTILE_API SectileStatus sectile_vk_record(struct VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                                            const SectileOperandAddress* operands, uint32_t count);

/* ------------------------------------------------------------------- a small runtime, for programs without a device */

/* A device of the library's own, with memory and a queue. Not for several threads at once. */
typedef struct SectileRuntime SectileRuntime;
typedef struct SectileBuffer SectileBuffer;

/* selector: "vulkan:0", a UUID, or part of a device's or driver's name; NULL: a GPU before a CPU. validation: 1 loads
 * the validation layer. Runs the canary, a test of what the driver computes. Errors: missing (no loader, no such
 * device; no layer), unsupported, parse, device. */
SECTILE_API SectileStatus sectile_runtime_open(const char* selector, uint32_t validation, SectileRuntime** runtime);
SECTILE_API void sectile_runtime_destroy(SectileRuntime* runtime); /* waits; after its buffers and executables */
SECTILE_API const SectileProfile* sectile_runtime_profile(const SectileRuntime* runtime); /* belongs to the runtime */
/* For sectile_vk_prepare(). Belongs to the runtime. */
SECTILE_API SectileVkDevice* sectile_runtime_device(SectileRuntime* runtime);

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

/* Records `count` executables one after the other, each with its operands, with a barrier between, submits them and
 * waits. operand_counts[i]: of operands[i]. Errors: as sectile_vk_record(); device. */
SECTILE_API SectileStatus sectile_runtime_run(SectileRuntime* runtime, const SectileVkExecutable* const* executables,
                                              const SectileOperandAddress* const* operands,
                                              const uint32_t* operand_counts, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
