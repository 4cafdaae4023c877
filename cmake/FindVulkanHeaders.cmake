# Vulkan's headers alone, without a loader to link: Vulkan::Headers, VulkanHeaders_VERSION.
include(FindPackageHandleStandardArgs)

if(SECTILE_THIRD_PARTY)
  set(VulkanHeaders_INCLUDE_DIR ${SECTILE_THIRD_PARTY}/include CACHE PATH "" FORCE)
endif()
find_path(VulkanHeaders_INCLUDE_DIR vulkan/vulkan_core.h HINTS $ENV{VULKAN_SDK}/include)
mark_as_advanced(VulkanHeaders_INCLUDE_DIR)

set(VulkanHeaders_VERSION "")
if(VulkanHeaders_INCLUDE_DIR AND EXISTS ${VulkanHeaders_INCLUDE_DIR}/vulkan/vulkan_core.h)
  file(STRINGS ${VulkanHeaders_INCLUDE_DIR}/vulkan/vulkan_core.h lines
    REGEX "^#define VK_HEADER_VERSION(_COMPLETE)? ")
  if(lines MATCHES "VK_MAKE_API_VERSION\\([0-9]+, *([0-9]+), *([0-9]+)")
    set(VulkanHeaders_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  endif()
  if(lines MATCHES "VK_HEADER_VERSION ([0-9]+)")
    string(APPEND VulkanHeaders_VERSION .${CMAKE_MATCH_1})
  endif()
endif()

find_package_handle_standard_args(VulkanHeaders
  REQUIRED_VARS VulkanHeaders_INCLUDE_DIR
  VERSION_VAR VulkanHeaders_VERSION)

if(VulkanHeaders_FOUND AND NOT TARGET Vulkan::Headers)
  add_library(Vulkan::Headers INTERFACE IMPORTED)
  set_target_properties(Vulkan::Headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${VulkanHeaders_INCLUDE_DIR})
endif()
