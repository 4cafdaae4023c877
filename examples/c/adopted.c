/* The same two plans on a Vulkan device that the program makes, in a command buffer of its own. Sectile allocates no
 * memory, submits nothing and waits for nothing.
 *
 *   c_adopted [--without-optional]      makes the device with what Sectile requires, and tells what that costs
 */
#include "clock.h"
#include "work.h"

#include <vulkan/vulkan.h>

typedef struct Gpu {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  uint32_t family;
  VkQueue queue;
} Gpu;

typedef struct Memory {
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkDeviceAddress address;
  float* mapped;
} Memory;

static void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
  exit(1);
}

/* vkGetInstanceProcAddr as sectile.h declares it, without Vulkan's header. */
static SectileGetInstanceProcAddr loader(void) { return (SectileGetInstanceProcAddr)vkGetInstanceProcAddr; }

static void make_instance(Gpu* gpu) {
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  uint32_t one = 1;
  application.apiVersion = VK_API_VERSION_1_3;
  info.pApplicationInfo = &application;
  check(vkCreateInstance(&info, NULL, &gpu->instance), "vkCreateInstance");
  if (vkEnumeratePhysicalDevices(gpu->instance, &one, &gpu->physical) < VK_SUCCESS || one == 0) {
    fprintf(stderr, "no Vulkan device\n");
    exit(1);
  }
}

/* The head of a pNext chain, and the first family with compute. */
static void make_device(Gpu* gpu, const void* features, const char* const* extensions, uint32_t extension_count) {
  const float priority = 1;
  VkQueueFamilyProperties families[16];
  uint32_t count = 16;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  vkGetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, families);
  gpu->family = 0;
  while (gpu->family + 1 < count && (families[gpu->family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++gpu->family;
  queue.queueFamilyIndex = gpu->family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  info.pNext = features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = extension_count;
  info.ppEnabledExtensionNames = extensions;
  check(vkCreateDevice(gpu->physical, &info, NULL, &gpu->device), "vkCreateDevice");
  vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
}

/* Host-visible memory with a device address. */
static Memory make_memory(const Gpu* gpu, VkDeviceSize bytes) {
  const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  VkBufferDeviceAddressInfo address = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  VkPhysicalDeviceMemoryProperties types;
  VkMemoryRequirements needs;
  Memory out;
  void* mapped = NULL;
  info.size = bytes;
  info.usage = SECTILE_VK_BUFFER_USAGE;
  check(vkCreateBuffer(gpu->device, &info, NULL, &out.buffer), "vkCreateBuffer");
  vkGetBufferMemoryRequirements(gpu->device, out.buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties(gpu->physical, &types);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  allocation.pNext = &flags;
  allocation.allocationSize = needs.size;
  while (allocation.memoryTypeIndex < types.memoryTypeCount &&
         ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0 ||
          (types.memoryTypes[allocation.memoryTypeIndex].propertyFlags & host) != host))
    ++allocation.memoryTypeIndex;
  check(vkAllocateMemory(gpu->device, &allocation, NULL, &out.memory), "vkAllocateMemory");
  check(vkBindBufferMemory(gpu->device, out.buffer, out.memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(gpu->device, out.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  out.mapped = (float*)mapped;
  address.buffer = out.buffer;
  out.address = vkGetBufferDeviceAddress(gpu->device, &address);
  return out;
}

static void destroy_memory(const Gpu* gpu, const Memory* memory) {
  vkDestroyBuffer(gpu->device, memory->buffer, NULL);
  vkFreeMemory(gpu->device, memory->memory, NULL);
}

/* With all that Sectile wants, or with what it requires alone. */
static SectileVkDevice* adopt(Gpu* gpu, SectileVkWants* wants, int without_optional) {
  VkPhysicalDeviceVulkan12Features v12 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13 = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceFeatures2 required = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  SectileVkAdoption adoption = SECTILE_INIT(SectileVkAdoption);
  SectileVkDevice* device = NULL;
  uint32_t count = 0, i;
  const char* const* extensions = sectile_vk_wants_extensions(wants, &count);
  required.pNext = &v12;
  v12.pNext = &v13;
  v12.bufferDeviceAddress = VK_TRUE;
  v13.maintenance4 = VK_TRUE;
  if (without_optional) {
    make_device(gpu, &required, NULL, 0);
    adoption.enabled_features = &required;
  } else {
    make_device(gpu, sectile_vk_wants_chain(wants), extensions, count);
    adoption.everything_wanted = 1;
  }
  adoption.get_instance_proc_addr = loader();
  adoption.instance = gpu->instance;
  adoption.physical_device = gpu->physical;
  adoption.device = gpu->device;
  adoption.queue_family = gpu->family;
  need(sectile_vk_device_create(&adoption, &device), "adopt");
  for (i = 0; i < sectile_vk_device_missing_count(device); ++i) {
    SectileMissingFeature missing = SECTILE_INIT(SectileMissingFeature);
    need(sectile_vk_device_missing(device, i, &missing), "missing");
    if (missing.offered) printf("lost: %s: %s\n", missing.name, missing.cost);
  }
  return device;
}

/* Records both plans with a timing, makes what they write visible to the host, submits and waits. */
static double record_and_run(const Gpu* gpu, const SectileVkRecording* recordings, uint32_t* barriers) {
  VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  VkCommandPool pool;
  VkCommandBuffer commands;
  double start, record;
  pool_info.queueFamilyIndex = gpu->family;
  check(vkCreateCommandPool(gpu->device, &pool_info, NULL, &pool), "vkCreateCommandPool");
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(gpu->device, &info, &commands), "vkAllocateCommandBuffers");
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  start = microseconds();
  need(sectile_vk_record_many(commands, recordings, 2, barriers), "record");
  record = microseconds() - start;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                       NULL, 0, NULL);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(gpu->queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(gpu->queue), "vkQueueWaitIdle");
  vkDestroyCommandPool(gpu->device, pool, NULL);
  return record;
}

static int run(Gpu* gpu, SectileVkDevice* device) {
  SectilePlan* plans[2] = {NULL, NULL};
  SectileVkExecutable* ready[2] = {NULL, NULL};
  SectileVkExecutable* again[2] = {NULL, NULL};
  SectileOperandAddress operands[2][8];
  SectileVkRecording recordings[2];
  Memory memory[kBuffers], scratch;
  uint64_t scratch_bytes = 4;
  uint32_t barriers = 0;
  double start, first, second, record;
  int i, wrong;
  for (i = 0; i < 2; ++i) {
    const uint64_t bytes =
        (need(sectile_plan_create(sectile_vk_device_profile(device), kProblems[i], NULL, &plans[i]), kProblems[i]),
         sectile_plan_scratch_bytes(plans[i]));
    printf("%s\n  %s\n", kProblems[i], sectile_plan_text(plans[i]));
    if (bytes > scratch_bytes) scratch_bytes = bytes;
  }
  start = microseconds();
  need(sectile_vk_prepare(device, (const SectilePlan* const*)plans, 2, 0, 0, ready), "prepare");
  first = microseconds() - start;
  start = microseconds();
  need(sectile_vk_prepare(device, (const SectilePlan* const*)plans, 2, 0, 0, again), "prepare");
  second = microseconds() - start;

  for (i = 0; i < kBuffers; ++i) {
    memory[i] = make_memory(gpu, kCounts[i] * sizeof(float));
    fill(i, memory[i].mapped);
  }
  scratch = make_memory(gpu, scratch_bytes);
  memset(recordings, 0, sizeof recordings);
  for (i = 0; i < 2; ++i) {
    uint32_t j;
    recordings[i].executable = ready[i];
    recordings[i].operands = operands[i];
    recordings[i].operand_count = sectile_plan_operand_count(plans[i]);
    for (j = 0; j < recordings[i].operand_count && j < 8; ++j) {
      SectileOperandInfo operand = SECTILE_INIT(SectileOperandInfo);
      int buffer;
      need(sectile_plan_operand(plans[i], j, &operand), "operand");
      buffer = operand.role == SECTILE_SCRATCH ? -1 : buffer_of(i, operand.name);
      operands[i][j].address = buffer < 0 ? scratch.address : memory[buffer].address;
      operands[i][j].bytes = buffer < 0 ? scratch_bytes : kCounts[buffer] * sizeof(float);
    }
  }
  record = record_and_run(gpu, recordings, &barriers);
  printf("2 plans, %u barrier between them\nprepare first %.0f us, second %.0f us, record %.1f us\n", barriers, first,
         second, record);
  wrong = wrong_results(memory[kA].mapped, memory[kB].mapped, memory[kC].mapped, memory[kBias].mapped,
                        memory[kD].mapped);
  for (i = 0; i < kBuffers; ++i) destroy_memory(gpu, &memory[i]);
  destroy_memory(gpu, &scratch);
  for (i = 0; i < 2; ++i) {
    sectile_vk_executable_destroy(ready[i]);
    sectile_vk_executable_destroy(again[i]);
    sectile_plan_destroy(plans[i]);
  }
  return wrong;
}

int main(int count, char** words) {
  Gpu gpu;
  SectileVkWants* wants = NULL;
  SectileVkDevice* device;
  int wrong;
  make_instance(&gpu);
  need(sectile_vk_wants_create(loader(), gpu.instance, gpu.physical, &wants), "wants");
  device = adopt(&gpu, wants, count > 1 && strcmp(words[1], "--without-optional") == 0);
  sectile_vk_wants_destroy(wants);
  wrong = run(&gpu, device);
  sectile_vk_device_destroy(device); /* before the VkDevice */
  vkDestroyDevice(gpu.device, NULL);
  vkDestroyInstance(gpu.instance, NULL);
  printf("%d of %d results wrong\n%s\n", wrong, kM * (kK + kN), wrong == 0 ? "ok" : "FAILED");
  return wrong == 0 ? 0 : 1;
}
