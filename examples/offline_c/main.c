/* Runs two plans that `sectile emit` compiled: B = A transposed, then D = relu(B C + bias). Nothing of Sectile is
 * linked: plans.h has SPIR-V, grids, push bytes and barriers as C data (docs/guide/offline.md,
 * docs/reference/manifest.md). */
#include "plans.h"

#include <vulkan/vulkan.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kM = 64, kN = 48, kK = 2048, kMostSteps = 16, kMostOperands = 8 };
enum { kA, kB, kC, kBias, kD, kScratch, kBuffers };

typedef struct Buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkDeviceAddress address;
  VkDeviceSize bytes;
  float* mapped;
} Buffer;

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

static void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
  exit(1);
}

static void give_up(const char* what, const char* name) {
  fprintf(stderr, "%s: %s\n", what, name);
  exit(1);
}

/* The features that this program can enable. A plan for another target may need one more: it is then a line here. */
typedef struct Features {
  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  VkPhysicalDeviceVulkan13Features v13;
} Features;
static const struct {
  const char* name;
  size_t offset;
} kKnown[] = {
    {"bufferDeviceAddress", offsetof(Features, v12.bufferDeviceAddress)},
    {"storageBuffer8BitAccess", offsetof(Features, v12.storageBuffer8BitAccess)},
    {"storageBuffer16BitAccess", offsetof(Features, v11.storageBuffer16BitAccess)},
    {"shaderInt8", offsetof(Features, v12.shaderInt8)},
    {"shaderInt16", offsetof(Features, core.features.shaderInt16)},
    {"shaderInt64", offsetof(Features, core.features.shaderInt64)},
    {"shaderFloat16", offsetof(Features, v12.shaderFloat16)},
    {"vulkanMemoryModel", offsetof(Features, v12.vulkanMemoryModel)},
    {"subgroupSizeControl", offsetof(Features, v13.subgroupSizeControl)},
    {"computeFullSubgroups", offsetof(Features, v13.computeFullSubgroups)},
};

static void link_features(Features* features) {
  memset(features, 0, sizeof *features);
  features->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features->v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  features->core.pNext = &features->v11;
  features->v11.pNext = &features->v12;
  features->v12.pNext = &features->v13;
}

/* Enables what the modules ask for. */
static void enable_features(Features* wanted) {
  Features offered;
  size_t i, j;
  link_features(wanted);
  link_features(&offered);
  vkGetPhysicalDeviceFeatures2(physical, &offered.core);
  for (i = 0; kFeatureNames[i] != NULL; ++i) {
    for (j = 0; j < sizeof kKnown / sizeof *kKnown && strcmp(kKnown[j].name, kFeatureNames[i]) != 0; ++j) {
    }
    if (j == sizeof kKnown / sizeof *kKnown) give_up("this program does not know the feature", kFeatureNames[i]);
    if (*(VkBool32*)((char*)&offered + kKnown[j].offset) == VK_FALSE) give_up("the device lacks", kFeatureNames[i]);
    *(VkBool32*)((char*)wanted + kKnown[j].offset) = VK_TRUE;
  }
}

static void make_device(void) {
  const float priority = 1;
  VkApplicationInfo application;
  VkInstanceCreateInfo instance_info;
  VkDeviceQueueCreateInfo queue_info;
  VkDeviceCreateInfo info;
  VkPhysicalDeviceProperties properties;
  VkQueueFamilyProperties families[16];
  Features features;
  uint32_t count = 1;
  memset(&application, 0, sizeof application);
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_3;
  memset(&instance_info, 0, sizeof instance_info);
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &application;
  check(vkCreateInstance(&instance_info, NULL, &instance), "vkCreateInstance");
  if (vkEnumeratePhysicalDevices(instance, &count, &physical) < VK_SUCCESS || count == 0)
    give_up("Vulkan", "no device");
  vkGetPhysicalDeviceProperties(physical, &properties);
  printf("device: %s\n", properties.deviceName);
  count = 16;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  while (family + 1 < count && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
  enable_features(&features);
  memset(&queue_info, 0, sizeof queue_info);
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  memset(&info, 0, sizeof info);
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.enabledExtensionCount = kExtensions;
  info.ppEnabledExtensionNames = kExtensionNames;
  check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, family, 0, &queue);
}

/* Host-visible memory with a device address. */
static Buffer make_buffer(VkDeviceSize bytes) {
  const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkBufferCreateInfo info;
  VkMemoryAllocateFlagsInfo flags;
  VkMemoryAllocateInfo allocation;
  VkBufferDeviceAddressInfo address;
  VkPhysicalDeviceMemoryProperties types;
  VkMemoryRequirements needs;
  Buffer out;
  void* mapped = NULL;
  memset(&info, 0, sizeof info);
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = out.bytes = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  check(vkCreateBuffer(device, &info, NULL, &out.buffer), "vkCreateBuffer");
  vkGetBufferMemoryRequirements(device, out.buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties(physical, &types);
  memset(&flags, 0, sizeof flags);
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  memset(&allocation, 0, sizeof allocation);
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &flags;
  allocation.allocationSize = needs.size;
  while (allocation.memoryTypeIndex < types.memoryTypeCount &&
         ((needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) == 0 ||
          (types.memoryTypes[allocation.memoryTypeIndex].propertyFlags & host) != host))
    ++allocation.memoryTypeIndex;
  check(vkAllocateMemory(device, &allocation, NULL, &out.memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, out.buffer, out.memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device, out.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  out.mapped = (float*)mapped;
  memset(&address, 0, sizeof address);
  address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  address.buffer = out.buffer;
  out.address = vkGetBufferDeviceAddress(device, &address);
  return out;
}

/* One pipeline for each step. Its layout is a range of push constants, and no descriptor set. */
typedef struct Pipeline {
  VkPipelineLayout layout;
  VkPipeline pipeline;
} Pipeline;

static Pipeline make_pipeline(const struct sectile_emitted_step* step) {
  VkShaderModuleCreateInfo module_info;
  VkPushConstantRange range;
  VkPipelineLayoutCreateInfo layout_info;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
  VkComputePipelineCreateInfo info;
  VkShaderModule module;
  Pipeline out;
  memset(&module_info, 0, sizeof module_info);
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = (size_t)step->module->word_count * 4;
  module_info.pCode = step->module->words;
  check(vkCreateShaderModule(device, &module_info, NULL, &module), "vkCreateShaderModule");
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.offset = 0;
  range.size = step->push_bytes;
  memset(&layout_info, 0, sizeof layout_info);
  layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &range;
  check(vkCreatePipelineLayout(device, &layout_info, NULL, &out.layout), "vkCreatePipelineLayout");
  memset(&info, 0, sizeof info);
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = step->module->entry_point;
  info.layout = out.layout;
  if (step->required_subgroup_size != 0) {
    memset(&size, 0, sizeof size);
    size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    size.requiredSubgroupSize = step->required_subgroup_size;
    info.stage.pNext = &size;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &out.pipeline), "vkCreateComputePipelines");
  vkDestroyShaderModule(device, module, NULL);
  return out;
}

/* What shaders wrote becomes visible to shaders, or to the host. */
static void barrier(VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags access) {
  VkMemoryBarrier info;
  memset(&info, 0, sizeof info);
  info.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  info.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  info.dstAccessMask = access;
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, to, 0, 1, &info, 0, NULL, 0, NULL);
}

/* Addresses go into the push bytes: 64 bits each, little-endian, as the CPUs are that have Vulkan. */
static void record_step(VkCommandBuffer commands, const struct sectile_emitted_step* step, const Pipeline* pipeline,
                        const Buffer* const* operands) {
  uint8_t push[256];
  uint32_t i;
  if (step->push_bytes > sizeof push) give_up("a step", "pushes more than 256 bytes");
  memcpy(push, step->push, step->push_bytes);
  for (i = 0; i < step->address_count; ++i) {
    const uint64_t address = operands[step->addresses[i].operand]->address + step->addresses[i].byte_offset;
    memcpy(push + step->addresses[i].push_offset, &address, sizeof address);
  }
  if (step->barrier_before)
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  vkCmdPushConstants(commands, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, step->push_bytes, push);
  vkCmdDispatch(commands, step->grid[0], step->grid[1], step->grid[2]);
}

static int buffer_of(int plan, const struct sectile_emitted_operand* operand) {
  if (strcmp(operand->role, "scratch") == 0) return kScratch;
  if (plan == 0) return strcmp(operand->name, "src") == 0 ? kA : kB;
  if (strcmp(operand->name, "a") == 0) return kB;
  if (strcmp(operand->name, "b") == 0) return kC;
  return strcmp(operand->name, "d") == 0 ? kD : kBias;
}

static int wrong_results(const Buffer* buffers) {
  const float *a = buffers[kA].mapped, *b = buffers[kB].mapped, *c = buffers[kC].mapped;
  int wrong = 0, m, n, k;
  for (m = 0; m < kM; ++m)
    for (k = 0; k < kK; ++k) wrong += b[m * kK + k] != a[k * kM + m];
  for (m = 0; m < kM; ++m)
    for (n = 0; n < kN; ++n) {
      double sum = buffers[kBias].mapped[n], magnitude = fabs(sum);
      for (k = 0; k < kK; ++k) {
        const double product = (double)a[k * kM + m] * c[k * kN + n];
        sum += product;
        magnitude += fabs(product);
      }
      if (sum < 0) sum = 0;
      /* 4 sqrt(K) steps of f32. Written so that a NaN counts as wrong. */
      if (!(fabs(buffers[kD].mapped[m * kN + n] - sum) <= 181 * magnitude / 16777216.0)) ++wrong;
    }
  return wrong;
}

int main(void) {
  Buffer buffers[kBuffers];
  VkDeviceSize bytes[kBuffers] = {0, 0, 0, 0, 0, 4};
  const Buffer* operands[kPlans][kMostOperands];
  Pipeline pipelines[kMostSteps];
  VkCommandPoolCreateInfo pool_info;
  VkCommandBufferAllocateInfo allocation;
  VkCommandBufferBeginInfo begin;
  VkSubmitInfo submit;
  VkCommandPool pool;
  VkCommandBuffer commands;
  uint32_t state = 12345, steps = 0, i, j;
  int plan, wrong;
  make_device();

  /* Buffers as large as the plans say; one scratch for both. */
  for (plan = 0; plan < kPlans; ++plan)
    for (i = 0; i < kPlan[plan]->operand_count && i < kMostOperands; ++i) {
      const int which = buffer_of(plan, &kPlan[plan]->operands[i]);
      if (bytes[which] < kPlan[plan]->operands[i].bytes) bytes[which] = kPlan[plan]->operands[i].bytes;
      operands[plan][i] = &buffers[which];
    }
  for (i = 0; i < kBuffers; ++i) {
    buffers[i] = make_buffer(bytes[i]);
    memset(buffers[i].mapped, 0xff, (size_t)bytes[i]); /* NaNs */
    for (j = 0; (i == kA || i == kC || i == kBias) && j < bytes[i] / 4; ++j) {
      state = state * 1664525u + 1013904223u;
      buffers[i].mapped[j] = (float)((double)(state >> 8) / 8388608.0 - 1.0);
    }
  }

  memset(&pool_info, 0, sizeof pool_info);
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = family;
  check(vkCreateCommandPool(device, &pool_info, NULL, &pool), "vkCreateCommandPool");
  memset(&allocation, 0, sizeof allocation);
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = pool;
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  check(vkAllocateCommandBuffers(device, &allocation, &commands), "vkAllocateCommandBuffers");
  memset(&begin, 0, sizeof begin);
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  for (plan = 0; plan < kPlans; ++plan) {
    printf("%s: %u steps\n", kPlan[plan]->problem, (unsigned)kPlan[plan]->step_count);
    /* barrier_before orders the steps of a plan. Between plans it is the program's work. */
    if (plan > 0)
      barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    for (i = 0; i < kPlan[plan]->step_count; ++i, ++steps) {
      if (steps == kMostSteps) give_up("the plans", "more steps than this program has room for");
      pipelines[steps] = make_pipeline(&kPlan[plan]->steps[i]);
      record_step(commands, &kPlan[plan]->steps[i], &pipelines[steps], operands[plan]);
    }
  }
  barrier(commands, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  memset(&submit, 0, sizeof submit);
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  check(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  wrong = wrong_results(buffers);

  for (i = 0; i < steps; ++i) {
    vkDestroyPipeline(device, pipelines[i].pipeline, NULL);
    vkDestroyPipelineLayout(device, pipelines[i].layout, NULL);
  }
  vkDestroyCommandPool(device, pool, NULL);
  for (i = 0; i < kBuffers; ++i) {
    vkDestroyBuffer(device, buffers[i].buffer, NULL);
    vkFreeMemory(device, buffers[i].memory, NULL);
  }
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  printf("%d of %d results wrong\n%s\n", wrong, kM * (kK + kN), wrong == 0 ? "ok" : "FAILED");
  return wrong == 0 ? 0 : 1;
}
