#include "runtime_instance.hpp"
#include "runtime_canary.hpp"

#include "backend/platform.hpp"
#include "device/quirks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sectile::vulkan {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

std::mutex& volk_mutex() {
  static std::mutex mutex;
  return mutex;
}

thread_local std::span<const char* const> t_muted;

bool muted(const char* id) {
  return id != nullptr && std::ranges::any_of(t_muted, [&](const char* each) { return std::strcmp(each, id) == 0; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  if (muted(data->pMessageIdName)) return VK_FALSE;
  try {
    static_cast<Messages*>(user)->add(data->pMessage != nullptr ? data->pMessage : "(no text)");
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (...) {  // out of memory; no exception may pass through the driver
  }
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(Messages& messages) {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Without GENERAL: the loader's messages about drivers that it cannot load are of that type.
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = &messages;
  return info;
}

bool layer_is_there() {
  std::uint32_t count = 0;
  if (volk::vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (volk::vkEnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS) return false;
  layers.resize(count);
  return std::ranges::any_of(layers, [](const auto& layer) { return std::strcmp(layer.layerName, kLayer) == 0; });
}

#if defined(_WIN32)
constexpr const char* kLoader = "vulkan-1.dll cannot be loaded";
// volk would search the current folder and PATH as well.
VkResult initialize() {
  void* const library = backend::load_library("vulkan-1.dll");
  void* const function = library == nullptr ? nullptr : backend::library_function(library, "vkGetInstanceProcAddr");
  if (function == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  volk::volkInitializeCustom(reinterpret_cast<PFN_vkGetInstanceProcAddr>(function));
  return VK_SUCCESS;
}
#else
constexpr const char* kLoader = "libvulkan.so.1 cannot be loaded";
VkResult initialize() { return volk::volkInitialize(); }
#endif

Result<void> load_loader() {
  const std::scoped_lock lock(volk_mutex());
  // Tried again after a failure: a driver may have been installed in the meantime.
  if (volk::volkGetInstanceVersion() == 0 && initialize() != VK_SUCCESS)
    return fail(ErrorKind::missing, "Vulkan loader", kLoader, "a Vulkan driver installed");
  const std::uint32_t version = volk::volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_3)
    return fail(ErrorKind::unsupported, "Vulkan loader",
                fmt::format("{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)), "1.3");
  return {};
}

DeviceEntry make_entry(std::uint32_t index, const Snapshot& snapshot) {
  const DeviceProfile profile = make_profile(snapshot, snapshot.offer.features);
  const std::uint32_t api = snapshot.offer.properties.apiVersion;
  DeviceEntry out;
  out.index = index;
  out.name = profile.name;
  out.uuid = profile.uuid;
  out.kind = profile.kind;
  out.api_major = VK_API_VERSION_MAJOR(api);
  out.api_minor = VK_API_VERSION_MINOR(api);
  out.api_patch = VK_API_VERSION_PATCH(api);
  out.driver = profile.driver;
  if (auto usable = check_usable(snapshot.offer); !usable) out.unusable = usable.error().message();
  for (const detail::Quirk& quirk : detail::quirks_for(profile)) out.quirks.push_back(detail::describe(quirk));
  return out;
}

}  // namespace

void Messages::add(std::string text) {
  const std::scoped_lock lock(mutex_);
  texts_.push_back(std::move(text));
}

std::vector<std::string> Messages::all() const {
  const std::scoped_lock lock(mutex_);
  return texts_;
}

MutedMessages::MutedMessages(std::span<const char* const> ids) noexcept { t_muted = ids; }
MutedMessages::~MutedMessages() { t_muted = {}; }

PFN_vkGetInstanceProcAddr loader_proc_addr() noexcept { return volk::vkGetInstanceProcAddr; }

void load_device_table(volk::VolkDeviceTable& table, const Instance& instance, VkDevice device) {
  const std::scoped_lock lock(volk_mutex());
  volk::vkGetDeviceProcAddr = instance.table().vkGetDeviceProcAddr;
  volk::volkLoadDeviceTable(&table, device);
}

Result<void> Instance::create(bool validation) {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "sectile";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;

  auto messenger = messenger_info(messages_);  // also for messages while the instance is made
  const VkBool32 on = VK_TRUE;
  const VkLayerSettingEXT setting{kLayer, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on};
  VkLayerSettingsCreateInfoEXT settings{};
  settings.sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT;
  settings.pNext = &messenger;
  settings.settingCount = 1;
  settings.pSettings = &setting;
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME};
  if (validation) {
    if (!layer_is_there())
      return fail(ErrorKind::missing, "validation layer", kLayer, "the package vulkan-validationlayers");
    info.pNext = &settings;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kLayer;
    info.enabledExtensionCount = static_cast<std::uint32_t>(std::size(extensions));
    info.ppEnabledExtensionNames = extensions;
  }
  const VkResult result = volk::vkCreateInstance(&info, nullptr, &handle_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return fail(ErrorKind::missing, "Vulkan device", "no driver can be loaded", "a Vulkan driver installed");
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateInstance", result));
  {
    const std::scoped_lock lock(volk_mutex());
    volk::volkLoadInstanceTable(&table_, handle_);
  }
  if (!validation) return {};
  const VkResult listening = table_.vkCreateDebugUtilsMessengerEXT(handle_, &messenger, nullptr, &messenger_);
  if (listening != VK_SUCCESS) return std::unexpected(device_error("vkCreateDebugUtilsMessengerEXT", listening));
  return {};
}

Result<std::unique_ptr<Instance>> Instance::make(bool validation) {
  if (auto loaded = load_loader(); !loaded) return std::unexpected(loaded.error());
  std::unique_ptr<Instance> out(new Instance);
  if (auto made = out->create(validation); !made) return std::unexpected(made.error());
  return out;
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) table_.vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  if (handle_ != VK_NULL_HANDLE) table_.vkDestroyInstance(handle_, nullptr);
}

Result<std::vector<Candidate>> Instance::devices() const {
  std::vector<VkPhysicalDevice> handles;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    std::uint32_t count = 0;
    result = table_.vkEnumeratePhysicalDevices(handle_, &count, nullptr);
    if (result != VK_SUCCESS) break;
    handles.resize(count);
    result = table_.vkEnumeratePhysicalDevices(handle_, &count, handles.data());
    handles.resize(count);
  }
  // Loaders report missing hardware in different ways.
  if (result == VK_ERROR_INITIALIZATION_FAILED)
    handles.clear();
  else if (result != VK_SUCCESS)
    return std::unexpected(device_error("vkEnumeratePhysicalDevices", result));
  if (handles.empty()) return fail(ErrorKind::missing, "Vulkan device", "none", "a device with a Vulkan driver");

  const auto functions = load_instance_functions(loader_proc_addr(), handle_);
  if (!functions) return std::unexpected(functions.error());
  std::vector<Candidate> out;
  for (const VkPhysicalDevice handle : handles) {
    auto snapshot = take_snapshot(*functions, handle);
    if (!snapshot) return std::unexpected(snapshot.error());
    Candidate candidate;
    candidate.entry = make_entry(static_cast<std::uint32_t>(out.size()), *snapshot);
    candidate.device = handle;
    candidate.driver_id = snapshot->v12.driverID;
    candidate.snapshot = std::move(*snapshot);
    out.push_back(std::move(candidate));
  }
  return out;
}

std::string_view name(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::integrated:
      return "integrated";
    case DeviceKind::discrete:
      return "discrete";
    case DeviceKind::virtual_gpu:
      return "virtual";
    case DeviceKind::unknown:
      break;
  }
  return "other";
}

Result<std::vector<DeviceEntry>> list_devices() {
  const auto instance = Instance::make(false);
  if (!instance) return std::unexpected(instance.error());
  const auto candidates = (*instance)->devices();
  if (!candidates) return std::unexpected(candidates.error());
  std::vector<DeviceEntry> out;
  for (const Candidate& candidate : *candidates) out.push_back(candidate.entry);
  return out;
}

Result<DeviceProfile> device_profile(std::string_view selector, std::string_view canary_folder) {
  const auto instance = Instance::make(false);
  if (!instance) return std::unexpected(instance.error());
  const auto candidates = (*instance)->devices();
  if (!candidates) return std::unexpected(candidates.error());
  const auto chosen = select(selector, *candidates);
  if (!chosen) return std::unexpected(chosen.error());
  const Snapshot& snapshot = (*candidates)[*chosen].snapshot;
  return with_kept_canary(make_profile(snapshot, snapshot.offer.features), snapshot, canary_folder);
}

}  // namespace sectile::vulkan
