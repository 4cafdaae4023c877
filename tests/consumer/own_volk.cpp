// The application's own volk, made for older headers than Sectile's: its tables have fewer members, at other places.
// Compiled with VOLK_NAMESPACE, as Sectile's is, and without.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>
#undef VK_VERSION_1_2
#undef VK_VERSION_1_3
#undef VK_VERSION_1_4
#include VOLK_SOURCE

#include <cstddef>

bool own_volk_works() { return volkInitialize() == VK_SUCCESS && volkGetInstanceVersion() != 0; }

std::size_t own_table_bytes() { return sizeof(VolkInstanceTable) + sizeof(VolkDeviceTable); }
